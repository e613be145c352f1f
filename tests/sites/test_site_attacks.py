"""The table "What each party is protected against" of docs/consortium.md, attacked line by line.

Lines that stand elsewhere: readers, and sites that work together (`test_site_sums`: audits, and
exact distances over the noise of J - f sites); sites that lie (`test_site_studies`); plans that ask
for more than is left, or again (`test_site_refusals`); copies of files (`test_site_rollback`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from chance import FAILURE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.errors import BudgetError, SiteError
from curvedp.sites import ServerMean, SiteMean
from curvedp.sites.wire import Answer, Plan
from curvedp.sums.messages import Request
from curvedp.sums.records import RecordSums
from site_cases import PROTECTED, names, normal, sites_of, study

#: Numbers of this size are sums with noise; words of a mask are larger but for 2^-12 of them.
SMALL = 2**51


def _numbers(*answers: bytes) -> np.ndarray:
    """The sum of answers."""
    parts = [Answer.from_bytes(own).entries for own in answers]
    return np.asarray(sum(parts, np.zeros_like(parts[0]))).view(np.int64)


def _is_open(numbers: np.ndarray) -> bool:
    return bool(np.abs(numbers).max() < SMALL)


def test_who_sees_the_answers_of_one_site_learns_what_is_printed_and_more_than_the_guarantee() -> (
    None
):
    own = study(9, 0, guarantee=cdp.GDP(1.0, neighbours="add-remove"))
    base = np.array([0.0, 0.0, 1.0])
    request = Request("round", own.way.mu, base, 0.5)
    rows = normal("sphere:2", 6)
    more = [RecordSums(own.manifold, each, None)
            for each in (np.concatenate([rows, [[1.0, 0.0, 0.0]]]), rows)]  # fmt: skip
    message = (more[0].answer(request) - more[1].answer(request)).astype(float)
    how: dict[str, Any] = {"replaces": False, "changed": 1, "shares": own.shares}
    scores = [
        [float(each.share_of_noisy(request, _core.Stream.from_os(), **how).astype(float) @ message)
         for _ in range(1500)]
        for each in more
    ]  # fmt: skip
    first, second = map(np.array, scores)
    assert own.alone == pytest.approx(3.0)
    assert audit_samples(first, second, cdp.GDP(own.alone), confidence=1 - FAILURE).passed
    assert not audit_samples(first, second, own.way, confidence=1 - FAILURE).passed


# ------------------------------------------------------------------ a server that lies


def _masked(sites: int = 4) -> tuple[Plan, list[SiteMean]]:
    own = study(sites, 1, masks=True)
    parties = sites_of(own, normal("sphere:2", 100 * sites))
    keys = {name: site.key for name, site in zip(own.roster, parties, strict=True)}
    return Plan.from_bytes(ServerMean(own, keys=keys).plan()), parties


def test_plans_that_differ_from_site_to_site_leave_all_answers_masked() -> None:
    plan, parties = _masked()
    same = [site.answer(plan.to_bytes()) for site in parties]
    assert _is_open(_numbers(*same))  # the control
    plan, parties = _masked()
    half = replace(plan, request=replace(plan.request, share=0.5 * plan.request.share))
    split = [site.answer(own.to_bytes())
             for site, own in zip(parties, (plan, plan, half, half), strict=True)]  # fmt: skip
    for part in (split, split[:2], split[2:]):
        assert not _is_open(_numbers(*part))


def test_the_same_plan_under_another_number_or_run_is_another_mask() -> None:
    plan, parties = _masked()
    first = [site.answer(plan.to_bytes()) for site in parties]
    again = replace(plan, run="7" * 32).to_bytes()
    second = [site.answer(again) for site in parties]
    assert _is_open(_numbers(*second))  # the control
    mixed = [first[0], *second[1:]]
    assert not _is_open(_numbers(*mixed))
    apart = Answer.from_bytes(first[0]).entries - Answer.from_bytes(second[0]).entries
    assert not _is_open(apart.view(np.int64))


def _replaced(plan: Plan, own: int) -> tuple[Plan, list[_core.MaskKey]]:
    """A plan in which all keys but one are the server's."""
    pairs = [_core.MaskKey(bytes([40 + place]) * 32) for place in range(len(plan.keys))]
    keys = [pair.public.hex() for pair in pairs]
    keys[own] = plan.keys[own]
    return replace(plan, keys=tuple(keys)), pairs


