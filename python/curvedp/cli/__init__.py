"""The command line: `demo`, `plan`, `mean`, `variance`, `region`, `regression`, `batch`.

It needs the extra ``cli`` (click and rich), which is imported only when a command runs.

Exit codes: 0 done; 1 interrupted; 2 a parameter or an option is wrong, or an extra is missing; 3
the ledger refused to spend; 4 no such release exists for these parameters; 5 a file cannot be read
or written.
"""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]

INSTALL = "pip install 'curvedp[cli]'"


def main() -> None:
    """Entry point of the ``curvedp`` command."""
    if any(importlib.util.find_spec(name) is None for name in ("click", "rich")):
        print(f"Error: the curvedp command needs click and rich: {INSTALL}", file=sys.stderr)
        raise SystemExit(2)
    from curvedp.cli.app import app

    app(prog_name="curvedp")
