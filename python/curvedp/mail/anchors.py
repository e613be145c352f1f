"""Public anchors: rows embedded without noise, among which private queries are released."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._labels import label_codes
from curvedp._validation import FloatArray
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.laplacian_bounds import weight_floor
from curvedp.mail.cells import Cells, make_cells
from curvedp.mail.iteration import Laplacians


class Anchors:
    """Public rows, embedded without noise from their principal components.

    Made by `PrivateMail.anchors`.

    Attributes
    ----------
    rows : ndarray, shape (n, m)
        Projected on the ball, relative to its centre.
    codes : ndarray of int, shape (n,), or None
        Class numbers of the labels.
    embedding : ndarray, shape (n, k)
    """

    def __init__(
        self,
        rows: FloatArray,
        labels: ArrayLike | None,
        *,
        ball: Ball,
        n_components: int,
        bandwidth: float,
        label_bandwidth: float | None,
        alpha: float,
        form: str,
        iterations: int,
        dtype: str,
        memory_limit: int,
    ) -> None:
        self.ball = ball
        self.bandwidth = bandwidth
        self.rows = ball.enter(rows)
        self.codes = None if labels is None else label_codes(labels, len(rows), "anchor_labels")
        operators = Laplacians(
            self.rows,
            bandwidth,
            labels=self.codes,
            label_bandwidth=label_bandwidth,
            radius=ball.radius * (1 + BOUNDARY_SLACK),
            dtype=dtype,
            memory_limit=memory_limit,
        )
        z = principal_components(self.rows, n_components)
        for _ in range(iterations):
            z = operators.step(z, alpha, form)
        self.embedding = z
        self._cells: dict[int, Cells] = {}

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return int(self.rows.shape[1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that a query's release depends on, for the keys of kept noise."""
        found = hashlib.sha256(repr((self.rows.shape, self.embedding.shape)).encode())
        codes = [] if self.codes is None else [self.codes]
        numbers = np.array([self.bandwidth, self.ball.radius])
        for array in (numbers, self.ball.center, self.rows, self.embedding, *codes):
            found.update(array.tobytes())
        return found.hexdigest()

    def cells(self, n_cells: int) -> Cells:
        """The public cells, made once for each number."""
        if n_cells not in self._cells:
            self._cells[n_cells] = make_cells(self.rows, self.codes, self.embedding, n_cells)
        return self._cells[n_cells]

    def place(self, queries: FloatArray) -> FloatArray:
        """Means of the embedded anchors, weighted by the kernel of each query, shape (q, k)."""
        floor = weight_floor(4 * (self.ball.radius * (1 + BOUNDARY_SLACK)) ** 2, self.bandwidth)
        squares = scipy.spatial.distance.cdist(queries, self.rows, "sqeuclidean")
        weights = np.clip(np.exp(-squares / (2 * self.bandwidth**2)), floor, 1.0)
        means: FloatArray = weights @ self.embedding / weights.sum(axis=1, keepdims=True)
        return means


def principal_components(rows: FloatArray, n_components: int) -> FloatArray:
    """Coordinates along the leading principal directions, zeros beyond the rank, shape (n, k)."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    coords = centred @ vectors[:, ::-1][:, :n_components]
    missing = n_components - coords.shape[1]
    return np.ascontiguousarray(np.pad(coords, ((0, 0), (0, max(missing, 0)))))
