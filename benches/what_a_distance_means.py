"""What a distance between two tensors, or two connectomes, means in quantities that people know.

Tensors at a distance from one of white matter, in directions drawn uniformly: how far their mean
diffusivity (MD, relative) and fractional anisotropy (FA) are off. Correlation matrices of 20
regions in four networks: how far one correlation is off, and the one that is off most.
"""

from __future__ import annotations

import argparse

import numpy as np

import curvedp as cdp
from curvedp._validation import FloatArray
from curvedp.plotting import fractional_anisotropy

DISTANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
TENSOR = np.diag([1.6, 0.45, 0.35])
NETWORKS = np.repeat(np.arange(4), 5)
CONNECTOME = np.where(NETWORKS[:, None] == NETWORKS, 0.5, 0.1) + np.diag(np.full(20, 0.5))


def at_distance(
    space: cdp.manifolds.Manifold, point: FloatArray, dist: float, rng: np.random.Generator
) -> FloatArray:
    """2,000 points at a distance, in uniform directions."""
    coords = rng.standard_normal((2_000, space.dim))
    coords *= dist / np.linalg.norm(coords, axis=1, keepdims=True)
    return space.exp(space.coords_to_tangent(coords, point), point)


def row(dist: float, rng: np.random.Generator) -> list[str]:
    """Medians, and in brackets what 5 % exceed."""
    near = at_distance(cdp.SPD(3), TENSOR, dist, rng)
    diffusivity = np.trace(near, axis1=1, axis2=2) / np.trace(TENSOR) - 1.0
    anisotropy = fractional_anisotropy(near) - fractional_anisotropy(TENSOR)
    gaps = abs(at_distance(cdp.Correlation(20), CONNECTOME, dist, rng) - CONNECTOME)
    one = gaps[:, *np.triu_indices(20, 1)]
    errors = (100 * abs(diffusivity), abs(anisotropy), one, one.max(axis=1))
    return [f"{np.median(own):.2g} ({np.quantile(own, 0.95):.2g})" for own in errors]


def main() -> None:
    """Prints a table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    rng = np.random.default_rng(0)
    print("| distance | MD, % | FA | one correlation | the worst of 190 |")
    print("|---|---|---|---|---|")
    for dist in DISTANCES:
        print(f"| {dist:g} | {' | '.join(row(dist, rng))} |")


if __name__ == "__main__":
    main()
