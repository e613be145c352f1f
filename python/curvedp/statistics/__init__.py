"""Private statistics: each takes records, a ball and a guarantee, and returns a release.

Each is also a value, such as ``Variance(within=0.1)``: what `curvedp.batch.release` releases of
the groups of a table or a file.
"""

from curvedp.statistics.adaptive_mean import AdaptiveMean, adaptive_mean
from curvedp.statistics.combination import CombinedMean, combine
from curvedp.statistics.comparison import MeanComparison, compare_means
from curvedp.statistics.confidence_region import Region, confidence_region
from curvedp.statistics.dispersion import (
    fourth_moment,
    log_covariance,
    mean_hessian,
)
from curvedp.statistics.frechet_mean import Mean, expected_error, frechet_mean, required_n
from curvedp.statistics.geometric_median import GeometricMedian, geometric_median
from curvedp.statistics.interval import VarianceInterval
from curvedp.statistics.k_sample_power import k_sample_power
from curvedp.statistics.k_sample_release import KSampleRelease
from curvedp.statistics.k_samples import KSampleTest, k_sample_test
from curvedp.statistics.kmeans import KMeans, KMeansRelease, k_means
from curvedp.statistics.kng_mean import KNGMean, kng_mean
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.located_release import LocatedMeanRelease
from curvedp.statistics.logistic import LogisticRelease, TangentLogistic, tangent_logistic
from curvedp.statistics.mean_release import MeanRelease
from curvedp.statistics.moments import FourthMoment, LogCovariance, MeanHessian
from curvedp.statistics.principal_components import PrincipalComponents, principal_components
from curvedp.statistics.quantile import Quantile, QuantileRelease, quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases
from curvedp.statistics.schedule import Schedule, adaptive_schedule
from curvedp.statistics.shrinkage import shrink_together
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.two_samples import (
    TwoSampleRelease,
    TwoSampleTest,
    two_sample_power,
    two_sample_test,
)
from curvedp.statistics.variance import Variance, VarianceRelease, frechet_variance
from curvedp.statistics.variance_interval import Interval, variance_interval

__all__ = [
    "AdaptiveMean",
    "CombinedMean",
    "ConfidenceRegion",
    "FourthMoment",
    "GeometricMedian",
    "Interval",
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
]


def __dir__() -> list[str]:
    return sorted(__all__)
