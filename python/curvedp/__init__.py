"""curvedp: differential privacy for data that live on curved spaces.

>>> import numpy as np, curvedp as cdp
>>> ball = cdp.Ball(cdp.SPD(3), center=np.eye(3), radius=1.5)
>>> cdp.expected_error(ball, n=5000, guarantee=cdp.GDP(mu=1.0)) < 0.01
True
"""

from importlib.metadata import version

from curvedp import audit, datasets, descriptors, nonprivate, sensitivity
from curvedp._core import num_threads, set_num_threads
from curvedp.domain import Ball
from curvedp.errors import BudgetError, ExistenceError, MissingExtraError
from curvedp.mail import PrivateMail
from curvedp.manifolds import (
    SPD,
    Euclidean,
    Hyperboloid,
    KendallPlanar,
    Manifold,
    Sphere,
    as_manifold,
)
from curvedp.mechanisms import (
    ExponentialWrappedGaussian,
    RiemannianGaussian,
    RiemannianLaplace,
    TangentGaussian,
)
from curvedp.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Ledger,
    NoiseSecret,
    PureDP,
    Release,
    Unproved,
    compose,
)
from curvedp.regression import (
    Geodesic,
    GeodesicFit,
    GeodesicRegression,
    GeodesicRelease,
    geodesic_regression,
)
from curvedp.statistics import (
    ConfidenceRegion,
    GroupReleases,
    MeanComparison,
    Schedule,
    VarianceInterval,
    adaptive_mean,
    adaptive_schedule,
    compare_means,
    confidence_region,
    each_group,
    expected_error,
    fourth_moment,
    frechet_mean,
    frechet_means,
    frechet_variance,
    log_covariance,
    mean_hessian,
    quantile,
    required_n,
    variance_interval,
)

__version__ = version("curvedp")

__all__ = [
    "GDP",
    "SPD",
    "ZCDP",
    "ApproxDP",
    "Ball",
    "BudgetError",
    "ConfidenceRegion",
    "Euclidean",
    "ExistenceError",
    "ExponentialWrappedGaussian",
    "Geodesic",
    "GeodesicFit",
    "GeodesicRegression",
    "GeodesicRelease",
    "GroupReleases",
    "Hyperboloid",
    "KendallPlanar",
    "Ledger",
    "Manifold",
    "MeanComparison",
    "MissingExtraError",
    "NoiseSecret",
    "PrivateMail",
    "PureDP",
    "Release",
    "RiemannianGaussian",
    "RiemannianLaplace",
    "Schedule",
    "Sphere",
    "TangentGaussian",
    "Unproved",
    "VarianceInterval",
    "adaptive_mean",
    "adaptive_schedule",
    "as_manifold",
    "audit",
    "compare_means",
    "compose",
    "confidence_region",
    "datasets",
    "descriptors",
    "each_group",
    "expected_error",
    "fourth_moment",
    "frechet_mean",
    "frechet_means",
    "frechet_variance",
    "geodesic_regression",
    "log_covariance",
    "mean_hessian",
    "nonprivate",
    "num_threads",
    "quantile",
    "required_n",
    "sensitivity",
    "set_num_threads",
    "variance_interval",
]
