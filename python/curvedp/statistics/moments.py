"""Moments of the logarithms at the private mean (Jiang et al., Algorithm 2 and section 4).

    base point p (private mean, kept in the ball) -> logarithms of the projected records at p,
    clipped at the largest distance R that is possible from p -> mean of a bounded function of them
    -> Gaussian noise (Laplace for pure DP) in a flat space of numbers or symmetric matrices

R = r + rho(c, p) is public once p is, and never clips. Proofs: docs/proofs/frechet-variance.md,
docs/proofs/log-moments.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray
from curvedp.curvature import excess_range, hessian_trace, radial_hessian
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import Mechanism, choose_mechanism
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.base_point import BasePoint
from curvedp.statistics.entry import Entry
from curvedp.statistics.symmetric import (
    clip_eigenvalues,
    scale_trace,
    unvecd,
    vecd,
)

COVARIANCE = "covariance of the logarithms"
HESSIAN = "mean Hessian of the squared distance"


@dataclass(frozen=True)
class Moment:
    """A statistic of the logarithms at a base point: a vector that moves at most `sensitivity`.

    Attributes
    ----------
    name : str
    vector : ndarray, shape (k,)
        In an isometric picture of the statistic's values: `vecd` of a matrix.
    magnitude : float
        Bound on the norm of the vector, and on the change that a relative rounding error of 1 in
        the sums over records would make in it.
    sensitivity : float
    finish : callable
        From the noisy vector to the released value: post-processing.
    rounding : callable
        From the number of records to the relative rounding error of the sums.
    """

    name: str
    vector: FloatArray
    magnitude: float
    sensitivity: float
    finish: Callable[[FloatArray], FloatArray]
    rounding: Callable[[int], float] = _core.summation_error


def release_moment(
    entry: Entry,
    base: BasePoint,
    moment: Moment,
    guarantee: PureDP | GDP,
    *,
    stage: int,
    promise: Guarantee | None = None,
    parts: tuple[Release, ...] = (),
) -> Release:
    """Adds noise calibrated to `guarantee` to a moment and finishes it.

    The release promises the same, or `promise` if it covers `parts` too.

    Each record's computed share lies in the range that the sensitivity assumes, whatever rounding
    does; the rounding of their sum counts as solver error.
    """
    entry.report("noise")
    mechanism, rounding = moment_noise(entry, moment, guarantee)
    noisy = mechanism._release(moment.vector, entry.stream(stage), 1)[0]
    release = entry.release(
        entry.promise(promise or guarantee, base_is_released=base.is_released),
        value=moment.finish(noisy),
        mechanism=mechanism.name,
        statistic=moment.name,
        sensitivity=moment.sensitivity,
        solver_tolerance=rounding,
        scale=mechanism.scale,
        expected_error=mechanism.expected_error,
        base_point=base.point,
        parts=parts,
    )
    return replace(release, assumptions=release.assumptions | base.assumptions)


def moment_noise(entry: Entry, moment: Moment, guarantee: PureDP | GDP) -> tuple[Mechanism, float]:
    """The noise on a moment, calibrated to `guarantee`, and the bound on the moment's rounding."""
    rounding = moment.rounding(entry.n) * moment.magnitude
    total = moment.sensitivity + (2 * rounding if entry.calibration == "proved" else 0.0)
    size = len(moment.vector)
    domain = Ball(Euclidean(size), np.zeros(size), moment.magnitude)
    return choose_mechanism(domain, guarantee)(domain, total, guarantee), rounding


def refuse_fine_noise(entry: Entry, share: PureDP | GDP, power: int) -> None:
    """Refuses a budget or a ball with which the noise of a moment of that power cannot be drawn.

    A moment of n records changes by k/n of its magnitude over 4 sqrt(dim + 1), or more, when a unit
    of k records is replaced; its magnitude lies between r^power and (2 r)^power, up to constants.
    """
    if entry.calibration != "proved":
        return
    root = math.sqrt(entry.ball.manifold.dim + 1)
    moved = min(1.0, entry.records_per_unit / entry.n) / (4 * root)
    for reach in (entry.ball.radius, 3 * entry.ball.radius):
        if not 1e-90 < (reach / root) ** power < 1e90:
            raise ValueError(
                f"powers of the radius {entry.ball.radius:g} leave double precision: measure "
                "lengths in other units"
            )
    line = Ball(Euclidean(1), [0.0], 1.0)
    choose_mechanism(line, share)(line, moved, share)


def variance_moment(entry: Entry, rows: FloatArray, base: BasePoint) -> Moment:
    """Mean squared distance from p; finished by subtracting what the mean's own noise adds."""
    reach = base.max_dist
    square, _ = _dist_moments(entry, rows, base)

    def finish(noisy: FloatArray) -> FloatArray:
        plain = float(noisy[0])
        if entry.calibration == "published":
            return np.array(plain)
        # E of F_n(p) - F_n(mean) is tr(H cov), H = Hess (1/2) F_n, from the noise of p
        trace = hessian_trace(entry.ball.manifold)
        return np.array(trace.without_noise(plain, base.mean_noise_square, reach))

    return Moment(
        name="Fréchet variance",
        vector=np.array([square]),
        magnitude=reach * reach,
        sensitivity=sensitivity.frechet_variance(entry.ball, entry.n, **_public(entry, base)),
        finish=finish,
    )


