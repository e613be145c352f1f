"""pyarrow, or an error that names the extra which installs it."""

from __future__ import annotations

from curvedp.errors import MissingExtraError

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.fs as fs
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("batch", needed_for="An Arrow table") from error

__all__ = ["fs", "ipc", "pa", "pc", "pq"]
