"""Expected errors of releases, before any record is seen.

Everything here is a function of public values: of the ball, the number of records, the guarantee
and parameters. An error that also depends on the records, such as on their places in the ball, is
given as a range, or from a guess that the caller makes.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

import curvedp
from curvedp import _core
from curvedp._hints import hinting
from curvedp._html import card
from curvedp._validation import as_choice, as_count, as_positive, as_probability
from curvedp.domain import Ball, WholeSpace, as_domain, check_ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold
from curvedp.mechanisms import Mechanism, Way, ways_of_one_draw, ways_to_meet
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.privacy.wording import percent
from curvedp.regression.choice import expected_choice, longest_velocity
from curvedp.regression.private import GeodesicLine
from curvedp.statistics.adaptive_mean import AdaptiveDesign, AdaptiveMean, combined_error
from curvedp.statistics.base_point import MeanNoise
from curvedp.statistics.call import Call
from curvedp.statistics.confidence_region import Region, expected_region, gaussian_way
from curvedp.statistics.coverage import Counting, share_of
from curvedp.statistics.design import Design, design_mean_under, smallest_n
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.schedule import is_stretched, radius_laws, steepness
from curvedp.statistics.search_design import whole_of
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.variance import Variance
from curvedp.sums.noise import mean_length
from curvedp.unit import Unit, told_in

__all__ = ["Plan", "plan"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Parameters that some statistics alone take, and their values where they are not said.
_TAKEN_BY = {
    "level": ("confidence_region",),
    "tau": ("geodesic_regression",),
    "v_max": ("geodesic_regression",),
    "mechanism": ("frechet_mean", "adaptive_mean", "confidence_region"),
}
_UNSAID = {"level": 0.95, "tau": None, "v_max": None, "mechanism": None}
#: Errors of a regression up to this share of tau are as computed for flat space, within a third.
_ARRIVES = 0.25


@dataclass(frozen=True, repr=False, kw_only=True)
class Plan:
    """Expected error of a release of `n` records.

    Attributes
    ----------
    statistic : str
        Name of the function that releases it.
    n : int
        Number of records.
    guarantee : Guarantee
    quantity : str
        Meaning of `low` and `high`: "expected error" or "half-length".
    low, high : float
        Its values for the most and the least favourable records; equal if it does not depend on
        them.
    meaning : str
        Meaning of the figures, in one sentence or two.
    radius : float or None
        The ball's radius, where the quantity is a distance.
    unit : Unit or None
        The ball's unit, in which texts tell the quantity; numbers here are in the units of the
        metric.
    """

    statistic: str
    n: int
    guarantee: Guarantee
    quantity: str
    low: float
    high: float
    meaning: str
    radius: float | None
    unit: Unit | None = None

    def to_json(self) -> str:
        """JSON text: an entry for each attribute."""
        unit = None if self.unit is None else self.unit.to_dict()
        own = vars(self) | {"guarantee": self.guarantee.to_dict(), "unit": unit}
        return json.dumps(own, ensure_ascii=False)

    def report(self) -> str:
        """Plain text: one line for each attribute, then what they mean."""
        rows = [f"{name:<17}{text}" for name, text in self._facts()]
        return "\n".join([*rows, *textwrap.wrap(self.meaning, 88), ""])

    def _facts(self) -> list[tuple[str, str]]:
        power = _power_of(self.statistic)
        told = told_in(self.unit)
        between = "" if self.low == self.high else f"{told(self.low, 4, power)} to "
        share = ""
        if self.radius is not None:
            share = f"  ({percent(self.high / self.radius)} of the radius)"
        return [
            ("records", str(self.n)),
            ("guarantee", str(self.guarantee)),
            (self.quantity, f"{between}{told(self.high, 4, power)}{share}"),
        ]

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {text}" for name, text in self._facts())
        return f"<Plan of {self.statistic}: {' '.join(facts.split())}>"

    def _repr_html_(self) -> str:
        return card(f"Plan of {self.statistic}", self._facts(), notes=[self.meaning])


@hinting
def plan(
    statistic: str,
    ball: Ball | Manifold | str,
    guarantee: Guarantee,
    *,
    n: int | None = None,
    error: float | None = None,
    spread: float | None = None,
    level: float = 0.95,
    tau: float | None = None,
    v_max: float | None = None,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
    coverage: bool | None = None,
) -> Plan:
    """The error to expect of a release, or the number of records it takes; reads no data.

    - "frechet_mean": mean distance from the exact mean of the projected records, were that the
      ball's centre or at its edge: noise in a chart is longer there. With a manifold in the ball's
      place, which needs `spread`: for records of like distances, and for ones whose distances have
      an exponential tail.
    - "adaptive_mean": the same, estimated as the release estimates it: least if all records are
      equal, largest if the public ball is kept. With `spread`, for normal records.
    - "conformal_mean": the same as for "frechet_mean": least if no records are denser than others
      about a mean at the ball's centre, largest if they are densest about a mean at its edge.
    - "frechet_variance": mean absolute error. Least where the records' mean is the
      ball's centre; largest where it lies at the edge, for noise of sensitivity (2 r)^2/n.
    - "confidence_region": half-length of the region's axes (their geometric mean), were the noise
      on its covariance 0 and the records alike in all directions, at root mean square distance
      `spread` from their mean; by default from the noise of the mean alone to a distance of r.
    - "geodesic_regression": root mean square error of predictions that the noise causes, for
      records at root mean square distance `spread` from the geodesic, by default 0 to r/2. With
      `tau` that of the sampler that "auto" takes, on flat space, for covariates spread evenly over
      their range; where it exceeds tau/4 the draw need not arrive near the best geodesic, and
      `high` is the extent of the support.

    Parameters
    ----------
    statistic : str
        Name of the function: one of the above.
    ball : Ball, or a Manifold for a mean without a ball
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    n : int, optional
        Number of records, to find the expected error.
    error : float, optional
        Wished error, or half-length, that `high` shall not exceed, to find the number of records,
        in the unit in which the ball was stated (km, degrees, hours; squared for variances), else
        in the units of the metric. Either `n` or `error`.
    spread : float, optional
        Root mean square distance of the records from their mean, a guess that is not taken from
        them, in the unit of `error`.
    level : float
        Of the region.
    tau, v_max : float, optional
        Of the regression; without `tau` its clipping length is found privately.
    records_per_unit, mechanism
        As in the function; its other parameters at their defaults.
    coverage : bool or None
        Whether the release also counts the records inside the ball: see `frechet_mean`.

    Returns
    -------
    Plan

    Raises
    ------
    ExistenceError
        As in the function.
    ValueError, TypeError
        For wrong parameters, and if no number of records is enough.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> design = cdp.plan("frechet_variance", ball, cdp.GDP(mu=1.0), n=1000)
    >>> round(design.low, 6), round(design.high, 6)
    (0.000217, 0.000849)
    >>> cdp.plan("frechet_mean", ball, cdp.PureDP(epsilon=1.0), error=0.01).n
    243
    """
    as_choice(statistic, tuple(_PLANNERS), "statistic")
    if (n is None) == (error is None):
        raise ValueError("give either n (what error?) or error (how many records?)")
    domain = as_domain(ball)
    served = LocatedMean.served if isinstance(domain, WholeSpace) else ("replace",)
    if statistic != "frechet_mean":
        check_ball(domain)
    unit = domain.unit
    one = 1.0 if unit is None or unit.length is None else unit.length
    request = _Request(
        ball=domain,
        guarantee=check_guarantee(guarantee, served),
        spread=None if spread is None else as_positive(spread, "spread") * one,
        level=as_probability(level, "level"),
        tau=None if tau is None else as_positive(tau, "tau"),
        v_max=None if v_max is None else as_positive(v_max, "v_max"),
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
        mechanism=mechanism,
    )
    for name, takers in _TAKEN_BY.items():
        if getattr(request, name) != _UNSAID[name] and statistic not in takers:
            raise ValueError(f"{statistic} takes no {name}: leave it out, as in the function")
    planner = _PLANNERS[statistic]
    if isinstance(domain, WholeSpace):
        planner = _located_mean
    elif coverage is not False:
        planner = _counted(planner, must=coverage is True)
    least = domain.manifold.dim + 2 if statistic == "confidence_region" else 1
    if n is not None:
        return replace(planner(request, as_count(n, "n", least=least)), unit=unit)
    assert error is not None
    power = _power_of(statistic)
    wished = as_positive(error, "error") * one**power

    def enough(count: int) -> bool:
        try:
            return planner(request, count).high <= wished
        except ExistenceError:
            return False

    told = told_in(unit)(wished, power=power)
    refusal = f"no number of records brings the expected error down to {told}"
    return replace(planner(request, smallest_n(enough, refusal, least)), unit=unit)


def _power_of(statistic: str) -> int:
    """Of a length, in which the error is."""
    return 2 if statistic == "frechet_variance" else 1


@dataclass(frozen=True)
class _Request:
    """The parameters of `plan`, checked."""

    ball: Ball
    guarantee: Guarantee
    spread: float | None
    level: float
    tau: float | None
    v_max: float | None
    records_per_unit: int
    mechanism: str | type[Mechanism] | None

    @property
    def told_spread(self) -> str:
        return told_in(self.ball.unit)(self.spread)

    def call(self, statistic: Statistic[Any]) -> Call:
        """A call of a statistic with these parameters."""
        return Call(
            statistic=statistic,
            balls=(self.ball,),
            guarantee=self.guarantee,
            records_per_unit=self.records_per_unit,
        )

    def mean_design(self, n: int) -> Design:
        """The design of a mean."""
        statistic = Mean(self.mechanism)
        return statistic.design(self.call(statistic), self.ball, n)

    def mean_error(self, ball: Ball, n: int, share: PureDP | GDP) -> float:
        """Expected error of a mean on a ball for a share of the guarantee."""
        unit, kind = self.records_per_unit, self.mechanism
        return design_mean_under(ball, n, share, unit, kind).mechanism.expected_error

    def shrunk_error(self, n: int, share: PureDP | GDP, radius: float, level: float) -> float:
        """That of an adaptive mean whose last ball has that radius, from a quantile of a level."""
        smaller = Ball(self.ball.manifold, self.ball.center, radius)
        return math.hypot(self.mean_error(smaller, n, share), _core.BIAS * (1 - level) * radius)

    def mean_noise(self, statistic: Statistic[Any], n: int) -> MeanNoise:
        """The noise of the private mean that a statistic rests on."""
        (design,), _ = self.call(statistic).designs(np.array([n], dtype=np.int64), alone=True)
        return MeanNoise.of(design.mean.mechanism, self.ball)


def _counted(
    planner: Callable[[_Request, int], Plan], *, must: bool
) -> Callable[[_Request, int], Plan]:
    """The plan of a release that counts its records, as `release` divides its guarantee.

    One that need not count them does without where there is no such release.
    """

    def counted(request: _Request, n: int) -> Plan:
        whole, unit = request.guarantee, request.records_per_unit
        ways: tuple[Way, ...] = ()
        if isinstance(whole, (GDP, PureDP)):
            ways = (whole,)
        elif planner is _confidence_region:
            ways = gaussian_way(whole, "a region")
        else:
            every = ways_of_one_draw if planner is _frechet_mean else ways_to_meet
            ways = every(whole, request.mechanism)
        found, refused = [], None
        for way in ways:
            try:
                shared = replace(request, guarantee=Counting.of(whole, way, n, unit, 1).rest)
                own = planner(shared, n)
                of_mean = planner is _frechet_mean
                error = shared.mean_design(n).expected_error if of_mean else own.high
                found.append((error, own, way))
            except ExistenceError as error:
                refused = error
        if not found:
            assert refused is not None
            if must:
                raise refused
            return planner(request, n)
        _, best, way = min(found, key=lambda one: one[0])
        share, name = share_of(way, n, unit), "mu" if isinstance(way, GDP) else "epsilon"
        assert share is not None
        price = f" The count of records inside the ball takes {percent(share)} of {name}."
        return replace(best, guarantee=whole, meaning=best.meaning + price)

    return counted


def _frechet_mean(request: _Request, n: int) -> Plan:
    design = request.mean_design(n)
    return Plan(
        statistic="frechet_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=design.error_at(0.0),
        high=design.error_at(request.ball.radius),
        meaning="The error is the distance from the exact mean of the projected records: least "
        "where that is the ball's centre, largest where it lies at the edge.",
        radius=request.ball.radius,
    )


#: Noise of a mean without a ball, in that of one sum with the whole budget at a clip level of one
#: spread: least, and its growth with the number of records where distances have an exponential
#: tail, Gaussian and pure. Measured: see docs/no-ball.md.
_CLIP, _PURE_CLIP = (1.8, 1.3, 10.0), (2.8, 1.55, 45.0)


def _located_mean(request: _Request, n: int) -> Plan:
    if request.spread is None:
        raise ValueError(
            "without a ball the error follows from how far the records spread: give spread, a "
            "guess of their root mean square distance from the mean"
        )
    statistic, space = LocatedMean(), request.ball.manifold
    call = request.call(statistic)
    design = statistic.design(call, request.ball, n)
    statistic.refuse_few(call, design, n)
    amount = n * whole_of(design.way) / request.records_per_unit
    moved = 2.0 if design.way.neighbours == "replace" else 1.0
    is_pure = isinstance(design.way, PureDP)
    length, known = (space.dim, amount / moved) if is_pure else (mean_length(space.dim), amount)
    unit = moved * request.spread * length / amount
    least, growth, start = _PURE_CLIP if is_pure else _CLIP
    largest = max(least, growth * (1.0 + math.log(max(known / start, 1.0))))
    return Plan(
        statistic="frechet_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=least * unit,
        high=largest * unit,
        meaning=(
            "Mean distance from the mean of the records, where no ball is given: for records of "
            f"like distances, and for an exponential tail, at spread {request.told_spread}."
        ),
        radius=None,
    )


def _adaptive_mean(request: _Request, n: int) -> Plan:
    ball, statistic = request.ball, AdaptiveMean(mechanism=request.mechanism)
    design = statistic.design(request.call(statistic), ball, n)
    if request.spread is None:
        errors = _adaptive_error(request, design, n, 0.0), _largest_error(request, design, n)
        records = "least where the records are all one, largest where they fill the public ball"
    else:
        errors = (_adaptive_error(request, design, n, request.spread),) * 2
        records = f"for normal records at root mean square distance {request.told_spread} from it"
    one = Mean(request.mechanism)
    alone = one.design(request.call(one), ball, n).mechanism
    advice = ""
    if not design.schedule.levels:
        advice = (
            " It is one mean: with so many records and this guarantee no smaller ball is sought."
        )
    elif request.spread is not None and errors[0] >= alone.expected_error:
        advice = (
            f" Take frechet_mean, whose expected error is {alone.expected_error:.3g}: records of "
            "this spread fill the ball."
        )
    return Plan(
        statistic="adaptive_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=errors[0],
        high=errors[1],
        meaning="The error is the distance from the mean of the records projected on the public "
        f"ball, {records}. It is an estimate and no bound: a few records far from the others may "
        f"move that mean unseen.{advice}",
        radius=ball.radius,
    )


def _adaptive_error(request: _Request, design: AdaptiveDesign, n: int, spread: float) -> float:
    """Expected error for normal records about the ball's centre, at that spread."""
    ball, dim, stretched = request.ball, request.ball.manifold.dim, is_stretched(design.first)
    shares, unit = design.schedule.shares[::2], request.records_per_unit
    reached, largest = (share * ball.radius for share in _core.EXPECTED_SHRINKAGE)
    on_public, error = [request.mean_error(ball, n, shares[0])], math.nan
    for law, share in zip(radius_laws(ball, design.schedule, unit), shares[1:], strict=True):
        level = law.level_at(steepness(ball, stretched, reached))
        length = spread * math.sqrt(float(scipy.stats.chi2.ppf(level, dim)) / dim)
        radius = min(max(length, law.low), law.high) * law.factor
        reached, error = min(radius, largest), math.nan
        try:
            if radius < law.top:
                error = request.shrunk_error(n, share, radius, level)
        except ExistenceError:  # double precision does not serve that ball
            pass
        if math.isnan(error):
            on_public.append(request.mean_error(ball, n, share))
    return combined_error(on_public) if math.isnan(error) else error


