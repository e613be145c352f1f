"""Statistics without privacy, in a module of their own so that nobody takes one for a release."""

from curvedp.nonprivate.inference import confidence_region, variance_interval
from curvedp.nonprivate.mean import FrechetMean, frechet_mean
from curvedp.nonprivate.moments import (
    fourth_moment,
    frechet_variance,
    log_covariance,
    mean_hessian,
)
from curvedp.nonprivate.regression import geodesic_regression

__all__ = [
    "FrechetMean",
    "confidence_region",
    "fourth_moment",
    "frechet_mean",
    "frechet_variance",
    "geodesic_regression",
    "log_covariance",
    "mean_hessian",
    "variance_interval",
]


def __dir__() -> list[str]:
    return sorted(__all__)
