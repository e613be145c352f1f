"""PrivateMail: iterations with kernel weights kept and computed anew, releases, one query."""

from __future__ import annotations

import numpy as np

import curvedp as cdp
from curvedp.mail import Laplacians, PrivateMail

from . import workloads


def _unit_rows(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(6)
    labels = np.arange(n) % 10
    rows = generator.standard_normal((n, m)) + 2 * generator.standard_normal((10, m))[labels]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


class Iteration:
    """One iteration of the embedding with k = 16 columns, m = 256 features."""

    params = (["stored", "streamed"], ["float64", "float32"], [500, 4000])
    param_names = ("weights", "dtype", "n")

    def setup(self, weights: str, dtype: str, n: int) -> None:
        """Rows of ten classes; stored weights are computed here."""
        count = workloads.size(n)
        self.rows, self.labels = _unit_rows(count, 256)
        self.z = np.random.default_rng(7).standard_normal((count, 16))
        self.options = {"dtype": dtype, "memory_limit": 2**31 if weights == "stored" else 0}
        self.operators = self._build()

    def _build(self) -> Laplacians:
        return Laplacians(self.rows, 1.0, labels=self.labels, radius=1.0, **self.options)

    def time_kernel(self, weights: str, dtype: str, n: int) -> None:
        """Seconds until the first iteration can begin."""
        self._build()

    def time_step(self, weights: str, dtype: str, n: int) -> None:
        """Seconds for one iteration."""
        self.operators.step(self.z, 0.5)

    def peakmem_step(self, weights: str, dtype: str, n: int) -> None:
        """Resident memory: quadratic in n where weights are kept, linear where they are not."""
        self.operators.step(self.z, 0.5)


class Release:
    """A private embedding, and one private query among public anchors."""

    def setup(self) -> None:
        """1000 rows, of which a query is one."""
        self.rows, self.labels = _unit_rows(workloads.size(1000), 64)
        how = {"max_norm": 1.0, "bandwidth": 1.0, "private_iterations": 2}
        self.mail = PrivateMail(4, guarantee=cdp.ApproxDP(1.0, 1e-6), **how)
        self.anchors = self.mail.anchors(self.rows, self.labels)

    def time_fit(self) -> None:
        """Seconds for two private iterations and two of post-processing."""
        self.mail.fit(self.rows, self.labels)

    def time_anchors(self) -> None:
        """Seconds for the embedding of the anchors and their cells, once."""
        self.mail.anchors(self.rows, self.labels)

    def time_query(self) -> None:
        """Seconds for one query by randomised response."""
        self.mail.embed_query(self.rows[0], self.anchors)

    def time_queries(self) -> None:
        """Seconds for a query of each row, all in one call."""
        self.mail.embed_queries(self.rows, self.anchors)
