"""Unitary matrices against SciPy, the circle, rotations of space and of R^2n (docs/proofs)."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg

import curvedp as cdp
from reference.hpd import hermitian, normal, random_unitary, to_real

ORDERS = [1, 2, 3, 8]


def points(n: int, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([random_unitary(rng, n) for _ in range(count)])


def with_angles(angles: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.asarray((axes * np.exp(1j * angles)) @ axes.conj().T)


def cloud(space: cdp.Unitary, radius: float, count: int = 300) -> tuple[cdp.Ball, np.ndarray]:
    ball = cdp.Ball(space, points(space.n, 1)[0], radius)
    rng = np.random.default_rng(5)
    coords = rng.standard_normal((count, space.dim))
    coords *= (1.2 * radius * rng.random(count) / np.linalg.norm(coords, axis=1))[:, None]
    return ball, space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


@pytest.mark.parametrize("n", ORDERS)
def test_logarithms_are_those_of_scipy(n: int) -> None:
    space, a, b = cdp.Unitary(n), points(n, 12), points(n, 12, 1)
    expected = np.array([x @ scipy.linalg.logm(x.conj().T @ y) for x, y in zip(a, b, strict=True)])
    np.testing.assert_allclose(space.to_complex(space.log(b, a)), expected, atol=1e-8)
    np.testing.assert_allclose(space.dist(a, b), np.linalg.norm(expected, axis=(1, 2)), atol=1e-8)
    pairs = zip(a, expected, strict=True)
    back = np.array([x @ scipy.linalg.expm(x.conj().T @ v) for x, v in pairs])
    np.testing.assert_allclose(space.to_complex(space.exp(expected, a)), back, atol=1e-12)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-2])
def test_logarithms_lead_back_at_and_near_half_turns(n: int, gap: float) -> None:
    """Eigenvalues at -1 and on both sides of it, one or many: the length is that of the angles, and
    exp of the logarithm is the matrix."""
    space, rng = cdp.Unitary(n), np.random.default_rng(n)
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    for count in {1, (n + 1) // 2, n}:
        for side in (np.ones(n), signs):
            for axes in (np.eye(n), *points(n, 3, 7)):
                angles = np.where(np.arange(n) < count, side * (np.pi - gap), 4 * rng.random(n) - 2)
                turn, base = with_angles(angles, axes), points(n, 1, 3)[0]
                log = space.log(base @ turn, base)
                expected = np.linalg.norm(angles)
                assert space.dist(base, base @ turn) == pytest.approx(expected, abs=1e-9)
                assert np.linalg.norm(log) == pytest.approx(expected, abs=1e-7)
                back = space.to_complex(space.exp(log, base))
                np.testing.assert_allclose(back, base @ turn, atol=3e-9)
                assert np.array_equal(space.log(base @ turn, base), log)


def test_real_planes_lose_the_way_at_half_turns() -> None:
    """The control: a logarithm of -I in any planes of R^4, brought back to the closest complex
    matrix, is too short."""
    log = cdp.SpecialOrthogonal(4).log(-np.eye(4), np.eye(4))
    axes = cdp.SpecialOrthogonal(4).random_point(2, rng=1)[0]
    log, times_i = axes.T @ log @ axes, np.kron(np.eye(2), [[0.0, -1.0], [1.0, 0.0]])
    back = 0.5 * (log - times_i @ log @ times_i)
    np.testing.assert_allclose(scipy.linalg.expm(log), -np.eye(4), atol=1e-12)
    assert np.linalg.norm(back) < 0.95 * np.linalg.norm(log)
    space = cdp.Unitary(2)
    found = np.linalg.norm(space.log(-np.eye(2) + 0j, space.origin))
    assert found == pytest.approx(np.pi * np.sqrt(2), rel=1e-14)


@pytest.mark.parametrize("n", ORDERS)
def test_distances_are_those_of_rotations_of_twice_the_dimension(n: int) -> None:
    space, other = cdp.Unitary(n), cdp.SpecialOrthogonal(2 * n)
    a, b = points(n, 20), points(n, 20, 1)

    def real(x: np.ndarray) -> np.ndarray:
        return np.block([[x.real, -x.imag], [x.imag, x.real]])

    np.testing.assert_allclose(space.dist(a, b), other.dist(real(a), real(b)), atol=1e-12)
    assert not np.allclose(space.dist(a, b), other.dist(real(a), real(b.conj())), atol=1e-2)


def test_order_one_is_the_circle() -> None:
    space, circle = cdp.Unitary(1), cdp.Torus(1)
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (2, 50, 1))
    a, b = np.exp(1j * angles)[..., None]
    np.testing.assert_allclose(space.dist(a, b), circle.dist(*angles), atol=1e-14)
    assert space.curvature_bounds == circle.curvature_bounds == (0.0, 0.0)
    assert space.injectivity_radius == circle.injectivity_radius == np.pi
    assert space.max_ball_radius == circle.max_ball_radius
    records = 0.3 + np.random.default_rng(1).normal(0, 0.3, (200, 1))
    balls = [cdp.Ball(space, space.origin, 1.2), cdp.Ball(circle, [0.0], 1.2)]
    forms = [np.exp(1j * records)[..., None], records]
    means = [
        cdp.nonprivate.frechet_mean(x, b.manifold).value for x, b in zip(forms, balls, strict=True)
    ]
    turned = np.exp(1j * means[1])
    np.testing.assert_allclose(space.to_complex(means[0])[0], turned, atol=1e-12)
    one, other = (cdp.sensitivity.frechet_mean(ball, 100) for ball in balls)
    assert one == pytest.approx(other, rel=1e-9)
    for guarantee in (cdp.PureDP(1.0), cdp.GDP(1.0)):
        found = [
            cdp.frechet_mean(x, ball, guarantee, seed=0).expected_error
            for x, ball in zip(forms, balls, strict=True)
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_matrices_of_determinant_one_are_the_sphere_that_covers_rotations() -> None:
    """The adjoint map of SU(2) onto SO(3) stretches lengths by sqrt 2, up to half a turn."""
    space, rotations = cdp.Unitary(2), cdp.Rotations()
    pauli = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])

    def adjoint(u: np.ndarray) -> np.ndarray:
        return 0.5 * np.einsum("aij,bji->ab", pauli, u @ pauli @ u.conj().T).real

    rng = np.random.default_rng(0)
    for _ in range(30):
        u = random_unitary(rng, 2)
        u = u / np.sqrt(np.linalg.det(u))
        h = np.einsum("a,aij->ij", rng.uniform(-0.8, 0.8, 3), pauli)
        v = u @ scipy.linalg.expm(1j * h)
        near = float(space.dist(u, v))
        assert rotations.dist(adjoint(u), adjoint(v)) == pytest.approx(np.sqrt(2) * near, abs=1e-10)
        # a phase is not seen there, and lies across: Pythagoras
        phase = np.exp(0.3j)
        assert rotations.dist(adjoint(u), adjoint(phase * v)) == pytest.approx(
            np.sqrt(2) * near, abs=1e-10
        )
        assert space.dist(u, phase * v) == pytest.approx(np.hypot(near, 0.3 * np.sqrt(2)))
    # curvature 1/2 where that of rotations is 1/4, of lengths sqrt 2 times as long
    assert space.curvature_bounds[1] == pytest.approx(2 * rotations.curvature_bounds[1])


@pytest.mark.parametrize("n", [2, 3, 8])
def test_sectional_curvatures_of_random_planes_lie_in_the_bounds(n: int) -> None:
    """K(X, Y) = |[X, Y]|^2/4 for orthonormal X, Y; 1/2 is attained in a copy of SU(2)."""
    rng = np.random.default_rng(0)
    x, y = (np.array([hermitian(normal(rng, n)) for _ in range(2000)]) for _ in range(2))
    planes = np.zeros((2, n, n), dtype=complex)
    planes[0, 0, 1] = planes[0, 1, 0] = planes[1, 0, 0] = 1.0
    planes[1, 1, 1] = -1.0
    x[::2], y[::2] = planes[0] + 0.02 * x[::2], planes[1] + 0.02 * y[::2]

    def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sum(a.conj() * b, axis=(-2, -1), keepdims=True).real

    x /= np.sqrt(inner(x, x))
    y -= inner(x, y) * x
    y /= np.sqrt(inner(y, y))
    bracket = x @ y - y @ x
    curvature = 0.25 * inner(bracket, bracket)
    assert cdp.Unitary(n).curvature_bounds == (0.0, 0.5)
    assert 0.0 <= curvature.min() < 0.35
    assert 0.48 < curvature.max() <= 0.5 + 1e-12


def test_the_shortest_loop_winds_the_determinant_once() -> None:
    """diag(e^it, 1, 1) closes after 2 pi, of which half is the injectivity radius; multiples of the
    identity close later."""
    space = cdp.Unitary(3)
    assert space.injectivity_radius == np.pi
    for angles, length in (((1, 0, 0), 1.0), ((1, 1, 1), np.sqrt(3)), ((1, -1, 0), np.sqrt(2))):
        for t in (0.5, 3.0, 3.3, 5.0):
            end = np.diag(np.exp(1j * t * np.array(angles)))
            expected = length * min(t, 2 * np.pi - t)
            assert space.dist(space.origin, end) == pytest.approx(expected)
    assert space.max_ball_radius == pytest.approx(np.pi / 2)
    with pytest.raises(ValueError, match="radius"):
        cdp.Ball(space, "identity", np.pi / 2)
    ball = cdp.Ball(space, "identity", 1.5)
    expected = 2 * np.tan(1.5 * np.sqrt(0.5)) / np.sqrt(0.5) / 500
    assert cdp.sensitivity.frechet_mean(ball, 500) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("radius", [0.5, 1.4])
def test_the_mean_moves_as_far_as_its_sensitivity_and_no_further(radius: float) -> None:
    """Half the mass at either end of a diameter, the moved record across it, in a plane of
    curvature 1/2. The control: the bound of curvature 1/4 is exceeded."""
    space, half = cdp.Unitary(2), 1000
    ball = cdp.Ball(space, "identity", radius)

    coords, ends = np.zeros((2 * half + 1, 4)), []
    coords[:half, 1], coords[half:-1, 1] = radius, -radius
    for sign in (1.0, -1.0):
        coords[-1, 2] = sign * radius
        x = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
        ends.append(cdp.nonprivate.frechet_mean(x, space).value)
    moved = float(space.dist(*ends))
    bound = cdp.sensitivity.frechet_mean(ball, 2 * half + 1)
    assert 0.995 < moved / bound <= 1 + 1e-6
    lesser = 4 * np.tan(radius / 2) / (2 * half + 1)
    assert moved > (1.15 if radius > 1 else 1.01) * lesser


@pytest.mark.parametrize("n", ORDERS)
def test_the_closest_unitary_matrix_is_the_polar_factor(n: int) -> None:
    space, rng = cdp.Unitary(n), np.random.default_rng(0)
    a = np.array([normal(rng, n) for _ in range(30)])
    u, _, vh = np.linalg.svd(a)
    found = space.project(a)
    np.testing.assert_allclose(space.to_complex(found), u @ vh, atol=1e-9)
    assert np.array_equal(space.project(found), found)


@pytest.mark.parametrize("n", ORDERS)
def test_matrices_that_are_not_unitary_are_no_points(n: int) -> None:
    space, good = cdp.Unitary(n), points(n, 1)[0]
    bad = [1.001 * good, np.zeros((n, n)) + 0j, good + 1e-3 * good]
    bad += [np.full((n, n), x) + 0j for x in (np.nan, np.inf, 1e308, 5e-324)]
    for matrix in bad:
        assert not space.belongs(matrix)
        assert np.isnan(space.as_points(matrix)).all()
    noisy = good + 1e-6 * normal(np.random.default_rng(0), n) / 3
    assert space.belongs(space.as_points(noisy), 1e-14)
    assert space.dist(space.as_points(noisy), good) < 1e-5


def test_shapes_and_types_are_refused_as_those_of_hermitian_matrices() -> None:
    space = cdp.Unitary(3)
    with pytest.raises(ValueError, match="must be complex"):
        space.as_points(np.eye(3))
    for shape in ((3, 2), (2, 3, 2), (3, 3, 3)):
        with pytest.raises(ValueError, match="must"):
            space.as_points(np.ones(shape))
    with pytest.raises((TypeError, ValueError)):
        space.as_points(np.full((3, 3), "1"))
    with pytest.raises((TypeError, ValueError)):
        space.as_points(np.eye(3).astype(complex).tolist())
    assert cdp.as_manifold("unitary:3") == space
    assert cdp.as_manifold("unitary", (3, 3, 2)) == space
    for text in ("unitary:0", "unitary:17", "unitary:x", "unitary:4:2"):
        with pytest.raises(ValueError, match=re.compile(r"unitary|n must")):
            cdp.as_manifold(text)


def test_both_forms_have_one_release() -> None:
    ball, x = cloud(cdp.Unitary(2), 1.0, 60)
    matrices = cdp.Unitary(2).to_complex(x)
    forms = (x, matrices, to_real(matrices), x.reshape(len(x), -1))
    released = {cdp.frechet_mean(form, ball, cdp.GDP(1.0), seed=3).to_json() for form in forms}
    assert len(released) == 1


@pytest.mark.parametrize("n", ORDERS)
def test_private_means_are_close_to_the_mean(n: int) -> None:
    space = cdp.Unitary(n)
    ball, x = cloud(space, 1.0, 2000 if n < 8 else 1000)
    mean = cdp.nonprivate.frechet_mean(x, space).value
    for guarantee in (cdp.PureDP(5.0), cdp.GDP(1.0)):
        release = cdp.frechet_mean(x, ball, guarantee, seed=0)
        assert space.belongs(release.value, 1e-14)
        assert space.dist(release.value, mean) < 8 * release.expected_error < 0.5


def test_phases_are_synchronised_in_a_product() -> None:
    """A matrix and an angle, released together."""
    product = cdp.as_manifold("unitary:2 x torus:1")
    assert product.dim == 5
    own, x = cloud(cdp.Unitary(2), 1.0, 400)
    ball = cdp.ProductBall(own, cdp.Ball(cdp.Torus(1), [0.0], 1.0))
    release = cdp.frechet_mean((x, np.full((400, 1), 0.5)), ball, cdp.GDP(4.0), seed=0)
    gate, angle = product.split(release.value)
    mean = cdp.nonprivate.frechet_mean(x, own.manifold).value
    assert own.manifold.dist(gate, mean) < 0.2
    assert abs(angle[0] - 0.5) < 0.2
