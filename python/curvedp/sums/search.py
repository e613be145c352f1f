"""The search for a mean: which sums are asked for, with which shares, and what follows from them.

`Search.run` is a generator: it yields requests, is sent the noisy sums that answer them, or None
for a void one, and returns what was found. It never sees a record, so all its decisions are
post-processing.

    start -> blocks (counts of distances, then one round of clipped logarithms) until it settles
          -> fine counts -> rounds at the level that they tell, the last with all that is left

Shares, levels and stops: docs/proofs/sums-of-messages.md.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.privacy.private_keys import key_threshold
from curvedp.sums.filter import Filter
from curvedp.sums.geometry import Geometry, log_diagonals
from curvedp.sums.messages import ROUND_UNIT, Kind, Request, bound_of, scale_levels, start_of
from curvedp.sums.tail_counts import MOST_OF_COLUMN, TailCounts, counts_of, levels

#: Shares of mu: of the start, of counts (least, most, and the number of records times mu at which a
#: share of 1 would do), of a block's round, of a round on logarithms of diagonals, of further ones.
_START, _BLOCK, _FLAT, _FURTHER = 0.3, 0.25, 0.2, math.sqrt(0.1)
_COUNTS, _FINE = (0.2, 0.4, 18.0), (0.35, 0.45, 25.0)
#: Share of a block's counts where no number of records is known yet.
_FIRST_COUNTS = 0.3
#: Least share of mu for which a void sum is asked again.
_LEAST_SHARE = 0.01
#: Most blocks, and most blocks on logarithms of diagonals.
_BLOCKS, _FLAT_BLOCKS = 4, 2
#: A block settles where its step is at most this share of the clip level.
_SETTLED, _FLAT_SETTLED = 0.35, 0.5
#: Counts within so many standard deviations of 0 do not hold the clip level up.
_CLIP_DEVIATIONS = 2.0
#: Fewer records than so many standard deviations of their count are too few.
_LEAST, _LEAST_SCALE = 5.0, 6.0
#: A count so many standard deviations below the public number tells of records that are no points.
NOT_POINTS = 3.0
#: Range of the mean Hessian by which steps are divided.
_HESSIAN = (0.3, 50.0)
#: Share of the uniform law's median distance from which on records have no mean worth the name.
_SPREAD_OUT = 0.75
#: The released ball holds this share of the records, and is this much smaller than the largest.
_BALL_LEVEL, BALL_LIMIT = 0.95, 0.9

_T = TypeVar("_T")
#: Steps of a search that end with a result.
Asking = Generator[Request, FloatArray | None, _T]

#: Why nothing was found: reasons are functions of released numbers.
NO_DIRECTION = "the records have no common direction, or are too few to show one"
TOO_FEW = "there are too few records for this guarantee"
SPREAD_OUT = "the records lie as far apart as if they were uniform"
OUT_OF_RANGE = "the mean lies beyond what doubles hold"
NOT_SHOWN = "the key of the group is not shown"
TOO_CURVED = "the records surround the point from all sides: no mean stands out"
VOID = "too few sites answered, and nothing is left to ask again"


@dataclass(frozen=True)
class Round:
    """A round of clipped logarithms.

    Attributes
    ----------
    mean : ndarray, shape (dim,)
        Of the clipped logarithms, cut to the clip level.
    length : float
        Of `mean`.
    expected_noise : float
        Expected length of its noise.
    hessian : float
        By which the step is divided.
    heights : float
        Mean of sqrt(R^2 - t^2), t the clipped distances.
    """

    mean: FloatArray
    length: float
    expected_noise: float
    hessian: float
    heights: float


@dataclass(frozen=True)
class Found:
    """The end of a search.

    Attributes
    ----------
    value : ndarray or None
        The mean; None if none was found.
    reason : str or None
        Why none was found.
    spent : float
        mu of all sums that were asked for.
    count, count_deviation : float
        Number of records that are points, and the standard deviation of its noise.
    radius : float
        Clip level of the last round.
    within : float
        Share of the records within it.
    noise, cut : float
        Expected length of the noise, and mean excess over the clip level.
    left : float
        Length that the last step leaves, as a step of a descent with an approximate Hessian does.
    sensitivity, scale : float
        What a unit changes in the last mean of logarithms, and the noise of each coordinate.
    spread : float
        Root mean square of clipped distances, on average over equal ones.
    level : float
        Distance of the mean within which .95 of the records lie.
    blocks, rounds : int
    """

    value: FloatArray | None
    reason: str | None
    spent: float
    count: float
    count_deviation: float
    radius: float = math.nan
    within: float = math.nan
    noise: float = math.nan
    cut: float = math.nan
    left: float = 0.0
    sensitivity: float = math.nan
    scale: float = math.nan
    spread: float = math.nan
    level: float = math.inf
    blocks: int = 0
    rounds: int = 0

    @property
    def expected_error(self) -> float:
        """Expected distance from the mean of the records: noise, half as much again as the cut, and
        what the last step leaves."""
        return math.hypot(self.noise, 1.5 * self.cut, self.left)


class Stopped(Exception):
    """The search ends without a mean."""


class Search:
    """One search, for one group of records.

    Parameters
    ----------
    geometry : Geometry
    mu : float
        The budget.
    n : int or None
        The public number of records; None where it is protected.
    moved : int
        Most messages of one unit.
    own_units : bool
        True where channels of matrices may have units of their own.
    clip : float or None
        A public clip level, in place of the fine counts.
    max_rounds : int
        Most rounds at the last clip level before the last.
    key_delta : float or None
        With it the search ends unless its first count shows, but for that probability, that the
        group does not consist of one unit.
    widening : float
        Deviation of the noise of sums over that which their shares ask for.
    spare : float
        The part of what is left that the last round leaves, for another try if it is void.

    Attributes
    ----------
    missing : float
        The part of the records that the last sum is known to lack.
    """

    def __init__(
        self,
        geometry: Geometry,
        mu: float,
        n: int | None,
        *,
        moved: int = 1,
        own_units: bool = True,
        clip: float | None = None,
        max_rounds: int = 3,
        key_delta: float | None = None,
        widening: float = 1.0,
        spare: float = 0.0,
    ) -> None:
        self.geometry = geometry
        self.moved = moved
        self.budget = Filter(mu)
        self.n = n
        self.own_units = own_units
        self.clip = clip
        self.max_rounds = max_rounds
        self.key_delta = key_delta
        self.widening = widening
        self.spare = spare
        self.missing = 0.0
        #: Numbers of records that were released, with the variances of their noise.
        self._counted: list[tuple[float, float]] = []
        self.blocks = self.rounds = 0

    @property
    def replaces(self) -> bool:
        """True where neighbours differ by the value of a record, n being public."""
        return self.n is not None

    @property
    def count(self) -> tuple[float, float]:
        """Number of records that are points, as far as it was counted, and its deviation."""
        if not self._counted:
            return math.nan, math.inf
        weight = sum(1.0 / variance for _, variance in self._counted)
        count = sum(count / variance for count, variance in self._counted) / weight
        return count, 1.0 / math.sqrt(weight)

    @property
    def number(self) -> float:
        """The number of records that are points: the public one, if the count is not below it."""
        count, deviation = self.count
        if self.n is None or count < self.n - NOT_POINTS * deviation:
            return count
        return float(self.n)

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
        for _ in range(_BLOCKS):
            self.blocks += 1
            tails = yield from self._counts(self.geometry, base)
            share = min(_BLOCK * self.budget.mu, math.sqrt(0.5) * self.budget.rest)
            later = math.sqrt(max(self.budget.rest**2 - share**2, 0.0))
            radius = self._clip_level(self.geometry, tails, later)[0]
            step = yield from self._round(self.geometry, base, radius, share, tails)
            base = self._moved(base, step)
            settled = _is_settled(step, radius, self.geometry.dim)
            if settled or self.budget.rest**2 < 0.5 * self.budget.mu**2:
                break
        assert step is not None
        return (yield from self._finish(base, step))

    def _finish(self, base: FloatArray, step: Round) -> Asking[Found]:
        """Fine counts, rounds at the level that they tell, and the last round."""
        geometry, mu = self.geometry, self.budget.mu
        least, most, enough = _FINE
        share = mu * min(most, max(least, enough / max(self.number * mu, 1.0)))
        share = min(share, math.sqrt(0.4) * self.budget.rest)
        tails = yield from self._tail(geometry, base, share)
        if tails.median(self.number) > _SPREAD_OUT * geometry.uniform_median:
            raise Stopped(SPREAD_OUT)  # the rest stays
        radius, index = self._clip_level(geometry, tails, self.budget.rest)
        if self.clip is not None:
            radius = min(self.clip, geometry.largest)
            index = int(np.argmin(np.abs(np.log(tails.level / radius))))
        slowness = min(0.6, 0.15 + abs(step.hessian - 1.0) / 2.0)
        for _ in range(self.max_rounds):
            rest = self.budget.rest / self.widening
            last = self._noise(geometry, radius, rest) / step.hessian
            if slowness**2 * step.length <= last or self.budget.rest**2 <= 0.4 * mu**2:
                break
            self.rounds += 1
            step = yield from self._round(geometry, base, radius, _FURTHER * mu, tails)
            base = self._moved(base, step)
        self.rounds += 1
        share = self.budget.rest * math.sqrt(1.0 - self.spare**2)
        step = yield from self._round(geometry, base, radius, share, tails)
        value = self._moved(base, step)
        return self._found(value, tails, index, radius, step)

    def _found(
        self, value: FloatArray, tails: TailCounts, index: int, radius: float, step: Round
    ) -> Found:
        n = self.number
        reason = None
        if step.hessian <= _HESSIAN[0]:
            reason = TOO_CURVED
        elif step.expected_noise > radius:
            reason = TOO_FEW
        beyond = tails.beyond(index)
        level = tails.quantile(_BALL_LEVEL, n) + step.length / step.hessian
        heights = min(max(step.heights / radius, 0.0), 1.0)
        return Found(
            value=None if reason else value,
            reason=reason,
            spent=self.budget.spent,
            count=self.count[0],
            count_deviation=self.count[1],
            radius=radius,
            within=min(max(1.0 - beyond / n, 0.0), 1.0),
            noise=step.expected_noise / step.hessian,
            cut=tails.excess(index) / n,
            left=step.length * self._misjudged(step.hessian, beyond),
            sensitivity=self._bound("round", self.geometry) / ROUND_UNIT * radius / n,
            scale=step.expected_noise / mean_length(self.geometry.dim),
            spread=radius * math.sqrt(1.0 - heights * heights),
            level=level,
            blocks=self.blocks,
            rounds=self.rounds,
        )

    def _misjudged(self, hessian: float, beyond: float) -> float:
        """Share of the last step by which it may miss.

        Records all in its direction have the Hessian 1, up to those that were cut, or are at sites
        that did not answer; that the number of records is a noisy count moves the step, too.
        """
        n = self.number
        along = abs(hessian - 1.0) / min(hessian, 2.0) + max(beyond, 0.0) / n + self.missing
        counted = 0.0 if n == self.n else self.count[1] / n
        return math.hypot(min(1.0, along), counted)

    # ------------------------------------------------------------------ start

    def _start(self) -> Asking[FloatArray]:
        """A first point."""
        manifold = self.geometry.manifold
        start = start_of(manifold)
        if start is not None:
            noisy, mu = yield from self._ask(Request("start", _START * self.budget.mu))
            deviation = self._bound("start", self.geometry) / mu
            point, signal, size = _core.start_point(manifold.kernels, noisy)
            self._note(*start.count(noisy, deviation), start.most)
            if not signal >= start.least * deviation * math.sqrt(size):
                raise Stopped(NO_DIRECTION)
            return point
        if manifold.spec.partition(":")[0] not in ("spd", "hpd"):
            return np.ascontiguousarray(manifold.origin).reshape(-1)
        return (yield from self._start_of_matrices())

    def _start_of_matrices(self) -> Asking[FloatArray]:
        """exp of the median scale; then of means of the logarithms of the diagonal."""
        noisy, mu = yield from self._ask(Request("scale", _START * self.budget.mu))
        bound = self._bound("scale", self.geometry)
        counts, deviation = counts_of(noisy, bound / mu)
        self._note(float(counts[-1]), float(deviation[-1]) ** 2)
        n = self.number
        if n < _LEAST_SCALE * deviation[-1]:
            raise Stopped(TOO_FEW)
        order = self.geometry.manifold.origin.shape[0]
        middle = float(scale_levels()[int(np.argmax(counts >= 0.5 * n))])
        logs = np.full(order, middle)
        if self.own_units and order > 1:
            flat = log_diagonals(order)
            for _ in range(_FLAT_BLOCKS):
                tails = yield from self._counts(flat, logs, of_diagonals=True)
                radius, _ = self._clip_level(flat, tails, self.budget.mu)
                share = _FLAT * self.budget.mu
                step = yield from self._round(flat, logs, radius, share, tails, of_diagonals=True)
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

    # ------------------------------------------------------------------ sums

    def _ask(self, wanted: Request) -> Asking[tuple[FloatArray, float]]:
        """A noisy sum, and the share of mu that its noise is that of.

        A void sum has cost its share, and is asked for again with what is left, at most as much.
        """
        while True:
            mu = self.budget.take(wanted.mu)
            if mu < _LEAST_SHARE * self.budget.mu:
                raise Stopped(VOID)
            noisy = yield replace(wanted, mu=mu)
            if noisy is not None:
                return noisy, mu / self.widening

    def _counts(
        self, geometry: Geometry, base: FloatArray, *, of_diagonals: bool = False
    ) -> Asking[TailCounts]:
        """Counts of a block; refuses too few records."""
        mu = self.budget.mu
        share = _FIRST_COUNTS
        if self.n is not None or self._counted:
            least, most, enough = _COUNTS
            share = min(most, max(least, enough / max(self.number * mu, 1.0)))
        part = 0.4 if of_diagonals else 0.5
        share = min(share * mu, math.sqrt(part) * self.budget.rest)
        return (yield from self._tail(geometry, base, share, of_diagonals=of_diagonals))

    def _tail(
        self, geometry: Geometry, base: FloatArray, share: float, *, of_diagonals: bool = False
    ) -> Asking[TailCounts]:
        asked = Request("tail", share, base, of_diagonals=of_diagonals)
        noisy, mu = yield from self._ask(asked)
        bound = self._bound("tail", geometry)
        tails = TailCounts(levels(geometry.largest, geometry.bins), *counts_of(noisy, bound / mu))
        self._note(*tails.whole)
        if self.number < _LEAST * tails.deviation[-1]:
            raise Stopped(TOO_FEW)
        return tails

    def _round(
        self,
        geometry: Geometry,
        base: FloatArray,
        radius: float,
        share: float,
        tails: TailCounts,
        *,
        of_diagonals: bool = False,
    ) -> Asking[Round]:
        noisy, mu = yield from self._ask(Request("round", share, base, radius, of_diagonals))
        unit = radius / (ROUND_UNIT - 8.0 * geometry.dim)
        n = self.number
        mean = noisy[:-1] * unit / n
        deviation = self._deviation(geometry, radius, mu)
        length = math.sqrt(math.fsum(mean * mean))
        if length > radius:
            mean, length = mean * (radius / length), radius
        signal = math.sqrt(max(0.0, length**2 - geometry.dim * deviation**2))
        return Round(
            mean,
            length,
            self._noise(geometry, radius, mu),
            _hessian(geometry, tails, n, radius, signal),
            float(noisy[-1]) * unit / n,
        )

    def _note(self, count: float, variance: float, most: float = MOST_OF_COLUMN) -> None:
        """Keeps a count; the first one tells whether a private key may be shown."""
        self._counted.append((count, variance))
        if self.key_delta is None or len(self._counted) > 1:
            return
        if not count >= key_threshold(self.moved * most, math.sqrt(variance), self.key_delta):
            raise Stopped(NOT_SHOWN)

    def _bound(self, kind: Kind, geometry: Geometry) -> float:
        """Bound on what a unit changes in a sum."""
        return bound_of(kind, geometry, self.replaces, self.moved)

    def _deviation(self, geometry: Geometry, radius: float, mu: float) -> float:
        """Standard deviation of a coordinate of a mean of clipped logarithms."""
        bound = self._bound("round", geometry)
        return bound / mu * radius / (ROUND_UNIT - 8.0 * geometry.dim) / self.number

    def _noise(self, geometry: Geometry, radius: float, mu: float) -> float:
        """Expected length of the noise of a mean of clipped logarithms."""
        return self._deviation(geometry, radius, mu) * mean_length(geometry.dim)

    def _clip_level(self, geometry: Geometry, tails: TailCounts, mu: float) -> tuple[float, int]:
        """The level beyond which as many records are cut as noise of share mu costs."""
        bound = self._bound("round", geometry) / ROUND_UNIT * math.sqrt(geometry.dim)
        bound /= mu / self.widening
        most = np.maximum(bound, _CLIP_DEVIATIONS * tails.deviation)
        index = tails.clip(np.minimum(most, 0.25 * self.number))
        return float(tails.level[index]), index

    def _moved(self, base: FloatArray, step: Round) -> FloatArray:
        """The point after a step."""
        point = self.geometry.move(base, step.mean / step.hessian)
        if not np.isfinite(point).all():
            raise Stopped(OUT_OF_RANGE)
        return point


def _is_settled(step: Round, radius: float, dim: int) -> bool:
    """True if a step is short, or no longer than its noise may be."""
    noise = step.expected_noise**2 / mean_length(dim) ** 2 * dim
    return step.length <= _SETTLED * radius or step.length**2 <= noise * (
        1.0 + 3.0 * math.sqrt(2.0 / dim)
    )


def _hessian(
    geometry: Geometry, tails: TailCounts, n: float, radius: float, length: float
) -> float:
    """Mean Hessian of the clipped half squared distance along a step of that length.

    Records that are seen in the direction of the step with mean square cosine c count with 1, or 0
    beyond the clip level, along it, and with k(t) min(1, R/t) across it.
    """
    share, dist = tails.shares(n)
    clipped = np.minimum(dist, radius)
    square = min(1.0, length**2 / max(float(share @ (clipped * clipped)), 1e-300))
    cosine = square + (1.0 - square) / geometry.dim
    along = np.where(dist <= radius, 1.0, 0.0)
    across = radius / np.maximum(dist, radius) * geometry.across(dist)
    mean = float(share @ (cosine * along + (1.0 - cosine) * across))
    return min(max(mean, _HESSIAN[0]), _HESSIAN[1])


def mean_length(dim: int) -> float:
    """E |N|, N standard normal in R^dim."""
    return math.sqrt(2.0) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))
