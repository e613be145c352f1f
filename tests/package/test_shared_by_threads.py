"""Eight threads that share objects get the results of one, with or without a lock."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.mail import PrivateMail
from curvedp.statistics.adaptive_mean import schedule_under
from curvedp.statistics.design import design_mean, design_mean_under

WORKERS = 8
GENEROUS = 60


@pytest.fixture(autouse=True)
def _two_threads():
    """The processes of pytest have one thread each (conftest.py); calls here share a pool."""
    cdp.set_num_threads(2)
    yield
    cdp.set_num_threads(0)


@pytest.fixture
def together():
    """Calls a function of the worker's number in eight threads that begin at once."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    start = threading.Barrier(WORKERS)

    def call(function):
        def begin(worker):
            start.wait(timeout=GENEROUS)
            return function(worker)

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(begin, range(WORKERS)))

    yield call
    sys.setswitchinterval(interval)


def test_a_stream_gives_no_number_twice(together):
    """Three equal pairs among 160 000 numbers of 52 bits have probability below 1e-16."""
    stream = _core.Stream.from_os()

    def draw(_):
        numbers = np.empty((40, 500))
        for row in numbers:
            stream.uniform(row)
        return numbers

    numbers = np.concatenate(together(draw)).ravel()
    assert len(numbers) - len(np.unique(numbers)) < 3


DRAWING = textwrap.dedent(
    """
    import threading
    import numpy as np
    from curvedp import _core
    stream = _core.Stream.from_os()
    sphere = _core.Manifold("sphere", 2, 1.0)
    law = (sphere, ("sphere", 2, 1.0), "laplace", 0.1)
    numbers = np.empty(1 << 20)
    def fill():
        for _ in range(8):
            stream.exponential(numbers)
    filling = threading.Thread(target=fill)
    filling.start()
    while filling.is_alive():
        _core.isotropic_chains(*law, 2, (1, 1, 1, 0.1, None), stream)
    """
)


def test_threads_that_draw_from_one_stream_do_not_wait_for_each_other_forever():
    """A long draw asks for Ctrl-C, for which it needs the interpreter lock."""
    subprocess.run([sys.executable, "-c", DRAWING], check=True, timeout=4 * GENEROUS)


def test_designs_kept_for_the_next_call_are_made_by_eight_threads_at_once(together):
    rows = np.tile([0.0, 0.0, 1.0], (600, 1))
    ends = np.arange(0, 601, 60)

    def release(_):
        ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.4)
        return [
            function(rows, ball, cdp.GDP(2.0), groups=ends, seed=3).value.tobytes()
            for function in (cdp.frechet_mean, cdp.frechet_variance, cdp.adaptive_mean)
        ]

    alone = release(None)
    for kept in (design_mean, design_mean_under, schedule_under):
        kept.cache_clear()
    assert all(found == alone for found in together(release))


def forbidden(*arguments, **keywords):
    raise AssertionError("this would be seen by every thread")


def test_cells_of_anchors_are_made_without_a_word_to_other_threads(together, monkeypatch):
    """SciPy warns of centres without rows, and a filter against it would be every thread's."""
    rows = np.repeat(np.random.default_rng(0).standard_normal((40, 3)), 5, axis=0)

    def anchors():
        return PrivateMail(2, guarantee=cdp.PureDP(1.0)).anchors(rows, None)

    alone, shared = anchors().cells(90), anchors()
    assert alone.count < 90  # a centre without rows
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", forbidden)
        found = together(lambda worker: (shared.cells(90), anchors().cells(90 - worker))[0])
    for cells in found:
        assert np.array_equal(cells.centres, alone.centres)
        assert np.array_equal(cells.values, alone.values)


def test_chunks_of_one_job_are_released_by_threads_of_one_process(tmp_path, together):
    """As by the threads of a worker of a cluster, which share the loaded job and its open file."""
    pytest.importorskip("pyarrow")
    import batch_cases as cases
    from curvedp.batch.opening import open_job
    from curvedp.batch.run import Threads
    from curvedp.batch.worker import work

    source = cases.write(tmp_path / "in.parquet", cases.table(200), row_group_size=90)
    secret = tmp_path / "secret"
    cdp.NoiseSecret.create(secret)
    parameters = cases.check_parameters()

    def opened(name):
        job = open_job(
            str(source),
            tmp_path / name,
            parameters,
            chunk_rows=100,
            secret=secret,
            ledger=None,
            resume=False,
        )
        job.prepare(partial(Threads().each, job), reads_here=True)
        return job

    alone, shared = opened("alone.parquet"), opened("shared.parquet")
    chunks = range(alone.layout.chunks)
    stretches = range(len(alone.layout.stretches) - 1)
    assert len(stretches) > 2 * WORKERS
    for number in stretches:
        work(str(alone.folder), alone.identity, "once", "release", number)
    together(
        lambda worker: [
            work(str(shared.folder), shared.identity, "once", "release", number)
            for number in (*stretches[worker::WORKERS], *stretches[worker + 1 :: WORKERS])
        ]
    )
    for number in chunks:
        assert shared.stored(number).equals(alone.stored(number))


def test_the_reader_of_a_file_serves_one_thread_at_a_time(tmp_path, together):
    """Two at once crash the process now and then."""
    pytest.importorskip("pyarrow")
    import batch_cases as cases
    from curvedp.batch.parquet import Source

    path = cases.write(tmp_path / "in.parquet", cases.table(60), row_group_size=50)
    source = Source(str(path), ["site", "direction"])
    batches, busy, refused = source._batches, threading.Lock(), []

    def watched(*arguments, **keywords):
        reader = batches(*arguments, **keywords)
        while True:
            if not busy.acquire(blocking=False):
                refused.append(1)
                busy.acquire()
            time.sleep(1e-3)
            batch = next(reader, None)
            busy.release()
            if batch is None:
                return
            yield batch

    expected = source.read(0, source.rows)
    source._batches = watched
    for found in together(lambda worker: source.read(7 * worker, source.rows)):
        assert found.equals(expected.slice(source.rows - found.num_rows))
    assert not refused
