"""Private statistics: each takes records, a ball and a guarantee, and returns a release."""

from curvedp.statistics.adaptive_mean import adaptive_mean
from curvedp.statistics.adaptive_means import adaptive_means
from curvedp.statistics.comparison import MeanComparison, compare_means
from curvedp.statistics.confidence_region import confidence_region
from curvedp.statistics.confidence_regions import GroupRegions, confidence_regions
from curvedp.statistics.dispersion import (
    fourth_moment,
    frechet_variance,
    log_covariance,
    mean_hessian,
)
from curvedp.statistics.each_group import each_group
from curvedp.statistics.frechet_mean import expected_error, frechet_mean, required_n
from curvedp.statistics.frechet_means import frechet_means
from curvedp.statistics.frechet_variances import frechet_variances
from curvedp.statistics.group_releases import GroupReleases
from curvedp.statistics.kng_mean import kng_mean
from curvedp.statistics.quantile import quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.schedule import Schedule, adaptive_schedule
from curvedp.statistics.variance_interval import VarianceInterval, variance_interval

__all__ = [
    "ConfidenceRegion",
    "GroupRegions",
    "GroupReleases",
    "MeanComparison",
    "Schedule",
    "VarianceInterval",
    "adaptive_mean",
    "adaptive_means",
    "adaptive_schedule",
    "compare_means",
    "confidence_region",
    "confidence_regions",
    "each_group",
    "expected_error",
    "fourth_moment",
    "frechet_mean",
    "frechet_means",
    "frechet_variance",
    "frechet_variances",
    "kng_mean",
    "log_covariance",
    "mean_hessian",
    "quantile",
    "required_n",
    "variance_interval",
]
