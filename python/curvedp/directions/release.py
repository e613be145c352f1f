"""Release of the mean direction of directions, times of day or axes of the plane."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp.directions.mean import MeanDirection
from curvedp.directions.reading import (
    Angles,
    read_directions,
    size_of,
    space_of,
)
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean, Manifold
from curvedp.privacy import Guarantee, PureDP
from curvedp.privacy.base import adds_or_removes
from curvedp.statistics.call import CallOptions
from curvedp.statistics.confidence_region import confidence_region
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.releases import Releases


@overload
def mean_direction(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: None = None,
    angle_units: Angles = "radians",
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> MeanDirection: ...
@overload
def mean_direction(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    angle_units: Angles = "radians",
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> Mapping[Hashable, MeanDirection]: ...
@quiet
@hinting
def mean_direction(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    angle_units: Angles = "radians",
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> MeanDirection | Mapping[Hashable, MeanDirection]:
    """Release the mean direction of directions, times of day or axes, with its certainty.

    E x of unit vectors x, with its `confidence_region` on the unit ball, which holds all of them:
    no ball is to be chosen, and directions may cover the whole sphere. The mean direction is E
    x/|E x|, the point with the largest mean cosine to the records; the Fréchet mean of geodesic
    distances, which `frechet_mean` releases, differs from it on skewed data.

    Parameters
    ----------
    records : array-like
        Angles, shape (n,), on ``"torus:1"``; unit vectors, shape (n, d + 1), of any length, or
        longitude and latitude in degrees, on ``"sphere:d"``; axes of the plane as angles or as
        vectors, shape (n, 2), on ``"projective:1"``. No value raises: one that is no direction
        counts as the vector 0.
    manifold : Manifold or str
    guarantee : GDP, ZCDP or ApproxDP
        Of the release (of each group).
    groups : array-like, optional
        As in `frechet_mean`.
    angle_units : {"radians", "degrees", "hours"}
        Of angles given as such.
    level : float
        Of the confidence set.
    units, records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, coverage
        As in `frechet_mean`.

    Returns
    -------
    MeanDirection, or a mapping of groups' labels to them, without groups that were skipped

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `confidence_region`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> x = np.random.default_rng(0).standard_normal((4000, 3)) + [0.0, 0.0, 0.5]
    >>> mean = mean_direction(x, "sphere:2", cdp.GDP(mu=1.0))  # more than half of the sphere
    >>> bool(mean.contains([0.0, 0.0, 1.0])), mean.uniformity_p_value < 1e-6
    (True, True)
    """
    space = space_of(manifold)
    if call.get("timing", "prompt") != "prompt":
        raise ValueError(
            "mean_direction reads its records outside of a steady time: leave out timing"
        )
    if isinstance(guarantee, PureDP):
        raise TypeError("a mean direction needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    least = 0 if adds_or_removes(guarantee) else 1
    vectors = read_directions(space, records, angle_units, least)
    ball = Ball(Euclidean(size_of(space)), np.zeros(size_of(space)), 1.0)
    if groups is None:
        region = confidence_region(vectors, ball, guarantee, level=level, **call)
        return MeanDirection(region, space.spec, angle_units)
    regions = confidence_region(vectors, ball, guarantee, groups=groups, level=level, **call)
    named = cast(Releases[ConfidenceRegion], regions)
    found = {label: MeanDirection(own, space.spec, angle_units) for label, own in named.items()}
    return MappingProxyType(found)
