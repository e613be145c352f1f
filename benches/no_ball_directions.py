"""Means without a ball of directions in many dimensions: which are found, and which must not be.

    python benches/no_ball_directions.py [means] [none] [--runs 1000]

``means``: unit vectors about one of mean resultant length R, n = 5,000: error, its quotient with
the printed one, and the angle of a mean on the flat unit ball. ``none``: uniform and antipodal
records and such on a great circle, of which none may be found.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import curvedp as cdp
from curvedp.errors import CoverageWarning, NoiseWarning

LENGTHS = (0.5, 0.42, 0.38, 0.34, 0.3, 0.27, 0.24, 0.2)


def means(count: int = 6) -> None:
    print("| d | R | μ | found | error | error/printed | angle on the flat unit ball |")
    for d in (63, 383):
        rng, sphere = np.random.default_rng(0), cdp.Sphere(d)
        flat = cdp.Ball(f"euclidean:{d + 1}", np.zeros(d + 1), 1.0)
        for length in LENGTHS:
            records = rng.standard_normal((5000, d + 1)) * np.sqrt((1.0 - length**2) / (d + 1))
            records[:, 0] += length
            records = sphere.project(records)
            exact = cdp.nonprivate.frechet_mean(records, sphere).value
            across = sphere.project(records.mean(axis=0))
            for mu in (1.0, 10.0):
                found = [cdp.frechet_mean(records, sphere, cdp.GDP(mu)) for _ in range(count)]
                own = [mean for mean in found if mean.found]
                errors = [float(sphere.dist(mean.value, exact)) for mean in own] or [np.nan]
                printed = [mean.expected_error for mean in own] or [np.nan]
                vectors = [
                    cdp.frechet_mean(records, flat, cdp.GDP(mu), coverage=False).value
                    for _ in range(count)
                ]
                angle = np.mean(sphere.dist(sphere.project(np.array(vectors)), across))
                error = np.mean(errors)
                print(
                    f"| {d} | {length:g} | {mu:g} | {len(own)} of {count} | {error:.4f} "
                    f"| {error / np.mean(printed):.2f} | {angle:.4f} |",
                    flush=True,
                )


def without_a_mean(kind: str, d: int, count: int, rng: np.random.Generator) -> np.ndarray:
    records = rng.standard_normal((count, d + 1))
    if kind == "antipodal":
        records *= 0.1 / np.sqrt(d + 1)
        records[:, 0] += np.where(np.arange(count) % 2, 1.0, -1.0)
    elif kind == "circle":
        records[:, 2:] = 0.0
    return cdp.Sphere(d).project(records)


def none(runs: int) -> None:
    print("| d | n | μ | records | found |")
    for d in (2, 6, 63, 383):
        for n, mu in ((100, 1.0), (1000, 30.0)):
            for kind in ("uniform", "antipodal", "circle"):
                rng, found, done = np.random.default_rng([d, n]), 0, 0
                while done < runs:
                    groups = min(runs - done, max(1, 400_000 // (n * (d + 1))))
                    records = without_a_mean(kind, d, groups * n, rng)
                    own = np.arange(groups + 1) * n
                    means = cdp.frechet_mean(records, cdp.Sphere(d), cdp.GDP(mu), groups=own)
                    found += sum(mean.found for mean in means)
                    done += groups
                print(f"| {d} | {n} | {mu:g} | {kind} | {found} of {done} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="means, none")
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    warnings.simplefilter("ignore", CoverageWarning)
    for part in given.parts or ("means", "none"):
        means() if part == "means" else none(given.runs)


if __name__ == "__main__":
    main()
