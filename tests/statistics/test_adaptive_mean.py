"""The adaptive mean: what its parts compose to, how its ball shrinks, what cannot disturb it."""

from __future__ import annotations

import importlib
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples
from curvedp.datasets import wrapped_normal
from curvedp.mechanisms import bounded_range_epsilon, outward_scale
from manifold_list import SMALL, Case
from many_releases import copies

BALLS = {
    "euclidean:3": 2.0,
    "sphere:1": 1.2,
    "sphere:2": 0.7,
    "sphere:9": 0.7,
    "hyperboloid:4:-0.5": 1.5,
    "spd:2": 1.5,
    "spd:3": 1.5,
    "spd:3:log-cholesky": 1.5,
    "kendall:7": 0.7,
}
GUARANTEES = [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(1.0)]


def make_ball(spec: str) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    return cdp.Ball(manifold, manifold.random_point(rng=5), BALLS[spec])


def clump(ball: cdp.Ball, n: int, spread: float, seed: int = 1) -> np.ndarray:
    """Records near a point 0.3 r from the centre."""
    rng = np.random.default_rng(seed)
    coords = np.zeros(ball.manifold.dim)
    coords[0] = 0.3 * ball.radius
    mean = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    return wrapped_normal(n, ball.manifold, mean, spread * ball.radius, rng=rng)


def total(parts: tuple[cdp.Release, ...]) -> Fraction:
    """The exact sum of the parts: epsilon, or mu^2."""
    return sum((part.guarantee.additive()[0] for part in parts), Fraction(0))


# ------------------------------------------------------------------ composition


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
def test_release_carries_its_parts(spec: str, guarantee: Any) -> None:
    ball = make_ball(spec)
    records = clump(ball, 2000, 0.05)
    release = cdp.adaptive_mean(records, ball, guarantee)
    plan = cdp.adaptive_schedule(ball, 2000, guarantee)
    assert release.guarantee == guarantee
    assert ball.manifold.belongs(release.value)
    assert len(release.parts) == len(plan.weights) == 2 * len(plan.levels) + 1
    if release.parts[-1].ball_radius < ball.radius or len(release.parts) == 1:
        assert release.parts[-1].value.tobytes() == release.value.tobytes()
    assert release.parts[-1].scale == release.scale
    assert (release.ball_radius, release.n) == (ball.radius, 2000)
    assert np.array_equal(release.ball_center, ball.center)
    for i, part in enumerate(release.parts):
        assert part.statistic == ("quantile of distances" if i % 2 else "Fréchet mean")
        assert part.value.shape == (() if i % 2 else ball.manifold.point_shape)
        assert part.n == 2000
    assert "computed from these releases" in release.report()
    assert cdp.Release.from_json(release.to_json()) == release


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(BALLS)),
    st.integers(1, 10**7),
    st.floats(1e-3, 20.0),
    st.integers(1, 5),
    st.sampled_from([cdp.PureDP, cdp.GDP, cdp.ZCDP, lambda e: cdp.ApproxDP(e, 1e-7)]),
)
def test_every_schedule_composes_to_the_guarantee_and_leaves_nothing(
    spec: str, n: int, size: float, unit: int, kind: Any
) -> None:
    ball, guarantee = make_ball(spec), kind(size)
    try:
        plan = cdp.adaptive_schedule(ball, n, guarantee, records_per_unit=unit)
    except cdp.ExistenceError:
        with pytest.raises(cdp.ExistenceError):
            cdp.expected_error(ball, n, guarantee, records_per_unit=unit)
        return
    budget = guarantee.sufficient_gdp() if isinstance(guarantee, cdp.ApproxDP) else guarantee
    shares = budget.split(plan.weights)
    spent = sum((share.additive()[0] for share in shares), Fraction(0))
    whole = budget.additive()[0]
    assert whole * (1 - Fraction(1, 10**12)) <= spent <= whole
    assert all(weight > 0 for weight in plan.weights)
    assert all(0.5 <= level <= 0.95 for level in plan.levels[:-1])
    assert all(0.75 <= level < 1 for level in plan.levels[-1:])
    assert 0 < plan.top <= ball.radius


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
@pytest.mark.parametrize("schedule", ["auto", "one-shot", (1, 2, 3), (0.3, 0.1, 0.1, 0.2, 0.7)])
def test_the_parts_of_a_release_add_up_to_no_more_than_its_guarantee(
    guarantee: Any, schedule: Any
) -> None:
    ball = make_ball("sphere:2")
    how = {"schedule": schedule, "coverage": False}
    release = cdp.adaptive_mean(clump(ball, 900, 0.1), ball, guarantee, **how)
    parts, way = release.parts, release.calibrated_to
    if isinstance(guarantee, cdp.PureDP):
        whole = Fraction(guarantee.epsilon)
    elif isinstance(guarantee, cdp.GDP):
        whole = Fraction(guarantee.mu) ** 2
    elif isinstance(guarantee, cdp.ZCDP):
        whole = 2 * Fraction(guarantee.rho)
    else:
        composed = cdp.compose(*(part.guarantee for part in parts))
        assert composed.to_delta(guarantee.epsilon) <= guarantee.delta * (1 + 1e-9)
        whole = way.additive()[0]
    assert whole * (1 - Fraction(1, 10**12)) <= total(parts) <= whole


