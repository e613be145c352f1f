"""Private moments at the private mean: fourth moment, covariance, mean Hessian.

Each is a release of its own; `confidence_region` and `variance_interval` compose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, overload

from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import as_numbers
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Release
from curvedp.statistics.call import CallOptions
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.moments import (
    DEFAULT_WEIGHTS,
    FourthMoment,
    LogCovariance,
    MeanHessian,
    MeanLike,
)
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases


@overload
def fourth_moment(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def fourth_moment(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def fourth_moment(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the mean fourth power of the distance of the records from their mean.

    With the variance V it gives sigma_F^2 = E rho^4 - V^2, the variance of the squared distance
    (Jiang et al., Theorem 7).

    Parameters
    ----------
    records, ball, guarantee, groups
        As in `frechet_mean`; with `mean` the guarantee is that of this release alone.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic. Without `mean`.
    mean : Release, Releases or array-like, optional
        The base point p: a private mean released before (with `groups` their means), or a point
        that you promise is public (the release then carries the assumption "public-base-point").
        By default a private mean is released too, and the guarantee covers both.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape (), in fourth powers of the metric's unit.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> release = fourth_moment(records, ball, cdp.GDP(mu=1.0))
    >>> release.value.shape, [part.statistic for part in release.parts]
    ((), ['Fréchet mean'])
    """
    statistic = FourthMoment(max_dist, as_numbers(weights, "weights"), mean)
    return release(statistic, records, ball, guarantee, groups=groups, **call)


@overload
def log_covariance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def log_covariance(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def log_covariance(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the covariance of the logarithms log_p x_i at the private mean p.

    The second moment about p, S = (1/n) sum_i u_i u_i', u_i = log_p x_i in orthonormal coordinates
    at p, with noise on the symmetric matrices and eigenvalues clipped to [0, R^2]. C of Jiang et
    al. (equation 2) is 4 S; their centred covariance moves up to 4 R^2/n and more, S at most
    sqrt(2) R^2/n. The trace of S is the Fréchet variance.

    Parameters
    ----------
    records, ball, guarantee, groups, max_dist, weights, mean
        As in `fourth_moment`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at
        `base_point`.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> release = log_covariance(records, ball, cdp.GDP(mu=1.0))
    >>> release.value.shape, [part.statistic for part in release.parts]
    ((2, 2), ['Fréchet mean'])
    """
    statistic = LogCovariance(max_dist, as_numbers(weights, "weights"), mean)
    return release(statistic, records, ball, guarantee, groups=groups, **call)


@overload
def mean_hessian(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def mean_hessian(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def mean_hessian(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    mean: MeanLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the mean Hessian of rho(., x_i)^2 at the private mean p.

    Lambda of Jiang et al. (equation 2) is 2 (I + G), and G, the deviation from flat space, is what
    the noise is calibrated to; eigenvalues are clipped to the public range that they have at a
    mean. On flat manifolds Lambda = 2 I is known beforehand: there is nothing to release.

    Parameters
    ----------
    records, ball, guarantee, groups, max_dist, weights, mean
        As in `fourth_moment`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at
        `base_point`.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> release = mean_hessian(records, ball, cdp.GDP(mu=1.0))
    >>> release.value.shape, [part.statistic for part in release.parts]
    ((2, 2), ['Fréchet mean'])
    """
    statistic = MeanHessian(max_dist, as_numbers(weights, "weights"), mean)
    return release(statistic, records, ball, guarantee, groups=groups, **call)
