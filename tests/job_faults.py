"""A batch that is killed, or finds the disk full, at one of its file operations after the other.

    python job_faults.py FOLDER kill|full|size|moment ordered|shuffled given|own file|folder STEP

Every operation of Python on a path below FOLDER is a point at which it is killed, or at which the
disk is full; with "size" a point is a length of files, at which writing fails. Each point has a
folder of its own, in which a child runs the batch and is stopped there, and another child resumes
it. With "moment" a point is a time after which the child is killed wherever it is, and so are those
that resume it, each a little later. Prints what was found as JSON: the number of points, the kills
at moments, and the points at which something was lost or spent twice.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from curvedp.batch.folder import receipt_of
from curvedp.batch.output import output_of

_EVENTS = frozenset(
    {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.listdir"}
    | {"os.scandir", "os.truncate", "shutil.rmtree", "sqlite3.connect", "tempfile.mkstemp"}
)


class Stopper:
    """Counts file operations below a folder, and stops at one of them, at a length of files, or at
    a moment."""

    def __init__(self, folder: Path, how: str, at: int, kills: int = 0) -> None:
        self._folder, self._how, self._at, self.count = str(folder), how, at, 0
        if how == "size" and at >= 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (_length(at), resource.RLIM_INFINITY))
        if how == "moment" and at >= 0:
            signal.setitimer(signal.ITIMER_REAL, 1e-3 * (1 + at / _MOMENTS) * 1.15**kills)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS or not any(self._is_below(value) for value in arguments):
            return
        self.count += 1
        if self.count - 1 == self._at and self._how in ("kill", "full"):
            if self._how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _is_below(self, value: object) -> bool:
        if isinstance(value, (bytes, os.PathLike)):
            value = os.fsdecode(value)
        return isinstance(value, str) and self._folder in value


def _length(at: int) -> int:
    """Lengths of files: from 0 to 48 kB, each a seventh longer than the last."""
    return int(16 * ((8 / 7) ** at - 1))


_LENGTHS, _MOMENTS = 61, 11


def place(folder: Path) -> Path:
    """The result's place: a file or a folder."""
    return folder / os.environ["RESULT"]


def batch(folder: Path, given: bool, resume: bool) -> None:
    """The batch of a folder."""
    ledger = cdp.Ledger(cdp.PureDP(1.5), path=folder / "ledger")
    cases.release(
        folder / "in.parquet",
        out=place(folder),
        secret=folder / "secret" if given else None,
        ledger=ledger,
        chunk_rows=150,
        resume=resume,
    )


def in_child(work: Callable[[], object]) -> int:
    """The status with which a child process ends that does some work: 0, 1, or -9 if killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except Exception:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def prepared(folder: Path, ordered: bool, given: bool) -> Path:
    """A folder with records, a ledger and a secret."""
    folder.mkdir()
    cases.write(folder / "in.parquet", cases.table(12, ordered=ordered))
    with cdp.Ledger(cdp.PureDP(1.5), path=folder / "ledger"):
        pass
    if given:
        shutil.copy(folder.parent / "secret", folder / "secret")
    return folder


def outcome(folder: Path) -> dict[str, object]:
    """What is left of a batch."""
    entries = cdp.Ledger(cdp.PureDP(1.5), path=folder / "ledger").entries
    names = {path.name for path in folder.iterdir()}
    out = place(folder)
    kept = {"in.parquet", out.name, f"{out.name}.manifest.json", "ledger", "secret"}
    kept.add(receipt_of(out).name)
    return {"spends": len(entries), "left over": sorted(names - kept), "digest": digest(out)}


def digest(out: Path) -> str | None:
    """Checksum of a result's bytes and of its count of records; None for none."""
    files = [out] if out.is_file() else sorted(out.glob("*.parquet"))
    held = b"".join(path.read_bytes() for path in files)
    if not held:
        return None
    told = json.loads(output_of(out, out, "").manifest.read_text())["coverage"]
    assert told is not None
    return hashlib.sha256(held + json.dumps(told).encode()).hexdigest()


def main(folder: Path, how: str, order: str, secret: str, result: str, step: int) -> None:
    warnings.simplefilter("ignore")
    os.environ["RESULT"] = "out.parquet" if result == "file" else "out"
    ordered, given = order == "ordered", secret == "given"
    cdp.NoiseSecret.create(folder / "secret")
    whole = prepared(folder / "whole", ordered, given)

    def count() -> None:
        stopper = Stopper(whole, how, -1)
        sys.addaudithook(stopper)
        batch(whole, given, False)
        (folder / "count").write_text(str(stopper.count))

    assert in_child(count) == 0
    points = {"size": _LENGTHS, "moment": _MOMENTS}.get(how, int((folder / "count").read_text()))
    expected, bad, kills = outcome(whole), [], 0
    for at in range(0, points, step):
        own = prepared(folder / f"at{at:04d}", ordered, given)

        def stopped(kills: int, own: Path = own, at: int = at) -> None:
            sys.addaudithook(Stopper(own, how, at, kills))
            batch(own, given, kills > 0)

        first, again = in_child(partial(stopped, 0)), 0
        while first == -signal.SIGALRM:
            again += 1
            first = in_child(partial(stopped, again))
        kills += again
        before = digest(place(own))
        # whoever sees an error or a loss of power resumes; a batch that finished is left alone
        second = in_child(lambda own=own: batch(own, given, True))
        found = outcome(own)
        if given:
            same = found["digest"] == expected["digest"]
        else:
            same = before is None or found["digest"] == before
        if second or found["spends"] != 1 or found["left over"] or not same:
            bad.append({"at": at, "first": first, "second": second, "same": same, **found})
        else:
            shutil.rmtree(own)
    print(json.dumps({"points": points, "kills": kills, "bad": bad}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:6], int(sys.argv[6]))
