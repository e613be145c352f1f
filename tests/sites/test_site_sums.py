"""What sites send adds up to what one site would have sent, with its noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import FAILURE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.manifolds import as_manifold
from curvedp.sites import Agreement, ServerMean, SiteMean
from curvedp.sites.wire import Answer, Plan
from curvedp.sums.messages import Request, start_of, weights_of
from curvedp.sums.noise import GaussianNoise, noise_scale
from curvedp.sums.records import RecordSums
from site_cases import PROTECTED, cells_of, finished, found_centrally, normal, sites_of, study

SPACES = ["sphere:2", "rotations:3", "spd:3", "hyperboloid:2", "kendall:6", "euclidean:3", "hpd:2"]


def _requests(space: str) -> list[Request]:
    """One of each kind that a space has."""
    manifold = as_manifold(space)
    base = np.ascontiguousarray(manifold.origin).reshape(-1)
    found = [Request("tail", 1.0, base), Request("round", 1.0, base, 0.5)]
    found.append(Request("round", 1.0, base, 0.5, "squares"))
    cells = cells_of(normal(space, 3, seed=8), 0.5, 0.2, 0.1)
    found.append(Request("round", 1.0, cells, 0.5, "cells"))
    if start_of(manifold) is not None:
        found.append(Request("start", 1.0))
    if space.startswith(("spd", "hpd")):
        logs = np.zeros(manifold.origin.shape[0])
        found += [Request("scale", 1.0), Request("tail", 1.0, logs, of="diagonals")]
        found.append(Request("round", 1.0, logs, 0.5, of="diagonals"))
    return found


@pytest.mark.parametrize("space", SPACES)
def test_sums_of_any_split_add_up_to_the_same_bits(space: str) -> None:
    manifold, records = as_manifold(space), normal(space, 203)
    whole = RecordSums(manifold, records, None)
    for sites in (1, 5, 20):
        for cut in (np.array_split(records, sites), np.split(records, sorted({0, 7, 8, 190}))):
            parts = [RecordSums(manifold, own, None) for own in cut]
            for request in _requests(space):
                total = sum(own.answer(request) for own in parts)
                assert np.array_equal(total, whole.answer(request))


def test_answers_do_not_depend_on_threads() -> None:
    """More records than a piece of work has."""
    own, before = study(1, 0), cdp.num_threads()
    site = SiteMean(normal("sphere:2", 50_000), own, "site 0", seed=3)
    found = set()
    try:
        for threads in (1, 2, 5):
            cdp.set_num_threads(threads)
            release = finished(ServerMean(own, run=f"{threads:032}"), [site])
            found.add((release.value.tobytes(), release.expected_error))
    finally:
        cdp.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("replaces", [False, True], ids=["add-remove", "replace"])
@pytest.mark.parametrize("space", ["sphere:2", "spd:2", "hyperboloid:2"])
def test_the_server_with_one_site_is_the_central_engine(space: str, replaces: bool) -> None:
    records = normal(space, 400)
    own = study(1, 0, space, n=400, guarantee=cdp.GDP(2.0)) if replaces else study(1, 0, space)
    site = SiteMean(records, own, "site 0", seed=5)
    release = finished(ServerMean(own), [site])
    found = found_centrally(own, records, site)
    assert release.found
    assert np.array_equal(release.value.reshape(-1), found.value)
    assert (release.spent, release.expected_error) == (found.spent, found.expected_error)


# ------------------------------------------------------------------ the noise


def _noises(agreement: Agreement, request: Request, rounds: int, shares: int) -> np.ndarray:
    """Noise of each site in units of the whole's deviation; shape (rounds, sites, size)."""
    records = normal(agreement.manifold.spec, 12)
    sums = [
        RecordSums(agreement.manifold, own, None)
        for own in np.array_split(records, len(agreement.roster))
    ]
    exact = [own.answer(request) for own in sums]
    scale = noise_scale(
        sums[0].bound(request, GaussianNoise(1.0), agreement.replaces, 1), request.share
    )
    found = [
        [
            own.share_of_noisy(
                request,
                _core.Stream.from_os(),
                replaces=agreement.replaces,
                changed=1,
                shares=shares,
            )
            - before
            for own, before in zip(sums, exact, strict=True)
        ]
        for _ in range(rounds)
    ]
    weights = weights_of(request, agreement.geometry)
    return np.array(found) * np.sqrt(weights) / scale


@pytest.mark.parametrize("guarantee", [PROTECTED, cdp.GDP(2.0)], ids=["add-remove", "replace"])
def test_as_many_sites_as_may_not_drop_out_carry_the_whole_noise(guarantee: cdp.GDP) -> None:
    own = study(5, 2, n=None if guarantee == PROTECTED else 200, guarantee=guarantee)
    request = _requests("sphere:2")[0]
    noise = _noises(own, request, 60, own.shares)
    for honest in ([0, 1, 2], [1, 3, 4]):
        square = float((noise[:, honest].sum(axis=1) ** 2).sum())
        size = noise.shape[0] * noise.shape[2]
        least, most = stats.chi2.ppf([FAILURE / 2, 1 - FAILURE / 2], size)
        assert least < square < most
        # controls: shares for all five sites, and noise of one site less
        for short in (_noises(own, request, 60, 5)[:, honest], noise[:, honest[1:]]):
            assert float((short.sum(axis=1) ** 2).sum()) < least


