"""Private k-means: sensitivity of a round, its noise, what a fitted model holds."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp import _core
from curvedp.audit import audit_release_function
from curvedp.errors import NoiseWarning
from manifold_list import SMALL

pytest.importorskip("sklearn", minversion="1.6")

from chance import CONFIDENCE
from curvedp.learning import PrivateKMeans
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.statistics import cells
from curvedp.statistics.call import Call
from curvedp.statistics.cells import Cells as CellsOfARound
from curvedp.statistics.cells import Rows, cell_noise, cover, distances, gaps, nearest, seeds
from curvedp.statistics.kmeans import clip_lengths

PLANE = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=10.0)
BALL = cdp.Ball("spd:2", center="identity", radius=1.5)


def points(coords, ball=BALL):
    manifold = ball.manifold
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


def clusters(n=900, seed=0, ball=BALL, spread=0.1):
    """Three groups about points at 0.55 of the radius, and the group of each record."""
    rng = np.random.default_rng(seed)
    codes, dim = rng.integers(0, 3, n), ball.manifold.dim
    middle = np.zeros((3, dim))
    middle[:, :2] = [[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]]
    noise = spread * rng.standard_normal((n, dim))
    return points(ball.radius * (0.55 * middle[codes] + noise), ball), codes


def model(n_clusters=3, mu=3.0, ball=BALL, **options):
    return PrivateKMeans(n_clusters, ball=ball, guarantee=cdp.GDP(mu), **options)


# ------------------------------------------------------------------ sensitivity


def table(ball, rows, centers, lengths, ends=None):
    return cells.table(ball, Rows(rows, ends), centers, lengths)


def change(ball, centers, lengths, one, other, rest):
    """What replacing a record moves: in Frobenius norm, and in the sum of the rows' lengths."""
    tables = [table(ball, np.vstack([own[None], rest]), centers, lengths) for own in (one, other)]
    moved = (1 + len(rest)) * (tables[0] - tables[1])
    return float(np.linalg.norm(moved)), float(np.linalg.norm(moved, axis=1).sum())


CENTERS, LENGTHS = np.array([[-5.0, 0.0], [5.0, 0.0]]), np.array([1.0, 2.0])
REST = np.array([[-5.0, 1.0], [5.0, 1.0], [0.0, 3.0]])


def across():
    """From one cell to another, each time at the full clipping length."""
    return change(PLANE, CENTERS, LENGTHS, np.array([-5.0, 3.0]), np.array([5.0, 4.0]), REST)


def within():
    """From one side of a cell to the other."""
    return change(PLANE, CENTERS, LENGTHS, np.array([5.0, 4.0]), np.array([5.0, -4.0]), REST)


def bound(share, cells=2):
    """What the noise of one record among one is calibrated to."""
    return cell_noise(2, cells, 1, 1, share).sensitivity


def test_both_bounds_on_replacing_a_record_are_attained():
    assert across()[0] == pytest.approx(bound(cdp.GDP(1.0)), rel=1e-12)
    assert within()[0] == pytest.approx(bound(cdp.GDP(1.0)), rel=1e-12)
    assert across()[1] == pytest.approx(bound(cdp.PureDP(1.0)), rel=1e-12)
    assert within()[1] == pytest.approx(bound(cdp.PureDP(1.0), cells=1), rel=1e-12)


@pytest.mark.parametrize("place", [across, within])
def test_a_bound_5_percent_smaller_is_violated(place):
    frobenius, by_rows = place()
    assert frobenius > 0.95 * bound(cdp.GDP(1.0))
    assert by_rows > 0.95 * bound(cdp.PureDP(1.0), cells=2 if place is across else 1)


