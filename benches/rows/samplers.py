"""Rows for exact noise: releases about one centre."""

from __future__ import annotations

import numpy as np

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers.sphere import RadialTable
from rows import ROWS

_SCALE = 0.1


def _sphere_laplace(dim: int):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        center = np.eye(dim + 1)[0]
        generator = np.random.default_rng(0)
        table = RadialTable(lambda t: -t / _SCALE, dim)
        draw = workloads.noise(cdp.RiemannianLaplace, f"sphere:{dim}", _SCALE)
        return Row(
            f"n={n}",
            lambda: draw(n),
            {
                "NumPy inverse-CDF table": Peer(
                    lambda: table.sample(generator, center, n), comparable=False
                )
            },
        )

    return build


for _dim in (2, 9):
    ROWS.add(f"releases, Riemannian Laplace S^{_dim}")(_sphere_laplace(_dim))
