"""A ledger's file that is lost, damaged, edited or open to others: never a fresh budget."""

from __future__ import annotations

import os
import pickle
import random
import resource
import sqlite3

import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, LedgerError

posix = pytest.mark.skipif(os.name == "nt", reason="modes and limits of POSIX")


@pytest.fixture
def path(tmp_path):
    """A ledger of PureDP(1), of which 0.75 is spent in three parts."""
    found = tmp_path / "ledger"
    with cdp.Ledger(cdp.PureDP(1.0), path=found) as ledger:
        for _ in range(3):
            ledger.spend(cdp.PureDP(0.25), "a part")
    return found


def edited(path, *commands):
    connection = sqlite3.connect(path)
    for command in commands:
        connection.execute(*command) if isinstance(command, tuple) else connection.execute(command)
    connection.commit()
    connection.close()


def test_a_ledger_that_was_sent_spends_from_its_own_file(path):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=path)
    text = pickle.dumps(ledger)
    copy = pickle.loads(text)
    copy.spend(cdp.PureDP(0.125))
    assert ledger.spent == cdp.PureDP(0.875)
    path.unlink()
    with pytest.raises(LedgerError, match="no such file"):
        pickle.loads(text)
    assert not path.exists()


TOTALS = ["0/1", "-5/1", "1/0", "x/1", "3/4 1/2", "6/8", "0.5", "", "+3/4", "3/4/5"]


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("entries", [False, True])
def test_totals_are_those_of_the_entries(path, total, entries):
    already_open = cdp.Ledger(cdp.PureDP(1.0), path=path)
    edited(path, ("UPDATE account SET total = ?", (total,)))
    if entries:  # the last entry says the same
        edited(path, ("UPDATE entry SET total = ? WHERE id = 3", (total,)))
    with pytest.raises(LedgerError, match="damaged or was edited"):
        cdp.Ledger(cdp.PureDP(1.0), path=path)
    with pytest.raises(LedgerError):
        _ = already_open.entries
    if not entries:
        with pytest.raises(LedgerError):
            already_open.spend(cdp.PureDP(0.1))


def test_the_untouched_file_opens(path):
    """Control."""
    edited(path, ("UPDATE account SET total = ?", ("3/4",)))
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=path)
    assert ledger.spent == cdp.PureDP(0.75)
    with pytest.raises(BudgetError):
        ledger.spend(cdp.PureDP(0.5))


EDITS = {
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON account BEGIN DELETE FROM entry; END",
    "a table": "CREATE TABLE other (id INTEGER)",
    "no budget": "UPDATE account SET budget = 'null'",
    "a nested budget": f"UPDATE account SET budget = '{'[' * 20000}'",
    "another budget": (
        'UPDATE account SET budget = \'{"epsilon": 9.0, "kind": "PureDP", '
        '"neighbours": "replace"}\''
    ),
    "another relation": (
        'UPDATE account SET budget = \'{"epsilon": 1.0, "kind": "PureDP", '
        '"neighbours": "add-remove"}\''
    ),
    "a spend of another relation": (
        'UPDATE entry SET guarantee = \'{"kind": "PureDP", "epsilon": 0.25, '
        '"neighbours": "add-remove"}\' WHERE id = 1'
    ),
    "no account": "DELETE FROM account",
    "no guarantee": "UPDATE entry SET guarantee = '{}' WHERE id = 2",
    "a smaller guarantee": (
        'UPDATE entry SET guarantee = \'{"kind": "PureDP", "epsilon": 0.1, '
        '"neighbours": "replace"}\' WHERE id = 1'
    ),
    "an unproved one": (
        'UPDATE entry SET guarantee = \'{"kind": "Unproved", "claimed": {"kind": "PureDP", '
        '"epsilon": 0.25, "neighbours": "replace"}, "why": "x"}\' WHERE id = 1'
    ),
    "no time": "UPDATE entry SET time = 'yesterday' WHERE id = 2",
    "a label of bytes": "UPDATE entry SET label = x'00ff' WHERE id = 2",
    "an entry less": "DELETE FROM entry WHERE id = 2",
    "the last less": "DELETE FROM entry WHERE id = 3",
    "none left": "DELETE FROM entry",
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_is_a_ledger_error(path, edit):
    edited(path, EDITS[edit])
    with pytest.raises(LedgerError):
        cdp.Ledger(cdp.PureDP(1.0), path=path)


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bits_never_give_budget_back(path, seed):
    draw, content = random.Random(seed), bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    if seed % 4 == 0:
        del content[draw.randrange(len(content)) :]
    path.write_bytes(content)
    try:
        ledger = cdp.Ledger(cdp.PureDP(1.0), path=path)
        with pytest.raises((BudgetError, LedgerError)):
            ledger.spend(cdp.PureDP(0.5))
    except LedgerError:
        pass


@posix
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o604])
def test_a_file_that_is_open_to_others_is_refused(path, mode):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=path)
    path.chmod(mode)
    for use in (lambda: cdp.Ledger(cdp.PureDP(1.0), path=path), lambda: ledger.spent):
        with pytest.raises(LedgerError, match="open to others"):
            use()
    path.chmod(0o600)
    assert ledger.spent == cdp.PureDP(0.75)


@posix
def test_a_folder_that_holds_no_more_is_a_ledger_error(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        with pytest.raises(LedgerError, match="no ledger can be made there"):
            cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerError, match="no ledger can be made there"):
        cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "nowhere" / "ledger")
