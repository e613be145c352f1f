"""The noisy sums of a search: what is asked for, at which point, and what its answer is worth.

`Search` decides which; shares: docs/proofs/sums-of-messages.md.
"""

from __future__ import annotations

import math

import numpy as np

from curvedp._validation import FloatArray
from curvedp.privacy.private_keys import key_threshold
from curvedp.sums.asking import Asking, asked
from curvedp.sums.found import (
    NOT_SHOWN,
    OUT_OF_RANGE,
    TOO_FEW,
    VOID,
    Round,
    Stopped,
)
from curvedp.sums.geometry import Geometry
from curvedp.sums.hessian import LEAST_HESSIAN, MOST_HESSIAN, hessian
from curvedp.sums.messages import ROUND_UNIT, Kind, Of, Request
from curvedp.sums.noise import Noise
from curvedp.sums.tail_counts import MOST_OF_COLUMN, TailCounts, levels

#: A count so many standard deviations below the public number tells of records that are no points.
NOT_POINTS = 3.0


class Rounds:
    """Sums that one search asks for, and how many records they count.

    Parameters
    ----------
    geometry : Geometry
    noise : Noise
        With the budget.
    n : int or None
        The public number of records; None where it is protected.
    changed : int
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
        Scale of the noise of sums over that which their shares ask for.
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
        noise: Noise,
        n: int | None,
        *,
        changed: int = 1,
        own_units: bool = True,
        clip: float | None = None,
        max_rounds: int = 3,
        key_delta: float | None = None,
        widening: float = 1.0,
        spare: float = 0.0,
    ) -> None:
        self.geometry = geometry
        self.changed = changed
        self.noise = noise
        self.schedule = noise.schedule
        self.budget = noise.filter()
        self.n = n
        self.own_units = own_units
        self.clip = clip
        self.max_rounds = max_rounds
        self.key_delta = key_delta
        self.widening = widening
        self.spare = spare
        self.missing = 0.0
        #: From how many points the records were looked at, and from which last.
        self.passes = 0
        self._last: tuple[str, bytes] | None = None
        #: Numbers of records that were released, with the variances of their noise.
        self._counted: list[tuple[float, float]] = []
        self.blocks = self.rounds = 0
        #: Standard deviation of each coordinate of the noise in the last point, as far as known.
        self._carried = 0.0

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

    def _ask(self, wanted: Request) -> Asking[tuple[FloatArray, float]]:
        """A noisy sum, and the share of the budget that its noise is that of."""
        point = (wanted.of, b"" if wanted.base is None else wanted.base.tobytes())
        self.passes += point != self._last
        self._last = point
        found = yield from asked(self.budget, wanted)
        if found is None:
            raise Stopped(VOID)
        noisy, share = found
        return noisy, share / self.widening

    def _counts(
        self, geometry: Geometry, base: FloatArray, *, of: Of = "records"
    ) -> Asking[TailCounts]:
        """Counts of a block; refuses too few records."""
        whole = self.budget.whole
        share = self.schedule.first_counts
        if self.n is not None or self._counted:
            least, most, enough = self.schedule.counts
            enough *= self.noise.count_factor(geometry, self.bound("round", geometry) / ROUND_UNIT)
            share = min(most, max(least, enough / max(self.number * whole, 1.0)))
        part = 0.4 if of == "diagonals" else 0.5
        share = min(share * whole, self.noise.part(part) * self.budget.rest)
        return (yield from self._tail(geometry, base, share, of=of))

    def _tail(
        self,
        geometry: Geometry,
        base: FloatArray,
        share: float,
        *,
        near: float | None = None,
        of: Of = "records",
    ) -> Asking[TailCounts]:
        kind = self.noise.counting
        level = self.noise.levels(levels(geometry.largest, geometry.bins), near)
        wanted = Request(kind, share, base, of=of, levels=level)
        noisy, own = yield from self._ask(wanted)
        tails = self.noise.tails(noisy, level, self.bound(kind, geometry), own)
        self.note(*tails.whole)
        if self.number < self.noise.least_deviations * tails.deviation[-1]:
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
        of: Of = "records",
    ) -> Asking[Round]:
        noisy, own = yield from self._ask(Request("round", share, base, radius, of))
        unit = radius / (ROUND_UNIT - 8.0 * geometry.dim)
        n = self.number
        mean = noisy[:-1] * unit / n
        deviation = self._deviation(geometry, radius, own)
        length = math.sqrt(math.fsum(mean * mean))
        signal = math.sqrt(max(0.0, length**2 - geometry.dim * deviation**2))
        smooth, turning = hessian(geometry, tails, n, radius, min(signal, radius))
        kept, lost = self.noise.shrunk(length, deviation, geometry.dim)
        if turning:  # what is left of the way may be along what counts misjudge
            kept = lost = 1.0
        kept = min(kept, radius / length) if length else kept
        divisor = min(max(smooth - turning, LEAST_HESSIAN), MOST_HESSIAN)
        if of == "records":
            self._carried = math.hypot(kept * deviation / divisor, (1.0 - kept) * self._carried)
        return Round(
            kept * mean,
            kept * length,
            min(signal, radius),
            self._noise(geometry, radius, own),
            lost,
            deviation,
            self._carried,
            divisor,
            turning,
            float(noisy[-1]) * unit / n,
        )

    def note(self, count: float, variance: float, most: float = MOST_OF_COLUMN) -> None:
        """Keeps a count; the first one tells whether a private key may be shown."""
        self._counted.append((count, variance))
        if self.key_delta is None or len(self._counted) > 1:
            return
        if not count >= key_threshold(self.changed * most, math.sqrt(variance), self.key_delta):
            raise Stopped(NOT_SHOWN)

    def bound(self, kind: Kind, geometry: Geometry) -> float:
        """Bound on what a unit changes in a sum."""
        return self.noise.bound(kind, geometry, self.replaces, self.changed)

    def _scale(self, geometry: Geometry, radius: float, share: float) -> float:
        """Scale of the noise of a mean of clipped logarithms."""
        bound = self.bound("round", geometry)
        return bound / share * radius / (ROUND_UNIT - 8.0 * geometry.dim) / self.number

    def _deviation(self, geometry: Geometry, radius: float, share: float) -> float:
        """Standard deviation of each of its coordinates."""
        return self._scale(geometry, radius, share) * self.noise.unit_deviation(geometry.dim)

    def _noise(self, geometry: Geometry, radius: float, share: float) -> float:
        """Its expected length."""
        return self._scale(geometry, radius, share) * self.noise.unit_length(geometry.dim)

    def _clip_level(
        self, geometry: Geometry, tails: TailCounts, share: float, seen: float
    ) -> tuple[float, int]:
        """The level beyond which as many records are cut as noise of that share costs, or `seen`
        standard deviations of their count if those are more."""
        length = self.noise.unit_deviation(geometry.dim) * math.sqrt(geometry.dim)
        bound = self.bound("round", geometry) / ROUND_UNIT * length
        bound /= share / self.widening
        least = np.maximum(tails.deviation, self.noise.far_deviation * tails.deviation.min())
        most = np.maximum(bound, seen * least)
        index = tails.clip(np.minimum(most, 0.25 * self.number))
        return float(tails.level[index]), index

    def _moved(self, base: FloatArray, step: Round) -> FloatArray:
        """The point after a step."""
        point = self.geometry.move(base, step.mean / step.hessian)
        if not np.isfinite(point).all():
            raise Stopped(OUT_OF_RANGE)
        return point
