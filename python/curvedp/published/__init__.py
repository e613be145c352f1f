"""Mechanisms as the papers publish them, without a proof: for comparison, not for protection.

Every result is `Unproved`, no ledger accepts it, and nothing outside this package uses it. The gaps
in the proofs are listed in docs/papers.md.
"""

from curvedp.published import sensitivity
from curvedp.published.chains import metropolis
from curvedp.published.conformal import conformal_mean
from curvedp.published.exact_mu import exact_mu
from curvedp.published.frechet_mean import frechet_mean
from curvedp.published.inference import confidence_region, variance_interval
from curvedp.published.mail import private_mail
from curvedp.published.moments import (
    fourth_moment,
    frechet_variance,
    log_covariance,
    mean_hessian,
)
from curvedp.published.regression import geodesic_regression

__all__ = [
    "confidence_region",
    "conformal_mean",
    "exact_mu",
    "fourth_moment",
    "frechet_mean",
    "frechet_variance",
    "geodesic_regression",
    "log_covariance",
    "mean_hessian",
    "metropolis",
    "private_mail",
    "sensitivity",
    "variance_interval",
]


def __dir__() -> list[str]:
    return sorted(__all__)
