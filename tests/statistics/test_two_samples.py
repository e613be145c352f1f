"""The permutation test of two samples: its level, its power, its privacy, what it refuses."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom, norm

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples
from curvedp.errors import NoiseWarning
from curvedp.statistics import permutation, two_samples
from curvedp.statistics.permutation import Labels, PermutationDesign
from curvedp.statistics.two_samples import TwoSampleRelease, _labels, _weights
from many_releases import copies

SPD = cdp.Ball("spd:3", center="identity", radius=2.0)


class Design:
    """A design together with the weights of its samples."""

    def __init__(self, ball, sizes, guarantee, relabellings=99, unit=1, level=0.05) -> None:
        test = cdp.TwoSampleTest(level=level, relabellings=relabellings)
        self.own = PermutationDesign.of(test, ball, guarantee, _labels(sizes, unit))
        self.weights = _weights(sizes)

    def lead(self, coords: np.ndarray, rng: np.random.Generator) -> float:
        return self.own.lead(coords, self.weights, rng)

    def labellings(self, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate(list(self.own.labellings(self.weights, rng)))

    def statistics(self, coords: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.own.statistics(coords, iter([weights]))


def skewed(rng: np.random.Generator, n: int, dim: int, radius: float) -> np.ndarray:
    """Heavy tails, decaying spectrum, cut to the ball."""
    deviations = np.exp(-np.arange(dim) / max(dim / 4, 1))
    coords = rng.exponential(size=(n, dim)) * deviations * radius / np.linalg.norm(deviations)
    length = np.linalg.norm(coords, axis=1, keepdims=True)
    return coords * np.minimum(1.0, radius / length)


def rejections(design: Design, draw, count: int, rng: np.random.Generator) -> int:
    """Of samples that `draw` returns together, one after the other."""
    return sum(design.own.rejects(draw(), design.weights, rng) for _ in range(count))


# ------------------------------------------------------------------ level and power


@pytest.mark.parametrize("guarantee", [cdp.GDP(1.0), cdp.GDP(30.0), cdp.PureDP(2.0)], ids=str)
@pytest.mark.parametrize(("dim", "sizes"), [(6, (40, 40)), (6, (5, 17)), (120, (15, 30))])
def test_the_level_holds_at_every_size_and_dimension(guarantee, dim, sizes) -> None:
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    own = Design(ball, sizes, guarantee)
    rng, count = np.random.default_rng(dim + sizes[0]), 1200
    found = rejections(own, lambda: skewed(rng, sum(sizes), dim, 1.0), count, rng)
    # outside with probability 1e-5
    assert binom.ppf(5e-6, count, 0.05) <= found <= binom.ppf(1 - 5e-6, count, 0.05)


def test_without_relabelling_the_samples_the_level_would_not_hold() -> None:
    """The control: labels that follow the order of a sorted coordinate are no relabelling."""
    ball = cdp.Ball(cdp.Euclidean(2), np.zeros(2), 1.0)
    own, rng = Design(ball, (40, 40), cdp.GDP(30.0)), np.random.default_rng(0)

    def sorted_sample() -> np.ndarray:
        coords = skewed(rng, 80, 2, 1.0)
        return coords[np.argsort(coords[:, 0])]

    assert rejections(own, sorted_sample, 50, rng) > 45


@pytest.mark.parametrize(("n", "low", "high"), [(43, 0.5, 0.8), (86, 0.9, 1.0)])
def test_a_shift_is_found_in_dimension_406(n: int, low: float, high: float) -> None:
    """Shifts of 2 beside a spread of 4.9."""
    ball = cdp.Ball("spd:28", center="identity", radius=6.0)
    public = {"shift": 2.0, "spread": 4.9, "simulations": 150}
    power = cdp.two_sample_power(ball, (n, n), cdp.GDP(1.0), **public)
    assert low <= power <= high


def test_power_is_that_of_the_test() -> None:
    space, center = SPD.manifold, SPD.center
    planned = cdp.two_sample_power(SPD, (60, 60), cdp.GDP(1.0), shift=0.3, spread=0.7)
    rng, found = np.random.default_rng(1), 0
    for _ in range(300):
        coords = 0.7 / math.sqrt(6) * rng.standard_normal((120, 6))
        direction = rng.standard_normal(6)
        coords[:60] += 0.3 * direction / np.linalg.norm(direction)
        records = space.exp(space.coords_to_tangent(coords, center), center)
        found += cdp.two_sample_test(records[:60], records[60:], SPD, cdp.GDP(1.0)).rejects
    assert 0.2 < planned < 0.95
    assert abs(found / 300 - planned) < 0.22  # seven standard errors


def test_statistics_are_those_of_the_formula() -> None:
    """In blocks and all at once, against sums of features."""
    rng = np.random.default_rng(3)
    ball = cdp.Ball(cdp.Euclidean(3), np.zeros(3), 1.0)
    own = Design(ball, (30, 50), cdp.GDP(1.0))
    coords, weights = skewed(rng, 80, 3, 1.0), own.labellings(rng)
    assert np.allclose(weights.sum(axis=2), 0.0, atol=1e-12)
    assert np.allclose(np.abs(weights).sum(axis=2), 2.0)
    gram = np.exp(-np.sum((coords[:, None] - coords) ** 2, axis=-1) / 2)
    exact = np.sqrt(np.maximum(np.einsum("kqi,ij,kqj->k", weights, gram, weights), 0.0))
    assert np.allclose(own.statistics(coords, weights), exact, atol=own.own.tolerance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "_BLOCK", 80 * 7)
        assert np.allclose(own.statistics(coords, weights), exact, atol=own.own.tolerance)


def exact_statistic(coords: np.ndarray, weights: np.ndarray, width: float) -> float:
    """T of the true labelling in 60 digits."""
    with mp.workdps(60):
        rows = [[mp.mpf(float(x)) for x in row] for row in coords]
        total = mp.mpf(0)
        for (a, u), (b, v) in itertools.product(enumerate(rows), repeat=2):
            square = mp.fsum((x - y) ** 2 for x, y in zip(u, v, strict=True))
            entry = mp.exp(-square / (2 * mp.mpf(width) ** 2))
            total += mp.mpf(float(weights[a])) * mp.mpf(float(weights[b])) * entry
        return float(mp.sqrt(max(total, mp.mpf(0))))


def test_rounding_stays_within_its_bound_where_the_statistic_cancels() -> None:
    """Records alike, nearly alike or at opposite edges: a root magnifies what is left of 0."""
    rng, dim = np.random.default_rng(8), 12
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    own = Design(ball, (7, 11), cdp.GDP(1.0))
    edge = rng.standard_normal(dim)
    edge *= 0.999 / np.linalg.norm(edge)
    signs = np.where(rng.random((18, 1)) < 0.5, 1.0, -1.0)
    patterns = [
        np.tile(edge, (18, 1)),
        edge + 1e-9 * rng.standard_normal((18, dim)),
        signs * edge,
        signs * edge + 1e-8 * rng.standard_normal((18, dim)),
        skewed(rng, 18, dim, 1.0),
    ]
    errors = []
    for coords in patterns:
        weights = own.labellings(rng)[:1]
        exact = exact_statistic(coords, weights[0, 0], own.own.width)
        errors.append(abs(float(own.statistics(coords, weights)[0]) - exact))
    assert max(errors) <= own.own.tolerance / 2
    # the control: the bound of a sum without the root would not do
    assert max(errors) > 1000 * 18 * 2.0**-53


# ------------------------------------------------------------------ privacy


@pytest.mark.parametrize("unit", [1, 3])
def test_no_neighbour_moves_the_lead_further_than_its_sensitivity(unit: int) -> None:
    """With everything fixed that does not depend on the records."""
    rng = np.random.default_rng(2)
    ball = cdp.Ball(cdp.Euclidean(2), np.zeros(2), 1.0)
    sizes, worst = (4, 6), 0.0
    own = Design(ball, sizes, cdp.GDP(1.0), unit=unit)
    for trial in range(1500):
        coords = rng.standard_normal((10, 2))
        coords /= np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), 1.0)
        if trial % 3 == 0:  # all at the poles
            coords = np.sign(coords[:, :1]) * np.array([1.0, 0.0])
        other = coords.copy()
        changed = rng.choice(10, unit, replace=False)
        other[changed] = -coords[changed] if trial % 2 else rng.permutation(coords)[:unit]
        leads = [own.lead(data, np.random.default_rng(trial)) for data in (coords, other)]
        worst = max(worst, abs(leads[0] - leads[1]))
    assert worst <= own.own.sensitivity + 2 * own.own.tolerance
    assert worst > 0.4 * own.own.sensitivity


def neighbours() -> tuple[np.ndarray, np.ndarray]:
    """Samples of six signs: one alike but for a record each, the other without the first's."""
    first = -np.ones((12, 1))
    first[[0, 6]] = 1.0
    second = first.copy()
    second[0] = -1.0
    return first, second


