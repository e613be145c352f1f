"""Rows for exact noise: draws about one centre."""

from __future__ import annotations

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from pyriemann.datasets import sample_gaussian_spd

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers import spd
from peers.sphere import RadialTable
from rows import ROWS

_SCALE = 0.1


def _sphere_gaussian(dim: int):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        center = np.eye(dim + 1)[0]
        space = Hypersphere(dim=dim)
        generator = np.random.default_rng(0)
        table = RadialTable(lambda t: -(t**2) / (2 * _SCALE**2), dim)
        draw = workloads.noise(cdp.RiemannianGaussian, f"sphere:{dim}", _SCALE, simulated=True)

        def geomstats():
            return space.random_riemannian_normal(mean=center, precision=1 / _SCALE**2, n_samples=n)

        return Row(
            f"n={n}",
            lambda: draw(n),
            {
                "NumPy inverse-CDF table": Peer(
                    lambda: table.sample(generator, center, n), 2, comparable=False
                ),
                "geomstats rejection": Peer(geomstats, 2, comparable=False),
            },
        )

    return build


def _sphere_laplace(dim: int, target: float | None, *, simulated: bool):
    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        center = np.eye(dim + 1)[0]
        generator = np.random.default_rng(0)
        table = RadialTable(lambda t: -t / _SCALE, dim)
        draw = workloads.noise(cdp.RiemannianLaplace, f"sphere:{dim}", _SCALE, simulated=simulated)
        return Row(
            f"n={n}",
            lambda: draw(n),
            {
                "NumPy inverse-CDF table": Peer(
                    lambda: table.sample(generator, center, n), target, comparable=False
                )
            },
        )

    return build


def _spd_gaussian(m: int):
    """pyriemann draws a fraction of the sample; for m >= 3 its moments are far too large.

    Curvature-based rejection keeps .97, .84 and .23 of its proposals for m = 2, 3, 5 at the scale
    of the rows, .07 for m = 3 at scale 1, and fewer than one in 20,000 for m = 8.
    """

    def build(quick: bool) -> Row:
        n = 10_000 if quick else 100_000
        scale = 0.3
        draw = workloads.spd_gaussian(m, scale)
        generator = np.random.default_rng(0)
        rejection = spd.CurvatureRejection(m, lambda r: -(r**2) / (2 * scale**2), reach=6.0)
        peers = {
            "NumPy curvature-based rejection": Peer(
                lambda: rejection.sample(generator, n), 4, comparable=False
            )
        }
        if m <= 3:
            share = {2: 500, 3: 200}[m]
            peers["pyriemann"] = Peer(
                lambda: sample_gaussian_spd(share, np.eye(m), scale, random_state=0),
                1000,
                comparable=False,
                work=share / n,
            )
        return Row(f"n={n}", lambda: draw(n), peers)

    return build


for _dim in (2, 9):
    ROWS.add(f"Riemannian Gaussian S^{_dim}")(_sphere_gaussian(_dim))
    ROWS.add(f"Riemannian Laplace S^{_dim}")(_sphere_laplace(_dim, 2, simulated=True))
    ROWS.add(f"releases, Riemannian Laplace S^{_dim}")(_sphere_laplace(_dim, None, simulated=False))
for _m in (2, 3, 5):
    ROWS.add(f"Riemannian Gaussian SPD({_m})")(_spd_gaussian(_m))
