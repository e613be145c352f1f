"""The release of a mean without a ball: its value, counts of the records, a range of errors.

Proofs of the errors: docs/proofs/sums-of-messages.md, theorems 6 and 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._validation import as_positive
from curvedp.domain import Ball
from curvedp.manifolds import Manifold, Product, Sphere, as_manifold
from curvedp.privacy import Release
from curvedp.privacy.wording import percent
from curvedp.statistics.search_design import Way, factors_of, together
from curvedp.sums.found import Found, error_beyond, most_beyond, most_left
from curvedp.sums.geometry import geometry_of
from curvedp.sums.rounds import NOT_POINTS
from curvedp.sums.search import BALL_LIMIT

#: Fewer missing records are none: so much is left by rounded counts of large budgets.
_LEAST_MISSING = 0.5


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocatedMeanRelease(Release):
    """A mean that was released without a public ball; all fields are released numbers.

    Where no mean was found the guarantee is the same, and `spent` says what it cost.

    Attributes
    ----------
    found : bool
        False where no mean was found; `value` is NaN then, and `reason` says why.
    reason : str or None
    n_points, n_points_error : float
        Number of records that are points, as counted, and its standard deviation; NaN and infinite
        where the search ended before a count.
    clip_level : float
        Distance from the last point at which logarithms were clipped.
    within, within_error : float
        Share of the records within it, as counted, and its standard deviation: with a given
        `clip` within the next level below it at which records are counted.
    noise : float
        Expected distance due to noise alone.
    cut : float
        Mean excess of distances over the clip level, as far as counts show it: clipping moves the
        mean by about as much at most.
    left : float
        What the last step leaves of the way to the mean.
    last_step, moved : float
        Length of the last step, and of those before it since records were counted.
    overtaken : float
        Most of the share of records that were counted within the clip level and may lie beyond it
        where the last step began: 0 if they were counted there.
    turned : float
        Largest share of records, as far as counts tell, so near the cut locus that the mean may see
        them in the opposite direction, or nearly: 0 on spaces without a cut locus.
    most_error : float
        Expected distance if as many records as the counts do not exclude (`most_beyond`) lie at the
        distance `reach`, all in one direction; `expected_error` is that if no more lie beyond the
        clip level than counts show. Counts exclude by two standard deviations.
    reach : float
        The largest distance on compact spaces. Elsewhere so many clip levels (`REACH`), and
        `error_within` tells the error for others: no figure holds wherever one record lies.
    spread : float
        Root mean square distance from the mean, of clipped distances.
    level : float
        Distance from `value` within which .95 of the records lie.
    spent : float
        mu of all sums that were drawn, or epsilon of pure ones, at most the budget's.
    blocks, rounds : int
        Sums that it took: blocks of counts and a round, and rounds at the last clip level.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> sphere = cdp.Sphere(2)
    >>> X = sphere.project([0.0, 0.0, 1.0] + 0.1 * np.random.default_rng(0).normal(size=(900, 3)))
    >>> mean = cdp.frechet_mean(X, sphere, cdp.GDP(mu=1.0))
    >>> mean.found, bool(abs(mean.n_points - 900) < 60), mean.ball.radius < 0.5
    (True, True, True)
    """

    found: bool
    reason: str | None
    n_points: float
    n_points_error: float
    clip_level: float
    within: float
    within_error: float
    noise: float
    cut: float
    left: float
    last_step: float
    moved: float
    overtaken: float
    turned: float
    most_error: float
    reach: float
    spread: float
    level: float
    spent: float
    blocks: int
    rounds: int

    @property
    def most_beyond(self) -> float:
        """Most of the share of records beyond the clip level: two deviations above the counted."""
        return most_beyond(self.within, self.within_error)

    def error_within(self, reach: float) -> float:
        """Expected distance if `most_beyond` of the records lie at a distance, in one direction.

        sqrt(noise^2 + l^2 + ((s f + o min(moved, f) + 2 R t)/(1 - s))^2), f = reach + `last_step`
        - R where that is positive, R the clip level, o `overtaken`, t `turned` unless no record
        within the distance comes near the cut locus, s the larger of t and `most_beyond`, l what
        the last step leaves at most (2 `left` on negative curvature, else `left`), and at least
        `expected_error`: docs/proofs/sums-of-messages.md, theorems 6 and 8 to 10. A single release
        may be farther off, as noise is: 3 times where it is all of the error, by chance 1 in 60 on
        a line.

        Parameters
        ----------
        reach : float
            A public distance from the mean within which all records lie.

        Examples
        --------
        >>> import numpy as np, curvedp as cdp
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> mean = cdp.frechet_mean(X, "euclidean:3", cdp.GDP(mu=1.0))
        >>> mean.expected_error < mean.error_within(10.0) < mean.error_within(100.0)
        True
        """
        reach = as_positive(reach, "reach")
        if not self.found:
            return math.nan
        assert self.expected_error is not None
        space = as_manifold(self.manifold)
        along = most_left(self.left, space.curvature_bounds[0])
        own = (self.noise, along, self.clip_level)
        far = (self.most_beyond, reach + self.last_step, self.overtaken, self.moved)
        error = max(self.expected_error, error_beyond(*own, *far))
        if reach + self.last_step + error < space.injectivity_radius:
            return error
        error = max(error, error_beyond(*own, *far, self.turned))
        return min(error, self.ball_radius) if math.isfinite(space.injectivity_radius) else error

    @property
    def ball(self) -> Ball | None:
        """A ball about the mean with .95 of the records, to give to other statistics as public.

        Variances need about twice its radius: docs/confidence-regions.md, "On a ball that was
        found".
        Its radius is `level`, at most .9 of the largest that a ball may have; None where the level
        is beyond that, where no mean was found, and on products.
        """
        space = as_manifold(self.manifold)
        if not self.found or isinstance(space, Product) or not math.isfinite(self.level):
            return None
        if self.level > BALL_LIMIT * space.max_ball_radius:
            return None
        try:
            return Ball(space, self.value, self.level)
        except ValueError:  # too far out, or too small, for doubles
            return None

    def _domain(self) -> str:
        return "the whole space: no ball was given"

    def _noise(self) -> list[tuple[str, str]]:
        if not self.found:
            return [("found", f"no mean: {self.reason}"), self._count()]
        return [
            self._count(),
            (
                "clip level",
                f"{self.clip_level:.4g}; {percent(self.within)} of the records within (standard "
                f"deviation {100.0 * self.within_error:.2g} %)",
            ),
            ("beyond it", f"up to {percent(self.most_beyond)} of the records, as counted"),
            (
                "of the error",
                f"noise {self.noise:.3g}, clipping at most about {self.cut:.3g} as far as counts "
                f"show, left of the way {self.left:.2g}; spread of the records {self.spread:.3g}",
            ),
            ("sums", f"blocks {self.blocks}, rounds {self.rounds}; {self._budget()}"),
        ]

    def _budget(self) -> str:
        name = "epsilon" if "Laplace" in self.mechanism else "mu"
        return f"{name} spent {self.spent:.6g}"

    def _used(self) -> str:
        if self._is_n_public:
            return super()._used()
        return "not counted" if math.isnan(self.n_points) else f"{self.n}, as counted"

    @property
    def _is_n_public(self) -> bool:
        return self.guarantee.neighbours == "replace"

    def _count(self) -> tuple[str, str]:
        if math.isnan(self.n_points):
            return "count", "none: the search ended before its first one"
        error = f"(standard deviation {self.n_points_error:.2g})"
        what = "units, by their records" if self.units_by_name else "records"
        return "count", f"{max(self.n_points, 0.0):.0f} {what} that are points {error}"

    @property
    def doubt(self) -> str | None:
        """A sentence where the count tells of records that are no points."""
        missing = self.n - self.n_points if self._is_n_public else 0.0
        if not missing > max(NOT_POINTS * self.n_points_error, _LEAST_MISSING):
            return None
        of_units, what = ("the records of ", "units") if self.units_by_name else ("", "records")
        return (
            f"{of_units}about {min(missing, self.n):.0f} of {self.n} {what} are no points of "
            f"{self.manifold} (standard "
            f"deviation {self.n_points_error:.2g}) and were left out: look for missing values, the "
            "order of the numbers of a record, and deficient rank"
        )

    @property
    def hidden(self) -> str | None:
        """A sentence where noise left no mean, or nothing of the records' spread."""
        if not self.found:
            space, given = as_manifold(self.manifold), "a public ball"
            if isinstance(space, Sphere):
                size = space.dim + 1
                given = (
                    f'Ball("euclidean:{size}", numpy.zeros({size}), {space.radius}), on which '
                    "directions always have a mean"
                )
            return (
                f"no mean was found, and the value is NaN: {self.reason}. Give more records, a "
                f"larger budget, or {given}"
            )
        if self.spread > 0.0:
            return None
        return (
            "noise hides how far the records spread, which is printed as 0: take the clip level, "
            f"{self.clip_level:.3g}, where a spread is asked for"
        )

    def _warnings(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.doubt, self.hidden)))

    def _counted(self) -> str:
        return f" Counted: {self._count()[1]}."

    def _error(self) -> str:
        if not self.found:
            return "not known: no mean was found"
        if self.most_error == self.expected_error:
            return super()._error()
        space = as_manifold(self.manifold)
        is_compact = math.isfinite(space.injectivity_radius)
        end = "as far as the space goes" if is_compact else "farther ones may add more"
        return (
            f"{self.expected_error:.3g} to {self.most_error:.3g}: the first if no more records lie "
            f"beyond the clip level than counts show, the last if as many as they do not exclude "
            f"({percent(self.most_beyond)}) lie {self.reach:.3g} away, {end}"
        )

    def __repr__(self) -> str:
        if not self.found:
            return super().__repr__()
        error = f"error {self.expected_error:.3g} to {self.most_error:.3g}"
        return f"{super().__repr__()[:-1]}, {error}>"


