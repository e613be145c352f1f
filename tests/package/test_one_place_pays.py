"""One function asks a ledger: what it costs is decided once, before any noise is drawn."""

from __future__ import annotations

import ast
from pathlib import Path

import curvedp

ROOT = Path(curvedp.__file__).parent
#: A job's own mark in the ledger decides whether it was paid already, whatever process asks.
OTHERS = {"batch/job.py"}


def spends(text: str) -> bool:
    """True if the method `spend` of anything is called or handed on."""
    return "spend" in text and any(
        isinstance(node, ast.Attribute) and node.attr == "spend"
        for node in ast.walk(ast.parse(text))
    )


def test_a_call_is_found_under_any_name():
    assert spends("account = self.ledger\naccount.spend(guarantee, label='mean')")
    assert spends("take = ledger.spend")
    assert not spends('"""ledger.spend(guarantee)"""')


def test_one_file_spends():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if spends(path.read_text(encoding="utf-8"))
    }
    assert found - OTHERS == {"privacy/payment.py"}
