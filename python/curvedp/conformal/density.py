"""The private density of records on a public mesh.

    records -> whole units at the nodes, a fixed number for each record -> two-sided geometric noise
            -> per volume -> heat smoothing (post-processing) -> Release

Proof: docs/proofs/conformal-mean.md, section 1.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_positive
from curvedp.conformal.graph import Graph, Laplacian, knn_graph, laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.solve import heat_smooth
from curvedp.domain import Ball, check_ball
from curvedp.mechanisms import pure_epsilon
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.privacy.release import frozen_array
from curvedp.statistics.entry import Entry

DENSITY_METHODS = ("histogram", "kde")

#: Units into which a record is divided where it is spread over several nodes.
_UNITS = 1 << 20

#: Least rate of the noise per record: wider noise, counted in units of the kernel, would not fit
#: the 127 bits in which counts and noise are added.
_LEAST_RATE = 1e-11

#: Neighbours of a node in the graph that smoothing uses if none is given.
_NEIGHBOURS = 24


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DensityRelease(Release):
    """A released density: `value` holds its values at the nodes, per unit of volume, shape (n,).

    Sensitivity and scale count records. Values may be negative where noise outweighs records.

    Attributes
    ----------
    method : str
        "histogram" or "kde".
    bandwidth : float
        Reach of the kernel, 0 for a histogram.
    heat_time : float
        Time of the heat smoothing, 0 for none.
    nodes : ndarray, shape (n, *point_shape)
    volumes : ndarray, shape (n,)
        The public mesh.
    """

    method: str
    bandwidth: float
    heat_time: float
    nodes: FloatArray
    volumes: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("nodes", "volumes"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        if not self.value.shape == self.volumes.shape == self.nodes.shape[:1]:
            raise ValueError("value, nodes and volumes must have the same length")

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The public mesh."""
        return Mesh(self.manifold, self.nodes, self.volumes)

    @functools.cached_property
    def laplacian(self) -> Laplacian:
        """The operator that smoothed the density; made anew after a round trip through JSON."""
        return as_laplacian(self.mesh)

    def _notes(self) -> list[str]:
        kernel = f", spread by a kernel of reach {self.bandwidth:.6g}" if self.bandwidth else ""
        return [
            f"every record counted at the nearest of {len(self.volumes)} public nodes{kernel}",
            f"smoothed by the heat equation for a time of {self.heat_time:.6g}",
        ]


@quiet
def density(
    records: ArrayLike,
    mesh: Mesh | Graph | Laplacian,
    guarantee: Guarantee,
    *,
    ball: Ball | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
) -> DensityRelease:
    """Release the density of records on a public mesh under differential privacy.

    f(z) = (c_z + X_z) / (n w_z), smoothed by e^{-tL}. c_z is the number of records at node z, w_z
    its volume, X_z independent integers with P(X = x) proportional to exp(-epsilon |x| / 2k), k =
    `records_per_unit`, drawn exactly and on *every* node. With ``method="kde"`` a record is spread
    over the nodes within the bandwidth h by the kernel exp(-1/(1 - rho^2/h^2)), normalised on the
    nodes for each record, in units of 2^-20 record, which the noise then counts: the discrete form
    of the functional Laplace mechanism (He et al., equations 9 to 13).

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        n is public. No value raises: what is not a point of the manifold counts at the first node,
        or as the ball's centre if there is a ball.
    mesh : Mesh, Graph or Laplacian
        Public, chosen without looking at the records. A Laplacian saves making it for the
        smoothing.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    ball : Ball, optional
        Public domain on which records are projected first; without it a record far from every node
        counts at the nearest one all the same.
    method : {"histogram", "kde"}
    bandwidth : float, optional
        Reach h of the kernel, in the units of the metric; by default the mean length of the graph's
        edges.
    heat_time : float, optional
        Time t of the smoothing, in squared units of the metric, 0 for none. By default the time at
        which the noise's standard deviation falls to the mean density; see `default_heat_time`.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.

    Returns
    -------
    DensityRelease

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Notes
    -----
    Every node carries noise of standard deviation sqrt(8) k/epsilon records for small epsilon, so
    that of a region grows with the root of its number of nodes: few large cells tell more about few
    records than many small ones.

    References
    ----------
    He, Tang, Rahimian and Joshi, Density-aware noise mechanisms for differential privacy on
    Riemannian manifolds via conformal transformation, section III-A; Canonne, Kamath and Steinke
    (2020), The discrete Gaussian for differential privacy, Algorithm 2.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import density, fibonacci_mesh
    >>> from curvedp.datasets import von_mises_fisher
    >>> records = von_mises_fisher(20_000, [0, 0, 1], 10.0, rng=0)
    >>> release = density(records, fibonacci_mesh(300), cdp.PureDP(1.0))
    >>> top, bottom = release.value[0], release.value[-1]  # exact: 1.59 and 3e-9
    >>> bool(abs(top - 1.4) < 0.3), bool(abs(bottom) < 0.02)
    (True, True)
    """
    chosen = as_choice(method, DENSITY_METHODS, "method")
    base = mesh_of(mesh)
    domain = _any_ball(base) if ball is None else check_ball(ball)
    if domain.manifold != base.manifold:
        raise ValueError(f"the mesh is on {base.manifold.spec}, the ball on {domain.manifold.spec}")
    entry = Entry.check(
        records,
        domain,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        seed=seed,
    )
    plan = DensityPlan.make(entry, mesh, chosen, bandwidth, heat_time, entry.guarantee)
    entry.spend("density")
    tell_stage("project")
    points = entry.ball.project(entry.data) if ball is not None else _on_mesh(entry.data, base)
    release = release_density(entry, points, plan, 0)
    fields = vars(release)
    if ball is None:
        reach = float(base.manifold.dist(base.points[0], base.points).max())
        fields = {**fields, "ball_radius": reach or entry.ball.radius}
    found = DensityRelease(
        **fields,
        method=chosen,
        bandwidth=plan.reach,
        heat_time=plan.heat_time,
        nodes=base.points,
        volumes=base.volumes,
    )
    if plan.laplacian is not None:
        found.__dict__["laplacian"] = plan.laplacian
        found.__dict__["mesh"] = base
    return found


