"""Numbers of records that are points inside the ball: their law, their price, what they tell."""

from __future__ import annotations

import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE, DEVIATIONS
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.errors import CoverageWarning, ExistenceError, NoiseWarning
from curvedp.privacy import ZCDP, ApproxDP
from curvedp.privacy.coverage import Coverage
from curvedp.statistics.coverage import Counting, share_of
from curvedp.statistics.tallies import UNIT, Tally, categories, weights_of, whole_weights
from exact_laws import RadialLaw, flat_volume, gaussian, ks_critical, ks_statistic, laplace
from manifold_list import SMALL
from statistic_list import STATISTICS
from wrong_formats import RIGHT, WRONG

LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
SPHERE = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
WAYS = (cdp.GDP(1.0), cdp.PureDP(1.0))


def counting(way, n, records=1, groups=1):
    return Counting.of(way, way, n, records, groups)


def tally(ball, records, groups=None, units=None):
    found = categories([ball], records, np.array([0, len(records)]))
    return [int((found == kind).sum()) for kind in range(3)]


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_every_record_is_inside_outside_or_no_point(case):
    space = case.manifold
    center = space.random_point(rng=1)
    ball = cdp.Ball(space, center, min(0.3, 0.4 * space.max_ball_radius))
    rng = np.random.default_rng(2)
    coords = rng.standard_normal((60, space.dim))
    coords *= (ball.radius * np.repeat([0.5, 1.5], 30) / np.linalg.norm(coords, axis=1))[:, None]
    records = space.exp(space.coords_to_tangent(coords, center), center)
    records[[3, 40, 41]] = np.nan
    found = categories([ball], records, np.array([0, 60]))
    expected = np.repeat([0.0, 1.0], 30)
    expected[[3, 40, 41]] = 2.0
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found == 0.0, ball.contains(records))


@pytest.mark.parametrize("noise", ["Gaussian", "Laplace"])
def test_a_share_within_its_own_error_is_not_warned_of(noise):
    """Control: by the unbiased number alone some such shares were."""
    rng, told, before = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        outside, no_point = rng.normal([0.0, 10.0], 8.0, 2)
        found = Coverage.of_numbers(outside, no_point, 4.0, 200, noise, cdp.GDP(1.0))
        reach = {"Gaussian": 2.0, "Laplace": 2.5}[noise] * 4.0
        is_said = any("no points" in text for text in found.warnings)
        assert is_said == (no_point - reach > 4.0 and found.no_point > reach)
        told += is_said
        before += no_point - reach > 4.0
    assert 0 < told < before


@pytest.mark.parametrize(("beyond", "kind"), [(0.9e-5, 0), (1.1e-5, 1)])
def test_a_point_on_the_edge_counts_as_inside_up_to_the_tolerance_of_records(beyond, kind):
    """Half of the unit vectors in single precision lie beyond the unit ball by rounding."""
    ball = cdp.Ball("euclidean:8", center=np.zeros(8), radius=1.0)
    rng = np.random.default_rng(5)
    records = rng.standard_normal((600, 8))
    records /= np.linalg.norm(records, axis=1, keepdims=True)
    single = records.astype(np.float32)
    assert np.mean(~ball.contains(single.astype(float))) > 0.2
    assert tally(ball, single.astype(float)) == [600, 0, 0]
    records *= 1.0 + beyond
    assert tally(ball, records) == [600 * (1 - kind), 600 * kind, 0]
    assert np.linalg.norm(ball.project(records), axis=1).max() <= 1.0 + 1e-9
    counted = cdp.frechet_mean(records, ball, cdp.GDP(1e3), coverage=True, seed=7).coverage
    assert counted.outside == pytest.approx(600 * kind, abs=1.0)


def test_a_product_counts_a_record_by_its_worst_part():
    ball = cdp.ProductBall(LINE, SPHERE)
    there, away, none = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    line = np.array([[0.0], [2.0], [0.0], [np.nan], [2.0]])
    records = ball.manifold.join([line, np.array([there, there, away, away, none])])
    assert tally(ball, records) == [1, 2, 2]


