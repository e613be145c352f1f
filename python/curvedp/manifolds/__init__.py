"""Manifolds: batched geometry under one set of names."""

from curvedp.manifolds.base import Manifold
from curvedp.manifolds.convert import as_manifold
from curvedp.manifolds.product import Product, RigidMotions
from curvedp.manifolds.spaces import (
    HPD,
    SPD,
    Correlation,
    Euclidean,
    Grassmann,
    Hyperboloid,
    KendallPlanar,
    Projective,
    Rotations,
    SpecialOrthogonal,
    Sphere,
    Torus,
    Unitary,
)

__all__ = [
    "HPD",
    "SPD",
    "Correlation",
    "Euclidean",
    "Grassmann",
    "Hyperboloid",
    "KendallPlanar",
    "Manifold",
    "Product",
    "Projective",
    "RigidMotions",
    "Rotations",
    "SpecialOrthogonal",
    "Sphere",
    "Torus",
    "Unitary",
    "as_manifold",
]


def __dir__() -> list[str]:
    return sorted(__all__)