def _largest_error(request: _Request, design: AdaptiveDesign, n: int) -> float:
    """Expected error where the public ball is just kept, or the last one just smaller."""
    ball, schedule = request.ball, design.schedule
    first, last = (request.mean_error(ball, n, schedule.shares[end]) for end in (0, -1))
    if not schedule.levels:
        return first
    largest = _core.EXPECTED_SHRINKAGE[1] * ball.radius
    law = radius_laws(ball, schedule, request.records_per_unit)[-1]
    level = law.level_at(steepness(ball, is_stretched(design.first), largest))
    kept = combined_error([first, last])
    return max(kept, request.shrunk_error(n, schedule.shares[-1], law.top, level))


def _conformal_mean(request: _Request, n: int) -> Plan:
    ball, statistic = request.ball, curvedp.conformal.ConformalMean()
    low, high = statistic.design(request.call(statistic), ball, n).errors
    return Plan(
        statistic="conformal_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=low,
        high=high,
        meaning="The error is the distance from the exact mean of the projected records: least if "
        "the records are nowhere dense and that is the ball's centre, largest if they are densest "
        "about it and it lies at the edge.",
        radius=ball.radius,
    )


def _frechet_variance(request: _Request, n: int) -> Plan:
    ball, statistic = request.ball, Variance()
    told = ball.unit is not None and ball.unit.length is not None
    squared = "" if told else ", in squared units of the metric"
    design = statistic.design(request.call(statistic), ball, n)
    least = min(design.least_within, design.within)
    return Plan(
        statistic="frechet_variance",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=design.error(least),
        high=design.error(design.within),
        meaning=f"The error is that of the variance{squared}: least where the records' mean is "
        "the ball's centre, largest where it lies at the edge.",
        radius=None,
    )


