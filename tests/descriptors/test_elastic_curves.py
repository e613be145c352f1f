"""Square-root velocities aligned to a template: against twins, geomstats and what is invariant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import special_ortho_group

import curvedp as cdp
import oracles
from curvedp.descriptors import ElasticCurves, curves
from curvedp.descriptors.curves import PARAMETRISATIONS
from curvedp.descriptors.warping import _STEEPEST, moves, warps
from reference import descriptors as twin
from reference.twin import Array

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
GRID = np.linspace(0.0, 1.0, 81)


def wave(time: Array, d: int = 2) -> Array:
    """A smooth curve with bends of different sizes, at the given times in [0, 1]."""
    height = np.sin(5.0 * time) + 0.3 * np.cos(11.0 * time)
    return np.stack([2.0 * time, height, 0.5 * np.sin(3.0 * time)][:d], axis=-1)


def ellipse(time: Array, bump: float = 0.3) -> Array:
    angle = 2 * np.pi * time
    radius = 1.0 + bump * np.cos(angle) + 0.2 * np.sin(3 * angle)
    return np.stack([2.0 * radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def cloud(n: int, t: int = 40, d: int = 2, spread: float = 0.1, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    steps = spread * rng.standard_normal((n, t, d)).cumsum(axis=1) / np.sqrt(t)
    return wave(np.linspace(0.0, 1.0, t), d) + steps


def moved(records: Array, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    n, _, d = records.shape
    turns = special_ortho_group(d, seed=rng).rvs(n).reshape(n, d, d)
    sizes = np.exp(rng.normal(size=(n, 1, 1)))
    return sizes * (records @ turns) + 3.0 * rng.standard_normal((n, 1, d))


def distances(points: Array) -> Array:
    return np.arctan2(np.linalg.norm(points[:, :-1], axis=1), points[:, -1])


# ---------------------------------------------------------------------------- velocities


@pytest.mark.parametrize("d", [2, 3])
def test_velocities_are_those_of_geomstats(d: int) -> None:
    module = oracles.geomstats("geometry.discrete_curves")
    records = cloud(5, 21, d)
    space = module.DiscreteCurvesStartingAtOrigin(ambient_dim=d, k_sampling_points=21)
    theirs = space.metric.f_transform if hasattr(space.metric, "f_transform") else None
    transform = theirs or space.metric.diffeo
    q = transform(records[:, 1:] - records[:, :1]).reshape(5, -1)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    elastic = ElasticCurves(records[0], samples=20, parametrisation="given", rotate=False)
    points = elastic.to_points(records)
    assert elastic.manifold.dim == 20 * d - 1
    assert np.max(np.abs(points @ points.T - q @ q.T)) <= 1e-14


@pytest.mark.parametrize("rotate", [True, False])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_points_are_aligned_velocities_in_other_coordinates(d: int, rotate: bool) -> None:
    rng = np.random.default_rng(0)
    records = rng.standard_normal((6, 13, d)).cumsum(axis=1)
    elastic = ElasticCurves(records[0], samples=12, parametrisation="given", rotate=rotate)
    assert elastic.manifold.dim == 12 * d - 1 - (d * (d - 1) // 2 if rotate else 0)
    points = elastic.to_points(records)
    q = np.array([twin.square_root_velocity(record) for record in records])
    if rotate:
        q = np.array([twin.rotated(one, q[0]) for one in q])
    flat = q.reshape(6, -1)
    assert np.max(np.abs(points @ points.T - flat @ flat.T)) <= 1e-13
    back = np.array([twin.square_root_velocity(curve) for curve in elastic.to_curves(points)])
    assert np.max(np.abs(back - q)) <= 1e-13


def test_curves_come_back_from_their_points() -> None:
    records = cloud(4, 31)
    elastic = ElasticCurves(records[0], samples=30, parametrisation="given", rotate=False)
    length = np.linalg.norm(np.diff(records, axis=1), axis=2).sum(axis=1)
    truth = (records - records[:, :1]) / length[:, None, None]
    assert np.max(np.abs(elastic.to_curves(elastic.to_points(records)) - truth)) <= 1e-14
    assert np.max(np.abs(elastic.template - truth[0])) <= 1e-14
    assert elastic.to_curves(elastic.to_points(records)[2]).shape == (31, 2)


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("rotate", [False, True])
def test_the_template_is_the_pole(parametrisation: str, closed: bool, rotate: bool) -> None:
    curve = ellipse(np.linspace(0.0, 1.0, 50, endpoint=False))
    elastic = ElasticCurves(
        curve, parametrisation=parametrisation, closed=closed, rotate=rotate, samples=40
    )
    points = elastic.to_points([curve])
    assert np.max(np.abs(points[0] - elastic.manifold.origin)) <= 1e-14
    assert np.array_equal(elastic.ball(0.4).center, elastic.manifold.origin)


def test_equal_steps_of_arc_length_do_not_see_the_vertices() -> None:
    """A polygon by its corners, and with further vertices on its sides, repeated ones too."""
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    sides = [corners[0], corners[0], [1.0, 0.0], corners[1], [3.0, 0.1], [3.0, 0.1], corners[2]]
    finer = np.array([*sides, [1.0, 4.0], corners[3], corners[3], corners[3]])
    elastic = ElasticCurves(wave(GRID), parametrisation="arc-length", samples=10)
    one, two = elastic.to_points([corners]), elastic.to_points([finer])
    assert np.max(np.abs(one - two)) <= 1e-14
    elastic = ElasticCurves(corners, parametrisation="arc-length", samples=10, rotate=False)
    expected = [[i, 0] for i in range(4)] + [[3, i] for i in range(1, 5)] + [[2, 4], [1, 4], [0, 4]]
    assert np.max(np.abs(10 * elastic.template - expected)) <= 1e-14


# ---------------------------------------------------------------------------- warps


@given(count=st.integers(2, 9), d=st.integers(2, 3), seed=st.integers(0, 2**32 - 1))
def test_warps_are_the_best_there_are(count: int, d: int, seed: int) -> None:
    """Against a search that integrates along each line piece by piece."""
    rng = np.random.default_rng(seed)
    template, q = rng.standard_normal((count, d)), rng.standard_normal((3, count, d))
    for own, warp in zip(q, warps(template, q), strict=True):
        best, corners = twin.warp(template, own, _STEEPEST)
        truth = np.interp(np.arange(count + 1), *np.transpose(corners))
        value = twin.integral(template, own, [(i, warp[i]) for i in range(count + 1)])
        if np.max(np.abs(warp - truth)) > 1e-12:  # another of the same value
            assert value == pytest.approx(best, abs=1e-12)
        assert np.all(np.diff(warp) > 0.0)
        assert (warp[0], warp[-1]) == (0.0, count)


def test_parts_of_warps_cross_the_cells_they_should() -> None:
    assert moves()[0] == (1, 1, ((1, 1, 1.0),))
    for a, b, cells in moves():
        assert len(cells) == a + b - 1
        assert sum(weight for _, _, weight in cells) == pytest.approx(np.sqrt(a * b))
        assert {i for i, _, _ in cells} == set(range(1, a + 1))
        assert {j for _, j, _ in cells} == set(range(1, b + 1))


def test_reparametrised_curves_come_close_together() -> None:
    """One curve at different speeds; the control keeps the speeds."""
    speeds = [GRID, GRID**1.4, 0.6 * GRID**2 + 0.4 * GRID, 1 - (1 - GRID) ** 1.5]
    records = np.array([wave(speed) for speed in speeds])
    stretched = records * [1.0, 0.8]
    settings = {"samples": 80}
    plain = ElasticCurves(records[0], parametrisation="given", **settings)
    assert distances(plain.to_points(records))[1:].min() > 0.2
    by_length = ElasticCurves(records[0], parametrisation="arc-length", **settings)
    assert distances(by_length.to_points(records)).max() < 0.03
    elastic = ElasticCurves(records[0], **settings)
    assert distances(elastic.to_points(records)).max() < 0.03
    closer = distances(elastic.to_points(stretched))
    assert np.all(closer < 0.9 * distances(by_length.to_points(stretched)))
    assert np.ptp(closer) < 0.02


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 3), closed=st.booleans())
def test_warps_take_no_record_away_from_the_template(seed: int, d: int, closed: bool) -> None:
    records = cloud(6, 15, d, 1.0, seed)
    settings = {"samples": 15, "closed": closed}
    plain = ElasticCurves(records[0], parametrisation="arc-length", **settings)
    elastic = ElasticCurves(records[0], **settings)
    before, after = (distances(each.to_points(records)) for each in (plain, elastic))
    assert np.all(after <= before + 1e-7)
    assert np.any(after[1:] < before[1:] - 1e-3)


@pytest.mark.parametrize("parametrisation", ["arc-length", "elastic"])
def test_closed_curves_start_where_the_template_does(parametrisation: str) -> None:
    time = np.arange(60) / 60
    records = np.array([np.roll(ellipse(time), shift, axis=0) for shift in (0, 7, 30, 53)])
    settings = {"samples": 120, "parametrisation": parametrisation}
    aligned = ElasticCurves(records[0], closed=True, **settings).to_points(moved(records))
    assert distances(aligned).max() < 0.15
    unaligned = ElasticCurves(records[0], closed=False, **settings).to_points(moved(records))
    assert distances(unaligned)[1:].min() > 0.25


# ---------------------------------------------------------------------------- invariance


@given(
    parametrisation=st.sampled_from(PARAMETRISATIONS),
    d=st.integers(2, 3),
    power=st.integers(-900, 900),
    seed=st.integers(0, 2**32 - 1),
)
def test_place_size_and_orientation_do_not_matter(
    parametrisation: str, d: int, power: int, seed: int
) -> None:
    records = cloud(4, 20, d, seed=seed)
    elastic = ElasticCurves(wave(GRID, d), samples=20, parametrisation=parametrisation)
    points = elastic.to_points(records)
    assert np.array_equal(elastic.to_points(np.ldexp(records, power)), points)
    turned = elastic.to_points(moved(records))
    # a tie between two warps may go the other way: then both are as close
    same = np.abs(turned - points).max(axis=1) <= 1e-9
    assert np.all(same | (np.abs(distances(turned) - distances(points)) <= 1e-9))
    assert same.any()


def test_without_rotation_orientation_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control, by the parameter and with the step taken out."""
    records = moved(cloud(20, d=3))
    settings = {"samples": 30, "parametrisation": "arc-length"}
    usual = distances(ElasticCurves(wave(GRID, 3), **settings).to_points(records))
    plain = distances(ElasticCurves(wave(GRID, 3), rotate=False, **settings).to_points(records))
    elastic = ElasticCurves(wave(GRID, 3), **settings)
    monkeypatch.setattr(curves, "best_rotations", lambda moments: np.eye(3))
    removed = distances(elastic.to_points(records))
    assert usual.max() < 0.6 < 1.0 < min(np.median(plain), np.median(removed))