_LENGTHS = ("noise", "cut", "left", "last_step", "moved", "spread", "level")


def told(space: Manifold, found: list[Found], way: Way, n: int | None) -> dict[str, Any]:
    """Fields of a release of what was found on each factor; `n` is None where it is protected."""
    missing = [own for own in found if own.value is None]
    value = np.full(space.point_shape, np.nan)
    error: float | None = None
    if not missing:
        points = [
            np.asarray(own.value).reshape(factor.point_shape)
            for own, factor in zip(found, factors_of(space), strict=True)
        ]
        whole = space.join(points) if isinstance(space, Product) else points[0]
        value = np.asarray(whole).reshape(space.point_shape)
        error = _joint(space, [own.expected_error for own in found])
    count = min(found, key=lambda own: own.count_deviation)
    nearest = min(found, key=lambda own: own.within)
    largest = _joint(space, [geometry_of(own).largest for own in factors_of(space)])

    def joint(name: str) -> float:
        return _joint(space, [getattr(own, name) for own in found])

    moved, scale = joint("sensitivity"), joint("scale")
    return {
        "value": value,
        "n": _whole(count.count) if n is None else n,
        "ball_radius": largest,
        "sensitivity": largest if math.isnan(moved) else moved,
        "solver_tolerance": 0.0,
        "scale": largest if math.isnan(scale) else scale,
        "expected_error": error,
        "most_error": joint("most_error"),
        "reach": joint("reach"),
        "found": not missing,
        "reason": missing[0].reason if missing else None,
        "n_points": count.count,
        "n_points_error": count.count_deviation,
        "clip_level": joint("radius"),
        "within": nearest.within,
        "within_error": nearest.within_error,
        "overtaken": max(own.overtaken for own in found),
        "turned": max(own.turned for own in found),
        **{name: joint(name) for name in _LENGTHS},
        "spent": together([own.spent for own in found], way),
        "blocks": max(own.blocks for own in found),
        "rounds": max(own.rounds for own in found),
    }


def _whole(count: float) -> int:
    """A count as a number of records."""
    return max(1, round(count)) if math.isfinite(count) else 1


def _joint(space: Manifold, lengths: list[float]) -> float:
    """Length of a vector whose parts have these lengths."""
    return (
        float(space.joint_length(np.array(lengths))) if isinstance(space, Product) else lengths[0]
    )
