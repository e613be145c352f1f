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
from curvedp.errors import CoverageWarning, ExistenceError, NoiseWarning
from curvedp.manifolds import Product
from curvedp.privacy import ApproxDP, PureDP, Release
from curvedp.privacy.base import Neighbours
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.located_release import LocatedMeanRelease, told
from curvedp.statistics.paid import Paid
from curvedp.statistics.releases import NOISE_COLUMNS, NoiseLaw, Releases
from curvedp.statistics.search_design import (
    SearchDesign,
    Way,
    check_budget,
    composed_of,
    factors_of,
    least_product,
    way_of_call,
    whole_of,
)
from curvedp.statistics.statistic import Statistic
from curvedp.sums.found import NOT_SHOWN, Found
from curvedp.sums.messages import Request
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.pure import PureNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from curvedp.sums.steps import searched

#: Streams of a group: one for each sum of each factor.
_SUMS, _FACTORS = 32, 32


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
        changed = call.records_per_unit * (2.0 if design.way.neighbours == "replace" else 1.0)
        pairs = zip(factors_of(call.manifold), design.shares, strict=True)
        least = changed * max(
            least_product(factor, share) / whole_of(share) for factor, share in pairs
        )
        if n < least:
            by_name = "; units=, each record's person, needs fewer" * (call.records_per_unit > 1)
            raise ExistenceError(
                f"{n} records (with units=, units) are too few to find a mean without a ball at "
                f"{design.way}: give a public ball, or a larger budget{by_name}.",
                smallest_n=math.ceil(least),
            )

    def outlook(self, call: Call, design: SearchDesign, n: int) -> tuple[float, float]:
        return math.nan, math.nan

    def extent(self, call: Call) -> tuple[float, str]:
        return math.inf, "space"

    def release(self, paid: Paid) -> Releases[LocatedMeanRelease]:
        found = super().release(paid)
        if not _is_n_public(paid.call):
            found = _shown(found, paid.law(self.design(paid.call, paid.call.ball, 0)))
        if not paid.is_rehearsal:
            own = [one for one in found.results or () if one]
            _warn(paid, [one.doubt for one in own], CoverageWarning)
            _warn(paid, [one.hidden for one in own], NoiseWarning)
        return found

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
            changed=group.call.records_per_unit,
            own_units=self.channels == "own",
            clip=self.clip,
            max_rounds=self.max_rounds,
            key_delta=_key_delta(group.call) if first == 0 else None,
        )

        def answer(request: Request, number: int) -> FloatArray:
            stream, own = group.stream(first + number), (search.replaces, search.changed)
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


def _warn(paid: Paid, told: Sequence[str | None], kind: type[Warning]) -> None:
    """One warning for all groups that are shown."""
    texts = list(filter(None, told))
    if texts:
        of_groups = f"{len(texts)} of {len(told)} groups, the first: " if paid.is_grouped else ""
        warn_of_paid(of_groups + texts[0], kind)


def sums_of(group: Group) -> Sequence[RecordSums]:
    """Sums over a group's records, for each factor."""
    if group.paid.unheld is not None:
        return group.paid.unheld.sums
    space, rows = group.manifold, group.records
    parts = space.split(rows) if isinstance(space, Product) else (rows,)
    ends = group.ends if group.paid.units_by_name else None
    pairs = zip(factors_of(space), parts, strict=True)
    return [RecordSums(factor, part, ends) for factor, part in pairs]


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
