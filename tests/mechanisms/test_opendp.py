"""curvedp's mechanisms inside OpenDP: privacy maps, domains, composition."""

from __future__ import annotations

import pickle
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from curvedp.errors import MissingExtraError
from curvedp.opendp import make_frechet_mean
from curvedp.privacy.l2_noise import l2_epsilon
from mechanism_cases import EVERY

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_the_privacy_map_at_the_sensitivity_is_the_guarantee(case):
    mechanism = case.build()
    measurement = mechanism.to_opendp()
    claimed = mechanism.guarantee
    if isinstance(claimed, cdp.ApproxDP):  # OpenDP counts the pure epsilon of the noise
        claimed = cdp.PureDP(l2_epsilon(claimed.epsilon, claimed.delta, case.manifold.dim))
    if isinstance(claimed, cdp.PureDP):
        exact = Fraction(claimed.epsilon)
        assert measurement.output_measure == dp.max_divergence()
        growth = 2
    else:
        exact = Fraction(claimed.to_zcdp().rho)
        assert measurement.output_measure == dp.zero_concentrated_divergence()
        growth = 4
    loss = measurement.map(case.sensitivity)
    assert exact <= Fraction(loss) <= exact * (1 + Fraction(1, 2**50))
    assert measurement.map(0.0) == 0.0
    assert measurement.map(2 * case.sensitivity) == pytest.approx(growth * loss)
    assert measurement.check(case.sensitivity, loss)
    assert not measurement.check(case.sensitivity, 0.999 * loss)


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_what_comes_out_is_a_point_around_the_argument(case):
    mechanism = case.build(noise=1e-6)
    measurement = mechanism.to_opendp()
    point, _ = case.neighbours(mechanism.ball)
    drawn = measurement(point)
    assert bool(mechanism.ball.manifold.belongs(drawn))
    assert float(mechanism.ball.manifold.dist(drawn, point)) < 1e-3
    assert not np.array_equal(drawn, measurement(point))


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_the_domain_is_the_ball_and_others_are_projected_on_it(case):
    mechanism = case.build(noise=1e-6)
    ball, measurement = mechanism.ball, mechanism.to_opendp()
    inside, outside = case.point_at(ball, 0.4 * ball.radius), case.point_at(ball, 1.3 * ball.radius)
    domain = measurement.input_domain
    assert domain.member(inside)
    assert not domain.member(outside)
    assert not domain.member(np.full(ball.manifold.point_shape, np.nan))
    assert not domain.member(np.zeros(1))
    drawn = measurement(outside)
    assert float(ball.manifold.dist(drawn, ball.project(outside))) < 1e-3
    lost = measurement(np.full(ball.manifold.point_shape, np.nan))
    assert float(ball.manifold.dist(lost, ball.center)) < 1e-3


def test_balls_that_differ_have_domains_that_differ():
    noise = [
        cdp.RiemannianLaplace(ball, 0.1, cdp.PureDP(1.0)).to_opendp()
        for ball in (
            BALL,
            cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5),
            cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=np.nextafter(0.5, 1.0)),
            cdp.Ball("sphere:2", center=[0.0, 1e-9, 1.0], radius=0.5),
        )
    ]
    assert noise[0].input_domain == noise[1].input_domain
    assert noise[0].input_domain != noise[2].input_domain
    assert noise[0].input_domain != noise[3].input_domain


@pytest.mark.parametrize("distance", [-1.0, np.nan, np.inf, "1", None])
def test_a_distance_that_is_none_has_no_loss(distance):
    measurement = cdp.RiemannianLaplace(BALL, 0.1, cdp.PureDP(1.0)).to_opendp()
    with pytest.raises(Exception, match="d_in"):
        measurement.map(distance)


# ------------------------------------------------------------------ from records


@pytest.mark.parametrize(
    "guarantee",
    [cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ZCDP(0.5), cdp.ApproxDP(1.0, 1e-6)],
    ids=str,
)
def test_the_mean_of_records_has_the_loss_of_its_guarantee(guarantee):
    measurement = make_frechet_mean(BALL, 200, guarantee)
    way = guarantee.to_zcdp() if isinstance(guarantee, cdp.GDP) else guarantee
    exact = way.rho if isinstance(way, cdp.ZCDP) else way.epsilon
    assert measurement.map(0) == 0.0
    assert measurement.map(1) == pytest.approx(exact, rel=1e-5)  # (1, 1e-6) is met by 1.000001
    records = np.tile(BALL.center, (200, 1))
    assert measurement.input_domain.member(records)
    assert not measurement.input_domain.member(records[1:])
    assert measurement(records).shape == (3,)
    assert cdp.frechet_mean(records, BALL, guarantee).guarantee == guarantee


def test_the_loss_of_k_records_is_that_of_their_sensitivity():
    measurement = make_frechet_mean(BALL, 50, cdp.PureDP(1.0))
    total = make_frechet_mean(BALL, 50, cdp.PureDP(1.0)).map(50)
    for k in (2, 7, 50):
        ratio = sensitivity.frechet_mean(BALL, 50, records_per_unit=k)
        ratio /= sensitivity.frechet_mean(BALL, 50)
        assert measurement.map(k) == pytest.approx(ratio, rel=1e-3)
    assert measurement.map(1000) == total


def test_records_of_any_value_give_a_point_and_wrong_shapes_do_not():
    measurement = make_frechet_mean(BALL, 20, cdp.GDP(1.0))
    records = np.full((20, 3), np.nan)
    assert bool(BALL.manifold.belongs(measurement(records)))
    with pytest.raises(Exception, match="shape"):
        measurement(records[1:])


def test_opendp_composes_means_with_its_own_accounting():
    records = np.tile(BALL.center, (100, 1))
    mean = make_frechet_mean(BALL, 100, cdp.ZCDP(0.1))
    both = dp.c.make_composition([mean, mean])
    assert both.map(1) == pytest.approx(0.2)
    first, second = both(records)
    assert not np.array_equal(first, second)
    approximate = dp.c.make_zCDP_to_approxDP(mean)
    profile = approximate.map(1)
    ours = cdp.ZCDP(0.1).to_epsilon(1e-6)
    assert profile.epsilon(1e-6) == pytest.approx(ours, rel=1e-2)


# ------------------------------------------------------------------ around it


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_mechanisms_survive_pickling(case):
    mechanism = case.build()
    twin = pickle.loads(pickle.dumps(mechanism))
    assert type(twin) is type(mechanism)
    assert (twin.scale, twin.sensitivity) == (mechanism.scale, mechanism.sensitivity)
    assert twin.guarantee == mechanism.guarantee
    a, b = case.neighbours(mechanism.ball)
    np.testing.assert_array_equal(twin.log_density(a, b), mechanism.log_density(a, b))
    drawn = [m.sample(a, cdp._core.Stream.from_key(bytes(32), 0), 3) for m in (mechanism, twin)]
    np.testing.assert_array_equal(*drawn)


def test_without_the_extra_the_message_names_the_install_command(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "opendp":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'curvedp\[opendp\]'"):
        cdp.RiemannianLaplace(BALL, 0.1, cdp.PureDP(1.0)).to_opendp()


def test_nothing_beside_the_mean_tells_of_its_records():
    """A count would warn, which is an output that the privacy map does not cover."""
    rows = np.full((500, 3), np.nan)
    mean = make_frechet_mean(BALL, 500, cdp.ZCDP(rho=0.5))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mean(rows)
        assert not told
        cdp.frechet_mean(rows, BALL, cdp.ZCDP(rho=0.5))  # the control
        assert told
