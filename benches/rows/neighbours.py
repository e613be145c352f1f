"""Rows for exact nearest neighbours on spheres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import curvedp as cdp
from benchmarks import workloads
from curvedp.conformal import Mesh
from harness import Peer, Row
from rows import ROWS

NEIGHBOURS = 10


def uneven_mesh(dim: int, n: int) -> Mesh:
    """Nodes on S^dim, half of them about one point, all of volume 1."""
    return Mesh(cdp.Sphere(dim), workloads.uneven(dim, n), np.ones(n))


def _neighbours(dim: int, n: int, target: float) -> Callable[[bool], Row]:
    def build(quick: bool) -> Row:
        count = min(n, 10_000) if quick else n
        mesh = uneven_mesh(dim, count)

        def ckdtree() -> Any:
            tree = cKDTree(mesh.points)
            workers = cdp.num_threads()
            return tree.query(mesh.points, NEIGHBOURS + 1, workers=workers)[1][:, 1:]

        return Row(
            f"n={count}, k={NEIGHBOURS}",
            lambda: mesh.neighbours(NEIGHBOURS)[0],
            {"cKDTree": Peer(ckdtree, target)},
        )

    return build


def _queries(n: int) -> Callable[[bool], Row]:
    """Nodes nearest to other points: what histograms and chains look up."""

    def build(quick: bool) -> Row:
        count = min(n, 10_000) if quick else n
        mesh = uneven_mesh(2, count)
        points, _, _ = workloads.sphere(2, count, seed=9)

        def ckdtree() -> Any:
            return cKDTree(mesh.points).query(points, 1, workers=cdp.num_threads())[1]

        return Row(f"n={count}", lambda: mesh.nearest(points)[0], {"cKDTree": Peer(ckdtree)})

    return build


for _dim, _n, _target in ((2, 100_000, 1.5), (2, 1_000_000, 1.5), (9, 100_000, 3.0)):
    ROWS.add(f"neighbours S^{_dim} n={_n}")(_neighbours(_dim, _n, _target))
ROWS.add("queries S^2 n=100000")(_queries(100_000))
