"""Measured tables in a page of the documentation: text between markers, the rest kept by hand.

    <!-- measured: maps -->
    ...
    <!-- end of measured -->

A table's lines are those that side_by_side.py prints, in the order of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness import TABLE_HEAD

_TABLE = re.compile(r"<!-- measured: (\w+) -->\n(.*?)<!-- end of measured -->\n", re.S)


def tables(text: str) -> dict[str, dict[str, list[str]]]:
    """Lines of each table by the names of their rows."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, body in _TABLE.findall(text):
        rows = found.setdefault(name, {})
        for line in body.strip().splitlines()[2:]:
            rows.setdefault(line.split("|")[1].strip(), []).append(line)
    return found


def with_rows(text: str, table: str, measured: dict[str, list[str]], order: Iterable[str]) -> str:
    """The page with a table's measured rows in place of their old ones.

    Rows that were not measured stay; rows that are not in ``order`` go.

    Raises
    ------
    KeyError
        If the page has no such table.
    """
    rows = tables(text)[table] | measured
    lines = [line for name in order for line in rows.get(name, [])]
    body = "\n".join([TABLE_HEAD, *lines])
    block = f"<!-- measured: {table} -->\n{body}\n<!-- end of measured -->\n"
    return _TABLE.sub(lambda found: block if found[1] == table else found[0], text)


def with_table(text: str, name: str, lines: Iterable[str]) -> str:
    """The page with other lines in a table.

    Raises
    ------
    KeyError
        If the page has no such table.
    """
    tables(text)[name]  # raises
    block = f"<!-- measured: {name} -->\n" + "\n".join(lines) + "\n<!-- end of measured -->\n"
    return _TABLE.sub(lambda found: block if found[1] == name else found[0], text)
