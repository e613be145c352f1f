"""Groups of records for the tests of many groups."""

from __future__ import annotations

import hashlib
import hmac
import struct

import numpy as np

import curvedp as cdp
from manifold_list import Case

SIZES = [1, 2, 20, 20, 7, 300, 33, 1, 1500]


def groups(case: Case, sizes=SIZES, seed=0):
    """Records about the ball's centre, some of them bad, group by group, and the offsets."""
    ball = case_ball(case)
    generator = np.random.default_rng(seed)
    space, total = ball.manifold, sum(sizes)
    coords = generator.standard_normal((total, space.dim)) * 0.6 * ball.radius
    records = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    records[3::41] = np.nan
    records[5::67] *= 3.0
    return ball, records, np.concatenate(([0], np.cumsum(sizes)))


def case_ball(case: Case):
    center = case.manifold.random_point(rng=1)
    bound = case.manifold.max_ball_radius
    return cdp.Ball(case.manifold, center, min(1.0, 0.8 * bound))


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def hmac_key(secret, plan, name, ball, scale, records):
    """The documented derivation, by Python's own HMAC."""
    parts = [
        plan.context(),
        name,
        ball.center.tobytes(),
        struct.pack("<d", ball.radius),
        struct.pack("<d", scale),
        np.ascontiguousarray(records, dtype="<f8").tobytes(),
    ]
    text = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    return hmac.new(secret._secret, text, hashlib.sha256).digest()
