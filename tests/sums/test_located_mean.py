"""The mean without a public ball: what it finds, what it says, what it refuses."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import curvedp as cdp
from command_line import run
from curvedp.errors import CoverageWarning, ExistenceError, NoiseWarning
from curvedp.manifolds import as_manifold
from curvedp.privacy.base import Neighbours
from manifold_list import FRAMES, KINDS, of

#: One space of each kind, and the spread of records about a random point of it.
SPACES = {
    "euclidean:3": 2.0,
    "sphere:2": 0.4,
    "sphere:6": 0.4,
    "rotations:3": 0.4,
    "projective:2": 0.3,
    "kendall:7": 0.2,
    "grassmann:5:2": 0.3,
    **{case.name: 0.4 for case in of(KINDS, FRAMES)},
    "torus:2": 0.4,
    "hyperboloid:3": 1.0,
    "correlation:4": 0.5,
    "spd:3": 1.0,
    "spd:3:log-euclidean": 1.0,
    "spd:3:log-cholesky": 1.0,
    "hpd:2": 1.0,
}


def _records(spec: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal records about a point, and that point."""
    space, rng = as_manifold(spec), np.random.default_rng(seed)
    center = space.random_point(rng=rng)
    coords = rng.standard_normal((n, space.dim)) * SPACES[spec] / np.sqrt(space.dim)
    return space.exp(space.coords_to_tangent(coords, center), center), center


@pytest.mark.parametrize("spec", SPACES)
def test_the_mean_is_found_within_a_few_expected_errors(spec: str) -> None:
    space = as_manifold(spec)
    records, _center = _records(spec, 800)
    release = cdp.frechet_mean(records, space, cdp.GDP(2.0))
    assert release.found
    assert release.reason is None
    assert space.belongs(release.value)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    error = float(space.dist(release.value, exact))
    assert error < 12.0 * release.expected_error
    assert release.expected_error < 2.0 * SPACES[spec]
    assert release.n_points == pytest.approx(800, abs=8.0 * release.n_points_error)
    assert 0.4 * SPACES[spec] < release.spread < 2.5 * SPACES[spec]


def test_a_manifold_stands_in_the_balls_place_of_means_alone() -> None:
    records, _ = _records("sphere:2", 200)
    sphere = as_manifold("sphere:2")
    needy = (cdp.adaptive_mean, cdp.confidence_region)
    for function in (cdp.frechet_variance, cdp.variance_interval, *needy):
        with pytest.raises(TypeError, match="needs a public ball"):
            function(records, sphere, cdp.GDP(1.0))
        told = function in (cdp.frechet_variance, cdp.variance_interval)
        with pytest.raises(TypeError) as refused:
            function(records, sphere, cdp.GDP(1.0))
        assert ("2 * ball.radius" in str(refused.value)) == told
    with pytest.raises(TypeError, match="public Ball"):
        cdp.expected_error(sphere, 100, cdp.GDP(1.0))


def test_a_ball_that_leaves_records_out_is_said_to_make_their_variance_smaller() -> None:
    """A tenth of the records is spread ten times as far: twice the found radius cuts less."""
    center = np.array([0.0, 0.0, 1.0])
    ball = cdp.Ball("sphere:2", center, 0.1)
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(4000) % 10 == 0, 0.3, 0.03)[:, None]
    records = ball.manifold.exp(spread * rng.standard_normal((4000, 3)) * [1, 1, 0], center)
    true = 2 * (0.9 * 0.03**2 + 0.1 * 0.3**2)
    told = []
    for factor in (1, 4):
        own = cdp.Ball(ball.manifold, center, factor * ball.radius)
        variance = cdp.frechet_variance(records, own, cdp.GDP(5.0))
        interval = cdp.variance_interval(records, own, cdp.GDP(5.0))
        for text in (variance.report(), interval.report()):
            assert "so a variance is too small if some do" in " ".join(text.split())
        told.append((variance.value.item(), interval.upper))
    assert max(told[0]) < 0.5 * true < told[1][0]


def test_a_search_among_records_in_another_order_asks_for_it() -> None:
    parts = np.random.default_rng(1).standard_normal((400, 3, 3))
    tensors = np.diag([1.6, 0.4, 0.3]) + 0.02 * (parts + parts.swapaxes(1, 2))
    rows = tensors[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]  # MRtrix's, read as FSL's
    with pytest.warns(cdp.errors.CoverageWarning):
        release = cdp.frechet_mean(rows, "spd:3", cdp.GDP(1.0))
    assert not release.found
    assert release.reason is not None
    assert "order=" in release.reason
    assert cdp.frechet_mean(cdp.SPD(3).as_points(rows, order="mrtrix"), "spd:3", cdp.GDP(1.0)).found


