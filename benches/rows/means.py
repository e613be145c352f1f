"""Rows for the non-private Fréchet mean, every implementation to gradient norm 1e-12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyriemann.geometry.mean as pyriemann_mean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.learning.frechet_mean import FrechetMean

import curvedp as cdp
from benchmarks import workloads
from harness import Peer, Row
from peers import spd, sphere
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


#: Accuracy of the groups' means below, that of a private release: a ten-thousandth of 2 r/n.
_SPHERE_TOLERANCE, _SPD_TOLERANCE = 1e-4 * 1.6 / 20, 1e-4 * 6.0 / 100


@ROWS.add("private means of groups of 20 on S^2")
def _sphere_group_means(quick: bool) -> Row:
    groups, few = (10_000, 50) if quick else (1_000_000, 200)
    x = workloads.sphere_ball(2, 20 * groups)
    space, ball = Hypersphere(dim=2), _ball_around(cdp.Sphere(2), x, 0.8)
    offsets = np.arange(0, 20 * groups + 1, 20)
    some = x[: 20 * few].reshape(few, 20, 3)

    def geomstats(tolerance):
        estimator = FrechetMean(space).set(epsilon=tolerance**2, max_iter=100)
        return np.stack([estimator.fit(group).estimate_ for group in some])

    def numpy(tolerance):
        return np.stack([sphere.mean(group, tolerance) for group in some])

    share = few / groups
    return Row(
        f"{groups} groups",
        lambda: cdp.frechet_means(x, offsets, ball, cdp.GDP(1.0)).value,
        {
            "NumPy, mean to 1e-12": _part(lambda: numpy(1e-12), share),
            "geomstats, mean to 1e-12": _part(lambda: geomstats(1e-12), share, 100),
            "geomstats, mean to our accuracy": _part(lambda: geomstats(_SPHERE_TOLERANCE), share),
        },
    )


@ROWS.add("private means of groups of 100 SPD(3)")
def _spd_group_means(quick: bool) -> Row:
    groups, few = (1_000, 20) if quick else (100_000, 100)
    x = workloads.spd_ball(3, 100 * groups)
    space, ball = SPDMatrices(n=3), _ball_around(cdp.SPD(3), x, 3.0)
    offsets = np.arange(0, 100 * groups + 1, 100)
    some = x[: 100 * few].reshape(few, 100, 3, 3)

    def geomstats(tolerance):
        estimator = FrechetMean(space).set(epsilon=tolerance**2, max_iter=100)
        return np.stack([estimator.fit(group).estimate_ for group in some])

    def pyriemann(tolerance):
        means = [pyriemann_mean.mean_riemann(g, tol=tolerance, maxiter=200) for g in some]
        return np.stack(means)

    share = few / groups
    return Row(
        f"{groups} groups",
        lambda: cdp.frechet_means(x, offsets, ball, cdp.GDP(1.0)).value,
        {
            "pyriemann, mean to 1e-12": _part(lambda: pyriemann(1e-12), share, 100),
            "pyriemann, mean to our accuracy": _part(lambda: pyriemann(_SPD_TOLERANCE), share),
            "geomstats, mean to 1e-12": _part(lambda: geomstats(1e-12), share, 100),
            "geomstats, mean to our accuracy": _part(lambda: geomstats(_SPD_TOLERANCE), share),
        },
    )


def _part(run: Callable[[], Any], share: float, target: float | None = None) -> Peer:
    """A peer that does a share of the work, without the noise."""
    return Peer(run, target, comparable=False, work=share)


def _ball_around(manifold: cdp.Manifold, x: Any, radius: float) -> cdp.Ball:
    """A ball that holds nearly all points: the peers have none to project on."""
    center = cdp.nonprivate.frechet_mean(x[:1000], manifold).value
    return cdp.Ball(manifold, center, radius)
