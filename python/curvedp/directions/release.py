"""Release of the mean direction of directions and times of day, and of the mean axis of axes."""

from __future__ import annotations

from typing import Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray
from curvedp.directions.axis import MeanAxis, axis_vectors
from curvedp.directions.groups import DirectionReleases
from curvedp.directions.mean import MeanDirection
from curvedp.directions.reading import Angles, read_directions, space_of, unit_on
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean, Manifold, Projective, as_manifold
from curvedp.manifolds.reading import Reading
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
    angle_units: Angles | None = None,
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
    angle_units: Angles | None = None,
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> Releases[MeanDirection]: ...
@quiet
@hinting
def mean_direction(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    angle_units: Angles | None = None,
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> MeanDirection | Releases[MeanDirection]:
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
    angle_units : {"radians", "degrees", "hours"}, optional
        Of angles, by default what their column has in its name (``time_hours``), else radians; of
        longitude and latitude, degrees by default.
    level : float
        Of the confidence set.
    units, records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, coverage
        As in `frechet_mean`.

    Returns
    -------
    MeanDirection, or Releases with `groups`
        Columns of a table of groups are `mean_direction`, `mean_resultant_length` with its error,
        `half_angle` up to the 2-sphere, `uniformity_p_value`, and those of the mean vector
        (`value`); `regions` holds the releases of its regions.

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
    _check(guarantee, "mean_direction", call)
    vectors, unit = read_directions(space, records, angle_units, _least(guarantee))
    regions = _regions(vectors, guarantee, groups, level, call)
    if isinstance(regions, ConfidenceRegion):
        return MeanDirection(regions, space.spec, unit)
    return DirectionReleases.of(regions, MeanDirection, space.spec, unit)


@overload
def mean_axis(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: None = None,
    angle_units: Angles | None = None,
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> MeanAxis: ...
@overload
def mean_axis(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    angle_units: Angles | None = None,
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> Releases[MeanAxis]: ...
@quiet
@hinting
def mean_axis(
    records: ArrayLike,
    manifold: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    angle_units: Angles | None = None,
    level: float = 0.95,
    **call: Unpack[CallOptions],
) -> MeanAxis | Releases[MeanAxis]:
    """Release the mean axis of axes in space, directions up to sign, with its certainty.

    E x x' of unit vectors x, with the `confidence_region` of its entries on the unit ball of R^q, q
    = p (p + 1)/2 - 1, which holds all of them: no ball is to be chosen, and axes may lie all round.
    The mean axis is the first eigenvector: the axis with the largest mean squared cosine to the
    records. Axes of the plane have `mean_direction` on ``"projective:1"``.

    Parameters
    ----------
    records : array-like
        Vectors, shape (n, d + 1), of any length and either sign, or for d = 2 longitude and
        latitude. No value raises: one that is no axis counts as one without a direction.
    manifold : Manifold or str
        ``"projective:d"``, d >= 2.
    guarantee : GDP, ZCDP or ApproxDP
        Of the release (of each group).
    groups : array-like, optional
        As in `frechet_mean`.
    angle_units : {"degrees", "radians"}, optional
        Of longitude and latitude, by default what their columns have in their names
        (``lon_rad, lat_rad``), else degrees.
    level : float
        Of the confidence set.
    units, records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, coverage
        As in `frechet_mean`.

    Returns
    -------
    MeanAxis, or Releases with `groups`
        Columns of a table of groups are `mean_axis`, `eigenvalues`, `uniformity_p_value`, and those
        of the mean vector (`value`); `regions` holds the releases of its regions.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `confidence_region`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> rng = np.random.default_rng(0)
    >>> poles = rng.choice([-1, 1], (3000, 1)) * (rng.standard_normal((3000, 3)) + [0, 0, 3.0])
    >>> mean = mean_axis(poles, "projective:2", cdp.GDP(mu=1.0))
    >>> bool(mean.contains([0.0, 0.0, -1.0])), mean.uniformity_p_value < 1e-6
    (True, True)
    """
    space = as_manifold(manifold)
    if not isinstance(space, Projective) or space.dim < 2:
        raise ValueError(
            f"axes in space are on projective:d, d >= 2, not on {space.spec}: use mean_direction"
        )
    _check(guarantee, "mean_axis", call)
    said = Reading(angle_units=angle_units).check(space.written)
    points = space.as_points(space.read_records(records, least=_least(guarantee), reading=said))
    named = space.named(records, said)[1].angle_units
    unit = unit_on(space, named if angle_units is None else angle_units)
    regions = _regions(axis_vectors(points), guarantee, groups, level, call)
    if isinstance(regions, ConfidenceRegion):
        return MeanAxis(regions, space.spec, unit)
    return DirectionReleases.of(regions, MeanAxis, space.spec, unit)


def _check(guarantee: Guarantee, name: str, call: CallOptions) -> None:
    if isinstance(guarantee, PureDP):
        raise TypeError(f"{name} needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    if call.get("timing", "prompt") != "prompt":
        raise ValueError(f"{name} reads its records outside of a steady time: leave out timing")


def _least(guarantee: Guarantee) -> int:
    return 0 if adds_or_removes(guarantee) else 1


def _regions(
    vectors: FloatArray, guarantee: Guarantee, groups: GroupsLike, level: float, call: CallOptions
) -> ConfidenceRegion | Releases[ConfidenceRegion]:
    """Of the mean of unit vectors, on the unit ball."""
    size = vectors.shape[1]
    ball = Ball(Euclidean(size), np.zeros(size), 1.0)
    found: ConfidenceRegion | Releases[ConfidenceRegion] = confidence_region(
        vectors, ball, guarantee, groups=groups, level=level, **call
    )
    return found