@pytest.mark.parametrize("way", WAYS, ids=repr)
def test_the_noise_of_the_point_has_its_exact_law(way):
    own = counting(way, 400)
    keys = _core.GroupKeys.numbered(bytes(32))
    points = [
        own.draw(whole_weights((30, 20)), way, keys.part(number).first()).noisy
        for number in range(4000)
    ]
    _, outside, no_point = np.array(points).T
    z = np.column_stack([outside + 0.5 * no_point, 0.5 * math.sqrt(3.0) * no_point])
    lengths = np.linalg.norm(z - [40.0, 10.0 * math.sqrt(3.0)], axis=1)
    profile = laplace if isinstance(way, cdp.PureDP) else gaussian
    budget = own.own.epsilon if isinstance(way, cdp.PureDP) else own.own.mu

    def distance(scale):
        law = RadialLaw(lambda t: profile(scale)(t) + flat_volume(2)(t), 40.0 * scale)
        return ks_statistic(lengths, law.cdf)

    assert distance(1.0 / budget) < ks_critical(len(lengths))
    assert distance(0.8 / budget) > ks_critical(len(lengths))  # the control
    angles = np.arctan2(*(z - [40.0, 10.0 * math.sqrt(3.0)]).T) / (2 * math.pi) + 0.5
    assert ks_statistic(angles, lambda t: t) < ks_critical(len(angles))


@pytest.mark.parametrize("way", WAYS, ids=repr)
def test_the_three_numbers_are_unbiased_and_err_as_stated(way):
    own = counting(way, 400)
    keys = _core.GroupKeys.numbered(bytes(31) + b"1")
    drawn = [
        own.draw(whole_weights((30, 20)), way, keys.part(number).first()) for number in range(4000)
    ]
    noisy = np.array([one.noisy for one in drawn])
    error = drawn[0].standard_error
    assert np.abs(noisy.mean(axis=0) - [350, 30, 20]).max() < DEVIATIONS * error / math.sqrt(4000)
    np.testing.assert_allclose(noisy.std(axis=0), error, rtol=0.12)
    for one in drawn:
        cut = np.array([one.inside, one.outside, one.no_point])
        assert cut.min() >= 0.0
        assert abs(cut.sum() - 400) < 1e-9
    expected = 2.0 / own.own.epsilon if isinstance(way, cdp.PureDP) else 2 / 3**0.5 / own.own.mu
    assert error == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n", [40, 200, 777, 10**6])
@pytest.mark.parametrize("amount", [0.3, 1.0, 7.0])
def test_shares_compose_to_no_more_than_the_whole(n, amount):
    if share_of(cdp.GDP(amount), n) is not None:
        own = counting(cdp.GDP(amount), n)
        parts = Fraction(own.rest.mu) ** 2 + Fraction(own.own.mu) ** 2
        assert (1 - 1e-12) * amount**2 < parts <= Fraction(amount) ** 2
        assert 0.1 - 1e-9 < own.own.mu / amount < 0.3 + 1e-9
    if share_of(cdp.PureDP(amount), n) is not None:
        own = counting(cdp.PureDP(amount), n)
        parts = Fraction(own.rest.epsilon) + Fraction(own.own.epsilon)
        assert (1 - 1e-12) * amount < parts <= Fraction(amount)
        assert 0.02 - 1e-9 < own.own.epsilon / amount < 0.1 + 1e-9


@pytest.mark.parametrize(("records", "groups"), [(1, 1), (3, 1), (1, 4), (3, 4)])
@pytest.mark.parametrize("way", WAYS, ids=repr)
def test_all_that_a_person_moves_is_paid_for(way, records, groups):
    """records * groups corners move by a side each; the total is what the groups compose to."""
    own = counting(way, 100_000, records, groups)
    noise, moved = own.noise, records * groups
    if isinstance(way, cdp.PureDP):
        assert moved / noise.scale <= groups * own.own.epsilon * (1 + 1e-12)
        assert moved / noise.scale == pytest.approx(groups * own.own.epsilon, rel=1e-6)
    else:
        assert (moved / noise.scale) ** 2 <= groups * own.own.mu**2 * (1 + 1e-12)
        assert moved / noise.scale == pytest.approx(math.sqrt(groups) * own.own.mu, rel=1e-6)


