"""Fixtures that the tests of batches share."""

from __future__ import annotations

import pyarrow as pa
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.batch import tables
from curvedp.statistics.call import Call


@pytest.fixture
def secret(tmp_path):
    """The file of a noise secret."""
    cdp.NoiseSecret.create(tmp_path / "secret")
    return tmp_path / "secret"


@pytest.fixture
def in_pieces(monkeypatch):
    """Cuts a table in pieces, which are released in chunks of 50 records."""
    monkeypatch.setattr(tables, "rows_of_chunk", lambda *_: 50)
    return lambda data: pa.concat_tables(data.slice(at, 37) for at in range(0, len(data), 37))


@pytest.fixture
def same_noise(monkeypatch):
    """Every release draws the same noise."""
    keys = _core.GroupKeys.numbered(bytes(32))
    monkeypatch.setattr(Call, "keys", lambda call, secret, seed: keys)
