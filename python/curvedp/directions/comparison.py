"""Test of two released mean directions for equality."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from curvedp._validation import FloatArray, as_probability
from curvedp.directions.mean import MeanDirection
from curvedp.directions.reading import (
    RIM,
    in_units,
)
from curvedp.statistics.quantiles import hotelling_tail


@dataclass(frozen=True)
class DirectionComparison:
    """Outcome of `compare_directions`.

    Attributes
    ----------
    angle : float
        Between the two mean directions, in the unit of angles, on spheres in radians.
    statistic : float
        Smallest sum over directions v of both distances from {t v : t >= 0}, squared, in terms of
        their covariances.
    p_value : float
        Probability of a larger one between populations with one mean direction, for large n; that
        of a mean vector 0 of either where it is larger: then it may have any direction.
    level : float
    rejects : bool
        True if p_value < level.

    Examples
    --------
    >>> found = DirectionComparison(0.4, 9.0, 0.0027, 0.05, True)
    >>> found.rejects
    True
    """

    angle: float
    statistic: float
    p_value: float
    level: float
    rejects: bool


def compare_directions(
    a: MeanDirection, b: MeanDirection, *, level: float = 0.05
) -> DirectionComparison:
    """Test whether two populations have one mean direction, whatever their spreads.

    Post-processing of two releases from disjoint records: it costs nothing further.
    `compare_means` of the two regions compares the mean vectors, so the spreads too.

    Parameters
    ----------
    a, b : MeanDirection
        On the same manifold, with the same unit of angles.
    level : float
        How often the test may reject when the directions are equal.

    Returns
    -------
    DirectionComparison

    Raises
    ------
    ValueError
        For those of two manifolds or units.
    TypeError
        For others, such as mean axes.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> hours = np.random.default_rng(0).normal([[8.0], [17.0]], 2.0, (2, 1000))
    >>> means = [
    ...     cdp.directions.mean_direction(own, "torus:1", cdp.GDP(mu=1.0), angle_units="hours")
    ...     for own in hours
    ... ]
    >>> cdp.directions.compare_directions(*means).rejects
    True
    """
    alpha = as_probability(level, "level")
    for own in (a, b):
        if not isinstance(own, MeanDirection):
            raise TypeError(
                f"compare_directions takes two of mean_direction, got {type(own).__name__}: of "
                "mean axes compare_means(a.region, b.region) tests the orientation tensors, "
                "spreads too"
            )
    is_plane = not a.manifold.startswith("sphere")
    if a.manifold != b.manifold or (is_plane and a.angle_units != b.angle_units):
        raise ValueError("compare mean directions of one manifold, in one unit of angles")
    starts = [own.resultant / np.linalg.norm(own.resultant) for own in (a, b)]

    def total(vectors: FloatArray) -> FloatArray:
        return np.asarray(a.misfit(vectors) + b.misfit(vectors))

    # it may have several minima: from the best of the plane that holds both, and from these
    turn = 2 * np.pi * np.arange(RIM) / RIM
    between = np.c_[np.cos(turn), np.sin(turn)] @ np.linalg.qr(np.stack(starts, axis=1))[0].T
    best, dim = between[np.argmin(total(between))], len(starts[0]) - 1
    tried = [best, *starts] if dim > 1 else [best]
    found = [scipy.optimize.minimize(total, v, method="BFGS").fun for v in tried]
    statistic = max(float(min(found)), 0.0)
    dof = min(a.region.dof, b.region.dof)
    p_value = float(hotelling_tail(np.asarray(statistic), dim, dof))
    p_value = max(p_value, a.zero_p_value, b.zero_p_value)
    angle = 2 * math.asin(min(1.0, 0.5 * float(np.linalg.norm(starts[0] - starts[1]))))
    angle = in_units(angle, a.manifold, a.angle_units)
    return DirectionComparison(angle, statistic, p_value, alpha, p_value < alpha)
