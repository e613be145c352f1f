"""Shared by all pictures: figures without a screen, which notebooks show, and their texts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from curvedp._text import rounded_up
from curvedp.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYMBOLS = (("epsilon", "ε"), ("delta", "δ"), ("rho", "ρ"), ("mu", "μ"))


class Shown:
    """Base of displays: notebooks show the figure, which pyplot does not know of."""

    figure_: Figure

    def _repr_png_(self) -> bytes | None:
        """The picture; None before it is drawn, and where pyplot shows the figure itself."""
        drawn = getattr(self, "figure_", None)
        if drawn is None or drawn.canvas.manager is not None:
            return None
        picture = io.BytesIO()
        drawn.canvas.figure.savefig(picture, format="png")  # of a part of a figure, the whole
        return picture.getvalue()


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
