"""Interleaved timing of several implementations of the same thing, and the table of ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_TICK = 2e-3


@dataclass(frozen=True)
class Peer:
    """An implementation to compare with.

    ``target`` is the ratio peer / curvedp to reach (None: shown for information). ``comparable``
    says whether its result is the same array as curvedp's, up to rounding. ``work`` is the share of
    the row's work that one call does, for peers too slow to do it all.
    """

    run: Callable[[], Any]
    target: float | None = None
    comparable: bool = True
    work: float = 1.0


@dataclass(frozen=True)
class Row:
    """One line of work: curvedp's way and everybody else's.

    ``before`` is what to do, untimed, before curvedp's turn; ``rest`` are seconds of rest before
    every turn, for threads of the one before to fall asleep.
    """

    size: str
    curvedp: Callable[[], Any]
    peers: dict[str, Peer]
    before: Callable[[], Any] | None = None
    rest: float = 0.0


@dataclass
class Registry:
    """Rows by name; a row is built only when it is asked for."""

    builders: dict[str, Callable[[bool], Row]] = field(default_factory=dict)

    def add(self, name: str) -> Callable[[Callable[[bool], Row]], Callable[[bool], Row]]:
        """Decorator: registers a function from ``quick`` to a Row."""

        def register(builder: Callable[[bool], Row]) -> Callable[[bool], Row]:
            self.builders[name] = builder
            return builder

        return register

    def table(self, name: str) -> list[str]:
        """Names of the rows that one module registered, in its order."""
        return [row for row, build in self.builders.items() if build.__module__ == f"rows.{name}"]

    def select(self, only: str) -> Iterator[tuple[str, Callable[[bool], Row]]]:
        """Rows whose name contains one of the comma-separated words."""
        words = [word.strip().lower() for word in only.split(",")]
        for name, builder in self.builders.items():
            if any(word in name.lower() for word in words):
                yield name, builder


def medians(
    functions: dict[str, Callable[[], Any]],
    *,
    rounds: int,
    budget: float,
    before: dict[str, Callable[[], Any]] | None = None,
    rest: float = 0.0,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of every function and the result of its first call.

    Functions are measured in turn, so that drift hits all alike. Short calls are repeated within a
    round; a function that has used up ``budget`` seconds, warm-up included, is not called again.
    ``before`` names what to do, untimed, before a function's turn, ``rest`` the seconds of rest
    before every turn.
    """
    repeats, spent, times, results = {}, {}, {}, {}
    ready = {name: (before or {}).get(name, lambda: None) for name in functions}
    for name, function in functions.items():
        ready[name]()
        time.sleep(rest)
        start = time.perf_counter()
        results[name] = function()
        once = spent[name] = time.perf_counter() - start
        repeats[name] = max(1, round(_TICK / max(once, 1e-9)))
        times[name] = [once] if once > budget else []
    for _ in range(rounds):
        for name, function in functions.items():
            if times[name] and spent[name] > budget:
                continue
            count = repeats[name]
            ready[name]()
            time.sleep(rest)
            start = time.perf_counter()
            for _ in range(count):
                function()
            elapsed = time.perf_counter() - start
            times[name].append(elapsed / count)
            spent[name] += elapsed
    return {name: statistics.median(values) for name, values in times.items()}, results


def _difference(result: Any, reference: Any) -> str:
    reference = np.asarray(reference)
    scale = float(np.abs(reference).max()) or 1.0
    return f"{float(np.abs(np.asarray(result) - reference).max()) / scale:.0e}"


def table_lines(name: str, row: Row, *, rounds: int, budget: float) -> Iterator[str]:
    """Markdown lines of one row: one line for each peer."""
    functions = {peer: case.run for peer, case in row.peers.items()}
    seconds, results = medians(
        {**functions, "curvedp": row.curvedp},
        rounds=rounds,
        budget=budget,
        before={"curvedp": row.before} if row.before else None,
        rest=row.rest,
    )
    ours = seconds["curvedp"]
    for peer, case in row.peers.items():
        theirs = seconds[peer] / case.work
        ratio = theirs / ours
        missed = case.target is not None and ratio < case.target
        target = f" (target {case.target:g})" if missed else ""
        agreement = _difference(results["curvedp"], results[peer]) if case.comparable else "-"
        yield (
            f"| {name} | {row.size} | {peer} | {1e3 * theirs:.4g} | {1e3 * ours:.4g} "
            f"| {ratio:.2f}{target} | {agreement} |"
        )


TABLE_HEAD = (
    "| row | size | peer | peer ms | curvedp ms | ratio | max difference |\n"
    "|---|---|---|---|---|---|---|"
)
