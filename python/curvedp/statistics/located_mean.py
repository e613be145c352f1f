"""The Fréchet mean without a public ball, and with n protected: a search among sums of messages.

    start -> counts of distances -> clipped logarithms -> mean, ball, count, error

All of the guarantee is the noise of the sums. Proof: docs/proofs/sums-of-messages.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from curvedp._guard import warn_of_paid
from curvedp._validation import FloatArray, as_choice, as_count, as_positive
from curvedp.domain import Ball
from curvedp.errors import CoverageWarning, ExistenceError
from curvedp.manifolds import Manifold, Product, as_manifold
from curvedp.privacy import ApproxDP, PureDP, Release
from curvedp.privacy.base import Neighbours
from curvedp.privacy.wording import percent
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.paid import Paid
from curvedp.statistics.releases import NOISE_COLUMNS, NoiseLaw, Releases
from curvedp.statistics.search_design import (
    SearchDesign,
    Way,
    check_budget,
    composed_of,
    factors_of,
    least_product,
    together,
    way_of_call,
    whole_of,
)
from curvedp.statistics.statistic import Statistic
from curvedp.sums.found import NOT_SHOWN, Found, error_beyond, most_beyond
from curvedp.sums.geometry import geometry_of
from curvedp.sums.messages import Request
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.pure import PureNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import BALL_LIMIT, NOT_POINTS, Search
from curvedp.sums.steps import searched

#: Streams of a group: one for each sum of each factor.
_SUMS, _FACTORS = 32, 32


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

        sqrt(noise^2 + left^2 + (s (reach - clip level)/(1 - s))^2), s the share `most_beyond`, and
        at least `expected_error`: docs/proofs/sums-of-messages.md, theorems 6 and 8.

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
        own = (self.noise, self.left, self.clip_level)
        return max(self.expected_error, error_beyond(*own, self.most_beyond, reach))

    @property
    def ball(self) -> Ball | None:
        """A ball about the mean with .95 of the records, to give to other statistics as public.

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
        return "count", f"{self.n_points:.0f} records that are points {error}"

    @property
    def doubt(self) -> str | None:
        """A sentence where the count tells of records that are no points."""
        missing = self.n - self.n_points if self._is_n_public else 0.0
        if not missing > NOT_POINTS * self.n_points_error:
            return None
        return (
            f"about {min(missing, self.n):.0f} of {self.n} records are no points of "
            f"{self.manifold} (standard "
            f"deviation {self.n_points_error:.2g}): check their format. They were left out."
        )

    def _warnings(self) -> tuple[str, ...]:
        return (self.doubt,) if self.doubt else ()

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


