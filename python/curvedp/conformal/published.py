"""The conformal mean as published (He et al.): for comparison, without a guarantee.

The graph stands on the private records, the density is evaluated there, and a Metropolis chain that
starts at the exact mean draws from exp(-lambda rho*(eta, x)), without the volume factor phi^{d/2}
of the law that it is said to draw from. What is missing for a guarantee is listed in
docs/proofs/conformal-mean.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core, nonprivate, sensitivity
from curvedp._validation import FloatArray
from curvedp.conformal.chains import metropolis
from curvedp.conformal.factor import factor
from curvedp.conformal.graph import knn_graph, laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, PureDP, Release, Unproved
from curvedp.statistics.entry import Entry

WHY = (
    "the graph of the conformal factor stands on the private records, so that no finite epsilon "
    "covers the factor, and the Markov chain is not certified to have converged"
)

#: Neighbours of a record in the graph.
_NEIGHBOURS = 10


@dataclass(frozen=True)
class PublishedDraw:
    """What the published mechanism computes on its way."""

    density: FloatArray
    sigma: FloatArray
    point: FloatArray
    rate: float
    sensitivity: float
    acceptance: float


def published_release(
    entry: Entry, shares: tuple[PureDP, PureDP], bandwidth: float, upsilon: float, chain_length: int
) -> Release:
    """Both stages of a call that has been paid, `Unproved`."""
    claimed = entry.guarantee
    draw = published_draw(entry, shares, bandwidth, upsilon, chain_length)
    fields: dict[str, Any] = {"solver_tolerance": 0.0, "expected_error": None}
    density = entry.release(
        Unproved(claimed=shares[0], why=WHY),
        value=draw.density,
        mechanism="functional Laplace at the records",
        statistic="density of the records",
        sensitivity=2 / entry.n,
        scale=2 / (entry.n * shares[0].epsilon),
        **fields,
    )
    return entry.release(
        Unproved(claimed=claimed, why=WHY),
        value=draw.point,
        mechanism="Metropolis chain in the conformal metric",
        statistic="conformal Fréchet mean",
        sensitivity=draw.sensitivity,
        scale=1 / draw.rate,
        parts=(density,),
        **fields,
    )


def published_draw(
    entry: Entry,
    shares: tuple[PureDP, PureDP],
    bandwidth: float,
    upsilon: float,
    chain_length: int,
) -> PublishedDraw:
    """Stages 1 and 2 on the projected records."""
    entry.report("density")
    ball, n = entry.ball, entry.n
    space = ball.manifold
    points = ball.project(entry.data)
    mesh = Mesh(space, points, np.ones(n))
    operator = laplacian(
        knn_graph(mesh, min(_NEIGHBOURS, max(1, n - 1))), bandwidth=bandwidth**2, scaled=False
    )
    f = _core.bump_density(space._core, points.reshape(n, -1), bandwidth)
    # the L1 norm of values at n records that stand for the volume V of the ball: V/n each
    scale = 2 / shares[0].epsilon / ball_volume(ball)
    uniform = np.empty((2, n))
    stream = entry.stream(0)
    for row in uniform:
        stream.exponential(row)
    noisy = f + scale * (uniform[0] - uniform[1])
    entry.report("conformal factor")
    # diagonally dominant for the upsilon of the paper, and solved once: no hierarchy
    sigma = factor(noisy, upsilon, laplacian=operator, method="jacobi").sigma
    entry.report("mean")
    eta = nonprivate.frechet_mean(points, space).value
    entry.report("noise")
    delta = sensitivity.frechet_mean(
        ball, n, records_per_unit=entry.records_per_unit, calibration="published"
    )
    stretch = math.exp(float(sigma.max()))
    rate = shares[1].epsilon / (2 * stretch * delta)
    chains = metropolis(
        operator.graph,
        sigma,
        eta,
        rate,
        starts=eta[None],
        draws=1,
        burn_in=0,
        thinning=chain_length,
        step=min(ball.radius, 1 / (rate * math.exp(float(np.median(sigma))))),
        acceptance=None,
        volume_factor=False,
        stream=entry.stream(1),
    )
    return PublishedDraw(
        noisy, sigma, chains.points[0, -1], rate, stretch * delta, float(chains.acceptance[0])
    )


def ball_volume(ball: Ball) -> float:
    """Volume of the ball, to first order in its curvature: that of a flat one."""
    dim = ball.manifold.dim
    log_unit = dim / 2 * math.log(math.pi) - math.lgamma(dim / 2 + 1)
    return math.exp(log_unit + dim * math.log(ball.radius))


def check_range(ball: Ball, bandwidth: float) -> None:
    """Refuses dimensions in which the published density, of order 1/volume, is no finite number."""
    dim = ball.manifold.dim
    smallest = min(ball_volume(ball), 10.0 ** min(300.0, dim * math.log10(bandwidth)))
    if smallest < 1e-200:
        raise ValueError(
            f"the published density leaves the range of double precision in dimension {dim}: the "
            f"volume of the ball is {smallest:.1e}"
        )


def pure_shares(guarantee: Guarantee, split: float) -> tuple[PureDP, PureDP]:
    """Shares of the epsilon that the published mechanism claims."""
    if not isinstance(guarantee, PureDP):
        raise TypeError("the published mechanism claims pure DP: ask for PureDP(epsilon)")
    first, second = guarantee.split([split, 1 - split])
    return first, second
