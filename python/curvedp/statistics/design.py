"""Everything about a private mean that is fixed before a record is seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from curvedp import _core, sensitivity
from curvedp._validation import as_count
from curvedp.checked_domain import refused_radius
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import (
    Mechanism,
    Way,
    choose_mechanism,
    ways_of_one_draw,
)
from curvedp.mechanisms.base import ChartMechanism, IntrinsicMechanism
from curvedp.mechanisms.calibration import budget_of
from curvedp.mechanisms.grid import weaker
from curvedp.privacy import GDP, Guarantee, PureDP

#: Multiples of the radius at which the mean length of bounded noise is computed.
LIMITS = tuple(np.linspace(1.0, math.sqrt(2), 5).tolist())

DesignT = TypeVar("DesignT")
WayT = TypeVar("WayT", bound=Way)


@dataclass(frozen=True)
class Design:
    """A private mean before there are records.

    Attributes
    ----------
    mechanism : Mechanism
    plan : Plan
        Of the solver.
    sensitivity : float
        Of the exact mean.
    """

    mechanism: Mechanism
    plan: _core.Plan
    sensitivity: float

    @cached_property
    def lengths_within(self) -> list[float]:
        """The radius, and E min(|noise|, L) for its multiples `LIMITS` as L."""
        noise, radius = self.mechanism._noise, self.mechanism.ball.radius
        shortest = noise.expected_dist_within(radius)
        if shortest == noise.expected_dist:
            return [radius, *[shortest] * len(LIMITS)]
        longer = (noise.expected_dist_within(x * radius) for x in LIMITS[1:])
        return [radius, shortest, *longer]

    @cached_property
    def numbers(self) -> list[float]:
        """Sensitivity, tolerance, scale and mean length of the noise."""
        noise = self.mechanism
        return [self.sensitivity, self.plan.tolerance, noise.scale, noise.expected_error]

    def error_at(self, dist: float) -> float:
        """Expected error of the released point of a mean at that distance from the centre.

        sqrt(g) E min(|noise|, sqrt(r^2 + dist^2)): moved to the ball, the point is no farther from
        the mean than that, for noise across; g is by how much the chart stretches noise there.
        """
        mechanism, radius = self.mechanism, self.mechanism.ball.radius
        length = mechanism._noise.expected_dist_within(math.hypot(radius, dist))
        ball, space = mechanism.ball, mechanism.ball.manifold
        coords = np.zeros(space.dim)
        coords[0] = dist  # along the first axis
        point = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
        _, stretch = ball.frame.place(point.reshape(-1), 0.0, mechanism.in_chart)
        return min(length * stretch, radius + dist)

    @property
    def expected_error(self) -> float:
        """That of a mean half-way between the ball's centre and its edge."""
        return self.error_at(0.5 * self.mechanism.ball.radius)

    @cached_property
    def mean_square(self) -> float:
        """Mean square of the noise's length."""
        return self.mechanism._noise.root_mean_square_dist**2

    @cached_property
    def strength(self) -> float:
        """James and Stein's constant 1/E |N|^-2, of the same noise on flat space."""
        dim, scale = self.mechanism.ball.manifold.dim, self.mechanism.scale
        lengths = dim - 2 if self.mechanism.profile == "gaussian" else (dim - 1) * (dim - 2)
        return lengths * scale**2

    @cached_property
    def noise_share(self) -> float:
        """Mean length of the noise over the ball's radius."""
        return self.mechanism._noise.expected_dist / self.mechanism.ball.radius

    @property
    def way(self) -> Way:
        """The guarantee that its noise is calibrated to."""
        return self.mechanism.guarantee


