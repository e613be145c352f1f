"""Public anchors, and releases about one private query among them.

    query -> its public cell -> k-ary randomised response -> the cell's embedded representative
    query -> kernel-weighted mean of the embedded anchors -> Gaussian (or Laplace) noise

Proofs: docs/proofs/privatemail.md.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._labels import label_codes
from curvedp._validation import FloatArray, as_count
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.laplacian_bounds import weight_floor
from curvedp.mail.cells import Cells, choose_n_cells, make_cells, randomised_response, sufficient
from curvedp.mail.iteration import Laplacians, rounding_error
from curvedp.mail.noise import noisy_embedding
from curvedp.mechanisms import outward_scale, ways_to_meet
from curvedp.privacy import Guarantee, Release
from curvedp.statistics.entry import Entry


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """A private query among embedded public anchors.

    Attributes
    ----------
    release : Release
        The release about the query, with its guarantee.
    anchors : ndarray, shape (n, k)
        The embedded anchors: public.
    """

    release: Release
    anchors: FloatArray

    @property
    def value(self) -> FloatArray:
        """The embedded query, shape (k,)."""
        return self.release.value

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for the query: its neighbours are all other queries."""
        return self.release.guarantee

    def report(self) -> str:
        """Plain text: the promise, on what, at what cost."""
        return self.release.report()


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
        self.rows = ball._enter(rows)
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

    def release_noise(self, entry: Entry) -> QueryRelease:
        """The query's place among the embedded anchors, with noise.

        Parameters
        ----------
        entry : Entry
            The query on its way into a release; made by `PrivateMail.embed_query`.

        Returns
        -------
        QueryRelease
        """
        diameter = _core.diameter(self.embedding)
        largest = float(np.linalg.norm(self.embedding, axis=1).max())
        delta = sensitivity.mail_query(
            bandwidth=self.bandwidth,
            diameter=max(diameter, 1e-300),
            radius=entry.ball.radius,
        )
        entry.spend("PrivateMail query")
        exact = self.place(entry.enter())
        release = noisy_embedding(
            entry,
            exact,
            ways_to_meet(entry.guarantee)[0],
            sensitivity=delta,
            rounding=rounding_error(len(self.rows), largest, 0.0),
            largest=largest,
            stage=1,
        )
        release = dataclasses.replace(
            release,
            guarantee=entry.promise(entry.guarantee),
            value=release.value[0],
            statistic="place of a query among anchors",
        )
        return QueryRelease(release, self.embedding)

    def release_cell(self, entry: Entry, n_cells: int | None) -> QueryRelease:
        """The representative of the query's cell after randomised response.

        Parameters
        ----------
        entry : Entry
            As in `release_noise`.
        n_cells : int, optional
            By default chosen from epsilon and the number of anchors.

        Returns
        -------
        QueryRelease
        """
        epsilon = sufficient(entry.guarantee)
        if n_cells is None:
            n_cells = choose_n_cells(epsilon, len(self.rows), self.codes)
        cells = self.cells(as_count(n_cells, "n_cells", least=2, most=len(self.rows)))
        entry.spend("PrivateMail query")
        cell = int(cells.find(entry.enter())[0])
        released = randomised_response(cell, cells.count, epsilon, entry.stream(1))
        release = entry.release(
            entry.promise(entry.guarantee),
            value=cells.values[released],
            mechanism=f"{cells.count}-ary randomised response",
            statistic="cell of a query among anchors",
            sensitivity=1.0,
            solver_tolerance=0.0,
            scale=outward_scale(1.0, epsilon),
            expected_error=None,
        )
        return QueryRelease(release, self.embedding)


def principal_components(rows: FloatArray, n_components: int) -> FloatArray:
    """Coordinates along the leading principal directions, zeros beyond the rank, shape (n, k)."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    coords = centred @ vectors[:, ::-1][:, :n_components]
    missing = n_components - coords.shape[1]
    return np.ascontiguousarray(np.pad(coords, ((0, 0), (0, max(missing, 0)))))
