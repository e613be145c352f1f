"""curvedp beside geomstats, pyriemann, SciPy and hand-vectorised NumPy: one process, interleaved.

    python benches/side_by_side.py --quick
    python benches/side_by_side.py --only "SPD(3),mean" --threads 1
    python benches/side_by_side.py --write docs/measured/performance.md

Prints Markdown tables. A ratio is the peer's median time over curvedp's; absolute times drift with
the machine, ratios much less. A ratio below its target names the target. ``max difference``
compares results, relative to the largest entry.
``--write`` puts what was measured between the markers of a page, row by row as it goes.
"""

from __future__ import annotations

import argparse
import logging
import os
import warnings
from pathlib import Path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, two minutes in all")
    parser.add_argument("--only", default="", help="rows whose name contains one of these words")
    parser.add_argument("--tables", help="these tables only, separated by commas")
    parser.add_argument("--threads", type=int, help="instead of each table's own number")
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each function")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for each function")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="update the tables of a page")
    parser.add_argument("--list", action="store_true", help="print tables and rows and stop")
    arguments = parser.parse_args()
    if arguments.write and arguments.threads:
        parser.error("--write keeps each table's own number of threads: leave --threads out")
    return arguments


def _limit_threads(threads: int) -> None:
    """Must run before NumPy is imported: pools cannot grow later."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    os.environ["GEOMSTATS_BACKEND"] = "numpy"


def main() -> None:
    """Measure and print the selected rows."""
    arguments = _arguments()
    _limit_threads(arguments.threads or 2)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")

    from threadpoolctl import threadpool_limits

    import curvedp as cdp
    from harness import TABLE_HEAD, table_lines
    from page import with_rows
    from rows import TABLES, load

    registry = load()
    if arguments.list:
        for table in TABLES:
            print("\n".join(f"{table}: {name}" for name in registry.table(table)))
        return
    chosen = dict(registry.select(arguments.only))
    rounds, budget = arguments.rounds, arguments.budget
    if arguments.quick:
        rounds, budget = min(rounds, 7), min(budget, 1.0)
    wanted = arguments.tables.split(",") if arguments.tables else list(TABLES)
    for table in wanted:
        threads, order = arguments.threads or TABLES[table], registry.table(table)
        names = [name for name in order if name in chosen]
        if not names:
            continue
        cdp.set_num_threads(threads)
        print(f"\n{table}, {threads} thread(s), medians of up to {rounds} rounds\n")
        print(TABLE_HEAD, flush=True)
        with threadpool_limits(limits=threads):
            for name in names:
                row = chosen[name](arguments.quick)
                lines = list(table_lines(name, row, rounds=rounds, budget=budget))
                print("\n".join(lines), flush=True)
                if arguments.write:
                    text = arguments.write.read_text(encoding="utf-8")
                    text = with_rows(text, table, {name: lines}, order)
                    arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
