"""Rows for private means of many groups; the peers' have no noise to draw."""

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
from peers import sphere
from rows import ROWS

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
        lambda: cdp.frechet_mean(x, ball, cdp.GDP(1.0), groups=offsets).value,
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
        lambda: cdp.frechet_mean(x, ball, cdp.GDP(1.0), groups=offsets).value,
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
