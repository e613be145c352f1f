"""The permutation test of a trend: its level, its power, its privacy, what it refuses."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest
from scipy.stats import binom, norm

import curvedp as cdp
from chance import CONFIDENCE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.errors import NoiseWarning
from curvedp.regression import trend, trend_features
from curvedp.regression.trend import TrendRelease, _labels, _weights
from curvedp.statistics import permutation
from curvedp.statistics.permutation import Labels, PermutationDesign
from many_releases import copies

PLANE = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)


def design(ball, n, guarantee, kernel="linear", relabellings=99, q=1, unit=1) -> PermutationDesign:
    """Of features that are public: nothing is spent on them."""
    test = cdp.TrendTest(x_range=(0.0, 1.0), kernel=kernel, relabellings=relabellings)
    return PermutationDesign.of(test, ball, guarantee, _labels(n, q, unit))


def weights(times: np.ndarray, kernel: str = "linear") -> np.ndarray:
    """Of a linear kernel about the middle of the range, of the Gaussian one about their mean."""
    return _weights(times) if kernel == "gaussian" else np.atleast_2d(times.T) / len(times)


def skewed(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    """Off-centre, heavy tails, cut to the ball of radius 1."""
    coords = 0.4 + rng.exponential(size=(n, dim)) ** 2 / dim
    return coords / np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), 1.0)


# ------------------------------------------------------------------ level and power


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("guarantee", [cdp.GDP(1.0), cdp.GDP(50.0), cdp.PureDP(2.0)], ids=str)
@pytest.mark.parametrize(("dim", "n", "q"), [(6, 40, 1), (2, 12, 3), (120, 30, 1)])
def test_the_level_holds_at_every_size_and_dimension(kernel, guarantee, dim, n, q) -> None:
    """Skewed covariates in a corner of their range, and records whose spread is their own."""
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    own, rng, count = design(ball, n, guarantee, kernel, q=q), np.random.default_rng(dim), 1000
    found = 0
    for _ in range(count):
        times = np.minimum(0.5, rng.exponential(0.1, (n, q)) - 0.5)
        found += own.rejects(skewed(rng, n, dim), weights(times, kernel), rng)
    # outside with probability 1e-5
    assert binom.ppf(5e-6, count, 0.05) <= found <= binom.ppf(1 - 5e-6, count, 0.05)


def test_dependent_records_break_the_level() -> None:
    """The control: records of one person, who is measured at one age."""
    own, rng, found = design(PLANE, 60, cdp.GDP(50.0)), np.random.default_rng(0), 0
    for _ in range(200):
        persons = np.repeat(skewed(rng, 6, 2), 10, axis=0)
        found += own.rejects(persons, weights(np.repeat(rng.uniform(-0.5, 0.5, 6), 10)), rng)
    assert found > 60


def test_power_is_that_of_the_test() -> None:
    ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    space, n, x = ball.manifold, 300, np.linspace(15.0, 75.0, 300)
    public = {"slope": 0.35, "spread": 0.7}
    planned = cdp.trend_power(ball, n, cdp.GDP(1.0), **public)
    rng, found = np.random.default_rng(1), 0
    for _ in range(200):
        direction = rng.standard_normal(6)
        coords = 0.7 / math.sqrt(6) * rng.standard_normal((n, 6))
        coords += 0.35 * np.outer((x - 45.0) / 60.0, direction / np.linalg.norm(direction))
        y = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
        found += cdp.trend_test(x, y, ball, cdp.GDP(1.0), x_range=(15.0, 75.0)).rejects
    assert 0.2 < planned < 0.95
    assert abs(found / 200 - planned) < 0.25  # 7 deviations  # four standard errors


@pytest.mark.parametrize(
    ("radius", "dim", "n", "slope", "spread", "least"),
    [
        (0.785, 2, 100, 0.5, 0.1, 0.8),
        (0.785, 2, 300, 0.1, 0.1, 0.85),
        (1.0, 36, 100, 0.5, 0.3, 0.5),
    ],
)
def test_a_ball_that_is_wide_beside_the_records_costs_little(
    radius, dim, n, slope, spread, least
) -> None:
    """Noise of the ball's size finds these in 0.25, 0.11 and 0.13 of the cases."""
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), radius)
    public = {"slope": slope, "spread": spread, "simulations": 150}
    assert cdp.trend_power(ball, n, cdp.GDP(1.0), **public) > least


