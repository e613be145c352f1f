"""The adaptive mean: a private mean on a ball that has privately shrunk to the records.

    records on the public ball -> private mean -> private quantile of the distances to it
            -> smaller ball about the mean -> private mean of the records projected on that ball

If the last ball would be hardly smaller than the public one, all means on the public ball are
combined instead. Everything that a stage takes from the records goes through its own share of the
guarantee; centres and radii are released before they are used. Proof:
docs/proofs/adaptive-mean.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, overload

from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import as_choice, as_level
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism, RankExponential
from curvedp.mechanisms.calibration import amount_of
from curvedp.mechanisms.choice import draws_exactly
from curvedp.mechanisms.rank_exponential import rank_scale
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import Design, design_mean_under
from curvedp.statistics.frechet_mean import Mean, as_points
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.paid import Paid
from curvedp.statistics.product import OfFactors
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases, release_fields
from curvedp.statistics.schedule import (
    SCHEDULES,
    RadiusLaw,
    Schedule,
    check_weights,
    radius_laws,
    schedule_under,
)
from curvedp.statistics.statistic import Calibrated, Statistic


@dataclass(frozen=True)
class AdaptiveDesign:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    schedule : Schedule
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    first : Design
        Of the first mean.
    """

    ball: Ball
    schedule: Schedule
    way: PureDP | GDP
    first: Design


@dataclass(frozen=True)
class AdaptiveMean(Calibrated[Release]):
    """The adaptive mean as a value, for `curvedp.batch.release`; `adaptive_mean` releases it.

    Parameters
    ----------
    schedule, quantile, mechanism
        As in `adaptive_mean`.

    Examples
    --------
    >>> AdaptiveMean("one-shot").options()
    {'schedule': 'one-shot', 'quantile': None, 'mechanism': None}
    """

    title: ClassVar[str] = "adaptive Fréchet mean"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "adaptive"
    memory: ClassVar[float] = 6.0

    schedule: str | Sequence[float] = "auto"
    quantile: float | None = None
    mechanism: str | type[Mechanism] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.schedule, str):
            as_choice(self.schedule, SCHEDULES, "schedule")
        else:
            object.__setattr__(self, "schedule", check_weights(self.schedule))
        if self.quantile is not None:
            object.__setattr__(self, "quantile", as_level(self.quantile, "quantile"))

    def of_factors(self) -> Statistic[Any]:
        return OfFactors(self)

    def check(self, call: Call) -> None:
        super().check(call)
        if not draws_exactly(self.mechanism):
            raise ValueError(
                f"there is no adaptive mean with {self.mechanism}: the noise on balls that shrink "
                "is known for curvedp's own mechanisms"
            )

    def mechanism_of(self, design: AdaptiveDesign) -> str:
        return design.first.mechanism.name

    def is_exact(self, call: Call) -> bool:
        return True

    def design_under(self, call: Call, way: PureDP | GDP, ball: Ball, n: int) -> AdaptiveDesign:
        unit = call.records_per_unit
        own = self.schedule if isinstance(self.schedule, str) else tuple(self.schedule)
        schedule = schedule_under(ball, n, way, own, self.quantile, unit, self.mechanism)
        radius_laws(ball, schedule, unit)  # raises where one has no noise
        first = design_mean_under(ball, n, schedule.shares[0], unit, self.mechanism)
        return AdaptiveDesign(ball, schedule, way, first)

    def outlook(self, call: Call, design: AdaptiveDesign, n: int) -> tuple[float, float]:
        share, unit = design.schedule.shares[-1], call.records_per_unit
        last = design_mean_under(design.ball, n, share, unit, self.mechanism)
        return last.mechanism.scale, last.mechanism.expected_error

    def noise_share(self, call: Call, design: AdaptiveDesign, n: int) -> float:
        share, unit = design.schedule.shares[-1], call.records_per_unit
        return design_mean_under(design.ball, n, share, unit, self.mechanism).noise_share

    def release(self, paid: Paid) -> Releases[Release]:
        call, (found, _) = paid.call, paid.designs
        stages = [_stages(own, call.records_per_unit) for own in found if own is not None]
        kinds = [type(own.first.mechanism) for own in found if own is not None]
        engine = _core.GroupStatistic.adaptive_mean(
            call.manifold.kernels,
            stages,
            [(kind.in_chart, kind.stretched) for kind in kinds],
            records_per_unit=float(call.records_per_unit),
        )
        means = [None if own is None else own.first for own in found]
        columns = paid.columns(engine, means)
        names = ("sensitivity", "scale", "expected_error")
        return paid.releases(
            value=as_points(paid, columns["value"]),
            solver_tolerance=columns["tolerance"][:, 0],
            **{name: columns[name][:, 0] for name in names},
            more={"radius": columns["radius"][:, 0]},
            details={"stages": columns, "designs": paid.designs},
        )

    def result(self, releases: Releases[Release], index: int) -> Release:
        found, choice = releases.details["designs"]
        shares = found[choice[index]].schedule.shares
        parts = tuple(_stage(releases, index, k, share) for k, share in enumerate(shares))
        return Release(**(release_fields(releases, index) | {"parts": parts}))


