"""Children that are killed by SIGKILL at one of their system calls after the other (Linux)."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

_TRACE_ME, _NEXT_CALL = 0, 24


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _trace(request: int, process: int) -> bool:
    return _libc().ptrace(request, process, None, None) == 0


def _child(act: Callable[[int], object], pipe: int) -> NoReturn:
    status = 1
    try:
        if not _trace(_TRACE_ME, 0):
            status = 2
            os._exit(status)
        os.kill(os.getpid(), signal.SIGSTOP)
        act(pipe)
        status = 0
    finally:
        os._exit(status)


def run(act: Callable[[int], object], at: int | None) -> tuple[int, bytes]:
    """Runs a child to its end, or to the start or end of a system call.

    Returns how many there were, and what it wrote to the pipe that `act` is given. Ends the process
    with a message where no process may trace another.
    """
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        _child(act, into)
    os.close(into)
    calls = 0
    _, status = os.waitpid(child, 0)
    while os.WIFSTOPPED(status):
        if at is not None and calls == at:
            os.kill(child, signal.SIGKILL)
        else:
            assert _trace(_NEXT_CALL, child)
        calls += 1
        _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 2:
        print(json.dumps({"refused": True}))
        sys.exit()
    assert at is not None or os.WEXITSTATUS(status) == 0, status
    with os.fdopen(out, "rb") as pipe:
        return calls, pipe.read()


def found_by(script: Path, folder: Path, every: int, *how: str) -> dict[str, Any]:
    """What a script of such children prints; skips the test where no process may trace another."""
    import pytest

    path = os.pathsep.join(own for own in sys.path if own)
    done = subprocess.run(
        [sys.executable, script, folder, str(every), *how],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    if "refused" in found:
        pytest.skip("this system lets no process trace another")
    return found
