"""A confidence interval for the Fréchet variance, and the one that a released variance gives."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from curvedp._html import card
from curvedp._validation import as_count, as_number
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.release import (
    NOT_PRIVATE,
    check_parts,
    report_of_parts,
    statement_of,
    unproved_text,
    used_by,
)
from curvedp.privacy.statement import Statement
from curvedp.privacy.stored import restored


@dataclass(frozen=True, repr=False, kw_only=True)
class VarianceInterval:
    """A confidence interval for the Fréchet variance, in squared units of the metric.

    Attributes
    ----------
    lower, upper : float
        Ends of the interval; the variance of points in the ball lies in [0, 4 r^2] anyway.
    estimate : float
        The private variance, corrected for the noise of the mean.
    level : float
        Probability with which the interval covers the variance of the population, for large n.
    n : int
    guarantee : Guarantee or None
        Guarantee of everything in this object; None without privacy.
    parts : tuple of Release
        The releases that it was computed from.
    """

    lower: float
    upper: float
    estimate: float
    level: float
    n: int
    guarantee: Guarantee | None = None
    parts: tuple[Release, ...] = ()

    def __post_init__(self) -> None:
        check_parts(self.guarantee, self.parts)
        object.__setattr__(self, "n", as_count(self.n, "n"))
        for name in ("lower", "upper", "estimate", "level"):
            object.__setattr__(self, name, as_number(getattr(self, name), name))

    @property
    def count(self) -> RecordCount | None:
        """The released number of records, where it is protected."""
        return self.parts[0].count if self.parts else None

    def report(self) -> str:
        """Plain text: the interval, the `statement`, then the releases that it rests on."""
        return report_of_parts(self._title, self._facts(), self.statement, self.parts)

    @property
    def statement(self) -> Statement | None:
        """See `Release.statement`; None without privacy."""
        accuracy = (
            f"made to hold the variance of the population, of records as moved to the ball, in "
            f"{100 * self.level:g} % of cases, if they are drawn independently of each other: less "
            "often where several are one person's."
        )
        return statement_of(self.guarantee, self.parts, accuracy)

    @property
    def _title(self) -> str:
        return (
            f"{100 * self.level:g} % confidence interval for the Fréchet variance: "
            f"[{self.lower:.6g}, {self.upper:.6g}]"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("guarantee", str(self.guarantee or NOT_PRIVATE)),
            ("records", used_by(self.parts, self.n)),
        ]

    def __repr__(self) -> str:
        known = NOT_PRIVATE if self.guarantee is None else self.guarantee._brief
        return f"<VarianceInterval: {self._title}, {known}, n={self.n}>"

    def _repr_html_(self) -> str:
        alarm = unproved_text(self.guarantee)
        return card(self._title, self._facts(), alarm=alarm, parts=self.parts)

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats survive it exactly."""
        data = {
            "schema_version": 1,
            "lower": self.lower,
            "upper": self.upper,
            "estimate": self.estimate,
            "level": self.level,
            "n": self.n,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> VarianceInterval:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no interval of this schema.
        """
        return restored(text, "variance interval", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> VarianceInterval:
        if not isinstance(data, dict) or data.pop("schema_version", None) != 1:
            raise ValueError("another schema than 1")
        if set(data) != set(cls.__dataclass_fields__):
            raise ValueError("unexpected or missing fields")
        given = data["guarantee"]
        data["guarantee"] = None if given is None else Guarantee.from_dict(given)
        data["parts"] = tuple(map(Release.from_dict, data["parts"]))
        return cls(**data)


def restricted_ends(
    released: float, scale: float, reach: float, radius: float, n: int, level: float, pure: bool
) -> tuple[float, float, float]:
    """Lower end, estimate and upper end from a released variance alone: post-processing.

    With R = r + s, the variance of squared distances of at most R^2 with mean V is at most
    V (R^2 - V) (Bhatia and Davis 2000). The ends are the V with (V - c)^2 = z^2 (sigma^2 + V
    (R^2 - V)/n), as in Wilson's interval, c the released number and sigma its noise; Laplace noise
    moves c by its own quantile.

    Parameters
    ----------
    released : float
        The variance with its noise, before it was cut.
    scale : float
        Of the noise.
    reach : float
        r + s.
    radius : float
    n : int
    level : float
    pure : bool
        True for Laplace noise.
    """
    missed = 0.5 * (1 - level)  # at each end
    shift, deviation = 0.0, scale
    if pure:
        missed *= 0.5  # half of it for the noise
        shift, deviation = scale * math.log(0.5 / missed), 0.0
    z = NormalDist().inv_cdf(1 - missed)
    unbiased = n / (n - 1)

    def end(side: float) -> float:
        """The root of (1 + k) V^2 - (2 c + k R^2) V + c^2 - z^2 sigma^2, k = z^2/n."""
        k, center = z * z / n, min(max(released + side * shift, 0.0), reach**2)
        half = center + 0.5 * k * reach**2
        root = half**2 - (1 + k) * (center**2 - (z * deviation) ** 2)
        found = (half + side * math.sqrt(max(root, 0.0))) / (1 + k)
        return min(max(unbiased * found, 0.0), unbiased * radius**2)

    estimate = min(max(unbiased * released, 0.0), unbiased * radius**2)
    return min(end(-1.0), estimate), estimate, max(end(1.0), estimate)
