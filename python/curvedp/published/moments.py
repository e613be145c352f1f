"""Moments of the logarithms at the private mean, as in Jiang, Chang and Hu (Algorithm 2).

Without `max_dist` distances are not cut and the mean is not moved back to the ball, so that no
sensitivity covers them where the noise is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_positive
from curvedp.curvature import has_curved_hessian
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.published import sensitivity
from curvedp.published.base_point import BasePoint
from curvedp.published.call import Call, Options
from curvedp.published.frechet_mean import MeanDesign
from curvedp.statistics.symmetric import unvecd, vecd

#: Shares of the budget of the mean and of the moment.
_WEIGHTS = (0.25, 0.75)


@quiet
def frechet_variance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = _WEIGHTS,
    **options: Unpack[Options],
) -> Release:
    """Draw the mean squared distance of the records from their private mean: `Unproved`.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
    ball : Ball
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        The guarantee that the paper claims; with `mean`, for this release alone.
    mean : Release or array-like, optional
        The point from which distances are measured: a private mean, or a point that you promise is
        public. By default a published mean is drawn too.
    max_dist : float, optional
        Length R to which distances are cut and logarithms shortened; the noise belongs to it. R =
        2 r without cutting, if it is not given. For logarithms (assumption 3) `ball.radius` is the
        paper's other choice.
    weights : pair of float
        Shares of the budget of the mean and of this statistic, without `mean`.
    **options
        As in `frechet_mean`.

    Returns
    -------
    Release

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Jiang, Chang and Hu, Differentially private inference framework of Riemannian manifold data.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.published.frechet_variance(records, ball, cdp.GDP(1.0))
    >>> release.value.shape, [part.statistic for part in release.parts]
    ((), ['Fréchet mean'])
    """
    call = Call.check(records, ball, guarantee, **options)
    return _release(call, variance, mean, max_dist, weights)


@quiet
def fourth_moment(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = _WEIGHTS,
    **options: Unpack[Options],
) -> Release:
    """Draw the mean fourth power of the distance from the private mean: `Unproved`.

    Parameters as in `frechet_variance`.

    Returns
    -------
    Release

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> cdp.published.fourth_moment(records, ball, cdp.GDP(1.0)).value.shape
    ()
    """
    call = Call.check(records, ball, guarantee, **options)
    return _release(call, fourth_power, mean, max_dist, weights)


@quiet
def log_covariance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = _WEIGHTS,
    **options: Unpack[Options],
) -> Release:
    """Draw the centred covariance of the logarithms at the private mean: `Unproved`.

    Parameters as in `frechet_variance`.

    Returns
    -------
    Release
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at `base_point`;
        noise may have made eigenvalues negative.

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> cdp.published.log_covariance(records, ball, cdp.GDP(1.0)).value.shape
    (2, 2)
    """
    call = Call.check(records, ball, guarantee, **options)
    return _release(call, covariance, mean, max_dist, weights)


@quiet
def mean_hessian(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mean: Release | ArrayLike | None = None,
    max_dist: float | None = None,
    weights: Sequence[float] = _WEIGHTS,
    **options: Unpack[Options],
) -> Release:
    """Draw the mean Hessian of the squared distance at the private mean: `Unproved`.

    Parameters as in `frechet_variance`.

    Returns
    -------
    Release
        `value` has shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at `base_point`.

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`, and on flat manifolds, whose Hessian is 2 I.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> cdp.published.mean_hessian(records, ball, cdp.GDP(1.0)).value.shape
    (2, 2)
    """
    call = Call.check(records, ball, guarantee, **options)
    if not has_curved_hessian(ball.manifold):
        raise ValueError(
            f"on {ball.manifold.spec} the Hessian of the squared distance is 2 I whatever the "
            "records: there is nothing to release"
        )
    return _release(call, hessian, mean, max_dist, weights)


@dataclass(frozen=True)
class Moment:
    """A statistic at a base point: a vector that is said to move at most `sensitivity`.

    `magnitude` bounds its norm, `rounding` the relative rounding error of its sum, and `finish`
    makes the released value of the noisy vector.
    """

    name: str
    vector: FloatArray
    magnitude: float
    sensitivity: float
    rounding: float
    finish: Callable[[FloatArray], FloatArray]


def variance(call: Call, rows: FloatArray, base: BasePoint) -> Moment:
    """Mean squared distance from the base point."""
    square, _ = base.dist_moments(rows)
    return Moment(
        name="Fréchet variance",
        vector=np.array([square]),
        magnitude=base.reach * base.reach,
        sensitivity=_size(sensitivity.frechet_variance, call, base),
        rounding=_core.summation_error(call.n),
        finish=lambda noisy: np.array(noisy[0]),
    )


def fourth_power(call: Call, rows: FloatArray, base: BasePoint) -> Moment:
    """Mean fourth power of the distance from the base point."""
    _, fourth = base.dist_moments(rows)
    return Moment(
        name="fourth moment of the distance",
        vector=np.array([fourth]),
        magnitude=base.reach**4,
        sensitivity=_size(sensitivity.fourth_moment, call, base),
        rounding=_core.summation_error(call.n),
        finish=lambda noisy: np.array(noisy[0]),
    )


def covariance(call: Call, rows: FloatArray, base: BasePoint) -> Moment:
    """Covariance of the logarithms about their mean."""
    first, second, _ = base.log_moments(rows, hessian=False)
    centred = (second - np.outer(first, first)) * call.n / max(call.n - 1, 1)
    return Moment(
        name="covariance of the logarithms",
        vector=vecd(centred),
        magnitude=math.sqrt(call.ball.manifold.dim + 1) * (base.reach * base.reach),
        sensitivity=_size(sensitivity.log_covariance, call, base),
        rounding=_core.summation_error(call.n),
        finish=lambda noisy: base.to_outer(unvecd(noisy)),
    )


def hessian(call: Call, rows: FloatArray, base: BasePoint) -> Moment:
    """Mean Hessian 2 (I + G) of the squared distance; the noise is drawn on 2 G."""
    _, _, excess = base.log_moments(rows, hessian=True)
    assert excess is not None
    ball, k = call.ball, call.records_per_unit
    flat = 2 * np.eye(ball.manifold.dim)
    return Moment(
        name="mean Hessian of the squared distance",
        vector=vecd(2 * excess),
        magnitude=sensitivity.mean_hessian(ball, 1, records_per_unit=k, max_dist=base.max_dist),
        sensitivity=_size(sensitivity.mean_hessian, call, base),
        rounding=ball.frame.manifold.hessian_error(call.n),
        finish=lambda noisy: base.to_outer(unvecd(noisy) + flat),
    )


def release_moment(
    call: Call,
    base: BasePoint,
    moment: Moment,
    share: PureDP | GDP,
    *,
    stage: int,
    claimed: Guarantee | None = None,
    parts: tuple[Release, ...] = (),
) -> Release:
    """A moment with noise calibrated to `share`; claims that, or `claimed` if it covers `parts`."""
    tell_stage("noise")
    size = len(moment.vector)
    domain = Ball(Euclidean(size), np.zeros(size), moment.magnitude)
    noise = choose_mechanism(domain, share)(domain, moment.sensitivity, share)
    return call.release(
        claimed or share,
        value=moment.finish(noise._release(moment.vector, call.stream(stage), 1)[0]),
        mechanism=noise.name,
        statistic=moment.name,
        sensitivity=moment.sensitivity,
        solver_tolerance=moment.rounding * moment.magnitude,
        scale=noise.scale,
        expected_error=noise.expected_error,
        base_point=base.point,
        parts=parts,
        assumptions=base.assumptions,
    )


def _release(
    call: Call,
    build: Callable[[Call, FloatArray, BasePoint], Moment],
    mean: Release | ArrayLike | None,
    max_dist: float | None,
    weights: Sequence[float],
) -> Release:
    """A moment at the point given, or at a mean that is drawn with the first share."""
    if len(weights) != 2:
        raise ValueError("weights must be two positive numbers: of the mean and of the statistic")
    limit = None if max_dist is None else as_positive(max_dist, "max_dist")
    parts: tuple[Release, ...] = ()
    if mean is None:
        first, share = call.shares(weights)
        design = MeanDesign.of(call, first)
        call.pay("published moment")
        rows = call.enter()
        parts = (design.release(rows),)
        base = BasePoint(call.ball, parts[0].value, parts[0], limit)
    else:
        share, base = call.native(), BasePoint.given(call, mean, limit)
        call.pay("published moment")
        rows = call.enter()
    tell_stage("moments")
    return release_moment(
        call, base, build(call, rows, base), share, stage=1, claimed=call.guarantee, parts=parts
    )


def _size(formula: Callable[..., float], call: Call, base: BasePoint) -> float:
    k = call.records_per_unit
    return formula(call.ball, call.n, records_per_unit=k, max_dist=base.max_dist)
