"""Private geodesic regression (Kulkarni and Soto 2025, with another sampler and calibration).

    records -> projection on the public ball, covariates clipped to their public range
            -> whitened steps on clipped contributions of units; or, with a public tau, noisy
               gradients of the clipped loss or a draw from the K-norm gradient
            -> rounding to a public grid -> GeodesicRelease

Proofs: docs/proofs/adaptive-regression.md, docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_choice, as_count, as_positive
from curvedp.domain import Ball
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.mechanisms.k_norm_gradient import CHAIN_WHY
from curvedp.privacy import GDP, Guarantee, PureDP, Unproved
from curvedp.regression.adaptive import AdaptiveFit
from curvedp.regression.adaptive_design import (
    CLIPPED_AT_MOST,
    EXCESS_AT_MOST,
    EXCESS_USUAL,
    AdaptiveDesign,
)
from curvedp.regression.choice import expected_choice, far_mass, is_supported, longest_velocity
from curvedp.regression.covariate import (
    Ranges,
    are_several,
    as_covariates,
    as_ranges,
    categories_of,
    clipped_times,
    from_times,
    names_of,
    pairs_of,
    slow_covariates,
)
from curvedp.regression.release import GeodesicRelease, stack
from curvedp.regression.samplers import SAMPLERS, GeodesicDesign
from curvedp.regression.steps import carry, shorten, shorten_together
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

#: Longest reach in radii of curvature: squares of hyperbolic functions of it are finite.
_LONGEST = 300.0
#: Mass of draws far from the fit over that near it, about, that is told.
_MOST_FAR = 0.05
_FAR_DRAWS = (
    "the budget is so small for the number of records that many draws lie far from the records, "
    "anywhere in the ball; use a larger budget, more records or a smaller ball"
)


@dataclass(frozen=True)
class GeodesicLine(EachGroup[GeodesicRelease]):
    """The geodesic along which records move with a covariate, as a value.

    Parameters
    ----------
    x_range, tau, v_max, sampler, chain_length, robust
        As in `geodesic_regression`.

    Examples
    --------
    >>> GeodesicLine((20.0, 80.0), tau=0.3, v_max=1.0).options()["x_range"]
    [20.0, 80.0]
    """

    title: ClassVar[str] = "geodesic regression"
    word: ClassVar[str | None] = "regression"
    memory: ClassVar[float] = 10.0
    beside: ClassVar[Literal["covariate"]] = "covariate"
    takes_units: ClassVar[bool] = True
    takes_unknown_n: ClassVar[bool] = True
    infers: ClassVar[bool] = True

    x_range: Ranges
    tau: float | None = None
    v_max: float | None = None
    sampler: str = "auto"
    chain_length: int = 10_000
    robust: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "x_range", as_ranges(self.x_range))
        if self.tau is not None:
            object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        if self.v_max is not None:
            object.__setattr__(self, "v_max", as_positive(self.v_max, "v_max"))
        as_count(self.chain_length, "chain_length")
        as_choice(self.sampler, SAMPLERS, "sampler")
        if self.tau is None and self.sampler not in ("auto", "whitened"):
            raise ValueError(f"sampler={self.sampler!r} needs tau, a public clipping length")
        if self.robust and self.tau is not None:
            raise ValueError("robust=True finds the length of residuals: leave tau out")
        if self.is_drawn and are_several(self.x_range):
            raise ValueError("several covariates need sampler='whitened', or no tau")

    @property
    def is_drawn(self) -> bool:
        """True for draws from the K-norm gradient whatever the public numbers are."""
        return self.sampler in ("exact", "metropolis")

    def with_units(self) -> GeodesicLine:
        """Whitened steps: draws weigh records, of which a unit may have any number."""
        if self.is_drawn:
            raise ValueError(f"sampler={self.sampler!r} knows no units: say records_per_unit")
        return replace(self, sampler="whitened")

    def check(self, call: Call) -> None:
        for ball in call.balls:
            v_max = longest_velocity(ball, self.v_max, exact=self.is_drawn)
            check_reach(ball, v_max)
            if self.is_drawn:
                check_support(ball, v_max)

    def mechanism_of(self, design: GeodesicDesign | AdaptiveDesign) -> str:
        if isinstance(design, AdaptiveDesign):
            return "adaptive noisy Gauss-Newton steps"
        return design.mechanism

    def way_of(self, design: GeodesicDesign | AdaptiveDesign) -> PureDP | GDP | None:
        return design.way if isinstance(design, AdaptiveDesign) else None

    def promise(self, call: Call) -> Guarantee:
        if self.sampler == "metropolis":
            return Unproved(claimed=call.promised, why=CHAIN_WHY)
        return call.promised

    def is_exact(self, call: Call) -> bool:
        return self.sampler != "metropolis"

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return 1 + self.beside_width, *call.manifold.point_shape

    def read_beside(self, given: Any, n: int) -> FloatArray:
        return as_covariates(given, self.x_range)

    def categories_beside(self, beside: FloatArray) -> FloatArray:
        return categories_of(beside, self.x_range)

    @property
    def beside_width(self) -> int:
        return len(pairs_of(self.x_range))

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        return slow_covariates(len(beside), self.x_range)

    def design(self, call: Call, ball: Ball, n: int) -> GeodesicDesign | AdaptiveDesign:
        sampler, records_per_unit = self.sampler, call.records_per_unit
        if sampler == "auto" and self.tau is not None and not are_several(self.x_range):
            sampler, _ = expected_choice(
                ball,
                n,
                call.guarantee,
                tau=self.tau,
                v_max=self.v_max,
                records_per_unit=records_per_unit,
            )
        v_max = longest_velocity(ball, self.v_max, exact=sampler in ("exact", "metropolis"))
        if sampler in ("auto", "whitened"):
            return AdaptiveDesign.best(
                ball,
                n,
                call.guarantee,
                covariates=self.beside_width,
                v_max=v_max,
                records_per_unit=records_per_unit,
                tau=self.tau,
                robust=self.robust,
            )
        assert self.tau is not None
        # no residual is longer than 2 r + V/2
        return GeodesicDesign.of(
            ball,
            n,
            call.guarantee,
            tau=min(self.tau, 2 * ball.radius + 0.5 * v_max),
            v_max=v_max,
            records_per_unit=records_per_unit,
            sampler=sampler,
            chain_length=self.chain_length,
        )

    def outlook(
        self, call: Call, design: GeodesicDesign | AdaptiveDesign, n: int
    ) -> tuple[float, float]:
        if isinstance(design, AdaptiveDesign):
            return design.coarsest_scale, math.nan
        return design.law.scale, math.nan

    def noise_share(self, call: Call, design: GeodesicDesign | AdaptiveDesign, n: int) -> float:
        if not isinstance(design, AdaptiveDesign):
            return math.nan
        return design.usual_error(design.ball.radius / 2) / design.ball.radius

    def release_group(self, group: Group) -> GeodesicRelease:
        times = clipped_times(group.beside, self.x_range)
        if isinstance(group.design, AdaptiveDesign):
            return self._adaptive(group, times)
        design: GeodesicDesign = group.design
        footpoint, velocity = design.draw(group, times)
        noise, v_max = design.law, design.v_max
        released = group.release(
            value=rounded(group.ball, footpoint, velocity[None], noise.scale, v_max),
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
            assumptions=group.paid.assumptions_if(design.is_exact),
        )
        mass = far_mass(group.ball.manifold.dim, group.ball.radius, v_max, design.tau, noise.scale)
        return GeodesicRelease(
            **vars(released),
            x_range=self.x_range,
            tau=self.tau,
            v_max=v_max,
            doubts=(_FAR_DRAWS,) if mass > _MOST_FAR else (),
        )

    def further_columns(self, releases: Releases[GeodesicRelease]) -> dict[str, FloatArray]:
        """Numbers that bands of whitened steps rest on, and 1 where there is no doubt, else 0."""
        q, found = self.beside_width, releases.results or ()
        arrived = np.array([math.nan if own is None else float(own.arrived) for own in found])
        if self.is_drawn:
            return {"arrived": arrived}
        columns = {
            "x_center": np.full((len(found), q), np.nan),
            "moments": np.full((len(found), (q + 1) ** 2), np.nan),
            "meat": np.full((len(found), (q + 1) ** 2), np.nan),
            "remains": np.full((len(found), q**2), np.nan),
            "growth": np.full((len(found), q**2), np.nan),
            "meat_norm": np.full(len(found), np.nan),
            "meat_deviation": np.full(len(found), np.nan),
            "leverage": np.full(len(found), np.nan),
            "deviation": np.full(len(found), np.nan),
        }
        for number, own in enumerate(found):
            if own is not None and own.moments is not None:
                for name, column in columns.items():
                    column[number] = np.reshape(getattr(own, name), column.shape[1:])
        if q == 1:
            columns["x_center"] = columns["x_center"][:, 0].copy()
        return {**columns, "arrived": arrived}

    def _adaptive(self, group: Group, times: FloatArray) -> GeodesicRelease:
        design: AdaptiveDesign = group.design
        if group.ball is not design.ball:
            design = replace(design, ball=group.ball)
        fit = AdaptiveFit.run(design, group.enter(), times, group.ends, group.stream(0))
        noise = design.last_noise(fit.length)
        # functions of noisy vectors on grids of their own: this grid only shortens digits
        grid = design.coarsest_scale
        value = rounded(group.ball, fit.footpoint, fit.velocities, grid, design.v_max)
        usual, at_most = (
            fit.excess + deviations * fit.excess_deviation
            for deviations in (EXCESS_USUAL, EXCESS_AT_MOST)
        )
        error = design.deviation_after(fit.length, excess=usual) * math.sqrt(fit.spread)
        released = group.release(
            value=value,
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None if fit.doubts else error,
        )
        return GeodesicRelease(
            **vars(released),
            x_range=self.x_range,
            tau=self.tau,
            v_max=design.v_max,
            moments=fit.law.moments,
            x_center=from_times(fit.center, self.x_range),
            leverage=fit.leverage,
            meat=fit.meat,
            meat_norm=fit.meat_norm,
            meat_deviation=fit.meat_deviation,
            remains=fit.remains,
            growth=fit.growth,
            deviation=design.deviation_after(fit.length, CLIPPED_AT_MOST, at_most),
            doubts=tuple(fit.doubts),
        )


@overload
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    x_range: Ranges,
    tau: float | None = None,
    v_max: float | None = None,
    groups: None = None,
    sampler: str = "auto",
    chain_length: int = 10_000,
    robust: bool = False,
    **call: Unpack[CallOptions],
) -> GeodesicRelease: ...
@overload
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: Ranges,
    tau: float | None = None,
    v_max: float | None = None,
    groups: GroupsLike,
    sampler: str = "auto",
    chain_length: int = 10_000,
    robust: bool = False,
    **call: Unpack[CallOptions],
) -> Releases[GeodesicRelease]: ...
@quiet
@hinting
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: Ranges,
    tau: float | None = None,
    v_max: float | None = None,
    groups: GroupsLike = None,
    sampler: str = "auto",
    chain_length: int = 10_000,
    robust: bool = False,
    **call: Unpack[CallOptions],
) -> GeodesicRelease | Releases[GeodesicRelease]:
    """Release the geodesic along which records move with one or several covariates.

    Approximates the minimiser of (1/2n) sum_i rho(exp_p(sum_j t_ij v_j), y_i)^2 (Fletcher 2011,
    contributions clipped), t_ij covariate j moved to [-1/2, 1/2], over p in the ball and sum_j
    |v_j| <= V. Footpoint and velocities are released together.

    Parameters
    ----------
    x : array-like, shape (n,), or (n, q) for several covariates
        Covariates. Clipped to `x_range`; one that is missing counts as the middle of the range.
    y : array-like, shape (n, *point_shape)
        Records. One that is not a point of the manifold counts as the ball's centre.
    ball : Ball, or a list with one for each group
        Public domain of the records and of the footpoint.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's pairs (x_i, y_i) are replaced.
    groups : array-like, optional
        Labels or offsets of public groups; see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, where persons have several: n then counts
        persons, each weighs the same, and the guarantee holds when all records of one are replaced
        by any number of others. In place of `records_per_unit`, by the sampler "whitened".
    x_range : pair of float, or list of q pairs
        Public range (x_lo, x_hi) of the covariate, to which it is clipped. From about a thousand
        records on a range four times too wide costs predictions little at mu = 1; p-values need one
        that is at most twice as wide as the covariate's values, or more records.
    tau : float, optional
        Public length at which residuals are clipped, in the units of the metric; by default it is
        found privately, which costs part of the budget. Noise is proportional to it. Give one for
        few records under pure DP (see `curvedp.plan`), if it is known: about the largest residual
        expected, with `units` the largest mean residual of a person.
    v_max : float, optional
        Public bound V on the length of the geodesic over the range, of all velocities together; by
        default 8 r, without influence on the noise, and 2 r for draws. There a larger one costs
        noise on curved space, and 2 r + V/2 must be below the injectivity radius.
    sampler : {"auto", "whitened", "exact", "metropolis"}
        How the geodesic is drawn, by "metropolis" without a guarantee. "whitened", the only one
        without `tau`, takes Gauss-Newton steps on clipped contributions of units. "exact" draws
        from the K-norm gradient by rejection, in dimensions up to 3; how long that takes depends on
        the records, from milliseconds to seconds. "metropolis" runs a Markov chain of
        `chain_length` steps towards the same law in any dimension; the release is then `Unproved`.
        "auto" takes "whitened" or with `tau` "exact", whichever has the smaller expected error,
        which n, the guarantee and the other public parameters decide.
    chain_length : int
        Steps of the Markov chain of "metropolis".
    robust : bool
        Shorten residuals beyond 1.15 times a private quantile of the level .6, if many records may
        be wild. With the sampler "whitened", without `tau`: the result is then an M-estimate, which
        outliers move less, and which skewed residuals move off least squares at every n.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`; a unit's pairs (x_i, y_i) count as its records.

    Returns
    -------
    GeodesicRelease, or Releases of them with `groups`
        With `intercept`, `slope`, `predict`, `band`, `summary` and `doubts`. `sensitivity` and
        `scale` are those of the last step; `expected_error`, of the sampler "whitened", is the root
        mean square distance of predictions from those of the least-squares geodesic of the records,
        None where `doubts` tell that the steps may not have arrived there.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record or covariate.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> x = np.linspace(0.0, 10.0, 2000)
    >>> y = np.column_stack([np.sin(0.05 * x), np.zeros_like(x), np.cos(0.05 * x)])
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> release = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu=1.0), x_range=(0.0, 10.0))
    >>> release.predict([0.0, 5.0, 10.0]).shape
    (3, 3)
    """
    statistic = GeodesicLine(x_range, tau, v_max, sampler, chain_length, robust)
    names = names_of(x)
    made = release(statistic, y, ball, guarantee, covariate=x, groups=groups, **call)
    return made if isinstance(made, Releases) else replace(made, covariates=names)


def check_reach(ball: Ball, v_max: float) -> None:
    """Refuses geodesics that leave double precision."""
    reach = 2 * ball.radius + 0.5 * v_max
    root = math.sqrt(max(0.0, -ball.manifold.curvature_bounds[0]))
    if root * reach > _LONGEST:
        raise ValueError(
            f"2 r + v_max/2 must be at most {_LONGEST / root:.6g} on {ball.manifold.spec}, got "
            f"{reach:.6g}: hyperbolic functions of it are too large for double precision"
        )


def check_support(ball: Ball, v_max: float) -> None:
    """Refuses geodesics that could meet the cut locus of a record."""
    if not is_supported(ball, v_max):
        raise ValueError(
            f"2 r + v_max/2 must be below the injectivity radius "
            f"{ball.manifold.injectivity_radius:.6g} of {ball.manifold.spec}, got "
            f"{2 * ball.radius + 0.5 * v_max:.6g}: use a smaller ball or a smaller v_max, or "
            "sampler='whitened'"
        )


def rounded(
    ball: Ball, footpoint: FloatArray, velocities: FloatArray, scale: float, v_max: float
) -> FloatArray:
    """Footpoint and velocities on the public grid, outside the frame, shape (1 + q, *point_shape).

    Velocities, shape (q, dim), are coordinates in the frame.
    """
    manifold, base = ball.frame.manifold, footpoint[None]
    footpoint = round_to_grid(ball, base, scale)
    step = grid_step(ball, scale)
    carried = shorten_together(carry(manifold, velocities, base, footpoint), v_max)
    outer = ball.leave(footpoint)[0]
    root = math.sqrt(max(0.0, -ball.manifold.curvature_bounds[0]))
    short = min(0.25 * ball.manifold.injectivity_radius, 1.0 / root if root > 0 else math.inf)
    found = []
    for velocity in np.round(carried / step) * step:
        length = float(np.linalg.norm(velocity))
        # an isometry takes geodesics to geodesics: the velocity outside is read off a short piece
        share = min(1.0, short / length) if length > 0 else 1.0
        ahead = np.empty_like(footpoint)
        manifold.exp_coords(np.ascontiguousarray(share * velocity[None]), footpoint, ahead)
        further = ball.leave(ahead)[0]
        # so far out on hyperbolic space that coordinates keep no digit of a direction, there is
        # none
        found.append(shorten(ball.manifold.log(further, outer) / share, math.inf))
    return stack(outer, *found)
