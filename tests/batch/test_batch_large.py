"""One mean over a file read in chunks: the bits of the mean in memory."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
from batch_cases import GUARANTEE, write_points
from curvedp import _core
from curvedp.errors import BatchError, BudgetError, LedgerError
from group_cases import groups, same_bits
from manifold_list import Case


def mean_of_file(path, ball, guarantee=GUARANTEE, **changes):
    """The mean of all points of a file."""
    return cdp.batch.release(
        cdp.Mean(), path, **{"points": "point", "ball": ball, "guarantee": guarantee} | changes
    )


@pytest.mark.parametrize("guarantee", [cdp.PureDP(2000.0), cdp.GDP(1.0)], ids=repr)
def test_the_mean_is_that_in_memory_for_every_chunk_size(
    small_case: Case, tmp_path, guarantee, same_noise
):
    ball, records, _ = groups(small_case, [5200])
    path = write_points(tmp_path / "in.parquet", records)
    expected = cdp.frechet_mean(records, ball, guarantee)
    assert mean_of_file(pq.read_table(path), ball, guarantee) == expected
    for chunk_rows in (1, 1500, 4096, 10**6):
        assert mean_of_file(path, ball, guarantee, chunk_rows=chunk_rows) == expected


WIDE = [
    cdp.Ball(cdp.SPD(3), center="identity", radius=9.0),
    cdp.Ball(cdp.Hyperboloid(2), center=[1.25, 0.75, 0.0], radius=9.0),
]


@pytest.mark.parametrize("ball", WIDE, ids=repr)
def test_wide_balls_have_the_bits_of_the_mean_in_memory(tmp_path, ball, same_noise):
    space, rng = ball.manifold, np.random.default_rng(0)
    coords = 2.0 * rng.standard_normal((3000, space.dim))
    records = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    path = write_points(tmp_path / "in.parquet", records)
    expected = cdp.frechet_mean(records, ball, GUARANTEE)
    for chunk_rows in (1500, 10**6):
        assert mean_of_file(path, ball, chunk_rows=chunk_rows) == expected
    groups = cdp.frechet_mean(records, ball, GUARANTEE, groups=[0, 3000])
    assert same_bits(groups[0].value, expected.value)


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 1025, 11 * 1024 + 3])
def test_pieces_add_up_along_the_tree_of_the_mean_in_memory(tmp_path, n, same_noise):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    records = ball.project(cdp.Sphere(2).random_point(n, rng=n).reshape(n, 3))
    path = write_points(tmp_path / "in.parquet", records)
    found = mean_of_file(path, ball)
    assert same_bits(found.value, cdp.frechet_mean(records, ball, GUARANTEE).value)
    assert found.n == n


def test_the_iteration_may_be_driven_from_outside():
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.0)
    rows = ball.enter(cdp.SPD(3).random_point(3000, rng=0))
    plan = ball.frame.plan(3000, 1e-9)
    descent = _core.Descent(ball.frame, plan)
    readings = 0
    while (base := descent.wanted()) is not None:
        sums = np.empty((3, ball.manifold.dim + 2))
        ball.frame.piece_sums(rows, base, sums)
        descent.advance(sums, 3000)
        readings += 1
    assert same_bits(descent.point, ball.frame.mean(rows, plan))
    assert readings > 2
    with pytest.raises(ValueError, match="expected 3 rows of 8 sums"):
        descent.advance(np.empty((2, 8)), 3000)
    with pytest.raises(ValueError, match="do not match"):
        ball.frame.piece_sums(rows, np.eye(3).ravel(), np.empty((2, 8)))


def test_it_is_paid_for_and_fresh_each_time(tmp_path):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    path = write_points(tmp_path / "in.parquet", np.tile(ball.center, (2000, 1)))
    ledger = cdp.Ledger(cdp.PureDP(2.0))
    first, second = (mean_of_file(path, ball, ledger=ledger) for _ in range(2))
    assert first.guarantee == cdp.PureDP(1.0)
    assert not same_bits(first.value, second.value)
    assert ledger.spent == cdp.PureDP(2.0)
    with pytest.raises(BudgetError):
        mean_of_file(path, ball, ledger=ledger)
    seen = []
    mean_of_file(path, ball, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(done, 0) for done in range(1, len(seen) + 1)]


@pytest.mark.parametrize("way", ["damage", "stopped", "changed at the last reading"])
def test_it_is_paid_for_when_all_is_read(tmp_path, way):
    """What fails before the draw costs nothing."""
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    points = cdp.Sphere(2).random_point(5000, rng=0)
    path, ledger, seen = tmp_path / "in.parquet", cdp.Ledger(cdp.PureDP(2.0)), []
    write_points(path, points)
    mean_of_file(path, ball, progress=lambda *state: seen.append(state))

    def stop(readings, _):
        if readings == len(seen):
            raise KeyboardInterrupt

    def change(readings, _):
        if readings == len(seen):
            write_points(path, points[::-1])

    if way == "damage":
        content = bytearray(path.read_bytes())
        start = pq.read_metadata(path).row_group(5).column(0).data_page_offset
        content[start : start + 5000] = b"\xff" * 5000
        path.write_bytes(content)
    progress, error = {
        "damage": (None, BatchError),
        "stopped": (stop, KeyboardInterrupt),
        "changed at the last reading": (change, BatchError),
    }[way]
    with pytest.raises(error):
        mean_of_file(path, ball, ledger=ledger, progress=progress or False)
    assert ledger.spent is None


def test_what_a_budget_does_not_cover_is_not_read(tmp_path):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    path, seen = write_points(tmp_path / "in.parquet", np.tile(ball.center, (2000, 1))), []
    ledger = cdp.Ledger(cdp.PureDP(0.5))
    for _ in range(2):
        with pytest.raises(BudgetError):
            mean_of_file(path, ball, ledger=ledger, progress=lambda *state: seen.append(state))
    closed = cdp.Ledger(cdp.PureDP(5.0))
    closed.close()
    with pytest.raises(LedgerError):
        mean_of_file(path, ball, ledger=closed, progress=lambda *state: seen.append(state))
    assert seen == []


def test_bad_files_are_refused(tmp_path):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    path = write_points(tmp_path / "in.parquet", cdp.Sphere(2).random_point(2000, rng=0))
    with pytest.raises(BatchError, match="no such file"):
        mean_of_file(tmp_path / "none", ball)
    with pytest.raises(BatchError, match="no column 'x'"):
        mean_of_file(path, ball, points="x")

    def change(readings, _):
        write_points(path, np.tile(ball.center, (2001, 1)))

    with pytest.raises(BatchError, match=r"has changed since the mean began, .* nothing was paid"):
        mean_of_file(path, ball, progress=change)
    empty = write_points(tmp_path / "empty.parquet", np.tile(ball.center, (1, 1)))
    pq.write_table(pq.read_table(empty).slice(0, 0), empty)
    for statistic in (cdp.Mean(), cdp.Variance()):
        with pytest.raises(BatchError, match="no record"):
            cdp.batch.release(statistic, empty, points="point", ball=ball, guarantee=GUARANTEE)


def test_the_mechanism_is_the_statistics_own(tmp_path, same_noise):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    records = cdp.Sphere(2).random_point(2000, rng=0)
    path = write_points(tmp_path / "in.parquet", records)
    asked = {"points": "point", "ball": ball, "guarantee": cdp.GDP(1.0), "records_per_unit": 3}
    for name in ("tangent-gaussian", "riemannian-gaussian"):
        found = cdp.batch.release(cdp.Mean(name), path, **asked)
        expected = cdp.frechet_mean(records, ball, cdp.GDP(1.0), mechanism=name, records_per_unit=3)
        assert found == expected


def test_the_mean_of_a_file_is_told_the_errors_of_one_in_memory(tmp_path, same_noise):
    """Also where the noise leaves the ball."""
    ball = cdp.Ball(cdp.SPD(3), np.eye(3), 2.0)
    records = np.tile(np.diag(np.exp([1.6, 0.0, 0.0])), (30, 1, 1))
    path = write_points(tmp_path / "in.parquet", records)
    for mu in (0.1, 0.3, 3.0):
        found = mean_of_file(path, ball, cdp.GDP(mu))
        alone = cdp.frechet_mean(records, ball, cdp.GDP(mu))
        assert same_bits(found.value, alone.value)
        assert found.expected_error == pytest.approx(alone.expected_error, rel=1e-9)
        assert found.shrunk_error == pytest.approx(alone.shrunk_error, rel=1e-9)
