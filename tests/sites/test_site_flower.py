"""The example of docs/consortium.md by real processes of Flower on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.sites import Agreement
from curvedp.sites.flower import client_app, server_app
from site_cases import PROTECTED, study

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


def test_masks_are_refused() -> None:
    pytest.importorskip("flwr")
    own = Agreement("sphere:2", PROTECTED, ["a", "b"], masks=True)
    with pytest.raises(ValueError, match="one process"):
        server_app(own, print)


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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hospitals_and_a_server_release_one_mean(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    pytest.importorskip("flwr")
    records = cdp.datasets.load_diffusion_tensors().records
    for name, own in zip(NAMES, np.array_split(records, 2), strict=True):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "tensors.npy", own)
    port = _free_port()
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(_CONFIG.format(port=port))
    shutil.copytree(EXAMPLE, tmp_path / "app")
    folder = os.path.dirname(sys.executable)
    environment = os.environ | {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "RELEASE": str(tmp_path / "mean.json"),
        "PATH": folder + os.pathsep + os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(own for own in sys.path if own),
    }

    def start(*command: str) -> None:
        with (tmp_path / f"{len(started)}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    command,
                    cwd=tmp_path,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    no_install = "--disable-runtime-dependency-installation"
    start("flower-superlink", "--insecure", no_install, "--port", str(port))
    until = time.monotonic() + 800
    while not _answers(port) and time.monotonic() < until:
        time.sleep(0.5)
    for name in NAMES:
        config = f'name="{name}" folder="{tmp_path / name}"'
        link = ("--superlink", f"127.0.0.1:{port}", "--port", str(_free_port()))
        start("flower-supernode", "--insecure", *link, "--node-config", config)
    start("flwr", "run", "app", "local", "--stream")
    while not (tmp_path / "mean.json").exists() and time.monotonic() < until:
        assert started[-1].poll() in (None, 0), (tmp_path / "3.log").read_text()
        time.sleep(1.0)
    time.sleep(1.0)
    logs = "\n".join(own.read_text() for own in sorted(tmp_path.glob("*.log")))
    assert (tmp_path / "mean.json").exists(), logs
    release = cdp.Release.from_json((tmp_path / "mean.json").read_text())
    exact = cdp.nonprivate.frechet_mean(records, cdp.SPD(3)).value
    assert release.found
    assert (release.sites, release.fewest, release.void_rounds) == (2, 2, 0)
    assert float(cdp.SPD(3).dist(release.value, exact)) < 12.0 * release.expected_error
    for name in NAMES:
        ledger = cdp.Ledger.open(tmp_path / name / "ledger")
        assert len({entry.label for entry in ledger.entries}) == 1
        assert (ledger.entries[0].guarantee, ledger.entries[0].settles) == (
            cdp.GDP(1.0, neighbours="add-remove"),
            None,
        )
