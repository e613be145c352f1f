"""Noise that bounds the privacy loss itself: sums of messages under pure differential privacy.

Proof: docs/proofs/pure-sums.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.privacy import PureDP
from curvedp.sums.filter import Filter
from curvedp.sums.geometry import Geometry
from curvedp.sums.messages import COUNT_UNIT, Kind, Request, bound_of, start_of
from curvedp.sums.noise import Noise, Schedule, flat_law
from curvedp.sums.tail_counts import TailCounts

#: Entries that count twice in a norm are multiplied by TWICE/ONCE, a little more than the root of
#: 2, which is the third rounded down.
_ONCE, _TWICE, _ROOT_2 = 1024, 1449, math.nextafter(math.sqrt(2.0), 0.0)
#: Fine levels in the place of each coarse one, and how many of them stand above and below a clip
#: level.
_FINER, _ABOVE, _BELOW = 4, 4, 12
#: Standard deviations of the count of the farthest that tell it from none.
_SEEN = 2.5
#: Sums are split at this bit, which the grid of noise of that scale, 2^-24 of it, does not reach.
_LOW_BITS, _LARGEST_SCALE = 40, 2.0**64


class PureNoise(Noise):
    """Noise of density proportional to exp(-|z|/scale), and two-sided geometric noise on counts:
    shares of epsilon, which add up.

    The last entry of vectors and of rounds is not released but 0: under this noise it would not be
    for nothing.
    """

    schedule = Schedule(
        start=0.1,
        block=0.08,
        flat=0.0,
        further=0.1,
        counts=(0.07, 0.15, 12.0),
        fine=(0.13, 0.22, 150.0),
        first_counts=0.12,
        kept=0.5,
        kept_last=0.35,
        settled=0.5,
        slowness=0.08,
    )
    counting = "histogram"
    tells_heights = False
    least_seen = (3.0, 1.75)
    far_deviation = 2.0
    least_deviations = 4.0
    near = 2.0
    significant = (1.0, 2.5)
    doubtful = 64.0  # prefix sums of noise that are far off stay so over all levels
    of_cut = 1.0  # counts that are shown are more often above than below

    def filter(self) -> Filter:
        return Filter(self.budget, power=1)

    def part(self, cost: float) -> float:
        return cost

    def cost(self, share: float) -> float:
        return share

    def unit_length(self, dim: int) -> float:
        return float(dim)

    def unit_deviation(self, size: int) -> float:
        return math.sqrt(size + 1.0)

    def count_factor(self, geometry: Geometry, change: float) -> float:
        return change * math.sqrt(geometry.bins / _FINER)

    def bound(self, kind: Kind, geometry: Geometry, replaces: bool, changed: int = 1) -> float:
        whole = bound_of(kind, geometry, replaces, changed)
        if kind != "start":
            return whole
        start = start_of(geometry.manifold)
        assert start is not None
        if start.is_matrix:
            return whole * (_TWICE / _ONCE / _ROOT_2)
        return changed * start.bounds[1] * (1.0 if replaces else 0.5)

    def levels(self, grid: FloatArray, near: float | None) -> FloatArray:
        if near is None:
            return np.ascontiguousarray(grid[::_FINER])
        at = int(np.argmin(np.abs(np.log(grid / near))))
        return grid[max(0, at - _ABOVE) : at + _BELOW]

    def joined(self, first: TailCounts, last: TailCounts) -> TailCounts:
        far = first.level > 1.01 * last.level[0]
        is_seen = last.count[0] >= _SEEN * last.deviation[0]  # all farther ones are in that count
        return TailCounts(
            np.concatenate((first.level[far], last.level)),
            np.concatenate((first.count[far] * is_seen, last.count)),
            np.concatenate((first.deviation[far], last.deviation)),
        )

    def tails(self, noisy: FloatArray, level: FloatArray, bound: float, share: float) -> TailCounts:
        deviation = math.sqrt(2.0) * bound / share / COUNT_UNIT
        counts = np.cumsum(noisy) / COUNT_UNIT
        return TailCounts(level, counts, deviation * np.sqrt(np.arange(1.0, len(level) + 1.0)))

    def answered(
        self,
        total: NDArray[np.int64],
        request: Request,
        bound: float,
        weights: FloatArray,
        stream: _core.Stream,
    ) -> FloatArray:
        scale = calibrated_scale(bound, 0.0, PureDP(request.share))
        noisy = np.empty(len(total))
        if request.kind == "histogram":
            stream.add_discrete_laplace(math.nextafter(1.0 / scale, 0.0), total, noisy)
            return noisy
        is_matrix = bool((weights == 2.0).any())
        sent = len(total) if is_matrix else len(total) - 1  # see the class
        factors = np.where(weights == 1.0, _ONCE, _TWICE) if is_matrix else np.ones(sent, np.int64)
        scale *= float(factors[0])
        assert scale < _LARGEST_SCALE
        # what gets the noise is a double exactly, and the rest a multiple of the noise's grid; both
        # are joined in integers, so that what is released is a function of their sum alone
        high = total[:sent] >> _LOW_BITS << _LOW_BITS
        low = ((total[:sent] - high) * factors).astype(np.float64)
        flat_law(sent, "laplace", scale).add_on_grid(stream, 1.0, low[None])
        sums = zip(low.tolist(), high.tolist(), factors.tolist(), strict=True)
        noisy[sent:] = 0.0
        noisy[:sent] = [float(Fraction(int(a) + c * b, c)) for a, b, c in sums]
        return noisy
