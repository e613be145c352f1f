"""Plans of releases that count the records inside the ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from curvedp.errors import ExistenceError
from curvedp.mechanisms import Way, ways_of_one_draw, ways_to_meet
from curvedp.planning.dispersion import confidence_region
from curvedp.planning.means import frechet_mean
from curvedp.planning.plan import Plan
from curvedp.planning.request import Request
from curvedp.privacy import GDP, PureDP
from curvedp.privacy.wording import percent
from curvedp.statistics.confidence_region import gaussian_way
from curvedp.statistics.coverage import Counting, share_of


def counted_records(
    planner: Callable[[Request, int], Plan], *, must: bool
) -> Callable[[Request, int], Plan]:
    """The plan of a release that counts its records, as `release` divides its guarantee.

    One that need not count them does without where there is no such release.
    """

    def counted(request: Request, n: int) -> Plan:
        whole, unit = request.guarantee, request.records_per_unit
        ways: tuple[Way, ...] = ()
        if isinstance(whole, (GDP, PureDP)):
            ways = (whole,)
        elif planner is confidence_region:
            ways = gaussian_way(whole, "a region")
        else:
            every = ways_of_one_draw if planner is frechet_mean else ways_to_meet
            ways = every(whole, request.mechanism)
        found, refused = [], None
        for way in ways:
            try:
                shared = replace(request, guarantee=Counting.of(whole, way, n, unit, 1).rest)
                own = planner(shared, n)
                of_mean = planner is frechet_mean
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
