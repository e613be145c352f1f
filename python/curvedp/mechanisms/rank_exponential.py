"""Exponential mechanism on ranks: a private quantile of numbers in a public interval.

Density proportional to exp(-|k(y) - q n| / scale) with respect to a public base measure, k(y) the
number of values below y and scale = 2 k' / epsilon ranks, k' the number of records that one unit
contributes (McSherry, Talwar 2007; Smith 2011). Epsilon-bounded-range, hence epsilon-DP.
Proof: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_choice, as_count, as_finite, as_level, as_records
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.privacy import Guarantee

BASE_MEASURES = ("uniform", "log-uniform")

#: One grid step is at most this fraction of the interval, on the base measure's scale: 2^-32.
_STEPS_LOG2 = 32

#: Batches are drawn in blocks of about this many exponentials.
_BLOCK = 1 << 20


class RankExponential:
    """The exponential mechanism on ranks.

    Parameters
    ----------
    q : float
        Level of the quantile, in [0, 1].
    low, high : float
        Public interval; values outside count as its ends.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    records_per_unit : int
    base : {"uniform", "log-uniform"}
        Public base measure on the interval; "log-uniform" needs low > 0.

    Examples
    --------
    >>> from curvedp import PureDP
    >>> kernel = RankExponential(0.5, low=0.0, high=1.0, guarantee=PureDP(epsilon=1.0))
    >>> kernel.scale, kernel.sample([0.2, 0.4, 0.9], n_samples=4).shape
    (2.0, (4,))
    """

    name: ClassVar[str] = "exponential mechanism on ranks"
    proof: ClassVar[str] = "docs/proofs/private-quantile.md"

    def __init__(
        self,
        q: float,
        *,
        low: float,
        high: float,
        guarantee: Guarantee,
        records_per_unit: int = 1,
        base: str = "uniform",
    ) -> None:
        self.q = as_level(q, "q")
        self.low, self.high = as_finite(low, "low"), as_finite(high, "high")
        self.base = as_choice(base, BASE_MEASURES, "base")
        self.guarantee = guarantee
        self.sensitivity = float(as_count(records_per_unit, "records_per_unit"))
        self.scale = 2 * self.sensitivity / bounded_range_epsilon(guarantee)
        if base == "log-uniform" and not self.low > 0:
            raise ValueError(f"low must be positive for a log-uniform base, got {self.low:g}")
        self._ends = self._to_scale(np.array([self.low, self.high]))
        length = float(self._ends[1]) - float(self._ends[0])
        if not 1e-250 < length < math.inf:
            raise ValueError(
                f"low must be below high in double precision, got {self.low!r} and {self.high!r}"
            )
        if not 1e-250 < self.scale < 1e250:
            raise ValueError(f"no quantile can be drawn at a scale of {self.scale:g} ranks")
        self._step = math.ldexp(1.0, math.floor(math.log2(length)) - _STEPS_LOG2)

    def sample(
        self, values: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Independent draws around the quantile of `values`, rounded to the public grid.

        The intervals between neighbouring values run an exponential race at the rate of their
        masses, first in groups, then within the group that wins, so that every mass counts with a
        few units of relative rounding, however small; the place in the interval is uniform on the
        base measure's scale.

        Parameters
        ----------
        values : array-like, shape (n,)
        stream : Stream, optional
            Source of randomness; by default a fresh key from the operating system.
        n_samples : int

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        count = as_count(n_samples, "n_samples")
        stream = _core.Stream.from_os() if stream is None else stream
        edges, log_mass = self._intervals(values)
        groups = _in_groups(log_mass)
        block = max(1, _BLOCK // max(groups.shape))
        drawn = [
            self._draw(edges, groups, stream, min(block, count - start))
            for start in range(0, count, block)
        ]
        return self._from_scale(np.concatenate(drawn))

    def log_density(self, point: ArrayLike, values: ArrayLike) -> FloatArray:
        """Log-density of the draws at `point` with respect to the base measure, shape (...).

        Parameters
        ----------
        point : array-like, shape (...)
        values : array-like, shape (n,)
        """
        edges, log_mass = self._intervals(values)
        scaled = self._to_scale(np.asarray(point, dtype=np.float64))
        rank = np.searchsorted(edges[1:-1], scaled, side="left").astype(np.float64)
        return np.asarray(self._utility(rank, len(edges) - 2) - _log_sum_exp(log_mass))

    def _intervals(self, values: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The n + 2 edges of the intervals between values, and the logarithms of their masses."""
        data = as_records(values, (), "values")
        edges = np.empty(len(data) + 2)
        edges[0], edges[-1] = self._ends
        edges[1:-1] = self._to_scale(data)
        edges[1:-1].sort()
        log_mass: FloatArray = np.diff(edges)
        with np.errstate(divide="ignore"):
            np.log(log_mass, out=log_mass)
        log_mass += self._utility(np.arange(len(data) + 1, dtype=np.float64), len(data))
        return edges, log_mass

    def _utility(self, rank: FloatArray, n: int) -> FloatArray:
        """-|k - q n| / scale for k values below, q n rounded to halves: differences are exact."""
        utility = rank - 0.5 * round(2 * self.q * n)
        np.abs(utility, out=utility)
        utility *= -1 / self.scale
        return utility

    def _to_scale(self, values: FloatArray) -> FloatArray:
        """Values moved to the interval (NaN to `low`), on the scale where the base is uniform."""
        clipped: FloatArray = np.fmax(values, self.low)
        np.minimum(clipped, self.high, out=clipped)
        return clipped if self.base == "uniform" else np.log(clipped, out=clipped)

    def _from_scale(self, drawn: FloatArray) -> FloatArray:
        """Draws rounded to the public grid and moved back to the interval."""
        low = self._ends[0]
        rounded = low + np.round((drawn - low) / self._step) * self._step
        values = rounded if self.base == "uniform" else np.exp(rounded)
        return np.asarray(np.clip(values, self.low, self.high))

    def _draw(
        self, edges: FloatArray, groups: FloatArray, stream: _core.Stream, count: int
    ) -> FloatArray:
        """Draws on the base measure's scale; `groups` are rows of logarithms of masses."""
        log_mass = _log_sum_exp(groups, axis=1)
        group = _race(np.broadcast_to(log_mass, (count, len(groups))), stream)
        winner = group * groups.shape[1] + _race(groups[group], stream)
        place = np.empty(count)
        stream.uniform(place)
        left, right = edges[winner], edges[winner + 1]
        return np.asarray(left + place * (right - left))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(q={self.q:g}, {self.guarantee!r}, scale={self.scale:.6g})"


def _race(log_rates: FloatArray, stream: _core.Stream) -> NDArray[np.intp]:
    """In each row the index whose exponential at rate exp(log_rate) is the smallest."""
    times = np.empty(log_rates.size)
    stream.exponential(times)
    log_times = np.log(times, out=times).reshape(log_rates.shape) - log_rates
    return np.asarray(np.argmin(log_times, axis=1))


def _in_groups(log_mass: FloatArray) -> FloatArray:
    """Consecutive masses in about as many rows as columns, padded with masses 0."""
    size = math.isqrt(len(log_mass) - 1) + 1
    padding = np.full(-len(log_mass) % size, -np.inf)
    groups: FloatArray = np.concatenate((log_mass, padding)).reshape(-1, size)
    return groups


def _log_sum_exp(logs: FloatArray, axis: int | None = None) -> FloatArray:
    """log(sum(exp(logs))) along an axis; -inf where all are."""
    top = np.max(logs, axis=axis, keepdims=True)
    shifted: FloatArray = logs - np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(shifted, out=shifted), axis=axis))
    return np.asarray(total + np.squeeze(top, axis=axis))
