"""Records of units that are known by name: one record in place of each unit's own.

The record is the Fréchet mean of the unit's records, projected on the ball. It depends on that unit
alone and lies in the ball, so replacing all records of a unit replaces one record: every
sensitivity holds as it stands, whatever the mean's accuracy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.statistics.grouping import Offsets

#: Tolerance of a unit's mean, in radii.
_TOLERANCE = 1e-9


def one_record_each(
    balls: tuple[Ball, ...], records: FloatArray, ends: Offsets, group: NDArray[np.int64]
) -> FloatArray:
    """The records of units, shape (units, *point_shape); a unit's only record stays as it is.

    Parameters
    ----------
    balls : tuple of Ball
        One for all groups, or one for each.
    records : ndarray, shape (n, *point_shape)
        Those of one unit after the other.
    ends : ndarray of int, shape (units + 1,)
        Unit j has the records ``ends[j]:ends[j + 1]``.
    group : ndarray of int, shape (units,)
        The number of each unit's group.
    """
    counts = np.diff(ends)
    found = records[ends[:-1]].copy()
    plans: dict[tuple[int, int], _core.Plan | None] = {}
    for unit in np.flatnonzero(counts > 1).tolist():
        number, count = 0 if len(balls) == 1 else int(group[unit]), int(counts[unit])
        ball = balls[number]
        if (number, count) not in plans:
            plans[number, count] = ball._frame.plan(count, _TOLERANCE * ball.radius)
        rows = ball._enter(records[ends[unit] : ends[unit + 1]])
        found[unit] = _mean(ball, rows, plans[number, count])
    return found


def _mean(ball: Ball, rows: FloatArray, plan: _core.Plan | None) -> FloatArray:
    """The mean of rows of the frame; in the chart at the centre where none can be certified."""
    frame = ball._frame
    if plan is not None:
        mean = frame.mean(rows, plan)
    else:
        coords = np.empty((len(rows), ball.manifold.dim))
        frame.manifold.log_coords(rows, frame.origin[None], coords)
        mean = np.empty_like(frame.origin)
        frame.manifold.exp_coords(coords.mean(axis=0)[None], frame.origin[None], mean[None])
    return np.asarray(ball._leave(mean[None])[0])