def loss(noise: float, monkeypatch) -> float:
    """Lower bound on mu of the bit, from exact probabilities given public randomness.

    The probability of rejecting is an average over relabellings and their noise: both data sets
    get the same.
    """
    ball = cdp.Ball(cdp.Euclidean(1), [0.0], 1.0)
    own = Design(ball, (6, 6), cdp.GDP(1.0), relabellings=19)
    scale = noise * own.own.sensitivity / 2
    monkeypatch.setattr(PermutationDesign, "scale", scale)
    found = []
    for data in neighbours():
        leads = [own.lead(data, np.random.default_rng(seed)) for seed in range(4000)]
        found.append(np.mean(norm.cdf(np.array(leads) / scale)))
    return abs(float(norm.ppf(found[0]) - norm.ppf(found[1])))


def test_exact_probabilities_keep_the_guarantee_and_half_the_noise_does_not(monkeypatch) -> None:
    assert loss(2.0, monkeypatch) <= 1.0
    assert loss(1.0, monkeypatch) > 1.2  # the control: noise as for T alone


def gaps(labelling: int) -> list[list[float]]:
    """Released on the samples that tell most, by the same relabellings, with noise as drawn."""
    ball = cdp.Ball(cdp.Euclidean(1), [0.0], 1.0)
    public = {"relabellings": 19}
    same, own = np.random.default_rng, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "relabelling", lambda _: same(labelling))
        for data in neighbours():
            groups, x, labels = copies(1500, data, np.repeat([0, 1], 6))
            test = cdp.TwoSampleTest(**public)
            tests = cdp.release(test, x, ball, cdp.GDP(1.0), labels=labels, **groups)
            own.append([float(test.value) for test in tests])
    return sorted(own, key=np.mean, reverse=True)


