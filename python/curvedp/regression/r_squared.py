"""Share of the records' spread that a released geodesic explains, privately.

    a = mean_i min(rho(prediction_i, y_i), R)^2,   b = mean_i min(rho(m, y_i), R)^2,

the share is 1 - a/b, m the geodesic's own point at the mean covariates. Replacing one of n records
moves (a, b) by at most sqrt(2) R^2/n, whatever distances are computed: docs/proofs/
adaptive-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_positive
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism, ways_to_meet
from curvedp.mechanisms.base import Mechanism
from curvedp.mechanisms.calibration import budget_of, unit_error
from curvedp.privacy import GDP, Guarantee, PureDP, Release, Unproved
from curvedp.regression.covariate import (
    are_several,
    as_covariates,
    categories_of,
    clipped_times,
    covariates_at,
    pairs_of,
    slow_covariates,
)
from curvedp.regression.release import GeodesicRelease
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

_FIT_WHY = "the geodesic was released without a guarantee"
#: Places along a range at which the geodesic's distance from the ball's centre is looked up.
_PLACES = 33
#: Covariates of which all ends of ranges are looked up.
_MOST_CORNERS = 8
#: Largest epsilon of Laplace noise that is considered.
_LARGEST = 1e5
#: Error of a mean of numbers in [0, 1] that NumPy adds up pairwise, twice: 200 roundings each.
_ROUNDING = 400 * 2.0**-53


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RSquaredRelease(Release):
    """Released mean squares about a geodesic and about one point of it: `value`, shape (2,).

    Attributes
    ----------
    max_dist : float
        R, to which distances were shortened.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> x = np.linspace(0.0, 10.0, 2000)
    >>> y = (0.1 * x - 0.5)[:, None]
    >>> fit = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu=2.0), x_range=(0.0, 10.0))
    >>> explained = cdp.r_squared(x, y, fit, cdp.GDP(mu=2.0))
    >>> bool(explained.r_squared > 0.9), bool(explained.deviation < 0.1)
    (True, True)
    """

    max_dist: float

    #: The geodesic had been released, and paid for, before.
    _given = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    @property
    def r_squared(self) -> float:
        """1 - a/b, at most 1; NaN where the noise left no b above 0."""
        within, total = map(float, self.value)
        return min(1.0, 1 - within / total) if total > 0 else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation of `r_squared` from the noise alone, to first order; NaN as there."""
        # of one number beside the mean length of two: 0.80 for Gaussian noise, 0.87 for Laplace
        one, total = 0.87 * (self.expected_error or math.nan), float(self.value[1])
        return one * math.hypot(1.0, self.value[0] / total) / total if total > 0 else math.nan

    def _notes(self) -> list[str]:
        return [
            f"the geodesic explains {self.r_squared:.3g} of the mean squared distance from its "
            f"middle (noise: +-{self.deviation:.2g}); distances were cut at {self.max_dist:.6g}"
        ]


@dataclass(frozen=True)
class RSquaredDesign:
    """Everything that is fixed before a record is seen: R, and the noise with its guarantee."""

    reach: float
    sensitivity: float
    way: PureDP | GDP
    mechanism: Mechanism

    @property
    def expected_error(self) -> float:
        """Mean length of the noise of the pair."""
        return self.mechanism.scale * unit_error(self.way, 2)


