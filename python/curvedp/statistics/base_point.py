"""The released point at which logarithms are taken: the private mean, kept in the ball."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_points
from curvedp.domain import Ball
from curvedp.mechanisms import ChartGaussian, Mechanism
from curvedp.privacy import Release
from curvedp.statistics.releases import Releases


@dataclass(frozen=True)
class MeanNoise:
    """The noise of a private mean, all of it public.

    Attributes
    ----------
    ball : Ball
        That of the mean's release: noise in a chart is drawn in the chart at its centre.
    scale : float
        Of noise in the chart the standard deviation of a coordinate.
    in_chart : bool
        True if the noise is drawn in that chart; False if about the mean itself, isotropically.
    mean_square : float
        Mean squared length of noise that is drawn about the mean itself; NaN for noise in a chart.
    """

    ball: Ball
    scale: float
    in_chart: bool
    mean_square: float

    @classmethod
    def of(cls, mechanism: Mechanism, ball: Ball) -> MeanNoise:
        """The noise of a mechanism, built in or the user's own, on a ball as large as its own."""
        if isinstance(mechanism, ChartGaussian):
            return cls(ball, mechanism.scale, True, math.nan)
        length = mechanism._noise.root_mean_square_dist
        if mechanism.in_chart:
            return cls(ball, length / math.sqrt(ball.manifold.dim), True, math.nan)
        return cls(ball, mechanism.scale, False, length * length)

    def covariance(self, point: FloatArray) -> FloatArray:
        """Covariance of log_p of the exact mean given the private mean p, shape (dim, dim).

        Isotropic for noise about the mean; sigma^2 L L' with L = D exp_c at log_c p for noise in
        the chart at the centre c.
        """
        if not self.in_chart:
            dim = self.ball.manifold.dim
            return np.asarray(self.mean_square / dim * np.eye(dim))
        spread = self.scale * chart_differential(self.ball, point)
        return np.asarray(spread @ spread.T)


@dataclass(frozen=True)
class BasePoint:
    """A public point p of the ball, with everything about it that is public too.

    Attributes
    ----------
    ball : Ball
    point : ndarray, shape point_shape
        p: the released point moved to the ball, outside which distances would have no bound.
    inner : ndarray, shape (1, size)
        p in the ball's frame.
    max_dist : float
        Length R at which logarithms at p are clipped: r + rho(c, p), or less where asked for.
    mean : ndarray, shape point_shape, or None
        The private mean that p comes from; none for a point that the caller declares public.
    noise : MeanNoise or None
        That of the mean, where it is asked for.
    """

    ball: Ball
    point: FloatArray
    inner: FloatArray
    max_dist: float
    mean: FloatArray | None
    noise: MeanNoise | None

    @functools.cached_property
    def rotation(self) -> FloatArray:
        """Orthogonal matrix Q, shape (dim, dim): coordinates u in the frame are u Q at p."""
        manifold = self.ball.frame.manifold
        size = isometry_step(self.ball)
        basis = size * np.eye(manifold.dim)
        ends = np.empty((manifold.dim, manifold.point_size))
        manifold.exp_coords(basis, self.inner, ends)
        outer = self.ball.manifold
        moved = outer.tangent_to_coords(
            outer.log(self.ball.leave(ends), self.ball.leave(self.inner)), self.point
        )
        left, _, right = np.linalg.svd(moved)
        return np.asarray(left @ right)

    def to_outer(self, matrix: FloatArray) -> FloatArray:
        """A symmetric matrix in frame coordinates at p, in the manifold's coordinates at p."""
        return np.asarray(self.rotation.T @ matrix @ self.rotation)


def isometry_step(ball: Ball) -> float:
    """A length at which the differential of an isometry can be read off geodesics."""
    steepest = max(map(abs, ball.manifold.curvature_bounds))
    return 0.5 / math.sqrt(max(1.0, steepest))


@dataclass(frozen=True)
class GivenPoints:
    """Base points that are not released by the call itself: one for each group.

    Attributes
    ----------
    points : ndarray, shape (groups, *point_shape)
    assumptions : frozenset of str
        Assumptions of a guarantee about them, besides its proof.
    """

    points: FloatArray
    assumptions: frozenset[str]

    @classmethod
    def of(
        cls,
        mean: Release | Releases[Release] | ArrayLike,
        balls: Sequence[Ball],
        labels: Sequence[Hashable],
    ) -> GivenPoints:
        """Private means that were released before, or points that the caller declares public.

        Raises
        ------
        ValueError
            For means of another manifold or statistic, and another number of groups.
        """
        if isinstance(mean, Release):
            given: Sequence[Release] = [mean]
        elif isinstance(mean, Releases):
            _check_labels(mean, labels)
            given = [mean[label] for label in labels]
        else:
            return cls._public(mean, balls[0], len(labels))
        given = [given[0]] * len(labels) if len(given) == 1 else given
        for release in given:
            _check_mean(release, balls[0])
        return cls(np.array([release.value for release in given]), frozenset())

    @classmethod
    def _public(cls, points: ArrayLike, ball: Ball, count: int) -> GivenPoints:
        shape = ball.manifold.point_shape
        given = as_points(points, shape, "mean")
        if given.shape not in (shape, (count, *shape)):
            raise ValueError(
                f"mean must be one point, or one for each of {count} groups, got shape "
                f"{given.shape}"
            )
        points = np.ascontiguousarray(np.broadcast_to(given, (count, *shape)))
        return cls(points, frozenset({"public-base-point"}))


def _check_labels(means: Releases[Release], labels: Sequence[Hashable]) -> None:
    """Refuses means of other groups: by number they would be those of any groups."""
    numbered = isinstance(labels, range)
    if numbered != isinstance(means.labels, range) or (numbered and len(labels) != len(means)):
        raise ValueError(
            f"the {len(means)} means were released of other groups than these {len(labels)}: give "
            "the labels or offsets that their call had"
        )


def _check_mean(release: Release, ball: Ball) -> None:
    """Refuses releases that are no mean on the ball's manifold."""
    if release.manifold != ball.manifold.spec:
        raise ValueError(
            f"the mean was released on {release.manifold}, the ball is on {ball.manifold.spec}"
        )
    if release.statistic != "Fréchet mean" or release.value.shape != ball.manifold.point_shape:
        raise ValueError(f"mean must be the release of a Fréchet mean, not of {release.statistic}")


def chart_differential(ball: Ball, point: FloatArray) -> FloatArray:
    """D exp_c at log_c p, from coordinates at the centre c to coordinates at p: (dim, dim)."""
    manifold, center = ball.manifold, ball.center
    coords = manifold.tangent_to_coords(manifold.log(point, center), center)
    return np.asarray(manifold.kernels.exp_differential(coords, center.reshape(-1)))
