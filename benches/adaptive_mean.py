"""Errors of an adaptive mean, of one mean on the public ball, and of an oracle.

    python benches/adaptive_mean.py [--quick] [table] [rule] [failures] [real]

Errors are mean distances to the Fréchet mean of the records as they are, not of the projected
ones, so that clipping counts; of `real` about that of those projected on the public ball. Records
are wrapped normal with root mean square distance S from their mean, which lies 0.3 r from the
public centre. The oracle knows that mean and the distance that 99 % of the records keep to it, and
spends everything on one mean on that ball.

The tables of docs/measured/adaptive-mean.md are this script's output.
"""

from __future__ import annotations

import argparse
import math
import warnings
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
                cdp.frechet_mean(records, ball, guarantee, coverage=False),
                cdp.adaptive_mean(records, ball, guarantee, schedule="adaptive", coverage=False),
                cdp.frechet_mean(
                    records, oracle_ball(ball, mean, spread), guarantee, coverage=False
                ),
            )
        ):
            found[i, j] = manifold.dist(release.value, exact)
    return found.mean(axis=0)


def table(rounds: int) -> None:
    """Six settings, three spreads each."""
    third = (0.03, 0.25, 0.5)
    rows = [
        (Setting("sphere:2", 0.7, 500, cdp.GDP(0.3)), third),
        (Setting("sphere:9", 0.7, 500, cdp.GDP(1.0)), third),
        (Setting("spd:3", 1.5, 500, cdp.GDP(1.0)), third),
        (Setting("hyperboloid:3", 1.5, 500, cdp.GDP(1.0)), third),
        (Setting("kendall:5", 0.5, 500, cdp.GDP(1.0)), third),
        (Setting("spd:3", 1.5, 500, cdp.PureDP(4.0)), third),
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
    for kind, budgets in ((cdp.GDP, (120, 250, 500, 2000)), (cdp.PureDP, (500, 2000))):
        for spec, radius in (("sphere:2", 0.7), ("spd:3", 1.5), ("sphere:20", 0.7)):
            for budget in budgets:
                setting = Setting(spec, radius, 500, kind(budget / 500))
                plan = cdp.adaptive_schedule(
                    setting.ball, 500, setting.guarantee, schedule="adaptive"
                )
                a = (
                    cdp.expected_error(setting.ball, 500, setting.guarantee, coverage=False)
                    / radius
                )
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
        Setting("euclidean:2", 1.0, 500, guarantee) for guarantee in (cdp.GDP(0.5), cdp.GDP(2.0))
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
                releases = [
                    cdp.frechet_mean(records, setting.ball, setting.guarantee, coverage=False)
                ]
                releases += [
                    cdp.adaptive_mean(
                        records, setting.ball, setting.guarantee, quantile=q, coverage=False
                    )
                    for q in levels
                ]
                found[i] = [np.linalg.norm(release.value - exact) for release in releases]
            cells = " | ".join(f"{error:.2g}" for error in found.mean(axis=0))
            print(f"| {name} | {setting.guarantee} | {cells} |", flush=True)


@dataclass(frozen=True)
class Cell:
    """Mean errors of one mean and of the adaptive one on a data set, and what they print."""

    guarantee: cdp.Guarantee
    one: float
    one_printed: float
    adaptive: float
    printed: float

    @property
    def truth(self) -> float:
        """Measured over printed error of the adaptive mean."""
        return self.adaptive / self.printed

    @property
    def gain(self) -> float:
        """Error over that of one mean."""
        return self.adaptive / self.one


def measured(
    points: np.ndarray,
    ball: cdp.Ball,
    n: int,
    guarantee: cdp.Guarantee,
    rounds: int,
    schedule: str = "auto",
) -> Cell | None:
    """Errors about the mean of n records drawn with replacement; none where there is no release."""
    rng, space, draws = np.random.default_rng(n), ball.manifold, max(rounds // 4, 1)
    found = []
    for _ in range(draws):
        rows = points[rng.integers(len(points), size=n)]
        exact = cdp.nonprivate.frechet_mean(rows, space).value
        offsets = np.arange(rounds // draws + 1) * n
        rows = np.concatenate([rows] * (rounds // draws))
        try:
            how = {"groups": offsets, "coverage": False}
            one = cdp.frechet_mean(rows, ball, guarantee, **how)
            own = cdp.adaptive_mean(rows, ball, guarantee, schedule=schedule, **how)
        except cdp.errors.ExistenceError:
            return None
        found += [
            [space.dist(each.value, exact).mean(), each.expected_error.mean()]
            for each in (one, own)
        ]
    both = np.array(found).reshape(draws, 4).mean(axis=0)
    return Cell(guarantee, *map(float, both))


def real(rounds: int) -> None:
    """One mean and the adaptive one over real data (CURVEDP_DATA).

    Four times the rounds in up to twelve dimensions, where lengths of noise vary more.
    """
    from adaptive_sets import OTHERS, TUNED  # needs the data

    warnings.simplefilter("ignore", cdp.errors.NoiseWarning)
    ways = [(cdp.GDP(mu), "auto") for mu in (0.3, 1.0, 3.0)]
    ways += [(cdp.PureDP(epsilon), "adaptive") for epsilon in (1.0, 4.0)]
    head = "| data | d | one mean: measured/printed | adaptive: the same | error/one mean |"
    for kind in (cdp.GDP, cdp.PureDP):
        for name, sets in (("the rule's numbers were chosen on these", TUNED), ("others", OTHERS)):
            print(f"{kind.__name__}, {name}\n\n{head}\n|---|---|---|---|---|")
            cells: list[Cell] = []
            for data in sets:
                records, ball = data.load()
                points = ball.project(records)
                times = 4 * rounds if ball.manifold.dim <= 12 else rounds
                own = [
                    measured(points, ball, n, guarantee, times, schedule)
                    for n in data.sizes
                    for guarantee, schedule in ways
                    if isinstance(guarantee, kind)
                ]
                known = [cell for cell in own if cell is not None]
                if known:
                    print(f"| {data.name} | {ball.manifold.dim} | {told(known)} |", flush=True)
                cells += known
            if cells:
                print(f"| all {len(cells)} cells | | {told(cells)} |\n\n{shares(cells)}\n")


def told(cells: list[Cell]) -> str:
    """Ranges of measured over printed errors, geometric mean and largest error over one mean."""
    plain = np.array([cell.one / cell.one_printed for cell in cells])
    truth, gain = (np.array([getattr(cell, name) for cell in cells]) for name in ("truth", "gain"))
    ranges = (f"{own.min():.2f} to {own.max():.2f}" for own in (plain, truth))
    return " | ".join([*ranges, f"{np.exp(np.log(gain).mean()):.2f} ({gain.max():.2f})"])


def shares(cells: list[Cell]) -> str:
    """Cells whose printed error is far from the measured one."""
    away = np.exp(np.abs(np.log([cell.truth for cell in cells])))
    outside = ", ".join(f"{np.mean(away > most):.1%} beyond {most:g}" for most in (1.5, 2.0))
    return f"Measured/printed or its inverse: {outside}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["table", "rule", "failures"])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rounds")
    options = parser.parse_args()
    runs = {
        "table": (table, 200),
        "rule": (rule, 40),
        "failures": (failures, 200),
        "real": (real, 24),
    }
    for part in options.parts:
        run, rounds = runs[part]
        run(rounds // 20 if options.quick else rounds)
        print()


if __name__ == "__main__":
    main()
