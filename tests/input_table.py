"""The table of docs/measured/inputs.md: which are read as they say, and which are refused, by name.

Its rows are the cases that the tests of `batch` and `cli` run: each input is released with a
ledger, and either gives what it says or is refused with nothing spent. ``python
tests/input_table.py`` writes the table.
"""

from __future__ import annotations

import re
from pathlib import Path

import csv_cases
import input_cases as cases

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "inputs.md"
BEGIN, END = "<!-- inputs -->", "<!-- end of inputs -->"


#: Of all that is no table and names no files.
NO_PLACE = "refused: \u201cmust be an Arrow table\u201d"


def cases_of() -> list[tuple[str, str, str]]:
    """Kind and name of each input, and what happens with it."""
    found = []
    for name in cases.CONTAINERS:
        if name not in ("data set", "data set, filtered twice"):
            is_read = name in cases.READ
            found.append(("records", name, "read, what it selects" if is_read else NO_PLACE))
    for name in cases.WHOLE:
        found.append(("files", name, "read" if name in cases.READ else NO_PLACE))
    found += [("data set", name, "read") for name in cases.SAME]
    for name, (word, _) in cases.UNREAD.items():
        found.append(("data set", f"with {name}", _refused(word)))
    found += [("folder", f"with `{name}`", "read") for name in cases.COUNTED]
    for name in cases.HIDDEN:
        found.append(("folder", f"with `{name}`", "this file left out, as by all who read folders"))
    for name, (_, _, word) in cases.LEFT_OUT.items():
        found.append(("folder", f"with {name}", _refused(word)))
    found += [("one file", name, _refused("comes twice")) for name in cases.TWICE]
    for name, (_, _, word) in cases.COLUMNS.items():
        found.append(("columns", name, "read" if word is None else _refused(word)))
    for name, (_, word) in cases.NAMES.items():
        found.append(("names of columns", name, "read" if word is None else _refused(word)))
    for name, (_, options) in csv_cases.READ.items():
        found.append(("csv", name, f"read with `{' '.join(options)}`" if options else "read"))
    for name, (_, _, word) in csv_cases.REFUSED.items():
        found.append(("csv", name, _refused(word)))
    return found


def _refused(word: str) -> str:
    return f"refused: \u201c{word}\u201d"


def table() -> str:
    """The table in Markdown: inputs of one kind with one outcome stand in one row."""
    lines: dict[tuple[str, str], list[str]] = {}
    for kind, name, outcome in cases_of():
        lines.setdefault((kind, outcome), []).append(name)
    body = [
        f"| {kind}: {_cell('; '.join(names))} | {_cell(outcome)} |"
        for (kind, outcome), names in lines.items()
    ]
    return "\n".join(["| input | what happens |", "|---|---|", *body])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten() -> str:
    """The page with its table."""
    text = PAGE.read_text(encoding="utf-8")
    between = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
    assert len(between.findall(text)) == 1
    return between.sub(lambda _: f"{BEGIN}\n{table()}\n{END}", text)


if __name__ == "__main__":
    PAGE.write_text(rewritten(), encoding="utf-8")
