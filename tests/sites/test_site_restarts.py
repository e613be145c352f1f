"""Masks and servers that outlive their processes: no mask serves twice, no round is asked twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.errors import LedgerError, SiteError
from curvedp.privacy.steps import Step
from curvedp.sites import Agreement, ServerMean, SiteMean, SitesMeanRelease
from curvedp.sites.book import Book
from curvedp.sites.history import History
from curvedp.sites.wire import Answer, Plan
from site_cases import PROTECTED, names, normal, sites_of, study

NORTH = np.tile([0.0, 0.0, 1.0], (100, 1))
PARTS = np.array_split(normal("sphere:2", 1200), 4)


# ------------------------------------------------------------------ masks that outlive a process


class Masked:
    """A study with masks whose sites are made anew for each message, as Flower does."""

    def __init__(self, folder: Path, sites: int = 4, dropouts: int = 1) -> None:
        self.folder, self.agreement = folder, study(sites, dropouts, masks=True)

    def site(self, name: str, **how: Any) -> SiteMean:
        number = self.agreement.roster.index(name)
        state = self.folder / name.replace(" ", "-")
        return SiteMean(PARTS[number], self.agreement, name, state=state, **how)

    def server(self, **how: Any) -> ServerMean:
        keys = {name: self.site(name).key for name in self.agreement.roster}
        return ServerMean(self.agreement, keys=keys, **how)

    def answers(self, plan: bytes) -> list[bytes]:
        return [self.site(name).answer(plan) for name in self.agreement.roster]


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """Public key and context of every mask of a plan that any process of a site makes."""
    made: list[tuple[bytes, bytes]] = []

    class Watched:
        def __init__(self, secret: bytes) -> None:
            self._key = _core.MaskKey(secret)
            self.public = self._key.public

        def mask(self, peers: Any, context: bytes, length: int) -> Any:
            if length > 1:  # else it is the trial of the keys, which stays
                made.append((self.public, context))
            return self._key.mask(peers, context, length)

    class Core:
        MaskKey, Stream = Watched, _core.Stream

    monkeypatch.setattr("curvedp.sites.site._core", Core)
    return made


def test_sites_that_are_made_anew_for_each_message_hide_their_answers_to_the_end(
    tmp_path: Path, contexts: list[tuple[bytes, bytes]]
) -> None:
    own = Masked(tmp_path)
    server = own.server()
    before = {name: own.site(name).key for name in own.agreement.roster}
    rounds = 0
    while server.release is None:
        plan = server.plan()
        answers = own.answers(plan)
        whole = sum((Answer.from_bytes(each).entries for each in answers), np.uint64(0))
        assert abs(int(whole.view(np.int64)[-1])) < 2**50  # masks cancel; one left is uniform
        for name in own.agreement.roster:
            with pytest.raises(SiteError, match="was answered"):
                own.site(name).answer(plan)
        server.feed(answers)
        rounds += 1
    assert (server.release.found, server.release.void_rounds) == (True, 0)
    assert len(contexts) == len(set(contexts)) == 4 * rounds
    assert {name: own.site(name).key for name in own.agreement.roster} == before
    own.site("site 0").finish()
    assert own.site("site 0").key != before["site 0"]
    with pytest.raises(SiteError, match="begin a new run"):
        own.site("site 0").answer(replace(Plan.from_bytes(plan), run="0" * 32).to_bytes())


def test_control_with_a_book_that_forgets_a_mask_serves_twice(
    tmp_path: Path, contexts: list[tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Book, "note", lambda *arguments: None)
    own = Masked(tmp_path)
    plan = own.server().plan()
    first, second = (Answer.from_bytes(own.site("site 0").answer(plan)) for _ in range(2))
    assert len(set(contexts)) == 1 < len(contexts)
    apart = (first.entries - second.entries).view(np.int64)
    assert np.abs(apart).max() < 2**50  # noise alone is left of the difference
    assert np.abs(first.entries.view(np.int64)).max() > 2**50


def test_the_secret_of_masks_is_gone_from_the_file_of_a_finished_study(tmp_path: Path) -> None:
    own = Masked(tmp_path)
    site = own.site("site 0")
    assert site.key
    secret = site._book.secret(own.agreement.digest, "site 0")
    assert secret in (tmp_path / "site-0").read_bytes()  # the control
    site.finish()
    assert secret not in (tmp_path / "site-0").read_bytes()
    assert os.stat(tmp_path / "site-0").st_mode & 0o777 == 0o600


def test_each_study_and_each_site_of_a_state_file_has_a_secret_of_its_own(tmp_path: Path) -> None:
    book = Book(tmp_path / "state")
    asked = [("a", "x"), ("a", "y"), ("b", "x")]
    assert len({book.secret(*whose) for whose in asked}) == 3
    assert book.secret("a", "x") == Book(tmp_path / "state").secret("a", "x")
    first = book.secret("a", "x"), book.secret("a", "y")
    book.forget("a", "x")
    assert (book.secret("a", "x") != first[0], book.secret("a", "y")) == (True, first[1])
    with closing(sqlite3.connect(tmp_path / "state")) as connection, connection:
        connection.execute("UPDATE mask SET secret = x'00'")
    with pytest.raises(SiteError, match="damaged"):
        book.secret("a", "x")


def test_keys_of_a_run_stay_the_same_for_a_site_that_is_made_anew(tmp_path: Path) -> None:
    """A server that opens an answer needs a key of its own in another's place: not in mid-run."""
    own = Masked(tmp_path)
    server = own.server()
    later = Plan.from_bytes(server.feed(own.answers(server.plan())))  # type: ignore[arg-type]
    foreign = _core.MaskKey(bytes(range(32))).public.hex()
    changed = replace(later, keys=(later.keys[0], foreign, *later.keys[2:]))
    with pytest.raises(SiteError, match="other keys than an earlier"):
        own.site("site 0").answer(changed.to_bytes())
    own.site("site 0").answer(later.to_bytes())


