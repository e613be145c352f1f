"""Records in the forms that people have: any size, place or notation that a public rule removes.

The rule works row by row, so it moves no bound: what a row becomes depends on that row alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

import curvedp as cdp
from reference.descriptors import preshape

Array = np.ndarray[Any, np.dtype[np.float64]]
ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
SPACES = [
    cdp.Sphere(1),
    cdp.Sphere(2),
    cdp.Sphere(2, radius=1e-280),
    cdp.Sphere(2, radius=1e280),
    cdp.Sphere(9, radius=3.0),
    cdp.Projective(2),
    cdp.KendallPlanar(3),
    cdp.KendallPlanar(20),
]
#: Every space with a short form, and rows of it that are points.
SHORT: dict[str, tuple[cdp.Manifold, Any]] = {
    "triangle": (cdp.SPD(3), lambda rng, n: _triangles(rng, n)),
    "triangle, log-Euclidean": (
        cdp.SPD(3, metric="log-euclidean"),
        lambda rng, n: _triangles(rng, n),
    ),
    "above the diagonal": (
        cdp.Correlation(4),
        lambda rng, n: 0.3 * rng.uniform(-1, 1, (n, 6)),
    ),
    "degrees": (
        cdp.Sphere(2, radius=2.0),
        lambda rng, n: rng.uniform([-180, -90], [360, 90], (n, 2)),
    ),
    "degrees of an axis": (
        cdp.Projective(2),
        lambda rng, n: rng.uniform([-180, -90], [360, 90], (n, 2)),
    ),
    "quaternion": (cdp.Rotations(), lambda rng, n: rng.standard_normal((n, 4))),
    "Poincaré ball": (cdp.Hyperboloid(3, curvature=-4.0), lambda rng, n: _in_ball(rng, n) / 2),
}


def _triangles(rng: np.random.Generator, n: int) -> Array:
    factors = rng.standard_normal((n, 3, 5))
    matrices = factors @ factors.transpose(0, 2, 1)
    return matrices[:, *np.triu_indices(3)]


def _in_ball(rng: np.random.Generator, n: int) -> Array:
    rows = rng.standard_normal((n, 3))
    return rows / np.linalg.norm(rows, axis=1)[:, None] * rng.uniform(0, 0.999, n)[:, None]


def twin(name: str, rows: Array) -> Array:
    """The points of short rows, in plain NumPy and SciPy."""
    if name.startswith("triangle"):
        full = np.zeros((len(rows), 3, 3))
        full[:, *np.triu_indices(3)] = rows
        return full + np.triu(full, 1).transpose(0, 2, 1)
    if name == "above the diagonal":
        full = np.zeros((len(rows), 4, 4))
        full[:, *np.triu_indices(4, 1)] = rows
        return full + full.transpose(0, 2, 1) + np.eye(4)
    if name.startswith("degrees"):
        longitude, latitude = np.radians(rows).T
        level = np.cos(latitude)
        x = [level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)]
        return (1.0 if name.endswith("axis") else 2.0) * np.stack(x, axis=1)
    if name == "quaternion":
        return Rotation.from_quat(rows).as_matrix()
    square = np.sum((2 * rows) ** 2, axis=1, keepdims=True)
    return 0.5 * np.concatenate([1 + square, 4 * rows], axis=1) / (1 - square)


@pytest.mark.parametrize("name", SHORT)
def test_short_forms_agree_with_the_twin(name: str) -> None:
    space, draw = SHORT[name]
    rows = draw(np.random.default_rng(0), 200)
    expected = twin(name, rows)
    np.testing.assert_allclose(space.as_points(rows), expected, rtol=1e-12, atol=1e-14)
    flat = expected.reshape(len(rows), -1)
    assert np.array_equal(space.as_points(flat), space.as_points(expected))
    assert space.as_points(rows[0]).shape == space.point_shape
    assert space.as_points(rows.reshape(4, 50, -1)).shape == (4, 50, *space.point_shape)
    assert space.as_points(rows[:0]).shape == (0, *space.point_shape)


@pytest.mark.parametrize("name", ["degrees", "Poincaré ball"])
def test_short_forms_come_back(name: str) -> None:
    space, draw = SHORT[name]
    rows = draw(np.random.default_rng(0), 200)
    back = space.to_lonlat if isinstance(space, cdp.Sphere) else space.to_poincare
    found = back(space.as_points(rows).reshape(4, 50, -1)).reshape(rows.shape)
    if isinstance(space, cdp.Sphere):
        rows[:, 0] = (rows[:, 0] + 180.0) % 360.0 - 180.0
    np.testing.assert_allclose(found, rows, rtol=1e-9, atol=1e-12)
    assert back(space.origin).shape == rows.shape[1:]


def test_longitudes_are_of_the_2_sphere() -> None:
    with pytest.raises(ValueError, match="2-sphere"):
        cdp.Sphere(3).to_lonlat([1.0, 0.0, 0.0, 0.0])
    poles = cdp.Sphere(2, radius=1e200).to_lonlat([[0.0, 0.0, 1e200], [0.0, 0.0, -1e200]])
    assert np.array_equal(poles[:, 1], [90.0, -90.0])


def test_far_points_lie_on_the_rim_of_the_poincare_ball() -> None:
    space = cdp.Hyperboloid(2)
    far = space.exp([[0.0, 30.0, 0.0], [0.0, 0.0, 300.0]], space.origin)
    np.testing.assert_allclose(space.to_poincare(far), np.eye(2), atol=1e-12)


def test_the_poincare_ball_is_that_of_geomstats() -> None:
    geomstats = pytest.importorskip("geomstats.geometry.hyperbolic")
    rows = _in_ball(np.random.default_rng(1), 50)
    space = geomstats.Hyperbolic(3, coords_type="ball", equip=False)
    expected = space.to_coordinates(rows, to_coords_type="extrinsic")
    np.testing.assert_allclose(cdp.Hyperboloid(3).as_points(rows), expected, rtol=1e-9)


def test_quarter_turns_and_poles_are_exact() -> None:
    rows = [[0, 0], [90, 0], [180, 0], [-90, 0], [720, 0], [-180, 90], [45, -90], [1e15, 0]]
    points = cdp.Sphere(2).as_points(rows)
    named = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 0, 0], [0, 0, 1], [0, 0, -1]]
    assert np.array_equal(points[:-1], np.array(named, dtype=float) + 0.0)
    assert np.array_equal(points[-1], cdp.Sphere(2).as_points([1e15 % 360, 0]))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("degrees", [[0, 90.001], [0, -91], [np.inf, 0], [0, np.nan]]),
        ("degrees of an axis", [[0, 90.001], [np.inf, 0]]),
        ("quaternion", [[0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 1]]),
        ("Poincaré ball", [[0.5, 0, 0], [0.5, 0.1, 0], [1e300] * 3, [np.nan, 0, 0]]),
        ("triangle", [[0] * 6, [1, 2, 0, 1, 0, 1], [np.inf] * 6]),
        ("above the diagonal", [[1.0] * 6, [-0.5] * 6, [np.nan] + [0] * 5]),
    ],
)
def test_rows_that_are_no_point_become_nan(name: str, rows: Any) -> None:
    space, draw = SHORT[name]
    good = draw(np.random.default_rng(0), 2)
    points = space.as_points(np.concatenate([good, np.array(rows, dtype=float)]))
    assert np.all(np.isfinite(points[:2]))
    assert np.all(np.isnan(points[2:]))


@pytest.mark.parametrize("name", SHORT)
@settings(max_examples=50)
@given(data=st.data())
def test_any_short_row_is_a_point_or_none(name: str, data: st.DataObject) -> None:
    space, _ = SHORT[name]
    width = space.kernels.short_size
    points = space.as_points(data.draw(hnp.arrays(np.float64, (3, width), elements=ANYTHING)))
    whole = np.isfinite(points).reshape(3, -1).all(axis=1)
    assert np.array_equal(whole, ~np.isnan(points).reshape(3, -1).any(axis=1))
    assert np.all(space.belongs(points[whole], atol=1e-9))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.spec)
@settings(max_examples=100)
@given(data=st.data())
def test_any_row_is_a_point_or_none(space: cdp.Manifold, data: st.DataObject) -> None:
    points = space.as_points(
        data.draw(hnp.arrays(np.float64, (3, *space.point_shape), elements=ANYTHING))
    )
    whole = np.isfinite(points).reshape(3, -1).all(axis=1)
    assert np.all(space.belongs(points[whole], atol=1e-12))
    assert np.all(np.isnan(points[~whole]))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.spec)
@pytest.mark.parametrize("factor", [2.0**-900, 2.0**-40, 3.7, 2.0**40, 2.0**900])
def test_the_size_of_a_row_says_nothing(space: cdp.Manifold, factor: float) -> None:
    rows = np.random.default_rng(0).standard_normal((70, *space.point_shape))
    expected, points = space.as_points(rows), space.as_points(factor * rows)
    size = 1.0 if not isinstance(space, cdp.Sphere) else space.radius
    np.testing.assert_allclose(points / size, expected / size, rtol=0, atol=1e-15)


@pytest.mark.parametrize("place", [0.0, 1.0, 1e6])
def test_the_place_of_landmarks_says_nothing(place: float) -> None:
    rng = np.random.default_rng(0)
    marks = rng.standard_normal((50, 20, 2))
    moved = marks + place * rng.standard_normal((50, 1, 2))
    space = cdp.KendallPlanar(20)
    np.testing.assert_allclose(
        space.as_points(moved), space.as_points(marks), rtol=0, atol=1e-15 * max(place, 1)
    )
    assert np.array_equal(space.as_points(moved), space.as_points(moved @ [1, 1j]))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.spec)
def test_rows_do_not_depend_on_their_neighbours(space: cdp.Manifold) -> None:
    """To the last bit, at every place of a block, beside rows of every kind."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, *space.point_shape))
    rows[::7] *= 1e-200
    rows[3::7] *= 1e200
    rows[5::11] = np.nan
    expected = np.concatenate([space.as_points(row[None]) for row in rows])
    for first in range(20):
        for last in (first + 1, first + 17, 80):
            found = space.as_points(rows[first:last])
            assert np.array_equal(found, expected[first:last], equal_nan=True)


