"""Random base points, tangent vectors and end points for the batteries over all manifolds."""

from __future__ import annotations

import numpy as np

from manifold_list import Case
from reference.twin import Array


def far(case: Case) -> float:
    """A distance well inside the injectivity radius."""
    return min(0.8 * case.twin.injectivity_radius, 2.0)


def triple(case: Case, seed: int) -> tuple[Array, Array, Array]:
    """A base point, a tangent vector shorter than `far`, and another of norm 1."""
    twin, rng = case.twin, np.random.default_rng(seed)
    base = twin.random_point(rng, 0.7)
    vector = rng.uniform(0.01, far(case)) * twin.random_unit_vector(rng, base)
    return base, vector, twin.random_unit_vector(rng, base)


def batch(case: Case, seed: int, n: int) -> tuple[Array, Array, Array]:
    """`n` base points, tangent vectors and end points."""
    rows = [triple(case, seed + i) for i in range(n)]
    bases = np.array([row[0] for row in rows])
    vectors = np.array([row[1] for row in rows])
    return bases, vectors, case.twin.each("exp", vectors, bases)
