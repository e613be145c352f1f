"""The example of docs/consortium.md by real processes of Flower on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import SiteError
from curvedp.sites import SitesMeanRelease
from curvedp.sites.flower import _keys_by_name, client_app, server_app
from site_cases import study

EXAMPLE = Path(__file__).parents[2] / "docs/examples/flower"
NAMES = ("Aachen", "Bologna")
_CONFIG = """
[superlink]
default = "local"
[superlink.local]
address = "127.0.0.1:{port}"
insecure = true
"""


def test_without_flower_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("flwr", "flwr.app"):
        monkeypatch.setitem(sys.modules, name, None)
    for start in (
        lambda: client_app(lambda context: None),  # type: ignore[arg-type,return-value]
        lambda: server_app(study(2, 0), print),
    ):
        with pytest.raises(cdp.MissingExtraError, match="flower"):
            start()


def test_a_study_with_masks_begins_with_one_key_of_each_site() -> None:
    own = study(2, 0, masks=True)
    first, second = own.roster
    whole = [(second, b"2"), (first, b"1")]
    assert _keys_by_name(own, whole) == {first: b"1", second: b"2"}
    for told, message in (
        (whole[:1], f"from {first}, and masks need all: start"),
        ([*whole, (first, b"3")], "two nodes say one name"),
        ([*whole, ("Zo", b"3")], "not on the roster"),
    ):
        with pytest.raises(SiteError, match=message):
            _keys_by_name(own, told)


_SIMULATED = """
import functools, sys, numpy as np, curvedp as cdp
from pathlib import Path
from flwr.simulation import run_simulation
from curvedp.sites import Agreement, SiteMean
from curvedp.sites.flower import _keys_by_name, client_app, server_app

folder, masks = Path(sys.argv[1]), sys.argv[2] == "True"
whole = cdp.GDP(1.0, neighbours="add-remove")
study = Agreement("spd:3", whole, ["Aa", "Bo", "Ce"], masks=masks)

def site_of(context):
    number = int(context.node_config["partition-id"])
    own = folder / study.roster[number]
    own.mkdir(exist_ok=True)
    tensors = np.array_split(cdp.datasets.load_diffusion_tensors().records, 3)[number]
    return SiteMean(tensors, study, own.name, ledger=cdp.Ledger(whole, path=own / "ledger"),
                    state=own / "state")

def write(release):
    (folder / "mean.json").write_text(release.to_json())

