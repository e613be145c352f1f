"""How far the clipped mean is from the mean (docs/proofs/sums-of-messages.md, 10)."""

from __future__ import annotations

import math

import numpy as np
import pytest


class Line:
    """R: records are numbers."""

    @staticmethod
    def log(p, x):
        return (x - p)[:, None]

    @staticmethod
    def exp(p, v):
        return p + v[0]

    @staticmethod
    def length(p, v):
        return np.abs(v[..., 0])

    @staticmethod
    def records(rng, n):
        return rng.standard_normal(n) + rng.choice([0.0, 3.0, 12.0], p=[0.7, 0.2, 0.1], size=n)


class HyperbolicPlane:
    """The hyperboloid x₀² = 1 + x₁² + x₂² with the Minkowski product."""

    @staticmethod
    def product(a, b):
        return a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2] - a[..., 0] * b[..., 0]

    @classmethod
    def log(cls, p, x):
        chord = np.sqrt(np.maximum(cls.product(x - p, x - p), 0.0))
        t = 2 * np.arcsinh(chord / 2)
        v = x - np.cosh(t)[:, None] * p
        length = np.sqrt(np.maximum(cls.product(v, v), 0.0))
        return v * (t / np.maximum(length, 1e-300))[:, None]

    @classmethod
    def exp(cls, p, v):
        t = math.sqrt(max(cls.product(v, v), 0.0))
        q = math.cosh(t) * p + (math.sinh(t) / t if t else 1.0) * v
        return q / math.sqrt(-cls.product(q, q))

    @classmethod
    def length(cls, p, v):
        return np.sqrt(np.maximum(cls.product(v, v), 0.0))

    @staticmethod
    def records(rng, n):
        radius = rng.exponential(0.8, n) + rng.choice([0.0, 2.5], p=[0.85, 0.15], size=n)
        angle = rng.vonmises(0.5, 1.0, n)
        space = np.sinh(radius)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.concatenate([np.cosh(radius)[:, None], space], axis=1)


SPACES = {"line": Line, "hyperbolic plane": HyperbolicPlane}


def clipped_mean(space, records, radius, start):
    """The point where the mean of the logarithms cut to length `radius` is 0."""
    p = start
    for _ in range(5000):
        v = space.log(p, records)
        cut = np.minimum(1.0, radius / np.maximum(space.length(p, v), 1e-300))
        step = (v * cut[:, None]).mean(axis=0)
        p = space.exp(p, 0.4 * step)
        if space.length(p, step[None])[0] < 1e-13:
            return p
    raise AssertionError("no clipped mean was found")


def distance(space, p, q):
    return float(space.length(p, space.log(p, np.asarray(q)[None]))[0])


def bounds(space, records, radius, mean):
    """e, and all shares h of records within some r with e < h (radius - r)."""
    t = np.sort(space.length(mean, space.log(mean, records)))
    e = float(np.maximum(t - radius, 0.0).mean())
    shares = np.arange(1, len(t) + 1) / len(t)
    return e, shares[e < shares * (radius - t)]


@pytest.mark.parametrize("kind", SPACES)
def test_the_clipped_mean_is_near_the_mean(kind):
    space, rng, used, beyond = SPACES[kind], np.random.default_rng(len(kind)), 0, 0
    for _ in range(12):
        records = space.records(rng, 40)
        mean = clipped_mean(space, records, math.inf, records[0])
        for level in (0.8, 0.9, 0.95, 1.0):
            t = space.length(mean, space.log(mean, records))
            radius = float(np.quantile(t, level)) * 1.01
            moved = distance(space, mean, clipped_mean(space, records, radius, mean))
            e, shares = bounds(space, records, radius, mean)
            if len(shares):
                used += 1
                assert moved <= e / shares.max() + 1e-11
            beyond += moved > e * (1 + 1e-6) + 1e-11
    assert used >= 30
    assert beyond > 0 or kind != "line"  # the control: without h the bound is exceeded


def test_the_bound_is_attained():
    """Six records at 0, four at 10, radius 5: e = .4, h = .6, and the mean moves by .4/.6."""
    records = np.repeat([0.0, 10.0], [6, 4])
    e, shares = bounds(Line, records, 5.0, 4.0)
    moved = distance(Line, 4.0, clipped_mean(Line, records, 5.0, 4.0))
    assert math.isclose(e, 0.4)
    assert shares.max() == 0.6
    assert math.isclose(moved, 0.4 / 0.6, rel_tol=1e-10)


def test_a_last_round_with_nobody_cut_is_off_by_the_count_alone():
    records = np.random.default_rng(4).standard_normal(50) + 3.0
    p, count, noise = 2.0, 57.3, 0.8
    reached = p + ((records - p).sum() + noise) / count
    mean = records.mean()
    assert math.isclose(reached, mean + (mean - p) * (50 / count - 1) + noise / count)
