"""Printed errors of means without a ball where records lie far out: a range, and what it rests on.

No figure can hold wherever one record lies (docs/proofs/sums-of-messages.md, theorem 8); the larger
one counts with all that the counts do not exclude, at a distance that it names.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import curvedp as cdp
from curvedp.manifolds import as_manifold
from curvedp.privacy.wording import percent
from curvedp.statistics.located_release import LocatedMeanRelease
from curvedp.sums.found import REACH, error_beyond
from curvedp.sums.tail_counts import TailCounts

#: Space, root mean square distance, and where a part of the records lies.
FAR = [
    ("sphere:2", 0.05, 1.5, cdp.GDP(1.0)),
    ("euclidean:3", 1.0, 30.0, cdp.GDP(1.0)),
    ("euclidean:3", 1.0, 30.0, cdp.PureDP(1.0)),
]


def _releases(
    spec: str, spread: float, at: float, share: float, guarantee: cdp.Guarantee, count: int = 40
) -> tuple[list[LocatedMeanRelease], np.ndarray]:
    """Releases that found a mean, and their errors."""
    space, n = as_manifold(spec), 2000
    coords = np.random.default_rng(3).standard_normal((n, space.dim)) * spread / space.dim**0.5
    coords[: int(share * n), 0] += at
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    groups = np.repeat(np.arange(count), n)
    found = cdp.frechet_mean(np.concatenate([records] * count), space, guarantee, groups=groups)
    own = [release for release in found if release.found]
    assert len(own) > 0.8 * count
    return own, space.dist(np.array([release.value for release in own]), exact)


@pytest.mark.parametrize(("spec", "spread", "at", "guarantee"), FAR)
@pytest.mark.parametrize("share", [0.005, 0.05])
def test_the_larger_printed_error_is_never_below_half_of_the_true_one(
    spec: str, spread: float, at: float, guarantee: cdp.Guarantee, share: float
) -> None:
    """The control is `expected_error`, too small where counts do not show what lies far out."""
    own, errors = _releases(spec, spread, at, share, guarantee)
    assert np.median(errors / [release.most_error for release in own]) < 1.0
    if share == 0.005:
        assert np.median(errors / [release.expected_error for release in own]) > 4.0


def test_without_far_records_the_smaller_one_is_near_the_true_one() -> None:
    own, errors = _releases("euclidean:3", 1.0, 0.0, 0.0, cdp.GDP(1.0))
    assert 0.5 < np.mean(errors) / np.median([release.expected_error for release in own]) < 2.0
    assert all(release.most_error > release.expected_error for release in own)


def test_both_follow_from_what_is_released() -> None:
    """The formula again, at the reach that is printed and at others."""
    own, _ = _releases("hyperboloid:2", 0.3, 0.0, 0.0, cdp.GDP(1.0), count=4)
    for release in own:
        share = 1.0 - release.within + 2.0 * release.within_error
        assert release.most_beyond == pytest.approx(share)
        assert release.reach == min(REACH * release.clip_level, 64.0)
        for reach in (release.clip_level, 2.0, release.reach, 1e3):
            far = max(reach + release.last_step - release.clip_level, 0.0)
            excess = share * far + release.overtaken * min(release.moved, far)
            further = excess / (1.0 - share)
            expected = math.sqrt(release.noise**2 + (2.0 * release.left) ** 2 + further**2)
            expected = max(expected, release.expected_error)
            assert release.error_within(reach) == pytest.approx(expected)
        assert release.error_within(release.reach) == pytest.approx(release.most_error)


@pytest.mark.parametrize("factor", [2.0, pytest.param(1.0, id="control")])
def test_records_along_one_geodesic_of_negative_curvature_are_in_the_larger_errors(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps are shorter than they could be, and what they leave is all of the error."""
    monkeypatch.setattr("curvedp.sums.found.MISJUDGED", 1.0 / factor)
    space, n, count = as_manifold("hyperboloid:2"), 1000, 20
    coords = np.zeros((n, 2))
    coords[:, 0] = np.where(np.arange(n) < 0.4 * n, -4.0, 4.0)
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(np.tile(records, (count, 1)), space, cdp.GDP(3.0), groups=groups)
    found = [own for own in means if own.found]
    assert len(found) > 0.8 * count
    errors = space.dist(np.array([own.value for own in found]), exact)
    # at a reach at which nothing is cut
    ratio = np.median(errors / [own.error_within(4.5) for own in found])
    assert bool(ratio < 1.3) is (factor == 2.0)


@pytest.mark.parametrize("guarantee", [cdp.GDP(3.0), cdp.PureDP(4.0)], ids=str)
def test_records_that_the_steps_since_the_counts_left_behind_are_in_it(
    guarantee: cdp.Guarantee,
) -> None:
    """Two places in hyperbolic space; the control leaves out those that were overtaken.

    Of 400 releases at most 5 are above the first limit and 42 below the second: by chance half of
    60 are with a probability below 2e-10, even if 15 in 100 were.
    """
    space, n, count = as_manifold("hyperboloid:2"), 3000, 60
    share, ends = 0.385, np.array([[-0.970, -2.663], [-0.441, -0.088]])
    if isinstance(guarantee, cdp.GDP):
        share, ends = 0.52, np.array([[4.254, -6.775], [-2.978, -4.021]])
    coords = ends[(np.arange(n) < share * n).astype(int)]
    coords = coords + 1e-3 * np.random.default_rng(0).standard_normal(coords.shape)
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    reach = space.dist(records, exact).max()
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(np.tile(records, (count, 1)), space, guarantee, groups=groups)
    own = [release for release in means if release.found]
    errors = space.dist(np.array([release.value for release in own]), exact)
    assert np.median(errors / [release.error_within(reach) for release in own]) < 1.5
    control = [replace(release, overtaken=0.0).error_within(reach) for release in own]
    assert np.median(errors / control) > 5.0


