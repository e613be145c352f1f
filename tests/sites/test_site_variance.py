"""The variance about the mean of a study: what it is of, what it costs, and who may ask for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import SiteError
from curvedp.manifolds import as_manifold
from curvedp.sites import Agreement, ServerMean, SiteMean, SitesMeanRelease, simulate
from curvedp.sites.wire import Plan
from curvedp.sums.messages import ROUND_UNIT, Request, squares_radius
from curvedp.sums.records import RecordSums
from site_cases import PROTECTED, finished, found_centrally, names, normal, study


def _parts(records: np.ndarray, agreement: Agreement) -> list[np.ndarray]:
    return np.array_split(records, len(agreement.roster))


def _clipped(release: SitesMeanRelease, records: np.ndarray) -> float:
    """Mean square of distances up to the clip level, exactly."""
    dist = as_manifold(release.manifold).dist(release.value, records)
    return float(np.mean(np.minimum(dist, release.clip_level) ** 2))


@pytest.mark.parametrize("space", ["sphere:2", "spd:2", "hyperboloid:2", "euclidean:3"])
@pytest.mark.parametrize("replaces", [False, True], ids=["add-remove", "replace"])
def test_a_study_tells_the_variance_about_its_mean(space: str, replaces: bool) -> None:
    guarantee = cdp.GDP(2.0) if replaces else PROTECTED
    n = 900 if replaces else None
    own, records = study(6, 1, space, guarantee=guarantee, n=n, variance=0.2), normal(space, 900)
    release = simulate(_parts(records, own), own, seed=2)
    assert release.variance is not None
    assert release.variance_error is not None
    exact = _clipped(release, records)
    assert abs(release.variance - exact) < 5.0 * release.variance_error < 0.5 * exact
    assert release.spent == pytest.approx(2.0, rel=1e-9)  # all of it
    assert release.spent <= 2.0
    assert "distances up to" in " ".join(release.report().split())
    assert cdp.Release.from_json(release.to_json()) == release


def test_the_printed_error_is_that_of_the_noise() -> None:
    own, records = study(5, 1, variance=0.2), normal("sphere:2", 900)
    parts = _parts(records, own)
    found = [simulate(parts, own, seed=seed) for seed in range(40)]
    apart = np.array([(each.variance or 0.0) - _clipped(each, records) for each in found])
    told = np.mean([each.variance_error for each in found])
    assert 0.6 < np.sqrt(np.mean(apart**2)) / told < 1.5  # seeds are fixed


@pytest.mark.parametrize("replaces", [False, True], ids=["add-remove", "replace"])
def test_one_site_has_the_bits_of_the_central_engine(replaces: bool) -> None:
    records = normal("spd:2", 400)
    guarantee = cdp.GDP(2.0) if replaces else PROTECTED
    own = study(1, 0, "spd:2", guarantee=guarantee, n=400 if replaces else None, variance=0.1)
    site = SiteMean(records, own, "site 0", seed=5)
    release = finished(ServerMean(own), [site])
    found = found_centrally(own, records, site)
    assert (release.variance, release.variance_error) == (found.variance, found.variance_error)
    assert np.array_equal(release.value.reshape(-1), found.value)


def test_messages_are_squares_of_distances_and_a_count() -> None:
    """A twin in NumPy; records that are no points, and units, as in other sums."""
    space, records = as_manifold("sphere:2"), normal("sphere:2", 60, spread=0.6)
    bad = np.array([[np.nan, 0.0, 1.0], [0.0, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    base = np.ascontiguousarray(records[0])
    request = Request("round", 1.0, base, 0.7, "squares")
    unit = (ROUND_UNIT - 16.0) / squares_radius(0.7)
    rows = np.stack(
        [np.minimum(space.dist(base, records), 0.7) ** 2, np.full(60, 0.5 * 0.49)], axis=1
    )
    total = RecordSums(space, np.concatenate([records, bad]), None).answer(request)
    assert np.allclose(total[:2], unit * rows.sum(axis=0), rtol=0.0, atol=61.0)
    assert total.shape == (3,)
    units = RecordSums(space, records, np.arange(0, 61, 3)).answer(request)
    assert np.allclose(units[:2], unit * rows.sum(axis=0) / 3.0, rtol=0.0, atol=90.0)
    one = np.array([RecordSums(space, row[None], None).answer(request) for row in records])
    assert (one.astype(float) ** 2).sum(axis=1).max() <= ROUND_UNIT**2
    assert not np.any(RecordSums(space, bad, None).answer(request))


@pytest.mark.parametrize("radius", [1e-140, 1e-9, 1.0, 1e9, 1e140])
def test_no_message_is_cut_and_none_is_longer_than_its_bound(radius: float) -> None:
    space = as_manifold("euclidean:1")
    records = np.array([[0.0], [radius / 2], [radius], [2 * radius], [1e300], [-radius], [5e-324]])
    request = Request("round", 1.0, np.zeros(1), radius, "squares")
    unit = (ROUND_UNIT - 16.0) / squares_radius(1.0)
    for record in records:
        total = RecordSums(space, record[None], None).answer(request).astype(float)
        assert total @ total <= ROUND_UNIT**2
        far = min(abs(float(record[0])) / radius, 1.0)
        assert total[:2] == pytest.approx([unit * far**2, unit / 2], abs=2.0)


def test_sites_that_miss_the_round_do_not_make_the_variance_small() -> None:
    """Its own counts tell how many records answered: four of eight sites."""
    own, records = study(8, 4, variance=0.3), normal("sphere:2", 4000)
    plans: list[bytes] = []
    simulate(_parts(records, own), own, seed=0, watch=lambda plan, _: plans.append(plan))
    away = {len(plans) - 1: names(8)[:4]}
    release = simulate(_parts(records, own), own, seed=0, dropouts=away)
    assert release.fewest == 4
    assert release.variance is not None
    assert release.variance_error is not None
    exact = _clipped(release, records[2000:])
    assert abs(release.variance - exact) < 5.0 * release.variance_error < 0.4 * exact


def test_a_void_round_is_asked_again_if_anything_is_spare_or_leaves_no_variance() -> None:
    own, records = study(4, 1, variance=0.3), normal("sphere:2", 1200)
    plans: list[bytes] = []
    simulate(_parts(records, own), own, seed=0, watch=lambda plan, _: plans.append(plan))
    assert Plan.from_bytes(plans[-1]).request.of == "squares"
    assert sum(Fraction(Plan.from_bytes(plan).request.share) ** 2 for plan in plans) <= 4
    away = {len(plans) - 1: names(4)[:2]}
    release = simulate(_parts(records, own), own, seed=0, dropouts=away)
    assert (release.found, release.variance, release.void_rounds) == (True, None, 1)
    own = study(4, 1, variance=0.3, spare=0.5)
    whole, again = list[bytes](), list[bytes]()
    simulate(_parts(records, own), own, seed=0, watch=lambda plan, _: whole.append(plan))
    release = simulate(
        _parts(records, own), own, seed=0, dropouts={len(whole) - 1: names(4)[:2]},
        watch=lambda plan, _: again.append(plan),
    )  # fmt: skip
    first, second = (Plan.from_bytes(plan).request for plan in again[-2:])
    assert (first.of, second.of, release.void_rounds) == ("squares", "squares", 1)
    assert second.share < first.share
    assert release.variance is not None
    assert release.variance_error is not None
    assert abs(release.variance - _clipped(release, records)) < 6.0 * release.variance_error
    assert release.spent <= 2.0
    none = simulate([np.full((9, 3), np.nan)] * 4, own, seed=0)
    assert (none.found, none.variance) == (False, None)


def test_squares_are_asked_for_where_they_were_agreed_on() -> None:
    own = study(3, 1, variance=0.1)
    plan = replace(Plan.from_bytes(ServerMean(own).plan()), bound=ROUND_UNIT)
    asked = Request("round", 0.5, np.array([0.0, 0.0, 1.0]), 0.5, "squares")
    north = np.tile([0.0, 0.0, 1.0], (100, 1))
    SiteMean(north, own, "site 0").answer(replace(plan, request=asked).to_bytes())
    other = study(3, 1)
    changed = replace(plan, request=asked, agreement=other.digest)
    with pytest.raises(SiteError, match="does not have"):
        SiteMean(north, other, "site 0").answer(changed.to_bytes())
    for radius in (1e-200, 1e200):
        wrong = replace(plan, request=replace(asked, radius=radius))
        with pytest.raises(SiteError, match="no square"):
            SiteMean(north, own, "site 0").answer(wrong.to_bytes())
    for kind in ("tail", "start"):
        wrong = replace(plan, request=replace(asked, kind=kind))  # type: ignore[arg-type]
        with pytest.raises(SiteError, match="does not have"):
            SiteMean(north, own, "site 0").answer(wrong.to_bytes())
    for share in (-0.1, 0.001, 0.6, 1):
        with pytest.raises(ValueError, match="variance"):
            study(3, 1, variance=share)
    assert Agreement.from_json(own.to_json()) == own != other
