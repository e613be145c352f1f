"""The law of the private quantile, interval by interval."""

from __future__ import annotations

import math

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