@pytest.mark.parametrize("spec", ["sphere:2", "spd:3"])
def test_every_part_is_calibrated_to_its_own_ball_and_share(spec: str) -> None:
    ball = make_ball(spec)
    plan = cdp.adaptive_schedule(ball, 4000, cdp.GDP(1.0), records_per_unit=2)
    records = clump(ball, 4000, 0.1)
    # about one of five keeps the public ball: all of forty with a probability below 1e-27
    how = {"records_per_unit": 2, "coverage": False}
    drawn = (cdp.adaptive_mean(records, ball, cdp.GDP(1.0), **how) for _ in range(40))
    release = next(own for own in drawn if own.parts[-1].ball_radius < ball.radius)
    last = ball
    for i, part in enumerate(release.parts):
        assert part.records_per_unit == 2
        if i % 2 == 0:
            assert part.ball_radius == last.radius
            assert np.array_equal(part.ball_center, last.center)
            delta = cdp.sensitivity.frechet_mean(last, 4000, records_per_unit=2)
            needed = (delta + 2 * part.solver_tolerance) / part.guarantee.mu
            assert part.sensitivity == delta
            assert part.scale == pytest.approx(needed, rel=1e-12)
            continue
        # distances are those of the records on the public ball
        assert (part.ball_radius, part.ball_center.tolist()) == (
            ball.radius,
            ball.center.tolist(),
        )
        assert np.array_equal(part.base_point, ball.project(release.parts[i - 1].value))
        assert part.scale == outward_scale(4, bounded_range_epsilon(part.guarantee))
        is_last = i == len(release.parts) - 2
        factor = 1.06 if is_last else 1 + 0.4 / math.sqrt(ball.manifold.dim)
        high = 1.25 * plan.top / 1.06 if is_last else 2 * ball.radius
        assert 1e-3 * ball.radius <= float(part.value) <= high
        radius, top = float(part.value) * factor, plan.top if is_last else ball.radius
        last = ball if radius >= top else cdp.Ball(ball.manifold, part.base_point, radius)
    assert last.radius < plan.top < 0.9 * ball.radius
    outside = (1 - plan.levels[-1]) * last.radius
    noise = release.parts[-1].expected_error
    assert release.expected_error == pytest.approx(math.hypot(noise, 0.1 * outside), rel=1e-12)


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "euclidean:3"])
def test_all_means_on_the_public_ball_are_combined_where_it_is_kept(spec: str) -> None:
    """Records at its edge: by the inverse squares of the errors, in the chart at its centre."""
    ball = make_ball(spec)
    space, center = ball.manifold, ball.center
    release = cdp.adaptive_mean(edge_all_around(ball, 500), ball, cdp.GDP(3.0))
    means = release.parts[::2]
    assert {part.ball_radius for part in means} == {ball.radius}
    assert all(np.array_equal(part.ball_center, center) for part in means)
    weights = np.array([part.expected_error**-2.0 for part in means])
    logs = [space.tangent_to_coords(space.log(part.value, center), center) for part in means]
    mixed = space.exp(space.coords_to_tangent(np.average(logs, 0, weights), center), center)
    assert space.dist(release.value, mixed) < 1e-7 * release.expected_error
    assert release.expected_error == pytest.approx(weights.sum() ** -0.5, rel=1e-12)
    assert release.expected_error < means[-1].expected_error
    assert release.scale == means[-1].scale


