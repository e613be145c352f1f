"""Growth of the cost of meshes, graphs and solutions with n, on Fibonacci meshes of S^2.

    python benches/graph.py [--quick] [--threads 2]

Prints seconds at growing n and the exponents of the power law between neighbouring sizes. The rows
beside other libraries are those of side_by_side.py.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.conformal import (
    fibonacci_mesh,
    knn_graph,
    laplacian,
    shortest_paths,
)
from harness import medians
from rows.solve import NEIGHBOURS, forget, solve, system


def growth(sizes: list[int], rounds: int) -> None:
    """Print seconds and growth exponents on Fibonacci meshes."""

    def operations(n: int) -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
        mesh = fibonacci_mesh(n)
        graph = knn_graph(mesh, k=NEIGHBOURS)
        operator, h, _ = system(mesh, True)
        start = mesh.manifold.dist(mesh.points, mesh.points[0])
        functions: dict[str, Callable[[], Any]] = {
            "neighbours": lambda: mesh.neighbours(NEIGHBOURS),
            "Laplacian": lambda: laplacian(graph),
            "shortest paths": lambda: shortest_paths(graph, start, conformal_factor=np.exp(h)),
            "Helmholtz-Poisson": lambda: solve(operator, h, 1.0),
        }
        return functions, {"Helmholtz-Poisson": lambda: forget(operator)}

    columns = []
    for n in sizes:
        functions, before = operations(n)
        columns.append(medians(functions, rounds=rounds, budget=10.0, before=before)[0])
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each operation")
    arguments = parser.parse_args()
    cdp.set_num_threads(arguments.threads)
    sizes = [3_000, 10_000, 30_000] if arguments.quick else [10_000, 100_000, 1_000_000]
    growth(sizes, arguments.rounds)


if __name__ == "__main__":
    main()
