"""Loaders of stored texts: what they accept is whole, and every other text is a ValueError."""

from __future__ import annotations

import random
import zlib

import pytest

from stored_texts import edited, texts

TEXTS = texts()


@pytest.mark.parametrize("kind", TEXTS)
def test_the_untouched_text_is_accepted(kind):
    """Control."""
    text, read = TEXTS[kind]
    assert read(text).to_json() == text


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("count", [300, pytest.param(8000, marks=pytest.mark.slow)])
def test_every_edit_is_a_value_error_or_a_whole_object(kind, count):
    text, read = TEXTS[kind]
    draw, accepted = random.Random(zlib.crc32(kind.encode())), 0
    for _ in range(count):
        try:
            given = edited(text, draw)
            found = read(given if isinstance(given, str) else given.decode("latin-1"))
        except ValueError:
            continue
        accepted += 1
        hash(found)
        again = found.to_json()
        assert read(again).to_json() == again
        if hasattr(found, "report"):
            assert all(line.isprintable() for line in found.report().splitlines())
    assert accepted < 0.5 * count
