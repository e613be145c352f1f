"""Power of the test of a trend beside the length of a released slope.

python benches/trend.py [--quick]

The slope is that of a regression at the same budget. It is called seen where it is longer than 95 %
of those without a trend, in as many simulations: a law that no user has. Records on the sphere, in
a ball of radius pi/4, spread 0.1.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import curvedp as cdp

BALL = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], np.pi / 4)
CELLS = ((100, 0.3), (100, 0.15), (300, 0.1), (300, 0.05), (1000, 0.02))


def lengths_and_tests(n: int, slope: float, times: int) -> tuple[np.ndarray, float]:
    """Lengths of released slopes, and the share of tests that reject."""
    space, found, rejected = BALL.manifold, [], 0
    for seed in range(times):
        rng = np.random.default_rng([1, n, seed, slope > 0])
        x = rng.uniform(0.0, 1.0, n)
        means = space.exp((x - 0.5)[:, None] * np.array([slope, 0.0, 0.0]), BALL.center)
        noise = 0.1 / 2**0.5 * rng.standard_normal((n, 2))
        y = space.exp(space.coords_to_tangent(noise, means), means)
        fit = cdp.geodesic_regression(x, y, BALL, cdp.GDP(1.0), x_range=(0.0, 1.0), seed=seed)
        found.append(float(space.dist(*fit.predict([0.0, 1.0]))))
        test = cdp.trend_test(x, y, BALL, cdp.GDP(1.0), x_range=(0.0, 1.0), seed=seed)
        rejected += test.rejects
    return np.array(found), rejected / times


def main(times: int) -> None:
    """Prints the table of docs/proofs/permutation-tests.md."""
    print("| n | slope | test | test, no trend | slope longer than its null's 95 % |")
    print("|---|---|---|---|---|")
    for n, slope in CELLS:
        without, level = lengths_and_tests(n, 0.0, times)
        lengths, power = lengths_and_tests(n, slope, times)
        seen = np.mean(lengths > np.quantile(without, 0.95))
        print(f"| {n} | {slope} | {power:.2f} | {level:.3f} | {seen:.2f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(20 if "--quick" in sys.argv else 200)
