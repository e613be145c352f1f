"""Records and labels from csv files, one line for each record.

The dialect is a property of the file. Whether it is the one that was said shows in the form of the
first line and of the first record: bytes, separators and names of the former, the number of cells
and the way of writing numbers of the latter. If not, the file is refused before anything is
charged. All later lines are records whatever they hold: one with another number of cells, or a cell
that is no number, counts as missing and is never mentioned. Quotes do not span lines, so no record
alters another.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curvedp._text import listed
from curvedp.manifolds import Manifold
from curvedp.manifolds.reading import PLAIN, Reading

__all__ = ["CSV", "Dialect", "FileError", "read_csv", "read_csv_labels", "select_names"]

Array = NDArray[np.float64]

_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
#: How files begin that hold others, as no line of names does.
_PACKED = {
    rb"\x1f\x8b": "gzip",
    rb"PK\x03\x04": "zip",
    rb"BZh[1-9]1AY&SY": "bzip2",
    rb"\xfd7zXZ": "xz",
    rb"\x28\xb5\x2f\xfd": "zstd",
    rb"PAR1\x15": "Parquet",
}
#: Words for what is missing, besides an empty cell.
_MISSING = {"na", "n/a", "nan", "none", "null", "nil", "missing", "unknown", "inf", "infinity"}


class FileError(Exception):
    """A file cannot be read or written, or does not have the announced layout."""


@dataclass(frozen=True)
class Dialect:
    """Dialect of a csv file.

    Attributes
    ----------
    header : bool
        True if the first line holds names of columns.
    delimiter : str or None
        Between cells; None for commas in a file whose first line has no other separator.
    decimal : str
        The decimal sign, "." or ",".
    encoding : str or None
        None for UTF-8.
    """

    header: bool = True
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None

    @property
    def is_said(self) -> bool:
        """True if anything is said."""
        return self != CSV

    def cells(self, line: str) -> list[str]:
        """The cells of a line; none if it cannot be read."""
        try:
            reader = csv.reader([line], delimiter=self.delimiter or ",", skipinitialspace=True)
            return next(reader, []) or [""]
        except csv.Error:  # a cell of more than 131,072 characters
            return []

    def number(self, cell: str) -> float:
        """The number in a cell, NaN if there is none."""
        text = cell.strip().replace("\u2212", "-")  # the minus sign of typesetters
        if self.decimal == ",":
            text = text.replace(".", "_").replace(",", ".")
        try:
            return float("nan") if "_" in text else float(text)
        except ValueError:
            return float("nan")

    def lines(self, path: Path) -> list[str]:
        """The lines of a file, if its first one is written as is said."""
        self._check_bytes(path)
        encoding = "utf-8-sig" if self._is_utf8 else self.encoding
        try:
            # what cannot be decoded stays different from what differs
            with path.open(encoding=encoding, errors="backslashreplace") as file:
                lines = [line.rstrip("\n") for line in file]
        except LookupError:
            raise ValueError(f"--encoding {self.encoding}: no such encoding of texts") from None
        except UnicodeError:
            raise FileError(f"{path}: not encoded as {self.encoding}") from None
        if not lines:
            raise FileError(f"{path}: empty")
        lines[0] = lines[0].removeprefix("\ufeff")
        if "\0" in lines[0]:
            raise FileError(
                f"{path}: its first line holds zero bytes, as UTF-16 and UTF-32 have them: say its "
                "--encoding, such as utf-16-le"
            )
        self._check_separator(lines[0], path)
        return lines

    @property
    def _is_utf8(self) -> bool:
        names = ("", "utf8", "utf-8", "utf-8-sig")
        return (self.encoding or "").lower().replace("_", "-") in names

    def _check_bytes(self, path: Path) -> None:
        """Refuses a file that is packed, or whose first line is not UTF-8 if it should be."""
        with path.open("rb") as file:
            first = re.split(rb"[\r\n]", file.readline(), maxsplit=1)[0]
        for mark, kind in _PACKED.items():
            if re.match(mark, first):
                raise FileError(f"{path}: it is a file of {kind}, whatever its name says, no csv")
        if not self._is_utf8:
            return
        for mark, encoding in _MARKS.items():
            if first.startswith(mark):
                raise FileError(
                    f"{path}: it is {encoding.upper()}, not UTF-8: say --encoding {encoding}"
                )
        try:
            first.decode("utf-8")
        except UnicodeDecodeError:
            raise FileError(
                f"{path}: its first line is not UTF-8: say its --encoding, such as latin-1"
            ) from None

    def _check_separator(self, line: str, path: Path) -> None:
        """Refuses a first line with another separator than commas, unless one was said."""
        if self.delimiter is not None:
            return
        unquoted = re.sub(r'"[^"]*"?', "", line)
        for sign, word in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
            if sign in unquoted:
                raise FileError(
                    f"{path}: its first line is separated by other signs than commas: say "
                    f"--delimiter {word} (or --delimiter , if it is not)"
                )


CSV = Dialect()


def read_csv(
    path: Path,
    columns: Sequence[str] | None,
    dialect: Dialect,
    manifold: Manifold | None,
    reading: Reading = PLAIN,
) -> Array:
    """Records of a csv file, one per line."""
    is_one = manifold is not None and manifold.point_size == 1
    names, rows = _table(path, dialect, keep_blank=is_one and not dialect.header)
    if columns is not None and not dialect.header:
        rows, columns = _by_number(rows, columns, path), None
    if dialect.header or manifold is None:
        width = len(names) if dialect.header else len(rows[0])
        wanted = list(range(width)) if columns is None else select_names(names, columns, path)
        if manifold is not None and dialect.header:
            order, reading = reading.of_columns([names[k] for k in wanted], manifold.written)
            wanted = [wanted[k] for k in order]
        _check_numbers(rows[0], wanted, dialect, path)
        missing = [""] * width
        whole = [row if len(row) == width else missing for row in rows]
        found = np.array([[dialect.number(row[place]) for place in wanted] for row in whole])
        return found if manifold is None else reading.of_rows(found, manifold.written)
    found = np.full((len(rows), manifold.point_size), np.nan)
    for number, (record, row) in enumerate(zip(found, rows, strict=True)):
        cells = np.array([list(map(dialect.number, row))])
        fits = reading.reads(len(row), manifold.written)
        point = manifold._complete(reading.of_rows(cells, manifold.written)) if fits else None
        if point is not None:
            record[:] = point[0]
        elif number == 0:
            raise FileError(
                f"{path}: the first line has {len(row)} cells, but {manifold._expected_entries}"
            )
    _check_numbers(rows[0], range(len(rows[0])), dialect, path)
    return found


def read_csv_labels(path: Path, name: str, dialect: Dialect) -> list[str | None]:
    """A column of labels of a csv file."""
    if not dialect.header:
        raise FileError(f"{path}: labels have a name, in the first line")
    names, rows = _table(path, dialect)
    [place] = select_names(names, [name], path)
    # a line that is too short is a person of its own: what it holds must not decide
    cells = [row[place] if place < len(row) else f"line {k}" for k, row in enumerate(rows)]
    return [cell.strip() or None for cell in cells]


def _by_number(rows: Sequence[list[str]], columns: Sequence[str], path: Path) -> list[list[str]]:
    """Cells of columns that have numbers for names, from 1 on; empty ones of shorter lines."""
    if not all(name.isdecimal() and int(name) for name in columns):
        raise ValueError(
            f"{path}: without a line of names columns are chosen by their numbers, from 1 on"
        )
    wanted = [int(name) - 1 for name in columns]
    if max(wanted) >= len(rows[0]):
        raise FileError(
            f"{path}: the first line has {len(rows[0])} cells, none of number {max(wanted) + 1}"
        )
    missing = [""] * len(wanted)
    return [[row[k] for k in wanted] if max(wanted) < len(row) else missing for row in rows]


def _table(
    path: Path, dialect: Dialect, *, keep_blank: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Names of columns and the cells of each line below; without names all lines.

    Blank lines are skipped, except in a table of one column or with `keep_blank`, where they are
    empty cells.
    """
    lines = dialect.lines(path)
    names = [name.strip() for name in dialect.cells(lines[0])] if dialect.header else []
    body = lines[1:] if dialect.header else lines
    keep_blank = keep_blank or len(names) == 1
    _check_names(names, dialect, path)
    rows = [dialect.cells(line) for line in body if keep_blank or line.strip(" ")]
    if not rows:
        raise FileError(f"{path}: no record{' below the line of names' if dialect.header else ''}")
    if dialect.header and len(rows[0]) != len(names):
        raise FileError(
            f"{path}: the first line has {len(names)} names and the first record {len(rows[0])} "
            "cells: is there a separator at the end of each line, another one than is named "
            "(--delimiter), or a decimal comma (--decimal)?"
        )
    return names, rows


