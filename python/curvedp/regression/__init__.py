"""Geodesic regression: points of a manifold that move with a covariate."""

from curvedp.regression.fit import GeodesicFit
from curvedp.regression.geodesic import Geodesic
from curvedp.regression.private import GeodesicLine, geodesic_regression
from curvedp.regression.r_squared import RSquared, RSquaredRelease, r_squared
from curvedp.regression.release import Coefficient, GeodesicRelease
from curvedp.regression.trend import TrendRelease, TrendTest, trend_power, trend_test
from curvedp.regression.wald import WaldTest

__all__ = [
    "Coefficient",
    "Geodesic",
    "GeodesicFit",
    "GeodesicLine",
    "GeodesicRelease",
    "RSquared",
    "RSquaredRelease",
    "TrendRelease",
    "TrendTest",
    "WaldTest",
    "geodesic_regression",
    "r_squared",
    "trend_power",
    "trend_test",
]


def __dir__() -> list[str]:
    return sorted(__all__)
