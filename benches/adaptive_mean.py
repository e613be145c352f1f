"""Errors of an adaptive mean, of one mean on the public ball, and of an oracle.

    python benches/adaptive_mean.py [--quick] [table] [rule] [failures] [real]

Errors are mean distances to the Fréchet mean of the records as they are, not of the projected
ones, so that clipping counts. Records are wrapped normal with root mean square distance S from
their mean, which lies 0.3 r from the public centre. The oracle knows that mean and the distance
that 99 % of the records keep to it, and spends everything on one mean on that ball.

The tables of docs/adaptive-mean.md are this script's output.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

import curvedp as cdp
from curvedp.datasets import wrapped_normal

OFFSET = 0.3


@dataclass(frozen=True)
class Setting:
    """A public ball, n records and a guarantee."""

    spec: str
    radius: float
    n: int
    guarantee: cdp.PureDP | cdp.GDP

    @property
    def ball(self) -> cdp.Ball:
        manifold = cdp.as_manifold(self.spec)
        center = {
            "sphere": np.eye(manifold.point_size)[-1],
            "spd": np.eye(3),
            "hyperboloid": np.eye(manifold.point_size)[0],
            "kendall": manifold.random_point(rng=0),
        }.get(self.spec.split(":")[0], np.zeros(manifold.point_size))
        return cdp.Ball(manifold, center.reshape(manifold.point_shape), self.radius)

    def __str__(self) -> str:
        return f"{self.spec}, n={self.n}, {self.guarantee}"


def true_mean(ball: cdp.Ball, rng: np.random.Generator) -> np.ndarray:
    """A point 0.3 r from the centre."""
    coords = rng.standard_normal(ball.manifold.dim)
    coords *= OFFSET * ball.radius / np.linalg.norm(coords)
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


def oracle_ball(ball: cdp.Ball, mean: np.ndarray, spread: float) -> cdp.Ball:
    dim = ball.manifold.dim
    radius = spread / math.sqrt(dim) * math.sqrt(stats.chi2.ppf(0.99, dim))
    return cdp.Ball(ball.manifold, mean, min(radius, 0.99 * ball.manifold.max_ball_radius))


def errors(setting: Setting, spread: float, rounds: int) -> np.ndarray:
    """Mean errors of one mean, of the adaptive mean and of the oracle; `spread` is S."""
    rng = np.random.default_rng(1)
    ball, guarantee = setting.ball, setting.guarantee
    manifold = ball.manifold
    found = np.empty((rounds, 3))
    for i in range(rounds):
        mean = true_mean(ball, rng)
        scale = spread / math.sqrt(manifold.dim)
        records = wrapped_normal(setting.n, manifold, mean, scale, rng=rng)
        exact = cdp.nonprivate.frechet_mean(records, manifold).value
        for j, release in enumerate(
            (
                cdp.frechet_mean(records, ball, guarantee),
                cdp.adaptive_mean(records, ball, guarantee),
                cdp.frechet_mean(records, oracle_ball(ball, mean, spread), guarantee),
            )
        ):
            found[i, j] = manifold.dist(release.value, exact)
    return found.mean(axis=0)


def table(rounds: int) -> None:
    """Ten settings, three spreads each."""
    third = (0.03, 0.25, 0.5)
    rows = [
        (Setting("sphere:2", 0.7, 500, cdp.PureDP(0.3)), (0.06, 0.18, 0.57)),
        (Setting("sphere:2", 0.7, 500, cdp.GDP(0.3)), third),
        (Setting("sphere:9", 0.7, 500, cdp.PureDP(1.0)), third),
        (Setting("sphere:9", 0.7, 500, cdp.GDP(1.0)), third),
        (Setting("spd:3", 1.5, 500, cdp.PureDP(1.0)), third),
        (Setting("spd:3", 1.5, 500, cdp.GDP(1.0)), third),
        (Setting("hyperboloid:3", 1.5, 500, cdp.PureDP(1.0)), third),
        (Setting("hyperboloid:3", 1.5, 500, cdp.GDP(1.0)), third),
        (Setting("kendall:5", 0.5, 500, cdp.PureDP(1.0)), third),
        (Setting("kendall:5", 0.5, 500, cdp.GDP(1.0)), third),
    ]
    print("| space, n, budget | S/r | one mean | adaptive | oracle |\n|---|---|---|---|---|")
    for setting, spreads in rows:
        found = np.array([errors(setting, s * setting.radius, rounds) for s in spreads])
        columns = [" / ".join(f"{error:.2g}" for error in column) for column in found.T]
        shares = " / ".join(f"{s:.2g}" for s in spreads)
        print(f"| {setting} | {shares} | " + " | ".join(columns) + " |", flush=True)


def rule(rounds: int) -> None:
    """The schedule over dimensions and budgets: error over that of one mean."""
    spreads = (0.03, 0.1, 0.25, 0.5)
    heads = " | ".join(f"S = {s:g} r" for s in spreads)
    print(f"| space | n eps or n mu | a | shares | {heads} |\n|---|---|---|---|" + "---|" * 4)
    for kind, budgets in ((cdp.PureDP, (130, 200, 500, 2000)), (cdp.GDP, (50, 80, 150, 500))):
        for spec, radius in (("sphere:2", 0.7), ("spd:3", 1.5), ("sphere:20", 0.7)):
            for budget in budgets:
                setting = Setting(spec, radius, 500, kind(budget / 500))
                plan = cdp.adaptive_schedule(setting.ball, 500, setting.guarantee)
                a = cdp.expected_error(setting.ball, 500, setting.guarantee) / radius
                root = np.sqrt if kind is cdp.GDP else np.asarray
                shares = " ".join(f"{share:.2f}" for share in root(plan.weights))
                ratios = [
                    found[1] / found[0]
                    for found in (errors(setting, s * radius, rounds) for s in spreads)
                ]
                cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
                name = f"{spec}, {'eps' if kind is cdp.PureDP else 'mu'}"
                print(f"| {name} | {budget} | {a:.3f} | {shares} | {cells} |", flush=True)


def normal(n: int, rng: np.random.Generator) -> np.ndarray:
    """Neither skewed nor contaminated: S = 0.1."""
    return 0.1 / math.sqrt(2) * rng.standard_normal((n, 2))


def exponential(n: int, rng: np.random.Generator) -> np.ndarray:
    """Skewed: centred exponential coordinates of standard deviation 0.15."""
    return 0.15 * (rng.standard_exponential((n, 2)) - 1)


def lognormal(n: int, rng: np.random.Generator) -> np.ndarray:
    """More skewed: centred log-normal coordinates, sigma = 1, of standard deviation 0.15."""
    x = rng.lognormal(sigma=1.0, size=(n, 2))
    return 0.15 * (x - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def contaminated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Nine tenths close together, one tenth in a clump 0.6 away."""
    x = 0.05 * rng.standard_normal((n, 2))
    x[: n // 10, 0] += 0.6
    return x


def failures(rounds: int) -> None:
    """Skewed and contaminated records in the plane: clipping them is biased."""
    settings = [
        Setting("euclidean:2", 1.0, 500, guarantee)
        for guarantee in (cdp.PureDP(0.5), cdp.PureDP(2.0), cdp.GDP(0.5), cdp.GDP(2.0))
    ]
    laws: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
        "normal": normal,
        "exponential": exponential,
        "log-normal": lognormal,
        "10 % contaminated": contaminated,
    }
    levels = (None, 0.75, 0.9, 0.99)
    heads = " | ".join("auto" if q is None else f"quantile={q:g}" for q in levels)
    print(f"| records | budget | one mean | {heads} |\n|---|---|---|" + "---|" * len(levels))
    for name, law in laws.items():
        for setting in settings:
            rng = np.random.default_rng(2)
            found = np.empty((rounds, 1 + len(levels)))
            for i in range(rounds):
                records = true_mean(setting.ball, rng) + law(setting.n, rng)
                exact = records.mean(axis=0)
                releases = [cdp.frechet_mean(records, setting.ball, setting.guarantee)]
                releases += [
                    cdp.adaptive_mean(records, setting.ball, setting.guarantee, quantile=q)
                    for q in levels
                ]
                found[i] = [np.linalg.norm(release.value - exact) for release in releases]
            cells = " | ".join(f"{error:.2g}" for error in found.mean(axis=0))
            print(f"| {name} | {setting.guarantee} | {cells} |", flush=True)


