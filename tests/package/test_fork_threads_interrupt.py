"""Forked children, many threads at once, and Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core

POSIX = pytest.mark.skipif(os.name != "posix", reason="fork and SIGINT are POSIX")
GENEROUS = 60


def records(n, seed=0):
    """SPD(3) matrices about the identity."""
    square = np.random.default_rng(seed).standard_normal((n, 3, 3)) * 0.2
    return np.eye(3) + square @ np.swapaxes(square, 1, 2)


def spd_ball():
    return cdp.Ball(cdp.SPD(3), center=np.eye(3), radius=1.5)


def release_value(_=None):
    """One private mean, as nested lists."""
    release = cdp.frechet_mean(records(2_000), spd_ball(), cdp.PureDP(1.0))
    return release.value.tolist()


# ------------------------------------------------------------------ fork


def _child(queue):
    big = records(20_000)
    distances = cdp.SPD(3).dist(big, np.eye(3))
    queue.put((release_value(), float(distances.sum())))


@POSIX
@pytest.mark.true_entropy
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_do_not_hang_and_draw_different_noise():
    """The parent has used its thread pool and drawn noise before it forks."""
    cdp.set_num_threads(2)
    parent = release_value()
    expected = float(cdp.SPD(3).dist(records(20_000), np.eye(3)).sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(4)]
    for child in children:
        child.start()
    results = [queue.get(timeout=GENEROUS) for _ in children]
    for child in children:
        child.join(timeout=GENEROUS)
        assert child.exitcode == 0
    values = [parent, release_value(), *(value for value, _ in results)]
    assert len({str(value) for value in values}) == len(values)
    assert {total for _, total in results} == {expected}


def _outcomes_of_keys(keys, ways, queue):
    """What comes of each use of keys: the numbers drawn, or the kind of error."""
    found = []
    for draw in ways:
        try:
            found.append(draw(keys))
        except RuntimeError as error:
            found.append(str(error))
    queue.put(found)


def _uniforms(stream):
    numbers = np.empty(3)
    stream.uniform(numbers)
    return numbers.tolist()


def _core_groups():
    """Two groups of records, as the core takes them."""
    rows = records(20).reshape(20, -1)
    offsets = np.array([0, 10, 20])
    frame = spd_ball().frame
    design = _core.GroupDesign(1.0, None)
    return rows, _core.Groups([frame], offsets, [design], np.zeros(2, dtype=np.int32), None)


def _ways_to_use_keys():
    rows, groups = _core_groups()
    return (
        lambda keys: _uniforms(keys.first()),
        lambda keys: _uniforms(keys.part(1).first()),
        lambda keys: _uniforms(groups.stream(rows, keys, 1, 2, 1)),
    )


@pytest.mark.true_entropy
@POSIX
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fresh_keys_of_groups_are_refused_in_forked_children():
    """Two children would draw the same noise; keys that were given are everybody's (control)."""
    context = multiprocessing.get_context("fork")
    fresh, given = _core.GroupKeys.fresh(), _core.GroupKeys.numbered(bytes(32))
    ways = _ways_to_use_keys()
    outcomes = {}
    for name, keys in (("fresh", fresh), ("given", given)):
        queue = context.Queue()
        children = [
            context.Process(target=_outcomes_of_keys, args=(keys, ways, queue)) for _ in range(2)
        ]
        for child in children:
            child.start()
        outcomes[name] = [queue.get(timeout=GENEROUS) for _ in children]
        for child in children:
            child.join(timeout=GENEROUS)
    for child_outcomes in outcomes["fresh"]:
        assert all("make a new one" in outcome for outcome in child_outcomes)
    assert outcomes["given"][0] == outcomes["given"][1]
    assert all(isinstance(draw(fresh), list) for draw in ways)


@pytest.mark.true_entropy
@POSIX
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_stream_of_fresh_keys_is_refused_in_a_forked_child():
    """It was opened before the fork."""
    rows, groups = _core_groups()
    keys = _core.GroupKeys.fresh()
    streams = (keys.first(), keys.part(2).first(), groups.stream(rows, keys, 0, 1, 0))
    queue = multiprocessing.get_context("fork").Queue()
    child = multiprocessing.get_context("fork").Process(
        target=_outcomes_of_keys,
        args=(keys, [lambda _, own=stream: _uniforms(own) for stream in streams], queue),
    )
    child.start()
    assert all("make a new one" in outcome for outcome in queue.get(timeout=GENEROUS))
    child.join(timeout=GENEROUS)
    assert all(len(_uniforms(stream)) == 3 for stream in streams)


# ------------------------------------------------------------------ threads


@pytest.fixture(autouse=True)
def _two_threads():
    """The processes of pytest have one thread each (conftest.py); calls here share a pool."""
    cdp.set_num_threads(2)
    yield
    cdp.set_num_threads(0)


def test_many_threads_at_once_give_valid_and_different_releases():
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(release_value, range(32)))
    assert np.all(cdp.SPD(3).belongs(np.array(values)))
    assert len({str(value) for value in values}) == 32


def test_many_threads_at_once_compute_what_one_does():
    points = records(5_000)
    manifold = cdp.SPD(3)
    alone = manifold.log(points, np.eye(3))
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(lambda _: manifold.log(points, np.eye(3)), range(16))
        assert all(np.array_equal(alone, result) for result in together)