def test_keys_that_sites_told_each_other_are_those_of_the_plan(tmp_path: Path) -> None:
    own = Masked(tmp_path)
    told = {name: own.site(name).key for name in names(4)[1:]}
    server = own.server()
    foreign = _core.MaskKey(bytes(range(32))).public.hex()
    plan = Plan.from_bytes(server.plan())
    changed = replace(plan, keys=(plan.keys[0], foreign, *plan.keys[2:]))
    with pytest.raises(SiteError, match="another key of site 1 than this site was given"):
        own.site("site 0", keys=told).answer(changed.to_bytes())
    own.site("site 0", keys=told).answer(plan.to_bytes())
    own.site("site 2").answer(replace(changed, run="1" * 32).to_bytes())  # the control
    for keys in ({"Zo": b"0" * 32}, {"Zo": b""}):
        with pytest.raises(ValueError, match="of the roster"):
            own.site("site 0", keys=keys)
    with pytest.raises(ValueError, match="with masks alone"):
        SiteMean(NORTH, study(3, 0), "site 0", keys=told)


_KILLED = """
import os, signal, sys
import curvedp.sites.site as own
from curvedp import _core
from curvedp.sites import SiteMean
import numpy as np
from site_cases import study

def killed(*arguments, **how):
    os.kill(os.getpid(), signal.SIGKILL)

class Killing:
    def __init__(self, secret):
        self.key, self.public = _core.MaskKey(secret), _core.MaskKey(secret).public
    def mask(self, peers, context, length):
        return self.key.mask(peers, context, length) if length == 1 else killed()

{patch}
site = SiteMean(np.tile([0.0, 0.0, 1.0], (100, 1)), study(4, 1, masks=True), "site 0",
                state=sys.argv[1])
sys.stdout.buffer.write(site.answer(sys.stdin.buffer.read()))
sys.stdout.flush()
killed()
"""


