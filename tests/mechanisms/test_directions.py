"""Directions by the exponential mechanism: laws, exact sums, the privacy loss in closed form."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

import curvedp as cdp
from chance import CONFIDENCE, FAILURE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.mechanisms import directions
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.directions import Directions, as_integers, gram, mirror_of, reflected
from reference import bingham

PURE = cdp.PureDP(2.0)
EXPONENT = 30


def law(matrix: np.ndarray, rate: float) -> _core.Bingham:
    """For a matrix of multiples of 2^-30."""
    score = np.rint(matrix * 2.0**EXPONENT).astype(np.int64)
    return _core.Bingham(score.ravel(), EXPONENT, rate, directions.eigenvectors(score))


def drawn(matrix: np.ndarray, rate: float, count: int) -> np.ndarray:
    found = np.empty((count, len(matrix)))
    law(matrix, rate).sample(_core.Stream.from_os(), found)
    return found


def turned(values: list[float], seed: int = 0) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    axes = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    return axes @ np.diag(values) @ axes.T


def circle_levels(points: np.ndarray, matrix: np.ndarray, rate: float) -> np.ndarray:
    """Distribution function of the angle on the axis of the circle, uniform for that law."""
    grid = np.linspace(0.0, np.pi, 4001)
    axes = np.column_stack([np.cos(grid), np.sin(grid)])
    density = np.exp(rate * np.einsum("ij,jk,ik->i", axes, matrix, axes) - rate * 3)
    whole = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    angle = np.arctan2(points[:, 1], points[:, 0]) % np.pi
    return np.interp(angle, grid, whole / whole[-1])


@pytest.mark.parametrize("rate", [0.3, 2.0, 15.0])
def test_directions_of_the_plane_have_the_law(rate: float) -> None:
    matrix = turned([0.4, 2.5])
    points = drawn(matrix, rate, 4000)
    assert stats.kstest(circle_levels(points, matrix, rate), "uniform").pvalue > FAILURE
    wrong = circle_levels(points, matrix, 3.0 * rate)
    assert stats.kstest(wrong, "uniform").pvalue < FAILURE


def height_law(matrix: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Distribution function of |x_3| on the sphere, for a matrix that is diagonal."""
    a, b, c = np.diag(matrix) * rate
    grid = np.linspace(0.0, 1.0, 4001)
    square = 1 - grid**2
    log_density = c * grid**2 + max(a, b) * square
    density = np.exp(log_density - log_density.max()) * special.ive(0, 0.5 * square * abs(a - b))
    whole = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return grid, whole / whole[-1]


@pytest.mark.parametrize("values", [[0.1, 1.0, 2.0], [2.0, 1.0, 0.1], [1.0, 1.0, 3.0]])
@pytest.mark.parametrize("rate", [0.5, 6.0])
def test_directions_of_space_have_the_law(values: list[float], rate: float) -> None:
    matrix = np.diag(values)
    heights = np.abs(drawn(matrix, rate, 4000)[:, 2])
    for factor, holds in ((1.0, True), (4.0, False)):
        grid, levels = height_law(matrix, factor * rate)
        test = stats.kstest(np.interp(heights, grid, levels), "uniform")
        assert bool(test.pvalue > FAILURE) is holds


def test_the_second_direction_has_its_law_given_the_first() -> None:
    rows = as_integers(0.3 * np.random.default_rng(5).standard_normal((40, 3)), 20) * 2.0**-20
    kernel, own = Directions(2, 3, n=len(rows), way=cdp.PureDP(6.0)), _core.Stream.from_os()
    found = np.array([kernel.sample(rows, own) for _ in range(900)])
    levels = {1.0: [], 4.0: []}
    for first, second in found:
        basis = np.linalg.svd(first[None], full_matrices=True)[2][1:]
        assert np.allclose(basis.T @ basis @ second, second, atol=1e-12)
        matrix, point = basis @ rows.T @ rows @ basis.T, basis @ second
        for factor, of_factor in levels.items():
            of_factor.append(circle_levels(point[None], matrix, factor * kernel.rate)[0])
    assert stats.kstest(levels[1.0], "uniform").pvalue > FAILURE
    assert stats.kstest(levels[4.0], "uniform").pvalue < FAILURE


