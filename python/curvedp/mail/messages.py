"""The messages of Algorithm 1's two roles, as JSON.

Session  once: embedded anchors and cells of the client, public
Request  about one query: numbers of cells, or a noisy place
Reply    the matches
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray, as_count
from curvedp.privacy import Guarantee
from curvedp.privacy.stored import read

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class Session:
    """Message of a client before all requests: public, the same for all of one model and budget.

    Attributes
    ----------
    n_anchors : int
        Number of anchors that both sides know.
    anchors : ndarray, shape (l, k)
        Embedded anchors, all or 4,096 of them, evenly spaced in the order that both sides know.
    cells : ndarray, shape (K, k), or None
        Representatives of the cells; None for the method "noise".
    """

    n_anchors: int
    anchors: FloatArray
    cells: FloatArray | None

    @cached_property
    def name(self) -> str:
        """SHA-256 of its content, by which requests refer to it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """JSON text; floats survive it exactly."""
        return json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "n_anchors": self.n_anchors,
                "anchors": self.anchors.tolist(),
                "cells": None if self.cells is None else self.cells.tolist(),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Session:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no session of this schema.
        """
        return read(text, "session", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Session:
        _check_fields(data, {"n_anchors", "anchors", "cells"})
        anchors = _numbers(data["anchors"], 2, "anchors")
        cells = None if data["cells"] is None else _numbers(data["cells"], 2, "cells")
        if cells is not None and cells.shape[1] != anchors.shape[1]:
            raise ValueError("cells and anchors have different dimensions")
        return cls(as_count(data["n_anchors"], "n_anchors", least=len(anchors)), anchors, cells)


@dataclass(frozen=True, eq=False)
class Request:
    """Message of the client about one query.

    Attributes
    ----------
    session : str
        Name of the session.
    named : tuple of int, or None
        The released query: numbers of the session's cells.
    place : ndarray, shape (k,), or None
        The released query of the method "noise"; one of both is None.
    guarantee : Guarantee
        The guarantee for the query.
    n_matches : int
    """

    session: str
    named: tuple[int, ...] | None
    place: FloatArray | None
    guarantee: Guarantee
    n_matches: int

    def to_json(self) -> str:
        """JSON text; floats survive it exactly."""
        return json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "session": self.session,
                "named": None if self.named is None else list(self.named),
                "place": None if self.place is None else self.place.tolist(),
                "guarantee": self.guarantee.to_dict(),
                "n_matches": self.n_matches,
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Request:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no request of this schema.
        """
        return read(text, "request", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Request:
        _check_fields(data, {"session", "named", "place", "guarantee", "n_matches"})
        if not isinstance(data["session"], str):
            raise ValueError("session must be a text")
        named, place = data["named"], data["place"]
        if (named is None) == (place is None):
            raise ValueError("one of named and place must be null")
        if place is not None:
            place = _numbers(place, 1, "place")
        elif not named:
            raise ValueError("named must hold one cell at least")
        else:
            named = tuple(_integers(named, "named"))
        if not isinstance(data["guarantee"], dict):
            raise ValueError("guarantee must be an object")
        guarantee = Guarantee.from_dict(data["guarantee"])
        matches = as_count(data["n_matches"], "n_matches")
        return cls(data["session"], named, place, guarantee, matches)


@dataclass(frozen=True, eq=False)
class Reply:
    """Answer of the server: places of the matches in its database, the best first.

    Attributes
    ----------
    matches : ndarray of int, shape (n_matches,)
    """

    matches: NDArray[np.int64]

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps({"schema_version": SCHEMA_VERSION, "matches": self.matches.tolist()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Reply:
        """Inverse of `to_json`; raises ValueError if the text is no reply."""
        return read(text, "reply", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Reply:
        _check_fields(data, {"matches"})
        return cls(np.array(_integers(data["matches"], "matches"), dtype=np.int64))


def _check_fields(data: Any, names: set[str]) -> None:
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int or version != SCHEMA_VERSION:
        raise ValueError(f"another schema than {SCHEMA_VERSION}")
    if set(data) != names | {"schema_version"}:
        raise ValueError(f"it must hold {', '.join(sorted(names))} and nothing else")


def _numbers(data: Any, ndim: int, name: str) -> FloatArray:
    try:
        array = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers") from None
    if array.ndim != ndim or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be {ndim}-dimensional and finite")
    return array


def _integers(data: Any, name: str) -> list[int]:
    if not isinstance(data, list) or not all(type(item) is int for item in data):
        raise ValueError(f"{name} must be a list of integers")
    return data