def _confidence_region(request: _Request, n: int) -> Plan:
    ball, dim = request.ball, request.ball.manifold.dim

    def region(spread: float, max_dist: float) -> ConfidenceRegion:
        return expected_region(
            ball,
            n,
            request.guarantee,
            spread=spread,
            max_dist=max_dist,
            level=request.level,
            records_per_unit=request.records_per_unit,
            mechanism=request.mechanism,
        )

    def half_length(expected: ConfidenceRegion) -> float:
        axes, _ = expected.axes()
        return math.exp(sum(map(math.log, axes)) / dim)

    if request.spread is None:
        largest = region(ball.radius, 2 * ball.radius)
        statistic = Region(request.level, mechanism=request.mechanism)
        noise = request.mean_noise(statistic, n).covariance(ball.center)
        known = hotelling_quantile(request.level, dim, math.inf)
        low, high = math.sqrt(known * float(np.trace(noise)) / dim), half_length(largest)
        records = "from the noise of the mean alone to records spread over the ball"
    else:
        low, high = sorted(half_length(region(request.spread, k * ball.radius)) for k in (1, 2))
        records = f"for records at root mean square distance {request.told_spread} from their mean"
    return Plan(
        statistic="confidence_region",
        n=n,
        guarantee=request.guarantee,
        quantity="half-length",
        low=low,
        high=high,
        meaning=f"The half-length is that of the axes of the {100 * request.level:g} % region, "
        f"{records}, alike in all directions.",
        radius=ball.radius,
    )


