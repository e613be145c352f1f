"""How much of the records' spread a released geodesic explains, privately.

    a = mean_i min(rho(prediction_i, y_i), R)^2,   b = mean_i min(rho(m, y_i), R)^2,

the share is 1 - a/b, m the geodesic's own point at the mean covariates. Replacing one of n records
moves (a, b) by at most sqrt(2) R^2/n, whatever distances are computed: docs/proofs/
adaptive-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_positive
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism, ways_to_meet
from curvedp.privacy import Guarantee, Ledger, Release, Unproved
from curvedp.regression.covariate import (
    are_several,
    as_covariates,
    clipped_times,
    covariates_at,
    pairs_of,
)
from curvedp.regression.release import GeodesicRelease
from curvedp.statistics.entry import Entry
from curvedp.statistics.log_moments import amount_of, unit_error

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
class RSquared(Release):
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


@quiet
def r_squared(
    x: ArrayLike,
    y: ArrayLike,
    fit: GeodesicRelease,
    guarantee: Guarantee,
    *,
    max_dist: float | None = None,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
) -> RSquared:
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
    records_per_unit, ledger, seed
        As in `frechet_mean`.

    Returns
    -------
    RSquared
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
    if not isinstance(fit, GeodesicRelease):
        raise TypeError(f"fit must be a GeodesicRelease, got {type(fit).__name__}")
    if fit.x_center is None:
        raise ValueError("fit must be one without tau, which releases the mean covariates")
    ball = Ball(fit.manifold, fit.ball_center, fit.ball_radius)
    covariates = as_covariates(x, fit.x_range)
    entry = Entry.check(
        y,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        seed=seed,
    )
    if len(covariates) != entry.n:
        raise ValueError(f"x and y must be equally many, got {len(covariates)} and {entry.n}")
    reach = _reach(ball, fit) if max_dist is None else as_positive(max_dist, "max_dist")
    share = min(1.0, entry.records_per_unit / entry.n)
    sensitivity = math.sqrt(2) * reach**2 * (share + _ROUNDING)
    domain = Ball(Euclidean(2), [0.0, 0.0], math.sqrt(2) * reach**2)
    # Laplace noise at the epsilon of a large mu is finer than double precision draws it
    ways = [way for way in ways_to_meet(entry.guarantee) if amount_of(way)[1] < _LARGEST]
    drawn = [
        (choose_mechanism(domain, way)(domain, sensitivity, way), way)
        for way in ways or ways_to_meet(entry.guarantee)
    ]
    noise, way = min(drawn, key=lambda pair: pair[0].scale * unit_error(pair[1], 2))
    promised = entry.promise(entry.guarantee)
    if isinstance(fit.guarantee, Unproved):
        promised = Unproved(claimed=entry.guarantee, why=_FIT_WHY)
    entry.spend("share explained by a geodesic", 8.0 * covariates.nbytes, promised)
    squares = _squares(ball, entry.data, covariates, fit, reach).mean(axis=1)
    told = entry.release(
        promised,
        value=noise._release(squares, entry.stream(0), 1)[0],
        mechanism=type(noise).name,
        statistic="mean squares about a geodesic and about its middle",
        sensitivity=sensitivity,
        solver_tolerance=0.0,
        scale=noise.scale,
        expected_error=noise.scale * unit_error(way, 2),
        base_point=fit.value[0],
        parts=(fit,),
        calibrated_to=None if isinstance(promised, Unproved) else way,
    )
    return RSquared(**vars(told), max_dist=reach)


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
