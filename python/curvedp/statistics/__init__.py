"""Private statistics: each returns a Release."""

from curvedp.statistics.adaptive_mean import adaptive_mean
from curvedp.statistics.frechet_mean import expected_error, frechet_mean, required_n
from curvedp.statistics.quantile import quantile
from curvedp.statistics.schedule import Schedule, adaptive_schedule

__all__ = [
    "Schedule",
    "adaptive_mean",
    "adaptive_schedule",
    "expected_error",
    "frechet_mean",
    "quantile",
    "required_n",
]
