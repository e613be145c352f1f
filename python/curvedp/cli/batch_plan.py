"""Plan that ``curvedp batch --dry-run`` prints: cost, expected errors, time and memory."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from curvedp._text import rounded_down
from curvedp.privacy import Ledger
from curvedp.privacy.group_report import of_all_text
from curvedp.privacy.wording import limits_of_error

__all__ = ["print_plan"]


def print_plan(
    console: Console, parameters: Any, source: str, book: Ledger | None, chunk_rows: int | None
) -> None:
    """Budget, expected error by size of group, and cost."""
    from curvedp.batch.files import location_of
    from curvedp.batch.outlook import outlook_of
    from curvedp.batch.parquet import Source
    from curvedp.batch.results import composition
    from curvedp.batch.sizes import group_sizes

    file = Source(location_of(source), [*parameters.by, *parameters.columns.names])
    sizes = group_sizes(file, parameters.by, parameters.units)
    call, (designs, choice), uncounted = parameters.planned(sizes)
    chosen = {n: designs[number] for n, number in zip(sorted(sizes), choice.tolist(), strict=True)}
    left_out = sum(sizes[n] for n, design in chosen.items() if design is None)
    groups, total = sum(sizes.values()), sum(n * count for n, count in sizes.items())
    counted = "records" if parameters.units is None else "persons"
    read = f"{file.files} file{'s' if file.files > 1 else ''}"
    if parameters.units is None:  # how many records persons have is protected
        read += f", {file.rows} rows"
    by_name = () if parameters.units is None else ("units-by-name",)
    inside = f"{total} in {groups} groups by {', '.join(parameters.by)}"
    if parameters.units is not None and call.groups_per_unit > 1:
        inside += ", each counted in every group that it is in"
    asked = (call.promised, call.total, call.groups_per_unit, groups - left_out, by_name)
    rows = [
        ("input", read),
        (counted, inside),
        ("each group", str(call.promised)),
        ("cost of all", of_all_text(*asked)),
        ("skipped", f"{left_out} groups, too small for the noise to exist"),
        ("coverage", f"not counted: {uncounted}" if uncounted else "counted, with a small share"),
    ]
    told = outlook_of(parameters, sizes, chunk_rows)
    rows += [
        ("time", f"about {told.seconds:.2g} s to release all, without reading them"),
        (
            "memory",
            f"about {told.memory / 1e6:.3g} MB, besides Python and its libraries",
        ),
        ("result", f"about {told.result / 1e6:.3g} MB, less on disk"),
    ]
    if book is not None:
        left = "nothing" if book.remaining is None else book.remaining.as_rest()
        rows.append(("ledger", f"remaining {left} of {book.budget}"))
    for name, text in rows:
        console.print(f"{name:<16} {text}", markup=False)
    extent, name = call.statistic.extent(call)
    is_known = not math.isnan(extent)
    what = "Largest expected error" if is_known else "Noise"
    table = Table(title=f"{what} by size of group, also as a share of the {name}")
    for column in (counted, "groups", "noise scale", "expected error", "share"):
        table.add_column(column, justify="right")
    for n in _typical(sizes):
        design = chosen[n]
        if design is None:
            table.add_row(str(n), str(sizes[n]), "-", "-", "-")
            continue
        scale, error = call.statistic.outlook(call, design, n)
        of_noise = call.statistic.noise_share(call, design, n)
        part = error / extent if is_known else of_noise
        known = [
            "-" if math.isnan(number) else text
            for number, text in ((error, f"{error:.4g}"), (part, f"{100 * part:.2g} %"))
        ]
        table.add_row(str(n), str(sizes[n]), rounded_down(scale, 4), *known)
    console.print(table)
    if limits := limits_of_error(call.statistic.title):
        console.print(f"Expected errors: {limits}.", markup=False)
    console.print(composition(parameters, groups - left_out, call.total), markup=False)
    console.print("Nothing was spent or released.", markup=False)


def _typical(sizes: Counter[int]) -> list[int]:
    """The smallest, the largest and the quantiles of the sizes of groups."""
    ordered = np.array(sorted(sizes), dtype=np.int64)
    cumulative = np.cumsum([sizes[int(n)] for n in ordered])
    levels = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]) * cumulative[-1]
    found = ordered[np.minimum(np.searchsorted(cumulative, levels), len(ordered) - 1)]
    return sorted(set(found.tolist()))
