"""Studies over sites: what is found and said, who may stay away, and what a lie does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import CoverageWarning, SiteError
from curvedp.manifolds import as_manifold
from curvedp.privacy import Unproved
from curvedp.privacy.registry import problems
from curvedp.sites import Agreement, ServerMean, SiteMean, SitesMeanRelease, simulate
from curvedp.sites.wire import MOST_ROUNDS, Answer, Plan
from curvedp.sums.messages import Request
from site_cases import PROTECTED, finished, names, normal, sites_of, study

NORTH = np.tile([0.0, 0.0, 1.0], (100, 1))


def _parts(records: np.ndarray, agreement: Agreement) -> list[np.ndarray]:
    return np.array_split(records, len(agreement.roster))


# ------------------------------------------------------------------ what is found


@pytest.mark.parametrize("space", ["sphere:2", "rotations:3", "spd:3", "hyperboloid:2", "so:4"])
def test_a_study_finds_the_mean_of_all_records(space: str) -> None:
    own, records = study(6, 1, space), normal(space, 900)
    release = simulate(_parts(records, own), own, seed=2)
    exact = cdp.nonprivate.frechet_mean(records, own.manifold).value
    assert release.found
    assert float(own.manifold.dist(release.value, exact)) < 6.0 * release.expected_error
    assert release.n_points == pytest.approx(900, abs=8.0 * release.n_points_error)
    assert (release.sites, release.dropouts, release.fewest, release.void_rounds) == (6, 1, 6, 0)


def test_the_release_says_who_is_protected_against_whom_and_survives_json() -> None:
    own = study(5, 1)
    release = simulate(_parts(normal("sphere:2", 500), own), own)
    assert release.guarantee == PROTECTED
    text = " ".join(release.report().split())
    assert "up to 1 sites that drop out, work together or lie among them: the guarantee" in text
    assert "answers of a single site, as the server does: mu = 4." in text
    assert "Each site's own ledger" in text
    again = cdp.Release.from_json(release.to_json())
    assert (again, type(again)) == (release, SitesMeanRelease)
    assert release.ball is not None
    entry = release.to_registry(
        name="Mean direction",
        data_curator="A consortium",
        curator_type="Nonprofit",
        description="Of five sites",
        intended_use="Research",
        region="Europe",
        authors=["A. Author"],
    )
    assert problems(entry) == []
    assert entry["deployment"]["deployment_model"]["model_name"] == "Federated"


def test_noise_from_a_seed_promises_nothing_and_no_ledger_pays_for_it() -> None:
    own = study(2, 0)
    release = simulate([NORTH] * 2, own, seed=1)
    assert isinstance(release.guarantee, Unproved)
    assert np.array_equal(release.value, simulate([NORTH] * 2, own, seed=1).value)
    site = SiteMean(NORTH, own, "site 0", seed=1, ledger=cdp.Ledger(PROTECTED))
    with pytest.raises(TypeError, match="Unproved"):
        site.answer(ServerMean(own).plan())


def test_one_seeded_site_is_enough_to_promise_nothing() -> None:
    own = study(2, 0)
    sites = [SiteMean(NORTH, own, "site 0"), SiteMean(NORTH, own, "site 1", seed=1)]
    assert isinstance(finished(ServerMean(own), sites).guarantee, Unproved)


def test_the_number_of_records_is_public_under_replace() -> None:
    own = study(4, 1, guarantee=cdp.GDP(2.0), n=600)
    release = simulate(_parts(normal("sphere:2", 600), own), own, seed=0)
    assert (release.found, release.n) == (True, 600)
    with pytest.warns(CoverageWarning, match="no points"):
        simulate(_parts(np.full((600, 3), np.nan), own), own, seed=0)
    with pytest.raises(cdp.ExistenceError, match="too few"):
        study(4, 1, guarantee=cdp.GDP(2.0), n=20).way  # noqa: B018


def test_units_by_name_count_as_one_record_each() -> None:
    own = study(3, 0, by_name=True)
    records = [normal("sphere:2", 300)] * 3
    persons = [np.arange(300) // 3] * 3
    release = simulate(records, own, units=persons)
    assert release.n_points == pytest.approx(300, abs=8.0 * release.n_points_error)
    assert "units-by-name" in release.assumptions
    for given in ({}, {"units": np.arange(299)}):
        with pytest.raises(ValueError, match="units"):
            SiteMean(records[0], own, "site 0", **given)
    with pytest.raises(ValueError, match="by_name"):
        SiteMean(records[0], study(3, 0), "site 0", units=persons[0])


def test_records_per_unit_widen_the_noise() -> None:
    spread = []
    for most in (1, 4):
        own = study(2, 0, records_per_unit=most)
        spread.append(simulate([normal("sphere:2", 500)] * 2, own, seed=0).n_points_error)
    assert spread[1] == pytest.approx(4 * spread[0], rel=1e-6)


def test_sites_without_records_and_with_records_that_are_no_points_take_part() -> None:
    own = study(4, 0)
    records = [np.empty((0, 3)), np.full((50, 3), np.nan), NORTH, NORTH]
    release = simulate(records, own)
    assert release.n_points == pytest.approx(200, abs=8.0 * release.n_points_error)


# ------------------------------------------------------------------ agreements


@pytest.mark.parametrize(
    "guarantee",
    [PROTECTED, cdp.ZCDP(0.5, neighbours="add-remove"), cdp.ApproxDP(4.0, 1e-6)],
    ids=repr,
)
def test_agreements_survive_json(guarantee: Any) -> None:
    own = study(
        3,
        1,
        "spd:3:log-euclidean",
        guarantee=guarantee,
        n=900 if guarantee.neighbours == "replace" else None,
        statistic=cdp.LocatedMean(channels="common", clip=2.0, max_rounds=1),
        spare=0.5,
        study="Bärenstudie",
    )
    again = Agreement.from_json(own.to_json())
    assert (again, again.digest) == (own, own.digest)
    for damaged in (own.to_json()[:-1], own.to_json().replace("900", "901.0"), "{}", "[]", "3"):
        if damaged != own.to_json():
            with pytest.raises(ValueError, match="agreement"):
                Agreement.from_json(damaged)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"dropouts": 4}, "dropouts"),
        ({"dropouts": -1}, "dropouts"),
        ({"space": "sphere:2", "n": 4}, "neighbours"),
        ({"guarantee": cdp.GDP(1.0)}, "public"),
        ({"guarantee": cdp.PureDP(1.0, neighbours="add-remove")}, "GDP"),
        ({"spare": 0.9999}, "spare"),
        ({"space": "spd:362"}, "longer than"),
        ({"by_name": True, "records_per_unit": 2}, "by_name"),
        ({"study": "a\nb"}, "plain"),
    ],
)
def test_agreements_that_do_not_fit_are_refused(how: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        study(4, **{"dropouts": 1} | how)


def test_the_largest_studies_have_plans_that_are_read() -> None:
    """At a point, with the keys of all sites: a later plan, which could only fail after payment."""
    for own in (
        study(1, 0, "spd:360"),
        study(15_000, 1, masks=True),
    ):
        keys = {name: sha256(name.encode()).digest() for name in own.roster} if own.masks else None
        plan, size = Plan.from_bytes(ServerMean(own, keys=keys).plan()), own.manifold.point_size
        later = replace(plan, previous="0" * 64, total="0" * 64, round=MOST_ROUNDS - 1)
        asked = Request("tail", plan.request.share, np.full(size, 0.1))
        assert Plan.from_bytes(replace(later, request=asked).to_bytes()).request.kind == "tail"
    with pytest.raises(ValueError, match="fewer sites with masks"):
        study(16_000, 1, masks=True)
    study(16_000, 1)


@pytest.mark.parametrize("spare", [0.0, 0.99])
def test_what_is_spared_leaves_a_last_round(spare: float) -> None:
    own = study(3, 1, spare=spare)
    assert finished(ServerMean(own), sites_of(own, normal("sphere:2", 3000))).found


@pytest.mark.parametrize("roster", [[], ["a", "a"], [""], ["a\n"]])
def test_rosters_have_different_names(roster: list[str]) -> None:
    with pytest.raises(ValueError, match=r"names|roster"):
        Agreement(cdp.Sphere(2), PROTECTED, roster)


def test_products_are_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="one study of each factor"):
        Agreement(cdp.Product(cdp.Sphere(2), cdp.SPD(2)), PROTECTED, ["a"])


def test_groups_are_refused_with_what_to_do_and_that_works() -> None:
    """A person is in one group, so a ledger for each group has the whole budget."""
    keys = ("left", "right")
    with pytest.raises(ValueError, match="one study of each public key"):
        SiteMean(NORTH, study(2, 0), "site 0", groups=["left"] * 100)  # type: ignore[arg-type]
    records, side = normal("sphere:2", 900), np.arange(900) % 2
    for number, key in enumerate(keys):
        own = study(2, 0, study=key)
        ledgers = [cdp.Ledger(PROTECTED) for _ in range(2)]
        release = simulate(_parts(records[side == number], own), own, ledgers=ledgers)
        assert (release.found, release.provenance.data) == (True, key)
        assert release.n_points == pytest.approx(450, abs=8.0 * release.n_points_error)


def test_what_works_in_place_of_too_few_records_is_said() -> None:
    with pytest.raises(cdp.ExistenceError, match="at least 320") as refused:
        study(20, 4, "spd:28", guarantee=cdp.GDP(0.5), n=86).way  # noqa: B018
    assert "public ball" in str(refused.value)
    study(20, 4, "spd:28", guarantee=cdp.GDP(0.5), n=320).way  # noqa: B018


# ------------------------------------------------------------------ dropouts


def test_up_to_f_sites_may_stay_away_in_every_round() -> None:
    own, records = study(6, 2), normal("sphere:2", 1200)
    away = {number: names(6)[number % 4 : number % 4 + 2] for number in range(30)}
    release = simulate(_parts(records, own), own, dropouts=away, seed=0)
    assert (release.found, release.fewest, release.void_rounds) == (True, 4, 0)
    exact = cdp.nonprivate.frechet_mean(records, own.manifold).value
    assert float(own.manifold.dist(release.value, exact)) < 0.05


def test_one_more_makes_the_round_void_and_it_is_paid_and_asked_again() -> None:
    own, records = study(6, 2), normal("sphere:2", 1200)
    plans, ledgers = [], [cdp.Ledger(PROTECTED) for _ in range(6)]
    release = simulate(
        _parts(records, own),
        own,
        dropouts={1: names(6)[:3]},
        ledgers=ledgers,
        watch=lambda plan, answers: plans.append(Plan.from_bytes(plan)),
    )
    assert (release.found, release.void_rounds, release.rounds_asked) == (True, 1, len(plans))
    first, again = plans[1], plans[2]
    assert (first.request.kind, first.request.share) == (again.request.kind, again.request.share)
    assert (first.round, again.round, first.run) == (1, 2, again.run)
    assert np.array_equal(first.request.base, again.request.base)
    answered = sum(own.request.share**2 for own in plans)
    assert answered <= PROTECTED.mu**2 * (1 + 1e-12)
    assert answered == pytest.approx(PROTECTED.mu**2, rel=1e-9)  # the last takes what is left
    # who stayed away has spent less: the void round told nothing of its records
    assert ledgers[0].spent.mu < ledgers[5].spent.mu


@pytest.mark.parametrize("spare", [0.0, 0.5])
def test_a_void_last_round_is_asked_again_if_something_was_spared(spare: float) -> None:
    own, records = study(3, 0, spare=spare), normal("sphere:2", 900)
    plans: list[bytes] = []
    simulate(_parts(records, own), own, seed=0, watch=lambda plan, answers: plans.append(plan))
    last = len(plans) - 1
    release = simulate(_parts(records, own), own, seed=0, dropouts={last: ["site 1"]})
    assert release.found == (spare > 0.0)
    assert release.void_rounds == 1
    if not release.found:
        assert "too few sites answered" in release.reason


def test_no_answer_at_all_ends_without_a_mean() -> None:
    own = study(3, 1)
    away = {number: names(3) for number in range(1000)}
    release = simulate([NORTH] * 3, own, dropouts=away)
    assert not release.found
    assert release.spent <= PROTECTED.mu


def test_what_is_too_little_to_be_asked_for_is_not_spent() -> None:
    """After two void rounds with the share .3 a rest of .005 is left."""
    search = study(3, 1, guarantee=cdp.GDP(1.0, neighbours="add-remove")).search()
    before = search.budget.take(math.sqrt(1.0 - 2.0 * 0.3**2 - 0.005**2))
    run = search.run()
    asked = [next(run).share, run.send(None).share]
    with pytest.raises(StopIteration) as end:
        run.send(None)
    assert asked == [0.3, 0.3]
    assert end.value.value.spent == pytest.approx(math.hypot(before, *asked), rel=1e-9)
    assert search.budget.rest == pytest.approx(0.005, rel=1e-6)


# ------------------------------------------------------------------ what a lie does


def _scaled(message: bytes) -> bytes:
    own = Answer.from_bytes(message)
    return replace(own, entries=own.entries * np.uint64(10**9 + 7)).to_bytes()


LIES: dict[str, Callable[[bytes], bytes]] = {
    "other numbers": _scaled,
    "another name": lambda own: replace(Answer.from_bytes(own), site="site 1").to_bytes(),
    "no name": lambda own: replace(Answer.from_bytes(own), site="Zo").to_bytes(),
    "another round": lambda own: replace(Answer.from_bytes(own), round=9).to_bytes(),
    "another size": lambda own: replace(
        Answer.from_bytes(own), entries=np.zeros(1, dtype=np.uint64)
    ).to_bytes(),
    "nothing": lambda own: b"",
    "a part": lambda own: own[:-1],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_site_ends_nobodys_study_and_changes_no_other_answer(lie: str) -> None:
    own, records = study(5, 2), normal("sphere:2", 1000)
    seen: list[dict[str, bytes]] = []
    release = simulate(
        _parts(records, own),
        own,
        seed=0,
        liars={"site 0": LIES[lie]},
        watch=lambda plan, answers: seen.append(answers),
    )
    honest: list[dict[str, bytes]] = []
    simulate(_parts(records, own), own, seed=0, watch=lambda plan, own: honest.append(own))
    # in the first round, where the plan is the same, others send what they would have sent
    for name in names(5)[1:]:
        sent = [Answer.from_bytes(each[0][name]).entries for each in (seen, honest)]
        assert np.array_equal(*sent)
    assert release.spent <= own.way.mu
    if lie != "other numbers":  # of those the server cannot know
        exact = cdp.nonprivate.frechet_mean(records, own.manifold).value
        assert release.found
        assert float(own.manifold.dist(release.value, exact)) < 0.1


def test_the_server_says_what_it_left_out() -> None:
    own = study(3, 2)
    server, sites = ServerMean(own), sites_of(own, NORTH)
    answers = [site.answer(server.plan()) for site in sites]
    other = replace(Answer.from_bytes(answers[0]), entries=np.zeros(4, dtype=np.uint64)).to_bytes()
    server.feed([*answers, answers[1], other, b"", "text"])  # type: ignore[list-item]
    assert len(server.left_out) == 3
    assert "answers of site 0 that differ" in server.left_out
    assert server._fewest == 2


def test_a_study_that_is_over_has_no_plan() -> None:
    own = study(1, 0)
    server = ServerMean(own)
    finished(server, [SiteMean(NORTH, own, "site 0")])
    for after in (server.plan, lambda: server.feed([])):
        with pytest.raises(SiteError, match="over"):
            after()


def test_spaces_are_given_as_anywhere_else() -> None:
    assert Agreement("sphere:2", PROTECTED, ["a"]) == Agreement(
        as_manifold("sphere:2"), PROTECTED, ["a"]
    )
