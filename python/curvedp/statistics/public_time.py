"""Answers at times that say nothing about the records: ``timing="steady"``.

    public records -> the same work, timed -> period -> the work itself -> wait for the period's end

The period is found before a record is seen, from public records that take long. Work that takes
longer still is answered after two periods, four, eight, ... (predictive mitigation: Askarov, Zhang
and Myers 2010).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.product_ball import ProductBall
from curvedp.statistics.grouping import Offsets

Timing = Literal["prompt", "steady"]
TIMINGS = ("prompt", "steady")
Given = TypeVar("Given")
Answer = TypeVar("Answer")
#: Coordinates at the centre of so many public records, in radii, in a space of that dimension.
Coordinates = Callable[[int, int], FloatArray]

#: Periods last so many times as long as the work on public records: room for a busy machine.
_ROOM = 4.0
#: Shortest period in seconds, for a clock that stands still meanwhile.
_SHORTEST = 1e-6
#: The last seconds before an answer, awake: how soon sleep ends depends on how long it was.
_AWAKE = 1e-3
#: Records that differ from each other; more repeat them.
_DISTINCT = 1024
#: Distances from the centre of those on one side, in radii: half of them are projected.
_NEAREST, _FARTHEST = 0.5, 1.5
#: Distance of those at two places, in radii; the angle between these, and the second one's share.
_OUTSIDE, _ANGLE, _SHARE = 1.2, 3.0, 0.4
#: Without a ball they are so near to each other, far from the origin: a search comes closer with
#: every sum until its budget ends, so none takes more.
_NEAR = 2.0**-20


def at_public_time(work: Callable[[Given], Answer], public: Iterable[Given], own: Given) -> Answer:
    """``work(own)``, returned 1, 2, 4, 8, ... periods after it began.

    Parameters
    ----------
    work : callable
    public : iterable
        What it is called with before; the period is a multiple of the longest time that it takes.
    own : object
    """
    longest, begin = 0.0, time.perf_counter()
    for given in public:
        work(given)
        del given  # large
        start, begin = begin, time.perf_counter()
        longest = max(longest, begin - start)
    answer = work(own)
    wait = max(_ROOM * longest, _SHORTEST)
    while begin + wait < time.perf_counter():
        wait *= 2.0
    while (left := begin + wait - time.perf_counter()) > 0.0:
        time.sleep(max(left - _AWAKE, 0.0))
    return answer


def on_one_side(count: int, dim: int) -> FloatArray:
    """Coordinates of records that all differ: each pass over them takes long."""
    rng = np.random.default_rng(0)
    coords = np.abs(rng.standard_normal((count, dim)))
    lengths = rng.uniform(_NEAREST, _FARTHEST, (count, 1))
    return np.asarray(lengths * coords / np.linalg.norm(coords, axis=1, keepdims=True))


def at_two_places(count: int, dim: int) -> FloatArray:
    """Coordinates of records outside of the ball, nearly opposite: a mean takes many passes."""
    first = np.full(dim, 1.0 / math.sqrt(dim))
    across = np.eye(dim)[-1] - first[-1] * first
    across *= 1.0 / max(float(np.linalg.norm(across)), 0.5)  # zero on a line
    second = math.cos(_ANGLE) * first + math.sin(_ANGLE) * across
    is_second = np.arange(count) % 10 < 10 * _SHARE
    return _OUTSIDE * np.where(is_second[:, None], second, first)


#: The kinds of public records.
KINDS: tuple[Coordinates, ...] = (on_one_side, at_two_places)


def slow_records(
    kind: Coordinates, balls: Sequence[Ball], offsets: Offsets, shape: tuple[int, ...]
) -> FloatArray:
    """Public records of a kind.

    Parameters
    ----------
    kind : callable
    balls : sequence of Ball
        One for all groups, or one for each.
    offsets : ndarray of int, shape (groups + 1,)
        Group g has the records ``offsets[g]:offsets[g + 1]``.
    shape : tuple of int
        (n, *point_shape).
    """
    if len(balls) == 1:
        return np.resize(_points(kind, balls[0], min(shape[0], _DISTINCT)), shape)
    found = np.empty(shape)
    for ball, (first, last) in zip(balls, itertools.pairwise(offsets.tolist()), strict=True):
        own = found[first:last]
        own[:] = np.resize(_points(kind, ball, min(len(own), _DISTINCT)), own.shape)
    return found


def _points(kind: Coordinates, ball: Ball, count: int) -> FloatArray:
    if isinstance(ball, ProductBall):
        return ball.manifold.join([_points(kind, factor, count) for factor in ball.factors])
    space = ball.manifold
    if math.isfinite(ball.radius):
        coords = ball.radius * kind(count, space.dim)
    else:
        there = np.full(space.dim, 1.0 / math.sqrt(space.dim))
        coords = min(1.0, 0.5 * space.max_ball_radius) * (there + _NEAR * kind(count, space.dim))
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
