"""The audit on mechanisms whose exact privacy is known, and the coverage of its bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from curvedp._text import rounded_down
from curvedp.audit import audit_release_function, audit_samples, likelihood_ratio_audit
from curvedp.audit.bounds import (
    clopper_pearson,
    epsilon_lower_bound,
    mu_lower_bound,
    rho_lower_bound,
)
from curvedp.privacy import GDP, ZCDP, ApproxDP, PureDP, Unproved

SEED = 20_240_607


@dataclasses.dataclass
class AdditiveLaplace:
    """x + Laplace(scale) on the line: 1/scale-DP for values a distance 1 apart."""

    scale: float
    guarantee: object

    def sample(self, true_value, stream, n_samples=1):
        return true_value + stream.laplace(scale=self.scale, size=n_samples)

    def log_density(self, point, true_value):
        return -np.abs(point - true_value) / self.scale


@dataclasses.dataclass
class AdditiveGaussian:
    """x + N(0, scale² I) in the plane: 1/scale-GDP for values a distance 1 apart."""

    scale: float
    guarantee: object

    def sample(self, true_value, stream, n_samples=1):
        return true_value + stream.normal(scale=self.scale, size=(n_samples, 2))

    def log_density(self, point, true_value):
        return -((point - true_value) ** 2).sum(axis=-1) / (2 * self.scale**2)


def laplace_audit(claimed, *, scale, n_samples):
    return likelihood_ratio_audit(
        AdditiveLaplace(scale, claimed),
        0.0,
        1.0,
        n_samples=n_samples,
        stream=np.random.default_rng(SEED),
    )


def gaussian_audit(claimed, *, scale, n_samples, **options):
    return likelihood_ratio_audit(
        AdditiveGaussian(scale, claimed),
        np.zeros(2),
        np.array([1.0, 0.0]),
        n_samples=n_samples,
        stream=np.random.default_rng(SEED),
        **options,
    )


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_correct_laplace_passes_and_is_nearly_exhausted(epsilon):
    result = laplace_audit(PureDP(epsilon), scale=1 / epsilon, n_samples=200_000)
    assert result.passed
    assert result.lower_bound > epsilon - 0.1


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_correct_gaussian_passes_and_is_nearly_exhausted(mu):
    result = gaussian_audit(GDP(mu), scale=1 / mu, n_samples=200_000)
    assert result.passed
    assert result.lower_bound > mu - 0.1
    assert len(result.events) == 50


def test_ten_per_cent_too_little_noise_is_flagged_with_enough_samples():
    assert not laplace_audit(PureDP(1.0), scale=0.9, n_samples=200_000).passed
    assert not gaussian_audit(GDP(1.0), scale=0.9, n_samples=400_000).passed


def test_ten_per_cent_too_little_noise_stays_hidden_in_a_small_sample():
    assert laplace_audit(PureDP(1.0), scale=0.9, n_samples=1_000).passed


def test_missing_factor_two_is_flagged_with_few_samples():
    assert not laplace_audit(PureDP(1.0), scale=0.5, n_samples=3_000).passed
    assert not gaussian_audit(GDP(1.0), scale=0.5, n_samples=3_000).passed


def test_zcdp_claim_of_a_gaussian():
    assert gaussian_audit(ZCDP(0.5), scale=1.0, n_samples=200_000).passed
    result = gaussian_audit(ZCDP(0.5), scale=0.5, n_samples=20_000)
    assert not result.passed
    assert result.parameter == "rho"
    assert 0.5 < result.lower_bound < 2.0


def test_approximate_dp_claim_of_a_gaussian():
    delta = 1e-3
    epsilon = 2.0

    def delta_of_gaussian(mu):
        below = stats.norm.cdf(-epsilon / mu - mu / 2)
        return stats.norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * below

    grid = np.linspace(0.1, 2.0, 2000)
    mu = grid[delta_of_gaussian(grid) <= delta][-1]
    claim = ApproxDP(epsilon, delta)
    assert gaussian_audit(claim, scale=1 / mu, n_samples=200_000).passed
    assert not gaussian_audit(claim, scale=0.5 / mu, n_samples=50_000).passed


def test_delta_that_hides_everything_gives_a_zero_bound():
    result = laplace_audit(ApproxDP(0.1, 1 - 1e-9), scale=0.2, n_samples=5_000)
    assert result.lower_bound == 0.0
    assert result.passed


def test_unproved_release_is_audited_against_what_it_claims():
    claim = Unproved(PureDP(1.0), "for reproduction only")
    assert laplace_audit(claim, scale=1.0, n_samples=20_000).passed
    flagged = laplace_audit(claim, scale=0.5, n_samples=20_000)
    assert not flagged.passed
    assert flagged.claimed == PureDP(1.0)


@pytest.mark.parametrize("swap", [False, True])
def test_either_direction_finds_a_one_sided_leak(swap):
    """Output 1 with probability 0.2 at a and 0.01 at b: the other event is harmless."""
    generator = np.random.default_rng(SEED)
    leaky = (generator.random(20_000) < 0.2).astype(float)
    quiet = (generator.random(20_000) < 0.01).astype(float)
    scores = (-quiet, -leaky) if swap else (leaky, quiet)
    result = audit_samples(*scores, PureDP(1.0))
    assert not result.passed
    assert 2.3 < result.lower_bound < np.log(20)
    assert result.strongest.direction == ("b over a" if swap else "a over b")


def test_infinite_ratio_is_found_and_finite():
    generator = np.random.default_rng(SEED)
    scores_a = np.where(generator.random(10_000) < 0.5, np.inf, 0.0)
    result = audit_samples(scores_a, np.zeros(10_000), PureDP(1.0))
    assert not result.passed
    assert np.isfinite(result.lower_bound)


# ------------------------------------------------------------------ the statistics behind it


def test_clopper_pearson_bounds_invert_the_binomial_tails():
    trials, error = 40, 1e-4
    hits = np.arange(trials + 1)
    lower, upper = clopper_pearson(hits, trials, error)
    inner = slice(1, None)
    np.testing.assert_allclose(
        stats.binom.sf(hits[inner] - 1, trials, lower[inner]), error, rtol=1e-8
    )
    np.testing.assert_allclose(stats.binom.cdf(hits[:-1], trials, upper[:-1]), error, rtol=1e-8)
    assert lower[0] == 0.0
    assert upper[-1] == 1.0


@pytest.mark.parametrize(
    ("bound", "neighbour_of", "value"),
    [
        (epsilon_lower_bound, lambda q: np.minimum(np.e * q, 1 - (1 - q) / np.e), 1.0),
        (mu_lower_bound, lambda q: stats.norm.cdf(stats.norm.ppf(q) + 1.0), 1.0),
        (rho_lower_bound, lambda q: stats.norm.cdf(stats.norm.ppf(q) + 1.0), 0.5),
    ],
    ids=["epsilon", "mu", "rho"],
)
@pytest.mark.parametrize("q", [0.003, 0.05, 0.3, 0.62])
def test_correct_mechanism_is_flagged_no_more_often_than_stated(bound, neighbour_of, value, q):
    """Summed over every pair of counts, not simulated; at an error large enough to see."""
    trials, error = 120, 0.01
    p = float(neighbour_of(q))
    hits = np.arange(trials + 1)
    lower, upper = clopper_pearson(hits, trials, error)
    flagged = bound(lower[:, None], upper[None, :]) > value + 1e-12
    probability = (
        stats.binom.pmf(hits, trials, p)[:, None] * stats.binom.pmf(hits, trials, q)[None, :]
    )
    assert probability[flagged].sum() <= 2 * error
    assert flagged.any()


def test_bonferroni_keeps_the_family_wise_error():
    """200 audits of a mechanism that uses its whole budget, at 80 % confidence: more than 69 flags
    would have probability below 1e-6."""
    assert stats.binom.sf(69, 200, 0.2) < 1e-6
    generator = np.random.default_rng(SEED)
    flagged = 0
    for _ in range(200):
        scores_a, scores_b = generator.normal(1.0, size=2000), generator.normal(0.0, size=2000)
        flagged += not audit_samples(scores_a, scores_b, GDP(1.0), confidence=0.8).passed
    assert flagged <= 69


def test_threshold_and_counts_come_from_different_draws():
    """A first half that lies about the mechanism cannot forge a bound."""
    generator = np.random.default_rng(SEED)
    honest = generator.normal(size=(2, 5_000))
    forged = np.stack((np.full(5_000, 9.0), np.full(5_000, -9.0)))
    scores_a, scores_b = np.concatenate((forged, honest), axis=1)
    result = audit_samples(scores_a, scores_b, PureDP(0.1))
    assert result.passed
    assert result.lower_bound == 0.0


def test_rho_bound_of_two_coins_is_the_supremum_over_orders():
    p, q = 0.6, 0.2
    orders = 1 + np.geomspace(1e-4, 300, 20_001)
    moments = p**orders * q ** (1 - orders) + (1 - p) ** orders * (1 - q) ** (1 - orders)
    exact = (np.log(moments) / (orders - 1) / orders).max()
    found = float(rho_lower_bound(np.array(p), np.array(q)))
    assert exact * 0.99 < found <= exact * (1 + 1e-9)


# ------------------------------------------------------------------ whole releases


@dataclasses.dataclass(frozen=True)
class FakeRelease:
    value: float
    guarantee: object


def noisy_mean(generator, scale, guarantee):
    def release(data):
        clipped = np.clip(data, 0.0, 1.0)
        return FakeRelease(clipped.mean() + generator.laplace(scale=scale), guarantee)

    return release


def test_release_function_is_audited_end_to_end():
    generator = np.random.default_rng(SEED)
    data_a = np.zeros(10)
    data_b = data_a.copy()
    data_b[3] = 1.0
    options = {"score": lambda value: -value, "n_releases": 5_000}
    honest = noisy_mean(generator, 0.1, PureDP(1.0))
    broken = noisy_mean(generator, 0.05, PureDP(1.0))
    assert audit_release_function(honest, data_a, data_b, **options).passed
    assert not audit_release_function(broken, data_a, data_b, **options).passed


def test_release_function_without_guarantee_needs_a_claim():
    generator = np.random.default_rng(SEED)
    data = np.zeros((4, 2))

    def release(records):
        return records.mean() + generator.normal()

    with pytest.raises(TypeError, match="claimed"):
        audit_release_function(release, data, data, float, n_releases=10)
    result = audit_release_function(release, data, data, float, n_releases=10, claimed=GDP(1.0))
    assert result.passed


def test_data_sets_that_are_not_neighbouring_are_refused():
    with pytest.raises(ValueError, match="differ in at most 1"):
        audit_release_function(float, np.zeros(3), np.ones(3), float, claimed=PureDP(1.0))
    with pytest.raises(ValueError, match="one shape"):
        audit_release_function(float, np.zeros(3), np.zeros((3, 2)), float, claimed=PureDP(1.0))


# ------------------------------------------------------------------ parameters and report


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan"), -1.0])
def test_confidence_outside_the_unit_interval_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        audit_samples(np.zeros(9), np.zeros(9), PureDP(1.0), confidence=confidence)


def test_bad_samples_and_claims_are_refused():
    with pytest.raises(ValueError, match="at least 4"):
        audit_samples([1.0], np.zeros(9), PureDP(1.0))
    with pytest.raises(ValueError, match="NaN"):
        audit_samples([np.nan] * 9, np.zeros(9), PureDP(1.0))
    with pytest.raises(ValueError, match="n_thresholds"):
        audit_samples(np.zeros(9), np.zeros(9), GDP(1.0), n_thresholds=0)
    with pytest.raises(TypeError, match="claimed"):
        audit_samples(np.zeros(9), np.zeros(9), 1.0)


def test_report_states_verdict_bound_and_counts():
    result = laplace_audit(PureDP(1.0), scale=0.5, n_samples=10_000)
    hits, trials, neighbour_hits, _ = result.counts
    report = result.report()
    assert "REFUTED" in report
    assert f"{hits} times in {trials}" in report
    assert f"{neighbour_hits} times" in report
    assert f"{rounded_down(result.lower_bound, 4)} > 1" in report
    assert "compatible" in laplace_audit(PureDP(3.0), scale=0.5, n_samples=10_000).report()
