"""Logarithms in wide balls are as accurate as docs/proofs/certified-logarithms.md says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

import curvedp as cdp
from manifold_list import BY_NAME
from reference.entered import wide_point

Array = NDArray[np.float64]
U = 2.0**-53
DIGITS = 80


def spd_error(m: int, r: float) -> float:
    """E_log of the proof."""
    products = 10 * m**1.5 * (m + 4) ** 2 * U**2 * math.exp(math.sqrt(2) * r)
    return (8 * m * m + 80 * m) * U * (8 + 8 * r) + products


def hyperbolic_error(dim: int, angle: float, unit: float) -> float:
    """E_log of the proof."""
    return ((4 * dim + 80 + 16 * angle) * U * 2 * angle + 8 * U**2 * math.exp(angle)) * unit


def wide_ball(manifold: Any, radius: float) -> cdp.Ball:
    center = np.eye(manifold.m) if isinstance(manifold, cdp.SPD) else manifold.origin
    return wide_ball_at(manifold, center, radius)


def wide_ball_at(manifold: Any, center: Array, radius: float) -> cdp.Ball:
    ball = cdp.Ball(manifold, center, radius)
    assert ball.frame.is_precise
    return ball


def rows_at(ball: cdp.Ball, coords: Array) -> Array:
    """Rows of the frame at the given coordinates."""
    inner = ball.frame.manifold
    rows = np.empty((len(coords), inner.point_size))
    origin = np.ascontiguousarray(ball.frame.origin[None])
    inner.exp_coords(np.ascontiguousarray(coords), origin, rows)
    return rows


def logs_at(ball: cdp.Ball, rows: Array, base: Array) -> Array:
    out = np.empty((len(rows), ball.frame.manifold.dim))
    ball.frame.manifold.log_coords(rows, base, out)
    return out


def spd_log(ball: cdp.Ball, row: Array, base: Array) -> Any:
    """Exact logarithm in the frame of the base point's factor, as a matrix."""
    m = ball.manifold.m
    lower, rest = mp.matrix(m, m), iter(base)
    for j in range(m):
        for i in range(j, m):
            lower[i, j] = mp.mpf(float(next(rest)))
    back = lower**-1
    point = mp.matrix(wide_point(ball.manifold, row).tolist())
    values, axes = mp.eigsy(back * point * back.T)
    return axes * mp.diag([mp.log(x) for x in values]) * axes.T


def spd_coords(log: Any) -> list[Any]:
    m, root = log.rows, mp.sqrt(2)
    return [log[i, j] if i == j else root * log[i, j] for i in range(m) for j in range(i, m)]


def hyperbolic_log(ball: cdp.Ball, row: Array, base: Array) -> list[Any]:
    """Exact logarithm by the law of cosines, carried along the radius from the origin."""
    unit = 1 / mp.sqrt(-mp.mpf(float(ball.manifold.curvature)))
    x, y = ([mp.mpf(z) / unit for z in numbers] for numbers in (row, base))
    b, a = (mp.sqrt(sum(z * z for z in numbers)) for numbers in (x, y))
    x = [z / b for z in x] if b else x
    y = [z / a for z in y] if a else y
    cos = sum(s * t for s, t in zip(x, y, strict=True))
    along = mp.sinh(b) * cos * mp.cosh(a) - mp.cosh(b) * mp.sinh(a)
    log = [mp.sinh(b) * (s - cos * t) + along * t for s, t in zip(x, y, strict=True)]
    length = mp.sqrt(sum(z * z for z in log))
    return [unit * z * mp.asinh(length) / length if length else z for z in log]


def adversarial_coords(dim: int, radius: float, rng: np.random.Generator) -> Array:
    """At the border and within: opposite, nearly so, equal, and directions that share nothing."""
    coords = rng.standard_normal((8, dim))
    coords /= np.linalg.norm(coords, axis=1, keepdims=True)
    coords[1] = -coords[0]
    coords[2] = -coords[0] + 1e-9 * coords[3]
    coords[4] = coords[0] + 1e-6 * coords[5]
    coords *= radius * (1 - 1e-12)
    coords[6] *= 1e-9
    coords[7] *= rng.random()
    return coords


def spectral_coords(m: int, radius: float, rng: np.random.Generator) -> Array:
    """Eigenvalues at two poles, in clusters or spread out; axes that are shared, nearly or not."""
    spectra = np.zeros((4, m))
    spectra[0, [0, -1]] = 1, -1
    spectra[1] = 1
    spectra[1, 0] = -1
    spectra[2] = np.where(np.arange(m) % 2, 1 + 1e-13 * np.arange(m), -1)
    spectra[3] = np.linspace(-1, 1, m)
    spectra *= radius * (1 - 1e-12) / np.linalg.norm(spectra, axis=1, keepdims=True)
    axes, _ = np.linalg.qr(rng.standard_normal((m, m)))
    near, _ = np.linalg.qr(axes + 1e-7 * rng.standard_normal((m, m)))
    other, _ = np.linalg.qr(rng.standard_normal((m, m)))
    upper, scale = np.triu_indices(m), math.sqrt(2)
    rows = []
    for values in (*spectra, -spectra[0], -spectra[3]):
        for q in (axes, near, other):
            matrix = (q * values) @ q.T
            rows.append(np.where(upper[0] == upper[1], 1, scale) * matrix[upper])
    return np.array(rows)


