"""Plans and answers as bytes: one way to write each, and everything else is refused.

    the line b"curvedp sites 1" | a line of JSON, names in order, floats as hexadecimal texts
    | doubles of the base point (plan) or unsigned 64-bit integers (answer), little-endian

A message is read only if writing what was read gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from curvedp.errors import SiteError
from curvedp.privacy.stored import DAMAGE
from curvedp.sums.messages import Kind, Of, Request

_FIRST_LINE = b"curvedp sites 1\n"
#: Bytes of a message, at most.
LONGEST = 2**20
MOST_ROUNDS = 1000
#: Digits of the id of a run.
RUN = 32
_KINDS = ("start", "scale", "tail", "round")
_OF = ("records", "diagonals", "squares", "cells", "axes")


@dataclass(frozen=True, eq=False)
class Plan:
    """The request of one round, as every site gets it.

    Attributes
    ----------
    version : str
        Of the library.
    agreement : str
        Digest of the agreement.
    space : str
    sites, dropouts : int
        J and f.
    run : str
        32 hexadecimal digits, new for each run of the study.
    round : int
        From 0 on; with `run` the id of the round.
    previous, total : str
        Digests of the plan before, and of the total and the names that answered it: so of all
        earlier plans and totals. Empty in the first.
    request : Request
    bound : float
        K, the bound on what a unit changes.
    keys : tuple of str
        Public keys of all sites, in the roster's order, for masks; none without them.
    """

    version: str
    agreement: str
    space: str
    sites: int
    dropouts: int
    run: str
    round: int
    previous: str
    total: str
    request: Request
    bound: float
    keys: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The message."""
        own = self.request
        header = {
            "message": "plan",
            **{name: getattr(self, name) for name in _PLAN},
            "kind": own.kind,
            "mu": own.share.hex(),
            "radius": "" if own.kind != "round" else own.radius.hex(),
            "of": own.of,
            "bound": self.bound.hex(),
            "keys": list(self.keys),
        }
        base = np.empty(0) if own.base is None else own.base
        return _written(header, np.asarray(base, dtype="<f8").tobytes())

    @classmethod
    def from_bytes(cls, message: bytes) -> Plan:
        """The plan of a message.

        Raises
        ------
        SiteError
            If it is none.
        """

        def build(header: dict[str, Any], payload: bytes) -> Plan:
            base = np.frombuffer(payload, dtype="<f8").astype(np.float64)
            if not np.isfinite(base).all():
                raise ValueError("base")
            kind = header["kind"]
            if kind not in _KINDS or header["of"] not in _OF:
                raise ValueError("kind")
            radius = _positive(header["radius"]) if kind == "round" else math.nan
            request = Request(
                kind=cast(Kind, kind),
                share=_positive(header["mu"]),
                base=base if len(base) else None,
                radius=radius,
                of=cast(Of, header["of"]),
            )
            own = {name: _of(header[name], typed) for name, typed in _PLAN.items()}
            keys = tuple(_of(key, str) for key in _of(header["keys"], list))
            found = cls(**own, request=request, bound=_positive(header["bound"]), keys=keys)
            _check_id(found.run, found.round)
            if any(own and not _is_hex(own, 64) for own in (found.previous, found.total)):
                raise ValueError("digest")
            if not all(_is_hex(key, 64) for key in keys):
                raise ValueError("key")
            return found

        return _read(message, "plan", build)

    @property
    def digest(self) -> str:
        """SHA-256 of the message."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


_PLAN = {
    "version": str,
    "agreement": str,
    "space": str,
    "sites": int,
    "dropouts": int,
    "run": str,
    "round": int,
    "previous": str,
    "total": str,
}


@dataclass(frozen=True, eq=False)
class Answer:
    """A site's sum of messages with its share of the noise.

    Attributes
    ----------
    run : str
    round : int
    site : str
    plan : str
        Digest of the plan that it answers.
    seeded : bool
        True if its noise came from a seed, with which nothing is promised.
    entries : ndarray of uint64
        Modulo 2^64.
    """

    run: str
    round: int
    site: str
    plan: str
    seeded: bool
    entries: NDArray[np.uint64]

    def to_bytes(self) -> bytes:
        """The message."""
        header = {"message": "answer", **{name: getattr(self, name) for name in _ANSWER}}
        return _written(header, self.entries.astype("<u8").tobytes())

    @classmethod
    def from_bytes(cls, message: bytes) -> Answer:
        """The answer of a message.

        Raises
        ------
        SiteError
            If it is none.
        """

        def build(header: dict[str, Any], payload: bytes) -> Answer:
            own = {name: _of(header[name], typed) for name, typed in _ANSWER.items()}
            entries = np.frombuffer(payload, dtype="<u8").astype(np.uint64)
            found = cls(**own, entries=entries)
            _check_id(found.run, found.round)
            return found

        return _read(message, "answer", build)


_ANSWER = {"run": str, "round": int, "site": str, "plan": str, "seeded": bool}


_M = TypeVar("_M", Plan, Answer)


def _written(header: dict[str, Any], payload: bytes) -> bytes:
    line = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return _FIRST_LINE + line.encode() + b"\n" + payload


def _read(message: bytes, what: str, build: Callable[[dict[str, Any], bytes], _M]) -> _M:
    """The message that `build` makes of a header and what follows it, if it is written alike."""
    if not isinstance(message, bytes):
        raise TypeError(f"a {what} is bytes, not {type(message).__name__}")
    refused = SiteError(f"the message is no {what} of this version of curvedp, or was damaged")
    if len(message) > LONGEST or not message.startswith(_FIRST_LINE):
        raise refused
    line, end, payload = message[len(_FIRST_LINE) :].partition(b"\n")
    try:
        header = json.loads(line)
        if not end or header["message"] != what:
            raise refused
        found = build(header, payload)
        is_same = found.to_bytes() == message
    except DAMAGE:
        raise refused from None
    if not is_same:
        raise refused
    return found


def _of(item: Any, typed: type) -> Any:
    if type(item) is not typed:
        raise TypeError(typed.__name__)
    if isinstance(item, str) and not item.isprintable():
        raise ValueError("text")
    return item


def _positive(text: Any) -> float:
    number = float.fromhex(text)
    if not 0.0 < number < math.inf:
        raise ValueError("number")
    return number


def _check_id(run: str, number: int) -> None:
    if not (_is_hex(run, RUN) and 0 <= number < MOST_ROUNDS):
        raise ValueError("id")


def _is_hex(text: str, size: int) -> bool:
    return len(text) == size and not set(text) - set("0123456789abcdef")
