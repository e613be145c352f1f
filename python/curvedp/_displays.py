"""Pictures of public objects: each class says where its display is, which is imported when asked.

So nothing that is drawn imports what draws it, and a room of its own brings its own pictures.
"""

from __future__ import annotations

import io
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shown:
    """Base of displays: notebooks show the figure, which pyplot does not know of."""

    figure_: Figure
    ax_: Any

    def _repr_png_(self) -> bytes | None:
        """The picture; None before it is drawn, and where pyplot shows the figure itself."""
        drawn = getattr(self, "figure_", None)
        if drawn is None or drawn.canvas.manager is not None:
            return None
        picture = io.BytesIO()
        drawn.canvas.figure.savefig(picture, format="png")  # of a part of a figure, the whole
        return picture.getvalue()


def displayed(item: Any, place: str, **how: Any) -> Shown:
    """The display of an item, drawn.

    Parameters
    ----------
    item : object
    place : str
        Where the function stands that makes it: module, colon, name.
    **how
        Its keywords.
    """
    module, _, name = place.partition(":")
    make = reduce(getattr, name.split("."), cast(Any, import_module(module)))
    return cast(Shown, make(item, **how))
