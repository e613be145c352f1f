"""The conformal mean (He et al.): a private mean whose noise follows a private density.

    records -> density on public nodes (share of the budget) -> sigma, phi = exp(2 sigma)
            -> mean, within a public tolerance of the true one
            -> Laplace noise of the metric phi g about it (the rest) -> point of the ball

Or the factor phi is given, and all of the budget goes to the point. Proof:
docs/proofs/conformal-mean.md. Comparison with other means: docs/conformal.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count, as_positive, as_probability
from curvedp.conformal.density_plan import DensityPlan, check_density, needs_graph
from curvedp.conformal.factor import ConformalFactor, factor
from curvedp.conformal.graph import Laplacian
from curvedp.conformal.mean_plan import ConformalPlan, given_factor
from curvedp.conformal.mechanism import ConformalLaplace, as_contrast, default_contrast
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
    told_values,
)
from curvedp.domain import Ball
from curvedp.mechanisms import pure_epsilon, ways_to_meet
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import least_error, plan_mean
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases


@dataclass(frozen=True, kw_only=True)
class ConformalMean(EachGroup[Release]):
    """The conformal mean as a value; `conformal_mean` releases it.

    Parameters
    ----------
    phi, split, mesh, cells, method, bandwidth, heat_time, upsilon, contrast
        As in `conformal_mean`.

    Examples
    --------
    >>> from curvedp.conformal import ConformalMean
    >>> ConformalMean(split=0.1).split
    0.1
    """

    title: ClassVar[str] = "conformal Fréchet mean"
    takes_unknown_n: ClassVar[bool] = True
    stages: ClassVar[int] = 2
    memory: ClassVar[float] = 8.0

    phi: ConformalFactor | ArrayLike | None = None
    split: float = 0.2
    mesh: Nodes | None = None
    cells: Nodes | None = None
    method: str = "histogram"
    bandwidth: float | None = None
    heat_time: float | None = None
    upsilon: float = 1.0
    contrast: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "split", as_probability(self.split, "split"))
        check_density(**self._how)
        object.__setattr__(self, "upsilon", as_positive(self.upsilon, "upsilon"))
        for name in ("mesh", "cells"):
            if getattr(self, name) is not None:
                mesh_of(getattr(self, name), name)
        if self.contrast is not None:
            object.__setattr__(self, "contrast", as_contrast(self.contrast))
        if self.phi is not None:
            nodes, values = given_factor(self.phi, self.mesh, self.cells)
            object.__setattr__(self, "mesh", nodes)
            object.__setattr__(self, "phi", tuple(values.tolist()))

    @property
    def _how(self) -> dict[str, Any]:
        return {"method": self.method, "bandwidth": self.bandwidth, "heat_time": self.heat_time}

    def options(self) -> dict[str, Any]:
        nodes = {"mesh": told(self.mesh), "cells": told(self.cells), "phi": told_values(self.phi)}
        own = {"split": self.split, "upsilon": self.upsilon, "contrast": self.contrast}
        return nodes | self._how | own

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> ConformalMean:
        refuse_told(options, "mesh", "cells", "phi")
        return cls(**options)

    def check(self, call: Call) -> None:
        check_nodes(self.mesh, call.manifold.spec, "mesh is")
        check_nodes(self.cells, call.manifold.spec, "cells are")

    @cached_property
    def _operator(self) -> Laplacian | None:
        return None if self.mesh is None else as_laplacian(self.mesh)

    @cached_property
    def _sigma(self) -> FloatArray | None:
        """log √phi, where it is given."""
        return None if self.phi is None else 0.5 * np.log(np.asarray(self.phi))

    @cached_property
    def _cells(self) -> Nodes | None:
        """The cells, with their operator where that is needed."""
        if self.cells is None or not needs_graph(**self._how):
            return self.cells
        return self._operator if self.cells is self.mesh else as_laplacian(self.cells)

    def design(self, call: Call, ball: Ball, n: int) -> ConformalPlan:
        def design_under(way: PureDP | GDP) -> ConformalPlan:
            # what is wrong with the parameters is said before spending, of all balls of that size
            for own in call.balls:
                if own.radii == ball.radii and own is not ball:
                    self._plan(call, own, n, way).check()
            plan = self._plan(call, ball, n, way)
            plan.check()
            return plan

        ways = ways_to_meet(call.guarantee)
        return least_error(ways, design_under, lambda plan: plan.expected_error)

    def _plan(self, call: Call, ball: Ball, n: int, way: PureDP | GDP) -> ConformalPlan:
        changed = call.records_per_unit
        contrast = default_contrast(ball.manifold.dim) if self.contrast is None else self.contrast
        if self._sigma is not None:
            assert self.mesh is not None
            delta, solver = plan_mean(ball, n, changed, way)
            nodes = mesh_of(self.mesh)
            return ConformalPlan(
                ball, (way,), way, nodes, None, None, self._sigma, delta, solver, contrast, n
            )
        shares = way.split([self.split, 1 - self.split])
        delta, solver = plan_mean(ball, n, changed, shares[1])
        operator = default_laplacian(ball) if self._operator is None else self._operator
        cells = self._cells
        if cells is None:
            cells = ball_mesh(ball, default_cells(n, shares[0], changed))
        density = DensityPlan.make(cells, ball, shares[0], n, changed, **self._how)
        nodes = operator.graph.mesh
        return ConformalPlan(
            ball, shares, way, nodes, density, operator, None, delta, solver, contrast, n
        )

    def mechanism_of(self, design: ConformalPlan) -> str:
        return ConformalLaplace.name

    def is_exact(self, call: Call) -> bool:
        return True

    def outlook(self, call: Call, design: ConformalPlan, n: int) -> tuple[float, float]:
        return design.scale, design.expected_error

    def noise_share(self, call: Call, design: ConformalPlan, n: int) -> float:
        return design.noise_share

    def memory_of_group(self, call: Call, n: int) -> float:
        nodes = DEFAULT_NODES if self.mesh is None else len(mesh_of(self.mesh))
        cells = DEFAULT_NODES if self.cells is None else len(mesh_of(self.cells))
        return 8.0 * (nodes + cells) * (call.manifold.point_size + 64)

    def memory_of_result(self, call: Call) -> float:
        cells = DEFAULT_NODES if self.cells is None else len(mesh_of(self.cells))
        return 0.0 if self.phi is not None else 8.0 * cells

    def release_group(self, group: Group) -> Release:
        plan: ConformalPlan = group.design
        if group.ball is not plan.ball:  # another centre
            plan = self._plan(group.call, group.ball, group.n, plan.way)
        sigma, parts = plan.sigma, []
        if plan.density is not None:
            first, second = map(group.paid.promise, plan.shares)
            values = plan.density.values(group.ball.project(group.records), group.stream(0))
            parts = [group.release(value=values, **plan.density.told() | {"guarantee": first})]
            sigma = self._solved(plan, plan.density, parts[0].value)
        assert sigma is not None
        mechanism = plan.mechanism(sigma)
        rows = group.enter()
        tell_stage("mean")
        eta = group.ball.frame.mean(rows, plan.solver)
        tell_stage("noise")
        value = mechanism._draw(eta, group.stream(1))[0]
        noise: dict[str, Any] = {
            "value": value,
            "mechanism": mechanism.name,
            "sensitivity": plan.sensitivity,
            "solver_tolerance": plan.solver.tolerance,
            "scale": mechanism.scale,
            "expected_error": mechanism.error_at(value),
        }
        if parts:
            about = "point about the Fréchet mean in a released metric"
            parts.append(group.release(statistic=about, guarantee=second, **noise))
        return group.release(statistic=self.title, parts=tuple(parts), **noise)

    def _solved(self, plan: ConformalPlan, density: DensityPlan, values: FloatArray) -> FloatArray:
        """log of the root of the conformal factor at the nodes: post-processing of the density."""
        tell_stage("conformal factor")
        if density.mesh is not plan.mesh:
            values = values[density.mesh.nearest(plan.mesh.points)[0]]
        # in the plane a hierarchy costs little, and is kept for the next call with that operator
        way = "multigrid" if plan.mesh.manifold.dim <= 2 else "auto"
        return factor(values, self.upsilon, laplacian=plan.operator, method=way).sigma


@overload
def conformal_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    phi: ConformalFactor | ArrayLike | None = None,
    split: float = 0.2,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    contrast: float | None = None,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def conformal_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    phi: ConformalFactor | ArrayLike | None = None,
    split: float = 0.2,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    contrast: float | None = None,
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
    phi: ConformalFactor | ArrayLike | None = None,
    split: float = 0.2,
    mesh: Nodes | None = None,
    cells: Nodes | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    contrast: float | None = None,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the Fréchet mean of records with noise that follows their private density.

    A density released with the share `split` of the budget gives the conformal factor phi, small
    where records are many. The density of the released point z is proportional to phi(z)^{d/2}
    exp(-c rho(eta, z)/scale), eta the mean and c = √phi(z) over its largest value: the volume of
    the metric phi g, and the distance from eta in it to first order. It is drawn exactly, without a
    mesh, and moved to the ball.

    This is the mechanism of He et al. made private, not a more accurate mean than `frechet_mean`:
    the noise is longer where phi is small, up to √2 times, and the density costs its share.

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
    phi : ConformalFactor or array-like, shape (n,), optional
        A conformal factor that is public or was released before, such as ``factor(density)``, or
        positive values at the nodes of `mesh`. No density is then released, and the whole budget
        goes to the point.
    split : float
        Share of the density, strictly between 0 and 1: of epsilon for PureDP, of mu^2 otherwise.
    mesh : Mesh, Graph or Laplacian, optional
        Public nodes on which phi stands, chosen without looking at the records; by default 5000 on
        the ball. One Laplacian given to many calls saves making it.
    cells : Mesh, Graph or Laplacian, optional
        Public nodes of the density. By default as many on the ball as let a node's mean number of
        records match the noise, see `default_cells`; its value counts for all nodes of `mesh` in a
        cell.
    method, bandwidth, heat_time
        Of the density; see `curvedp.conformal.density`.
    upsilon : float
        Public; see `curvedp.conformal.factor`.
    contrast : float, optional
        Largest quotient of √phi at two places, above 1: if phi has more, the largest of its powers
        that has not more is taken. By default √2, or 4^{1/d} if that is less. The noise is then at
        most so many times longer in one place than in another, and about contrast^d proposals are
        drawn until one is kept; how many depends on the records.
    groups : array-like, optional
        Labels or offsets of public groups, the mean of each: see `frechet_mean`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, units,
    coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases of them with `groups`
        In the ball; `parts` holds the density (`value` at the cells) and the point, unless phi was
        given. `expected_error` is that at the released point.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ExistenceError
        If Laplace noise does not exist at this budget; carries the smallest epsilon and n that
        work, except for GDP.
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
    ([0.3832, 1.5328], (3,))
    """
    statistic = ConformalMean(
        phi=phi,
        split=split,
        mesh=mesh,
        cells=cells,
        method=method,
        bandwidth=bandwidth,
        heat_time=heat_time,
        upsilon=upsilon,
        contrast=contrast,
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
