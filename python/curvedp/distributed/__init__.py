"""The jobs of `curvedp.batch` on a Dask cluster.

Needs the extra ``distributed`` (pyarrow and dask). Nothing of Dask is imported without it, and not
by ``import curvedp``: write ``import curvedp.distributed``.

Workers see the file of records, the job's folder and the file of the noise secret under the same
paths as the caller (one machine, or a shared file system). A task holds the folder's path and a
number: neither the secret nor a record travels through the scheduler.
"""

from curvedp.distributed.files import (
    adaptive_means_of_file,
    confidence_regions_of_file,
    frechet_means_of_file,
    frechet_variances_of_file,
)
from curvedp.distributed.large import frechet_mean_of_file

__all__ = [
    "adaptive_means_of_file",
    "confidence_regions_of_file",
    "frechet_mean_of_file",
    "frechet_means_of_file",
    "frechet_variances_of_file",
]