@pytest.mark.parametrize("name", SHORT)
def test_short_rows_do_not_depend_on_their_neighbours(name: str) -> None:
    space, draw = SHORT[name]
    rows = draw(np.random.default_rng(0), 60)
    rows[::7] *= 1e200
    expected = np.concatenate([space.as_points(row[None]) for row in rows])
    for first in range(12):
        found = space.as_points(rows[first:])
        assert np.array_equal(found, expected[first:], equal_nan=True)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 60), exponent=st.integers(-100, 100))
def test_shapes_of_landmarks_agree_with_the_twin(seed: int, k: int, exponent: int) -> None:
    marks = np.random.default_rng(seed).normal(3.0, 2.0, (3, k, 2))
    truth = np.array([preshape(one) for one in marks])
    space = cdp.KendallPlanar(k)
    shapes = space.as_points(marks * 10.0**exponent)
    assert np.max(np.abs(shapes - truth)) <= 1e-14
    assert space.belongs(shapes, atol=1e-14).all()


def test_real_landmarks_become_shapes(data_dir: Path) -> None:
    folder = data_dir / "landmarks"
    for name in ("rats", "apes", "digit3"):
        marks = np.load(folder / f"{name}.npz")["landmarks"]
        shapes = cdp.KendallPlanar(marks.shape[1]).as_points(marks)
        truth = np.array([preshape(one) for one in marks.astype(float)])
        assert np.max(np.abs(shapes - truth)) <= 1e-13
    stored = np.load(folder / "calvaria_preshapes.npz")["preshape"]
    shapes = cdp.KendallPlanar(stored.shape[1]).as_points(stored)
    assert np.max(np.abs(shapes @ [1, 1j] - stored)) <= 1e-15