def test_noise_that_rises_steeply_asks_for_a_lower_level() -> None:
    """Near half a great circle; on flat space the level is the schedule's."""
    module = importlib.import_module("curvedp.statistics.schedule")
    wide = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.45)
    plan = cdp.adaptive_schedule(wide, 2000, cdp.GDP(2.0))
    law = module.radius_laws(wide, plan, 1)[-1]
    assert law.level == plan.levels[-1] > 0.98
    radii = (0.1, 0.95 * wide.radius, wide.radius)
    levels = [law.level_at(module.steepness(wide, False, radius)) for radius in radii]
    assert levels[0] == law.level > levels[1] > levels[2] > law.level_at(1e9) == 0.9
    flat = make_ball("euclidean:3")
    assert {module.steepness(flat, kind, radius) for kind in (0, 1) for radius in (0.1, 9)} == {1.0}
    for stretched in (False, True):  # the derivative of the scale itself
        scales = [
            own.frame.log_diameter * (own.frame.lipschitz if stretched else 1.0)
            for own in (cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.9 + h) for h in (-1e-5, 1e-5))
        ]
        slope = (scales[1] - scales[0]) / 4e-5
        assert module.steepness(wide, stretched, 0.9) == pytest.approx(slope, rel=1e-6)


def edge_all_around(ball: cdp.Ball, n: int) -> np.ndarray:
    """Records at the edge of the ball, in all directions."""
    coords = np.random.default_rng(1).standard_normal((n, ball.manifold.dim))
    coords *= ball.radius / np.linalg.norm(coords, axis=1, keepdims=True)
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


def test_ledger_is_charged_once_for_all_parts_before_any_noise() -> None:
    ball = make_ball("sphere:2")
    records = clump(ball, 500, 0.1)
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        cdp.adaptive_mean(records, ball, cdp.GDP(0.6), ledger=ledger)
        assert [entry.guarantee for entry in ledger.entries] == [cdp.GDP(0.6)]
        seen: list[Any] = []
        with pytest.raises(cdp.BudgetError):
            cdp.adaptive_mean(
                records, ball, cdp.GDP(0.9), ledger=ledger, progress=lambda *at: seen.append(at)
            )
        assert seen == []
        for wrong in ({"schedule": "x"}, {"quantile": 2.0}, {"seed": 3}):
            with pytest.raises((TypeError, ValueError)):
                cdp.adaptive_mean(records, ball, cdp.GDP(0.1), ledger=ledger, **wrong)
        assert ledger.spent == cdp.GDP(0.6)


# ------------------------------------------------------------------ the schedule


def test_a_schedule_depends_on_public_values_alone_and_is_one_shot_where_little_is_known() -> None:
    ball = make_ball("sphere:2")
    pure = cdp.PureDP(1.0)
    assert cdp.adaptive_schedule(ball, 50_000, pure).weights == (1.0,)
    assert cdp.adaptive_schedule(ball, 20, pure, schedule="adaptive").weights == (1.0,)
    assert len(cdp.adaptive_schedule(ball, 2000, pure, schedule="adaptive").weights) == 3
    assert cdp.adaptive_schedule(ball, 10, cdp.GDP(1.0)).weights == (1.0,)
    assert cdp.adaptive_schedule(ball, 70, cdp.GDP(1.0)).weights == (1.0,)  # K > n/4
    assert len(cdp.adaptive_schedule(ball, 500, cdp.GDP(1.0)).weights) == 5
    halved = cdp.adaptive_schedule(ball, 1000, cdp.GDP(1.0), records_per_unit=2)
    assert halved == cdp.adaptive_schedule(ball, 500, cdp.GDP(1.0))


def test_laplace_noise_that_does_not_exist_for_a_first_mean_means_one_shot() -> None:
    ball = cdp.Ball("hyperboloid:5", cdp.Hyperboloid(5).origin, 1.5)
    records = np.tile(ball.center, (2000, 1))
    with pytest.raises(cdp.ExistenceError) as caught:
        cdp.adaptive_schedule(ball, 2000, cdp.PureDP(1e-6))
    least = cdp.PureDP(caught.value.smallest_epsilon * (1 + 1e-6))
    assert cdp.adaptive_schedule(ball, 2000, least).weights == (1.0,)
    assert len(cdp.adaptive_mean(records, ball, least).parts) == 1
    with cdp.Ledger(cdp.PureDP(100.0)) as ledger:
        with pytest.raises(cdp.ExistenceError):
            cdp.adaptive_mean(records, ball, least, schedule=(1, 1, 1), ledger=ledger)
        assert ledger.spent is None