@pytest.mark.parametrize("r", [6.0, 9.0, 12.0, 15.0, 20.0])
@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_logarithms_of_matrices_are_within_their_error(m: int, r: float) -> None:
    rng = np.random.default_rng(m)
    ball = wide_ball(cdp.SPD(m), r)
    dim = m * (m + 1) // 2
    coords = spectral_coords(m, r, rng) if m > 1 else np.array([[r], [-r], [0.3], [1e-9]])
    coords = np.concatenate([coords, adversarial_coords(dim, r, rng)])
    rows, worst = rows_at(ball, coords), 0.0
    chosen = rng.permutation(len(rows))[: 12 if m < 8 else 5]
    for base in rows[rng.permutation(len(rows))[: 6 if m < 8 else 2]]:
        logs = logs_at(ball, rows, base[None].copy())
        for i in chosen:
            with mp.workdps(DIGITS):
                exact = spd_coords(spd_log(ball, rows[i], base))
                gap = [mp.mpf(float(x)) - y for x, y in zip(logs[i], exact, strict=True)]
                worst = max(worst, float(mp.norm(mp.matrix(gap))))
    print(f"SPD({m}), radius {r}: {worst:.1e}, {worst / spd_error(m, r):.1e} of the bound")
    assert worst <= 0.1 * spd_error(m, r)


@pytest.mark.parametrize("curvature", [-1.0, -4.0, -1e-4])
@pytest.mark.parametrize("angle", [6.0, 12.0, 20.0])
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_logarithms_of_hyperbolic_points_are_within_their_error(
    dim: int, angle: float, curvature: float
) -> None:
    rng = np.random.default_rng(dim)
    unit = 1 / math.sqrt(-curvature)
    ball = wide_ball(cdp.Hyperboloid(dim, curvature=curvature), angle * unit)
    rows = rows_at(ball, adversarial_coords(dim, angle * unit, rng))
    worst = 0.0
    for base in [*rows, np.zeros(dim)]:
        for row, log in zip(rows, logs_at(ball, rows, base[None].copy()), strict=True):
            with mp.workdps(DIGITS):
                exact = hyperbolic_log(ball, row, base)
                gap = [mp.mpf(float(x)) - y for x, y in zip(log, exact, strict=True)]
                worst = max(worst, float(mp.norm(mp.matrix(gap))))
    bound = hyperbolic_error(dim, angle, unit)
    print(f"H^{dim}({curvature}), {angle}: {worst / bound:.1e} of the bound")
    assert worst <= 0.25 * bound


@pytest.mark.parametrize("r", [6.0, 9.0, 15.0, 20.0])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_steps_end_where_they_should(m: int, r: float) -> None:
    """Steps as long as safe ones, from anywhere in the ball."""
    rng = np.random.default_rng(m)
    ball, dim = wide_ball(cdp.SPD(m), r), m * (m + 1) // 2
    inner = ball.frame.manifold
    bound = (160 * math.exp(r / math.sqrt(2)) + 256 * (2 + 2 * r)) * m**1.5
    worst = 0.0
    for base in rows_at(ball, spectral_coords(m, r, rng))[::2]:
        step = rng.standard_normal((1, dim))
        step *= math.sqrt(2) / np.linalg.norm(step)
        end = np.empty((1, inner.point_size))
        inner.exp_coords(step, base[None].copy(), end)
        with mp.workdps(DIGITS):
            there = spd_log(
                ball, end[0], base
            )  # in the frame of the factor, where exp is that of matrices
            upper, rest = mp.matrix(m, m), iter(step[0])
            for i in range(m):
                for j in range(i, m):
                    x = mp.mpf(float(next(rest)))
                    upper[i, j] = upper[j, i] = x if i == j else x / mp.sqrt(2)
            values, axes = mp.eigsy(upper)
            root = axes * mp.diag([mp.exp(-x / 2) for x in values]) * axes.T
            values, axes = mp.eigsy(there)
            moved = axes * mp.diag([mp.exp(x) for x in values]) * axes.T
            gaps = mp.eigsy(root * moved * root, eigvals_only=True)
            worst = max(worst, float(mp.sqrt(sum(mp.log(x) ** 2 for x in gaps))))
    print(f"SPD({m}), radius {r}: {worst / (bound * U):.1e} of the bound")
    assert worst <= 0.25 * bound * U


