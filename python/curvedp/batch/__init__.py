"""Private statistics of many groups, from Arrow tables and Parquet files.

Needs the extra ``batch`` (pyarrow). Not imported by ``import curvedp``: write
``import curvedp.batch``.
"""

from curvedp.batch.files import (
    adaptive_means_of_file,
    confidence_regions_of_file,
    frechet_means_of_file,
    frechet_variances_of_file,
)
from curvedp.batch.large import frechet_mean_of_file
from curvedp.batch.tables import (
    BatchReleases,
    adaptive_means,
    confidence_regions,
    frechet_means,
    frechet_variances,
)

__all__ = [
    "BatchReleases",
    "adaptive_means",
    "adaptive_means_of_file",
    "confidence_regions",
    "confidence_regions_of_file",
    "frechet_mean_of_file",
    "frechet_means",
    "frechet_means_of_file",
    "frechet_variances",
    "frechet_variances_of_file",
]
