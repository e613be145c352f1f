"""Releases with fixed seeds and secrets, whose values no change of the code may move.

``python tests/golden_bits.py`` writes them to golden_bits.json: only when the changelog says that
releases change. A released value is a point of a public grid, so two releases are the same if they
agree to far less than a grid step; the last bits of sines and logarithms may differ between
processors.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.curvature import has_curved_hessian
from manifold_list import SMALL, Case

FILE = Path(__file__).with_suffix(".json")
GUARANTEES = {"GDP": cdp.GDP(1.0), "PureDP": cdp.PureDP(300.0)}
SECRET = bytes(range(32))
SEED = 5
SIZES = (9, 31)


def domain(case: Case) -> cdp.Ball:
    """A ball whose centre needs all its digits."""
    center = case.manifold.random_point(rng=1)
    return cdp.Ball(case.manifold, center, min(1.0, 0.8 * case.manifold.max_ball_radius))


def records(ball: cdp.Ball, n: int = sum(SIZES)) -> np.ndarray:
    """Records off the centre; one of them is no point, one lies outside the ball."""
    rng, space = np.random.default_rng(0), ball.manifold
    coords = ball.radius * (0.1 + 0.3 * rng.standard_normal((n, space.dim)) / space.dim**0.5)
    rows = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    rows[3] = np.nan
    rows[5] = space.exp(space.coords_to_tangent(8 * coords[5], ball.center), ball.center)
    return rows


def numbers(release: Any) -> list[float]:
    """Everything that was drawn: the value and the values of the parts."""
    parts = [number for part in getattr(release, "parts", ()) for number in numbers(part)]
    value = getattr(release, "value", None)
    return parts if value is None else np.ravel(value).tolist() + parts


Statistic = Callable[..., Any]

#: Of an adaptive mean: the records are too few for the rule to seek a smaller ball.
SHARES = (0.2, 0.1, 0.2, 0.1, 0.4)

#: Statistics of one data set.
ONE: dict[str, Statistic] = {
    "mean": cdp.frechet_mean,
    "variance": cdp.frechet_variance,
    "fourth moment": cdp.fourth_moment,
    "covariance": cdp.log_covariance,
    "hessian": cdp.mean_hessian,
    "adaptive": functools.partial(cdp.adaptive_mean, schedule=SHARES),
    "region": cdp.confidence_region,
    "interval": cdp.variance_interval,
    "median": cdp.geometric_median,
    "kng": lambda x, ball, g, **how: cdp.kng_mean(x, ball, g, tau=0.5 * ball.radius, **how),
}

#: Statistics of groups, as `curvedp.batch.release` takes them.
GROUPS: dict[str, Any] = {
    "mean": cdp.Mean(),
    "variance": cdp.Variance(),
    "adaptive": cdp.AdaptiveMean(SHARES),
    "region": cdp.Region(),
}


def exists(case: Case, statistic: str, guarantee: str) -> bool:
    """True if the statistic is defined on the manifold and under the guarantee."""
    if statistic == "hessian":
        return has_curved_hessian(case.manifold)
    if statistic == "kng":
        return guarantee == "PureDP" and case.manifold.dim < 4
    return guarantee == "GDP" or statistic not in ("region", "interval")


#: Manifold, statistic and guarantee of every release.
KEYS = [
    (case, statistic, guarantee)
    for case in SMALL
    for statistic in ONE
    for guarantee in GUARANTEES
    if exists(case, statistic, guarantee)
]


def of_one(case: Case, statistic: str, guarantee: str) -> list[float]:
    """A release of one data set, from a seed."""
    ball = domain(case)
    release = ONE[statistic](records(ball), ball, GUARANTEES[guarantee], seed=SEED, coverage=False)
    return numbers(release)


def of_groups(case: Case, statistic: str, guarantee: str, *, secret: bool) -> list[float]:
    """Releases of two groups, from a seed or a secret."""
    ball = domain(case)
    how: dict[str, Any] = {"secret": cdp.NoiseSecret(SECRET)} if secret else {"seed": SEED}
    how["coverage"] = False
    offsets = np.cumsum((0, *SIZES))
    own = GUARANTEES[guarantee]
    releases = ONE[statistic](records(ball), ball, own, groups=offsets, **how)
    return [number for release in releases for number in numbers(release)]


def table(ball: cdp.Ball) -> Any:
    """The records with the name of each one's group."""
    import pyarrow as pa

    rows = records(ball)
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), ball.manifold.point_size)
    return pa.table({"site": np.repeat(["a", "b"], SIZES), "point": points})


