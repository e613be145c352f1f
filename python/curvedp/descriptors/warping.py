"""Reparametrisation of curves to a public template by dynamic programming."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np

from curvedp._validation import FloatArray

#: Largest numerator and denominator of a slope.
_STEEPEST = 5

#: A straight part of a warp: steps on the template's grid and on the record's, and the cells that
#: it crosses, counted back from its end, each with its length times the square root of the slope.
Move = tuple[int, int, tuple[tuple[int, int, float], ...]]


@cache
def moves() -> tuple[Move, ...]:
    """Straight parts of warps with slopes b/a, a and b coprime; the one without warp first."""
    pairs = [
        (a, b)
        for a in range(1, _STEEPEST + 1)
        for b in range(1, _STEEPEST + 1)
        if math.gcd(a, b) == 1
    ]
    return tuple((a, b, _cells(a, b)) for a, b in sorted(pairs, key=sum))


def _cells(a: int, b: int) -> tuple[tuple[int, int, float], ...]:
    """Cells of the grid that the line from (-a, -b) to (0, 0) crosses."""
    ends = sorted({i * b for i in range(a + 1)} | {j * a for j in range(b + 1)})  # times ab
    slope = math.sqrt(b / a)
    return tuple(
        (a - low // b, b - low // a, slope * (high - low) / b) for low, high in pairwise(ends)
    )


def warps(template: FloatArray, velocities: FloatArray) -> FloatArray:
    """Where each record is to be at the nodes of the template's grid, shape (n, T + 1), in [0, T].

    Among all increasing γ from (0, 0) to (T, T) whose corners are nodes of the grid and whose
    slopes are those of `moves`, maximises ∫ <t, q∘γ> √γ' exactly for t, shape (T, d), and q, shape
    (n, T, d), constant between nodes (Srivastava et al. 2011, section 5.2).
    """
    n, count, _ = velocities.shape
    # products[i][:, j] = <t_i, q_j>
    products = np.ascontiguousarray((template @ velocities.swapaxes(1, 2)).swapaxes(0, 1))
    best = np.full((count + 1, n, count + 1), -np.inf)
    best[0, :, 0] = 0.0
    chosen = np.zeros((count + 1, n, count + 1), dtype=np.int8)
    for i in range(1, count + 1):
        for number, (a, b, cells) in enumerate(moves()):
            if a > i or b > count:
                continue
            value = best[i - a, :, : count + 1 - b].copy()
            for back, down, weight in cells:
                value += weight * products[i - back][:, b - down : count + 1 - down]
            row, choice = best[i, :, b:], chosen[i, :, b:]
            better = value > row
            np.copyto(row, value, where=better)
            np.copyto(choice, number, where=better, casting="unsafe")
    return _traced(chosen)


def _traced(chosen: np.ndarray) -> FloatArray:
    """Warps from the moves chosen at each node, all records at once."""
    count, n, _ = chosen.shape
    count -= 1
    records = np.arange(n)
    across, up = np.array([(a, b) for a, b, _ in moves()]).T
    warp = np.full((n, count + 1), float(count))
    i, j = np.full(n, count), np.full(n, count)
    for _ in range(count):
        number = chosen[i, records, j]
        a, b = np.where(i > 0, across[number], 0), np.where(i > 0, up[number], 0)
        for step in range(1, _STEEPEST + 1):
            inside = step <= a
            at = np.where(inside, i - step, count)
            value = np.where(inside, j - b * step / np.maximum(a, 1), float(count))
            warp[records, at] = value
        i, j = i - a, j - b
    return warp