def _child(code: str, *arguments: object, given: bytes = b"") -> bytes:
    """Bytes that a process wrote before it was killed."""
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        input=given,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("patch", "sends"),
    [
        ("own.Book.note = killed", False),
        ("own._core = type('Core', (), dict(MaskKey=Killing, Stream=_core.Stream))", False),
        ("own.Answer = killed", False),
        ("", True),
    ],
    ids=["before it is noted", "at the mask", "before it is sent", "after it was sent"],
)
def test_a_site_killed_in_a_masked_round_goes_on_with_its_key_and_masks_no_round_again(
    tmp_path: Path, patch: str, sends: bool
) -> None:
    own = Masked(tmp_path)
    server = own.server()
    plan, key = server.plan(), own.site("site 0").key
    sent = _child(_KILLED.format(patch=patch), tmp_path / "site-0", given=plan)
    assert bool(sent) == sends
    again = own.site("site 0")
    assert again.key == key
    is_noted = "note" not in patch
    mine = [sent] if sends else []
    if is_noted:
        with pytest.raises(SiteError, match="was answered"):
            again.answer(plan)
    else:
        mine = [again.answer(plan)]
    others = [own.site(name).answer(plan) for name in names(4)[1:]]
    step: bytes | SitesMeanRelease = server.feed([*mine, *others])
    while isinstance(step, bytes):
        step = server.feed(own.answers(step))
    assert (step.found, step.void_rounds) == (True, int(not mine))


def test_of_many_copies_of_a_site_with_one_state_file_one_answers(tmp_path: Path) -> None:
    own = Masked(tmp_path)
    plans = [own.server().plan() for _ in range(3)]

    def answers(states: list[Path | None]) -> int:
        copies = [SiteMean(PARTS[0], own.agreement, "site 0", state=state) for state in states]
        if None in states:  # the control: each with a book, and so with a key, of its own
            keys = {name: own.site(name).key for name in names(4)}
            asked = [
                ServerMean(own.agreement, keys=keys | {"site 0": each.key}, run="8" * 32).plan()
                for each in copies
            ]
            return sum(len(each.answer(plan)) > 0 for each, plan in zip(copies, asked, strict=True))

        def tried(which: tuple[SiteMean, bytes]) -> bool:
            try:
                return bool(which[0].answer(which[1]))
            except SiteError:
                return False

        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(tried, [(each, plan) for plan in plans for each in copies]))

    assert answers([tmp_path / "site-0"] * 4) == len(plans)
    assert answers([None] * 4) == 4


# ------------------------------------------------------------------ servers that outlive a process


def _whole(agreement: Agreement, state: Path | None = None) -> SitesMeanRelease:
    sites, server = _seeded(agreement), ServerMean(agreement, state=state, run="5" * 32)
    while server.release is None:
        server.feed([site.answer(server.plan()) for site in sites])
    return server.release


def _seeded(agreement: Agreement) -> list[SiteMean]:
    return sites_of(agreement, normal("sphere:2", 1200), seed=3)


def test_a_server_that_is_made_anew_for_each_round_has_the_same_plans_and_release(
    tmp_path: Path,
) -> None:
    own, state = study(4, 1), tmp_path / "server"
    sites, plans = _seeded(own), []
    ServerMean(own, state=state, run="5" * 32)
    while (server := ServerMean(own, state=state)).release is None:
        plans.append(server.plan())
        away = 1 if len(plans) == 2 else 0  # rounds with and without all sites, and a void one
        away = 3 if len(plans) == 4 else away
        server.feed([site.answer(server.plan()) for site in sites[away:]])
    found = server.release
    twin, whole = _seeded(own), ServerMean(own, run="5" * 32)
    for number, plan in enumerate(plans):
        assert whole.plan() == plan
        whole.feed([site.answer(plan) for site in twin[{1: 1, 3: 3}.get(number, 0) :]])
    assert whole.release is not None
    assert np.array_equal(found.value, whole.release.value)
    assert replace(found, provenance=whole.release.provenance) == whole.release
    assert (found.void_rounds, found.fewest) == (1, 3)
    assert len({Plan.from_bytes(plan).round for plan in plans}) == len(plans)
    with pytest.raises(SiteError, match="over"):
        server.plan()
    assert os.stat(state).st_mode & 0o777 == 0o600


class Ended(BaseException):
    """Where a process ends: all that it had in memory is lost, and its transaction."""


def _ends(*arguments: Any, **how: Any) -> None:
    raise Ended


def _after(function: Callable[..., Any]) -> Callable[..., None]:
    def both(*arguments: Any, **how: Any) -> None:
        function(*arguments, **how)
        raise Ended

    return both


