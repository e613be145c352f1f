"""curvedp beside geomstats, pyriemann and hand-vectorised NumPy: one process, interleaved.

    python benches/side_by_side.py --quick
    python benches/side_by_side.py --only "SPD(3),mean" --threads 1

Prints a Markdown table. A ratio is the peer's median time over curvedp's; absolute times drift with
the machine, ratios much less. ``max difference`` compares results, relative to the largest entry.
"""

from __future__ import annotations

import argparse
import logging
import os
import warnings


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute in all")
    parser.add_argument("--only", default="", help="rows whose name contains one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each function")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for each function")
    parser.add_argument("--list", action="store_true", help="print the rows' names and stop")
    return parser.parse_args()


def _limit_threads(threads: int) -> None:
    """Must run before NumPy is imported."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    os.environ["GEOMSTATS_BACKEND"] = "numpy"


def main() -> None:
    """Measure and print the selected rows."""
    arguments = _arguments()
    _limit_threads(arguments.threads)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")

    from harness import TABLE_HEAD, table_lines
    from rows import ROWS, descriptors, mail, maps, means, samplers  # noqa: F401

    if arguments.list:
        print("\n".join(ROWS.builders))
        return
    print(f"threads: {arguments.threads}, medians of up to {arguments.rounds} rounds\n")
    print(TABLE_HEAD, flush=True)
    rounds, budget = arguments.rounds, arguments.budget
    if arguments.quick:
        rounds, budget = min(rounds, 7), min(budget, 1.0)
    for name, build in ROWS.select(arguments.only):
        for line in table_lines(name, build(arguments.quick), rounds=rounds, budget=budget):
            print(line, flush=True)


if __name__ == "__main__":
    main()