@dataclass(frozen=True)
class LocatedMean(EachGroup[LocatedMeanRelease]):
    """The Fréchet mean without a ball as a value; ``frechet_mean(records, manifold, ...)`` uses it.

    Parameters
    ----------
    channels : {"own", "common"}
        On SPD and HPD matrices "own" lets each channel have units of its own; "common" spends
        nothing on finding them.
    clip : float, optional
        A public clip level for the last rounds, in place of the one that counts tell. Records count
        as beyond it from the next level of counts below on.
    max_rounds : int
        Most rounds at the last clip level besides the last.

    Examples
    --------
    >>> LocatedMean(clip=2.0).options()
    {'channels': 'own', 'clip': 2.0, 'max_rounds': 3}
    """

    title: ClassVar[str] = "Fréchet mean without a ball"
    word: ClassVar[str | None] = "located"
    takes_units: ClassVar[bool] = True
    served: ClassVar[tuple[Neighbours, ...]] = ("replace", "add-remove")
    counted: ClassVar[bool] = False
    memory: ClassVar[float] = 4.0
    stages: ClassVar[int] = _SUMS * _FACTORS

    channels: str = "own"
    clip: float | None = None
    max_rounds: int = 3

    def __post_init__(self) -> None:
        as_choice(self.channels, ("own", "common"), "channels")
        if self.clip is not None:
            object.__setattr__(self, "clip", as_positive(self.clip, "clip"))
        as_count(self.max_rounds, "max_rounds", least=0, most=8)

    @property
    def why_uncounted(self) -> str:
        return (
            "without a ball each release counts the records that are points, and those within its "
            "clip level"
        )

    def without_ball(self) -> Statistic[Any]:
        return self

    def check(self, call: Call) -> None:
        if any(math.isfinite(ball.radius) for ball in call.balls):
            raise ValueError("with a ball use Mean: this mean takes the manifold in its place")
        if isinstance(call.manifold, Product) and len(call.manifold.factors) > _FACTORS:
            raise ValueError(f"at most {_FACTORS} factors")
        check_budget(call)

    def mechanism_of(self, design: SearchDesign) -> str:
        return f"rounded {'Laplace' if isinstance(design.way, PureDP) else 'Gaussian'}"

    def way_of(self, design: SearchDesign) -> Way | None:
        return None if design.private_keys else design.way

    def is_exact(self, call: Call) -> bool:
        return True

    def design(self, call: Call, ball: Ball, n: int) -> SearchDesign:
        way = way_of_call(call)
        factors = factors_of(call.manifold)
        shares: tuple[Way, ...] = way.split((1.0,) * len(factors)) if len(factors) > 1 else (way,)
        design = SearchDesign(way, shares, call.private_keys)
        if _is_n_public(call):
            self.refuse_few(call, design, n)
        return design

    def refuse_few(self, call: Call, design: SearchDesign, n: int) -> None:
        """Refuses a public number of records, or a guess of it, with which a search would fail.

        Parameters
        ----------
        call : Call
        design : SearchDesign
        n : int

        Raises
        ------
        ExistenceError
        """
        moved = call.records_per_unit * (2.0 if design.way.neighbours == "replace" else 1.0)
        pairs = zip(factors_of(call.manifold), design.shares, strict=True)
        least = moved * max(
            least_product(factor, share) / whole_of(share) for factor, share in pairs
        )
        if n < least:
            raise ExistenceError(
                f"{n} records are too few to find a mean without a ball at {design.way}: give a "
                "public ball, or a larger budget.",
                smallest_n=math.ceil(least),
            )

    def outlook(self, call: Call, design: SearchDesign, n: int) -> tuple[float, float]:
        return math.nan, math.nan

    def extent(self, call: Call) -> tuple[float, str]:
        return math.inf, "space"

    def release(self, paid: Paid) -> Releases[LocatedMeanRelease]:
        found = super().release(paid)
        doubts = [own.doubt for own in found.results or () if own and own.doubt]
        if doubts and not paid.is_rehearsal:
            of_groups = f"{len(doubts)} of {len(paid)} groups, the first: "
            warn_of_paid((of_groups if paid.is_grouped else "") + doubts[0], CoverageWarning)
        if _is_n_public(paid.call):
            return found
        return _shown(found, paid.law(self.design(paid.call, paid.call.ball, 0)))

    def spent(self, releases: Releases[LocatedMeanRelease]) -> Way | None:
        """The cost of the groups that spent most, as many as one unit is in."""
        amounts = sorted((own.spent for own in releases.results or () if own), reverse=True)
        call = releases.call
        way = way_of_call(call)
        most = amounts[: call.groups_per_unit]
        if not most or all(own >= whole_of(way) for own in most):
            return None
        return composed_of(most, way)

    def further_columns(self, releases: Releases[LocatedMeanRelease]) -> dict[str, FloatArray]:
        """Numbers of each group's search for a table; `found` is 1 or 0."""
        names = ("found", "n_points", "n_points_error", "most_error", "spread", "level", "spent")
        rows = [
            [np.nan if own is None else float(getattr(own, name)) for name in names]
            for own in releases.results or ()
        ]
        table = np.array(rows).reshape(len(rows), len(names))
        return dict(zip(names, table.T, strict=True))

    def release_group(self, group: Group) -> LocatedMeanRelease:
        design: SearchDesign = group.design
        found: list[Found] = []
        for number, own in enumerate(zip(sums_of(group), design.shares, strict=True)):
            found.append(self._find(group, *own, number * _SUMS))
            if found[0].reason == NOT_SHOWN:  # of which nothing is released
                found *= len(design.shares)
                break
        return self._released(group, found)

    def _find(self, group: Group, sums: RecordSums, share: Way, first: int) -> Found:
        """The search on one factor, whose sums draw from the streams from `first` on."""
        search = Search(
            sums.geometry,
            PureNoise(share.epsilon) if isinstance(share, PureDP) else GaussianNoise(share.mu),
            group.n if _is_n_public(group.call) else None,
            moved=group.call.records_per_unit,
            own_units=self.channels == "own",
            clip=self.clip,
            max_rounds=self.max_rounds,
            key_delta=_key_delta(group.call) if first == 0 else None,
        )

        def answer(request: Request, number: int) -> FloatArray:
            stream, own = group.stream(first + number), (search.replaces, search.moved)
            return sums.noisy(request, search.noise, stream, *own)

        return searched(search, answer)

    def _released(self, group: Group, found: list[Found]) -> LocatedMeanRelease:
        n = group.n if _is_n_public(group.call) else None
        own = told(group.manifold, found, group.design.way, n)
        common = {field.name for field in fields(Release)} & set(own)
        released = group.release(
            statistic=self.title,
            ball_center=group.manifold.origin,
            **{name: own[name] for name in common},
        )
        return LocatedMeanRelease(**(vars(released) | own))


