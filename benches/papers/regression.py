"""Kulkarni and Soto 2025 on our terms: what private geodesic regression costs in accuracy.

    python benches/papers/regression.py [--repetitions 40] [--only utility,energies,...]

Every number is the mean over repetitions of the mean distance between predictions of a release and
those of the non-private fit (or of the truth, where there is one) along the covariate's range;
`energies` gives ln of the mean squared residual, as the paper does.
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

    def release(self, guarantee: cdp.PureDP | cdp.GDP, **changes: object) -> cdp.GeodesicRelease:
        """A release with the problem's public parameters."""
        return cdp.geodesic_regression(
            self.x,
            self.y,
            self.ball,
            guarantee,
            x_range=self.x_range,
            tau=self.tau,
            v_max=self.v_max,
            **changes,
        )

    def error(self, guarantee: cdp.PureDP | cdp.GDP, **changes: object) -> float:
        """Mean distance of a release's predictions from the truth."""
        release = self.release(guarantee, **changes)
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
        for sampler in ("gradient", "exact"):
            cells = mean_errors(make, pure, repetitions, sampler=sampler)
            row(f"the same, {sampler}", cells)
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


def energies(repetitions: int) -> None:
    """Figures 1, 5, 6 and 7: ln of the mean squared residual over splits and budgets."""
    shares = (0.02, 0.25, 1.01, 1.77, 2.0)
    totals = (0.2, 0.5, 1.0, 2.0)
    heading(
        "ln MSE: published at epsilon_p (of 2.02), then at equal shares of a total; proved there",
        [f"p {share:g}" for share in shares]
        + [f"equal {total:g}" for total in totals]
        + [f"proved {total:g}" for total in totals]
        + ["fit"],
    )
    cases = [(sphere(), n, 0.001) for n in (20, 50, 100)]  # figure 1
    cases += [(sphere(), 50, 0.01), (sphere(), 50, 0.1)]  # figures 5 and 6
    cases += [(spd(), n, 0.01**2) for n in (20, 50, 100)]  # figure 7
    for ball, n, variance in cases:
        noise = np.sqrt(2 * variance)
        problems = [drawn(ball, n, noise, 2.5 * noise, 1.5, seed) for seed in range(repetitions)]
        published = {"calibration": "published", "chain_length": CHAIN}
        cells = [
            log_energy(problems, cdp.PureDP(2.02), weights=(p, 2.02 - p), **published)
            for p in shares
        ]
        cells += [log_energy(problems, cdp.PureDP(total), **published) for total in totals]
        cells += [log_energy(problems, cdp.PureDP(total)) for total in totals]
        fits = [
            2 * cdp.nonprivate.geodesic_regression(one.x, one.y, ball.manifold).loss
            for one in problems
        ]
        row(
            f"{ball.manifold.spec}, n = {n}, variance {variance:g}", [*cells, np.log(np.mean(fits))]
        )


def log_energy(problems: list[Problem], guarantee: cdp.PureDP, **changes: object) -> float:
    """ln of the mean squared distance of records from the predictions of a release for them."""
    found = []
    for one in problems:
        release = one.release(guarantee, **changes)
        found.append(np.mean(one.ball.manifold.dist(release.predict(one.x), one.y) ** 2))
    return float(np.log(np.mean(found)))


def sensitivities(repetitions: int) -> None:
    """Figures 9 and 10: bound over shift, per gradient, at the fit; tau the largest residual."""
    heading(
        "Bound / shift of the footpoint's and the velocity's gradient, one record replaced",
        ["p 5 %", "p 50 %", "p 95 %", "v 5 %", "v 50 %", "v 95 %", "least"],
    )
    for ball, noise in ((sphere(), np.sqrt(0.002)), (spd(), 0.014)):
        for n in (20, 50, 100):
            ratios = [shift_ratios(ball, n, noise, seed) for seed in range(repetitions)]
            p, v = np.array(ratios).T
            cells = [*np.quantile(p, (0.05, 0.5, 0.95)), *np.quantile(v, (0.05, 0.5, 0.95))]
            row(f"{ball.manifold.spec}, n = {n}", [*cells, float(np.min(ratios))])


def shift_ratios(ball: cdp.Ball, n: int, noise: float, seed: int) -> tuple[float, float]:
    """Bounds of both gradients over the shift that exchanging one record for another makes."""
    space, one = ball.manifold, drawn(ball, n + 1, noise, 1.0, 1.5, seed)
    fit = cdp.nonprivate.geodesic_regression(one.x[1:], one.y[1:], space, x_range=(-0.5, 0.5))
    tau = float(space.dist(fit.predict(one.x), one.y).max())
    coords, point = space.tangent_to_coords(fit.velocity, fit.footpoint), fit.footpoint.reshape(-1)
    sides = []
    for keep in (slice(1, None), slice(0, n)):
        rows, times = one.y[keep].reshape(n, -1), np.ascontiguousarray(one.x[keep])
        sides.append(space._core.regression_energy(rows, times, point, coords, tau)[1:])
    (p_0, v_0), (p_1, v_1) = sides
    bounds = [
        bound(ball, n, tau=tau, v_max=1.5)
        for bound in (sensitivity.regression_footpoint, sensitivity.regression_shooting)
    ]
    return bounds[0] / np.linalg.norm(p_0 - p_1), bounds[1] / np.linalg.norm(v_0 - v_1)


def pictures(repetitions: int) -> None:
    """Figures 3, 5 and 8: geodesics on the sphere, ellipses along x, shapes at three ages."""
    from curvedp.plotting import GeodesicDisplay

    folder = Path("docs/images")
    for name, ball, epsilon in (("sphere", sphere(), 2.0), ("spd", spd(), 4.0)):
        one = drawn(ball, 50 if name == "sphere" else 100, 0.04, 0.1, 1.5, 3)
        fit = cdp.nonprivate.geodesic_regression(one.x, one.y, ball.manifold, x_range=one.x_range)
        releases = [one.release(cdp.PureDP(epsilon)), one.release(cdp.PureDP(4 * epsilon))]
        points = one.y if name == "sphere" else None
        display = GeodesicDisplay.from_geodesics([fit, *releases], points=points)
        display.figure_.savefig(folder / f"geodesics-{name}.png", dpi=140)
    rats = np.load(Path(os.environ["CURVEDP_DATA"]) / "landmarks" / "rats.npz")
    one, fit = animals(rats["landmarks"], np.log(rats["age_days"]))
    display = GeodesicDisplay.from_geodesics([fit, one.release(cdp.GDP(1.0))], x=[2.0, 3.5, 5.0])
    display.figure_.savefig(folder / "geodesics-rats.png", dpi=140)


def animals(landmarks: np.ndarray, x: np.ndarray) -> tuple[Problem, cdp.GeodesicFit]:
    """The rats' shapes by log age as a problem, with the fit."""
    space = cdp.KendallPlanar(landmarks.shape[1])
    y = space.project(landmarks)
    limits = (float(np.floor(x.min())), float(np.ceil(x.max())))
    center = cdp.nonprivate.frechet_mean(y, space).value
    fit = cdp.nonprivate.geodesic_regression(x, y, space, x_range=limits)
    return Problem(cdp.Ball(space, center, 0.15), x, y, fit.predict, 0.05, 0.5, limits), fit


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
    parts = {f.__name__: f for f in (utility, splits, energies, sensitivities, shapes, pictures)}
    parser.add_argument("--only", default=",".join(parts))
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        parts[name](arguments.repetitions)


if __name__ == "__main__":
    main()
