"""Stored texts: JSON that is read only if it is what would be written again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["DAMAGE", "read", "restored"]


#: What texts that curvedp did not write raise in code that builds objects from them.
DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Stored(Protocol):
    def to_json(self) -> str: ...

    def report(self) -> str: ...


_T = TypeVar("_T", bound=_Stored)
_R = TypeVar("_R")


def restored(text: str | bytes, what: str, build: Callable[[Any], _T]) -> _T:
    """The object that `build` makes of a text, which is what the object would write again.

    Its report must be one that a terminal can show.

    Raises
    ------
    ValueError
        For every other text.
    """

    def whole(data: Any) -> _T:
        written = _canonical(data)
        found = build(data)
        hash(found)
        if not found.report().replace("\n", " ").isprintable():
            raise ValueError("it holds letters that cannot be printed")
        if _canonical(_parsed(found.to_json())) != written:
            raise ValueError("it is damaged or was edited")
        return found

    return read(text, what, whole)


def read(text: str | bytes, what: str, build: Callable[[Any], _R]) -> _R:
    """The object that `build` makes of a text.

    Raises
    ------
    ValueError
        If it raises, overflows or is nested too deeply. Underflow is no damage: small tails do it.
    """
    try:
        with np.errstate(all="raise", under="ignore"):
            return build(_parsed(text))
    except ValueError as error:
        raise ValueError(f"not a {what}: {error}") from None
    except DAMAGE:
        raise ValueError(f"not a {what}: it is damaged or was edited") from None


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def _parsed(text: str | bytes) -> Any:
    """JSON whose objects have unique names: with two values for one, readers would disagree."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)
