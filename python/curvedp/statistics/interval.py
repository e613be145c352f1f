"""A confidence interval for the Fréchet variance, and the one that a released variance gives."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from statistics import NormalDist

from curvedp.privacy import Guarantee, Release
from curvedp.privacy.release import check_parts, read_json


@dataclass(frozen=True, kw_only=True)
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

    def report(self) -> str:
        """Plain text: the interval, then the report of each release it rests on."""
        lines = [
            f"{100 * self.level:g} % confidence interval for the Fréchet variance: "
            f"[{self.lower:.6g}, {self.upper:.6g}]",
            f"guarantee: {self.guarantee if self.guarantee else 'NONE: computed without privacy'}",
            f"records: n = {self.n}",
        ]
        return "\n".join(lines) + "".join("\n\n" + part.report() for part in self.parts)

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
        data = read_json(text)
        if not isinstance(data, dict) or data.pop("schema_version", None) != 1:
            raise ValueError("not a variance interval of schema 1")
        if set(data) != set(cls.__dataclass_fields__):
            raise ValueError("not a variance interval: unexpected or missing fields")
        given = data["guarantee"]
        data["guarantee"] = None if given is None else Guarantee.from_dict(given)
        data["parts"] = tuple(map(Release.from_dict, data["parts"]))
        return cls(**data)


def restricted_ends(
    released: float, scale: float, reach: float, radius: float, n: int, level: float, pure: bool
) -> tuple[float, float, float]:
    """Lower end, estimate and upper end from a released variance alone: post-processing.

    With R = r + s, the variance u of squared distances of at most R^2 with mean V is at most
    V (R^2 - V) (Bhatia and Davis 2000), here at the largest V that the noise lets one expect. The
    noise and the sampling of n records add up as variances; Laplace noise as quantiles.

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
    if pure:
        missed = 0.5 * missed  # half of it for the noise
        noise = scale * math.log(0.5 / missed)
    else:
        noise = NormalDist().inv_cdf(1 - missed) * scale
    most = min(max(released + noise, 0.0), 0.5 * reach**2)
    sampling = NormalDist().inv_cdf(1 - missed) * math.sqrt(most * (reach**2 - most) / n)
    half = noise + sampling if pure else math.hypot(noise, sampling)
    unbiased = n / (n - 1)
    top = unbiased * radius**2
    ends = unbiased * released - half, unbiased * released, unbiased * released + half
    lower, estimate, upper = (min(max(end, 0.0), top) for end in ends)
    return lower, estimate, upper
