"""The library that runs here, by its version and core: a batch is released by one alone."""

from __future__ import annotations

import functools
from pathlib import Path

import curvedp
from curvedp import _core
from curvedp.batch.storage import digest_of
from curvedp.errors import BatchError

__all__ = ["check_build", "own_build"]


def own_build() -> dict[str, str]:
    """Version of the library and checksum of its core, as this process has them."""
    return {"version": curvedp.__version__, "core": _core_digest()}


@functools.cache
def _core_digest() -> str:
    return digest_of(Path(_core.__file__))


def check_build(begun: dict[str, str], where: str) -> None:
    """Refuses to go on with what another library began.

    Parameters
    ----------
    begun : dict
        What `own_build` said where it began.
    where : str
        What began there, and who would go on, for the error.

    Raises
    ------
    BatchError
    """
    own = own_build()
    if own != begun:
        raise BatchError(
            f"{where} with curvedp {_told(begun)}, and here is curvedp {_told(own)}: a mistake "
            "that one of them has would be in a part of the result, so use the same here"
        )


def _told(build: dict[str, str]) -> str:
    return f"{build['version']} (core {build['core'][:12]})"
