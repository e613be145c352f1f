"""Columns, samples and statements about a population where the number of records is protected."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_release_function
from curvedp.learning import (
    GeodesicRegression,
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.statistic import Statistic
from unknown_n_cases import ADD, BALL, GDP, rows

SPACE = BALL.manifold
LOUD = cdp.GDP(60.0, neighbours=ADD)
PLANE = cdp.Ball("euclidean:2", [0.0, 0.0], 2.0)
#: Probability with which a right statement fails a test.
RARE = 1e-10


def on_line(x: np.ndarray) -> np.ndarray:
    """Points of the plane that move with x."""
    return np.stack([0.8 * x, np.zeros(len(x))], axis=1)


# ----------------------------------------------------------- columns move with their records


def test_a_regression_fits_the_covariates_of_its_records():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, 3000)
    fit = cdp.geodesic_regression(x, on_line(x), PLANE, LOUD, x_range=(-1.0, 1.0), n_guess=2500)
    assert fit.n < 3010
    assert np.allclose(fit.predict([0.5]), [[0.4, 0.0]], atol=0.1)
    mixed = cdp.geodesic_regression(
        np.roll(x, 1), on_line(x), PLANE, LOUD, x_range=(-1.0, 1.0), n_guess=2500
    )
    assert not np.allclose(mixed.predict([0.5]), [[0.4, 0.0]], atol=0.1)  # control


def test_a_classifier_learns_the_labels_of_its_records():
    x = np.random.default_rng(1).uniform(-1.0, 1.0, 3000)
    labels = np.where(x > 0, "right", "left")
    found = cdp.tangent_logistic(
        on_line(x), labels, PLANE, LOUD, classes=["left", "right"], n_guess=3000
    )
    assert found.predict([[0.4, 0.0], [-0.4, 0.0]]).tolist() == ["right", "left"]


def test_copies_of_the_centre_have_no_class_and_the_middle_covariate(monkeypatch):
    """A hundred copies beside each record change no direction."""
    monkeypatch.setattr(CountPlan, "draw", lambda self, n, stream: n + 3000)
    x = np.random.default_rng(2).uniform(-1.0, 1.0, 300)
    labels = np.where(x > 0, "right", "left")
    how = {"n_guess": 3000}
    found = cdp.tangent_logistic(on_line(x), labels, PLANE, LOUD, classes=["left", "right"], **how)
    assert found.n > 3200
    assert found.predict([[0.4, 0.0], [-0.4, 0.0]]).tolist() == ["right", "left"]
    fit = cdp.geodesic_regression(x, on_line(x), PLANE, LOUD, x_range=(-1.0, 1.0), **how)
    assert np.allclose(fit.predict([0.0]), [[0.0, 0.0]], atol=0.1)


def test_the_share_that_a_fit_explains_rests_on_the_fit_that_was_given():
    """Its guarantee and its count stay what they were."""
    x = np.random.default_rng(3).uniform(-1.0, 1.0, 2000)
    fit = cdp.geodesic_regression(x, on_line(x), PLANE, cdp.GDP(9.0), x_range=(-1.0, 1.0))
    found = cdp.r_squared(x, on_line(x), fit, LOUD, n_guess=2000)
    assert found.r_squared > 0.8
    assert found.guarantee == LOUD
    assert fit.guarantee == cdp.GDP(9.0)
    assert fit.count is None
    assert found.parts[0] == fit
    assert type(found).from_json(found.to_json()).count == found.count


def test_samples_have_counts_of_their_own():
    records, arms = rows(300), ["a"] * 200 + ["b"] * 60 + ["c"] * 40
    for labels in (arms, np.array(arms), [*arms[:-1], object()]):
        found = cdp.k_sample_test(records, labels, BALL, LOUD, samples=["a", "b"], n_guess=300)
        assert found.sizes == tuple(
            CountPlan.of(LOUD, 150, 1, 2, padding=5e-4).target(own) for own in found.count.value
        )
        assert abs(found.count.value[0] - 200) < 10
        assert abs(found.count.value[1] - 60) < 10
    pair = cdp.two_sample_test(records[:200], records[:0], BALL, LOUD, n_guess=300)
    assert abs(pair.count.value[0] - 200) < 10
    assert pair.sizes[1] >= 1


def test_a_person_is_in_one_sample():
    """Further records of the same person are left out, whatever sample they are in."""
    persons = [f"p{k}" for k in range(100)] * 2
    arms = ["a"] * 100 + ["b"] * 100
    found = cdp.k_sample_test(
        rows(200), arms, BALL, LOUD, samples=["a", "b"], n_guess=100, units=persons
    )
    assert abs(found.count.value[0] - 100) < 10
    assert abs(found.count.value[1]) < 10
    with pytest.raises(ValueError, match="a unit in several groups may be in several samples"):
        cdp.k_sample_test(
            rows(4),
            list("abab"),
            BALL,
            LOUD,
            samples=["a", "b"],
            n_guess=4,
            units=list("ppqq"),
            groups=list("xyxy"),
            keys=["x", "y"],
            groups_per_unit=2,
        )


def test_a_ledger_of_replacing_pays_for_two_samples_of_a_test():
    """A record that is replaced may change its sample, and moves both counts."""
    ledger = cdp.Ledger(cdp.GDP(9.0))
    cdp.two_sample_test(rows(90), rows(80), BALL, GDP, n_guess=150, ledger=ledger)
    assert ledger.spent == GDP.to_replace()


# ------------------------------------------------------------------ statements about a population


def population(groups: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of independent records about (1, 0) of the plane, in a disc of radius .5."""
    rng = np.random.default_rng(7)
    angle, length = rng.uniform(0, 2 * math.pi, groups * n), np.sqrt(rng.uniform(0, 1, groups * n))
    around = 0.5 * length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return around + np.array([1.0, 0.0]), np.repeat(np.arange(groups), n)


