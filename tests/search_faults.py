"""Means without a ball that are killed at one of their system calls after the other (Linux).

    python search_faults.py FOLDER EVERY [control]

Each point is a child of its own, traced from before its ledger is opened until its answer is there,
and killed by SIGKILL at the start or end of a system call. Before a sum is drawn the child writes
its share to a pipe. Prints as JSON how many points there were, how many of them were looked at, in
which states ledgers were found, and the points at which less was charged than was drawn or a ledger
was lost. With "control" a tenth of the budget is set aside.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
import kill_points
from curvedp.errors import LedgerError, NoiseWarning
from curvedp.sums.search import Search

_BUDGET, _CAP = cdp.GDP(2.0), cdp.GDP(1.0)
_ROOM = 1.0 + 1e-12


def _tell_shares(pipe: int) -> None:
    """Writes each share to the pipe before its sum is drawn."""
    run = Search.run

    def told(search: Search) -> Any:
        steps = run(search)
        request = next(steps)
        while True:
            os.write(pipe, struct.pack("<d", request.share))
            try:
                request = steps.send((yield request))
            except StopIteration as end:
                return end.value

    Search.run = told  # type: ignore[method-assign]


def _set_less_aside() -> None:
    spend = cdp.Ledger.spend
    cdp.Ledger.spend = lambda self, guarantee, label="", **how: spend(  # type: ignore[method-assign]
        self, cdp.GDP(0.1 * guarantee.mu), label, **how
    )


def _run(path: Path, records: np.ndarray, at: int | None, control: bool) -> tuple[int, list[float]]:
    """Runs a child to its end, or to a system call; how many there were, and what it told."""

    def act(pipe: int) -> None:
        _tell_shares(pipe)
        if control:
            _set_less_aside()
        ledger = cdp.Ledger(_BUDGET, path=path)
        release = cdp.frechet_mean(records, cdp.Sphere(2), _CAP, ledger=ledger)
        assert not release.found
        os.write(pipe, struct.pack("<d", -release.spent))

    calls, told = kill_points.run(act, at)
    return calls, [own for (own,) in struct.iter_unpack("<d", told)]


def _charged(path: Path) -> tuple[str, Fraction]:
    """State of a ledger, and the square of what it holds as spent."""
    if not path.exists():
        return "no ledger", Fraction(0)
    ledger = cdp.Ledger(_BUDGET, path=path)
    states = ["settled" if entry.settles else "set aside" for entry in ledger.entries]
    spent = ledger.spent
    ledger.spend(cdp.GDP(0.5))  # it goes on
    assert len(ledger.entries) == len(states) + 1
    return ", ".join(states) or "empty", Fraction(spent.mu if spent else 0.0) ** 2


def main(folder: Path, every: int, control: bool) -> None:
    """Kills at every so-many-th system call."""
    warnings.simplefilter("ignore", NoiseWarning)  # no mean is found
    records = cdp.Sphere(2).random_point(1000, rng=0)
    cdp.frechet_mean(records, cdp.Sphere(2), _CAP, ledger=cdp.Ledger(_BUDGET))  # imports all
    points, told = _run(folder / "whole", records, None, control)
    assert told[-1] < 0.0
    states: Counter[str] = Counter()
    failures = []
    looked_at = range(0, points, every)
    for at in looked_at:
        path = folder / f"ledger {at}"
        _, told = _run(path, records, at, control)
        drawn = sum((Fraction(own) ** 2 for own in told if own > 0.0), Fraction(0))
        try:
            state, charged = _charged(path)
        except LedgerError as error:
            failures.append([at, str(error)])
            continue
        states[state] += 1
        if float(drawn) > float(charged) * _ROOM:
            failures.append([at, f"{state}: {float(drawn)} drawn, {float(charged)} charged"])
    print(
        json.dumps(
            {
                "points": points,
                "looked at": len(looked_at),
                "states": states,
                "failures": failures,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "control" in sys.argv[3:])
