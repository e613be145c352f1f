"""The private quantile: its law, what it promises, and what its values can never cause."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import curvedp as cdp
from chance import CONFIDENCE
from curvedp import _core
from curvedp.audit import audit_samples, likelihood_ratio_audit
from curvedp.mechanisms import GridQuantile, RankExponential, bounded_range_epsilon, outward_scale
from exact_laws import detectable_gap, ks_critical, ks_statistic
from many_releases import copies
from reference import quantile as reference

GUARANTEES = [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(1.0)]


def mechanism(guarantee: Any = None, q: float = 0.5, **options: Any) -> RankExponential:
    given = {"low": 0.0, "high": 1.0, "guarantee": guarantee or cdp.PureDP(1.0), **options}
    return RankExponential(q, **given)


KINDS = [RankExponential, GridQuantile]


# ------------------------------------------------------------------ the law

DATA = {
    "spread": np.random.default_rng(1).random(40),
    "one": np.array([0.3]),
    "ties": np.array([0.2, 0.2, 0.2, 0.7, 0.7]),
    "at the ends": np.array([0.0, 0.0, 1.0, 5.0, -3.0]),
    "not numbers": np.array([np.nan, np.inf, -np.inf, 0.4]),
    "many": np.random.default_rng(2).random(900),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("base", ["uniform", "log-uniform"])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.9, 1.0])
def test_draws_follow_the_exact_law_and_no_other(name: str, base: str, q: float) -> None:
    values, low, n = DATA[name], 0.01, 45_000
    kernel = mechanism(q=q, base=base, low=low)
    sample = kernel.sample(values, _core.Stream.from_key(b"\1" * 32, 0), n)
    target = round(2 * q * len(values)) / 2 / len(values)

    def cdf(y: np.ndarray, factor: float = 1.0, base: str = base) -> np.ndarray:
        return reference.cdf(y, values, target, factor * kernel.scale, low, 1.0, base)

    assert ks_statistic(sample, cdf) <= ks_critical(n)
    grid = np.linspace(low, 1.0, 2000)
    for wrong in (
        lambda y: cdf(y, 0.7),
        lambda y: cdf(y, base="uniform" if base == "log-uniform" else "log-uniform"),
    ):
        if np.abs(wrong(grid) - cdf(grid)).max() >= detectable_gap(n):
            assert ks_statistic(sample, wrong) > ks_critical(n)


def test_wrong_laws_are_told_apart_in_the_test_above() -> None:
    """Half the budget or the other base measure shows in the draws of the first data set."""
    grid, n = np.linspace(0.01, 1.0, 2000), 45_000
    right = reference.cdf(grid, DATA["spread"], 0.9, 2.0, 0.01, 1.0)
    for scale, base in ((1.4, "uniform"), (2.0, "log-uniform")):
        wrong = reference.cdf(grid, DATA["spread"], 0.9, scale, 0.01, 1.0, base)
        assert np.abs(wrong - right).max() >= detectable_gap(n)


def test_density_is_that_of_the_law() -> None:
    values, points = DATA["spread"], np.random.default_rng(3).random(200)
    kernel = mechanism(q=0.75)
    edges, probabilities = reference.law(values, 0.75, kernel.scale, 0.0, 1.0)
    cell = np.searchsorted(edges, points) - 1
    expected = np.log(np.array(probabilities)[cell] / np.diff(edges)[cell])
    np.testing.assert_allclose(kernel.log_density(points, values), expected, rtol=1e-12)


def test_tiny_masses_keep_their_ratio() -> None:
    """Intervals of length 1e-200, 2e-200 and 3e-200 that weigh e^460 times more than the rest."""
    values = np.array([0.0, 1e-200, 3e-200, 6e-200])
    kernel = mechanism(cdp.PureDP(1840.0), q=0.5, low=-1.0)
    log_mass = kernel._intervals(values)[1]
    _, p = reference.law(values, 0.5, kernel.scale, -1.0, 1.0)
    total = np.logaddexp.reduce(log_mass)
    np.testing.assert_allclose(np.exp(log_mass - total), p, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 9, 10, 99, 100, 101, 5000])
def test_groups_of_every_size_reach_every_interval(size: int) -> None:
    values = (np.arange(size) + 0.5) / size
    for q in (0.0, 0.5, 1.0):
        release = mechanism(cdp.PureDP(1e4), q=q).sample(values, n_samples=50)
        assert np.abs(release - q).max() <= 1.0 / size


def test_streams_are_uniform_and_exponential() -> None:
    stream, n = _core.Stream.from_key(b"\7" * 32, 0), 100_000
    uniform, exponential = np.empty(n), np.empty(n)
    stream.uniform(uniform)
    stream.exponential(exponential)
    assert uniform.min() > 0
    assert uniform.max() < 1
    assert ks_statistic(uniform, stats.uniform.cdf) <= ks_critical(n)
    assert ks_statistic(exponential, stats.expon.cdf) <= ks_critical(n)
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) < 5 / math.sqrt(n)


# ------------------------------------------------------------------ what it promises

numbers = st.floats(min_value=-0.5, max_value=1.5, allow_nan=False)


@settings(max_examples=60)
@given(
    st.lists(numbers, min_size=1, max_size=8),
    st.lists(numbers, min_size=1, max_size=3),
    st.floats(0, 1),
)
def test_losses_of_neighbours_lie_in_an_interval_of_length_epsilon(
    values: list[float], replaced: list[float], q: float
) -> None:
    k = min(len(replaced), len(values))
    other = np.array([*replaced[:k], *values[k:]])
    kernel = mechanism(q=q, records_per_unit=k)
    edges = np.unique(np.clip([*values, *other, 0.0, 1.0], 0.0, 1.0))
    inside = 0.5 * (edges[1:] + edges[:-1])
    loss = kernel.log_density(inside, values) - kernel.log_density(inside, other)
    assert np.ptp(loss) <= 1.0 + 1e-12
    assert loss.min() <= 1e-12  # the densities integrate to 1, so neither is larger everywhere
    assert loss.max() >= -1e-12


def worst_range(kernel: RankExponential) -> float:
    """Largest range of losses: a record crosses from one end of the interval to the other."""
    y = np.linspace(0.001, 0.999, 999)
    a, b = np.array([0.0, 0.4, 0.6]), np.array([1.0, 0.4, 0.6])
    return float(np.ptp(kernel.log_density(y, a) - kernel.log_density(y, b)))


def test_the_range_is_attained_so_no_less_noise_would_do() -> None:
    assert worst_range(mechanism()) == pytest.approx(1.0, rel=1e-12)


def needed_mu(p: np.ndarray, r: np.ndarray, loss: np.ndarray) -> float:
    """Smallest mu whose Gaussian curve lies below that of a pair of discrete laws.

    The curve is piecewise linear and the Gaussian one convex, so its vertices decide.
    """
    order = np.argsort(-loss)
    power, level = np.cumsum(p[order])[:-1], np.cumsum(r[order])[:-1]
    return float(np.max(special.ndtri(power) - special.ndtri(level), initial=0.0))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_trade_off_curves_stay_above_the_gaussian_one(epsilon: float) -> None:
    """Exact curves of random neighbours; the worst found comes close to mu."""
    rng = np.random.default_rng(5)
    mu = cdp.PureDP(epsilon).to_gdp(bounded_range=True).mu
    worst = 0.0
    for _ in range(400):
        n = int(rng.integers(1, 6))
        values = rng.random(n) ** rng.uniform(0.2, 5)
        other = values.copy()
        other[0] = rng.choice([0.0, 1.0, rng.random()])
        p, r, loss = reference.losses(values, other, rng.random(), 2 / epsilon, 0.0, 1.0)
        worst = max(worst, needed_mu(p, r, loss))
    print(f"epsilon = {epsilon}: mu needed {worst:.5f}, claimed {mu:.5f}")
    assert 0.85 * mu < worst <= mu
    assert mu < cdp.PureDP(epsilon).to_gdp().mu


def test_the_curve_of_half_the_noise_would_be_seen() -> None:
    values, other = np.array([0.0, 0.5]), np.array([1.0, 0.5])
    p, r, loss = reference.losses(values, other, 0.5, 1.0, 0.0, 1.0)
    assert needed_mu(p, r, loss) > cdp.PureDP(1.0).to_gdp(bounded_range=True).mu


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.1, 1.0, 7.0, 40.0])
def test_calibrations_imply_what_was_asked_for_and_waste_nothing(size: float) -> None:
    epsilon = bounded_range_epsilon(cdp.GDP(size))
    assert cdp.PureDP(epsilon).to_gdp(bounded_range=True).mu <= size
    assert cdp.PureDP(epsilon * (1 + 1e-9)).to_gdp(bounded_range=True).mu > size
    logit = special.log_ndtr(0.5 * size) - special.log_ndtr(-0.5 * size)
    assert epsilon == pytest.approx(2 * logit, rel=1e-6)
    epsilon = bounded_range_epsilon(cdp.ZCDP(size))
    assert cdp.PureDP(epsilon).to_zcdp(bounded_range=True).rho <= size * (1 + 1e-15)
    assert epsilon == pytest.approx(math.sqrt(8 * size), rel=1e-15)
    assert bounded_range_epsilon(cdp.PureDP(size)) == size


def test_approximate_requests_take_the_better_of_two_ways() -> None:
    assert bounded_range_epsilon(cdp.ApproxDP(1.0, 1e-300)) == 1.0
    loose = cdp.ApproxDP(0.1, 0.05)
    epsilon = bounded_range_epsilon(loose)
    assert epsilon > 0.1
    implied = cdp.PureDP(epsilon).to_gdp(bounded_range=True)
    assert implied.to_delta(0.1) <= 0.05
    with pytest.raises(TypeError, match="guarantee"):
        bounded_range_epsilon(cdp.Unproved(cdp.GDP(1.0), "as published"))


@pytest.mark.parametrize("n_samples", [40_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ZCDP(0.5)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_audit_finds_no_more_than_is_claimed(kind: Any, guarantee: Any, n_samples: int) -> None:
    a, b = np.array([0.0, 0.45, 0.55]), np.array([1.0, 0.45, 0.55])
    kernel = kind(0.5, low=0.0, high=1.0, guarantee=guarantee)
    result = likelihood_ratio_audit(kernel, a, b, n_samples=n_samples, confidence=CONFIDENCE)
    assert result.passed, result.report()
    assert result.lower_bound > 0.1 * result.claimed_value


@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ZCDP(0.5)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_audit_flags_a_third_of_the_noise(kind: Any, guarantee: Any) -> None:
    a, b = np.array([0.0, 0.45, 0.55]), np.array([1.0, 0.45, 0.55])
    kernel = kind(0.5, low=0.0, high=1.0, guarantee=guarantee)
    kernel.scale /= 3
    result = likelihood_ratio_audit(
        kernel, a, b, n_samples=40_000, claimed=guarantee, confidence=CONFIDENCE
    )
    assert not result.passed, result.report()


def test_audit_of_whole_releases() -> None:
    scores, public = [], {"low": 0.0, "high": 1.0, "guarantee": cdp.PureDP(4.0)}
    for data in ([0.0, 0.45, 0.55], [1.0, 0.45, 0.55]):
        groups, values = copies(3_000, np.array(data))
        releases = cdp.quantile(values, 0.5, **public, **groups)
        scores.append([-float(release.value) for release in releases])
    result = audit_samples(*scores, cdp.PureDP(4.0), confidence=CONFIDENCE)
    assert result.passed, result.report()
    result = audit_samples(*scores, cdp.PureDP(0.4), confidence=CONFIDENCE)
    assert not result.passed, result.report()


# ------------------------------------------------------------------ the release


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
def test_release_carries_its_terms(guarantee: Any) -> None:
    values = np.random.default_rng(1).normal(40, 12, 3000)
    release = cdp.quantile(values, 0.25, low=0, high=120, guarantee=guarantee, records_per_unit=2)
    assert release.value.shape == ()
    assert abs(float(release.value) - np.quantile(values, 0.25)) < 3
    assert release.guarantee == guarantee
    assert release.n == 3000
    assert (release.sensitivity, release.records_per_unit) == (2.0, 2)
    assert release.scale == outward_scale(4, bounded_range_epsilon(guarantee))
    assert (float(release.ball_center[0]), release.ball_radius) == (60.0, 60.0)
    assert release.assumptions == frozenset()
    assert "quantile at level 0.25" in release.report()
    assert cdp.Release.from_json(release.to_json()) == release


def test_ranks_are_off_by_a_few_scales() -> None:
    values = np.linspace(0, 1, 1001)
    drawn = mechanism(cdp.PureDP(0.5)).sample(values, n_samples=4000)
    off = np.abs(np.searchsorted(values, drawn) - 500.5)
    scale = 4.0
    assert off.mean() == pytest.approx(scale, rel=0.2)
    assert (off > 10 * scale).mean() < 1e-2


@pytest.mark.parametrize("base", ["uniform", "log-uniform"])
def test_values_lie_on_the_public_grid(base: str) -> None:
    kernel = mechanism(base=base, low=0.25, high=3.0)
    sample = kernel.sample(np.array([0.7, 1.1]), n_samples=500)
    if base == "uniform":
        steps = (sample - 0.25) * 2.0**31
        assert np.array_equal(steps, np.round(steps))
    else:
        steps = (np.log(sample) - np.log(0.25)) * 2.0**31
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-5)
    assert len(np.unique(sample)) > 450


def test_ledger_spends_before_noise_is_drawn() -> None:
    values = np.arange(10.0)
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        cdp.quantile(values, 0.5, low=0, high=10, guarantee=cdp.PureDP(0.75), ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            cdp.quantile(values, 0.5, low=0, high=10, guarantee=cdp.PureDP(0.5), ledger=ledger)
        with pytest.raises(ValueError, match="low"):
            cdp.quantile(values, 0.5, low=9, high=1, guarantee=cdp.PureDP(0.1), ledger=ledger)
        assert ledger.remaining == cdp.PureDP(0.25)


def test_seeds_reproduce_and_void_the_guarantee() -> None:
    values = np.random.default_rng(1).random(50)
    how: dict[str, Any] = {"low": 0, "high": 1, "step": 2.0**-50, "guarantee": cdp.GDP(1.0)}
    one, two, other = (
        cdp.quantile(values, 0.5, seed=seed, **how) for seed in (918273645, 918273645, 7)
    )
    assert one == two
    assert one.value != other.value
    assert one.guarantee == cdp.Unproved(cdp.GDP(1.0), one.guarantee.why)
    assert "918273645" not in one.to_json() + one.report() + repr(one)
    fresh = {float(cdp.quantile(values, 0.5, **how).value) for _ in range(20)}
    assert len(fresh) == 20


@pytest.mark.parametrize("base", ["uniform", "log-uniform"])
@pytest.mark.parametrize(
    "values",
    [
        [np.nan] * 5,
        [np.inf, -np.inf, 0.0, -0.0],
        [5e-324, 1e308, -1e308],
        [0.5],
        [0.5] * 1000,
        [10**400, None, 1],
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        np.array([1, 0, 1], dtype=np.int8),
        np.array([0.1, 0.2], dtype=np.float32),
    ],
)
def test_no_value_raises_or_warns(values: Any, base: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for guarantee in (cdp.PureDP(1e-6), cdp.PureDP(1e6), cdp.GDP(1.0)):
            release = cdp.quantile(values, 0.9, low=0.01, high=2.0, guarantee=guarantee, base=base)
            assert 0.01 <= float(release.value) <= 2.0


BAD = (ValueError, TypeError)


@pytest.mark.parametrize(
    "values", [[], 3.0, [[1.0]], "x", [1j], [[1.0], [2.0, 3.0]], [object()], None]
)
def test_shapes_and_dtypes_of_values_are_checked(values: Any) -> None:
    with pytest.raises(BAD, match="values"):
        cdp.quantile(values, 0.5, low=0.0, high=1.0, guarantee=cdp.PureDP(1.0))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"q": -0.1}, "q"),
        ({"q": 1.1}, "q"),
        ({"q": np.nan}, "q"),
        ({"q": "0.5"}, "q"),
        ({"low": 1.0}, "low"),
        ({"low": 2.0}, "low"),
        ({"low": np.nan}, "low"),
        ({"high": np.inf}, "high"),
        ({"high": None}, "high"),
        ({"low": -1e308, "high": 1e308}, "low"),
        ({"low": 0.0, "base": "log-uniform"}, "positive"),
        ({"low": -1.0, "base": "log-uniform"}, "positive"),
        ({"base": "normal"}, "base"),
        ({"records_per_unit": 0}, "records_per_unit"),
        ({"records_per_unit": 1.5}, "records_per_unit"),
        ({"guarantee": 1.0}, "guarantee"),
        ({"guarantee": cdp.Unproved(cdp.GDP(1.0), "x")}, "guarantee"),
        ({"guarantee": cdp.PureDP(1e300)}, "scale"),
        ({"seed": -1}, "seed"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], word: str) -> None:
    given = {"q": 0.5, "low": 0.0, "high": 1.0, "guarantee": cdp.PureDP(1.0), **options}
    with pytest.raises(BAD, match=word):
        cdp.quantile([0.1, 0.2], given.pop("q"), **given)
