"""Cells of records about points: what one noisy round of k-means releases, and what follows.

    record x -> its nearest point p_k -> (log_{p_k} x / t_k shortened to length 1, 1) in row k

The noisy table holds sums and counts; everything after it is post-processing. Points are rows of
the ball's frame. Proof: docs/proofs/private-k-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, PureDP
from curvedp.statistics.grouping import Offsets

Codes = NDArray[np.int64]

#: Records whose distances to all points are held at once.
_BLOCK = 4096
#: A count is taken for no less than so many of its standard deviations.
_LEAST = 3.0
#: Candidates for each point of a cover.
_CANDIDATES = 8
#: Cells count what exceeds so many standard deviations.
_CUT = 2.0
#: Runs of k-means on released cells, and steps of each.
_RUNS, _STEPS = 6, 12
#: Room for the rounding of a length, in up to 2000 dimensions.
_BELOW_ONE = 1.0 - 2.0**-40
#: Seed of what is random and public: covers, and runs on released cells.
_PUBLIC = 0


@dataclass(frozen=True)
class Rows:
    """Records in the frame of a ball, each of k records of a unit with the weight 1/k.

    Attributes
    ----------
    points : ndarray, shape (records, point_size)
    unit_ends : ndarray of int, shape (units + 1,), or None
        Unit j has the rows ``unit_ends[j]:unit_ends[j + 1]``; None if each record is a unit.
    """

    points: FloatArray
    unit_ends: Offsets | None = None

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.points) if self.unit_ends is None else len(self.unit_ends) - 1

    def of_units(self, own: Codes, logs: FloatArray) -> tuple[Codes, FloatArray, FloatArray]:
        """Part of each unit in each cell: the cell, the unit's share in it, and share times mean.

        Means of shortened logarithms have length at most 1, exactly.
        """
        if self.unit_ends is None:
            return own, np.ones(len(own)), logs
        sizes = np.diff(self.unit_ends)
        unit = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((own, unit))
        own, unit = own[order], unit[order]
        starts = np.flatnonzero(np.append(True, (own[1:] != own[:-1]) | (unit[1:] != unit[:-1])))
        held = np.diff(np.append(starts, len(own)))
        means = _short(np.add.reduceat(_short(logs[order]), starts) / held[:, None])
        shares = held / sizes[unit[starts]]
        return own[starts], shares, means * shares[:, None]


@dataclass(frozen=True)
class Cells:
    """The release of one round.

    Attributes
    ----------
    counts : ndarray, shape (m,)
        Noisy numbers of units; they add up to n.
    steps : ndarray, shape (m, dim)
        Noisy mean logarithms over their clipping lengths, shortened to length 1 and shrunk.
    deviation : float
        Of a count's noise.
    """

    counts: FloatArray
    steps: FloatArray
    deviation: float


def cell_noise(dim: int, cells: int, n: int, changed: int, share: PureDP | GDP) -> VectorNoise:
    """Noise for each row of a table of `cells` cells, when `changed` of its n units change.

    The table over n moves by at most 2/n for each unit in Frobenius norm, and by 2 sqrt 2/n in
    the sum of the lengths of rows, 2/n if there is one row.
    """
    apart = math.sqrt(2.0) if isinstance(share, PureDP) and cells > 1 else 1.0
    return VectorNoise.of(
        dim + 1,
        2.0 * apart * changed / n,
        2 * (_core.summation_error(n) + 4 * 2.0**-53),
        math.sqrt(2.0),
        share,
    )


def release_cells(
    ball: Ball,
    rows: Rows,
    points: FloatArray,
    lengths: FloatArray,
    noise: VectorNoise,
    stream: _core.Stream,
) -> Cells:
    """One round: counts and mean logarithms of the records nearest to each point, with noise."""
    n, dim = rows.n, ball.manifold.dim
    noisy = n * noise.add(table(ball, rows, points, lengths), stream)
    sums, counts = noisy[:, :dim], noisy[:, dim]
    counts = counts + (n - counts.sum()) / len(counts)  # n is public
    deviation = n * noise.deviation
    least = np.maximum(counts, _LEAST * deviation)
    steps = shrunk(sums / least[:, None], dim * (deviation / least) ** 2)
    return Cells(counts, steps, deviation)


def table(ball: Ball, rows: Rows, points: FloatArray, lengths: FloatArray) -> FloatArray:
    """Sums of shortened logarithms and counts of each cell, over n, shape (m, dim + 1)."""
    n, dim = rows.n, ball.manifold.dim
    own = nearest(ball, rows.points, points)
    logs = _logarithms(ball, rows.points, points[own])
    logs /= lengths[own][:, None]
    own, shares, logs = rows.of_units(own, logs)
    found = np.zeros((len(points), dim + 1))
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(len(points) + 1))
    for cell in np.unique(own):
        members = order[ends[cell] : ends[cell + 1]]
        share = len(members) / n
        found[cell, :dim] = _core.clipped_mean(np.ascontiguousarray(logs[members]), 1.0) * share
        found[cell, dim] = _core.clipped_mean(shares[members][:, None], 1.0)[0] * share
    return found


def nearest(ball: Ball, rows: FloatArray, points: FloatArray) -> Codes:
    """The number of the nearest point of each record, shape (n,)."""
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        found[start : start + _BLOCK] = distances(ball, block, points).argmin(axis=1)
    return found


def distances(ball: Ball, rows: FloatArray, points: FloatArray) -> FloatArray:
    """Distances of rows from points, shape (n, m)."""
    found = np.empty((len(rows), len(points)))
    ball.frame.manifold.pairwise_dist(rows, points, found)
    return found


def gaps(ball: Ball, points: FloatArray) -> FloatArray:
    """Distance of each point to the next one; infinite if there is none."""
    found = distances(ball, points, points)
    np.fill_diagonal(found, np.inf)
    least: FloatArray = found.min(axis=1)
    return least


def stepped(ball: Ball, points: FloatArray, coords: FloatArray) -> FloatArray:
    """exp_p(v) of each point, projected on the ball."""
    frame, ends = ball.frame, np.empty_like(points)
    frame.manifold.exp_coords(np.ascontiguousarray(coords), np.ascontiguousarray(points), ends)
    inside = np.empty_like(points)
    _core.Frame(frame.manifold, frame.origin, ball.radius).project(ends, inside)
    return inside


def cover(ball: Ball, count: int, radius: float) -> FloatArray:
    """Public points far apart in the ball of that radius about the centre, shape (count, size).

    Each next one is the candidate farthest from those before it; candidates are uniform in the
    coordinates of log_c.
    """
    dim, generator = ball.manifold.dim, np.random.default_rng(_PUBLIC)
    many = _CANDIDATES * count
    coords = generator.standard_normal((many, dim))
    lengths = radius * generator.uniform(size=many) ** (1 / dim)
    coords *= (lengths / np.linalg.norm(coords, axis=1))[:, None]
    points = stepped(ball, np.repeat(ball.frame.origin[None], many, axis=0), coords)
    chosen, away = [0], distances(ball, points, points[:1])[:, 0]
    while len(chosen) < count:
        chosen.append(int(away.argmax()))
        away = np.minimum(away, distances(ball, points, points[chosen[-1:]])[:, 0])
    return points[chosen]


def seeds(
    ball: Ball, points: FloatArray, lengths: FloatArray, cells: Cells, count: int
) -> FloatArray:
    """Centres of `count` clusters of released cells: k-means with k-means++ starts, no records."""
    moved = stepped(ball, points, cells.steps * lengths[:, None])
    weights = np.maximum(cells.counts - _CUT * cells.deviation, 0.0)
    largest = np.argsort(-cells.counts, kind="stable")[:count]
    weights[largest] = np.maximum(weights[largest], 1.0)
    kept = weights > 0
    moved, weights = moved[kept], weights[kept]
    generator = np.random.default_rng(_PUBLIC)
    between = (distances(ball, moved, moved) / ball.radius) ** 2

    def run() -> FloatArray:
        centers = moved[_spread_out(between, weights, count, generator.choice)]
        for _ in range(_STEPS):
            own = distances(ball, moved, centers).argmin(axis=1)
            held = np.bincount(own, weights, minlength=count)
            sums = np.zeros((count, ball.manifold.dim))
            np.add.at(sums, own, weights[:, None] * _logarithms(ball, moved, centers[own]))
            centers = stepped(ball, centers, sums / np.where(held > 0, held, 1.0)[:, None])
        return centers

    def inertia(centers: FloatArray) -> float:
        away = distances(ball, moved, centers).min(axis=1) / ball.radius
        return float(weights @ away**2)

    return min((run() for _ in range(_RUNS)), key=inertia)


def _spread_out(
    squares: FloatArray, weights: FloatArray, count: int, choice: Callable[..., int]
) -> list[int]:
    """Different points, each in proportion to weight and squared distance (k-means++)."""
    chosen: list[int] = []
    odds = weights.copy()
    for _ in range(count):
        odds[chosen] = 0.0
        if not odds.sum() > 0:  # all others lie on those that were chosen
            odds = weights.copy()
            odds[chosen] = 0.0
        chosen.append(int(choice(len(weights), p=odds / odds.sum())))
        odds = weights * squares[:, chosen].min(axis=1)
    return chosen


def _logarithms(ball: Ball, rows: FloatArray, bases: FloatArray) -> FloatArray:
    """Coordinates of log_{p_i} x_i, shape (n, dim)."""
    found = np.empty((len(rows), ball.manifold.dim))
    ball.frame.manifold.log_coords(rows, np.ascontiguousarray(bases), found)
    return found


def _short(rows: FloatArray) -> FloatArray:
    """Rows shortened to length 1, whatever a computed length rounds; not finite ones count 0."""
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
    scaled = rows / largest  # its length does not overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    short = np.where(largest * lengths > 1.0, scaled / lengths, rows) * _BELOW_ONE
    found: FloatArray = np.where(np.isfinite(largest), short, 0.0)
    return found


def shrunk(steps: FloatArray, noise: FloatArray) -> FloatArray:
    """Steps shortened to length 1 and shrunk by James and Stein's rule.

    Factor: the share of a squared length that noise does not explain; `noise` is the expected
    squared length of each step's noise.
    """
    squares = np.maximum((steps**2).sum(axis=1), 2.0**-1000)
    factors = np.maximum(1.0 - noise / squares, 0.0) * np.minimum(1.0 / np.sqrt(squares), 1.0)
    found: FloatArray = steps * factors[:, None]
    return found
