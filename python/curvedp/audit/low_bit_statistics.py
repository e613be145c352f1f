"""Statistics that see the low-order bits of released values and little else.

Each maps every release to a small whole number, its code. Which codes exist may depend on the draws
that are set aside for learning, never on those that are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.audit import exact
from curvedp.audit.exact import BitArray, IntArray
from curvedp.manifolds import Manifold

#: Codes of a statistic at most, but for those that count exponents.
N_CODES = 256

#: Trailing bits of each entry that are looked at.
TRAILING_BITS = range(1, 9)

#: Trailing bits of all entries together that are looked at.
JOINT_BITS = (1, 2, 4, 16)

_UNIT_EXPONENT = -54


@dataclass(frozen=True)
class Statistic:
    """Codes of all draws; events read "``name`` in {...}", with each code written by ``label``."""

    name: str
    codes: IntArray
    label: Callable[[int], str] = str


@dataclass(frozen=True)
class Values:
    """Released values, those at a before those at b.

    Attributes
    ----------
    entries : ndarray, shape (draws, entries)
    shape : tuple of int
        Of one value.
    learn : ndarray of bool, shape (draws,)
        Draws that may decide which codes there are.
    manifold : Manifold or None
        The manifold of the values; None if it is not known or they are no points.
    step : float or None
        The public grid's step.
    """

    entries: FloatArray
    shape: tuple[int, ...]
    learn: NDArray[np.bool_]
    manifold: Manifold | None
    step: float | None


def statistics_of(values: Values) -> Iterator[Statistic]:
    """All statistics of the values, one after the other."""
    columns = [np.ascontiguousarray(column) for column in values.entries.T]
    for index, column in enumerate(columns):
        where = f"entry {index}" if len(columns) > 1 else "the value"
        yield from _of_entry(where, column, values.learn)
        if values.step is not None:
            yield from _of_multiple(where, column, values.step, values.learn)
    yield from _of_all_entries(columns, values.learn)
    yield from _of_manifold(columns, values)
    if len(values.shape) == 2 and values.shape[0] == values.shape[1] > 1:
        yield _asymmetry(values)


def _of_entry(where: str, column: FloatArray, learn: NDArray[np.bool_]) -> Iterator[Statistic]:
    mantissa, _ = exact.mantissa_and_exponent(column)
    for k in TRAILING_BITS:
        yield Statistic(f"{_last(k)} of {where}", mantissa & (2**k - 1))
    yield Statistic(f"zero bits at the end of {where}", exact.trailing_zeros(mantissa))
    # from the least exponent of a double, -1074, on
    yield Statistic(
        f"exponent of the lowest bit of {where}",
        exact.lowest_bit(column) + 1074,
        lambda code: str(code - 1074),
    )
    yield frequent(f"bits of {where}", exact.bits(column), learn, hex)


def _of_multiple(
    where: str, column: FloatArray, step: float, learn: NDArray[np.bool_]
) -> Iterator[Statistic]:
    """The entry in steps of the grid: its whole part, and how far it lies off a multiple."""
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(column), column, 0.0)
        steps = np.where(np.abs(finite / step) < np.inf, finite / step, 0.0)
        whole = np.mod(np.floor(steps), float(N_CODES)).astype(np.int64)
        off = (steps - np.rint(steps)) / np.spacing(np.abs(steps))
        ulps = np.where(np.isfinite(off), off, 0.0).astype(np.int64)
    for k in (1, 2, 4, 8):
        yield Statistic(f"{_last(k)} of the steps in {where}", whole & (2**k - 1))
    name = f"distance of {where} from the grid, in units of its last bit,"
    yield from defects(name, ulps, learn)


def _of_all_entries(columns: list[FloatArray], learn: NDArray[np.bool_]) -> Iterator[Statistic]:
    patterns = [exact.bits(column) for column in columns]
    for k in JOINT_BITS:
        mask = np.uint64(2**k - 1)
        word = exact.mix([pattern & mask for pattern in patterns])
        name = f"{_last(k)} of all entries"
        yield Statistic(f"hash of the {name}", (word >> np.uint64(56)).astype(np.int64))
        yield frequent(f"{name}, by hash,", word, learn, hex)
    yield frequent("the whole value, by hash,", exact.mix(patterns), learn, hex)


def _of_manifold(columns: list[FloatArray], values: Values) -> Iterator[Statistic]:
    """The exact defect of the equations that points of the manifold satisfy."""
    manifold, learn = values.manifold, values.learn
    if manifold is None or values.shape != tuple(manifold.point_shape):
        return
    for equation in manifold._equations():
        part = columns[equation.entries]
        unit_exponent = _UNIT_EXPONENT * (1 if equation.is_squared else 2)
        found = exact.weighted_sum(
            part,
            [equation.first, *[1] * (len(part) - 1)],
            squared=equation.is_squared,
            constant=-equation.value,
            unit_exponent=unit_exponent,
        )
        yield from defects(f"{equation.name} in units of 2^{unit_exponent}", found, learn)


def _asymmetry(values: Values) -> Statistic:
    """The exact differences of entries beside the diagonal: equal entries differ by 0."""
    matrices = values.entries.reshape(-1, *values.shape)
    rows, cols = np.triu_indices(values.shape[0], 1)
    with np.errstate(invalid="ignore"):
        differences = matrices[:, rows, cols] - matrices[:, cols, rows]
    # the difference of doubles is 0 only for equal ones, and -0.0 counts as 0.0
    words = [exact.bits(column + 0.0) for column in differences.T]
    symmetric = exact.mix([np.zeros(1, dtype=np.uint64)] * len(words))
    word = np.where((differences == 0.0).all(axis=1), symmetric, exact.mix(words))
    return frequent("asymmetry of the value, by hash,", word, values.learn, hex)


def defects(name: str, found: IntArray, learn: NDArray[np.bool_]) -> Iterator[Statistic]:
    """A whole number of any size: its frequent values, its size and its last bits."""
    as_signed = frequent(name, found.view(np.uint64), learn, lambda word: str(_signed(word)))
    yield as_signed
    size = np.frexp(np.abs(found).astype(np.float64))[1].astype(np.int64)
    yield Statistic(
        f"bits of the {name}, with its sign,",
        np.where(found < 0, -size, size) + 64,
        lambda code: str(code - 64),
    )
    yield Statistic(f"last 8 bits of the {name}", found & (N_CODES - 1))


def frequent(
    name: str, words: BitArray, learn: NDArray[np.bool_], label: Callable[[int], str]
) -> Statistic:
    """Exact values: those seen most often while learning, and at least twice; code 0 for the rest.

    Words that occur at one data set only, such as values that repeat, are found here.
    """
    seen, counts = np.unique(words[learn], return_counts=True)
    order = np.argsort(-counts, kind="stable")[: N_CODES - 1]
    kept = np.sort(seen[order[counts[order] > 1]])
    codes = np.zeros(words.shape, dtype=np.int64)
    if kept.size:
        place = np.minimum(np.searchsorted(kept, words), kept.size - 1)
        codes = np.where(kept[place] == words, place + 1, 0)
    table = kept.tolist()
    return Statistic(name, codes, lambda code: label(table[code - 1]) if code else "none of those")


def _last(k: int) -> str:
    return f"last {k} bits" if k > 1 else "last bit"


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word
