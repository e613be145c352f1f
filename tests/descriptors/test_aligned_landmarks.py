"""Landmarks aligned to a template: against SciPy, geomstats and the planar shape space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial import procrustes
from scipy.spatial.transform import Rotation
from scipy.stats import special_ortho_group

import curvedp as cdp
import oracles
from curvedp.descriptors import AlignedLandmarks, alignment, landmarks
from reference import descriptors as twin
from reference.twin import Array

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
SIZES = st.tuples(st.integers(5, 12), st.integers(2, 5))


def cloud(n: int, k: int, d: int, spread: float = 0.2, seed: int = 0) -> tuple[Array, Array]:
    """A template of size 1 and records around it."""
    rng = np.random.default_rng(seed)
    template = twin.preshape(rng.standard_normal((k, d)))
    return template, template + spread * rng.standard_normal((n, k, d)) / np.sqrt(k * d)


def moved(records: Array, seed: int = 1) -> Array:
    """The records at other places, of other sizes, turned, each in its own way."""
    rng = np.random.default_rng(seed)
    n, _, d = records.shape
    turns = special_ortho_group(d, seed=rng).rvs(n).reshape(n, d, d)
    sizes = np.exp(rng.normal(size=(n, 1, 1)))
    return sizes * (records @ turns) + 3.0 * rng.standard_normal((n, 1, d))


def distances(points: Array) -> Array:
    """From the pole, without loss near it."""
    return np.arctan2(np.linalg.norm(points[:, :-1], axis=1), points[:, -1])


# ---------------------------------------------------------------------------- what it computes


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-3, 0.2, 3.0]))
def test_points_are_the_aligned_landmarks_in_other_coordinates(
    size: tuple[int, int], seed: int, spread: float
) -> None:
    template, records = cloud(7, *size, spread, seed)
    aligned = AlignedLandmarks(5.0 * template - 2.0)
    assert np.max(np.abs(aligned.template - template)) <= 1e-14
    points = aligned.to_points(records)
    k, d = size
    assert aligned.manifold.dim == (k - 1) * d - 1 - d * (d - 1) // 2
    assert points.shape == (7, aligned.manifold.dim + 1)
    truth = np.array([twin.rotated(twin.preshape(x), template) for x in records])
    assert np.max(np.abs(aligned.to_landmarks(points) - truth)) <= 1e-11
    gram = points @ points.T
    assert np.max(np.abs(gram - truth.reshape(7, -1) @ truth.reshape(7, -1).T)) <= 1e-11
    assert np.max(np.abs(aligned.to_points(aligned.to_landmarks(points)) - points)) <= 1e-10


def test_the_template_is_the_pole() -> None:
    for k, d in ((3, 2), (3, 3), (24, 3), (500, 2), (6, 4)):
        template, _ = cloud(1, k, d)
        aligned = AlignedLandmarks(template)
        assert np.max(np.abs(aligned.to_points([template])[0] - aligned.manifold.origin)) <= 1e-15
        assert np.max(np.abs(aligned.to_landmarks(aligned.manifold.origin) - template)) <= 1e-15
        ball = aligned.ball(0.3)
        assert np.array_equal(ball.center, aligned.manifold.origin)
        assert ball.radius == 0.3


def test_rotations_are_those_of_scipy() -> None:
    template, records = cloud(20, 9, 3)
    records = moved(records)
    aligned = AlignedLandmarks(template)
    for record, found in zip(
        records, aligned.to_landmarks(aligned.to_points(records)), strict=True
    ):
        shape = twin.preshape(record)
        rotation, _ = Rotation.align_vectors(template, shape)
        assert np.max(np.abs(rotation.apply(shape) - found)) <= 1e-12


def test_disparities_are_those_of_scipy() -> None:
    template, records = cloud(20, 9, 3)
    distance = distances(AlignedLandmarks(template).to_points(moved(records)))
    truth = [procrustes(template, record)[2] for record in records]
    assert np.max(np.abs(np.sin(distance) ** 2 - truth)) <= 1e-13


def test_reflections_are_not_rotated_away() -> None:
    template, _ = cloud(1, 9, 3)
    mirrored = template * [1.0, 1.0, -1.0]
    assert procrustes(template, mirrored)[2] <= 1e-14
    assert distances(AlignedLandmarks(template).to_points([mirrored]))[0] > 0.1


def test_shapes_in_space_are_those_of_geomstats() -> None:
    pre_shape = oracles.geomstats("geometry.pre_shape")
    space = pre_shape.PreShapeSpace(9, 3)
    space.equip_with_group_action("rotations")
    space.equip_with_quotient()
    template, records = cloud(12, 9, 3)
    records = moved(records)
    shapes = np.array([twin.preshape(record) for record in records])
    aligned = AlignedLandmarks(template)
    points = aligned.to_points(records)
    assert np.max(np.abs(distances(points) - space.quotient.metric.dist(template, shapes))) <= 1e-12
    with pytest.raises(ValueError, match="AlignedLandmarks"):
        cdp.as_manifold(space)
    theirs = space.fiber_bundle.align(shapes, template)
    assert np.max(np.abs(aligned.to_landmarks(points) - theirs)) <= 1e-12


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 12))
def test_planar_shapes_are_those_of_the_planar_shape_space(seed: int, k: int) -> None:
    template, records = cloud(6, k, 2, 0.5, seed)
    space, aligned = cdp.KendallPlanar(k), AlignedLandmarks(template)
    assert aligned.manifold.dim == space.dim
    points, shapes = aligned.to_points(moved(records)), space.project(records)
    shape_distance = space.dist(space.project(template), shapes)
    assert np.max(np.abs(distances(points) - shape_distance)) <= 1e-7
    between = aligned.manifold.dist(points[:, None], points)
    assert np.all(between >= space.dist(shapes[:, None], shapes) - 1e-7)


@given(size=SIZES, seed=st.integers(0, 2**32 - 1))
def test_no_record_is_farther_than_a_quarter_turn(size: tuple[int, int], seed: int) -> None:
    template, _ = cloud(1, *size, seed=seed)
    other, _ = cloud(1, *size, seed=seed + 1)
    aligned = AlignedLandmarks(template)
    points = aligned.to_points(np.stack([other, -other, -template, other[::-1]]))
    assert np.all(points[:, -1] >= -1e-15)


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), power=st.integers(-900, 900))
def test_place_size_and_orientation_do_not_matter(
    size: tuple[int, int], seed: int, power: int
) -> None:
    template, records = cloud(5, *size, seed=seed)
    aligned = AlignedLandmarks(template)
    points = aligned.to_points(records)
    assert np.array_equal(aligned.to_points(np.ldexp(records, power)), points)
    assert np.max(np.abs(aligned.to_points(moved(records)) - points)) <= 1e-11


def test_without_alignment_orientation_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: what the tests above measure is the rotation."""
    template, records = cloud(50, 9, 3)
    aligned = AlignedLandmarks(template)
    usual = distances(aligned.to_points(moved(records)))
    monkeypatch.setattr(landmarks, "best_rotations", lambda moments: np.eye(3))
    unaligned = distances(AlignedLandmarks(template).to_points(moved(records)))
    assert usual.max() < 0.4 < 1.0 < np.median(unaligned)