def test_a_private_mean_curve_has_the_error_that_was_expected() -> None:
    records = moved(cloud(1000, 25, 3, 0.3))
    elastic = ElasticCurves(wave(GRID, 3), samples=15)
    points, ball = elastic.to_points(records), elastic.ball(0.6)
    exact = cdp.nonprivate.frechet_mean(ball.project(points), elastic.manifold).value
    found = [
        elastic.manifold.dist(cdp.frechet_mean(points, ball, cdp.GDP(1.0), seed=i).value, exact)
        for i in range(200)
    ]
    assert np.mean(found) == pytest.approx(
        cdp.expected_error(ball, n=1000, guarantee=cdp.GDP(1.0)), rel=0.1
    )


# ---------------------------------------------------------------------------- every record counts


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_a_record_decides_its_own_point_alone(
    parametrisation: str, closed: bool, rotate: bool, d: int
) -> None:
    records = cloud(60, 23, d, 0.5)
    settings = {"parametrisation": parametrisation, "closed": closed, "rotate": rotate}
    elastic = ElasticCurves(wave(GRID, d), samples=20, **settings)
    together = elastic.to_points(records)
    alone = np.concatenate([elastic.to_points(records[i : i + 1]) for i in range(60)])
    assert np.array_equal(alone, together)
    assert np.array_equal(elastic.to_points(np.asfortranarray(records)), together)
    records[0], records[1] = np.nan, 7.0
    spoilt = elastic.to_points(records)
    assert np.array_equal(spoilt[2:], together[2:])
    assert np.isnan(spoilt[:2]).all()


