"""Clusters about a mean that was just found: k-means by sums over the same records.

    a public cover of the ball about the mean, one round: counts and mean logarithms of its cells
    -> k-means on these cells, without records: the first centres
    -> further rounds: centre p_k <- exp_{p_k}(mean of the cut logarithms of its cell)

The steps are those of `curvedp.k_means`; the messages are points of flat space, a block for each
cell (docs/proofs/sums-of-messages.md, section 13).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.sites.variance import last_of
from curvedp.statistics.cells import Cells, cover, seeds, shrunk
from curvedp.statistics.kmeans import clip_lengths
from curvedp.sums.asking import Asking, asked
from curvedp.sums.filter import Filter
from curvedp.sums.found import Found
from curvedp.sums.messages import CELL_LENGTH, ROUND_UNIT, SQUARED, Request, space_of
from curvedp.sums.search import Search

#: Part of the budget of the first centres, in mu^2, and how many rounds follow.
_FIRST, _ROUNDS = 0.4, 3
#: Radius of the cover over that of the ball, records of a cell over the noise of its sum.
_COVER, _FULL = 0.5, 2.0
#: Most cells, and most numbers of a plan's points.
_MOST, _NUMBERS = 200, 2**16
#: A count is taken for no less than so many of its standard deviations.
_LEAST = 3.0


def clusters_about(search: Search, found: Found, budget: Filter, count: int) -> Asking[Found]:
    """Requests for cells, and what was found with centres.

    A void sum is asked for again with what is left; where that is nothing centres stay as they are,
    or there are none. Where the clip level about the mean reaches farther than doubles hold a ball
    nothing is asked.

    Parameters
    ----------
    search : Search
    found : Found
        With a mean.
    budget : Filter
        All that is left of it is spent, but for `spare`.
    count : int
        Number of clusters.
    """
    space, rest = search.geometry.manifold, budget.rest
    assert found.value is not None
    radius = min(found.radius, 0.9 * space.max_ball_radius)
    try:
        ball = Ball(space, found.value.reshape(space.point_shape), radius)
    except ValueError:  # too far out for doubles
        return found
    share = rest * math.sqrt(_FIRST)
    deviation = search.bound("round", search.geometry) / ROUND_UNIT * CELL_LENGTH / share
    full = _FULL * deviation * search.widening * math.sqrt(space.dim)
    most = min(_MOST, _NUMBERS // (space.point_size + 1))
    size = max(2 * count, int(min(most, max(search.number, 0.0) / full)))
    points = _left(ball, cover(ball, size, _COVER * radius))
    if not np.isfinite(points).all():
        return found
    lengths = np.full(len(points), radius)
    first = yield from _cells(search, points, lengths, budget, share)
    if first is None:
        return found
    moved = _moved(ball, points, first.steps * radius)
    still = Cells(first.counts, np.zeros_like(first.steps), first.deviation)
    centers = seeds(ball, ball.enter(_shaped(ball, moved)), np.ones(size), still, count)
    sizes = np.full(count, np.nan)
    points = _left(ball, centers)
    if not np.isfinite(points).all():
        return found
    for number in range(_ROUNDS):
        lengths = clip_lengths(ball, ball.enter(_shaped(ball, points))).clip(*SQUARED)
        share = last_of(search, budget)
        if number < _ROUNDS - 1:
            share = budget.rest / math.sqrt(_ROUNDS - number)
        cells = yield from _cells(search, points, lengths, budget, share)
        if cells is not None:
            points = _moved(ball, points, cells.steps * lengths[:, None])
            sizes = np.maximum(cells.counts, 0.0)
    return replace(found, centers=points, sizes=sizes)


def _cells(
    search: Search, points: FloatArray, lengths: FloatArray, budget: Filter, most: float
) -> Asking[Cells | None]:
    """Counts and steps of the cells of points, over their lengths; None if nothing is left."""
    base = np.concatenate([points.reshape(-1), lengths])
    request = Request("round", most, base, float(lengths.max()), "cells")
    answered = yield from asked(budget, request)
    if answered is None:
        return None
    (noisy, share), flat = answered, space_of(search.geometry, request)
    unit = CELL_LENGTH / (ROUND_UNIT - 8.0 * flat.dim)
    deviation = search.bound("round", flat) / (share / search.widening) * unit
    rows = noisy[:-1].reshape(len(points), -1) * unit
    counts, dim = rows[:, -1], search.geometry.dim
    least = np.maximum(counts, _LEAST * deviation)
    steps = shrunk(rows[:, :-1] / least[:, None], dim * (deviation / least) ** 2)
    return Cells(counts, steps, deviation)


def _moved(ball: Ball, points: FloatArray, coords: FloatArray) -> FloatArray:
    """exp_p(v) of each point, projected on the ball; the point where doubles do not hold that."""
    ends = np.empty_like(points)
    ball.manifold.kernels.exp_coords(np.ascontiguousarray(coords), points, ends)
    inside = ball.enter(_shaped(ball, np.asarray(ball.manifold.project(_shaped(ball, ends)))))
    moved = _left(ball, inside)
    return np.where(np.isfinite(moved).all(axis=1, keepdims=True), moved, points)


def _shaped(ball: Ball, rows: FloatArray) -> FloatArray:
    return rows.reshape(-1, *ball.manifold.point_shape)


def _left(ball: Ball, rows: FloatArray) -> FloatArray:
    """Rows of the ball's frame as points of the manifold, flat."""
    return np.ascontiguousarray(ball.leave(rows)).reshape(len(rows), -1)
