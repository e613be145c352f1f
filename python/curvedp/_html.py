"""Tables that notebooks show of objects: the facts that their reports give.

Colours are those of the page, so that it reads in light and dark. Texts are escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Protocol

__all__ = ["MOST_ROWS", "card"]

#: Rows of a table of many.
MOST_ROWS = 10

_LINE = "1px solid rgba(128, 128, 128, 0.5)"
_BOX = f"border: {_LINE}; padding: 0.5em 0.8em; margin: 0.3em 0; max-width: 56em"
_ALARM = "border: 3px double; padding: 0.3em 0.6em; margin: 0.4em 0; font-weight: bold"
_CELL = "text-align: left; vertical-align: top; padding: 0.1em 0.8em 0.1em 0"
_NUMBERS = "white-space: pre; font-family: monospace"


class _Shown(Protocol):
    def _repr_html_(self) -> str: ...


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    *,
    alarm: str = "",
    notes: Iterable[str] = (),
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    parts: Sequence[_Shown] = (),
) -> str:
    """A box with a title and a table of two columns.

    Parameters
    ----------
    title : str
    facts : iterable of (name, text)
        Rows of the table. A text of several lines keeps them.
    alarm : str
        Shown in bold within a double frame, before all facts.
    notes : iterable of str
        Paragraphs after the facts.
    columns, rows : sequence of str, iterable of sequence of str
        Head and body of a second table.
    parts : sequence
        Objects with an HTML form of their own, folded away.

    Returns
    -------
    str
        HTML without scripts, styles of its own or links.

    Examples
    --------
    >>> "&lt;b&gt;" in card("title", [("name", "<b>")])
    True
    """
    pieces = [f'<div style="{_BOX}"><strong>{escaped(title)}</strong>']
    if alarm:
        pieces.append(f'<div style="{_ALARM}">{escaped(alarm)}</div>')
    if body := "".join(_fact(name, text) for name, text in facts):
        pieces.append(f"<table><tbody>{body}</tbody></table>")
    pieces += [f"<p>{escaped(note)}</p>" for note in notes]
    if columns:
        head = "".join(f'<th style="{_CELL}">{escaped(name)}</th>' for name in columns)
        body = "".join(f"<tr>{''.join(map(_entry, row))}</tr>" for row in rows)
        pieces.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if parts:
        inside = "".join(part._repr_html_() for part in parts)
        pieces.append(f"<details><summary>computed from {len(parts)}</summary>{inside}</details>")
    return "".join([*pieces, "</div>"])


def escaped(text: str) -> str:
    """A text for HTML; letters that cannot be printed by their codes.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> print(escaped('<a>"\\0'))
    &lt;a&gt;&quot;\\x00
    """
    letters = (
        letter
        if letter.isprintable() or letter == "\n"
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
    return html.escape("".join(letters))


def _fact(name: str, text: str) -> str:
    style = f"{_CELL}; {_NUMBERS}" if "\n" in text else _CELL
    head = f'<th style="{_CELL}; white-space: nowrap">{escaped(name)}</th>'
    return f'<tr>{head}<td style="{style}">{escaped(text)}</td></tr>'


def _entry(text: str) -> str:
    return f'<td style="{_CELL}">{escaped(text)}</td>'
