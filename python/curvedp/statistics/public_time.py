"""Answers at times that say nothing about the records: ``timing="steady"``.

    public records -> the same work, timed -> period -> the work itself -> wait for the period's end

The period is found before a record is seen, from public records that take at least as long as any
others known. Work that takes longer still is answered after two periods, four, eight, ...
(predictive mitigation: Askarov, Zhang and Myers 2010).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball, ProductBall
from curvedp.statistics.grouping import Offsets

Timing = Literal["prompt", "steady"]
TIMINGS = ("prompt", "steady")
Answer = TypeVar("Answer")

#: Periods last so many times as long as the work on public records: room for a busy machine.
_ROOM = 4.0
#: Shortest period in seconds, for a clock that stands still meanwhile.
_SHORTEST = 1e-6
#: Records that differ from each other; more repeat them.
_DISTINCT = 1024
#: Their distances from the centre, in radii: half of them are projected.
_NEAREST, _FARTHEST = 0.5, 1.5


def at_public_time(rehearse: Callable[[], Any], work: Callable[[], Answer]) -> Answer:
    """What `work` returns, 1, 2, 4, 8, ... periods after it began.

    Parameters
    ----------
    rehearse : callable
        The same work on public records, whose time the period is a multiple of.
    work : callable
    """
    start = time.perf_counter()
    rehearse()
    begin = time.perf_counter()
    answer = work()
    wait = max(_ROOM * (begin - start), _SHORTEST)
    while begin + wait < time.perf_counter():
        wait *= 2.0
    while (left := begin + wait - time.perf_counter()) > 0.0:
        time.sleep(left)
    return answer


def slow_records(balls: Sequence[Ball], offsets: Offsets, shape: tuple[int, ...]) -> FloatArray:
    """Public records to one side of the ball's centre, half of them outside of it.

    Means of such records take many passes and each of these long: eigenvalues lie apart, no
    logarithm is zero.

    Parameters
    ----------
    balls : sequence of Ball
        One for all groups, or one for each.
    offsets : ndarray of int, shape (groups + 1,)
        Group g has the records ``offsets[g]:offsets[g + 1]``.
    shape : tuple of int
        (n, *point_shape).
    """
    if len(balls) == 1:
        return np.resize(_to_one_side(balls[0], min(shape[0], _DISTINCT)), shape)
    found = np.empty(shape)
    for ball, (first, last) in zip(balls, itertools.pairwise(offsets.tolist()), strict=True):
        own = found[first:last]
        own[:] = np.resize(_to_one_side(ball, min(len(own), _DISTINCT)), own.shape)
    return found


def _to_one_side(ball: Ball, count: int) -> FloatArray:
    if isinstance(ball, ProductBall):
        return ball.manifold.join([_to_one_side(factor, count) for factor in ball.factors])
    space, rng = ball.manifold, np.random.default_rng(0)
    coords = np.abs(rng.standard_normal((count, space.dim)))
    lengths = ball.radius * rng.uniform(_NEAREST, _FARTHEST, (count, 1))
    coords *= lengths / np.linalg.norm(coords, axis=1, keepdims=True)
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
