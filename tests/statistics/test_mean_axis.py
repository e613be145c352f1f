"""Mean axes in space: their law without noise, coverage and level on what nobody tuned on."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import curvedp as cdp
from chance import FAILURE
from curvedp import directions
from curvedp.directions.axis import axis_vectors
from curvedp.directions.uniformity import released_mean
from curvedp.statistics.region import ConfidenceRegion

FINE = cdp.GDP(mu=1e4)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def tensor(x):
    x = unit(x)
    return x.T @ x / len(x)


def _turned(rng, n):
    """Either sign, a fifth about another axis, not across the first."""
    near = rng.standard_normal((n, 3)) * 0.1 + [0.6, 0.0, 0.8]
    far = rng.standard_normal((n, 3)) * 0.3 + [1.0, 0.2, 0.0]
    return rng.choice([-1, 1], (n, 1)) * np.where(rng.random((n, 1)) < 0.2, far, near)


def _broad(rng, n):
    return rng.standard_normal((n, 3)) * [1.0, 1.2, 1.8]


def _girdle(rng, n):
    """Two eigenvalues nearly equal."""
    return rng.standard_normal((n, 3)) * [1.0, 0.95, 0.2]


def _of_four(rng, n):
    return rng.standard_normal((n, 4)) * [1.0, 0.8, 0.6, 0.2]


LAWS = {"skew": _turned, "broad": _broad, "girdle": _girdle, "four": _of_four}


def true_axis(name):
    if name != "skew":
        return np.eye(4 if name == "four" else 3)[2 if name == "broad" else 0]
    return np.linalg.eigh(tensor(_turned(np.random.default_rng(99), 400_000)))[1][:, -1]


def mean_of(x, guarantee, seed):
    return directions.mean_axis(x, f"projective:{x.shape[1] - 1}", guarantee, seed=seed)


def means_of(samples, guarantee):
    """Of data sets, shape (runs, n, p), each with noise of its own."""
    runs, n, p = samples.shape
    found = directions.mean_axis(
        samples.reshape(-1, p),
        f"projective:{p - 1}",
        guarantee,
        groups=np.arange(0, runs * n + 1, n),
        seed=1,
    )
    return list(found.values())


@pytest.mark.parametrize("p", [3, 4, 6])
def test_vectors_of_axes_have_length_one_and_squared_cosines(p):
    x = unit(np.random.default_rng(p).standard_normal((40, p)))
    t = axis_vectors(x)
    assert t.shape == (40, p * (p + 1) // 2 - 1)
    np.testing.assert_allclose(t @ t.T, (p * (x @ x.T) ** 2 - 1) / (p - 1), atol=1e-14)
    np.testing.assert_array_equal(axis_vectors(-x), t)
    assert np.linalg.norm(t, axis=1).max() <= 1 + 1e-14  # so they lie in the ball


@pytest.mark.parametrize("p", [3, 5])
def test_without_noise_it_is_the_orientation_tensor_and_binghams_test(p):
    rng, n = np.random.default_rng(1), 2000
    x = rng.standard_normal((n, p)) * np.linspace(1.0, 1.1, p)
    mean, wanted = mean_of(x, FINE, 1), tensor(x)
    np.testing.assert_allclose(mean.orientation_tensor, wanted, atol=1e-6)
    np.testing.assert_allclose(mean.eigenvalues, np.linalg.eigvalsh(wanted)[::-1], atol=1e-6)
    np.testing.assert_allclose(mean.axes @ mean.axes.T, np.eye(p), atol=1e-12)
    bingham = p * (p + 2) / 2 * n * (np.trace(wanted @ wanted) - 1 / p)
    own = stats.chi2.sf(bingham, p * (p + 1) // 2 - 1)
    assert mean.uniformity_p_value == pytest.approx(own, rel=1e-2)
    assert mean.contains(mean.mean_axis)
    assert mean.p_value(mean.mean_axis) == 1.0


def test_both_signs_lengths_and_longitude_and_latitude_are_one_axis():
    rng = np.random.default_rng(2)
    x = _turned(rng, 400)
    first = mean_of(x, cdp.GDP(1.0), 3)
    for other in (-x, 7 * x, cdp.Projective(2).to_lonlat(unit(x))):
        mean = directions.mean_axis(other, cdp.Projective(2), cdp.GDP(1.0), seed=3)
        np.testing.assert_allclose(mean.mean_axis, first.mean_axis, atol=1e-6)
    v = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -2.0]])
    assert np.ptp(first.p_value(v)) < 1e-12


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("n", "mu"), [(80, 1.0), (600, 0.5)])
def test_the_set_covers_the_mean_axis(name, n, mu):
    true, runs = true_axis(name), 120
    samples = [LAWS[name](np.random.default_rng(1000 + k), n) for k in range(runs)]
    means = means_of(np.stack(samples), cdp.GDP(mu))
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    assert sum(bool(mean.contains(true)) for mean in means) >= least
    if n == 600 and name in ("skew", "broad"):  # control: a covariance of a sixteenth
        assert sum(bool(_with_less(mean).contains(true)) for mean in means) < least


def _with_less(mean):
    region = dataclasses.replace(mean.region, covariance=mean.region.covariance / 16)
    return dataclasses.replace(mean, region=region)


def _known(mean, matrix, scale, rng):
    """The same with a released tensor of known covariance about a true one."""
    p = len(matrix)
    true = np.tensordot(mean._basis, matrix - np.eye(p) / p, 2)
    r = true + scale * rng.standard_normal(len(true))
    region = dataclasses.replace(
        mean.region, estimate=r, covariance=scale**2 * np.eye(len(r)), dof=math.inf
    )
    return dataclasses.replace(mean, region=region)


@pytest.mark.parametrize("gap", [0.0, 0.5, 2.0, 8.0])
def test_the_set_covers_however_near_two_eigenvalues_are(gap):
    rng, runs, scale = np.random.default_rng(4), 1000, 0.003
    mean = mean_of(_broad(rng, 200), cdp.GDP(1.0), 1)
    values = np.array([0.4 + gap * scale, 0.4, 0.2 - gap * scale])
    draws = [_known(mean, np.diag(values), scale, rng) for _ in range(runs)]
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    assert sum(bool(own.contains([1.0, 0.0, 0.0])) for own in draws) >= least
    if gap == 0.5:  # control: the order of the release is taken for that of the population
        wrong = sum(
            bool(own.contains([1.0, 0.0, 0.0])) and abs(own.mean_axis[0]) > math.sqrt(0.5)
            for own in draws
        )
        assert wrong < least


def test_the_test_of_uniformity_keeps_its_level_and_has_power():
    rng, n, mu = np.random.default_rng(5), 100, 0.5

    def p_values(stretch, runs):
        x = rng.standard_normal((runs, n, 3)) * [1.0, 1.0, stretch]
        return [mean.uniformity_p_value for mean in means_of(x, cdp.GDP(mu))]

    none = p_values(1.0, 150)
    assert stats.kstest(none, "uniform").pvalue > 1e-3  # seeded
    assert np.mean(np.less(p_values(2.5, 30), 0.05)) > 0.9
    # control: the noise of the release left out of the law
    scale = released_mean(mean_of(np.eye(3)[[0] * n], cdp.GDP(mu), 0).region).scale
    ratio = (1 / (n * 5) + scale**2) * n * 5
    wrong = stats.chi2.sf(ratio * stats.chi2.isf(none, 5), 5)
    assert stats.kstest(wrong, "uniform").pvalue < 1e-3


def test_the_half_angle_is_where_the_set_ends():
    mean = mean_of(_turned(np.random.default_rng(7), 500), cdp.GDP(1.0), 2)
    turn = np.linspace(0, 2 * np.pi, 2000)
    rays = np.c_[np.cos(turn), np.sin(turn)] @ mean.axes[1:]

    def at(angle):
        return mean.contains(np.cos(angle) * mean.mean_axis + np.sin(angle) * rays)

    assert at(0.999 * mean.half_angle).any()
    assert not at(1.001 * mean.half_angle).any()
    assert mean.half_angle < 0.2
    assert "may be preferred as much" not in mean.report()


def test_axes_all_round_and_girdles_are_said():
    rng = np.random.default_rng(8)
    none = mean_of(rng.standard_normal((300, 3)), cdp.GDP(1.0), 1)
    assert none.contains(np.eye(3)).all()
    assert none.half_angle == pytest.approx(math.pi / 2)
    girdle = mean_of(rng.standard_normal((3000, 3)) * [1.0, 1.0, 0.1], cdp.GDP(1.0), 1)
    assert girdle.contains(np.eye(3)).tolist() == [True, True, False]
    for mean in (none, girdle):
        assert "round a girdle or all round" in mean.report()


def test_groups_persons_and_stored_regions():
    rng = np.random.default_rng(9)
    x, site = _turned(rng, 900), np.repeat(["a", "b", "c"], [447, 450, 3])
    found = directions.mean_axis(
        x, "projective:2", cdp.GDP(1.0), groups=site, skip_small=True, seed=1
    )
    assert [label for label, _ in found.items()] == ["a", "b"]
    assert "skipped" in found.report()
    np.testing.assert_array_equal(found.to_pandas().loc["a", "mean_axis"], found["a"].mean_axis)
    mean = directions.mean_axis(
        x, "projective:2", cdp.GDP(1.0), units=np.repeat(np.arange(300), 3), seed=1
    )
    assert mean.region.n == 300
    region = ConfidenceRegion.from_json(mean.region.to_json())
    again = directions.MeanAxis(region, "projective:2")
    assert again.report() == mean.report()
    assert repr(again) == repr(mean)
    assert "nothing is promised" in mean.report()  # of a seed
    assert "longitude" in mean.report()
    assert "mean axis" in mean._repr_html_()
    assert directions.MeanAxis.from_json(mean.to_json()).report() == mean.report()
    for other in ("hours", "turns", ["degrees"], ""):
        with pytest.raises(ValueError, match=r"hours|one of"):
            directions.MeanAxis(region, "projective:2", other)
    bare = directions.MeanAxis(
        dataclasses.replace(region, parts=(), guarantee=None), "projective:2"
    )
    assert "uniformity" not in bare.report()


def test_a_stored_axis_whose_small_tails_underflow_is_read_again():
    axes = np.random.default_rng(0).standard_normal((5000, 3)) / 10 + [0.0, 0.0, 1.0]
    mean = directions.mean_axis(axes, "projective:2", cdp.GDP(5.0), seed=1)
    with np.errstate(under="raise"), pytest.raises(FloatingPointError):
        mean.report()  # the control
    mean = directions.MeanAxis(mean.region, mean.manifold)  # without its cached reach
    assert directions.MeanAxis.from_json(mean.to_json()).half_angle == mean.half_angle


def test_longitude_and_latitude_are_read_in_the_unit_that_is_said():
    places = np.random.default_rng(5).normal([9.0, 48.0], 3.0, (400, 2))
    wanted = directions.mean_axis(places, "projective:2", cdp.GDP(1.0), seed=1)
    middle = np.array([9.0, 48.0])
    for records, said in (
        (np.radians(places), "radians"),
        (places, "degrees"),
        (pd.DataFrame(np.radians(places), columns=["lon_rad", "lat_rad"]), None),
    ):
        found = directions.mean_axis(
            records, "projective:2", cdp.GDP(1.0), angle_units=said, seed=1
        )
        np.testing.assert_allclose(found.mean_axis, wanted.mean_axis, atol=1e-9)
        in_its_unit = np.radians if found.angle_units == "radians" else np.asarray
        assert found.contains(in_its_unit(middle))
        assert not found.contains(in_its_unit(middle + 30.0))
    for records, space, unit in (
        (places, "projective:2", "hours"),
        (np.ones((9, 3)), "projective:2", "degrees"),
        (np.ones((9, 4)), "projective:3", "radians"),
    ):
        with pytest.raises(ValueError, match=r"hours|two numbers|angle_units is of"):
            directions.mean_axis(records, space, cdp.GDP(1.0), angle_units=unit)


def test_no_value_raises():
    for rows in (np.full((60, 3), np.nan), np.zeros((60, 3)), np.full((60, 3), 1e308)):
        mean = mean_of(rows, cdp.GDP(1.0), 1)
        assert np.isfinite(mean.mean_axis).all()
        assert mean.report()
    bad = _turned(np.random.default_rng(3), 3000)
    whole = mean_of(bad, cdp.GDP(1.0), 1)
    bad[:3] = [[np.nan, 0, 1], [np.inf, 1, 1], [5e-324, 0, 0]]
    assert cdp.Projective(2).dist(mean_of(bad, cdp.GDP(1.0), 1).mean_axis, whole.mean_axis) < 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(manifold="sphere:2"), "use mean_direction"),
        (dict(manifold="projective:1"), "use mean_direction"),
        (dict(timing="steady"), "mean_axis reads .* leave out timing"),
        (dict(guarantee=cdp.PureDP(1.0)), "mean_axis needs Gaussian noise"),
        (dict(records=np.zeros((5, 4))), "shape"),
        (dict(level=1.5), "level"),
    ],
)
def test_what_is_wrong_is_refused(given, message):
    x = _turned(np.random.default_rng(0), 50)
    call = {"records": x, "manifold": "projective:2", "guarantee": cdp.GDP(1.0)} | given
    with pytest.raises((ValueError, TypeError), match=message):
        directions.mean_axis(**call)


def test_a_region_of_another_space_is_refused():
    mean = mean_of(_turned(np.random.default_rng(0), 50), cdp.GDP(1.0), 1)
    with pytest.raises(ValueError, match="not that of"):
        directions.MeanAxis(mean.region, "projective:3")
    with pytest.raises(ValueError, match="directions are on spheres"):
        directions.mean_direction(np.eye(3), "projective:2", cdp.GDP(1.0))