@pytest.mark.parametrize("guarantee", [cdp.PureDP(4.0), cdp.GDP(0.5)], ids=str)
@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "euclidean:3"])
def test_concentrated_records_are_averaged_better(spec: str, guarantee: Any) -> None:
    ball = make_ball(spec)
    manifold = ball.manifold
    records = clump(ball, 1500, 0.05 / math.sqrt(manifold.dim))
    exact = cdp.nonprivate.frechet_mean(records, manifold).value
    errors = [
        float(
            manifold.dist(
                cdp.adaptive_mean(records, ball, guarantee, schedule="adaptive").value, exact
            )
        )
        for _ in range(80)
    ]
    # .17 to .25, and now and then 4; above the limit with a probability below 2e-10
    assert np.mean(errors) < 0.65 * cdp.expected_error(ball, 1500, guarantee)


def test_one_shot_is_the_private_mean() -> None:
    ball = make_ball("spd:3")
    records = clump(ball, 500, 0.1)
    plain = cdp.frechet_mean(records, ball, cdp.GDP(1.0), seed=4)
    release = cdp.adaptive_mean(records, ball, cdp.GDP(1.0), schedule="one-shot", seed=4)
    assert np.array_equal(release.value, plain.value)
    assert release.scale == pytest.approx(plain.scale, rel=1e-15)


# ------------------------------------------------------------------ audit