def test_all_directions_agree_with_the_plain_twin() -> None:
    rows = 0.15 * np.random.default_rng(3).standard_normal((30, 4)) * [1.5, 1.0, 0.5, 0.2]
    kernel, own, rng = (
        Directions(2, 4, n=30, way=cdp.PureDP(20.0)),
        _core.Stream.from_os(),
        np.random.default_rng(1),
    )
    mine = np.array([kernel.sample(rows, own) for _ in range(700)])
    twins = np.array([bingham.components(rows, 2, kernel.rate, rng) for _ in range(700)])
    for j in range(2):
        for i in range(4):
            test = stats.ks_2samp(mine[:, j, i] ** 2, twins[:, j, i] ** 2)
            assert test.pvalue > FAILURE


def test_directions_are_orthonormal_and_the_last_one_is_what_is_left() -> None:
    rows = 0.3 * np.random.default_rng(2).standard_normal((50, 5))
    for count in (1, 3, 5):
        kernel = Directions(count, 5, n=50, way=cdp.GDP(3.0))
        found = kernel.sample(rows, _core.Stream.from_os())
        assert (found.shape, kernel.draws) == ((count, 5), min(count, 4))
        assert np.abs(found @ found.T - np.eye(count)).max() < 1e-12


def test_bad_eigenvectors_change_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(matrix: np.ndarray) -> None:
        raise np.linalg.LinAlgError

    matrix = turned([0.4, 2.5])
    monkeypatch.setattr(np.linalg, "eigh", fails)
    points = drawn(matrix, 2.0, 2000)
    assert stats.kstest(circle_levels(points, matrix, 2.0), "uniform").pvalue > FAILURE


HARD = np.array(
    [
        [1.0, 0.0, 0.0],
        [1.0 + 2.0**-52, 0.0, 0.0],
        [-1.0, -0.0, 5e-324],
        [0.6, 0.8, 0.0],
        [0.8, 0.6, 2.0**-21],
        [3.0**-0.5] * 3,
        [np.nextafter(3.0**-0.5, 1)] * 3,
        [2.0**-20 - 2.0**-73, 1.0 - 2.0**-53, 0.0],
        [np.nan, 0.5, 0.0],
        [np.inf, 0.0, 0.0],
        [1e308, -1e308, 1e308],
        [0.9, 0.9, 0.9],
        [2.0**40, 0.0, 0.0],
    ]
)


