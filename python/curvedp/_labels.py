"""Labels of records, of any kind and in any container: persons, groups and classes.

    container -> an array in which a missing label is missing -> numbers, equal for equal labels

Public labels must have exact equality, and what has none raises. No private label raises.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable
from datetime import date
from enum import Enum
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Anything with one label for each record: array, list, Series, Arrow array.
LabelsLike = Any
Codes = NDArray[np.int64]

_MISSING_KINDS = ("NAType", "NaTType", "MaskedConstant")
#: Where types are defined whose equality is that of values.
_KNOWN = ("builtins", "numpy", "datetime", "decimal", "fractions", "pandas")


def as_labels(labels: LabelsLike, name: str) -> NDArray[Any]:
    """Labels as an array, None (of times NaT) where one is missing or masked.

    Entries of lists and columns stay what they are: a common dtype would let one of them decide
    which others are equal, as 0.5 or a missing value does for integers beyond 2^53, and a text for
    1 and 1.0.

    Raises
    ------
    TypeError
        For what is no container of labels.
    """
    if isinstance(labels, np.ma.MaskedArray):
        return _unmasked(labels)
    array = labels if isinstance(labels, np.ndarray) else None
    if array is None and hasattr(labels, "__array__"):
        with np.errstate(all="ignore"):
            array = np.asarray(labels)
        # integers some of which are missing are floats to NumPy alone
        array = None if array.dtype.kind == "f" and array.ndim == 1 else array
    if array is not None:
        return array.astype(object) if array.dtype.kind == "T" else np.asarray(array)
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
        raise TypeError(f"{name} must be one label for each record, got {type(labels).__name__}")
    entries = list(map(_unwrapped, labels))
    if all(map(_is_integer, entries)):
        return np.array(entries, dtype=np.int64)
    return np.fromiter(entries, dtype=object, count=len(entries))


def _unmasked(labels: Any) -> NDArray[Any]:
    """A masked array's labels."""
    masks: Any = np.ma
    array, mask = np.asarray(labels.data), masks.getmaskarray(labels)
    if mask.dtype.names is not None:
        mask = mask != np.zeros_like(mask)
    if not mask.any():
        return array
    kept = array.copy() if array.dtype.kind in "mM" else array.astype(object)
    kept[mask] = np.array("NaT", dtype=array.dtype) if array.dtype.kind in "mM" else None
    return kept


def _unwrapped(entry: Any) -> Any:
    """Python's value of an entry of an Arrow array, or what it is."""
    return entry.as_py() if type(entry).__module__.startswith("pyarrow") else entry


def _is_integer(entry: Any) -> bool:
    """True if an entry is an integer of 64 bits, Python's or NumPy's."""
    kind = type(entry)  # isinstance would ask the entry
    if kind is not int and not issubclass(kind, np.integer):
        return False
    return not issubclass(kind, np.timedelta64) and -(2**63) <= int(entry) < 2**63


def is_missing(label: Any) -> bool:
    """True for None, NaN, NaT, NA and masked entries."""
    if label is None or type(label).__name__ in _MISSING_KINDS:
        return True
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(label))
    return isinstance(label, (float, complex, np.inexact)) and bool(np.isnan(label))


def refuse_missing(labels: LabelsLike, name: str) -> None:
    """Raises if one of some public labels is missing."""
    array = as_labels(labels, name).ravel()
    if array.dtype.kind not in "iubSU" and any(map(is_missing, array)):
        raise ValueError(f"{name} must hold no missing label, such as None or NaN")


def has_missing_part(label: Hashable) -> bool:
    """True if a label of `exact_codes` is missing, or a part of a tuple is."""
    if isinstance(label, (tuple, frozenset)):
        return any(map(has_missing_part, label))
    return label is None


# ------------------------------------------------------------------------------- public labels


class _NoLabelError(Exception):
    """Error of an entry that is no public label; the text says what one must do."""


def _told(name: str) -> str:
    """Labels as messages call them."""
    return name if name == "labels" else f"labels of {name}"