def test_who_has_too_few_records_for_several_of_a_person_is_told_of_units() -> None:
    records, _ = _records("sphere:2", 500)
    few = {"guarantee": cdp.GDP(0.2), "records_per_unit": 40}
    with pytest.raises(cdp.errors.ExistenceError, match="units=, each record's person, needs"):
        cdp.frechet_mean(records, "sphere:2", **few)
    with pytest.raises(cdp.errors.ExistenceError) as refused:
        cdp.frechet_mean(records[:3], "sphere:2", cdp.GDP(0.2))
    assert "needs fewer" not in str(refused.value)


def test_no_report_tells_of_fewer_than_no_points() -> None:
    records, _ = _records("sphere:2", 200)
    release = cdp.frechet_mean(records, "sphere:2", cdp.GDP(1.0))
    below = dataclasses.replace(release, n_points=-22.3)
    assert "-22" not in below.report()
    assert "0 records that are points" in below.report()


def test_the_released_ball_is_one_for_other_statistics() -> None:
    records, _ = _records("sphere:2", 2000)
    ledger = cdp.Ledger(cdp.GDP(2.0))
    release = cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(1.0), ledger=ledger)
    assert release.ball is not None
    inside = np.mean(release.ball.contains(records))
    assert inside > 0.9
    variance = cdp.frechet_variance(records, release.ball, cdp.GDP(1.0), ledger=ledger)
    assert variance.value == pytest.approx(0.16, rel=0.3)
    assert len(ledger.entries) == 2


@pytest.mark.parametrize("kind", ["uniform", "antipodal", "circle"])
def test_records_without_a_mean_have_none(kind: str) -> None:
    rng, sphere = np.random.default_rng(3), cdp.Sphere(2)
    records = rng.standard_normal((1000, 3))
    if kind == "antipodal":
        records = 0.1 * records + np.where(np.arange(1000) % 2, 1.0, -1.0)[:, None] * [0, 0, 1]
    elif kind == "circle":
        records[:, 2] = 0.0
    release = cdp.frechet_mean(sphere.project(records), sphere, cdp.GDP(1.0))
    assert not release.found
    assert np.isnan(release.value).all()
    assert release.ball is None
    assert release.expected_error is None
    assert release.reason in release.report().replace("\n                ", " ")


def test_records_that_are_no_points_are_counted_out_and_said() -> None:
    records, center = _records("sphere:2", 1000)
    records[:300] = np.nan
    with pytest.warns(CoverageWarning, match="no points of sphere:2"):
        release = cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(1.0))
    assert release.n_points == pytest.approx(700, abs=8.0 * release.n_points_error)
    assert float(cdp.Sphere(2).dist(release.value, center)) < 0.1
    assert "no points of sphere:2" in release.report().replace("\n", " ")


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_counts_of_a_large_budget_miss_no_record() -> None:
    """Their noise is less than what they are rounded by: a part of a record is none."""
    records = np.repeat(_records("rotations:3", 1)[0], 2000, axis=0)
    release = cdp.frechet_mean(records, cdp.Rotations(), cdp.GDP(1e6), seed=1)
    own = {"n_points": 2000 - 1e-4, "n_points_error": 1e-6}
    assert dataclasses.replace(release, **own).doubt is None
    assert "about 1 of" in (dataclasses.replace(release, **own | {"n_points": 1999.0}).doubt or "")


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_the_flat_ball_that_is_named_holds_the_records() -> None:
    points = np.random.default_rng(0).standard_normal((2000, 3))
    points *= 2.5 / np.linalg.norm(points, axis=1, keepdims=True)
    release = cdp.frechet_mean(points, cdp.Sphere(2, radius=2.5), cdp.GDP(1.0), seed=1)
    assert 'Ball("euclidean:3", numpy.zeros(3), 2.5)' in (release.hidden or "")
    both = np.column_stack([points / 2.5, np.zeros(2000)])
    release = cdp.frechet_mean(both, cdp.Product("sphere:2", "euclidean:1"), cdp.GDP(1.0), seed=1)
    assert "or a public ball" in (release.hidden or "")


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
@pytest.mark.parametrize("spec", ["euclidean:2", "hyperboloid:2"])
def test_a_clip_level_below_most_distances_is_named_as_what_left_no_mean(spec: str) -> None:
    """On these spaces the Hessian falls by clipping alone: nothing surrounds a point."""
    space = as_manifold(spec)
    coords = 2.0 * np.random.default_rng(0).standard_normal((3000, space.dim))
    points = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    release = cdp.release(cdp.LocatedMean(clip=0.1), points, spec, cdp.GDP(2.0), seed=1)
    assert "clip level that was given" in (release.reason or "")
    assert cdp.release(cdp.LocatedMean(), points, spec, cdp.GDP(2.0), seed=1).found


