"""Sensitivities: how far a statistic moves when one record is replaced.

Proofs: docs/proofs/frechet-mean-sensitivity.md.
"""

from __future__ import annotations

import math

from curvedp._validation import as_choice, as_count
from curvedp.domain import BOUNDARY_SLACK, Ball

CALIBRATIONS = ("proved", "published")


def frechet_mean(
    ball: Ball, n: int, *, records_per_unit: int = 1, calibration: str = "proved"
) -> float:
    """Sensitivity of the Fréchet mean of n records in a ball, in the units of the metric.

    With the upper curvature bound kappa and k = `records_per_unit` replaced records,

    - proved: 2 k tan(r sqrt(kappa)) / (n sqrt(kappa)) for kappa > 0, 2 k r / n for kappa <= 0, and
      never more than the diameter 2 r, with r larger by 1e-9 relative than the ball's radius,
      because rounding may leave records that far outside;
    - published: (2 k r / n) (tan(2 r sqrt(kappa)) / (r sqrt(kappa)) - 1) for kappa > 0 and
      r sqrt(kappa) < pi/4 (Reimherr et al. 2021; Jiang et al., equation 1).

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    records_per_unit : int
        Number of records that one person contributes at most.
    calibration : {"proved", "published"}

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For the published bound on a ball of radius pi/(4 sqrt(kappa)) or more, where it is
        infinite.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> round(frechet_mean(ball, 500), 5)
    0.00337
    >>> round(frechet_mean(ball, 500, calibration="published"), 4)
    0.0204
    """
    count = as_count(n, "n")
    moved = as_count(records_per_unit, "records_per_unit")
    as_choice(calibration, CALIBRATIONS, "calibration")
    kappa = ball.manifold.curvature_bounds[1]
    if calibration == "published":
        return moved * _published(ball.radius, kappa) / count
    r = ball.radius * (1 + BOUNDARY_SLACK)
    return min(moved * _proved(r, kappa) / count, 2 * r)


def _proved(r: float, kappa: float) -> float:
    if kappa <= 0:
        return 2 * r
    s = r * math.sqrt(kappa)
    return 2 * math.tan(s) / math.sqrt(kappa) if s < math.pi / 2 else math.inf


def _published(r: float, kappa: float) -> float:
    if kappa <= 0:
        return 2 * r
    s = r * math.sqrt(kappa)
    if s >= math.pi / 4:
        limit = math.pi / (4 * math.sqrt(kappa))
        raise ValueError(f"the published sensitivity is finite for radii below {limit:.6g} only")
    return 2 * r * (math.tan(2 * s) / s - 1)