# ---------------------------------------------------------------------------- the aligned mean


def mean_shape(records: Array, template: Array) -> Array:
    """The Fréchet mean of shapes: a template that is its own aligned mean."""
    for _ in range(40):
        aligned = AlignedLandmarks(template)
        points = aligned.to_points(records)
        template = aligned.to_landmarks(cdp.nonprivate.frechet_mean(points, aligned.manifold).value)
    return template


def test_a_template_that_is_its_own_mean_is_the_mean_shape() -> None:
    template, records = cloud(40, 6, 2, 0.5)
    space = cdp.KendallPlanar(6)
    truth = cdp.nonprivate.frechet_mean(space.project(records), space).value
    assert space.dist(space.project(mean_shape(moved(records), template)), truth) <= 1e-7
    pre_shape = oracles.geomstats("geometry.pre_shape")
    spatial = pre_shape.PreShapeSpace(6, 3)
    spatial.equip_with_group_action("rotations")
    spatial.equip_with_quotient()
    template, records = cloud(40, 6, 3, 0.5)
    mean = mean_shape(moved(records), template)
    shapes = np.array([twin.preshape(record) for record in records])
    logs = spatial.quotient.metric.log(spatial.fiber_bundle.align(shapes, mean), mean)
    assert np.linalg.norm(logs.mean(axis=0)) <= 1e-10


