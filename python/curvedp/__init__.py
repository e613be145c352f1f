"""curvedp: differential privacy for data that live on curved spaces.

>>> import numpy as np, curvedp as cdp
>>> ball = cdp.Ball(cdp.SPD(3), center=np.eye(3), radius=1.5)
>>> cdp.expected_error(ball, n=5000, guarantee=cdp.GDP(mu=1.0)) < 0.01
True
"""

from importlib import import_module
from typing import Any

#: Submodules and public names by the module that defines them. All are imported at first use, so
#: that importing curvedp takes no time; `__init__.pyi` lists the same for type checkers.
_SUBMODULES = (
    "audit",
    "conformal",
    "datasets",
    "descriptors",
    "directions",
    "mail",
    "mechanisms",
    "nonprivate",
    "plotting",
    "privacy",
    "published",
    "regression",
    "sensitivity",
    "sites",
    "statistics",
)
#: Submodules that need an extra; imported at first use too.
_OF_EXTRAS = ("batch", "learning", "opendp")
_PUBLIC = {
    "_core": (
        "num_threads",
        "set_num_threads",
    ),
    "conformal": ("conformal_mean",),
    "domain": ("Ball",),
    "errors": (
        "BudgetError",
        "ExistenceError",
        "MissingExtraError",
    ),
    "mail": ("PrivateMail",),
    "manifolds": (
        "HPD",
        "SPD",
        "Correlation",
        "Euclidean",
        "Grassmann",
        "Hyperboloid",
        "KendallPlanar",
        "Manifold",
        "Product",
        "Projective",
        "RigidMotions",
        "Rotations",
        "SpecialOrthogonal",
        "Sphere",
        "Torus",
        "Unitary",
        "as_manifold",
    ),
    "mechanisms": (
        "ExponentialWrappedGaussian",
        "L2Mechanism",
        "RiemannianGaussian",
        "RiemannianLaplace",
        "TangentGaussian",
    ),
    "planning": (
        "Plan",
        "plan",
    ),
    "product_ball": ("ProductBall",),
    "privacy": (
        "GDP",
        "ZCDP",
        "ApproxDP",
        "Ledger",
        "NoiseSecret",
        "PureDP",
        "Release",
        "Unproved",
        "compose",
    ),
    "regression": (
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
    ),
    "statistics": (
        "AdaptiveMean",
        "CombinedMean",
        "ConfidenceRegion",
        "FourthMoment",
        "Interval",
        "GeometricMedian",
        "KMeans",
        "KMeansRelease",
        "KNGMean",
        "KSampleRelease",
        "KSampleTest",
        "LocatedMean",
        "LocatedMeanRelease",
        "LogCovariance",
        "LogisticRelease",
        "Mean",
        "MeanComparison",
        "MeanHessian",
        "MeanRelease",
        "PrincipalComponents",
        "Quantile",
        "QuantileRelease",
        "Region",
        "Releases",
        "Schedule",
        "Statistic",
        "TangentLogistic",
        "TwoSampleRelease",
        "TwoSampleTest",
        "Variance",
        "VarianceInterval",
        "VarianceRelease",
        "adaptive_mean",
        "adaptive_schedule",
        "combine",
        "compare_means",
        "confidence_region",
        "expected_error",
        "fourth_moment",
        "frechet_mean",
        "frechet_variance",
        "geometric_median",
        "k_means",
        "k_sample_power",
        "k_sample_test",
        "kng_mean",
        "log_covariance",
        "mean_hessian",
        "principal_components",
        "quantile",
        "release",
        "required_n",
        "shrink_together",
        "tangent_logistic",
        "two_sample_power",
        "two_sample_test",
        "variance_interval",
    ),
}
#: Public names that need an extra. They are not in `__all__`: a star import needs none.
_PUBLIC_OF_EXTRAS = {"learning": ("FrechetMean", "GeodesicRegression")}
_HOME = {
    name: module
    for public in (_PUBLIC, _PUBLIC_OF_EXTRAS)
    for module, names in public.items()
    for name in names
}

__all__ = sorted([*_SUBMODULES, *(name for names in _PUBLIC.values() for name in names)])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or name in _OF_EXTRAS:
        return import_module(f"curvedp.{name}")
    if name in _HOME:
        value = getattr(import_module(f"curvedp.{_HOME[name]}"), name)
    elif name == "__version__":
        value = import_module("curvedp._core").VERSION
    else:
        raise import_module("curvedp._hints").no_such_name(name, (*_SUBMODULES, *_OF_EXTRAS))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_SUBMODULES, *_HOME, *_OF_EXTRAS, "__version__"])