def test_the_rule_leaves_out_what_would_not_tell_anything():
    assert share_of(cdp.GDP(1.0), 38) is None
    assert share_of(cdp.GDP(1.0), 39) == 0.3
    assert share_of(cdp.GDP(1.0), 3 * 38, records=3) is None
    assert share_of(cdp.GDP(1.0), 2 * 38, groups=4) is None
    assert share_of(cdp.PureDP(0.5), 399) is None
    assert share_of(cdp.PureDP(0.5), 400) == 0.1
    records = np.zeros((30, 1))
    assert cdp.frechet_mean(records, LINE, cdp.GDP(1.0), coverage=None).coverage is None
    with pytest.raises(ExistenceError, match="too few records") as refused:
        cdp.frechet_mean(records, LINE, cdp.GDP(1.0), coverage=True)
    least = refused.value.smallest_n
    assert cdp.frechet_mean(np.zeros((least, 1)), LINE, cdp.GDP(1.0), coverage=True).coverage
    with pytest.raises(ExistenceError, match="too few records"):
        cdp.frechet_mean(np.zeros((least - 1, 1)), LINE, cdp.GDP(1.0), coverage=True)
    with pytest.raises(TypeError, match='"each" or None'):
        cdp.frechet_mean(records, LINE, cdp.GDP(1.0), coverage="all")


def test_mean_and_count_together_keep_the_guarantee_and_a_quarter_of_its_noise_does_not():
    """A record moves from one end of the ball out of the other: the worst that both can see."""
    here, there = np.zeros((60, 1)), np.zeros((60, 1))
    here[0], there[0] = -1.0, 9.0
    drawn = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, records in (("a", there), ("b", here)):
            found = [
                cdp.frechet_mean(records, LINE, cdp.GDP(1.0), coverage=True) for _ in range(4000)
            ]
            means = np.array([one.unprojected[0] / one.scale for one in found])
            z = np.array([one.coverage.noisy for one in found]) @ [0.0, 1.0, 0.5]
            drawn[name] = means, z, found[0].coverage.standard_error * 0.5 * math.sqrt(3.0)
            assert np.abs(np.corrcoef(means, z)[0, 1]) < DEVIATIONS / math.sqrt(4000)

    def scores(name, noise):
        means, z, scale = drawn[name]
        true = 1.0 if name == "a" else 0.0
        z = true + noise * (z - true)
        return 2.0 / 60.0 / found[0].scale * means + z / (noise * scale) ** 2

    both = [scores(name, 1.0) for name in "ab"]
    assert audit_samples(*both, cdp.GDP(1.0), confidence=CONFIDENCE).passed
    both = [scores(name, 0.25) for name in "ab"]
    assert not audit_samples(*both, cdp.GDP(1.0), confidence=CONFIDENCE).passed


def test_a_persons_share_is_that_of_the_persons_records_before_they_are_averaged():
    found = np.array([0.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0])
    ends = np.array([0, 2, 3, 6, 7])
    outside, no_point = (own / UNIT for own in weights_of(found, ends))
    assert outside == pytest.approx(1 / 3 + 1, abs=1e-11)
    assert no_point == pytest.approx(1.5, abs=1e-11)
    assert outside <= 4 / 3  # cut down, never up
    records = np.repeat([[0.0], [9.0]], 300, axis=0).reshape(2, 300).T.reshape(600, 1)
    who = np.repeat(np.arange(300), 2)
    with pytest.warns(CoverageWarning, match="about 50 %"):
        release = cdp.frechet_mean(records, LINE, cdp.GDP(1e4), units=who, coverage=True)
    assert release.coverage.n == 300
    assert release.coverage.outside == pytest.approx(150, abs=0.1)