def exact_codes(labels: NDArray[Any], name: str) -> tuple[list[Hashable], Codes]:
    """The labels that occur, and the number of each record's.

    Parameters
    ----------
    labels : ndarray, shape (n,)
        Public; see `as_labels`.
    name : str
        What messages call them.

    Raises
    ------
    TypeError
        For labels without exact equality.
    """
    if labels.dtype.kind in "iubSUmM":
        values, codes = np.unique(labels, return_inverse=True)
        times = values.dtype.kind in "mM"
        return [*map(_label, values)] if times else values.tolist(), codes.astype(np.int64)
    if labels.dtype.kind != "O":
        raise TypeError(
            f"{_told(name)} must have exact equality, such as texts and integers, got "
            f"{labels.dtype}: make them so by .astype(int) or .astype(str)"
        )
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((_number(entry, numbers) for entry in labels), np.int64, len(labels))
    except _NoLabelError as error:
        raise TypeError(f"{_told(name)} must {error}") from None
    return list(numbers), codes


def ordered_codes(labels: NDArray[Any], name: str) -> tuple[list[Hashable], Codes]:
    """`exact_codes` with the labels in an order that follows from which ones occur alone.

    Integers stand by size, then texts by their letters, then the rest; a missing label last. Of
    equal labels that are written differently the same one always stands for all.
    """
    found, codes = exact_codes(labels, name)
    if labels.dtype.kind != "O":
        return found, codes
    kinds = set(map(type, labels))
    if not (kinds <= {str, NoneType} or kinds <= {int, NoneType}):
        found = _first_written(map(_label, labels), codes)
    order = sorted(range(len(found)), key=lambda number: _place(found[number]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [found[number] for number in order], rank[codes]


def _number(entry: Any, numbers: dict[Hashable, int]) -> int:
    """The number of a label, a new one if it is new."""
    label = _label(entry)
    try:
        return numbers.setdefault(label, len(numbers))
    except Exception:  # whatever the comparison of two objects may do
        raise _NoLabelError(f"compare with others: {type(label).__name__} does not") from None


def _label(entry: Any) -> Hashable:
    """A public label; what is missing is None."""
    label: Hashable = entry
    if type(entry) in (str, int):
        return label
    if is_missing(entry):
        return None
    if isinstance(entry, (tuple, frozenset)):
        return type(entry)(map(_label, entry))
    if isinstance(entry, (float, complex, np.inexact)):
        raise _NoLabelError("have exact equality: floats do not")
    kind = type(entry).__name__
    try:
        hash(entry)
        equals_itself = bool(entry == entry)
    except Exception:  # whatever an object may do
        raise _NoLabelError(f"be hashable, got {kind}") from None
    if not (equals_itself and _compares_values(entry.__class__)):
        raise _NoLabelError(f"equal others of their value: {kind} does not")
    return label


@functools.cache
def _compares_values(kind: type) -> bool:
    """False for types whose objects equal themselves alone, unless there is one for each value."""
    if issubclass(kind, (Enum, NoneType)):
        return True
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])


def _first_written(labels: Iterable[Hashable], codes: Codes) -> list[Hashable]:
    """For each code that of its labels whose text comes first."""
    first: dict[int, tuple[str, str, Hashable]] = {}
    for label, code in zip(labels, codes.tolist(), strict=True):
        written = (repr(label), str(type(label)))
        if code not in first or written < first[code][:2]:
            first[code] = (*written, label)
    return [first[code][2] for code in range(len(first))]


def _place(label: Hashable) -> tuple[Any, ...]:
    """Key that orders labels of all kinds."""
    if label is None:
        return (6,)
    if isinstance(label, (int, np.integer, np.bool_)):
        return (0, int(label))
    if isinstance(label, (str, bytes)):
        return (1 if isinstance(label, str) else 2, label)
    if isinstance(label, tuple):
        return (3, tuple(map(_place, label)))
    if isinstance(label, frozenset):
        return (4, tuple(sorted(map(_place, label))))
    kind = type(label)
    told = kind.__repr__ is not object.__repr__ or kind.__str__ is not object.__str__
    return (5, kind.__qualname__, str(label) if told else "", hash(label))


# ------------------------------------------------------------------------------ private labels


