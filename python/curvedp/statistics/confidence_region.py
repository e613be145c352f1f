"""Private confidence regions for the Fréchet mean (Jiang et al., Theorem 4 and Corollary 1).

    phi(p) - phi(mean of the population) ~ N(0, Gamma),   Gamma = H^-1 S H^-1 / n + noise of p

with S the second moment of the logarithms and H = I + G the mean Hessian of half the squared
distance, both at the private mean p. Three releases: p, S, H; on flat manifolds H = I is known.
Derivation and corrections: docs/proofs/confidence-region.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_probability, as_reach
from curvedp.curvature import has_curved_hessian, mean_hessian_trace
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism
from curvedp.privacy import Guarantee, Ledger, PureDP, Release
from curvedp.statistics.base_point import (
    BasePoint,
    MeanNoise,
    chart_differential,
    find_base_point,
    plan_base_point,
    planned_mean,
)
from curvedp.statistics.bootstrap import NoisyCovariance
from curvedp.statistics.entry import Entry, Progress
from curvedp.statistics.frechet_mean import design_mean
from curvedp.statistics.moments import (
    covariance_moment,
    hessian_limits,
    hessian_moment,
    log_moments,
    moment_noise,
    refuse_fine_noise,
    release_moment,
)
from curvedp.statistics.quantiles import dof_at_quantile, effective_dof, hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.symmetric import clip_eigenvalues

#: Shares of mu^2 of the mean, the covariance and the Hessian.
DEFAULT_WEIGHTS = (0.75, 0.2, 0.05)

#: Degrees of freedom per dimension from which the expansion of quantiles.py is used.
SMALL_NOISE_DOF = 10


def confidence_region(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    seed: int | None = None,
    progress: Progress = False,
) -> ConfidenceRegion:
    """Release a confidence region for the Fréchet mean of the population.

    The population is that of the records projected on the ball. The privacy guarantee holds for
    every n; the level is reached as n grows (docs/proofs/confidence-region.md has the coverage at
    n = 600 for all budgets).

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        n must exceed the dimension by 2 at least.
    ball : Ball
    guarantee : GDP, ZCDP or ApproxDP
        Of the whole region: its parts compose to it.
    level : float
        Probability of covering the mean.
    weights : sequence of float, optional
        Shares of mu^2 of the mean, the covariance of the logarithms and (on curved manifolds) the
        mean Hessian; by default 0.75, 0.2, 0.05, with calibration "published" equal.
    max_dist : float, optional
        Public length at which logarithms are clipped; by default r + rho(c, p), which never clips.
    mechanism : str or Mechanism class, optional
        Of the mean; see `choose_mechanism`.
    records_per_unit, ledger, calibration, seed, progress
        As in `frechet_mean`.

    Returns
    -------
    ConfidenceRegion

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
    >>> region = confidence_region(records, ball, cdp.GDP(mu=1.0))
    >>> bool(region.contains(region.estimate)), region.axes()[0].shape
    (True, (2,))
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
        raise TypeError("a region needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    confidence = as_probability(level, "level")
    curved = has_curved_hessian(ball.manifold)
    shares = entry.shares(region_weights(weights, curved, calibration))
    if entry.n < ball.manifold.dim + 2:
        raise ValueError(
            f"a region on {ball.manifold.spec} needs at least {ball.manifold.dim + 2} records, "
            f"got {entry.n}"
        )
    plan = plan_base_point(entry, None, shares[0], mechanism)
    if max_dist is not None:
        as_reach(max_dist, "max_dist")
    for share in shares[1:]:
        refuse_fine_noise(entry, share, 2)
    entry.spend("confidence region of the Fréchet mean")
    rows = entry.enter()
    base = find_base_point(entry, rows, plan, shares[0], max_dist)
    first, second, excess = log_moments(entry, rows, base, hessian=curved)
    covariance = covariance_moment(entry, base, first, second)
    parts = [release_moment(entry, base, covariance, shares[1], stage=1)]
    if excess is not None:
        parts.append(
            release_moment(entry, base, hessian_moment(entry, base, excess), shares[2], stage=2)
        )
    return assemble(
        base,
        parts,
        entry.n,
        confidence,
        entry.promise(entry.guarantee),
        published=entry.calibration == "published",
    )


def region_weights(
    weights: Sequence[float] | None, curved: bool, calibration: str
) -> Sequence[float]:
    needed = 3 if curved else 2
    if weights is None:
        return (1.0,) * needed if calibration == "published" else DEFAULT_WEIGHTS[:needed]
    if len(weights) != needed:
        names = "the mean, the covariance" + (" and the Hessian" if curved else "")
        raise ValueError(f"weights must be {needed} positive numbers, the shares of {names}")
    return weights


def expected_region(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    spread: float,
    max_dist: float,
    level: float,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> ConfidenceRegion:
    """The region about the ball's centre whose parts come out as they are without noise.

    For records at root mean square distance `spread` from their mean, evenly in all directions, and
    logarithms clipped at `max_dist`.
    """
    if isinstance(guarantee, PureDP):
        raise TypeError("a region needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    entry = Entry.planned(ball, n, guarantee, records_per_unit)
    dim, curved = ball.manifold.dim, has_curved_hessian(ball.manifold)
    shares = entry.shares(DEFAULT_WEIGHTS[: 3 if curved else 2])
    design = design_mean(
        ball, n, shares[0], records_per_unit, calibration="proved", mechanism=mechanism
    )
    mean = planned_mean(entry, design, shares[0])
    noise = MeanNoise.of(design.mechanism, ball)
    base = BasePoint(ball, ball.center, ball._frame.origin[None], max_dist, mean, noise)
    hessian = mean_hessian_trace(ball.manifold, spread) / dim * np.eye(dim)
    second = spread**2 / dim * np.eye(dim)
    second += hessian @ noise.covariance(base.point) @ hessian
    moments = [(covariance_moment(entry, base, np.zeros(dim), second), second)]
    if curved:
        moments.append((hessian_moment(entry, base, hessian - np.eye(dim)), 2 * hessian))
    parts = [
        entry.release(
            share,
            value=value,
            mechanism=own.name,
            statistic=moment.name,
            sensitivity=moment.sensitivity,
            solver_tolerance=rounding,
            scale=own.scale,
            expected_error=own.expected_error,
        )
        for (moment, value), share in zip(moments, shares[1:], strict=True)
        for own, rounding in [moment_noise(entry, moment, share)]
    ]
    return assemble(base, parts, n, level, guarantee)


def assemble(
    base: BasePoint,
    moments: Sequence[Release],
    n: int,
    level: float,
    guarantee: Guarantee,
    *,
    published: bool = False,
) -> ConfidenceRegion:
    """The region from its releases: post-processing."""
    assert base.mean is not None
    spread = Spread.of(base, moments, n, published=published)
    dim = len(spread.gamma)
    dof = math.inf if published else spread.dof()
    return ConfidenceRegion(
        manifold=base.ball.manifold.spec,
        estimate=base.mean.value,
        chart_point=spread.chart_point,
        covariance=spread.gamma,
        quantile=hotelling_quantile(level, dim, dof),
        dof=dof,
        level=level,
        n=n,
        guarantee=guarantee,
        parts=(base.mean, *moments),
    )


@dataclass(frozen=True)
class Spread:
    """Gamma and what it is made of; matrices are (dim, dim).

    Attributes
    ----------
    chart_point : ndarray
    gamma : ndarray
        Covariance of phi(p).
    sampling : ndarray
        H^-1 S H^-1 / n at the base point: the covariance of the exact mean.
    inverse_hessian : ndarray
        H^-1 at the base point.
    to_chart : ndarray
        From coordinates at the base point to those of the chart.
    estimate : NoisyCovariance
        S, H and their noise.
    """

    chart_point: FloatArray
    gamma: FloatArray
    sampling: FloatArray
    inverse_hessian: FloatArray
    to_chart: FloatArray
    estimate: NoisyCovariance

    @classmethod
    def of(
        cls, base: BasePoint, moments: Sequence[Release], n: int, *, published: bool = False
    ) -> Spread:
        """From the private mean, the covariance S and, unless H = I, the Hessian 2 H."""
        ball, mean = base.ball, base.mean
        assert mean is not None
        assert base.noise is not None
        dim = ball.manifold.dim
        hessian = moments[1].value / 2 if len(moments) > 1 else np.eye(dim)
        hessian_scale = moments[1].scale / 2 if len(moments) > 1 else 0.0
        limits = hessian_limits(base)
        noise = base.noise.covariance(base.point)
        second = moments[0].value
        if not published:
            # S is about p, not about the sample mean, which is H noise away
            correction = n / (n - 1)
            high = correction * base.max_dist**2
            # an eigenvalue below the noise's own size cannot be told from it
            low = min(correction * moments[0].scale, high)
            second = clip_eigenvalues(correction * (second - hessian @ noise @ hessian), low, high)
        else:
            correction, low, high = 1.0, 0.0, math.inf
            hessian = clip_eigenvalues(hessian, 1e-3, math.inf)
            second = clip_eigenvalues(second, low, high)
        inverse = np.linalg.inv(hessian)
        sampling = inverse @ second @ inverse / n
        if base.noise.in_chart:
            chart_point = ball.center
            to_chart = np.linalg.inv(chart_differential(ball, base.point))
        else:
            chart_point = mean.value
            to_chart = _transport(ball, base.point, chart_point)
        gamma = to_chart @ (sampling + noise) @ to_chart.T
        return cls(
            chart_point=chart_point,
            gamma=np.asarray((gamma + gamma.T) / 2),
            sampling=sampling,
            inverse_hessian=np.asarray(inverse),
            to_chart=np.asarray(to_chart),
            estimate=NoisyCovariance(
                second=second,
                second_range=(low, high),
                second_scale=correction * moments[0].scale,
                hessian=hessian,
                hessian_range=(limits[0] / 2, limits[1] / 2),
                hessian_scale=hessian_scale,
                mean_noise=noise,
                n=n,
            ),
        )

    def dof(self) -> float:
        """Degrees of freedom of a Wishart matrix as noisy as Gamma.

        From the expansion where the noise is small, from the bootstrap's 95 % quantile elsewhere.
        """
        dim = len(self.gamma)
        dof = effective_dof(dim, *self.noise())
        if dof >= SMALL_NOISE_DOF * dim:
            return dof
        return dof_at_quantile(self.estimate.quantile(0.95), dim)

    def noise(self) -> tuple[float, float]:
        """E tr M^2 and E (tr M)^2 of M = Gamma^-1/2 (estimate of Gamma) Gamma^-1/2 - I.

        Three independent causes: noise in S, noise in H (to first order), and the sampling of S,
        for which normal logarithms are assumed.
        """
        values, vectors = np.linalg.eigh(self.gamma)
        whiten = (vectors / np.sqrt(values)) @ vectors.T @ self.to_chart
        u = whiten @ self.inverse_hessian
        t = whiten @ self.sampling
        n = self.estimate.n
        p, sampled = u @ u.T / n, whiten @ self.sampling @ whiten.T
        s2, h2 = self.estimate.second_scale**2, self.estimate.hessian_scale**2
        cross = t.T @ u
        symmetric = (cross + cross.T) / 2
        squares = (
            # the noise on the trace is smaller by 1/sqrt(dim + 1)
            s2 * (_square(p) / 2 - np.sum(p * p) / (len(p) + 1)),
            # M = -(u E t' + t E u')
            h2 * (np.sum((u.T @ u) * (t.T @ t)) + np.trace(cross) ** 2)
            + h2 * (np.sum((u @ t.T) * (u @ t.T)) + np.trace(t @ t.T) * np.trace(u @ u.T)),
            _square(sampled) / (n - 1),
        )
        traces = (
            s2 * (np.sum(p * p) - np.trace(p) ** 2 / (len(p) + 1)),
            4 * h2 * np.sum(symmetric**2),
            2 * np.sum(sampled**2) / (n - 1),
        )
        return float(sum(squares)), float(sum(traces))


def _square(p: FloatArray) -> float:
    return float(np.sum(p * p) + np.trace(p) ** 2)


def _transport(ball: Ball, start: FloatArray, end: FloatArray) -> FloatArray:
    """Parallel transport in coordinates at both ends, shape (dim, dim)."""
    manifold = ball.manifold
    basis = manifold.coords_to_tangent(np.eye(manifold.dim), start)
    moved = manifold.parallel_transport(basis, start, end_point=end)
    return manifold.tangent_to_coords(moved, end).T