run_simulation(server_app(study, write), client_app(site_of), 3)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("masks", [False, True], ids=["clear", "masks"])
def test_the_simulation_of_flower_releases_one_mean(tmp_path: Path, masks: bool) -> None:
    pytest.importorskip("ray")
    environment = os.environ | {
        "FLWR_HOME": str(tmp_path / "home"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": os.pathsep.join(own for own in sys.path if own),
    }
    done = subprocess.run(
        [sys.executable, "-c", _SIMULATED, str(tmp_path), str(masks)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert (tmp_path / "mean.json").exists(), done.stderr
    _check(tmp_path, cdp.datasets.load_diffusion_tensors().records, masks, ("Aa", "Bo", "Ce"))


def _check(
    folder: Path, records: np.ndarray, masks: bool, names: tuple[str, ...], void: bool = False
) -> None:
    """The release is one of these records, and each site paid once and noted each round once."""
    release = cdp.Release.from_json((folder / "mean.json").read_text())
    exact = cdp.nonprivate.frechet_mean(records, cdp.SPD(3)).value
    assert isinstance(release, SitesMeanRelease)
    assert (release.found, release.masked, release.sites) == (True, masks, len(names))
    assert (release.fewest, release.void_rounds == 0) == (len(names), not void)
    assert float(cdp.SPD(3).dist(release.value, exact)) < 12.0 * release.expected_error
    for name in names:
        ledger = cdp.Ledger.open(folder / name / "ledger")
        assert len({entry.label for entry in ledger.entries}) == 1
        assert (ledger.entries[0].guarantee, ledger.entries[0].settles) == (
            cdp.GDP(1.0, neighbours="add-remove"),
            None,
        )
        rounds = _noted(folder / name)
        assert len(rounds) == len(set(rounds))
        assert set(rounds) <= set(range(release.rounds_asked))
        assert void or len(rounds) == release.rounds_asked
        with closing(sqlite3.connect(folder / name / "state")) as connection:
            assert connection.execute("SELECT count(*) FROM mask").fetchone() == (0,)


def _noted(folder: Path) -> list[int]:
    """Numbers of the rounds that a site has in its state file."""
    file = f"{(folder / 'state').as_uri()}?mode=ro"  # makes none
    with suppress(sqlite3.Error), closing(sqlite3.connect(file, uri=True)) as connection:
        rows = connection.execute("SELECT number FROM round ORDER BY number").fetchall()
        return [number for (number,) in rows]
    return []


def _free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as own:
        return own.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended with all that they started."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for own in running:
        os.killpg(own.pid, signal.SIGKILL)
        own.wait()


class Consortium:
    """The example's link, nodes and server, in a folder."""

    def __init__(
        self, folder: Path, started: list[subprocess.Popen[bytes]], masks: bool = True
    ) -> None:
        self.folder, self.started, self.port = folder, started, _free_port()
        self.records = cdp.datasets.load_diffusion_tensors().records
        for name, own in zip(NAMES, np.array_split(self.records, 2), strict=True):
            (folder / name).mkdir()
            np.save(folder / name / "tensors.npy", own)
        (folder / "home").mkdir()
        (folder / "home/config.toml").write_text(_CONFIG.format(port=self.port))
        shutil.copytree(EXAMPLE, folder / "app")
        code = (EXAMPLE / "consortium.py").read_text()
        assert "masks=True" in code
        (folder / "app/consortium.py").write_text(code.replace("masks=True", f"masks={masks}"))
        bin = os.path.dirname(sys.executable)
        self.environment = os.environ | {
            "FLWR_HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "RELEASE": str(folder / "mean.json"),
            "STATE": str(folder / "server.state"),
            "PATH": bin + os.pathsep + os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(own for own in sys.path if own),
        }
        self.until = time.monotonic() + 800
        no_install = "--disable-runtime-dependency-installation"
        self.start("flower-superlink", "--insecure", no_install, "--port", str(self.port))
        while not _answers(self.port) and time.monotonic() < self.until:
            time.sleep(0.5)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{len(self.started)}.log").open("wb") as log:
            own = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(own)
        return own

    def node(self, name: str) -> subprocess.Popen[bytes]:
        config = f'name="{name}" folder="{self.folder / name}"'
        link = ("--superlink", f"127.0.0.1:{self.port}", "--port", str(_free_port()))
        return self.start("flower-supernode", "--insecure", *link, "--node-config", config)

    def run(self) -> None:
        self.start("flwr", "run", "app", "local", "--stream")

    def wait(self, done: Callable[[], bool]) -> None:
        while not done() and time.monotonic() < self.until:
            time.sleep(0.2)
        logs = "\n".join(own.read_text() for own in sorted(self.folder.glob("*.log")))
        assert done(), logs

    def wait_for_the_release(self) -> None:
        self.wait((self.folder / "mean.json").exists)
        time.sleep(1.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("masks", [True, False], ids=["masks", "clear"])
def test_two_hospitals_and_a_server_release_one_mean(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], masks: bool
) -> None:
    pytest.importorskip("flwr")
    own = Consortium(tmp_path, started, masks)
    for name in NAMES:
        own.node(name)
    own.run()
    own.wait_for_the_release()
    _check(tmp_path, own.records, masks, NAMES)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hospital_killed_in_mid_round_comes_back_with_its_key(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """The round is void, as masks need all; the node that is started anew goes on with the run."""
    pytest.importorskip("flwr")
    own = Consortium(tmp_path, started)
    nodes = [own.node(name) for name in NAMES]
    own.run()
    own.wait(lambda: _noted(tmp_path / NAMES[0]) == [0])
    os.killpg(nodes[0].pid, signal.SIGKILL)
    own.node(NAMES[0])
    own.wait_for_the_release()
    _check(tmp_path, own.records, True, NAMES, void=True)
