"""The differential of exp in orthonormal coordinates at both ends of the geodesic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import curvedp as cdp
from manifold_list import CASES, Case, of
from reference.accuracy import EPS, condition
from reference.curvature import curvature_form, exp_derivative, jacobi_growth
from reference.twin import Array, Twin

SEEDS = st.integers(0, 2**32 - 1)
SOME = [case for case in CASES if case.twin.dim <= 40]
LITTLE = [case for case in SOME if case.twin.dim <= 15]
ROUND = of(SOME, "sphere") + of(SOME, "kendall")


def reach(twin: Twin) -> float:
    return min(0.9 * twin.injectivity_radius, 3.0)


def configuration(case: Case, seed: int, length: float) -> tuple[Array, Array, Array, Array]:
    """Base point, coordinates and tangent vector of the given length, end point."""
    rng = np.random.default_rng(seed)
    base = case.twin.random_point(rng, 0.5)
    coords = rng.standard_normal(case.twin.dim)
    coords *= length / np.linalg.norm(coords)
    vector = case.manifold.coords_to_tangent(coords, base)
    return base, coords, vector, case.manifold.exp(vector, base)


def differential(case: Case, coords: Array, base: Array) -> Array:
    return case.manifold.kernels.exp_differential(coords, base.ravel())


def frame(case: Case, base: Array) -> list[Array]:
    return [case.manifold.coords_to_tangent(e, base) for e in np.eye(case.twin.dim)]


def tolerance(case: Case, base: Array, end: Array) -> float:
    return 1e-12 + 256 * EPS * condition(case.twin, base, end)


@pytest.mark.parametrize("case", SOME, ids=repr)
@given(seed=SEEDS, share=st.floats(0.01, 1.0))
def test_it_is_transport_after_the_growth_of_jacobi_fields(
    case: Case, seed: int, share: float
) -> None:
    base, coords, vector, end = configuration(case, seed, share * reach(case.twin))
    basis = frame(case, base)
    growth = curvature_form(case.twin, jacobi_growth, vector, base, basis)
    carried = [case.twin.parallel_transport(e, base, end) for e in basis]
    transport = np.array([case.manifold.tangent_to_coords(e, end) for e in carried]).T
    error = np.max(np.abs(differential(case, coords, base) - transport @ growth))
    assert error <= tolerance(case, base, end) * max(1.0, np.max(np.abs(growth)))


@pytest.mark.parametrize("case", SOME, ids=repr)
@given(seed=SEEDS, share=st.floats(0.0, 1.0))
def test_its_determinant_is_the_volume_density(case: Case, seed: int, share: float) -> None:
    base, coords, vector, _ = configuration(case, seed, share * reach(case.twin))
    growth = curvature_form(case.twin, jacobi_growth, vector, base, frame(case, base))
    expected = np.linalg.slogdet(growth)[1]
    found = case.manifold.log_volume_density(np.array([coords, -coords]))
    limit = (1e-12 + 64 * EPS * condition(case.twin, base, base)) * case.twin.dim
    assert np.max(np.abs(found - expected)) <= limit * (1.0 + abs(expected))


def test_volume_densities_of_products_add_up() -> None:
    turn, length = np.array([0.3, -0.4, 1.2]), 2.0
    space = cdp.Product("rotations:3", "hyperboloid:2", "euclidean:1")
    found = space.log_volume_density([*turn, length, 0.0, 7.0])
    expected = 2 * np.log(np.sin(0.65) / 0.65) + np.log(np.sinh(length) / length)
    assert abs(found - expected) < 1e-14
    moves = cdp.RigidMotions(length=10.0).log_volume_density([*turn, 1.0, 2.0, 3.0])
    assert abs(moves - 2 * np.log(np.sin(0.65) / 0.65)) < 1e-14


@pytest.mark.parametrize("case", LITTLE, ids=repr)
@given(seed=SEEDS, share=st.floats(0.0, 2.0))
@example(seed=0, share=0.0)
def test_it_agrees_with_differences_of_exp(case: Case, seed: int, share: float) -> None:
    """Also beyond the cut locus, where the geodesic does not minimise any more."""
    base, coords, vector, end = configuration(case, seed, share * reach(case.twin))
    columns = [exp_derivative(case.twin, vector, e, base) for e in frame(case, base)]
    expected = np.array([case.manifold.tangent_to_coords(c, end) for c in columns]).T
    error = np.max(np.abs(differential(case, coords, base) - expected))
    assert error <= 1e-7 * max(1.0, np.max(np.abs(expected))) * condition(case.twin, base, end)


@given(seed=SEEDS, share=st.floats(0.0, 1.0))
def test_it_keeps_lengths_along_the_geodesic(case: Case, seed: int, share: float) -> None:
    """Gauss: <D exp_p(v) v, D exp_p(v) w> = <v, w>."""
    base, coords, _, end = configuration(case, seed, share * reach(case.twin))
    matrix = differential(case, coords, base)
    growth = np.max(np.abs(matrix))
    limit = tolerance(case, base, end) * max(1.0, growth) ** 2 * max(1.0, float(case.twin.dim) / 10)
    assert np.max(np.abs(matrix.T @ (matrix @ coords) - coords)) <= limit * reach(case.twin)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_at_the_origin_it_is_the_identity(case: Case) -> None:
    base, coords, _, _ = configuration(case, 1, 1.0)
    for length in (0.0, 1e-300, 1e-160):
        matrix = differential(case, length * coords, base)
        limit = 64 * EPS * condition(case.twin, base)
        assert np.max(np.abs(matrix - np.eye(case.twin.dim))) <= limit


@pytest.mark.parametrize("case", [case for case in CASES if case.manifold.is_flat], ids=repr)
def test_on_flat_charts_it_is_orthogonal(case: Case) -> None:
    base, coords, _, _ = configuration(case, 2, 2.0)
    matrix = differential(case, coords, base)
    assert np.max(np.abs(matrix.T @ matrix - np.eye(case.twin.dim))) <= 1e-13


@pytest.mark.parametrize("case", ROUND, ids=repr)
def test_once_around_it_is_singular_at_the_cut_points(case: Case) -> None:
    """All the directions that R_u bends to a common end point are lost there."""
    if case.twin.dim == 1:
        return
    kappa = case.curvature_bounds[1]
    base, coords, _, _ = configuration(case, 3, np.pi / np.sqrt(kappa))
    values = np.linalg.svd(differential(case, coords, base), compute_uv=False)
    lost = case.twin.dim - 1 if case.name.startswith("sphere") else 1
    assert np.all(values[-lost:] <= 1e-14 * case.twin.dim)
    assert values[-lost - 1] >= 0.5


def test_a_wrong_shape_is_refused() -> None:
    core = CASES[0].manifold.kernels
    with pytest.raises(ValueError, match="entries"):
        core.exp_differential(np.zeros(2), np.zeros(1))
