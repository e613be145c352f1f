"""The released point at which logarithms are taken: the private mean, kept in the ball."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray, as_points, as_reach
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import ChartGaussian, Mechanism
from curvedp.mechanisms.choice import known_noise
from curvedp.privacy import Guarantee, Release, Unproved
from curvedp.statistics.entry import Entry
from curvedp.statistics.frechet_mean import Design, design_mean, release_mean


@dataclass(frozen=True)
class MeanNoise:
    """The noise of a private mean, all of it public.

    Attributes
    ----------
    ball : Ball
        That of the mean's release: noise in a chart is drawn in the chart at its centre.
    scale : float
    in_chart : bool
        Whether the noise is drawn in that chart, or about the mean itself, alike in all directions.
    mean_square : float
        Mean squared length of noise that is drawn about the mean itself; NaN for noise in a chart.
    """

    ball: Ball
    scale: float
    in_chart: bool
    mean_square: float

    @classmethod
    def of(cls, mechanism: Mechanism, ball: Ball) -> MeanNoise:
        """That of a mechanism, whoever has defined it, on a ball as large as its own."""
        if isinstance(mechanism, ChartGaussian):
            return cls(ball, mechanism.scale, True, math.nan)
        length = mechanism._noise.root_mean_square_dist
        return cls(ball, mechanism.scale, False, length * length)

    @classmethod
    def of_release(cls, mean: Release, ball: Ball) -> MeanNoise:
        """That of a mean that was released before; `ball` is the ball of this call.

        Raises
        ------
        ValueError
            If the noise of the release's mechanism does not follow from its name and scale.
        """
        known = known_noise(mean.mechanism)
        if known is None:
            raise ValueError(
                f"what the noise of a mean by {mean.mechanism!r} adds to the variance is not "
                "known: release the variance with a mean of its own, or give mean.value, from "
                "which nothing is subtracted"
            )
        if not np.array_equal(mean.ball_center, ball.center) or mean.ball_radius != ball.radius:
            ball = Ball(ball.manifold, mean.ball_center, mean.ball_radius)
        in_chart, profile = known
        if in_chart:
            return cls(ball, mean.scale, True, math.nan)
        noise = _core.Noise(*ball.manifold.noise_space, profile, mean.scale)
        length = noise.root_mean_square_dist
        return cls(ball, mean.scale, False, length * length)

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
class BasePlan:
    """Where logarithms will be taken: a point that is public, or a mean that is to be released.

    Attributes
    ----------
    source : Release, ndarray or Design
        A private mean, a public point, or the design of a private mean.
    noise : MeanNoise or None
        That of the mean, where it is asked for.
    """

    source: Release | FloatArray | Design
    noise: MeanNoise | None


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
        The private mean that p comes from; none for a point that the caller declares public.
    noise : MeanNoise or None
        That of the mean, where it is asked for.
    """

    ball: Ball
    point: FloatArray
    inner: FloatArray
    max_dist: float
    mean: Release | None
    noise: MeanNoise | None

    @property
    def is_released(self) -> bool:
        """Whether p is public, as far as is known."""
        return self.mean is None or not isinstance(self.mean.guarantee, Unproved)

    @property
    def assumptions(self) -> frozenset[str]:
        """What a guarantee about this point rests on besides its proof."""
        return frozenset({"public-base-point"} if self.mean is None else ())

    @property
    def mean_noise_square(self) -> float:
        """E |log_p of the exact mean|^2 given the private mean p; 0 if p is not known to be one."""
        if self.mean is None:
            return 0.0
        assert self.noise is not None
        if not self.noise.in_chart:
            return self.noise.mean_square
        if self.noise.ball is self.ball:
            growth: float = self.ball._frame.chart_growth(self.inner[0])
            return self.noise.scale * self.noise.scale * growth
        return float(np.trace(self.noise.covariance(self.point)))

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
    *,
    needs_noise: bool = True,
) -> BasePlan:
    """The base point given by the caller, or the design of a mean for a share of the budget.

    Everything that can be refused is refused here, before a budget is touched. `needs_noise` says
    whether the noise of the mean is asked for.
    """
    ball = entry.ball
    if mean is None:
        try:
            design = design_mean(
                ball,
                entry.n,
                share,
                entry.records_per_unit,
                calibration=entry.calibration,
                mechanism=mechanism,
            )
        except ExistenceError as error:
            raise error.of_whole(share, entry.guarantee) from None
        return BasePlan(design, MeanNoise.of(design.mechanism, ball) if needs_noise else None)
    shape = ball.manifold.point_shape
    if isinstance(mean, Release):
        if mean.manifold != ball.manifold.spec:
            raise ValueError(
                f"the mean was released on {mean.manifold}, the ball is on {ball.manifold.spec}"
            )
        if mean.statistic != "Fréchet mean" or mean.value.shape != shape:
            raise ValueError(f"mean must be the release of a Fréchet mean, not of {mean.statistic}")
        return BasePlan(mean, MeanNoise.of_release(mean, ball) if needs_noise else None)
    point = as_points(mean, shape, "mean")
    if point.shape != shape:
        raise ValueError(f"mean must be one point, got shape {point.shape}")
    return BasePlan(point, None)


def find_base_point(
    entry: Entry,
    rows: FloatArray,
    plan: BasePlan,
    share: Guarantee,
    max_dist: float | None,
) -> BasePoint:
    """The base point that was planned; a mean that is still to be released is released here.

    With calibration "published" the point stays where it is, even outside the ball, and R is 2 r.
    """
    ball, source = entry.ball, plan.source
    if isinstance(source, Design):
        source = release_mean(entry, rows, source, share)
    released, point = (source, source.value) if isinstance(source, Release) else (None, source)
    reach = 2 * ball.radius
    if entry.calibration == "published":
        inner = np.empty((1, ball._frame.manifold.point_size))
        wide = _core.Frame(ball.manifold._core, ball.center.reshape(-1), _widest(ball))
        wide.enter(np.ascontiguousarray(point).reshape(1, -1), inner)
    else:
        inner = ball._enter(point[None])
        reach = ball._frame.reach(inner[0])
        point = ball._leave(inner)[0]
    if max_dist is not None:
        reach = min(reach, as_reach(max_dist, "max_dist"))
    return BasePoint(ball, point, inner, reach, released, plan.noise)


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


def chart_differential(ball: Ball, point: FloatArray) -> FloatArray:
    """D exp_c at log_c p, from coordinates at the centre c to coordinates at p: (dim, dim)."""
    manifold, center = ball.manifold, ball.center
    coords = manifold.tangent_to_coords(manifold.log(point, center), center)
    return np.asarray(manifold._core.exp_differential(coords, center.reshape(-1)))
