"""The private density of records on a public mesh.

    records -> whole units at the nodes, a fixed number for each record -> two-sided geometric noise
            -> per volume -> heat smoothing (post-processing) -> Release

Proof: docs/proofs/conformal-mean.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack, overload

from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray
from curvedp.conformal.density_plan import (
    MECHANISM,
    DensityPlan,
    check_density,
    needs_graph,
)
from curvedp.conformal.density_release import DensityRelease
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.nodes import (
    DEFAULT_NODES,
    Nodes,
    as_laplacian,
    check_nodes,
    default_laplacian,
    mesh_of,
    refuse_told,
    told,
)
from curvedp.conformal.triangles import TriangleMesh
from curvedp.domain import Ball
from curvedp.privacy import Guarantee
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases


@dataclass(frozen=True, kw_only=True)
class Density(EachGroup[DensityRelease]):
    """The density of records on public nodes, as a value; `density` releases it.

    Parameters
    ----------
    mesh, method, bandwidth, heat_time
        As in `density`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import Density
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records, sites = np.tile([0.0, 0.6, 0.8], (300, 1)), np.repeat(["north", "south"], 150)
    >>> found = cdp.release(Density(), records, ball, cdp.PureDP(1.0), groups=sites)
    >>> found["north"].value.shape
    (5000,)
    """

    title: ClassVar[str] = "density of the records"
    takes_unknown_n: ClassVar[bool] = True
    memory: ClassVar[float] = 8.0

    mesh: Nodes | None = None
    method: str = "histogram"
    bandwidth: float | None = None
    heat_time: float | None = None

    def __post_init__(self) -> None:
        if self.mesh is not None:
            mesh_of(self.mesh)
        check_density(self.method, self.bandwidth, self.heat_time)

    @property
    def _how(self) -> dict[str, Any]:
        return {"method": self.method, "bandwidth": self.bandwidth, "heat_time": self.heat_time}

    def options(self) -> dict[str, Any]:
        return {"mesh": told(self.mesh)} | self._how

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Density:
        refuse_told(options, "mesh")
        return cls(**options)

    def check(self, call: Call) -> None:
        check_nodes(self.mesh, call.manifold.spec)

    @cached_property
    def _nodes(self) -> Nodes | None:
        """The mesh, with its operator where that is needed."""
        if self.mesh is None or not needs_graph(**self._how):
            return self.mesh
        return as_laplacian(self.mesh)

    def design(self, call: Call, ball: Ball, n: int) -> DensityPlan:
        nodes = default_laplacian(ball) if self._nodes is None else self._nodes
        changed = call.records_per_unit
        return DensityPlan.make(nodes, ball, call.guarantee, n, changed, **self._how)

    def mechanism_of(self, design: DensityPlan) -> str:
        return MECHANISM

    def is_exact(self, call: Call) -> bool:
        return True

    @property
    def _count(self) -> int:
        return DEFAULT_NODES if self.mesh is None else len(mesh_of(self.mesh))

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (self._count,)

    def outlook(self, call: Call, design: DensityPlan, n: int) -> tuple[float, float]:
        return design.scale, math.nan

    def memory_of_group(self, call: Call, n: int) -> float:
        return 8.0 * self._count * (call.manifold.point_size + 12)

    def memory_of_result(self, call: Call) -> float:
        return 8.0 * self._count * (call.manifold.point_size + 4)

    def release_group(self, group: Group) -> DensityRelease:
        plan: DensityPlan = group.design
        if group.ball is not plan.ball:  # another centre
            plan = self.design(group.call, group.ball, group.n)
        tell_stage("project")
        points = plan.read(group.records)
        released = group.release(value=plan.values(points, group.stream(0)), **plan.told())
        found = DensityRelease(
            **vars(released),
            method=self.method,
            bandwidth=plan.reach,
            heat_time=plan.heat_time,
            nodes=plan.mesh.points,
            volumes=plan.mesh.volumes,
            projected=plan.is_inside,
            triangles=_triangles_of(plan.mesh),
        )
        if plan.laplacian is not None:
            found.__dict__["laplacian"] = plan.laplacian
            found.__dict__["mesh"] = plan.mesh
        return found


def _triangles_of(mesh: Mesh) -> FloatArray | None:
    return mesh.triangles.astype(float) if isinstance(mesh, TriangleMesh) else None


@overload
def density(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mesh: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> DensityRelease: ...
@overload
def density(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    mesh: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[DensityRelease]: ...
@quiet
@hinting
def density(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    mesh: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> DensityRelease | Releases[DensityRelease]:
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
        n is public. No value raises: what is not a point of the manifold counts as the ball's
        centre.
    ball : Ball, or a list with one for each group
        Public domain, on which records are projected if it holds all nodes. With a mesh that
        reaches out of it, such as one of a whole sphere, which no ball holds, a record counts at
        the node nearest to it, wherever that is: the guarantee needs no ball, and records on the
        far side would otherwise all count at the rim.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of the release of each group, when one unit's records are replaced.
    mesh : Mesh, Graph or Laplacian, optional
        Public, chosen without looking at the records; by default 5000 nodes on the ball. A
        Laplacian saves making it for the smoothing.
    method : {"histogram", "kde"}
    bandwidth : float, optional
        Reach h of the kernel, in the units of the metric; by default the mean length of the graph's
        edges.
    heat_time : float, optional
        Time t of the smoothing, in squared units of the metric, 0 for none. By default the time at
        which the noise's standard deviation falls to the mean density; see `default_heat_time`.
    groups : array-like, optional
        Labels or offsets of public groups, the density of each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs: the mean of a person's records on the ball
        then counts once.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    DensityRelease, or Releases of them with `groups`

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
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.5)
    >>> release = density(records, ball, cdp.PureDP(1.0), mesh=fibonacci_mesh(300))
    >>> top, bottom = release.value[0], release.value[-1]  # exact: 1.59 and 3e-9
    >>> bool(abs(top - 1.4) < 0.3), bool(abs(bottom) < 0.02)
    (True, True)
    """
    statistic = Density(mesh=mesh, method=method, bandwidth=bandwidth, heat_time=heat_time)
    return release(statistic, records, ball, guarantee, groups=groups, **call)