def real(rounds: int) -> None:
    """One mean, the adaptive one and the documented rule over real data (CURVEDP_DATA)."""
    from real_data import SETS  # needs the data

    ways = ("one mean", "adaptive", "quantile=0.99", "rule")
    losses: dict[str, list[float]] = {way: [] for way in ways}
    for data in SETS:
        records, ball = data.load()
        space, points = ball.manifold, ball.project(records)
        spread = math.sqrt(cdp.nonprivate.frechet_variance(points, space))
        for n in data.sizes[1:]:
            rng = np.random.default_rng(n)
            rows = points[rng.integers(len(points), size=n * rounds)]
            offsets = np.arange(0, n * rounds + 1, n)
            exact = np.stack(
                [cdp.nonprivate.frechet_mean(own, space).value for own in np.split(rows, rounds)]
            )
            for guarantee in (cdp.GDP(0.3), cdp.GDP(1.0), cdp.GDP(3.0), cdp.PureDP(1.0)):
                try:
                    found = [
                        cdp.frechet_mean(rows, ball, guarantee, groups=offsets),
                        cdp.adaptive_mean(rows, ball, guarantee, groups=offsets),
                        cdp.adaptive_mean(rows, ball, guarantee, groups=offsets, quantile=0.99),
                    ]
                except cdp.errors.ExistenceError:
                    continue
                errors = [float(np.mean(space.dist(own.value, exact))) for own in found]
                plan = cdp.plan("adaptive_mean", ball, guarantee, n=n, spread=spread)
                errors.append(errors["Take frechet_mean" not in plan.meaning])
                best = min(errors[:2])
                for way, error in zip(ways, errors, strict=True):
                    losses[way].append(error / best)
    print("| | mean | largest | cells above 1.5 |\n|---|---|---|---|")
    for way, own in losses.items():
        many = sum(loss > 1.5 for loss in own)
        print(f"| {way} | {np.mean(own):.2f} | {max(own):.1f} | {many} of {len(own)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["table", "rule", "failures"])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rounds")
    options = parser.parse_args()
    runs = {
        "table": (table, 1000),
        "rule": (rule, 200),
        "failures": (failures, 600),
        "real": (real, 16),
    }
    for part in options.parts:
        run, rounds = runs[part]
        run(rounds // 20 if options.quick else rounds)
        print()


if __name__ == "__main__":
    main()
