"""Rows for confidence regions of the mean: the private region against one without privacy."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.mean as pyriemann_mean
import pyriemann.geometry.tangentspace as pyriemann_maps

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers import region
from rows import ROWS


@ROWS.add("confidence region S^2")
def _sphere_region(quick: bool) -> Row:
    n = 10_000 if quick else 100_000
    ball = workloads.ball("sphere:2", 0.7)
    x = workloads.in_ball(ball, n)
    return Row(
        f"n={n}",
        lambda: cdp.confidence_region(x, ball, cdp.GDP(1.0)),
        {"NumPy, no privacy": Peer(lambda: region.sphere_region(x), comparable=False)},
    )


@ROWS.add("confidence region SPD(3)")
def _spd_region(quick: bool) -> Row:
    n = 2_000 if quick else 100_000
    ball = workloads.ball("spd:3", 1.5)
    x = workloads.in_ball(ball, n)

    def pyriemann():
        """Mean and covariance of the logarithms; it has no Hessian."""
        mean = pyriemann_mean.mean_riemann(x, tol=1e-12, maxiter=200)
        logs = pyriemann_maps.tangent_space(x, mean, metric="riemann")
        return np.cov(logs, rowvar=False, bias=True)

    return Row(
        f"n={n}",
        lambda: cdp.confidence_region(x, ball, cdp.GDP(1.0)),
        {"pyriemann, no Hessian": Peer(pyriemann, comparable=False)},
    )
