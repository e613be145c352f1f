"""Memory that is not there: a MemoryError before anything is spent, never an abort."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")

SCRIPT = """
import os, resource, sys
import numpy as np, curvedp as cdp

cdp.set_num_threads(1)
rng = np.random.default_rng(0)
ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
# a mean keeps one copy of its records, too long to find room that was freed before
many = np.tile(ball.center, (2_000_000 if sys.argv[1] == "mean" else 1_000_000, 1))
x, y = np.linspace(0.0, 1.0, len(many)), np.arange(400_000) % 3
fit = cdp.geodesic_regression(x[:400], many[:400], ball, cdp.GDP(1.0), x_range=(0.0, 1.0))
rows, more = rng.standard_normal((11_000, 8)), rng.standard_normal((400_000, 8))


def call(name, n, how):
    records, gdp = many[:n], cdp.GDP(1.0)
    match name:
        case "mail":
            cdp.PrivateMail(2, guarantee=gdp, alpha=0.0, **how).fit_transform(rows[:n])
        case "streamed mail":
            cdp.PrivateMail(2, guarantee=gdp, memory_limit=0, **how).fit_transform(more[:n], y[:n])
        case "mean":
            cdp.frechet_mean(records, ball, gdp, **how)
        case "adaptive mean":
            cdp.adaptive_mean(records, ball, gdp, **how)
        case "units":
            cdp.frechet_mean(records, ball, gdp, units=np.arange(len(records)) // 2, **how)
        case "test":
            cdp.k_sample_test(records, np.arange(len(records)) % 2, ball, gdp, **how)
        case "regression":
            cdp.geodesic_regression(x[:n], records, ball, gdp, x_range=(0.0, 1.0), **how)
        case "explained":
            cdp.r_squared(x[:n], records, fit, gdp, **how)
        case "logistic":
            labels = np.arange(len(records)) % 3
            cdp.tangent_logistic(records, labels, ball, gdp, classes=[0, 1], n_steps=3, **how)
        case "clusters":
            cdp.k_means(records, 3, ball, gdp, **how)


call(sys.argv[1], 400, {})  # imports what it needs
for room in map(float, sys.argv[2:]):
    if child := os.fork():
        ended = os.waitpid(child, 0)[1]
        assert ended == 0, f"{room} MB: {ended}"
        continue
    ledger = cdp.Ledger(cdp.GDP(1.0))
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(room * 1e6), resource.RLIM_INFINITY))
    try:
        call(sys.argv[1], None, {"ledger": ledger})
        print("done", ledger.spent, flush=True)
    except MemoryError as error:
        print("MemoryError", ledger.spent, flush=True)
    os._exit(0)
"""

#: Megabytes that are too few for each call, and what is enough for some of them.
TOO_FEW = {
    "mail": (60, 250, 450),
    "streamed mail": (60, 180),
    "mean": (60,),
    "adaptive mean": (30, 90),
    "units": (30, 90),
    "test": (30, 90),
    "regression": (90,),
    "logistic": (30, 60, 90),
    "clusters": (30, 60, 90),
}
ENOUGH = 4000
CONTROLS = ("mail", "units", "regression", "logistic", "clusters")


def outcomes(call: str, rooms: tuple[int, ...]) -> list[str]:
    """What a call prints that may take so many further megabytes: one line for each."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", SCRIPT, call, *map(str, rooms)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-500:]
    return found.stdout.splitlines()


@pytest.mark.parametrize("call", TOO_FEW)
def test_a_lack_of_memory_is_an_error_before_the_ledger_and_with_room_it_is_done(call):
    rooms = TOO_FEW[call] + (ENOUGH,) * (call in CONTROLS)
    expected = [("MemoryError None", "done GDP(mu=1)")[room == ENOUGH] for room in rooms]
    assert outcomes(call, rooms) == expected