@pytest.mark.parametrize("guarantee", [cdp.GDP(1.0), cdp.PureDP(2.0)], ids=str)
def test_the_level_holds_about_private_middles(guarantee) -> None:
    """Skewed covariates in a corner of their range, skewed records off the ball's centre."""
    ball, n = cdp.Ball(cdp.Euclidean(3), np.zeros(3), 1.0), 40
    test = cdp.TrendTest(x_range=(0.0, 1.0), relabellings=99)
    own = trend._design(test, ball, guarantee, n, 1)
    middles, rng, count = trend._middles(test, own, n, 1), np.random.default_rng(5), 1500
    found = 0
    for _ in range(count):
        times = np.minimum(0.5, rng.exponential(0.1, n) - 0.5)
        keys = _core.GroupKeys.numbered(rng.bytes(32))
        streams = [keys.part(stage).first() for stage in range(3)]
        features, about = trend._about(middles, skewed(rng, n, 3), times, streams)
        assert np.linalg.norm(features, axis=1).max() <= 1 + 1e-15
        assert np.abs(about).max() <= 0.5 / n
        found += own.rejects(features, about, rng)
    assert binom.ppf(5e-6, count, 0.05) <= found <= binom.ppf(1 - 5e-6, count, 0.05)


def test_middles_that_follow_the_covariates_would_change_the_level() -> None:
    """The control: records moved to the mean of those with covariates as large or as small."""
    ball, n, found = cdp.Ball(cdp.Euclidean(3), np.zeros(3), 1.0), 40, 0
    own, rng = design(ball, n, cdp.GDP(50.0)), np.random.default_rng(6)
    for _ in range(200):
        times, coords = rng.uniform(-0.5, 0.5, n), 0.3 * rng.standard_normal((n, 3))
        coords[times > 0] -= coords[times > 0].mean(axis=0)
        coords[times < 0] -= coords[times < 0].mean(axis=0)
        found += own.rejects(coords, weights(times), rng)
    assert found <= 1


def test_noise_of_the_middles_is_that_of_what_a_record_moves() -> None:
    ball = cdp.Ball(cdp.Euclidean(2), np.zeros(2), 1.0)
    test = cdp.TrendTest(x_range=[(0.0, 1.0)] * 2)
    own = trend._design(test, ball, cdp.GDP(1.0), 50, 3)
    middles = trend._middles(test, own, 50, 3)
    parts = cdp.GDP(1.0).split((trend.MEASURED, 1 - trend.MEASURED))
    shares = parts[0].split(trend_features.OF_THREE)
    assert middles.center.scale == pytest.approx(2 * 3 / 50 / shares[0].mu, rel=1e-6)
    assert middles.middle.scale == pytest.approx(2**0.5 * 3 / 50 / shares[1].mu, rel=1e-6)
    assert middles.length.guarantee == shares[2]
    assert middles.length.sensitivity == 3
    assert own.scale == pytest.approx(own.sensitivity / parts[1].mu, rel=1e-6)
    assert cdp.privacy.compose(*shares, parts[1]).mu <= 1.0 + 1e-12


def test_several_covariates_are_sought_together() -> None:
    rng, n = np.random.default_rng(2), 3000
    x = rng.uniform(0.0, 10.0, (n, 2))
    y = 0.1 * rng.standard_normal((n, 2))
    ranges = [(0.0, 10.0)] * 2
    assert not cdp.trend_test(x, y, PLANE, cdp.GDP(1.0), x_range=ranges, seed=1).rejects
    y[:, 1] += 0.05 * (x[:, 1] - 5.0)
    assert cdp.trend_test(x, y, PLANE, cdp.GDP(1.0), x_range=ranges).rejects
    spread = 0.5 * rng.standard_normal((n, 2)) * (0.1 + np.abs(x[:, :1]) / 10.0)
    laws = cdp.trend_test(
        x[:, 0], spread, PLANE, cdp.GDP(4.0), x_range=(0.0, 10.0), kernel="gaussian", width=0.3
    )
    assert laws.rejects  # not in their mean: in their spread