@pytest.mark.parametrize("spec", ["spd:3", "hpd:2"])
def test_indefinite_matrices_with_a_positive_diagonal_are_counted_out(spec: str) -> None:
    space = as_manifold(spec)
    records, center = _records(spec, 1000)
    bad = records[:300].reshape(300, *space.point_shape)
    bad[:, 0, 1] = bad[:, 1, 0] = 10.0 * bad[:, 0, 0]
    assert np.isnan(space.as_points(bad)).any(axis=tuple(range(1, bad.ndim))).all()
    with pytest.warns(CoverageWarning, match="deficient rank"):
        release = cdp.frechet_mean(records, space, cdp.GDP(3.0))
    assert release.n_points == pytest.approx(700, abs=8.0 * release.n_points_error)
    assert float(space.dist(release.value, center)) < 0.1
    with pytest.raises(ValueError, match=r"300 of 1000 points .* the first is number 0"):
        cdp.nonprivate.frechet_mean(records, space)


def test_units_are_not_called_records() -> None:
    records, _ = _records("sphere:2", 1000)
    records[:600] = np.nan
    persons = np.arange(1000) // 2
    with pytest.warns(
        CoverageWarning, match=r"^the records of about \d+ of 500 units are no points"
    ):
        release = cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(3.0), units=persons)
    assert "units, by their records that are points" in " ".join(release.report().split())
    assert "which of two sets of records a protected person has" in release.statement.cost
    with pytest.raises(ExistenceError, match=r"20 records \(with units=, units\) are too few"):
        cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(0.1), units=persons // 25)


def test_a_spread_that_noise_hides_is_said() -> None:
    records, _ = _records("sphere:2", 1000)
    release = cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(1.0))
    assert release.hidden is None
    hidden = dataclasses.replace(release, spread=0.0)
    assert "the clip level" in (hidden.hidden or "")
    assert "WARNING: noise hides" in hidden.report()


def test_too_few_records_are_refused_before_they_cost() -> None:
    ledger = cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(cdp.errors.ExistenceError) as refused:
        cdp.frechet_mean(_records("spd:3", 20)[0], cdp.SPD(3), cdp.GDP(1.0), ledger=ledger)
    least = refused.value.smallest_n
    assert least is not None
    assert not ledger.entries
    cdp.frechet_mean(_records("spd:3", least)[0], cdp.SPD(3), cdp.GDP(1.0), ledger=ledger)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(
    "guarantee", [cdp.GDP(1.0), cdp.ZCDP(0.5), cdp.ApproxDP(4.0, 1e-6)], ids=repr
)
def test_releases_survive_json_and_say_what_they_promise(guarantee: cdp.privacy.Guarantee) -> None:
    records, _ = _records("hyperboloid:3", 500)
    release = cdp.frechet_mean(records, as_manifold("hyperboloid:3"), guarantee)
    assert release.guarantee == guarantee
    again = cdp.Release.from_json(release.to_json())
    assert again == release
    assert type(again) is type(release)
    assert "no ball was given" in release.report()


def test_groups_are_searched_one_by_one() -> None:
    north, _ = _records("sphere:2", 500, seed=1)
    south, _ = _records("sphere:2", 500, seed=2)
    both, labels = np.concatenate([north, south]), np.repeat(["north", "south"], 500)
    releases = cdp.frechet_mean(both, cdp.Sphere(2), cdp.GDP(1.0), groups=labels)
    for name, records in (("north", north), ("south", south)):
        exact = cdp.nonprivate.frechet_mean(records, cdp.Sphere(2)).value
        assert float(cdp.Sphere(2).dist(releases[name].value, exact)) < 0.05