GROUPS, SIZE = 250, 300
WHOLE = cdp.GDP(3.0, neighbours=ADD)


def covered(monkeypatch, extra: int) -> tuple[int, int]:
    """How many regions and intervals cover, with so many more records than counted."""
    if extra:
        usual = CountPlan.target
        monkeypatch.setattr(CountPlan, "target", lambda self, count: usual(self, count) + extra)
    x, label = population(GROUPS, SIZE)
    how = {"n_guess": SIZE, "groups": label, "keys": np.arange(GROUPS)}
    regions = cdp.confidence_region(x, PLANE, WHOLE, **how)
    intervals = cdp.variance_interval(x, PLANE, WHOLE, **how)
    of_means = sum(bool(region.contains([1.0, 0.0])) for region in regions)
    return of_means, sum(own.lower <= 0.125 <= own.upper for own in intervals)


def test_regions_and_intervals_cover_at_their_level(monkeypatch):
    """The mean is (1, 0), the variance .5^2/2; both hold as n grows, so a margin of .02."""
    least = stats.binom.ppf(RARE, GROUPS, 0.95 - 0.001 - 0.02)
    assert min(covered(monkeypatch, 0)) >= least


def test_control_copies_of_the_centre_among_the_records_cover_too_rarely(monkeypatch):
    """What the margin keeps away: a tenth more records than there are."""
    least = stats.binom.ppf(RARE, GROUPS, 0.95 - 0.001 - 0.02)
    assert max(covered(monkeypatch, 40)) < least


def rejected(monkeypatch, extra: int) -> tuple[int, int]:
    """How many of tests of what is true reject, trends and samples, with more records."""
    if extra:
        usual = CountPlan.target
        monkeypatch.setattr(CountPlan, "target", lambda self, count: usual(self, count) + extra)
    x, label = population(GROUPS, SIZE)
    how = {"groups": label, "keys": np.arange(GROUPS), "n_guess": SIZE}
    late = np.random.default_rng(8).uniform(0.5, 1.0, len(x))  # its range has a middle of 0
    trends = cdp.trend_test(late, x, PLANE, WHOLE, x_range=(-1.0, 1.0), **how)
    arms = np.where(np.arange(len(x)) % 6 == 0, "a", "b")
    tests = cdp.k_sample_test(x, arms, PLANE, WHOLE, samples=["a", "b"], **how)
    return sum(test.rejects for test in trends), sum(test.rejects for test in tests)


def test_tests_reject_what_is_true_at_their_level(monkeypatch):
    most = stats.binom.isf(RARE, GROUPS, 0.05 + 0.001 + 0.01)
    assert max(rejected(monkeypatch, 0)) <= most


def test_control_copies_of_the_centre_are_found_by_tests(monkeypatch):
    """They move the smaller sample more, and lie on a line with the others."""
    most = stats.binom.isf(RARE, GROUPS, 0.05 + 0.001 + 0.01)
    assert min(rejected(monkeypatch, 40)) > most


@pytest.mark.parametrize("whole", [cdp.GDP(1.0), cdp.PureDP(1.0)], ids=str)
def test_the_margin_of_a_statement_is_exceeded_as_rarely_as_said(whole):
    """By the law of the noise."""
    from count_laws import counts_of

    own = cdp.privacy.base.with_relation(whole, ADD)
    for padding in (1e-3, 2.5e-4):
        plan = CountPlan.of(own, 200, 1, 2, padding=padding)
        law = counts_of(plan, 500)
        missing = sum(weight for count, weight in law.items() if plan.target(count) > 500)
        assert missing <= padding
        assert missing > 0.3 * padding
        usual = CountPlan.of(own, 200, 1, 2)
        often = sum(weight for count, weight in law.items() if usual.target(count) > 500)
        assert often > padding