def sums_of(group: Group) -> Sequence[RecordSums]:
    """Sums over a group's records, for each factor."""
    if group.paid.unheld is not None:
        return group.paid.unheld.sums
    space, rows = group.manifold, group.records
    parts = space.split(rows) if isinstance(space, Product) else (rows,)
    ends = group.ends if group.paid.units_by_name else None
    pairs = zip(factors_of(space), parts, strict=True)
    return [RecordSums(factor, part, ends) for factor, part in pairs]


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
        **{name: joint(name) for name in ("noise", "cut", "left", "spread", "level")},
        "spent": together([own.spent for own in found], way),
        "blocks": max(own.blocks for own in found),
        "rounds": max(own.rounds for own in found),
    }


def _is_n_public(call: Call) -> bool:
    return call.guarantee.neighbours == "replace"


def _key_delta(call: Call) -> float | None:
    """The probability with which the key of a single unit may be shown, if keys are private."""
    if not call.private_keys:
        return None
    assert isinstance(call.guarantee, ApproxDP)
    return call.guarantee.delta


def _shown(
    found: Releases[LocatedMeanRelease], law: NoiseLaw | None
) -> Releases[LocatedMeanRelease]:
    """The releases with counts in the place of n, and without groups whose keys are not shown.

    Nothing of what is left depends on the others.
    """
    every = tuple(found.results or ())
    at = [number for number, own in enumerate(every) if own.reason != NOT_SHOWN]
    results = tuple(every[number] for number in at)
    columns = ("released", "value", *NOISE_COLUMNS, "solver_tolerance")
    all_are_shown = len(at) == len(every)
    return replace(
        found,
        labels=found.labels if all_are_shown else [found.labels[number] for number in at],
        n=np.array([own.n for own in results], dtype=np.int64),
        laws=[law],
        law_of=np.zeros(len(at), dtype=np.int32),
        results=results,
        **{name: getattr(found, name)[at] for name in columns},
    )


def _whole(count: float) -> int:
    """A count as a number of records."""
    return max(1, round(count)) if math.isfinite(count) else 1


def _joint(space: Manifold, lengths: list[float]) -> float:
    """Length of a vector whose parts have these lengths."""
    return (
        float(space.joint_length(np.array(lengths))) if isinstance(space, Product) else lengths[0]
    )