#: Where a server is ended, and whether the round is noted by then.
STEPS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], bool]] = {
    "at the answers": (lambda own: own.setattr(ServerMean, "_counted", _ends), False),
    "before it is noted": (lambda own: own.setattr(History, "note", _ends), False),
    "noted": (lambda own: own.setattr(History, "note", _after(History.note)), True),
    "at the next plan": (lambda own: own.setattr(ServerMean, "_go_on", _ends), True),
    "at the end": (lambda own: own.setattr(ServerMean, "feed", _after(ServerMean.feed)), True),
}


@pytest.mark.parametrize("at", [0, 2, -1])
@pytest.mark.parametrize("step", STEPS)
def test_a_server_ended_at_any_step_asks_and_pays_no_round_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, at: int
) -> None:
    own, state = study(4, 1, spare=0.5), tmp_path / "server"
    plans: list[bytes] = []
    cdp.sites.simulate(PARTS, own, watch=lambda plan, answers: plans.append(plan))
    patch, is_noted = STEPS[step]
    ledgers = [cdp.Ledger(PROTECTED) for _ in range(4)]
    sites = [
        SiteMean(part, own, name, ledger=ledger)
        for part, name, ledger in zip(PARTS, own.roster, ledgers, strict=True)
    ]
    number, was_ended, seen = 0, False, set()
    while (server := ServerMean(own, state=state)).release is None:
        plan = server.plan()
        if plan in seen:
            assert not is_noted
            for site in sites:
                with pytest.raises(SiteError, match="was answered"):
                    site.answer(plan)
            server.feed([])
            continue
        seen.add(plan)
        answers = [site.answer(plan) for site in sites]
        if number == at % len(plans) and not was_ended:
            was_ended = True
            with monkeypatch.context() as patched:
                patch(patched)
                with pytest.raises(Ended):
                    server.feed(answers)
        else:
            server.feed(answers)
        number += 1
    release = server.release
    assert was_ended
    assert (release.found, release.void_rounds) == (True, int(not is_noted))
    assert release.spent <= PROTECTED.mu
    numbers = [Plan.from_bytes(plan).round for plan in seen]
    assert len(set(numbers)) == len(numbers) == release.rounds_asked  # one plan for each number
    for site, ledger in zip(sites, ledgers, strict=True):
        [run] = site._book.runs(own.digest, site.name)
        known = site._book.run(run)
        assert known is not None
        assert [each[0] for each in known.rounds] == sorted(numbers)  # each answered once
        site.finish()
        assert ledger.spent.mu == pytest.approx(release.spent)


_SERVER = """
import os, signal, sys
import curvedp.sites.server as own
from site_cases import study

def noted(*arguments, note=own.History.note):
    note(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

own.History.note = noted
own.ServerMean(study(4, 3), state=sys.argv[1]).feed([sys.stdin.buffer.read()])
"""


def test_a_round_that_was_noted_is_there_after_a_kill(tmp_path: Path) -> None:
    own, state = study(4, 3), tmp_path / "server"
    first = ServerMean(own, state=state).plan()
    answer = SiteMean(NORTH, own, "site 0").answer(first)
    _child(_SERVER, state, given=answer)
    later = Plan.from_bytes(ServerMean(own, state=state).plan())
    assert (later.round, later.previous) == (1, Plan.from_bytes(first).digest)


def test_one_process_of_a_server_goes_on_with_a_run(tmp_path: Path) -> None:
    own, state = study(4, 1), tmp_path / "server"
    one, sites = ServerMean(own, state=state), _seeded(own)
    other = ServerMean(own, state=state)
    assert other.plan() == one.plan()
    answers = [site.answer(one.plan()) for site in sites]
    second = one.feed(answers)
    with pytest.raises(SiteError, match="another process"):
        other.feed(answers[:3])  # another total: sites would have two plans of one number
    assert ServerMean(own, state=state).plan() == second


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE round SET total = zeroblob(length(total)) WHERE number = 0",
        "UPDATE round SET total = x'00' WHERE number = 1",
        "UPDATE round SET names = '[\"site 0\"]' WHERE number = 0",
        "UPDATE round SET names = '3' WHERE number = 0",
        "UPDATE round SET number = 7 WHERE number = 1",
        "DELETE FROM round WHERE number = 0",
        "UPDATE study SET run = 'no id'",
        "UPDATE study SET keys = '['",
        "UPDATE study SET version = '0.0.0'",
    ],
)
def test_a_history_that_was_changed_is_refused(tmp_path: Path, statement: str) -> None:
    own, state = study(4, 1), tmp_path / "server"
    server, sites = ServerMean(own, state=state), _seeded(own)
    for _ in range(2):
        server.feed([site.answer(server.plan()) for site in sites])
    ServerMean(own, state=state)  # the control
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(SiteError, match=r"state file|no plan"):
        ServerMean(own, state=state)


