"""Shared by all pictures: figures without a screen, and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curvedp._text import rounded_up
from curvedp.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYMBOLS = (("epsilon", "ε"), ("delta", "δ"), ("rho", "ρ"), ("mu", "μ"))


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, outside pyplot.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed; the message names the install command.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", needed_for="pictures") from error
    return Figure(figsize=(width, height), layout="constrained")


def budget_text(guarantee: object) -> str:
    """The parameters of a guarantee in the field's letters, as ``ε = 1, δ = 1e-06``."""
    parts = [
        f"{symbol} = {rounded_up(getattr(guarantee, name))}"
        for name, symbol in _SYMBOLS
        if isinstance(getattr(guarantee, name, None), int | float)
    ]
    if parts:
        return ", ".join(parts)
    claimed = getattr(guarantee, "claimed", None)
    return "unproved" if claimed is None else f"unproved {budget_text(claimed)}"
