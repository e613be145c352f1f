"""Dask's client, or an error that names the extra which installs it."""

from __future__ import annotations

from typing import Any

from curvedp.errors import MissingExtraError

try:
    from distributed import Client, LocalCluster, as_completed
except ImportError as error:
    raise MissingExtraError("distributed", needed_for="curvedp.distributed") from error

__all__ = ["Client", "LocalCluster", "as_completed", "check_client"]


def check_client(client: Any) -> Client:
    """The client, if it is one."""
    if not isinstance(client, Client):
        raise TypeError(f"client must be a dask.distributed.Client, got {type(client).__name__}")
    return client
