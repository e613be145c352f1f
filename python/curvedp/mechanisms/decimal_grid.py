"""Public grids of short decimals on an interval, with a measure on their points.

Points are multiples of a power of ten; four fifths of all mass lie on all points, one on the
multiples of 10, 100, ... steps, in equal parts. Or they are those of a lattice that the user gives.
Definition: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from curvedp._validation import as_choice, as_finite, as_positive

BASE_MEASURES = ("uniform", "log-uniform")

#: The default grid steps by at most this fraction of the interval's length, or of a positive `low`.
FINEST = Fraction(1, 2**32)
#: Grids have at most so many points.
MOST_POINTS = 2**60
#: Where octaves weigh the same, steps are at most this fraction of `low`.
COARSEST = Fraction(1, 2**10)

#: Shortest interval that has a grid.
_NARROWEST = 1e-280


@dataclass(frozen=True)
class DecimalGrid:
    """Points (start + j stride) 10^exponent for j = 0, ..., steps, in [low, high].

    Parameters
    ----------
    start, stride, exponent : int
    steps : int
        Number of the last point.
    first : int
        Number from which the core counts points: their powers of ten and octaves are its.
    decimals : int
        Number of powers of ten whose multiples weigh more.
    octaves : bool
        True if each doubling of the number has the same mass.
    """

    start: int
    stride: int
    exponent: int
    steps: int
    first: int
    decimals: int
    octaves: bool

    @classmethod
    def of(cls, low: float, high: float, step: float | None, base: str) -> DecimalGrid:
        """The grid of an interval.

        Parameters
        ----------
        low, high : float
        step : float or None
            Distance of neighbouring points, from `low` to `high`; by default short decimals.
        base : {"uniform", "log-uniform"}

        Raises
        ------
        ValueError
            Where there is none.
        """
        as_choice(base, BASE_MEASURES, "base")
        low, high = as_finite(low, "low"), as_finite(high, "high")
        if not low < high:
            raise ValueError(f"low must be less than high, got {low:g} and {high:g}")
        if not math.isfinite(high - low):
            raise ValueError("low and high are too far apart for double precision")
        if high - low < _NARROWEST:  # its points would be subnormal numbers, or none
            raise ValueError("low and high are too close for double precision: use a larger unit")
        octaves = base == "log-uniform"
        if octaves and not low > 0:
            raise ValueError(f"low must be positive for a log-uniform base, got {low:g}")
        if step is not None:
            return cls._lattice(low, high, as_positive(step, "step"), octaves)
        return cls._decimal(Fraction(low), Fraction(high), octaves)

    @classmethod
    def _lattice(cls, low: float, high: float, step: float, octaves: bool) -> DecimalGrid:
        start, end, stride = (Fraction(Decimal(repr(x))) for x in (low, high, step))
        steps = (end - start) / stride
        count = round(steps)
        if count >= MOST_POINTS:
            raise ValueError(
                f"step={step:g} makes more than 2^60 points from {low:g} to {high:g}: give a "
                "larger step"
            )
        if count < 1 or abs(steps - count) > max(Fraction(1, 10**9), count * Fraction(1, 2**50)):
            raise ValueError(
                f"high - low = {high - low:g} is not a multiple of step={step:g}: give low and "
                "high that are points of the lattice"
            )
        if octaves and stride > start:
            raise ValueError(
                f"step={step:g} is larger than low={low:g}, where a log-uniform base is not the "
                "lattice's: leave base out, or give a smaller step"
            )
        first = round(start / stride) if octaves else 0
        if first + count > MOST_POINTS:
            raise ValueError(
                f"step={step:g} makes more than 2^60 points from 0 to {high:g}: give a larger step"
            )
        exponent = min(int(Decimal(repr(x)).as_tuple().exponent) for x in (low, step))
        unit = Fraction(10) ** exponent
        return cls(int(start / unit), int(stride / unit), exponent, count, first, 0, octaves)

    @classmethod
    def _decimal(cls, low: Fraction, high: Fraction, octaves: bool) -> DecimalGrid:
        exponent = _power_of_ten_below(FINEST * (low if octaves else high - low))
        if octaves:
            while high / Fraction(10) ** exponent >= MOST_POINTS:
                exponent += 1
        unit = Fraction(10) ** exponent
        if octaves and unit > COARSEST * low:
            raise ValueError(
                f"low={float(low):g} and high={float(high):g} are too far apart for a log-uniform "
                f"base: give low of at least {float(unit / COARSEST):.2g}"
            )
        start, end = math.ceil(low / unit), math.floor(high / unit)
        decimals = len(str(end - start + 1)) - 1
        first = start if octaves else start % 10**decimals
        return cls(start, 1, exponent, end - start, first, decimals, octaves)

    def value(self, number: int) -> float:
        """The double that is closest to point `number`, counted from 0."""
        return float(f"{self.start + number * self.stride}e{self.exponent}")

    @property
    def step(self) -> float:
        """Distance of neighbouring points."""
        return float(f"{self.stride}e{self.exponent}")

    @property
    def measure(self) -> tuple[int, int, int, bool]:
        """The measure as the core takes it."""
        return self.first, self.first + self.steps, self.decimals, self.octaves


def _power_of_ten_below(x: Fraction) -> int:
    """The largest k with 10^k <= x."""
    k = len(str(x.numerator)) - len(str(x.denominator))
    return k if Fraction(10) ** k <= x else k - 1
