"""Copies of a site's state file, and kills: the ledger knows each round before an answer leaves."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import LedgerError, SiteError
from curvedp.privacy.steps import Step
from curvedp.sites import ServerMean, SiteMean
from curvedp.sites.book import Book, Run
from curvedp.sites.wire import Plan
from kill_points import found_by
from site_cases import PROTECTED, sites_of, study

SCRIPT = Path(__file__).parents[1] / "site_faults.py"
NORTH = np.tile([0.0, 0.0, 1.0], (60, 1))
OWN = study(3, 2)
WIDE = cdp.GDP(9.0, neighbours="add-remove")


class Kept:
    """A site whose every message is answered by a process of its own, and copies of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, ServerMean(OWN)
        self.others = sites_of(OWN, np.tile(NORTH, (3, 1)))[1:]
        self.ledger = cdp.Ledger(WIDE, path=folder / "ledger")

    def site(self, state: str = "state", ledger: str | None = "ledger") -> SiteMean:
        own = None if ledger is None else cdp.Ledger.open(self.folder / ledger)
        return SiteMean(NORTH, OWN, "site 0", state=self.folder / state, ledger=own)

    def copy(self, name: str, to: str) -> None:
        shutil.copy2(self.folder / name, self.folder / to)

    def round(self, answers: bool = True) -> bytes:
        """The plan of a round that the site answers, if it does, and the others."""
        plan = self.server.plan()
        own = [self.site().answer(plan)] if answers else []
        self.server.feed([*own, *(each.answer(plan) for each in self.others)])
        return plan


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_an_older_copy_of_the_state_is_refused_by_a_new_process(kept: Kept) -> None:
    first = kept.round()
    kept.copy("state", "older")
    second, third = kept.round(), kept.server.plan()
    SiteMean(NORTH, OWN, "site 0", state=kept.folder / "never")
    for state in ("older", "never"):  # with one round, and with none
        for plan in (second, third):
            with pytest.raises(SiteError, match="older copy, another one than before"):
                kept.site(state).answer(plan)
    with pytest.raises(SiteError, match="rounds of this run that this site's state lacks"):
        kept.site("never").answer(first)
    assert len(kept.ledger.entries) == 1
    kept.round()  # the control: the last one goes on


def test_control_without_the_ledgers_notes_an_older_copy_answers_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "check_noted", lambda *arguments: None)
    monkeypatch.setattr(SiteMean, "_note", lambda *arguments, **how: None)
    kept.round()
    kept.copy("state", "older")
    second = kept.round()
    assert kept.site("older").answer(second) != kept.site("older").answer(kept.server.plan())


def test_an_older_copy_gives_nothing_back_that_was_spent(kept: Kept) -> None:
    kept.round()
    kept.copy("state", "older")
    shares = [Plan.from_bytes(kept.round()).request.share for _ in range(2)]
    first = kept.ledger.searches.popitem()[1].steps[0].share
    [entry] = kept.site("older").finish()
    assert entry.settles == 1
    assert kept.ledger.spent.mu == pytest.approx(np.linalg.norm([first, *shares]))
    assert kept.ledger.spent.mu >= np.linalg.norm([first, *shares]) * (1 - 1e-15)
    assert kept.site().finish() == []


def test_what_was_given_back_is_not_spent_by_an_older_copy(kept: Kept) -> None:
    kept.round()
    kept.copy("state", "older")
    third = kept.server.plan()
    kept.site().finish()
    spent = kept.ledger.spent
    for state in ("older", "state"):
        with pytest.raises(SiteError, match="this run is over"):
            kept.site(state).answer(third)
    assert kept.ledger.spent == spent
    assert spent.mu < PROTECTED.mu


def test_a_state_that_was_lost_is_known_and_its_run_can_be_ended(kept: Kept) -> None:
    kept.round()
    (kept.folder / "state").unlink()
    with pytest.raises(SiteError, match="was not kept"):
        kept.site().answer(kept.server.plan())
    with pytest.raises(SiteError, match="was not kept"):  # a site in memory that was started anew
        SiteMean(NORTH, OWN, "site 0", ledger=kept.ledger).answer(kept.server.plan())
    assert len(kept.site().finish()) == 1
    kept.server = ServerMean(OWN)
    kept.round()  # a new run is served
    assert [entry.settles for entry in kept.ledger.entries] == [None, 1, None]


