"""Kulkarni and Soto 2025 on our terms: what private geodesic regression costs in accuracy.

    python benches/papers/regression.py [--repetitions 40] [--only utility,splits,gradients,shapes]

Every number is the mean over repetitions of the mean distance between predictions of a release and
those of the non-private fit (or of the truth, where there is one) along the covariate's range.
"Published" rows are draws of the paper's mechanism; they carry no guarantee. Shapes need the folder
that CURVEDP_DATA names.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp import sensitivity

GRID = np.linspace(-0.5, 0.5, 21)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
CHAIN = 2000


@dataclass(frozen=True)
class Problem:
    """Data drawn around a geodesic, with the public parameters."""

    ball: cdp.Ball
    x: np.ndarray
    y: np.ndarray
    truth: Callable[[np.ndarray], np.ndarray]
    tau: float
    v_max: float
    x_range: tuple[float, float] = (-0.5, 0.5)

    def error(self, guarantee: cdp.PureDP | cdp.GDP, **changes: object) -> float:
        """Mean distance of a release's predictions from the truth."""
        release = cdp.geodesic_regression(
            self.x,
            self.y,
            self.ball,
            guarantee,
            x_range=self.x_range,
            tau=self.tau,
            v_max=self.v_max,
            **changes,
        )
        low, high = self.x_range
        at = low + (GRID + 0.5) * (high - low)
        return float(self.ball.manifold.dist(release.predict(at), self.truth(at)).mean())


def drawn(ball: cdp.Ball, n: int, noise: float, tau: float, v_max: float, seed: int) -> Problem:
    """Footpoint to 0.6 r, velocity from 0.3 V to 0.8 V, the whole geodesic in the ball."""
    rng, space = np.random.default_rng(seed), ball.manifold

    def tangents(base: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        coords = rng.standard_normal((len(lengths), space.dim))
        coords *= lengths[:, None] / np.linalg.norm(coords, axis=1, keepdims=True)
        return space.coords_to_tangent(coords, base)

    def along(t: np.ndarray) -> np.ndarray:
        return space.exp(t.reshape(t.shape + (1,) * velocity.ndim) * velocity, footpoint)

    while True:
        radius = np.array([0.6 * ball.radius * rng.random()])
        footpoint = space.exp(tangents(ball.center, radius)[0], ball.center)
        velocity = tangents(footpoint, np.array([v_max * rng.uniform(0.3, 0.8)]))[0]
        if ball.contains(along(np.array([-0.5, 0.5]))).all():
            break
    x = rng.uniform(-0.5, 0.5, n)
    lengths = noise * np.sqrt(rng.chisquare(space.dim, n) / space.dim)
    centers = along(x)
    y = space.exp(tangents(centers, lengths), centers)
    return Problem(ball, x, ball.project(y), along, tau, v_max)


def sphere() -> cdp.Ball:
    return cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=np.pi / 4)


def spd() -> cdp.Ball:
    return cdp.Ball("spd:2", center=np.eye(2), radius=1.0)


