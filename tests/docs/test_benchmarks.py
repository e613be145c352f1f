"""Every benchmark runs, at a tiny size, so that none of them goes stale unnoticed."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
MODULES = sorted(path.stem for path in (BENCHES / "benchmarks").glob("*.py"))
LIMIT = 20


@pytest.fixture(scope="module")
def suite():
    """The package of benchmarks with all sizes cut to LIMIT."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHES))
    try:
        modules = {name: importlib.import_module(f"benchmarks.{name}") for name in MODULES}
        modules["workloads"].LIMIT = LIMIT
        modules["workloads"].batch = functools.cache(modules["workloads"].batch)
        yield modules
    finally:
        sys.path.remove(str(BENCHES))
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "benchmarks":
                del sys.modules[name]


def combinations(params):
    """All arguments of a benchmark; asv takes one list for one parameter."""
    if params and not isinstance(params[0], (list, tuple)):
        params = [params]
    return list(itertools.product(*params))


def benchmarks(module):
    """Classes of a module that hold benchmarks."""
    for _, entry in inspect.getmembers(module, inspect.isclass):
        methods = [name for name in dir(entry) if name.startswith(("time_", "track_", "peakmem_"))]
        if entry.__module__ == module.__name__ and methods:
            yield entry, methods


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name not in ("__init__", "workloads")]
)
def test_every_benchmark_runs(suite, name):
    found = 0
    for entry, methods in benchmarks(suite[name]):
        assert entry.__doc__
        for arguments in combinations(getattr(entry, "params", ())):
            benchmark = entry()
            try:
                getattr(benchmark, "setup", lambda *_: None)(*arguments)
            except NotImplementedError:
                continue  # asv skips it too
            for method in methods:
                result = getattr(benchmark, method)(*arguments)
                if method.startswith("track_"):
                    assert math.isfinite(result), f"{entry.__name__}.{method}{arguments}"
                else:
                    assert result is None
                found += 1
            getattr(benchmark, "teardown", lambda: None)()
    assert found > 0


def test_asv_finds_no_benchmark_that_is_none(suite):
    """It takes every function of a module for one that is called like one, imported or not."""
    kinds = ("time_", "track_", "mem_", "peakmem_", "timeraw_")
    taken = {f"{name}.{entry}" for name in MODULES for entry in dir(suite[name])}
    assert not {entry for entry in taken if entry.partition(".")[2].startswith(kinds)}


def test_the_suite_tracks_more_than_time(suite):
    methods = {
        method for name in MODULES for _, methods in benchmarks(suite[name]) for method in methods
    }
    tracked = {method for method in methods if method.startswith("track_")}
    assert {"track_acceptance", "track_evaluations", "track_iterations", "track_dist"} <= tracked
    assert len([method for method in methods if method.startswith("peakmem_")]) >= 6