def test_an_older_copy_of_the_ledger_is_refused(kept: Kept) -> None:
    kept.round()
    kept.copy("ledger", "old ledger")
    kept.round()
    kept.round()
    with pytest.raises(SiteError, match="the ledger lacks rounds"):
        kept.site(ledger="old ledger").answer(kept.server.plan())
    with pytest.raises(SiteError, match="begun with a ledger"):
        kept.site(ledger=None).answer(kept.server.plan())
    kept.round()  # the control


@pytest.mark.parametrize("lacking", [1, 3])
def test_an_older_copy_of_the_ledger_gives_nothing_back_that_the_state_knows_was_spent(
    kept: Kept, lacking: int
) -> None:
    shares = [Plan.from_bytes(kept.round()).request.share]
    kept.copy("ledger", "old ledger")
    shares += [Plan.from_bytes(kept.round()).request.share for _ in range(lacking)]
    [entry] = kept.site(ledger="old ledger").finish()
    assert isinstance(entry.guarantee, cdp.GDP)
    assert entry.guarantee.mu >= np.linalg.norm(shares) * (1 - 1e-15)
    assert entry.guarantee.mu < PROTECTED.mu
    [own] = kept.site().finish()  # the control: the same of the last ledger
    assert own.guarantee == entry.guarantee


def test_a_limit_in_the_clear_counts_what_an_older_copy_lacks(kept: Kept) -> None:
    kept.site().finish()
    kept.copy("state", "older")
    share = Plan.from_bytes(kept.round()).request.share
    told = float(np.sqrt(OWN.shares * 2.0 * share**2))
    plan = ServerMean(OWN).plan()
    for state in ("older", "state"):
        tight = SiteMean(NORTH, OWN, "site 0", state=kept.folder / state, ledger=kept.ledger,
                         clear=0.999 * told)  # fmt: skip
        with pytest.raises(SiteError, match="its own limit"):
            tight.answer(plan)
    SiteMean(NORTH, OWN, "site 0", state=kept.folder / "older", ledger=kept.ledger,
             clear=1.001 * told).answer(plan)  # fmt: skip


def _raced(acts: list[Callable[[], bytes]]) -> int:
    """How many answers leave."""

    def tried(act: Callable[[], bytes]) -> bool:
        try:
            return bool(act())
        except SiteError:
            return False

    with ThreadPoolExecutor(len(acts)) as pool:
        return sum(pool.map(tried, acts))


def test_a_state_of_the_version_without_notes_is_refused_by_name(tmp_path: Path) -> None:
    state = tmp_path / "state"
    SiteMean(NORTH, OWN, "site 0", state=state)
    SiteMean(NORTH, OWN, "site 0", state=state)  # the control
    connection = sqlite3.connect(state)
    connection.execute("PRAGMA application_id=1667527475")
    connection.close()
    with pytest.raises(SiteError, match="or of an earlier version"):
        SiteMean(NORTH, OWN, "site 0", state=state)


@pytest.mark.parametrize("shared", [True, False], ids=["one state", "copies of the state"])
def test_of_many_that_race_for_a_round_one_answers_and_one_pays(kept: Kept, shared: bool) -> None:
    for number in range(3):
        plan = kept.server.plan()
        states = ["state"] * 4 if shared else [f"state {number} {own}" for own in range(4)]
        for state in states:
            if (kept.folder / "state").exists() and state != "state":
                kept.copy("state", state)
        sites = [kept.site(state) for state in states]
        assert _raced([partial(site.answer, plan) for site in sites]) == 1
        assert len(kept.ledger.entries) == 1
        if not shared:
            won = next(own for own in states if _has(kept.folder / own, plan))
            kept.copy(won, "state")
        kept.server.feed([each.answer(plan) for each in kept.others])


def _has(state: Path, plan: bytes) -> bool:
    """True if a site with this state goes on, as the ledger has the same rounds."""
    known = Book(state).run(Plan.from_bytes(plan).run)
    [noted] = cdp.Ledger.open(state.parent / "ledger").searches.values()
    return known is not None and known.rounds == noted.steps