def test_keys_that_a_server_replaces_open_an_answer_unless_sites_told_each_other_theirs() -> None:
    plan, parties = _masked()
    lie, pairs = _replaced(plan, 1)
    answer = Answer.from_bytes(parties[1].answer(lie.to_bytes()))
    opened, public = answer.entries, bytes.fromhex(plan.keys[1])
    assert not _is_open(opened.view(np.int64))
    for place, pair in enumerate(pairs):  # what the server subtracts, as it has all secrets
        if place != 1:
            added = pair.mask([(public, place < 1)], bytes.fromhex(lie.digest), len(opened))
            opened = opened + added
    assert _is_open(opened.view(np.int64))
    told = {name: site.key for name, site in zip(names(4), parties, strict=True)}
    rows = normal("sphere:2", 40)
    for place in (0, 2, 3):
        keys = (*plan.keys[:place], lie.keys[place], *plan.keys[place + 1 :])
        warned = SiteMean(rows, parties[1].agreement, "site 1", keys=told)
        mine = (keys[0], warned.key.hex(), *keys[2:])
        with pytest.raises(SiteError, match="than this site was given"):
            warned.answer(replace(plan, keys=mine).to_bytes())


def test_one_key_of_two_peers_written_in_two_ways_does_not_cancel() -> None:
    """X25519 ignores the highest bit: such keys have one secret with a site that lies between."""
    plan, parties = _masked(3)
    alias = bytearray.fromhex(plan.keys[0])
    alias[31] ^= 0x80
    twice = replace(plan, keys=(*plan.keys[:2], alias.hex()))
    assert not _is_open(_numbers(parties[1].answer(twice.to_bytes())))
    own = bytearray.fromhex(plan.keys[2])
    own[31] ^= 0x80  # and a site's own key, so written
    itself = replace(plan, keys=(own.hex(), *plan.keys[1:]))
    assert not _is_open(_numbers(parties[2].answer(itself.to_bytes())))
    with pytest.raises(SiteError, match="not one key of each"):
        parties[0].answer(replace(plan, keys=(*plan.keys[:2], plan.keys[1])).to_bytes())


def test_a_ledger_bounds_the_runs_that_a_server_begins_and_nothing_else_does() -> None:
    own, rows = study(3, 1), normal("sphere:2", 60)
    ledger = cdp.Ledger(PROTECTED)
    bound = SiteMean(rows, own, "site 0", ledger=ledger)
    bound.answer(ServerMean(own).plan())
    with pytest.raises(BudgetError):
        bound.answer(ServerMean(own).plan())
    free = SiteMean(rows, own, "site 0")
    assert all(free.answer(ServerMean(own).plan()) for _ in range(3))  # the control


def test_a_server_with_names_of_its_own_has_the_whole_noise_against_it() -> None:
    """f of the sites are its own: it knows their noise, and J - f of others carry all of it."""
    own = study(5, 3, guarantee=cdp.GDP(1.0, neighbours="add-remove"))
    request = Request("round", own.way.mu, np.array([0.0, 0.0, 1.0]), 0.5)
    rows = normal("sphere:2", 6)
    first = [RecordSums(own.manifold, each, None)
             for each in (np.concatenate([rows, [[1.0, 0.0, 0.0]]]), rows)]  # fmt: skip
    honest = RecordSums(own.manifold, rows, None)
    message = (first[0].answer(request) - first[1].answer(request)).astype(float)

    def scores(shares: int) -> list[np.ndarray]:
        how: dict[str, Any] = {"replaces": False, "changed": 1, "shares": shares}
        return [
            np.array([
                sum(one.share_of_noisy(request, _core.Stream.from_os(), **how).astype(float)
                    for one in (each, honest)) @ message
                for _ in range(1500)
            ])
            for each in first
        ]  # fmt: skip

    assert audit_samples(*scores(own.shares), own.way, confidence=1 - FAILURE).passed
    # the control: with names that f does not count each share is too small
    assert not audit_samples(*scores(8), own.way, confidence=1 - FAILURE).passed