@pytest.mark.parametrize("case", SMALL, ids=repr)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_record_moves_a_table_further(case, seed):
    rng = np.random.default_rng(seed)
    radius = min(0.9 * case.manifold.max_ball_radius, 1.5)
    ball = cdp.Ball(case.manifold, case.twin.random_point(rng), radius)
    rows = ball.enter(case.twin.random_points(rng, 9))
    centers, count = rows[:3].copy(), 10.0 ** rng.uniform(-3, 1)
    lengths = count * rng.uniform(0.1, 1.0, 3)
    frobenius, by_rows = change(ball, centers, lengths, *rows[3:5], rows[5:])
    assert frobenius <= bound(cdp.GDP(1.0)) * (1 + 1e-12)
    assert by_rows <= bound(cdp.PureDP(1.0)) * (1 + 1e-12)
    assert change(ball, centers, lengths, rows[3], rows[3], rows[5:]) == (0.0, 0.0)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_record_changes_nothing_in_the_cells_of_others(case):
    """To the last bit: blocks of vectors do not tie records to each other."""
    rng = np.random.default_rng(1)
    radius = min(0.9 * case.manifold.max_ball_radius, 1.5)
    ball = cdp.Ball(case.manifold, case.twin.random_point(rng), radius)
    rows = ball.enter(case.twin.random_points(rng, 60))
    centers, lengths = rows[:4].copy(), np.full(4, 0.5)
    other = rows.copy()
    other[17] = rows[33]
    before, after = (nearest(ball, each, centers) for each in (rows, other))
    kept = np.arange(60) != 17
    np.testing.assert_array_equal(before[kept], after[kept])
    untouched = np.setdiff1d(range(4), [before[17], after[17]])
    assert len(untouched) >= 2
    tables = [table(ball, each, centers, lengths)[untouched] for each in (rows, other)]
    np.testing.assert_array_equal(*tables)


def test_what_is_computed_is_within_the_claimed_rounding():
    rng = np.random.default_rng(2)
    rows = 4.0 * rng.standard_normal((2000, 2))
    logs = (rows - CENTERS[nearest(PLANE, rows, CENTERS)]) / LENGTHS[
        nearest(PLANE, rows, CENTERS), None
    ]
    clipped = np.array([_core.clipped_mean(row[None].copy(), 1.0) for row in logs])
    own = nearest(PLANE, rows, CENTERS)
    exact = np.zeros((2, 3))
    for cell in range(2):
        for column in range(2):
            exact[cell, column] = math.fsum(clipped[own == cell, column]) / 2000
        exact[cell, 2] = np.sum(own == cell) / 2000
    error = np.linalg.norm(table(PLANE, rows, CENTERS, LENGTHS) - exact)
    noise = cell_noise(2, 2, 2000, 1, cdp.GDP(1.0))
    assert error <= noise.rounding < 1e-13


# ------------------------------------------------------------------ units


def change_of_unit(ball, centers, lengths, one, other, rest, sizes):
    """As `change`, for the records of a unit and of what replaces it among other units."""
    tables = []
    for own in (one, other):
        ends = np.concatenate(([0], np.cumsum([len(own), *sizes])))
        tables.append(table(ball, np.vstack([own, rest]), centers, lengths, ends))
    moved = (1 + len(sizes)) * (tables[0] - tables[1])
    return float(np.linalg.norm(moved)), float(np.linalg.norm(moved, axis=1).sum())


def test_units_of_many_records_attain_the_bounds():
    left, right = np.tile([-5.0, 3.0], (40, 1)), np.tile([5.0, 4.0], (3, 1))
    found = change_of_unit(PLANE, CENTERS, LENGTHS, left, right, REST, [1, 2])
    assert found[0] == pytest.approx(bound(cdp.GDP(1.0)), rel=1e-9)
    assert found[1] == pytest.approx(bound(cdp.PureDP(1.0)), rel=1e-9)


@pytest.mark.parametrize("case", SMALL, ids=repr)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_unit_moves_a_table_further(case, seed):
    rng = np.random.default_rng(seed)
    radius = min(0.9 * case.manifold.max_ball_radius, 1.5)
    ball = cdp.Ball(case.manifold, case.twin.random_point(rng), radius)
    rows = ball.enter(case.twin.random_points(rng, 18))
    centers, lengths = rows[:3].copy(), 10.0 ** rng.uniform(-3, 1) * rng.uniform(0.1, 1.0, 3)
    sizes = rng.multinomial(4, [0.25] * 4) + 1
    parts = rows[3:10], rows[10:10], rows[10:]
    one, other = parts[0][: rng.integers(1, 6)], parts[0][5:]
    rest = np.resize(parts[2], (int(sizes.sum()), rows.shape[1]))
    with np.errstate(all="ignore"):
        found = change_of_unit(ball, centers, lengths, one, other, rest, sizes)
    assert found[0] <= bound(cdp.GDP(1.0)) * (1 + 1e-12)
    assert found[1] <= bound(cdp.PureDP(1.0)) * (1 + 1e-12)


