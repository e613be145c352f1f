"""Memory that is not there: a MemoryError before anything is spent, never an abort."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")

SCRIPT = """
import json, os, resource, sys
import numpy as np, curvedp as cdp

cdp.set_num_threads(1)
rng = np.random.default_rng(0)
ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
asked = json.loads(sys.argv[1])
# a mean keeps one copy of its records, too long to find room that was freed before
many = np.tile(ball.center, (2_000_000 if "mean" in asked else 1_000_000, 1))
x, y = np.linspace(0.0, 1.0, len(many)), np.arange(400_000) % 3
fit = cdp.geodesic_regression(x[:400], many[:400], ball, cdp.GDP(1.0), x_range=(0.0, 1.0))
rows, more = rng.standard_normal((8_000, 8)), rng.standard_normal((400_000, 8))


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


def in_child(work):
    if child := os.fork():
        ended = os.waitpid(child, 0)[1]
        assert ended == 0, ended
    else:
        work()
        os._exit(0)


def within(name, room):
    ledger = cdp.Ledger(cdp.GDP(1.0))
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(room * 1e6), resource.RLIM_INFINITY))
    try:
        call(name, None, {"ledger": ledger})
        outcome = "done"
    except MemoryError:
        outcome = "MemoryError"
    print(f"{name} in {room} MB: {outcome} {ledger.spent}", flush=True)


def within_each(name, rooms):
    call(name, 400, {})  # imports what it needs
    for room in rooms:
        in_child(lambda: within(name, room))


for name, rooms in asked.items():
    in_child(lambda: within_each(name, rooms))
"""

#: Megabytes that are too few for each call, and what is enough for some of them.
TOO_FEW = {
    "mail": (60, 130, 240),
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


def outcomes(asked: dict[str, tuple[int, ...]]) -> list[str]:
    """What calls print that may take so many further megabytes: one line for each."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", SCRIPT, json.dumps(asked)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-500:]
    return found.stdout.splitlines()


@pytest.mark.parametrize("calls", [["mean"], TOO_FEW.keys() - {"mean"}], ids=["mean", "others"])
def test_a_lack_of_memory_is_an_error_before_the_ledger_and_with_room_it_is_done(calls):
    asked = {call: TOO_FEW[call] + (ENOUGH,) * (call in CONTROLS) for call in sorted(calls)}
    assert outcomes(asked) == [
        f"{call} in {room} MB: " + ("done GDP(mu=1)" if room == ENOUGH else "MemoryError None")
        for call, rooms in asked.items()
        for room in rooms
    ]
