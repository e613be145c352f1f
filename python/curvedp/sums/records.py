"""Exact sums of records' messages, with noise: what a search asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.sums.derived import blocks, derived
from curvedp.sums.geometry import Geometry, geometry_of, log_diagonals
from curvedp.sums.messages import (
    SCALE_BINS,
    Request,
    bound_of,
    length_of,
    space_of,
    weights_of,
)
from curvedp.sums.noise import Noise, answered, noise_scale


class RecordSums:
    """Exact sums of the messages of records of one space: private.

    Parameters
    ----------
    manifold : Manifold
    records : ndarray, shape (n, *point_shape)
    unit_ends : ndarray of int, shape (units + 1,), or None
        Unit j has the records ``unit_ends[j]:unit_ends[j + 1]``, and sends the mean of their
        messages.
    """

    def __init__(
        self, manifold: Manifold, records: FloatArray, unit_ends: NDArray[np.int64] | None
    ) -> None:
        self.geometry = geometry_of(manifold)
        self._rows = np.ascontiguousarray(records.reshape(len(records), manifold.point_size))
        self._ends = unit_ends
        self._sums = _core.MessageSums(manifold.kernels, self._rows, unit_ends)
        self._of_diagonals: _core.MessageSums | None = None

    def answer(self, request: Request) -> NDArray[np.int64]:
        """The sum that is asked for."""
        if request.of not in ("records", "diagonals"):
            return self._about(request)
        geometry, sums = self.asked(request), self._sums_of(request)
        match request.kind:
            case "start":
                total = sums.start()
                assert total is not None
                return total
            case "scale":
                return sums.scale(SCALE_BINS)
        assert request.base is not None
        if request.kind == "histogram":
            assert request.levels is not None
            return sums.histogram(request.base, request.levels)
        if request.kind == "tail":
            return sums.tail(request.base, geometry.largest, geometry.bins)
        return sums.round(request.base, request.radius)

    def noisy(
        self, request: Request, noise: Noise, stream: _core.Stream, replaces: bool, changed: int
    ) -> FloatArray:
        """The sum that is asked for with its noise: released.

        Parameters
        ----------
        request : Request
        noise : Noise
        stream : Stream
        replaces, changed
            See `bound_of`.
        """
        bound = self.bound(request, noise, replaces, changed)
        weights = weights_of(request, self.asked(request))
        return noise.answered(self.answer(request), request, bound, weights, stream)

    def share_of_noisy(
        self, request: Request, stream: _core.Stream, *, replaces: bool, changed: int, shares: int
    ) -> NDArray[np.int64]:
        """The same modulo 2^64, with one of so many shares of normal noise: see `noise_scale`."""
        geometry = self.asked(request)
        bound = bound_of(request.kind, geometry, replaces, changed)
        scale = noise_scale(bound, request.share, shares)
        return answered(self.answer(request), scale, weights_of(request, geometry), stream)

    def bound(self, request: Request, noise: Noise, replaces: bool, changed: int) -> float:
        """See `Noise.bound`."""
        return noise.bound(request.kind, self.asked(request), replaces, changed)

    def asked(self, request: Request) -> Geometry:
        """The space of a request."""
        return space_of(self.geometry, request)

    def _sums_of(self, request: Request) -> _core.MessageSums:
        """Sums of what a request is of."""
        if request.of == "records":
            return self._sums
        if self._of_diagonals is None:
            shape = self.geometry.manifold.point_shape
            index = np.arange(shape[0])
            own = self._rows.reshape(-1, *shape)
            places = (index, index) if len(shape) == 2 else (index, index, 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(own[(slice(None), *places)])
            for rows, _ in blocks(slice(0, len(own)), self._rows.shape[1], None):
                point = self.geometry.manifold.as_points(own[rows]).reshape(len(logs[rows]), -1)
                logs[rows][np.isnan(point[:, 0])] = np.nan
            flat = log_diagonals(shape[0]).manifold.kernels
            self._of_diagonals = _core.MessageSums(flat, np.ascontiguousarray(logs), self._ends)
        return self._of_diagonals

    def _about(self, request: Request) -> NDArray[np.int64]:
        """The sum of messages of derived points."""
        size = self.asked(request).dim
        total = np.zeros(size + 1, dtype=np.int64)
        for rows, ends in blocks(slice(0, len(self._rows)), size, self._ends):
            if ends is None or len(ends) > 2:
                total += self._about_rows(request, rows, ends)
                continue
            own = np.zeros_like(total)  # a unit alone, however many records it has
            for part, _ in blocks(rows, size, None):
                own += self._about_rows(request, part, None)
            total += np.sign(own) * (np.abs(own) // max(int(ends[1]), 1))  # towards zero
        return total

    def _about_rows(
        self, request: Request, rows: slice, ends: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        flat, manifold = self.asked(request), self.geometry.manifold
        points = derived(manifold, self._rows[rows], request)
        sums = _core.MessageSums(flat.manifold.kernels, points, ends)
        return sums.round(np.zeros(flat.dim), length_of(request))
