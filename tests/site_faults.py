"""Sites that are killed at one of their system calls after the other while they answer (Linux).

    python site_faults.py FOLDER EVERY [control]

Each point is a child that opens ledger and state file, answers two rounds of a study and writes the
number of each to a pipe as it leaves. Afterwards the site is made anew, with its state file and
with each older copy of it, and is given both plans again. Prints as JSON how many points there
were, how many were looked at, what was found, and the points at which a round was answered twice,
the run was not paid or paid twice, or the site did not go on. With "control" the ledger notes no
rounds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import curvedp as cdp
import kill_points
from curvedp.errors import SiteError
from curvedp.sites import ServerMean, SiteMean
from curvedp.sites.book import Run
from site_cases import study

_OWN = study(3, 2, masks=False)
_NORTH = np.tile([0.0, 0.0, 1.0], (40, 1))
_BUDGET = cdp.GDP(9.0, neighbours="add-remove")


def _plans(count: int) -> list[bytes]:
    """The first plans of a run, which other sites answer."""
    server = ServerMean(_OWN)
    others = [SiteMean(_NORTH, _OWN, name) for name in _OWN.roster[1:]]
    found = [server.plan()]
    while len(found) < count:
        step = server.feed([each.answer(found[-1]) for each in others])
        assert isinstance(step, bytes)
        found.append(step)
    return found


def _site(folder: Path, state: str = "state") -> SiteMean:
    ledger = cdp.Ledger(_BUDGET, path=folder / "ledger")
    return SiteMean(_NORTH, _OWN, _OWN.roster[0], ledger=ledger, state=folder / state)


def _is_answered(folder: Path, state: str, plan: bytes) -> bool:
    try:
        _site(folder, state).answer(plan)
    except SiteError:
        return False
    return True


def _failures(folder: Path, plans: list[bytes], told: bytes) -> list[str]:
    """What went wrong of what was asked after a kill."""
    states = sorted(path.name for path in folder.glob("older*") if "journal" not in path.name)
    found = []
    for order in (["state"], [*reversed(states), "state"]):  # as it is left; with older copies
        copy = Path(shutil.copytree(folder, folder / "copy"))
        answers = Counter(told)
        for state in order:
            for number, plan in enumerate(plans[:2]):
                answers[number] += _is_answered(copy, state, plan)
        found += [f"round {own} answered {times} times" for own, times in answers.items()
                  if times > 1]  # fmt: skip
        if order == ["state"] and not _is_answered(copy, "state", plans[2]):
            found.append("it does not go on")
        entries = len(_site(copy)._ledger.entries)  # type: ignore[union-attr]
        found += [] if entries == 1 else [f"paid {entries} times"]
        shutil.rmtree(copy)
    return found


def main(folder: Path, every: int, control: bool) -> None:
    """Kills at every so-many-th system call."""
    if control:
        Run.check_noted = lambda *arguments: None  # type: ignore[method-assign]
        SiteMean._note = lambda *arguments, **how: None  # type: ignore[method-assign]
    os.umask(0o077)
    plans = _plans(3)
    _site(folder).answer(plans[0])  # imports all, and is no part of it
    own = folder / "whole"

    def answers(pipe: int) -> None:
        site = _site(own)
        for number, plan in enumerate(plans[:2]):
            shutil.copyfile(own / "state", own / f"older {number}")
            site.answer(plan)
            os.write(pipe, bytes([number]))

    own.mkdir()
    points, told = kill_points.run(answers, None)
    assert told == bytes([0, 1])
    failures, seen = [], Counter[str]()
    looked_at = range(0, points, every)
    for at in looked_at:
        own = folder / f"at {at}"
        own.mkdir()
        _, told = kill_points.run(answers, at)
        seen[f"{len(told)} answers"] += 1
        failures += [[at, text] for text in _failures(own, plans, told)]
        shutil.rmtree(own)
    print(
        json.dumps(
            {"points": points, "looked at": len(looked_at), "seen": seen, "failures": failures}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "control" in sys.argv[3:])
