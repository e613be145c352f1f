"""Rows for the non-private Fréchet mean, every implementation to gradient norm 1e-12."""

from __future__ import annotations

import pyriemann.geometry.mean as pyriemann_mean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal
from geomstats.learning.frechet_mean import FrechetMean

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers import rotations, spd, sphere
from rows import ROWS


@ROWS.add("mean S^2")
def _sphere_mean(quick: bool) -> Row:
    n = 10_000 if quick else 100_000
    x = workloads.sphere_ball(2, n)
    ours, space = cdp.Sphere(2), Hypersphere(dim=2)

    def geomstats():
        # its epsilon bounds the squared step
        return FrechetMean(space).set(epsilon=1e-24, max_iter=200).fit(x).estimate_

    return Row(
        f"n={n}",
        lambda: cdp.nonprivate.frechet_mean(x, ours).value,
        {"NumPy": Peer(lambda: sphere.mean(x), 5), "geomstats": Peer(geomstats)},
    )


@ROWS.add("mean SO(3)")
def _rotation_mean(quick: bool) -> Row:
    n = 200 if quick else 2_000  # geomstats takes seconds
    x = workloads.rotations_ball(n)
    ours, space = cdp.Rotations(), SpecialOrthogonal(3)

    def geomstats():
        return FrechetMean(space).set(epsilon=1e-20, max_iter=100).fit(x).estimate_

    return Row(
        f"n={n}",
        lambda: cdp.nonprivate.frechet_mean(x, ours).value,
        {"SciPy": Peer(lambda: rotations.mean(x)), "geomstats": Peer(geomstats)},
    )


_TARGETS = {
    3: {"NumPy": 12, "pyriemann": 12},
    5: {"NumPy": 8, "pyriemann": 8},
    11: {"NumPy": 4, "pyriemann": 4},
}
_SIZES = {3: 100_000, 5: 109_309, 11: 6_000}


def _spd_mean(m: int):
    def build(quick: bool) -> Row:
        n = 1_000 if quick else _SIZES[m]
        x = workloads.spd_ball(m, n)
        ours, space = cdp.SPD(m), SPDMatrices(n=m)

        def geomstats():
            return FrechetMean(space).set(epsilon=1e-20, max_iter=100).fit(x).estimate_

        def pyriemann():
            return pyriemann_mean.mean_riemann(x, tol=1e-12, maxiter=200)

        return Row(
            f"n={n}",
            lambda: cdp.nonprivate.frechet_mean(x, ours).value,
            {
                "NumPy": Peer(lambda: spd.mean(x), _TARGETS[m]["NumPy"]),
                "pyriemann": Peer(pyriemann, _TARGETS[m]["pyriemann"]),
                "geomstats": Peer(geomstats),
            },
        )

    return build


for _m in (3, 5, 11):
    ROWS.add(f"mean SPD({_m})")(_spd_mean(_m))


@ROWS.add("private mean SPD(28), r = 12")
def _wide_mean(quick: bool) -> Row:
    ball = workloads.ball("spd:28", 12.0)
    x = workloads.in_ball(ball, 86)

    def pyriemann():
        return pyriemann_mean.mean_riemann(x, tol=1e-6, maxiter=200)

    # with noise, so there is nothing to compare but the time
    return Row(
        "n=86",
        lambda: cdp.frechet_mean(x, ball, cdp.GDP(1.0)).value,
        {"pyriemann": Peer(pyriemann, 1, comparable=False)},
    )


def _without_ball(spec: str, radius: float, target: float, library: str, fit):
    """The search for mean and ball; peers are one mean on a known ball, and one without noise."""

    def build(quick: bool) -> Row:
        n = 10_000 if quick else 1_000_000
        ball, few = workloads.ball(spec, radius), n // 10
        x = workloads.in_ball(ball, n)
        # with noise, so there is nothing to compare but the time
        return Row(
            f"n={n}",
            lambda: cdp.frechet_mean(x, ball.manifold, cdp.GDP(1.0)).value,
            {
                "mean on a ball": Peer(
                    lambda: cdp.frechet_mean(x, ball, cdp.GDP(1.0)).value, target, comparable=False
                ),
                f"{library}, no noise": Peer(lambda: fit(x[:few]), comparable=False, work=few / n),
            },
        )

    return build


def _sphere_fit(x):
    return FrechetMean(Hypersphere(dim=2)).set(epsilon=1e-24, max_iter=200).fit(x).estimate_


def _spd_fit(x):
    return pyriemann_mean.mean_riemann(x, tol=1e-12, maxiter=200)


ROWS.add("mean without a ball S^2")(_without_ball("sphere:2", 0.7, 0.1, "geomstats", _sphere_fit))
ROWS.add("mean without a ball SPD(3)")(_without_ball("spd:3", 3.0, 1 / 8, "pyriemann", _spd_fit))
