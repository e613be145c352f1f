"""Mean direction with its certainty, from the released region of the mean vector.

Formulas are those of Mardia and Jupp, Directional Statistics (2000); noise and the sample's
covariance enter through the region.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray
from curvedp.directions.of_region import OfRegion
from curvedp.directions.reading import (
    RIM,
    as_radians,
    in_units,
    of_angles,
    size_of,
    space_of,
    unit_on,
    unit_vectors,
)
from curvedp.directions.uniformity import p_value_of_uniformity, told_p_value
from curvedp.manifolds import Manifold, Projective, Sphere, Torus
from curvedp.statistics.quantiles import hotelling_quantile, hotelling_tail
from curvedp.statistics.region import ConfidenceRegion


@dataclass(frozen=True, eq=False, repr=False)
class MeanDirection(OfRegion):
    """The mean direction of a population, and how sure it is: from a released mean vector.

    r is the released mean of unit vectors x in R^p, Gamma its covariance, of sampling and noise,
    both from `region`; rho = |E x|. Axes in the plane count by their doubled angles.

    Parameters
    ----------
    region : ConfidenceRegion
        Of E x, on the unit ball of R^p, from one release of records.
    manifold : str
        ``"torus:1"`` for angles, ``"sphere:d"`` for unit vectors, ``"projective:1"`` for axes.
    angle_units : {"radians", "degrees", "hours"}, optional
        Of angles, radians by default: of `mean_direction`, `half_angle` and `circular_std`. On the
        2-sphere of longitude and latitude that `contains` and `p_value` take, degrees by default.

    Raises
    ------
    ValueError, TypeError
        For another manifold, unit or region.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> hours = np.random.default_rng(0).normal(23.5, 1.5, 2000) % 24  # about midnight
    >>> mean = cdp.directions.mean_direction(hours, "torus:1", cdp.GDP(mu=1.0), angle_units="hours")
    >>> abs((mean.mean_direction - 23.5 + 12) % 24 - 12) < 0.2, mean.half_angle < 0.3
    (True, True)
    """

    statistic: ClassVar[str] = "mean direction"

    def __post_init__(self) -> None:
        if not isinstance(self.region, ConfidenceRegion):
            raise TypeError("region must be a ConfidenceRegion")
        space = space_of(self.manifold)
        unit = unit_on(space, self.angle_units)
        if self.region.manifold != f"euclidean:{size_of(space)}":
            raise ValueError(f"the region is on {self.region.manifold}, not that of {space.spec}")
        object.__setattr__(self, "manifold", space.spec)
        object.__setattr__(self, "angle_units", unit)

    @functools.cached_property
    def _space(self) -> Manifold:
        return space_of(self.manifold)

    @property
    def _is_plane(self) -> bool:
        return not isinstance(self._space, Sphere) or self._space.dim == 1

    @property
    def resultant(self) -> FloatArray:
        """r, shape (p,), in the unit ball."""
        return self.region.estimate

    @property
    def mean_direction(self) -> float | FloatArray:
        """Direction of r: an angle from 0 on, or a point of the sphere, shape (d + 1,).

        It says little where `half_angle` is large.
        """
        if isinstance(self._space, Sphere):
            return np.asarray(self._space.project(self.resultant))
        return self._angle(self.resultant)

    def _angle(self, vector: FloatArray) -> float:
        whole, angle = (
            in_units(own, self.manifold, self.angle_units)
            for own in (2 * math.pi, math.atan2(vector[1], vector[0]))
        )
        return angle % whole % whole  # a tiny negative one rounds to a whole turn

    @functools.cached_property
    def mean_resultant_length(self) -> float:
        """An estimate of rho in [0, 1]: the root of |r|^2 - tr Gamma, which is that of rho^2."""
        square = float(self.resultant @ self.resultant) - float(np.trace(self.region.covariance))
        return math.sqrt(min(max(square, 0.0), 1.0))

    @property
    def mean_resultant_length_error(self) -> float:
        """Standard error of `mean_resultant_length`: the root of r' Gamma r/|r|^2, for large n."""
        r = self.resultant
        return math.sqrt(float(r @ self.region.covariance @ r) / float(r @ r))

    @property
    def circular_variance(self) -> float:
        """1 - rho."""
        return 1.0 - self.mean_resultant_length

    @property
    def circular_std(self) -> float:
        """sqrt(-2 ln rho), for axes half of it, in `angle_units`; infinite for rho = 0.

        Of angles and axes alone; Mardia and Jupp, equation 2.3.11.
        """
        self._needs_plane("circular_std")
        rho = self.mean_resultant_length
        spread = math.sqrt(-2.0 * math.log(rho)) if rho > 0 else math.inf
        return in_units(spread, self.manifold, self.angle_units)

    @property
    def concentration(self) -> float:
        """kappa with A_p(kappa) = rho, A_p = I_(p/2)/I_(p/2 - 1).

        That of the von Mises-Fisher law with this rho; of doubled angles for axes. It tells
        nothing of whether the records follow that law.
        """
        return concentration_of(self.mean_resultant_length, len(self.resultant))

    @property
    def uniformity_p_value(self) -> float:
        """P-value of Rayleigh's test that no direction is preferred: small where one is.

        P(chi^2_p > |r|^2/(k/(n p) + sigma^2)), k the most records of a unit: sampling and the
        noise of r, of variance sigma^2 in each coordinate, are both counted. Laws with E x = 0,
        such as two groups of one size at opposite ends, are not found: `Projective` has the test
        of axes. Nothing further is spent.

        Raises
        ------
        ValueError
            Without the released mean among the region's parts.
        """
        return p_value_of_uniformity(self.region)

    @functools.cached_property
    def _precision(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self.region.covariance))

    def misfit(self, vectors: FloatArray) -> FloatArray:
        """Smallest (r - t v)' Gamma^-1 (r - t v) over t >= 0.

        Parameters
        ----------
        vectors : ndarray, shape (..., p)
            v, of any length; of axes their doubled angles.

        Returns
        -------
        ndarray, shape (...)
        """
        inverse = self._precision
        along = vectors @ inverse @ self.resultant
        own = np.sum((vectors @ inverse) * vectors, axis=-1)
        whole = float(self.resultant @ inverse @ self.resultant)
        return np.asarray(whole - np.maximum(along, 0.0) ** 2 / np.maximum(own, 1e-300))

    @property
    def _quantile(self) -> float:
        return hotelling_quantile(self.region.level, len(self.resultant) - 1, self.region.dof)

    @functools.cached_property
    def zero_p_value(self) -> float:
        """P-value of the hypothesis that the mean vector E x is 0, by its region.

        While it is 1 - level or more, the mean direction may be any. Unlike Rayleigh's test it
        assumes no uniform law.
        """
        square = self.misfit(np.zeros(len(self.resultant)))
        return float(hotelling_tail(square, len(self.resultant), self.region.dof))

    def contains(self, directions: ArrayLike) -> NDArray[np.bool_]:
        """True for directions in the confidence set: all if E x may be 0, else those near r.

        The first where 0 lies in the region of that level, the second where {t v : t >= 0} is near
        enough to r (Fieller 1954). It holds the mean direction of the population with at least the
        probability `region.level` for large n, however near rho is to 0
        (docs/proofs/directions.md).

        Parameters
        ----------
        directions : array-like
            As records are given to the function `mean_direction`.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        is_near = self.misfit(self._embedded(directions)) <= self._quantile
        return np.asarray(is_near | self._may_be_none)

    @property
    def _may_be_none(self) -> bool:
        return self.zero_p_value >= 1.0 - self.region.level

    def p_value(self, directions: ArrayLike) -> FloatArray:
        """P-value of the hypothesis that a public direction is the mean direction.

        Parameters
        ----------
        directions : array-like
            As records are given to the function `mean_direction`.

        Returns
        -------
        ndarray, shape (...)
        """
        square = self.misfit(self._embedded(directions))
        dim = len(self.resultant) - 1
        own = hotelling_tail(square, dim, self.region.dof)
        return np.asarray(np.maximum(own, self.zero_p_value))

    def _embedded(self, directions: ArrayLike) -> FloatArray:
        is_axes = isinstance(self._space, Projective)
        if isinstance(self._space, Torus) or (is_axes and np.ndim(directions) < 2):
            turns = 2.0 if is_axes else 1.0
            return of_angles(as_radians(directions, self.angle_units) * turns)
        is_lonlat = self.manifold == "sphere:2" and np.shape(directions)[-1:] == (2,)
        said = self.angle_units if is_lonlat else None
        return unit_vectors(self._space, self._space.as_points(directions, angle_units=said))

    @functools.cached_property
    def rim(self) -> FloatArray | None:
        """Unit vectors on the rim of the confidence set, shape (k, p); None if all belong to it.

        Two for angles and axes (in the doubled circle), 720 in order round it on the 2-sphere.

        Raises
        ------
        ValueError
            In higher dimension.
        """
        p = len(self.resultant)
        if p > 3:
            raise ValueError(f"the rim is drawn up to the 2-sphere, not in R^{p}: use contains")
        values, vectors = np.linalg.eigh(self.region.covariance)
        root, inverse = (
            (vectors * power) @ vectors.T for power in (np.sqrt(values), 1 / np.sqrt(values))
        )
        seen = inverse @ self.resultant
        square, q = float(seen @ seen), self._quantile
        if self._may_be_none:
            return None
        across = scipy.linalg.null_space(seen[None])
        turn = 2 * np.pi * np.arange(RIM) / RIM
        around = np.array([[1.0], [-1.0]]) if p == 2 else np.c_[np.cos(turn), np.sin(turn)]
        # the ball of radius sqrt(q) about `seen` touches the cone from 0 here
        touching = seen * (1 - q / square) + math.sqrt(q * (1 - q / square)) * around @ across.T
        rays = touching @ root
        return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))

    @property
    def half_angle(self) -> float:
        """Largest angle between the mean direction and one of the confidence set.

        In `angle_units` for angles and axes, in radians on spheres; half a turn (a quarter for
        axes) if the set is everything. Up to the 2-sphere.
        """
        reach = math.pi
        if self.rim is not None:
            center = self.resultant / np.linalg.norm(self.resultant)
            off = np.linalg.norm(self.rim - center, axis=1).max()
            reach = 2 * math.asin(min(1.0, 0.5 * float(off)))
        return in_units(reach, self.manifold, self.angle_units)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the confidence set of angles or axes, anticlockwise; None if all belong to it."""
        self._needs_plane("interval")
        if self.rim is None:
            return None
        first, second = self.rim
        turned = self.resultant[0] * first[1] - self.resultant[1] * first[0]
        ends = (first, second) if turned < 0 else (second, first)
        return self._angle(ends[0]), self._angle(ends[1])

    def _needs_plane(self, name: str) -> None:
        if not self._is_plane:
            raise ValueError(f"{name} is of angles and axes in the plane, not of {self.manifold}")

    @property
    def _title(self) -> str:
        return f"mean direction on {self.manifold}"

    def _facts(self) -> list[tuple[str, str]]:
        level, rho = f"{100 * self.region.level:g} %", self.mean_resultant_length
        facts = [("mean direction", direction_text(self))]
        if len(self.resultant) <= 3:
            facts.append((f"{level} confidence set", set_text(self)))
        error = self.mean_resultant_length_error
        facts.append(("mean resultant length", f"{rho:.4g}, standard error {error:.2g}"))
        facts.append(("concentration", f"{self.concentration:.4g}, if the law is von Mises-Fisher"))
        facts += told_p_value(self.region, "that none is preferred", "Rayleigh")
        if self._may_be_none:
            facts.append(
                (
                    "note",
                    "the mean vector may be 0: directions all round, or groups at opposite ends, "
                    "which axes tell apart, or too few records for this guarantee",
                )
            )
        return facts + self._facts_of_region()

    def __repr__(self) -> str:
        return f"<MeanDirection: {direction_text(self)}, n={self.region.n}>"