def test_the_released_gap_is_audited(monkeypatch) -> None:
    ball = cdp.Ball(cdp.Euclidean(1), [0.0], 1.0)
    own = Design(ball, (6, 6), cdp.GDP(1.0), relabellings=19)
    moves = [
        np.subtract(*(own.lead(data, np.random.default_rng(seed)) for data in neighbours()))
        for seed in range(200)
    ]
    worst = int(np.argmax(np.abs(moves)))
    result = audit_samples(*gaps(worst), cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE)
    assert result.passed, result.report()
    monkeypatch.setattr(
        two_samples, "_labels", lambda *_: Labels(count=12, moved=0.4 / 6, largest=1.0, total=2.0)
    )
    assert not audit_samples(
        *gaps(worst), cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE
    ).passed  # the control


# ------------------------------------------------------------------ the call


def test_the_release_says_what_was_done_and_is_stored_whole() -> None:
    rng = np.random.default_rng(0)
    records = SPD.manifold.random_point(100, rng=rng)
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        how = {"ledger": ledger, "coverage": False}
        test = cdp.two_sample_test(records[:40], records[40:], SPD, cdp.GDP(1.5), **how)
        assert ledger.spent == cdp.GDP(1.5)
    assert test.sizes == (40, 60)
    assert test.guarantee == test.calibrated_to == cdp.GDP(1.5)
    assert test.rejects == (test.value > 0)
    assert test.scale == pytest.approx((test.sensitivity + 2 * test.solver_tolerance) / 1.5)
    stored = cdp.Release.from_json(test.to_json())
    assert isinstance(stored, TwoSampleRelease)
    assert stored == test
    assert "told apart" in test.report() or "differ" in test.report()
    seeded = [
        cdp.two_sample_test(records[:40], records[40:], SPD, cdp.GDP(1.0), seed=3) for _ in range(2)
    ]
    assert seeded[0].value == seeded[1].value
    assert isinstance(seeded[0].guarantee, cdp.Unproved)
    pure = cdp.two_sample_test(records[:40], records[40:], SPD, cdp.ApproxDP(1.0, 1e-9))
    assert isinstance(pure.calibrated_to, cdp.PureDP)  # one number: Laplace noise is better