def test_units_that_counted_by_records_would_break_the_bound():
    left, right = np.tile([-5.0, 3.0], (40, 1)), np.tile([5.0, 4.0], (40, 1))
    tables = [table(PLANE, np.vstack([own, REST]), CENTERS, LENGTHS) for own in (left, right)]
    assert np.linalg.norm(4 * (tables[0] - tables[1])) > 1.8 * bound(cdp.GDP(1.0))


def test_a_unit_is_the_mean_of_its_records_within_the_claimed_rounding():
    rng = np.random.default_rng(3)
    rows = 4.0 * rng.standard_normal((2000, 2))
    rows[::50] = 1e3, -1e3
    sizes = rng.integers(1, 30, 400)
    sizes = sizes[np.cumsum(sizes) < 2000]
    ends = np.concatenate(([0], np.cumsum(sizes), [2000]))
    own = nearest(PLANE, rows, CENTERS)
    with np.errstate(all="ignore"):
        logs = (rows - CENTERS[own]) / LENGTHS[own, None]
    expected = np.zeros((len(ends) - 1, 2, 3))
    for unit, (first, last) in enumerate(itertools.pairwise(ends)):
        for row in range(first, last):
            short = _core.clipped_mean(logs[row][None].copy(), 1.0)
            expected[unit, own[row]] += np.append(short, 1.0) / (last - first)
    found = table(PLANE, rows, CENTERS, LENGTHS, ends)
    np.testing.assert_allclose(found, expected.mean(axis=0), atol=1e-11)
    # a unit may be rounded as it likes, as long as it is a convex combination: sums alone count
    own, shares, means = Rows(rows, ends).of_units(own, logs)
    assert np.linalg.norm(means, axis=1).max() <= 1.0
    assert (np.linalg.norm(means, axis=1) <= shares).all()
    exact = np.zeros((2, 3))
    for cell in range(2):
        table_of_cell = np.column_stack([means, shares])[own == cell]
        exact[cell] = [math.fsum(column) / (len(ends) - 1) for column in table_of_cell.T]
    noise = cell_noise(2, 2, len(ends) - 1, 1, cdp.GDP(1.0))
    assert np.linalg.norm(found - exact) <= noise.rounding < 1e-13


def test_a_fit_by_units_protects_them_with_the_noise_of_one_record_each():
    records, codes = clusters(1200)
    persons = np.arange(1200) // 4
    shuffled = np.random.default_rng(5).permutation(1200)
    fitted = model(seed=1).fit(records[shuffled], units=persons[shuffled])
    assert fitted.release_.n == 300
    assert "units-by-name" in fitted.release_.assumptions
    unnamed = model(seed=1, records_per_unit=4).fit(records)
    assert fitted.release_.scale == pytest.approx(unnamed.release_.scale, rel=1e-9)
    assert fitted.cluster_sizes_.sum() == pytest.approx(300, rel=0.05)
    assert len(fitted.labels_) == 1200
    agrees = [
        (codes[shuffled][fitted.labels_ == own] == k).mean()
        for own in range(3)
        for k in [np.bincount(codes[shuffled][fitted.labels_ == own]).argmax()]
    ]
    assert min(agrees) > 0.95
    alone = model(seed=1).fit(records, units=np.arange(1200))
    plain = model(seed=1).fit(records)
    away = BALL.manifold.pairwise_dist(alone.cluster_centers_, plain.cluster_centers_)
    assert away.min(axis=0).max() < 0.05  # in any order, so with the noise of other rows
    with pytest.raises(ValueError, match="not both"):
        model(records_per_unit=2).fit(records, units=persons)


# ------------------------------------------------------------------ noise and composition


