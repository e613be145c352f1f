"""The Fréchet mean by the K-norm gradient (Soto, Bharath, Reimherr and Slavković 2022).

    density of p = exp(-|g(p)|/sigma),  g(p) = -(1/n) sum_i log_p x_i,  sigma = 2 Delta/epsilon

with respect to the volume of the ball, logarithms shortened to a public length tau. No mean is
computed: points are drawn by how nearly they solve its equation g(p) = 0. Proof:
docs/proofs/kng-mean.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack, overload

from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import as_choice, as_count, as_positive
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.mechanisms.draw_cost import (
    MAX_EVALUATIONS,
    clipped_evaluations,
    expected_evaluations,
)
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.mechanisms.k_norm_gradient import (
    CHAIN_WHY,
    MAX_EXACT_DIM,
    MAX_PRECISION,
    chain_plan,
    is_resolved,
)
from curvedp.privacy import Guarantee, Release, Unproved
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

SAMPLERS = ("exact", "metropolis")


@dataclass(frozen=True)
class KNGDesign:
    """Everything fixed before a record is seen; lengths and noise are those of the gradient.

    Attributes
    ----------
    clip : float
        Length at which logarithms are clipped.
    sensitivity, rounding, scale : float
    step : float
        Of the lattice that is drawn from.
    """

    clip: float
    sensitivity: float
    rounding: float
    scale: float
    step: float


@dataclass(frozen=True)
class KNGMean(EachGroup[Release]):
    """The mean by the K-norm gradient as a value; `kng_mean` releases it.

    Parameters
    ----------
    tau, sampler, chain_length
        As in `kng_mean`.

    Examples
    --------
    >>> KNGMean(tau=0.1).options()
    {'tau': 0.1, 'sampler': 'exact', 'chain_length': 10000}
    """

    title: ClassVar[str] = "Fréchet mean"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "kng"

    tau: float | None = None
    sampler: str = "exact"
    chain_length: int = 10_000

    def __post_init__(self) -> None:
        as_choice(self.sampler, SAMPLERS, "sampler")
        as_count(self.chain_length, "chain_length")
        if self.tau is not None:
            object.__setattr__(self, "tau", as_positive(self.tau, "tau"))

    def check(self, call: Call) -> None:
        bounded_range_epsilon(call.guarantee)  # raises for what it does not serve

    def is_exact(self, call: Call) -> bool:
        return self.sampler == "exact"

    def mechanism_of(self, design: KNGDesign) -> str:
        return "K-norm gradient"

    def promise(self, call: Call) -> Guarantee:
        if self.sampler == "metropolis":
            return Unproved(claimed=call.promised, why=CHAIN_WHY)
        return call.promised

    def design(self, call: Call, ball: Ball, n: int) -> KNGDesign:
        widest = 2 * ball.radius
        clip = widest if self.tau is None else min(self.tau, widest)
        exact = self.sampler == "exact"
        if exact and ball.manifold.dim > MAX_EXACT_DIM:
            raise ValueError(
                f"exact draws exist up to dimension {MAX_EXACT_DIM}, and {ball.manifold.spec} has "
                f"{ball.manifold.dim}: use frechet_mean"
            )
        delta = sensitivity.kng_mean(ball, n, tau=clip, records_per_unit=call.records_per_unit)
        rounding = clip * _core.summation_error(n)
        budget = bounded_range_epsilon(call.guarantee)
        scale = outward_scale(2 * (delta + 2 * rounding), budget)
        if exact and clip > MAX_PRECISION * scale:
            raise ValueError(
                f"noise of scale {scale:.3g} is too small beside logarithms of length {clip:.3g} "
                "for exact draws: use a smaller budget, or frechet_mean"
            )
        if exact and not is_resolved(ball, widest, n, scale):
            raise ValueError(
                f"exact draws lose digits on {ball.manifold.spec} with a radius of "
                f"{ball.radius:.3g}: use a smaller ball, a smaller budget, or frechet_mean"
            )
        step = grid_step(ball, min(scale, ball.radius))
        if exact:
            check_cost(ball, n, clip, scale, step)
        return KNGDesign(clip, delta, rounding, scale, step)

    def outlook(self, call: Call, design: KNGDesign, n: int) -> tuple[float, float]:
        return design.scale, math.nan

    def release_group(self, group: Group) -> Release:
        design: KNGDesign = group.design
        ball, rows, stream = group.ball, group.enter(), group.stream(0)
        # the clipping of logarithms to 2 r would touch rounding alone
        clip = math.inf if self.tau is None else design.clip
        law = _core.KNormMean(ball.frame, clip, design.scale)
        if self.sampler == "exact":
            point, _ = law.sample_exact(rows, 1, stream, design.step)
        else:
            plan = chain_plan(ball.radius, burn_in=self.chain_length - 1, draws=1)
            point = law.run_chains(rows, ball.frame.origin[None], plan, stream).draws()
            point = round_to_grid(ball, point[None], design.scale)[0]
        return group.release(
            value=ball.leave(point[None])[0],
            statistic=self.title,
            sensitivity=design.sensitivity,
            solver_tolerance=design.rounding,
            scale=design.scale,
            expected_error=None,
        )


def check_cost(ball: Ball, n: int, clip: float, scale: float, step: float) -> None:
    """Refuses, from public numbers, laws of which a draw may take too long."""
    where = f"{ball.manifold.spec} with a radius of {ball.radius:.3g}"
    if clip < 2 * ball.radius:
        cost, bound = clipped_evaluations(ball, scale, step), "about"
        advice = "a smaller ball, a smaller budget, no tau"
    else:
        cost, bound = expected_evaluations(ball, n, scale, step), "up to"
        advice = "a smaller ball"
    if cost > MAX_EVALUATIONS:
        raise ExistenceError(
            f"an exact draw on {where} with noise of scale {scale:.3g} may need {bound} "
            f"{cost:.2g} gradients of all records, and {MAX_EVALUATIONS:,} are allowed: use "
            f"{advice}, or frechet_mean"
        )


@overload
def kng_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    tau: float | None = None,
    sampler: str = "exact",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def kng_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    tau: float | None = None,
    sampler: str = "exact",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def kng_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    tau: float | None = None,
    sampler: str = "exact",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the Fréchet mean of records by the K-norm gradient mechanism.

    It needs twice the noise of `frechet_mean` if records fill the ball. With `tau` below the ball's
    radius its noise falls in proportion to tau: it then suits records that lie close together
    somewhere in a large ball, if the budget is large enough to make draws far from them rare.

    Parameters
    ----------
    records, groups
        As in `frechet_mean`.
    ball : Ball, or a list with one for each group
        Public domain of the records, and of the release.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's records are replaced. The mechanism is calibrated
        to the largest epsilon-bounded range that implies it.
    tau : float, optional
        Public length at which logarithms are clipped, in the units of the metric: about the largest
        distance of a record from the mean. By default none is.
    sampler : {"exact", "metropolis"}
        How the mean is drawn, by "metropolis" without a guarantee. "exact" draws by rejection, in
        dimensions up to 6, where that is expected to compute at most 700,000 gradients whatever the
        records are; how many it computes depends on the records. "metropolis" ends a Markov chain
        after `chain_length` steps in any dimension; the release is then `Unproved`.
    chain_length : int
        Steps of the Markov chain.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape point_shape; `sensitivity` and `scale` are those of the gradient.

    Raises
    ------
    ExistenceError
        If exact draws may take too long: on wide balls, in many dimensions, and with `tau` for
        large budgets.
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.kng_mean(records, ball, cdp.PureDP(epsilon=1.0), tau=0.1)
    >>> release.value.shape
    (3,)
    """
    statistic = KNGMean(tau, sampler, chain_length)
    return release(statistic, records, ball, guarantee, groups=groups, **call)
