"""Studies with masks: the server reads totals and no single answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import FAILURE
from curvedp.errors import SiteError
from curvedp.sites import ServerMean, SiteMean, simulate
from curvedp.sites.wire import Answer, Plan
from site_cases import names, normal, sites_of, study


def _started(sites: int = 4, dropouts: int = 1) -> tuple[ServerMean, list[SiteMean]]:
    own = study(sites, dropouts, masks=True)
    parties = sites_of(own, normal("sphere:2", 300 * sites), seed=1)
    keys = {name: site.key for name, site in zip(own.roster, parties, strict=True)}
    return ServerMean(own, keys=keys), parties


@pytest.mark.parametrize("sites", [2, 5, 20])
def test_masks_cancel_in_the_total_of_all_sites(sites: int) -> None:
    records = np.array_split(normal("sphere:2", 1200), sites)
    masked, clear = (
        simulate(records, study(sites, 0, masks=masks), seed=4) for masks in (True, False)
    )
    assert np.array_equal(masked.value, clear.value)
    assert (masked.found, masked.masked, clear.masked) == (True, True, False)
    assert masked.expected_error == clear.expected_error
    assert "masks hide single answers" in " ".join(masked.report().split())


def test_answers_of_some_sites_look_like_any_other_numbers() -> None:
    """Entries of single answers, and of totals without one site: uniform modulo 2^64."""
    own = study(4, 1, masks=True)
    found: list[list[np.ndarray]] = []

    def watch(plan: bytes, answers: dict[str, bytes]) -> None:
        found.append([Answer.from_bytes(answer).entries for answer in answers.values()])

    for _ in range(6):
        simulate(np.array_split(normal("sphere:2", 1200), 4), own, watch=watch)
    for part in (1, 3):
        words = np.concatenate([sum(each[:part], np.uint64(0)) for each in found])
        bins = np.bincount((words >> np.uint64(60)).astype(int), minlength=16)
        assert stats.chisquare(bins).pvalue > FAILURE
    whole = np.concatenate([sum(each, np.uint64(0)) for each in found])  # the control
    bins = np.bincount((whole >> np.uint64(60)).astype(int), minlength=16)
    assert stats.chisquare(bins).pvalue < FAILURE


def test_a_round_that_one_site_misses_is_void() -> None:
    own = study(4, 2, masks=True)
    release = simulate(
        np.array_split(normal("sphere:2", 1200), 4), own, dropouts={2: ["site 3"]}, seed=0
    )
    assert (release.found, release.void_rounds, release.fewest) == (True, 1, 4)


def test_keys_are_of_all_sites_and_stay_the_same() -> None:
    server, parties = _started()
    plan = Plan.from_bytes(server.plan())
    keys = plan.keys
    other = SiteMean(np.empty((0, 3)), study(4, 1, masks=True), "site 1").key.hex()
    wrong = {
        "none": (),
        "one less": keys[:3],
        "one twice": (*keys[:2], keys[0], keys[3]),
        "another of this site": (other, *keys[1:]),
        "of no point": (keys[0], "00" * 32, *keys[2:]),
    }
    for own in wrong.values():
        with pytest.raises(SiteError, match="key"):
            parties[0].answer(replace(plan, keys=own).to_bytes())
    step = server.feed([site.answer(server.plan()) for site in parties])
    later = Plan.from_bytes(step)
    with pytest.raises(SiteError, match="other keys than an earlier"):
        parties[0].answer(replace(later, keys=(keys[0], other, *keys[2:])).to_bytes())
    parties[0].answer(step)


def test_a_new_run_may_have_a_new_key_of_another_site() -> None:
    server, parties = _started(3, 1)
    parties[0].answer(server.plan())
    own = parties[0].agreement
    parties[2] = SiteMean(np.empty((0, 3)), own, "site 2", seed=1)
    keys = {name: site.key for name, site in zip(own.roster, parties, strict=True)}
    for _ in range(2):  # each is a run of its own
        assert parties[0].answer(ServerMean(own, keys=keys).plan())


def test_a_site_that_was_started_anew_needs_a_new_run() -> None:
    server, parties = _started()
    again = SiteMean(np.empty((0, 3)), parties[0].agreement, "site 0")
    with pytest.raises(SiteError, match="begin a new run"):
        again.answer(server.plan())


def test_keys_are_given_with_masks_alone() -> None:
    own = study(3, 0)
    for agreement, keys in ((own, {name: b"" for name in names(3)}), (_started()[0].agreement, {})):
        with pytest.raises(ValueError, match="key of every site"):
            ServerMean(agreement, keys=keys)
    with pytest.raises(ValueError, match="no keys"):
        _ = sites_of(own, normal("sphere:2", 9))[0].key
    with pytest.raises(ValueError, match="hide nothing"):
        study(3, 2, masks=True)
    plan = ServerMean(own).plan()
    with pytest.raises(SiteError, match="needless"):
        sites_of(own, normal("sphere:2", 9))[0].answer(
            replace(Plan.from_bytes(plan), keys=("00" * 32,) * 3).to_bytes()
        )
    assert cdp.sites.Agreement.from_json(study(3, 0, masks=True).to_json()).masks