def test_complex_landmarks_are_pairs() -> None:
    marks = np.random.default_rng(0).normal(3.0, 2.0, (5, 7, 2))
    space, complex_marks = cdp.KendallPlanar(7), marks @ [1, 1j]
    shapes = space.as_points(marks)
    assert np.array_equal(space.as_points(complex_marks), shapes)
    assert np.max(np.abs(space.as_points(complex_marks.astype(np.complex64)) - shapes)) <= 1e-6
    masked = np.ma.masked_array(complex_marks, mask=False)
    masked[2, 1] = np.ma.masked
    found = space.as_points(masked)
    assert np.all(np.isnan(found[2]))
    assert np.array_equal(np.delete(found, 2, axis=0), np.delete(shapes, 2, axis=0))


@pytest.mark.parametrize("exponent", [-150, 0, 150])
def test_covariance_matrices_stand_for_their_correlations(exponent: int) -> None:
    factors = np.random.default_rng(0).standard_normal((20, 4, 9))
    sizes = 10.0 ** np.array([0.0, exponent, 1.0, -exponent / 2])
    plain = factors @ factors.transpose(0, 2, 1)
    roots = np.sqrt(np.einsum("nii->ni", plain))
    expected = plain / roots[:, :, None] / roots[:, None, :]
    found = cdp.Correlation(4).as_points(plain * sizes[:, None] * sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert np.all(np.einsum("nii->ni", found) == 1.0)


def _release(records: Any, ball: cdp.Ball) -> str:
    return cdp.frechet_mean(records, ball, cdp.GDP(1.0), seed=3).to_json()


def test_raw_records_and_their_points_have_one_release() -> None:
    """Raw landmarks used to count as the centre in Python, without a word."""
    rng = np.random.default_rng(0)
    outline = np.stack([np.cos(np.arange(8.0)), np.sin(1.3 * np.arange(8.0))], axis=1)
    marks = 140.0 + 3.0 * (outline + 0.05 * rng.standard_normal((60, 8, 2)))
    ball = cdp.Ball(cdp.KendallPlanar(8), 7.0 * outline + 1.0, 0.4)
    released = _release(marks, ball)
    assert released == _release(ball.manifold.as_points(marks), ball)
    assert released != _release(np.broadcast_to(ball.center, marks.shape), ball)
    assert released == _release(marks @ [1, 1j], ball)
    assert ball.contains(marks).all()
    degrees = rng.uniform([5, 40], [15, 50], (60, 2))
    sites = cdp.Ball(cdp.Sphere(2), [10, 45], 0.3)
    assert sites.contains(degrees).all()
    assert _release(degrees, sites) == _release(sites.manifold.as_points(degrees), sites)
    turns = Rotation.from_rotvec(0.1 * rng.standard_normal((60, 3)))
    near = cdp.Ball(cdp.Rotations(), "identity", 1.0)
    assert _release(turns, near) == _release(turns.as_quat(), near)
    value = cdp.frechet_mean(turns, near, cdp.GDP(50.0), seed=3).value
    assert near.manifold.dist(value, turns.mean().as_matrix()) < 0.02


def test_the_nonprivate_mean_reads_the_same_records() -> None:
    degrees = [[10.0, 45.0], [10.0, 47.0]]
    mean = cdp.nonprivate.frechet_mean(degrees, cdp.Sphere(2)).value
    np.testing.assert_allclose(mean, cdp.Sphere(2).as_points([10.0, 46.0]), atol=1e-14)
    with pytest.raises(ValueError, match="do not lie"):
        cdp.nonprivate.frechet_mean([[10.0, 95.0]], cdp.Sphere(2))


@pytest.mark.parametrize(
    ("space", "shape", "message"),
    [
        (cdp.Rotations(), (5, 5), "or 4 for a quaternion, its scalar last"),
        (cdp.Sphere(2), (5, 4), "or 2 for longitude and latitude in degrees"),
        (cdp.SPD(3), (5, 3), "or 6 for the upper triangle"),
        (cdp.KendallPlanar(4), (5, 3), r"must have shape \(\.\.\., 4, 2\)"),
        (cdp.Euclidean(3), (), r"must have shape \(\.\.\., 3\)"),
    ],
)
def test_other_shapes_are_refused_with_what_to_give(
    space: cdp.Manifold, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        space.as_points(np.zeros(shape))


def test_objects_that_hold_no_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="real numbers"):
        cdp.Sphere(2).as_points(Rotation.identity(3))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="real numbers"):
        cdp.Sphere(1).as_points(np.array([[1 + 0j, 0]]))


