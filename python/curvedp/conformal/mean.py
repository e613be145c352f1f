"""The conformal mean (He et al.): a private mean whose noise follows a private density.

    records -> density on a public mesh (share of the budget) -> sigma, phi = exp(2 sigma)
            -> mean, within a public tolerance of the true one
            -> exponential mechanism on the mesh in the metric phi g (the rest) -> point in the cell

Proof: docs/proofs/conformal-mean.md. Comparison with other means: docs/conformal.md.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_count, as_positive, as_probability
from curvedp.conformal.density import (
    DENSITY_METHODS,
    DensityPlan,
    as_laplacian,
    release_density,
)
from curvedp.conformal.factor import factor
from curvedp.conformal.graph import Graph, Laplacian, knn_graph, laplacian
from curvedp.conformal.mechanism import MeshExponential, jitter
from curvedp.conformal.mesh import Mesh, ball_mesh
from curvedp.domain import Ball
from curvedp.mechanisms import pure_epsilon
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.design import plan_mean
from curvedp.statistics.entry import Entry

#: Nodes of the mesh over the ball if none is given, and neighbours of each.
_NODES = 5000
_NEIGHBOURS = 12


@quiet
@hinting
def conformal_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    mesh: Mesh | Graph | Laplacian | None = None,
    cells: Mesh | Graph | Laplacian | None = None,
    method: str = "histogram",
    bandwidth: float | None = None,
    heat_time: float | None = None,
    upsilon: float = 1.0,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
) -> Release:
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
    ball : Ball
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the whole release, both parts together, when one unit's records are replaced.
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
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend the whole guarantee from, before any noise is drawn.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.

    Returns
    -------
    Release
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
    ([1.0, 1.0], (3,))
    """
    entry = Entry.check(
        records,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        seed=seed,
    )
    part = as_probability(split, "split")
    as_choice(method, DENSITY_METHODS, "method")
    shift = as_positive(upsilon, "upsilon")
    operator = default_laplacian(ball) if mesh is None else as_laplacian(mesh)
    graph = operator.graph
    if graph.mesh.manifold != ball.manifold:
        raise ValueError(
            f"the mesh is on {graph.mesh.manifold.spec}, the ball on {ball.manifold.spec}"
        )
    shares = entry.shares([part, 1 - part])
    if cells is None:
        cells = ball_mesh(ball, default_cells(entry.n, shares[0], entry.records_per_unit))
    density_plan = DensityPlan.make(entry, cells, method, bandwidth, heat_time, shares[0])
    if density_plan.mesh.manifold != ball.manifold:
        raise ValueError(f"the cells are not on {ball.manifold.spec}")
    delta, mean_plan = plan_mean(ball, entry.n, entry.records_per_unit)
    total = delta + 2 * mean_plan.tolerance

    def design(sigma: FloatArray) -> MeshExponential:
        return MeshExponential(graph, sigma, ball=ball, sensitivity=total, guarantee=shares[1])

    design(np.zeros(len(graph.mesh)))  # what is wrong with the parameters is told before spending
    entry.spend("conformal Fréchet mean")
    density = release_density(entry, ball.project(entry.data), density_plan, 0)
    tell_stage("conformal factor")
    values = density.value
    if density_plan.mesh is not graph.mesh:
        values = values[density_plan.mesh.nearest(graph.mesh.points)[0]]
    # in the plane a hierarchy costs little, and is kept for the next call with the same operator
    way = "multigrid" if ball.manifold.dim <= 2 else "auto"
    sigma = factor(values, shift, laplacian=operator, method=way).sigma
    rows = entry.enter()
    tell_stage("mean")
    eta = ball._frame.mean(rows, mean_plan)
    tell_stage("noise")
    mechanism = design(sigma)
    node = int(mechanism._draw(mechanism._path_lengths(eta), entry.stream(1), 1)[0])
    fields: dict[str, Any] = {
        "mechanism": mechanism.name,
        "sensitivity": delta,
        "solver_tolerance": mean_plan.tolerance,
        "scale": mechanism.scale,
        "expected_error": None,
    }
    drawn = entry.release(
        entry.promise(shares[1]),
        value=graph.mesh.points[node],
        statistic="node of a public mesh about the Fréchet mean",
        **fields,
    )
    return entry.release(
        entry.promise(guarantee),
        value=jitter(graph.mesh, node, entry.stream(2)),
        statistic="conformal Fréchet mean",
        parts=(density, drawn),
        **fields,
    )


@functools.lru_cache(maxsize=4)
def default_laplacian(ball: Ball, n_nodes: int = _NODES) -> Laplacian:
    """The operator on a mesh of `n_nodes` nodes over a ball, kept for the next call.

    Parameters
    ----------
    ball : Ball
    n_nodes : int

    Returns
    -------
    Laplacian

    Examples
    --------
    >>> ball = Ball("sphere", center=[0, 0, 1], radius=0.7)
    >>> default_laplacian(ball, 500) is default_laplacian(ball, 500)
    True
    """
    mesh = ball_mesh(ball, as_count(n_nodes, "n_nodes"))
    return laplacian(knn_graph(mesh, min(_NEIGHBOURS, max(1, len(mesh) - 1))))


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
    return int(np.clip(as_count(n, "n") / deviation, 1, _NODES))
