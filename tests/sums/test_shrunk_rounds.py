"""Rounds whose noise is as long as their way: theorem 11 of docs/proofs/sums-of-messages.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp.manifolds import as_manifold
from curvedp.sums.found import Round
from curvedp.sums.geometry import geometry_of
from curvedp.sums.messages import ROUND_UNIT
from curvedp.sums.noise import GaussianNoise, james_stein
from curvedp.sums.search import Search
from curvedp.sums.tail_counts import TailCounts, levels


@pytest.mark.parametrize("times", [1.0, pytest.param(0.0, id="control")])
@pytest.mark.parametrize("dim", [3, 12, 400])
def test_what_shrinking_leaves_is_what_is_printed(dim: int, times: float) -> None:
    """The bound of theorem 11 holds, and its estimate is near. The control does not shrink."""
    rng, held = np.random.default_rng(dim), True
    for square in (0.0, 0.3 * dim, dim, 10.0 * dim):
        true = np.zeros(dim)
        true[0] = math.sqrt(square)
        noisy = true + rng.standard_normal((2000, dim))
        kept, lost = np.transpose(
            [james_stein(float(own), 1.0, dim) for own in np.linalg.norm(noisy, axis=1)]
        )
        errors = ((times * kept + 1.0 - times)[:, None] * noisy - true) ** 2
        error = errors.sum(axis=1).mean() / dim
        bound = (2.0 + (dim - 2) * square / (square + dim - 2)) / dim
        held &= bool(error < 1.05 * bound)
        if times and square:  # of nothing it is careful
            assert 0.95 < (lost**2).mean() / error < 2.2
    assert held is (times == 1.0)


def test_where_shrinking_gains_nothing_there_is_none() -> None:
    assert {james_stein(length, 1.0, dim) for length in (0.0, 3.0) for dim in (1, 2)} == {
        (1.0, 1.0)
    }
    assert james_stein(0.0, 1.0, 3)[0] == 0.0
    assert james_stein(1e30, 1.0, 3) == (1.0, 1.0)


@pytest.mark.parametrize("shrinks", [True, pytest.param(False, id="control")])
def test_a_round_of_noise_does_not_lead_away(
    shrinks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matrices in 210 dimensions of which a round of a quarter of mu has noise as long as its way.

    Medians are 2.0 and 6.3; of 80 releases one each lay beyond the limit.
    """
    if not shrinks:
        monkeypatch.setattr(GaussianNoise, "shrunk", lambda *_: (1.0, 1.0))
    space, rng, n, count = cdp.SPD(20), np.random.default_rng(1), 100, 24
    axes = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    center = space.project((axes * np.exp(np.linspace(-3.0, 3.0, 20))) @ axes.T)
    coords = rng.standard_normal((n, space.dim)) * 6.0 / math.sqrt(space.dim)
    records = space.exp(space.coords_to_tangent(coords, center), center)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(np.tile(records, (count, 1, 1)), space, cdp.GDP(2.0), groups=groups)
    errors = [float(space.dist(mean.value, exact)) if mean.found else 99.0 for mean in means]
    assert bool(np.median(errors) < 3.3) is shrinks


@pytest.mark.parametrize(("reach", "kept"), [(3.1, 1.0), (2.0, 0.36)])
def test_where_records_reach_the_cut_locus_steps_are_not_shrunk(reach: float, kept: float) -> None:
    """Of a vector of 2.5 standard deviations in six dimensions 1 - 4/6.25 is kept elsewhere."""
    geometry, n = geometry_of(as_manifold("so:4")), 1000
    search = Search(geometry, GaussianNoise(1.0), n)
    level = levels(geometry.largest, geometry.bins)
    counts = np.where(np.append(level[1:], 0.0) < reach, float(n), 0.0)
    tails = TailCounts(level, counts, np.ones(len(level)))
    deviation = search._deviation(geometry, 1.0, 0.5)
    noisy = np.zeros(geometry.dim + 1)
    noisy[0] = 2.5 * deviation * n * (ROUND_UNIT - 8.0 * geometry.dim)
    steps = search._round(geometry, geometry.manifold.origin.reshape(-1), 1.0, 0.5, tails)
    assert next(steps).share == 0.5
    with pytest.raises(StopIteration) as end:
        steps.send(noisy)
    step: Round = end.value.value
    assert step.mean == pytest.approx([2.5 * kept * deviation, 0, 0, 0, 0, 0])
    assert (step.lost == 1.0) == (step.turning > 0.0) == (kept == 1.0)
