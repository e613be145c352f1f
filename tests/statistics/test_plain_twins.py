"""Compiled code releases of groups, bit for bit, the values that a plain twin does of each."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest

import curvedp as cdp
import plain_releases as plain
from curvedp import _core
from curvedp.curvature import has_curved_hessian
from curvedp.mechanisms import ways_to_meet
from curvedp.statistics.call import Call
from group_cases import SIZES, groups, hmac_key, same_bits
from record_cases import places_of_all, sample_on

KEY = (5).to_bytes(32, "little")
OPTIONS = {"max_dist": 0.4, "records_per_unit": 3}

#: Balls in more precise numbers than the manifold's own.
WIDE = [place for place in places_of_all() if place.kind == "precise"]

#: Statistic, twin, guarantee, keywords.
CASES = {
    "variance": (cdp.frechet_variance, plain.plain_variance, cdp.GDP(1.0), {}),
    "variance, pure": (cdp.frechet_variance, plain.plain_variance, cdp.PureDP(50.0), {}),
    "variance, options": (
        cdp.frechet_variance,
        plain.plain_variance,
        cdp.ApproxDP(1.0, 1e-6),
        {"within": 0.9, "records_per_unit": 3},
    ),
    "fourth moment": (cdp.fourth_moment, plain.of_moment("fourth"), cdp.GDP(1.0), {}),
    "fourth moment, pure": (cdp.fourth_moment, plain.of_moment("fourth"), cdp.PureDP(2e3), OPTIONS),
    "covariance": (cdp.log_covariance, plain.of_moment("covariance"), cdp.GDP(20.0), {}),
    "covariance, pure": (
        cdp.log_covariance,
        plain.of_moment("covariance"),
        cdp.PureDP(2e3),
        OPTIONS,
    ),
    "hessian": (cdp.mean_hessian, plain.of_moment("hessian"), cdp.GDP(20.0), OPTIONS),
    "interval": (cdp.variance_interval, plain.plain_interval, cdp.GDP(1.0), {}),
    "region": (cdp.confidence_region, plain.plain_region, cdp.GDP(20.0), {}),
    "region, options": (
        cdp.confidence_region,
        plain.plain_region,
        cdp.ZCDP(0.02),
        OPTIONS | {"mechanism": "tangent-gaussian"},
    ),
    "adaptive, pure": (
        cdp.adaptive_mean,
        plain.plain_adaptive,
        cdp.PureDP(300.0),
        {"schedule": (0.3, 0.2, 0.5)},
    ),
    "adaptive": (cdp.adaptive_mean, plain.plain_adaptive, cdp.GDP(1.0), {}),
    "adaptive, tangent": (
        cdp.adaptive_mean,
        plain.plain_adaptive,
        cdp.GDP(1.0),
        {"schedule": (1, 1, 1, 1, 2), "mechanism": "tangent-gaussian"},
    ),
    "adaptive, options": (
        cdp.adaptive_mean,
        plain.plain_adaptive,
        cdp.ApproxDP(1.0, 1e-6),
        {"quantile": 0.7, "records_per_unit": 3},
    ),
}


def drawn(result):
    """The values that were drawn, in order: those of the parts, and of a moment its own."""
    if isinstance(result, cdp.VarianceInterval) and len(result.parts) == 1:
        result = result.parts[0]
    parts = [part.value for part in result.parts]
    names = [part.statistic for part in result.parts]
    is_moment = isinstance(result, cdp.Release) and names == ["Fréchet mean"]
    is_own = is_moment or isinstance(result, cdp.VarianceRelease)
    return [*parts, result.value] if is_own and "adaptive" not in result.statistic else parts


def way_of(mechanism, guarantee):
    """What the noise of a mechanism is calibrated to."""
    is_pure = mechanism == "Riemannian Laplace"
    ways = ways_to_meet(guarantee)
    return next(way for way in ways if isinstance(way, cdp.PureDP) == is_pure)


def least(statistic, ball):
    """Fewest records of a group."""
    dim = ball.manifold.dim
    return {cdp.confidence_region: dim + 2, cdp.variance_interval: 2}.get(statistic, 1)


def same(found, expected, ball):
    """Bit for bit, but for matrices, which NumPy turns from the frame to the base point."""
    if np.shape(found) == (ball.manifold.dim, ball.manifold.dim) and ball.manifold.dim > 1:
        return np.allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    return same_bits(found, expected)


def sizes_for(name):
    return [20, 7, 300, 33, 2000] if "adaptive" in name else [20, 7, 300, 33]


@pytest.mark.parametrize("name", CASES)
def test_groups_are_released_as_the_twin_releases_each(small_case, name):
    agree(name, *groups(small_case, sizes_for(name)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", WIDE, ids=repr)
def test_on_wide_balls_too_where_the_next_ball_stands_in_other_numbers(place, name):
    sizes = sizes_for(name)
    parts = [sample_on(place.ball, n, seed=n)[0].records for n in sizes]
    agree(name, place.ball, np.concatenate(parts), np.concatenate(([0], np.cumsum(sizes))))


def agree(name, ball, records, offsets):
    """Checks that groups of records are released as the twin releases each."""
    statistic, twin, guarantee, options = CASES[name]
    sizes = np.diff(offsets)
    if name == "hessian" and not has_curved_hessian(ball.manifold):
        with pytest.raises(ValueError, match="nothing to release"):
            statistic(records, ball, guarantee, groups=offsets)
        return
    kept = [g for g, size in enumerate(sizes) if size >= least(statistic, ball)]
    how = {"groups": offsets, "seed": 5, "skip_small": True, "coverage": False} | options
    releases = statistic(records, ball, guarantee, **how)
    stages = max(len(drawn(release)) for release in releases)
    for g in kept:
        own = records[offsets[g] : offsets[g + 1]]

        def streams(stage, g=g):
            return _core.Stream.of_groups(KEY, stages * g + stage)

        expected = twin(own, ball, way_of(releases.mechanism[g], guarantee), streams, **options)
        found = drawn(releases[g])
        assert len(found) == len(expected)
        for at, (value, other) in enumerate(zip(found, expected, strict=True)):
            # of a variance, whose mean lies too far out, the twin knows nothing
            assert other is None or same(value, other, ball), (g, at)


@pytest.mark.parametrize("guarantee", [cdp.PureDP(2000.0), cdp.GDP(1.0), cdp.GDP(0.01)], ids=repr)
def test_means_are_released_as_the_twin_releases_each(small_case, guarantee):
    ball, records, offsets = groups(small_case)
    how = {"groups": offsets, "seed": 5, "coverage": False}
    releases = cdp.frechet_mean(records, ball, guarantee, **how)
    for g, (start, end) in enumerate(itertools.pairwise(offsets)):
        value, design = plain.plain_mean(
            records[start:end],
            ball,
            way_of(releases.mechanism[g], guarantee),
            lambda _, g=g: _core.Stream.of_groups(KEY, g),
        )
        assert same_bits(releases.value[g], value), g
        assert releases.scale[g] == design.mechanism.scale
        assert releases.sensitivity[g] == design.sensitivity
        assert releases.solver_tolerance[g] == design.plan.tolerance
        assert releases.n[g] == SIZES[g]


@pytest.mark.parametrize("name", ["mean", "variance", "adaptive", "region"])
def test_the_secret_yields_the_documented_keys(name):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    records = ball.project(cdp.Sphere(2).random_point(4000, rng=3))
    secret, claim = cdp.NoiseSecret(bytes(range(32))), cdp.GDP(1.0)
    labels = np.repeat([f"site {g}" for g in range(40)], 100)
    statistic, value, twin = {
        "mean": (cdp.frechet_mean, cdp.Mean(), None),
        "variance": (cdp.frechet_variance, cdp.Variance(), plain.plain_variance),
        "adaptive": (cdp.adaptive_mean, cdp.AdaptiveMean(), plain.plain_adaptive),
        "region": (cdp.confidence_region, cdp.Region(), plain.plain_region),
    }[name]
    call = Call(statistic=value, balls=(ball,), guarantee=claim)
    how = {"secret": secret, "coverage": False}
    named = statistic(records, ball, claim, groups=labels, **how)
    numbered = statistic(records, ball, claim, groups=np.arange(0, 4001, 100), **how)
    for g in (0, 7, 39):
        own = records[100 * g : 100 * g + 100]
        for group, release in (
            (f"site {g}".encode(), named[f"site {g}"]),
            (struct.pack("<Q", g), numbered[g]),
        ):
            first = release.parts[0] if release.parts else release
            scale = math.nan if name == "variance" else first.scale  # of a mean, if one is released
            key = hmac_key(secret, call, group, ball, scale, own)

            def streams(stage, key=key):
                return _core.Stream.from_key(key, stage)

            expected = (
                [plain.plain_mean(own, ball, claim, streams)[0]]
                if twin is None
                else twin(own, ball, claim, streams)
            )
            assert same_bits(first.value, expected[0])
            if expected[-1] is not None:
                assert np.allclose(drawn(release)[-1] if twin else release.value, expected[-1])
        assert named[f"site {g}"].guarantee == claim


def test_a_large_group_among_small_ones_is_released_as_the_twin_releases_it():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    records = ball.project(cdp.Sphere(2).random_point(100_020, rng=1))
    how = {"groups": [0, 10, 100_010, 100_020], "seed": 5, "coverage": False}
    releases = cdp.adaptive_mean(records, ball, cdp.GDP(1.0), **how)
    expected = plain.plain_adaptive(
        records[10:100_010], ball, cdp.GDP(1.0), lambda k: _core.Stream.of_groups(KEY, 5 + k)
    )
    assert len(expected) == 5
    for part, value in zip(releases[1].parts, expected, strict=True):
        assert same_bits(part.value, value)
