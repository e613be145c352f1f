"""The public domain of a release on a product of manifolds: a ball for each factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._html import card
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Product, as_manifold
from curvedp.unit import told_in


class ProductBall(Ball):
    """The product of balls: the public domain on a product of manifolds, one ball for each factor.

    Each part of a record is projected on its own ball.

    Parameters
    ----------
    *factors : Ball
        One for each factor.
    manifold : Product, optional
        The space, such as `RigidMotions`; by default the product of the balls' manifolds.

    Attributes
    ----------
    factors : tuple of Ball

    Examples
    --------
    >>> import curvedp as cdp
    >>> space = cdp.RigidMotions(length=10.0)
    >>> turns = Ball("rotations:3", center="identity", radius=0.5)
    >>> moves = Ball("euclidean:3", center=[0.0, 0.0, 0.0], radius=20.0)
    >>> ball = ProductBall(turns, moves, manifold=space)
    >>> ball.center.shape, bool(ball.contains(np.eye(4)))
    ((4, 4), True)
    """

    def __init__(self, *factors: Ball, manifold: Product | None = None) -> None:
        for factor in factors:
            if not isinstance(factor, Ball) or isinstance(factor, ProductBall):
                raise TypeError(
                    "a product of balls takes one Ball for each factor, got "
                    f"{type(factor).__name__}"
                )
        space = Product(*(ball.manifold for ball in factors)) if manifold is None else manifold
        if not isinstance(space, Product):
            raise TypeError(f"manifold must be a Product, got {type(space).__name__}")
        given, wanted = [
            [own.spec for own in found]
            for found in ([ball.manifold for ball in factors], space.factors)
        ]
        if given != wanted:
            raise ValueError(f"{space.spec} needs balls on {wanted}, got balls on {given}")
        self.factors = factors
        self._manifold = space
        self._center = space.join([ball.center for ball in factors])
        self._center.flags.writeable = False
        self._radius = float(space.joint_length([ball.radius for ball in factors]))

    @property
    def manifold(self) -> Product:
        """The product of manifolds."""
        assert isinstance(self._manifold, Product)
        return self._manifold

    @property
    def radius(self) -> float:
        """The largest distance of a point from the centre."""
        return self._radius

    @property
    def radii(self) -> tuple[float, ...]:
        return tuple(ball.radius for ball in self.factors)

    def project(self, points: ArrayLike) -> FloatArray:
        """Each part of each record moved to the closest point of its ball, as `Ball.project`.

        Parameters
        ----------
        points : array-like
            In any form that `Product.as_points` reads.

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        parts = zip(self.factors, self.manifold.split(points), strict=True)
        return self.manifold.join([ball.project(part) for ball, part in parts])

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Membership of points in the product of balls, up to 1e-9 relative.

        Parameters
        ----------
        points : array-like
            In any form that `Product.as_points` reads.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        parts = zip(self.factors, self.manifold.split(points), strict=True)
        inside: NDArray[np.bool_] = np.logical_and.reduce([b.contains(part) for b, part in parts])
        return inside

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ball):
            return NotImplemented
        return isinstance(other, ProductBall) and (
            (self.manifold, self.factors) == (other.manifold, other.factors)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.manifold, self.factors))

    def __repr__(self) -> str:
        space = as_manifold(self.manifold.spec)
        factors = ", ".join(map(repr, self.factors))
        plain = Product(*(ball.manifold for ball in self.factors))
        on = "" if space == plain else f", manifold={self.manifold!r}"
        return f"ProductBall({factors}{on})"

    def _repr_html_(self) -> str:
        facts = [("manifold", self.manifold.spec), ("dimension", str(self.manifold.dim))]
        rows = [(b.manifold.spec, b._named_center, told_in(b.unit)(b.radius)) for b in self.factors]
        title = "ProductBall: the public domain of a release"
        return card(title, facts, columns=("factor", "center", "radius"), rows=rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _product_ball, (self.factors, self.manifold)


def _product_ball(factors: tuple[Ball, ...], manifold: Product) -> ProductBall:
    return ProductBall(*factors, manifold=manifold)