def _stages(
    design: AdaptiveDesign, records_per_unit: int
) -> list[tuple[RadiusLaw, tuple[bool, float]]]:
    """Law of each radius, and the share of the mean after it."""
    radii = radius_laws(design.ball, design.schedule, records_per_unit)
    means = map(amount_of, design.schedule.shares[2::2])
    return list(zip(radii, means, strict=True))


def _stage(releases: Releases[Release], index: int, k: int, share: PureDP | GDP) -> Release:
    """The release of one stage of a group, with the ball that it used."""
    columns, shape = releases.details["stages"], releases.call.manifold.point_shape
    size = releases.call.manifold.point_size

    def told(name: str) -> Any:
        width = size if name in ("point", "center") else 1
        return columns[f"stage_{name}"][index, k * width : (k + 1) * width]

    point, radius = told("point").reshape(shape), float(told("radius")[0])
    is_seeded = "seeded" in releases.assumptions
    described: dict[str, Any] = {
        "guarantee": releases.call.promise(share, 0 if is_seeded else None),
        "calibrated_to": None if is_seeded else share,
        "manifold": releases.call.manifold.spec,
        "ball_center": told("center").reshape(shape),
        "ball_radius": radius,
        "ball_unit": releases.call.ball_of(index).unit,
        "n": int(releases.n[index]),
        "records_per_unit": releases.records_per_unit,
        "assumptions": releases.assumptions,
    }
    if k % 2 == 0:
        return Release(
            value=point,
            mechanism=releases.law(index).mechanism,
            statistic=Mean.title,
            sensitivity=float(told("sensitivity")[0]),
            solver_tolerance=float(told("tolerance")[0]),
            scale=float(told("scale")[0]),
            expected_error=float(told("expected_error")[0]),
            **described,
        )
    return Release(
        value=told("quantile")[0],
        mechanism=RankExponential.name,
        statistic="quantile of distances",
        sensitivity=float(releases.records_per_unit),
        solver_tolerance=0.0,
        scale=rank_scale(share, releases.records_per_unit),
        expected_error=None,
        base_point=point,
        **described,
    )


@overload
def adaptive_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def adaptive_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def adaptive_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the Fréchet mean of records, privately, on a ball that adapts to them.

    A first private mean and a private quantile of the records' distances to it give a smaller ball,
    on which the records are projected once more; the mean on that ball needs less noise. The ball
    leaves out as many records as makes noise and worst bias together least. Where it would be
    hardly smaller than the public one, the value is that of all means on the public ball together;
    where n and the guarantee find no smaller ball, the release is one mean. It pays where the
    records lie closer together than the public ball allows: figures in docs/adaptive-mean.md.

    Sites whose means are to be combined release `frechet_mean`: see `combine`.

    Parameters
    ----------
    records, ball, groups
        As in `frechet_mean`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the whole release (of each group), all parts together, when one unit's records
        are replaced.
    schedule : {"auto", "adaptive", "one-shot"} or sequence of float
        A word, or shares of the budget for mean, radius, mean (, radius, mean ...). "auto" follows
        the rule of `adaptive_schedule`, of public values alone, but under PureDP, where it takes
        one mean: there no smaller ball gains on average, and "adaptive" insists on the rule.
        "one-shot" is one mean. Otherwise the shares of the stages mean, radius, mean (, radius,
        mean ...): of epsilon for PureDP, of mu^2 otherwise; they are divided by their sum.
    quantile : float, optional
        Level of the quantiles of distances, between 0 and 1, instead of the rule's. A lower one
        makes the mean robust: that of the records on a small ball, about which then too little is
        printed as the error.
    mechanism : str, optional
        Noise to use instead of the default for the guarantee and the manifold, see
        `choose_mechanism`. It is that of the means.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        The last mean, or all on the public ball together, with the public ball and the guarantee
        of all parts; sensitivity and scale are the last part's. `expected_error` is the mean
        distance of the value from the Fréchet mean of the records projected on the public ball, as
        in `frechet_mean`: sqrt(e^2 + (0.1 q R)^2), e the last mean's noise, R the last ball's
        radius, q the share of the records that its level leaves outside. It is an estimate, not a
        bound: some 1/mu records far from the others cannot be distinguished from none by any such
        release, and move that mean. `parts` holds the releases of all stages in order, each with
        the ball that it used; the expected error of a part is that of its noise.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.adaptive_mean(records, ball, cdp.GDP(mu=0.5))
    >>> [part.statistic for part in release.parts[:2]]
    ['Fréchet mean', 'quantile of distances']
    >>> release.value.shape, release.guarantee == cdp.GDP(mu=0.5)
    ((3,), True)
    """
    statistic = AdaptiveMean(schedule, quantile, mechanism)
    return release(statistic, records, ball, guarantee, groups=groups, **call)


def combined_error(errors: Sequence[float]) -> float:
    """Expected error of means that are weighted by the inverse squares of theirs."""
    least = min(errors)
    return least / math.sqrt(math.fsum((least / error) ** 2 for error in errors))
