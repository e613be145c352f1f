"""All spaces: flat, spherical, hyperbolic spaces, matrices, shapes, rotations, subspaces."""

from __future__ import annotations

from curvedp.manifolds.base import Manifold
from curvedp.manifolds.matrices import HPD, SPD, Correlation
from curvedp.manifolds.rotations import Grassmann, Rotations, SpecialOrthogonal, Unitary
from curvedp.manifolds.shapes import KendallPlanar
from curvedp.manifolds.vectors import Euclidean, Hyperboloid, Projective, Sphere, Torus

__all__ = [
    "HPD",
    "SPD",
    "Correlation",
    "Euclidean",
    "Grassmann",
    "Hyperboloid",
    "KendallPlanar",
    "Projective",
    "Rotations",
    "SpecialOrthogonal",
    "Sphere",
    "Torus",
    "Unitary",
]

#: Every manifold, in the order in which messages name them.
SPACES: tuple[type[Manifold], ...] = (
    Sphere,
    SPD,
    HPD,
    Hyperboloid,
    KendallPlanar,
    Rotations,
    Correlation,
    Projective,
    Torus,
    Grassmann,
    SpecialOrthogonal,
    Unitary,
    Euclidean,
)

#: Their names in texts.
SPACE_NAMES = tuple(next(iter(space._names)) for space in SPACES)
