"""The papers' claims on sensitivity, solvers and noise, measured: docs/measured/claims.md.

    python benches/papers/claims.py          # about a minute; needs geomstats and pyriemann

Everything here runs on made-up data. Coverage, regression and PrivateMail have scripts of their own
in this folder.
"""

from __future__ import annotations

import math
import os
import warnings

import numpy as np
from scipy.integrate import quad
from scipy.spatial import cKDTree
from scipy.special import expit

import curvedp as cdp
from curvedp import sensitivity
from curvedp.datasets import uniform_ball, von_mises_fisher

SPHERE = cdp.Sphere(2)
POLE = np.array([0.0, 0.0, 1.0])


def point(angle: float, length: float) -> np.ndarray:
    """The point of S^2 at a distance from the pole."""
    flat = np.array([math.cos(angle), math.sin(angle), 0.0])
    return math.cos(length) * POLE + math.sin(length) * flat


def shift(radius: float, n: int = 10_001) -> float:
    """Change of the mean by one record in the extremal data set, in units of 2 r/n.

    All others at the two ends of a geodesic through the centre, the record moved across it.
    """
    half = (n - 1) // 2
    ends = np.array([point(0.0, radius), point(math.pi, radius)])
    means = []
    for moved in (point(0.5 * math.pi, radius), point(-0.5 * math.pi, radius)):
        weights = np.array([half, half, 1.0])
        records = np.vstack([ends, moved])
        means.append(cdp.nonprivate.frechet_mean(records, SPHERE, weights).value)
    return float(SPHERE.dist(*means)) * n / (2 * radius)


def sensitivities() -> list[str]:
    lines = [
        "| r | measured | tan(r)/r | published |",
        "|---|---|---|---|",
    ]
    for radius in (math.pi / 8, 0.6, 0.75, 1.0, 1.3):
        ball = cdp.Ball(SPHERE, POLE, radius)
        proved = sensitivity.frechet_mean(ball, 10_001) * 10_001 / (2 * radius)
        try:
            published = cdp.published.sensitivity.frechet_mean(ball, 10_001)
            text = f"{published * 10_001 / (2 * radius):.3g}"
        except ValueError:
            text = "none"
        lines.append(f"| {radius:.3f} | {shift(radius):.4f} | {proved:.4f} | {text} |")
    return lines


def solver() -> list[str]:
    """Neighbouring data sets whose computed means are further apart than the sensitivity."""
    os.environ.setdefault("GEOMSTATS_BACKEND", "numpy")
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.learning.frechet_mean import FrechetMean, GradientDescent

    rng = np.random.default_rng(0)
    ball = cdp.Ball(SPHERE, POLE, 0.6)
    n, trials = 1000, 200
    bound = sensitivity.frechet_mean(ball, n)
    space = Hypersphere(2)
    defaults = FrechetMean(space)
    tight = FrechetMean(space)
    tight.optimizer = GradientDescent(max_iter=500, epsilon=1e-12)
    beyond = {"geomstats, default": 0, "geomstats, epsilon=1e-12": 0, "curvedp": 0}
    for _ in range(trials):
        records = uniform_ball(n, ball, rng=rng)
        neighbour = records.copy()
        neighbour[0] = -records[0] + 2 * (records[0] @ POLE) * POLE
        pairs = {
            "geomstats, default": [defaults.fit(x).estimate_ for x in (records, neighbour)],
            "geomstats, epsilon=1e-12": [tight.fit(x).estimate_ for x in (records, neighbour)],
            "curvedp": [cdp.nonprivate.frechet_mean(x, SPHERE).value for x in (records, neighbour)],
        }
        for name, pair in pairs.items():
            beyond[name] += float(SPHERE.dist(*pair)) > bound
    lines = [f"| solver | beyond the bound, of {trials} |", "|---|---|"]
    return lines + [f"| {name} | {count} |" for name, count in beyond.items()]