def test_groups_persons_and_a_secret_as_in_every_release(tmp_path) -> None:
    rng = np.random.default_rng(0)
    records = SPD.manifold.random_point(90, rng=rng)
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    site = ["a"] * 20 + ["b"] * 20, ["b"] * 30 + ["a"] * 20
    found = cdp.two_sample_test(
        records[:40], records[40:], SPD, cdp.GDP(2.0), groups=site, secret=secret
    )
    assert [test.sizes for test in found] == [(20, 20), (20, 30)]
    again = cdp.two_sample_test(
        records[:40], records[40:], SPD, cdp.GDP(2.0), groups=site, secret=secret
    )
    assert np.array_equal(found.value, again.value)
    assert found.columns()["rejects"].tolist() == [float(test.rejects) for test in found]
    persons = np.repeat(np.arange(20), 2), 20 + np.repeat(np.arange(25), 2)
    of_persons = cdp.two_sample_test(records[:40], records[40:], SPD, cdp.GDP(2.0), units=persons)
    assert of_persons.sizes == (20, 25)
    assert of_persons.n == 45
    with pytest.raises(ValueError, match="in several samples"):
        cdp.two_sample_test(
            records[:40], records[40:], SPD, cdp.GDP(2.0), units=(persons[0], persons[1] - 20)
        )
    with pytest.raises(TypeError, match="must be a pair"):
        cdp.two_sample_test(records[:40], records[40:], SPD, cdp.GDP(2.0), units=range(90))
    skipped = cdp.two_sample_test(
        records[:40],
        records[40:],
        SPD,
        cdp.GDP(2.0),
        groups=(["a"] * 40, ["b"] * 50),
        skip_small=True,
    )
    assert not skipped.released.any()


@pytest.mark.parametrize("radius", [1e-80, 1.0, 1e80])
def test_a_record_at_the_centre_warns_in_no_ball(radius: float) -> None:
    """Its coordinates have no length to divide the radius by."""
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], radius)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = cdp.two_sample_test(np.zeros((30, 2)), np.zeros((30, 2)), ball, cdp.GDP(4.0))
        assert np.isfinite(test.value)


@pytest.mark.parametrize("fill", [np.nan, np.inf, 0.0, 1e308])
def test_no_record_raises_or_warns(fill: float) -> None:
    records = np.tile(np.eye(3), (30, 1, 1))
    records[::4] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = cdp.two_sample_test(records[:10], records[10:], SPD, cdp.GDP(4.0))
    assert np.isfinite(test.value)


def test_parameters_are_refused_before_the_ledger_is_asked() -> None:
    records = np.tile(np.eye(3), (30, 1, 1))
    for wrong, words in (
        ({"relabellings": 10}, "at least 19"),
        ({"level": 0.001}, "at least 999"),
        ({"width": -1.0}, "width"),
        ({"width": 1e-200}, "between a thousandth"),
        ({"width": 1e200}, "between a thousandth"),
        ({"ball": cdp.Ball("spd:3", "identity", 1e-110)}, "radius from"),
    ):
        with cdp.Ledger(cdp.GDP(2.0)) as ledger:
            public = {"ball": SPD, "guarantee": cdp.GDP(1.0), "ledger": ledger} | wrong
            with pytest.raises(ValueError, match=words):
                cdp.two_sample_test(records, records, **public)
            assert ledger.spent is None
    with pytest.raises(ValueError, match="records_b"):
        cdp.two_sample_test(records, records[0], SPD, cdp.GDP(1.0))
    with pytest.warns(NoiseWarning, match="of the largest statistic"):
        cdp.two_sample_test(records[:5], records[:5], SPD, cdp.GDP(0.1))
    with pytest.raises(ValueError, match="spread"):
        cdp.two_sample_power(SPD, (9, 9), cdp.GDP(1.0), shift=1.0, spread=[1.0, 2.0])


def test_what_looks_like_a_p_value_is_named() -> None:
    """A gap of .03 is no p-value of .03: the repr and the report say the verdict and what it is."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    records = cdp.datasets.uniform_ball(400, ball, rng=0)
    where, arm = records[:, 0], np.repeat(["a", "b"], 200)
    asked = ball, cdp.GDP(1.0)
    for test in (
        cdp.two_sample_test(records[:200], records[200:], *asked),
        cdp.trend_test(where, records, *asked, x_range=(-1.0, 1.0)),
    ):
        told = f"rejects={test.rejects} at level 0.05, gap={test.value:.4g} (no p-value)"
        assert told in repr(test)
        assert "the gap, no p-value" in test.report()
        assert "value=" not in repr(test)
    means = cdp.k_sample_test(records, arm, *asked)
    assert f"p_value={means.p_value:.4g}, rejects={means.rejects} at level 0.05" in repr(means)
    report = " ".join(means.report().split())
    for name in ("between", "expected_square", "norm"):
        assert f"{name} = {getattr(means, name):.4g}" in report
