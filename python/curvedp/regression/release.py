"""The release of a geodesic."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_level, as_positive
from curvedp.manifolds import as_manifold
from curvedp.privacy import Release
from curvedp.privacy.release import frozen_array
from curvedp.regression.covariate import Ranges, are_several, as_ranges, pairs_of
from curvedp.regression.geodesic import Geodesic

#: Below it the bound of tails that bands rest on does not hold.
_LEAST_LEVEL = 0.8


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GeodesicRelease(Release):
    """A released geodesic: `value` holds footpoint and velocities, shape (1 + q, *point_shape).

    Attributes
    ----------
    x_range : pair of float, or tuple of pairs
        Public range (x_lo, x_hi) of the covariate, to which it was clipped; of each of several.
    tau : float or None
        Public length at which residuals were clipped; None if that was found privately.
    v_max : float
        Public bound on the length of the velocity over the whole range, for several covariates on
        the sum of their lengths.
    moments : ndarray, shape (1 + q, 1 + q), or None
        Released second moments of (1, t), t the covariates from `x_center` on, in widths of their
        ranges; None for other samplers than "whitened".
    x_center : float, tuple of float, or None
        Released means of the covariates, where the footpoint stands; None for the middle of the
        range.
    deviation : float or None
        Standard deviation of an entry of footpoint and velocities in coordinates whitened by
        `moments`, from noise and from sampling; None if `tau` was given, and where steps may not
        have arrived (`expected_error` is None).
    """

    x_range: Ranges
    tau: float | None
    v_max: float
    moments: FloatArray | None = None
    x_center: float | tuple[float, ...] | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "x_range", as_ranges(self.x_range))
        if self.tau is not None:
            object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        object.__setattr__(self, "v_max", as_positive(self.v_max, "v_max"))
        if isinstance(self.x_center, list):
            object.__setattr__(self, "x_center", tuple(self.x_center))
        if self.moments is not None:
            object.__setattr__(self, "moments", frozen_array(self.moments))
        if self.deviation is not None:
            object.__setattr__(self, "deviation", as_positive(self.deviation, "deviation"))
        if self.value.ndim < 1 or len(self.value) != 1 + len(pairs_of(self.x_range)):
            raise ValueError("value must hold a footpoint and a velocity for each covariate")

    @functools.cached_property
    def geodesic(self) -> Geodesic:
        """The released geodesic."""
        return Geodesic(
            manifold=self.manifold,
            x_range=self.x_range,
            footpoint=self.value[0],
            x_center=self.x_center,
            velocity=self.value[1:] if are_several(self.x_range) else self.value[1],
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
        """Points of the released geodesic, shape (..., *point_shape); see `Geodesic.predict`."""
        return self.geodesic.predict(x)

    def band(self, x: ArrayLike, level: float = 0.95) -> FloatArray:
        """Distances from `predict(x)` within which the population's geodesic lies, shape (...).

        For one x at a time, asymptotically, measured with at least the probability `level` where
        covariates are uniform and residuals spread alike at all x. **Not in general**: on rare
        groups, skewed covariates, skewed residuals, long geodesics in negatively curved spaces, and
        where the spread changes with x, bands are too narrow, in some cases with a coverage of 0:
        docs/geodesic-regression.md, Limits. d h(x) s^2 times the quantile of chi^2_1, s the
        `deviation`, h(x) = (1, t)^T M^-1 (1, t). It is about the geodesic that clipped
        contributions estimate. Post-processing: it costs no budget.

        Parameters
        ----------
        x : array-like, shape (...), or (..., q) for several covariates
        level : float
            At least 0.8.

        Returns
        -------
        ndarray, shape (...)
            NaN where `deviation` is None.
        """
        level = as_level(level, "level")
        if level < _LEAST_LEVEL:
            raise ValueError(f"level must be at least {_LEAST_LEVEL}, got {level}")
        t = self.geodesic.times(x)
        if self.moments is None or self.deviation is None:
            return np.full(t.shape[:-1], np.nan)
        z = np.concatenate([np.ones((*t.shape[:-1], 1)), t], axis=-1)
        height = np.einsum("...i,ij,...j", z, np.linalg.inv(self.moments), z)
        dim = as_manifold(self.manifold).dim
        return np.asarray(self.deviation * np.sqrt(dim * scipy.stats.chi2.ppf(level, 1) * height))

    @property
    def loss_bound(self) -> float:
        """Largest loss (1/2n) sum_i rho(prediction_i, y_i)^2 that records of the ball can have.

        (R^2)/2 with R = 2 r + V/2: predictions lie within r + V/2 of the ball's centre, records
        within r. Public, and attained only by the worst data: not an estimate of the loss.
        """
        return 0.5 * (2 * self.ball_radius + 0.5 * self.v_max) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        own = {"x_range": np.asarray(self.x_range).tolist()}
        if isinstance(self.x_center, tuple):
            own["x_center"] = list(self.x_center)
        return {**super().to_dict(), **own}

    def _error(self) -> str:
        return "not known" if self.expected_error is None else super()._error()

    def _notes(self) -> list[str]:
        ranges = ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in pairs_of(self.x_range))
        clipped = "" if self.tau is None else f", residuals to {self.tau:.6g}"
        return [
            f"covariate clipped to {ranges}{clipped}",
            f"velocity over the range at most {self.v_max:.6g}",
            f"row 0 of the value: the point at x = {self._at()}; row 1, and further ones of "
            "several covariates: the velocity there over the range",
            *self._spread(),
        ]

    def _at(self) -> str:
        if self.x_center is None:
            return ", ".join(f"{(low + high) / 2:.6g}" for low, high in pairs_of(self.x_range))
        return ", ".join(f"{x:.6g}" for x in np.ravel(self.x_center))

    def _spread(self) -> list[str]:
        if self.moments is None or self.expected_error is not None:
            return []
        return [
            "the budget is too small for steps to arrive, or for the covariate's spread within "
            "its range, so that the slope is too short: use a larger budget, more records, a "
            "narrower range, or tau if about the largest residual is known"
        ]


def stack(footpoint: FloatArray, *velocities: FloatArray) -> FloatArray:
    """The value of a release."""
    return np.stack([footpoint, *velocities])