def utility() -> list[str]:
    """Theorem V.2 of He et al. on the plane, λ = 1: mean squared distance over the claimed bound.

    With density proportional to exp(-ρ*) in the metric φ g the claimed bound is
    d (d + 1)/φ_min = 6. φ is 1 up to a radius a of 4 and M² beyond, so that for t = ρ* > a a circle
    has the length 2π (t + a (M - 1)) in φ g and the radius a + (t - a)/M in g. The proved bound is
    the claimed one times (φ_max/φ_min)^d.
    """
    a, far = 4.0, np.inf
    lines = ["| φ_max/φ_min | mean squared distance / claimed bound | / proved bound |"]
    lines.append("|---|---|---|")
    for m in (1.0, 3.0, 10.0, 100.0):

        def moment(power: int, m: float = m) -> float:
            near = quad(lambda t: t ** (power + 1) * math.exp(-t), 0, a)[0]
            beyond = quad(
                lambda t: (a + (t - a) / m) ** power * (t + a * (m - 1)) * math.exp(-t), a, far
            )[0]
            return float(near + beyond)

        ratio = moment(2) / moment(0) / 6
        lines.append(f"| {m * m:g} | {ratio:.3g} | {ratio / m**4:.2g} |")
    return lines


def hyperbolic_utility() -> list[str]:
    """The same on the hyperbolic plane with φ = 1, whose circles have the length 2π sinh t.

    E ρ² = (6λ² + 2)/(λ² - 1)² for λ > 1, from the Laplace transform 1/(λ² - 1) of sinh.
    """
    lines = ["| λ | mean squared distance / claimed bound |", "|---|---|"]
    for rate in (10.0, 3.0, 1.5, 1.1):
        found = (6 * rate**2 + 2) / (rate**2 - 1) ** 2
        lines.append(f"| {rate:g} | {found * rate**2 / 6:.3g} |")
    return lines


def sphere_utility() -> list[str]:
    """The same on S^2, compact as the paper has it, λ = 100: φ rises from 1 to M² at radius 0.04.

    At once or by a logistic function of the radius of width 0.002. φ is radial, so that meridians
    are shortest paths of φ g, too; spheres t have the length 2π √φ sin t.
    """
    rate, at = 100.0, 0.04
    t = np.linspace(0, math.pi, 400_001)[1:]
    lines = ["| φ_max/φ_min | at once: mean squared distance / claimed bound | smooth |"]
    lines.append("|---|---|---|")
    for m in (1.0, 2.0, 10.0, 100.0):
        cells = []
        for share in ((t > at).astype(float), expit((t - at) / 0.002)):
            phi = 1 + (m * m - 1) * share
            dist = np.cumsum(np.sqrt(phi)) * t[0]
            weight = np.exp(-rate * dist) * phi * np.sin(t)
            cells.append(f"{t**2 @ weight / weight.sum() * rate**2 / 6:.3g}")
        lines.append(f"| {m * m:g} | " + " | ".join(cells) + " |")
    return lines


def one_way_edges() -> list[str]:
    """Share of the directed edges of a k-nearest-neighbour graph that have no edge back."""
    lines = ["| k | edges without an edge back |", "|---|---|"]
    records = von_mises_fisher(500, POLE, 10.0, rng=np.random.default_rng(2))
    for k in (5, 10, 20):
        _, neighbours = cKDTree(records).query(records, k + 1)
        edges = {(i, int(j)) for i, row in enumerate(neighbours) for j in row[1:]}
        alone = sum((j, i) not in edges for i, j in edges)
        lines.append(f"| {k} | {alone / len(edges):.2f} |")
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    for title, table in (
        ("Sensitivity of the mean on S², in units of 2r/n", sensitivities),
        ("Solvers and the sensitivity bound (S², r = 0.6, n = 1000)", solver),
        ("Theorem V.2 of He et al. on the plane, λ = 1, φ larger beyond 4", utility),
        ("The same on the hyperbolic plane, φ = 1", hyperbolic_utility),
        ("The same on S², λ = 100, φ larger beyond 0.04", sphere_utility),
        ("k-nearest-neighbour graphs of 500 records on S²", one_way_edges),
    ):
        print(f"\n{title}\n", *table(), sep="\n")


if __name__ == "__main__":
    main()