def _geodesic_regression(request: _Request, n: int) -> Plan:
    ball = request.ball
    if request.tau is None:
        return _adaptive_regression(request, n)
    sampler, error = expected_choice(
        ball,
        n,
        request.guarantee,
        tau=request.tau,
        v_max=request.v_max,
        records_per_unit=request.records_per_unit,
    )
    drawn = {"whitened": "clipped Gauss-Newton steps", "exact": "an exact draw"}[sampler]
    extent = ball.radius + longest_velocity(ball, request.v_max, exact=True) / 4
    return Plan(
        statistic="geodesic_regression",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=error,
        high=error if error <= _ARRIVES * request.tau else extent,
        meaning=f"The error is the root mean square distance of predictions from the best ones, by "
        f"{drawn}, on flat space, for covariates spread evenly over their range"
        + ("." if error <= _ARRIVES * request.tau else "; the noise is large beside tau."),
        radius=ball.radius,
    )


def _adaptive_regression(request: _Request, n: int) -> Plan:
    ball = request.ball
    call = request.call(GeodesicLine((0.0, 1.0), v_max=request.v_max))
    (design,), _ = call.designs(np.array([n], dtype=np.int64), alone=True)

    spread = request.spread
    low, high = design.usual_error(0.0), design.usual_error(ball.radius / 2)
    if spread is not None:
        low = high = design.usual_error(spread)
    advice = ""
    if design.is_short:
        advice = (
            " Measuring the scale takes much of this budget: give tau, if about the largest "
            "residual is known, and a range no wider than the covariate's."
        )
    return Plan(
        statistic="geodesic_regression",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=low,
        high=high,
        meaning="The error is the root mean square distance of predictions at the records' "
        "covariates from the least-squares geodesic's, for covariates spread evenly; a release "
        "says if its steps may not have arrived." + advice,
        radius=ball.radius,
    )


_PLANNERS: dict[str, Callable[[_Request, int], Plan]] = {
    "frechet_mean": _frechet_mean,
    "adaptive_mean": _adaptive_mean,
    "conformal_mean": _conformal_mean,
    "frechet_variance": _frechet_variance,
    "confidence_region": _confidence_region,
    "geodesic_regression": _geodesic_regression,
}
