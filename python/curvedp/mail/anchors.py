"""Public anchors: rows embedded without noise, among which private queries are released."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._labels import label_codes
from curvedp._validation import FloatArray
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.mail.cells import Cells, even_sample, leave_one_out, make_cells
from curvedp.mail.landmarks import LANDMARKS, Landmarks, Settings
from curvedp.mail.rows import as_rows


class Anchors:
    """Public rows, embedded without noise from their principal components.

    Made by `PrivateMail.anchors`. Up to 4,096 rows are embedded together; of more, 4,096 landmarks,
    evenly spaced in the order given, and each other row among these, in O(n) time and memory when
    `embedding` is first asked for. Cells embed no more than their candidates.

    Attributes
    ----------
    rows : ndarray, shape (n, m)
        Projected on the ball, relative to its centre.
    codes : ndarray of int, shape (n,), or None
        Class numbers of the labels.
    """

    def __init__(
        self, rows: FloatArray, labels: ArrayLike | None, ball: Ball, settings: Settings
    ) -> None:
        self.ball = ball
        self.bandwidth = settings.bandwidth
        self.rows = ball.enter(rows)
        self.codes = None if labels is None else label_codes(labels, len(rows), "anchor_labels")
        self._chosen = even_sample(len(rows), LANDMARKS)
        codes = None if self.codes is None else self.codes[self._chosen]
        radius = ball.radius * (1 + BOUNDARY_SLACK)
        self.landmarks = Landmarks(self.rows[self._chosen], codes, radius, settings)
        self._cells: dict[int, Cells] = {}

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return int(self.rows.shape[1])

    @property
    def n_components(self) -> int:
        """Columns k of the embedding."""
        return int(self.landmarks.embedding.shape[1])

    @cached_property
    def embedding(self) -> FloatArray:
        """All anchors embedded, shape (n, k)."""
        return self.embed(np.arange(len(self.rows)))

    def embed(self, places: NDArray[np.int64]) -> FloatArray:
        """Rows of `embedding`, by their places in increasing order."""
        if len(self._chosen) == len(self.rows):
            return self.landmarks.embedding[places]
        codes = None if self.codes is None else self.codes[places]
        found = self.landmarks.embed(self.rows[places], codes)
        among = np.minimum(np.searchsorted(self._chosen, places), len(self._chosen) - 1)
        own = self._chosen[among] == places
        found[own] = self.landmarks.embedding[among[own]]
        return found

    @cached_property
    def accuracy(self) -> float | None:
        """Share of anchors whose class the other anchors predict, of 500 at most; None without
        labels."""
        if self.codes is None:
            return None
        tested = even_sample(len(self.rows), 500)
        return float(np.mean(leave_one_out(tested, self.rows, self.codes) == self.codes[tested]))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that a query's release depends on, for the keys of kept noise."""
        shape = (len(self.rows), self.n_components)
        found = hashlib.sha256(repr((self.rows.shape, shape)).encode())
        codes = [] if self.codes is None else [self.codes]
        numbers = np.array([self.bandwidth, self.ball.radius])
        embedding = self.landmarks.embedding
        for array in (numbers, self.ball.center, self.rows, embedding, *codes):
            found.update(array.tobytes())
        return found.hexdigest()

    def cells(self, n_cells: int) -> Cells:
        """The public cells, made once for each number."""
        if n_cells not in self._cells:
            codes = None if self.codes is None else self.codes[self._chosen]
            known = (self.landmarks.embedding, codes)
            self._cells[n_cells] = make_cells(self.rows, self.codes, self.embed, known, n_cells)
        return self._cells[n_cells]

    def transform(self, rows: ArrayLike) -> FloatArray:
        """Places of further **public** rows among the anchors, without noise.

        Means of the embedded landmarks, weighted by the kernel of each row. Nothing protects the
        rows: a private one is released by `PrivateMail.embed_query`, whose method "noise" adds
        noise to the same place.

        Parameters
        ----------
        rows : array-like, shape (q, m)
            Projected on the ball.

        Returns
        -------
        ndarray, shape (q, k)

        Raises
        ------
        ValueError, TypeError
            If the rows have another number of entries than the anchors, or are no numbers.
        """
        points = as_rows(rows)
        if points.shape[1] != self.n_features:
            raise ValueError(
                f"rows must have {self.n_features} entries as the anchors have, "
                f"got {points.shape[1]}"
            )
        return self.place(self.ball.enter(points))

    def place(self, rows: FloatArray) -> FloatArray:
        """The same of rows on the ball, relative to its centre."""
        return self.landmarks.place(rows)