@pytest.mark.parametrize("n", [5, 36, 70])
def test_the_linear_statistic_is_that_of_all_records_wherever_they_stand(n, monkeypatch) -> None:
    """Cut records move T by little: so T itself is asked, beside plain NumPy, for one far away at
    each place. The control: what a fault would make that reads the first two thirds alone."""
    ball = cdp.Ball("sphere:2", [0.0, 0.6, 0.8], 0.7)
    space, rng, seen = ball.manifold, np.random.default_rng(n), {}
    statistics, sample = PermutationDesign.statistics, trend_features.RankExponential.sample

    def seen_statistics(own, *given):
        found = statistics(own, *given)
        seen["T"] = float(found[0])
        return found

    def seen_sample(own, *given):
        found = sample(own, *given)
        seen["R"] = float(found[0])
        return found

    monkeypatch.setattr(PermutationDesign, "statistics", seen_statistics)
    monkeypatch.setattr(trend_features.RankExponential, "sample", seen_sample)

    def plain(x, y, length) -> float:
        u = space.tangent_to_coords(space.log(y, ball.center), ball.center)
        u = (u - u.mean(axis=0)) / length
        u /= np.maximum(1.0, np.linalg.norm(u, axis=1, keepdims=True))
        return float(np.linalg.norm(np.clip(x - x.mean(), -0.5, 0.5) @ u) / len(x))

    x = rng.uniform(0.0, 1.0, n)
    near, far = 0.1 * rng.standard_normal((n, 2)) + np.outer(x, [0.1, 0.0]), [0.0, 0.6]
    first, part = 2 * n // 3, []
    for place in range(n):
        coords = near.copy()
        coords[place] = far
        y = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
        # middles without noise, but for a millionth
        cdp.trend_test(x, y, ball, cdp.GDP(1e6), x_range=(0.0, 1.0), relabellings=19)
        assert seen["T"] == pytest.approx(plain(x, y, seen["R"]), rel=1e-4)
        part.append(abs(plain(x[:first], y[:first], seen["R"]) / seen["T"] - 1))
    assert min(part) > 1e-3


# ------------------------------------------------------------------ privacy


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("unit", [1, 2])
def test_no_neighbour_moves_the_lead_further_than_its_sensitivity(kernel, q, unit) -> None:
    """With everything fixed that does not depend on the records."""
    rng, n, worst = np.random.default_rng(3), 8, 0.0
    own = design(PLANE, n, cdp.GDP(1.0), kernel, q=q, unit=unit)
    for trial in range(3000):
        coords = np.sign(rng.standard_normal((n, 1))) * np.array([1.0, 0.0])
        times = 0.5 * np.sign(rng.standard_normal((n, q)))
        other, moved = coords.copy(), times.copy()
        changed = rng.choice(n, unit, replace=False)
        other[changed], moved[changed] = -coords[changed], -times[changed]
        leads = [
            own.lead(data, weights(t, kernel), np.random.default_rng(trial))
            for data, t in ((coords, times), (other, moved))
        ]
        worst = max(worst, abs(leads[0] - leads[1]))
    assert worst <= own.sensitivity + 2 * own.tolerance
    assert worst > 0.25 * own.sensitivity


def neighbours() -> list[tuple[np.ndarray, np.ndarray]]:
    """One record at the other end of range and ball, and the same without it."""
    times = np.full(12, -0.5)
    coords = -np.ones((12, 1))
    other, moved = coords.copy(), times.copy()
    other[0], moved[0] = 1.0, 0.5
    return [(other, moved), (coords, times)]


def leads(own: PermutationDesign, seed: int) -> list[float]:
    rng = np.random.default_rng
    return [own.lead(coords, weights(times), rng(seed)) for coords, times in neighbours()]


def loss(share: float, monkeypatch) -> float:
    """Lower bound on mu of the bit, from exact probabilities given public randomness."""
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    own = design(ball, 12, cdp.GDP(1.0), relabellings=19)
    scale = share * own.sensitivity
    monkeypatch.setattr(PermutationDesign, "scale", scale)
    found = np.array([leads(own, seed) for seed in range(3000)])
    rejected = norm.cdf(found / scale).mean(axis=0)
    return abs(float(norm.ppf(rejected[0]) - norm.ppf(rejected[1])))


def test_exact_probabilities_keep_the_guarantee_and_a_tenth_of_the_noise_does_not(
    monkeypatch,
) -> None:
    assert loss(1.0, monkeypatch) <= 1.0
    assert loss(0.1, monkeypatch) > 1.2  # the control