def test_no_row_of_integers_is_longer_than_one() -> None:
    rng = np.random.default_rng(0)
    unit = rng.standard_normal((20_000, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        for bits in (20, 12, 3):
            whole = as_integers(np.vstack([HARD, unit, 3 * unit]), bits)
            squares = [sum(int(x) ** 2 for x in row) for row in whole]
            assert max(squares) <= 4**bits
            assert np.abs(whole[: len(HARD)]).max() == 2**bits
    rounded = [sum(round(x * 2**20) ** 2 for x in row) for row in unit]
    assert max(rounded) > 4**20


def test_sums_are_exact() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((5000, 3))
    rows = as_integers(rows / np.linalg.norm(rows, axis=1, keepdims=True), 20)
    rows[:4100] = [2.0**20, 0.0, 0.0]
    exact = np.array([[int(x) for x in row] for row in rows], dtype=object)
    assert (gram(rows) == exact.T @ exact).all()
    fine = np.rint(rows * 2.0**5 + 1)  # of 25 bits doubles do not hold the sums
    exact = np.array([[int(x) for x in row] for row in fine], dtype=object)
    assert (gram(fine) != exact.T @ exact).any()


def test_what_is_left_is_shorter_by_what_was_found() -> None:
    """The sum of the squares along the directions, in fractions, is hardly above 1."""
    rng = np.random.default_rng(4)
    bits, worst, broken = 20, Fraction(0), Fraction(0)
    for dim in (2, 3, 6):
        axes = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        rows = np.vstack([np.eye(dim), -axes, rng.standard_normal((20, dim))])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for start in (axes[0], np.eye(dim)[-1], -np.eye(dim)[0], rows[-1]):
            whole, total = as_integers(rows, bits), 0
            direction = np.rint(start * 2.0**48) * 2.0**-48
            while True:
                along = [_square(row, direction, bits) for row in whole]
                total = total + np.array(along, dtype=object)
                worst = max(worst, *total)
                left = reflected(whole * 2.0**-bits, mirror_of(direction))[:, 1:]
                if left.shape[1] < 2:
                    break
                whole = as_integers(left, bits)
                direction = rng.standard_normal(left.shape[1])
                direction = np.rint(direction / np.linalg.norm(direction) * 2.0**48) * 2.0**-48
            again = [_square(row, start, bits) for row in as_integers(rows, bits)]
            broken = max(broken, max(2 * x for x in again))  # without leaving anything out
    assert Fraction(99, 100) < worst <= 1 + Fraction(5, 2**28)
    assert broken > Fraction(3, 2)


def _square(row: np.ndarray, direction: np.ndarray, bits: int) -> Fraction:
    """(x'u)^2 for the unit vector x along a direction of doubles."""
    along = sum(Fraction(int(a)) * Fraction(b) for a, b in zip(row, direction, strict=True))
    return along**2 / (4**bits * sum(Fraction(b) ** 2 for b in direction))


def test_rates_are_those_of_the_proof() -> None:
    for draws, records in itertools.product((1, 2, 5), (1, 3)):
        kernel = Directions(draws, 9, n=100, way=PURE, rows_per_unit=records)
        exact = Fraction(2) / (records * (draws + 1))
        assert exact * (1 - Fraction(5, 2**28)) <= Fraction(kernel.rate) <= exact
        gaussian = Directions(draws, 9, n=100, way=cdp.GDP(1.0), rows_per_unit=records)
        each = bounded_range_epsilon(cdp.GDP(1.0), draws)
        assert gaussian.rate == pytest.approx(each / (2 * records))
    assert Directions(9, 9, n=100, way=PURE).draws == 8
    assert Directions(1, 9, n=2, way=PURE, rows_per_unit=50).rate == 0.5
    assert Directions(1, 2, n=10**6, way=cdp.PureDP(1e9)).rate * 10**6 <= 2.0**48


@pytest.mark.parametrize("dim", [2, 10, 36])
def test_draws_of_the_largest_rate_come_to_an_end(dim: int) -> None:
    most = Directions(1, dim, n=1000, way=cdp.PureDP(1e300))
    rounding = 1.1 * dim * (2 * dim + 16) * 2.0**-52 * most.rate * most.n
    assert rounding < 0.25  # of the exponent of the acceptance rate
    rows = np.random.default_rng(dim).standard_normal((1000, dim)) / (2.0 * dim)
    found = most.sample(rows, _core.Stream.from_os())
    first = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    assert abs(found[0] @ first) > 1 - 1e-5


def loss(ours: np.ndarray, theirs: np.ndarray, points: np.ndarray, rate: float) -> float:
    """Log ratio of the densities of orthonormal directions of space, from two data sets."""
    whole, basis = 0.0, np.eye(3)
    for point in points:
        a, b = (rate * basis.T @ rows.T @ rows @ basis for rows in (ours, theirs))
        own = basis.T @ point
        whole += own @ (a - b) @ own + bingham.constant(b) - bingham.constant(a)
        own_axes = np.linalg.svd(own[None], full_matrices=True)[2][1:]
        basis = basis @ own_axes.T
    return abs(whole)


@pytest.mark.parametrize("draws", [1, 2])
def test_no_search_finds_a_greater_loss(draws: int) -> None:
    """Random data sets and outputs, and those that the proof says are worst."""
    rng, rate = np.random.default_rng(7), Directions(draws, 3, n=100, way=PURE).rate
    best = 0.0
    axes = np.eye(3)
    for crowd in (0, 1, 20, 400):
        theirs = np.repeat(axes[:1], crowd + 1, axis=0)
        ours = np.vstack([theirs[1:], axes[1:2]])
        best = max(best, loss(ours, theirs, axes[[1, 2]][:draws], rate))
    for _ in range(60):
        rows = rng.standard_normal((rng.integers(1, 30), 3)) * rng.uniform(0, 2, 3)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        other = rows.copy()
        other[0] = rng.standard_normal(3)
        other[0] /= np.linalg.norm(other[0])
        points = np.linalg.qr(rng.standard_normal((3, 3)))[0][:draws]
        best = max(best, loss(rows, other, points, rate))
    assert 0.97 * PURE.epsilon < best <= PURE.epsilon * (1 + 1e-9)
    # one more share than the number of draws is needed: without it the loss is too large
    assert best * (draws + 1) / draws > PURE.epsilon


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (2.0, False)])
def test_draws_keep_the_guarantee_and_twice_the_rate_would_be_flagged(
    factor: float, holds: bool
) -> None:
    pair = [np.array([[1.0, 0.0], x]) for x in ([0.0, 1.0], [1.0, 0.0])]
    samples = []
    for rows in pair:
        score = gram(as_integers(rows, 20))
        kernel = _core.Bingham(
            score.ravel(), 40, factor * Directions(1, 2, n=2, way=PURE).rate, np.eye(2)
        )
        found = np.empty((60_000, 2))
        kernel.sample(_core.Stream.from_os(), found)
        samples.append(found[:, 1] ** 2)
    result = audit_samples(*samples, PURE, n_thresholds=9, confidence=CONFIDENCE)
    assert result.passed is holds