def test_the_noise_is_that_of_the_share_and_counts_rounding_twice():
    for share, expected in ((cdp.GDP(0.5), 2.0), (cdp.PureDP(0.5), 2.0 * math.sqrt(2.0))):
        noise = cell_noise(5, 4, 300, 3, share)
        assert noise.sensitivity == pytest.approx(expected * 3 / 300, rel=1e-15)
        assert noise.scale >= (noise.sensitivity + 2 * noise.rounding) / 0.5
        assert noise.scale == pytest.approx(noise.sensitivity / 0.5, rel=1e-9)
        assert noise.size == 6


@pytest.mark.parametrize("share", [cdp.GDP(1.0), cdp.PureDP(1.0)])
def test_rows_of_a_table_have_noise_of_their_own(share):
    noise = VectorNoise.of(3, 1.0, 0.0, 1.0, share)
    drawn = noise.add(np.zeros((4000, 3)), _core.Stream.from_key(bytes(32), 0))
    np.testing.assert_allclose(drawn.std(axis=0), noise.deviation, rtol=0.08)
    lengths = np.linalg.norm(drawn, axis=1)
    assert abs(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]) < 0.06
    # in a single vector of all entries a long row would lie among long ones
    whole = VectorNoise.of(12_000, 1.0, 0.0, 1.0, share)
    one = whole.add(np.zeros((4000, 3)), _core.Stream.from_key(bytes(32), 0))
    assert one.std() == pytest.approx(whole.deviation, rel=0.2)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("n_rounds", [None, 1, 7])
@pytest.mark.parametrize("guarantee", [cdp.GDP(0.7), cdp.PureDP(0.7)])
def test_the_rounds_compose_to_the_guarantee(guarantee, n_rounds, known):
    statistic = cdp.KMeans(3, clusters(3)[0] if known else None, n_rounds)
    call = Call(statistic=statistic, balls=(BALL,), guarantee=guarantee, records_per_unit=2)
    schedule = statistic.design(call, BALL, 900)
    usual = 3 if isinstance(guarantee, cdp.GDP) else 1
    assert len(schedule.rounds) == (n_rounds or usual)
    assert (schedule.first is None) == known
    noises = [noise for noise in (schedule.first, *schedule.rounds) if noise is not None]
    spent = [noise.sensitivity / noise.scale for noise in noises]
    total = math.hypot(*spent) if isinstance(guarantee, cdp.GDP) else sum(spent)
    assert total <= 0.7
    assert total == pytest.approx(0.7, rel=1e-6)


def round_audit(claimed, noise_of, count):
    """Audit of one round, where a record leaves one cell at full length for the other."""
    one = np.vstack([[-5.0, 3.0], REST])
    other = np.vstack([[5.0, 4.0], REST])
    tables = [table(PLANE, rows, CENTERS, LENGTHS) for rows in (one, other)]

    def release(rows):
        noise = noise_of(2, 2, len(rows), 1, claimed)
        return noise.add(table(PLANE, rows, CENTERS, LENGTHS), _core.Stream.from_os())

    def loss(value):
        lengths = [np.linalg.norm(value - own, axis=1) for own in tables]
        if isinstance(claimed, cdp.PureDP):
            return float(lengths[1].sum() - lengths[0].sum())
        return float((lengths[1] ** 2).sum() - (lengths[0] ** 2).sum())

    return audit_release_function(
        release, one, other, loss, n_releases=count, claimed=claimed, confidence=CONFIDENCE
    )


@pytest.mark.parametrize(("claimed", "power"), [(cdp.GDP(1.0), 0.2), (cdp.PureDP(4.0), 0.6)])
def test_a_round_keeps_its_guarantee(claimed, power):
    result = round_audit(claimed, cell_noise, 3000)
    assert result.passed, result
    assert result.lower_bound > power, "an audit without power proves nothing"


def test_half_the_noise_is_found_out():
    def half(dim, cells, n, moved, share):
        return cell_noise(dim, cells, 2 * n, moved, share)

    assert not round_audit(cdp.GDP(1.0), half, 3000).passed


