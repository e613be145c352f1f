"""A confidence interval for the Fréchet variance, and the one that a released variance gives."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any

from curvedp._validation import as_number
from curvedp.privacy.of_parts import OfParts
from curvedp.privacy.stored import restored
from curvedp.unit import told_in

#: What a ball that leaves records out does to their variance, and by how much to enlarge one that a
#: mean without a ball found: docs/confidence-regions.md, "On a ball that was found".
TOO_SMALL = (
    "records beyond the ball count as lying on its edge, so a variance is too small if some do"
)
ON_FOUND_BALL = (
    ". That ball leaves out a twentieth of the records, which count as on its edge: take twice its "
    "radius, Ball(manifold, ball.center, 2 * ball.radius)"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class VarianceInterval(OfParts):
    """A confidence interval for the Fréchet variance, in squared units of the metric.

    Attributes
    ----------
    lower, upper : float
        Ends of the interval; the variance of points in the ball lies in [0, 4 r^2] anyway.
    estimate : float
        The private variance, corrected for the noise of the mean.
    level : float
        Probability with which the interval covers the variance of the population, for large n.
    n, guarantee, parts, coverage, uncounted
        As in `ConfidenceRegion`.
    """

    lower: float
    upper: float
    estimate: float
    level: float

    _statistic = "confidence interval of the Fréchet variance"
    _display = "curvedp.plotting:VarianceIntervalDisplay.from_intervals"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("lower", "upper", "estimate", "level"):
            object.__setattr__(self, name, as_number(getattr(self, name), name))

    def _accuracy(self) -> str:
        return (
            f"made to hold the variance of the population, of records as moved to the ball "
            f"({TOO_SMALL}), in {100 * self.level:g} % of cases, if they are drawn independently "
            "of each other: less often where several are one person's."
        )

    @property
    def _title(self) -> str:
        return (
            f"{100 * self.level:g} % confidence interval for the Fréchet variance: "
            f"[{told_in(self.ball_unit)(self.lower, power=2)}, "
            f"{told_in(self.ball_unit)(self.upper, power=2)}]"
        )

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats survive it exactly."""
        data = {
            "schema_version": 1,
            "lower": self.lower,
            "upper": self.upper,
            "estimate": self.estimate,
            "level": self.level,
            **self._stored(),
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
        if set(data) != {field.name for field in fields(cls)}:
            raise ValueError("unexpected or missing fields")
        return cls(**cls._read(data))


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