def direction_text(mean: MeanDirection) -> str:
    """The direction on one line."""
    found, space = mean.mean_direction, space_of(mean.manifold)
    if isinstance(found, float):
        return f"{found:.5g} {mean.angle_units}"
    text = np.array2string(found, precision=5)
    if isinstance(space, Sphere) and space.dim == 2:
        lon, lat = space.to_lonlat(found)
        return f"{text}, longitude {lon:.5g}, latitude {lat:.5g} degrees"
    return text


def set_text(mean: MeanDirection) -> str:
    """Reach of its confidence set, up to the 2-sphere."""
    if mean.rim is None:
        return "any direction"
    reach = mean.half_angle
    if mean.manifold.startswith("sphere"):
        return f"within {reach:.4g} radians ({math.degrees(reach):.3g} degrees) of it"
    return f"within {reach:.4g} {mean.angle_units} of it"


def concentration_of(rho: float, p: int) -> float:
    """kappa with I_(p/2)(kappa)/I_(p/2 - 1)(kappa) = rho."""
    if rho <= 0.0:
        return 0.0
    if rho >= 1.0:
        return math.inf

    def excess(kappa: float) -> float:
        ratio = scipy.special.ive(p / 2, kappa) / scipy.special.ive(p / 2 - 1, kappa)
        return float(ratio) - rho

    # (p - 1)/2 rho/(1 - rho) < kappa < p rho/(1 - rho^2) (Amos 1974; Sra 2012)
    low, high = rho * (p - 1) / 2 / (1 - rho), p * rho / (1 - rho * rho)
    if high > 1e8 or not excess(low * (1 - 1e-9)) < 0 < excess(high * (1 + 1e-9)):
        return (p - 1) / 2 / (1 - rho)
    return float(scipy.optimize.brentq(excess, low * (1 - 1e-9), high * (1 + 1e-9), xtol=1e-12))
