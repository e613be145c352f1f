"""Hermitian matrices: complex arrays, and the facts that privacy rests on, attacked.

Page: docs/proofs/hermitian-matrices.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.curvature import excess_diameter
from curvedp.mechanisms.base import largest_laplace_scale
from reference.curvature import curvature_form, hessian_excess
from reference.hpd import HPD, to_complex, to_real

ORDERS = [2, 3, 5]


def matrices(m: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, m, 2 * m)) + 1j * rng.standard_normal((n, m, 2 * m))
    return np.asarray(factors @ factors.conj().transpose(0, 2, 1) / (4 * m))


def hermitian(m: int, rng: np.random.Generator) -> np.ndarray:
    a = rng.standard_normal((m, m)) + 1j * rng.standard_normal((m, m))
    return np.asarray(a + a.conj().T)


@pytest.mark.parametrize("m", [1, *ORDERS])
def test_complex_arrays_are_read_and_viewed(m: int) -> None:
    space, points = cdp.HPD(m), matrices(m, 7)
    real = to_real(points)
    read = space.as_points(points)
    np.testing.assert_allclose(read, real, atol=1e-15)
    assert np.array_equal(space.to_complex(read), to_complex(read))
    assert np.shares_memory(space.to_complex(read), read)
    single = space.as_points(points.astype(np.complex64))
    np.testing.assert_allclose(single, real, atol=1e-6)
    columns = np.asfortranarray(points)
    for other in (columns, real, real.reshape(7, -1), np.ma.masked_array(points, mask=False)):
        assert np.array_equal(space.as_points(other), read)
    masked = np.ma.masked_array(points, mask=False)
    masked[3, 0, 0] = np.ma.masked
    assert np.isnan(space.as_points(masked)[3]).all()
    assert np.array_equal(space.dist(points, points[0]), space.dist(real, real[0]))
    logs = space.log(points, points[0])
    assert np.array_equal(space.exp(space.to_complex(logs), points[0]), space.exp(logs, real[0]))


def test_what_is_no_hermitian_matrix_becomes_nan() -> None:
    space, good = cdp.HPD(2), matrices(2, 1)[0]
    wrong = np.stack([good] * 7)
    wrong[0, 0, 0] += 1e-3j  # a diagonal that is not real
    wrong[1] = good.real + 1j * np.abs(good.imag)  # symmetric, not Hermitian
    wrong[2] = -good
    wrong[3] = [[1, 1j], [-1j, 1]]  # singular
    wrong[4] = np.nan
    wrong[5, 0, 1] = np.inf
    wrong[6] = 0.0
    assert np.isnan(space.as_points(wrong)).all()
    near = good + 1e-7 * np.array([[1j, 1], [-1, 1]])  # single precision
    assert np.isfinite(space.as_points(near)).all()
    assert space.belongs(space.as_points(near), atol=0.0)


@pytest.mark.parametrize("shape", [(5, 3, 3), (3, 3), (5, 9), (3, 3, 3)])
def test_real_numbers_are_refused_by_their_shape(shape: tuple[int, ...]) -> None:
    """Real matrices could be meant, or half of complex ones: their values decide nothing."""
    with pytest.raises(ValueError, match="must"):
        cdp.HPD(3).as_points(np.ones(shape))
    with pytest.raises(ValueError, match="must be complex"):
        cdp.Ball(cdp.HPD(3), np.eye(3), 1.0)
    with pytest.raises(TypeError, match="real numbers"):
        cdp.SPD(3).as_points(np.eye(3) + 0j)


def test_both_forms_have_one_release() -> None:
    points = matrices(3, 60)
    balls = [cdp.Ball("hpd:3", center, 3.0) for center in ("identity", np.eye(3) + 0j)]
    how: dict[str, Any] = {"guarantee": cdp.GDP(1.0), "seed": 3}
    released = {
        cdp.frechet_mean(form, ball, **how).to_json()
        for form in (points, to_real(points))
        for ball in balls
    }
    assert len(released) == 1
    value = cdp.frechet_mean(points, balls[0], cdp.GDP(1e3), seed=0).value
    mean = cdp.nonprivate.frechet_mean(points, "hpd").value
    assert balls[0].manifold.belongs(value)
    assert balls[0].manifold.dist(value, mean) < 0.01


def test_default_releases_are_drawn_exactly() -> None:
    ball = cdp.Ball("hpd:2", "identity", 2.0)
    for guarantee in (cdp.PureDP(30.0), cdp.GDP(1.0)):
        release = cdp.frechet_mean(matrices(2, 200), ball, guarantee)
        assert "idealized-sampling" not in release.to_json()


@pytest.mark.parametrize("m", ORDERS)
def test_laplace_noise_exists_below_twice_the_rate_of_real_matrices(m: int) -> None:
    growth = math.sqrt(m * (m * m - 1) / 3)
    largest = largest_laplace_scale(("hpd", m, 0.0))
    assert 0.7 / growth < largest < 1 / growth
    _core.Noise("hpd", m, 0.0, "laplace", largest)
    with pytest.raises(ValueError, match="no Laplace law of scale"):
        _core.Noise("hpd", m, 0.0, "laplace", 1.0001 / growth)
    ball, points = cdp.Ball(cdp.HPD(m), "identity", 2.0), matrices(m, 10)
    with pytest.raises(cdp.ExistenceError):
        cdp.frechet_mean(points, ball, cdp.PureDP(0.9 * 4.0 / 10 * growth))


def sectional_curvature(space: Any, u: np.ndarray, v: np.ndarray) -> float:
    """From the fourth order of the distance of exp(tu) and exp(tv), u and v orthonormal."""
    t = 0.02
    square = float(space.dist(*(space.exp(t * to_real(x), space.origin) for x in (u, v)))) ** 2
    return 3 * (2 * t * t - square) / t**4


@pytest.mark.parametrize("m", ORDERS)
def test_sectional_curvatures_lie_between_their_bounds_and_reach_both(m: int) -> None:
    space, rng = cdp.HPD(m), np.random.default_rng(1)
    pauli = np.zeros((3, m, m), dtype=complex)
    pauli[:, :2, :2] = np.array([[[1, 0], [0, -1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]]])
    pauli /= math.sqrt(2)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert sectional_curvature(space, pauli[i], pauli[j]) == pytest.approx(-0.5, abs=1e-3)
    flat = np.eye(m, dtype=complex) / math.sqrt(m)
    assert sectional_curvature(space, flat, pauli[2]) == pytest.approx(0.0, abs=1e-3)
    for _ in range(200):
        u, v = hermitian(m, rng), hermitian(m, rng)
        u /= np.linalg.norm(u)
        v -= np.vdot(u, v).real * u
        v /= np.linalg.norm(v)
        assert -0.501 <= sectional_curvature(space, u, v) <= 1e-3
    assert space.curvature_bounds == (-0.5, 0.0)


@pytest.mark.parametrize("m", ORDERS)
@pytest.mark.parametrize("r", [0.3, 2.0])
def test_no_neighbour_moves_the_mean_further_than_the_sensitivity(m: int, r: float) -> None:
    space, rng, n = cdp.HPD(m), np.random.default_rng(2), 4
    origin, worst = space.origin, 0.0
    for trial in range(60):
        coords = rng.standard_normal((n + 1, space.dim))
        if trial % 3 == 0:
            coords[0] = -coords[-1]
        if trial % 3 == 1:  # along a line, where the bound is sharp
            coords = np.outer([-1.0, *rng.choice([-1.0, 1.0], n - 1), 1.0], coords[0])
        coords *= r / np.linalg.norm(coords, axis=1, keepdims=True)
        points = space.exp(space.coords_to_tangent(coords, origin), origin)
        halves = (points[:-1], points[1:])  # one record is replaced
        means = [cdp.nonprivate.frechet_mean(half, space).value for half in halves]
        worst = max(worst, float(space.dist(*means)) * n / (2 * r))
    assert 0.999 < worst <= 1 + 1e-9


@pytest.mark.parametrize("m", ORDERS)
@pytest.mark.parametrize("r", [0.5, 3.0])
def test_hessians_lie_no_further_apart_than_their_diameter(m: int, r: float) -> None:
    space, twin, rng = cdp.HPD(m), HPD(m), np.random.default_rng(3)
    frame = [space.coords_to_tangent(e, space.origin) for e in np.eye(space.dim)]

    def excess(u: np.ndarray) -> np.ndarray:
        vector = to_real(u * (r / np.linalg.norm(u)))
        return curvature_form(twin, hessian_excess, vector, space.origin, frame)

    bound = excess_diameter(space, r)
    assert bound == pytest.approx(math.sqrt(2) * excess_diameter(cdp.SPD(m), r), rel=1e-12)
    extremal = excess(np.diag([m - 1.0] + [-1.0] * (m - 1)).astype(complex))
    assert math.sqrt(2) * np.linalg.norm(extremal) == pytest.approx(bound, rel=1e-6)
    for _ in range(20):
        gap = np.linalg.norm(excess(hermitian(m, rng)) - excess(hermitian(m, rng)))
        assert gap <= bound


def test_the_volume_element_is_the_square_of_that_of_real_roots() -> None:
    """Of meshes and of the page: against the determinant of the differential of exp."""
    space, rng, h = cdp.HPD(3), np.random.default_rng(0), 1e-5
    center = space.random_point(rng=3)
    for coords in rng.standard_normal((5, space.dim)):
        density = np.exp(space.log_volume_density(coords))
        end = space.exp(space.coords_to_tangent(coords, center), center)

        def seen(step: np.ndarray, coords: np.ndarray = coords, end: Any = end) -> np.ndarray:
            moved = space.exp(space.coords_to_tangent(coords + step, center), center)
            return np.asarray(space.tangent_to_coords(space.log(moved, end), end))

        differential = [(seen(h * e) - seen(-h * e)) / (2 * h) for e in np.eye(space.dim)]
        assert density == pytest.approx(abs(np.linalg.det(differential)), rel=1e-6)
