"""Domains as functions are given them: a ball of the right kind, or a whole manifold."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Manifold, as_manifold
from curvedp.product_ball import ProductBall

NOT_ON_PRODUCTS = (
    "not released on products of manifolds, where there are frechet_mean and adaptive_mean: "
    "release it of each factor, with the ball of that factor"
)


class WholeSpace(Ball):
    """The whole manifold as the domain of records: for statistics that need no public ball.

    Parameters
    ----------
    manifold : Manifold, str or geomstats space

    Examples
    --------
    >>> space = WholeSpace("spd:3")
    >>> space, space.radius
    (WholeSpace('spd:3'), inf)
    """

    def __init__(self, manifold: Manifold | str | Any) -> None:
        self._manifold = as_manifold(manifold)
        self._center = np.array(self._manifold.origin)
        self._center.flags.writeable = False
        self._radius = math.inf

    def project(self, points: ArrayLike) -> FloatArray:
        """The points themselves; NaN for what is none."""
        return self.manifold.project(points)

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """True for points of the manifold."""
        return self.manifold.belongs(points)

    @functools.cached_property
    def frame(self) -> _core.Frame:
        """Stands for the domain where only keys of noise are made: rows of numbers."""
        size = self.manifold.point_size
        return _core.Frame(as_manifold(f"euclidean:{size}").kernels, np.zeros(size), 1.0)

    def __repr__(self) -> str:
        return f"WholeSpace({self.manifold.spec!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.manifold,)


def check_ball(ball: Ball) -> Ball:
    """The ball, if it is one on a manifold that is no product."""
    if isinstance(ball, ProductBall):
        raise TypeError(f"this is {NOT_ON_PRODUCTS}")
    return check_any_ball(ball)


def check_any_ball(ball: Ball) -> Ball:
    """The ball, if it is one."""
    if isinstance(ball, (WholeSpace, Manifold)):
        raise TypeError(
            "ball must be a public Ball here: give one, or release one first, as "
            "frechet_mean(records, manifold, guarantee).ball"
        )
    if not isinstance(ball, Ball):
        raise TypeError(f"ball must be a Ball(manifold, center, radius), got {_told(ball)}")
    return ball


def as_domain(ball: Ball | Manifold | str) -> Ball:
    """The ball, or the whole of a manifold."""
    if isinstance(ball, (Manifold, str)):
        return WholeSpace(ball)
    if not isinstance(ball, Ball):
        raise TypeError(
            "ball must be a Ball(manifold, center, radius), or for a mean without a ball a "
            f"Manifold, such as Sphere(2), got {_told(ball)}"
        )
    return ball


def _told(ball: object) -> str:
    """Text for what stands in the place of a ball."""
    if ball is None:
        return "None: a mean without a ball has none where none can hold 95 % of its records"
    return type(ball).__name__


def _short(served: float, refused: float) -> str:
    """A number that is served in as few digits as tell it from one that is refused."""
    for digits in range(3, 18):
        unit = 10.0 ** (math.floor(math.log10(served)) + 1 - digits)
        towards = math.floor if served < refused else math.ceil
        told = f"{towards(served / unit) * unit:.{digits}g}"
        if (float(told) - refused) * (served - refused) > 0:
            return told
    return repr(served)


def refused_radius(ball: Ball, is_served: Callable[[Ball], bool]) -> ValueError:
    """The refusal of a ball on which no mean can be certified, with a radius that works."""
    text = (
        f"a ball of radius {ball.radius:g} on {ball.manifold.spec} is too large, or too small, "
        "for double precision to certify the mean: use another radius"
    )

    def at(factor: float) -> bool:
        return is_served(Ball(ball.manifold, ball.center, factor * ball.radius))

    # down to half of what double precision holds, and up to the largest ball
    room = ball.manifold.max_ball_radius / ball.radius
    for step in range(1, 1000):
        factors = [factor for factor in (2.0**-step, 2.0**step) if factor < 0.999 * room]
        for factor in factors:
            if 1e-290 < factor * ball.radius < 1e290 and at(factor):
                served, refused = factor, 1.0
                for _ in range(8):
                    middle = math.sqrt(served * refused)
                    served, refused = (middle, refused) if at(middle) else (served, middle)
                return ValueError(f"{text}, such as {_short(served * ball.radius, ball.radius)}")
    return ValueError(text)