def as_written(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of which equal ones are written alike: others in arrays of objects become None.

    Texts, integers and days stay. What one record calls its group must not change how the group of
    others is called, as 1 does with True, and ``Decimal("1")`` with ``Decimal("1.0")``.
    """
    if labels.dtype.kind != "O":
        return labels
    return np.fromiter(map(_written, labels), dtype=object, count=len(labels))


def _written(entry: Any) -> Hashable:
    kind = type(entry)
    if kind in (str, int, date):
        label: Hashable = entry
        return label
    if kind is np.str_:
        return str(entry)
    return int(entry) if _is_integer(entry) else None


def label_codes(labels: LabelsLike, n: int, name: str = "y") -> Codes:
    """Class numbers 0, 1, ... of n labels, equal for equal labels; no label's value raises.

    Parameters
    ----------
    labels : array-like, shape (n,) or (n, 1)
        Numbers, texts or Python objects. Missing ones, and those that cannot be compared, are one
        class.

    Raises
    ------
    ValueError, TypeError
        If there are not n labels.
    """
    array = _of_rows(labels, n, name)
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(n)
    numbers: dict[Hashable, int] = {}
    return np.fromiter((_private_number(entry, numbers) for entry in array), np.int64, n)


def codes_among(classes: NDArray[Any], labels: LabelsLike, n: int, name: str = "y") -> Codes:
    """The number of the public class of each of n private labels, -1 for others; none raises.

    Parameters
    ----------
    classes : ndarray, shape (K,)
    labels : array-like, shape (n,) or (n, 1)
        As in `label_codes`; a missing one has no class.

    Raises
    ------
    ValueError, TypeError
        If there are not n labels.
    """
    numbers: dict[Any, int] = {}
    for forms in (classes.tolist(), list(classes)):  # times have two
        numbers |= {label: number for number, label in enumerate(forms)}
    array = _of_rows(labels, n, name)
    entries = array if array.dtype.kind in "OmM" else array.tolist()
    return np.fromiter((_known_number(entry, numbers) for entry in entries), np.int64, n)


def named_codes(labels: LabelsLike, n: int, name: str) -> Codes:
    """As `label_codes`, with -1 for labels that are missing or cannot be compared.

    Parameters
    ----------
    labels : array-like, shape (n,) or (n, 1)
    n : int
    name : str
        What messages call them.

    Raises
    ------
    ValueError, TypeError
        If there are not n labels.
    """
    array = _of_rows(labels, n, name)
    if array.dtype.kind in "iubSU":
        return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(n)
    numbers: dict[Hashable, int] = {None: -1}
    return np.fromiter((_private_number(entry, numbers) for entry in array), np.int64, n)


def _of_rows(labels: LabelsLike, n: int, name: str) -> NDArray[Any]:
    """Private labels, shape (n,)."""
    array = as_labels(labels, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(
            f"{name} must hold one label for each of {n} records, got shape {array.shape}"
        )
    return array


def _private_number(entry: Any, numbers: dict[Hashable, int]) -> int:
    try:
        key = _private_key(entry)
        return numbers.setdefault(key, len(numbers))
    except Exception:  # whatever a label may do
        return numbers.setdefault(None, len(numbers))


def _known_number(entry: Any, numbers: dict[Any, int]) -> int:
    try:
        label = _alone(entry)
        return -1 if is_missing(label) else numbers.get(label, -1)
    except Exception:  # whatever a label may do
        return -1


def _private_key(entry: Any) -> Hashable:
    """A key that equal labels share. Objects of types that could say anything about others' labels
    are compared with those of their own type alone."""
    label: Hashable = _alone(entry)
    if is_missing(label):
        return None
    kind = type(label)
    if kind in (tuple, frozenset):
        return kind, kind(map(_private_key, entry))
    hash(label)
    return label if kind.__module__.partition(".")[0] in _KNOWN else (kind, label)


def _alone(entry: Any) -> Any:
    """A label, also where it stands alone in a row."""
    if isinstance(entry, np.ndarray) and entry.size == 1:
        return entry.ravel().tolist()[0]
    return entry[0] if isinstance(entry, (list, tuple)) and len(entry) == 1 else entry