@pytest.mark.true_entropy  # forked children draw
@pytest.mark.parametrize("shared", [True, False], ids=["one state", "copies"])
def test_of_processes_one_answers_a_first_round_and_the_run_is_paid_once(
    kept: Kept, shared: bool
) -> None:
    plan, (waits, go) = kept.server.plan(), os.pipe()
    children = []
    for own in range(4):
        child = os.fork()
        if child == 0:
            status = 3
            try:
                site = kept.site("state" if shared else f"state {own}")
                os.close(go)
                os.read(waits, 1)  # until the other end is closed
                status = _raced([partial(site.answer, plan)])
            finally:
                os._exit(status)
        children.append(child)
    os.close(go)
    told = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(waits)
    assert sorted(told) == [0, 0, 0, 1]
    assert len(kept.ledger.entries) == 1
    [noted] = kept.ledger.searches.values()
    assert len(noted.steps) == 1


@pytest.mark.skipif(platform.system() != "Linux", reason="children are traced as Linux does it")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("every", [211, pytest.param(1, marks=pytest.mark.slow)])
def test_a_site_killed_anywhere_answers_no_round_twice_and_goes_on(
    every: int, tmp_path: Path
) -> None:
    found = found_by(SCRIPT, tmp_path, every)
    assert found["failures"] == []
    assert found["points"] > 1000
    assert {"0 answers", "1 answers"} <= set(found["seen"])


@pytest.mark.skipif(platform.system() != "Linux", reason="children are traced as Linux does it")
def test_control_a_killed_site_whose_ledger_notes_no_rounds_is_found(tmp_path: Path) -> None:
    failures = found_by(SCRIPT, tmp_path, 401, "control")["failures"]
    assert any("times" in text for _, text in failures)


# ------------------------------------------------------------------ the ledger's own


@pytest.mark.parametrize("in_file", [False, True])
def test_a_search_is_paid_once_and_takes_steps_from_who_knows_all_before(
    tmp_path: Path, in_file: bool
) -> None:
    ledger = cdp.Ledger(cdp.GDP(3.0), path=tmp_path / "ledger" if in_file else None)
    ledger.spend(cdp.GDP(0.5))
    first, second = (ledger.spend(cdp.GDP(1.0), "a", search="run") for _ in range(2))
    assert first == second
    assert (first.number, len(ledger.entries)) == (2, 2)
    with pytest.raises(ValueError, match="another guarantee"):
        ledger.spend(cdp.GDP(2.0), "a", search="run")
    one, two = Step(0, "x", 0.1), Step(4, "y", 1.0 / 3.0)
    assert ledger.note("run", (), [one])
    for before, steps in (
        ((), [one]),
        ((), [two]),
        ([two], [two]),
        ([one], [one]),
        ([one], [Step(0, "y", 0.1)]),
    ):
        assert not ledger.note("run", before, steps)
    assert ledger.note("run", [one], [two])
    assert ledger.searches["run"].steps == (one, two)
    with pytest.raises(LedgerError, match="goes on in another process"):
        ledger.settle(2, cdp.GDP(0.5), 1)
    assert not ledger.searches["run"].is_over
    entry = ledger.settle(2, cdp.GDP(0.5), 2)
    assert entry is not None
    assert ledger.searches["run"].is_over
    assert not ledger.note("run", [one, two], [Step(5, "z", 0.1)])
    with pytest.raises(LedgerError, match="no search of this name"):
        ledger.note("other", (), [one])
    assert ledger.spent == cdp.GDP(0.5**0.5)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE step SET share = 'x'",
        "UPDATE step SET share = '-0x1p0'",
        "UPDATE step SET number = 'x'",
        "UPDATE step SET digest = x'00'",
        "UPDATE search SET entry = 2",
        "UPDATE search SET entry = 'x'",
        "DELETE FROM search",
    ],
)
def test_a_ledger_whose_searches_were_edited_is_damaged(tmp_path: Path, statement: str) -> None:
    ledger = cdp.Ledger(cdp.GDP(3.0), path=tmp_path / "ledger")
    ledger.spend(cdp.GDP(1.0), search="run")
    ledger.note("run", (), [Step(0, "x", 0.1)])
    cdp.Ledger.open(tmp_path / "ledger")  # the control
    connection = sqlite3.connect(tmp_path / "ledger")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        cdp.Ledger.open(tmp_path / "ledger")
