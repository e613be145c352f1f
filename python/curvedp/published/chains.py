"""The sampler of He et al., section VI: Metropolis-Hastings in a conformal metric.

A chain is not an exact sampler, however long: its draws carry no guarantee. It reproduces the
paper, and shows where its target differs from the exact mechanism on a mesh.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import (
    FloatArray,
    as_choice,
    as_count,
    as_positive,
    as_probability,
)
from curvedp.conformal.graph import Graph, as_node_values
from curvedp.mechanisms.chains import MetropolisChains, center_on

DISTANCES = ("graph", "line")


def metropolis(
    graph: Graph,
    sigma: ArrayLike,
    center: ArrayLike,
    rate: float,
    *,
    starts: ArrayLike | None = None,
    draws: int = 1000,
    burn_in: int = 2000,
    thinning: int = 1,
    step: float | None = None,
    acceptance: float | None = 0.4,
    volume_factor: bool = True,
    distance: str = "graph",
    line_steps: int = 16,
    stream: _core.Stream | None = None,
) -> MetropolisChains:
    """Metropolis-Hastings chains for exp(-rate rho*(eta, x)) phi(x)^{d/2} (He et al., section VI).

    Proposals are exp_x(step N(0, I)), which is symmetric on every manifold here. phi(x) is that of
    the node nearest to x.

    Parameters
    ----------
    graph : Graph
    sigma : array-like, shape (n,)
        log √phi at the nodes.
    center : array-like, shape point_shape
        eta.
    rate : float
        In the units of the metric phi g.
    starts : array-like, shape (chains, *point_shape), optional
        Starts of the chains; by default four nodes far apart. Starts nearer to each other than the
        law is wide can hide that chains have not met.
    draws, burn_in, thinning : int
        States kept of each chain, steps before the first, and steps from one to the next.
    step : float, optional
        Standard deviation of the first proposals in every direction, in the units of the metric; by
        default 1/(rate √phi) at the median of phi.
    acceptance : float or None
        Acceptance rate to which the step adapts while burning in, and only then; None keeps it.
    volume_factor : bool
        False leaves phi^{d/2} out, as the paper's acceptance ratio does: the law is then one with
        respect to the volume of g.
    distance : {"graph", "line"}
        rho* by the shortest path to the nearest node and on from there, or as the integral of √phi
        along the geodesic from eta by the midpoint rule with `line_steps` points.
    stream : Stream, optional
        Source of randomness; by default a fresh key from the operating system.

    Returns
    -------
    MetropolisChains

    Raises
    ------
    ValueError, TypeError
        If an array has the wrong shape, `center` or a start does not lie on the manifold, or a
        number is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from curvedp.conformal import fibonacci_mesh, knn_graph
    >>> from curvedp.published import metropolis
    >>> graph = knn_graph(fibonacci_mesh(300), k=8)
    >>> chains = metropolis(graph, np.zeros(300), [0, 0, 1], rate=5.0)
    >>> chains.points.shape, bool(chains.r_hat.max() < 1.2)
    ((4, 1000, 3), True)
    """
    mesh, space = graph.mesh, graph.mesh.manifold
    values = as_node_values(sigma, mesh, "sigma", one=True)
    if not np.isfinite(values).all() or np.abs(values).max() > 300:
        raise ValueError("sigma must lie between -300 and 300")
    speed = as_positive(rate, "rate")
    eta = center_on(space, center)
    first = _far_nodes(graph) if starts is None else space.read_records(starts, "starts")
    if not np.all(space.belongs(first)):
        raise ValueError(f"some starts do not lie on {space.spec}")
    way = as_choice(distance, DISTANCES, "distance")
    kept = as_count(draws, "draws")
    root = np.exp(values)
    lengths = None
    if way == "graph":
        begin = root * space.dist(eta, mesh.points)
        lengths = graph.kernels.shortest_paths(begin, root)
    first_step = 1 / (speed * float(np.median(root))) if step is None else as_positive(step, "step")
    plan = (
        as_count(burn_in, "burn_in", least=0),
        kept,
        as_count(thinning, "thinning"),
        first_step,
        None if acceptance is None else as_probability(acceptance, "acceptance"),
    )
    ran = _core.conformal_chains(
        space.kernels,
        mesh.points.reshape(len(mesh), -1),
        values,
        eta.reshape(-1),
        np.ascontiguousarray(space.project(first).reshape(len(first), -1)),
        plan,
        _core.Stream.from_os() if stream is None else stream,
        rate=speed,
        volume=bool(volume_factor),
        path_lengths=lengths,
        line_steps=as_count(line_steps, "line_steps"),
    )
    return MetropolisChains._of(ran, space, eta, kept)


def _far_nodes(graph: Graph, count: int = 4) -> FloatArray:
    """Nodes far apart: each the farthest from those chosen before it."""
    mesh = graph.mesh
    chosen = [0]
    nearest = mesh.manifold.dist(mesh.points[0], mesh.points)
    for _ in range(count - 1):
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, mesh.manifold.dist(mesh.points[chosen[-1]], mesh.points))
    return mesh.points[chosen]
