"""Sums of records' messages, exact and with noise: what a search asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.sums.geometry import Geometry, geometry_of, log_diagonals
from curvedp.sums.messages import (
    SCALE_BINS,
    Request,
    answered,
    bound_of,
    noise_scale,
    weights_of,
)


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
        self._of_diagonals: tuple[Geometry, _core.MessageSums] | None = None

    def answer(self, request: Request) -> NDArray[np.int64]:
        """The sum that is asked for."""
        geometry, sums = self._asked(request)
        match request.kind:
            case "start":
                total = sums.start()
                assert total is not None
                return total
            case "scale":
                return sums.scale(SCALE_BINS)
        assert request.base is not None
        if request.kind == "tail":
            return sums.tail(request.base, geometry.largest, geometry.bins)
        return sums.round(request.base, request.radius)

    def noisy(
        self,
        request: Request,
        stream: _core.Stream,
        *,
        replaces: bool,
        moved: int,
        shares: int = 1,
    ) -> NDArray[np.int64]:
        """The sum that is asked for with its noise, modulo 2^64: released.

        Parameters
        ----------
        request : Request
        stream : Stream
        replaces, moved
            See `bound_of`.
        shares : int
            See `noise_scale`.
        """
        scale = noise_scale(self.bound(request, replaces, moved), request.mu, shares)
        weights = weights_of(request, self._asked(request)[0])
        return answered(self.answer(request), scale, weights, stream)

    def bound(self, request: Request, replaces: bool, moved: int) -> float:
        """See `bound_of`."""
        return bound_of(request.kind, self._asked(request)[0], replaces, moved)

    def _asked(self, request: Request) -> tuple[Geometry, _core.MessageSums]:
        """The space of a request, and its sums."""
        if not request.of_diagonals:
            return self.geometry, self._sums
        if self._of_diagonals is None:
            shape = self.geometry.manifold.point_shape
            index = np.arange(shape[0])
            own = self._rows.reshape(-1, *shape)
            places = (index, index) if len(shape) == 2 else (index, index, 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(own[(slice(None), *places)])
            flat = log_diagonals(shape[0])
            sums = _core.MessageSums(flat.manifold.kernels, np.ascontiguousarray(logs), self._ends)
            self._of_diagonals = flat, sums
        return self._of_diagonals
