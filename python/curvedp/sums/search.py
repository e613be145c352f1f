"""The search for a mean: which sums are asked for, with which shares, and what follows from them.

`Search.run` is a generator: it yields requests, is sent the noisy sums that answer them, and
returns what was found. It never sees a record, so all its decisions are post-processing.

    start -> blocks (counts of distances, then one round of clipped logarithms) until it settles
          -> fine counts -> rounds at the level that they tell, the last with all that is left

Shares, levels and stops: docs/proofs/sums-of-messages.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.sums.asking import Asking
from curvedp.sums.found import (
    CLIPPED,
    MISJUDGED,
    NO_DIRECTION,
    OUT_OF_RANGE,
    REACH,
    SPREAD_OUT,
    TOO_CURVED,
    TOO_FEW,
    TURNED_BY_CHANCE,
    TURNING_MISJUDGED,
    Found,
    Round,
    Stopped,
    error_beyond,
    most_beyond,
    most_left,
)
from curvedp.sums.geometry import axes, log_diagonals
from curvedp.sums.hessian import (
    AXES_SEEN,
    LEAST_ACROSS,
    LEAST_HESSIAN,
    axes_add,
    least_hessian,
    symmetric,
)
from curvedp.sums.messages import (
    AXES_LENGTH,
    ROUND_UNIT,
    Request,
    scale_levels,
    start_of,
)
from curvedp.sums.rounds import Rounds
from curvedp.sums.tail_counts import TailCounts, counts_of

#: Most blocks, and most blocks on logarithms of diagonals.
_BLOCKS, _FLAT_BLOCKS = 4, 2
#: Records are looked at from so many points at most.
_PASSES = 6
#: A block on logarithms of diagonals settles where its step is at most this part of the clip level.
_FLAT_SETTLED = 0.5
#: Fewer records than so many standard deviations of their count by scale are too few.
_LEAST_SCALE = 6.0
#: Where half of the records must lie nearer, their counts may be wrong by so many deviations.
DOUBTED = 1.0
#: The released ball holds this share of the records, and is this much smaller than the largest.
_BALL_LEVEL, BALL_LIMIT = 0.95, 0.9


class Search(Rounds):
    """One search, for one group of records: see `Rounds` for its parameters."""

    def run(self) -> Asking[Found]:
        """Requests, one after the other, each answered with a noisy sum; then what was found."""
        try:
            return (yield from self._run())
        except Stopped as stopped:
            own = (None, str(stopped), self.budget.spent, *self.count)
            return Found(*own, blocks=self.blocks, rounds=self.rounds)

    def _run(self) -> Asking[Found]:
        base = yield from self._start()
        step: Round | None = None
        noise, kept = self.noise, self.noise.cost(self.budget.whole) * self.schedule.kept
        for _ in range(_BLOCKS):
            self.blocks += 1
            tails = yield from self._counts(self.geometry, base)
            rest = self.budget.rest
            share = min(self.schedule.block * self.budget.whole, noise.part(0.5) * rest)
            later = noise.part(max(noise.cost(rest) - noise.cost(share), 0.0))
            radius = self._clip_level(self.geometry, tails, later, noise.least_seen[0])[0]
            if radius > noise.doubtful * tails.median(self.number):
                tails = yield from self._counts(self.geometry, base)
                again = self._clip_level(self.geometry, tails, later, noise.least_seen[0])[0]
                radius = min(radius, again)
            step = yield from self._round(self.geometry, base, radius, share, tails)
            base = self._moved(base, step)
            settled = _is_settled(step, self.schedule.settled * radius, self.geometry.dim)
            if settled or noise.cost(self.budget.rest) < kept or self.passes >= _PASSES - 1:
                break
        assert step is not None
        return (yield from self._finish(base, step, tails, radius))

    def _finish(
        self, base: FloatArray, step: Round, coarse: TailCounts, near: float
    ) -> Asking[Found]:
        """Fine counts, rounds at the level that they tell, and the last round."""
        geometry, noise, whole = self.geometry, self.noise, self.budget.whole
        least, most, enough = self.schedule.fine
        share = whole * min(most, max(least, enough / max(self.number * whole, 1.0)))
        share = min(share, noise.part(0.4) * self.budget.rest)
        tails = yield from self._tail(geometry, base, share, near=near)
        tails = noise.joined(coarse, tails)
        if tails.median(self.number, DOUBTED) > geometry.most_spread:
            raise Stopped(SPREAD_OUT)  # the rest stays
        radius, index = self._clip_level(geometry, tails, self.budget.rest, noise.least_seen[1])
        if self.clip is not None:
            radius = min(self.clip, geometry.largest)
            index = tails.at_most(radius)
        across = yield from self._least_across(base, tails, radius)
        slowness, moved = min(0.6, self.schedule.slowness + abs(step.hessian - 1.0) / 2.0), 0.0
        for _ in range(self.max_rounds):
            rest = self.budget.rest / self.widening
            last = self._noise(geometry, radius, rest) / step.hessian
            least_left = self.schedule.kept_last * noise.cost(whole)
            if slowness**2 * step.length <= last or noise.cost(self.budget.rest) <= least_left:
                break
            if self.passes >= _PASSES:
                break
            self.rounds += 1
            share = self.schedule.further * whole
            step = yield from self._round(geometry, base, radius, share, tails)
            base = self._moved(base, step)
            moved += step.length / step.hessian
        self.rounds += 1
        share, before = self.budget.rest * noise.part(1.0 - noise.cost(self.spare)), step
        step = yield from self._round(geometry, base, radius, share, tails)
        value = self._moved(base, step)
        return self._found(value, tails, index, radius, step, before, moved, across)

    def _least_across(self, base: FloatArray, tails: TailCounts, radius: float) -> Asking[float]:
        """The least that the Hessian across may be: where that of records on one geodesic allows a
        saddle, by a sum of the axes on which they lie, if that may help."""
        geometry, whole = self.geometry, self.budget.whole
        own = (geometry, tails, self.number, radius)
        least, counted = least_hessian(*own)
        if least > LEAST_ACROSS or not geometry.tells_axes or self.passes > _PASSES - 2:
            return least
        flat = axes(geometry)
        share = min(self.schedule.block * whole, self.noise.part(0.25) * self.budget.rest)
        doubt = AXES_SEEN * self._deviation(flat, AXES_LENGTH, share / self.widening)
        added, most = axes_add(*own, doubt)
        if least - counted + added <= LEAST_ACROSS:
            return least
        at = np.append(base, most)
        noisy, share = yield from self._ask(Request("round", share, at, radius, "axes"))
        unit = most * AXES_LENGTH / (ROUND_UNIT - 8.0 * flat.dim) / self.number
        matrix = symmetric(noisy[:-1] * unit, geometry.dim)
        doubt = AXES_SEEN * self._deviation(flat, most * AXES_LENGTH, share)
        return least - counted + float(np.linalg.eigvalsh(matrix)[0]) - doubt

    def _found(
        self,
        value: FloatArray,
        tails: TailCounts,
        index: int,
        radius: float,
        step: Round,
        before: Round,
        moved: float,
        across: float,
    ) -> Found:
        """The end, `moved` from where the counts were taken to where the last step began; across
        it the Hessian is `across` at least."""
        n = self.number
        beyond = tails.beyond(index)
        within = min(max(1.0 - beyond / n, 0.0), 1.0)
        reason = None
        if step.hessian <= LEAST_HESSIAN or across <= LEAST_ACROSS:
            reason = TOO_CURVED if self.clip is None or within > 0.5 else CLIPPED
        elif step.expected_noise > radius:
            reason = TOO_FEW
        noise = step.lost * step.expected_noise / step.hessian
        cut = tails.excess(index, self.noise.near, self.noise.significant) / n
        left = math.hypot(
            self._left(step, before, max(beyond, 0.0) / n), self._turned(step, radius)
        )
        last_step = step.length / step.hessian
        level = tails.quantile(_BALL_LEVEL, n) + last_step
        within_error = tails.beyond_error(index) / n
        error = math.hypot(noise, self.noise.of_cut * cut, left)
        farthest = self.geometry.largest
        reach = farthest if self.geometry.is_compact else min(REACH * radius, farthest)
        along = most_left(left, self.geometry.manifold.curvature_bounds[0])
        share = most_beyond(within, within_error)
        overtaken = self._most_overtaken(tails, radius - moved, share) if moved else 0.0
        most, turned = math.inf, 0.0
        for turned, way in self._most_turned(tails, moved):
            far = (share, reach + last_step, overtaken, moved, turned)
            most = error_beyond(noise, along, radius, *far)
            if last_step + most <= way:
                break
        most = min(most, farthest) if self.geometry.is_compact else most
        return Found(
            value=None if reason else value,
            reason=reason,
            spent=self.budget.spent,
            count=self.count[0],
            count_deviation=self.count[1],
            radius=radius,
            within=within,
            within_error=within_error,
            noise=noise,
            cut=cut,
            left=left,
            last_step=last_step,
            moved=moved,
            overtaken=overtaken,
            turned=turned,
            expected_error=error,
            most_error=max(error, most),
            reach=reach,
            sensitivity=self.bound("round", self.geometry) / ROUND_UNIT * radius / n,
            scale=step.expected_noise / self.noise.unit_length(self.geometry.dim),
            spread=self._spread(tails, radius, step),
            level=level,
            blocks=self.blocks,
            rounds=self.rounds,
        )

    def _most_overtaken(self, tails: TailCounts, near: float, beyond: float) -> float:
        """Most of the share of records farther than `near`, as counted, without `beyond`."""
        return max(self._most_beyond(tails, tails.at_most(max(near, 0.0))) - beyond, 0.0)

    def _most_turned(self, tails: TailCounts, moved: float) -> Iterator[tuple[float, float]]:
        """Most of the share of records that are less than some way from the cut locus of the point
        from which the last step began, and that way: the shortest first, the last one endless."""
        if self.geometry.is_compact:
            rim = self.geometry.manifold.injectivity_radius - moved
            for index in range(tails.at_most(rim), len(tails.level)):
                yield self._most_beyond(tails, index), rim - float(tails.level[index])
        yield (1.0 if self.geometry.is_compact else 0.0), math.inf

    def _most_beyond(self, tails: TailCounts, index: int) -> float:
        """Most of the share of records beyond a level that counts do not exclude."""
        n = self.number
        return most_beyond(1.0 - tails.beyond(index) / n, tails.beyond_error(index) / n)

    def _left(self, step: Round, before: Round, beyond: float) -> float:
        """Length by which the last step may miss.

        Records all in its direction have the Hessian 1, up to those that were cut, or are at sites
        that did not answer: where H is larger the step is then too short by (H - 1)/H, of which
        part is expected. The way back from the noise of the step before leads in all directions
        alike, of which records see one: it counts with 1/sqrt(d). That the number of records is a
        noisy count moves the step, too.
        """
        smooth = step.hessian + step.turning
        dim, part = self.geometry.dim, (1.0 if smooth < 1.0 else MISJUDGED) / step.hessian
        back = min(math.sqrt(dim) * before.carried * step.hessian, step.signal)
        ahead = math.hypot(math.sqrt(step.signal**2 - back**2), back / math.sqrt(dim))
        short = part * abs(smooth - 1.0) * ahead + (beyond + self.missing) * step.signal
        counted = 0.0 if self.number == self.n else self.count[1] / self.number
        return math.hypot(min(short, step.signal), counted * step.signal)

    def _turned(self, step: Round, radius: float) -> float:
        """Length by which the last step may miss as records on its way change sides.

        They take J from the Hessian in the mean, of which part is misjudged, and each of them adds
        two clip levels over n, of which the number on the way has the deviation of a Poisson law.
        """
        if not step.turning:
            return 0.0
        way = step.length / step.hessian
        jump = 2.0 * min(radius, self.geometry.manifold.injectivity_radius) / self.number
        by_chance = TURNED_BY_CHANCE * math.sqrt(jump * step.turning * way)
        misjudged = TURNING_MISJUDGED[self.geometry.dim > 1] * step.turning * way
        return math.hypot(misjudged, by_chance) / step.hessian

    def _spread(self, tails: TailCounts, radius: float, step: Round) -> float:
        """Root mean square of clipped distances: from heights, where the noise tells them."""
        if self.noise.tells_heights:
            heights = min(max(step.heights / radius, 0.0), 1.0)
            return radius * math.sqrt(1.0 - heights * heights)
        share, dist = tails.shares(self.number)
        return math.sqrt(float(share @ np.minimum(dist, radius) ** 2))

    # ------------------------------------------------------------------ start

    def _start(self) -> Asking[FloatArray]:
        """A first point."""
        manifold = self.geometry.manifold
        start = start_of(manifold)
        if start is not None:
            wanted = Request("start", self.schedule.start * self.budget.whole)
            noisy, share = yield from self._ask(wanted)
            entries = len(noisy) - (0 if start.is_matrix else 1)
            deviation = self.bound("start", self.geometry) / share
            deviation *= self.noise.unit_deviation(entries)
            point, signal, size = _core.start_point(manifold.kernels, noisy)
            if start.is_matrix or self.noise.tells_heights:
                self.note(*start.count(noisy, deviation), start.most)
            if not signal >= start.least * deviation * math.sqrt(size):
                raise Stopped(NO_DIRECTION)
            # of an eigenvector: entries off the diagonal have half the variance
            self._carried = deviation / signal * (math.sqrt(0.5) if start.is_matrix else 1.0)
            return point
        if manifold.spec.partition(":")[0] not in ("spd", "hpd"):
            return np.ascontiguousarray(manifold.origin).reshape(-1)
        return (yield from self._start_of_matrices())

    def _start_of_matrices(self) -> Asking[FloatArray]:
        """exp of the median scale; then of means of the logarithms of the diagonal."""
        wanted = Request("scale", self.schedule.start * self.budget.whole)
        noisy, own = yield from self._ask(wanted)
        bound = self.bound("scale", self.geometry)
        counts, deviation = counts_of(noisy, bound / own)
        self.note(float(counts[-1]), float(deviation[-1]) ** 2)
        n = self.number
        if n < _LEAST_SCALE * deviation[-1]:
            raise Stopped(TOO_FEW)
        order = self.geometry.manifold.origin.shape[0]
        middle = float(scale_levels()[int(np.argmax(counts >= 0.5 * n))])
        logs = np.full(order, middle)
        if self.own_units and order > 1:
            flat = log_diagonals(order)
            for _ in range(_FLAT_BLOCKS):
                tails = yield from self._counts(flat, logs, of="diagonals")
                whole, seen = self.budget.whole, self.noise.least_seen[0]
                radius, _ = self._clip_level(flat, tails, whole, seen)
                share = self.schedule.flat * whole
                step = yield from self._round(flat, logs, radius, share, tails, of="diagonals")
                logs = logs + step.mean
                if step.length < _FLAT_SETTLED * radius:
                    break
        return self._diagonal(logs)

    def _diagonal(self, logs: FloatArray) -> FloatArray:
        """The diagonal matrix with these logarithms."""
        shape = self.geometry.manifold.point_shape
        point = np.zeros(shape)
        index = np.arange(shape[0])
        with np.errstate(over="ignore", under="ignore"):
            own = np.exp(logs)
        point[(index, index) if len(shape) == 2 else (index, index, 0)] = own
        if not (np.isfinite(own).all() and own.min() > 0.0):
            raise Stopped(OUT_OF_RANGE)
        return point.reshape(-1)


def _is_settled(step: Round, short: float, dim: int) -> bool:
    """True if a step is short, or its sum no longer than its noise may be."""
    noise = dim * step.deviation**2
    return step.length <= short or step.signal**2 <= noise * 3.0 * math.sqrt(2.0 / dim)
