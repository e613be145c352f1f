"""Dialects of csv files: how each is written, the options with which it is read, why it is refused.

The tests of `cli` run every one; `tests/input_table.py` writes docs/measured/inputs.md.
"""

import bz2
import gzip

import numpy as np


def directions():
    found = np.random.default_rng(0).normal([0.3, 0.1, 1.0], 0.1, (400, 3))
    return np.round(found / np.linalg.norm(found, axis=1, keepdims=True), 6)


def write(
    path,
    *,
    sep=",",
    decimal=".",
    names="x,y,z",
    encoding="utf-8",
    end="",
    quote="",
    first="",
    eol="\n",
    second=None,
    cell=str,
    pack=bytes,
):
    lines = [] if names is None else [names.replace(",", sep)]
    lines += [] if second is None else [second]
    for row in directions():
        cells = [quote + cell(f"{own:.6f}").replace(".", decimal) + quote for own in row]
        lines.append(sep.join(cells) + end)
    path.write_bytes(pack((first + eol.join(lines) + eol).encode(encoding)))
    return path


_ARABIC = str.maketrans(
    "0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669"
)


def _thousands(sign):
    return lambda own: f"{float(own) * 1e6:,.0f}".replace(",", sign)


#: Read: how it is written, and what must be said.
READ = {
    "plain": ({}, []),
    "a byte order mark": ({"encoding": "utf-8-sig"}, []),
    "lines of Windows": ({"eol": "\r\n"}, []),
    "lines of old Macs": ({"eol": "\r"}, []),
    "quoted": ({"quote": '"'}, []),
    "spaces": ({"sep": ", "}, []),
    "quoted, with spaces": ({"sep": ", ", "quote": '"'}, []),
    "no names": ({"names": None}, ["--no-header"]),
    "semicolons": ({"sep": ";"}, ["--delimiter", ";"]),
    "semicolons, decimal commas": (
        {"sep": ";", "decimal": ","},
        ["--delimiter", ";", "--decimal", ","],
    ),
    "semicolons, decimal commas, no names": (
        {"sep": ";", "decimal": ",", "names": None},
        ["--delimiter", ";", "--decimal", ",", "--no-header"],
    ),
    "quoted decimal commas": ({"decimal": ",", "quote": '"'}, ["--decimal", ","]),
    "tabs": ({"sep": "\t"}, ["--delimiter", "tab"]),
    "bars": ({"sep": "|"}, ["--delimiter", "|"]),
    "UTF-16": ({"encoding": "utf-16"}, ["--encoding", "utf-16"]),
    "UTF-16 without a mark": ({"encoding": "utf-16-be"}, ["--encoding", "utf-16-be"]),
    "UTF-32": ({"encoding": "utf-32"}, ["--encoding", "utf-32"]),
    "Latin": (
        {"encoding": "latin-1", "names": "größe,y,z"},
        ["--encoding", "latin-1", "--columns", "größe,y,z"],
    ),
    "a comma at the end": ({"end": ",", "names": "x,y,z,"}, ["--columns", "x,y,z"]),
    "minus signs of typesetters": ({"cell": lambda own: own.replace("-", "\u2212")}, []),
    "digits of another script": ({"cell": lambda own: own.translate(_ARABIC)}, []),
    "numbers of columns for names": ({"names": "0,1,2"}, []),
    "names like marks of packed files": ({"names": "PAR1,PAR2,BZh9"}, []),
    "a semicolon in a name": ({"names": "x;1,y,z"}, ["--delimiter", ","]),
}

#: Refused: how it is written, what is said, a word of the error.
REFUSED = {
    "UTF-16": ({"encoding": "utf-16"}, [], "--encoding utf-16"),
    "UTF-16, little end first": ({"encoding": "utf-16-le"}, [], "zero bytes"),
    "UTF-16, big end first": ({"encoding": "utf-16-be"}, [], "zero bytes"),
    "UTF-16 said to be Latin": ({"encoding": "utf-16"}, ["--encoding", "latin-1"], "zero bytes"),
    "UTF-32": ({"encoding": "utf-32"}, [], "--encoding utf-32"),
    "UTF-32 without a mark": ({"encoding": "utf-32-le"}, [], "zero bytes"),
    "Latin": ({"encoding": "latin-1", "names": "größe,y,z"}, [], "not UTF-8"),
    "semicolons": ({"sep": ";"}, [], "--delimiter ';'"),
    "semicolons, decimal commas": ({"sep": ";", "decimal": ","}, [], "--delimiter ';'"),
    "tabs": ({"sep": "\t"}, [], "--delimiter tab"),
    "bars": ({"sep": "|"}, [], "--delimiter '|'"),
    "spaces": ({"sep": " "}, [], "no number"),
    "quoted decimal commas": ({"decimal": ",", "quote": '"'}, [], "--decimal ,"),
    "decimal commas": ({"decimal": ","}, [], "3 names and the first record 6 cells"),
    "a point where commas are said": ({}, ["--decimal", ","], "no number"),
    "a comma at the end": ({"end": ","}, [], "3 names and the first record 4 cells"),
    "units": ({"end": " m"}, [], "no number"),
    "names that are a record": ({"names": "0.28,0.07,0.95"}, [], "--no-header"),
    "names that are a record of whole numbers": ({"names": "1,0,0"}, [], "--no-header"),
    "a line of units": ({"second": "m,m,m"}, [], "words in place of numbers"),
    "words": ({"cell": lambda own: "high"}, [], "words in place of numbers"),
    "signs between thousands": ({"cell": _thousands("'")}, [], "no number"),
    "quoted signs between thousands": (
        {"cell": _thousands(","), "quote": '"'},
        [],
        "no number",
    ),
    "hexadecimal numbers": ({"cell": lambda own: float(own).hex()}, [], "no number"),
    "numbers of Fortran": ({"cell": lambda own: f"{own}D+00"}, [], "no number"),
    "percent": ({"cell": lambda own: f"{own}%"}, [], "no number"),
    "zero bytes in cells": ({"cell": lambda own: f"{own}\0"}, [], "no number"),
    "open quotes": ({"cell": lambda own: f'"{own}'}, [], "3 names and the first record 2 cells"),
    "lines ended by U+2028": ({"eol": "\u2028"}, [], "no record"),
    "compressed": ({"pack": gzip.compress}, [], "a file of gzip"),
    "compressed in two parts": ({"pack": lambda own: gzip.compress(own) * 2}, [], "a file of gzip"),
    "compressed, said to be Latin": (
        {"pack": bz2.compress},
        ["--encoding", "latin-1"],
        "a file of bzip2",
    ),
    "a Parquet file": ({"pack": lambda own: b"PAR1\x15\x04" + own}, [], "a file of Parquet"),
    "nothing": ({"pack": lambda own: b""}, [], "empty"),
    "names alone": ({"pack": lambda own: own[:6]}, [], "no record"),
    "a note": ({"first": "# exported\n"}, [], "1 names and the first record 3 cells"),
}
