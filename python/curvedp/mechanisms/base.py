"""Base of all mechanisms: noise calibrated to a guarantee, drawn around a true value in a ball."""

from __future__ import annotations

import abc
import functools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._text import rounded_down
from curvedp._validation import FloatArray, as_count, as_positive
from curvedp.domain import Ball
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.mechanisms.grid import clip_radius, grid_step
from curvedp.mechanisms.measurement import make_measurement
from curvedp.privacy import GDP, ApproxDP, PureDP

#: What a mechanism is calibrated to.
Way = PureDP | GDP | ApproxDP

#: Scales beyond the closest copy of a point up to which densities count the others: e^-40 of it.
_FOLDS = 40.0


class Mechanism(abc.ABC):
    """Noise on the manifold of a ball, calibrated so that `guarantee` holds.

    Parameters
    ----------
    ball : Ball
        Domain of the true value.
    sensitivity : float
        Largest distance between the true values of neighbouring data sets, solver error included.
    guarantee : PureDP, GDP or ApproxDP
        Guarantee of the release; each mechanism accepts its own kind.
    """

    #: Name as printed on releases.
    name: ClassVar[str]
    #: Page with definition, calibration and proof.
    proof: ClassVar[str]
    #: Shape of the noise: "laplace" or "gaussian".
    profile: ClassVar[str]
    #: True if noise is added in the chart at the ball's centre, False if at the true value itself.
    in_chart: ClassVar[bool]
    #: True if its scale counts the Lipschitz constant of the chart at the ball's centre.
    stretched: ClassVar[bool] = False

    def __init__(self, ball: Ball, sensitivity: float, guarantee: Way) -> None:
        self.ball = ball
        self.sensitivity = as_positive(sensitivity, "sensitivity")
        check_guarantee(guarantee)
        self.guarantee = guarantee
        self.scale = self._calibrate()
        step = grid_step(ball, self.scale, guarantee, in_chart=self.in_chart)
        self._grid = step, clip_radius(ball)
        self._noise = self._build_noise()

    @abc.abstractmethod
    def _calibrate(self) -> float:
        """The noise profile's length: 1/lambda or sigma."""

    @abc.abstractmethod
    def _build_noise(self) -> _core.Noise: ...

    @abc.abstractmethod
    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        """Log-density of the noise at `point`, up to a term that does not depend on `true_value`.

        With respect to the Riemannian volume; differences between two true values are exact.

        Parameters
        ----------
        point, true_value : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (...)
        """

    @property
    def expected_error(self) -> float:
        """Expected distance between release and true value, in the units of the metric.

        If releases are clipped at the distance C from the centre, an upper bound: E min(t, C + r),
        t the length of the noise. Clipping brings no release farther away from a true value in the
        ball, and leaves it at most C + r away.
        """
        return self._noise.expected_dist_within(clip_radius(self.ball) + self.ball.radius)

    def sample(
        self, true_value: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Independent draws of the mechanism, rounded to the public grid.

        Parameters
        ----------
        true_value : array-like, shape point_shape
            Projected on the ball, outside which the calibration does not hold.
        stream : Stream, optional
            Source of randomness; by default a fresh key from the operating system.
        n_samples : int

        Returns
        -------
        ndarray, shape (n_samples, *point_shape)
        """
        count = as_count(n_samples, "n_samples")
        point = self.ball.manifold._points(true_value, "true_value")
        if point.shape != self.ball.manifold.point_shape:
            raise ValueError(f"true_value must be one point, got shape {point.shape}")
        return self._release(self.ball.enter(point[None])[0], stream, count)

    def _release(
        self, true_value: FloatArray, stream: _core.Stream | None, count: int
    ) -> FloatArray:
        """Draws around a point of the frame, rounded and moved back to the manifold."""
        space = self.ball.manifold
        points = np.empty((count, space.point_size))
        self._noise.release(
            self.ball.frame,
            np.ascontiguousarray(true_value),
            _core.Stream.from_os() if stream is None else stream,
            self._grid,
            points,
        )
        return points.reshape(count, *space.point_shape)

    def to_opendp(self) -> Any:
        """This mechanism as a measurement of OpenDP (an extra), from the ball to a noisy point.

        Input: points of `ball` (others are projected on it), with the geodesic distance as metric.
        Privacy map, for true values d apart: epsilon d / sensitivity for Laplace noise under
        OpenDP's max divergence (of the l2 mechanism its own epsilon, above that of (epsilon,
        delta)); (mu d / sensitivity)^2 / 2 for Gaussian noise under its
        zero-concentrated divergence, since it has no measure for Gaussian DP.

        Returns
        -------
        opendp.mod.Measurement

        Raises
        ------
        MissingExtraError
            If opendp is not installed.

        Notes
        -----
        OpenDP wants its features "contrib" and "honest-but-curious" enabled first.
        """

        def release(point: Any) -> FloatArray:
            return np.asarray(self.sample(point)[0])

        return make_measurement(self.ball, release, self._loss, self.sensitivity, self.profile)

    @property
    def _loss(self) -> PureDP | GDP:
        """The guarantee whose budget is spent in proportion to a distance, or to its square."""
        if isinstance(self.guarantee, ApproxDP):
            raise TypeError(f"{self.name} does not say what pure or Gaussian guarantee it has")
        return self.guarantee

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ball, self.sensitivity, self.guarantee)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.guarantee!r}, scale={rounded_down(self.scale)})"

    def _epsilon(self) -> float:
        if not isinstance(self.guarantee, PureDP):
            raise TypeError(f"{self.name} gives pure DP: ask for PureDP(epsilon)")
        return self.guarantee.epsilon

    def _mu(self) -> float:
        if not isinstance(self.guarantee, GDP):
            raise TypeError(f"{self.name} gives Gaussian DP: ask for GDP(mu)")
        return self.guarantee.mu


class IntrinsicMechanism(Mechanism):
    """exp_p(noise) with p the true value: an isotropic law carried to p by an isometry."""

    in_chart = False

    def _build_noise(self) -> _core.Noise:
        return _core.Noise(*self.ball.manifold.noise_space, self.profile, self.scale)

    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        reach = _FOLDS * self.scale
        dists = np.asarray(self.ball.manifold._noise_dists(point, true_value, reach))
        if self.profile == "laplace":
            logs = -dists / self.scale
        else:
            logs = -(dists**2) / (2 * self.scale**2)
        return np.asarray(np.logaddexp.reduce(logs))


class ChartMechanism(Mechanism):
    """Noise in the chart at the ball's centre: exp_c(log_c(p) + noise).

    Its `log_density` leaves out the Jacobian of exp_c, which does not depend on the true value.
    """

    in_chart = True

    def _build_noise(self) -> _core.Noise:
        return _core.Noise("flat", self.ball.manifold.dim, 0.0, self.profile, self.scale)

    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        manifold, center = self.ball.manifold, self.ball.center
        y = manifold.tangent_to_coords(manifold.log(point, center), center)
        p = manifold.tangent_to_coords(manifold.log(true_value, center), center)
        square = np.sum((y - p) ** 2, axis=-1)
        if self.profile == "laplace":
            return np.asarray(-np.sqrt(square) / self.scale)
        return np.asarray(-square / (2 * self.scale**2))


class ChartGaussian(ChartMechanism):
    """Gaussian noise in the chart at the ball's centre: exp_c(log_c(p) + sigma N(0, I))."""

    profile = "gaussian"


@functools.lru_cache(maxsize=256)
def largest_laplace_scale(space: tuple[str, int, float]) -> float:
    """Largest scale, to 1 part in 1000, at which Laplace noise exists and is drawn exactly.

    Infinite where volumes grow polynomially. Elsewhere 1/scale must exceed the rate of their
    growth, and on SPD(m) and HPD(m) the exact sampler must accept a fair share of its proposals. 0
    where there is no exact sampler: beyond m = 16.
    """
    return _core.largest_laplace_scale(*space)