def test_the_same_seed_gives_the_same_release_whatever_the_order() -> None:
    records, _ = _records("spd:3", 400)
    mixed = np.random.default_rng(9).permutation(records)
    one, other = (
        cdp.frechet_mean(own, cdp.SPD(3), cdp.GDP(2.0), seed=4).value for own in (records, mixed)
    )
    np.testing.assert_array_equal(one, other)


def test_a_person_counts_once_however_many_records() -> None:
    rng = np.random.default_rng(8)
    records, center = _records("sphere:2", 600)
    far = cdp.Sphere(2).exp(np.zeros(3), -center)
    many = np.concatenate([records, np.tile(far, (6000, 1))])
    persons = np.concatenate([np.arange(600), np.full(6000, 600)])
    order = rng.permutation(len(many))
    release = cdp.frechet_mean(many[order], cdp.Sphere(2), cdp.GDP(1.0), units=persons[order])
    exact = cdp.nonprivate.frechet_mean(records, cdp.Sphere(2)).value
    assert release.n == 601
    assert float(cdp.Sphere(2).dist(release.value, exact)) < 0.05


def test_factors_of_a_product_are_searched_with_shares_of_the_budget() -> None:
    space = cdp.Product("sphere:2", "euclidean:1")
    rng = np.random.default_rng(5)
    directions, _ = _records("sphere:2", 1000)
    heights = 40.0 + rng.standard_normal((1000, 1))
    release = cdp.frechet_mean(space.join((directions, heights)), space, cdp.GDP(2.0))
    assert release.found
    assert release.ball is None
    point = space.split(release.value)
    assert float(point[1][0]) == pytest.approx(heights.mean(), abs=20 * release.expected_error)
    assert release.spent <= 2.0


@pytest.mark.parametrize("unit", [1e-25, 1.0, 1e12])
def test_matrices_in_any_unit_have_the_same_mean(unit: float) -> None:
    records, _ = _records("spd:3", 500)
    channels = np.array([1.0, 1e-3, 1e3])
    scaled = unit * records * channels[:, None] * channels
    release = cdp.frechet_mean(scaled, cdp.SPD(3), cdp.GDP(2.0))
    exact = cdp.nonprivate.frechet_mean(scaled, cdp.SPD(3)).value
    assert float(cdp.SPD(3).dist(release.value, exact)) < 12.0 * release.expected_error
    assert release.expected_error < 1.0


def test_a_public_clip_level_is_used() -> None:
    records, _ = _records("sphere:2", 1000)
    with_clip = cdp.release(cdp.LocatedMean(clip=0.7), records, cdp.Sphere(2), cdp.GDP(1.0))
    assert with_clip.clip_level == 0.7


def test_the_share_within_the_clip_level_is_told_with_its_deviation() -> None:
    """It is the coverage of a mean without a ball, and costs nothing."""
    records, _ = _records("sphere:2", 4000)
    sphere, clip = as_manifold("sphere:2"), np.pi * 2.0 ** (-11 / 4)
    errors = []
    for guarantee in (cdp.GDP(4.0), cdp.GDP(4.0, neighbours="add-remove")):
        found = cdp.release(cdp.LocatedMean(clip=clip), records, sphere, guarantee)
        inside = float(np.mean(sphere.dist(found.value, records) <= clip))
        assert 0.3 < inside < 0.9
        assert abs(found.within - inside) < 10.0 * found.within_error + 0.01  # of a near point
        assert f"(standard deviation {100.0 * found.within_error:.2g} %)" in found.report()
        errors.append(found.within_error)
    assert 0.0 < errors[1] < errors[0] < 0.01
    with pytest.raises(ValueError, match="those within its clip level: leave coverage out"):
        cdp.frechet_mean(records, sphere, cdp.GDP(1.0), coverage=True)


def test_the_command_line_needs_no_ball(tmp_path: Path) -> None:
    records, _ = _records("sphere:2", 500)
    path = tmp_path / "directions.npy"
    np.save(path, records)
    done = run("mean", path, "--manifold", "sphere:2", "--mu", "1", "--out", tmp_path / "mean.json")
    assert done.exit_code == 0, done.output
    assert cdp.Release.from_json((tmp_path / "mean.json").read_text()).found
    hidden = run(
        *("mean", path, "--manifold", "sphere:2", "--mu", "1", "--neighbours", "add-remove"),
        *("--out", tmp_path / "hidden.json"),
    )
    assert hidden.exit_code == 0, hidden.output
    found = cdp.Release.from_json((tmp_path / "hidden.json").read_text())
    assert found.guarantee == cdp.GDP(1.0, neighbours="add-remove")