@lru_cache(maxsize=4096)
def design_mean(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """The private mean of n records with the least expected error: mechanism, plan, sensitivity."""
    return least_error(
        ways_of_one_draw(guarantee, mechanism),
        lambda way: design_mean_under(ball, n, way, records_per_unit, mechanism),
        lambda design: design.expected_error,
        lambda way: least_laplace_error(ball, n, way, records_per_unit),
    )


def least_laplace_error(ball: Ball, n: int, way: Way, records_per_unit: int) -> float:
    """A bound from below on the expected error of a mean by Laplace noise, 0 where none is known.

    On Hadamard manifolds volumes grow at least as in flat space, and so does the noise's length.
    """
    if not isinstance(way, PureDP) or not ball.manifold._has_hadamard_frame:
        return 0.0
    scale = sensitivity.frechet_mean(ball, n, records_per_unit=records_per_unit) / way.epsilon
    flat = _core.Noise("flat", ball.manifold.dim, 0.0, "laplace", scale)
    return flat.expected_dist_within(math.hypot(ball.radius, 0.5 * ball.radius))


def least_error(
    ways: Sequence[WayT],
    design_under: Callable[[WayT], DesignT],
    error: Callable[[DesignT], float],
    error_at_least: Callable[[WayT], float] = lambda way: 0.0,
) -> DesignT:
    """The design, of one for each way to meet a guarantee, whose expected error is least.

    A way without a release is left out. If no error is known, the first way is taken. A way whose
    error is at least that of an earlier one is not designed, which would take time.

    Raises
    ------
    ExistenceError
        That of the first way, if there is no release in any.
    """
    found: list[tuple[float, DesignT]] = []
    refusals: list[ExistenceError] = []
    for way in ways:
        if found and error_at_least(way) >= min(found, key=lambda pair: pair[0])[0]:
            continue
        try:
            design = design_under(way)
        except ExistenceError as refusal:
            refusals.append(refusal)
            continue
        own = error(design)
        found.append((math.inf if math.isnan(own) else own, design))
    if not found:
        raise refusals[0]
    return min(found, key=lambda pair: pair[0])[1]


@lru_cache(maxsize=4096)
def design_mean_under(
    ball: Ball,
    n: int,
    way: Way,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """The mechanism, plan and sensitivity of a private mean of n records, calibrated to `way`.

    Kept for the next call and the next chunk of a batch: some Laplace noise takes time to prepare.
    """
    count = as_count(n, "n")
    delta, plan = plan_mean(ball, count, records_per_unit, way)
    kind = choose_mechanism(ball, way, mechanism)
    check_drawing(kind)
    try:
        noise = kind(ball, delta + 2 * plan.tolerance, way)
    except ExistenceError as error:
        raise _with_smallest_n(error, count, way) from None
    if not plan.is_within(noise.scale):
        raise ExistenceError(
            f"double precision tells a mean on a ball of radius {ball.radius:g} on "
            f"{ball.manifold.spec} to {plan.tolerance:.3g} only, which noise of scale "
            f"{noise.scale:.3g} does not hide: ask for "
            f"{weaker(way, noise.scale / (8 * plan.tolerance))} or less, or for a smaller radius"
        )
    return Design(noise, plan, delta)


def plan_mean(
    ball: Ball, n: int, records_per_unit: int, way: Way | None = None
) -> tuple[float, _core.Plan]:
    """The sensitivity of a mean of n records and the solver's plan for it, calibrated to `way`."""
    delta, plan = find_plan(ball, n, records_per_unit, way)
    if plan is None:
        raise refused_radius(
            ball, lambda other: find_plan(other, n, records_per_unit, way)[1] is not None
        )
    return delta, plan


def find_plan(
    ball: Ball, n: int, records_per_unit: int, way: Way | None = None
) -> tuple[float, _core.Plan | None]:
    """As `plan_mean`, with no plan where double precision cannot certify a mean on the ball."""
    delta = sensitivity.frechet_mean(ball, n, records_per_unit=records_per_unit)
    budget = 1.0 if way is None else budget_of(way, ball.manifold.dim)
    return delta, ball.frame.plan(n, _core.solver_tolerance(delta, budget))


def check_drawing(kind: type[Mechanism]) -> None:
    """Refuses a mechanism with a way of drawing of its own: the kernels draw all noise."""
    family = ChartMechanism if issubclass(kind, ChartMechanism) else IntrinsicMechanism
    if kind._release is not family._release:
        raise ValueError(
            f"{kind.__name__} draws noise in a way of its own, which statistics do not know: "
            "define its law by _build_noise, or draw with its method sample"
        )


@lru_cache(maxsize=1024)
def shares_of(way: PureDP | GDP, weights: tuple[float, ...]) -> tuple[PureDP | GDP, ...]:
    """Guarantees of stages that compose to the whole."""
    return way.split(weights)


def smallest_n(enough: Callable[[int], bool], refusal: str, least: int = 1) -> int:
    """The smallest n from `least` on that is enough, if more records are always enough too.

    Raises ValueError with the text `refusal` if no n up to 10^15 is.
    """
    low, high = least - 1, least
    while not enough(high):
        low, high = high, 2 * high
        if high > 10**15:
            raise ValueError(refusal)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _with_smallest_n(error: ExistenceError, n: int, guarantee: Guarantee) -> ExistenceError:
    """The same error with the n that works: the smallest epsilon falls as 1/n."""
    smallest = error.smallest_epsilon
    epsilon = getattr(guarantee, "epsilon", None)
    if smallest is None or epsilon is None:
        return error
    needed = n * smallest / epsilon
    return ExistenceError(
        error.message,
        smallest_epsilon=smallest,
        smallest_n=math.ceil(needed) if math.isfinite(needed) else None,
    )
