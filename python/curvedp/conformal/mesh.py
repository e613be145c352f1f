"""Public meshes: nodes with volumes, on a whole sphere or a ball of any manifold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._text import rounded_up
from curvedp._validation import FloatArray, as_array, as_count, as_float_array
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold, Sphere, as_manifold

_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
#: Volumes of cells below e to this power lose digits, or are 0.
_LEAST_LOG_CELL = -700.0


class Mesh:
    """Public nodes on a manifold, each with the volume of its cell.

    The nodes must be chosen without looking at the data. A mesh cannot be changed.

    Parameters
    ----------
    manifold : Manifold, str or geomstats space
    points : array-like, shape (n, *point_shape)
        The nodes.
    volumes : array-like, shape (n,), optional
        Positive volumes of the nodes' cells in the units of the metric; 1/n each if absent.

    Raises
    ------
    ValueError
        If a node is not on the manifold or a volume is not positive and finite.

    Examples
    --------
    >>> mesh = Mesh("sphere", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> index, distance = mesh.nearest([[0.6, 0.8, 0.0]])
    >>> index.tolist(), distance.round(4).tolist()
    ([1], [0.6435])
    """

    def __init__(
        self,
        manifold: Manifold | str | Any,
        points: ArrayLike,
        volumes: ArrayLike | None = None,
    ) -> None:
        space = as_manifold(manifold, as_array(points, "points").shape[1:])
        nodes = space.read_records(points, "points")
        if not np.all(space.belongs(nodes)):
            raise ValueError(f"some nodes do not lie on {space.spec}")
        if volumes is None:
            sizes = np.full(len(nodes), 1 / len(nodes))
        else:
            sizes = np.array(as_float_array(volumes, "volumes"))
            if sizes.shape != (len(nodes),):
                raise ValueError(f"volumes must have shape ({len(nodes)},), got {sizes.shape}")
            if not (np.isfinite(sizes).all() and (sizes > 0).all()):
                raise ValueError("volumes must be positive and finite")
        self._manifold = space
        self._points = space.project(nodes)
        self._points.flags.writeable = False
        self._volumes = sizes
        self._volumes.flags.writeable = False

    @property
    def manifold(self) -> Manifold:
        """The manifold."""
        return self._manifold

    @property
    def dim(self) -> int:
        """Dimension of what the nodes fill."""
        return self.manifold.dim

    @property
    def points(self) -> FloatArray:
        """The nodes, shape (n, *point_shape), read-only."""
        return self._points

    @property
    def volumes(self) -> FloatArray:
        """Volumes of the nodes' cells, shape (n,), read-only."""
        return self._volumes

    def __len__(self) -> int:
        return len(self._points)

    def nearest(self, points: ArrayLike) -> tuple[NDArray[np.int64], FloatArray]:
        """The node nearest to each point, and the distance to it.

        The nodes are exactly those of least geodesic distance; of equally near ones the first.
        Total: a point that is not on the manifold has some node and an unspecified distance.

        Parameters
        ----------
        points : array-like, shape (n, *point_shape)

        Returns
        -------
        indices : ndarray of int64, shape (n,)
        distances : ndarray, shape (n,)
        """
        return self._core_nearest(self.manifold.read_records(points, "points"), 1)

    def neighbours(self, k: int) -> tuple[NDArray[np.int64], FloatArray]:
        """The k other nodes nearest to each node, nearest first, and their distances.

        Exact on every manifold; of equally near nodes those with the smaller indices.

        Parameters
        ----------
        k : int
            Below the number of nodes.

        Returns
        -------
        indices : ndarray of int64, shape (n, k)
        distances : ndarray, shape (n, k)
        """
        count = as_count(k, "k", most=max(1, len(self) - 1))
        indices, distances = self._core_nearest(None, count)
        return indices.reshape(-1, count), distances.reshape(-1, count)

    def _core_nearest(
        self, queries: FloatArray | None, k: int
    ) -> tuple[NDArray[np.int64], FloatArray]:
        rows = self.points.reshape(len(self), -1)
        asked = None if queries is None else queries.reshape(len(queries), -1)
        return _core.nearest(self.manifold.kernels, rows, asked, k)

    def __repr__(self) -> str:
        return f"Mesh({self.manifold.spec!r}, {len(self)} nodes)"


def fibonacci_mesh(n: int) -> Mesh:
    """The Fibonacci lattice on the unit sphere S^2: n nodes of equal volume 4 pi/n.

    Node i has height 1 - (2i + 1)/n and turns by the golden angle from node i - 1.

    Parameters
    ----------
    n : int

    Returns
    -------
    Mesh

    Raises
    ------
    ValueError, TypeError
        If `n` is not a positive integer.

    Examples
    --------
    >>> mesh = fibonacci_mesh(1000)
    >>> len(mesh), float(mesh.volumes.sum().round(9)) == round(4 * math.pi, 9)
    (1000, True)
    """
    count = as_count(n, "n")
    i = np.arange(count)
    height = 1 - (2 * i + 1) / count
    across, angle = np.sqrt(1 - height**2), i * _GOLDEN_ANGLE
    points = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    return Mesh(Sphere(2), points, np.full(count, 4 * math.pi / count))


def icosphere_mesh(level: int) -> Mesh:
    """The icosahedron on S^2 with every triangle split into four `level` times.

    It has 10 * 4^level + 2 nodes, those of lower levels first. A node's volume is a third of the
    areas of the spherical triangles around it.

    Parameters
    ----------
    level : int
        From 0, the icosahedron.

    Returns
    -------
    Mesh

    Raises
    ------
    ValueError, TypeError
        If `level` is not an integer from 0 to 11.

    Examples
    --------
    >>> len(icosphere_mesh(3))
    642
    """
    points, triangles = _icosahedron()
    for _ in range(as_count(level, "level", least=0, most=11)):
        points, triangles = _split(points, triangles)
    volumes = np.zeros(len(points))
    thirds = _triangle_areas(*(points[triangles[:, j]] for j in range(3))) / 3
    for j in range(3):
        volumes += np.bincount(triangles[:, j], thirds, len(points))
    return Mesh(Sphere(2), points, volumes)


def _icosahedron() -> tuple[FloatArray, NDArray[np.int64]]:
    golden = (1 + math.sqrt(5)) / 2
    corners = [(0.0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    points = np.array([np.roll(corner, turn) for turn in range(3) for corner in corners])
    points /= math.hypot(1, golden)
    products = points @ points.T
    joined = (products > 0.4) & (products < 0.5)
    n = len(points)
    triangles = [
        (i, j, k)
        for i in range(n)
        for j in range(i + 1, n)
        for k in range(j + 1, n)
        if joined[i, j] and joined[j, k] and joined[i, k]
    ]
    return points, np.array(triangles)


def _split(
    points: FloatArray, triangles: NDArray[np.int64]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Every triangle in four, with the midpoints of the edges as new nodes."""
    edges = np.sort(np.concatenate([triangles[:, [j, (j + 1) % 3]] for j in range(3)]), axis=1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    middle = points[unique[:, 0]] + points[unique[:, 1]]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    a, b, c = triangles.T
    ab, bc, ca = (inverse.reshape(3, -1) + len(points)).astype(np.int64)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([points, middle]), np.concatenate([np.stack(p, axis=1) for p in parts])


def _triangle_areas(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Areas of spherical triangles (van Oosterom and Strackee 1983)."""
    volume = np.abs(np.einsum("ij,ij->i", a, np.cross(b, c)))
    sides = sum(np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a)))
    areas: FloatArray = 2 * np.arctan2(volume, 1 + sides)
    return areas


def ball_mesh(ball: Ball, n: int) -> Mesh:
    """n nodes spread evenly over a ball, with volumes.

    In one dimension they are equally spaced, in two they lie on a spiral of cells of equal area,
    and from three dimensions on they are images of a Sobol' sequence: uniform in the ball of the
    tangent space at the centre and carried by the exponential map, whose volume density gives the
    volumes.

    Parameters
    ----------
    ball : Ball
    n : int

    Returns
    -------
    Mesh

    Raises
    ------
    ValueError, TypeError
        If `n` is not a positive integer.
    ExistenceError
        In so many dimensions that doubles do not hold the cells' volumes.

    Examples
    --------
    >>> ball = Ball("sphere", center=[0, 0, 1], radius=0.7)
    >>> mesh = ball_mesh(ball, 500)
    >>> bool(np.isclose(mesh.volumes.sum(), 2 * math.pi * (1 - math.cos(0.7))))
    True
    """
    count = as_count(n, "n")
    space, radius = ball.manifold, ball.radius
    if space.dim == 1:
        coords = radius * ((2 * np.arange(count) + 1) / count - 1)[:, None]
        volumes = np.full(count, 2 * radius / count)
    elif space.dim == 2:
        coords, volumes = _spiral(space.curvature_bounds[0], radius, count)
    else:
        coords = radius * _unit_ball(space.dim, count)
        log_volume = space.dim / 2 * math.log(math.pi) - math.lgamma(space.dim / 2 + 1)
        log_cell = log_volume + space.dim * math.log(radius) - math.log(count)
        if log_cell < _LEAST_LOG_CELL:
            least = math.exp((_LEAST_LOG_CELL - log_volume + math.log(count)) / space.dim)
            raise ExistenceError(
                f"cells of a ball of radius {radius:g} in {space.dim} dimensions have volumes "
                "below what doubles hold: take a unit in which the radius is "
                f"{rounded_up(least, 3)} or more"
            )
        cell = math.exp(log_cell)
        volumes = cell * np.exp(space.log_volume_density(coords))
    points = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    return Mesh(space, points, volumes)


def _spiral(curvature: float, radius: float, n: int) -> tuple[FloatArray, FloatArray]:
    """A sunflower on a disc of constant curvature, area 4 pi s(r/2)^2 with s = sin, id or sinh."""
    root = math.sqrt(abs(curvature))
    radii = np.sqrt((np.arange(n) + 0.5) / n)
    if curvature > 0:
        half = math.sin(root * radius / 2) / root
        length = 2 * np.arcsin(root * half * radii) / root
    elif curvature < 0:
        half = math.sinh(root * radius / 2) / root
        length = 2 * np.arcsinh(root * half * radii) / root
    else:
        half = radius / 2
        length = radius * radii
    angle = np.arange(n) * _GOLDEN_ANGLE
    coords = np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)
    return coords, np.full(n, 4 * math.pi * half**2 / n)


def _unit_ball(dim: int, n: int) -> FloatArray:
    """The first n points of a Sobol' sequence, carried to the uniform law on the unit ball."""
    bits = max(1, math.ceil(math.log2(n)))
    sobol = scipy.stats.qmc.Sobol(dim + 1, scramble=False)
    uniform = sobol.random_base2(bits)[:n] + 0.5 ** (bits + 1)
    direction = scipy.special.ndtri(uniform[:, 1:])
    # the middle of the cube has no direction
    direction[~direction.any(axis=1), 0] = 1.0
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    scaled: FloatArray = uniform[:, :1] ** (1 / dim) * direction
    return scaled
