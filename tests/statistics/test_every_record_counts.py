"""Every record counts, wherever it stands, and a group as if it were alone, on balls of any width.

A kernel that fills a buffer of another length reads some of the records and leaves out the others,
without an error. Whether one does is asked of every statistic that is released: the order of the
records changes nothing, one that lies far away moves the release alike from every position, and
groups on balls of different width are each what they are alone. `first_part` shows that the
questions would find such a fault.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import curvedp as cdp
import curvedp.batch
from guarantee_table import ROWS
from manifold_list import BY_NAME
from record_cases import CASES, Case, Place, first_part, places, places_of_all, sample_on
from reference.frechet_mean import gradient
from statistic_list import STATISTICS
from stored_texts import but_for_provenance

#: Releases that are a row for each record, or of a single one.
WITHOUT = {"PrivateMail", "PrivateMail.embed_query", "PrivateMail.embed_queries"}
PLACES = {repr(place): place for place in places_of_all()}
PRECISE = [name for name, place in PLACES.items() if place.kind == "precise"]
#: Shares of what a record moves: more than the tolerance is found, a fault makes more than that.
FAULT = 0.8


def unevenness(case: Case, place: Place, seen=lambda sample: sample) -> float:
    """How far the release moves with the order of records and with the position of one that lies
    far away, over what that one moves; `seen` is what the statistic reads of them."""
    sample, far = sample_on(place.ball, case.count)
    order = np.random.default_rng(1).permutation(len(sample))
    value, shuffled = (case.on(seen(own), place.ball) for own in (sample, sample.take(order)))
    moved = [case.on(seen(sample.with_record(at, far)), place.ball) for at in places(len(sample))]
    uneven = max(np.linalg.norm(other - moved[0]) for other in moved[1:])
    most = max(np.linalg.norm(other - value) for other in moved)
    assert most > 0, "a record that moves nothing is no question"
    return float(max(uneven, np.linalg.norm(shuffled - value)) / most)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_records_count_alike_in_every_order_and_a_part_of_them_would_be_found(case):
    served = [place for place in PLACES.values() if case.serves(place)]
    assert served
    for place in served:
        assert unevenness(case, place) < case.tolerance, place
    for place in {place.kind: place for place in served}.values():
        assert unevenness(case, place, first_part) > FAULT, place


def test_every_release_has_a_case():
    cased = {call for case in CASES for call in case.calls}
    assert {row.call for row in ROWS} - WITHOUT <= cased


def test_wide_balls_stand_in_other_numbers():
    widths = {
        (place.name, place.kind): place.ball.frame.manifold.point_size for place in PLACES.values()
    }
    changed = {name for name, kind in widths if widths[name, kind] != widths[name, "narrow"]}
    assert {"hyperboloid:2", "spd:2", "spd:3", "hpd:2"} == changed


# --- balls of different width -----------------------------------------------------------------


def mixed(name: str, kinds: tuple[str, ...]):
    """Balls of these kinds, the records of a group on each, and their labels."""
    balls = [PLACES[f"{name}-{kind}"].ball for kind in kinds]
    sizes = (60, 45, 52)[: len(balls)]
    parts = [sample_on(ball, n, seed=7)[0].records for ball, n in zip(balls, sizes, strict=True)]
    labels = [f"site {g}" for g in range(len(balls))]
    return balls, np.concatenate(parts), np.repeat(labels, sizes), labels


ORDERS = [("narrow", "precise"), ("precise", "narrow", "wide")]
WIDTHS = ["hyperboloid:2", "spd:2", "hpd:2"]
#: Those on a ball that end in a short time on wide ones.
ON_BALLS = [own for own in STATISTICS if not isinstance(own.statistic, (cdp.Quantile, cdp.KNGMean))]


def secret():
    """One that has served no data yet, for the same noise on others."""
    return cdp.NoiseSecret(bytes(range(32)))


@pytest.mark.parametrize("kinds", ORDERS, ids=str)
@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("own", ON_BALLS, ids=repr)
def test_groups_on_balls_of_different_width_are_what_each_is_alone(own, name, kinds):
    balls, records, group, labels = mixed(name, kinds)
    claim, ledger = own.guarantee, cdp.Ledger(own.guarantee)
    how = {"groups": group, "secret": secret(), "coverage": False}
    whole = own.call(records, balls, claim, ledger=ledger, **how)
    assert ledger.spent == claim
    for label, ball in zip(labels, balls, strict=True):
        rows = records[group == label]
        how = {"groups": [label] * len(rows), "secret": secret(), "coverage": False}
        alone = own.call(rows, ball, claim, **how)
        assert but_for_provenance(whole[label]) == but_for_provenance(alone[label])
    assert np.array_equal(whole.to_pandas()["n"], [np.sum(group == label) for label in labels])


@pytest.mark.parametrize("kinds", ORDERS, ids=str)
@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("own", [cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian])
def test_moments_at_given_points_on_balls_of_different_width_are_what_each_is_alone(
    own, name, kinds
):
    balls, records, group, labels = mixed(name, kinds)
    claim = cdp.GDP(10.0)
    means = cdp.frechet_mean(records, balls, claim, groups=group, seed=4)
    points = np.array([balls[0].center, *(ball.center for ball in balls[1:])])
    for given, each in ((means, [means[label] for label in labels]), (points, points)):
        how = {"groups": group, "secret": secret(), "coverage": False}
        whole = own(records, balls, claim, mean=given, **how)
        for label, ball, mean in zip(labels, balls, each, strict=True):
            rows = records[group == label]
            how = {"groups": [label] * len(rows), "secret": secret(), "coverage": False}
            alone = own(rows, ball, claim, mean=mean, **how)[label]
            assert but_for_provenance(whole[label]) == but_for_provenance(alone)


@pytest.mark.parametrize("name", PRECISE)
def test_a_table_gives_what_plain_numpy_does_of_all_its_records(name):
    place = PLACES[name]
    ball, space = place.ball, place.ball.manifold
    twin = BY_NAME[place.name].twin
    sample, far = sample_on(ball)
    records = sample.with_record(len(sample) - 1, far).records
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(records).reshape(-1)), space.point_size
    )
    table = pa.table({"site": ["a"] * len(records), "point": column})
    how = {"ball": ball, "by": "site", "points": "point", "public_keys": True}
    claim = cdp.GDP(1e4)

    def of_table(statistic):
        found = curvedp.batch.release(statistic, table, guarantee=claim, **how).table
        return np.array(found["value"].to_pylist()[0], dtype=np.float64)

    mean = of_table(cdp.Mean()).reshape(space.point_shape)
    assert twin.norm(gradient(twin, records, mean), mean) < 1e-3 * ball.radius
    dist = np.array([twin.dist(mean, record) for record in records])
    assert of_table(cdp.FourthMoment()) == pytest.approx((dist**4).mean(), rel=1e-2)
    assert of_table(cdp.Variance()) == pytest.approx((dist**2).mean(), rel=1e-2)
    last = cdp.adaptive_mean(records, ball, claim, schedule=(0.3, 0.2, 0.5), seed=1).parts[-1]
    smaller = cdp.Ball(space, last.ball_center, last.ball_radius)
    assert not smaller.frame.is_precise
    inside = smaller.project(records)
    pull = twin.norm(gradient(twin, inside, last.value), last.value)
    assert pull < 1e-3 * smaller.radius
    kept = inside[: 2 * len(inside) // 3]  # the control: what the mean of these would show
    assert twin.norm(gradient(twin, kept, last.value), last.value) > 5e-3 * smaller.radius
