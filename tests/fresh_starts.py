"""Code that runs first in a process, without a new interpreter for each piece."""

from __future__ import annotations

import json
import subprocess
import sys

#: NumPy takes longest to import, and is none of the library. Every piece of code runs in a child
#: that has imported nothing else.
_EACH = r"""
import json, os, sys, traceback
import numpy

for code in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        try:
            exec(code, {"__name__": "__main__"})
            print(end="\0", flush=True)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {code}")
"""


def outputs(codes: list[str]) -> list[str]:
    """What each piece of code prints; warnings are errors, and none may print to stderr."""
    command = [sys.executable, "-W", "error", "-c", _EACH]
    done = subprocess.run(command, input=json.dumps(codes), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\0")[:-1]
