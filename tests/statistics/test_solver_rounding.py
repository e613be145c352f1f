"""The rounding of one logarithm against 60-digit arithmetic.

The solver's certificate (docs/proofs/frechet-mean-solver.md, 6) rests on bounds E_log with
constants chosen, not derived: here the kernels must stay four times under them on points of a ball
about the manifold's origin, at the ball's edge, opposite each other, and close together. Points are
read as the exact points for which their floats stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from manifold_list import BY_NAME, Case
from reference.precise import DIGITS, Numbers, lift

U = 2.0**-53
MARGIN = 4.0


@dataclass(frozen=True)
class Setting:
    """A manifold and a radius about its origin."""

    name: str
    radius: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.name}-{self.radius:g}"

    @property
    def case(self) -> Case:
        return BY_NAME[self.name]


SETTINGS = [
    Setting(name, radius, pairs)
    for name, radii, pairs in (
        ("sphere:1", (1e-9, 1.0, 1.55), 40),
        ("sphere:2", (1e-9, 0.5, 1.2, 1.55, 1.5707), 60),
        ("sphere:2:radius=3", (1e-9, 4.6), 40),
        ("sphere:9", (0.5, 1.55), 40),
        ("kendall:3", (1e-9, 0.4, 0.78), 40),
        ("kendall:4", (1e-9, 0.4, 0.78, 0.7853), 40),
        ("kendall:10", (0.78,), 20),
        ("hyperboloid:1", (1e-9, 1.0, 4.0, 6.0), 40),
        ("hyperboloid:2", (1e-9, 1.0, 4.0, 6.0), 60),
        ("hyperboloid:3:curvature=-0.25", (1e-9, 6.0), 40),
        ("hyperboloid:10", (4.0,), 20),
        ("spd:1", (1e-9, 1.0, 6.0), 40),
        ("spd:2", (1e-9, 1.0, 4.0, 7.0), 20),
        ("spd:3", (1.0, 4.0, 7.0), 10),
        ("spd:5", (4.0,), 3),
        ("hpd:1", (1e-9, 1.0, 6.0), 20),
        ("hpd:2", (1e-9, 1.0, 4.0, 7.0), 20),
        ("hpd:3", (1.0, 4.0), 5),
    )
    for radius in radii
]


def log_bound(manifold: Any, radius: float) -> float:
    """E_log of the proof for a ball about the manifold's origin (not for charts)."""
    entries, (_, upper) = manifold.point_size, manifold.curvature_bounds
    if math.isfinite(manifold.injectivity_radius):
        s = math.sqrt(upper) if upper > 0 else math.pi / manifold.injectivity_radius
        angle = 2 * radius * s
        return 8 * (entries + 4) * U * angle / math.sin(angle) / s
    growth = math.sqrt(0.5)
    if isinstance(manifold, cdp.HPD):  # that of real matrices of twice the order
        entries = 4 * manifold.m**2
    if isinstance(manifold, cdp.Hyperboloid):
        growth = math.sqrt(-manifold.curvature)
    return 20 * (entries + 4) * U * math.exp(4 * radius * growth) / growth


def origin(manifold: Any) -> np.ndarray:
    if isinstance(manifold, cdp.SPD):
        return np.eye(manifold.m)
    if isinstance(manifold, cdp.HPD):
        return manifold.origin
    if isinstance(manifold, cdp.KendallPlanar):
        return manifold.random_point(1, rng=3)
    size = manifold.radius if isinstance(manifold, cdp.Sphere) else (-manifold.curvature) ** -0.5
    return np.eye(1, manifold.point_size)[0] * size


