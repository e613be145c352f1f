"""Many releases of the same records in one call: a group is a data set, with noise of its own."""

from __future__ import annotations

from typing import Any

import numpy as np


def copies(count: int, *columns: np.ndarray) -> tuple[dict[str, Any], *tuple[np.ndarray, ...]]:
    """The option ``groups`` of `count` copies of the same records, and their columns."""
    offsets = np.arange(count + 1) * len(columns[0])
    tiled = (np.tile(column, (count, *[1] * (column.ndim - 1))) for column in columns)
    return {"groups": offsets}, *tiled
