"""Neighbour graphs and the Helmholtz-Poisson solver beside SciPy and pyamg, interleaved.

    python benches/graph.py --quick
    python benches/graph.py --threads 2 --only solve
    python benches/graph.py --growth

The first form prints a table in the format of side_by_side.py: ratios of median times. Peers that
use several threads get as many as curvedp; pyamg appears if it is installed. ``--growth`` prints
curvedp's seconds at growing n and the exponents of the power law between neighbouring sizes.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
from collections.abc import Callable
from typing import Any


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", help="rows whose name contains one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each function")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each function")
    parser.add_argument("--growth", action="store_true", help="show how cost grows with n")
    return parser.parse_args()


ARGUMENTS = _arguments()
for _library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{_library}_NUM_THREADS"] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
import scipy.sparse.linalg  # noqa: E402
from scipy.sparse import diags  # noqa: E402
from scipy.spatial import cKDTree  # noqa: E402

import curvedp as cdp  # noqa: E402
from curvedp.conformal import (  # noqa: E402
    Laplacian,
    Mesh,
    fibonacci_mesh,
    helmholtz_poisson,
    knn_graph,
    laplacian,
    shortest_paths,
)
from harness import TABLE_HEAD, Peer, Registry, Row, medians, table_lines  # noqa: E402

ROWS = Registry()
NEIGHBOURS = 10


def uneven_nodes(dim: int, n: int) -> Mesh:
    """Nodes on S^dim, half of them about one point, all of volume 1."""
    generator = np.random.default_rng(4)
    x = generator.standard_normal((n, dim + 1))
    x[: n // 2] *= 0.35
    x[: n // 2, 0] += 1.0
    return Mesh(cdp.Sphere(dim), x / np.linalg.norm(x, axis=1, keepdims=True), np.ones(n))


def _neighbours(dim: int, n: int, target: float | None) -> Callable[[bool], Row]:
    def build(quick: bool) -> Row:
        count = min(n, 10_000) if quick else n
        mesh = uneven_nodes(dim, count)

        def ckdtree() -> Any:
            tree = cKDTree(mesh.points)
            return tree.query(mesh.points, NEIGHBOURS + 1, workers=ARGUMENTS.threads)[1][:, 1:]

        return Row(
            f"n={count}, k={NEIGHBOURS}",
            lambda: mesh.neighbours(NEIGHBOURS)[0],
            {"cKDTree": Peer(ckdtree, target)},
        )

    return build


for _dim, _n, _target in ((2, 100_000, 1.5), (2, 1_000_000, 1.5), (9, 100_000, 3.0)):
    ROWS.add(f"neighbours S^{_dim} n={_n}")(_neighbours(_dim, _n, _target))


def _system(mesh: Mesh, scaled: bool) -> tuple[Laplacian, np.ndarray, float]:
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
        operator, h, upsilon = _system(make(count), scaled)

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
    "S^2 uneven": lambda n: uneven_nodes(2, n),
    "S^2 Fibonacci": fibonacci_mesh,
    "S^3 uneven": lambda n: uneven_nodes(3, n),
    "S^9 uneven": lambda n: uneven_nodes(9, n),
}
for _name, _make in _MESHES.items():
    for _n in (100_000, 1_000_000) if "S^2" in _name else (100_000,):
        ROWS.add(f"solve {_name} n={_n}, unscaled")(_solve(_make, _n, False))
        ROWS.add(f"solve {_name} n={_n}, -Delta_g")(_solve(_make, _n, True))


def growth(sizes: list[int], rounds: int) -> None:
    """Print seconds and growth exponents on Fibonacci meshes."""

    def operations(n: int) -> dict[str, Callable[[], Any]]:
        mesh = fibonacci_mesh(n)
        graph = knn_graph(mesh, k=NEIGHBOURS)
        operator, h, _ = _system(mesh, True)
        start = mesh.manifold.dist(mesh.points, mesh.points[0])
        return {
            "neighbours": lambda: mesh.neighbours(NEIGHBOURS),
            "Laplacian": lambda: laplacian(graph),
            "shortest paths": lambda: shortest_paths(graph, start, conformal_factor=np.exp(h)),
            "Helmholtz-Poisson": lambda: helmholtz_poisson(operator, h, upsilon=1.0),
        }

    columns = [medians(operations(n), rounds=rounds, budget=10.0)[0] for n in sizes]
    print("| operation | " + " | ".join(f"n={n}, s" for n in sizes) + " | exponents |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for name in columns[0]:
        seconds = [column[name] for column in columns]
        exponents = ", ".join(
            f"{math.log(seconds[i + 1] / seconds[i]) / math.log(sizes[i + 1] / sizes[i]):.2f}"
            for i in range(len(sizes) - 1)
        )
        print(f"| {name} | {' | '.join(f'{s:.3g}' for s in seconds)} | {exponents} |", flush=True)


def main() -> None:
    """Measure and print."""
    cdp.set_num_threads(ARGUMENTS.threads)
    print(f"threads: {ARGUMENTS.threads}\n")
    if ARGUMENTS.growth:
        sizes = [3_000, 10_000, 30_000] if ARGUMENTS.quick else [10_000, 100_000, 1_000_000]
        growth(sizes, ARGUMENTS.rounds)
        return
    print(TABLE_HEAD, flush=True)
    for name, build in ROWS.select(ARGUMENTS.only):
        row = build(ARGUMENTS.quick)
        for line in table_lines(name, row, rounds=ARGUMENTS.rounds, budget=ARGUMENTS.budget):
            print(line, flush=True)


if __name__ == "__main__":
    main()
