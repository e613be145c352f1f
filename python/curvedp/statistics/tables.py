"""Releases of groups as Arrow tables; needs the extra ``batch`` (pyarrow)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from curvedp._arrow import pa
from curvedp._validation import FloatArray

if TYPE_CHECKING:
    from curvedp.statistics.releases import NoiseLaw, Releases

__all__ = ["labelled_table", "releases_table"]


def labelled_table(releases: Releases[Any]) -> Any:
    """One row per group: its label in the column `group`, then as `releases_table`."""
    labels = releases.labels
    column = np.arange(len(labels)) if isinstance(labels, range) else _labels(list(labels))
    return releases_table(pa.table({"group": column}), releases)


def _labels(labels: list[Any]) -> Any:
    """Labels as a column; as Python writes them if they have several types, or none of Arrow's."""
    kinds = {type(label) for label in labels if label is not None}
    if kinds == {np.datetime64}:
        return pa.array(np.array([np.datetime64("NaT") if x is None else x for x in labels]))
    if len(kinds) < 2:
        with contextlib.suppress(pa.ArrowException, OverflowError):
            return pa.array(labels)
    return pa.array([None if label is None else repr(label) for label in labels])


def releases_table(keys: Any, releases: Releases[Any]) -> Any:
    """One row per group: its key, n, value, sensitivity, scale, expected error, and the promise.

    The promise is the `guarantee`, the `mechanism`, and the guarantee that its noise is
    `calibrated_to`, null where that is not pure or Gaussian.
    `value` is a number, or a fixed-size list of the numbers of a point in row-major order; null for
    groups that were skipped. The private mean that a value rests on stands in `mean`, its noise's
    scale in `mean_scale`. Where the number of records is protected `n` is the number that was used,
    `count` the one that was released, and `count_error` the standard deviation of its noise.
    """
    missing = ~releases.released
    columns = {name: keys.column(name) for name in keys.column_names}
    columns["n"] = pa.array(releases.n)
    if releases.counts is not None:
        columns["count"] = pa.array([own.value for own in releases.counts], _kind_of(releases))
        errors = [own.standard_error for own in releases.counts]
        columns["count_error"] = pa.array(errors, pa.float64())
    columns |= {name: _values(own, missing) for name, own in releases.columns().items()}
    columns["guarantee"] = _told(releases, lambda law: law.guarantee)
    columns["mechanism"] = _told(releases, lambda law: law.mechanism)
    columns["calibrated_to"] = _told(releases, lambda law: law.calibrated_to)
    return pa.table(columns)


def _kind_of(releases: Releases[Any]) -> Any:
    """The type of counts: lists where each sample has one."""
    whole = pa.int64()
    return pa.list_(whole) if releases.call.statistic.has_parts else whole


def _told(releases: Releases[Any], tell: Callable[[NoiseLaw], object]) -> Any:
    """Texts about each group's noise; null where there is none."""
    said = [None if law is None else tell(law) for law in releases.laws]
    texts = pa.array([None if own is None else str(own) for own in said], pa.string())
    return texts.take(pa.array(releases.law_of))


def _values(values: FloatArray, missing: NDArray[np.bool_]) -> Any:
    """Numbers, null where they are not known, or points as fixed-size lists."""
    if values.ndim == 1:
        return pa.array(values, mask=missing | np.isnan(values))
    mask = {"mask": pa.array(missing)} if missing.any() else {}
    width = int(np.prod(values.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width, **mask)
