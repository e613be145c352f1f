"""Points of flat space that follow from a record and from released points: section 12 and 13 of
docs/proofs/sums-of-messages.md."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from curvedp._guard import quiet
from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.sums.geometry import across_sphere
from curvedp.sums.messages import Request

#: Numbers of derived points that are held at once.
_NUMBERS = 2**22


@quiet
def derived(manifold: Manifold, records: FloatArray, request: Request) -> FloatArray:
    """Points of so many rows; NaN for a record that is no point, which is left out of sums.

    Parameters
    ----------
    manifold : Manifold
    records : ndarray, shape (n, point_size)
    request : Request
        Of "squares", "cells" or "axes".

    Returns
    -------
    ndarray, shape (n, size)
    """
    assert request.base is not None
    rows, valid = records.copy(), np.zeros(len(records), dtype=bool)
    manifold.kernels.snap(rows, valid)
    if request.of == "squares":
        points = _squares(manifold, rows, request.base[None], request.radius)
    elif request.of == "axes":
        points = _axes(manifold, rows, request.base[:-1], request.radius, request.base[-1])
    else:
        count = len(request.base) // (manifold.point_size + 1)
        bases = request.base[:-count].reshape(count, manifold.point_size)
        points = _cells(manifold, rows, bases, request.base[-count:])
    points[~valid] = np.nan
    return points


def blocks(
    rows: slice, size: int, ends: NDArray[np.int64] | None
) -> Iterator[tuple[slice, NDArray[np.int64] | None]]:
    """Rows, and ends of whole units, of which few enough are held at once.

    One unit of more stands alone: its records are blocks without units.

    Parameters
    ----------
    rows : slice
        All rows, from its start to its stop.
    size : int
        Number of the numbers of a point of each.
    ends : ndarray or None
        Unit j has the rows ``ends[j]:ends[j + 1]``.
    """
    most = max(_NUMBERS // size, 1)
    if ends is None:
        for start in range(rows.start, rows.stop, most):
            yield slice(start, min(start + most, rows.stop)), None
        return
    first = 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield slice(int(ends[first]), int(ends[last])), ends[first : last + 1] - ends[first]
        first = last


def _squares(manifold: Manifold, rows: FloatArray, bases: FloatArray, radius: float) -> FloatArray:
    """(min(t, R)^2, R^2/2), t the distance of the base."""
    dist = np.empty(len(rows))
    manifold.kernels.dist(bases, rows, dist)
    return np.stack([np.minimum(dist, radius) ** 2, np.full_like(dist, 0.5 * radius**2)], axis=1)


def _axes(
    manifold: Manifold, rows: FloatArray, base: FloatArray, radius: float, most: float
) -> FloatArray:
    """w e e^T/W on a sphere, e the direction of a record and w what the Hessian of its clipped half
    squared distance is more along e than across, from -1 to W: entries on and above the diagonal,
    those off it times the root of 2."""
    dist, logs = np.empty(len(rows)), np.empty((len(rows), manifold.dim))
    manifold.kernels.dist(base[None], rows, dist)
    manifold.kernels.log_coords(rows, np.broadcast_to(base, rows.shape).copy(), logs)
    lengths = np.linalg.norm(logs, axis=1)[:, None]
    along = np.divide(logs, lengths, out=np.zeros_like(logs), where=lengths > 0.0)
    cut = radius / np.maximum(dist, radius)
    more = np.where(dist <= radius, 1.0, 0.0) - cut * across_sphere(dist)
    weight = np.clip(more, -1.0, most) / most
    row, column = np.triu_indices(manifold.dim)
    points = weight[:, None] * along[:, row] * along[:, column]
    points[:, row != column] *= math.sqrt(2.0)
    return np.ascontiguousarray(points)


def _cells(
    manifold: Manifold, rows: FloatArray, bases: FloatArray, levels: FloatArray
) -> FloatArray:
    """(log x / R cut to length 1, 1) in the block of the nearest base, R being its level."""
    apart, logs = np.empty((len(rows), len(bases))), np.empty((len(rows), manifold.dim))
    manifold.kernels.pairwise_dist(rows, bases, apart)
    own = apart.argmin(axis=1)
    manifold.kernels.log_coords(rows, bases[own], logs)
    logs /= levels[own, None]
    logs /= np.maximum(np.linalg.norm(logs, axis=1), 1.0)[:, None]
    found, index = np.zeros((len(rows), len(bases), manifold.dim + 1)), np.arange(len(rows))
    found[index, own, :-1] = logs
    found[index, own, -1] = 1.0
    return found.reshape(len(rows), len(bases) * (manifold.dim + 1))
