"""Sites refuse what was not agreed on, and a crash never makes them answer a round twice."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, LedgerError, SiteError
from curvedp.privacy.steps import Step
from curvedp.sites import ServerMean, SiteMean
from curvedp.sites.wire import Plan
from site_cases import PROTECTED, finished, normal, sites_of, study

NORTH = np.tile([0.0, 0.0, 1.0], (100, 1))


# ------------------------------------------------------------------ what a site refuses


def _changed(plan: bytes, **fields: Any) -> bytes:
    """A plan with other fields, of itself or of its request."""
    own = Plan.from_bytes(plan)
    asked = {name: value for name, value in fields.items() if hasattr(own.request, name)}
    rest = {name: value for name, value in fields.items() if name not in asked}
    return replace(own, **rest, request=replace(own.request, **asked)).to_bytes()


@pytest.mark.parametrize(
    "fields",
    [
        {"version": "0.0.0"},
        {"agreement": "0" * 64},
        {"space": "sphere:3"},
        {"sites": 3},
        {"sites": 5},
        {"dropouts": 2},
        {"bound": 2.0**23},
        {"share": 2.000001},
        {"share": 1e-13},
        {"kind": "scale"},
        {"kind": "tail"},
        {"kind": "round", "radius": 1.0},
        {"base": np.zeros(3)},
        {"of": "diagonals"},
        {"round": 1},
        {"previous": "0" * 64},
    ],
    ids=repr,
)
def test_plans_that_were_not_agreed_on_are_refused_before_they_cost(
    fields: dict[str, Any],
) -> None:
    own, ledger = study(4, 1), cdp.Ledger(PROTECTED)
    site = SiteMean(NORTH, own, "site 0", ledger=ledger)
    plan = ServerMean(own).plan()
    with pytest.raises(SiteError):
        site.answer(_changed(plan, **fields))
    assert not ledger.entries
    site.answer(plan)  # the control: it is the change that is refused
    assert len(ledger.entries) == 1


def test_a_round_is_answered_once() -> None:
    own = study(3, 1)
    server, sites = ServerMean(own), sites_of(own, normal("sphere:2", 600))
    first = server.plan()
    second = server.feed([site.answer(first) for site in sites])
    assert isinstance(second, bytes)
    for old in (first, _changed(first, share=0.1)):
        with pytest.raises(SiteError, match="was answered"):
            sites[0].answer(old)
    sites[0].answer(second)
    with pytest.raises(SiteError, match="was answered"):
        sites[0].answer(_changed(second, share=0.1))


def test_the_past_of_a_plan_is_the_one_that_was_answered() -> None:
    own = study(3, 1)
    server, sites = ServerMean(own), sites_of(own, normal("sphere:2", 600))
    second = server.feed([site.answer(server.plan()) for site in sites])
    with pytest.raises(SiteError, match="the plan before"):
        sites[0].answer(_changed(second, previous="0" * 64))
    with pytest.raises(SiteError, match="no plan or total before"):
        sites[0].answer(_changed(second, total="", previous=""))
    sites[0].answer(second)


def test_the_squares_of_shares_of_a_run_stay_below_the_guarantee() -> None:
    own = study(3, 1)
    server = ServerMean(own)
    site = SiteMean(NORTH, own, "site 0")
    step = _changed(server.plan(), share=1.9)
    site.answer(step)
    with pytest.raises(SiteError, match="more than is left"):
        site.answer(_changed(step, round=1, share=0.7, previous=_digest(step), total="0" * 64))
    site.answer(_changed(step, round=1, share=0.6, previous=_digest(step), total="0" * 64))


def _digest(plan: bytes) -> str:
    return Plan.from_bytes(plan).digest


def test_each_run_is_paid_and_what_was_not_spent_comes_back() -> None:
    own, ledger = study(1, 0), cdp.Ledger(cdp.GDP(3.0, neighbours="add-remove"))
    site = SiteMean(np.full((9, 3), np.nan), own, "site 0", ledger=ledger)
    release = finished(ServerMean(own), [site])
    assert not release.found
    assert ledger.spent == PROTECTED
    [entry] = site.finish()
    assert entry.spent.mu == pytest.approx(release.spent)
    assert site.finish() == []
    finished(ServerMean(own), [site])
    assert ledger.spent.mu == pytest.approx(np.hypot(release.spent, 2.0))
    site = SiteMean(NORTH, own, "site 0", ledger=cdp.Ledger(cdp.GDP(1.9, neighbours="add-remove")))
    with pytest.raises(BudgetError):
        site.answer(ServerMean(own).plan())


@pytest.mark.parametrize(
    ("guarantee", "is_given_back"),
    [
        (cdp.ZCDP(2.0, neighbours="add-remove"), True),
        (cdp.ApproxDP(8.0, 1e-6, neighbours="add-remove"), False),
    ],
    ids=repr,
)
def test_ledgers_of_other_kinds_pay_for_studies(guarantee: Any, is_given_back: bool) -> None:
    own, ledger = study(1, 0, guarantee=guarantee), cdp.Ledger(guarantee)
    site = SiteMean(np.full((9, 3), np.nan), own, "site 0", ledger=ledger)
    release = finished(ServerMean(own), [site])
    assert (release.found, release.guarantee) == (False, guarantee)
    assert bool(site.finish()) == is_given_back
    assert (ledger.spent == guarantee) != is_given_back


def test_a_run_that_is_over_is_answered_no_more() -> None:
    own = study(2, 1)
    server, sites = ServerMean(own), sites_of(own, normal("sphere:2", 400))
    second = server.feed([site.answer(server.plan()) for site in sites])
    sites[0].finish()
    with pytest.raises(SiteError, match="over"):
        sites[0].answer(second)
    sites[1].answer(second)


# ------------------------------------------------------------------ restarts and crashes


@pytest.mark.parametrize("in_file", [False, True])
def test_a_restarted_site_goes_on_and_pays_once(tmp_path: Path, in_file: bool) -> None:
    own = study(3, 1)
    ledger = cdp.Ledger(PROTECTED, path=tmp_path / "ledger" if in_file else None)
    how: dict[str, Any] = {"state": tmp_path / "state"}
    server = ServerMean(own)
    others = sites_of(own, normal("sphere:2", 900))[1:]
    step: Any = server.plan()
    while isinstance(step, bytes):
        how["ledger"] = cdp.Ledger.open(tmp_path / "ledger") if in_file else ledger
        site = SiteMean(normal("sphere:2", 300), own, "site 0", **how)
        answers = [each.answer(step) for each in (site, *others)]
        with pytest.raises(SiteError, match="was answered"):
            SiteMean(NORTH, own, "site 0", **how).answer(step)
        step = server.feed(answers)
    assert step.found
    assert len(ledger.entries) == 1
    assert os.stat(tmp_path / "state").st_mode & 0o777 == 0o600


_KILLED = """
import os, signal, sys
import curvedp.sites.site as own
from curvedp.sites import SiteMean
import curvedp as cdp, numpy as np
from site_cases import study

