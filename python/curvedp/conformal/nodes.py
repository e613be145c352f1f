"""Public nodes in any of their forms: a mesh, a graph on it, an operator on the graph."""

from __future__ import annotations

import functools
import hashlib
import struct
from typing import Any

from curvedp._validation import as_count
from curvedp.conformal.graph import Graph, Laplacian, knn_graph, laplacian
from curvedp.conformal.mesh import Mesh, ball_mesh
from curvedp.conformal.triangles import TriangleMesh, cotangent_laplacian
from curvedp.domain import Ball

Nodes = Mesh | Graph | Laplacian

#: Nodes of the mesh over a ball if none is given, and neighbours of each.
DEFAULT_NODES = 5000
_DEFAULT_NEIGHBOURS = 12
#: Neighbours of a node of a given mesh in the graph that smoothing uses.
_NEIGHBOURS = 24


@functools.lru_cache(maxsize=4)
def default_laplacian(ball: Ball, n_nodes: int = DEFAULT_NODES) -> Laplacian:
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
    return laplacian(knn_graph(mesh, min(_DEFAULT_NEIGHBOURS, max(1, len(mesh) - 1))))


def as_laplacian(mesh: Nodes) -> Laplacian:
    """The operator itself, or that of a graph or a mesh with customary settings."""
    if isinstance(mesh, Laplacian):
        return mesh
    nodes = mesh_of(mesh)
    if isinstance(mesh, Graph):
        return laplacian(mesh)
    if isinstance(nodes, TriangleMesh):
        return cotangent_laplacian(nodes)
    return laplacian(knn_graph(nodes, min(_NEIGHBOURS, max(1, len(nodes) - 1))))


def mesh_of(mesh: Nodes, name: str = "mesh") -> Mesh:
    """The nodes of a mesh, a graph or an operator."""
    if isinstance(mesh, Laplacian):
        return mesh.graph.mesh
    if isinstance(mesh, Graph):
        return mesh.mesh
    if isinstance(mesh, Mesh):
        return mesh
    raise TypeError(f"{name} must be a Mesh, a Graph or a Laplacian, got {type(mesh).__name__}")


def check_nodes(mesh: Nodes | None, spec: str, name: str = "mesh is") -> None:
    """Refuses nodes on another manifold than the ball's."""
    found = spec if mesh is None else mesh_of(mesh).manifold.spec
    if found != spec:
        raise ValueError(f"the {name} on {found}, the ball on {spec}")


def told(mesh: Nodes | None) -> dict[str, Any] | None:
    """Nodes for stored parameters and the keys of kept noise: a digest of all that they are."""
    if mesh is None:
        return None
    nodes = mesh_of(mesh)
    graph = mesh.graph if isinstance(mesh, Laplacian) else mesh if isinstance(mesh, Graph) else None
    how = [] if graph is None else [str(graph.k)]
    if isinstance(mesh, Laplacian):
        time = struct.pack("<d", mesh.bandwidth).hex()
        how += [time, mesh.normalization, str(mesh.scaled)]
    digest = hashlib.sha256("|".join([nodes.manifold.spec, str(len(nodes)), *how]).encode())
    digest.update(b"\0" + nodes.points.tobytes() + nodes.volumes.tobytes())
    if isinstance(nodes, TriangleMesh):
        digest.update(nodes.triangles.tobytes())
    return {"nodes": len(nodes), "digest": digest.hexdigest()}


def told_values(values: Any) -> dict[str, Any] | None:
    """Numbers at nodes, in the same way."""
    if values is None:
        return None
    digest = hashlib.sha256(struct.pack(f"<{len(values)}d", *values))
    return {"nodes": len(values), "digest": digest.hexdigest()}


def refuse_told(options: dict[str, Any], *names: str) -> None:
    """Refuses stored parameters with nodes of which they hold a digest alone.

    Raises
    ------
    ValueError
    """
    for name in names:
        if options[name] is not None:
            raise ValueError(
                f"{name} was given as {options[name]['nodes']} public nodes, which stored "
                "parameters do not hold: files take the default nodes of the ball alone, so leave "
                f"{name} out, or release arrays and tables in memory"
            )
