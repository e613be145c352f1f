"""Rows for (L + upsilon) sigma = h beside SciPy and pyamg, to relative residual 1e-10.

Each side begins with its assembled matrix and makes what it needs, hierarchy or factor, every
time; rows of further right-hand sides keep it. Unscaled operators are D - W, all volumes 1. pyamg
appears if it is installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse import diags

from curvedp.conformal import (
    Laplacian,
    Mesh,
    fibonacci_mesh,
    helmholtz_poisson,
    knn_graph,
    laplacian,
)
from harness import Peer, Row
from rows import ROWS
from rows.neighbours import NEIGHBOURS, uneven_mesh

#: Of what is made anew; for further right-hand sides none was set.
_TARGET = 3.0
#: Seconds in which the threads of a BLAS, which keep a processor busy for a while, fall asleep.
_REST = 0.1


def system(mesh: Mesh, scaled: bool) -> tuple[Laplacian, np.ndarray, float]:
    """The operator, the right-hand side and upsilon."""
    if not scaled:
        mesh = Mesh(mesh.manifold, mesh.points, np.ones(len(mesh)))
    graph = knn_graph(mesh, k=NEIGHBOURS)
    bandwidth = float(np.median(mesh.neighbours(NEIGHBOURS)[1][:, -1])) ** 2 / 4
    noise = np.random.default_rng(5).laplace(0, 0.01, len(mesh))
    f = np.exp(8 * (mesh.points[:, 0] - 1)) + noise
    operator = laplacian(graph, bandwidth=bandwidth, scaled=scaled)
    return operator, f.mean() - f, 1.0 if scaled else 0.01


def solve(operator: Laplacian, h: np.ndarray, upsilon: float) -> np.ndarray:
    """sigma; with what an earlier call prepared, unless that was forgotten."""
    solution = helmholtz_poisson(operator, h, upsilon=upsilon)
    if not solution.converged:
        raise RuntimeError("curvedp did not reach the tolerance")
    return solution.value


def forget(operator: Laplacian) -> None:
    """Drops the solvers that earlier calls prepared."""
    operator._solver.cache_clear()


def _jacobi(matrix: Any) -> Callable[[Any], Any]:
    """Conjugate gradients with the diagonal."""
    inverse = 1 / matrix.diagonal()
    step = scipy.sparse.linalg.LinearOperator(matrix.shape, matvec=lambda r: inverse * r)
    return lambda rhs: scipy.sparse.linalg.cg(matrix, rhs, rtol=1e-10, maxiter=50_000, M=step)[0]


def _superlu(matrix: Any) -> Callable[[Any], Any]:
    """A sparse factorisation in minimum-degree order; `matrix` in columns."""
    options = {"SymmetricMode": True}
    factor = scipy.sparse.linalg.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", options=options, diag_pivot_thresh=0.0
    )
    return factor.solve


def _multigrid(matrix: Any) -> Callable[[Any], Any]:
    """Conjugate gradients with Ruge-Stüben multigrid."""
    import pyamg

    np.random.seed(0)  # noqa: NPY002 (pyamg draws from the global generator)
    levels = pyamg.ruge_stuben_solver(matrix, max_coarse=500)
    return lambda rhs: levels.solve(rhs, tol=1e-10, accel="cg", maxiter=500)


def _peers(
    operator: Laplacian, h: np.ndarray, upsilon: float, *, kept: bool = False
) -> dict[str, Peer]:
    """Jacobi-CG, SuperLU and multigrid (dimension 2), to the same relative residual."""
    matrix = (operator.stiffness + diags(upsilon * operator.mass)).tocsr()
    matrix.indices, matrix.indptr = matrix.indices.astype("i4"), matrix.indptr.astype("i4")
    rhs, columns = operator.mass * h, matrix.tocsc()
    ways = {"SciPy CG (Jacobi)": (_jacobi, matrix)}
    if operator.graph.mesh.manifold.dim == 2:
        if len(h) <= 100_000:
            ways["SciPy SuperLU"] = (_superlu, columns)
        if importlib.util.find_spec("pyamg"):
            ways["pyamg RS-CG"] = (_multigrid, matrix)

    def peer(prepare: Callable[[Any], Callable[[Any], Any]], matrix: Any) -> Peer:
        if not kept:
            return Peer(lambda: prepare(matrix)(rhs), _TARGET)
        prepared: list[Callable[[Any], Any]] = []

        def run() -> Any:
            if not prepared:
                prepared.append(prepare(matrix))
            return prepared[0](rhs)

        return Peer(run)

    return {name: peer(prepare, matrix) for name, (prepare, matrix) in ways.items()}


def _solve(
    make: Callable[[int], Mesh], n: int, scaled: bool, kept: bool = False
) -> Callable[[bool], Row]:
    def build(quick: bool) -> Row:
        count = min(n, 20_000) if quick else n
        operator, h, upsilon = system(make(count), scaled)
        return Row(
            f"n={count}, k={NEIGHBOURS}",
            lambda: solve(operator, h, upsilon),
            _peers(operator, h, upsilon, kept=kept),
            before=None if kept else lambda: forget(operator),
            rest=_REST,
        )

    return build


_MESHES: dict[str, Callable[[int], Mesh]] = {
    "S^2 uneven": lambda n: uneven_mesh(2, n),
    "S^2 Fibonacci": fibonacci_mesh,
    "S^3 uneven": lambda n: uneven_mesh(3, n),
    "S^9 uneven": lambda n: uneven_mesh(9, n),
}
for _name, _make in _MESHES.items():
    for _n in (100_000, 1_000_000) if "S^2" in _name else (100_000,):
        ROWS.add(f"solve {_name} n={_n}, unscaled")(_solve(_make, _n, False))
        ROWS.add(f"solve {_name} n={_n}, -Delta_g")(_solve(_make, _n, True))
    if "Fibonacci" in _name:
        ROWS.add(f"solve {_name}, -Delta_g, further right-hand sides")(
            _solve(_make, 100_000, True, kept=True)
        )
