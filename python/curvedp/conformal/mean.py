"""The conformal mean (He et al.): a private mean whose noise follows a private density.

    records -> density on a public mesh (share of the budget) -> sigma, phi = exp(2 sigma)
            -> mean, within a public tolerance of the true one
            -> exponential mechanism on the mesh in the metric phi g (the rest) -> point in the cell

Proof: docs/proofs/conformal-mean.md. Comparison with other means: docs/conformal.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count, as_positive, as_probability
from curvedp.conformal.density_plan import DensityPlan, check_density, needs_graph
from curvedp.conformal.factor import factor
from curvedp.conformal.graph import Laplacian
from curvedp.conformal.mechanism import MeshExponential, jitter
from curvedp.conformal.mesh import ball_mesh
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
from curvedp.domain import Ball
from curvedp.mechanisms import pure_epsilon, ways_to_meet
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import plan_mean
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases


@dataclass(frozen=True)
class ConformalPlan:
    """Everything about a conformal mean that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    shares : pair
        Guarantees of the density and of the node.
    density : DensityPlan
    operator : Laplacian
        On the nodes to draw from.
    sensitivity : float
        Of the mean.
    solver : Plan
        Of the mean.
    """

    ball: Ball
    shares: tuple[PureDP | GDP, ...]
    density: DensityPlan
    operator: Laplacian
    sensitivity: float
    solver: _core.Plan

    def mechanism(self, sigma: FloatArray) -> MeshExponential:
        """The mechanism that draws a node, given the released factor."""
        total = self.sensitivity + 2 * self.solver.tolerance
        return MeshExponential(
            self.operator.graph,
            sigma,
            ball=self.ball,
            sensitivity=total,
            guarantee=self.shares[1],
        )


@dataclass(frozen=True, kw_only=True)
class ConformalMean(EachGroup[Release]):
    """The conformal mean as a value; `conformal_mean` releases it.

    Parameters
    ----------
    split, mesh, cells, method, bandwidth, heat_time, upsilon
        As in `conformal_mean`.

    Examples
    --------
    >>> from curvedp.conformal import ConformalMean
    >>> ConformalMean(split=0.2).split
    0.2
    """

    title: ClassVar[str] = "conformal Fréchet mean"
    stages: ClassVar[int] = 3
    memory: ClassVar[float] = 8.0

    split: float = 0.5
    mesh: Nodes | None = None
    cells: Nodes | None = None
    method: str = "histogram"
    bandwidth: float | None = None
    heat_time: float | None = None
    upsilon: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "split", as_probability(self.split, "split"))
        check_density(**self._how)
        object.__setattr__(self, "upsilon", as_positive(self.upsilon, "upsilon"))
        for name in ("mesh", "cells"):
            if getattr(self, name) is not None:
                mesh_of(getattr(self, name), name)

    @property
    def _how(self) -> dict[str, Any]:
        return {"method": self.method, "bandwidth": self.bandwidth, "heat_time": self.heat_time}

    def options(self) -> dict[str, Any]:
        nodes = {"mesh": told(self.mesh), "cells": told(self.cells)}
        return nodes | self._how | {"split": self.split, "upsilon": self.upsilon}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> ConformalMean:
        refuse_told(options, "mesh", "cells")
        return cls(**options)

    def check(self, call: Call) -> None:
        check_nodes(self.mesh, call.manifold.spec, "mesh is")
        check_nodes(self.cells, call.manifold.spec, "cells are")

    @cached_property
    def _operator(self) -> Laplacian | None:
        return None if self.mesh is None else as_laplacian(self.mesh)

    @cached_property
    def _cells(self) -> Nodes | None:
        """The cells, with their operator where that is needed."""
        if self.cells is None or not needs_graph(**self._how):
            return self.cells
        return self._operator if self.cells is self.mesh else as_laplacian(self.cells)

    def design(self, call: Call, ball: Ball, n: int) -> ConformalPlan:
        plan = self._plan(call, ball, n)
        # what is wrong with the parameters is told before spending, of all balls of that size
        like = [own for own in call.balls if own.radii == ball.radii]
        for own in like:
            (plan if own is ball else self._plan(call, own, n)).mechanism(
                np.zeros(len(plan.operator.mass))
            )
        return plan

    def _plan(self, call: Call, ball: Ball, n: int) -> ConformalPlan:
        operator = default_laplacian(ball) if self._operator is None else self._operator
        shares = ways_to_meet(call.guarantee)[0].split([self.split, 1 - self.split])
        moved, cells = call.records_per_unit, self._cells
        if cells is None:
            cells = ball_mesh(ball, default_cells(n, shares[0], moved))
        density = DensityPlan.make(cells, ball, shares[0], n, moved, **self._how)
        return ConformalPlan(ball, shares, density, operator, *plan_mean(ball, n, moved))

    def mechanism_of(self, design: ConformalPlan) -> str:
        return MeshExponential.name

    def is_exact(self, call: Call) -> bool:
        return True

    def memory_of_group(self, call: Call, n: int) -> float:
        nodes = DEFAULT_NODES if self.mesh is None else len(mesh_of(self.mesh))
        cells = DEFAULT_NODES if self.cells is None else len(mesh_of(self.cells))
        return 8.0 * (nodes + cells) * (call.manifold.point_size + 64)

    def memory_of_result(self, call: Call) -> float:
        cells = DEFAULT_NODES if self.cells is None else len(mesh_of(self.cells))
        return 8.0 * cells

    def release_group(self, group: Group) -> Release:
        plan: ConformalPlan = group.design
        if group.ball is not plan.ball:  # another centre
            plan = self._plan(group.call, group.ball, group.n)
        nodes, promise = plan.operator.graph.mesh, group.paid.promise
        first, second = map(promise, plan.shares)
        values = plan.density.values(group.ball.project(group.records), group.stream(0))
        density = group.release(value=values, **plan.density.told() | {"guarantee": first})
        mechanism = plan.mechanism(self._sigma(plan, density.value))
        rows = group.enter()
        tell_stage("mean")
        eta = group.ball.frame.mean(rows, plan.solver)
        tell_stage("noise")
        node = int(mechanism._draw(mechanism._path_lengths(eta), group.stream(1), 1)[0])
        noise: dict[str, Any] = {
            "mechanism": mechanism.name,
            "sensitivity": plan.sensitivity,
            "solver_tolerance": plan.solver.tolerance,
            "scale": mechanism.scale,
            "expected_error": None,
        }
        drawn = group.release(
            value=nodes.points[node],
            statistic="node of a public mesh about the Fréchet mean",
            guarantee=second,
            **noise,
        )
        return group.release(
            value=jitter(nodes, node, group.stream(2)),
            statistic=self.title,
            parts=(density, drawn),
            **noise,
        )

    def _sigma(self, plan: ConformalPlan, density: FloatArray) -> FloatArray:
        """log of the root of the conformal factor at the nodes: post-processing of the density."""
        tell_stage("conformal factor")
        nodes = plan.operator.graph.mesh
        if plan.density.mesh is not nodes:
            density = density[plan.density.mesh.nearest(nodes.points)[0]]
        # in the plane a hierarchy costs little, and is kept for the next call with that operator
        way = "multigrid" if nodes.manifold.dim <= 2 else "auto"
        return factor(density, self.upsilon, laplacian=plan.operator, method=way).sigma


@overload
def conformal_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def conformal_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def conformal_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the Fréchet mean of records with noise that follows their private density.

    A density released with the share `split` of the budget gives the conformal factor phi, small
    where records are many; a node z of the mesh is then drawn with probability proportional to
    w_z phi_z^{d/2} exp(-u(eta, z)/scale), u the distance from the mean eta in the metric phi g over
    its greatest stretch, and moved to a random place in its cell.

    This is the mechanism of He et al. made private, not a more accurate mean: its error exceeds
    that of `frechet_mean` unless phi falls with the distance from the mean, and it does not fall
    for records that are concentrated, and ends at the spacing of the mesh, however large n is: 52
    times the error of `frechet_mean` on the sphere, 790 times on SPD(3) at n = 20,000, epsilon = 1,
    r = 0.5. In high dimension the release may lie outside the ball. Figures in docs/conformal.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public. No value raises: a record that is not a point of the
        manifold counts as the ball's centre.
    ball : Ball, or a list with one for each group
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release of each group, both parts together, when one unit's records are
        replaced.
    split : float
        Share of the density, strictly between 0 and 1: of epsilon for PureDP, of mu^2 otherwise.
    mesh : Mesh, Graph or Laplacian, optional
        Public nodes to draw from, chosen without looking at the records; by default 5000 on the
        ball. Their spacing is a floor of the error: with r = 0.5 about 0.02 in dimension 2, 0.06 in
        3, 0.2 in 6. One Laplacian given to many calls saves making it.
    cells : Mesh, Graph or Laplacian, optional
        Public nodes of the density. By default as many on the ball as let a node's mean number of
        records match the noise, see `default_cells`; its value counts for all nodes of `mesh` in a
        cell.
    method, bandwidth, heat_time
        Of the density; see `curvedp.conformal.density`.
    upsilon : float
        Public; see `curvedp.conformal.factor`.
    groups : array-like, optional
        Labels or offsets of public groups, the mean of each: see `frechet_mean`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, units,
    coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases of them with `groups`
        `parts` holds the density (`value` at the nodes of the mesh) and the node that was drawn.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    References
    ----------
    He, Tang, Rahimian and Joshi, Density-aware noise mechanisms for differential privacy on
    Riemannian manifolds via conformal transformation.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.conformal_mean(records, ball, cdp.PureDP(2.0))
    >>> [part.guarantee.epsilon for part in release.parts], release.value.shape
    ([0.958, 0.958], (3,))
    """
    statistic = ConformalMean(
        split=split,
        mesh=mesh,
        cells=cells,
        method=method,
        bandwidth=bandwidth,
        heat_time=heat_time,
        upsilon=upsilon,
    )
    return release(statistic, records, ball, guarantee, groups=groups, **call)


def default_cells(n: int, guarantee: Guarantee, records_per_unit: int = 1) -> int:
    """Number of cells at which a cell's mean number of records is the noise's deviation.

    n epsilon / (sqrt(8) k), between 1 and 5000: a function of public values.

    Parameters
    ----------
    n : int
        Number of records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of the density.
    records_per_unit : int

    Returns
    -------
    int

    Raises
    ------
    ValueError, TypeError
        If a number is not positive.

    Examples
    --------
    >>> import curvedp as cdp
    >>> default_cells(500, cdp.PureDP(0.5))
    88
    """
    deviation = math.sqrt(8) * records_per_unit / pure_epsilon(guarantee)
    return int(np.clip(as_count(n, "n") / deviation, 1, DEFAULT_NODES))
