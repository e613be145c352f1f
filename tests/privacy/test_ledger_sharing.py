"""Ledgers shared by threads, processes and forks, and killed in the middle of a spend."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from curvedp.errors import BudgetError, LedgerError
from curvedp.privacy.account import MemoryStore, Spend
from curvedp.privacy.guarantees import GDP, ZCDP, PureDP
from curvedp.privacy.ledger import Ledger
from curvedp.privacy.store import FileStore, MadeWith


def run_python(script: str, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("sharing", ["one in memory", "one on file", "eight on one file"])
def test_threads_together_spend_exactly_the_budget(tmp_path, sharing):
    place = None if sharing == "one in memory" else tmp_path / "budget.ledger"
    k, workers = (40, 8) if place else (400, 8)
    shared = Ledger(PureDP(1.0), path=place)
    start = threading.Barrier(workers)

    def work(_):
        ledger = Ledger(PureDP(1.0), path=place) if sharing.startswith("eight") else shared
        start.wait()
        successes = 0
        for _ in range(k // 4):
            try:
                ledger.spend(PureDP(1.0 / k))
                successes += 1
            except BudgetError:
                pass
        return successes

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(workers) as pool:
            assert sum(pool.map(work, range(workers))) == k
    finally:
        sys.setswitchinterval(interval)
    assert len(shared.entries) == k
    assert shared.spent == PureDP(1.0)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_charge_waits_for_the_one_that_is_being_decided(tmp_path, kind):
    nothing = (Fraction(0),)
    path, cost = str(tmp_path / "budget.ledger"), PureDP.additive
    store = (
        MemoryStore(nothing)
        if kind == "memory"
        else FileStore(path, MadeWith(PureDP(1.0), "", ""), nothing, cost, create=True)
    )
    spend = Spend(datetime.now(UTC), "", PureDP(0.25))
    deciding, second_done = threading.Event(), threading.Event()

    def slowly(total):
        deciding.set()
        second_done.wait(0.3)
        return (total[0] + Fraction(1, 4),)

    def second():
        deciding.wait()
        store.charge(lambda total: (total[0] + Fraction(1, 4),), spend)
        second_done.set()

    thread = threading.Thread(target=second)
    thread.start()
    store.charge(slowly, spend)
    thread.join()
    assert store.total() == (Fraction(1, 2),)
    assert len(store.read()[1]) == 2


COMPETITOR = """
import sys
from curvedp.errors import BudgetError
from curvedp.privacy.guarantees import GDP
from curvedp.privacy.ledger import Ledger
k = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
ledger = Ledger(GDP(1.0), path=sys.argv[1])
successes = 0
for _ in range(k):
    try:
        ledger.spend(GDP(k ** -0.5), "competitor")
        successes += 1
    except BudgetError:
        pass
print(successes)
"""


def test_processes_together_create_one_file_and_spend_exactly_the_budget(tmp_path):
    path, k = tmp_path / "shared", 24
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COMPETITOR, str(path), str(k)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(map(int, outputs)) == k
    assert len(Ledger(GDP(1.0), path=path).entries) == k
    assert [item.name for item in tmp_path.iterdir()] == ["shared"]


SPENDER = """
import sys
from curvedp.privacy.guarantees import ZCDP
from curvedp.privacy.ledger import Ledger
ledger = Ledger(ZCDP(1000.0), path=sys.argv[1])
while True:
    ledger.spend(ZCDP(0.25))
    print("spent", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("acknowledged", [1, 7, 20])
def test_every_acknowledged_spend_survives_kill_9(tmp_path, acknowledged):
    path = tmp_path / "killed"
    process = run_python(SPENDER, str(path))
    for _ in range(acknowledged):
        assert process.stdout.readline() == "spent\n"
    with process:
        process.send_signal(signal.SIGKILL)
        seen = acknowledged + process.stdout.read().count("spent\n")
    ledger = Ledger(ZCDP(1000.0), path=path)
    count = len(ledger.entries)
    assert seen <= count <= seen + 1
    assert ledger.spent == ZCDP(0.25 * count)
    ledger.spend(ZCDP(0.25))
    assert len(ledger.entries) == count + 1


FORKER = """
import os, sys, threading
from curvedp.errors import BudgetError, LedgerError
from curvedp.privacy.guarantees import PureDP
from curvedp.privacy.ledger import Ledger

memory = Ledger(PureDP(1.0))
shared = Ledger(PureDP(1.0), path=sys.argv[1])
k = 32

def spend_all():
    successes = 0
    for _ in range(k):
        try:
            shared.spend(PureDP(1.0 / k))
            successes += 1
        except BudgetError:
            pass
    return successes

counts = []
thread = threading.Thread(target=lambda: counts.append(spend_all()))
thread.start()
children = []
for _ in range(3):
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            memory.spend(PureDP(0.5))
            os.write(send, b"memory ledger spent in a fork")
        except LedgerError:
            os.write(send, str(spend_all()).encode())
        finally:
            os._exit(0)
    os.close(send)
    children.append((child, receive))
thread.join()
for child, receive in children:
    os.waitpid(child, 0)
    counts.append(int(os.read(receive, 100)))
memory.spend(PureDP(0.5))
print(sum(counts), len(shared.entries))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks_share_a_file_and_are_refused_a_memory_ledger(tmp_path):
    process = run_python(FORKER, str(tmp_path / "forked"))
    output, errors = process.communicate(timeout=120)
    assert output == "32 32\n", errors


def test_a_busy_file_refuses_instead_of_releasing_unpaid(tmp_path, monkeypatch):
    from curvedp.privacy import store

    monkeypatch.setattr(store, "_BUSY_SECONDS", 0.05)
    ledger = Ledger(PureDP(1.0), path=tmp_path / "busy")
    holder = sqlite3.connect(tmp_path / "busy", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked"):
        ledger.spend(PureDP(0.5))
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.entries == ()
    ledger.spend(PureDP(0.5))
