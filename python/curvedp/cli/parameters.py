"""Options of the command line turned into a manifold, a ball and a guarantee.

All of these are public: they come from the person who asks, never from the records, so messages
may quote them.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curvedp.checked_domain import WholeSpace
from curvedp.cli.csv_files import Dialect
from curvedp.cli.tables import SUFFIXES, FileError, as_points, read_table
from curvedp.domain import Ball
from curvedp.manifolds import Manifold, as_manifold
from curvedp.privacy import GDP, ZCDP, ApproxDP, Ledger, PureDP, Release

__all__ = [
    "LEDGER_OPTIONS",
    "Guarantee",
    "open_ledger",
    "parse_ball",
    "parse_guarantee",
]

Guarantee = PureDP | ApproxDP | ZCDP | GDP
Array = NDArray[np.float64]

_BUDGET_ENTRY = re.compile(r"(epsilon|delta|rho|mu)\s*=\s*(\d[\d.]*(?:e[+-]?\d+)?)")
#: Centres that have a name, as a message lists them.
_NAMES = "identity or a multiple, as 0.7*identity, for matrices; origin"
_IDENTITY = re.compile(r"(?:(?P<factor>[0-9.eE+-]+)\s*\*\s*)?identity")


def parse_guarantee(
    epsilon: float | None, delta: float | None, rho: float | None, mu: float | None
) -> Guarantee:
    """The guarantee that exactly one of the budgets asks for.

    Raises
    ------
    ValueError
        None or several of epsilon, rho and mu, or delta without epsilon, or a value out of range.
    """
    given = {"--epsilon": epsilon, "--rho": rho, "--mu": mu}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(
            "give one budget: --epsilon (with --delta for approximate DP), --rho (zCDP) "
            "or --mu (GDP)"
        )
    if delta is not None and epsilon is None:
        raise ValueError(f"--delta goes with --epsilon, not with {named[0]}")
    if epsilon is not None:
        return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    if rho is not None:
        return ZCDP(rho)
    assert mu is not None
    return GDP(mu)


#: Names of options, in the order in which `open_ledger` takes them.
LEDGER_OPTIONS = ("ledger", "ledger_budget", "ledger_data", "ledger_unit")


def open_ledger(
    path: Path | None, budget: str | None = None, data: str | None = None, unit: str | None = None
) -> AbstractContextManager[Ledger | None]:
    """The ledger of a file with its total budget, such as ``epsilon=3`` or ``mu=1``, and its names.

    Raises
    ------
    ValueError
        A budget or name without a file, a new file without a budget, or a budget that cannot be
        read.
    LedgerError
        The file is no ledger or has another budget, data set or unit.
    FileError
        The file cannot be created or opened.
    """
    if path is None:
        for name, own in (("budget", budget), ("data", data), ("unit", unit)):
            if own is not None:
                raise ValueError(f"--ledger-{name} goes with --ledger")
        return nullcontext()
    names = {"data": data or "", "unit": unit or ""}
    for name, own in names.items():
        if not own.isprintable():
            raise ValueError(f"--ledger-{name} must be a plain text")
    if budget is None:
        if not path.exists():
            raise ValueError(f"--ledger {path} is new: say its budget with --ledger-budget")
        with Ledger.open(path) as known:
            return Ledger(known.budget, path=path, **names)
    given = dict(_BUDGET_ENTRY.findall(budget))
    if ",".join(f"{name}={value}" for name, value in given.items()) != budget.replace(" ", ""):
        raise ValueError(
            f"--ledger-budget {budget}: write epsilon=3, epsilon=3,delta=1e-6, rho=0.5 or mu=1"
        )
    values = {name: float(value) for name, value in given.items()}
    total = parse_guarantee(*(values.get(name) for name in ("epsilon", "delta", "rho", "mu")))
    try:
        return Ledger(total, path=path, **names)
    except OSError as error:
        raise FileError(f"--ledger {path}: cannot be used ({error.strerror})") from error


def parse_ball(manifold: str, center: str | None, radius: float | None) -> Ball:
    """The public ball, or the whole manifold without a centre and a radius.

    Raises
    ------
    ValueError
        Unknown manifold, a centre that is not a point of it, a radius beyond its bound, or one of
        the two alone.
    FileError
        The centre names a file that cannot be read.
    """
    space = as_manifold(manifold)
    if center is None and radius is None:
        return WholeSpace(space)
    if center is None or radius is None:
        raise ValueError("give both --center and --radius of a public ball, or neither")
    return Ball(space, _parse_center(center, space), radius)


def _parse_center(text: str, manifold: Manifold) -> Array:
    """A name (``identity``, ``0.8*identity``, ``origin``), numbers, or a file."""
    named = _IDENTITY.fullmatch(text.strip())
    if named:
        if manifold._origin_name != "identity":
            raise ValueError(f"--center {text}: {manifold.spec} has no identity")
        return np.multiply(float(named["factor"] or 1.0), manifold.origin)
    if text.strip() == "origin":
        if manifold._origin_name != "origin":
            raise ValueError(f"--center origin: {manifold.spec} has no origin")
        return manifold.origin
    try:
        numbers = np.array([[float(entry) for entry in text.split(",")]])
    except ValueError:
        return _center_from_file(Path(text), manifold)
    point: Array = as_points(numbers, manifold, f"--center {text}")[0]
    return point


def _center_from_file(path: Path, manifold: Manifold) -> Array:
    if not path.is_file():
        raise FileError(
            f"--center {path}: neither a known name ({_NAMES}), nor numbers separated by commas, "
            "nor a file"
        )
    if path.suffix.lower() == ".json":
        try:
            release = Release.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"--center {path}: not a release written by curvedp") from error
        table = np.asarray(release.value, dtype=np.float64)[None]
    elif path.suffix.lower() in SUFFIXES:
        is_csv = path.suffix.lower() == ".csv"
        table = read_table(path, dialect=Dialect(header=not is_csv))
        if table.shape == manifold.point_shape:
            table = table[None]
    else:
        raise FileError(f"--center {path}: the name must end in .json or {', '.join(SUFFIXES)}")
    points = as_points(table, manifold, f"--center {path}")
    if len(points) != 1:
        raise FileError(f"--center {path}: {len(points)} points instead of one")
    point: Array = points[0]
    return point
