"""Adaptive geodesic regression: private measurements in place of public guesses.

    covariates -> private second moments of (1, t) -> whitened steps
    contributions of units -> private quantile of their lengths -> clipped, averaged, with noise
                           -> Gauss-Newton step

A unit's whole contribution is clipped, so that neither curvature, nor covariates, nor the bound on
the velocity enter the noise. Proof: docs/proofs/adaptive-regression.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms import RankExponential
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.grid import grid_step
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, PureDP
from curvedp.regression.descent import moved, shorten
from curvedp.statistics.grouping import Offsets

#: Clipping lengths over the private quantile.
_ABOVE_QUANTILE = 1.15
#: Lengths of contributions are sought from this fraction of the longest on.
_SHORTEST = 1 / 300
#: Relative rounding of the mean of a unit's covariates, for units of up to 2^40 records.
_UNIT_ROUNDING = 2.0**-12


@dataclass(frozen=True)
class Cycle:
    """Steps at one clipping length.

    Attributes
    ----------
    quantile : float
        Share of the budget for the quantile that the length is taken from; 0 for the public length.
    steps : tuple of pair
        Share of the budget and length of each step.
    """

    quantile: float
    steps: tuple[tuple[float, float], ...]


#: Share of the budget for the moments of the covariates.
_MOMENTS = 0.2
_GAUSSIAN = (
    Cycle(0.0, ((0.045, 1.0), (0.045, 1.0))),
    Cycle(0.05, ((0.07, 1.0), (0.07, 1.0))),
    Cycle(0.09, ((0.14, 1.0), (0.14, 1 / 2), (0.14, 1 / 3))),
)
_GAUSSIAN_SHORT = (
    Cycle(0.0, ((0.1, 1.0),)),
    Cycle(0.16, ((0.18, 1.0), (0.18, 1.0), (0.18, 1 / 2))),
)
_PURE = (
    Cycle(0.0, ((0.13, 1.0),)),
    Cycle(0.07, ((0.2, 1.0),)),
    Cycle(0.08, ((0.32, 1.0),)),
)
_PURE_SHORT = (Cycle(0.0, ((0.25, 1.0),)), Cycle(0.1, ((0.45, 1.0),)))
#: The same where the clipping length is given: no quantile is bought.
_GAUSSIAN_GIVEN = (
    Cycle(0.0, ((0.05, 1.0), (0.05, 1.0))),
    Cycle(0.0, ((0.1, 1.0), (0.1, 1.0), (0.166, 1.0), (0.166, 1 / 2), (0.166, 1 / 3))),
)
_GAUSSIAN_GIVEN_SHORT = (Cycle(0.0, ((0.2, 1.0), (0.2, 1.0), (0.2, 1.0), (0.2, 1 / 2))),)
_PURE_GIVEN = (Cycle(0.0, ((0.15, 1.0),)), Cycle(0.0, ((0.25, 1.0), (0.4, 1.0))))
_PURE_GIVEN_SHORT = (Cycle(0.0, ((0.4, 1.0), (0.4, 1.0))),)
_SHORT = (_GAUSSIAN_SHORT, _PURE_SHORT, _GAUSSIAN_GIVEN_SHORT, _PURE_GIVEN_SHORT)
#: Noise of a step with the whole budget over its clipping length, beyond which there are few steps.
_GAUSSIAN_NOISE = 0.07
_PURE_NOISE = 0.04


def cycles(noise: float, pure: bool, given: bool) -> tuple[Cycle, ...]:
    """The cycles for a noise, over its clipping length, of one step with the whole budget.

    `given` says that the clipping length is public.
    """
    if pure:
        short, long = (_PURE_GIVEN_SHORT, _PURE_GIVEN) if given else (_PURE_SHORT, _PURE)
        return short if noise > _PURE_NOISE else long
    short, long = (
        (_GAUSSIAN_GIVEN_SHORT, _GAUSSIAN_GIVEN) if given else (_GAUSSIAN_SHORT, _GAUSSIAN)
    )
    return short if noise > _GAUSSIAN_NOISE else long


@dataclass(frozen=True)
class AdaptiveDesign:
    """An adaptive regression before there are records.

    Attributes
    ----------
    ball : Ball
    n : int
        Number of units.
    moved_units : int
        How many of them one person may be.
    covariates : int
    v_max : float
    tau : float or None
        Public length of residuals; None if it is to be found.
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    cycles : tuple of Cycle
    moments : VectorNoise
        Of the moments of the covariates.
    """

    ball: Ball
    n: int
    moved_units: int
    covariates: int
    v_max: float
    tau: float | None
    way: PureDP | GDP
    cycles: tuple[Cycle, ...]
    moments: VectorNoise

    @classmethod
    def of(
        cls,
        ball: Ball,
        n: int,
        way: PureDP | GDP,
        *,
        covariates: int,
        v_max: float,
        records_per_unit: int,
        tau: float | None = None,
    ) -> AdaptiveDesign:
        """The design; raises here for all that cannot be served."""
        size = ball.manifold.dim * (covariates + 1)
        units = min(records_per_unit, n)
        noise = step_noise(n, size, way, units)
        own = cycles(noise, isinstance(way, PureDP), tau is not None)
        share = _split(way, own)[0]
        moments = moment_noise(n, covariates, units, share)
        design = cls(ball, n, units, covariates, v_max, tau, way, own, moments)
        # a clipping length lies between these: noise of either size must exist
        shortest = design.length_for(0.0) if tau is None else design.given_length
        for _, shares in design.cycle_shares:
            for length in (shortest, design.first_length):
                _ = [design.noise(length, share) for share in shares]
        grid_step(ball, design.coarsest_scale)
        _ = design.quantiles  # raises here where there is none
        return design

    @property
    def size(self) -> int:
        """Entries of a contribution: of the footpoint and each velocity."""
        return self.ball.manifold.dim * (self.covariates + 1)

    @property
    def reach(self) -> float:
        """Length of the longest contribution of whitened covariates, on flat space."""
        return (2 * self.ball.radius + self.v_max / 2) * math.sqrt(self.covariates + 1)

    @property
    def first_length(self) -> float:
        """The public clipping length of the first steps."""
        return 0.5 * self.ball.radius * math.sqrt(self.covariates + 1)

    @property
    def coarsest_scale(self) -> float:
        """The noise scale of the last step at the first clipping length, for the public grid."""
        return self.last_noise(self.first_length).scale

    @property
    def is_short(self) -> bool:
        """True if the budget allows few steps only."""
        return self.cycles in _SHORT

    @property
    def given_length(self) -> float:
        """The clipping length of contributions for residuals of length `tau`."""
        assert self.tau is not None
        return min(self.tau * math.sqrt(self.covariates + 1), self.first_length)

    def length_for(self, spread: float) -> float:
        """The clipping length to expect for residuals of that root mean square length."""
        length = _ABOVE_QUANTILE * spread * math.sqrt(self.covariates + 1)
        return min(max(length, _ABOVE_QUANTILE * self.reach * _SHORTEST), self.first_length)

    @functools.cached_property
    def shares(self) -> tuple[PureDP | GDP, ...]:
        """Of the moments, then of each cycle's quantile, if it has one, and of its steps."""
        return _split(self.way, self.cycles)

    @functools.cached_property
    def cycle_shares(self) -> list[tuple[PureDP | GDP | None, list[PureDP | GDP]]]:
        """Of each cycle the share of its quantile, if it has one, and those of its steps."""
        remaining = iter(self.shares[1:])
        return [
            (next(remaining) if cycle.quantile else None, [next(remaining) for _ in cycle.steps])
            for cycle in self.cycles
        ]

    @functools.cached_property
    def quantiles(self) -> list[RankExponential | None]:
        """The quantile of each cycle."""
        shares = [share for share, _ in self.cycle_shares]
        return [None if share is None else self._quantile(share) for share in shares]

    def _quantile(self, share: PureDP | GDP) -> RankExponential:
        reserve = 10 * self.moved_units / (self.n * bounded_range_epsilon(share))
        highest = 0.9 if isinstance(share, PureDP) else 0.6
        return RankExponential(
            min(max(1 - reserve, 0.5), highest),
            low=self.reach * _SHORTEST,
            high=self.reach,
            guarantee=share,
            records_per_unit=self.moved_units,
            base="log-uniform",
        )

    def noise(self, length: float, share: PureDP | GDP) -> VectorNoise:
        """Of a step that has this share, if contributions are clipped at `length`."""
        return VectorNoise.of(
            self.size,
            2 * length * self.moved_units / self.n,
            length * _core.summation_error(self.n),
            length,
            share,
        )

    def last_noise(self, length: float) -> VectorNoise:
        """The noise of the last step."""
        return self.noise(length, self.shares[-1])

    def noise_after(self, length: float) -> float:
        """Standard deviation of an entry of the result, in whitened coordinates.

        The last steps have one share each and lengths 1, 1/2, ..., 1/m: they average m estimates.
        """
        return self.last_noise(length).deviation * math.sqrt(self.cycles[-1].steps[-1][1])


