"""Private means of groups beside the least that they can cost: reading the records plus arithmetic.

    python benches/group_limit.py --threads 1

The arithmetic of a group is what the same kernels take over one long array, with nothing that is
done once for a group: projection of its records on the ball, as many gradients as its mean needs,
one exponential for each further point of the iteration, the noise from one long stream, and the
release rounded to the grid and moved back. What comes on top are the start of the group's own
stream, the quasi-Newton steps and their transports, filling blocks with the points of several
groups, and memory. Prints microseconds per group.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import curvedp as cdp
from benchmarks import workloads
from curvedp import _core
from curvedp.mechanisms.grid import round_to_grid


def best(call: Callable[[], object], rounds: int = 15) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def evaluations(ball: cdp.Ball, rows: np.ndarray, n: int, tolerance: float) -> float:
    """Gradients that a group's mean needs, on average over the first hundred groups."""
    plan = ball.frame.plan(n, tolerance)
    counts = []
    for start in range(0, 100 * n, n):
        descent, count = _core.Descent(ball.frame, plan), 0
        while (base := descent.wanted()) is not None:
            sums = np.empty((-(-n // _core.PIECE), ball.manifold.dim + 2))
            ball.frame.piece_sums(rows[start : start + n], base, sums)
            descent.advance(sums, n)
            count += 1
        counts.append(count)
    return float(np.mean(counts))


def measure(name: str, ball: cdp.Ball, x: np.ndarray, n: int) -> None:
    """One line: what a group takes, and what it must take."""
    groups = len(x) // n
    offsets = np.arange(0, len(x) + 1, n)
    releases = cdp.frechet_mean(x, ball, cdp.GDP(1.0), groups=offsets)
    rows = ball.enter(x)
    base = ball.frame.origin
    sums = np.empty((-(-len(rows) // _core.PIECE), ball.manifold.dim + 2))
    noise = _core.Noise(*ball.manifold.noise_space, "gaussian", float(releases.scale[0]))
    drawn = np.empty((groups, ball.frame.manifold.point_size))
    steps = evaluations(ball, rows, n, float(releases.solver_tolerance[0]))
    micro = 1e6 / groups
    whole = micro * best(lambda: cdp.frechet_mean(x, ball, cdp.GDP(1.0), groups=offsets))
    read = micro * best(lambda: x.sum())
    enter = micro * best(lambda: ball.enter(x))
    gradient = micro * best(lambda: ball.frame.piece_sums(rows, base, sums))
    stream = _core.Stream.from_os()
    sample = micro * best(lambda: noise.sample(ball.frame.manifold, base, stream, drawn))
    scale = float(releases.scale[0])
    rounding = micro * best(lambda: ball.leave(round_to_grid(ball, drawn, scale)))
    coords = np.full((groups, ball.manifold.dim), 0.01)
    ends = np.empty_like(drawn)
    moved = micro * best(lambda: ball.frame.manifold.exp_coords(coords, drawn, ends))
    least = read + enter + steps * gradient + (steps - 1) * moved + sample + rounding
    print(
        f"{name}: {whole:.2f} us a group, {1e6 / whole:,.0f} groups/s; reading "
        f"{read:.3f} + projection {enter:.3f} + {steps:.1f} gradients of {gradient:.3f} + "
        f"{steps - 1:.1f} steps of {moved:.3f} + noise {sample:.3f} + rounding {rounding:.3f} = "
        f"{least:.3f}: ratio {whole / least:.2f}"
    )


def main() -> None:
    """Measure both examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    cdp.set_num_threads(parser.parse_args().threads)
    x = workloads.sphere_ball(2, 2_000_000)
    measure("S^2, n=20", cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.8), x, 20)
    x = workloads.spd_ball(3, 1_000_000)
    center = cdp.nonprivate.frechet_mean(x[:1000], cdp.SPD(3)).value
    measure("SPD(3), n=100", cdp.Ball(cdp.SPD(3), center, 3.0), x, 100)


if __name__ == "__main__":
    main()
