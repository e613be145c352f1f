"""Printed errors of means without a ball where some records lie far out.

    python benches/no_ball_far.py

Normal and skewed records about a random point, and such of which 1, 5 or 10 % lie at 5, 30 or 300
spreads in one direction, n = 500 and 2,000, at mu = 1 and at epsilon = 1. Nothing was chosen on
them. `benches/no_ball.py` writes the table into its page.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np

import curvedp as cdp
from curvedp.errors import ExistenceError

#: Space, root mean square distance, and the farthest distance that is tried.
SPACES = (
    *(("sphere:2", 0.05, 1.6), ("sphere:6", 0.05, 1.6), ("rotations:3", 0.05, 1.6)),
    *(("torus:2", 0.05, 1.6), ("euclidean:3", 1.0, 1e9), ("hyperboloid:2", 0.1, 10.0)),
    ("spd:3", 0.3, 10.0),
)
SIZES = (500, 2000)
RECORDS = (
    *(("normal", 0.0, 0), ("skewed", 0.0, 0)),
    *(("far", share, times) for share in (0.01, 0.05, 0.1) for times in (5, 30, 300)),
)
GUARANTEES = (
    *(cdp.GDP(1.0, neighbours="add-remove"), cdp.GDP(1.0)),
    *(cdp.PureDP(1.0, neighbours="add-remove"), cdp.PureDP(1.0)),
)
HEAD = (
    "| records | guarantee | relation | cells | true/expected: median | largest "
    "| true/most: median | largest | true/within: median | largest |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def records_of(space: cdp.Manifold, spread: float, n: int, share: float, times: int) -> np.ndarray:
    """Records of which a share lies in one direction; skewed ones for a share below 0."""
    rng = np.random.default_rng([n, times, space.dim])
    coords = rng.standard_normal((n, space.dim)) * spread / np.sqrt(space.dim)
    if share < 0.0:
        coords *= 0.3
        coords[:, 0] += spread * rng.exponential(size=n)
    far = int(max(share, 0.0) * n)
    coords[:far] *= 0.3
    coords[:far, 0] += times * spread
    center = space.origin if isinstance(space, cdp.Euclidean) else space.random_point(rng=rng)
    return np.asarray(space.exp(space.coords_to_tangent(coords, center), center))


def cell(
    records: np.ndarray, space: cdp.Manifold, guarantee: cdp.Guarantee, count: int
) -> list[float] | None:
    """Median quotients of the error over `expected_error`, over `most_error`, and over
    `error_within` of the largest distance of a record; None where most find nothing."""
    n = len(records)
    how = {"groups": np.repeat(np.arange(count), n)}
    if guarantee.neighbours == "add-remove":
        how["keys"] = list(range(count))
    try:
        releases = cdp.frechet_mean(np.concatenate([records] * count), space, guarantee, **how)
    except ExistenceError:
        return None
    found = [own for own in releases if own.found]
    if 2 * len(found) < count:
        return None
    exact = cdp.nonprivate.frechet_mean(records, space).value
    errors = space.dist(np.array([own.value for own in found]), exact)
    reach = float(space.dist(exact, records).max())
    printed = [(own.expected_error, own.most_error, own.error_within(reach)) for own in found]
    return [float(np.median(errors / own)) for own in np.array(printed).T]


def lines(count: int) -> Iterator[str]:
    """Quotients of all spaces and sizes, one line for each kind of records and guarantee."""
    yield HEAD
    for kind, share, times in RECORDS:
        name = kind if kind != "far" else f"{100 * share:g} % at {times} spreads"
        for guarantee in GUARANTEES:
            cells = []
            for spec, spread, farthest in SPACES:
                space = cdp.as_manifold(spec)
                for n in SIZES:
                    if times * spread > farthest:
                        continue
                    if isinstance(guarantee, cdp.PureDP) and spec in ("sphere:6", "spd:3"):
                        continue  # not served
                    own = records_of(space, spread, n, -1.0 if kind == "skewed" else share, times)
                    cells.append(cell(own, space, guarantee, count))
            kept = np.array([own for own in cells if own is not None])
            quotients = (f"{np.median(own):.2f} | {own.max():.3g}" for own in kept.T)
            yield (
                f"| {name} | {type(guarantee).__name__}(1) | {guarantee.neighbours} | {len(kept)} "
                f"| {' | '.join(quotients)} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="releases a cell")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for line in lines(arguments.count):
        print(line, flush=True)


if __name__ == "__main__":
    main()
