"""The release of a geodesic."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_positive
from curvedp.privacy import Release
from curvedp.regression.covariate import as_range
from curvedp.regression.geodesic import Geodesic


@dataclass(frozen=True, eq=False, kw_only=True)
class GeodesicRelease(Release):
    """A released geodesic: `value` holds footpoint and velocity, shape (2, *point_shape).

    Attributes
    ----------
    x_range : pair of float
        Public range (x_lo, x_hi) of the covariate, to which it was clipped.
    tau : float
        Public length at which residuals were clipped.
    v_max : float
        Public bound on the length of the velocity over the whole range.
    """

    x_range: tuple[float, float]
    tau: float
    v_max: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "x_range", as_range(self.x_range))
        object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        object.__setattr__(self, "v_max", as_positive(self.v_max, "v_max"))
        if self.value.ndim < 1 or len(self.value) != 2:
            raise ValueError("value must hold a footpoint and a velocity")

    @functools.cached_property
    def geodesic(self) -> Geodesic:
        """The released geodesic."""
        return Geodesic(
            manifold=self.manifold,
            x_range=self.x_range,
            footpoint=self.value[0],
            velocity=self.value[1],
        )

    @property
    def intercept(self) -> FloatArray:
        """The point at x_lo, shape point_shape."""
        return self.geodesic.intercept

    @property
    def slope(self) -> FloatArray:
        """The velocity at x_lo for a unit of x, a tangent vector at `intercept`."""
        return self.geodesic.slope

    def predict(self, x: ArrayLike) -> FloatArray:
        """Points of the released geodesic, shape (..., *point_shape), for x of shape (...)."""
        return self.geodesic.predict(x)

    @property
    def loss_bound(self) -> float:
        """Largest loss (1/2n) sum_i rho(prediction_i, y_i)^2 that records of the ball can have.

        (R^2)/2 with R = 2 r + V/2: predictions lie within r + V/2 of the ball's centre, records
        within r. Public, and attained only by the worst data: not an estimate of the loss.
        """
        return 0.5 * (2 * self.ball_radius + 0.5 * self.v_max) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {**super().to_dict(), "x_range": list(self.x_range)}

    def report(self) -> str:
        """As `Release.report`, with the covariate's range, tau and V."""
        low, high = self.x_range
        return super().report() + (
            f"covariate clipped to [{low:.6g}, {high:.6g}], residuals to {self.tau:.6g}\n"
            f"velocity over the range at most {self.v_max:.6g}\n"
            "row 0 of the value: the point at the middle of the range; row 1: the velocity there\n"
        )


def stack(footpoint: FloatArray, velocity: FloatArray) -> FloatArray:
    """The value of a release."""
    return np.stack([footpoint, velocity])