def of_table(case: Case, statistic: str, guarantee: str) -> list[float]:
    """The drawn columns of the releases of a table, from a secret."""
    import curvedp.batch

    ball = domain(case)
    released = curvedp.batch.release(
        GROUPS[statistic],
        table(ball),
        by="site",
        points="point",
        ball=ball,
        guarantee=GUARANTEES[guarantee],
        public_keys=True,
        secret=cdp.NoiseSecret(SECRET),
        coverage=False,
    )
    return drawn(released.table)


def drawn(releases: Any) -> list[float]:
    """The numbers of a table of releases that come from the noise."""
    columns = [name for name in ("value", "mean", "radius") if name in releases.column_names]
    rows = releases.select(columns).to_pylist()
    return [float(x) for row in rows for cell in row.values() for x in np.ravel(cell)]


def regression() -> list[float]:
    """Whitened steps and an exact draw of geodesic regression."""
    ball = cdp.Ball("sphere:2", [0.0, 0.6, 0.8], 0.4)
    x = np.linspace(0.0, 1.0, 40)
    return [
        number
        for sampler in ("whitened", "exact")
        for number in numbers(
            cdp.geodesic_regression(
                x,
                records(ball),
                ball,
                cdp.PureDP(20.0),
                x_range=(0.0, 1.0),
                tau=0.3,
                v_max=0.5,
                sampler=sampler,
                seed=SEED,
                coverage=False,
            )
        )
    ]


def quantile() -> list[float]:
    """Private quantiles: one level and several, of every base measure."""
    values = np.random.default_rng(0).normal(3.0, 1.0, 200)
    how: dict[str, Any] = {"low": 0.25, "high": 10.0, "guarantee": cdp.PureDP(1.0), "seed": SEED}
    return [
        number
        for q in (0.5, [0.25, 0.75], [0.1, 0.3, 0.5, 0.7, 0.9])
        for base in ({}, {"base": "log-uniform"}, {"step": 2.0**-40})
        for number in numbers(cdp.quantile(values, q, **how, **base))
    ]


def coverage() -> list[float]:
    """Means with the numbers of their records inside the ball, from a seed and from a secret."""
    ball = cdp.Ball("sphere:2", [0.0, 0.6, 0.8], 0.4)
    found = []
    for guarantee in (cdp.GDP(2.0), cdp.PureDP(20.0)):
        for how in ({"seed": SEED}, {"secret": cdp.NoiseSecret(SECRET)}):
            release = cdp.frechet_mean(records(ball), ball, guarantee, **how)
            found += [*numbers(release), *release.coverage.noisy]
    return found


def all_releases() -> dict[str, list[float]]:
    """Every golden release by its name."""
    found = {"regression": regression(), "quantile": quantile(), "coverage": coverage()}
    for case, statistic, guarantee in KEYS:
        name = f"{case.name}/{statistic}/{guarantee}"
        found[f"{name}/one"] = of_one(case, statistic, guarantee)
        if statistic in GROUPS:
            found[f"{name}/groups"] = of_groups(case, statistic, guarantee, secret=False)
            found[f"{name}/secret"] = of_groups(case, statistic, guarantee, secret=True)
            found[f"{name}/table"] = of_table(case, statistic, guarantee)
    return found


def main() -> None:
    """Writes the file and says what moved."""
    old = json.loads(FILE.read_text()) if FILE.exists() else {}
    new = all_releases()
    lines = (f"{json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(new.items()))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            print(f"changed: {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
