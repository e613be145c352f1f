"""Means without a ball of files that are read in chunks: their sums are those in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
from curvedp.batch.columns import RecordColumns
from curvedp.batch.located import FileSums, RowsOfFile
from curvedp.batch.parquet import Source
from curvedp.errors import BatchError
from curvedp.manifolds import Manifold, as_manifold
from curvedp.statistics.search_design import factors_of
from curvedp.sums.messages import Request
from curvedp.sums.records import RecordSums

ADD = "add-remove"
GUARANTEES = [cdp.GDP(2.0), cdp.GDP(2.0, neighbours=ADD), cdp.PureDP(4.0, neighbours=ADD)]


def records_of(space: Manifold, n: int = 700) -> np.ndarray:
    rng = np.random.default_rng(4)
    coords = 0.3 * rng.standard_normal((n, space.dim))
    return space.exp(space.coords_to_tangent(coords, space.origin), space.origin)


def file_of(path: Path, records: np.ndarray) -> Path:
    rows = records.reshape(len(records), int(np.prod(records.shape[1:])))
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"x": points}), path, row_group_size=190)
    return path


def release(path: Any, spec: str, guarantee: cdp.Guarantee, **how: Any) -> Any:
    own = {"points": "x", "ball": as_manifold(spec), "guarantee": guarantee}
    return cdp.batch.release(cdp.LocatedMean(), path, **(own | how))


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        RecordSums, "noisy", lambda self, request, *_: self.answer(request).astype(float)
    )


@pytest.mark.parametrize("chunk", [1, 64, 10_000])
def test_sums_of_chunks_are_those_of_all_records(tmp_path: Path, chunk: int) -> None:
    space = cdp.Product(cdp.SPD(2), cdp.Sphere(2))
    records = records_of(space, 150)
    file = Source(str(file_of(tmp_path / "in.parquet", records)), ["x"])
    rows = RowsOfFile(file, RecordColumns(("x",), space), chunk, None)
    for number, factor in enumerate(factors_of(space)):
        own = RecordSums(factor, space.split(records)[number], None)
        of_file, base = FileSums(rows, space, number), factor.origin.reshape(-1)
        asked = [Request("tail", 0.1, base), Request("round", 0.1, base, 0.2)]
        asked += [Request("histogram", 0.1, base, levels=np.array([1.0, 0.4, 0.2]))]
        asked += [Request("scale" if factor.dim == 3 else "start", 0.1)]
        if factor.dim == 3:
            asked.append(Request("round", 0.1, np.zeros(2), 0.2, "diagonals"))
        for request in asked:
            total = of_file.answer(request)
            assert np.array_equal(total, own.answer(request))
            assert total.any()


@pytest.mark.parametrize("spec", ["sphere:2", "euclidean:2"])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_a_file_has_the_mean_of_its_records_in_memory(
    no_noise: None, tmp_path: Path, spec: str, guarantee: cdp.Guarantee
) -> None:
    records = records_of(as_manifold(spec), 2000)
    path, seen = file_of(tmp_path / "in.parquet", records), []
    in_memory = cdp.frechet_mean(records, spec, guarantee)
    found = release(path, spec, guarantee, chunk_rows=300, progress=lambda *of: seen.append(of))
    assert in_memory.found
    assert found == in_memory
    assert seen == [(number, 0) for number in range(1, len(seen) + 1)]


@pytest.mark.parametrize("statistic", [cdp.LocatedMean(), cdp.Mean()], ids=str)
def test_rows_are_never_held_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statistic: Any
) -> None:
    sizes = []
    read = RecordColumns.read

    def seen(self: RecordColumns, table: Any) -> Any:
        sizes.append(len(table))
        return read(self, table)

    monkeypatch.setattr(RecordColumns, "read", seen)
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2)))
    own = {"points": "x", "ball": as_manifold("sphere:2"), "guarantee": GUARANTEES[1]}
    assert cdp.batch.release(statistic, path, chunk_rows=100, **own).found
    assert max(sizes) == 100
    assert sum(sizes) % 700 == 0


def test_what_cannot_be_read_costs_nothing(tmp_path: Path) -> None:
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2)))
    path.write_bytes(b"PAR1" + bytes(2000) + path.read_bytes()[2004:])
    ledger = cdp.Ledger(GUARANTEES[1])
    with pytest.raises(BatchError):
        release(path, "sphere:2", GUARANTEES[1], ledger=ledger)
    assert not ledger.entries


def test_a_file_that_changes_while_it_is_searched_is_refused_and_paid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2)))
    ledger, answer = cdp.Ledger(GUARANTEES[1]), FileSums.answer

    def changed(self: FileSums, request: Request) -> np.ndarray:
        if request.kind == "round":
            file_of(path, records_of(cdp.Sphere(2), 600))
        return answer(self, request)

    monkeypatch.setattr(FileSums, "answer", changed)
    with pytest.raises(BatchError) as caught:
        release(path, "sphere:2", GUARANTEES[1], ledger=ledger)
    assert any("another draw is another spend" in note for note in caught.value.__notes__)
    assert ledger.spent == GUARANTEES[1]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_a_process_that_ends_within_a_search_has_paid_for_all_of_it(
    tmp_path: Path, guarantee: cdp.Guarantee
) -> None:
    """What the ledger's file holds after each reading is what another process finds there."""
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2)))
    own, left = tmp_path / "own.ledger", []

    def told(number: int, _: int) -> None:
        copy = tmp_path / f"after-{number}.ledger"
        copy.write_bytes(own.read_bytes())
        copy.chmod(0o600)
        with cdp.Ledger.open(copy) as found:
            left.append([entry.guarantee for entry in found.entries])

    with cdp.Ledger(guarantee, path=own) as ledger:
        release(path, "sphere:2", guarantee, ledger=ledger, progress=told)
    assert left[0] == []
    assert len(left) > 4
    assert all(entries == [guarantee] for entries in left[1:])
    with pytest.raises(TypeError, match=r"^keys, .*resume, .*leave them out"):
        release(path, "sphere:2", guarantee, resume=True)  # under either relation


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_records_are_no_error_where_their_number_is_protected(
    tmp_path: Path, n: int
) -> None:
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2), 1)[:n])
    ledger = cdp.Ledger(GUARANTEES[1])
    found = release(path, "sphere:2", GUARANTEES[1], ledger=ledger)
    assert not found.found
    assert 0.0 < found.spent < 2.0  # and the ledger has the rest back
    assert ledger.spent.mu == pytest.approx(found.spent)


def test_chunks_are_for_searches_of_all_records(tmp_path: Path) -> None:
    path = file_of(tmp_path / "in.parquet", records_of(cdp.Sphere(2)))
    ball = cdp.Ball("sphere:2", cdp.Sphere(2).origin, 0.5)
    with pytest.raises(ValueError, match="chunk_rows"):
        cdp.batch.release(
            *(cdp.Mean(), path), points="x", ball=ball, guarantee=GUARANTEES[1], chunk_rows=9
        )
    with pytest.raises(ValueError, match="n_guess"):
        release(path, "sphere:2", GUARANTEES[1], n_guess=100)
