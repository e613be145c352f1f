"""Public surfaces given as triangles: their vertices as nodes, edges and cotangent Laplacian."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_array, as_float_array
from curvedp.conformal.graph import Graph, Laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.errors import MissingExtraError


class TriangleMesh(Mesh):
    """A public surface in space made of triangles, its vertices as nodes.

    A record is a point of space and counts at the vertex nearest to it in straight line. Functions
    on the vertices are smoothed, and equations solved, on the surface: see `cotangent_laplacian`.

    Parameters
    ----------
    vertices : array-like, shape (n, 3)
        Chosen without looking at the data.
    triangles : array-like of int, shape (m, 3)
        Indices of corners, in any order; edges may be open, or belong to more than two triangles.

    Raises
    ------
    ValueError
        If a vertex is not finite or lies in no triangle with an area, or a triangle has an index
        out of range or one corner twice.
    TypeError
        If `triangles` are not integers.

    Examples
    --------
    >>> corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> square = TriangleMesh(corners, [[0, 1, 2], [0, 2, 3]])
    >>> square.dim, float(square.volumes.sum().round(9))
    (2, 1.0)
    >>> index, distance = square.nearest([[0.9, 0.2, 0.5]])
    >>> index.tolist(), distance.round(4).tolist()
    ([1], [0.5477])
    """

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        points = as_float_array(vertices, "vertices")
        if points.ndim != 2 or points.shape[1] != 3:
            raise ValueError(f"vertices must have shape (n, 3), got {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("vertices must be finite")
        corners = _as_triangles(triangles, len(points))
        volumes = np.zeros(len(points))
        thirds = _areas(points[corners]) / 3
        for j in range(3):
            volumes += np.bincount(corners[:, j], thirds, len(points))
        if not (np.isfinite(volumes).all() and (volumes > 0).all()):
            raise ValueError("some vertices lie in no triangle with an area: leave them out")
        super().__init__("euclidean:3", points, volumes)
        corners.flags.writeable = False
        self._triangles = corners

    @property
    def dim(self) -> int:
        """2, the dimension of the surface."""
        return 2

    @property
    def triangles(self) -> NDArray[np.int64]:
        """Indices of the corners of the triangles, shape (m, 3), read-only."""
        return self._triangles

    def __repr__(self) -> str:
        return f"TriangleMesh({len(self)} vertices, {len(self.triangles)} triangles)"


def edge_graph(mesh: TriangleMesh) -> Graph:
    """Joins the vertices that have an edge in common.

    Parameters
    ----------
    mesh : TriangleMesh

    Returns
    -------
    Graph
        Its `k` is None.

    Raises
    ------
    TypeError
        If the nodes are no `TriangleMesh`.

    Examples
    --------
    >>> square = TriangleMesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> edge_graph(square).lengths.nnz // 2
    5
    """
    if not isinstance(mesh, TriangleMesh):
        raise TypeError(f"mesh must be a TriangleMesh, got {type(mesh).__name__}")
    pairs = np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges = np.unique(pairs, axis=0)
    lengths = np.linalg.norm(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]], axis=1)
    return Graph(mesh, None, _core.Graph.joined(len(mesh), edges, lengths))


def cotangent_laplacian(mesh: TriangleMesh) -> Laplacian:
    """The operator -Delta on a surface of triangles, by linear elements with lumped masses.

    (L f)_i = (1/m_i) sum_j w_ij (f_i - f_j), w_ij half the sum of the cotangents of the angles
    opposite to the edge, on the intrinsic Delaunay triangulation of the same surface: there no
    weight is negative, so all bounds of `helmholtz_poisson` hold. The weights are those of the
    package robust-laplacian (Sharp and Crane).

    Parameters
    ----------
    mesh : TriangleMesh

    Returns
    -------
    Laplacian
        Its `bandwidth` is 0 and its `normalization` "cotangent".

    Raises
    ------
    MissingExtraError
        If robust-laplacian is not installed.
    TypeError
        If the nodes are no `TriangleMesh`.

    References
    ----------
    Sharp and Crane (2020), A Laplacian for nonmanifold triangle meshes.

    Examples
    --------
    >>> import scipy
    >>> from curvedp.conformal import icosphere_mesh
    >>> sphere = icosphere_mesh(3).points
    >>> mesh = TriangleMesh(sphere, scipy.spatial.ConvexHull(sphere).simplices)
    >>> height = sphere[:, 2]  # an eigenfunction of -Delta with eigenvalue 2
    >>> operator = cotangent_laplacian(mesh)
    >>> energy = operator.mass @ (height * operator(height))
    >>> bool(abs(energy / (operator.mass @ height**2) - 2) < 0.02)
    True
    """
    graph = edge_graph(mesh)
    try:
        library = import_module("robust_laplacian")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "robust_laplacian":
            raise
        raise MissingExtraError("triangles", "A Laplacian on triangles") from None
    stiffness, _ = library.mesh_laplacian(mesh.points, mesh.triangles)
    upper = scipy.sparse.triu(stiffness, 1, format="csr").tocoo()
    weights = np.maximum(-upper.data, 0.0)  # rounding
    edges = np.stack([upper.row, upper.col], axis=1).astype(np.int64)
    core = graph.kernels.weighted(edges, weights, mesh.volumes)
    return Laplacian(graph, 0.0, "cotangent", True, core)


def _as_triangles(triangles: ArrayLike, count: int) -> NDArray[np.int64]:
    corners = as_array(triangles, "triangles")
    if corners.dtype.kind not in "iu":
        raise TypeError(f"triangles must be integers, got {corners.dtype}")
    if corners.ndim != 2 or corners.shape[1] != 3 or not len(corners):
        raise ValueError(f"triangles must have shape (m, 3), got {corners.shape}")
    if corners.min() < 0 or corners.max() >= count:
        raise ValueError(f"triangles must hold indices from 0 to {count - 1}")
    if (corners == np.roll(corners, 1, axis=1)).any():
        raise ValueError("a triangle has one corner twice")
    return np.array(corners, dtype=np.int64)


def _areas(corners: FloatArray) -> FloatArray:
    sides = corners[:, 1:] - corners[:, :1]
    areas: FloatArray = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2
    return areas
