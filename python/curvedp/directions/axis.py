"""Mean axis of axes in space with its certainty, from the released region of E x x'.

    axes x of R^p, up to sign -> unit vectors t of R^q -> confidence region of E t (private)
                              -> E x x', its eigenvectors, the test of uniformity (post-processing)

t holds the coordinates of x x' - I/p among symmetric matrices of trace 0, scaled to length 1, as
doubled angles do in the plane; q = p (p + 1)/2 - 1. docs/proofs/directions.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray
from curvedp.directions.of_region import OfRegion
from curvedp.directions.reading import unit_on
from curvedp.directions.uniformity import p_value_of_uniformity, told_p_value
from curvedp.manifolds import Projective, as_manifold
from curvedp.statistics.quantiles import hotelling_tail
from curvedp.statistics.region import ConfidenceRegion

#: Share of the level's misses that the comparison with the first eigenvector may use.
_OF_ORDER = 0.1
#: Difference of mean squared cosines that is none: of the mean axis with itself.
_ROUNDING = 1e-12
#: Meridians about the mean axis, steps on each, and halvings of the step where the set ends.
_MERIDIANS, _STEPS, _HALVINGS = 360, 181, 40


def axis_vectors(axes: FloatArray) -> FloatArray:
    """Unit vectors t of unit vectors x and -x, shape (..., q): each a function of its own x.

    <t(x), t(y)> = (p <x, y>^2 - 1)/(p - 1). Twice the products of entries, and Helmert's contrasts
    of their squares.
    """
    p = axes.shape[-1]
    length = math.sqrt(p / (p - 1))
    root = length * math.sqrt(2.0)
    columns = [root * axes[..., i] * axes[..., j] for i in range(p) for j in range(i)]
    squares = axes * axes
    for k in range(1, p):
        contrast = squares[..., :k].sum(axis=-1) - k * squares[..., k]
        columns.append(length / math.sqrt(k * (k + 1)) * contrast)
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class MeanAxis(OfRegion):
    """The mean axis of a population of axes in R^p, and how sure it is: from a released mean.

    M = E x x' is the orientation tensor. Its first eigenvector is the axis whose mean squared
    cosine to the records is largest, that eigenvalue; all are 1/p for uniform axes.

    Parameters
    ----------
    region : ConfidenceRegion
        Of E t on the unit ball of R^q, from one release of records; see `axis_vectors`.
    manifold : str
        ``"projective:d"``, d = p - 1 >= 2.
    angle_units : {"degrees", "radians"}, optional
        Of longitude and latitude that `contains` and `p_value` take (d = 2), degrees by default.

    Raises
    ------
    ValueError, TypeError
        For another manifold, unit or region.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> poles = np.random.default_rng(0).standard_normal((3000, 3)) * [1.0, 1.0, 5.0]
    >>> mean = cdp.directions.mean_axis(poles, "projective:2", cdp.GDP(mu=1.0))
    >>> bool(mean.mean_axis[2] > 0.99), mean.half_angle < 0.2, mean.eigenvalues.shape
    (True, True, (3,))
    """

    statistic: ClassVar[str] = "mean axis"

    def __post_init__(self) -> None:
        if not isinstance(self.region, ConfidenceRegion):
            raise TypeError("region must be a ConfidenceRegion")
        space = as_manifold(self.manifold)
        if not isinstance(space, Projective) or space.dim < 2:
            raise ValueError(f"axes in space are on projective:d, d >= 2, not on {space.spec}")
        p = space.dim + 1
        if self.region.manifold != f"euclidean:{p * (p + 1) // 2 - 1}":
            raise ValueError(f"the region is on {self.region.manifold}, not that of {space.spec}")
        object.__setattr__(self, "manifold", space.spec)
        object.__setattr__(self, "angle_units", unit_on(space, self.angle_units))

    @functools.cached_property
    def _space(self) -> Projective:
        space = as_manifold(self.manifold)
        assert isinstance(space, Projective)
        return space

    @functools.cached_property
    def _basis(self) -> FloatArray:
        """Matrices C_k of trace 0 with x' C_k x = t_k(x), shape (q, p, p)."""
        p = self._space.dim + 1
        eye = np.eye(p)
        pairs = eye[:, None, :] + eye[None, :, :]
        of_pairs = (axis_vectors(pairs) - axis_vectors(eye)[:, None] - axis_vectors(eye)[None]) / 2
        return np.moveaxis(of_pairs, -1, 0)

    def _matrix(self, vector: FloatArray) -> FloatArray:
        """x x' - I/p of t: sum_k t_k C_k (p - 1)/p."""
        p = self._space.dim + 1
        return np.asarray((p - 1) / p * np.tensordot(vector, self._basis, 1))

    @functools.cached_property
    def orientation_tensor(self) -> FloatArray:
        """The released E x x', shape (p, p): of trace 1; noise may leave it indefinite."""
        p = self._space.dim + 1
        return np.eye(p) / p + self._matrix(self.region.estimate)

    @functools.cached_property
    def _eigen(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.orientation_tensor)
        return values[::-1], vectors.T[::-1]

    @property
    def eigenvalues(self) -> FloatArray:
        """Of `orientation_tensor`, largest first, shape (p,): 1/p each for uniform axes."""
        return self._eigen[0]

    @property
    def axes(self) -> FloatArray:
        """Eigenvectors, one a row in the order of `eigenvalues`, entry of largest size positive."""
        vectors = self._eigen[1]
        largest = np.abs(vectors).argmax(axis=1)
        signs = np.sign(vectors[np.arange(len(vectors)), largest])
        return np.asarray(vectors * signs[:, None])

    @property
    def mean_axis(self) -> FloatArray:
        """The first eigenvector, shape (p,). It says little where `half_angle` is large."""
        return np.asarray(self.axes[0])

    @property
    def uniformity_p_value(self) -> float:
        """P-value of Bingham's test that no axis is preferred: small where one is.

        P(chi^2_q > |r|^2/(k/(n q) + sigma^2)), r the released mean of t, k the most records of a
        unit and sigma the deviation of the noise. Without noise |r|^2 n q is Bingham's p (p + 2)/2
        n (tr M^2 - 1/p) (Mardia and Jupp 2000, 10.7.1). Nothing further is spent.

        Raises
        ------
        ValueError
            Without the released mean among the region's parts.
        """
        return p_value_of_uniformity(self.region)

    def p_value(self, axes: ArrayLike) -> FloatArray:
        """P-value of the hypothesis that a public axis v is the mean axis.

        The least of two, with shares .9 and .1 of the misses: that M v is along v, by the p - 1
        numbers w' M v of a basis of the complement, which are linear in M and so as sure as the
        region; and that v' M v is at least u' M u for the first eigenvector u of the release, by
        what the region leaves possible. No first-order expansion is made: it holds for large n
        however near two eigenvalues are.

        Parameters
        ----------
        axes : array-like
            As records are given to the function `mean_axis`.

        Returns
        -------
        ndarray, shape (...)
        """
        is_lonlat = self._space.dim == 2 and np.shape(axes)[-1:] == (2,)
        v = self._space.as_points(axes, angle_units=self.angle_units if is_lonlat else None)
        flat = v.reshape(-1, v.shape[-1])
        region, r = self.region, self.region.estimate
        across = _complements(flat) @ np.moveaxis(flat @ self._basis, 0, -1)  # w' C_k v
        noise = across @ region.covariance @ np.swapaxes(across, 1, 2)
        off = across @ r
        square = np.sum(off * np.linalg.solve(noise, off[..., None])[..., 0], axis=-1)
        along = hotelling_tail(square, off.shape[1], region.dof)
        less = axis_vectors(flat) - axis_vectors(self.mean_axis)
        gap = np.minimum(less @ r + _ROUNDING, 0.0) ** 2
        spread = np.maximum(np.sum((less @ region.covariance) * less, axis=1), 1e-300)
        first = hotelling_tail(gap / spread, len(r), region.dof)
        least = np.minimum(along / (1 - _OF_ORDER), first / _OF_ORDER)
        return np.asarray(np.minimum(least, 1.0).reshape(v.shape[:-1]))

    def contains(self, axes: ArrayLike) -> NDArray[np.bool_]:
        """True for axes in the confidence set: where the `p_value` is at least 1 - level.

        It holds the mean axis of the population with at least the probability `region.level` for
        large n: a cap about the first eigenvector, a girdle where two eigenvalues may be equal,
        all axes where all may be.

        Parameters
        ----------
        axes : array-like
            As records are given to the function `mean_axis`.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        return np.asarray(self.p_value(axes) >= 1.0 - self.region.level)

    @functools.cached_property
    def half_angle(self) -> float:
        """Largest angle in radians between the mean axis and one of the confidence set.

        At most pi/2: then the set reaches the axes across. Found along 360 meridians, of p = 3.

        Raises
        ------
        ValueError
            In higher dimension.
        """
        if self._space.dim > 2:
            raise ValueError("the set is measured in R^3, not beyond: use contains")
        turn = 2 * np.pi * np.arange(_MERIDIANS) / _MERIDIANS
        rays = np.c_[np.cos(turn), np.sin(turn)] @ self.axes[1:]

        def inside(angle: FloatArray) -> NDArray[np.bool_]:
            cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
            return self.contains(cos * self.mean_axis + sin * rays)

        steps = np.linspace(0.0, math.pi / 2, _STEPS)
        seen = np.stack([inside(np.full(_MERIDIANS, step)) for step in steps])
        last = np.where(seen.any(axis=0), _STEPS - 1 - seen[::-1].argmax(axis=0), 0)
        low, high = steps[last], steps[np.minimum(last + 1, _STEPS - 1)]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_in = inside(middle)
            low, high = np.where(is_in, middle, low), np.where(is_in, high, middle)
        return float(high.max())

    @property
    def _title(self) -> str:
        return f"mean axis on {self.manifold}"

    def _facts(self) -> list[tuple[str, str]]:
        level = f"{100 * self.region.level:g} %"
        facts = [("mean axis", axis_text(self))]
        if self._space.dim == 2:
            facts.append((f"{level} confidence set", cap_text(self)))
        shares = np.array2string(self.eigenvalues, precision=4, suppress_small=True)
        facts.append(("eigenvalues of E x x'", shares))
        facts += told_p_value(self.region, "that no axis is preferred", "Bingham")
        if self.contains(self.axes[1]):
            note = "another axis may be preferred as much: axes round a girdle or all round, or "
            facts.append(("note", note + "too few records for this guarantee"))
        return facts + self._facts_of_region()

    def __repr__(self) -> str:
        return f"<MeanAxis: {axis_text(self)}, n={self.region.n}>"


def axis_text(mean: MeanAxis) -> str:
    """The axis on one line."""
    text = np.array2string(mean.mean_axis, precision=5)
    if len(mean.mean_axis) == 3:
        lon, lat = Projective(2).to_lonlat(mean.mean_axis)
        return f"{text}, longitude {lon:.5g}, latitude {lat:.5g} degrees"
    return text


def cap_text(mean: MeanAxis) -> str:
    """Reach of its confidence set, in R^3."""
    reach = mean.half_angle
    return f"within {reach:.4g} radians ({math.degrees(reach):.3g} degrees) of it"


def _complements(units: FloatArray) -> FloatArray:
    """Orthonormal rows across each unit vector, shape (..., p - 1, p): of a reflection."""
    p = units.shape[-1]
    sign = np.where(units[..., :1] < 0, -1.0, 1.0)
    mirror = units.copy()
    mirror[..., :1] += sign
    square = np.sum(mirror * mirror, axis=-1)[..., None, None]
    whole = np.eye(p) - 2 * mirror[..., :, None] * mirror[..., None, :] / square
    return np.asarray(whole[..., 1:, :])
