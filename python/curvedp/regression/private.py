"""Private geodesic regression (Kulkarni and Soto 2025, with another sampler and calibration).

    records -> projection on the public ball, covariates clipped to their public range
            -> noisy gradients of the clipped loss -> descent within the public support, or
               a draw from the K-norm gradient
            -> rounding to a public grid -> GeodesicRelease

Proof: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_choice, as_count, as_float_array, as_positive
from curvedp.domain import Ball
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.mechanisms.k_norm_gradient import CHAIN_WHY
from curvedp.privacy import GDP, Guarantee, PureDP, Unproved
from curvedp.regression.covariate import as_range, clipped_times
from curvedp.regression.descent import carry, shorten
from curvedp.regression.release import GeodesicRelease, stack
from curvedp.regression.samplers import SAMPLERS, GeodesicDesign
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.paid import EachGroup, Group, release
from curvedp.statistics.releases import Releases

#: Longest reach in radii of curvature: squares of hyperbolic functions of it are finite.
_LONGEST = 300.0


@dataclass(frozen=True)
class GeodesicLine(EachGroup[GeodesicRelease]):
    """The geodesic along which records move with a covariate, as a value.

    Parameters
    ----------
    x_range, tau, v_max, sampler, chain_length
        As in `geodesic_regression`.

    Examples
    --------
    >>> GeodesicLine((20.0, 80.0), tau=0.3, v_max=1.0).options()["x_range"]
    [20.0, 80.0]
    """

    title: ClassVar[str] = "geodesic regression"
    takes_covariate: ClassVar[bool] = True

    x_range: tuple[float, float]
    tau: float
    v_max: float
    sampler: str = "auto"
    chain_length: int = 10_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "x_range", as_range(self.x_range))
        object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        object.__setattr__(self, "v_max", as_positive(self.v_max, "v_max"))
        as_count(self.chain_length, "chain_length")
        as_choice(self.sampler, SAMPLERS, "sampler")

    def check(self, call: Call) -> None:
        for ball in call.balls:
            check_support(ball, self.v_max)

    def mechanism_of(self, design: GeodesicDesign) -> str:
        return design.mechanism

    def way_of(self, design: GeodesicDesign) -> PureDP | GDP | None:
        return design.way

    def promise(self, call: Call) -> Guarantee:
        if self.sampler == "metropolis":
            return Unproved(claimed=call.guarantee, why=CHAIN_WHY)
        return call.guarantee

    def is_exact(self, call: Call) -> bool:
        return self.sampler != "metropolis"

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return 2, *call.manifold.point_shape

    def design(self, call: Call, ball: Ball, n: int) -> GeodesicDesign:
        # no residual is longer than 2 r + V/2
        return GeodesicDesign.of(
            ball,
            n,
            call.guarantee,
            tau=min(self.tau, 2 * ball.radius + 0.5 * self.v_max),
            v_max=self.v_max,
            records_per_unit=call.records_per_unit,
            sampler=self.sampler,
            chain_length=self.chain_length,
        )

    def outlook(self, call: Call, design: GeodesicDesign, n: int) -> tuple[float, float]:
        return design.noise.scale, math.nan

    def release_group(self, group: Group) -> GeodesicRelease:
        design: GeodesicDesign = group.design
        drawn = design.draw(group, clipped_times(group.extra, self.x_range))
        noise = design.noise
        released = group.release(
            value=rounded(group.ball, *drawn, noise.scale, self.v_max),
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
            assumptions=group.paid.assumptions_if(design.is_exact),
        )
        return GeodesicRelease(
            **vars(released), x_range=self.x_range, tau=self.tau, v_max=self.v_max
        )


@overload
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    groups: None = None,
    sampler: str = "auto",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> GeodesicRelease: ...
@overload
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    groups: GroupsLike,
    sampler: str = "auto",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> Releases[GeodesicRelease]: ...
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    groups: GroupsLike = None,
    sampler: str = "auto",
    chain_length: int = 10_000,
    **call: Unpack[CallOptions],
) -> GeodesicRelease | Releases[GeodesicRelease]:
    """Release the geodesic along which records move with a covariate.

    Approximates the minimiser of (1/2n) sum_i min(rho(exp_p(t_i v), y_i), tau)^2 (Fletcher 2011,
    residuals clipped in the gradient), t_i the covariate moved to [-1/2, 1/2], over p in the ball
    and |v| <= V. Footpoint and velocity are released together.

    Parameters
    ----------
    x : array-like, shape (n,)
        Covariates. Clipped to `x_range`; one that is missing counts as the middle of the range.
    y : array-like, shape (n, *point_shape)
        Records. One that is not a point of the manifold counts as the ball's centre.
    ball : Ball, or a list with one for each group
        Public domain of the records and of the point at the middle of the range.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's pairs (x_i, y_i) are replaced.
    groups : array-like, optional
        Labels or offsets of public groups; see `frechet_mean`.
    x_range : pair of float
        Public range (x_lo, x_hi) of the covariate.
    tau : float
        Public length at which residuals are clipped, in the units of the metric: noise is
        proportional to it. About the largest residual expected; below the typical residual the
        estimate is that of a spatial median.
    v_max : float
        Public bound V on the length of the geodesic over the range. On positive curvature
        2 r + V/2 must be below the injectivity radius, so that residuals are continuous.
    sampler : {"auto", "gradient", "exact", "metropolis"}
        "gradient" is noisy Riemannian gradient descent with a public number of steps. "exact" draws
        from the K-norm gradient by rejection, in dimensions up to 3; how long that takes depends on
        the records, from milliseconds to seconds. "metropolis" runs a Markov chain of
        `chain_length` steps towards the same law in any dimension; the release is then `Unproved`.
        "auto" takes the one of the first two with the smaller expected error, which n, the
        guarantee and the other public parameters decide.
    chain_length : int
        Steps of the Markov chain of "metropolis".
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress
        As in `frechet_mean`; a unit's pairs (x_i, y_i) count as its records.

    Returns
    -------
    GeodesicRelease, or Releases of them with `groups`
        With `intercept`, `slope` and `predict`. `sensitivity` and `scale` are those of the
        gradients, in the last step of a descent.

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
    >>> release = cdp.geodesic_regression(
    ...     x, y, ball, cdp.GDP(mu=1.0), x_range=(0.0, 10.0), tau=0.1, v_max=1.0
    ... )
    >>> release.predict([0.0, 5.0, 10.0]).shape
    (3, 3)
    """
    covariates = as_float_array(x, "x")
    statistic = GeodesicLine(x_range, tau, v_max, sampler, chain_length)
    return release(statistic, y, ball, guarantee, groups=groups, extra=covariates, **call)


def check_support(ball: Ball, v_max: float) -> None:
    """Refuses geodesics that could meet the cut locus of a record, or leave double precision."""
    reach = 2 * ball.radius + 0.5 * v_max
    root = math.sqrt(max(0.0, -ball.manifold.curvature_bounds[0]))
    if root * reach > _LONGEST:
        raise ValueError(
            f"2 r + v_max/2 must be at most {_LONGEST / root:.6g} on {ball.manifold.spec}, got "
            f"{reach:.6g}: hyperbolic functions of it are too large for double precision"
        )
    if reach >= ball.manifold.injectivity_radius:
        raise ValueError(
            f"2 r + v_max/2 must be below the injectivity radius "
            f"{ball.manifold.injectivity_radius:.6g} of {ball.manifold.spec}, got {reach:.6g}: "
            "use a smaller ball or a smaller v_max"
        )


def rounded(
    ball: Ball, footpoint: FloatArray, velocity: FloatArray, scale: float, v_max: float
) -> FloatArray:
    """Footpoint and velocity on the public grid, outside the frame, shape (2, *point_shape)."""
    manifold, base = ball._frame.manifold, footpoint[None]
    footpoint = round_to_grid(ball, base, scale)
    step = grid_step(ball, scale)
    carried = shorten(carry(manifold, velocity, base, footpoint), v_max)
    velocity = np.round(carried / step) * step
    length = float(np.linalg.norm(velocity))
    # an isometry takes geodesics to geodesics: the velocity outside is read off a short piece
    share = min(1.0, 0.25 * ball.manifold.injectivity_radius / length) if length > 0 else 1.0
    ahead = np.empty_like(footpoint)
    manifold.exp_coords(np.ascontiguousarray(share * velocity[None]), footpoint, ahead)
    space = ball.manifold
    outer, further = ball._leave(footpoint)[0], ball._leave(ahead)[0]
    # so far out on hyperbolic space that coordinates keep no digit of a direction, there is none
    return stack(outer, shorten(space.log(further, outer) / share, math.inf))
