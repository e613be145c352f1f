"""Rows for geodesic regression: fits, and chains of the published K-norm gradient's footpoint."""

from __future__ import annotations

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.learning.geodesic_regression import GeodesicRegression

import curvedp as cdp
from benchmarks import workloads
from curvedp import _core
from harness import Peer, Row
from peers import regression
from rows import ROWS


def _sphere_data(n: int):
    """Times in [0, 1] and points about a geodesic of length 1."""
    x, y = workloads.along_geodesic(workloads.ball("sphere:2", 1.0), n)
    return x + 0.5, y


@ROWS.add("geodesic regression fit S^2")
def _sphere_fit(quick: bool) -> Row:
    t, y = _sphere_data(100)
    ours, space = cdp.Sphere(2), Hypersphere(dim=2)

    def geomstats():
        estimator = GeodesicRegression(space, method="extrinsic", initialization="frechet")
        return estimator.fit(t, y).predict(t)

    return Row(
        "n=100",
        lambda: cdp.nonprivate.geodesic_regression(t, y, ours, x_range=(0.0, 1.0)).predict(t),
        {
            "SciPy L-BFGS": Peer(lambda: regression.fit(t, y), 3),
            "geomstats": Peer(geomstats, 50),
        },
    )


def _private(spec: str, space, n: int, step: int = 1, **peers):
    """A release with all that it measures beside others' fits without privacy.

    geomstats fits one record of `step`, where it takes many minutes.
    """

    def build(quick: bool) -> Row:
        count = min(n, 1000) if quick else n
        ball = workloads.ball(spec, 0.78)
        x, y = workloads.along_geodesic(ball, count)
        t = x + 0.5

        def geomstats():
            estimator = GeodesicRegression(space, method="extrinsic", initialization="frechet")
            return estimator.fit(t[::step], y[::step]).predict(t)

        runs = {name: (lambda fit=fit: fit(t, y)) for name, fit in peers.items()}
        return Row(
            f"n={count}",
            lambda: cdp.geodesic_regression(t, y, ball, cdp.GDP(1.0), x_range=(0.0, 1.0)),
            {name: Peer(run, comparable=False) for name, run in runs.items()}
            | {"geomstats": Peer(geomstats, comparable=False, work=1 / step)},
        )

    return build


for _n in (1000, 100_000):
    ROWS.add(f"private geodesic regression S^2, n={_n}")(
        _private("sphere:2", Hypersphere(dim=2), _n, **{"SciPy L-BFGS": regression.fit})
    )
ROWS.add("private geodesic regression SPD(3)")(_private("spd:3", SPDMatrices(n=3), 100_000, 100))


@ROWS.add("geodesic regression fit SPD(2)")
def _spd_fit(quick: bool) -> Row:
    x, y = workloads.along_geodesic(workloads.ball("spd:2", 1.0), 100)
    t, ours, space = x + 0.5, cdp.SPD(2), SPDMatrices(n=2)

    def geomstats():
        estimator = GeodesicRegression(space, method="extrinsic", initialization="frechet")
        return estimator.fit(t, y).predict(t)

    return Row(
        "n=100",
        lambda: cdp.nonprivate.geodesic_regression(t, y, ours, x_range=(0.0, 1.0)).predict(t),
        {"geomstats": Peer(geomstats, 50)},
    )


def _fitted(t, y, manifold):
    """Footpoint and velocity at t = 0 of the fit, as the published chain takes them."""
    fit = cdp.nonprivate.geodesic_regression(t, y, manifold, x_range=(0.0, 1.0))
    return fit.intercept, fit.slope


def _footpoint_chain(manifold, t, y, p, v, sigma, radius, steps):
    """A function that runs the published chain and returns its last footpoint."""
    rows, foot = y.reshape(len(y), -1), np.ascontiguousarray(p.reshape(-1))
    coords = manifold.tangent_to_coords(v, p)

    def run():
        plan = (steps - 1, 1, 1, radius, None)
        stream = _core.Stream.from_os()
        return _core.published_footpoint(
            manifold.kernels, rows, t, foot, coords, sigma, plan, stream
        ).draws()

    return run


def _sphere_chain(n: int):
    def build(quick: bool) -> Row:
        steps, sigma = (500 if quick else 10_000), 0.2 / n
        t, y = _sphere_data(n)
        p, v = _fitted(t, y, cdp.Sphere(2))
        radius = 1.5 * sigma
        return Row(
            f"{steps} steps",
            _footpoint_chain(cdp.Sphere(2), t, y, p, v, sigma, radius, steps),
            {
                "NumPy": Peer(
                    lambda: regression.footpoint_chain(t, y, p, v, sigma, radius, steps),
                    30 if n == 100 else None,
                    comparable=False,
                )
            },
        )

    return build


@ROWS.add("KNG footpoint chain Kendall k=50, n=100")
def _shape_chain(quick: bool) -> Row:
    n, steps, sigma = 100, (200 if quick else 2_000), 0.4 / 100
    ball = workloads.ball("kendall:50", 0.4)
    x, y = workloads.along_geodesic(ball, n, noise=0.01)
    t, space = x + 0.5, ball.manifold
    p, v = _fitted(t, y, space)
    radius = 0.3 * sigma
    base, velocity = (a[:, 0] + 1j * a[:, 1] for a in (p, v))
    shapes = y[..., 0] + 1j * y[..., 1]
    return Row(
        f"{steps} steps",
        _footpoint_chain(space, t, y, p, v, sigma, radius, steps),
        {
            "NumPy complex": Peer(
                lambda: regression.shape_footpoint_chain(
                    t, shapes, base, velocity, sigma, radius, steps
                ),
                1.5,  # both wait for products of complex rows
                comparable=False,
            )
        },
    )


for _n in (20, 100, 1000):
    ROWS.add(f"KNG footpoint chain S^2, n={_n}")(_sphere_chain(_n))
