"""Records of units that are known by name: one record in place of each unit's own.

The record is the Fréchet mean of the unit's records, projected on the ball. It depends on that unit
alone and lies in the ball, so replacing all records of a unit replaces one record: every
sensitivity holds as it stands, whatever the mean's accuracy.
"""

from __future__ import annotations

import itertools

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.statistics.grouping import Offsets


def one_record_each(
    balls: tuple[Ball, ...], records: FloatArray, ends: Offsets, offsets: Offsets
) -> FloatArray:
    """The records of units, shape (units, *point_shape); a unit's only record stays as it is.

    Parameters
    ----------
    balls : tuple of Ball
        One for all groups, or one for each.
    records : ndarray, shape (n, *point_shape)
        Those of one unit after the other, group by group.
    ends : ndarray of int, shape (units + 1,)
        Unit j has the records ``ends[j]:ends[j + 1]``.
    offsets : ndarray of int, shape (groups + 1,)
        Group g has the units ``offsets[g]:offsets[g + 1]``.
    """
    found = np.empty((len(ends) - 1, *records.shape[1:]))
    size = balls[0].manifold.point_size
    rows, out = records.reshape(len(records), size), found.reshape(len(found), size)
    cuts = [0, len(found)] if len(balls) == 1 else offsets.tolist()
    for ball, (first, last) in zip(balls, itertools.pairwise(cuts), strict=True):
        own = ends[first : last + 1]
        ball.frame.of_units(rows[own[0] : own[-1]], own - own[0], out[first:last])
    return found
