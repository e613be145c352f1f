"""A ledger is used only where no other user can change it, undo it or lead to another one."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, LedgerError
from curvedp.privacy import place

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners and modes of POSIX")

WHOLE = cdp.PureDP(1.0)
_PAGE = 4096


def journal(pages):
    """A rollback journal that gives a database these pages, as SQLite's file format has it."""
    count, nonce = len(pages) // _PAGE, 12345
    head = struct.pack(">IIIII", count, nonce, count, 512, _PAGE)
    found = (bytes.fromhex("d9d505f920a163d7") + head).ljust(512, b"\0")
    for number in range(count):
        page = pages[number * _PAGE :][:_PAGE]
        check = (nonce + sum(page[at] for at in range(_PAGE - 200, 0, -200))) & 0xFFFFFFFF
        found += struct.pack(">I", number + 1) + page + struct.pack(">I", check)
    return found


@pytest.fixture
def fresh(tmp_path):
    """A journal that restores an empty ledger of the same budget."""
    cdp.Ledger(WHOLE, path=tmp_path / "other")
    return journal((tmp_path / "other").read_bytes())


@pytest.fixture
def folder(tmp_path):
    """A folder of the user's own."""
    found = tmp_path / "own"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture
def path(folder):
    """A ledger of which everything is spent."""
    cdp.Ledger(WHOLE, path=folder / "ledger").spend(WHOLE, "all")
    return folder / "ledger"


def test_control_a_journal_of_the_users_own_is_played_back(path, fresh):
    """SQLite's recovery is the attack once somebody else may write the journal."""
    Path(f"{path}-journal").write_bytes(fresh)
    Path(f"{path}-journal").chmod(0o600)
    assert cdp.Ledger.open(path).spent is None


PLANTED = {
    "written by others": lambda file: file.chmod(0o666),
    "readable by others": lambda file: file.chmod(0o604),
    "of two names": lambda file: os.link(file, f"{file}.copy"),
    "a folder": lambda file: file.unlink() or file.mkdir(mode=0o700),
}


@pytest.mark.parametrize("how", PLANTED)
@pytest.mark.parametrize("ending", place.JOURNALS)
def test_what_others_may_have_put_beside_a_ledger_is_refused(path, fresh, ending, how):
    before, opened = path.read_bytes(), cdp.Ledger.open(path)
    planted = Path(f"{path}{ending}")
    planted.write_bytes(fresh)
    planted.chmod(0o600)
    PLANTED[how](planted)
    for use in (
        lambda: cdp.Ledger.open(path),
        lambda: cdp.Ledger(WHOLE, path=path),
        lambda: opened.spend(WHOLE),
        lambda: opened.spent,
        lambda: opened.entries,
    ):
        with pytest.raises(LedgerError, match=f"ledger{ending} may have been put there by others"):
            use()
    assert path.read_bytes() == before
    planted.rmdir() if planted.is_dir() else planted.unlink()
    with pytest.raises(BudgetError):
        opened.spend(WHOLE)


def test_a_link_to_a_journal_is_refused(path, fresh, tmp_path):
    (tmp_path / "elsewhere").write_bytes(fresh)
    (tmp_path / "elsewhere").chmod(0o600)
    os.symlink(tmp_path / "elsewhere", f"{path}-journal")
    with pytest.raises(LedgerError, match="put there by others"):
        cdp.Ledger.open(path)


def test_a_journal_without_its_ledger_is_refused(folder, fresh):
    (folder / "new-journal").write_bytes(fresh)
    with pytest.raises(LedgerError, match="left by an earlier ledger"):
        cdp.Ledger(WHOLE, path=folder / "new")
    assert not (folder / "new").exists()


@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777, 0o722])
def test_a_folder_that_others_may_write_to_is_refused(path, folder, mode):
    opened = cdp.Ledger.open(path)
    folder.chmod(mode)
    try:
        for use in (
            lambda: cdp.Ledger.open(path),
            lambda: opened.spend(WHOLE),
            lambda: cdp.Ledger(WHOLE, path=folder / "new"),
        ):
            with pytest.raises(LedgerError, match=r"others may write to .*folder of your own"):
                use()
    finally:
        folder.chmod(0o700)
    assert os.listdir(folder) == ["ledger"]
    assert opened.spent == WHOLE


