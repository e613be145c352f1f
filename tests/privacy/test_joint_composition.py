"""Composition of releases by what their noise loses, beside what their guarantees say."""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

import curvedp as cdp
from curvedp.errors import ConversionError
from curvedp.privacy import GDP, ApproxDP, L2Noise, PureDP
from curvedp.privacy.accounting import compose_mixed

# ------------------------------------------------------------------ noise that is known


def drawn_losses(noise: L2Noise, count: int, n: int) -> np.ndarray:
    """Total losses of `count` releases, drawn n times."""
    rng = np.random.default_rng(5)
    direction = rng.standard_normal((n, count, noise.dim))
    length = rng.gamma(noise.dim, size=(n, count))
    x = direction * (length / np.linalg.norm(direction, axis=2))[:, :, None]
    x[:, :, 0] -= noise.epsilon
    return (np.linalg.norm(x, axis=2) - length).sum(axis=1)


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_composed_shifts_lose_what_draws_lose(dim):
    noise, delta = L2Noise(0.5, dim), 0.02
    epsilon = compose_mixed([noise] * 8, delta).epsilon
    losses = drawn_losses(noise, 8, 20_000)
    lost = np.maximum(-np.expm1(epsilon - losses), 0.0)
    error = lost.std() / np.sqrt(len(lost))
    assert lost.mean() == pytest.approx(delta, abs=7 * error)
    # the same with a tenth less noise is told from it: the draws are enough
    less = drawn_losses(L2Noise(0.6, dim), 8, 20_000)
    assert np.maximum(-np.expm1(epsilon - less), 0.0).mean() > delta + 7 * error


def test_one_shift_is_its_own_curve_and_many_are_below_any_pure_mechanism():
    noise = L2Noise(1.2, 6)
    alone, curve = compose_mixed([noise], 1e-4).epsilon, noise.to_epsilon(1e-4)
    assert curve * (1 - 1e-6) <= alone <= curve * 1.01
    assert compose_mixed([L2Noise(0.3, 6)] * 50, 1e-6).epsilon == pytest.approx(4.087, abs=0.002)
    pure = compose_mixed([PureDP(0.3)] * 50, 1e-6).epsilon
    assert pure == pytest.approx(11.068, abs=0.002)
    assert compose_mixed([L2Noise(0.3, 1)] * 50, 1e-6).epsilon < pure
    mixed = [L2Noise(0.3, 6)] * 10 + [GDP(0.3), PureDP(0.1), ApproxDP(0.1, 1e-8)]
    assert (
        compose_mixed(mixed, 1e-6).epsilon
        < compose_mixed([PureDP(0.3)] * 10 + mixed[10:], 1e-6).epsilon
    )


def test_one_dimension_is_the_librarys_laplace_mechanism():
    exact = privacy_loss_distribution.from_laplace_mechanism(
        1 / 0.5, value_discretization_interval=1e-4
    )
    other = exact.self_compose(10).get_epsilon_for_delta(1e-5)
    assert compose_mixed([L2Noise(0.5, 1)] * 10, 1e-5).epsilon == pytest.approx(other, rel=1e-3)


def test_relations_of_shifts_are_not_mixed():
    with pytest.raises(ConversionError):
        compose_mixed([L2Noise(0.5, 2), PureDP(1.0, neighbours="add-remove")], 1e-6)
    total = compose_mixed([L2Noise(0.5, 2, neighbours="add-remove")], 1e-6)
    assert total.neighbours == "add-remove"


BALL = cdp.Ball("euclidean:6", center=[0.0] * 6, radius=1.0)


def means(guarantee, n=2000, **call):
    return cdp.frechet_mean(np.zeros((n, 6)), BALL, guarantee, **call)


def test_releases_count_as_their_noise():
    (noise,) = means(PureDP(0.3), coverage=False).losses
    assert (noise.epsilon, noise.dim) == (pytest.approx(0.3, rel=1e-8), 6)
    counted = means(PureDP(0.3), coverage=True)
    noise, count = counted.losses
    assert noise.epsilon + count.epsilon == pytest.approx(0.3, rel=1e-8)
    (noise,) = means(ApproxDP(1.0, 1e-3), coverage=False).losses
    assert noise.epsilon == pytest.approx(1.2058, abs=1e-4)
    assert means(GDP(1.0)).losses == (GDP(1.0),)
    curved = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    points = np.tile([0.0, 0.0, 1.0], (2000, 1))
    assert cdp.frechet_mean(points, curved, PureDP(1.0)).losses == (PureDP(1.0),)
    (noise,) = cdp.frechet_mean(
        points, curved, PureDP(1.0), mechanism="l2-mechanism", coverage=False
    ).losses
    assert (noise.epsilon, noise.dim) == (pytest.approx(1.0, rel=1e-8), 2)


def test_groups_that_share_a_count_count_as_what_pays_for_it():
    found = means(PureDP(0.5), groups=np.repeat([0, 1], 1000), coverage=True)
    for mean in (found[0], found[1]):
        paid = sum(part.epsilon for part in mean.losses)
        assert paid == pytest.approx(0.5, rel=1e-8)


def test_protected_numbers_of_records_count_as_their_guarantee():
    one = means(PureDP(1.0, neighbours="add-remove"), n_guess=2000)
    assert one.losses == (one.guarantee,)


def test_unproved_releases_compose_with_nothing():
    with pytest.raises(ConversionError):
        compose_mixed([means(PureDP(0.3), seed=1)], 1e-6)


def test_fifty_releases_cost_what_their_noise_loses():
    total = compose_mixed([means(PureDP(0.3), coverage=False)] * 50, 1e-6)
    assert total.epsilon == pytest.approx(4.087, abs=0.002)
