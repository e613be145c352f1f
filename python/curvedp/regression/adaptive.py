"""Adaptive geodesic regression: private measurements in place of public guesses.

A unit's whole contribution is clipped, so that neither curvature, nor covariates, nor the bound on
the velocity enter the noise. Stages and their budgets: `curvedp.regression.adaptive_design`.
Proof: docs/proofs/adaptive-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import PureDP
from curvedp.regression.adaptive_design import (
    ABOVE_QUANTILE,
    DOUBTED,
    EXCESS_CLIP,
    EXCESS_WEIGHT,
    MEAT_CLIP,
    NORM_WEIGHT,
    UNITS_AT_ONCE,
    AdaptiveDesign,
    added_variance,
    second_weight,
    variance_error,
)
from curvedp.regression.arrival import Arrival
from curvedp.regression.steps import moved, shorten
from curvedp.regression.whitening import CovariateLaw, StepMetric
from curvedp.statistics.grouping import Offsets

#: How much less than released the variance of a covariate counts as for errors of slopes: times the
#: variance of its noise over it.
_LESS = 3.0
#: How much of the mean of leverages may lie beyond the released one, and how well that is known: a
#: group of records that no others are like has 1.
_FAR, _UNKNOWN = 0.2, 0.25
#: Clipping lengths of residuals that the last steps go, and some of those before, at most; and the
#: length in radii of negative curvature from which steps of clipped contributions may stop short.
_REACH, _CURVED = 6.0, 2.0

_SPREAD = (
    "the spread of a covariate within its range may be noise alone, so that the slope is too "
    "short; use a narrower range, more records or a larger budget"
)
_BUDGET = "the budget is too small for the number of records; use a larger budget or more records"
_GIVE_TAU = ", or tau if about the largest residual is known"
_RARE = (
    "few records may lie far from the others in their covariates, and too few to be seen in this "
    "budget; use a range no wider than the covariates', or release the means of groups instead"
)
_STEPS = (
    "its last steps are longer than noise makes them; use more records or a larger budget, or for "
    "groups release their means instead"
)
_LONG = "the velocity is as long as v_max allows; use a larger v_max, or a narrower range"
_BENT = "its noise is large beside the radius of curvature; use more records or a larger budget"


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
    law : CovariateLaw
        Of the covariates from the center on, by released moments.
    leverage : float
        Released: steps are made for covariates up to it; contributions of others are shortened even
        where their residuals are usual.
    residual : float
        Length of residuals beyond which contributions are shortened.
    meat : ndarray, shape (q + 1, q + 1)
        Released second moments of whitened contributions, added up over directions.
    meat_norm, meat_deviation : float
        Norm of those added up over covariates, and the noise of an entry of `meat`.
    excess, excess_deviation : float
        Released mean of what is cut off contributions, in clipping lengths, and its noise; 0 where
        that is asked for.
    remains, growth : ndarray, shape (q, q)
        What steps may have left of the slopes, for the noise of the covariates' moments; and by
        what their errors may be larger than with the right moments.
    spread : float
        Of the metric at the end: see `StepMetric`.
    doubts : list of str
        Why steps may not have arrived; empty if nothing released tells so.
    """

    design: AdaptiveDesign
    rows: FloatArray
    times: FloatArray
    ends: Offsets
    footpoint: FloatArray
    velocities: FloatArray
    center: FloatArray
    law: CovariateLaw
    leverage: float
    residual: float
    meat: FloatArray
    meat_norm: float = math.nan
    meat_deviation: float = math.nan
    excess: float = 0.0
    excess_deviation: float = 0.0
    remains: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    growth: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    spread: float = math.nan
    doubts: list[str] = field(default_factory=list)

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
        q = design.covariates
        fit = cls(
            design=design,
            rows=rows,
            times=np.ascontiguousarray(times.reshape(len(rows), -1)),
            ends=ends,
            footpoint=design.ball.frame.origin,
            velocities=np.zeros((q, design.ball.manifold.dim)),
            center=np.zeros(q),
            law=CovariateLaw.about(np.zeros(q), np.diag([1.0, *[1 / 12] * q])),
            leverage=1.0,
            residual=design.ball.radius,
            meat=np.eye(q + 1),
            remains=np.zeros((q, q)),
            growth=np.eye(q),
        )
        fit._run_schedule(stream)
        return fit

    @property
    def length(self) -> float:
        """The clipping length of whitened contributions."""
        return self.residual * math.sqrt(self.design.covariates + 1)

    def contributions(self, metric: StepMetric) -> FloatArray:
        """Contributions of units to a step, one row each; see the core."""
        return self.design.ball.frame.manifold.regression_contributions(
            self.rows,
            self.times,
            self.ends,
            self.footpoint,
            self.velocities,
            metric.whitening,
        )

    def metric(self) -> StepMetric:
        """At the current geodesic."""
        manifold = self.design.ball.frame.manifold
        return StepMetric.at(manifold, self.velocities, self.law, self.leverage)

    def step(self, move: FloatArray) -> None:
        """Moves footpoint and velocities, and returns to the support: post-processing."""
        ball, v_max = self.design.ball, self.design.v_max
        shift = shorten(move[0], 2 * ball.radius)
        velocities = self.velocities + move[1:]
        self.footpoint, self.velocities = moved(ball, v_max, self.footpoint, shift, velocities)

    def _run_schedule(self, stream: _core.Stream) -> None:
        """All stages in turn."""
        noise = self.design.moments
        if noise is None:
            self.leverage = self.law.highest_leverage
        else:
            self._release_leverage(self._release_moments(noise, stream), stream)
        leverages = self.law.design_leverage(self.times, self.leverage)
        leverages = self._of_units(leverages[:, None])[:, 0]
        arrival = None
        for number in range(len(self.design.schedule.cycles)):
            arrival = self._run_cycle(number, leverages, stream)
        assert arrival is not None
        metric = self.metric()
        self.spread = metric.spread
        self._release_meat(metric, stream)
        self._say_doubts(arrival, metric)

    def _run_cycle(self, number: int, leverages: FloatArray, stream: _core.Stream) -> Arrival:
        """Steps at one clipping length."""
        design = self.design
        q, cycle = design.covariates, design.schedule.cycles[number]
        metric = self.metric()
        found = self.contributions(metric)
        quantile = design.residuals(number)
        if quantile is not None:
            # of a residual u on flat space this is |u|
            lengths = np.linalg.norm(found, axis=1) / np.sqrt(leverages)
            drawn = float(quantile.sample(lengths, stream)[0])
            # records lie within the radius: no long tail is above a quantile near it
            self.residual = max(min(design.ball.radius, ABOVE_QUANTILE * drawn), drawn)
        else:
            self.residual = design.public_residual(cycle)
        arrival = Arrival(design.size, isinstance(design.way, PureDP))
        shares = design.cycle_shares[number][1]
        for place, (share, (_, length)) in enumerate(zip(shares, cycle.steps, strict=True)):
            if place:
                metric = self.metric()
                found = self.contributions(metric)
            noise = design.noise(self.length, share)
            gradient = noise.add(_core.clipped_mean(found, self.length), stream)
            arrival.note(gradient, noise.deviation, length)
            self.step((length * metric.solution @ gradient).reshape(q + 1, -1))
        return arrival

    def _release_moments(self, noise: VectorNoise, stream: _core.Stream) -> float:
        """Private second moments of (1, t); eigenvalues are raised by the noise's deviation.

        Too large a variance makes steps too short; too small a one makes them too long. Returns the
        mean leverage less 1.
        """
        design = self.design
        q, a = design.covariates, second_weight(design.covariates)
        upper = np.triu_indices(q)
        weight = np.where(upper[0] == upper[1], a, math.sqrt(2.0) * a)
        products = weight * (self.times[:, :, None] * self.times[:, None, :])[:, *upper]
        of_units = self._of_units(np.hstack([self.times, products]))
        noisy = noise.add(_core.clipped_mean(of_units, noise.largest), stream)
        mean = np.clip(noisy[:q], -0.5, 0.5)
        second = np.zeros((q, q))
        second[upper] = noisy[q:] / weight
        second = second + np.triu(second, 1).T
        # at most its values without noise: far larger ones stand for budgets that tell nothing
        second = np.clip(second, -1.0, 1.0)
        values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
        length = float(np.linalg.norm(mean))
        if values.min() <= DOUBTED * variance_error(noise, q, length):
            self.doubts.append(_SPREAD)
        raised = np.maximum(values, 0.0) + added_variance(noise, q, length)
        moments = np.eye(q + 1)
        moments[1:, 1:] = (vectors * np.minimum(raised, q / 4)) @ vectors.T
        self.center, self.times = mean, self.times - mean
        self.law = CovariateLaw.about(mean, moments)
        error = variance_error(noise, q, length)
        remains, growth = self._of_wrong_steps(values, error, raised)
        self.remains, self.growth = ((vectors * own) @ vectors.T for own in (remains, growth))
        # the mean leverage less 1, but for the noise of the moments
        return float(np.sum(np.clip(values, 0.0, q / 4) / np.minimum(raised, q / 4)))

    def _of_wrong_steps(
        self, values: FloatArray, error: float, raised: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Effects of the covariance's noise on slopes along its eigenvectors.

        A step of length l leaves the share 1 - a l of what it should take away, a the variance over
        the released one. Returns the share that all steps leave, were the variance off by two
        deviations; and by what errors are larger, were it less by `_LESS` e^2 over itself, e a
        deviation: those from sampling, to which steps tend, by 1/a, those from noise by the root of
        its variance over that of a = 1.
        """
        power = 2.0 if isinstance(self.design.way, PureDP) else 1.0
        told = np.maximum(values, DOUBTED * error)
        likely = [values - 2.0 * error, values + 2.0 * error, told - _LESS * error * (error / told)]
        ratios = np.maximum([*likely, raised], 0.0) / raised
        left, variance = np.ones_like(ratios), np.zeros_like(ratios)
        steps = [own for cycle in self.design.schedule.cycles for own in cycle.steps]
        for share, step in steps:
            left *= 1.0 - step * ratios
            variance = (1.0 - step * ratios) ** 2 * variance + step**2 / share**power
        remains = np.minimum(np.abs(left[:2]).max(axis=0), 1.0)
        return remains, np.maximum(np.sqrt(variance[2] / variance[3]), 1.0 / ratios[2])

    def _release_leverage(self, mean: float, stream: _core.Stream) -> None:
        """The least cut of leverages that leaves about their `mean`, less 1, by private means."""
        highest = self.law.highest_leverage
        cuts = self.design.cuts(highest)
        leverages = self._of_units(self.law.leverage(self.times)[:, None])
        shares = np.clip((leverages - 1.0) / (cuts - 1.0), 0.0, 1.0)
        noise = self.design.leverage_noise(len(cuts))
        found = noise.add(_core.clipped_mean(shares, noise.largest), stream)
        beyond = mean - (cuts - 1.0) * found
        known = (cuts - 1.0) * noise.deviation
        # nothing lies beyond the highest
        beyond[-1] = known[-1] = 0.0
        chosen = int(np.argmax(beyond <= _FAR))
        self.leverage = float(max(cuts[chosen], self.design.covariates + 1.0))
        # the highest leverage that noise may hide: a group that has it is of n/leverage units, all
        # of which may be clipped. Noise may make the released leverage too low to tell of them
        possible = int(np.argmax(beyond + known <= _FAR))
        units = self.design.n / cuts[possible]
        hidden = possible > 0 and units < self.design.clipped_units[-1]
        if hidden or known[chosen] > _UNKNOWN:
            self.doubts.append(_RARE)

    def _release_meat(self, metric: StepMetric, stream: _core.Stream) -> None:
        """Private second moments of whitened contributions, added up over directions.

        And the norm of those added up over covariates.
        """
        design, rows = self.design, self.design.covariates + 1
        noise = design.meat_noise(self.length)
        found = self.contributions(metric)
        limit = MEAT_CLIP * self.length
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            found = found * np.minimum(1.0, limit / lengths)
            beyond = np.nan_to_num(lengths / self.length - 1.0, nan=0.0) / (EXCESS_CLIP - 1.0)
        cut_off = _core.clipped_mean(np.clip(beyond, 0.0, 1.0), 1.0)
        blocks = np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0).reshape(len(found), rows, -1)
        products = blocks @ blocks.transpose(0, 2, 1)
        upper = np.triu_indices(rows)
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
        mean = _core.clipped_mean(np.ascontiguousarray(weight * products[:, *upper]), limit**2)
        norm = min(float(np.linalg.norm(_second_moments(blocks))), limit**2)
        values = [mean, np.array([NORM_WEIGHT * norm])]
        if design.measures_excess:
            values.append(EXCESS_WEIGHT * limit**2 * cut_off)
        noisy = noise.add(np.concatenate(values), stream)
        second = np.zeros((rows, rows))
        # without noise no entry is larger
        second[upper] = np.clip(noisy[: len(mean)] / weight, -(limit**2), limit**2)
        self.meat = second + np.triu(second, 1).T
        self.meat_norm = float(np.clip(noisy[len(mean)] / NORM_WEIGHT, 0.0, limit**2))
        self.meat_deviation = noise.deviation
        if design.measures_excess:
            unit = (EXCESS_CLIP - 1.0) / (EXCESS_WEIGHT * limit**2)
            self.excess = min(max(float(noisy[-1]) * unit, 0.0), EXCESS_CLIP - 1.0)
            self.excess_deviation = noise.deviation * unit

    def _is_out_of_reach(self, metric: StepMetric) -> bool:
        """True if the last steps would not arrive at units that may be clipped as a whole.

        Those at the farthest covariates, where leverage in the metric of the steps is so high that
        few units have it.
        """
        travelled = float(np.linalg.norm(self.velocities, axis=1).sum())
        root = math.sqrt(max(-self.design.ball.manifold.curvature_bounds[0], 0.0))
        is_long = travelled > _REACH * self.residual or root * travelled > _CURVED
        if not (self.design.schedule.measures and is_long):
            return False
        highest, farthest = self.law.highest_leverage, self.law.farthest
        if farthest is not None and math.isfinite(metric.spread):
            highest = max(highest, metric.leverage(farthest))
        is_uneven = highest > self.design.usual_leverage
        return is_uneven and self.design.n / highest < self.design.clipped_units[-1]

    def _of_units(self, of_records: FloatArray) -> FloatArray:
        """Means over the records of units, one row each."""
        counts = np.diff(self.ends)[:, None]
        return np.ascontiguousarray(np.add.reduceat(of_records, self.ends[:-1]) / counts)

    def _say_doubts(self, arrival: Arrival, metric: StepMetric) -> None:
        """Notes what released and public numbers tell against the result."""
        design = self.design
        if self._is_out_of_reach(metric) and _RARE not in self.doubts:
            self.doubts.append(_RARE)
        if design.is_short:
            self.doubts.append(_BUDGET + (_GIVE_TAU if design.tau is None else ""))
        if not arrival.is_seen or not math.isfinite(self.spread):
            self.doubts.append(_STEPS)
        if np.linalg.norm(self.velocities, axis=1).sum() > 0.99 * design.v_max:
            self.doubts.append(_LONG)
        if design.is_bent(self.length):
            self.doubts.append(_BENT)


def _second_moments(blocks: FloatArray) -> FloatArray:
    """Mean over units of sum_a b_a b_a^T, b_a the rows of a block, shape (d, d)."""
    total = np.zeros((blocks.shape[2], blocks.shape[2]))
    for begin in range(0, len(blocks), UNITS_AT_ONCE):
        part = blocks[begin : begin + UNITS_AT_ONCE].reshape(-1, blocks.shape[2])
        total += part.T @ part
    return np.asarray(total / len(blocks))
