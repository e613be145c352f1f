"""A geodesic with its covariate: x -> exp_p(t(x) v), t from -1/2 to 1/2 over the range of x."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_float_array
from curvedp.manifolds import Manifold, as_manifold
from curvedp.regression.covariate import to_times


@dataclass(frozen=True, eq=False, kw_only=True)
class Geodesic:
    """x -> exp_p((x - x_mid)/(x_hi - x_lo) v).

    Attributes
    ----------
    manifold : str
        Specification, such as ``"sphere:2"``.
    x_range : pair of float
        (x_lo, x_hi).
    footpoint : ndarray, shape point_shape
        p, the point at the middle of the range.
    velocity : ndarray, shape point_shape
        v, the tangent vector at p along the whole range.
    """

    manifold: str
    x_range: tuple[float, float]
    footpoint: FloatArray
    velocity: FloatArray

    @functools.cached_property
    def _space(self) -> Manifold:
        return as_manifold(self.manifold)

    @property
    def intercept(self) -> FloatArray:
        """The point at x_lo, shape point_shape."""
        return self.at(self.x_range[0])[0]

    @property
    def slope(self) -> FloatArray:
        """The velocity at x_lo for a unit of x, a tangent vector at `intercept`."""
        return self.at(self.x_range[0])[1]

    def predict(self, x: ArrayLike) -> FloatArray:
        """Points of the geodesic, also beyond the range.

        Parameters
        ----------
        x : array-like, shape (...)

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        t = to_times(as_float_array(x, "x"), self.x_range)
        return self._space.exp(self._scaled(t), self.footpoint)

    def at(self, x: float) -> tuple[FloatArray, FloatArray]:
        """The point at x and the velocity there for a unit of x.

        predict(z) = exp_point((z - x) velocity) for every z.
        """
        t = float(to_times(np.asarray(x, dtype=np.float64), self.x_range))
        low, high = self.x_range
        point = self._space.exp(t * self.velocity, self.footpoint)
        step = self._unambiguous_step()
        ahead = self._space.exp((t + step) * self.velocity, self.footpoint)
        return point, self._space.log(ahead, point) / (step * (high - low))

    def _unambiguous_step(self) -> float:
        """A time within which the geodesic is the shortest connection."""
        speed = float(self._space.norm(self.velocity, self.footpoint))
        reach = min(0.25 * self._space.injectivity_radius, 1.0)
        return min(1.0, reach / speed) if speed > 0 else 1.0

    def _scaled(self, t: FloatArray) -> FloatArray:
        return np.asarray(t.reshape(t.shape + (1,) * self.velocity.ndim) * self.velocity)