ADD_REMOVE = cdp.GDP(1.0, neighbours="add-remove")


def test_the_number_of_records_is_protected_and_counted() -> None:
    records, center = _records("sphere:2", 1234)
    ledger = cdp.Ledger(cdp.GDP(2.0))
    release = cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, ledger=ledger)
    assert release.found
    assert release.guarantee == ADD_REMOVE
    assert release.n == round(release.n_points)
    assert release.n_points == pytest.approx(1234, abs=8.0 * release.n_points_error)
    assert float(cdp.Sphere(2).dist(release.value, center)) < 0.05
    assert "n = 1234" not in release.report()
    (entry,) = ledger.entries
    assert entry.spent == cdp.GDP(2.0)
    assert cdp.Release.from_json(release.to_json()) == release


def test_half_of_the_noise_is_for_the_relation() -> None:
    """Medians of 15: one search in 65 ends a third above the usual noise, or higher still, where
    the counts leave the clip level too large; a median does in 6435 / 65^8 = 2e-11."""
    records, _ = _records("euclidean:3", 4000)
    add, replace = (
        np.median([cdp.frechet_mean(records, cdp.Euclidean(3), own).noise for _ in range(15)])
        for own in (ADD_REMOVE, cdp.GDP(1.0))
    )
    assert 0.3 < add / replace < 0.8


@pytest.mark.parametrize("spec", ["sphere:2", "spd:3", "hyperboloid:3", "euclidean:3", "so:4"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_no_number_of_records_raises_where_it_is_protected(spec: str, n: int) -> None:
    records = _records(spec, 10)[0][:n]
    with pytest.warns(NoiseWarning, match="no mean was found, and the value is NaN: "):
        release = cdp.frechet_mean(records, as_manifold(spec), ADD_REMOVE)
    assert not release.found
    assert abs(release.n_points) < 8.0 * release.n_points_error + 3.0
    release.report()


def test_groups_have_counts_of_their_own() -> None:
    records, _ = _records("sphere:2", 900)
    labels = np.repeat(["a", "b", "unasked"], [300, 500, 100])
    order = np.random.default_rng(3).permutation(900)
    how = {"groups": labels[order], "keys": ["b", "empty", "a"]}
    releases = cdp.frechet_mean(records[order], cdp.Sphere(2), ADD_REMOVE, **how)
    assert list(releases.keys()) == ["b", "empty", "a"]
    for name, n in (("a", 300), ("b", 500), ("empty", 0)):
        own = releases[name]
        assert own.n_points == pytest.approx(n, abs=8.0 * own.n_points_error)
        assert own.found == (n > 0)
    assert releases.n.tolist() == [max(1, round(own.n_points)) for own in releases]
    for text in (releases.report(), repr(releases), releases._repr_html_()):
        assert "unasked" not in text


def test_persons_of_public_groups_count_once() -> None:
    records, _ = _records("sphere:2", 900)
    labels, persons = np.repeat(["a", "b", "unasked"], 300), np.arange(900) // 3
    how = {"groups": labels, "units": persons, "keys": ["a", "b"]}
    releases = cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, **how)
    for own in releases:
        assert own.n_points == pytest.approx(100, abs=8.0 * own.n_points_error)


def test_labels_that_occur_would_tell_who_is_there() -> None:
    records, _ = _records("sphere:2", 200)
    labels = np.repeat(["a", "b"], 100)
    with pytest.raises(ValueError, match="give keys"):
        cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, groups=labels)
    with pytest.raises(ValueError, match="leave them out"):
        cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(1.0), groups=labels, keys=["a"])
    with pytest.raises(ValueError, match="twice"):
        cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, groups=labels, keys=["a", "a"])


def test_with_a_ball_a_guess_of_the_number_is_needed() -> None:
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    records = np.tile(ball.center, (200, 1))
    with pytest.raises(TypeError, match="n_guess"):
        cdp.frechet_mean(records, ball, ADD_REMOVE)
    assert cdp.frechet_mean(records, ball, ADD_REMOVE, n_guess=150).count is not None
    with pytest.raises(ValueError, match="no ball is given"):
        cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, n_guess=150)


