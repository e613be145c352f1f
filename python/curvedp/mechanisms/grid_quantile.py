"""Exponential mechanism on a public grid: private quantiles of numbers, which may tie.

A grid point y has a probability in proportion to measure(y) exp(-D(y)/scale) with
D(y) = max(0, L(y) - q n, q n - U(y)), the fewest values to be replaced for y to be a q-quantile;
L(y) values lie below y and U(y) at or below it. scale = 2 k/epsilon ranks, k the number of records
that one unit contributes. Several levels share the guarantee (Kaplan, Schnapp, Stemmer 2022).
Proof: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._text import rounded_down
from curvedp._validation import FloatArray, as_count, as_level, as_probability, as_values
from curvedp.mechanisms.decimal_grid import DecimalGrid
from curvedp.mechanisms.rank_exponential import rank_scale
from curvedp.privacy import Guarantee

#: Levels that are drawn one by one; more by recursion.
DRAWN_ONE_BY_ONE = 4
#: Bits of the coin that orders values that tie.
_COIN_BITS = 32


def as_levels(q: float | Sequence[float]) -> float | tuple[float, ...]:
    """One level in [0, 1], or several in increasing order.

    Parameters
    ----------
    q : float or sequence of float
    """
    if not isinstance(q, (list, tuple, np.ndarray)) or np.ndim(q) == 0:
        return as_level(q, "q")  # type: ignore[arg-type]
    levels = tuple(as_level(level, "q") for level in q)
    if not levels:
        raise ValueError("q is empty: give one level or more, such as [0.25, 0.5, 0.75]")
    if any(a >= b for a, b in itertools.pairwise(levels)):
        raise ValueError(f"levels q must increase, each once: got {list(levels)}")
    return levels


def draws_of(levels: int) -> int:
    """Number of draws that compose when so many levels are released.

    One for each of up to 4 levels, ceil(log2(m + 1)) for m more.

    Parameters
    ----------
    levels : int

    Returns
    -------
    int

    Examples
    --------
    >>> [draws_of(m) for m in (1, 4, 5, 7, 8, 99)]
    [1, 4, 3, 3, 4, 7]
    """
    return levels if levels <= DRAWN_ONE_BY_ONE else levels.bit_length()


class GridQuantile:
    """The exponential mechanism on the ranks of a grid's points.

    Parameters
    ----------
    q : float or sequence of float
        Level of the quantile, in [0, 1], or several in increasing order.
    low, high : float
        Public interval; values outside count as its ends, NaN as `low`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of all levels together.
    records_per_unit : int
    base : {"uniform", "log-uniform"}
        Public measure: "log-uniform" (low > 0) gives each doubling the same mass.
    step : float, optional
        Distance of the grid points, counted from `low`. By default a power of ten, at most 2^-32 of
        the interval.

    Attributes
    ----------
    scale : float
        Noise in ranks; in the recursion for more than 4 levels, where a part is cut in the middle.

    Examples
    --------
    >>> from curvedp import PureDP
    >>> kernel = GridQuantile(0.5, low=0.0, high=10.0, guarantee=PureDP(epsilon=1.0))
    >>> round(kernel.scale, 6), kernel.sample([5.0] * 1000, n_samples=2)
    (2.0, array([5., 5.]))
    """

    name: ClassVar[str] = "exponential mechanism on ranks"
    proof: ClassVar[str] = "docs/proofs/private-quantile.md"

    def __init__(
        self,
        q: float | Sequence[float],
        *,
        low: float,
        high: float,
        guarantee: Guarantee,
        records_per_unit: int = 1,
        base: str = "uniform",
        step: float | None = None,
    ) -> None:
        self.q = as_levels(q)
        self.grid = DecimalGrid.of(low, high, step, base)
        self.low, self.high = float(low), float(high)
        self.guarantee = guarantee
        self.sensitivity = float(as_count(records_per_unit, "records_per_unit"))
        self.draws = draws_of(len(self.levels))
        self.scale = rank_scale(guarantee, records_per_unit, self.draws)
        self._coin_bits = _COIN_BITS

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels, one or more."""
        return self.q if isinstance(self.q, tuple) else (self.q,)

    @quiet
    def sample(
        self, values: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Independent draws around the quantiles of `values`.

        Parameters
        ----------
        values : array-like, shape (n,)
        stream : Stream, optional
            Source of randomness; by default a fresh key from the operating system.
        n_samples : int

        Returns
        -------
        ndarray, shape (n_samples,), or (n_samples, m) for a list of m levels
        """
        count = as_count(n_samples, "n_samples")
        stream = _core.Stream.from_os() if stream is None else stream
        drawn = np.empty(count * len(self.levels), dtype=np.uint64)
        self._kernel().sample(as_values(values), stream, drawn)
        first, grid = self.grid.first, self.grid
        found = np.array([grid.value(number - first) for number in drawn.tolist()])
        np.clip(found, self.low, self.high, out=found)
        return found.reshape(count, -1) if isinstance(self.q, tuple) else found

    @quiet
    def log_density(self, point: ArrayLike, values: ArrayLike) -> FloatArray:
        """Log-density of the draws for one level, with respect to the measure, shape (...).

        Parameters
        ----------
        point : array-like, shape (...)
            Rounded to the grid.
        values : array-like, shape (n,)

        Raises
        ------
        ValueError
            If there are several levels.
        """
        if len(self.levels) > 1:
            raise ValueError("a density is computed for one level q, not for several")
        kernel = self._kernel()
        at = np.fmax(np.asarray(point, dtype=np.float64), self.low)
        data = kernel.points(as_values(values))
        cells, total = self._cells(data)
        log_mass = [
            math.log(mass / total) - score / self.scale
            for start, stop, score in cells
            if (mass := kernel.mass(start, stop)[0])
        ]
        sorted_data = np.array(data, dtype=np.uint64)
        numbers = np.empty(at.size, dtype=np.uint64)
        numbers[np.argsort(at, axis=None)] = kernel.points(at.ravel())
        below = np.searchsorted(sorted_data, numbers, side="left")
        up_to = np.searchsorted(sorted_data, numbers, side="right")
        target = self.levels[0] * len(data)
        score = np.maximum(np.maximum(below - target, target - up_to), 0.0)
        log_density: FloatArray = -score / self.scale - np.logaddexp.reduce(log_mass)
        return log_density.reshape(at.shape)

    def _cells(self, points: list[int]) -> tuple[list[tuple[int, int, float]], int]:
        """Ranges of grid points of equal score, with it; and the mass of all points."""
        first, last, _, _ = self.grid.measure
        n, cells, start = len(points), [], first
        target = self.levels[0] * n
        distinct, ranks = np.unique(np.array(points, dtype=np.uint64), return_index=True)
        ends = [*ranks[1:].tolist(), n]
        for value, below, up_to in zip(distinct.tolist(), ranks.tolist(), ends, strict=True):
            cells.append((start, value, abs(below - target)))
            cells.append((value, value + 1, max(0.0, below - target, target - up_to)))
            start = value + 1
        cells.append((start, last + 1, abs(n - target)))
        return cells, self._kernel().mass(first, last + 1)[1]

    def rank_error(self, probability: float = 0.95) -> float:
        """Number of ranks by which a draw is off at most, with this probability, whatever the data.

        D(y) exceeds scale (log 1/m + log 1/(1 - probability)) with a probability of at most
        1 - `probability`, m the least mass of a point. Values that are spread out, or have few
        digits, err far less: by a few scales. Of several levels that is the bound for each, in the
        recursion without what the cuts before it add.

        Parameters
        ----------
        probability : float
            Strictly between 0 and 1.

        Returns
        -------
        float

        Examples
        --------
        >>> from curvedp import PureDP
        >>> how = {"low": 0.0, "high": 10.0, "guarantee": PureDP(epsilon=1.0)}
        >>> round(GridQuantile(0.5, **how).rank_error(), 1)
        52.5
        >>> round(GridQuantile(0.5, step=1.0, **how).rank_error(), 1)
        10.8
        """
        tail = 1.0 - as_probability(probability, "probability")
        last = self.grid.first + self.grid.steps
        least = 4 * self.grid.decimals or 1
        if self.grid.octaves:  # the largest points have the least mass
            least = self._kernel().mass(last, last + 1)[0]
        total = self._kernel().mass(self.grid.first, last + 1)[1]
        return self.scale * (math.log(total / least) - math.log(tail))

    def _kernel(self) -> _core.GridQuantile:
        return _core.GridQuantile(
            self.levels,
            (self.low, self.high),
            self.grid.measure,
            (self.grid.value(0), self.grid.step),
            self.scale,
            self._coin_bits,
        )

    def __repr__(self) -> str:
        levels = list(self.q) if isinstance(self.q, tuple) else format(self.q, "g")
        scale = rounded_down(self.scale)
        return f"{type(self).__name__}(q={levels}, {self.guarantee!r}, scale={scale})"