def test_the_aligned_mean_is_off_to_third_order() -> None:
    """Errors s r² for records within r of a template that lies s from their mean."""
    rng = np.random.default_rng(3)
    base = twin.preshape(rng.standard_normal((6, 3)))
    shift, noise = rng.standard_normal((6, 3)) / 4, rng.standard_normal((60, 6, 3)) / 4
    errors = []
    for size in (0.4, 0.2, 0.1):
        records = base + size * (shift + noise)
        aligned = AlignedLandmarks(base)
        mean = cdp.nonprivate.frechet_mean(aligned.to_points(records), aligned.manifold).value
        truth = mean_shape(records, base)
        errors.append(
            float(distances(AlignedLandmarks(truth).to_points([aligned.to_landmarks(mean)]))[0])
        )
        once_more = AlignedLandmarks(aligned.to_landmarks(mean))
        again = cdp.nonprivate.frechet_mean(once_more.to_points(records), once_more.manifold).value
        closer = distances(AlignedLandmarks(truth).to_points([once_more.to_landmarks(again)]))[0]
        assert closer < 0.25 * errors[-1]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 2.6) & (orders < 3.4))


def test_a_private_mean_has_the_error_that_was_expected() -> None:
    """From raw landmarks to a mean in landmarks, by way of the sphere."""
    template, records = cloud(2000, 6, 3, 0.3)
    records = moved(records)
    aligned = AlignedLandmarks(template)
    points, ball = aligned.to_points(records), aligned.ball(0.5)
    exact = cdp.nonprivate.frechet_mean(ball.project(points), aligned.manifold).value
    guarantee = cdp.PureDP(1.0)
    found = [
        aligned.manifold.dist(cdp.frechet_mean(points, ball, guarantee, seed=i).value, exact)
        for i in range(200)
    ]
    expected = cdp.expected_error(ball, n=2000, guarantee=guarantee)
    assert np.mean(found) == pytest.approx(expected, rel=0.1)
    unaligned = np.array([twin.preshape(record) for record in records]).mean(axis=0)
    mean = aligned.to_landmarks(cdp.frechet_mean(points, ball, guarantee, seed=0).value)
    truth = AlignedLandmarks(mean_shape(records, template))
    error, blind = distances(truth.to_points([mean, unaligned]))
    assert error < 3 * expected < 0.1 < 0.3 < blind


# ---------------------------------------------------------------------------- every record counts


@given(size=SIZES, n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_a_record_decides_its_own_point_alone(size: tuple[int, int], n: int, seed: int) -> None:
    template, records = cloud(n, *size, seed=seed)
    aligned = AlignedLandmarks(template)
    together = aligned.to_points(records)
    for i in {0, n // 2, n - 1}:
        assert np.array_equal(aligned.to_points(records[i : i + 1])[0], together[i])
    records[0] = np.nan
    assert np.array_equal(aligned.to_points(records)[1:], together[1:])


def test_blocks_do_not_show() -> None:
    template, records = cloud(20_000, 30, 3)
    together = AlignedLandmarks(template).to_points(records)
    halves = [AlignedLandmarks(template).to_points(half) for half in (records[:777], records[777:])]
    assert np.array_equal(np.concatenate(halves), together)


@given(records=hnp.arrays(np.float64, (4, 5, 3), elements=ANYTHING))
def test_any_landmarks_give_a_point_or_nan(records: Array) -> None:
    """Warnings are errors in this suite, so the test sees them too."""
    template, _ = cloud(1, 5, 3)
    points = AlignedLandmarks(template).to_points(records)
    usable = np.isfinite(records).all(axis=(1, 2)) & (records != records[:, :1]).any(axis=(1, 2))
    assert np.array_equal(np.isfinite(points).all(axis=1), usable)
    assert np.array_equal(np.isnan(points).all(axis=1), ~usable)
    assert np.allclose(np.linalg.norm(points[usable], axis=1), 1.0, atol=1e-14)


HOSTILE = {
    "in one place": np.full((5, 3), 0.1),
    "zeros": np.zeros((5, 3)),
    "NaN": np.full((5, 3), np.nan),
    "infinite": np.full((5, 3), np.inf),
    "one NaN": np.where(np.arange(15).reshape(5, 3) == 7, np.nan, 1.0),
}
STRANGE = {
    "huge": 1.7e308 * np.linspace(-1.0, 1.0, 15).reshape(5, 3),
    "tiny": 5e-324 * np.arange(15.0).reshape(5, 3),
    "far away": 1e16 + 2.0 * np.arange(15.0).reshape(5, 3),
    "tiny beside a place": np.array([[1.0, 1e-300 * i * i, 5e-324 * i] for i in range(5)]),
    "on a line": np.outer(np.arange(5.0), [1.0, 2.0, 3.0]),
    "two places": np.repeat([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [4, 1], axis=0),
}


def test_unusable_records_count_as_the_centre() -> None:
    template, records = cloud(20, 5, 3)
    aligned = AlignedLandmarks(template)
    ball = aligned.ball(0.5)
    clean = np.concatenate([records, np.repeat(template[None], len(HOSTILE), axis=0)])
    spoilt = np.concatenate([records, *[[record] for record in HOSTILE.values()]])
    assert np.isnan(aligned.to_points(spoilt)[20:]).all()
    one, two = (
        cdp.nonprivate.frechet_mean(ball.project(aligned.to_points(x)), aligned.manifold).value
        for x in (clean, spoilt)
    )
    assert np.max(np.abs(one - two)) <= 1e-14


@pytest.mark.parametrize("name", STRANGE)
def test_strange_records_are_points_like_any_other(name: str) -> None:
    template, _ = cloud(1, 5, 3)
    aligned = AlignedLandmarks(template)
    points = aligned.to_points([STRANGE[name]])
    assert np.linalg.norm(points) == pytest.approx(1.0, abs=1e-14)
    assert aligned.ball(0.5).contains(aligned.ball(0.5).project(points)).all()


def test_no_failure_of_lapack_tells_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    template, records = cloud(6, 5, 3)
    aligned = AlignedLandmarks(template)
    usual, svd = aligned.to_points(records), np.linalg.svd
    failing = twin.preshape(records[3]).T @ aligned.template

    def sometimes(matrices: Array, **keywords: Any) -> Any:
        if np.any(np.abs(matrices - failing).max(axis=(-2, -1)) < 1e-12):
            raise np.linalg.LinAlgError("SVD did not converge")
        return svd(matrices, **keywords)

    monkeypatch.setattr(alignment.np.linalg, "svd", sometimes)
    points = aligned.to_points(records)
    assert np.array_equal(np.delete(points, 3, axis=0), np.delete(usual, 3, axis=0))
    assert np.linalg.norm(points[3]) == pytest.approx(1.0)
    assert not np.array_equal(points[3], usual[3])


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (5, 1), (2, 5, 3), (0, 3), (5, 0)])
def test_templates_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="template must have shape"):
        AlignedLandmarks(np.ones(shape))


