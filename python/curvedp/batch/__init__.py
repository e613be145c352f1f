"""Private statistics of many groups, from Arrow tables and Parquet files, also on a cluster.

Needs the extra ``batch`` (pyarrow), on a cluster ``distributed``. Not imported by
``import curvedp``: write ``import curvedp.batch``.
"""

from curvedp.batch.release import release
from curvedp.batch.tables import BatchReleases

__all__ = ["BatchReleases", "release"]


def __dir__() -> list[str]:
    return sorted(__all__)
