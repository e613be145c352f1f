"""Audits of the conformal mean by samples: the second stage, and both stages together."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples, likelihood_ratio_audit
from curvedp.conformal import ConformalLaplace, ball_mesh, factor, knn_graph, laplacian

POLE = np.array([0.0, 0.0, 1.0])
EPSILON = 1.0


@pytest.fixture(scope="module")
def ball():
    return cdp.Ball("sphere:2", POLE, 0.7)


@pytest.fixture(scope="module")
def operator(ball):
    return laplacian(knn_graph(ball_mesh(ball, 60), 8))


def noise_of(ball, mesh, sigma, guarantee, total):
    return ConformalLaplace(mesh, sigma, ball=ball, sensitivity=total, guarantee=guarantee)


def audited(ball, claim, noise):
    """At two points of the rim one sensitivity apart, with `noise` times what the claim needs."""
    space, mesh = ball.manifold, ball_mesh(ball, 9)
    far = mesh.points[int(np.argmax(space.dist(POLE, mesh.points)))]
    towards = space.log(POLE, far)
    near = space.exp(0.5 * towards / space.norm(towards, far), far)
    own = type(claim)(next(iter(vars(claim).values())) / noise)
    sigma = np.random.default_rng(0).normal(size=9)
    mechanism = noise_of(ball, mesh, sigma, own, 0.5)
    return likelihood_ratio_audit(
        mechanism, far, near, n_samples=10_000, claimed=claim, confidence=CONFIDENCE
    )


@pytest.mark.parametrize("claim", [cdp.PureDP(EPSILON), cdp.GDP(1.0)], ids=str)
def test_conformal_noise_keeps_its_claim(ball, claim):
    result = audited(ball, claim, 1.0)
    assert result.passed, result.report()


@pytest.mark.parametrize("claim", [cdp.PureDP(EPSILON), cdp.GDP(1.0)], ids=str)
def test_a_sixth_of_conformal_noise_is_flagged(ball, claim):
    result = audited(ball, claim, 1 / 6)
    assert not result.passed, result.report()


def losses(operator, ball, n_releases, epsilon=EPSILON):
    """Log likelihood ratios of whole releases, drawn at two neighbouring data sets: exact but for
    the constant of the second stage, which does not depend on the point."""
    space, mesh = ball.manifold, operator.graph.mesh
    edges = [space.exp(0.69 * np.array([side, 0.0, 0.0]), POLE) for side in (1.0, -1.0)]
    data = [np.stack([edge, POLE, POLE]) for edge in edges]
    means = [cdp.nonprivate.frechet_mean(x, space).value for x in data]
    counts = [np.bincount(mesh.nearest(x)[0], minlength=60) for x in data]
    found = []
    for records in data:
        scores = []
        for _ in range(n_releases):
            release = cdp.conformal_mean(
                records,
                ball,
                cdp.PureDP(epsilon),
                mesh=operator,
                cells=operator,
                heat_time=0,
                split=0.5,
            )
            density, point = release.parts
            seen = np.round(density.value * mesh.volumes * 3)
            ratio = np.abs(seen - counts[1]).sum() - np.abs(seen - counts[0]).sum()
            mechanism = noise_of(
                ball,
                mesh,
                factor(density.value, 1.0, laplacian=operator).sigma,
                point.guarantee,
                release.sensitivity + 2 * release.solver_tolerance,
            )
            first, second = (float(mechanism.log_density(point.value, eta)) for eta in means)
            scores.append(ratio / density.scale + first - second)
        found.append(scores)
    return found


@pytest.mark.parametrize("n_releases", [100, pytest.param(4_000, marks=pytest.mark.slow)])
def test_whole_releases_keep_their_claim(operator, ball, n_releases):
    first, second = losses(operator, ball, n_releases)
    result = audit_samples(first, second, cdp.PureDP(EPSILON), confidence=CONFIDENCE)
    assert result.passed, result.report()
    # no single release may tell more either, and some tell much
    assert max(np.abs(first).max(), np.abs(second).max()) <= EPSILON
    assert max(np.abs(first).max(), np.abs(second).max()) > 0.5 * EPSILON


def test_ten_times_the_claim_is_flagged_by_whole_releases(operator, ball):
    result = audit_samples(
        *losses(operator, ball, 600, 10 * EPSILON), cdp.PureDP(EPSILON), confidence=CONFIDENCE
    )
    assert not result.passed, result.report()
