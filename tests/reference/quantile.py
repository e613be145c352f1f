"""The law of the private quantile, interval by interval."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

Array = np.ndarray


def law(
    values: Array, q: float, scale: float, low: float, high: float, base: str = "uniform"
) -> tuple[list[float], list[float]]:
    """Edges of the intervals between values, and the probability of each."""
    inside = sorted(low if math.isnan(x) else min(max(x, low), high) for x in map(float, values))
    edges = [low, *inside, high]
    masses = []
    for k in range(len(edges) - 1):
        left, right = edges[k], edges[k + 1]
        length = right - left if base == "uniform" else math.log(right) - math.log(left)
        masses.append(length * math.exp(-abs(k - q * len(inside)) / scale))
    total = math.fsum(masses)
    return edges, [mass / total for mass in masses]


def cdf(
    y: Array, values: Array, q: float, scale: float, low: float, high: float, base: str = "uniform"
) -> Array:
    """P(Y <= y), with the share of an interval given by the base measure."""
    edges, probabilities = law(values, q, scale, low, high, base)
    at = np.concatenate(([0.0], np.cumsum(probabilities)))
    on = (lambda x: x) if base == "uniform" else np.log
    return np.interp(on(np.asarray(y)), on(np.array(edges)), at)


def losses(
    values: Array, others: Array, q: float, scale: float, low: float, high: float
) -> tuple[Array, Array, Array]:
    """Of two data sets: probabilities of the common refinement's cells, and log ratios there."""
    points = np.unique(np.clip(np.concatenate((values, others, [low, high])), low, high))
    first, second = (cdf(points, data, q, scale, low, high) for data in (values, others))
    p, r = np.diff(first), np.diff(second)
    return p, r, np.log(p) - np.log(r)


# ------------------------------------------------------------------ on a grid, where values may tie


def weights(first: int, last: int, decimals: int, octaves: bool) -> list[int]:
    """The measure, point by point."""

    def own(m: int, power: int) -> int:
        if not octaves:
            return power
        return 2 ** (61 - m.bit_length()) if m else 0

    found = []
    for x in range(first, last + 1):
        powers = [10**k for k in range(1, decimals + 1) if x % 10**k == 0]
        found.append(max(4 * decimals, 1) * own(x, 1) + sum(own(x // p, p) for p in powers))
    return found


def score(points: list[int], y: int, q: Fraction, *, ties: bool = True) -> Fraction:
    """D(y), or the score that takes L(y) alone for a rank."""
    below, up_to = sum(x < y for x in points), sum(x <= y for x in points)
    target = q * len(points)
    return max(Fraction(0), below - target, target - up_to) if ties else abs(below - target)


def grid_law(
    points: list[int], q: Fraction, scale: float, mass: list[int], first: int = 0, **how: bool
) -> list[float]:
    """Probability of each point of the grid."""
    scores = [score(points, first + j, q, **how) for j in range(len(mass))]
    least = min(scores)
    each = [
        w * math.exp(-float((d - least) / Fraction(scale)))
        for w, d in zip(mass, scores, strict=True)
    ]
    total = math.fsum(each)
    return [p / total for p in each]


def cut_law(
    points: list[int], q: Fraction, scale: float, mass: list[int], cuts: range
) -> dict[int, float]:
    """Probability of each cut, below which lie the values up to and with it."""
    off = {z: abs(sum(x <= z for x in points) - q * len(points)) for z in cuts}
    least = min(off.values())
    each = {z: mass[z] * math.exp(-float((off[z] - least) / Fraction(scale))) for z in cuts}
    total = math.fsum(each.values())
    return {z: p / total for z, p in each.items()}


def recursion_law(
    points: list[int],
    levels: list[Fraction],
    scale: float,
    mass: list[int],
    *,
    wider: bool = True,
    cuts: range | None = None,
    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1)),
) -> dict[tuple[int, ...], float]:
    """Joint law of all levels; without `wider` the scale does not depend on the level."""
    if not levels:
        return {(): 1.0}
    cuts = range(len(mass)) if cuts is None else cuts
    middle = len(levels) // 2
    level = levels[middle]
    q = (level - bounds[0]) / (bounds[1] - bounds[0])
    own = scale * float(2 * max(q, 1 - q)) if wider else scale
    found: dict[tuple[int, ...], float] = {}
    for z, p in cut_law(points, q, own, mass, cuts).items():
        how = {"wider": wider}
        left = recursion_law(
            [x for x in points if x <= z],
            levels[:middle],
            scale,
            mass,
            cuts=range(cuts[0], z + 1),
            bounds=(bounds[0], level),
            **how,
        )
        right = recursion_law(
            [x for x in points if x > z],
            levels[middle + 1 :],
            scale,
            mass,
            cuts=range(z, cuts[-1] + 1),
            bounds=(level, bounds[1]),
            **how,
        )
        for a, pa in left.items():
            for b, pb in right.items():
                found[(*a, z, *b)] = found.get((*a, z, *b), 0.0) + p * pa * pb
    return found