@pytest.mark.parametrize("angle", [4.0, 12.0, 20.0])
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_hyperbolic_steps_end_where_they_should(dim: int, angle: float) -> None:
    rng = np.random.default_rng(dim)
    ball = wide_ball(cdp.Hyperboloid(dim), angle)
    inner = ball.frame.manifold
    worst = 0.0
    for base in rows_at(ball, adversarial_coords(dim, angle, rng)):
        step = rng.standard_normal((1, dim))
        step /= np.linalg.norm(step)
        end = np.empty((1, dim))
        inner.exp_coords(step, base[None].copy(), end)
        with mp.workdps(DIGITS):
            exact = hyperbolic_log(ball, step[0], -base)
            gap = hyperbolic_log(ball, end[0], np.array(exact, dtype=object))
            worst = max(worst, float(mp.sqrt(sum(x * x for x in gap))))
    bound = (4 * dim + 90) * U * math.sinh(angle)
    print(f"H^{dim}, {angle}: {worst / bound:.1e} of the bound")
    assert worst <= 0.25 * bound


def test_matrices_of_entries_lose_what_factors_keep() -> None:
    """The control: the logarithm of matrices is off by far more than the bound."""
    m, r = 3, 12.0
    ball = wide_ball(cdp.SPD(m), r)
    rows = rows_at(ball, spectral_coords(m, r, np.random.default_rng(3)))
    points = ball.leave(rows)
    logs = ball.manifold.log(points, points[:1])
    in_frame = ball.manifold.tangent_to_coords(logs, points[0])
    gap = np.linalg.norm(in_frame - logs_at(ball, rows, rows[:1].copy()), axis=1)
    assert np.nanmax(gap) > 1e3 * spd_error(m, r)


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        ("spd:2", 9.0),
        ("spd:3", 15.0),
        ("spd:5", 20.0),
        ("hyperboloid:2", 15.0),
        ("hyperboloid:10", 9.0),
    ],
)
def test_means_in_wide_balls_are_within_their_tolerance(name: str, radius: float) -> None:
    case, n = BY_NAME[name], 6
    ball, rng = wide_ball(case.manifold, radius), np.random.default_rng(1)
    for _ in range(3):
        coords = adversarial_coords(case.manifold.dim, radius, rng)[rng.permutation(8)[:n]]
        rows = rows_at(ball, coords)
        plan = ball.frame.plan(n, 0.0)
        mean = ball.frame.mean(rows, plan)
        with mp.workdps(DIGITS):
            base, twin = wide_point(case.manifold, mean), case.precise
            logs = [twin.log(wide_point(case.manifold, row), base) for row in rows]
            gradient = twin.norm(sum(logs[1:], logs[0]) / n, base)
        # it bounds the distance from the exact mean
        assert gradient <= plan.tolerance


@pytest.mark.parametrize("radius", [6.0, 9.0, 12.0, 15.0, 20.0])
@pytest.mark.parametrize(
    "manifold", [*map(cdp.SPD, (3, 8, 28, 100)), *map(cdp.Hyperboloid, (2, 10))], ids=str
)
def test_the_tolerance_is_a_small_part_of_the_sensitivity(manifold: Any, radius: float) -> None:
    """To the numbers of records that the page says."""
    ball = wide_ball(manifold, radius)
    most = {6.0: 10**6, 9.0: 10**5, 12.0: 50_000, 15.0: 5_000, 20.0: 100}[radius]
    for n in (86, most):
        assert ball.frame.plan(n, 0.0).tolerance <= 0.05 * 2 * radius / n


def test_connectomes_are_released_in_a_ball_that_holds_them(data_dir: Path) -> None:
    """86 correlation matrices of order 28, up to 11.9 from the centre."""
    with np.load(data_dir / "connectomes/fnc_correlation_28x28.npz") as file:
        records = file["corr"].astype(float)
    ball = wide_ball_at(cdp.SPD(28), 0.2725 * np.eye(28), 12.0)
    assert ball.contains(records).all()
    release = cdp.frechet_mean(records, ball, cdp.GDP(1.0))
    assert release.solver_tolerance <= release.sensitivity / 20
    assert release.expected_error < 6.5
    rows = ball.enter(records)
    plan = ball.frame.plan(len(rows), 0.0)
    mean = ball.frame.mean(rows, plan)
    logs = logs_at(ball, rows, mean[None].copy())
    assert np.linalg.norm(logs.mean(axis=0)) <= plan.gradient_target
    farthest = int(np.argmax(np.linalg.norm(logs, axis=1)))
    with mp.workdps(40):
        exact = spd_coords(spd_log(ball, rows[farthest], mean))
        gap = [mp.mpf(float(x)) - y for x, y in zip(logs[farthest], exact, strict=True)]
        assert mp.norm(mp.matrix(gap)) <= 0.1 * spd_error(28, 12.0)


def test_embedded_words_are_released_in_a_ball_that_holds_them(data_dir: Path) -> None:
    """WordNet's mammals in the Poincaré disc, up to 7.2 from the origin."""
    file = data_dir / "hyperbolic/wordnet_mammals_poincare2d.csv"
    table = np.genfromtxt(file, delimiter=",", names=True)
    records = np.column_stack([table[name] for name in ("h0", "h1", "h2")])
    ball = wide_ball(cdp.Hyperboloid(2), 8.0)
    assert ball.contains(records).all()
    release = cdp.frechet_mean(records, ball, cdp.GDP(1.0))
    assert release.solver_tolerance <= release.sensitivity / 20
