"""Records in public samples: which sample each record is in, and how many each has."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from curvedp._labels import as_labels, codes_among, ordered_codes
from curvedp._validation import FloatArray
from curvedp.statistics.grouping import Offsets


def sample_numbers(given: Any, samples: tuple[Hashable, ...] | None, count: int) -> FloatArray:
    """Number of each record's sample, shape (n,), among `count` samples.

    Parameters
    ----------
    given : array-like, shape (n,)
        Labels.
    samples : tuple or None
        The labels of the samples; None for those that occur, in order.
    count : int

    Raises
    ------
    ValueError
        For other labels, which are public.
    """
    labels, codes = ordered_codes(as_labels(given, "labels"), "labels")
    own = tuple(labels) if samples is None else samples
    if len(own) != count or not set(labels) <= set(own):
        raise ValueError(
            f"labels must be those of {count} samples, which are public: "
            f"got {len(labels)} labels, samples={samples!r}"
        )
    return np.array([own.index(label) for label in labels], dtype=float)[codes]


def protected_sample_numbers(
    given: Any, samples: tuple[Hashable, ...] | None, n: int
) -> FloatArray:
    """The same of private labels, none of which raises: -1 for those that are no sample's.

    Raises
    ------
    ValueError
        If the samples are those that occur: which do would tell who is there.
    """
    if samples is None:
        raise ValueError("which labels occur would tell who is there: give samples, both labels")
    known = np.empty(len(samples), dtype=object)
    known[:] = samples
    return codes_among(known, given, n, "labels").astype(np.float64)


def sample_of_units(numbers: FloatArray, ends: Offsets) -> FloatArray:
    """Number of each unit's sample, from those of its records.

    Raises
    ------
    ValueError
        If a unit has records in several samples.
    """
    least = np.minimum.reduceat(numbers, ends[:-1])
    if not np.array_equal(least, np.maximum.reduceat(numbers, ends[:-1])):
        raise ValueError(
            "a unit has records in several samples: leave units out, and say records_per_unit"
        )
    return least


def sizes_of_samples(numbers: FloatArray, offsets: Offsets, count: int) -> Offsets:
    """Records of each sample in each group, shape (groups, count)."""
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    places = group * count + numbers.astype(np.int64)
    sizes = np.bincount(places, minlength=(len(offsets) - 1) * count)
    return sizes.reshape(-1, count).astype(np.int64)