def _check_names(names: Sequence[str], dialect: Dialect, path: Path) -> None:
    """Refuses numbers as names, but for those of columns that have none: each once, 0, 1, 2."""
    are_numbers = not any(np.isnan(dialect.number(name)) for name in names)
    are_places = len({*names}) == len(names) and all(name.isdecimal() for name in names)
    if names and are_numbers and not are_places:
        raise FileError(
            f"{path}: its first line holds numbers, not names of columns, and would be left out as "
            "a record: say --no-header"
        )


def _check_numbers(row: Sequence[str], wanted: Sequence[int], dialect: Dialect, path: Path) -> None:
    """Refuses a first record with digits that make no number, or with words beside numbers."""
    words = [row[place].strip().lower() for place in wanted]
    are_words = all(re.search(r"[^\W\d_]", word) and not re.search(r"\d", word) for word in words)
    if len(words) > 1 and are_words and not _MISSING.issuperset(words):
        raise FileError(
            f"{path}: the first record holds words in place of numbers: is it a second line of "
            "names, or of units? All lines below the first count as records"
        )
    for place, word in zip(wanted, words, strict=True):
        is_word = re.match(r"[^\W\d_]", word) and np.isnan(dialect.number(word))
        if is_word and word not in _MISSING and len(words) > 1:
            raise FileError(
                f"{path}: the first record's cell {place + 1} holds a name or a code, no number: "
                "choose the columns of points with --columns"
            )
        if re.search(r"\d", row[place]) and np.isnan(dialect.number(row[place])):
            raise FileError(
                f"{path}: the first record's cell {place + 1} holds digits that are no number as "
                "they are written: say --decimal , for decimal commas; units and signs between "
                "thousands are not read"
            )


def select_names(names: Sequence[str], columns: Sequence[str], path: Path) -> list[int]:
    for name in columns:
        if names.count(name) != 1:
            how = "no column" if name not in names else f"{names.count(name)} columns"
            raise ValueError(f"{path}: {how} {name!r}; {listed(names)}")
    return [names.index(name) for name in columns]