def step_noise(n: int, size: int, way: PureDP | GDP, units: int) -> float:
    """Root mean square noise of one step with the whole budget, over its clipping length."""
    share = 2 * units / n
    if isinstance(way, PureDP):
        return share * math.sqrt(size * (size + 1)) / way.epsilon
    return share * math.sqrt(size) / way.mu


def moment_noise(n: int, covariates: int, units: int, share: PureDP | GDP) -> VectorNoise:
    """Noise for the means of (t, a t t^T), t of length `covariates` with entries in [-1/2, 1/2].

    The sensitivity is sqrt(q)/n with a of `second_weight`; the symmetric matrix counts in
    Frobenius norm.
    """
    q, a = covariates, second_weight(covariates)
    largest = (1 + _UNIT_ROUNDING) * math.sqrt(q / 4 + (a * q / 4) ** 2)
    return VectorNoise.of(
        q + q * (q + 1) // 2,
        (1 + _UNIT_ROUNDING) * math.sqrt(q) * units / n,
        largest * _core.summation_error(n),
        largest,
        share,
    )


def second_weight(covariates: int) -> float:
    """The factor a of second moments: phi^(5/2) for one covariate, else sqrt(2/(q - 1))."""
    golden = (1 + math.sqrt(5)) / 2
    weight = golden**2.5 if covariates == 1 else math.sqrt(2 / (covariates - 1))
    return weight * (1 - 2.0**-40)


