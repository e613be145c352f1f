"""Everything about a density on public nodes that is fixed before a record is seen.

Proof: docs/proofs/conformal-mean.md, section 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_positive
from curvedp.conformal.graph import Laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.nodes import Nodes, as_laplacian, mesh_of
from curvedp.conformal.solve import heat_smooth
from curvedp.domain import Ball
from curvedp.mechanisms import pure_epsilon
from curvedp.privacy import Guarantee

DENSITY_METHODS = ("histogram", "kde")

#: Units into which a record is divided where it is spread over several nodes.
_UNITS = 1 << 20

#: Least rate of the noise per record: wider noise, counted in units of the kernel, would not fit
#: the 127 bits in which counts and noise are added.
_LEAST_RATE = 1e-11

MECHANISM = "two-sided geometric noise on a mesh"


@dataclass(frozen=True)
class DensityPlan:
    """The plan of a density.

    Attributes
    ----------
    ball : Ball
    mesh : Mesh
    laplacian : Laplacian or None
        That smooths; None for no smoothing.
    method : str
    reach : float
        Of the kernel; 0 for a histogram.
    heat_time : float
    rate : float
        Of the noise, per record.
    sensitivity : float
        In records.
    n : int
    """

    ball: Ball
    mesh: Mesh
    laplacian: Laplacian | None
    method: str
    reach: float
    heat_time: float
    rate: float
    sensitivity: float
    n: int

    @classmethod
    def make(
        cls,
        nodes: Nodes,
        ball: Ball,
        guarantee: Guarantee,
        n: int,
        records_per_unit: int,
        *,
        method: str,
        bandwidth: float | None,
        heat_time: float | None,
    ) -> DensityPlan:
        """The plan of a density under a share of a call's guarantee; keywords as in `density`."""
        sensitivity = 2.0 * records_per_unit
        rate = math.nextafter(pure_epsilon(guarantee) / sensitivity, 0.0)
        if rate < _LEAST_RATE:
            raise ValueError(
                f"no counts can be drawn at a scale of {1 / rate:.3g} records: use a larger budget"
            )
        operator = as_laplacian(nodes) if needs_graph(method, bandwidth, heat_time) else None
        reach = 0.0
        if method == "kde" and bandwidth is not None:
            reach = bandwidth
        elif method == "kde":
            assert operator is not None
            lengths = operator.graph.lengths.data
            reach = float(lengths.mean()) if lengths.any() else 1.0
        if heat_time is None:
            assert operator is not None
            heat_time = default_heat_time(operator, n, rate)
        time, mesh = float(heat_time), mesh_of(nodes)
        smoother = operator if time > 0 else None
        return cls(ball, mesh, smoother, method, float(reach), time, rate, sensitivity, n)

    @property
    def scale(self) -> float:
        """Of the noise, in records."""
        return math.nextafter(1 / self.rate, math.inf)

    @cached_property
    def is_inside(self) -> bool:
        """True if the ball holds all nodes."""
        return bool(self.ball.contains(self.mesh.points).all())

    def read(self, records: FloatArray) -> FloatArray:
        """Records as points: on the ball if it holds all nodes, where they are otherwise.

        A mesh that reaches out of the ball has nodes nearer to a record beyond than the rim is.
        What is no point is the ball's centre.
        """
        if self.is_inside:
            return self.ball.project(records)
        points = self.mesh.manifold.as_points(records)
        missing = np.isnan(points).any(axis=tuple(range(1, points.ndim)), keepdims=True)
        return np.where(missing, self.ball.center, points)

    def values(self, points: FloatArray, stream: _core.Stream) -> FloatArray:
        """The released values at the nodes, from one point for each record."""
        tell_stage("density")
        units = _UNITS if self.method == "kde" else 1
        if self.method == "kde":
            counts = _core.bump_counts(
                self.mesh.manifold.kernels,
                self.mesh.points.reshape(len(self.mesh), -1),
                self.mesh.volumes,
                points.reshape(len(points), -1),
                self.reach,
                units,
            )
        else:
            counts = np.bincount(self.mesh.nearest(points)[0], minlength=len(self.mesh))
        noisy = np.empty(len(self.mesh))
        stream.add_discrete_laplace(math.nextafter(self.rate / units, 0.0), counts, noisy)
        values = noisy / units / (self.n * self.mesh.volumes)
        if self.heat_time > 0:
            assert self.laplacian is not None
            values = heat_smooth(self.laplacian, values, self.heat_time, tol=1e-9)
        return values

    def told(self) -> dict[str, Any]:
        """Fields of a release about its noise."""
        return {
            "mechanism": MECHANISM,
            "statistic": "density of the records",
            "sensitivity": self.sensitivity,
            "solver_tolerance": 0.0,
            "scale": self.scale,
            "expected_error": None,
        }


def needs_graph(method: str, bandwidth: float | None, heat_time: float | None) -> bool:
    """True if a density needs more of its nodes than where they are."""
    return heat_time != 0 or (method == "kde" and bandwidth is None)


def check_density(method: str, bandwidth: float | None, heat_time: float | None) -> None:
    """Refuses other keywords than `density` takes."""
    as_choice(method, DENSITY_METHODS, "method")
    if bandwidth is not None:
        as_positive(bandwidth, "bandwidth")
    if heat_time is not None and heat_time != 0:
        as_positive(heat_time, "heat_time")


def default_heat_time(operator: Laplacian, n: int, rate: float) -> float:
    """The time at which smoothed noise is as large as the mean density, from public values.

    In flat space of dimension d, noise of variance v records on each of N nodes of total volume V
    leaves a standard deviation sqrt(v N / (n^2 V (8 pi t)^{d/2})) after the time t; it equals 1/V
    at t = (v N V / n^2)^{2/d} / 8 pi, which is cut at V^{2/d}.

    Parameters
    ----------
    operator : Laplacian
    n : int
        Number of records.
    rate : float
        Of the noise: P(X = x) proportional to exp(-rate |x|).

    Returns
    -------
    float
        In squared units of the metric.

    Examples
    --------
    >>> from curvedp.conformal import fibonacci_mesh, knn_graph, laplacian
    >>> operator = laplacian(knn_graph(fibonacci_mesh(500)))
    >>> round(default_heat_time(operator, n=1000, rate=0.25), 4)
    0.008
    """
    dim, volume = operator.graph.mesh.dim, float(operator.mass.sum())
    falling = math.exp(-rate)
    variance = 2 * falling / (math.expm1(-rate) ** 2)
    wished = (variance * len(operator.mass) * volume / n**2) ** (2 / dim) / (8 * math.pi)
    return float(min(wished, volume ** (2 / dim)))
