"""Private moments of the logarithms: variance, fourth moment, covariance, mean Hessian.

Each is a release of its own; `confidence_region` and `variance_interval` compose them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_reach
from curvedp.curvature import has_curved_hessian
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.base_point import BasePoint, find_base_point, plan_base_point
from curvedp.statistics.entry import Entry, Progress, native
from curvedp.statistics.moments import (
    Moment,
    covariance_moment,
    fourth_moment_of,
    hessian_moment,
    log_moments,
    refuse_fine_noise,
    release_moment,
    variance_moment,
)

#: Shares of the budget (of mu^2 for GDP) of the mean and of the statistic, if both are released.
DEFAULT_WEIGHTS = (0.25, 0.75)


def frechet_variance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the Fréchet variance: the mean squared distance of the records from their mean.

    The mean squared distance from the private mean p, less what the noise of p adds on average,
    clipped to [0, R^2] (Jiang et al., Algorithm 2, which subtracts nothing).

    Parameters
    ----------
    records, ball, guarantee, records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`; with `mean` the guarantee is that of this release alone.
    mean : Release or array-like, optional
        The base point p: a private mean released before, or a point that you promise is public
        (the release then carries the assumption "public-base-point"). By default a private mean is
        released too, and the guarantee covers both. A mean whose noise is not known, such as one by
        the K-norm gradient, is refused.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic, without `mean`.

    Returns
    -------
    Release
        `value` has shape (), in squared units of the metric.

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> release = frechet_variance(records, ball, cdp.GDP(mu=1.0))
    >>> release.value.shape, [part.statistic for part in release.parts]
    ((), ['Fréchet mean'])
    """
    return _private_moment(
        "Fréchet variance",
        variance_moment,
        records,
        ball,
        guarantee,
        mean=mean,
        max_dist=max_dist,
        weights=weights,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )


def fourth_moment(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the mean fourth power of the distance of the records from their mean.

    With the variance V it gives sigma_F^2 = E rho^4 - V^2, the variance of the squared distance
    (Jiang et al., Theorem 7).

    Parameters
    ----------
    records, ball, guarantee, records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`; with `mean` the guarantee is that of this release alone.
    mean : Release or array-like, optional
        The base point p: a private mean released before, or a point that you promise is public
        (the release then carries the assumption "public-base-point"). By default a private mean is
        released too, and the guarantee covers both.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic, without `mean`.

    Returns
    -------
    Release
        `value` has shape (), in fourth powers of the metric's unit.

    Raises
    ------
    BudgetError, ValueError, TypeError
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
    return _private_moment(
        "fourth moment of the distance",
        fourth_moment_of,
        records,
        ball,
        guarantee,
        mean=mean,
        max_dist=max_dist,
        weights=weights,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )


def log_covariance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the covariance of the logarithms log_p x_i at the private mean p.

    The second moment about p, S = (1/n) sum_i u_i u_i', u_i = log_p x_i in orthonormal coordinates
    at p, with noise on the symmetric matrices and eigenvalues clipped to [0, R^2]. C of Jiang et
    al. (equation 2) is 4 S; their centred covariance moves up to 4 R^2/n and more, S at most
    sqrt(2) R^2/n. The trace of S is the Fréchet variance.

    Parameters
    ----------
    records, ball, guarantee, records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`; with `mean` the guarantee is that of this release alone.
    mean : Release or array-like, optional
        The base point p: a private mean released before, or a point that you promise is public
        (the release then carries the assumption "public-base-point"). By default a private mean is
        released too, and the guarantee covers both.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic, without `mean`.

    Returns
    -------
    Release
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at
        `base_point`.

    Raises
    ------
    BudgetError, ValueError, TypeError
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
    return _private_moment(
        "covariance of the logarithms",
        _covariance,
        records,
        ball,
        guarantee,
        mean=mean,
        max_dist=max_dist,
        weights=weights,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )


def mean_hessian(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the mean Hessian of rho(., x_i)^2 at the private mean p.

    Lambda of Jiang et al. (equation 2) is 2 (I + G), and G, the deviation from flat space, is what
    the noise is calibrated to; eigenvalues are clipped to the public range that they have at a
    mean. On flat manifolds Lambda = 2 I is known beforehand: there is nothing to release.

    Parameters
    ----------
    records, ball, guarantee, records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`; with `mean` the guarantee is that of this release alone.
    mean : Release or array-like, optional
        The base point p: a private mean released before, or a point that you promise is public
        (the release then carries the assumption "public-base-point"). By default a private mean is
        released too, and the guarantee covers both.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic, without `mean`.

    Returns
    -------
    Release
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at
        `base_point`.

    Raises
    ------
    BudgetError, ValueError, TypeError
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
    return _private_moment(
        "mean Hessian of the squared distance",
        _hessian,
        records,
        ball,
        guarantee,
        mean=mean,
        max_dist=max_dist,
        weights=weights,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )


def _covariance(entry: Entry, rows: FloatArray, base: BasePoint) -> Moment:
    first, second, _ = log_moments(entry, rows, base, hessian=False)
    return covariance_moment(entry, base, first, second)


def _hessian(entry: Entry, rows: FloatArray, base: BasePoint) -> Moment:
    _, _, excess = log_moments(entry, rows, base, hessian=True)
    assert excess is not None
    return hessian_moment(entry, base, excess)


def _private_moment(
    name: str,
    build: Callable[[Entry, FloatArray, BasePoint], Moment],
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None,
    max_dist: float | None,
    weights: Sequence[float],
    records_per_unit: int,
    ledger: Ledger | None,
    calibration: str,
    seed: int | None,
    progress: Progress,
) -> Release:
    entry = Entry.check(
        records,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )
    if build is _hessian and not has_curved_hessian(ball.manifold):
        raise ValueError(
            f"on {ball.manifold.spec} the Hessian of the squared distance is 2 I whatever the "
            "records: there is nothing to release"
        )
    if len(weights) != 2:
        raise ValueError("weights must be two positive numbers: of the mean and of the statistic")
    shares = entry.shares(weights) if mean is None else (native(guarantee),)
    needs_noise = build is variance_moment and calibration == "proved"
    plan = plan_base_point(entry, mean, shares[0], needs_noise=needs_noise)
    if max_dist is not None:
        as_reach(max_dist, "max_dist")
    refuse_fine_noise(entry, shares[-1], 4)
    entry.spend(name)
    rows = entry.enter()
    base = find_base_point(entry, rows, plan, shares[0], max_dist)
    return release_moment(
        entry,
        base,
        build(entry, rows, base),
        shares[-1],
        stage=1,
        promise=guarantee,
        parts=(base.mean,) if mean is None and base.mean is not None else (),
    )
