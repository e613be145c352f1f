"""Landmarks: rows embedded together without noise, and further rows among them.

landmarks    Z_0 principal components, Z_{t+1} = f(Z_t), f an iteration of the embedding
another row  z_0 its principal components, z_{t+1} the same f with sums over the landmarks
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.mail.iteration import Laplacians
from curvedp.sensitivity.laplacian_bounds import weight_floor

#: The most rows that are iterated among each other, in n^2 kernel weights.
LANDMARKS = 4096

#: Rows whose weights are held at once.
_BLOCK = 1024

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """Parameters of an embedding without noise, those of `PrivateMail`."""

    n_components: int
    bandwidth: float
    label_bandwidth: float | None
    alpha: float
    form: str
    iterations: int
    dtype: str
    memory_limit: int


class Landmarks:
    """Public rows embedded together, from their principal components.

    Parameters
    ----------
    rows : ndarray, shape (l, m)
    codes : ndarray of int, shape (l,), or None
    radius : float
        Of a ball that holds all rows, about 0.
    settings : Settings
    """

    def __init__(
        self, rows: FloatArray, codes: Codes | None, radius: float, settings: Settings
    ) -> None:
        self.rows = rows
        self.codes = codes
        self._settings = settings
        self._floor = weight_floor(4 * radius**2, settings.bandwidth)
        operators = Laplacians(
            rows,
            settings.bandwidth,
            labels=codes,
            label_bandwidth=settings.label_bandwidth,
            radius=radius,
            dtype=settings.dtype,
            memory_limit=settings.memory_limit,
        )
        self._mean = rows.mean(axis=0)
        centred = rows - self._mean
        _, vectors = np.linalg.eigh(centred.T @ centred)
        self._axes = vectors[:, ::-1][:, : settings.n_components]
        self._steps = [self._start(centred)]
        for _ in range(settings.iterations):
            step = operators.step(self._steps[-1], settings.alpha, settings.form)
            self._steps.append(step)

    @property
    def embedding(self) -> FloatArray:
        """The landmarks embedded, shape (l, k)."""
        return self._steps[-1]

    def _start(self, centred: FloatArray) -> FloatArray:
        """Coordinates along the principal axes, zeros beyond the rank."""
        coords = centred @ self._axes
        missing = self._settings.n_components - coords.shape[1]
        return np.ascontiguousarray(np.pad(coords, ((0, 0), (0, max(missing, 0)))))

    def embed(self, rows: FloatArray, codes: Codes | None) -> FloatArray:
        """Further rows, with labels of the landmarks' classes if these have any, shape (q, k)."""
        found = np.empty((len(rows), self._settings.n_components))
        earlier = np.hstack([*self._steps[:-1], np.ones((len(self.rows), 1))])
        label_sums = None if codes is None else self._label_sums(int(codes.max()) + 1)
        for part, weights in self._weights(rows):
            z = self._start(rows[part] - self._mean)
            sums = weights @ earlier
            own = None
            if codes is not None and label_sums is not None:
                own = label_sums[codes[part]]
            found[part] = self._follow(z, sums, own)
        return found

    def _follow(self, z: FloatArray, sums: FloatArray, label_sums: FloatArray | None) -> FloatArray:
        """All iterations of a block, from sums over the landmarks of every iteration.

        The sums of an iteration's k columns stand side by side, last those of the weights alone.
        """
        k, alpha = self._settings.n_components, self._settings.alpha
        degrees = sums[:, -1:]
        for number in range(len(self._steps) - 1):
            columns = slice(number * k, (number + 1) * k)
            pulled, pushed = z - sums[:, columns] / degrees, np.zeros_like(z)
            if label_sums is not None and alpha != 0:
                label_degrees = label_sums[:, -1:]
                if self._settings.form == "published":
                    pushed = (label_degrees * z - label_sums[:, columns]) / degrees
                else:
                    pushed = z - label_sums[:, columns] / label_degrees
            z = z + 0.5 * (alpha * pushed - pulled)
        return z

    def _label_sums(self, classes: int) -> FloatArray:
        """Sums of all iterations by the label kernel of each class, as `_follow` takes them."""
        assert self.codes is not None
        settings = self._settings
        other = weight_floor(2.0, settings.label_bandwidth or settings.bandwidth)
        count = max(classes, int(self.codes.max()) + 1)
        member = (self.codes[None, :] == np.arange(count)[:, None]).astype(np.float64)
        kernel = other + (1 - other) * member
        sums: FloatArray = kernel @ np.hstack([*self._steps[:-1], np.ones((len(self.rows), 1))])
        return sums

    def place(self, rows: FloatArray) -> FloatArray:
        """Means of the embedded landmarks, weighted by the kernel of each row, shape (q, k)."""
        found = np.empty((len(rows), self._settings.n_components))
        for part, weights in self._weights(rows):
            found[part] = weights @ self.embedding / weights.sum(axis=1, keepdims=True)
        return found

    def _weights(self, rows: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Kernel weights between blocks of rows and all landmarks."""
        sigma = self._settings.bandwidth
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(rows)))
            squares = scipy.spatial.distance.cdist(rows[part], self.rows, "sqeuclidean")
            yield part, np.clip(np.exp(-squares / (2 * sigma**2)), self._floor, 1.0)
