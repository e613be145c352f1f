"""Private means and variances of many groups, from Arrow tables and Parquet files.

Needs the extra ``batch`` (pyarrow). Not imported by ``import curvedp``: write
``import curvedp.batch``.
"""

from curvedp.batch.files import frechet_means_of_file, frechet_variances_of_file
from curvedp.batch.large import frechet_mean_of_file
from curvedp.batch.tables import BatchReleases, frechet_means, frechet_variances

__all__ = [
    "BatchReleases",
    "frechet_mean_of_file",
    "frechet_means",
    "frechet_means_of_file",
    "frechet_variances",
    "frechet_variances_of_file",
]
