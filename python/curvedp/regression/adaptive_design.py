"""The budget of an adaptive geodesic regression, stage by stage, before there are records.

    covariates -> private second moments, and means of cut leverages -> metric of the steps
    contributions of units -> private quantile of their lengths -> clipped, averaged, with noise
                           -> Gauss-Newton step
    contributions at the end -> private second moments -> bands

Proof: docs/proofs/adaptive-regression.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms import RankExponential
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.choice import ways_to_meet
from curvedp.mechanisms.grid import grid_step
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.regression.schedules import (
    Cycle,
    Schedule,
    is_short,
    noise_ratio,
    schedule_for,
)
from curvedp.statistics.design import least_error

#: Lengths of residuals over their private quantile, and that over their root mean square, about.
ABOVE_QUANTILE, _USUAL_QUANTILE = 1.15, 1.5
#: Lengths of residuals are sought from this fraction of the longest on.
_SHORTEST = 1 / 500
#: Intervals of quantiles end at this multiple of the radius: no residual at a point of the ball is
#: longer.
_BEYOND = 2.0
#: Records that a quantile leaves above it, in moves of the mean.
_BALANCE = 2.0
#: Reserve of cycles before the last, which need not arrive exactly, over that of the last.
_TRAVEL = 2.0
#: Most values at which leverages are cut.
_MOST_CUTS = 8
#: Highest level of the quantile of a robust fit.
_ROBUST_LEVEL = 0.6
#: Length of the mean of what is clipped, over that if all that may be were clipped to nothing: as
#: it usually is, and for bands.
_CLIPPED, CLIPPED_AT_MOST = 0.05, 0.25
#: Deviations of its noise that the measured length is lowered by as usual, and raised by for bands.
EXCESS_USUAL, EXCESS_AT_MOST = -1.75, 0.5
#: Relative rounding of the mean of a unit's covariates, for units of up to 2^40 records.
_UNIT_ROUNDING = 2.0**-12
#: Clipping length of the second moments of contributions, over that of the last steps.
MEAT_CLIP = 2.0
#: Weight of the norm that tells how these moments divide among directions.
NORM_WEIGHT = 0.5
#: Contributions count up to so many clipping lengths where it is measured how much is cut off; and
#: the weight of that beside the second moments.
EXCESS_CLIP, EXCESS_WEIGHT = 4.0, 1.45
#: Deviations of its noise below which the variance of a covariate is in doubt; how many more make
#: that rare; and noise of a step in radii of curvature, beyond which steps do not stay where maps
#: are linear.
DOUBTED, _SURELY, _MOST_BENT = 3.0, 2.0, 0.25
#: Units whose products are added up at once.
UNITS_AT_ONCE = 4096


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
    robust : bool
        True if residuals beyond about the .6 quantile are shortened.
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    schedule : Schedule
    shares : tuple of PureDP or GDP
        Of all stages in turn.
    moments : VectorNoise or None
        Of the moments of the covariates; None where they count as spread evenly.
    """

    ball: Ball
    n: int
    moved_units: int
    covariates: int
    v_max: float
    tau: float | None
    robust: bool
    way: PureDP | GDP
    schedule: Schedule
    shares: tuple[PureDP | GDP, ...]
    moments: VectorNoise | None

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
        robust: bool = False,
    ) -> AdaptiveDesign:
        """The design; raises here for all that cannot be served."""
        units = min(records_per_unit, n)
        ratio = noise_ratio(n, ball.manifold.dim * (covariates + 1), way, units)
        schedule = schedule_for(ratio, isinstance(way, PureDP), tau is not None)
        shares = way.split(schedule.weights())
        moments = moment_noise(n, covariates, units, shares[0]) if schedule.measures else None
        public = (ball, n, units, covariates, v_max, tau, robust)
        design = cls(*public, way, schedule, tuple(shares), moments)
        # a clipping length lies between these: noise of either size must exist
        root, shortest = math.sqrt(covariates + 1), 2 * ball.radius * _SHORTEST
        longest = max(_BEYOND * ball.radius, tau or 0.0)
        for length in (min(shortest, tau or shortest) * root, longest * root):
            _ = [design.noise(length, share) for share in design.step_shares]
            _ = design.meat_noise(length)
        if schedule.measures:
            _ = [design.leverage_noise(count) for count in (1, _MOST_CUTS)]
        grid_step(ball, design.coarsest_scale)
        _ = design.clipped_units  # raises here where there is no quantile
        return design

    @classmethod
    def best(cls, ball: Ball, n: int, guarantee: Guarantee, **public: Any) -> AdaptiveDesign:
        """The design with the least error among the ways to meet a guarantee."""

        def design_under(way: PureDP | GDP) -> AdaptiveDesign:
            return cls.of(ball, n, way, **public)

        # in proportion to the error, whatever the clipping length will be
        return least_error(
            ways_to_meet(guarantee), design_under, lambda design: design.noise_after(1.0)
        )

    @property
    def size(self) -> int:
        """Entries of a contribution: of the footpoint and each velocity."""
        return self.ball.manifold.dim * (self.covariates + 1)

    @property
    def usual_leverage(self) -> float:
        """The highest leverage of covariates spread evenly, 1 + 3 q."""
        return 1.0 + 3.0 * self.covariates

    @property
    def coarsest_scale(self) -> float:
        """The noise scale of the last step for residuals as long as the radius, for the grid."""
        return self.last_noise(self.ball.radius * math.sqrt(self.covariates + 1)).scale

    @property
    def is_short(self) -> bool:
        """True if the budget is too small for steps to arrive."""
        ratio = noise_ratio(self.n, self.size, self.way, self.moved_units)
        return is_short(ratio, isinstance(self.way, PureDP), self.tau is not None)

    def is_bent(self, length: float) -> bool:
        """True if noise of a step clipped at `length` is large beside the radius of curvature."""
        curvature = math.sqrt(max(map(abs, self.ball.manifold.curvature_bounds)))
        return curvature * self.last_noise(length).deviation * math.sqrt(self.size) > _MOST_BENT

    def is_likely_seen(self, spread: float) -> bool:
        """True if no doubt is likely for covariates spread evenly, and residuals of that length."""
        if self.is_short or self.moments is None or self.is_bent(self.length_for(spread)):
            return False
        return (DOUBTED + _SURELY) * variance_error(self.moments, self.covariates, 0.0) < 1 / 12

    def length_for(self, spread: float) -> float:
        """The clipping length to expect for residuals of that root mean square length."""
        radius = self.ball.radius
        tau = self.tau if self.tau is not None else ABOVE_QUANTILE * _USUAL_QUANTILE * spread
        length = min(max(tau, 2 * radius * _SHORTEST), max(radius, self.tau or 0.0))
        return length * math.sqrt(self.covariates + 1)

    @functools.cached_property
    def cycle_shares(self) -> list[tuple[PureDP | GDP | None, list[PureDP | GDP]]]:
        """Of each cycle the share of its quantile, if it has one, and those of its steps."""
        remaining = iter(self.shares[2 if self.schedule.measures else 0 :])
        return [
            (next(remaining) if cycle.quantile else None, [next(remaining) for _ in cycle.steps])
            for cycle in self.schedule.cycles
        ]

    @functools.cached_property
    def step_shares(self) -> list[PureDP | GDP]:
        """Of all steps."""
        return [share for _, own in self.cycle_shares for share in own]

    def cuts(self, highest: float) -> FloatArray:
        """Leverages at which those of units are cut, the last one `highest`.

        From that of covariates spread evenly on in equal ratios, about 2 if that is few enough.
        """
        usual = min(self.usual_leverage, highest)
        octaves = math.ceil(math.log2((highest - 1.0) / (usual - 1.0)))
        count = 1 + min(octaves, _MOST_CUTS - 1)
        return np.asarray(1.0 + np.geomspace(usual - 1.0, highest - 1.0, count))

    def leverage_noise(self, count: int) -> VectorNoise:
        """Of the means of leverages cut at `count` values, each on [0, 1] for one unit."""
        largest = (1 + _UNIT_ROUNDING) * math.sqrt(count)
        return VectorNoise.of(
            count,
            largest * self.moved_units / self.n,
            largest * _core.summation_error(self.n),
            largest,
            self.shares[1],
        )

    def residuals(self, cycle: int) -> RankExponential | None:
        """The quantile of lengths of residuals before a cycle; the longest count as the radius."""
        share = self.cycle_shares[cycle][0]
        if share is None:
            return None
        return RankExponential(
            self.level(cycle),
            low=2 * self.ball.radius * _SHORTEST,
            high=_BEYOND * self.ball.radius,
            guarantee=share,
            records_per_unit=self.moved_units,
            base="log-uniform",
        )

    def level(self, cycle: int) -> float:
        """Level of a cycle's quantile: 1 - K/n, K the units that may lie above it.

        One of them moved to the clipping length changes the noise by as much as the mean, at most,
        where K = 2 sqrt(k) over the budget of the steps; K is also several scales of the
        quantile's own noise.
        """
        highest = _ROBUST_LEVEL if self.robust else 1.0
        return min(max(1.0 - self.clipped_units[cycle] / self.n, 0.5), highest)

    @functools.cached_property
    def clipped_units(self) -> list[float]:
        """K of each cycle, but for noise; 0 for a public length."""
        found = [self._clipped(quantile, steps) for quantile, steps in self.cycle_shares]
        return [_TRAVEL * own for own in found[:-1]] + found[-1:]

    def _clipped(self, quantile: PureDP | GDP | None, steps: list[PureDP | GDP]) -> float:
        if quantile is None:
            return 0.0
        last = steps[-1]
        if isinstance(last, PureDP):
            moves = math.sqrt(self.size * (self.size + 1)) / last.epsilon
        else:
            moves = math.sqrt(self.size / len(steps)) / last.mu
        reserve = _above(self.schedule.reserve, self.moved_units, quantile)
        return max(_BALANCE * moves * self.moved_units, reserve)

    def public_residual(self, cycle: Cycle) -> float:
        """The length of residuals where `tau` is given."""
        assert self.tau is not None
        start = max(0.5 * self.ball.radius, self.tau)
        return float(start * (self.tau / start) ** cycle.fall)

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
        return self.noise(length, self.step_shares[-1])

    def noise_after(self, length: float) -> float:
        """Standard deviation of an entry of the result, in whitened coordinates.

        The last steps have one share each and lengths 1, 1/2, ..., 1/m: they average m estimates.
        """
        last_length = self.schedule.cycles[-1].steps[-1][1]
        return float(self.last_noise(length).deviation * math.sqrt(last_length))

    def deviation_after(
        self, length: float, clipped: float = _CLIPPED, excess: float = 0.0
    ) -> float:
        """The noise of an entry of the result, with what clipping adds.

        The share `clipped` of K/N clipping lengths, or `excess` of them if that is more.
        """
        moved = max(clipped * self.clipped_units[-1] / self.n, excess) * length
        return math.hypot(self.noise_after(length), moved / math.sqrt(self.size))

    def usual_error(self, spread: float) -> float:
        """Root mean square distance of predictions from the fit, for covariates spread evenly.

        For residuals of the root mean square length `spread`.
        """
        noise = self.deviation_after(self.length_for(spread))
        return noise * math.sqrt(self.ball.manifold.dim * self.usual_leverage)

    @property
    def measures_excess(self) -> bool:
        """True if what clipping cuts off is an error, and not what was asked for."""
        return self.tau is None and not self.robust

    def meat_noise(self, length: float) -> VectorNoise:
        """Of the second moments of contributions clipped at `MEAT_CLIP` times `length`.

        Those of a unit, added up over directions, are a positive semidefinite matrix, in Frobenius
        norm at most the square of the clipping length; two of them have a nonnegative inner
        product, so their distance is at most sqrt 2 times that. So are those added up over
        covariates, whose mean's norm counts with the weight `NORM_WEIGHT`. The mean share of
        `EXCESS_CLIP` - 1 lengths that is cut off, in [0, 1], has that of `EXCESS_WEIGHT`. What one
        unit moves is convex in the shorter of its two lengths between 1 and `MEAT_CLIP`, and
        largest at either end of that.
        """
        rows = self.covariates + 1
        largest = (MEAT_CLIP * length) ** 2
        weight = EXCESS_WEIGHT if self.measures_excess else 0.0
        of_moments, span = math.hypot(1.0, NORM_WEIGHT), EXCESS_CLIP - 1.0
        moved = max(
            math.hypot(of_moments * math.hypot(1.0, shorter**2), weight * share)
            for shorter, share in ((1.0, (EXCESS_CLIP - MEAT_CLIP) / span), (1 / MEAT_CLIP, 1.0))
        )
        # of the norm: products of a chunk of units added up in any order, then the chunks
        products = UNITS_AT_ONCE * rows + self.n / UNITS_AT_ONCE + self.ball.manifold.dim**2
        return VectorNoise.of(
            rows * (rows + 1) // 2 + 1 + self.measures_excess,
            (1 + _UNIT_ROUNDING) * moved * largest * self.moved_units / self.n,
            largest * (2 * _core.summation_error(self.n) + 2.0**-52 * products),
            math.hypot(1.0, NORM_WEIGHT, weight) * largest,
            self.shares[-1],
        )


def _above(scales: float, units: int, share: PureDP | GDP) -> float:
    """Units above a quantile: so many halves of the scale 2 k/epsilon of its noise."""
    return scales * units / bounded_range_epsilon(share)


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


def variance_error(noise: VectorNoise, covariates: int, mean_length: float) -> float:
    """Deviation of the noise of a variance: of the second moment, and of twice the mean."""
    return noise.deviation * math.hypot(1 / second_weight(covariates), 2 * mean_length)


def added_variance(noise: VectorNoise, covariates: int, mean_length: float) -> float:
    """The addition to released variances, so that steps are too short rather than too long."""
    error = variance_error(noise, covariates, mean_length)
    return error + 0.5 * min(noise.deviation, 0.3) ** 2
