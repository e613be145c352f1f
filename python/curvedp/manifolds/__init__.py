"""Manifolds: batched geometry under one set of names."""

from curvedp.manifolds import spaces
from curvedp.manifolds.base import Manifold
from curvedp.manifolds.convert import as_manifold
from curvedp.manifolds.product import Product, RigidMotions
from curvedp.manifolds.spaces import *  # noqa: F403

__all__ = ["Manifold", "Product", "RigidMotions", "as_manifold"]
__all__ += spaces.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