def row(name: str, cells: list[float]) -> None:
    print(f"| {name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)


def heading(title: str, columns: list[str]) -> None:
    print(f"\n{title}\n\n| | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))


def gdp_of_bounded_range(epsilon: float) -> cdp.GDP:
    """The mu that a K-norm gradient at epsilon promises: the comparison at equal GDP."""
    return cdp.PureDP(epsilon).to_gdp(bounded_range=True)


def mean_errors(
    make: Callable[[int], Problem], guarantees: list, repetitions: int, **changes: object
) -> list[float]:
    return [
        float(np.mean([make(seed).error(one, **changes) for seed in range(repetitions)]))
        for one in guarantees
    ]


def utility(repetitions: int) -> None:
    """Section 5's table: n = 100, tau = 0.1, errors against the truth."""
    for ball in (sphere(), spd()):

        def make(seed: int, ball: cdp.Ball = ball) -> Problem:
            return drawn(ball, 100, 0.04, 0.1, 1.5, seed)

        heading(
            f"{ball.manifold.spec}, n = 100, tau = 0.1, r = {ball.radius:.3g}, V = 1.5",
            [f"epsilon = {budget:g}" for budget in BUDGETS],
        )
        pure = [cdp.PureDP(budget) for budget in BUDGETS]
        row("proved, epsilon-DP", mean_errors(make, pure, repetitions))
        approximate = [cdp.ApproxDP(budget, 1e-6) for budget in BUDGETS]
        row("proved, (epsilon, 1e-6)", mean_errors(make, approximate, repetitions))
        gdp = [gdp_of_bounded_range(budget) for budget in BUDGETS]
        row("proved, mu of a bounded range of epsilon", mean_errors(make, gdp, repetitions))
        published = {"calibration": "published", "chain_length": CHAIN}
        row("published, no guarantee", mean_errors(make, pure, repetitions, **published))
        fits = []
        for seed in range(repetitions):
            one = make(seed)
            fit = cdp.nonprivate.geodesic_regression(one.x, one.y, one.ball.manifold)
            fits.append(one.ball.manifold.dist(fit.predict(GRID), one.truth(GRID)).mean())
        row("non-private fit", [float(np.mean(fits))] * len(BUDGETS))


def splits(repetitions: int) -> None:
    """Figures 1, 2 and 7: n, noise and splits of epsilon = 2 on the sphere, SPD(2) at 0.01."""
    heading(
        "epsilon = 2: proved, and published with equal and unequal splits (no guarantee)",
        ["proved", "published 1:1", "published 1:3", "published 3:1"],
    )
    cases = [(sphere(), n, variance) for variance in (0.001, 0.01, 0.1) for n in (20, 50, 100)]
    cases += [(spd(), n, 0.01**2) for n in (20, 50, 100)]
    for ball, n, variance in cases:
        noise = np.sqrt(2 * variance)

        def make(seed: int, ball: cdp.Ball = ball, n: int = n, noise: float = noise) -> Problem:
            return drawn(ball, n, noise, 2.5 * noise, 1.5, seed)

        budget = [cdp.PureDP(2.0)]
        cells = mean_errors(make, budget, repetitions)
        for weights in ((1.0, 1.0), (1.0, 3.0), (3.0, 1.0)):
            cells += mean_errors(
                make,
                budget,
                repetitions,
                calibration="published",
                weights=weights,
                chain_length=CHAIN,
            )
        row(f"{ball.manifold.spec}, n = {n}, variance {variance:g}", cells)


def gradients(repetitions: int) -> None:
    """Figures 6 and 9: how much of its bound the replacement of a record uses, at the fit."""
    heading(
        "Shift of both gradients over its bound, record 0 replaced by a random one",
        ["5 %", "50 %", "95 %", "largest"],
    )
    for ball in (sphere(), spd()):
        space, shares = ball.manifold, []
        bound = sensitivity.regression_joint(ball, 100, tau=0.1, v_max=1.5, slope_weight=2.63)
        for seed in range(50 * repetitions):
            one = drawn(ball, 100, 0.04, 0.1, 1.5, seed)
            other = drawn(ball, 1, 0.04, 0.1, 1.5, seed + 10**6)
            fit = cdp.nonprivate.geodesic_regression(one.x, one.y, space, x_range=(-0.5, 0.5))
            coords = space.tangent_to_coords(fit.velocity, fit.footpoint)
            found = []
            for x, y in ((one.x[0], one.y[0]), (other.x[0], other.y[0])):
                times, points = one.x.copy(), one.y.copy()
                times[0], points[0] = x, y
                _, g_p, g_v = space._core.regression_energy(
                    points.reshape(100, -1), times, fit.footpoint.reshape(-1), coords, 0.1
                )
                found.append(np.concatenate([g_p, 2.63 * g_v]))
            shares.append(np.linalg.norm(found[0] - found[1]) / bound)
        row(space.spec, [*np.quantile(shares, (0.05, 0.5, 0.95)), max(shares)])


def shapes(repetitions: int) -> None:
    """Figures 8 and 10 on other people's data: rats by log age, corpora callosa by age."""
    folder = Path(os.environ["CURVEDP_DATA"])
    rats = np.load(folder / "landmarks" / "rats.npz")
    people = np.load(folder / "corpus_callosum_adhd200" / "cc_landmarks.npz")
    cases = [
        ("rats, 18 of 8 ages", rats["landmarks"], np.log(rats["age_days"]), 0.15, 0.05, 0.5, 8),
        ("rats, record by record", rats["landmarks"], np.log(rats["age_days"]), 0.15, 0.05, 0.5, 1),
        ("corpora callosa", people["landmarks"], people["age"], 0.15, 0.06, 0.1, 1),
    ]
    budgets = [cdp.GDP(0.5), cdp.GDP(1.0), cdp.GDP(4.0), cdp.PureDP(4.0), cdp.PureDP(64.0)]
    heading(
        "Distance from the non-private fit; in front its length and the residuals' spread",
        ["length", "residual", *map(str, budgets)],
    )
    for name, landmarks, x, radius, tau, v_max, unit in cases:
        space = cdp.KendallPlanar(landmarks.shape[1])
        y = space.project(landmarks)
        limits = (float(np.floor(x.min())), float(np.ceil(x.max())))
        # these data are public: a centre from them stands for one from an atlas
        center = cdp.nonprivate.frechet_mean(y, space).value
        fit = cdp.nonprivate.geodesic_regression(x, y, space, x_range=limits)
        one = Problem(cdp.Ball(space, center, radius), x, y, fit.predict, tau, v_max, limits)
        errors = [
            float(np.mean([one.error(b, records_per_unit=unit) for _ in range(repetitions)]))
            for b in budgets
        ]
        length = float(space.norm(fit.velocity, fit.footpoint))
        row(name, [length, float(np.sqrt(2 * fit.loss)), *errors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--only", default="utility,splits,gradients,shapes")
    arguments = parser.parse_args()
    parts = {f.__name__: f for f in (utility, splits, gradients, shapes)}
    for name in arguments.only.split(","):
        parts[name](arguments.repetitions)


if __name__ == "__main__":
    main()