@dataclass(frozen=True)
class DensityPlan:
    """Everything about a density that is fixed before a record is seen."""

    mesh: Mesh
    laplacian: Laplacian | None
    method: str
    reach: float
    heat_time: float
    guarantee: Guarantee
    rate: float

    @classmethod
    def make(
        cls,
        entry: Entry,
        mesh: Mesh | Graph | Laplacian,
        method: str,
        bandwidth: float | None,
        heat_time: float | None,
        guarantee: Guarantee,
    ) -> DensityPlan:
        """The plan for a share of a call's guarantee; `rate` is that of the noise, per record."""
        rate = math.nextafter(pure_epsilon(guarantee) / (2 * entry.records_per_unit), 0.0)
        if rate < _LEAST_RATE:
            raise ValueError(
                f"no counts can be drawn at a scale of {1 / rate:.3g} records: use a larger budget"
            )
        operator = None if heat_time == 0 else as_laplacian(mesh)
        reach = 0.0
        if method == "kde":
            if bandwidth is None:
                lengths = as_laplacian(mesh).graph.lengths.data
                reach = float(lengths.mean()) if lengths.any() else 1.0
            else:
                reach = as_positive(bandwidth, "bandwidth")
        if heat_time is None:
            time = default_heat_time(
                as_laplacian(mesh) if operator is None else operator, entry.n, rate
            )
        else:
            time = 0.0 if heat_time == 0 else as_positive(heat_time, "heat_time")
        return cls(mesh_of(mesh), operator, method, reach, time, guarantee, rate)


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
    dim, volume = operator.graph.mesh.manifold.dim, float(operator.mass.sum())
    falling = math.exp(-rate)
    variance = 2 * falling / (math.expm1(-rate) ** 2)
    wished = (variance * len(operator.mass) * volume / n**2) ** (2 / dim) / (8 * math.pi)
    return float(min(wished, volume ** (2 / dim)))


def release_density(entry: Entry, points: FloatArray, plan: DensityPlan, stage: int) -> Release:
    """The density of points of the manifold, one for each record of a call that has been paid."""
    tell_stage("density")
    units = _UNITS if plan.method == "kde" else 1
    if plan.method == "kde":
        counts = _core.bump_counts(
            plan.mesh.manifold._core,
            plan.mesh.points.reshape(len(plan.mesh), -1),
            plan.mesh.volumes,
            points.reshape(len(points), -1),
            plan.reach,
            units,
        )
    else:
        counts = np.bincount(plan.mesh.nearest(points)[0], minlength=len(plan.mesh))
    noisy = np.empty(len(plan.mesh))
    rate = math.nextafter(plan.rate / units, 0.0)
    entry.stream(stage).add_discrete_laplace(rate, counts, noisy)
    values = noisy / units / (entry.n * plan.mesh.volumes)
    if plan.heat_time > 0:
        assert plan.laplacian is not None
        values = heat_smooth(plan.laplacian, values, plan.heat_time, tol=1e-9)
    return entry.release(
        entry.promise(plan.guarantee),
        value=values,
        mechanism="two-sided geometric noise on a mesh",
        statistic="density of the records",
        sensitivity=2.0 * entry.records_per_unit,
        solver_tolerance=0.0,
        scale=math.nextafter(1 / plan.rate, math.inf),
        expected_error=None,
    )


def as_laplacian(mesh: Mesh | Graph | Laplacian) -> Laplacian:
    """The operator itself, or that of a graph or a mesh with customary settings."""
    if isinstance(mesh, Laplacian):
        return mesh
    nodes = mesh_of(mesh)
    if isinstance(mesh, Graph):
        return laplacian(mesh)
    return laplacian(knn_graph(nodes, min(_NEIGHBOURS, max(1, len(nodes) - 1))))


def mesh_of(mesh: Mesh | Graph | Laplacian) -> Mesh:
    """The nodes of a mesh, a graph or an operator."""
    if isinstance(mesh, Laplacian):
        return mesh.graph.mesh
    if isinstance(mesh, Graph):
        return mesh.mesh
    if isinstance(mesh, Mesh):
        return mesh
    raise TypeError(f"mesh must be a Mesh, a Graph or a Laplacian, got {type(mesh).__name__}")


def _any_ball(mesh: Mesh) -> Ball:
    """A ball about the first node, for calls that project on none."""
    return Ball(mesh.manifold, mesh.points[0], min(1.0, 0.5 * mesh.manifold.max_ball_radius))


def _on_mesh(records: FloatArray, mesh: Mesh) -> FloatArray:
    """Records as points of the manifold; a record that is none becomes the first node."""
    usable = mesh.manifold.belongs(records)
    points: FloatArray = np.where(
        usable.reshape(-1, *[1] * (records.ndim - 1)), records, mesh.points[0]
    )
    return mesh.manifold.project(points)
