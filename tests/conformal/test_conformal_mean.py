"""The conformal mean: composition, both stages, bad records, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from bad_record_cases import bad_records
from curvedp import sensitivity
from curvedp.conformal import (
    ConformalLaplace,
    ConformalMean,
    Mesh,
    ball_mesh,
    density,
    factor,
    fibonacci_mesh,
    knn_graph,
    laplacian,
)
from curvedp.datasets import von_mises_fisher
from manifold_list import SMALL, Case

POLE = np.array([0.0, 0.0, 1.0])


@pytest.fixture
def ball():
    return cdp.Ball("sphere:2", POLE, 0.7)


@pytest.fixture
def operator(ball):
    return laplacian(knn_graph(ball_mesh(ball, 300), 12))


@pytest.fixture
def records():
    return von_mises_fisher(200, POLE, 50.0, rng=1)


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(1.0), cdp.GDP(0.5), cdp.ZCDP(0.1), cdp.ApproxDP(0.5, 1e-6)], ids=str
)
@pytest.mark.parametrize("split", [0.1, 0.5, 0.9])
def test_parts_compose_to_the_whole(ball, operator, records, guarantee, split):
    how = {"mesh": operator, "split": split, "coverage": False}
    release = cdp.conformal_mean(records, ball, guarantee, **how)
    assert release.guarantee == guarantee
    density, node = release.parts
    assert density.statistic == "density of the records"
    if isinstance(node.guarantee, cdp.PureDP):  # pure noise may err less than Gaussian
        whole = cdp.mechanisms.pure_epsilon(guarantee)
        first, second = density.guarantee.epsilon, node.guarantee.epsilon
        assert first + second <= whole
        assert first == pytest.approx(split * whole)
        assert density.scale == pytest.approx(2 / first)
    else:
        whole = cdp.compose(density.guarantee, node.guarantee)
        allowed = guarantee.mu if isinstance(guarantee, cdp.GDP) else math.sqrt(2 * guarantee.rho)
        assert 0.999 * allowed < whole.mu <= allowed
    delta = sensitivity.frechet_mean(ball, 200)
    assert release.sensitivity == delta
    total = delta + 2 * release.solver_tolerance
    if isinstance(node.guarantee, cdp.PureDP):
        assert total / second < node.scale < 1.2 * total / second
    else:
        budget = cdp.mechanisms.bounded_range_epsilon(node.guarantee)
        assert node.scale == pytest.approx(2 * total / budget, rel=1e-6)
    assert np.array_equal(node.value, release.value)


def test_the_second_stage_is_the_mechanism_at_the_first_stages_factor(ball, operator, records):
    how = {"mesh": operator, "cells": operator, "upsilon": 0.3, "coverage": False, "contrast": 1.3}
    release = cdp.conformal_mean(records, ball, cdp.PureDP(2.0), **how)
    density, point = release.parts
    noise = ConformalLaplace(
        operator.graph.mesh,
        factor(density.value, 0.3, laplacian=operator).sigma,
        ball=ball,
        sensitivity=release.sensitivity + 2 * release.solver_tolerance,
        guarantee=point.guarantee,
        contrast=1.3,
    )
    assert release.scale == pytest.approx(noise.scale, rel=1e-9)
    assert release.expected_error == pytest.approx(noise.error_at(release.value), rel=1e-9)


def test_a_given_factor_takes_none_of_the_budget(ball, operator, records):
    found = factor(density(records, ball, cdp.PureDP(0.5), mesh=operator), 2.0)
    pure, total = cdp.PureDP(1.0), sensitivity.frechet_mean(ball, 200)
    how = {"coverage": False, "seed": 3}
    release = cdp.conformal_mean(records, ball, pure, phi=found, **how)
    assert release.parts == ()
    assert total < release.scale < 1.2 * total
    values = {"phi": found.phi, "mesh": operator}
    again = cdp.conformal_mean(records, ball, pure, **values, **how)
    assert again.to_json() == release.to_json()
    flat = cdp.conformal_mean(records, ball, pure, phi=np.full(300, 7.0), mesh=operator, **how)
    assert flat.scale == pytest.approx(total + 2 * flat.solver_tolerance, rel=1e-6)  # Laplace noise
    secret = cdp.NoiseSecret(bytes(32))
    for other in (1.01 * found.phi, found.phi[::-1]):  # another factor, another noise
        both = [
            cdp.conformal_mean(
                records, ball, pure, phi=phi, mesh=operator, secret=secret, coverage=False
            )
            for phi in (found.phi, other)
        ]
        assert not np.array_equal(both[0].value, both[1].value)
    for bad, word in (
        ({"phi": found.phi}, "give mesh"),
        ({"phi": found, "mesh": ball_mesh(ball, 300)}, "leave mesh out"),
        ({"phi": found, "cells": operator}, "cells"),
        ({"phi": -found.phi, "mesh": operator}, "positive"),
        ({"phi": found.phi[:5], "mesh": operator}, "phi"),
    ):
        with pytest.raises(ValueError, match=word):
            ConformalMean(**bad)
    given = ConformalMean(phi=found)
    assert given.options()["phi"]["nodes"] == 300
    assert hash(given) != hash(ConformalMean())
    with pytest.raises(ValueError, match="leave mesh out"):
        ConformalMean.from_options(given.options())


@pytest.mark.parametrize(
    ("spec", "radius", "count"),
    [
        ("sphere:2", 0.5, 120),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("rotations:3", 0.5, 100),
                ("hyperboloid:3", 0.5, 100),
                ("spd:2", 0.5, 100),
                ("so:3", 0.5, 100),
                ("spd:4", 0.5, 40),
                ("spd:9", 2.0, 20),
            )
        ),
    ],
)
def test_errors_are_as_printed_fall_like_the_number_of_records_and_end_in_the_ball(
    spec, radius, count
):
    space = cdp.as_manifold(spec)
    ball, planned = cdp.Ball(space, space.origin, radius), []
    rng, pure = np.random.default_rng(2), cdp.PureDP(1.0)
    for n in (500, 7_000, 20_000):
        spread = ball.project(space.random_point(100, rng=rng))
        records = np.concatenate([np.repeat(ball.center[None], n - 100, axis=0), spread])
        exact = cdp.nonprivate.frechet_mean(records, space).value
        found = [cdp.conformal_mean(records, ball, pure, coverage=False) for _ in range(count)]
        value = np.array([release.value for release in found])
        assert ball.contains(value).all()
        error = space.dist(exact, value).mean()
        printed = float(np.mean([release.expected_error for release in found]))
        # within 1.1 of printed; 120 lengths of two and more dimensions: beyond 1.8 in 1e-11
        assert printed / 1.8 < error < 1.8 * printed
        before = cdp.plan("conformal_mean", ball, pure, n=n, coverage=False)
        assert before.low * (1 - 1e-9) <= printed <= before.high * (1 + 1e-9)
        assert before.high < 2.2 * cdp.expected_error(ball, n, pure, coverage=False)
        planned.append(before.high * n)
    assert max(planned[1:]) < 1.1 * min(planned[1:])


def test_noise_wider_than_the_ball_warns_and_what_cannot_be_drawn_is_refused(operator, ball):
    records = np.tile(POLE, (5, 1))
    with pytest.warns(cdp.errors.NoiseWarning, match="conformal Fréchet mean"):
        cdp.conformal_mean(records, ball, cdp.PureDP(0.5), mesh=operator, coverage=False)
    far = cdp.Ball("spd:3", np.eye(3), 2.0)
    n, pure = 20, cdp.PureDP(0.1)
    with pytest.raises(cdp.ExistenceError) as refused:
        cdp.plan("conformal_mean", far, pure, n=n, coverage=False)
    enough = refused.value.smallest_n
    assert cdp.plan("conformal_mean", far, pure, n=enough, coverage=False).high > 0
    epsilon = refused.value.smallest_epsilon
    assert cdp.plan("conformal_mean", far, cdp.PureDP(epsilon), n=n, coverage=False).high > 0
    wished = cdp.plan("conformal_mean", ball, cdp.PureDP(1.0), error=0.01)
    less = cdp.plan("conformal_mean", ball, cdp.PureDP(1.0), n=wished.n - 1)
    assert wished.high <= 0.01 < less.high


@pytest.mark.parametrize("method", ["histogram", "kde"])
def test_factors_are_small_where_records_are_many(ball, operator, method):
    records = von_mises_fisher(20_000, POLE, 80.0, rng=1)
    release = cdp.conformal_mean(
        records, ball, cdp.PureDP(4.0), mesh=operator, cells=operator, method=method, upsilon=5.0
    )
    sigma = factor(release.parts[0].value, 5.0, laplacian=operator).sigma
    dist = ball.manifold.dist(POLE, operator.graph.mesh.points)
    assert sigma[dist < 0.1].max() < sigma[dist > 0.5].min()
    assert ball.manifold.dist(release.value, POLE) < 0.1


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_bad_records_stand_for_the_centre(
    case: Case, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    center = case.twin.random_point(np.random.default_rng(0), 0.5)
    ball = cdp.Ball(case.manifold, center, min(0.6 * case.manifold.max_ball_radius, 1.0))
    operator = laplacian(knn_graph(ball_mesh(ball, 60), 6))
    records = ball.project(case.manifold.random_point(8, rng=2))
    records[3] = center
    for method in ("histogram", "kde"):
        settings = {"mesh": operator, "cells": operator, "seed": 4, "method": method}
        caplog.clear()
        expected = cdp.conformal_mean(records, ball, cdp.PureDP(2.0), **settings)
        stages = caplog.messages
        for name, bad in bad_records(case, center).items():
            changed = records.copy()
            changed[3] = bad
            caplog.clear()
            actual = cdp.conformal_mean(changed, ball, cdp.PureDP(2.0), **settings)
            assert actual.to_json() == expected.to_json(), name
            assert caplog.messages == stages
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
@pytest.mark.parametrize("n", [1, 2])
def test_extremes_give_finite_releases(ball, epsilon, n):
    edge = ball.manifold.exp([0.7, 0.0, 0.0], POLE)
    for records in (np.tile(POLE, (n, 1)), np.tile(edge, (n, 1)), np.full((n, 3), np.nan)):
        release = cdp.conformal_mean(records, ball, cdp.PureDP(epsilon))
        assert ball.manifold.belongs(release.value, atol=1e-9)
        assert release.report()


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_meshes_of_few_nodes(ball, records, nodes):
    mesh = Mesh("sphere:2", fibonacci_mesh(7).points[:nodes])
    for settings in ({"mesh": mesh}, {"cells": mesh}, {"mesh": mesh, "cells": mesh}):
        release = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), **settings)
        assert np.isfinite(release.value).all()


def test_default_cells_are_as_many_as_the_noise_allows(ball, operator, records):
    how = {"mesh": operator, "coverage": False}
    release = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), **how)
    assert release.parts[0].value.shape == (int(200 * 0.2 / math.sqrt(8)),)
    huge = cdp.conformal_mean(records, ball, cdp.PureDP(1e6), mesh=operator)
    assert huge.parts[0].value.shape == (5000,)
    tiny = cdp.conformal_mean(records, ball, cdp.PureDP(1e-6), mesh=operator)
    assert tiny.parts[0].value.shape == (1,)


def test_a_ledger_is_charged_once_and_refuses_before_noise(ball, operator, records):
    with cdp.Ledger(cdp.PureDP(1.5)) as ledger:
        cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator, ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator, ledger=ledger)
        with pytest.raises(ValueError, match="upsilon"):
            cdp.conformal_mean(
                records, ball, cdp.PureDP(0.1), mesh=operator, ledger=ledger, upsilon=-1
            )
        assert ledger.spent == cdp.PureDP(1.0)


def test_releases_survive_json_and_seeds_void_them(ball, operator, records):
    release = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator)
    assert cdp.Release.from_json(release.to_json()) == release
    assert "density of the records" in release.report()
    seeded = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator, seed=1)
    assert isinstance(seeded.guarantee, cdp.Unproved)
    again = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator, seed=1)
    assert again.to_json() == seeded.to_json()


def test_a_groups_mean_is_that_of_the_group_alone(ball, operator, records):
    site = np.repeat(["a", "b"], [80, 120])

    def released(records, site, **how):
        secret = cdp.NoiseSecret(bytes(range(32)))
        how = {"mesh": operator, "secret": secret, "coverage": False} | how
        return cdp.conformal_mean(records, ball, cdp.PureDP(1.0), groups=site, **how)

    found = released(records, site)
    assert found.value.shape == (2, 3)
    for name in ("a", "b"):
        own = records[site == name]
        assert released(own, [name] * len(own))[name].to_json() == found[name].to_json()
    assert found.total == found.guarantee == cdp.PureDP(1.0)
    # another ball, another density, another mean: other noise
    others = ({"split": 0.4}, {"upsilon": 2.0}, {"cells": operator}, {"mesh": operator.graph})
    for how in (*others, {"contrast": 1.2}):
        assert not np.array_equal(released(records, site, **how).value, found.value)
    turned = [ball, cdp.Ball("sphere:2", [0.0, 0.1, 0.99498743710662], 0.7)]
    found = cdp.conformal_mean(records, turned, cdp.PureDP(20.0), groups=site)
    assert [release.ball_center[1] for release in found] == [0.0, pytest.approx(0.1)]
    assert ball.manifold.dist(found.value, POLE).max() < 0.4


def test_persons_known_by_name_count_once(ball, operator, records):
    persons = np.arange(200) // 4
    release = cdp.conformal_mean(records, ball, cdp.PureDP(1.0), mesh=operator, units=persons)
    assert release.n == release.parts[0].n == 50
    assert release.sensitivity == sensitivity.frechet_mean(ball, 50)
    assert "units-by-name" in release.assumptions


@pytest.mark.parametrize("call", [cdp.conformal_mean, density], ids=["mean", "density"])
def test_memory_for_all_groups_is_asked_for_before_anything_is_spent(
    call, ball, operator, records, monkeypatch
):
    asked, ledger = [], cdp.Ledger(cdp.PureDP(1.0))

    def refuse(size):
        asked.append(size)
        raise MemoryError

    monkeypatch.setattr("curvedp.statistics.call.ask_for_memory", refuse)
    how = {"mesh": operator, "ledger": ledger}
    for site in (["all"] * 200, [f"site {j // 2}" for j in range(200)]):
        with pytest.raises(MemoryError):
            call(records, ball, cdp.PureDP(1.0), groups=site, **how)
    assert not ledger.entries
    # 99 groups more: values at 300 nodes at least
    assert asked[1] - asked[0] >= 99 * 8 * 300


def test_options_say_which_nodes_and_refuse_to_make_them(ball, operator):
    plain = ConformalMean(split=0.2, method="kde", bandwidth=0.1)
    assert ConformalMean.from_options(plain.options()) == plain
    for name in ("mesh", "cells"):
        given = ConformalMean(**{name: operator})
        assert given.options()[name]["nodes"] == 300
        with pytest.raises(ValueError, match=f"leave {name} out"):
            ConformalMean.from_options(given.options())


def test_parameters_are_checked(ball, operator, records):
    pure = cdp.PureDP(1.0)
    for bad, word in (
        ({"split": 0.0}, "split"),
        ({"split": 1.0}, "split"),
        ({"method": "spline"}, "method"),
        ({"upsilon": 0.0}, "upsilon"),
        ({"contrast": 1.0}, "contrast"),
        ({"mesh": ball_mesh(cdp.Ball("spd:2", np.eye(2), 1.0), 20)}, "mesh is on"),
        ({"cells": ball_mesh(cdp.Ball("spd:2", np.eye(2), 1.0), 20)}, "cells are on"),
    ):
        with pytest.raises(ValueError, match=word):
            cdp.conformal_mean(records, ball, pure, **bad)
    with pytest.raises(TypeError, match="mesh"):
        cdp.conformal_mean(records, ball, pure, mesh=3)
