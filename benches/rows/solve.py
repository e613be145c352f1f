"""Rows for (L + upsilon) sigma = h beside SciPy and pyamg, to relative residual 1e-10.

pyamg appears if it is installed.
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


def system(mesh: Mesh, scaled: bool) -> tuple[Laplacian, np.ndarray, float]:
    """The operator, the right-hand side and upsilon."""
    graph = knn_graph(mesh, k=NEIGHBOURS)
    bandwidth = float(np.median(mesh.neighbours(NEIGHBOURS)[1][:, -1])) ** 2 / 4
    noise = np.random.default_rng(5).laplace(0, 0.01, len(mesh))
    f = np.exp(8 * (mesh.points[:, 0] - 1)) + noise
    operator = laplacian(graph, bandwidth=bandwidth, scaled=scaled)
    return operator, f.mean() - f, 1.0 if scaled else 0.01


def _peers(operator: Laplacian, h: np.ndarray, upsilon: float, target: float) -> dict[str, Peer]:
    """Jacobi-CG, SuperLU (dimension 2) and Ruge-Stüben multigrid, to the same relative residual."""
    matrix = (operator.stiffness + diags(upsilon * operator.mass)).tocsr()
    matrix.indices, matrix.indptr = matrix.indices.astype("i4"), matrix.indptr.astype("i4")
    rhs, inverse = operator.mass * h, 1 / matrix.diagonal()
    size, columns = matrix.shape, matrix.tocsc()

    def jacobi() -> Any:
        step = scipy.sparse.linalg.LinearOperator(size, matvec=lambda r: inverse * r)
        return scipy.sparse.linalg.cg(matrix, rhs, rtol=1e-10, maxiter=50_000, M=step)[0]

    def superlu() -> Any:
        options = {"SymmetricMode": True}
        factor = scipy.sparse.linalg.splu(
            columns, permc_spec="MMD_AT_PLUS_A", options=options, diag_pivot_thresh=0.0
        )
        return factor.solve(rhs)

    peers = {"SciPy CG (Jacobi)": Peer(jacobi, target)}
    if operator.graph.mesh.manifold.dim == 2:
        if len(h) <= 100_000:
            peers["SciPy SuperLU"] = Peer(superlu, target)
        if importlib.util.find_spec("pyamg"):
            import pyamg

            def multigrid() -> Any:
                np.random.seed(0)  # noqa: NPY002 (pyamg draws from the global generator)
                levels = pyamg.ruge_stuben_solver(matrix, max_coarse=500)
                return levels.solve(rhs, tol=1e-10, accel="cg", maxiter=500)

            peers["pyamg RS-CG"] = Peer(multigrid, target)
    return peers


def _solve(make: Callable[[int], Mesh], n: int, scaled: bool) -> Callable[[bool], Row]:
    def build(quick: bool) -> Row:
        count = min(n, 20_000) if quick else n
        operator, h, upsilon = system(make(count), scaled)

        def ours() -> np.ndarray:
            solution = helmholtz_poisson(operator, h, upsilon=upsilon)
            if not solution.converged:
                raise RuntimeError("curvedp did not reach the tolerance")
            return solution.value

        return Row(
            f"n={count}, k={NEIGHBOURS}",
            ours,
            _peers(operator, h, upsilon, 3.0),
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
