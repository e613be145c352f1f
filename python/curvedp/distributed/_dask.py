"""Dask's client, or an error that names the extra which installs it."""

from __future__ import annotations

from typing import Any

from curvedp.errors import MissingExtraError

try:
    import distributed
except ImportError as error:
    raise MissingExtraError("distributed", needed_for="curvedp.distributed") from error

__all__ = ["check_client", "engine"]

#: Dask's distributed scheduler, which is not typed.
engine: Any = distributed


def check_client(client: Any) -> Any:
    """The client, if it is one."""
    if not isinstance(client, engine.Client):
        raise TypeError(f"client must be a dask.distributed.Client, got {type(client).__name__}")
    return client