def test_groups_share_one_count_and_its_budget():
    records = np.zeros((500, 1))
    records[:200] = 5.0
    ledger = cdp.Ledger(cdp.GDP(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        found = cdp.frechet_mean(
            records, LINE, cdp.GDP(1.0), groups=[0, 150, 500], coverage=True, ledger=ledger
        )
    assert len(ledger.entries) == 1
    assert found.guarantee == found[0].guarantee == found.total == cdp.GDP(1.0)
    assert found[0].calibrated_to == cdp.GDP(1.0)
    assert abs(found.coverage.outside - 200) < DEVIATIONS * found.coverage.standard_error
    alone = cdp.frechet_mean(records, LINE, cdp.GDP(1.0), groups=[0, 150, 500])
    np.testing.assert_allclose(found.scale, alone.scale / math.sqrt(0.99), rtol=0.01)


@pytest.mark.parametrize("guarantee", [ApproxDP(1.0, 1e-6), ZCDP(0.5), *WAYS], ids=repr)
def test_the_release_carries_the_whole_guarantee(guarantee):
    ledger = cdp.Ledger(guarantee)
    found = cdp.frechet_mean(np.zeros((800, 1)), LINE, guarantee, coverage=True, ledger=ledger)
    assert found.guarantee == guarantee
    without = cdp.frechet_mean(np.zeros((800, 1)), LINE, guarantee, coverage=False)
    assert without.scale < found.scale
    again = type(found).from_json(found.to_json())
    assert again == found
    assert again.coverage == found.coverage
    assert "points inside the ball" in found.report().replace("\n" + 16 * " ", " ")


def test_seeds_and_secrets():
    records = np.zeros((500, 1))
    seeded = [cdp.frechet_mean(records, LINE, cdp.GDP(1.0), seed=4, coverage=True) for _ in "ab"]
    assert seeded[0].coverage == seeded[1].coverage
    assert isinstance(seeded[0].coverage.guarantee, cdp.privacy.Unproved)

    def kept(records, **how):
        secret = cdp.NoiseSecret(bytes(range(32)))
        return cdp.frechet_mean(records, LINE, cdp.GDP(1.0), secret=secret, coverage=True, **how)

    first = kept(records).coverage
    assert kept(records).coverage == first
    moved = records.copy()
    moved[7] = 0.25
    others = [kept(moved), kept(records, groups=[0, 100, 500]), kept(records, units=range(500))]
    assert len({first.noisy, *(one.coverage.noisy for one in others)}) == 4


def test_steady_times_change_nothing_and_warn_once():
    records = np.full((400, 1), 5.0)
    how = {"seed": 1, "coverage": True}
    with pytest.warns(CoverageWarning) as told:
        steady = cdp.frechet_mean(records, LINE, cdp.GDP(1.0), timing="steady", **how)
    assert len(told) == 1
    with pytest.warns(CoverageWarning):
        assert cdp.frechet_mean(records, LINE, cdp.GDP(1.0), **how) == steady


@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_every_statistic_counts_or_says_that_it_does_not(entry):
    records = SPHERE.project(cdp.Sphere(2).random_point(600, rng=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        warnings.simplefilter("ignore", CoverageWarning)
        if not entry.statistic.counted:
            with pytest.raises(ValueError, match="leave coverage out"):
                entry.call(records, SPHERE, entry.guarantee, coverage=True)
            return
        one = entry.call(records, SPHERE, entry.guarantee, coverage=True)
        both = entry.call(records, SPHERE, entry.guarantee, coverage=True, groups=[0, 300, 600])
    for found in (one, both):
        assert found.coverage.n == 600
        assert abs(found.coverage.noisy[0] - 600) < 30 * found.coverage.standard_error
        promised = found.guarantee
        claimed = getattr(promised, "claimed", promised)
        assert claimed == entry.guarantee


def with_others(n):
    """Records of which every ninth lies outside the ball, and every fourteenth is no point."""
    records = SPHERE.project(cdp.Sphere(2).random_point(n, rng=0))
    records[::9] = [1.0, 0.0, 0.0]
    records[::14] = np.nan
    return records


@pytest.mark.parametrize("ball", [SPHERE, [SPHERE] * 3], ids=["one ball", "a ball each"])
@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_compiled_code_counts_each_record_once(monkeypatch, entry, ball):
    if not entry.statistic.counted:
        return
    records, offsets, seen = with_others(601), [0, 300, 600, 601], []

    def counts(kept, records, balls):
        seen.append(kept.counts)
        return None

    how = {"groups": offsets, "skip_small": True, "seed": 1, "coverage": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = entry.call(records, ball, entry.guarantee, **how).coverage
        monkeypatch.setattr(Tally, "of", counts)
        assert entry.call(records, ball, entry.guarantee, **how).coverage == found
    true = (sum(1 for i in range(0, 601, 9) if i % 14), len(range(0, 601, 14)))
    if entry.statistic.word in ("mean", "adaptive", "variance"):
        assert seen == [true]
    else:
        assert set(seen) <= {true, None}


def test_records_of_groups_that_are_skipped_are_counted_too():
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=5.0)
    records = np.tile([1.0, 0.0, 0.0], (2010, 1))
    records[::3] = np.nan
    how = {"groups": [0, 2000, 2010], "skip_small": True, "coverage": True}
    with pytest.warns(CoverageWarning):
        found = cdp.frechet_mean(records, ball, cdp.PureDP(1.0), **how)
    assert found.released.tolist() == [True, False]
    assert found.coverage.n == 2010
    seen = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(Tally, "of", lambda kept, records, balls: seen.append(kept.counts))
        cdp.frechet_mean(records, ball, cdp.PureDP(1.0), **how)
    assert seen == [(0, 670)]


@pytest.mark.parametrize("own", WRONG, ids=repr)
def test_wrong_formats_are_warned_of(own):
    """At mu = 1 and n = 300; a fifth of no points lies seven standard errors above the limit."""
    records = own.records(np.random.default_rng(5), 300)
    with pytest.warns(CoverageWarning) as told:
        found = cdp.frechet_mean(records, own.ball, cdp.GDP(1.0), seed=2, coverage=True)
    text = " ".join(str(one.message) for one in told)
    assert ("no points" in text) == (own.wrong in ("no point", "both"))
    report = found.report()
    assert "WARNING: " in report
    assert "use value" not in report


@pytest.mark.parametrize("own", RIGHT, ids=repr)
def test_right_formats_are_not(own):
    records = own.records(np.random.default_rng(5), 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoverageWarning)
        found = cdp.frechet_mean(records, own.ball, cdp.GDP(1.0), seed=2, coverage=True)
    assert "WARNING" not in found.report()


def test_the_printed_bias_is_that_of_records_at_the_centre():
    records = np.full((1000, 1), 0.6)
    records[::4] = np.nan
    with pytest.warns(CoverageWarning, match="no points"):
        found = cdp.frechet_mean(records, LINE, cdp.GDP(1000.0), coverage=True)
    assert found.coverage.bias(float(found.value[0])) == pytest.approx(0.15, abs=0.005)
    assert "bias:" in found.report()


def test_covariates_count_too():
    x, points = np.linspace(0.0, 10.0, 400), np.zeros((400, 1))
    x[:100], x[100:150] = 80.0, np.nan
    points[50:60] = np.nan
    for release in (cdp.geodesic_regression, cdp.trend_test):
        with pytest.warns(CoverageWarning):
            found = release(x, points, LINE, cdp.GDP(300.0), x_range=(0.0, 10.0), coverage=True)
        assert found.coverage.noisy == pytest.approx((250, 90, 60), abs=1.0)


@pytest.mark.parametrize(
    "name", ["FrechetMean", "GeodesicRegression", "PrivateKMeans", "PrivateMDM"]
)
def test_a_fitted_learner_counts_by_default(name):
    records = SPHERE.project(cdp.Sphere(2).random_point(600, rng=0))
    further = {"PrivateKMeans": {"n_clusters": 2}, "GeodesicRegression": {"x_range": (0.0, 1.0)}}
    kind = getattr(cdp.learning, name)
    model = kind(ball=SPHERE, guarantee=cdp.GDP(3.0), **further.get(name, {}))
    y = {"PrivateMDM": np.arange(600) % 2, "GeodesicRegression": records}.get(name)
    X = np.linspace(0.0, 1.0, 600) if name == "GeodesicRegression" else records
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        model.fit(X, y)
    assert model.coverage_.n == 600
    assert abs(model.coverage_.noisy[0] - 600) < DEVIATIONS * model.coverage_.standard_error


def test_a_refusal_names_what_the_whole_release_needs():
    ball = cdp.Ball("hyperboloid:16", center=np.eye(17)[0], radius=10.0)
    records = np.tile(np.eye(17)[0], (2500, 1))
    with pytest.raises(ExistenceError) as alone:
        cdp.frechet_mean(records, ball, cdp.PureDP(0.1), coverage=False)
    with pytest.raises(ExistenceError) as beside:
        cdp.frechet_mean(records, ball, cdp.PureDP(0.1), coverage=True)
    assert beside.value.smallest_epsilon > 1.01 * alone.value.smallest_epsilon


def test_a_warning_that_is_an_error_loses_no_release():
    rows = np.full((1000, 2, 2), np.nan)
    ball, ledger = cdp.Ball("spd:2", center="identity", radius=1.0), cdp.Ledger(cdp.GDP(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoverageWarning)
        found = cdp.frechet_mean(rows, ball, cdp.GDP(1.0), coverage=True, ledger=ledger)
    assert "WARNING" in found.report()
    assert ledger.spent == cdp.GDP(1.0)


@pytest.mark.parametrize(
    "other",
    [
        {"groups_per_unit": 4},
        {"records_per_unit": 2},
        {"guarantee": cdp.GDP(2.0)},
        {"guarantee": cdp.PureDP(2.0)},
    ],
    ids=str,
)
def test_two_scales_of_one_secret_do_not_tell_the_numbers(other):
    """With one key z = S + s xi and z' = S + s' xi would give S = (s' z - s z') / (s' - s)."""
    rows = np.random.default_rng(5).normal(size=(4000, 2)) * 0.5
    rows[:7] = np.nan
    ball, secret = (
        cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0),
        cdp.NoiseSecret(bytes(32)),
    )
    how = {"guarantee": cdp.GDP(1.0), "groups": [0, 2000, 4000], "secret": secret}
    first, second = (
        cdp.frechet_mean(rows, ball, coverage=True, **(how | own)).coverage for own in ({}, other)
    )
    s, t = first.standard_error, second.standard_error
    outside = np.sum(np.linalg.norm(rows, axis=1) > 1.0)
    true = np.array([4000 - outside - 7, outside, 7])
    found = (t * np.array(first.noisy) - s * np.array(second.noisy)) / (t - s)
    assert np.abs(found - true).max() > 1e-3
    # the control: what the same noise at two scales tells
    xi = (np.array(first.noisy) - true) / s
    same = (t * (true + s * xi) - s * (true + t * xi)) / (t - s)
    assert np.abs(same - true).max() < 1e-6


# ------------------------------------------------------------------ by default


def of_kind(kind):
    """A class and all below it."""
    return [kind, *(own for child in kind.__subclasses__() for own in of_kind(child))]


def test_all_but_these_statistics_count_by_default():
    import curvedp.mail.private_mail  # noqa: F401

    own = [kind for kind in of_kind(cdp.Statistic) if kind.__module__.startswith("curvedp")]
    never = {kind.__name__ for kind in own if not kind.counted}
    assert never == {
        *("Quantile", "PrivateQuery", "Embedding"),
        "LocatedMean",
    }
    assert "does not count its records" in cdp.quantile.__doc__


@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_every_statistic_counts_by_default_or_the_report_says_why_not(entry):
    records = SPHERE.project(cdp.Sphere(2).random_point(600, rng=0))
    few = records[:30]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = entry.call(records, SPHERE, entry.guarantee, seed=1)
        if entry.statistic.counted:
            again = entry.call(records, SPHERE, entry.guarantee, seed=1, coverage=True)
            assert found.to_json() == again.to_json()
            assert found.coverage.n == 600
            never = entry.call(records, SPHERE, entry.guarantee, seed=1, coverage=False)
            assert (never.coverage, never.uncounted) == (None, "coverage=False")
            assert "(coverage=False)." in " ".join(never.report().split())
        elif isinstance(found, cdp.Release):
            assert found.coverage is None
            told = "each release counts" if entry.name == "located" else "does not count"
            assert told in found.uncounted
        both = entry.call(few, SPHERE, cdp.GDP(1.0), seed=1, groups=[0, 15, 30], skip_small=True)
    assert getattr(both, "coverage", None) is None
    if entry.statistic.counted:
        assert "n = 30 is too small" in both.uncounted
        assert "n = 39" in " ".join(both.report().split())


def test_the_reason_names_what_would_do():
    def told(n, guarantee, **how):
        return cdp.frechet_mean(np.zeros((n, 1)), LINE, guarantee, **how)

    for guarantee, how in (
        (cdp.GDP(0.5), {}),
        (cdp.PureDP(0.25), {}),
        (cdp.GDP(1.0), {"records_per_unit": 3}),
        (ApproxDP(0.4, 1e-6), {}),
    ):
        few = told(20, guarantee, **how)
        least, budget = re.search(r"n = (\d+), or \w+ = (\S+), would do", few.uncounted).groups()
        assert few.coverage is None
        assert told(int(least), guarantee, **how).coverage is not None
        if not isinstance(guarantee, ApproxDP):
            assert told(int(least) - 1, guarantee, **how).coverage is None
            assert told(20, type(guarantee)(float(budget)), **how).coverage is not None


def test_a_count_takes_no_release_away():
    """Where the rest of the budget is too small there is no count, unless it is insisted on."""
    ball = cdp.Ball("hyperboloid:16", center=np.eye(17)[0], radius=10.0)
    records = np.tile(ball.center, (2500, 1))
    with pytest.raises(ExistenceError) as refused:
        cdp.frechet_mean(records, ball, cdp.PureDP(0.1), coverage=False)
    budget = cdp.PureDP(refused.value.smallest_epsilon)
    with pytest.raises(ExistenceError):
        cdp.frechet_mean(records, ball, budget, coverage=True)
    found = cdp.frechet_mean(records, ball, budget)
    assert found.coverage is None
    assert "rest of the budget" in found.uncounted
    expected = cdp.expected_error(ball, 2500, budget)
    assert expected == cdp.expected_error(ball, 2500, budget, coverage=False)
    plan = cdp.plan("frechet_mean", ball, budget, n=2500)
    assert plan == cdp.plan("frechet_mean", ball, budget, n=2500, coverage=False)


def test_groups_that_exist_without_a_count_exist_with_the_default():
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=5.0)
    offsets = np.concatenate(([0], np.cumsum(np.arange(1, 120))))
    records = np.tile(ball.center, (offsets[-1], 1))
    how = {"groups": offsets, "skip_small": True}
    for epsilon in (0.9, 0.97, 1.0, 1.03):
        claim = cdp.PureDP(epsilon)
        without = cdp.frechet_mean(records, ball, claim, coverage=False, **how)
        assert not without.released.all()
        found = cdp.frechet_mean(records, ball, claim, **how)
        np.testing.assert_array_equal(found.released, without.released)


def test_public_prices_include_the_count():
    for guarantee in (cdp.GDP(1.0), cdp.PureDP(1.0), ApproxDP(1.0, 1e-6)):
        for n in (20, 60, 300, 4000):
            found = cdp.frechet_mean(np.zeros((n, 1)), LINE, guarantee)
            expected = cdp.expected_error(LINE, n, guarantee)  # at another place of the mean
            assert expected == pytest.approx(found.expected_error, rel=1e-3)
            plan = cdp.plan("frechet_mean", LINE, guarantee, n=n)
            assert plan.low <= found.expected_error * (1 + 1e-9)
            assert found.expected_error <= plan.high * (1 + 1e-9)
    n = cdp.required_n(LINE, 0.01, cdp.GDP(1.0))
    assert cdp.expected_error(LINE, n, cdp.GDP(1.0)) <= 0.01
    assert n > cdp.required_n(LINE, 0.01, cdp.GDP(1.0), coverage=False)


def test_a_group_alone_says_where_its_count_is():
    records = np.zeros((500, 1))
    found = cdp.frechet_mean(records, LINE, cdp.GDP(1.0), groups=[0, 150, 500])
    assert found.coverage is not None
    assert found[0].coverage is None
    assert "all groups have one count" in found[0].report().replace("\n", " ").replace("  ", "")
    again = cdp.Release.from_json(found[0].to_json())
    assert again.uncounted == found[0].uncounted


@pytest.mark.parametrize("kind", ["region", "interval"])
@pytest.mark.parametrize("guarantee", [cdp.GDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5)], ids=repr)
def test_a_region_or_interval_of_a_wrong_format_is_warned_of(kind, guarantee):
    """With the whole guarantee, of which its parts compose to what the count leaves."""
    release = {"region": cdp.confidence_region, "interval": cdp.variance_interval}[kind]
    records = SPHERE.project(SPHERE.center + 0.1 * np.random.default_rng(0).normal(size=(600, 3)))
    records[::3] = np.nan
    ledger = cdp.Ledger(guarantee)
    with pytest.warns(CoverageWarning, match="no points"):
        found = release(records, SPHERE, guarantee, ledger=ledger)
    assert found.guarantee == guarantee
    assert abs(found.coverage.noisy[2] - 200) < DEVIATIONS * found.coverage.standard_error
    assert "WARNING: " in found.report()
    assert "points inside the ball" in found.statement.accuracy
    assert "no points" in found._repr_html_()
    again = type(found).from_json(found.to_json())
    assert again.coverage == found.coverage
    assert again.report() == found.report()
    without = release(records, SPHERE, guarantee, coverage=False)
    assert without.coverage is None
    assert "coverage=False" in without.statement.accuracy
    for part, other in zip(found.parts, without.parts, strict=True):
        assert part.guarantee.mu < other.guarantee.mu
    both = release(records, SPHERE, guarantee, groups=[0, 300, 600], coverage=True)
    assert both.coverage.n == 600
    assert "one count" in both[0].statement.accuracy


def test_the_interval_of_a_released_variance_tells_its_count():
    found = cdp.frechet_variance(with_others(600), SPHERE, cdp.GDP(3.0), coverage=True)
    assert found.interval().coverage == found.coverage


def test_a_plan_of_a_region_names_the_share_of_its_count():
    for guarantee in (cdp.GDP(1.0), ApproxDP(1.0, 1e-6)):
        own = cdp.plan("confidence_region", SPHERE, guarantee, n=600, coverage=True)
        assert "count of records inside the ball takes" in own.meaning
        assert (
            own.high > cdp.plan("confidence_region", SPHERE, guarantee, n=600, coverage=False).high
        )


def test_shown_numbers_are_the_closest_that_may_be():
    """Euclidean projection: what is positive was moved by the same, what is 0 lay below that."""
    generator, noise = np.random.default_rng(3), cdp.GDP(1.0)
    for n in (1, 40, 10**6):
        for outside, no_point in generator.normal(0.3 * n, n, (200, 2)).tolist():
            found = Coverage.of_numbers(outside, no_point, 1.0, n, "Gaussian", noise)
            shown = np.array([found.inside, found.outside, found.no_point])
            moved = found.noisy - shown
            share = moved[np.argmax(shown)]
            assert (shown >= 0.0).all()
            assert shown.sum() == pytest.approx(n, rel=1e-12)
            np.testing.assert_allclose(moved[shown > 0.0], share, atol=1e-9 * n)
            assert (moved[shown == 0.0] <= share + 1e-9 * n).all()
