"""Geodesic regression: points of a manifold that move with a covariate."""

from curvedp.regression.fit import GeodesicFit
from curvedp.regression.geodesic import Geodesic
from curvedp.regression.private import geodesic_regression
from curvedp.regression.release import GeodesicRelease

__all__ = ["Geodesic", "GeodesicFit", "GeodesicRelease", "geodesic_regression"]
