"""Principal components by the exponential mechanism, as releases and as an estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp import nonprivate
from curvedp.errors import NoiseWarning
from curvedp.learning import TangentPCA
from curvedp.statistics.principal_components import shares_along

BALL = cdp.Ball("spd:3", center="identity", radius=2.0)
LARGE = cdp.PureDP(1e6)


def ellipsoid(n: int = 1500, seed: int = 0) -> np.ndarray:
    """Matrices about a point near the identity, most of them along one axis."""
    space, rng = BALL.manifold, np.random.default_rng(seed)
    coords = rng.standard_normal((n, 6)) * [0.15, 0.1, 0.5, 0.1, 0.1, 0.05] + 0.05
    return space.exp(space.coords_to_tangent(coords, BALL.center), BALL.center)


def logs_at(records: np.ndarray, point: np.ndarray) -> np.ndarray:
    space = BALL.manifold
    return space.tangent_to_coords(space.log(BALL.project(records), point), point)


def share(rows: np.ndarray, logs: np.ndarray) -> float:
    return float(np.sum((logs @ rows.T) ** 2) / np.sum(logs**2))


def test_components_and_variances_are_those_without_noise_at_a_large_budget() -> None:
    records = ellipsoid()
    found = cdp.principal_components(records, 6, BALL, LARGE, max_dist=3.0)
    logs = logs_at(records, np.asarray(found.base_point))
    values, vectors = np.linalg.eigh(logs.T @ logs / len(logs))
    one = np.abs(found.value[:2] @ vectors[:, :-3:-1])
    np.testing.assert_allclose(one, np.eye(2), atol=2e-2)
    np.testing.assert_allclose(found.value @ found.value.T, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(found.parts[1].value[:-1], values[::-1], atol=1e-3)
    assert found.parts[1].value[-1] < 1e-3
    assert np.all(found.value[range(6), np.abs(found.value).argmax(axis=1)] > 0)
    assert found.expected_error is None
    assert found.parts[1].expected_error > 0


def test_under_pure_dp_the_first_component_is_found_where_the_moment_is_noise() -> None:
    records, guarantee = ellipsoid(400), cdp.PureDP(1.0)
    logs = logs_at(records, np.asarray(nonprivate.frechet_mean(records, BALL.manifold).value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        captured = {
            how: np.mean(
                [
                    share(
                        TangentPCA(BALL, guarantee, 1, mechanism=how, seed=seed, coverage=False)
                        .fit(records)
                        .components_,
                        logs,
                    )
                    for seed in range(8)
                ]
            )
            for how in (None, "moment")
        }
    assert captured[None] > 0.6 > 0.45 > captured["moment"]


def test_the_guarantee_says_which_mechanism_is_used() -> None:
    records = ellipsoid(300)
    names = {
        cdp.PureDP(1.0): "exponential mechanism on directions",
        cdp.PureDP(20.0): "Riemannian Laplace",
        cdp.GDP(1.0): "tangent Gaussian",
    }
    for guarantee, name in names.items():
        model = TangentPCA(BALL, guarantee, 2).fit(records)
        assert name.lower() in model.release_.mechanism.lower()
        assert model.components_.shape == (2, 6)
        assert model.transform(records).shape == (300, 2)
    model = TangentPCA(BALL, cdp.GDP(1.0), 2, mechanism="exponential").fit(records)
    variances = model.release_.parts[1].value
    largest_first = np.sort(variances[:-1])[::-1]
    np.testing.assert_array_equal(model.explained_variance_, largest_first)
    np.testing.assert_allclose(model.explained_variance_ratio_, largest_first / variances.sum())
    with pytest.raises(ValueError, match="mechanism"):
        TangentPCA(BALL, cdp.GDP(1.0), mechanism="laplace").fit(records)


def test_the_number_of_weights_says_which_mechanism_is_meant() -> None:
    records = ellipsoid(300)
    for guarantee in (cdp.PureDP(1.0), cdp.GDP(1.0)):
        of_moment = TangentPCA(BALL, guarantee, 2, weights=(0.3, 0.7)).fit(records)
        assert of_moment.release_.value.shape == (6, 6)
        drawn = TangentPCA(BALL, guarantee, 2, weights=(0.3, 0.6, 0.1)).fit(records)
        assert drawn.release_.value.shape == (2, 6)
    with pytest.raises(ValueError, match="weights"):
        TangentPCA(BALL, cdp.GDP(1.0), 2, weights=(0.3, 0.7), mechanism="exponential").fit(records)


def test_components_are_sorted_by_their_released_variances() -> None:
    how = {"seed": 3, "coverage": False, "mechanism": "exponential"}
    model = TangentPCA(BALL, cdp.PureDP(1.0), **how).fit(ellipsoid(300))
    rows, along = model.release_.value, model.release_.parts[1].value
    assert np.any(np.diff(along[:-1]) > 0)  # not in the order in which they were drawn
    assert np.all(np.diff(model.explained_variance_) <= 0)
    assert np.all(np.diff(model.explained_variance_ratio_) <= 0)
    released = sorted(zip(along[:-1].tolist(), rows.tolist(), strict=True))
    kept = zip(model.explained_variance_.tolist(), model.components_.tolist(), strict=True)
    assert sorted(kept) == released
    np.testing.assert_allclose(
        model.explained_variance_ratio_, model.explained_variance_ / along.sum()
    )


def test_on_a_line_there_is_nothing_to_choose() -> None:
    line, x = cdp.Ball("euclidean:1", [0.0], 1.0), np.linspace(-1.0, 1.0, 50)[:, None]
    with pytest.raises(ValueError, match="nothing to choose"):
        cdp.principal_components(x, 1, line, LARGE)
    np.testing.assert_array_equal(TangentPCA(line, LARGE).fit(x).components_, [[1.0]])


def test_of_two_ways_that_of_less_noise_is_taken() -> None:
    records = ellipsoid(50)
    for delta, kind in ((1e-6, cdp.PureDP), (0.2, cdp.GDP)):
        guarantee = cdp.ApproxDP(1.0, delta)
        found = cdp.principal_components(records, 2, BALL, guarantee, coverage=False)
        assert isinstance(found.calibrated_to, kind)


def test_a_release_warns_where_noise_leaves_nothing() -> None:
    with pytest.warns(NoiseWarning, match=r"principal components up to \d?\d % of the largest var"):
        cdp.principal_components(ellipsoid(100), 2, BALL, cdp.PureDP(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        cdp.principal_components(ellipsoid(1500), 2, BALL, cdp.PureDP(1.0))


def test_one_record_moves_the_shares_by_the_root_of_two() -> None:
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    rows = np.vstack([axes, -axes, np.eye(5), rng.standard_normal((40, 5)), np.zeros(5)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    rows = np.vstack([rows, np.full(5, np.nan), np.nextafter(axes, 2)])
    for count in (1, 2, 5):
        shares = shares_along(rows, axes[:count])
        assert shares.min() >= 0
        assert shares.sum(axis=1).max() <= 1.0
        apart = np.linalg.norm(shares[:, None] - shares[None], axis=2).max()
        assert 1.0 < apart <= np.sqrt(2.0)
    assert apart > 1.4  # so the bound is met


def test_variances_are_about_the_mean_and_not_about_the_released_point() -> None:
    """Over 120 groups: without the expected square of the mean's noise they are .011 too large.

    Of the sum of squares that the noise of a group's mean has, the deviation is .006.
    """
    ball, groups = cdp.Ball("euclidean:6", [0.0] * 6, 1.0), np.repeat(np.arange(120), 300)
    records = 0.05 * np.random.default_rng(4).standard_normal((len(groups), 6))
    how = {"groups": groups, "weights": (0.001, 0.1, 0.899), "coverage": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        found = cdp.principal_components(records, 2, ball, cdp.GDP(5.0), **how)
    off, errors, squares = [], [], []
    for number in range(120):
        own = records[groups == number] - records[groups == number].mean(axis=0)
        along = ((own @ found[number].value.T) ** 2).mean(axis=0)
        truth = np.append(along, (own**2).sum(axis=1).mean() - along.sum())
        off.append(found[number].parts[1].value - truth)
        errors.append(np.linalg.norm(off[-1]))
        squares.append(found[number].parts[0].scale ** 2 * 6)
    assert abs(np.sum(off, axis=1).mean()) < 0.005
    assert 0.0095 < np.mean(squares) < 0.012  # what was not taken off
    told = found[0].parts[1].expected_error
    assert 0.5 * told < np.mean(errors) < 1.3 * told


def test_the_mean_gets_more_of_the_budget_where_its_noise_would_count() -> None:
    shares = [
        cdp.principal_components(ellipsoid(n), 1, BALL, guarantee, coverage=False)
        .parts[0]
        .guarantee.epsilon
        for n, guarantee in ((1500, cdp.PureDP(1.0)), (50_000, cdp.PureDP(1.0)))
    ]
    assert shares[0] >= 0.3 - 1e-9
    assert shares[1] == pytest.approx(0.2)


def test_a_release_warns_where_the_noise_of_the_mean_hides_the_components() -> None:
    with pytest.warns(NoiseWarning, match="principal components"):
        cdp.principal_components(
            ellipsoid(1500), 2, BALL, cdp.PureDP(1.0), weights=(0.02, 0.88, 0.1)
        )
