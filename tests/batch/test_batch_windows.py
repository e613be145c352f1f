"""What Windows does not let a batch do, watched here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import batch_cases as cases
from batch_cases import run
from curvedp.batch import storage

MAPS = Path("/proc/self/maps")


@pytest.mark.skipif(not MAPS.exists(), reason="needs Linux's list of mappings")
@pytest.mark.parametrize(
    ("ordered", "maps"), [(True, False), (False, False), (True, True)], ids=["", "dealt", "control"]
)
def test_no_file_is_removed_or_moved_while_it_is_mapped(tmp_path, monkeypatch, ordered, maps):
    """Windows refuses that; where files are mapped, the control, it happens."""
    source = cases.write(tmp_path / "in.parquet", cases.table(120, ordered=ordered))
    done = []

    def watched(change):
        def changed(path, *arguments, dir_fd=None, **how):
            folder = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
            own = os.path.abspath(os.path.join(folder, path))
            mapped = [line.split(maxsplit=5)[5:] for line in MAPS.read_text().splitlines()]
            within = os.path.join(own, "")
            done.append(any(at[0] == own or at[0].startswith(within) for at in mapped if at))
            return change(path, *arguments, **how, **({} if dir_fd is None else {"dir_fd": dir_fd}))

        return changed

    monkeypatch.setattr(storage, "_MAPS", maps)
    for name in ("unlink", "rename", "replace", "rmdir"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    run(tmp_path, source, chunk_rows=300)
    assert len(done) > 20
    assert any(done) == maps
