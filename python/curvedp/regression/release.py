"""The release of a geodesic."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_choice, as_level, as_positive
from curvedp.manifolds import as_manifold
from curvedp.privacy import Release
from curvedp.privacy.release import check_text, frozen_array
from curvedp.regression.adaptive_design import NORM_WEIGHT
from curvedp.regression.covariate import Ranges, are_several, as_ranges, pairs_of, to_times
from curvedp.regression.geodesic import Geodesic
from curvedp.regression.wald import (
    WaldTest,
    raised_diagonal,
    share_of_one_direction,
    shrunk_meat,
    wald,
)
from curvedp.regression.whitening import CovariateLaw, StepMetric, solved
from curvedp.statistics.quantiles import mixed_quantile
from curvedp.unit import told_in

_NOT_ARRIVED = "the result may not have converged to the least-squares geodesic"
#: Below it the bound of tails that bands rest on does not hold.
_LEAST_LEVEL = 0.8
#: Leverage over the released one beyond which too few records lie for a band.
_BEYOND = 1.3
#: Most of a prediction's variance that one unit is thought to decide.
_MOST_LEVERAGE = 0.5


class Coefficient(NamedTuple):
    """The slope of a released geodesic along one covariate.

    Attributes
    ----------
    speed : float
        Length of the velocity at the footpoint for a unit of the covariate.
    standard_error : float
        Root mean square length of the velocity's error, from noise and sampling.
    p_value : float
        Of the hypothesis that the slope is 0, given all other covariates: see
        `GeodesicRelease.wald_test`. NaN where steps may not have arrived.
    """

    speed: float
    standard_error: float
    p_value: float


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
        Released second moments M of z = (1, t), t the covariates from `x_center` on, in widths of
        their ranges; None for other samplers than "whitened".
    x_center : float, tuple of float, or None
        Released means of the covariates, where the footpoint stands; None for the middle of the
        range.
    leverage : float or None
        Released leverage z^T M^-1 z above which few records lie; bands end there.
    meat : ndarray, shape (1 + q, 1 + q), or None
        Released second moments of the records' contributions |u| D^(-1/2) z, u the residual and D
        those of an optimal design for covariates up to `leverage`: the meat of a sandwich
        estimator. With noise, so that it may not be positive. With `units` of persons' mean
        contributions.
    meat_norm : float or None
        Released Frobenius norm of the second moments of these contributions among directions, shape
        (d, d): it is tr meat if residuals lie in one direction, and 1/sqrt(d) of it if they spread
        alike in all.
    meat_deviation : float or None
        Standard deviation of the noise of a diagonal entry of `meat`; twice that of `meat_norm`'s.
    remains, growth : ndarray, shape (q, q), or None
        Share of the velocities that steps may have left undone, were the noise of `moments` two
        standard deviations; and by what errors of velocities may be larger than with the right
        moments. Errors of slopes hold both.
    deviation : float or None
        Standard deviation of the noise in each coordinate of contributions so whitened, clipping
        included.
    doubts : tuple of str
        Why the result may not have converged to the least-squares geodesic of the records, by
        released and public numbers; empty if nothing tells so. With doubts there is no expected
        error, no band and no p-value.
    covariates : tuple of str
        Names of the columns of a table of covariates, which are public; empty for other ones and
        groups.
    """

    x_range: Ranges
    tau: float | None
    v_max: float
    moments: FloatArray | None = None
    x_center: float | tuple[float, ...] | None = None
    leverage: float | None = None
    meat: FloatArray | None = None
    meat_norm: float | None = None
    meat_deviation: float | None = None
    remains: FloatArray | None = None
    growth: FloatArray | None = None
    deviation: float | None = None
    doubts: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "x_range", as_ranges(self.x_range))
        if self.tau is not None:
            object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        object.__setattr__(self, "v_max", as_positive(self.v_max, "v_max"))
        if isinstance(self.x_center, list):
            object.__setattr__(self, "x_center", tuple(self.x_center))
        for name in ("moments", "meat", "remains", "growth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen_array(getattr(self, name)))
        object.__setattr__(self, "doubts", tuple(map(str, self.doubts)))
        object.__setattr__(self, "covariates", tuple(self.covariates))
        for name in self.covariates:
            check_text("a name of a covariate", name)
        if self.covariates and len(self.covariates) != len(pairs_of(self.x_range)):
            raise ValueError("covariates must be names, one for each")
        self._check_what_bands_rest_on()
        if self.value.ndim < 1 or len(self.value) != 1 + len(pairs_of(self.x_range)):
            raise ValueError("value must hold a footpoint and a velocity for each covariate")

    def _check_what_bands_rest_on(self) -> None:
        """Refuses a part of the numbers, and other shapes."""
        rows = len(self.value) if self.value.ndim else 0
        numbers = (self.leverage, self.meat_norm, self.meat_deviation, self.deviation)
        matrices = (self.moments, self.meat, self.remains, self.growth)
        found = (*matrices, *numbers)
        if all(own is None for own in found):
            return
        if any(own is None for own in found):
            raise ValueError("moments, meat and its noise, leverage and deviation go together")
        assert self.leverage is not None
        is_whole = math.isfinite(self.leverage) and self.leverage > 1
        sizes = (rows, rows, rows - 1, rows - 1)
        for own, size in zip(matrices, sizes, strict=True):
            is_whole = is_whole and own is not None and own.shape == (size, size)
        if not is_whole:
            raise ValueError("moments, meat, leverage and deviation do not fit the value")
        for name in ("meat_deviation", "deviation"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))

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

    @property
    def arrived(self) -> bool:
        """False if the result may not have converged to the least-squares geodesic: `doubts`."""
        return not self.doubts

    @quiet
    def band(
        self, x: ArrayLike, level: float = 0.95, *, interval: str = "confidence"
    ) -> FloatArray:
        """Distances from `predict(x)` within which the population's geodesic lies, shape (...).

        For one x at a time, asymptotically. The prediction is off by noise with the variance
        s^2 tr E(x) and by sampling with the variance <meat, E(x)>/(n d), E(x) the effect of
        whitened coordinates on it, for flat spaces d (D^1/2 M^-1 z)(D^1/2 M^-1 z)^T: a sandwich, so
        that the spread may change with x. How sampling divides among directions is not released:
        the quantile is that of the worst division. Post-processing: it costs no budget.

        Parameters
        ----------
        x : array-like, shape (...), or (..., q) for several covariates
        level : float
            At least 0.8.
        interval : {"confidence", "prediction"}
            Of the geodesic, or of a new observation at x, for residuals that spread alike at all x;
            with `units` of the mean observation of a new person.

        Returns
        -------
        ndarray, shape (...)
            NaN for other samplers than "whitened", where steps may not have arrived (`doubts`), and
            at x with a higher leverage than the records.
        """
        level = as_level(level, "level")
        if level < _LEAST_LEVEL:
            raise ValueError(f"level must be at least {_LEAST_LEVEL}, got {level}")
        as_choice(interval, ("confidence", "prediction"), "interval")
        t = self.geodesic.times(x)
        shape, t = t.shape[:-1], t.reshape(-1, t.shape[-1])
        found = np.full(shape, np.nan)
        if self.deviation is None or self.leverage is None or self.doubts:
            return found
        dim = self._dim
        noise, spread = self._variances(t)
        if interval == "prediction":
            spread = spread + self.residual_variance
        inside = self._law.leverage(t) <= _BEYOND * self.leverage
        bands = np.full(len(t), np.nan)
        for place in np.flatnonzero(inside):
            square = mixed_quantile(level, noise[place] / dim, spread[place], dim)
            bands[place] = math.sqrt(square)
        found[...] = bands.reshape(shape)
        return found

    @property
    def residual_variance(self) -> float:
        """Mean squared length of residuals, for residuals that spread alike at all x.

        tr meat over the mean of z^T D^-1 z; NaN for other samplers than "whitened". With `units`
        the residuals are means over a person's records.
        """
        if self.meat is None or self.leverage is None:
            return math.nan
        return self._law.residual_variance(self._raised_meat, self.leverage)

    @property
    def prediction_error(self) -> float:
        """Root mean square distance of predictions from the population's geodesic, over records.

        From noise, `expected_error`, and from sampling; NaN where it is not known.
        """
        if self.meat is None or self.expected_error is None:
            return math.nan
        nodes, weights = self._law.nodes
        # nodes have the covariances that steps took, records less
        values, vectors = np.linalg.eigh(self._undone)
        _, sampling = self._variances(nodes @ (vectors / np.sqrt(values)) @ vectors.T)
        return math.hypot(self.expected_error, math.sqrt(float(weights @ sampling)))

    @functools.cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """One for each covariate: slope, its standard error, and a p-value.

        Raises
        ------
        ValueError
            For other samplers than "whitened", which release no moments.
        """
        products, noise, sampling = self._slopes
        found = []
        for number, (low, high) in enumerate(pairs_of(self.x_range)):
            length = math.sqrt(products[number, number])
            error = math.sqrt(noise[number, number] + sampling[number, number])
            width = high - low
            p_value = self.wald_test([number]).p_value
            found.append(Coefficient(length / width, error / width, p_value))
        return tuple(found)

    @quiet
    def wald_test(self, covariates: Sequence[int] | None = None) -> WaldTest:
        """The Wald test of the hypothesis that some slopes are 0, given all other covariates.

        Of sum_ab (A^-1)_ab <v_a, v_b> over these covariates, A the covariance of their velocities
        from noise and from sampling (a sandwich, so that the spread may change with x), traced over
        directions. The spread of errors rests on few units where covariates lie far out, hence F
        and not chi^2. Post-processing: it costs no budget.

        Parameters
        ----------
        covariates : sequence of int, optional
            Their columns, from 0: all by default. Those of one factor are tested together.

        Returns
        -------
        WaldTest

        Raises
        ------
        ValueError
            For other columns, and other samplers than "whitened".
        """
        count = len(pairs_of(self.x_range))
        chosen = list(range(count)) if covariates is None else [int(j) for j in covariates]
        if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(count)):
            raise ValueError(f"covariates must be different columns from 0 to {count - 1}")
        products, noise, sampling = (own[np.ix_(chosen, chosen)] for own in self._slopes)
        assert self.meat is not None
        assert self.meat_norm is not None
        assert self.meat_deviation is not None
        error = self.meat_deviation / NORM_WEIGHT
        share = share_of_one_direction(self._raised_meat, self.meat_norm, error, self._dim)
        assert self.leverage is not None
        units = self.n / self.leverage
        test = wald(products, noise, sampling, share, self._dim, units)
        return test._replace(p_value=math.nan) if self.doubts else test

    @quiet
    def summary(self) -> str:
        """The table of `coefficients`, with the spread of residuals, as text."""
        lines = [f"{'covariate':>12}{'speed':>12}{'std. error':>12}{'p-value':>12}"]
        for number, own in enumerate(self.coefficients, start=1):
            error, p = f"{own.standard_error:.4g}", f"{max(own.p_value, 1e-16):.3g}"
            if self.doubts:
                error = p = "-"
            elif own.p_value < 1e-16:
                p = "<1e-16"
            name = f"x{number}" if are_several(self.x_range) else "x"
            name = self.covariates[number - 1] if self.covariates else name
            lines.append(f"{name:>12}{own.speed:>12.4g}{error:>12}{p:>12}")
        if not self.doubts:
            of = "persons' means" if "units-by-name" in self.assumptions else "records"
            spread, noise = math.sqrt(self.residual_variance), self._residual_error
            lines.append(
                f"residual standard error {spread:.4g} on {self.n} {of}, noise {noise:.2g}"
            )
        lines += self._spread()
        return "\n".join(lines) + "\n"

    @functools.cached_property
    def _slopes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Inner products of velocities, and of their errors by noise and sampling, (q, q)."""
        if self.meat is None or self.meat_deviation is None or self.deviation is None:
            raise ValueError("this sampler releases no moments that errors of slopes rest on")
        assert self.leverage is not None
        assert self.remains is not None
        assert self.growth is not None
        rows, law = len(self.meat), self._law
        design = law.design(self.leverage)
        whitening, *_ = solved(
            law.moments, CovariateLaw.gram(design, np.full(len(design), 1 / len(design)))
        )
        meat = shrunk_meat(self.meat, self.meat_deviation, whitening @ law.moments @ whitening)
        blocks = self._metric.solution.reshape(rows, self._dim, rows, -1)[1:]
        effect = np.einsum("xiaj,yibj->xyab", blocks, blocks)
        deviation = self.deviation
        if self.expected_error is not None:
            # what clipping adds as a rule, not at most
            deviation = self.expected_error / math.sqrt(self._metric.spread)
        noise = deviation**2 * np.trace(effect, axis1=-2, axis2=-1)
        # residuals of a unit are shorter by its leverage (HC2), of the farthest units by this
        count = self.n * (1.0 - min(self.leverage / self.n, _MOST_LEVERAGE))
        sampling = np.sum(meat * effect, axis=(-2, -1)) / (count * self._dim)
        own = np.einsum("xxab->xab", effect)
        raw = np.sum(self.meat * own, axis=(-2, -1))
        error = self.meat_deviation * np.linalg.norm(own, axis=(-2, -1))
        sampling = raised_diagonal(sampling, *np.stack([raw, error]) / (count * self._dim))
        noise, sampling = (self.growth @ own @ self.growth for own in (noise, sampling))
        left = self.remains @ self.velocity_coords
        return self.velocity_coords @ self.velocity_coords.T, noise, sampling + left @ left.T

    @property
    def _residual_error(self) -> float:
        """Standard deviation of the noise of the root of `residual_variance`, to first order."""
        assert self.meat is not None
        assert self.meat_deviation is not None
        assert self.leverage is not None
        noise = np.eye(len(self.meat)) * self.meat_deviation / math.sqrt(len(self.meat))
        deviation = self._law.residual_variance(noise, self.leverage)
        return 0.5 * deviation / math.sqrt(self.residual_variance)

    @functools.cached_property
    def _raised_meat(self) -> FloatArray:
        """`meat` with eigenvalues of at least the deviation of its noise."""
        assert self.meat is not None
        assert self.meat_deviation is not None
        values, vectors = np.linalg.eigh(self.meat)
        return np.asarray((vectors * np.maximum(values, self.meat_deviation)) @ vectors.T)

    @functools.cached_property
    def _law(self) -> CovariateLaw:
        assert self.moments is not None
        if self.x_center is None:
            center = np.zeros(len(self.moments) - 1)
        else:
            center = np.ravel(to_times(np.asarray(self.x_center, dtype=float), self.x_range))
        return CovariateLaw.about(center, self.moments)

    @functools.cached_property
    def velocity_coords(self) -> FloatArray:
        """Coordinates of the velocities at the footpoint, shape (q, d)."""
        space = as_manifold(self.manifold)
        return np.stack([space.tangent_to_coords(v, self.value[0]) for v in self.value[1:]])

    @functools.cached_property
    def _metric(self) -> StepMetric:
        assert self.leverage is not None
        kernels = as_manifold(self.manifold).kernels
        return StepMetric.at(kernels, self.velocity_coords, self._law, self.leverage)

    @property
    def _dim(self) -> int:
        return as_manifold(self.manifold).dim

    @functools.cached_property
    def _undone(self) -> FloatArray:
        """1 + e/lambda along each axis: steps took the covariates' variances lambda as lambda + e.

        Of `growth` = (1 + e/lambda)/(1 - 3 (e/lambda)^2), whose errors of slopes are for lambda
        less 3 e^2/lambda.
        """
        assert self.growth is not None
        values, vectors = np.linalg.eigh(self.growth)
        inverse = 1.0 / np.maximum(values, 1.0)
        share = (np.sqrt(inverse**2 + 12.0 * (1.0 - inverse)) - inverse) / 6.0
        return np.asarray((vectors * (1.0 + share)) @ vectors.T)

    def _variances(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean squared distances of predictions from noise, and from sampling."""
        assert self.meat is not None
        assert self.deviation is not None
        effect = self._metric.effect(t, self._undone)
        noise = self.deviation**2 * np.trace(effect, axis1=-2, axis2=-1)
        spread = np.sum(self._raised_meat * effect, axis=(-2, -1)) / (self.n * self._dim)
        return noise, spread

    @property
    def loss_bound(self) -> float:
        """Largest loss (1/2n) sum_i rho(prediction_i, y_i)^2 that records of the ball can have.

        (R^2)/2 with R = 2 r + V/2: predictions lie within r + V/2 of the ball's centre, records
        within r. Public, and attained only by the worst data: not an estimate of the loss.
        """
        return 0.5 * (2 * self.ball_radius + 0.5 * self.v_max) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        own = {"x_range": np.asarray(self.x_range).tolist(), "doubts": list(self.doubts)}
        own["covariates"] = list(self.covariates)
        if isinstance(self.x_center, tuple):
            own["x_center"] = list(self.x_center)
        return {**super().to_dict(), **own}

    def _error(self) -> str:
        if self.doubts:
            return f"not given, as {_NOT_ARRIVED}: see below why"
        if self.expected_error is None:
            return "not known"
        told = told_in(self.ball_unit)
        fit = f"{told(self.expected_error)} (from the fit of the records, by noise)"
        if math.isnan(self.prediction_error):
            return fit
        return f"{fit}; of a prediction {told(self.prediction_error, 3)} (noise and sampling)"

    def _notes(self) -> list[str]:
        ranges = ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in pairs_of(self.x_range))
        told = told_in(self.ball_unit)
        clipped = "" if self.tau is None else f", residuals to {told(self.tau)}"
        return [
            f"covariate clipped to {ranges}{clipped}",
            f"velocity over the range at most {told(self.v_max)}",
            f"row 0 of the value: the point at x = {self._at()}; row 1, and further ones of "
            "several covariates: the velocity there over the range",
            *self._spread(),
        ]

    def __repr__(self) -> str:
        said = super().__repr__()
        return said if self.arrived else f"{said[:-1]}, may not have converged>"

    def _at(self) -> str:
        if self.x_center is None:
            return ", ".join(f"{(low + high) / 2:.6g}" for low, high in pairs_of(self.x_range))
        return ", ".join(f"{x:.6g}" for x in np.ravel(self.x_center))

    def _spread(self) -> list[str]:
        return [f"{_NOT_ARRIVED}: {doubt}" for doubt in self.doubts]


def stack(footpoint: FloatArray, *velocities: FloatArray) -> FloatArray:
    """The value of a release."""
    return np.stack([footpoint, *velocities])