def test_blocks_do_not_show() -> None:
    records = cloud(600, 80)
    elastic = ElasticCurves(wave(GRID), samples=60)
    parts = [elastic.to_points(part) for part in (records[:13], records[13:])]
    assert np.array_equal(np.concatenate(parts), elastic.to_points(records))


@given(
    records=hnp.arrays(np.float64, (4, 5, 3), elements=ANYTHING),
    parametrisation=st.sampled_from(PARAMETRISATIONS),
    closed=st.booleans(),
)
def test_any_curves_give_a_point_or_nan(records: Array, parametrisation: str, closed: bool) -> None:
    """Warnings are errors in this suite, so the test sees them too."""
    elastic = ElasticCurves(
        wave(GRID, 3), samples=6, parametrisation=parametrisation, closed=closed
    )
    points = elastic.to_points(records)
    finite = np.isfinite(points).all(axis=1)
    assert np.array_equal(np.isnan(points).all(axis=1), ~finite)
    assert np.allclose(np.linalg.norm(points[finite], axis=1), 1.0, atol=1e-14)
    usable = np.isfinite(records).all(axis=(1, 2)) & (records != records[:, :1]).any(axis=(1, 2))
    assert not finite[~usable].any()


STRANGE = {
    "huge": 1.7e308 * np.linspace(-1.0, 1.0, 15).reshape(5, 3) ** 3,
    "tiny": 5e-324 * np.arange(15.0).reshape(5, 3) ** 2,
    "far away": 1e16 + 2.0 * np.arange(15.0).reshape(5, 3),
    "on a line": np.outer(np.arange(5.0), [1.0, 2.0, 3.0]),
    "one step": np.repeat([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [4, 1], axis=0),
    "steps of all sizes": np.cumsum(
        [[10.0**-e, 0.0, 10.0 ** (-2 * e)] for e in range(150, -50, -50)], 0
    ),
    "back and forth": np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])[[0, 1, 0, 1, 0]],
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_strange_curves_are_points_like_any_other(name: str, parametrisation: str) -> None:
    elastic = ElasticCurves(wave(GRID, 3), samples=13, parametrisation=parametrisation)
    points = elastic.to_points([STRANGE[name]])
    assert np.linalg.norm(points) == pytest.approx(1.0, abs=1e-14)
    assert elastic.ball(0.5).contains(elastic.ball(0.5).project(points)).all()