def test_state_files_of_servers_are_their_own(tmp_path: Path) -> None:
    own, state = study(4, 1, masks=True), tmp_path / "server"
    parties = sites_of(own, normal("sphere:2", 40))
    keys = {site.name: site.key for site in parties}
    assert not ServerMean.is_begun(own, state)
    with pytest.raises(ValueError, match="key of every site"):
        ServerMean(own, state=state)
    first = ServerMean(own, state=state, keys=keys)
    assert ServerMean.is_begun(own, state)
    assert ServerMean(own, state=state).plan() == first.plan()
    assert ServerMean(own, state=state, keys=keys).plan() == first.plan()
    refused: list[Callable[[], object]] = [
        lambda: ServerMean(own, state=state, run="0" * 32),
        lambda: ServerMean(own, state=state, keys=keys | {"site 1": bytes(32)}),
        lambda: ServerMean(study(4, 1), state=state),
        lambda: SiteMean(NORTH, study(4, 1), "site 0", state=state),
    ]
    for act in refused:
        with pytest.raises(SiteError):
            act()
    state.chmod(0o644)
    with pytest.raises(LedgerError):
        ServerMean(own, state=state)


# ------------------------------------------------------------------ old plans, new rosters


def test_plans_of_an_older_roster_are_refused_and_a_new_one_is_paid_anew() -> None:
    ledger = cdp.Ledger(PROTECTED)
    before, after = study(4, 1), study(5, 3)
    old = ServerMean(before).plan()
    SiteMean(NORTH, before, "site 0", ledger=ledger).answer(old)
    site = SiteMean(NORTH, after, "site 0", ledger=ledger)
    with pytest.raises(SiteError, match="another sites"):
        site.answer(old)
    with pytest.raises(SiteError, match="another agreement"):
        site.answer(replace(Plan.from_bytes(old), sites=5, dropouts=3).to_bytes())
    with pytest.raises(cdp.BudgetError):
        site.answer(ServerMean(after).plan())


# ------------------------------------------------------------------ what a server sees unmasked


def test_a_site_limits_what_its_answers_in_the_clear_tell_over_all_runs(tmp_path: Path) -> None:
    own, state = study(4, 1), tmp_path / "state"
    once = own.alone

    def site(clear: float | None) -> SiteMean:
        return SiteMean(NORTH, own, "site 0", state=state, clear=clear)

    shares = []
    for _ in range(2):
        plan = ServerMean(own).plan()
        shares.append(Plan.from_bytes(plan).request.share)
        site(None).answer(plan)
    told = float(np.sqrt(own.shares * np.sum(np.square([*shares, shares[0]]))))
    third, ledger = ServerMean(own).plan(), cdp.Ledger(PROTECTED)
    tight = SiteMean(NORTH, own, "site 0", state=state, clear=0.999 * told, ledger=ledger)
    with pytest.raises(SiteError, match="its own limit"):
        tight.answer(third)
    assert not ledger.entries
    site(1.001 * told).answer(third)
    with pytest.raises(SiteError, match="its own limit"):  # also if it was answered meanwhile
        tight._book.note("0" * 32, None, tight._begun(Plan.from_bytes(third)),
                         Step(0, "", shares[0]), tight._most)  # fmt: skip
    assert once > told / 3
    with pytest.raises(ValueError, match="without masks"):
        SiteMean(NORTH, study(4, 1, masks=True), "site 0", clear=1.0)
    with pytest.raises(ValueError, match="clear"):
        site(-1.0)
