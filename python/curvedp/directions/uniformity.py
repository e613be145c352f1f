"""The test of uniformity of unit vectors, from the released region of their mean.

Rayleigh's test of directions and Bingham's of axes are one: of the mean of unit vectors, whose
covariance under the uniform law is I/p (Mardia and Jupp, Directional Statistics, 2000, sections
10.4.1 and 10.7.1).
"""

from __future__ import annotations

import scipy

from curvedp.privacy import Release
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.null_law import LEAST_P
from curvedp.statistics.region import ConfidenceRegion


def released_mean(region: ConfidenceRegion) -> Release | None:
    """The release of the mean vector among the region's parts."""
    return next((part for part in region.parts if part.statistic == Mean.title), None)


def p_value_of_uniformity(region: ConfidenceRegion) -> float:
    """P(chi^2_p > |r|^2/(k/(n p) + sigma^2)), k the most records of a unit.

    Sampling and the noise of r, of variance sigma^2 in each coordinate, are both counted.

    Raises
    ------
    ValueError
        Without the released mean among the region's parts.
    """
    if (mean := released_mean(region)) is None:
        raise ValueError("the test needs the release of the mean vector in region.parts")
    r = region.estimate
    variance = mean.records_per_unit / (mean.n * len(r)) + mean.scale**2
    return float(scipy.special.chdtrc(len(r), float(r @ r) / variance))


def told_p_value(region: ConfidenceRegion, null: str, name: str) -> list[tuple[str, str]]:
    """A report's line on the test, if the region has what it needs."""
    if released_mean(region) is None:
        return []
    p_value = p_value_of_uniformity(region)
    told = f"p = {p_value:.3g}" if p_value > LEAST_P else f"p < {LEAST_P:g}"
    return [("test of uniformity", f"{told} {null} ({name})")]
