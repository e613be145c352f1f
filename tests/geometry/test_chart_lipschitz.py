"""log_c stretches distances in the ball by at most r√κ/sin(r√κ), and by at most 1 for κ <= 0.

The tangent and the exponential-wrapped Gaussian are calibrated with these constants (docs/proofs).
"""

from __future__ import annotations

import numpy as np
import pytest

import adversarial_search as search

CASES = [
    (search.Sphere(1), 1.4),
    (search.Sphere(2), 0.6),
    (search.Sphere(2), 1.4),
    (search.Sphere(5), 1.0),
    (search.ComplexProjective(2), 0.3),
    (search.ComplexProjective(2), 0.7),
    (search.ComplexProjective(5), 0.6),
    (search.Hyperbolic(2), 2.0),
    (search.Hyperbolic(3), 1.0),
    (search.SPD(2), 2.0),
    (search.SPD(3), 1.5),
]


def constant(space: search.Space, radius: float) -> float:
    root = np.sqrt(max(space.upper, 0.0))
    return float(radius * root / np.sin(radius * root)) if root > 0 else 1.0


def largest_stretch(space: search.Space, radius: float) -> float:
    rng = np.random.default_rng(3)
    restarts = 40 if isinstance(space, search.SPD) else 200

    def stretch(coords: np.ndarray) -> np.ndarray:
        points = space.from_center(coords)
        distance = space.dist(points[:, 0], points[:, 1])
        apart = np.sqrt(np.sum((coords[:, 0] - coords[:, 1]) ** 2, axis=-1))
        return np.where(distance > 1e-3 * radius, apart / np.maximum(distance, 1e-300), 0.0)

    start = search.clip(radius * rng.standard_normal((restarts, 2, space.dim)), radius)
    start[::2, 1] = start[::2, 0] + 0.05 * radius * rng.standard_normal(start[::2, 0].shape)
    return search.climb(stretch, start, radius, rng, 300)[0]


@pytest.mark.parametrize(
    ("space", "radius"), CASES, ids=lambda v: f"{v}" if isinstance(v, float) else type(v).__name__
)
def test_the_chart_at_the_centre_stretches_no_more_than_its_constant(space, radius):
    stretch, allowed = largest_stretch(space, radius), constant(space, radius)
    print(f"tightness {stretch / allowed:.6f}")
    assert stretch <= allowed * (1 + 1e-9)
    assert stretch > 0.97 * allowed


def test_the_constant_of_the_other_directions_is_too_small_on_complex_projective_spaces():
    """Negative control: r/sin(r), the stretch across the complex line, is exceeded along it."""
    space, radius = search.ComplexProjective(2), 0.7
    assert largest_stretch(space, radius) > 1.2 * radius / np.sin(radius)