@dataclass(frozen=True)
class RSquared(EachGroup[RSquaredRelease]):
    """The share of the spread that a released geodesic explains, as a value.

    Parameters
    ----------
    fit, max_dist
        As in `r_squared`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball, x = cdp.Ball("euclidean:1", [0.0], 1.0), np.linspace(0.0, 1.0, 500)
    >>> fit = cdp.geodesic_regression(x, x[:, None], ball, cdp.GDP(1.0), x_range=(0.0, 1.0))
    >>> RSquared.from_options(RSquared(fit).options()) == RSquared(fit)
    True
    """

    title: ClassVar[str] = "mean squares about a geodesic and about its middle"
    word: ClassVar[str | None] = "r-squared"
    beside: ClassVar[Literal["covariate"]] = "covariate"
    takes_units: ClassVar[bool] = True
    takes_unknown_n: ClassVar[bool] = True
    memory: ClassVar[float] = 10.0

    fit: GeodesicRelease
    max_dist: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fit, GeodesicRelease):
            raise TypeError(
                f"fit must be a GeodesicRelease, got {type(self.fit).__name__}: release it "
                "before, by geodesic_regression(x, y, ball, guarantee, x_range=...)"
            )
        if self.fit.x_center is None:
            raise ValueError("fit must be one without tau, which releases the mean covariates")
        if self.max_dist is not None:
            object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    @property
    def ball(self) -> Ball:
        """The ball of the fit."""
        return Ball(self.fit.manifold, self.fit.ball_center, self.fit.ball_radius)

    @property
    def rests_on(self) -> tuple[Release, ...]:
        return (self.fit,)

    def options(self) -> dict[str, Any]:
        return {"fit": self.fit.to_dict(), "max_dist": self.max_dist}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> RSquared:
        fit = Release.from_dict(options["fit"])
        return cls(fit, options["max_dist"])  # type: ignore[arg-type]

    def check(self, call: Call) -> None:
        if call.manifold.spec != self.fit.manifold:
            raise ValueError(f"the fit is on {self.fit.manifold}, the ball on {call.manifold.spec}")
        center, radius = self.fit.ball_center, self.fit.ball_radius
        for ball in call.balls:  # R follows from the centre, not from the radius alone
            if ball.radius != radius or not np.allclose(ball.center, center, rtol=1e-9, atol=1e-12):
                raise ValueError("records are projected on the fit's own ball: give it")

    def read_beside(self, given: Any, n: int) -> FloatArray:
        return as_covariates(given, self.fit.x_range)

    def categories_beside(self, beside: FloatArray) -> FloatArray:
        return categories_of(beside, self.fit.x_range)

    @property
    def beside_width(self) -> int:
        return len(pairs_of(self.fit.x_range))

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        return slow_covariates(len(beside), self.fit.x_range)

    def promise(self, call: Call) -> Guarantee:
        if isinstance(self.fit.guarantee, Unproved):
            return Unproved(claimed=call.promised, why=_FIT_WHY)
        return call.promised

    def is_exact(self, call: Call) -> bool:
        return True

    def mechanism_of(self, design: RSquaredDesign) -> str:
        return design.mechanism.name

    def way_of(self, design: RSquaredDesign) -> PureDP | GDP:
        return design.way

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (2,)

    def extent(self, call: Call) -> tuple[float, str]:
        return self._reach(call.ball) ** 2, "largest mean square"

    def outlook(self, call: Call, design: RSquaredDesign, n: int) -> tuple[float, float]:
        return design.mechanism.scale, design.expected_error

    def design(self, call: Call, ball: Ball, n: int) -> RSquaredDesign:
        reach = self._reach(ball)
        share = min(1.0, call.records_per_unit / n)
        sensitivity = math.sqrt(2) * reach**2 * (share + _ROUNDING)
        domain = Ball(Euclidean(2), [0.0, 0.0], math.sqrt(2) * reach**2)
        every = ways_to_meet(call.guarantee)
        # Laplace noise at the epsilon of a large mu is finer than double precision draws it
        ways = [way for way in every if budget_of(way) < _LARGEST] or every
        designs = [
            RSquaredDesign(
                reach, sensitivity, way, choose_mechanism(domain, way)(domain, sensitivity, way)
            )
            for way in ways
        ]
        return min(designs, key=lambda design: design.expected_error)

    def release_group(self, group: Group) -> RSquaredRelease:
        design: RSquaredDesign = group.design
        squares = _squares(group.ball, group.records, group.beside, self.fit, design.reach)
        if group.paid.unit_ends is not None:
            sizes = np.diff(group.ends)
            means = np.add.reduceat(squares, group.ends[:-1], axis=1) / sizes
            squares = np.minimum(means, design.reach**2)
        released = group.release(
            value=design.mechanism._release(squares.mean(axis=1), group.stream(0), 1)[0],
            statistic=self.title,
            sensitivity=design.sensitivity,
            solver_tolerance=0.0,
            scale=design.mechanism.scale,
            expected_error=design.expected_error,
            base_point=self.fit.value[0],
            parts=(self.fit,),
        )
        return RSquaredRelease(**vars(released), max_dist=design.reach)

    def further_columns(self, releases: Releases[RSquaredRelease]) -> dict[str, FloatArray]:
        """The share and its deviation."""
        found = releases.results or ()
        return {
            name: np.array([np.nan if own is None else getattr(own, name) for own in found])
            for name in ("r_squared", "deviation")
        }

    def _reach(self, ball: Ball) -> float:
        """R: by default the longest distance between a record of the ball and a prediction."""
        return _reach(ball, self.fit) if self.max_dist is None else self.max_dist


