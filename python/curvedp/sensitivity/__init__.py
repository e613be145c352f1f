"""Sensitivities: bounds on the change of a statistic when one record is replaced.

Statistics of the logarithms log_p x_i at a base point p are those of logarithms clipped to the
length R = `max_dist`; between points of the ball no distance exceeds 2 r, and from p none exceeds
r + rho(c, p).

Proofs: docs/proofs/frechet-mean-sensitivity.md, docs/proofs/frechet-variance.md,
docs/proofs/log-moments.md, docs/proofs/geodesic-regression.md, docs/proofs/kng-mean.md,
docs/proofs/privatemail.md.
"""

from curvedp.sensitivity.mail import mail_iteration, mail_query
from curvedp.sensitivity.regression import (
    regression_footpoint,
    regression_shooting,
    regression_sum_of_norms,
)
from curvedp.sensitivity.statistics import (
    FOURTH_MOMENT_WEIGHT as FOURTH_MOMENT_WEIGHT,
)
from curvedp.sensitivity.statistics import (
    distance_moments,
    fourth_moment,
    frechet_mean,
    frechet_variance,
    kng_mean,
    log_covariance,
    mean_hessian,
)

__all__ = [
    "distance_moments",
    "fourth_moment",
    "frechet_mean",
    "frechet_variance",
    "kng_mean",
    "log_covariance",
    "mail_iteration",
    "mail_query",
    "mean_hessian",
    "regression_footpoint",
    "regression_shooting",
    "regression_sum_of_norms",
]


def __dir__() -> list[str]:
    return sorted(__all__)