def as_they_are(middles, coords, times, streams) -> tuple[np.ndarray, np.ndarray]:
    """Features about the middles of ball and range, which are public."""
    return coords, weights(times)


def gaps(labelling: int, about=as_they_are) -> list[list[float]]:
    """Released on the neighbours, by the same relabellings, with noise as drawn."""
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    public = {"x_range": (-0.5, 0.5), "relabellings": 19}
    same, own = np.random.default_rng, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "relabelling", lambda _: same(labelling))
        patch.setattr(trend, "_about", about)
        for coords, times in neighbours():
            groups, x, y = copies(1500, times, coords)
            tests = cdp.trend_test(x, y, ball, cdp.GDP(1.0), **public, **groups)
            own.append([float(test.value) for test in tests])
    return sorted(own, key=np.mean, reverse=True)


def told_most() -> int:
    """The relabellings and noise, of 200, by which the neighbours differ most."""
    own = design(cdp.Ball("euclidean:1", [0.0], 1.0), 12, cdp.GDP(1.0), relabellings=19)
    return int(np.argmax([abs(np.subtract(*leads(own, seed))) for seed in range(200)]))


def test_the_released_gap_is_audited(monkeypatch) -> None:
    for about in (as_they_are, trend._about):
        drawn = gaps(told_most(), about)
        result = audit_samples(*drawn, cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE)
        assert result.passed, result.report()
    weak = Labels(count=12, moved=0.02, largest=0.5, total=0.5)
    for module in (trend, sys.modules[__name__]):
        monkeypatch.setattr(module, "_labels", lambda *_: weak)
    assert not audit_samples(
        *gaps(told_most()), cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE
    ).passed  # the control


# ------------------------------------------------------------------ the call


def test_the_release_says_what_was_done_and_is_stored_whole() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, 200), 0.3 * rng.standard_normal((200, 2))
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        test = cdp.trend_test(x, y, PLANE, cdp.GDP(1.5), x_range=(0.0, 1.0), ledger=ledger)
        assert ledger.spent == cdp.GDP(1.5)
    assert test.guarantee == test.calibrated_to == cdp.GDP(1.5)
    # 3/n: features are at most 1 long
    assert test.sensitivity == pytest.approx(3 / 200)
    stored = cdp.Release.from_json(test.to_json())
    assert isinstance(stored, TrendRelease)
    assert stored == test
    assert "change" in test.report()
    seeded = [
        cdp.trend_test(x, y, PLANE, cdp.GDP(1.0), x_range=(0.0, 1.0), seed=3) for _ in range(2)
    ]
    assert seeded[0].value == seeded[1].value


@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf, 1e308])
def test_no_value_raises_or_warns(fill: float) -> None:
    x, y = np.linspace(0.0, 1.0, 60), np.zeros((60, 2))
    x[::3] = y[::4] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = cdp.trend_test(x, y, PLANE, cdp.GDP(9.0), x_range=(0.0, 1.0))
    assert np.isfinite(test.value)


def test_parameters_are_refused_before_the_ledger_is_asked() -> None:
    x, y = np.linspace(0.0, 1.0, 60), np.zeros((60, 2))
    for wrong, words in (
        ({"x_range": (1.0, 0.0)}, "x_range"),
        ({"x_range": [(0.0, 1.0)]}, "shape"),
        ({"relabellings": 10}, "at least 19"),
        ({"kernel": "linear", "width": 1.0}, "width"),
        ({"kernel": "cubic"}, "kernel"),
    ):
        public = {"x_range": (0.0, 1.0)} | wrong
        with cdp.Ledger(cdp.GDP(2.0)) as ledger:
            with pytest.raises(ValueError, match=words):
                cdp.trend_test(x, y, PLANE, cdp.GDP(1.0), ledger=ledger, **public)
            assert ledger.spent is None
    with pytest.raises(ValueError, match="covariate must be given"):
        cdp.trend_test(x[:5], y, PLANE, cdp.GDP(1.0), x_range=(0.0, 1.0))
    with pytest.warns(NoiseWarning, match="of the largest statistic"):
        cdp.trend_test(x[:9], y[:9], PLANE, cdp.GDP(0.1), x_range=(0.0, 1.0))
    with pytest.raises(ValueError, match="x_share"):
        cdp.trend_power(PLANE, 50, cdp.GDP(1.0), slope=1.0, spread=1.0, x_share=2.0)
