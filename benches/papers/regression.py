"""Kulkarni and Soto 2025 on our terms: what private geodesic regression costs in accuracy.

    python benches/papers/regression.py [--repetitions 40] [--only utility,choice,...]

Every number is the mean over repetitions of the mean distance between predictions of a release and
those of the non-private fit (or of the truth, where there is one) along the covariate's range, with
its standard error in brackets where a table says so. Repetition i has the seed i in all tables of
the first two parts. "Published" rows are draws of the paper's mechanism; they carry no guarantee.
Shapes need the folder that CURVEDP_DATA names. The paper's figures: `regression_figures.py`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.regression.choice import expected_choice

GRID = np.linspace(-0.5, 0.5, 21)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
CHAIN = 2000


@dataclass(frozen=True)
class Problem:
    """Data drawn around a geodesic, with the public parameters; `outside` of them are projected."""

    ball: cdp.Ball
    x: np.ndarray
    y: np.ndarray
    truth: Callable[[np.ndarray], np.ndarray]
    tau: float
    v_max: float
    x_range: tuple[float, float] = (-0.5, 0.5)
    outside: int = 0

    def release(
        self, guarantee: cdp.PureDP | cdp.GDP, *, published: bool = False, **changes: object
    ) -> cdp.GeodesicRelease:
        """A release with the problem's public parameters."""
        given = {"x_range": self.x_range, "tau": self.tau, **changes}
        if published:
            return cdp.published.geodesic_regression(self.x, self.y, self.ball, guarantee, **given)
        return cdp.geodesic_regression(
            self.x, self.y, self.ball, guarantee, v_max=self.v_max, coverage=False, **given
        )

    def error(self, guarantee: cdp.PureDP | cdp.GDP, **changes: object) -> float:
        """Mean distance of a release's predictions from the truth."""
        release = self.release(guarantee, **changes)
        low, high = self.x_range
        at = low + (GRID + 0.5) * (high - low)
        return float(self.ball.manifold.dist(release.predict(at), self.truth(at)).mean())


def drawn(
    ball: cdp.Ball,
    n: int,
    noise: float,
    tau: float,
    v_max: float,
    seed: int,
    *,
    ambient: bool = False,
) -> Problem:
    """Footpoint to 0.6 r, velocity from 0.3 V to 0.8 V, the whole geodesic in the ball.

    `noise` is the root mean square length of normal noise in the tangent space or, if `ambient`, of
    its part along a sphere when all coordinates of the points have it, which are then normalised.
    """
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
    centers = along(x)
    if ambient:
        y = centers + noise / np.sqrt(space.dim) * rng.standard_normal(centers.shape)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
    else:
        lengths = noise * np.sqrt(rng.chisquare(space.dim, n) / space.dim)
        y = space.exp(tangents(centers, lengths), centers)
    outside = int(np.count_nonzero(~ball.contains(y)))
    return Problem(ball, x, ball.project(y), along, tau, v_max, outside=outside)


def as_in_the_paper(ball: cdp.Ball, n: int, variance: float, seed: int) -> Problem:
    """Records of its simulations: ambient noise on the sphere, noise in tangent spaces on SPD."""
    noise = float(np.sqrt(ball.manifold.dim * variance))
    is_sphere = isinstance(ball.manifold, cdp.Sphere)
    return drawn(ball, n, noise, 2.5 * noise, 1.5, seed, ambient=is_sphere)


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


def error_row(name: str, errors: np.ndarray) -> None:
    """Mean and standard error of each budget; shape (budgets, repetitions)."""
    spreads = errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    cells = [f"{m:.3g} ({s:.2g})" for m, s in zip(errors.mean(axis=1), spreads, strict=True)]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def all_errors(
    make: Callable[[int], Problem], guarantees: list, repetitions: int, **changes: object
) -> np.ndarray:
    """Errors of seeded releases, shape (guarantees, repetitions)."""
    return np.array(
        [
            [make(seed).error(one, seed=seed, **changes) for seed in range(repetitions)]
            for one in guarantees
        ]
    )


def mean_errors(
    make: Callable[[int], Problem], guarantees: list, repetitions: int, **changes: object
) -> list[float]:
    return [
        float(np.mean([make(seed).error(one, **changes) for seed in range(repetitions)]))
        for one in guarantees
    ]


def utility(repetitions: int) -> None:
    """Section 5's table: n = 100, tau = 0.1, errors against the truth; rats against the fit."""
    for ball in (sphere(), spd()):

        def make(seed: int, ball: cdp.Ball = ball) -> Problem:
            return drawn(ball, 100, 0.04, 0.1, 1.5, seed)

        fits = []
        for seed in range(repetitions):
            one = make(seed)
            fit = cdp.nonprivate.geodesic_regression(one.x, one.y, one.ball.manifold)
            fits.append(one.ball.manifold.dist(fit.predict(GRID), one.truth(GRID)).mean())
        title = f"{ball.manifold.spec}, n = 100, tau = 0.1, r = {ball.radius:.3g}, V = 1.5"
        mechanisms(title, make, repetitions)
        error_row("non-private fit", np.array([fits] * len(BUDGETS)))
    folder = Path(os.environ["CURVEDP_DATA"]) / "landmarks"
    rats = np.load(folder / "rats.npz")
    one, _ = animals(rats["landmarks"], np.log(rats["age_days"]))
    mechanisms("rats, n = 144, tau = 0.05, record by record", lambda seed: one, repetitions)


