"""Keys with which tests draw noise: the same on every machine, in every order and in every process.

The library takes a key from the operating system in three places, and shuffles by NumPy's generator
where no seed is given; `install` replaces these four, and what follows a key is the library's own.
The n-th key of a test is a hash of the test's name and n, so that a test which passes once passes
always. With ``pytest --fresh``, and in tests marked
``true_entropy``, keys come from the operating system.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import curvedp.privacy.secret
from curvedp import _core

_DRAW_AT_IMPORT = ("scipy", "sklearn")
_NOWHERE = (
    "noise is drawn outside a test and its fixtures (at import, or in a child process): draw it in "
    "the test, or mark the test true_entropy"
)
_CACHED = (
    "{} draws noise and is cached, so its draws depend on who calls it first: use drawn_keys.cache"
)


class Owner:
    """Keys of one test, fixture or cached function; from the operating system if `name` is None."""

    def __init__(self, name: str | None) -> None:
        self._name, self._numbers = name, itertools.count()

    def key(self) -> bytes | None:
        """The next key; None for one from the operating system."""
        if self._name is None:
            return None
        refuse_caches()
        return hashlib.sha256(f"{self._name} {next(self._numbers)}".encode()).digest()


_owners: list[Owner] = []
_fresh = False


def next_key() -> bytes | None:
    """The next key of whoever draws now; None for one from the operating system."""
    assert _owners, _NOWHERE
    return _owners[-1].key()


@contextmanager
def owned_by(name: str | None) -> Iterator[None]:
    """Keys, and the states of NumPy's and Python's global generators, by this name.

    None for true entropy.
    """
    name = None if _fresh else name
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    seed = None if name is None else hashlib.sha256(name.encode()).digest()
    random.seed(seed)
    np.random.seed(None if seed is None else list(seed))  # noqa: NPY002
    _owners.append(Owner(name))
    try:
        yield
    finally:
        _owners.pop()
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


def cache(function: Callable[..., Any]) -> Callable[..., Any]:
    """`functools.cache` for functions that draw: with keys of their own, whoever calls first."""
    kept: dict[tuple[Any, ...], Any] = {}

    @functools.wraps(function)
    def cached(*arguments: Any) -> Any:
        if arguments not in kept:
            name = f"{function.__module__}.{function.__qualname__}{arguments!r}"
            assert " at 0x" not in name, f"{name} is another one in every process"
            with owned_by(name):
                kept[arguments] = function(*arguments)
        return kept[arguments]

    return cached


def refuse_caches() -> None:
    """Refuses keys to functions under `functools.cache`."""
    frame = sys._getframe()
    while frame := frame.f_back:
        code = frame.f_code
        found = frame.f_globals.get(code.co_name)
        if hasattr(found, "cache_info") and found.__wrapped__.__code__ is code:
            raise AssertionError(_CACHED.format(code.co_name))


def is_fresh() -> bool:
    """Whether all keys come from the operating system: ``pytest --fresh``."""
    return _fresh


def install(fresh: bool) -> None:
    """Puts `next_key` in place of the operating system, for the rest of this process."""
    global _fresh
    _fresh = fresh
    from_os, all_fresh = _core.Stream.from_os, _core.GroupKeys.fresh
    urandom, default_rng = os.urandom, np.random.default_rng

    def stream() -> _core.Stream:
        key = next_key()
        return from_os() if key is None else _core.Stream.from_key(key, 0)

    def keys() -> _core.GroupKeys:
        key = next_key()
        return all_fresh() if key is None else _core.GroupKeys.numbered(key)

    def secret(size: int) -> bytes:
        key = next_key()
        return urandom(size) if key is None else key[:size]

    def generator(seed: Any = None) -> np.random.Generator:
        caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
        key = next_key() if seed is None and caller not in _DRAW_AT_IMPORT else None
        return default_rng(seed if key is None else list(key))

    _core.Stream.from_os = staticmethod(stream)
    _core.GroupKeys.fresh = staticmethod(keys)
    curvedp.privacy.secret.urandom = secret
    np.random.default_rng = generator
    os.register_at_fork(after_in_child=forget)


def forget() -> None:
    """In a child process no keys are left: those of the parent would be drawn twice."""
    _owners[:] = [owner for owner in _owners if owner._name is None]
