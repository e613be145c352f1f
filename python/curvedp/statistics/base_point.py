"""The released point at which logarithms are taken: the private mean, kept in the ball."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray, as_points, as_reach
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import MECHANISMS, ChartGaussian, Mechanism
from curvedp.privacy import Guarantee, Release, Unproved
from curvedp.statistics.entry import Entry
from curvedp.statistics.frechet_mean import Design, design_mean, release_mean


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
    mean : Release or None
        The private mean that p comes from, if it is known.
    """

    ball: Ball
    point: FloatArray
    inner: FloatArray
    max_dist: float
    mean: Release | None

    @property
    def is_released(self) -> bool:
        """Whether p is public, as far as is known."""
        return self.mean is None or not isinstance(self.mean.guarantee, Unproved)

    @functools.cached_property
    def rotation(self) -> FloatArray:
        """Orthogonal matrix Q, shape (dim, dim): coordinates u in the frame are u Q at p."""
        manifold = self.ball._frame.manifold
        size = isometry_step(self.ball)
        basis = size * np.eye(manifold.dim)
        ends = np.empty((manifold.dim, manifold.point_size))
        manifold.exp_coords(basis, self.inner, ends)
        outer = self.ball.manifold
        moved = outer.tangent_to_coords(
            outer.log(self.ball._leave(ends), self.ball._leave(self.inner)), self.point
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


def plan_base_point(
    entry: Entry,
    mean: Release | ArrayLike | None,
    share: Guarantee,
    mechanism: str | type[Mechanism] | None = None,
) -> Release | FloatArray | Design:
    """The base point given by the caller, or the design of a mean for a share of the budget.

    Everything that can be refused is refused here, before a budget is touched.
    """
    ball = entry.ball
    if mean is None:
        try:
            return design_mean(
                ball,
                entry.n,
                share,
                entry.records_per_unit,
                calibration=entry.calibration,
                mechanism=mechanism,
            )
        except ExistenceError as error:
            raise error.of_whole(share, entry.guarantee) from None
    shape = ball.manifold.point_shape
    if isinstance(mean, Release):
        if mean.manifold != ball.manifold.spec:
            raise ValueError(
                f"the mean was released on {mean.manifold}, the ball is on {ball.manifold.spec}"
            )
        if mean.statistic != "Fréchet mean" or mean.value.shape != shape:
            raise ValueError(f"mean must be the release of a Fréchet mean, not of {mean.statistic}")
        return mean
    point = as_points(mean, shape, "mean")
    if point.shape != shape:
        raise ValueError(f"mean must be one point, got shape {point.shape}")
    return point


def find_base_point(
    entry: Entry,
    rows: FloatArray,
    plan: Release | FloatArray | Design,
    share: Guarantee,
    max_dist: float | None,
) -> BasePoint:
    """The base point that was planned; a mean that is still to be released is released here.

    With calibration "published" the point stays where it is, even outside the ball, and R is 2 r.
    """
    ball = entry.ball
    released: Release | None = None
    if isinstance(plan, Design):
        released = release_mean(entry, rows, plan, share)
    elif isinstance(plan, Release):
        released = plan
    point = plan if isinstance(plan, np.ndarray) else released.value if released else None
    assert point is not None
    reach = 2 * ball.radius
    if entry.calibration == "published":
        inner = np.empty((1, ball._frame.manifold.point_size))
        wide = _core.Frame(ball.manifold._core, ball.center.reshape(-1), _widest(ball))
        wide.enter(np.ascontiguousarray(point).reshape(1, -1), inner)
    else:
        inner = ball._enter(point[None])
        dist = np.empty(1)
        ball._frame.manifold.dist(ball._frame.origin[None], inner, dist)
        reach = min(reach, ball.radius + float(dist[0])) * (1 + BOUNDARY_SLACK)
        point = ball._leave(inner)[0]
    if max_dist is not None:
        reach = min(reach, as_reach(max_dist, "max_dist"))
    return BasePoint(ball, point, inner, reach, released)


def planned_mean(entry: Entry, design: Design, share: Guarantee) -> Release:
    """What the release of a mean looks like before there are records: at the ball's centre."""
    return entry.release(
        share,
        value=entry.ball.center,
        mechanism=design.mechanism.name,
        statistic="Fréchet mean",
        sensitivity=design.sensitivity,
        solver_tolerance=design.plan.tolerance,
        scale=design.mechanism.scale,
        expected_error=design.mechanism.expected_error,
    )


def _widest(ball: Ball) -> float:
    """Radius of a ball that holds every point that can be released."""
    return min(1e3, 0.999 * ball.manifold.injectivity_radius)


def mean_noise_covariance(ball: Ball, mean: Release, point: FloatArray) -> FloatArray:
    """Covariance of log_p of the exact mean given the private mean p, shape (dim, dim).

    Isotropic for intrinsic noise; sigma^2 L L' with L = D exp_c at log_c p for noise in the chart
    at the centre.
    """
    manifold = ball.manifold
    kind = mechanism_of(mean)
    dim = manifold.dim
    if not issubclass(kind, ChartGaussian):
        noise = _core.Noise(*manifold.noise_space, kind.profile, mean.scale)
        return np.asarray(noise.root_mean_square_dist**2 / dim * np.eye(dim))
    spread = mean.scale * chart_differential(ball, point)
    return np.asarray(spread @ spread.T)


def mean_noise_square(base: BasePoint) -> float:
    """E |log_p of the exact mean|^2 given the private mean p: the trace of `mean_noise_covariance`.

    0 if p is not known to be a private mean.
    """
    if base.mean is None:
        return 0.0
    ball, kind = base.ball, mechanism_of(base.mean)
    if issubclass(kind, ChartGaussian):
        return base.mean.scale * base.mean.scale * ball._frame.chart_growth(base.inner[0])
    noise = _core.Noise(*ball.manifold.noise_space, kind.profile, base.mean.scale)
    return noise.root_mean_square_dist * noise.root_mean_square_dist


def mechanism_of(mean: Release) -> type[Mechanism]:
    """The mechanism that a mean was released with."""
    return next(kind for kind in MECHANISMS.values() if kind.name == mean.mechanism)


def chart_differential(ball: Ball, point: FloatArray) -> FloatArray:
    """D exp_c at log_c p, from coordinates at the centre c to coordinates at p: (dim, dim)."""
    manifold, center = ball.manifold, ball.center
    coords = manifold.tangent_to_coords(manifold.log(point, center), center)
    return np.asarray(manifold._core.exp_differential(coords, center.reshape(-1)))