def test_it_reaches_as_far_as_a_compact_space() -> None:
    own, _ = _releases("sphere:2", 0.1, 0.0, 0.0, cdp.GDP(1.0), count=2)
    assert [release.reach for release in own] == [math.pi] * len(own)


def test_shares_that_are_all_or_nothing() -> None:
    assert error_beyond(3.0, 4.0, 1.0, 0.0, 9.0) == 5.0
    assert error_beyond(3.0, 4.0, 1.0, 0.3, 1.0) == 5.0
    assert error_beyond(3.0, 4.0, 1.0, 1.0, 9.0) == math.inf
    assert error_beyond(0.0, 0.0, 1.0, 0.0, 9.0, 0.5, 6.0) == 3.0
    assert error_beyond(0.0, 0.0, 1.0, 0.0, 3.0, 0.5, 6.0) == 1.0


def test_one_sentence_tells_both_everywhere() -> None:
    (release,) = _releases("euclidean:3", 1.0, 0.0, 0.0, cdp.GDP(1.0), count=1)[0]
    range_ = f"{release.expected_error:.3g} to {release.most_error:.3g}"
    text = " ".join(release.report().split())
    assert text.count(f"{range_}: the first if no more records lie beyond the clip level") == 2
    assert f"({percent(release.most_beyond)}) lie {release.reach:.3g} away" in text
    assert f"error {range_}>" in repr(release)
    assert release.to_dict()["most_error"] == release.most_error
    assert LocatedMeanRelease.from_json(release.to_json()) == release


def test_where_nothing_is_found_no_error_is_told() -> None:
    rows = np.random.default_rng(1).standard_normal((2000, 3))
    release = cdp.frechet_mean(cdp.Sphere(2).project(rows), "sphere:2", cdp.GDP(1.0))
    assert not release.found
    assert math.isnan(release.most_error)
    assert math.isnan(release.error_within(1.0))
    assert " to " not in repr(release).rpartition("value=")[2]


def test_products_join_the_errors_of_their_factors() -> None:
    space = cdp.Product(cdp.Sphere(2), cdp.Euclidean(2))
    rng = np.random.default_rng(2)
    parts = (cdp.Sphere(2).project([0, 0, 1] + 0.1 * rng.normal(size=(2000, 3))),)
    parts += (rng.normal(size=(2000, 2)),)
    release = cdp.frechet_mean(space.join(parts), space, cdp.GDP(3.0))
    assert release.found
    assert release.expected_error < release.most_error < math.inf
    assert release.reach > math.pi


def test_one_record_far_out_leaves_printed_figures_as_they_were() -> None:
    """Theorem 8: only a figure for the distance at which that record lies holds for it."""
    rows = np.random.default_rng(3).standard_normal((2000, 3))
    rows[0, 0] = 1e6
    groups = np.repeat(np.arange(20), 2000)
    found = cdp.frechet_mean(
        np.concatenate([rows] * 20), "euclidean:3", cdp.GDP(1.0), groups=groups
    )
    error = 1e6 / 2000
    assert np.median([own.most_error for own in found if own.found]) < error / 50.0
    assert all(own.error_within(1e6) > error for own in found if own.found)


@pytest.mark.parametrize("guarantee", [cdp.GDP(3.0), cdp.PureDP(3.0)], ids=str)
def test_records_between_a_given_clip_level_and_the_next_level_of_counts_are_not_within(
    guarantee: cdp.Guarantee,
) -> None:
    """Levels are 2^(-3/4) = .595 and .5; two fifths of the records lie .588 from the mean."""
    rows = 1e-3 * np.random.default_rng(2).standard_normal((20_000, 3))
    rows[:8000, 0] += 0.98
    mean = rows.mean(axis=0)
    reach = float(np.linalg.norm(rows - mean, axis=1).max())
    found = cdp.release(cdp.LocatedMean(clip=0.55), rows, "euclidean:3", guarantee)
    error = float(np.linalg.norm(found.value - mean))
    assert error > 0.01  # the control: 100 times the noise
    assert abs(found.within - 0.6) < 0.05
    assert error < found.error_within(reach)
    assert error < found.expected_error < found.most_error


def test_below_all_levels_every_record_lies_beyond() -> None:
    level, count = np.array([8.0, 4.0, 2.0]), np.array([1.0, 10.0, 100.0])
    tails = TailCounts(level, count, np.ones(3))
    assert [tails.at_most(own) for own in (9.0, 8.0, 8.0 - 1e-14, 7.9, 4.0, 2.0, 1.9)] == [
        0,
        0,
        0,
        1,
        1,
        2,
        3,
    ]
    assert [tails.beyond(own) for own in range(4)] == [0.0, 1.0, 10.0, 100.0]
    assert tails.excess(3, 4.0, (0.0, 0.0)) == 1.0 * 4.0 + 10.0 * 2.0 + 100.0 * 2.0
    assert tails.excess(2, 4.0, (0.0, 0.0)) == 1.0 * 4.0 + 10.0 * 2.0