def fourth_moment_of(entry: Entry, rows: FloatArray, base: BasePoint) -> Moment:
    """Mean fourth power of the distance from p."""
    reach = base.max_dist
    _, fourth = _dist_moments(entry, rows, base)
    proved = entry.calibration == "proved"
    return Moment(
        name="fourth moment of the distance",
        vector=np.array([fourth]),
        magnitude=reach**4,
        sensitivity=sensitivity.fourth_moment(entry.ball, entry.n, **_public(entry, base)),
        finish=lambda noisy: np.array(np.clip(noisy[0], 0.0, reach**4) if proved else noisy[0]),
    )


def distance_moments_of(entry: Entry, rows: FloatArray, base: BasePoint) -> Moment:
    """Second and fourth moment of the distance from p at once: value of shape (2,), not clipped.

    The noise is drawn on the mean of (a, c (a^2 - a)), a = (rho/R)^2, for which one record counts
    no more than for a alone.
    """
    reach, weight = base.max_dist, sensitivity.FOURTH_MOMENT_WEIGHT
    square, fourth = _dist_moments(entry, rows, base)
    first, second = square / reach**2, fourth / reach**4

    def finish(noisy: FloatArray) -> FloatArray:
        a, b = noisy
        return np.array([a * reach**2, (b / weight + a) * reach**4])

    public = _public(entry, base)
    del public["calibration"]
    return Moment(
        name="second and fourth moment of the distance",
        vector=np.array([first, weight * (second - first)]),
        magnitude=1 + 2 * weight,
        sensitivity=sensitivity.distance_moments(entry.ball, entry.n, **public),
        finish=finish,
    )


def covariance_moment(
    entry: Entry, base: BasePoint, first: FloatArray, second: FloatArray
) -> Moment:
    """Second moment of the logarithms about p (published: about their mean).

    The noise is drawn in the norm sqrt(|S|_F^2 + (tr S)^2): with the trace part of S multiplied by
    sqrt(dim + 1) it is the Frobenius norm.
    """
    ball, n, reach = entry.ball, entry.n, base.max_dist
    published = entry.calibration == "published"
    stretch = 1.0 if published else math.sqrt(ball.manifold.dim + 1)
    if published:
        second = (second - np.outer(first, first)) * n / max(n - 1, 1)

    def finish(noisy: FloatArray) -> FloatArray:
        return finish_covariance(base, noisy, published=published)

    return Moment(
        name=COVARIANCE,
        vector=vecd(second, stretch),
        magnitude=math.sqrt(ball.manifold.dim + 1) * (reach * reach),
        sensitivity=sensitivity.log_covariance(ball, n, **_public(entry, base)),
        finish=finish,
    )


def finish_covariance(base: BasePoint, noisy: FloatArray, *, published: bool = False) -> FloatArray:
    """The released second moment from the noisy coordinates of `covariance_moment`."""
    stretch = 1.0 if published else math.sqrt(base.ball.manifold.dim + 1)
    matrix = scale_trace(unvecd(noisy), 1 / stretch)
    return base.to_outer(matrix if published else clip_eigenvalues(matrix, 0.0, base.max_dist**2))


def hessian_moment(entry: Entry, base: BasePoint, excess: FloatArray) -> Moment:
    """Mean Hessian 2 (I + G) of the squared distance at p; the noise is drawn on 2 G."""
    ball = entry.ball
    bound = sensitivity.mean_hessian(ball, 1, **_public(entry, base))
    published = entry.calibration == "published"

    def finish(noisy: FloatArray) -> FloatArray:
        return finish_hessian(base, noisy, published=published)

    return Moment(
        name=HESSIAN,
        vector=vecd(2 * excess),
        magnitude=bound,
        sensitivity=sensitivity.mean_hessian(ball, entry.n, **_public(entry, base)),
        finish=finish,
        rounding=ball._frame.manifold.hessian_error,
    )


def finish_hessian(base: BasePoint, noisy: FloatArray, *, published: bool = False) -> FloatArray:
    """The released mean Hessian from the noisy coordinates of 2 G."""
    matrix = unvecd(noisy) + 2 * np.eye(base.ball.manifold.dim)
    return base.to_outer(matrix if published else clip_eigenvalues(matrix, *hessian_limits(base)))


def hessian_limits(base: BasePoint) -> tuple[float, float]:
    """Public bounds on the eigenvalues of the mean Hessian of rho^2 at a mean.

    From below at most h(R) and, at the mean of points of a ball, r cot r > 0 (on positive
    curvature, docs/proofs/frechet-mean-sensitivity.md, step 2).
    """
    manifold = base.ball.manifold
    low, high = excess_range(manifold, base.max_dist)
    upper = manifold.curvature_bounds[1]
    at_mean = radial_hessian(upper, base.ball.radius) if upper > 0 else 1.0
    return 2 * max(1 + low, at_mean), 2 * (1 + high)


def log_moments(
    entry: Entry, rows: FloatArray, base: BasePoint, *, hessian: bool
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """First and second moment of the clipped logarithms and, where asked for, G; frame coords."""
    entry.report("moments")
    manifold = entry.ball._frame.manifold
    return manifold.log_moments(rows, base.inner[0], _clip(entry, base), hessian)


def _dist_moments(entry: Entry, rows: FloatArray, base: BasePoint) -> tuple[float, float]:
    entry.report("moments")
    return entry.ball._frame.manifold.dist_moments(rows, base.inner[0], _clip(entry, base))


def _clip(entry: Entry, base: BasePoint) -> float:
    return base.max_dist if entry.calibration == "proved" else math.inf


def _public(entry: Entry, base: BasePoint) -> dict[str, Any]:
    """What a sensitivity depends on besides the ball and n."""
    return {
        "max_dist": base.max_dist,
        "records_per_unit": entry.records_per_unit,
        "calibration": entry.calibration,
    }
