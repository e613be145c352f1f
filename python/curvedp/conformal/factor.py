"""The conformal factor of a density: phi = exp(2 sigma), (-Delta_g + upsilon) sigma = c - f.

He et al., section III-A. All of it is post-processing of the density. Proofs of the bounds for the
discrete equation: docs/proofs/conformal-mean.md, section 2.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_positive, as_probability
from curvedp.conformal.density_release import DensityRelease
from curvedp.conformal.graph import Laplacian, as_node_values, shortest_paths
from curvedp.conformal.solve import HelmholtzSolution, helmholtz_poisson

#: sigma is kept within this distance of 0, so that phi and its inverse are finite.
GREATEST_SIGMA = 300.0


@dataclass(frozen=True)
class ConformalFactor:
    """A conformal factor phi = exp(2 sigma) at the nodes of a mesh, with what is certain about it.

    Attributes
    ----------
    laplacian : Laplacian
    upsilon : float
    density : ndarray, shape (n,)
        f.
    mean_density : float
        c, the mean of f by mass.
    sigma : ndarray, shape (n,)
    solution : HelmholtzSolution
        Iterations, residual and certified error of sigma.
    """

    laplacian: Laplacian
    upsilon: float
    density: FloatArray
    mean_density: float
    sigma: FloatArray
    solution: HelmholtzSolution

    @functools.cached_property
    def phi(self) -> FloatArray:
        """The conformal factor, shape (n,)."""
        return np.exp(2 * self.sigma)

    @property
    def sigma_bounds(self) -> tuple[float, float]:
        """((c - max f)/upsilon, (c - min f)/upsilon): He et al., equation 16."""
        return _sigma_bounds(self.density, self.mean_density, self.upsilon)

    @property
    def phi_bounds(self) -> tuple[float, float]:
        """exp(2 x) of both `sigma_bounds`, equation 17; 0 or infinite beyond double precision."""
        low, high = np.array(self.sigma_bounds)
        with np.errstate(over="ignore", under="ignore"):
            return float(np.exp(2 * low)), float(np.exp(2 * high))

    @property
    def max_error(self) -> float:
        """Certified bound of |sigma - exact solution of the discrete equation| at every node."""
        return float(self.solution.max_error)


def factor(
    density: DensityRelease | ArrayLike,
    upsilon: float = 1.0,
    *,
    laplacian: Laplacian | None = None,
    tol: float = 1e-10,
    method: str = "auto",
) -> ConformalFactor:
    """The conformal factor of a density: small where it is high, large where it is low.

    sigma solves (L + upsilon) sigma = c - f with c = sum_i m_i f_i / sum_i m_i, to a certified
    error; rounding beyond the bounds (16), which the exact solution keeps, is cut off.

    Parameters
    ----------
    density : DensityRelease or array-like, shape (n,)
        f at the nodes.
    upsilon : float
        Positive and public: the larger, the closer phi is to 1 and the more local.
    laplacian : Laplacian, optional
        The operator L; by default the one that smoothed the density.
    tol, method
        As in `helmholtz_poisson`.

    Returns
    -------
    ConformalFactor

    Raises
    ------
    TypeError
        For an array without a Laplacian.
    ValueError
        If the shape of the density is not that of the nodes, if it is not finite, or if a
        parameter is out of range.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import density, factor, fibonacci_mesh
    >>> from curvedp.datasets import von_mises_fisher
    >>> records = von_mises_fisher(20_000, [0, 0, 1], 10.0, rng=0)
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.5)
    >>> found = density(records, ball, cdp.PureDP(1.0), mesh=fibonacci_mesh(300))
    >>> found = factor(found, upsilon=2.0)
    >>> bool(found.phi[0] < 0.8 < 1.0 < found.phi[-1])
    True
    >>> low, high = found.phi_bounds
    >>> bool(low <= found.phi.min() and found.phi.max() <= high)
    True
    """
    if isinstance(density, DensityRelease):
        operator = density.laplacian if laplacian is None else laplacian
        values: ArrayLike = density.value
    elif laplacian is None:
        raise TypeError("laplacian is needed for a density that is not a DensityRelease")
    else:
        operator, values = laplacian, density
    f = as_node_values(values, operator.graph.mesh, "density", one=True)
    if not np.isfinite(f).all():
        raise ValueError("density must be finite")
    mass = operator.mass
    mean = float(np.clip((mass / mass.sum()) @ f, f.min(), f.max()))
    solution = helmholtz_poisson(operator, mean - f, upsilon=upsilon, tol=tol, method=method)
    low, high = _sigma_bounds(f, mean, upsilon)
    sigma = np.clip(solution.value, max(low, -GREATEST_SIGMA), min(high, GREATEST_SIGMA))
    return ConformalFactor(operator, float(upsilon), f, mean, sigma, solution)


def _sigma_bounds(f: FloatArray, mean: float, upsilon: float) -> tuple[float, float]:
    return (mean - float(f.max())) / upsilon, (mean - float(f.min())) / upsilon


def sigma_error(density: DensityRelease, upsilon: float = 1.0, confidence: float = 0.95) -> float:
    """Bound on what the noise of a density moves sigma by: He et al., equations 18 to 22.

    2 tau/upsilon, tau = scale log(2 N/(1 - confidence))/(n min w): with that probability no noise
    at one of the N nodes, per volume w, exceeds tau. phi is off by a factor of at most the
    exponential of twice this. From public values alone.

    Parameters
    ----------
    density : DensityRelease
    upsilon : float
        As in `factor`.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    float
        Bound on |sigma - the sigma of the density without noise|, of the discrete equation.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import ball_mesh, density
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile(ball.center, (20_000, 1))
    >>> found = density(records, ball, cdp.PureDP(1.0), mesh=ball_mesh(ball, 20), coverage=False)
    >>> round(sigma_error(found, upsilon=5.0), 4)
    0.0036
    """
    shift, sure = as_positive(upsilon, "upsilon"), as_probability(confidence, "confidence")
    count, smallest = len(density.volumes), float(density.volumes.min())
    return 2 * density.scale * math.log(2 * count / (1 - sure)) / (density.n * smallest * shift)


def mean_in_metric(found: ConformalFactor, weights: ArrayLike | None = None) -> int:
    """The node that is the Fréchet mean in the metric phi g: He et al., equations 41 and 42.

    It minimises F(z) = sum_j w_j d(z, z_j)^2 among its neighbours in the graph, d the shortest
    paths in phi g, from the best of 32 nodes spread over the mesh on: post-processing, at no cost.

    Parameters
    ----------
    found : ConformalFactor
    weights : array-like, shape (n,), optional
        Nonnegative weights of the nodes; by default the density times the masses, 0 where it is
        negative.

    Returns
    -------
    int
        The node's index.

    Raises
    ------
    ValueError, TypeError
        If weights have another shape, are negative or all 0.

    Examples
    --------
    >>> import numpy as np
    >>> from curvedp.conformal import factor, fibonacci_mesh, knn_graph, laplacian
    >>> mesh = fibonacci_mesh(400)
    >>> height = mesh.points[:, 2]
    >>> found = factor(np.exp(4 * height), laplacian=laplacian(knn_graph(mesh, 10)))
    >>> bool(height[mean_in_metric(found)] > 0.95)
    True
    """
    graph, mass = found.laplacian.graph, found.laplacian.mass
    count = len(mass)
    own = np.maximum(found.density, 0.0) * mass
    if weights is not None:
        own = as_node_values(weights, graph.mesh, "weights", one=True)
    if not (np.isfinite(own).all() and (own >= 0).all() and own.any()):
        raise ValueError("weights must be finite and nonnegative, and not all 0")

    @functools.cache
    def energy(node: int) -> float:
        start = np.full(count, np.inf)
        start[node] = 0.0
        dist = shortest_paths(graph, start, conformal_factor=found.phi)
        return float(own[own > 0] @ dist[own > 0] ** 2)

    best = min(range(0, count, max(1, count // 32)), key=energy)
    while True:
        around = graph.lengths.indices[slice(*graph.lengths.indptr[best : best + 2].tolist())]
        better = min([best, *around.tolist()], key=energy)
        if energy(better) >= energy(best):
            return best
        best = better
