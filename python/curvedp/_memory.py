"""Memory, asked for before anything is spent: its lack must not come after the budget."""

from __future__ import annotations

import numpy as np

__all__ = ["ask_for_memory"]


def ask_for_memory(size: float) -> None:
    """Raises unless the system has about so many bytes, which follow from shapes alone.

    Raises
    ------
    MemoryError
    """
    try:
        np.empty(int(size), dtype=np.uint8)
    except MemoryError:
        raise MemoryError(
            "this takes more memory than the system has: nothing was spent. Use fewer records at "
            "once (files are read in chunks)"
        ) from None