def test_bytes_that_leave_sites_have_the_noise_that_is_said() -> None:
    """Sites without records send noise alone: J - f of them the whole, one less too little."""
    own = study(5, 2, "hyperboloid:2")
    rounds = []
    for _ in range(30):
        plan = ServerMean(own).plan()
        sites = sites_of(own, np.empty((0, 3)))
        answers = [Answer.from_bytes(site.answer(plan)).entries.view(np.int64) for site in sites]
        rounds.append(answers)
    request = Plan.from_bytes(plan).request
    sums = RecordSums(own.manifold, np.empty((0, 3)), None)
    bound = sums.bound(request, GaussianNoise(1.0), False, 1)
    noise = np.array(rounds) / noise_scale(bound, request.share)
    size = noise.shape[0] * noise.shape[2]
    least, most = stats.chi2.ppf([FAILURE / 2, 1 - FAILURE / 2], size)
    assert least < float((noise[:, 1:4].sum(axis=1) ** 2).sum()) < most
    assert float((noise[:, 1:3].sum(axis=1) ** 2).sum()) < least


def test_answers_are_whole_numbers_modulo_2_to_the_64() -> None:
    own = study(3, 0)
    server, sites = ServerMean(own), sites_of(own, normal("sphere:2", 60))
    plan = server.plan()
    answers = [Answer.from_bytes(site.answer(plan)) for site in sites]
    assert {len(answer.entries) for answer in answers} == {4}
    mean = np.mean([answer.entries.view(np.int64)[-1] for answer in answers])
    assert mean == pytest.approx(20 * 2.0**23, abs=40 * 2.0**25)


def _totals(
    agreement: Agreement, records: list[np.ndarray], request: Request, draws: int, shares: int
) -> np.ndarray:
    """Totals of all sites but the last one, which works against the others."""
    sums = [RecordSums(agreement.manifold, own, None) for own in records]
    return np.array(
        [
            sum(
                own.share_of_noisy(
                    request, _core.Stream.from_os(), replaces=False, changed=1, shares=shares
                ).astype(float)
                for own in sums[:-1]
            )
            for _ in range(draws)
        ]
    )


@pytest.mark.parametrize("kind", ["start", "round", "squares", "cells"])
def test_who_sees_all_messages_of_all_other_sites_learns_what_is_said(kind: str) -> None:
    """It knows all records but one, the total, and the noise of the site that helps it."""
    own = study(4, 1, guarantee=cdp.GDP(1.0, neighbours="add-remove"))
    request = next(asked for asked in _requests("sphere:2") if kind in (asked.kind, asked.of))
    records = np.array_split(normal("sphere:2", 16), 4)
    more = [np.concatenate([records[0], [[1.0, 0.0, 0.0]]]), *records[1:]]
    sums = [RecordSums(own.manifold, each[0], None).answer(request) for each in (more, records)]
    message = (sums[0] - sums[1]).astype(float)

    def audited(shares: int) -> cdp.audit.AuditResult:
        scores = [_totals(own, each, request, 1500, shares) @ message for each in (more, records)]
        return audit_samples(*scores, own.way, confidence=1 - FAILURE)

    assert audited(own.shares).passed
    assert not audited(4 * own.shares).passed  # the control: a half of the noise


def _transcript(agreement: Agreement, sites: list[SiteMean]) -> list[Request]:
    """The requests of a whole study."""
    server, found = ServerMean(agreement), []
    step = server.plan()
    while isinstance(step, bytes):
        found.append(Plan.from_bytes(step).request)
        step = server.feed([site.answer(step) for site in sites])
    return found


@pytest.mark.parametrize("space", ["sphere:2", "spd:2", "rotations:3"])
@pytest.mark.parametrize("replaces", [False, True], ids=["add-remove", "replace"])
def test_a_record_moves_all_totals_by_no_more_than_the_honest_sites_hide(
    space: str, replaces: bool
) -> None:
    """Exact distances of both sums in every round, over the noise of J - f sites: at most mu."""
    guarantee = cdp.GDP(3.0) if replaces else cdp.GDP(3.0, neighbours="add-remove")
    own = study(5, 2, space, guarantee=guarantee, n=500 if replaces else None, variance=0.2)
    records = normal(space, 500)
    far = normal(space, 3, spread=1.0, seed=4)[2:]
    first = np.array_split(records, 5)[0]
    changed = np.concatenate([first[1:], far]) if replaces else first[1:]
    before, after = (RecordSums(own.manifold, each, None) for each in (first, changed))
    total = moved = 0.0
    for request in _transcript(own, sites_of(own, records, seed=1)):
        scale = noise_scale(
            before.bound(request, GaussianNoise(1.0), replaces, 1), request.share, own.shares
        )
        apart = (before.answer(request) - after.answer(request)).astype(float)
        weights = np.ones(len(apart))
        if request.kind == "start":
            weights = weights_of(request, own.geometry)
        total += float(weights @ apart**2) / (own.shares * scale**2)
        moved = max(moved, float(weights @ apart**2))
    assert math.sqrt(total) <= own.way.mu
    assert moved > 0.0
    if not replaces:  # the control: with shares for all five sites it is more than is said
        assert math.sqrt(total * 5 / 3) > own.way.mu


@pytest.mark.parametrize("sites", [1, 5, 20])
def test_noise_that_is_no_share_of_the_whole_is_refused(sites: int) -> None:
    for mu in (1e-11, 1e6):
        with pytest.raises(ValueError, match="mu"):
            study(sites, 0, guarantee=cdp.GDP(mu, neighbours="add-remove")).way  # noqa: B018
    own = study(sites, 0)
    server, site = ServerMean(own), sites_of(own, normal("sphere:2", 40))[0]
    plan = Plan.from_bytes(server.plan())
    small = replace(plan, request=replace(plan.request, share=2.0**-45))
    with pytest.raises(cdp.errors.SiteError, match="deviation"):
        site.answer(small.to_bytes())
