"""Private confidence intervals for the Fréchet variance (Jiang et al., Theorem 5, Corollary 2).

    V_n - V ~ N(0, sigma_F^2/n + noise),   sigma_F^2 = Var rho(x, mean)^2

Two releases: the mean, and the second and fourth moment of the distance from it together. The
half-width carries the noise in sigma_F^2 as a Student quantile, without which the interval covers
too rarely. Derivation and measured coverage: docs/proofs/frechet-variance.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp import sensitivity
from curvedp._validation import as_probability, as_reach
from curvedp.curvature import mean_hessian_trace
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger, PureDP, Release
from curvedp.privacy.release import check_parts, read_json
from curvedp.statistics.base_point import (
    BasePoint,
    find_base_point,
    plan_base_point,
)
from curvedp.statistics.entry import Entry, Progress
from curvedp.statistics.moments import (
    distance_moments_of,
    fourth_moment_of,
    refuse_fine_noise,
    release_moment,
    variance_moment,
)
from curvedp.statistics.quantiles import effective_dof, hotelling_quantile

#: Shares of mu^2 of the mean and of the moments of the distance.
DEFAULT_WEIGHTS = (0.25, 0.75)


@dataclass(frozen=True, kw_only=True)
class VarianceInterval:
    """A confidence interval for the Fréchet variance, in squared units of the metric.

    Attributes
    ----------
    lower, upper : float
        Ends of the interval; the variance of points in the ball lies in [0, 4 r^2] anyway.
    estimate : float
        The private variance, corrected for the noise of the mean.
    level : float
        Probability with which the interval covers the variance of the population, for large n.
    n : int
    guarantee : Guarantee or None
        What holds for everything in this object; None without privacy.
    parts : tuple of Release
        The releases that it was computed from.
    """

    lower: float
    upper: float
    estimate: float
    level: float
    n: int
    guarantee: Guarantee | None = None
    parts: tuple[Release, ...] = ()

    def __post_init__(self) -> None:
        check_parts(self.guarantee, self.parts)

    def report(self) -> str:
        """Plain text: the interval, then the report of each release it rests on."""
        lines = [
            f"{100 * self.level:g} % confidence interval for the Fréchet variance: "
            f"[{self.lower:.6g}, {self.upper:.6g}]",
            f"guarantee: {self.guarantee if self.guarantee else 'NONE: computed without privacy'}",
            f"records: n = {self.n}",
        ]
        return "\n".join(lines) + "".join("\n\n" + part.report() for part in self.parts)

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats survive it exactly."""
        data = {
            "schema_version": 1,
            "lower": self.lower,
            "upper": self.upper,
            "estimate": self.estimate,
            "level": self.level,
            "n": self.n,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> VarianceInterval:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no interval of this schema.
        """
        data = read_json(text)
        if not isinstance(data, dict) or data.pop("schema_version", None) != 1:
            raise ValueError("not a variance interval of schema 1")
        if set(data) != set(cls.__dataclass_fields__):
            raise ValueError("not a variance interval: unexpected or missing fields")
        given = data["guarantee"]
        data["guarantee"] = None if given is None else Guarantee.from_dict(given)
        data["parts"] = tuple(map(Release.from_dict, data["parts"]))
        return cls(**data)


def variance_interval(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> VarianceInterval:
    """Release a confidence interval for the Fréchet variance of the population.

    The population is that of the records projected on the ball.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        Two records at least.
    ball : Ball
    guarantee : GDP, ZCDP or ApproxDP
        Of the whole interval: its parts compose to it.
    level : float
        Probability of covering the variance.
    weights : sequence of float, optional
        Shares of mu^2 of the mean and of the moments of the distance, by default 0.25 and 0.75;
        with calibration "published" of the mean, the variance and the fourth moment, by default
        equal.
    max_dist : float, optional
        Public length at which distances are clipped; by default r + rho(c, p), which never clips.
    records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`.

    Returns
    -------
    VarianceInterval

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> interval = variance_interval(records, ball, cdp.GDP(mu=1.0))
    >>> interval.lower <= interval.estimate <= interval.upper
    True
    """
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
    if isinstance(guarantee, PureDP):
        raise TypeError("an interval needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    confidence = as_probability(level, "level")
    published = calibration == "published"
    if weights is None:
        weights = (1.0, 1.0, 1.0) if published else DEFAULT_WEIGHTS
    if len(weights) != (3 if published else 2):
        raise ValueError(
            "weights must be two positive numbers, the shares of the mean and of the moments"
            if not published
            else "weights must be three positive numbers, the shares of mean, variance, moment"
        )
    if entry.n < 2:
        raise ValueError("an interval needs at least 2 records, got 1")
    shares = entry.shares(weights)
    plan = plan_base_point(entry, None, shares[0])
    if max_dist is not None:
        as_reach(max_dist, "max_dist")
    for share in shares[1:]:
        refuse_fine_noise(entry, share, 4)
    entry.spend("confidence interval of the Fréchet variance")
    rows = entry.enter()
    base = find_base_point(entry, rows, plan, shares[0], max_dist)
    if published:
        square = release_moment(entry, base, variance_moment(entry, rows, base), shares[1], stage=1)
        fourth = release_moment(
            entry, base, fourth_moment_of(entry, rows, base), shares[2], stage=2
        )
        return _published(entry, base, square, fourth, confidence)
    moments = release_moment(
        entry, base, distance_moments_of(entry, rows, base), shares[1], stage=1
    )
    return _assemble(entry, base, moments, confidence)


def _assemble(entry: Entry, base: BasePoint, moments: Release, level: float) -> VarianceInterval:
    """The interval from its releases: post-processing.

    In units of R^2: a is the noisy mean of rho^2, b of rho^4 - rho^2; both carry independent noise
    of standard deviation s and s/c.
    """
    assert base.mean is not None
    assert base.noise is not None
    ball, n, reach = entry.ball, entry.n, base.max_dist
    s, c = moments.scale, sensitivity.FOURTH_MOMENT_WEIGHT
    a, fourth = float(moments.value[0]) / reach**2, float(moments.value[1]) / reach**4
    covariance = base.noise.covariance(base.point)
    dim = ball.manifold.dim
    dist = math.sqrt(min(max(a, 0.0), 1.0)) * reach
    stretch = mean_hessian_trace(ball.manifold, dist) / dim
    # the noise of the mean adds tr(H cov) on average, with variance 2 tr((H cov)^2)
    added = stretch * float(np.trace(covariance))
    added_variance = 2 * stretch**2 * float(np.sum(covariance**2))
    estimate = a * reach**2 - added
    estimate += max(estimate, 0.0) / (n - 1)
    # sigma_F^2 = E rho^4 - V^2, whose noisy square is s^2 too large
    squares = fourth - a**2 + s**2
    sigma_f2 = min(max(squares, 0.0), 0.25) * reach**4
    squares_noise = (1 / c**2 + (1 - 2 * a) ** 2) * s**2 * reach**8
    variance = sigma_f2 / n + (s * reach**2) ** 2 + added_variance
    relative = squares_noise / n**2 / variance**2 + 2 / (n - 1)
    quantile = hotelling_quantile(level, 1, effective_dof(1, relative, relative))
    half = math.sqrt(quantile * variance)
    return _interval(entry, (base.mean, moments), estimate, half, level)


def _published(
    entry: Entry, base: BasePoint, square: Release, fourth: Release, level: float
) -> VarianceInterval:
    assert base.mean is not None
    estimate = float(square.value)
    sigma_f2 = max(float(fourth.value) - estimate**2, 0.0)
    variance = sigma_f2 / entry.n + square.scale**2
    half = float(scipy.stats.norm.ppf(0.5 + level / 2)) * math.sqrt(variance)
    return _interval(entry, (base.mean, square, fourth), estimate, half, level)


def _interval(
    entry: Entry, parts: tuple[Release, ...], estimate: float, half: float, level: float
) -> VarianceInterval:
    most = (2 * entry.ball.radius) ** 2
    return VarianceInterval(
        lower=float(min(max(estimate - half, 0.0), most)),
        upper=float(max(min(estimate + half, most), 0.0)),
        estimate=float(min(max(estimate, 0.0), most)),
        level=level,
        n=entry.n,
        guarantee=entry.promise(entry.guarantee),
        parts=parts,
    )
