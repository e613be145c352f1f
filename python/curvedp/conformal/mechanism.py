"""Exponential mechanism on the nodes of a public mesh, in a released conformal metric.

P(z) is proportional to w_z phi_z^{d/2} exp(-lambda u(eta, z)) with
u(eta, z) = min_a [M rho(eta, a) + d*(a, z)], d* the shortest path in the graph with edges
(√phi_i + √phi_j)/2 rho(i, j). u is M-Lipschitz in eta whatever the mesh and the factor are, so with
lambda = epsilon/(2 M Delta) the loss has a range of length epsilon.
Proof: docs/proofs/conformal-mean.md, section 3.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._text import rounded_down
from curvedp._validation import FloatArray, as_count, as_positive
from curvedp.conformal.graph import Graph, as_node_values
from curvedp.conformal.mesh import Mesh
from curvedp.domain import Ball
from curvedp.mechanisms import bounded_range_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.privacy import Guarantee

#: log √phi is kept within this of log M: edges and weights stay in the range of double precision.
_LOG_CLIP = 50.0


class MeshExponential:
    """The exponential mechanism on a mesh.

    Parameters
    ----------
    graph : Graph
        Public.
    sigma : array-like, shape (n,)
        log √phi at the nodes: public, or released before.
    ball : Ball
        Domain of the true value; M = exp(sigma) at its largest over the nodes in the ball (over all
        nodes if none lies in it).
    sensitivity : float
        Largest distance between the true values of neighbouring data sets, solver error included.
    guarantee : PureDP, ApproxDP, ZCDP or GDP

    Attributes
    ----------
    scale : float
        1/(lambda M): the length over which the probabilities fall by e where √phi = M.
    rounding : float
        Bound on the rounding error of u/M; it is counted twice as sensitivity.

    Examples
    --------
    >>> import curvedp as cdp
    >>> from curvedp.conformal import ball_mesh, knn_graph
    >>> ball = cdp.Ball("sphere", center=[0, 0, 1], radius=0.7)
    >>> mechanism = MeshExponential(
    ...     knn_graph(ball_mesh(ball, 500)),
    ...     np.zeros(500),
    ...     ball=ball,
    ...     sensitivity=0.003,
    ...     guarantee=cdp.PureDP(0.5),
    ... )
    >>> round(mechanism.scale, 6)
    0.012
    >>> bool(mechanism.log_probabilities([0, 0, 1]).argmax() == 0)  # the node at the centre
    True
    """

    name: ClassVar[str] = "exponential mechanism on a mesh"
    proof: ClassVar[str] = "docs/proofs/conformal-mean.md"

    def __init__(
        self,
        graph: Graph,
        sigma: ArrayLike,
        *,
        ball: Ball,
        sensitivity: float,
        guarantee: Guarantee,
    ) -> None:
        mesh = graph.mesh
        if ball.manifold != mesh.manifold:
            raise ValueError(f"the mesh is on {mesh.manifold.spec}, the ball elsewhere")
        values = as_node_values(sigma, mesh, "sigma", one=True)
        if not np.isfinite(values).all():
            raise ValueError("sigma must be finite")
        self.graph, self.ball, self.guarantee = graph, ball, guarantee
        self.sensitivity = as_positive(sensitivity, "sensitivity")
        dist = mesh.manifold.dist(ball.center, mesh.points)
        inside = dist <= ball.radius
        top = values[inside].max() if inside.any() else values.max()
        #: log √phi - log M, so that M = 1 in what follows
        self._sigma: FloatArray = np.clip(values - top, -_LOG_CLIP, _LOG_CLIP)
        self._log_base: FloatArray = np.log(mesh.volumes) + mesh.manifold.dim * self._sigma
        farthest = max(ball.radius, float(dist.max()))
        self._wide, self._rows = _centred(ball, mesh, farthest)
        # a path of n edges takes n roundings; u is at most the distance itself
        roundings = len(mesh) + 256 * _amplification(ball, farthest)
        self.rounding = roundings * 2.0**-52 * (ball.radius + farthest)
        total = self.sensitivity + 2 * self.rounding
        self.scale = outward_scale(2 * total, bounded_range_epsilon(guarantee))
        if not 1e-250 < self.scale < 1e250:
            raise ValueError(
                f"no node can be drawn at a scale of {self.scale:g}: use another budget"
            )

    def path_lengths(self, true_value: ArrayLike) -> FloatArray:
        """u(eta, z)/M for every node z, shape (n,)."""
        mesh = self.graph.mesh
        eta = mesh.manifold._points(true_value, "true_value")
        if eta.shape != mesh.manifold.point_shape:
            raise ValueError(f"true_value must be one point, got shape {eta.shape}")
        if self._wide is not None:
            return self._path_lengths(self._wide.enter(eta[None])[0])
        return self._paths_from(mesh.manifold.dist(eta, mesh.points))

    def _path_lengths(self, row: FloatArray) -> FloatArray:
        """`path_lengths` of a point of the ball's frame."""
        if self._wide is None:
            return self.path_lengths(self.ball.leave(row[None])[0])
        start = np.empty(len(self._rows))
        self._wide.frame.manifold.dist(row[None], self._rows, start)
        return self._paths_from(start)

    def _paths_from(self, start: FloatArray) -> FloatArray:
        return self.graph.kernels.shortest_paths(start, np.exp(self._sigma))

    def log_probabilities(self, true_value: ArrayLike) -> FloatArray:
        """Logarithms of the exact output probabilities of all nodes, shape (n,)."""
        logs = self._log_weights(self.path_lengths(true_value))
        top = logs.max()
        return np.asarray(logs - (top + math.log(np.exp(logs - top).sum())))

    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        """Logarithm of the probability of the node nearest to each point.

        Parameters
        ----------
        point : array-like, shape (..., *point_shape)
        true_value : array-like, shape point_shape

        Returns
        -------
        ndarray, shape (...)
        """
        mesh = self.graph.mesh
        points = mesh.manifold._points(point, "point")
        lead = points.shape[: points.ndim - len(mesh.manifold.point_shape)]
        index = mesh.nearest(points.reshape(-1, *mesh.manifold.point_shape))[0]
        return np.asarray(self.log_probabilities(true_value)[index].reshape(lead))

    def sample_node(
        self, true_value: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> NDArray[np.intp]:
        """Indices of nodes drawn independently.

        Given the computed path lengths, each draw has exactly the probabilities of real numbers,
        however small they are.

        Parameters
        ----------
        true_value : array-like, shape point_shape
        stream : Stream, optional
            Source of randomness; by default a fresh key from the operating system.
        n_samples : int

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        return self._draw(self.path_lengths(true_value), stream, as_count(n_samples, "n_samples"))

    def _draw(
        self, lengths: FloatArray, stream: _core.Stream | None, count: int
    ) -> NDArray[np.intp]:
        stream = _core.Stream.from_os() if stream is None else stream
        drawn = np.empty(count)
        _core.choose(self._log_base, lengths, self.scale, stream, drawn)
        return drawn.astype(np.intp)

    def sample(
        self, true_value: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Nodes drawn independently, as points.

        Parameters
        ----------
        true_value, stream, n_samples
            As in `sample_node`.

        Returns
        -------
        ndarray, shape (n_samples, *point_shape)
        """
        return self.graph.mesh.points[self.sample_node(true_value, stream, n_samples)]

    def _log_weights(self, lengths: FloatArray) -> FloatArray:
        return np.asarray(self._log_base - lengths / self.scale)

    def __repr__(self) -> str:
        scale = rounded_down(self.scale)
        return f"{type(self).__name__}({self.graph!r}, {self.guarantee!r}, scale={scale})"


def _centred(ball: Ball, mesh: Mesh, farthest: float) -> tuple[Ball | None, FloatArray]:
    """On Hadamard manifolds, a ball about the same centre that holds all nodes, and the nodes in
    its frame, where rounding does not depend on where the centre lies; none elsewhere."""
    if not ball.manifold.is_hadamard:
        return None, mesh.points
    wide = Ball(ball.manifold, ball.center, 1.01 * farthest)
    return wide, wide.enter(mesh.points)


def _amplification(ball: Ball, farthest: float) -> float:
    """Factor by which rounding of points that far from the frame's origin grows in distances."""
    if not ball.manifold.is_hadamard or ball.manifold.is_flat:
        return 1.0
    return math.exp(4 * math.sqrt(-ball.manifold.curvature_bounds[0]) * farthest)


def jitter(mesh: Mesh, node: int, stream: _core.Stream) -> FloatArray:
    """A point drawn uniformly, in normal coordinates, from a ball as large as a node's cell.

    The ball has the volume of the cell on flat space, and at most the distance to the nearest node
    as radius. It depends on the released node alone.
    """
    space, dim = mesh.manifold, mesh.manifold.dim
    log_unit_ball = dim / 2 * math.log(math.pi) - math.lgamma(dim / 2 + 1)
    radius = math.exp((math.log(mesh.volumes[node]) - log_unit_ball) / dim)
    base = mesh.points[node]
    others = np.delete(space.dist(base, mesh.points), node)
    radius = min(radius, 0.5 * space.injectivity_radius, others.min(initial=math.inf))
    noise = np.empty((1, dim))
    _core.Noise("flat", dim, 0.0, "gaussian", 1.0).sample_coords(stream, noise)
    uniform = np.empty(1)
    stream.uniform(uniform)
    length = float(np.linalg.norm(noise))
    coords = noise[0] * (radius * uniform[0] ** (1 / dim) / length) if length > 0 else noise[0]
    return space.exp(space.coords_to_tangent(coords, base), base)
