"""Shared by all pictures: a figure without a screen, and the guarantee in the field's letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        raise MissingExtraError("plot", needed_for="pictures of releases") from error
    return Figure(figsize=(width, height), layout="constrained")


def budget_text(guarantee: object) -> str:
    """The parameters of a guarantee in the field's letters, as ``ε = 1, δ = 1e-06``."""
    parts = [
        f"{symbol} = {getattr(guarantee, name):g}"
        for name, symbol in _SYMBOLS
        if isinstance(getattr(guarantee, name, None), int | float)
    ]
    if parts:
        return ", ".join(parts)
    claimed = getattr(guarantee, "claimed", None)
    return "unproved" if claimed is None else f"unproved {budget_text(claimed)}"
