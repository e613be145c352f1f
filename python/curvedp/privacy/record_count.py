"""A released number of records, where that number is protected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from curvedp._text import rounded_up
from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP, ZCDP, PureDP
from curvedp.privacy.implication import beside

__all__ = ["RecordCount", "geometric_deviation", "rounded_deviation"]

#: Relative room for numbers that other versions rounded otherwise.
_ROOM = 1e-9


def geometric_deviation(rate: float) -> float:
    """Standard deviation of integers with P(j) proportional to exp(-rate |j|)."""
    return math.sqrt(2.0 * math.exp(-rate)) / -math.expm1(-rate)


def rounded_deviation(sigma: float) -> float:
    """Largest standard deviation of normal noise that was rounded to integers."""
    return math.sqrt(sigma**2 + 0.25)


@dataclass(frozen=True, kw_only=True)
class RecordCount:
    """The number of records with noise, and what the release promises besides it.

    Attributes
    ----------
    value : int or tuple of int
        Number of records, or of units where they are known by name, with integer noise; it may be
        negative. One for each sample of a test of several.
    standard_error : float
        Standard deviation of the noise.
    guarantee : Guarantee
        Of this number alone, for adding or removing a record; the release's own covers it.
    replacing : Guarantee
        Of the whole release for replacing a record: by one of the same data set and sample, on
        which this number does not depend; where there are groups, or samples, by one of any.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rows, own = np.tile(ball.center, (600, 1)), cdp.GDP(2.0, neighbours="add-remove")
    >>> mean = cdp.frechet_mean(rows, ball, own, n_guess=500)
    >>> abs(mean.count.value - 600) < 40, str(mean.count.replacing)
    (True, 'GDP(mu=1.98407)')
    """

    value: int | tuple[int, ...]
    standard_error: float
    guarantee: Guarantee
    replacing: Guarantee

    def __str__(self) -> str:
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        each = " each" if len(values) > 1 else ""
        told = f"standard deviation {rounded_up(self.standard_error, 3)}{each}"
        return f"{', '.join(map(str, values))} released ({told})"

    def used(self, n: int) -> str:
        """Words for the number of records that were used.

        Parameters
        ----------
        n : int
        """
        return (
            f"as of n = {n}, by the count: of more a random selection was used, to fewer copies of "
            "the ball's centre were added"
        )

    def rest_of(self, whole: Guarantee, records_per_unit: int) -> Guarantee:
        """The rest of a guarantee, which the statistic has beside this number.

        Parameters
        ----------
        whole : Guarantee
        records_per_unit : int

        Raises
        ------
        ValueError
            If it leaves nothing, if either is not for adding or removing a record, if this number
            has less noise than its own guarantee needs, or if `replacing` is neither what is left
            nor what the whole implies.
        """
        if {whole.neighbours, self.guarantee.neighbours} != {"add-remove"}:
            raise ValueError("a number of records is released for adding or removing one")
        rest = beside(whole, self.guarantee)
        if self.replacing.neighbours != "replace" or not (
            (_is_at_least(self.replacing, rest) and _is_at_least(rest, self.replacing))
            or _is_at_least(self.replacing, whole.to_replace())
        ):
            raise ValueError(
                f"a count at {self.guarantee} and {self.replacing} for replacing a record do not "
                f"make {whole}"
            )
        match self.guarantee:
            case PureDP(epsilon):
                least = geometric_deviation(epsilon / records_per_unit)
            case GDP(mu):
                least = rounded_deviation(records_per_unit / mu)
            case ZCDP(rho):
                least = rounded_deviation(records_per_unit / math.sqrt(2.0 * rho))
            case _:
                raise ValueError(f"no number of records is released at {self.guarantee}")
        if self.standard_error < least * (1 - _ROOM):
            raise ValueError(
                f"the noise of the number of records does not imply {self.guarantee}: that needs "
                f"a standard deviation of {least:.6g}"
            )
        return rest

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        own = {"guarantee": self.guarantee.to_dict(), "replacing": self.replacing.to_dict()}
        return asdict(self) | own

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RecordCount:
        """Inverse of `to_dict`.

        Raises
        ------
        ValueError
            If it holds no number of records.
        """
        value = data["value"]
        several = isinstance(value, list) and len(value) > 1
        numbers = value if several else [value]
        if {type(own) for own in numbers} != {int} or not 0 < data["standard_error"] < math.inf:
            raise ValueError("the number of records is damaged")
        value = tuple(numbers) if several else value
        own = {name: Guarantee.from_dict(data[name]) for name in ("guarantee", "replacing")}
        return cls(**{**data, **own, "value": value})


def _is_at_least(promise: Guarantee, other: Guarantee) -> bool:
    """True if no parameter of a guarantee is below that of another of its kind."""
    if type(promise) is not type(other):
        return False
    pairs = zip(promise.additive(), other.additive(), strict=True)
    return all(own >= least * (1 - 3 * _ROOM) for own, least in pairs)
