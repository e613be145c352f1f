"""Settings and fixtures that every test shares."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # before NumPy is imported: every processor has its worker
    for _library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "RAYON"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

import drawn_keys
import thorough
from curvedp.privacy import provenance
from manifold_list import CASES, SMALL, Case

# Files that last no longer than a test need no disk, where each fsync takes milliseconds.
_MEMORY = "/dev/shm"
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

gc.disable()  # until all is collected, of which nothing is garbage

_HERE = Path(__file__).parent
_NO_DATA = "CURVEDP_DATA is not set"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fresh", action="store_true", help="keys and examples from the operating system"
    )


def pytest_configure(config: pytest.Config) -> None:
    fresh = config.getoption("--fresh")
    drawn_keys.install(fresh)
    provenance.today = lambda: "2026-11-25"  # releases on both sides of midnight would differ
    settings.register_profile(
        "tests",
        max_examples=10,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=not fresh,
        deadline=None,
        database=None,
        print_blob=True,
    )
    settings.load_profile("tests")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks what the default run leaves to CI."""
    file, name = item.path.relative_to(_HERE).as_posix(), getattr(item, "originalname", item.name)
    spec = getattr(item, "callspec", None)
    ident, values = ("", ()) if spec is None else (spec.id, spec.params.values())
    thorough.COLLECTED.setdefault((file, name), []).append(ident)
    if thorough.is_left_to_ci(file, name, ident, values):
        item.add_marker(pytest.mark.thorough)


def pytest_collection_finish() -> None:
    """What was collected stays, so that no search for garbage goes through it."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Each test draws with keys of its own."""
    name = f"{item.path.relative_to(_HERE)} {item.nodeid.partition('::')[2]}"
    with drawn_keys.owned_by(None if item.get_closest_marker("true_entropy") else name):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> object:
    """A fixture that tests share draws with keys of its own, whichever test comes first."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')!r}"
    with drawn_keys.owned_by(name):
        return (yield)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real data sets, named by the environment variable CURVEDP_DATA."""
    folder = os.environ.get("CURVEDP_DATA")
    if not folder:
        pytest.skip(_NO_DATA)
    path = Path(folder)
    assert path.is_dir(), f"CURVEDP_DATA names no folder: {path}"
    return path


@pytest.fixture(scope="session", params=CASES, ids=repr)
def case(request: pytest.FixtureRequest) -> Case:
    """Every manifold of tests/manifold_list.py in turn."""
    return request.param


@pytest.fixture(scope="session", params=SMALL, ids=repr)
def small_case(request: pytest.FixtureRequest) -> Case:
    """One manifold of each kind, for expensive tests."""
    return request.param


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(_NO_DATA in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} tests on real data skipped: {_NO_DATA}")