def test_landmarks_in_any_layout_of_memory_are_the_same() -> None:
    """Columns first used to be projected into memory that nobody had written."""
    marks = np.random.default_rng(0).normal(3.0, 2.0, (50, 7, 2))
    space, rows = cdp.KendallPlanar(7), marks @ [1, 1j]
    columns = np.asfortranarray(rows)
    ball = cdp.Ball(space, marks[0], 0.5)
    assert np.array_equal(space.as_points(columns), space.as_points(rows))
    assert np.array_equal(ball.project(columns), ball.project(rows))
    assert np.array_equal(ball.contains(columns), ball.contains(rows))
    for other in (np.ma.masked_array(columns, mask=False), np.asfortranarray(marks)):
        assert np.array_equal(ball.project(other), ball.project(rows))


def test_three_short_rows_are_three_records() -> None:
    rows = np.array([[0.1, 0.2, 0.3], [0.0, 0.1, 0.0], [0.2, 0.2, 0.2]])
    ball = cdp.Ball(cdp.Correlation(3), "identity", 2.0)
    assert cdp.frechet_mean(rows, ball, cdp.GDP(50.0), seed=0).n == 3
    expected = [cdp.Correlation(3).as_points(row) for row in rows]
    found = cdp.nonprivate.frechet_mean(rows, cdp.Correlation(3)).value
    np.testing.assert_allclose(
        found, cdp.nonprivate.frechet_mean(expected, cdp.Correlation(3)).value, atol=1e-14
    )


def test_a_name_without_a_size_takes_points_alone() -> None:
    """Two degrees would be a point of the circle."""
    with pytest.raises(ValueError, match="say the size, as in 'sphere:1'"):
        cdp.Ball("sphere", [90.0, 0.0], 0.3)
    with pytest.raises(ValueError, match="say the size"):
        cdp.nonprivate.frechet_mean([[10.0, 45.0], [12.0, 45.0]], "sphere")
    assert cdp.Ball("sphere", [0.0, 1.0], 0.3).manifold == cdp.Sphere(1)


@pytest.mark.parametrize(("distance", "radius"), [(0.0, 16.0), (10.0, 6.01), (17.0, 0.1)])
def test_balls_of_correlation_matrices_end_where_doubles_do(distance: float, radius: float) -> None:
    space = cdp.Correlation(3)
    tangent = space.coords_to_tangent([distance, 0.0, 0.0], np.eye(3))
    center = space.exp(tangent, np.eye(3))
    with pytest.raises(ValueError, match="radius must be below"):
        cdp.Ball(space, center, radius)
    if distance < 16:
        cdp.Ball(space, center, 0.9 * (16 - distance))
