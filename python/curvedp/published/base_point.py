"""The point at which logarithms are taken, as published: the noisy mean, in the ball or not."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.privacy import Release
from curvedp.published import sensitivity
from curvedp.published.call import Call


@dataclass(frozen=True)
class BasePoint:
    """A point p; `mean` is the release that it comes from, None for a point given as such.

    Distances from p are cut and logarithms shortened to `max_dist`, if that is given.
    """

    ball: Ball
    point: FloatArray
    mean: Release | None
    max_dist: float | None

    @classmethod
    def given(cls, call: Call, mean: Release | ArrayLike, max_dist: float | None) -> BasePoint:
        """The point that the caller gives: a private mean, or a point promised to be public."""
        space = call.ball.manifold
        if isinstance(mean, Release):
            if mean.manifold != space.spec:
                raise ValueError(
                    f"the mean was released on {mean.manifold}, the ball is on {space.spec}"
                )
            if mean.statistic != "Fréchet mean" or mean.value.shape != space.point_shape:
                raise ValueError(
                    f"mean must be the release of a Fréchet mean, not of {mean.statistic}"
                )
            return cls(call.ball, mean.value, mean, max_dist)
        point = space._points(mean, "mean")
        if point.shape != space.point_shape:
            raise ValueError(f"mean must be one point, got shape {point.shape}")
        return cls(call.ball, point, None, max_dist)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a claim about this point, besides its proof."""
        return ("public-base-point",) if self.mean is None else ()

    @property
    def reach(self) -> float:
        """The largest distance R of a record from p, as the paper takes it."""
        return sensitivity.reach(self.ball, self.max_dist)

    @property
    def _limit(self) -> float:
        return math.inf if self.max_dist is None else self.max_dist

    @functools.cached_property
    def inner(self) -> FloatArray:
        """p in the ball's frame, shape (size,), also where it lies outside the ball."""
        ball = self.ball
        widest = min(1e3, 0.999 * ball.manifold.injectivity_radius)
        frame = _core.Frame(ball.manifold.kernels, ball.center.reshape(-1), widest)
        inner = np.empty((1, ball.frame.manifold.point_size))
        point = np.ascontiguousarray(self.point).reshape(1, -1)
        valid = np.empty_like(point)
        frame.project(point, valid)
        ball.frame.centre(valid, inner)
        return np.asarray(inner[0])

    def dist_moments(self, rows: FloatArray) -> tuple[float, float]:
        """Mean second and fourth power of the distance of rows of the frame."""
        return self.ball.frame.manifold.dist_moments(rows, self.inner, self._limit)

    def log_moments(
        self, rows: FloatArray, *, hessian: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """First and second moment of the logarithms and, where asked for, G; frame coordinates."""
        return self.ball.frame.manifold.log_moments(rows, self.inner, self._limit, hessian)

    def to_outer(self, matrix: FloatArray) -> FloatArray:
        """A symmetric matrix in frame coordinates at p, in the manifold's coordinates at p."""
        rotation = self._rotation
        return np.asarray(rotation.T @ matrix @ rotation)

    @functools.cached_property
    def _rotation(self) -> FloatArray:
        """Orthogonal matrix Q, shape (dim, dim): coordinates u in the frame are u Q at p."""
        ball, outer = self.ball, self.ball.manifold
        inner = ball.frame.manifold
        # a length at which the differential of an isometry can be read off geodesics
        steepest = max(map(abs, outer.curvature_bounds))
        basis = 0.5 / math.sqrt(max(1.0, steepest)) * np.eye(inner.dim)
        ends = np.empty((inner.dim, inner.point_size))
        inner.exp_coords(basis, self.inner[None], ends)
        moved = outer.tangent_to_coords(
            outer.log(ball.leave(ends), ball.leave(self.inner[None])), self.point
        )
        left, _, right = np.linalg.svd(moved)
        return np.asarray(left @ right)