def fit_audit(claimed, count):
    """Audit of the whole fit: a record crosses a line with one centre at each end."""
    line = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    data = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    other = np.array([[1.0], [-1.0], [1.0], [1.0]])
    fitted = PrivateKMeans(2, ball=line, guarantee=claimed, init=[[-0.5], [0.5]], n_rounds=2)

    def released(rows):
        fitted.fit(rows)
        return np.append(fitted.cluster_centers_, fitted.cluster_sizes_)

    return audit_release_function(
        released,
        data,
        other,
        lambda value: float(value[2]),
        n_releases=count,
        claimed=claimed,
        confidence=CONFIDENCE,
    )


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_the_fit_keeps_its_guarantee():
    result = fit_audit(cdp.GDP(6.0), 1000)
    assert result.passed, result
    assert result.lower_bound > 0.5, "an audit without power proves nothing"


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_a_fit_with_a_sixth_of_the_noise_is_found_out(monkeypatch):
    def less(dim, cells, n, moved, share):
        return cell_noise(dim, cells, 6 * n, moved, share)

    monkeypatch.setattr("curvedp.statistics.kmeans.cell_noise", less)
    assert not fit_audit(cdp.GDP(2.0), 1000).passed


# ------------------------------------------------------------------ what it finds


def test_clusters_are_found_at_a_usual_budget():
    metrics = pytest.importorskip("sklearn.metrics")
    records, codes = clusters(3000)
    fitted = model(mu=1.0).fit(records)
    assert metrics.adjusted_rand_score(codes, fitted.labels_) > 0.95
    sizes = np.bincount(fitted.labels_, minlength=3)
    np.testing.assert_allclose(fitted.cluster_sizes_, sizes, atol=60)
    assert fitted.cluster_sizes_.sum() == pytest.approx(3000)
    assert np.all(BALL.contains(fitted.cluster_centers_))


def test_with_a_huge_budget_it_is_as_good_as_scikit_learn():
    plain = pytest.importorskip("sklearn.cluster")
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        middles = rng.uniform(-6.0, 6.0, (5, 2))
        records = middles[rng.integers(0, 5, 1500)] + 0.7 * rng.standard_normal((1500, 2))
        records = PLANE.project(records)
        exact = plain.KMeans(5, n_init=10, random_state=0).fit(records)
        fitted = model(5, 1e4, PLANE, n_rounds=20).fit(records)
        assert fitted.inertia_ >= exact.inertia_ * (1 - 1e-9)
        ratios.append(fitted.inertia_ / exact.inertia_)
    assert np.mean(ratios) < 1.05


def test_released_cells_are_better_starts_than_points_of_the_ball():
    manifold = cdp.Sphere(5)
    ball = cdp.Ball(manifold, manifold.origin, 1.0)
    rng = np.random.default_rng(3)
    middles = 0.6 * np.linalg.qr(rng.standard_normal((5, 5)))[0]
    records = points(
        middles[rng.integers(0, 5, 2000)] + 0.08 * rng.standard_normal((2000, 5)), ball
    )
    found, blind = [], []
    for seed in range(6):
        found.append(model(5, 1.0, ball, seed=seed).fit(records).inertia_)
        start = cdp.datasets.uniform_ball(5, ball, rng=seed)
        blind.append(model(5, 1.0, ball, seed=seed, init=start).fit(records).inertia_)
    assert np.mean(found) < 0.8 * np.mean(blind)


def test_one_cluster_is_a_mean_and_its_size_is_public():
    records, _ = clusters(2000)
    fitted = model(1, 2.0).fit(records)
    exact = cdp.nonprivate.frechet_mean(records, BALL.manifold).value
    assert BALL.manifold.dist(fitted.cluster_centers_[0], exact) < 0.05
    assert fitted.cluster_sizes_.tolist() == [pytest.approx(2000.0, abs=1e-9)]
    assert set(fitted.labels_) == {0}


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(6.0), cdp.ApproxDP(4.0, 1e-6), cdp.ZCDP(1.0), cdp.GDP(1.5)]
)
def test_every_kind_of_guarantee_is_served(guarantee):
    records, codes = clusters(3000)
    fitted = PrivateKMeans(3, ball=BALL, guarantee=guarantee).fit(records)
    assert fitted.release_.guarantee == guarantee
    pairs = {(code, label) for code, label in zip(codes, fitted.labels_, strict=True)}
    assert len(pairs) >= 3
    spread = 3000 * BALL.manifold.dim * (0.1 * BALL.radius) ** 2
    assert fitted.inertia_ < 2 * spread


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_every_space_is_served(case):
    rng = np.random.default_rng(4)
    radius = min(0.9 * case.manifold.max_ball_radius, 1.5)
    ball = cdp.Ball(case.manifold, case.twin.random_point(rng), radius)
    records = case.twin.random_points(rng, 40)
    fitted = model(3, 1.0, ball).fit(records)
    assert np.all(ball.contains(fitted.cluster_centers_))
    np.testing.assert_array_equal(fitted.predict(records), fitted.labels_)