def adversarial_coords(dim: int, radius: float, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates at the origin of base points and points: opposite, equal, axes, close, random."""
    rng = np.random.default_rng(dim + pairs)
    a = rng.standard_normal((pairs, dim))
    a[1::4] = np.eye(dim)[rng.integers(dim, size=len(a[1::4]))]
    a *= radius / np.linalg.norm(a, axis=1, keepdims=True)
    b = rng.standard_normal((pairs, dim))
    b *= radius / np.linalg.norm(b, axis=1, keepdims=True)
    near = 10.0 ** rng.uniform(-14, -1, (pairs, 1))
    kind = np.arange(pairs) % 5
    b[kind == 0] = -a[kind == 0]
    b[kind == 1] = -a[kind == 1] * (1 - near[kind == 1])
    b[kind == 2] = (a + near * (b - a))[kind == 2]
    b[kind == 3] *= near[kind == 3]
    return a, b


def points(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    manifold = setting.case.manifold
    center = origin(manifold)
    return tuple(  # type: ignore[return-value]
        manifold.exp(manifold.coords_to_tangent(coords, center), center)
        for coords in adversarial_coords(manifold.dim, setting.radius, setting.pairs)
    )


def exactly(case: Case, point: np.ndarray) -> Numbers:
    """The point that floats stand for."""
    lifted = lift(point)
    exact = case.precise
    if not hasattr(exact, "on_manifold"):
        return lifted
    placed = exact.on_manifold(lifted)
    return exact.realify(placed) if hasattr(exact, "realify") else placed


def error(case: Case, computed: np.ndarray, point: np.ndarray, base: np.ndarray) -> Any:
    """Riemannian length of the error of a computed log_base(point)."""
    exact, p = case.precise, exactly(case, base)
    difference = lift(computed) - exact.log(exactly(case, point), p)
    if case.name.startswith("hyperboloid"):
        difference = exact.to_tangent(difference, p)
    return exact.norm(difference, p)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_one_logarithm_stays_four_times_under_its_bound(setting: Setting) -> None:
    case, bound = setting.case, log_bound(setting.case.manifold, setting.radius)
    manifold = case.manifold
    base, point = points(setting)
    log = manifold.log(point, base)
    coords = manifold.tangent_to_coords(log, base)
    with mp.workdps(DIGITS):
        worst = lengths = 0.0
        for i in range(setting.pairs):
            dist = case.precise.dist(exactly(case, base[i]), exactly(case, point[i]))
            worst = max(worst, float(error(case, log[i], point[i], base[i])))
            # The solver's own kernel: at one point x the gradient norm of F is |log x|.
            _, gradient, *_ = manifold.kernels.mean(
                point[i].reshape(1, -1), None, base[i].reshape(-1), 1e300, 1
            )
            for length in (gradient, float(np.linalg.norm(coords[i]))):
                lengths = max(lengths, abs(float(mp.mpf(float(length)) - dist)))
    print(f"{setting}: log {worst / bound:.2g}, lengths {lengths / bound:.2g} of the bound")
    assert 0.0 < worst <= bound / MARGIN
    assert lengths <= bound / MARGIN


@pytest.mark.parametrize("name", ["spd:2:log-euclidean", "spd:3:log-cholesky", "euclidean:3"])
@pytest.mark.parametrize("radius", [1e-9, 1.0, 10.0])
def test_in_a_chart_a_logarithm_is_one_subtraction(name: str, radius: float) -> None:
    """Its bound u 2r is attained: a rounded difference cannot be four times under it."""
    manifold = BY_NAME[name].manifold
    center = np.zeros(3) if name.startswith("euclidean") else np.eye(manifold.m)
    frame = cdp.Ball(manifold, center, radius).frame
    a, b = adversarial_coords(manifold.dim, radius, 40)
    log = np.empty_like(a)
    frame.manifold.log_coords(b, a, log)
    with mp.workdps(DIGITS):
        for i in range(len(a)):
            difference = lift(log[i]) - (lift(b[i]) - lift(a[i]))
            assert mp.norm(mp.matrix(list(difference))) <= U * 2 * radius


@pytest.mark.parametrize("name", ["spd:1", "hyperboloid:1"])
@pytest.mark.parametrize("radius", [1e-13, 1e-12, 1e-9, 1.0, 6.0, 20.0, 30.0, 700.0])
def test_flat_manifolds_that_are_no_charts_keep_their_certificate(name: str, radius: float) -> None:
    """Their curvature is 0, but their points are written with exp, cosh and sinh."""
    manifold = BY_NAME[name].manifold
    ball = cdp.Ball(manifold, origin(manifold), radius)
    n, rng = 3, np.random.default_rng(2)
    plan = ball.frame.plan(n, 1e-4 * sensitivity.frechet_mean(ball, n))
    if plan is None:
        assert radius <= 1e-12 or radius >= 6.0
        with pytest.raises(ValueError, match="double precision"):
            cdp.frechet_mean(np.stack([ball.center] * n), ball, cdp.GDP(1.0))
        return
    for _ in range(30):
        coords = radius * rng.uniform(-1, 1, (n, 1))
        records = manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)
        rows = ball.enter(records)
        mean = ball.frame.mean(rows, plan)
        with mp.workdps(DIGITS):
            place = mp.log if name == "spd:1" else mp.asinh
            entry = [place(mp.mpf(float(row[-1]))) for row in (*rows, mean)]
            if ball.frame.is_precise:  # the root of a number, or its logarithm
                entry = [2 * x if name == "spd:1" else mp.sinh(x) for x in entry]
            assert abs(entry[-1] - sum(entry[:-1]) / n) <= plan.tolerance