def test_a_curve_that_its_samples_do_not_see_counts_as_the_centre() -> None:
    elastic = ElasticCurves(wave(GRID, 3), samples=2, parametrisation="arc-length")
    assert np.isnan(elastic.to_points([STRANGE["back and forth"]])).all()


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("shape", [(), (5,), (1, 2), (5, 1), (2, 5, 3), (0, 3)])
def test_templates_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="template must have shape"):
        ElasticCurves(np.ones(shape))


@pytest.mark.parametrize("value", [1.0, np.nan, np.inf])
def test_templates_without_a_length_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="template must be a finite curve"):
        ElasticCurves(np.full((5, 2), value))


def test_straight_templates_in_space_need_no_rotation() -> None:
    with pytest.raises(ValueError, match="at least 2 directions"):
        ElasticCurves(STRANGE["on a line"])
    straight = ElasticCurves(STRANGE["on a line"], rotate=False, samples=10)
    assert np.isfinite(straight.to_points(cloud(2, d=3))).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("samples", 1),
        ("samples", 2.5),
        ("samples", 20_000),
        ("parametrisation", "slow"),
        ("parametrisation", None),
        ("rotate", 1),
        ("closed", "yes"),
    ],
)
def test_wrong_parameters_are_refused(name: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        ElasticCurves(wave(GRID), **{name: value})


@pytest.mark.parametrize("shape", [(5, 2), (4, 5, 3), (4, 1, 2), (0, 5, 2), (1, 4, 5, 2)])
def test_curves_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"curves (must have shape|is empty)"):
        ElasticCurves(wave(GRID), samples=5).to_points(np.ones(shape))


# ---------------------------------------------------------------------------- real curves


def test_outlines_of_real_corpora_callosa(data_dir: Path) -> None:
    """Closed outlines in correspondence: alignment must bring them together, warps closer."""
    stored = np.load(data_dir / "corpus_callosum_adhd200" / "cc_landmarks.npz")["landmarks"]
    outlines = moved(stored[:60])
    shifted = np.array([np.roll(one, 3 * i % 50, axis=0) for i, one in enumerate(outlines)])
    settings = {"samples": 50, "closed": True}
    by_length = ElasticCurves(stored[0], parametrisation="arc-length", **settings)
    elastic = ElasticCurves(stored[0], **settings)
    own = distances(by_length.to_points(outlines))
    assert np.median(np.abs(distances(by_length.to_points(shifted)) - own)) < 0.03
    warped = distances(elastic.to_points(shifted))
    assert np.median(warped) < 0.8 * np.median(own)
    assert warped.max() < 0.5
