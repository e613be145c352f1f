"""Keys of groups: named columns of a table, their order, their names, and those that are public.

Values of group keys may raise where they are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._arrow import pa, pc
from curvedp._text import listed
from curvedp.errors import BatchError
from curvedp.statistics.grouping import Names, Offsets

__all__ = [
    "Hashes",
    "Table",
    "group_names",
    "grouped",
    "hashes_of",
    "in_order",
    "key_columns",
    "key_hashes",
    "key_schema",
    "numbered_keys",
    "runs",
    "select",
    "unit_codes",
    "unit_hashes",
    "whole_column",
]

Table = Any
#: Hashes of names, of 64 bits.
Hashes = NDArray[np.uint64]

#: Where a field's metadata name a type that this process has not registered.
_EXTENSION = b"ARROW:extension:name"


def select(schema: Any, names: Sequence[str]) -> None:
    """Raises unless every name is one column, of a type that is known here."""
    for name in names:
        found = schema.get_all_field_indices(name)
        if len(found) != 1:
            how = "no column" if not found else f"{len(found)} columns"
            raise BatchError(f"{how} {name!r}; {listed(schema.names)}")
        said = (schema.field(found[0]).metadata or {}).get(_EXTENSION)
        if said is not None:
            raise BatchError(
                f"column {name!r} holds the type {said.decode(errors='replace')!r}, which is not "
                "known here: write what it is stored as without that name"
            )


def whole_column(column: Any) -> Any:
    """A column as one array; copied only if it is not."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def key_columns(table: Table, by: Sequence[str]) -> Table:
    """The columns of group keys, dictionaries spelled out.

    Raises
    ------
    BatchError
        For a missing column or a type without exact equality (numbers with a fraction, lists).
    """
    select(table.schema, by)
    return pa.table({name: _key(table.column(name), name) for name in by})


def key_schema(schema: Any, by: Sequence[str]) -> Any:
    """The schema of `key_columns`."""
    select(schema, by)
    return key_columns(pa.schema([schema.field(name) for name in by]).empty_table(), by).schema


def _key(column: Any, name: str) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    types = pa.types
    if types.is_string_view(kind) or types.is_binary_view(kind):
        kind = pa.large_string() if types.is_string_view(kind) else pa.large_binary()
        column = column.cast(kind)
    exact = (
        types.is_integer(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )
    if not exact:
        raise BatchError(
            f"the group key {name!r} holds {kind}: keys are integers, booleans, strings, dates or "
            "timestamps"
        )
    if types.is_date64(kind):  # milliseconds that need not be whole days
        column = pc.floor_temporal(column, unit="day")
    return column


def runs(keys: Table) -> tuple[Table, Offsets]:
    """The key of each run of equal neighbours, and the number of its rows."""
    offsets = _run_offsets(keys)
    return keys.take(pa.array(offsets[:-1])).combine_chunks(), np.diff(offsets)


def grouped(keys: Table) -> tuple[Table, Offsets, NDArray[np.int64] | None]:
    """The keys of groups in order, numbers of their rows, and in which order the rows stand then.

    None for an order in which they stand already; rows of a group keep theirs.
    """
    firsts, n = runs(keys)
    if in_order(firsts):
        return firsts, n, None
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    firsts, n = runs(keys.take(order).combine_chunks())
    return firsts, n, order.to_numpy()


def _run_offsets(keys: Table) -> Offsets:
    """Beginnings of runs of equal keys, and the number of rows."""
    ends = [np.zeros(1, dtype=np.int64)]
    for column in keys.columns:
        done = 0
        for chunk in column.chunks:
            if len(chunk):
                ends.append(done + _run_ends(chunk))
                done += len(chunk)
    offsets = np.concatenate(ends)
    if keys.num_columns > 1:  # those of one column are in order as they come
        offsets.sort()
        offsets = offsets[np.append(np.diff(offsets) > 0, True)]
    return _joined(keys, offsets)


def _run_ends(keys: Any) -> Offsets:
    """Ends of runs of equal neighbours."""
    if pa.types.is_integer(keys.type) and not keys.null_count:
        values = keys.to_numpy()
        return np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, len(values))
    ends = pc.run_end_encode(keys, run_end_type=pa.int64()).run_ends
    return np.asarray(ends.to_numpy(zero_copy_only=False), dtype=np.int64)


def _joined(keys: Table, offsets: Offsets) -> Offsets:
    """Offsets without those between equal keys, which chunks of a column leave behind."""
    if all(column.num_chunks <= 1 for column in keys.columns) or len(offsets) < 3:
        return offsets
    seams = {0}
    for column in keys.columns:
        seams.update(np.cumsum([len(chunk) for chunk in column.chunks]).tolist())
    doubtful = [at for at in sorted(seams) if 0 < at < len(keys)]
    equal = [at for at in doubtful if _same(keys, at - 1, at)]
    return np.delete(offsets, np.searchsorted(offsets, equal))


def _same(keys: Table, one: int, other: int) -> bool:
    """Test two rows of keys for equality; as Python objects two instants of time may seem equal."""
    return all(column[one].equals(column[other]) for column in keys.columns)


def in_order(keys: Table) -> bool:
    """True if rows of keys never decrease, nulls last."""
    first = keys.column(0)
    if keys.num_columns == 1 and pa.types.is_integer(first.type) and not first.null_count:
        numbers = first.to_numpy()
        return bool((numbers[1:] >= numbers[:-1]).all())
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return bool(np.array_equal(order.to_numpy(), np.arange(len(keys))))