def edge_and_crowd(ball: cdp.Ball, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n records at the centre; in the neighbouring set one of them at the far edge."""
    crowd = np.tile(ball.center, (n, 1))
    edge = crowd.copy()
    coords = np.eye(ball.manifold.dim)[0] * ball.radius
    edge[0] = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    return crowd, edge


def audited(n_releases: int, guarantee: Any) -> dict[str, Any]:
    """Audits by what every part of a release tells: its value, its noise, its radius."""
    ball = make_ball("sphere:2")
    toward = ball.manifold.log(edge_and_crowd(ball, 150)[1][0], ball.center)
    scores: dict[str, list[list[float]]] = {"distance": [], "shift": [], "noise": [], "radius": []}
    for data in edge_and_crowd(ball, 150):
        groups, points = copies(n_releases, data)
        stages = {"schedule": (1, 2, 1), "quantile": 1.0}
        releases = cdp.adaptive_mean(points, ball, guarantee, **stages, **groups)
        scores["distance"].append(
            [-float(ball.manifold.dist(release.value, ball.center)) for release in releases]
        )
        scores["shift"].append([-float(release.value @ toward) for release in releases])
        scores["noise"].append([-release.scale for release in releases])
        scores["radius"].append([-float(release.parts[1].value) for release in releases])
    return {
        name: audit_samples(*pair, guarantee, confidence=CONFIDENCE)
        for name, pair in scores.items()
    }


@pytest.mark.parametrize("n_releases", [300, pytest.param(40_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0)], ids=str)
def test_whole_release_keeps_its_claim(guarantee: Any, n_releases: int) -> None:
    for name, result in audited(n_releases, guarantee).items():
        assert result.passed, f"{name}: {result.report()}"


@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0)], ids=str)
def test_a_radius_without_noise_is_flagged(guarantee: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A radius no smaller than the largest distance: an audit must see it, and the noise after."""
    module = importlib.import_module("curvedp.statistics.schedule")
    monkeypatch.setattr(module, "rank_scale", lambda share, unit: 1e-3)
    results = audited(3000 if isinstance(guarantee, cdp.PureDP) else 1500, guarantee)
    for name in ("radius", "noise"):
        assert not results[name].passed, results[name].report()


# ------------------------------------------------------------------ records and parameters


@pytest.mark.parametrize("guarantee", [cdp.PureDP(30.0), cdp.GDP(10.0)], ids=str)
def test_no_record_raises_or_warns(small_case: Case, guarantee: Any) -> None:
    center = small_case.twin.random_point(np.random.default_rng(0), 0.5)
    radius = min(0.6 * small_case.manifold.max_ball_radius, 1.0)
    ball = cdp.Ball(small_case.manifold, center, radius)
    good = small_case.twin.random_points(np.random.default_rng(1), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fill in (np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 5e-324):
            wild = good.copy()
            wild[::2] = fill
            wild[1].flat[0] = fill
            for records in (wild, np.full_like(good, fill)):
                release = cdp.adaptive_mean(records, ball, guarantee, schedule=(1, 1, 1, 1, 1))
                assert small_case.manifold.belongs(release.value)


def test_every_unusable_record_counts_as_the_centre() -> None:
    ball = make_ball("spd:3")
    good = clump(ball, 300, 0.1)
    values = set()
    for bad in (np.full((3, 3), np.nan), -np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.inf)):
        records = good.copy()
        records[7] = bad
        release = cdp.adaptive_mean(records, ball, cdp.GDP(1.0), seed=1)
        values.add(release.value.tobytes())
    assert len(values) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_seeds_reproduce_whatever_the_threads(threads: int) -> None:
    ball = make_ball("spd:3")
    records = clump(ball, 5000, 0.1)
    one = cdp.adaptive_mean(records, ball, cdp.GDP(1.0), seed=918273645)
    before = cdp.num_threads()
    try:
        cdp.set_num_threads(threads)
        assert cdp.adaptive_mean(records, ball, cdp.GDP(1.0), seed=918273645) == one
    finally:
        cdp.set_num_threads(before)
    assert isinstance(one.guarantee, cdp.Unproved)
    assert all(isinstance(part.guarantee, cdp.Unproved) for part in one.parts)
    assert one.assumptions == {"seeded"}
    assert "918273645" not in one.to_json() + one.report() + repr(one)


def test_unseeded_releases_differ_and_so_do_their_parts() -> None:
    ball = make_ball("sphere:2")
    records = clump(ball, 500, 0.1)
    releases = [cdp.adaptive_mean(records, ball, cdp.GDP(1.0)) for _ in range(20)]
    for i in range(5):
        assert len({release.parts[i].value.tobytes() for release in releases}) == 20


BAD = (ValueError, TypeError)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"schedule": "two-step"}, "schedule"),
        ({"schedule": None}, "schedule"),
        ({"schedule": 3}, "schedule"),
        ({"schedule": ()}, "schedule"),
        ({"schedule": (1, 1)}, "schedule"),
        ({"schedule": (1, 0, 1)}, "schedule"),
        ({"schedule": (1, -1, 1)}, "schedule"),
        ({"schedule": (1, np.nan, 1)}, "schedule"),
        ({"schedule": (1, "1", 1)}, "schedule"),
        ({"quantile": -0.1}, "quantile"),
        ({"quantile": 1.5}, "quantile"),
        ({"quantile": np.nan}, "quantile"),
        ({"quantile": "0.5"}, "quantile"),
        ({"records_per_unit": 0}, "records_per_unit"),
        ({"records_per_unit": 1.5}, "records_per_unit"),
        ({"mechanism": "laplacian?"}, "mechanism"),
        ({"seed": -1}, "seed"),
        ({"guarantee": "PureDP(1)"}, "guarantee"),
        ({"guarantee": cdp.Unproved(cdp.GDP(1.0), "x")}, "guarantee"),
        ({"ball": None}, "ball"),
        ({"records": np.zeros((0, 3))}, "records"),
        ({"records": np.zeros((3, 4))}, "records"),
        ({"records": np.zeros((3, 3), dtype=complex)}, "records"),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], word: str) -> None:
    ball = make_ball("sphere:2")
    given = {"records": clump(ball, 20, 0.1), "ball": ball, "guarantee": cdp.GDP(1.0), **options}
    with pytest.raises(BAD, match=word):
        cdp.adaptive_mean(**given)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_shapes_and_dtypes_of_records_raise_and_nothing_else(case: Case) -> None:
    shape = case.twin.point_shape
    center = case.twin.random_point(np.random.default_rng(8))
    ball = cdp.Ball(case.manifold, center, min(0.3, 0.5 * case.manifold.max_ball_radius))
    messages = set()
    for fill in (0.0, 1.0, np.nan, np.inf, 1e300):
        with pytest.raises(ValueError, match="shape") as error:
            cdp.adaptive_mean(np.full((4, *shape, 2), fill), ball, cdp.PureDP(1.0))
        messages.add(str(error.value))
    assert len(messages) == 1


def test_a_ball_too_small_for_double_precision_is_not_used() -> None:
    """The budget is spent by then: an error would cost it."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1e-11)
    records = np.tile(ball.center, (2000, 1))
    records[:, :2] = 1e-13 * np.random.default_rng(0).standard_normal((2000, 2))
    for seed in range(5):
        release = cdp.adaptive_mean(records, ball, cdp.GDP(1e3), schedule=[1.0] * 7, seed=seed)
        assert len(release.parts) == 7
        assert 1.06 * float(release.parts[-2].value) < 0.1e-11
        assert release.parts[-1].ball_radius == 1e-11