@pytest.mark.parametrize("name", HOSTILE)
def test_templates_without_a_shape_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="template must be finite"):
        AlignedLandmarks(HOSTILE[name])


def test_templates_that_rotations_do_not_move_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 directions"):
        AlignedLandmarks(STRANGE["on a line"])
    line = AlignedLandmarks(STRANGE["on a line"][:, :2])
    assert np.isfinite(line.to_points([STRANGE["on a line"][:, 1:]])).all()


@pytest.mark.parametrize("shape", [(5, 3), (4, 5, 2), (4, 6, 3), (0, 5, 3), (1, 4, 5, 3)])
def test_landmarks_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    template, _ = cloud(1, 5, 3)
    with pytest.raises(ValueError, match=r"landmarks (must have shape|is empty)"):
        AlignedLandmarks(template).to_points(np.ones(shape))


def test_wrong_dtypes_are_refused() -> None:
    template, _ = cloud(1, 5, 3)
    with pytest.raises(TypeError, match="landmarks must hold real numbers"):
        AlignedLandmarks(template).to_points(np.full((2, 5, 3), "a"))
    with pytest.raises(TypeError, match="template must hold real numbers"):
        AlignedLandmarks(template.astype(complex))
    with pytest.raises(ValueError, match="points must have shape"):
        AlignedLandmarks(template).to_landmarks(np.ones(4))


# ---------------------------------------------------------------------------- real landmarks


def test_rats_and_brains(data_dir: Path) -> None:
    """Planar skulls against the planar shape space; brains in space against geomstats."""
    rats = np.load(data_dir / "landmarks" / "rats.npz")["landmarks"].astype(float)
    space, aligned = cdp.KendallPlanar(8), AlignedLandmarks(rats[0])
    own = distances(aligned.to_points(rats))
    truth = space.dist(space.project(rats[0]), space.project(rats))
    assert np.max(np.abs(own - truth)) <= 1e-7

    brains = np.load(data_dir / "landmarks" / "brains3d.npz")["landmarks"].astype(float)
    aligned = AlignedLandmarks(brains[0])
    mean = cdp.nonprivate.frechet_mean(aligned.to_points(brains), aligned.manifold).value
    truth = AlignedLandmarks(mean_shape(brains, brains[0]))
    spread = distances(truth.to_points(brains))
    error = distances(truth.to_points([aligned.to_landmarks(mean)]))[0]
    assert error < 2e-3 * np.median(spread)
