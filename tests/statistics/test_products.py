"""Products of manifolds: geometry, means of the parts, shares that compose, keys of their own."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.transform import RigidTransform, Rotation

import curvedp as cdp
from curvedp import _core, batch
from curvedp.statistics.call import Call

SPACES = [
    cdp.RigidMotions(length=10.0),
    cdp.Product("sphere:2", "euclidean:1"),
    cdp.Product("spd:3", cdp.Torus(2), "hyperboloid:2"),
]
NOISY = pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")


def radius_of(space: cdp.Manifold) -> float:
    return min(0.8, 0.5 * space.max_ball_radius)


def ball_on(space: cdp.Product) -> cdp.ProductBall:
    """Balls of different sizes about the origin."""
    balls = [
        cdp.Ball(factor, factor.origin, radius_of(factor) * (1 + 4 * factor.is_flat))
        for factor in space.factors
    ]
    return cdp.ProductBall(*balls, manifold=space)


def records_on(space: cdp.Product, n: int, spread: float = 0.4, seed: int = 1) -> Any:
    """Records in the balls of `ball_on`."""
    rng, parts = np.random.default_rng(seed), []
    for factor in space.factors:
        coords = rng.standard_normal((n, factor.dim)) * spread * radius_of(factor) / factor.dim
        parts.append(factor.exp(factor.coords_to_tangent(coords, factor.origin), factor.origin))
    return space.join(parts)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_geometry_is_that_of_the_factors(space: cdp.Product) -> None:
    x, y = records_on(space, 20), records_on(space, 20, seed=2)
    v = space.log(y, x)
    np.testing.assert_allclose(space.dist(x, y), space.norm(v, x), rtol=1e-9)
    np.testing.assert_allclose(space.dist(space.exp(v, x), y), 0.0, atol=1e-7)
    weights = space._weights
    parts = zip(space.factors, space.split(x), space.split(y), weights, strict=True)
    square = sum((w * factor.dist(a, b)) ** 2 for factor, a, b, w in parts)
    np.testing.assert_allclose(space.dist(x, y) ** 2, square, rtol=1e-12)
    np.testing.assert_allclose(space.pairwise_dist(x, y).diagonal(), space.dist(x, y), atol=1e-12)
    coords = space.tangent_to_coords(v, x)
    np.testing.assert_allclose(np.linalg.norm(coords, axis=1), space.dist(x, y), rtol=1e-9)
    np.testing.assert_allclose(space.coords_to_tangent(coords, x), v, atol=1e-9)
    np.testing.assert_allclose(space.inner(v, v, x), space.dist(x, y) ** 2, rtol=1e-9)
    moved = space.parallel_transport(v, x, end_point=y)
    np.testing.assert_allclose(moved, -space.log(x, y), atol=1e-7)
    assert space.belongs(x).all()
    assert space.belongs(space.random_point(5, rng=0)).all()
    assert not space.belongs(np.full(space.point_shape, np.nan))
    assert space.dim == sum(factor.dim for factor in space.factors)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_texts_and_pickles_name_them(space: cdp.Product) -> None:
    assert cdp.as_manifold(space.spec) == space
    assert pickle.loads(pickle.dumps(space)) == space
    ball = pickle.loads(pickle.dumps(ball_on(space)))
    assert ball.manifold == space
    assert ball.radii == ball_on(space).radii


def test_rigid_motions_are_read_as_people_have_them() -> None:
    rng = np.random.default_rng(0)
    turns, moves = Rotation.random(6, rng=rng), rng.standard_normal((6, 3))
    space = cdp.RigidMotions(length=2.0)
    motions = RigidTransform.from_components(moves, turns)
    for form in (motions, motions.as_matrix(), (turns, moves), (turns.as_quat(), moves)):
        np.testing.assert_allclose(space.as_points(form), motions.as_matrix(), atol=1e-12)
    angle = (turns[1] * turns[0].inv()).magnitude()
    square = angle**2 + (np.linalg.norm(moves[1] - moves[0]) / 2.0) ** 2
    points = space.as_points(motions)
    assert space.dist(points[0], points[1]) == pytest.approx(math.sqrt(square), rel=1e-12)


def test_a_part_that_is_no_point_counts_as_the_centre_of_its_ball() -> None:
    space = cdp.RigidMotions(length=1.0)
    ball, bad = ball_on(space), np.eye(4)
    bad[:3, :3], bad[:3, 3] = np.nan, [0.1, 0.2, 0.3]
    (read,) = space.as_points(bad[None])
    assert np.isnan(read[:3, :3]).all()
    assert read[0, 3] == 0.1
    whole = np.eye(4)
    whole[:3, 3] = bad[:3, 3]
    np.testing.assert_allclose(ball.project(bad), whole)
    records = np.tile(whole, (50, 1, 1))
    records[7] = bad
    released = cdp.frechet_mean(records, ball, cdp.GDP(mu=1e4), seed=1).value
    np.testing.assert_allclose(released, whole, atol=1e-2)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_mean_is_that_of_the_parts(space: cdp.Product) -> None:
    x = records_on(space, 300)
    released = cdp.frechet_mean(x, ball_on(space), cdp.GDP(mu=1e4))
    for factor, part, own in zip(
        space.factors, space.split(x), space.split(released.value), strict=True
    ):
        exact = cdp.nonprivate.frechet_mean(part, factor).value
        assert factor.dist(own, exact) < 1e-4


GUARANTEES = [cdp.GDP(mu=0.8), cdp.PureDP(epsilon=2.0), cdp.ApproxDP(epsilon=1.0, delta=1e-6)]


@NOISY
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_shares_compose_to_the_guarantee(space: cdp.Product, guarantee: cdp.GDP) -> None:
    released = cdp.frechet_mean(records_on(space, 400), ball_on(space), guarantee, coverage=False)
    assert released.guarantee == guarantee
    way, shares = released.calibrated_to, [part.guarantee for part in released.parts]
    assert all(part.calibrated_to == part.guarantee for part in released.parts)
    if isinstance(way, cdp.GDP):
        total, whole = sum(share.mu**2 for share in shares), way.mu**2  # type: ignore[attr-defined]
    else:
        total, whole = sum(share.epsilon for share in shares), way.epsilon  # type: ignore
    assert whole * (1 - 1e-9) <= total <= whole * (1 + 1e-15)
    assert cdp.Release.from_json(released.to_json()) == released


@NOISY
@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_printed_error_is_the_measured_one(space: cdp.Product, guarantee: cdp.GDP) -> None:
    n, draws = 400, 400
    x, ball = records_on(space, n), ball_on(space)
    groups = np.repeat(np.arange(draws), n)
    released = cdp.frechet_mean(
        np.tile(x, (draws, *[1] * (x.ndim - 1))), ball, guarantee, groups=groups, seed=4
    )
    exact = cdp.nonprivate.frechet_mean(x, space).value
    measured = float(np.mean(space.dist(released.value, exact)))
    assert released.expected_error[0] == pytest.approx(measured, rel=0.12)
    assert cdp.expected_error(ball, n, guarantee) == pytest.approx(measured, rel=0.12)
    # and shares that are even do no better
    even = sum(
        (w * cdp.expected_error(own, n, guarantee.split((1.0,) * len(ball.factors))[0])) ** 2
        for w, own in zip(space._weights, ball.factors, strict=True)
    )
    own = np.sum((np.array(space._weights) * released.more["factor_errors"][0]) ** 2)
    assert own <= even * 1.01


def test_every_part_has_one_row_for_each_record() -> None:
    """A part of one record would count n times under a sensitivity of 1/n."""
    space, ledger = cdp.RigidMotions(length=1.0), cdp.Ledger(cdp.GDP(mu=1.0))
    many, one = np.tile(np.eye(3), (50, 1, 1)), np.eye(3)
    moves = np.zeros((50, 3))
    for records in ((many, moves[:1]), (one[None], moves), (many, moves[:49])):
        with pytest.raises(ValueError, match="equal numbers of rows"):
            cdp.frechet_mean(records, ball_on(space), cdp.GDP(mu=0.5), ledger=ledger)
    for records in ((many, moves[0]), (one, moves)):
        with pytest.raises(ValueError, match="must have shape"):
            cdp.frechet_mean(records, ball_on(space), cdp.GDP(mu=0.5), ledger=ledger)
    assert ledger.spent is None


@pytest.mark.parametrize("n", [2, 3, 4])
def test_short_forms_of_three_matrices_are_three_records(n: int) -> None:
    space = cdp.Product("correlation:3", "euclidean:1")
    rows = np.zeros((n, 3))
    rows[0, 0] = 0.4
    found = space.read_records((rows, np.zeros((n, 1))))
    assert found.shape == (n, 10)
    np.testing.assert_allclose(found[0, :9], [1.0, 0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(found[1:, :9], np.tile(np.eye(3).ravel(), (n - 1, 1)))


def test_what_products_have_not_is_said() -> None:
    space = cdp.RigidMotions(length=1.0)
    with pytest.raises(TypeError, match="not released on products"):
        cdp.adaptive_schedule(ball_on(space), 100, cdp.GDP(mu=1.0))
    with pytest.raises(AttributeError, match="not offered on products"):
        cdp.nonprivate.log_covariance(records_on(space, 5), space)


def test_means_of_sites_are_combined() -> None:
    space = cdp.RigidMotions(length=10.0)
    x, ball = records_on(space, 4000), ball_on(space)
    sites = [cdp.frechet_mean(own, ball, cdp.GDP(mu=1.0)) for own in (x[:1000], x[1000:])]
    combined = cdp.combine(sites, spread=float("inf"))
    exact = cdp.nonprivate.frechet_mean(x, space)
    assert exact.certified_distance < 1e-9
    assert space.dist(combined.value, exact.value) < 4 * combined.expected_error


def equal_parts(keys: dict[str, Any]) -> float:
    """Distance of the parts of the mean of records whose parts are alike."""
    space = cdp.Product("euclidean:1", "euclidean:1")
    ball = cdp.ProductBall(*[cdp.Ball("euclidean:1", [0.0], 1.0)] * 2, manifold=space)
    value = cdp.frechet_mean(np.full((40, 2), 0.25), ball, cdp.GDP(mu=1.0), **keys).value
    return float(abs(value[0] - value[1]))


KEYS = [{"seed": 3}, {"secret": cdp.NoiseSecret(b"Z" * 32)}, {}]


@pytest.mark.parametrize("keys", KEYS, ids=["seed", "secret", "fresh"])
def test_equal_parts_have_noise_of_their_own(keys: dict[str, Any]) -> None:
    assert equal_parts(keys) > 0


@pytest.mark.parametrize("keys", KEYS[:2], ids=["seed", "secret"])
def test_with_one_key_for_all_parts_their_noise_would_cancel(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class OneKey:
        def __init__(self, keys: _core.GroupKeys) -> None:
            self.keys = keys

        def part(self, number: int) -> _core.GroupKeys:
            return self.keys

    whole = Call.keys
    monkeypatch.setattr(Call, "keys", lambda *given: OneKey(whole(*given)))
    assert equal_parts(keys) == 0


@NOISY
def test_groups_units_tables_and_ledgers_as_elsewhere() -> None:
    space = cdp.RigidMotions(length=10.0)
    x, ball, guarantee = records_on(space, 60), ball_on(space), cdp.GDP(mu=1.0)
    site = np.repeat(["a", "b"], [20, 40])
    ledger = cdp.Ledger(guarantee)
    calls: list[tuple[int, int]] = []
    released = cdp.frechet_mean(
        x,
        ball,
        guarantee,
        groups=site,
        secret=cdp.NoiseSecret(b"1" * 32),
        ledger=ledger,
        progress=lambda done, groups: calls.append((done, groups)),
    )
    assert ledger.spent == guarantee
    assert calls[-1] == (2, 2)
    assert released["b"].n == 40
    assert released["b"].parts[1].n == 40
    again = cdp.frechet_mean(x[::-1][40:], ball, guarantee, secret=cdp.NoiseSecret(b"1" * 32))
    assert again.value.shape == (4, 4)
    assert len(released.to_arrow()) == 2
    named = cdp.frechet_mean(x, ball, guarantee, units=np.arange(60) // 3)
    assert named.n == 20
    adapted = cdp.adaptive_mean(x, ball, guarantee)
    assert [part.n for part in adapted.parts] == [60, 60]
    table = pa.table(
        {
            "site": site,
            "motion": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 16),
        }
    )
    found = batch.release(
        cdp.Mean(),
        table,
        by="site",
        points="motion",
        ball=ball,
        guarantee=guarantee,
        public_keys=True,
        secret=cdp.NoiseSecret(b"1" * 32),
    )
    found = found.table
    assert found.column_names[:2] == ["site", "n"]
    assert len(found) == 2
    value = np.array(found["value"].to_pylist()).reshape(2, 4, 4)
    assert space.belongs(value).all()


@pytest.mark.parametrize("release", ["frechet_variance", "confidence_region", "geometric_median"])
def test_other_statistics_are_refused_before_a_spend(release: str) -> None:
    space, ledger = cdp.RigidMotions(length=1.0), cdp.Ledger(cdp.GDP(mu=1.0))
    with pytest.raises((TypeError, ValueError), match="not released on products"):
        getattr(cdp, release)(records_on(space, 30), ball_on(space), cdp.GDP(mu=0.5), ledger=ledger)
    assert ledger.spent is None


def test_balls_are_checked() -> None:
    sphere, line = cdp.Ball("sphere:2", [0, 0, 1], 0.5), cdp.Ball("euclidean:1", [0], 1.0)
    with pytest.raises(ValueError, match="needs balls on"):
        cdp.ProductBall(line, sphere, manifold=cdp.Product("sphere:2", "euclidean:1"))
    with pytest.raises(TypeError, match="one Ball for each factor"):
        cdp.ProductBall(sphere, 3.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="use ProductBall"):
        cdp.Ball(cdp.Product("sphere:2", "euclidean:1"), np.zeros(4), 0.5)
    with pytest.raises(ValueError, match="two factors"):
        cdp.ProductBall(sphere)
    with pytest.raises(ValueError, match="a product itself"):
        cdp.Product(cdp.RigidMotions(length=1.0), "sphere:2")
    with pytest.raises(ValueError, match="has 2 parts"):
        cdp.RigidMotions(length=1.0).join([np.eye(3)])
    with pytest.raises(ValueError, match="needs a length"):
        cdp.as_manifold("rigid-motions")