@overload
def r_squared(
    x: ArrayLike,
    y: ArrayLike,
    fit: GeodesicRelease,
    guarantee: Guarantee,
    *,
    max_dist: float | None = None,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> RSquaredRelease: ...
@overload
def r_squared(
    x: ArrayLike,
    y: ArrayLike,
    fit: GeodesicRelease,
    guarantee: Guarantee,
    *,
    max_dist: float | None = None,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[RSquaredRelease]: ...
@quiet
def r_squared(
    x: ArrayLike,
    y: ArrayLike,
    fit: GeodesicRelease,
    guarantee: Guarantee,
    *,
    max_dist: float | None = None,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> RSquaredRelease | Releases[RSquaredRelease]:
    """Release how much of the records' spread a released geodesic explains.

    The share of the mean squared distance from the geodesic's point at the mean covariates that the
    geodesic takes away. It is that of these records; on records that were not fitted it is
    honest, on those that were it is too large by about k/n, k the number of parameters.

    Parameters
    ----------
    x : array-like, shape (n,) or (n, q)
        Covariates, clipped to the fit's range; a missing one counts as its middle.
    y : array-like, shape (n, *point_shape)
        Records, projected on the fit's ball.
    fit : GeodesicRelease
        Without `tau`: it knows where the mean covariates are.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of this release alone: the fit's comes on top, and one without a guarantee voids
        it.
    max_dist : float, optional
        R; by default no distance within the ball is shortened. Noise grows with R^2.
    groups : array-like, optional
        Labels or offsets of public groups, the share of each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs: the mean square of a person's records then
        counts as one.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.

    Returns
    -------
    RSquaredRelease, or Releases of them with `groups`
        `expected_error` is the mean length of the noise of the pair.

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> rng, x = np.random.default_rng(0), np.linspace(0.0, 10.0, 4000)
    >>> y = (0.1 * x - 0.5 + 0.1 * rng.standard_normal(4000))[:, None]
    >>> fit = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu=1.0), x_range=(0.0, 10.0))
    >>> bool(abs(cdp.r_squared(x, y, fit, cdp.GDP(mu=1.0)).r_squared - 0.89) < 0.05)
    True
    """
    statistic = RSquared(fit, max_dist)
    return release(statistic, y, statistic.ball, guarantee, covariate=x, groups=groups, **call)


def _at(fit: GeodesicRelease, times: FloatArray) -> FloatArray:
    """Predictions at covariates in widths of their ranges, shape (n, q)."""
    x = covariates_at(times, fit.x_range)
    return fit.predict(x if are_several(fit.x_range) else x[:, 0])


def _reach(ball: Ball, fit: GeodesicRelease) -> float:
    """The longest distance between a record of the ball and a prediction: post-processing."""
    q = len(pairs_of(fit.x_range))
    if q > _MOST_CORNERS:
        return min(2 * ball.radius + 0.5 * fit.v_max, ball.manifold.injectivity_radius)
    ends = np.linspace(-0.5, 0.5, _PLACES if q == 1 else 2)
    grid = np.stack(np.meshgrid(*[ends] * q), axis=-1).reshape(-1, q)
    farthest = float(np.max(ball.manifold.dist(ball.center, _at(fit, grid))))
    longest = ball.radius + (farthest if math.isfinite(farthest) else ball.radius)
    return min(longest, ball.manifold.injectivity_radius)


def _squares(
    ball: Ball, y: FloatArray, x: FloatArray, fit: GeodesicRelease, reach: float
) -> FloatArray:
    """Squared distances, shape (2, n), each at most R^2, whatever a record is."""
    times = clipped_times(x, fit.x_range).reshape(len(x), -1)
    points = ball.project(y)
    space = ball.manifold
    dist = np.stack([space.dist(_at(fit, times), points), space.dist(fit.value[0], points)])
    dist = np.where(np.isfinite(dist), np.minimum(dist, reach), reach)
    return np.asarray(dist**2)