# ------------------------------------------------------------------------------------- learners


def test_classes_of_a_nearest_mean_are_private():
    x = np.random.default_rng(4).uniform(-1.0, 1.0, 900)
    y = np.where(x > 0, "right", "left").astype(object)
    y[::50] = None
    model = PrivateMDM(PLANE, LOUD, classes=["right", "left", "none"], n_guess=400)
    model.fit(on_line(x), y)
    assert model.classes_.tolist() == ["left", "none", "right"]
    assert model.predict([[0.4, 0.0], [-0.4, 0.0]]).tolist() == ["right", "left"]
    assert model.guarantee_ == LOUD
    assert abs(model.releases_["none"].count.value) < 10
    with pytest.raises(ValueError, match="leave them out"):
        PrivateMDM(PLANE, cdp.GDP(1.0), classes=["a"]).fit(on_line(x), y)


@pytest.mark.parametrize("n", [0, 1, 300])
def test_estimators_take_a_guess(n):
    x = np.random.default_rng(5).uniform(-1.0, 1.0, n)
    points, arms = on_line(x), ["a" if own > 0 else "b" for own in x]
    how = {"n_guess": 200}
    fitted = [
        cdp.FrechetMean(PLANE, LOUD, **how).fit(points),
        cdp.FrechetMean(PLANE, LOUD, adaptive=True, **how).fit(points),
        PrivateKMeans(2, ball=PLANE, guarantee=LOUD, **how).fit(points),
        TangentPCA(PLANE, LOUD, n_components=1, **how).fit(points),
        TangentLogisticRegression(PLANE, LOUD, classes=["a", "b"], **how).fit(points, arms),
        GeodesicRegression(PLANE, LOUD, x_range=(-1.0, 1.0), **how).fit(x, points),
    ]
    for model in fitted:
        assert model.release_.guarantee == LOUD
        assert abs(model.release_.count.value - n) < 20


# --------------------------------------------------------------------------------------- audit


LINE = cdp.Ball("euclidean:1", [0.0], 1.0)


def with_counts(records: np.ndarray) -> np.ndarray:
    """Counts and gap of a test of the records above 0 against those below."""
    arms = np.where(records[:, 0] > 0, "b", "a")
    test = cdp.release(
        cdp.TwoSampleTest(samples=("a", "b"), relabellings=19),
        records,
        LINE,
        cdp.GDP(2.0, neighbours=ADD),
        labels=arms,
        n_guess=60,
    )
    return np.array([*test.count.value, float(test.value)])


def with_sizes(records: np.ndarray) -> np.ndarray:
    """Control: the same with the sizes of both samples public."""
    arms = np.where(records[:, 0] > 0, "b", "a")
    test = cdp.release(
        cdp.TwoSampleTest(samples=("a", "b"), relabellings=19),
        records,
        LINE,
        cdp.GDP(2.0),
        labels=arms,
    )
    noise = np.random.default_rng(int(1e6 * abs(float(test.value)))).normal(0.0, 0.2, 2)
    return np.array([*(np.array(test.sizes) + noise), float(test.value)])


@pytest.mark.parametrize(("draw", "holds"), [(with_counts, True), (with_sizes, False)])
def test_a_test_of_two_samples_passes_an_audit_that_finds_public_sizes(draw, holds):
    few = np.concatenate([np.full((30, 1), -1.0), np.full((30, 1), 1.0)])
    many = np.concatenate([few, [[1.0]]])
    result = audit_release_function(
        draw,
        many,
        few,
        lambda value: float(value[1]),
        n_releases=800,
        claimed=cdp.GDP(2.0, neighbours=ADD),
        confidence=CONFIDENCE,
    )
    assert result.passed == holds


# ----------------------------------------------------------------------------------------- docs


def test_the_page_lists_all_that_is_served():
    """With those that say something of a population in rows of their own."""
    page = (Path(__file__).parents[2] / "docs" / "no-ball.md").read_text(encoding="utf-8")
    table = page.split("<!-- served -->")[1].split("<!-- end -->")[0]
    told = {
        name: "probability" in row
        for row in table.splitlines()
        for name in re.findall(r"`(\w+)`", row)
    }
    waiting, seen = list(Statistic.__subclasses__()), set[type]()
    while waiting:
        kind = waiting.pop()
        seen.add(kind)
        waiting += kind.__subclasses__()
    served = {
        kind.__name__: kind.infers
        for kind in seen
        if kind.__module__.startswith("curvedp.") and kind.takes_unknown_n
        if not inspect.isabstract(kind) and not kind.__name__.startswith("_")
    }
    assert told == served
