"""Log of a batch, by `logging` under the name ``curvedp.batch``: public numbers alone.

Each record has the attributes `event`, a word, and `told`, a dictionary.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from typing import Any

__all__ = ["JsonLines", "Pace", "tell"]

_LOGGER = logging.getLogger("curvedp.batch")


def tell(event: str, **told: Any) -> None:
    """Logs an event with its numbers."""
    if _LOGGER.isEnabledFor(logging.INFO):
        text = " ".join(f"{name}={value}" for name, value in told.items())
        _LOGGER.info("%s: %s", event, text, extra={"event": event, "told": told})


class JsonLines(logging.Formatter):
    """Formats what a batch logs as one JSON object a line.

    Examples
    --------
    >>> record = logging.makeLogRecord({"created": 0.0, "event": "end", "told": {"groups": 3}})
    >>> JsonLines().format(record)
    '{"time": "1970-01-01T00:00:00+00:00", "event": "end", "groups": 3}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat()
        event = getattr(record, "event", record.getMessage())
        return json.dumps({"time": when, "event": event, **getattr(record, "told", {})})


class Pace:
    """Rate and time left of work that goes on."""

    def __init__(self, done: int, total: int) -> None:
        self._begun, self._before, self._total = time.monotonic(), done, total

    def told(self, done: int) -> dict[str, Any]:
        """Numbers of groups, groups a second, and seconds left."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rate = (done - self._before) / seconds
        left = (self._total - done) / rate if rate > 0 else None
        return {
            "groups_done": done,
            "groups": self._total,
            "groups_per_second": float(f"{rate:.3g}"),
            "seconds_left": None if left is None else round(left, 1),
        }
