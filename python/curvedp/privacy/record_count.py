"""A released number of records, where that number is protected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from curvedp._text import rounded_up
from curvedp.privacy.base import Guarantee

__all__ = ["RecordCount"]


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
