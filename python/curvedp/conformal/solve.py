"""The Helmholtz-Poisson equation and the heat equation on a graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray, as_choice, as_float_array, as_positive
from curvedp.conformal.graph import Laplacian, as_node_values

METHODS = ("auto", "jacobi", "multigrid")


@dataclass(frozen=True)
class HelmholtzSolution:
    """A solution of (L + upsilon) sigma = h with what is certain about it.

    The norm is |f|_M^2 = sum_i m_i f_i^2, m the masses of the Laplacian. Arrays of shape (...) hold
    one entry for each right-hand side.

    Attributes
    ----------
    value : ndarray, shape (..., n)
        sigma at the nodes.
    n_iter : ndarray of int64, shape (...)
        Iterations of conjugate gradients.
    residual : ndarray, shape (...)
        |h - (L + upsilon) sigma|_M, its own rounding error included.
    error : ndarray, shape (...)
        Certified bound of |sigma - exact|_M: residual / upsilon.
    max_error : ndarray, shape (...)
        Certified bound of |sigma - exact| at every node.
    converged : ndarray of bool, shape (...)
        True if the residual reached the tolerance; otherwise rounding ended the iteration, and the
        bounds hold all the same.
    method : str
        "jacobi" or "multigrid".
    """

    value: FloatArray
    n_iter: NDArray[np.int64]
    residual: FloatArray
    error: FloatArray
    max_error: FloatArray
    converged: NDArray[np.bool_]
    method: str


def helmholtz_poisson(
    laplacian: Laplacian,
    h: ArrayLike,
    *,
    upsilon: float,
    tol: float = 1e-10,
    method: str = "auto",
) -> HelmholtzSolution:
    """Solves (L + upsilon) sigma = h, the discrete form of (-Delta_g + upsilon) sigma = h.

    L is positive semidefinite in the inner product of its masses, so a residual r bounds the error
    of any sigma by |r|_M / upsilon; its matrix has no positive entries off the diagonal and zero
    row sums, so the error is nowhere greater than max |r| / upsilon. For the same reason
    min h / upsilon <= sigma <= max h / upsilon.

    Parameters
    ----------
    laplacian : Laplacian
    h : array-like, shape (..., n)
        Right-hand sides.
    upsilon : float
        Positive.
    tol : float
        The iteration ends when |r|_M <= tol |h|_M.
    method : {"auto", "jacobi", "multigrid"}
        Preconditioner of conjugate gradients: the diagonal or multigrid; by default chosen by
        conditioning and number of right-hand sides.

    Returns
    -------
    HelmholtzSolution

    Raises
    ------
    ValueError, TypeError
        If the shape of `h` is not that of the nodes, if it is not finite, or if a parameter is out
        of range.

    Examples
    --------
    >>> from curvedp.conformal import fibonacci_mesh, knn_graph, laplacian
    >>> mesh = fibonacci_mesh(3000)
    >>> height = mesh.points[:, 2]  # an eigenfunction of -Delta_g with eigenvalue 2
    >>> solution = helmholtz_poisson(laplacian(knn_graph(mesh)), height, upsilon=1.0)
    >>> bool(np.abs(solution.value - height / 3).max() < 0.02), bool(solution.max_error < 1e-8)
    (True, True)
    """
    shift = as_positive(upsilon, "upsilon")
    tolerance = as_positive(tol, "tol")
    way = as_choice(method, METHODS, "method")
    values = as_node_values(h, laplacian.graph.mesh, "h")
    if not np.isfinite(values).all():
        raise ValueError("h must be finite")
    rows = values.reshape(-1, values.shape[-1])
    solver = laplacian._solver(shift, way, len(rows))
    solved = [solver.solve(row, tolerance) for row in rows]
    lead = values.shape[:-1]

    def column(j: int, dtype: type) -> Any:
        return np.array([one[j] for one in solved], dtype=dtype).reshape(lead)[()]

    sigma = np.array([one[0] for one in solved]).reshape(values.shape)
    return HelmholtzSolution(
        value=sigma,
        n_iter=column(1, np.int64),
        residual=column(2, np.float64),
        error=column(3, np.float64),
        max_error=column(4, np.float64),
        converged=column(5, np.bool_),
        method=solver.method,
    )


def heat_smooth(
    laplacian: Laplacian, f: ArrayLike, time: float, *, tol: float = 1e-12
) -> FloatArray:
    """Smooth f by heat: e^{-tL} f, the discrete form of e^{t Delta_g} f, as a Chebyshev series.

    e^{-tL} = sum_k c_k T_k(2L/b - 1) with b a bound of the spectrum, a = tb/2 and
    c_k = (2 - [k=0]) (-1)^k e^{-a} I_k(a); what is cut off bounds the error.

    Parameters
    ----------
    laplacian : Laplacian
    f : array-like, shape (..., n)
    time : float
        Positive heat time t, in squared units of the metric.
    tol : float
        Bound of |error|_M / |f|_M, rounding apart.

    Returns
    -------
    ndarray, shape (..., n)

    Raises
    ------
    ValueError, TypeError
        If the shape of `f` is not that of the nodes, or `time` or `tol` is not positive.

    Examples
    --------
    >>> from curvedp.conformal import fibonacci_mesh, knn_graph, laplacian
    >>> mesh = fibonacci_mesh(1000)
    >>> height = mesh.points[:, 2]
    >>> smooth = heat_smooth(laplacian(knn_graph(mesh)), height, 0.5)  # decays by e^{-2t}
    >>> bool(abs(np.median(smooth / height) - np.exp(-1)) < 0.02)
    True
    """
    values = as_node_values(f, laplacian.graph.mesh, "f")
    bound = laplacian.kernels.spectral_bound()
    if bound == 0:  # no two nodes are joined
        return values.copy()
    coefficients = _heat_coefficients(
        as_positive(time, "time") * bound / 2, as_positive(tol, "tol")
    )
    rows = as_float_array(values.reshape(-1, values.shape[-1]), "f")
    smooth = [laplacian.kernels.chebyshev(coefficients, bound, row) for row in rows]
    return np.array(smooth).reshape(values.shape)


def _heat_coefficients(a: float, tol: float) -> FloatArray:
    """(2 - [k=0]) (-1)^k e^{-a} I_k(a), as many as leave out at most `tol` in sum."""
    terms = 16 + math.ceil(math.sqrt(a))
    while True:
        sizes = scipy.special.ive(np.arange(terms), a)
        sizes[1:] *= 2
        # all of them add up to 1, and from k on they fall faster than a geometric series
        ratio = sizes[-1] / sizes[-2] if sizes[-2] > 0 else 0.0
        if sizes[-1] <= tol * (1 - ratio):
            return as_float_array(sizes * (-1.0) ** np.arange(terms), "coefficients")
        terms = math.ceil(1.25 * terms)