def test_the_message_says_what_to_do(folder):
    folder.chmod(0o777)
    with pytest.raises(LedgerError, match=f"run chmod go-w {folder}"):
        cdp.Ledger(WHOLE, path=folder / "ledger")
    folder.chmod(0o1777)  # which others need as it is
    with pytest.raises(LedgerError) as told:
        cdp.Ledger(WHOLE, path=folder / "ledger")
    assert "go-w" not in str(told.value)


@pytest.mark.parametrize(("mode", "is_refused"), [(0o777, True), (0o1777, False), (0o755, False)])
def test_folders_above_may_be_open_only_if_they_are_sticky(path, folder, mode, is_refused):
    folder.parent.chmod(mode)
    try:
        if is_refused:
            with pytest.raises(LedgerError, match="others may write to"):
                cdp.Ledger.open(path)
        else:
            assert cdp.Ledger.open(path).spent == WHOLE
    finally:
        folder.parent.chmod(0o700)


def test_folders_of_other_users_are_refused(path, monkeypatch):
    other = os.stat(path).st_uid + 12345
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(LedgerError, match=r"belongs to another user|a file of the user"):
        cdp.Ledger.open(path)


def test_a_link_that_others_may_replace_is_not_followed(path, folder, tmp_path):
    """It would lead to a ledger of which nothing is spent."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "study").symlink_to(folder)
    assert cdp.Ledger.open(shared / "study" / "ledger").spent == WHOLE
    again = tmp_path / "again"
    again.symlink_to(shared / "study")
    shared.chmod(0o777)
    for way in (shared / "study" / "ledger", again / "ledger"):
        with pytest.raises(LedgerError, match=f"others may write to {shared}"):
            cdp.Ledger.open(way)
    shared.chmod(0o1777)  # the link is the user's own
    assert cdp.Ledger.open(again / "ledger").spent == WHOLE


@pytest.mark.parametrize("way", ["own/../own/./ledger", "own//ledger", "relative", "link/ledger"])
def test_paths_are_those_of_the_system(path, folder, tmp_path, monkeypatch, way):
    (tmp_path / "link").symlink_to("own")
    (tmp_path / "relative").symlink_to("own/../link/ledger")
    monkeypatch.chdir(tmp_path)
    found = place.real_path(way)
    assert found == os.path.realpath(way) == str(path)
    assert cdp.Ledger.open(way).spent == WHOLE


def test_links_in_a_circle_and_files_on_the_way_are_ledger_errors(path, folder):
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    with pytest.raises(LedgerError, match="circle"):
        cdp.Ledger(WHOLE, path=folder / "a" / "ledger")
    with pytest.raises(LedgerError, match="cannot be reached"):
        cdp.Ledger(WHOLE, path=path / "ledger")


def test_a_second_name_is_refused_but_for_that_of_the_draft(path, folder):
    os.link(path, folder / ".ledger.abc123")  # as a crash in the making leaves it
    assert cdp.Ledger.open(path).spent == WHOLE
    assert os.listdir(folder) == ["ledger"]
    os.link(path, folder / "second")
    with pytest.raises(LedgerError, match="second name"):
        cdp.Ledger.open(path)


class Account:
    """An entry of the system's lists of users and groups."""

    def __init__(self, **fields):
        vars(self).update(fields)


GROUPS = {
    "private": ({}, False, False),
    "has a member": ({"gr_mem": ["other"]}, False, True),
    "has the user alone": ({"gr_mem": ["own"]}, False, False),
    "is another's first": ({}, True, True),
    "has another name": ({"gr_name": "staff"}, False, True),
    "is no first group": ({"gr_gid": -1}, False, True),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_a_group_may_write_if_it_is_the_users_alone(path, folder, monkeypatch, kind):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    group, other, is_refused = GROUPS[kind]
    user, number = os.geteuid(), os.stat(folder).st_gid
    own = Account(pw_name="own", pw_uid=user, pw_gid=number)
    theirs = number if other else number + 1
    others = [own, Account(pw_name="other", pw_uid=user + 1, pw_gid=theirs)]
    found = Account(**{"gr_name": "own", "gr_gid": number, "gr_mem": []} | group)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: own)
    monkeypatch.setattr(pwd, "getpwall", lambda: others)
    monkeypatch.setattr(grp, "getgrgid", lambda _: found)
    place._is_private_group.cache_clear()
    folder.chmod(0o770)
    try:
        if is_refused:
            with pytest.raises(LedgerError, match="others may write"):
                cdp.Ledger.open(path)
        else:
            assert cdp.Ledger.open(path).spent == WHOLE
    finally:
        folder.chmod(0o700)
        place._is_private_group.cache_clear()