def _split(way: PureDP | GDP, own: Sequence[Cycle]) -> tuple[PureDP | GDP, ...]:
    """Shares of the budget: moments, then quantile and steps of each cycle."""
    weights = [_MOMENTS]
    for cycle in own:
        weights += [cycle.quantile] if cycle.quantile else []
        weights += [share for share, _ in cycle.steps]
    shares: tuple[PureDP | GDP, ...] = way.split(weights)
    return shares


@dataclass
class AdaptiveFit:
    """The state of an adaptive regression, in the frame of the ball.

    Attributes
    ----------
    design : AdaptiveDesign
    rows : ndarray, shape (n, point_size)
        Records in the frame, those of one unit after the other.
    times : ndarray, shape (n, q)
        Covariates moved to [-1/2, 1/2], then by `center`.
    ends : ndarray of int, shape (units + 1,)
        Unit j has the records ``ends[j]:ends[j + 1]``.
    footpoint : ndarray, shape (point_size,)
    velocities : ndarray, shape (q, dim)
    center : ndarray, shape (q,)
        Released mean of the covariates: there the footpoint stands, near the records.
    moments : ndarray, shape (q + 1, q + 1)
        Released second moments of (1, t), t from the center on.
    length : float
        The clipping length.
    arrived : bool
        False if the variance of a covariate, in some direction, may be noise alone, and for the
        shortest schedule: steps need not have arrived then.
    """

    design: AdaptiveDesign
    rows: FloatArray
    times: FloatArray
    ends: Offsets
    footpoint: FloatArray
    velocities: FloatArray
    center: FloatArray
    moments: FloatArray
    length: float
    arrived: bool = True

    @classmethod
    def run(
        cls,
        design: AdaptiveDesign,
        rows: FloatArray,
        times: FloatArray,
        ends: Offsets,
        stream: _core.Stream,
    ) -> AdaptiveFit:
        """The result of the whole schedule."""
        fit = cls(
            design=design,
            rows=rows,
            times=np.ascontiguousarray(times.reshape(len(rows), -1)),
            ends=ends,
            footpoint=design.ball.frame.origin,
            velocities=np.zeros((design.covariates, design.ball.manifold.dim)),
            center=np.zeros(design.covariates),
            moments=np.eye(design.covariates + 1),
            length=design.first_length,
        )
        fit._release_moments(stream)
        whitening = np.linalg.inv(np.linalg.cholesky(fit.moments))
        for cycle, quantile, (_, shares) in zip(
            design.cycles, design.quantiles, design.cycle_shares, strict=True
        ):
            found = fit._contributions(whitening)
            if quantile is not None:
                lengths = np.linalg.norm(found, axis=1)
                drawn = float(quantile.sample(lengths, stream)[0])
                fit.length = min(fit.length, _ABOVE_QUANTILE * drawn)
            elif design.tau is not None and cycle is design.cycles[-1]:
                fit.length = design.given_length
            for step, (share, (_, length)) in enumerate(zip(shares, cycle.steps, strict=True)):
                if step:
                    found = fit._contributions(whitening)
                noise = design.noise(fit.length, share)
                mean = _core.clipped_mean(found, fit.length)
                gradient = noise.add(mean, stream).reshape(design.covariates + 1, -1)
                fit._step(length * whitening.T @ gradient)
        return fit

    def _contributions(self, whitening: FloatArray) -> FloatArray:
        """Contributions of units to a step, one row each; see the core."""
        return self.design.ball.frame.manifold.regression_contributions(
            self.rows, self.times, self.ends, self.footpoint, self.velocities, whitening
        )

    def _step(self, move: FloatArray) -> None:
        """Moves footpoint and velocities, and returns to the support: post-processing."""
        ball, v_max = self.design.ball, self.design.v_max
        shift = shorten(move[0], 2 * ball.radius)
        velocities = self.velocities + move[1:]
        self.footpoint, self.velocities = moved(ball, v_max, self.footpoint, shift, velocities)

    def _release_moments(self, stream: _core.Stream) -> None:
        """Private second moments of (1, t); eigenvalues are raised by the noise's deviation.

        Too large a variance makes steps too short; too small a one makes them too long.
        """
        q, a = self.design.covariates, second_weight(self.design.covariates)
        noise = self.design.moments
        upper = np.triu_indices(q)
        weight = np.where(upper[0] == upper[1], a, math.sqrt(2.0) * a)
        products = weight * (self.times[:, :, None] * self.times[:, None, :])[:, *upper]
        features = np.hstack([self.times, products])
        counts = np.diff(self.ends)[:, None]
        of_units = np.ascontiguousarray(np.add.reduceat(features, self.ends[:-1]) / counts)
        noisy = noise.add(_core.clipped_mean(of_units, noise.largest), stream)
        mean = np.clip(noisy[:q], -0.5, 0.5)
        second = np.zeros((q, q))
        second[upper] = noisy[q:] / weight
        second = second + np.triu(second, 1).T
        # at most its values without noise: far larger ones stand for budgets that tell nothing
        second = np.clip(second, -1.0, 1.0)
        values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
        # of a variance: from the second moment and from twice the mean times its own noise
        error = noise.deviation * math.hypot(1 / a, 2 * float(np.linalg.norm(mean)))
        spread_is_known = bool(values.min() > 3 * error)
        is_pure = isinstance(self.design.way, PureDP)
        self.arrived = spread_is_known and not (is_pure and self.design.is_short)
        raised = np.maximum(values, 0.0) + error
        raised += 0.5 * min(noise.deviation, 0.3) ** 2
        covariance = (vectors * np.minimum(raised, q / 4)) @ vectors.T
        self.center, self.times = mean, self.times - mean
        self.moments[1:, 1:] = covariance