def statistics(ball, mesh, x):
    """Seeded releases of every kind, as text or bytes; all of them share the ball and the mesh."""
    times = np.linspace(0.0, 1.0, len(x))
    public = {"x_range": (0.0, 1.0), "tau": 0.3, "v_max": 0.5}
    claim = cdp.GDP(mu=1.0)
    every = (
        *(cdp.frechet_mean, cdp.adaptive_mean, cdp.kng_mean),
        *(cdp.frechet_variance, cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian),
        *(cdp.confidence_region, cdp.variance_interval),
    )
    ends = [0, 80, len(x)]
    return [
        *(statistic(x, ball, claim, seed=1).to_json() for statistic in every),
        *(
            release.to_json()
            for statistic in every
            for release in statistic(x, ball, claim, groups=ends, seed=1)
        ),
        *(
            cdp.geodesic_regression(times, x, ball, claim, seed=1, sampler=name, **public).to_json()
            for name in ("whitened", "exact")
        ),
        cdp.conformal_mean(x, ball, claim, mesh=mesh, seed=1).to_json(),
        cdp.conformal.density(x, ball, claim, mesh=mesh, seed=1).value.tobytes(),
        cdp.quantile(x[:, 0], 0.5, low=-1.0, high=1.0, guarantee=claim, seed=1).to_json(),
        cdp.nonprivate.frechet_mean(ball.project(x), ball.manifold).value.tobytes(),
    ]


def shared_parts():
    """A ball and a mesh that nobody has asked anything yet."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
    mesh = cdp.conformal.laplacian(cdp.conformal.knn_graph(cdp.conformal.ball_mesh(ball, 80), 8))
    return ball, mesh


def test_every_statistic_in_eight_threads_is_what_it_is_alone():
    rng = np.random.default_rng(0)
    x = 0.1 * rng.standard_normal((200, 3)) + [0.0, 0.0, 1.0]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    alone = statistics(*shared_parts(), x)
    parts, start = shared_parts(), threading.Barrier(8)

    def together(_):
        start.wait(timeout=GENEROUS)
        return statistics(*parts, x)

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(together, range(8)):
            assert found == alone


FIRST_USE = textwrap.dedent(
    """
    import sys, threading
    from concurrent.futures import ThreadPoolExecutor
    import curvedp as cdp
    start = threading.Barrier(8)
    def names(_):
        start.wait()
        return [getattr(cdp, name) for name in cdp.__all__]
    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(names, range(8))
    for other in others:
        assert all(a is b for a, b in zip(first, other, strict=True))
    """
)


def test_names_asked_for_first_by_eight_threads_are_the_same():
    subprocess.run([sys.executable, "-c", FIRST_USE], check=True, timeout=4 * GENEROUS)


def _everything(spec, n):
    """Results of every batch operation and of the mean, as bytes."""
    manifold = cdp.as_manifold(spec)
    generator = np.random.default_rng(5)
    x = manifold.random_point(n, rng=generator)
    y = manifold.random_point(n, rng=generator)
    ball = cdp.Ball(manifold, center=x[0], radius=0.5)
    inside = ball.project(x)
    tangent = manifold.log(y, x)
    results = (
        tangent,
        manifold.exp(tangent, x),
        manifold.dist(x, y),
        manifold.pairwise_dist(x[:300]),
        manifold.parallel_transport(tangent, x, end_point=y),
        manifold.inner(tangent, tangent, x),
        inside,
        cdp.nonprivate.frechet_mean(inside, manifold).value,
    )
    return [np.asarray(result).tobytes() for result in results]


@pytest.mark.parametrize(
    "spec",
    [
        "sphere:2",
        "sphere:99",
        "hyperboloid:4",
        "kendall:10",
        "spd:3",
        "spd:7",
        "spd:3:log-euclidean",
        "spd:3:log-cholesky",
        "euclidean:5",
    ],
)
def test_results_do_not_depend_on_the_number_of_threads(spec):
    cdp.set_num_threads(1)
    one = _everything(spec, 20_000)
    for threads in (2, 3, 7):
        cdp.set_num_threads(threads)
        assert _everything(spec, 20_000) == one


@pytest.mark.parametrize("threads", [-1, 1.5, "two"])
def test_impossible_numbers_of_threads_are_refused(threads):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        cdp.set_num_threads(threads)


# ------------------------------------------------------------------ Ctrl-C

LONG_MEAN = textwrap.dedent(
    """
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    import curvedp as cdp
    cdp.set_num_threads(1)
    [getattr(cdp, name) for name in cdp.__all__]  # the call itself is interrupted, not an import
    generator = np.random.default_rng(0)
    square = generator.standard_normal((400, 16, 16))
    matrices = square @ np.swapaxes(square, 1, 2) / 16 + 1e-3 * np.eye(16)
    matrices = np.tile(matrices, (250, 1, 1))
    print("begin", flush=True)
    try:
        CALL
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(7)
    print("finished", flush=True)
    """
)
CALLS = {
    "mean": "cdp.nonprivate.frechet_mean(matrices, cdp.SPD(16))",
    "release": (
        "cdp.frechet_mean(matrices, cdp.Ball(cdp.SPD(16), center=np.eye(16), radius=8.0), "
        "cdp.GDP(0.005))"
    ),
    "groups": (
        "cdp.frechet_mean(matrices, cdp.Ball(cdp.SPD(16), center=np.eye(16), radius=8.0), "
        "cdp.GDP(1.0), groups=np.arange(0, 100_001, 50))"
    ),
    "pairwise": "cdp.SPD(16).pairwise_dist(matrices[:6000])",
    "images": "cdp.descriptors.image_covariance(np.zeros((30_000, 128, 128), dtype=np.uint8))",
}


@POSIX
@pytest.mark.parametrize("call", list(CALLS))
def test_ctrl_c_ends_long_calls_early(call):
    child = subprocess.Popen(
        [sys.executable, "-c", LONG_MEAN.replace("CALL", CALLS[call])],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        time.sleep(0.7)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=GENEROUS)
        waited = time.monotonic() - start
    finally:
        child.kill()
        child.wait()
    assert output == "interrupted\n"
    assert child.returncode == 7
    assert waited < 10.0
