"""Expected errors of releases, before any record is seen: the function `plan`."""

from __future__ import annotations

import math
from collections.abc import Callable

from curvedp._hints import hinting
from curvedp._validation import as_choice, as_count, as_positive, as_probability
from curvedp.checked_domain import WholeSpace, as_domain, check_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold, Product
from curvedp.mechanisms import Mechanism
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.planning.counted import counted_records
from curvedp.planning.dispersion import confidence_region, frechet_variance
from curvedp.planning.means import adaptive_mean, conformal_mean, frechet_mean, located_mean
from curvedp.planning.plan import Plan, power_of_error
from curvedp.planning.regression import geodesic_regression
from curvedp.planning.request import Request
from curvedp.privacy import Guarantee
from curvedp.product_ball import ProductBall
from curvedp.statistics.design import smallest_n
from curvedp.statistics.located_mean import LocatedMean
from curvedp.unit import length_of, told_in

#: Parameters that some statistics alone take, and their values where they are not said.
_TAKEN_BY = {
    "level": ("confidence_region",),
    "tau": ("geodesic_regression",),
    "v_max": ("geodesic_regression",),
    "mechanism": ("frechet_mean", "adaptive_mean", "confidence_region"),
}
_UNSAID = {"level": 0.95, "tau": None, "v_max": None, "mechanism": None}

#: What is planned in the place of statistics that are computed from a region.
_OF_REGION = {
    "mean_direction": "plan('confidence_region', Ball('euclidean:p', center=numpy.zeros(p), "
    "radius=1), ..., spread=sqrt(1 - rho^2)) for unit vectors in R^p, p = 2 for angles, and a "
    "guess of their mean resultant length rho. The half-angle is about the half-length over rho, "
    "in radians",
    "mean_axis": "plan('confidence_region', Ball('euclidean:q', center=numpy.zeros(q), radius=1), "
    "...) for axes in R^p, q = p (p + 1)/2 - 1. The half-angle is about the half-length over "
    "sqrt(2 p/(p - 1)) times the difference of the two largest eigenvalues of E x x', in radians",
}


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
        in the units of the metric: radians on spaces of directions and turns. Either `n` or
        `error`.
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
    if statistic == "geometric_median":
        raise ValueError(
            "geometric_median has no plan, since its error depends on how the records lie: release "
            "it of simulated records of your n, spread and ball, without a ledger, and take their "
            "distances from the point about which they were drawn"
        )
    if statistic in _OF_REGION:
        raise ValueError(
            f"{statistic} is computed from a confidence region, which is planned: "
            f"{_OF_REGION[statistic]}"
        )
    as_choice(statistic, tuple(_PLANNERS), "statistic")
    if (n is None) == (error is None):
        raise ValueError("give either n (what error?) or error (how many records?)")
    domain = as_domain(ball)
    served = LocatedMean.served if isinstance(domain, WholeSpace) else ("replace",)
    if statistic != "frechet_mean":
        check_ball(domain)
    elif isinstance(domain, ProductBall):
        raise TypeError(
            "plan takes one ball: of a mean on a product expected_error(ball, n, guarantee) and "
            "required_n(ball, error, guarantee) say the same"
        )
    one = length_of(domain.unit)
    request = Request(
        ball=domain,
        guarantee=check_guarantee(guarantee, served),
        spread=None if spread is None else as_positive(spread, "spread") * one,
        level=as_probability(level, "level"),
        tau=None if tau is None else as_positive(tau, "tau"),
        v_max=None if v_max is None else as_positive(v_max, "v_max"),
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
        mechanism=mechanism,
    )
    unit, farthest = request.unit, _diameter(domain)
    if request.spread is not None and request.spread > farthest:
        raise ValueError(
            f"no records of {domain.manifold.spec} have a spread of {request.told_spread}: its "
            f"points are at most {told_in(unit)(farthest)} apart"
        )
    for name, takers in _TAKEN_BY.items():
        if getattr(request, name) != _UNSAID[name] and statistic not in takers:
            raise ValueError(f"{statistic} takes no {name}: leave it out, as in the function")
    planner = _PLANNERS[statistic]
    if isinstance(domain, WholeSpace):
        planner = located_mean
    elif coverage is not False:
        planner = counted_records(planner, must=coverage is True)
    least = domain.manifold.dim + 2 if statistic == "confidence_region" else 1
    if n is not None:
        return planner(request, as_count(n, "n", least=least)).in_unit(unit)
    assert error is not None
    power = power_of_error(statistic)
    wished = as_positive(error, "error") * one**power

    def enough(count: int) -> bool:
        try:
            return planner(request, count).high <= wished
        except ExistenceError:
            return False

    told = told_in(unit)(wished, power=power)
    refusal = f"no number of records brings the expected error down to {told}"
    return planner(request, smallest_n(enough, refusal, least)).in_unit(unit)


def _diameter(domain: Ball) -> float:
    """Bound on distances in the domain: of a ball, and of a space by its maximal flat tori."""
    space = domain.manifold
    if isinstance(space, Product):
        return math.inf
    return min(space.injectivity_radius * math.sqrt(space.rank), 2.0 * domain.radius)


_PLANNERS: dict[str, Callable[[Request, int], Plan]] = {
    "frechet_mean": frechet_mean,
    "adaptive_mean": adaptive_mean,
    "conformal_mean": conformal_mean,
    "frechet_variance": frechet_variance,
    "confidence_region": confidence_region,
    "geodesic_regression": geodesic_regression,
}
