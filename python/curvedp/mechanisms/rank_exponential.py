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
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._text import rounded_down
from curvedp._validation import FloatArray, as_choice, as_count, as_finite, as_level, as_values
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.privacy import Guarantee

BASE_MEASURES = ("uniform", "log-uniform")


def rank_scale(guarantee: Guarantee, records_per_unit: int, draws: int = 1) -> float:
    """Scale 2k/epsilon of the noise in ranks, for k records of one unit and so many draws."""
    scale = outward_scale(2 * records_per_unit, bounded_range_epsilon(guarantee, draws))
    if not 1e-250 < scale < 1e250:
        raise ValueError(f"no quantile can be drawn at a scale of {scale:g} ranks")
    return scale


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
    >>> round(kernel.scale, 6), kernel.sample([0.2, 0.4, 0.9], n_samples=4).shape
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
        self.scale = rank_scale(guarantee, records_per_unit)
        if base == "log-uniform" and not self.low > 0:
            raise ValueError(f"low must be positive for a log-uniform base, got {self.low:g}")
        self._ends = self._to_scale(np.array([self.low, self.high]))
        length = float(self._ends[1]) - float(self._ends[0])
        if not 1e-250 < length < math.inf:
            raise ValueError(
                f"low must be below high in double precision, got {self.low!r} and {self.high!r}"
            )

    @quiet
    def sample(
        self, values: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Independent draws around the quantile of `values`, rounded to the public grid.

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
        drawn = np.empty(count)
        log_uniform = self.base == "log-uniform"
        kernel = _core.RankExponential(self.q, self.low, self.high, log_uniform, self.scale)
        kernel.sample(as_values(values), stream, drawn)
        return drawn

    @quiet
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
        data = as_values(values)
        edges = np.empty(len(data) + 2)
        edges[0], edges[-1] = self._ends
        edges[1:-1] = self._to_scale(data)
        edges[1:-1].sort()
        log_mass: FloatArray = np.diff(edges)
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

    def __repr__(self) -> str:
        scale = rounded_down(self.scale)
        return f"{type(self).__name__}(q={self.q:g}, {self.guarantee!r}, scale={scale})"


def _log_sum_exp(logs: FloatArray) -> float:
    """log(sum(exp(logs))), some of which are finite."""
    top = float(np.max(logs))
    return top + math.log(np.sum(np.exp(logs - top)))