def test_an_access_control_list_shows_as_a_group_that_is_refused(path, folder, monkeypatch):
    monkeypatch.setattr(place, "_is_private_group", lambda *_: True)
    folder.chmod(0o770)
    assert cdp.Ledger.open(path).spent == WHOLE
    names = ["system.posix_acl_access"]
    monkeypatch.setattr(os, "listxattr", lambda _: names, raising=False)
    with pytest.raises(LedgerError, match="others may write"):
        cdp.Ledger.open(path)
    folder.chmod(0o700)


# ------------------------------------------------------------------------------ two users

ATTACK = """
import os, sys, fractions, encodings.idna
import curvedp as cdp
from curvedp.privacy import place, store
from test_ledger_place import journal

folder, how, check = sys.argv[1:]
path = folder + "/ledger"
if check == "unchecked":
    store.check_files = lambda path: None
    place._check_folder = lambda *given, **named: None
pages = journal(open(sys.argv[1] + "/fresh", "rb").read())
os.unlink(sys.argv[1] + "/fresh")
cdp.Ledger(cdp.PureDP(1.0)).spend(cdp.PureDP(0.1))  # everything is imported

def as_user(uid, act):
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([]); os.setgid(uid); os.setuid(uid); os.umask(0)
            print(act(), flush=True)
        except BaseException as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.waitpid(child, 0)

def spend():
    with cdp.Ledger(cdp.PureDP(1.0), path=path) as ledger:
        ledger.spend(cdp.PureDP(1.0), "all")
        return "spent, entries: %d" % len(ledger.entries)

def plant():
    with open(path + "-journal", "wb") as file:
        file.write(pages)
    return "planted"

def opened(mode):
    os.chmod(folder, mode)
    return "opened"

def read():
    return open(path, "rb").read(1)

if how == "from the beginning":
    os.chmod(folder, 0o777)
as_user(1001, spend)
if how == "opened for a while":
    as_user(1001, lambda: opened(0o777))
as_user(1002, read)
as_user(1002, plant)
if how == "opened for a while":
    as_user(1001, lambda: opened(0o700))
as_user(1001, spend)
"""

#: What user 1001, then 1002 and again 1001 say: spend; read and plant; spend.
REFUSED, SPENT = "LedgerError", "spent, entries: 1"
SAID = {
    ("from the beginning", "checked"): [REFUSED, "FileNotFoundError", "planted", REFUSED],
    ("opened for a while", "checked"): [
        *[SPENT, "opened", "PermissionError", "planted", "opened", REFUSED]
    ],
    ("never open", "checked"): [SPENT, "PermissionError", "PermissionError", "BudgetError"],
    # Controls: the budget is spent twice, and the account shows one spend.
    ("from the beginning", "unchecked"): [SPENT, "PermissionError", "planted", SPENT],
    ("opened for a while", "unchecked"): [
        *[SPENT, "opened", "PermissionError", "planted", "opened", SPENT]
    ],
}


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as two users"
)
@pytest.mark.parametrize(("how", "check"), SAID, ids=" ".join)
def test_another_user_cannot_undo_a_spend(how, check, tmp_path_factory):
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # below folders that both may pass
    try:
        made = tmp_path_factory.mktemp("made") / "ledger"
        cdp.Ledger(WHOLE, path=made)
        shutil.copy(made, folder / "fresh")
        os.chown(folder, 1001, 1001)
        paths = [str(Path(__file__).parent), *filter(None, sys.path)]
        found = subprocess.run(
            [sys.executable, "-c", ATTACK, folder, how, check],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert found.stdout.splitlines() == SAID[how, check], found.stderr
    finally:
        shutil.rmtree(folder)
