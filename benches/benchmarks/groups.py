"""Statistics of many groups in one call, and batches from tables and files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.statistics.release import release

from . import workloads


class Groups:
    """Private statistics of groups of equal size."""

    params = ([("sphere:2", 20), ("spd:3", 100)], [100, 10_000])
    param_names = ("manifold and size of a group", "groups")

    def setup(self, case: tuple[str, int], groups: int) -> None:
        """Records of all groups, one after the other."""
        spec, n = case
        self.ball = workloads.ball(spec, 0.8)
        self.records = workloads.in_ball(self.ball, n * workloads.size(groups))
        self.groups = np.arange(0, len(self.records) + 1, n)

    def time_means(self, case: tuple[str, int], groups: int) -> None:
        """Seconds for all groups, given by offsets."""
        cdp.frechet_mean(self.records, self.ball, cdp.GDP(1.0), groups=self.groups)

    def peakmem_means(self, case: tuple[str, int], groups: int) -> None:
        """Resident memory, records and interpreter included."""
        cdp.frechet_mean(self.records, self.ball, cdp.GDP(1.0), groups=self.groups)

    def time_variances(self, case: tuple[str, int], groups: int) -> None:
        """Seconds for the variances of all groups."""
        cdp.frechet_variance(self.records, self.ball, cdp.GDP(1.0), groups=self.groups)

    def time_pure_variances(self, case: tuple[str, int], groups: int) -> None:
        """Seconds for the same with Laplace noise."""
        cdp.frechet_variance(self.records, self.ball, cdp.PureDP(40.0), groups=self.groups)


class Labels:
    """Private means of groups whose records stand in no order."""

    def setup(self) -> None:
        """Five thousand groups of twenty."""
        n = 20 * workloads.size(5000)
        self.ball = workloads.ball("sphere:2", 0.8)
        self.records = workloads.in_ball(self.ball, n)
        self.labels = np.random.default_rng(8).permutation(np.repeat(np.arange(n // 20), 20))

    def time_means(self) -> None:
        """Seconds for all groups."""
        cdp.frechet_mean(self.records, self.ball, cdp.GDP(1.0), groups=self.labels)


class Statistics:
    """Further private statistics of groups of two hundred."""

    params = (
        [
            cdp.AdaptiveMean(schedule=(0.3, 0.2, 0.5)),
            cdp.Region(),
            cdp.Interval(),
            cdp.LogCovariance(),
            cdp.MeanHessian(),
        ],
    )
    param_names = ("statistic",)

    def setup(self, statistic: cdp.Statistic[Any]) -> None:
        """A hundred groups."""
        count = workloads.size(100)
        self.ball = workloads.ball("sphere:2", 0.8)
        self.records = workloads.in_ball(self.ball, 200 * count)
        self.groups = np.arange(0, 200 * count + 1, 200)

    def time_groups(self, statistic: cdp.Statistic[Any]) -> None:
        """Seconds for all groups."""
        release(statistic, self.records, self.ball, cdp.GDP(4.0), groups=self.groups)


class Batch:
    """Groups of an Arrow table in no order, of a Parquet file, and one mean over a file."""

    def setup(self) -> None:
        """Twenty records to a group; needs pyarrow."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            # asv takes this for "skip this benchmark"
            raise NotImplementedError from None

        groups = workloads.size(5000)
        n = 20 * groups
        self.ball = workloads.ball("sphere:2", 0.8)
        rows = workloads.in_ball(self.ball, n)
        keys = np.repeat(np.arange(groups), 20)
        order = np.random.default_rng(8).permutation(n)
        self.ordered, self.mixed = (
            pa.table({"site": k, "x": pa.FixedSizeListArray.from_arrays(r.ravel(), 3)})
            for k, r in ((keys, rows), (keys[order], rows[order]))
        )
        self.folder = tempfile.TemporaryDirectory()
        self.source = Path(self.folder.name) / "records.parquet"
        pq.write_table(self.ordered, self.source, row_group_size=10_000)
        self.written = 0
        self.arguments = {
            "points": "x",
            "ball": self.ball,
            "guarantee": cdp.GDP(1.0),
        }

    def teardown(self) -> None:
        """Remove the files."""
        self.folder.cleanup()

    def time_table(self) -> None:
        """Seconds to bring a table's rows in order and release every group."""
        import curvedp.batch

        curvedp.batch.release(cdp.Mean(), self.mixed, by="site", public_keys=True, **self.arguments)

    def _release_file(self) -> None:
        import curvedp.batch

        self.written += 1
        curvedp.batch.release(
            cdp.Mean(),
            self.source,
            out=Path(self.folder.name) / f"out-{self.written}",
            by="site",
            public_keys=True,
            **self.arguments,
        )

    def time_file(self) -> None:
        """Seconds to read a file in chunks and write releases and manifest."""
        self._release_file()

    def peakmem_file(self) -> None:
        """Resident memory of the same, interpreter included."""
        self._release_file()

    def time_mean_of_all_records(self) -> None:
        """Seconds for one mean over a file that is read anew for each gradient."""
        import curvedp.batch

        curvedp.batch.release(cdp.Mean(), self.source, **self.arguments)