def mechanisms(title: str, make: Callable[[int], Problem], repetitions: int) -> None:
    """Errors of whitened steps at all budgets; of the published mechanism a fifth as many."""
    heading(title, [f"epsilon = {budget:g}" for budget in BUDGETS])
    pure = [cdp.PureDP(budget) for budget in BUDGETS]
    rows = {
        "epsilon-DP, whitened steps": (pure, {"sampler": "whitened"}),
        "(epsilon, 1e-6), whitened steps": (
            [cdp.ApproxDP(budget, 1e-6) for budget in BUDGETS],
            {"sampler": "whitened"},
        ),
        "GDP, mu of a bounded range of epsilon, whitened steps": (
            [gdp_of_bounded_range(budget) for budget in BUDGETS],
            {"sampler": "whitened"},
        ),
        "published, no guarantee": (pure, {"published": True, "chain_length": CHAIN}),
    }
    for name, (guarantees, changes) in rows.items():
        # chains take up to a fifth of a second
        count = max(2, repetitions // 5) if changes.get("published") else repetitions
        errors = all_errors(make, guarantees, count, **changes)
        error_row(f"{name}, {count} repetitions", errors)


def choice(repetitions: int) -> None:
    """Both proved samplers, the choice between them, its error over that of the better one.

    The exact sampler, which takes up to seconds, a fifth of the repetitions.
    """
    for ball in (sphere(), spd()):
        heading(
            f"{ball.manifold.spec}, n = 100, tau = 0.1, epsilon-DP: mean (standard error)",
            [f"epsilon = {budget:g}" for budget in BUDGETS],
        )

        def make(seed: int, ball: cdp.Ball = ball) -> Problem:
            return drawn(ball, 100, 0.04, 0.1, 1.5, seed)

        means = {}
        for sampler, count in (("whitened", repetitions), ("exact", max(2, repetitions // 5))):
            errors, seconds = [], []
            for budget in BUDGETS:
                start = time.process_time()
                errors.append(all_errors(make, [cdp.PureDP(budget)], count, sampler=sampler)[0])
                seconds.append((time.process_time() - start) / count)
            error_row(f"{sampler}, {count} repetitions", np.array(errors))
            row(f"{sampler}, seconds of one core", seconds)
            means[sampler] = np.mean(errors, axis=1)
        chosen = [
            expected_choice(ball, 100, cdp.PureDP(b), tau=0.1, v_max=1.5, records_per_unit=1)[0]
            for b in BUDGETS
        ]
        print("| auto takes | " + " | ".join(chosen) + " |")
        best = np.minimum(means["whitened"], means["exact"])
        row("its error / the better", [means[c][i] / best[i] for i, c in enumerate(chosen)])


def splits(repetitions: int) -> None:
    """Figures 1, 2 and 7: n, noise and splits of epsilon = 2 on the sphere, SPD(2) at 0.01."""
    heading(
        "epsilon = 2: proved, and published with equal and unequal splits (no guarantee), "
        f"{repetitions} repetitions",
        ["proved", "published 1:1", "published 1:3", "published 3:1"],
    )
    cases = [(sphere(), n, variance) for variance in (0.001, 0.01, 0.1) for n in (20, 50, 100)]
    cases += [(spd(), n, 0.01**2) for n in (20, 50, 100)]
    for ball, n, variance in cases:

        def make(seed: int, ball: cdp.Ball = ball, n: int = n, delta: float = variance) -> Problem:
            return as_in_the_paper(ball, n, delta, seed)

        budget = [cdp.PureDP(2.0)]
        cells = mean_errors(make, budget, repetitions)
        for weights in ((1.0, 1.0), (1.0, 3.0), (3.0, 1.0)):
            cells += mean_errors(
                make,
                budget,
                repetitions,
                published=True,
                weights=weights,
                chain_length=CHAIN,
            )
        row(f"{ball.manifold.spec}, n = {n}, variance {variance:g}", cells)


def shift_ratios(ball: cdp.Ball, n: int, variance: float, seed: int) -> tuple[float, float]:
    """The paper's bounds over the shifts of both gradients when one record takes another's place.

    As in its appendix G: n + 1 records, of which the data sets lack the first and the last; tau is
    the largest residual of all. Gradients are those at the fit of the first data set, from x = 0.
    """
    space, one = ball.manifold, as_in_the_paper(ball, n + 1, variance, seed)
    x = one.x + 0.5
    fit = cdp.nonprivate.geodesic_regression(x[1:], one.y[1:], space, x_range=(0.0, 1.0))
    tau = float(space.dist(fit.predict(x), one.y).max())
    coords = space.tangent_to_coords(fit.slope, fit.intercept)
    point = np.ascontiguousarray(fit.intercept.reshape(-1))
    sides = []
    for keep in (slice(1, None), slice(0, n)):
        rows, times = one.y[keep].reshape(n, -1), np.ascontiguousarray(x[keep])
        sides.append(space.kernels.regression_energy(rows, times, point, coords, 1.01 * tau)[1:])
    bounds = cdp.published.sensitivity
    sizes = [
        bound(ball, n, tau=tau)
        for bound in (bounds.regression_footpoint, bounds.regression_shooting)
    ]
    shifts = [float(np.linalg.norm(first - second)) for first, second in zip(*sides, strict=True)]
    return sizes[0] / shifts[0], sizes[1] / shifts[1]


def pictures(repetitions: int) -> None:
    """Geodesics on the sphere, ellipses along x, shapes at three ages."""
    from curvedp.plotting import GeodesicDisplay

    folder = Path("docs/images")
    for name, ball, epsilon in (("sphere", sphere(), 2.0), ("spd", spd(), 2.0)):
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
    """Shapes of other people's data: rats by log age, corpora callosa by age."""
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
        "Distance from the non-private fit; in front its length and the residuals' spread, "
        f"{repetitions} repetitions",
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
    parts = {f.__name__: f for f in (utility, choice, splits, shapes, pictures)}
    parser.add_argument("--only", default=",".join(parts))
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        parts[name](arguments.repetitions)


if __name__ == "__main__":
    main()
