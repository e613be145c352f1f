"""Clusters about the mean of a study: what is found, what it is of, and who may ask for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import SiteError
from curvedp.manifolds import as_manifold
from curvedp.sites import Agreement, ServerMean, SiteMean, SitesMeanRelease, simulate
from curvedp.sites.clusters import clusters_about
from curvedp.sites.wire import Plan
from curvedp.sums.derived import derived
from curvedp.sums.filter import Filter
from curvedp.sums.found import Found
from curvedp.sums.messages import CELL_LENGTH, ROUND_UNIT, Request
from curvedp.sums.records import RecordSums
from site_cases import PROTECTED, cells_of, finished, found_centrally, names, normal, study

SIZES = (800, 500, 700)


def _clusters(space: str, apart: float = 0.5, spread: float = 0.05) -> tuple[Any, np.ndarray]:
    """Three centres about the origin, and 2000 records about them in random order."""
    manifold, rng = as_manifold(space), np.random.default_rng(2)
    coords = np.zeros((3, manifold.dim))
    coords[0, 0] = coords[1, 1] = apart
    coords[2, :2] = -apart
    centers = manifold.exp(manifold.coords_to_tangent(coords, manifold.origin), manifold.origin)
    found = []
    for center, size in zip(centers, SIZES, strict=True):
        steps = manifold.coords_to_tangent(
            spread * rng.standard_normal((size, manifold.dim)), center
        )
        found.append(manifold.exp(steps, center))
    return centers, np.concatenate(found)[rng.permutation(sum(SIZES))]


def _released(own: Agreement, records: np.ndarray, **how: Any) -> SitesMeanRelease:
    return simulate(np.array_split(records, len(own.roster)), own, seed=3, **how)


@pytest.mark.parametrize("masks", [False, True], ids=["clear", "masks"])
@pytest.mark.parametrize("space", ["sphere:2", "spd:2", "hyperboloid:2", "euclidean:3"])
def test_a_study_finds_clusters_about_its_mean(space: str, masks: bool) -> None:
    centers, records = _clusters(space)
    own = study(6, 1, space, clusters=3, variance=0.05, masks=masks)
    release = _released(own, records)
    assert release.centers is not None
    assert release.sizes is not None
    apart = own.manifold.pairwise_dist(centers, release.centers)
    assert sorted(apart.argmin(axis=1)) == [0, 1, 2]
    assert apart.min(axis=1).max() < 0.03
    assert np.abs(np.sort(release.sizes) - np.sort(SIZES)).max() < 40.0
    assert release.spent == pytest.approx(2.0, rel=1e-9)
    assert release.spent <= 2.0
    assert "3 centres" in release.report()
    assert cdp.Release.from_json(release.to_json()) == release


def test_clusters_under_replace_and_of_persons() -> None:
    centers, records = _clusters("sphere:2")
    own = study(4, 1, clusters=3, guarantee=cdp.GDP(2.0), n=2000)
    public = _released(own, records)
    named = study(4, 0, clusters=3, by_name=True)
    units = [np.arange(500) // 2] * 4
    persons = _released(named, records, units=units)
    for release in (public, persons):
        assert release.centers is not None
        apart = own.manifold.pairwise_dist(centers, release.centers)
        assert apart.min(axis=1).max() < 0.06
    assert persons.sizes is not None
    assert persons.sizes.sum() == pytest.approx(1000, abs=60)  # each counts once


@pytest.mark.parametrize("replaces", [False, True], ids=["add-remove", "replace"])
def test_one_site_has_the_bits_of_the_central_engine(replaces: bool) -> None:
    records = _clusters("spd:2")[1]
    guarantee = cdp.GDP(2.0) if replaces else PROTECTED
    n = len(records) if replaces else None
    own = study(1, 0, "spd:2", guarantee=guarantee, n=n, variance=0.1, clusters=2)
    site = SiteMean(records, own, "site 0", seed=5)
    release = finished(ServerMean(own), [site])
    found = found_centrally(own, records, site)
    assert release.centers is not None
    assert found.centers is not None
    assert np.array_equal(release.centers.reshape(2, -1), found.centers)
    assert np.array_equal(release.sizes, found.sizes)


def test_messages_are_logarithms_and_a_count_in_the_block_of_the_nearest_point() -> None:
    """A twin in NumPy; records that are no points, and units, as in other sums."""
    space, records = as_manifold("sphere:2"), normal("sphere:2", 60, spread=0.6)
    bad = np.array([[np.nan, 0.0, 1.0], [0.0, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    centers, levels = records[:4], (0.4, 0.1, 0.3, 0.2)
    request = Request("round", 1.0, cells_of(centers, *levels), 0.4, "cells")
    own = space.pairwise_dist(records, centers).argmin(axis=1)
    rows = np.zeros((60, 4, 3))
    for i, (record, cell) in enumerate(zip(records, own, strict=True)):
        log = (
            space.tangent_to_coords(space.log(record, centers[cell]), centers[cell]) / levels[cell]
        )
        rows[i, cell] = [*(log / max(1.0, float(np.linalg.norm(log)))), 1.0]
    unit = (ROUND_UNIT - 8.0 * 12) / CELL_LENGTH
    wanted = unit * rows.reshape(60, -1).sum(axis=0)
    total = RecordSums(space, np.concatenate([records, bad]), None).answer(request)
    assert total.shape == (13,)
    assert np.allclose(total[:-1], wanted, rtol=0.0, atol=90.0)
    units = RecordSums(space, records, np.arange(0, 61, 3)).answer(request)
    assert np.allclose(units[:-1], wanted / 3.0, rtol=0.0, atol=90.0)
    one = np.array([RecordSums(space, row[None], None).answer(request) for row in records])
    assert (one.astype(float) ** 2).sum(axis=1).max() <= ROUND_UNIT**2
    assert np.count_nonzero(one[:, :-1].reshape(60, 4, 3).any(axis=2), axis=1).max() == 1
    assert not np.any(RecordSums(space, bad, None).answer(request))


@pytest.mark.parametrize("of", ["squares", "cells"])
def test_records_that_underflow_or_overflow_raise_nothing(of: str) -> None:
    """Whatever the caller has set: a site has paid by then."""
    space = as_manifold("euclidean:2")
    base = np.zeros(2) if of == "squares" else np.r_[np.zeros(2), 1e200, 0.0, 0.5, 0.5]
    request = Request("round", 1.0, base, 0.5, of)
    rows = np.array([[1e-200, 5e-324], [1e200, -1e308], [np.nan, 0.0], [0.1, 0.1]])
    with np.errstate(all="raise"):
        points = derived(space, rows, request)
    assert np.isfinite(points[[0, 3]]).all()
    assert np.isnan(points[2]).all()


def test_void_rounds_leave_the_centres_before_them_or_none() -> None:
    own, records = study(4, 1, clusters=3), _clusters("sphere:2")[1]
    plans: list[bytes] = []
    whole = _released(own, records, watch=lambda plan, _: plans.append(plan))
    asked = [Plan.from_bytes(plan).request for plan in plans]
    assert [request.of for request in asked[-4:]] == ["cells"] * 4
    assert sum(Fraction(request.share) ** 2 for request in asked) <= 4
    last = len(plans) - 1
    release = _released(own, records, dropouts={last: names(4)[:2]})
    assert release.centers is not None
    assert whole.centers is not None
    assert asked[-1].base is not None
    assert np.array_equal(release.centers.reshape(-1), asked[-1].base[:-3])
    away = dict.fromkeys(range(last - 3, 1000), names(4)[:2])
    none = _released(own, records, dropouts=away)
    assert (none.found, none.centers, none.sizes) == (True, None, None)


@pytest.mark.parametrize("back", [0, 1, 3], ids=["the last", "a round", "the cover"])
def test_void_rounds_of_clusters_are_asked_again_with_what_is_left(back: int) -> None:
    own, (centers, records) = study(4, 1, clusters=3, spare=0.5), _clusters("sphere:2")
    plans: list[bytes] = []
    _released(own, records, watch=lambda plan, _: plans.append(plan))
    void, again = len(plans) - 1 - back, list[bytes]()
    away = {void: names(4)[:2]}
    release = _released(own, records, dropouts=away, watch=lambda plan, _: again.append(plan))
    first, second = (Plan.from_bytes(again[number]).request for number in (void, void + 1))
    assert np.array_equal(first.base, second.base)  # type: ignore[arg-type]
    assert second.share <= first.share
    taken = back == 1  # the share of the last round, which is a half of the rest as this is
    assert (len(again), release.void_rounds) == (len(plans) + 1 - taken, 1)
    assert release.centers is not None
    apart = own.manifold.pairwise_dist(centers, release.centers)
    assert sorted(apart.argmin(axis=1)) == [0, 1, 2]
    assert apart.min(axis=1).max() < 0.05
    assert release.spent <= 2.0


def test_clusters_that_are_unlike_have_each_its_own_clip_level() -> None:
    """Two narrow ones near each other, one wide and far: its level is not that of the others."""
    own, space = study(1, 0, "euclidean:2", clusters=3), as_manifold("euclidean:2")
    rng, about = np.random.default_rng(5), np.array([[-0.3, 0.0], [0.3, 0.0], [0.0, 3.0]])
    records = np.concatenate(
        [own + spread * rng.standard_normal((800, 2))
         for own, spread in zip(about, (0.03, 0.03, 0.3), strict=True)]
    )  # fmt: skip
    plans: list[bytes] = []
    release = _released(own, rng.permutation(records), watch=lambda plan, _: plans.append(plan))
    base = Plan.from_bytes(plans[-1]).request.base
    assert base is not None
    levels = np.sort(base[-3:])
    assert levels[2] > 3.0 * levels[1]
    apart = space.pairwise_dist(records.reshape(3, 800, 2).mean(axis=1), release.centers)
    assert sorted(apart.argmin(axis=1)) == [0, 1, 2]
    assert apart.min(axis=1)[:2].max() < 0.02


def test_cells_are_asked_for_where_they_were_agreed_on() -> None:
    own = study(3, 1, clusters=2)
    plan = replace(Plan.from_bytes(ServerMean(own).plan()), bound=ROUND_UNIT)
    points = normal("sphere:2", 201)
    asked = Request("round", 0.5, cells_of(points[:200], 0.5), 0.5, "cells")
    north = np.tile([0.0, 0.0, 1.0], (100, 1))
    SiteMean(north, own, "site 0").answer(replace(plan, request=asked).to_bytes())
    few = points[:3]
    for base in (cells_of(points, 0.5), cells_of(points[:1], 0.5), cells_of(few, 0.5)[:-1], None,
                 cells_of(few, 0.4), cells_of(few, 0.5, 0.6),
                 *(cells_of(few, 0.5, bad) for bad in (0.0, -0.5, 1e-200))):  # fmt: skip
        wrong = replace(plan, request=replace(asked, base=base))
        with pytest.raises(SiteError):
            SiteMean(north, own, "site 0").answer(wrong.to_bytes())
    # points that are none are no error of the records: nothing is near them
    strange = replace(asked, base=cells_of(np.zeros((200, 3)), 0.5))
    SiteMean(north, own, "site 0").answer(replace(plan, request=strange).to_bytes())
    other = study(3, 1, variance=0.1)
    with pytest.raises(SiteError, match="does not have"):
        SiteMean(north, other, "site 0").answer(
            replace(plan, request=asked, agreement=other.digest).to_bytes()
        )
    for how in ({"clusters": 1}, {"clusters": 21}, {"clusters": 2.0}, {"clustering": 0.9},
                {"clusters": 2, "clustering": 0.5, "variance": 0.4}):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match="cluster"):
            study(3, 1, **how)
    assert Agreement.from_json(own.to_json()) == own


@pytest.mark.parametrize("of", ["cells", "squares"])
@pytest.mark.parametrize("named", [False, True])
def test_sums_in_blocks_are_the_whole_ones(
    of: Any, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows are held at once, also of one unit that has more."""
    records = normal("spd:2", 301)
    rows: list[int] = []

    def noted(manifold: Any, part: np.ndarray, request: Request) -> np.ndarray:
        rows.append(len(part))
        return derived(manifold, part, request)

    monkeypatch.setattr("curvedp.sums.records.derived", noted)
    ends = np.array([0, 1, 1, 5, 90, 91, 200, 301]) if named else None
    base = cells_of(records[:3], 0.5, 0.3) if of == "cells" else records[0].reshape(-1)
    request = Request("round", 1.0, base, 0.5, of)
    found = []
    for numbers in (2**22, 1, 70, 900):
        monkeypatch.setattr("curvedp.sums.derived._NUMBERS", numbers)
        sums = RecordSums(as_manifold("spd:2"), records, ends)
        rows.clear()
        found.append(sums.answer(request).tobytes())
        size = sums.asked(request).dim
        assert sum(rows) == 301
        assert max(rows) <= max(numbers // size, 1)
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    "space", ["rotations:3", "so:4", "hpd:2", "correlation:3", "torus:2", "unitary:2", "sphere:1"]
)
def test_clusters_of_records_that_have_none_are_centres_about_the_mean(space: str) -> None:
    own, records = study(3, 1, space, clusters=3, variance=0.1), normal(space, 1500, 0.1)
    release = _released(own, records)
    assert release.centers is not None
    assert release.variance is not None
    assert release.variance == pytest.approx(0.01 * own.manifold.dim, rel=0.2)
    assert own.manifold.dist(release.value, release.centers).max() < 0.5


@pytest.mark.parametrize(
    ("space", "far", "radius"),
    [
        *[("hyperboloid:2", 17.0, 1.0), ("correlation:2", 17.0, 1.0), ("correlation:2", 0.0, 30.0)],
        ("spd:3", 709.0, 5.0),  # the mean is finite, points of the cover about it are not
    ],
)
def test_a_mean_at_the_end_of_doubles_is_kept_without_clusters(
    space: str, far: float, radius: float
) -> None:
    """All sites have paid by then: what was found may not be lost."""
    own = study(2, 0, space, clusters=2)
    manifold, origin = own.manifold, own.manifold.origin
    coords = np.r_[far, np.zeros(manifold.dim - 1)]
    value = manifold.exp(manifold.coords_to_tangent(coords, origin), origin)
    found = Found(value.reshape(-1), None, 0.0, 1000.0, 1.0, radius=radius)
    search, budget = own.search(), Filter(1.0)
    search.note(1000.0, 1.0)
    asked = clusters_about(search, found, budget, 2)
    with pytest.raises(StopIteration) as end:
        next(asked)
    assert end.value.value is found
    assert budget.spent == 0.0
