"""The stages of a long call, logged by `logging` under the name ``curvedp``: fixed words alone."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("curvedp")


def tell_stage(name: str) -> None:
    """Logs that a stage begins."""
    _LOGGER.info("%s", name)