def test_a_secret_draws_other_noise_for_another_relation(tmp_path: Path) -> None:
    records, _ = _records("euclidean:3", 1000)
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    one = cdp.frechet_mean(records, cdp.Euclidean(3), ADD_REMOVE, secret=secret)
    again = cdp.frechet_mean(records, cdp.Euclidean(3), ADD_REMOVE, secret=secret)
    np.testing.assert_array_equal(one.value, again.value)
    other = cdp.frechet_mean(records, cdp.Euclidean(3), cdp.GDP(1.0), secret=secret)
    # one noise at two scales would give the exact count away
    first, second = (own.n_points - 1000 for own in (one, other))
    assert first != second * one.n_points_error / other.n_points_error


def test_no_name_of_a_person_raises_where_who_is_there_is_protected() -> None:
    records, center = _records("sphere:2", 600)
    names = np.array([f"person {i // 2}" for i in range(600)], dtype=object)
    strange = names.copy()
    strange[:40:4] = [None, np.nan, 1.5, [1], {}, "person 9", object(), b"x", (None,), pd.NaT]
    for own in (names, strange):
        release = cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, units=own)
        assert release.n_points == pytest.approx(300, abs=8.0 * release.n_points_error + 12)
        assert float(cdp.Sphere(2).dist(release.value, center)) < 0.1
    none = cdp.frechet_mean(records[:0], cdp.Sphere(2), ADD_REMOVE, units=names[:0])
    assert not none.found


def test_records_of_a_person_in_more_groups_than_was_said_are_left_out() -> None:
    records, _ = _records("sphere:2", 900)
    labels = np.tile(["a", "b", "c"], 300)  # each person is in all three
    persons = np.repeat(np.arange(300), 3)
    for most in (1, 2, 3):
        how = {"groups": labels, "units": persons, "keys": ["a", "b", "c"]}
        releases = cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, groups_per_unit=most, **how)
        sizes = [300.0 if number < most else 0.0 for number in range(3)]
        for own, n in zip(releases, sizes, strict=True):
            assert own.n_points == pytest.approx(n, abs=8.0 * own.n_points_error)


def test_a_table_says_which_groups_have_a_mean() -> None:
    records, _ = _records("sphere:2", 600)
    how = {"groups": np.repeat(["a", "b"], 300), "keys": ["a", "b", "empty"]}
    table = cdp.frechet_mean(records, cdp.Sphere(2), ADD_REMOVE, **how).to_pandas()
    assert table["found"].tolist() == [1.0, 1.0, 0.0]
    assert table.loc["a", "n_points"] == pytest.approx(300, abs=60)
    assert (table["spent"] <= 1.0).all()


@pytest.mark.parametrize(
    ("spec", "relation"),
    [
        *(("sphere:2", "replace"), ("sphere:2", "add-remove")),
        *(("rotations:3", "add-remove"), ("euclidean:3", "replace")),
    ],
)
def test_what_is_left_of_the_way_is_told_where_all_records_are_one(
    spec: str, relation: Neighbours
) -> None:
    """At a small budget the search is still on its way: the printed error says how far."""
    space, n, count = as_manifold(spec), 100, 400
    point = space.random_point(rng=1)
    labels = np.repeat(np.arange(count), n)
    how = {} if relation == "replace" else {"keys": np.arange(count)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)  # so few may seem fewer
        releases = cdp.frechet_mean(
            np.tile(point, (len(labels),) + (1,) * point.ndim),
            space,
            cdp.GDP(1.0, neighbours=relation),
            groups=labels,
            **how,
        )
    found = [own for own in releases if own.found]
    assert len(found) > 0.9 * count
    larger = [float(space.dist(own.value, point)) > own.expected_error for own in found]
    assert np.mean(larger) < 0.56


@pytest.mark.parametrize("part", [0.5, pytest.param(2.5, id="control")])
def test_wide_hyperbolic_records_have_a_printed_error_near_the_true_one(
    part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not several times more: the last step's Hessian is hardly that of records all along it."""
    monkeypatch.setattr("curvedp.sums.search.MISJUDGED", part)
    space, n, count = as_manifold("hyperboloid:3"), 500, 200
    coords = np.random.default_rng(6).standard_normal((n, 3)) * 3.0 / np.sqrt(3.0)
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    how = {"groups": np.repeat(np.arange(count), n)}
    means = cdp.frechet_mean(np.tile(records, (count, 1)), space, cdp.GDP(1.0), **how)
    found = [own for own in means if own.found]
    assert len(found) > 0.8 * count
    errors = space.dist(np.array([own.value for own in found]), exact)
    ratio = np.mean(errors) / np.median([own.expected_error for own in found])
    assert (0.31 < float(ratio) < 1.0) is (part == 0.5)  # .52, of the control .19; sd .03, .01