# ------------------------------------------------------------------ degenerate data


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_as_many_clusters_as_records_and_equal_records(count):
    equal = np.repeat(clusters(1)[0], count, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for mu in (1e-3, 1.0, 1e3):
            fitted = model(count, mu).fit(equal)
            assert np.all(np.isfinite(fitted.cluster_centers_))
            assert np.all(fitted.cluster_sizes_ >= 0)


def test_a_centre_without_records_stays_in_the_ball():
    start = points(BALL.radius * np.array([[0.9, 0.0, 0.0], [-0.9, 0.0, 0.0]]))
    records = np.repeat(start[:1], 500, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(2, 2.0, init=start).fit(records)
    assert BALL.contains(fitted.cluster_centers_).all()
    full = fitted.cluster_sizes_.argmax()
    assert BALL.manifold.dist(fitted.cluster_centers_[full], start[0]) < 0.1
    assert fitted.cluster_sizes_[1 - full] < 50


def test_equal_centres_have_the_shortest_clipping_length():
    equal = BALL.enter(np.repeat(clusters(1)[0], 3, axis=0))
    np.testing.assert_array_equal(clip_lengths(BALL, equal), 0.01 * BALL.radius)
    np.testing.assert_array_equal(clip_lengths(BALL, equal[:1]), BALL.radius)


@pytest.mark.parametrize("empty", [0, 5, 12])
def test_seeds_are_found_in_cells_of_any_counts(empty):
    places = cover(BALL, 12, 0.75)
    counts = np.where(np.arange(12) < empty, -3.0, 40.0)
    cells = CellsOfARound(counts, np.zeros((12, 3)), 2.0)
    found = seeds(BALL, places, np.full(12, BALL.radius), cells, 6)
    assert found.shape == (6, BALL.frame.manifold.point_size)
    assert gaps(BALL, found).min() > 0


def test_a_cover_is_spread_out_and_public():
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.0)
    places = cover(ball, 50, 0.5)
    np.testing.assert_array_equal(places, cover(ball, 50, 0.5))
    away = distances(ball, places, ball.frame.origin[None])[:, 0]
    assert away.max() <= 0.5 + 1e-9
    # discs of half the least gap do not overlap: 50 of them fill a fair part of the ball
    assert gaps(ball, places).min() > 0.08


# ------------------------------------------------------------------ scikit-learn's conventions


def test_predictions_are_nearest_released_centres():
    records, _ = clusters()
    fitted = model().fit(records)
    further, _ = clusters(seed=5)
    expected = BALL.manifold.pairwise_dist(BALL.project(further), fitted.cluster_centers_)
    np.testing.assert_array_equal(fitted.transform(further), expected)
    np.testing.assert_array_equal(fitted.predict(further), expected.argmin(axis=1))
    assert fitted.score(further) == -float((expected.min(axis=1) ** 2).sum())
    assert fitted.score(records) == -fitted.inertia_
    np.testing.assert_array_equal(
        model(seed=1).fit_predict(records), model(seed=1).fit(records).labels_
    )
    np.testing.assert_array_equal(fitted.release_.value, fitted.cluster_centers_)


def test_a_stored_model_holds_releases_alone():
    records, _ = clusters()
    fitted = model(ledger=None).fit(records)
    twin = pickle.loads(pickle.dumps(fitted))
    assert set(vars(fitted)) - set(vars(twin)) == {"labels_", "inertia_"}
    stored = [value for value in vars(twin).values() if isinstance(value, np.ndarray)]
    assert all(len(value) == 3 for value in stored)
    np.testing.assert_array_equal(twin.predict(records), fitted.labels_)


def test_a_notebook_shows_what_is_released_alone():
    """scikit-learn's tables of fitted attributes show numbers, and notebooks are published."""
    make_pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    records, _ = clusters()
    fitted = make_pipeline(model()).fit(records)
    shown = fitted._repr_html_()
    step = fitted[-1]
    for name in ("labels_", "inertia_"):
        assert hasattr(step, name)
        assert name not in dir(step)
        assert name not in shown
    assert {"cluster_centers_", "cluster_sizes_", "release_"} <= set(dir(step))


def test_a_search_over_the_number_of_clusters_pays_for_every_fit():
    selection = pytest.importorskip("sklearn.model_selection")
    records, _ = clusters()
    with cdp.Ledger(cdp.GDP(20.0)) as ledger:
        search = selection.GridSearchCV(
            model(ledger=ledger), {"n_clusters": [2, 3]}, cv=3, error_score="raise"
        )
        search.fit(records)
        assert len(ledger.entries) == 7


def test_public_starts_leave_the_budget_to_the_rounds():
    records, _ = clusters()
    start = points(BALL.radius * np.array([[0.4, 0.0, 0.0], [-0.3, 0.3, 0.0], [-0.3, -0.3, 0.0]]))
    release = model(mu=1.0, init=start, coverage=False).fit(records).release_
    assert release.scale == pytest.approx(2 / 900 * math.sqrt(3), rel=1e-6)
    release = model(mu=1.0, coverage=False).fit(records).release_
    assert release.scale == pytest.approx(2 / 900 * math.sqrt(3 / 0.6), rel=1e-6)
    with pytest.raises(ValueError, match=r"init must hold n_clusters=4 points"):
        model(4, init=start).fit(records)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 2.5}, "n_clusters must be"),
        ({"n_clusters": 901}, "n_samples=900 should be >= n_clusters=901"),
        ({"n_rounds": 0}, "n_rounds must be"),
        ({"records_per_unit": 0}, "records_per_unit must be"),
        ({"init": np.eye(2)}, "init"),
        ({"init": np.ones((3, 5))}, "init"),
        ({"init": np.stack([np.eye(2), np.eye(2), -np.eye(2)])}, "a row that is no point of spd:2"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_spent(wrong, message):
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        with pytest.raises((ValueError, TypeError), match=message):
            model(**({"n_clusters": 3} | wrong), ledger=ledger).fit(clusters()[0])
        assert ledger.spent is None


@pytest.mark.parametrize("radius", [1e-300, 1e-139, 1e-9, 1e9, 1e139, 1e300])
@pytest.mark.parametrize("guarantee", [cdp.GDP, cdp.PureDP])
def test_radii_and_budgets_of_any_size_are_served_or_refused_unpaid(radius, guarantee):
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=radius)
    records = radius * np.random.default_rng(0).uniform(-1, 1, (60, 2))
    records[:5, 0] = [np.nan, np.inf, 1e308, 5e-324, -0.0]
    for budget in (1e-300, 1e-12, 1e-3, 1e3, 1e12):
        with cdp.Ledger(guarantee(1e15)) as ledger, warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NoiseWarning)
            fitted = PrivateKMeans(3, ball=ball, guarantee=guarantee(budget), ledger=ledger)
            if budget == 1e-300 or not 1e-140 < radius < 1e140:
                with pytest.raises(ValueError, match=r"must be between|needs a radius between"):
                    fitted.fit(records)
                assert ledger.spent is None
                continue
            fitted.fit(records)
            assert ball.contains(fitted.cluster_centers_).all()
            assert np.all(np.isfinite(fitted.cluster_sizes_))
            assert np.isfinite(fitted.inertia_)


def test_noise_larger_than_clusters_is_told_before_it_is_drawn():
    records, _ = clusters(50)
    with pytest.warns(NoiseWarning, match="clipping length in a cluster of the mean size"):
        model(5, 0.3).fit(records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(3, 1.0).fit(clusters(900)[0])
