"""A geodesic with its covariates: x -> exp_p(sum_j t_j v_j), t_j in [-1/2, 1/2] on the range."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._text import one_line
from curvedp._validation import FloatArray, as_float_array
from curvedp.manifolds import Manifold, as_manifold
from curvedp.regression.covariate import Ranges, are_several, pairs_of, to_times


@dataclass(frozen=True, eq=False, kw_only=True)
class Geodesic:
    """A geodesic exp_p(t v), t = (x - x_center)/(x_hi - x_lo); of several x exp_p(sum t_j v_j).

    Attributes
    ----------
    manifold : str
        Specification, such as ``"sphere:2"``.
    x_range : pair of float, or tuple of pairs
        (x_lo, x_hi), of each covariate if there are several.
    footpoint : ndarray, shape point_shape
        p, the point at `x_center`.
    x_center : float or tuple of float, optional
        Covariates of the footpoint; by default the middle of each range.
    velocity : ndarray, shape point_shape or (q, *point_shape)
        v, the tangent vector at p along the whole range; one for each of several covariates.
    """

    manifold: str
    x_range: Ranges
    footpoint: FloatArray
    velocity: FloatArray
    x_center: float | tuple[float, ...] | None = None

    __repr__ = one_line

    @functools.cached_property
    def _space(self) -> Manifold:
        return as_manifold(self.manifold)

    @property
    def intercept(self) -> FloatArray:
        """The point at x_lo, shape point_shape, of one covariate."""
        return self.at(self.one_range[0])[0]

    @property
    def slope(self) -> FloatArray:
        """The velocity at x_lo for a unit of x, one covariate, a tangent vector at `intercept`."""
        return self.at(self.one_range[0])[1]

    def predict(self, x: ArrayLike) -> FloatArray:
        """Points of the geodesic, also beyond the range.

        Parameters
        ----------
        x : array-like, shape (...), or (..., q) for several covariates

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        return self._space.exp(self._tangent(self.times(x)), self.footpoint)

    def times(self, x: ArrayLike) -> FloatArray:
        """Covariates from the center on, in widths of their ranges, shape (..., q).

        Parameters
        ----------
        x : array-like, shape (...), or (..., q) for several covariates

        Raises
        ------
        ValueError
            For another number of covariates.
        """
        covariates = as_float_array(x, "x")
        if self._several and covariates.shape[-1:] != (len(self.velocity),):
            raise ValueError(
                f"x must have shape (..., {len(self.velocity)}), got {covariates.shape}: one row "
                f"with {len(self.velocity)} covariates for each place"
            )
        t = to_times(covariates, self.x_range)
        if self.x_center is not None:
            t = t - to_times(np.asarray(self.x_center, dtype=np.float64), self.x_range)
        return t if self._several else t[..., None]

    def at(self, x: float) -> tuple[FloatArray, FloatArray]:
        """The point at x and the velocity there for a unit of x.

        predict(z) = exp_point((z - x) velocity) for every z.
        """
        low, high = self.one_range
        t = float(self.times(x)[0])
        point = self._space.exp(t * self.velocity, self.footpoint)
        step = self._unambiguous_step()
        ahead = self._space.exp((t + step) * self.velocity, self.footpoint)
        return point, self._space.log(ahead, point) / (step * (high - low))

    def _unambiguous_step(self) -> float:
        """A time within which the geodesic is the shortest connection."""
        speed = float(self._space.norm(self.velocity, self.footpoint))
        reach = min(0.25 * self._space.injectivity_radius, 1.0)
        return min(1.0, reach / speed) if speed > 0 else 1.0

    @property
    def _several(self) -> bool:
        return are_several(self.x_range)

    @property
    def one_range(self) -> tuple[float, float]:
        """(x_lo, x_hi) of one covariate; raises for several."""
        if self._several:
            raise ValueError(
                "geodesics over several covariates have no point and slope at x: "
                "use predict, footpoint and velocity"
            )
        return pairs_of(self.x_range)[0]

    def _tangent(self, t: FloatArray) -> FloatArray:
        """sum_j t_j v_j"""
        if self._several:
            return np.asarray(np.tensordot(t, self.velocity, axes=1), dtype=np.float64)
        t = t[..., 0]
        return np.asarray(t.reshape(t.shape + (1,) * self.velocity.ndim) * self.velocity)
