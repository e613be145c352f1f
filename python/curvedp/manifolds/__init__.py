"""Manifolds: batched geometry under one set of names."""

from typing import TYPE_CHECKING

from curvedp.manifolds import spaces
from curvedp.manifolds.base import Manifold as Manifold
from curvedp.manifolds.convert import as_manifold as as_manifold
from curvedp.manifolds.product import Product as Product
from curvedp.manifolds.product import RigidMotions as RigidMotions
from curvedp.manifolds.spaces import *  # noqa: F403

if not TYPE_CHECKING:  # to mypy, which adds up no lists, all that came by `as` or `*` is public
    __all__ = ["Manifold", "Product", "RigidMotions", "as_manifold", *spaces.__all__]

    def __dir__() -> list[str]:
        return sorted(__all__)