def killed(*arguments, **how):
    os.kill(os.getpid(), signal.SIGKILL)

{patch}
site = SiteMean(np.tile([0.0, 0.0, 1.0], (100, 1)), study(3, 1), "site 0",
                state=sys.argv[1], ledger=cdp.Ledger.open(sys.argv[2]))
site.answer(sys.stdin.buffer.read())
"""


@pytest.mark.parametrize(
    ("patch", "is_noted", "is_paid"),
    [
        ("own.pay = killed", False, False),
        ("own.Book.note = killed", False, True),
        ("own.RecordSums.share_of_noisy = killed", True, True),
        ("own.Answer = killed", True, True),
    ],
)
def test_a_site_that_is_killed_in_a_round_never_answers_it_twice(
    tmp_path: Path, patch: str, is_noted: bool, is_paid: bool
) -> None:
    own, state, paid = study(3, 1), tmp_path / "state", tmp_path / "ledger"
    ledger = cdp.Ledger(cdp.GDP(9.0, neighbours="add-remove"), path=paid)
    server = ServerMean(own)
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", _KILLED.format(patch=patch), state, paid],
        input=server.plan(),
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (-9, b""), done.stderr
    assert len(ledger.entries) == is_paid
    site = SiteMean(NORTH, own, "site 0", state=state, ledger=ledger)
    if is_noted:
        with pytest.raises(SiteError, match="was answered"):
            site.answer(server.plan())
    else:
        site.answer(server.plan())
    others = sites_of(own, normal("sphere:2", 600))[1:]
    second = server.feed([each.answer(server.plan()) for each in others])
    site.answer(second)  # the study goes on, with the same site
    assert len(ledger.entries) == 1


def test_two_processes_of_a_site_answer_one_round_once(tmp_path: Path) -> None:
    own = study(3, 1)
    one, other = (SiteMean(NORTH, own, "site 0", state=tmp_path / "state") for _ in range(2))
    plan = ServerMean(own).plan()
    known = one._book.run(Plan.from_bytes(plan).run)
    other.answer(plan)
    begun = other._book.run(Plan.from_bytes(plan).run)
    with pytest.raises(SiteError, match="another process"):
        one._book.note(Plan.from_bytes(plan).run, known, begun, Step(0, "", 1.0))


def test_a_fork_of_a_site_in_memory_answers_nothing() -> None:
    site = SiteMean(NORTH, study(3, 1), "site 0")
    site._book._kept._process += 1
    with pytest.raises(SiteError, match="another process"):
        site.answer(ServerMean(site.agreement).plan())


def test_a_site_ends_its_own_runs_alone(tmp_path: Path) -> None:
    """Runs of another study, or of another site, in the same file."""
    large, small = study(1, 0), study(1, 0, guarantee=cdp.GDP(0.25, neighbours="add-remove"))
    ledger = cdp.Ledger(cdp.GDP(9.0, neighbours="add-remove"))
    how: Any = {"state": tmp_path / "state", "ledger": ledger}
    spent = finished(ServerMean(large), [SiteMean(NORTH, large, "site 0", **how)]).spent
    assert SiteMean(NORTH, small, "site 0", **how).finish() == []
    two = study(2, 0)
    assert SiteMean(NORTH, two, "site 1", **how).finish() == []
    assert ledger.spent == PROTECTED
    SiteMean(NORTH, large, "site 0", **how).finish()  # the control: its own run is over now
    assert SiteMean(NORTH, large, "site 0", **how)._book.runs(large.digest, "site 0") == []
    assert ledger.spent.mu >= spent


def test_no_entry_of_another_ledger_is_settled(tmp_path: Path) -> None:
    own, wide = study(1, 0), cdp.GDP(9.0, neighbours="add-remove")
    first, other = cdp.Ledger(wide), cdp.Ledger(wide)
    other.spend(PROTECTED, label="something else")
    how: Any = {"state": tmp_path / "state"}
    server = ServerMean(own)
    second = server.feed(
        [SiteMean(NORTH, own, "site 0", ledger=first, **how).answer(server.plan())]
    )
    strange = SiteMean(NORTH, own, "site 0", ledger=other, **how)
    with pytest.raises(SiteError, match="another ledger"):
        strange.answer(second)
    SiteMean(NORTH, own, "site 0", ledger=first, **how).answer(second)
    assert strange.finish() == []
    assert other.spent == PROTECTED
    assert len(other.entries) == 1
    third = SiteMean(NORTH, own, "site 0", ledger=first, state=tmp_path / "control")
    third.answer(ServerMean(own).plan())
    assert len(third.finish()) == 2  # the control: its own are, one of them from another state


def test_a_run_that_was_begun_without_a_ledger_is_not_hidden_from_one(tmp_path: Path) -> None:
    own, ledger = study(1, 0), cdp.Ledger(PROTECTED)
    server = ServerMean(own)
    site = SiteMean(NORTH, own, "site 0", state=tmp_path / "state")
    second = server.feed([site.answer(server.plan())])
    with pytest.raises(SiteError, match="or none"):
        SiteMean(NORTH, own, "site 0", state=tmp_path / "state", ledger=ledger).answer(second)
    site.answer(second)


def test_an_older_copy_of_the_state_file_answers_no_round_again(tmp_path: Path) -> None:
    own, state = study(1, 0), tmp_path / "state"
    server, site = ServerMean(own), SiteMean(NORTH, own, "site 0", state=tmp_path / "state")
    second = server.feed([site.answer(server.plan())])
    old = state.read_bytes()
    third = server.feed([site.answer(second)])
    new = state.read_bytes()
    for there in (old, b""):
        state.write_bytes(there)
        with pytest.raises(SiteError, match=r"older copy|cannot be used"):
            site.answer(second)
        with pytest.raises(SiteError, match=r"older copy|cannot be used"):
            site.answer(third)
    state.unlink()
    with pytest.raises(SiteError, match="cannot be used"):
        site.answer(third)
    assert not state.exists()
    state.write_bytes(new)
    state.chmod(0o600)
    site.answer(third)  # the control


def test_a_state_file_that_others_can_change_is_refused(tmp_path: Path) -> None:
    own, state = study(1, 0), tmp_path / "state"
    site = SiteMean(NORTH, own, "site 0", state=state)
    plan = ServerMean(own).plan()

    def refused() -> None:
        for act in (lambda: SiteMean(NORTH, own, "site 0", state=state), lambda: site.answer(plan)):
            with pytest.raises(LedgerError):
                act()

    state.chmod(0o666)
    refused()
    state.chmod(0o600)
    os.link(state, tmp_path / "second name")
    refused()
    os.unlink(tmp_path / "second name")
    (tmp_path / "state-journal").write_bytes(b"played back")
    (tmp_path / "state-journal").chmod(0o644)
    refused()
    os.unlink(tmp_path / "state-journal")
    site.answer(plan)


@pytest.mark.parametrize("mu", ["nan", "inf", "-0x1.0p+0", "0x0.0p+0", "much"])
def test_shares_in_a_state_file_that_are_none_stop_the_run(tmp_path: Path, mu: str) -> None:
    own = study(1, 0)
    server, site = ServerMean(own), SiteMean(NORTH, own, "site 0", state=tmp_path / "state")
    second = server.feed([site.answer(server.plan())])
    with closing(sqlite3.connect(tmp_path / "state")) as connection, connection:
        connection.execute("UPDATE round SET mu = ?", (mu,))
    with pytest.raises(SiteError, match="damaged"):
        SiteMean(NORTH, own, "site 0", state=tmp_path / "state").answer(second)


def test_state_files_are_no_other_files(tmp_path: Path) -> None:
    own = study(3, 1)
    path = tmp_path / "ledger"
    cdp.Ledger(PROTECTED, path=path)
    with pytest.raises(SiteError, match="no state file"):
        SiteMean(NORTH, own, "site 0", state=path)
    cdp.Ledger.open(path)  # unharmed
    (tmp_path / "text").write_text("a text that is long enough to be no database" * 9)
    (tmp_path / "text").chmod(0o600)
    with pytest.raises(SiteError, match="cannot be used"):
        SiteMean(NORTH, own, "site 0", state=tmp_path / "text")
    with pytest.raises(SiteError, match="no state file can be made"):
        SiteMean(NORTH, own, "site 0", state=tmp_path / "no folder" / "state")
    os.chmod(tmp_path, 0o777)
    with pytest.raises(LedgerError):
        SiteMean(NORTH, own, "site 0", state=tmp_path / "new")
    os.chmod(tmp_path, 0o700)
