"""Printed errors of means without a ball where records reach the cut locus.

    python benches/no_ball_wide.py
    python benches/no_ball_wide.py --beside

Von Mises angles; normal records about a point, records with uniform distances up to .95 injectivity
radii, and two clusters before a uniform quarter; a von Mises angle along one closed geodesic, other
coordinates narrow. Each release has records of its own, and its true error is the distance to where
a descent from its value ends. Nothing is drawn with fixed keys. Beside: errors of mean directions
of von Mises angles, each about that of its records; and a product of two circles.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings

import numpy as np

import curvedp as cdp

#: Spaces whose cut locus does not begin with conjugate points, and two others.
SPACES = (
    *("torus:1", "torus:2", "torus:3", "projective:2", "projective:3", "rotations:3"),
    *("grassmann:4:2", "unitary:2", "so:4", "sphere:2", "kendall:4"),
)
KINDS = (
    *(("von Mises", own) for own in (0.5, 1.0, 2.0)),
    *(("normal", 0.5), ("normal", 2.0 / 3.0), ("up to", 0.95), ("clusters", 0.5)),
    *(("one angle", own) for own in (0.7, 1.0, 1.5, 2.0)),
)
SIZES = ((1000, 1.0), (3000, 1.0), (3000, 3.0), (20_000, 1.0))


def records_of(
    space: cdp.Manifold, kind: str, width: float, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Records about the origin; lengths are in injectivity radii."""
    dim, radius = space.dim, space.injectivity_radius
    coords = rng.standard_normal((n, dim))
    if kind == "von Mises":
        coords = rng.vonmises(0.0, width, (n, dim)) * radius / math.pi
    elif kind == "normal":
        coords *= width * radius / math.sqrt(dim)
    elif kind == "up to":
        lengths = rng.uniform(0.0, width * radius, (n, 1))
        coords *= lengths / np.linalg.norm(coords, axis=1, keepdims=True)
    elif kind == "one angle":
        coords *= 0.1
        coords[:, 0] = rng.vonmises(0.0, width, n) * radius / math.pi
    else:
        coords *= 0.15 * radius / math.sqrt(dim)
        coords[: int(0.3 * n), 0] += width * radius
    points = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    if kind == "clusters" and not space.spec.startswith("rotations"):
        points[-(n // 4) :] = space.random_point(n // 4, rng=rng)
    elif kind == "clusters":
        points[-(n // 4) :] = space.project(rng.standard_normal((n // 4, 3, 3)))
    return np.asarray(points)


def descended(space: cdp.Manifold, records: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Where a descent of the energy ends."""
    point = start
    for _ in range(80):
        step = space.log(records, point).mean(axis=0)
        if np.linalg.norm(step) < 3e-6:
            break
        point = space.project(space.exp(step, point)).reshape(space.point_shape)
    return point


def line(spec: str, kind: str, width: float, n: int, mu: float, count: int) -> str:
    """A row of the table."""
    space, rng = cdp.as_manifold(spec), np.random.default_rng(n)
    records = [records_of(space, kind, width, n, rng) for _ in range(count)]
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(np.concatenate(records), space, cdp.GDP(mu), groups=groups)
    own = [(mean, rows) for mean, rows in zip(means, records, strict=True) if mean.found]
    head = f"| {spec} | {kind} {width:.2g} | {n} | {mu:g} | {len(own)}/{count} |"
    if not own:
        return f"{head} | | | |"
    ends = [descended(space, rows, mean.value) for mean, rows in own]
    errors = np.array(
        [float(space.dist(mean.value, end)) for (mean, _), end in zip(own, ends, strict=True)]
    )
    printed = np.mean([mean.expected_error for mean, _ in own])
    most = np.max(errors / [mean.most_error for mean, _ in own])
    return f"{head} {errors.mean():.4f} | {errors.mean() / printed:.2f} | {most:.3f} |"


def beside_directions(kappa: float, n: int, count: int) -> str:
    """Errors of means on the circle and of mean directions, and their ratio."""
    records = np.random.default_rng(n).vonmises(1.0, kappa, (count, n))
    groups, circle = np.repeat(np.arange(count), n), cdp.Torus(1)
    flat, mu = records.reshape(-1, 1), cdp.GDP(1.0)
    means = cdp.frechet_mean(flat, circle, mu, groups=groups)
    of_mean = [
        float(circle.dist(mean.value, descended(circle, rows[:, None], mean.value)))
        for mean, rows in zip(means, records, strict=True)
        if mean.found
    ]
    exact = np.angle(np.exp(1j * records).mean(axis=1))
    found = cdp.directions.mean_direction(flat[:, 0], "torus:1", mu, groups=groups)
    off = np.array([mean.mean_direction for mean in found]) - exact
    of_direction = np.abs((off + math.pi) % (2 * math.pi) - math.pi).mean()
    error = np.mean(of_mean)
    return f"| {kappa} | {n} | {error:.4f} | {of_direction:.4f} | {of_direction / error:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=24, help="releases a cell")
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--beside", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if arguments.beside:
        print("| kappa | n | error of the mean | of the mean direction | ratio |")
        print("|---|---|---|---|---|")
        for kappa, n in itertools.product((0.5, 1.0), (300, 1000, 3000, 20_000)):
            print(beside_directions(kappa, n, arguments.count), flush=True)
        for n, mu in SIZES:
            print(line("torus:1 x torus:1", "one angle", 0.7, n, mu, arguments.count), flush=True)
        return
    print("| space | records | n | mu | found | error | true/expected | largest true/most |")
    print("|---|---|---|---|---|---|---|---|")
    for spec in arguments.spaces:
        for kind, width in KINDS:
            if kind == ("one angle" if spec == "torus:1" else "von Mises"):
                continue
            for n, mu in SIZES:
                print(line(spec, kind, width, n, mu, arguments.count), flush=True)


if __name__ == "__main__":
    main()
