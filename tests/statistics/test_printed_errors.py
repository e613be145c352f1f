"""Printed errors say what they leave out, and leave it out where the text says so."""

from __future__ import annotations

import numpy as np

import curvedp as cdp
from curvedp.statistics import AdaptiveMean

MU = cdp.GDP(mu=1.0)
POLE = [0.0, 0.0, 1.0]


def clusters() -> tuple[np.ndarray, cdp.Ball]:
    """Nine tenths of the records at one place, the others 1.2 away."""
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.5)
    records = 0.02 * np.random.default_rng(0).standard_normal((2000, 2))
    records[::10, 0] += 1.2
    return records, ball


def rare_group() -> tuple[np.ndarray, np.ndarray, cdp.Ball]:
    """A twentieth of the records at x = 1, the others at x = 0."""
    ball = cdp.Ball("sphere:2", center=POLE, radius=0.8)
    rng, x = np.random.default_rng(1), (np.arange(1000) % 20 == 0) * 1.0
    coords = 0.06 * rng.standard_normal((1000, 2)) + np.outer(0.8 * (x - 0.5), [1.0, 0.0])
    return x, ball.manifold.exp(np.c_[coords, np.zeros(1000)], POLE), ball


SIDES = ("left", "right")


def words(release: cdp.Release) -> str:
    return " ".join(release.report().split())


def far_few() -> tuple[np.ndarray, cdp.Ball]:
    """A dozen of the records at the edge of the ball, the others at one place."""
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.5)
    records = 0.02 * np.random.default_rng(0).standard_normal((2000, 2))
    records[:12, 0] += 1.4
    return records, ball


def test_the_error_of_an_adaptive_mean_is_about_the_mean_on_the_public_ball():
    records, ball = clusters()
    releases = [cdp.adaptive_mean(records, ball, MU, seed=seed) for seed in range(20)]
    errors = [np.linalg.norm(one.value - records.mean(0)) for one in releases]
    assert 0.5 < np.mean(errors) / np.mean([one.expected_error for one in releases]) < 2
    text = f"{releases[0].expected_error:.6g} (about the Fréchet mean of the records projected on"
    assert text in words(releases[0])
    assert "no bound" in cdp.plan("adaptive_mean", ball, MU, n=2000).meaning
    assert "within limits, see report()" in releases[0].plot().ax_.get_title()
    plain = cdp.frechet_mean(records, ball, MU, seed=3)
    assert "no bound" not in plain.report()
    assert "(mean distance from that of the records)" in words(plain)


def test_the_error_of_an_adaptive_mean_is_no_bound():
    """Fewer far records than any release at that guarantee could tell: the text says so."""
    records, ball = far_few()
    releases = [cdp.adaptive_mean(records, ball, MU, seed=seed) for seed in range(20)]
    errors = [np.linalg.norm(own.value - records.mean(0)) / own.expected_error for own in releases]
    assert np.median(errors) > 4
    said = "a few records far from the others move that mean and look like none"
    assert said in words(releases[0])


def test_the_error_of_a_regression_is_that_from_the_fit_also_for_a_rare_group():
    """The old level of the quantile left the steps more than 20 printed errors away."""
    x, y, ball = rare_group()
    fit = cdp.nonprivate.geodesic_regression(x, y, ball.manifold)
    releases = [
        cdp.geodesic_regression(x, y, ball, MU, x_range=(0.0, 1.0), seed=seed) for seed in range(20)
    ]
    arrived = [own for own in releases if own.arrived]
    assert len(arrived) >= 15  # a false alarm in 200
    away = [np.mean(ball.manifold.dist(own.predict(x), fit.predict(x)) ** 2) for own in arrived]
    printed = [own.expected_error**2 for own in arrived]
    assert 0.4 < np.sqrt(np.mean(away) / np.mean(printed)) < 1.8
    assert "(from the fit of the records, by noise); of a prediction" in words(arrived[0])


def test_a_quantile_is_within_the_ranks_that_it_says():
    """Also of values for which no measure is worse: at one place without a short decimal."""
    values = np.concatenate((np.zeros(500), np.full(40, 33.33333333), np.full(500, 100.0)))
    found = [
        cdp.quantile(values, 0.5, low=0.0, high=100.0, guarantee=MU, seed=i) for i in range(200)
    ]
    below, up_to = (np.searchsorted(values, [one.value for one in found], side=s) for s in SIDES)
    off = np.maximum(np.maximum(below - 520, 520 - up_to), 0)
    assert (off > found[0].rank_error).sum() <= 30  # 10 are expected at most
    assert (off > found[0].scale).any()
    assert "within 33 ranks with probability 0.95" in words(found[0])


def test_a_test_of_two_samples_says_that_it_compares_laws():
    ball = cdp.Ball("sphere:2", center=POLE, radius=1.0)
    few, many = np.tile(POLE, (10, 1)), np.tile(POLE, (100, 1))
    test = cdp.two_sample_test(few, many, ball, cdp.GDP(5.0), seed=1)
    assert "their laws, not their means alone" in words(test)
    assert "(mean size of the noise of the value)" in words(test)


def test_tables_of_groups_say_it_too():
    records, ball = clusters()
    names = np.arange(2000) % 2
    adaptive = cdp.adaptive_mean(records, ball, MU, groups=names)
    assert "an estimate and no bound" in adaptive._repr_html_()
    assert "no bound" not in cdp.frechet_mean(records, ball, MU, groups=names)._repr_html_()


def test_what_is_said_is_found_by_the_names_of_the_statistics():
    from curvedp.privacy.wording import limits_of_error

    assert all(limits_of_error(kind.title) for kind in (AdaptiveMean, cdp.Quantile))
    assert not limits_of_error(cdp.Mean.title)
