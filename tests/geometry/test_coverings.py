"""Covered spaces against each other and against SciPy (docs/proofs/coverings.md)."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import curvedp as cdp

N = 200
GUARANTEES = [cdp.PureDP(1.0), cdp.GDP(1.0)]


def cloud(space: cdp.Manifold, length: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points within `length` of a centre."""
    rng = np.random.default_rng(seed)
    center = space.random_point(rng=rng)
    coords = rng.standard_normal((N, space.dim))
    coords *= (length * rng.random(N) / np.linalg.norm(coords, axis=1))[:, None]
    return center, space.exp(space.coords_to_tangent(coords, center), center)


def spoilt(points: np.ndarray) -> np.ndarray:
    """The same axes by other vectors."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], len(points))
    return points * signs[:, None]


def doubled(axes: np.ndarray) -> np.ndarray:
    """The unit vectors of twice the angles."""
    angle = 2 * np.arctan2(axes[..., 1], axes[..., 0])
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def turns(axes: np.ndarray) -> np.ndarray:
    """The rotations of quaternions."""
    return Rotation.from_quat(axes).as_matrix()


@pytest.mark.parametrize(
    ("axes", "other", "image"),
    [
        (cdp.Projective(1), cdp.Sphere(1), doubled),
        (cdp.Projective(3), cdp.Rotations(), turns),
    ],
    ids=["circle", "rotations"],
)
def test_axes_are_spaces_of_twice_the_angle(axes, other, image):
    _, points = cloud(axes, 0.7)
    points = spoilt(points)
    far = axes.random_point(N, rng=2)
    np.testing.assert_allclose(
        2 * axes.dist(points, far), other.dist(image(points), image(far)), atol=1e-13
    )
    mean = cdp.nonprivate.frechet_mean(points, axes)
    twice = cdp.nonprivate.frechet_mean(image(points), other)
    assert other.dist(image(mean.value), twice.value) < 1e-12
    spread = cdp.nonprivate.frechet_variance(points, axes)
    assert 4 * spread == pytest.approx(cdp.nonprivate.frechet_variance(image(points), other))


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=["pure", "gdp"])
@pytest.mark.parametrize("dim", [1, 2, 9])
def test_signs_of_axes_change_no_bit_of_a_release(dim, guarantee):
    space = cdp.Projective(dim)
    center, points = cloud(space, 1.2)
    ball = cdp.Ball(space, center, 0.7)
    one, two = (
        cdp.frechet_mean(x, ball, guarantee, seed=3).value for x in (points, spoilt(points))
    )
    assert np.array_equal(one, two)
    assert one @ center > 0


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_means_on_tori_are_circular_means_of_small_spreads(dim):
    space, rng = cdp.Torus(dim), np.random.default_rng(4)
    offsets = 1e-3 * rng.standard_normal((N, dim))
    for center in (np.full(dim, 3.1415), rng.uniform(-np.pi, np.pi, dim)):
        x = center + np.concatenate([offsets, offsets[::2]])
        found = cdp.nonprivate.frechet_mean(x, space).value
        expected = scipy.stats.circmean(x, high=np.pi, low=-np.pi, axis=0)
        # both means agree up to the third order of the spread
        assert space.dist(found, expected) < 1e-8
        assert space.dist(found, center + np.mean(x - center, axis=0)) < 1e-14


def test_a_mean_across_the_cut_is_no_average():
    x = np.array([[3.0], [-3.0], [3.1], [-3.1]])
    assert abs(cdp.nonprivate.frechet_mean(x, cdp.Torus(1)).value[0]) == pytest.approx(np.pi)
    ball = cdp.Ball("torus:1", center=[np.pi], radius=0.5)
    release = cdp.frechet_mean(np.repeat(x, 1000, axis=0), ball, cdp.PureDP(1.0), seed=0)
    assert abs(release.value[0]) > 3.1


@given(x=st.floats(allow_nan=False, allow_infinity=False))
def test_any_angle_is_the_one_it_stands_for(x):
    """Up to a unit of its last digit."""
    (found,) = cdp.Torus(1).as_points([x])
    assert -np.pi <= found < np.pi
    with mp.workdps(400):
        off = mp.mpf(float(found)) - mp.mpf(x)
        assert abs(off - 2 * mp.pi * mp.nint(off / (2 * mp.pi))) <= math.ulp(x)


@given(
    rows=st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=9),
)
def test_rows_of_angles_enter_one_by_one(rows):
    space = cdp.Torus(3)
    ball = cdp.Ball(space, [3.1, -3.1, 0.0], 0.8)
    whole = ball.enter(np.array(rows))
    for row, entered in zip(rows, whole, strict=True):
        assert np.array_equal(ball.enter(np.array([row]))[0], entered)
        assert np.linalg.norm(entered) <= 0.8 * (1 + 1e-9)
        assert np.isfinite(space.as_points(row)).all() == np.isfinite(row).all()


def test_angles_across_the_cut_keep_their_digits():
    space = cdp.Torus(1)
    a, b = np.array([np.nextafter(np.pi, 0)]), np.array([np.nextafter(-np.pi, 0)])
    with mp.workdps(50):
        expected = 2 * mp.pi - mp.mpf(float(a[0])) + mp.mpf(float(b[0]))
        assert abs(space.dist(a, b) / expected - 1) < 1e-15
    assert space.log(b, a)[0] == -space.log(a, b)[0] == space.dist(a, b)


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
def test_the_density_on_a_circle_sums_over_all_turns(kind, scale):
    """Its integral over the circle is that of the noise on the line."""
    space = cdp.Torus(1)
    ball = cdp.Ball(space, [0.0], 1.0)
    guarantee = cdp.PureDP(1.0) if kind == "RiemannianLaplace" else cdp.GDP(1.0)
    mechanism = getattr(cdp, kind)(ball, scale, guarantee)
    angles = (np.arange(40_000) + 0.5) / 40_000 * 2 * np.pi - np.pi
    density = np.exp(mechanism.log_density(angles[:, None], np.array([0.3])))
    whole = 2 * scale if kind == "RiemannianLaplace" else math.sqrt(2 * math.pi) * scale
    assert density.mean() * 2 * np.pi == pytest.approx(whole, rel=1e-6)


def test_a_density_that_is_a_sum_of_too_many_terms_is_refused():
    ball = cdp.Ball("torus:20", np.zeros(20), 1.0)
    mechanism = cdp.RiemannianLaplace(ball, 0.1, cdp.PureDP(1.0))
    with pytest.raises(ValueError, match="copies"):
        mechanism.log_density(np.zeros(20), np.zeros(20))
