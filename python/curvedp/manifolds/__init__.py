"""Manifolds: batched geometry under one set of names."""

from curvedp.manifolds.base import Manifold
from curvedp.manifolds.convert import as_manifold
from curvedp.manifolds.spaces import (
    SPD,
    Correlation,
    Euclidean,
    Grassmann,
    Hyperboloid,
    KendallPlanar,
    Projective,
    Rotations,
    Sphere,
    Torus,
)

__all__ = [
    "SPD",
    "Correlation",
    "Euclidean",
    "Grassmann",
    "Hyperboloid",
    "KendallPlanar",
    "Manifold",
    "Projective",
    "Rotations",
    "Sphere",
    "Torus",
    "as_manifold",
]