def group_names(keys: Table) -> Names:
    """One byte string per row of keys, different for different rows.

    Each key is written as its length, a colon and its text, a missing one as "-": no two rows of
    keys are written alike.
    """
    if not len(keys):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    tokens = []
    for column in keys.columns:
        text = _text(whole_column(column))
        length = pc.cast(pc.binary_length(text), pa.large_string()).cast(pa.large_binary())
        colon = pa.scalar(b":", pa.large_binary())
        written = pc.binary_join_element_wise(length, text, colon)
        tokens.append(pc.fill_null(written, pa.scalar(b"-", pa.large_binary())))
    comma = pa.scalar(b",", pa.large_binary())
    whole = tokens[0] if len(tokens) == 1 else pc.binary_join_element_wise(*tokens, comma)
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    _, ends, data = whole.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    text_bytes = np.frombuffer(data or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    return text_bytes, offsets - offsets[0]


def hashes_of(keys: Table) -> Hashes:
    """The hash of every row of keys."""
    firsts, n = runs(keys)
    hashes = np.empty(len(n), dtype=np.uint64)
    _core.hash_names(*group_names(firsts), hashes)
    return np.repeat(hashes, n)


def key_hashes(keys: Table) -> Hashes:
    """A hash of every row of keys, for integers without their names.

    Keys of one column of integers, none of which is missing, have one hash each: those of
    SplitMix64 are a permutation.
    """
    if not all(pa.types.is_integer(kind) for kind in keys.schema.types):
        return hashes_of(keys)
    found = np.zeros(len(keys), dtype=np.uint64)
    for column in keys.columns:
        missing = column.is_null() if column.null_count else None
        numbers = column if missing is None else column.fill_null(0)
        found += numbers.to_numpy().astype(np.uint64)
        if missing is not None:
            found[missing.to_numpy()] ^= np.uint64(0xD1B54A32D192ED03)
        found = _mixed(found)
    return found


def _mixed(words: Hashes) -> Hashes:
    """The output of SplitMix64 for states (Steele, Lea and Flood, OOPSLA 2014, figure 17)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def unit_hashes(table: Table, units: str) -> Hashes:
    """The hash of the name of every record's unit.

    Raises
    ------
    BatchError
        For a missing column, a type without exact equality, and names that are missing.
    """
    names = key_columns(table, [units])
    if names.column(0).null_count:
        raise BatchError(f"column {units!r} must name each record's person: some are missing")
    return hashes_of(names)


def _text(array: Any) -> Any:
    """Keys as large_binary."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_timestamp(kind):  # without its zone, in which a time may come twice
        unit = "ms" if kind.unit == "s" else kind.unit  # as Parquet has it
        array = array.cast(pa.timestamp(unit))
    return array.cast(pa.large_string()).cast(pa.large_binary())


def unit_codes(table: Table, units: str) -> NDArray[np.int64]:
    """Integers that are equal where units' names are; -1 where they are missing."""
    names = whole_column(key_columns(table, [units]).column(0))
    codes = names.dictionary_encode().indices.cast(pa.int64())
    return np.asarray(pc.fill_null(codes, -1).to_numpy(zero_copy_only=False))


def _public(given: Any, schema: Any) -> Table:
    """Public keys as a table: from one, or from values, or tuples of them for several columns.

    Raises
    ------
    BatchError
        For keys of another type or form, missing ones, and equal ones.
    """
    try:
        if hasattr(given, "__arrow_c_stream__"):
            table = key_columns(pa.table(given), schema.names).cast(schema)
        else:
            rows = [own if isinstance(own, (tuple, list)) else (own,) for own in given]
            if not rows or {len(row) for row in rows} != {len(schema)}:
                raise BatchError(
                    f"keys must hold a value for each of {len(schema)} key columns, for each group"
                )
            columns = zip(*rows, strict=True)
            arrays = [pa.array(own, kind) for own, kind in zip(columns, schema.types, strict=True)]
            table = pa.table(arrays, schema=schema)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise BatchError(f"keys are not of the types of the key columns: {schema.types}") from error
    if any(column.null_count for column in table.columns):
        raise BatchError("keys must not be missing")
    if len(_distinct(table)) < len(table):
        raise BatchError("keys names a group twice")
    return table


def _distinct(table: Table) -> Table:
    return table.group_by(table.column_names, use_threads=False).aggregate([])


def numbered_keys(table: Table, by: Sequence[str], given: Any) -> tuple[Table, NDArray[np.int64]]:
    """The keys of all groups in order, and the number of each record's, -1 for none.

    Parameters
    ----------
    table : pyarrow.Table
        Of the records.
    by : sequence of str
        The columns of keys.
    given : sequence, table or None
        The public keys; None for all that occur.

    Raises
    ------
    BatchError
        As `key_columns`; for public keys of another type or form, missing ones, and equal ones.
    """
    keys = key_columns(table, by)
    public = None if given is None else _public(given, keys.schema)
    plain = [f"k{number}" for number in range(keys.num_columns)]
    own = keys.rename_columns(plain)
    names = _distinct(own).drop_null() if public is None else public.rename_columns(plain)
    names = names.sort_by([(name, "ascending") for name in plain]).combine_chunks()
    numbered = names.append_column("group", pa.array(np.arange(len(names))))
    rows = own.append_column("row", pa.array(np.arange(len(own))))
    found = rows.join(numbered, keys=plain, join_type="inner", use_threads=False)
    group = np.full(len(keys), -1, dtype=np.int64)
    group[found.column("row").to_numpy()] = found.column("group").to_numpy()
    return names.rename_columns(keys.column_names), group
