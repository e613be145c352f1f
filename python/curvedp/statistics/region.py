"""A confidence region: an ellipsoid in a chart of the manifold, and the releases it rests on."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._text import MOST_NUMBERS
from curvedp._validation import FloatArray, as_count, as_number
from curvedp.manifolds import Manifold, as_manifold
from curvedp.privacy.of_parts import OfParts
from curvedp.privacy.stored import restored
from curvedp.statistics.quantiles import hotelling_tail
from curvedp.unit import told_in

_SCHEMA_VERSION = 1
#: Most characters of an estimate that a report shows.
_LINE = 80


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceRegion(OfParts):
    """Confidence region of a mean: v with (phi(v) - phi(p))' Gamma^-1 (phi(v) - phi(p)) <= q.

    phi(v) are the coordinates of log_b v in `Manifold.tangent_to_coords` at the chart's base point
    b: the estimate p itself for noise that is isotropic there, the ball's centre for noise drawn in
    the chart at the centre.

    Attributes
    ----------
    manifold : str
        Specification, such as ``"spd:3"``.
    estimate : ndarray, shape point_shape
        p, the private mean.
    chart_point : ndarray, shape point_shape
        b.
    covariance : ndarray, shape (dim, dim)
        Gamma, the estimated covariance of phi(p).
    quantile : float
        q: Hotelling's quantile with `dof` degrees of freedom, chi^2's if they are infinite.
    dof : float
        Degrees of freedom of a Wishart matrix as noisy as Gamma.
    level : float
        Probability with which the region covers the mean of the population, for large n.
    n, guarantee, parts, coverage, uncounted
        Number of records, guarantee of everything in this object (None without privacy), releases
        that it was computed from, and how many records were points inside the ball, or why that is
        not known.
    """

    manifold: str
    estimate: FloatArray
    chart_point: FloatArray
    covariance: FloatArray
    quantile: float
    dof: float
    level: float

    _statistic = "confidence region of the Fréchet mean"
    _display = "curvedp.plotting:RegionDisplay.from_regions"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("quantile", "dof", "level"):
            object.__setattr__(self, name, as_number(getattr(self, name), name))

    @functools.cached_property
    def _space(self) -> Manifold:
        return as_manifold(self.manifold)

    @functools.cached_property
    def _center(self) -> FloatArray:
        return self._coords(self.estimate)

    def _coords(self, points: FloatArray) -> FloatArray:
        log = self._space.log(points, self.chart_point)
        return self._space.tangent_to_coords(log, self.chart_point)

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return len(self.covariance)

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """True for points that lie in the region.

        Parameters
        ----------
        points : array-like
            In any form that `Manifold.as_points` reads.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        return np.asarray(self._squares(points) <= self.quantile)

    def p_value(self, points: ArrayLike) -> FloatArray:
        """Probability of a larger distance from the estimate if a point were the population's mean.

        At most 1 - level for points outside the region, and a point is tested at every level.
        Computed from the region alone: it costs nothing more.

        Parameters
        ----------
        points : array-like
            In any form that `Manifold.as_points` reads: public, or released.

        Returns
        -------
        ndarray, shape (...)
        """
        return np.asarray(hotelling_tail(self._squares(points), self.dim, self.dof))

    def _squares(self, points: ArrayLike) -> FloatArray:
        """(phi(v) - phi(p))' Gamma^-1 (phi(v) - phi(p))."""
        offset = self._coords(self._space.as_points(points)) - self._center
        solved = np.linalg.solve(self.covariance, offset[..., None])[..., 0]
        return np.asarray(np.sum(offset * solved, axis=-1))

    def in_chart(self, point: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The estimate's coordinates and its covariance in the chart at another point.

        To first order in the size of the region; exact on flat manifolds.

        Parameters
        ----------
        point : array-like, shape point_shape
            Base point of the new chart.

        Returns
        -------
        center : ndarray, shape (dim,)
        covariance : ndarray, shape (dim, dim)
        """
        base = self._space._points(point, "point")
        change = np.linalg.solve(self._differential(base), self._differential(self.chart_point))
        center = self._space.tangent_to_coords(self._space.log(self.estimate, base), base)
        return center, np.asarray(change @ self.covariance @ change.T)

    def _differential(self, base: FloatArray) -> FloatArray:
        """D exp_base at log_base(estimate), in orthonormal coordinates at both ends."""
        space = self._space
        coords = space.tangent_to_coords(space.log(self.estimate, base), base)
        return space.kernels.exp_differential(np.ascontiguousarray(coords), base.reshape(-1))

    def axes(self) -> tuple[FloatArray, FloatArray]:
        """Half-lengths of the principal axes, longest first, and their directions.

        Returns
        -------
        radii : ndarray, shape (dim,)
            In the units of the metric.
        directions : ndarray, shape (dim, dim)
            One unit vector a row, in tangent coordinates at `chart_point`.
        """
        return principal_axes(self.quantile * self.covariance)

    def volume(self) -> float:
        """Volume of the ellipsoid in tangent coordinates, in units of the metric to the dim."""
        d = self.dim
        _, log_det = np.linalg.slogdet(self.quantile * self.covariance)
        log_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
        return math.exp(log_ball + log_det / 2)

    def boundary(self, n: int = 100) -> FloatArray:
        """Points on the boundary of the region, for plotting.

        In order around it in dimension 2; spread evenly in dimension 3; in random directions, the
        same at each call, beyond.

        Parameters
        ----------
        n : int

        Returns
        -------
        ndarray, shape (n, *point_shape)
        """
        radii, directions = self.axes()
        coords = self._center + (_unit_vectors(as_count(n, "n"), self.dim) * radii) @ directions
        space = self._space
        return space.exp(space.coords_to_tangent(coords, self.chart_point), self.chart_point)

    def _accuracy(self) -> str:
        return (
            f"made to hold the mean of the population, of records as moved to the ball, in "
            f"{100 * self.level:g} % of cases, if they are drawn independently of each other: less "
            "often where several are one person's, or n is near the dimension."
        )

    @property
    def _title(self) -> str:
        return f"{100 * self.level:g} % confidence region for the Fréchet mean on {self.manifold}"

    def _facts(self) -> list[tuple[str, str]]:
        radii, _ = self.axes()
        unit = self.ball_unit
        if len(radii) > MOST_NUMBERS:
            told = told_in(unit)
            lengths = f"{told(radii[0], 5)} down to {told(radii[-1], 5)}, {len(radii)} axes"
        elif unit is None or unit.length is None:
            lengths = np.array2string(radii, precision=5)
        else:
            lengths = f"{np.array2string(radii / unit.length, precision=5)} {unit.name}"
        return [
            *self._told_estimate(),
            ("half-lengths of its axes", lengths),
            *super()._facts(),
        ]

    def _told_estimate(self) -> list[tuple[str, str]]:
        """The estimate, if it fits in a line, as users of its unit write it where it has one."""
        unit, numbers, what = self.ball_unit, self.estimate, ""
        if unit is not None and (own := unit.numbers_of(self._space, numbers)) is not None:
            numbers, what = own[0], f" ({own[1]})"
        text = np.array2string(numbers, precision=6, suppress_small=True, separator=", ")
        told = f"{' '.join(text.split())}{what}"
        return [("estimate", told)] if len(told) < _LINE else []

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats survive it exactly."""
        data: dict[str, Any] = {
            "schema_version": _SCHEMA_VERSION,
            "manifold": self.manifold,
            "estimate": self.estimate.tolist(),
            "chart_point": self.chart_point.tolist(),
            "covariance": self.covariance.tolist(),
            "quantile": self.quantile,
            "dof": self.dof if math.isfinite(self.dof) else None,
            "level": self.level,
            **self._stored(),
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ConfidenceRegion:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no region of this schema.
        """
        return restored(text, "confidence region", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> ConfidenceRegion:
        if not isinstance(data, dict) or data.pop("schema_version", None) != _SCHEMA_VERSION:
            raise ValueError(f"another schema than {_SCHEMA_VERSION}")
        if set(data) != {field.name for field in fields(cls)}:
            raise ValueError("unexpected or missing fields")
        for name in ("estimate", "chart_point", "covariance"):
            data[name] = np.array(data[name], dtype=np.float64)
        data["dof"] = math.inf if data["dof"] is None else float(data["dof"])
        return cls(**cls._read(data))


def principal_axes(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half-lengths of the axes of {x : x' covariance^-1 x <= 1}, longest first, and directions."""
    values, vectors = np.linalg.eigh(covariance)
    return np.sqrt(values[::-1]), np.ascontiguousarray(vectors.T[::-1])


def _unit_vectors(n: int, dim: int) -> FloatArray:
    if dim == 1:
        return np.asarray(1.0 - 2.0 * (np.arange(n) % 2))[:, None]
    if dim == 2:
        angle = 2 * np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if dim == 3:  # Fibonacci points
        height = 1 - (2 * np.arange(n) + 1) / n
        turn = np.pi * (1 + math.sqrt(5)) * np.arange(n)
        across = np.sqrt(1 - height**2)
        return np.column_stack([across * np.cos(turn), across * np.sin(turn), height])
    normal = np.random.default_rng(0).standard_normal((n, dim))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
