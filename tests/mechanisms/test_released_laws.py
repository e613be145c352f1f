"""The law of what the Riemannian Laplace mechanism releases, up to scales where it hardly exists.

A release is the drawn point, clipped in the chart at the ball's centre and rounded to a fine grid.
At the largest scales most draws lie hundreds of units away, where no double holds the point.
Distances and directions of releases are computed here from their coordinates. Each of about 150
comparisons rejects a right law, and accepts a wrong one, with probability FAILURE at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from chance import DEVIATIONS, FAILURE
from exact_laws import (
    RadialLaw,
    detectable_gap,
    hyperbolic_volume,
    ks_critical,
    ks_statistic,
    laplace,
    spd2_volume,
    spd3_volume,
)
from laplace_release_cases import (
    CENTRAL,
    CENTRAL_SPD,
    CENTRAL_SPD2,
    CLIP,
    EDGE,
    OFF_CENTRE,
    OFF_CENTRE_H,
    OFF_CENTRE_SPD2,
    Array,
    Case,
    N,
    mechanism,
    released,
)
from laplace_release_laws import (
    CDF,
    hyperbolic_clipped_turn_cdf,
    hyperbolic_dist_cdf,
    length_law,
    shape,
    shape_cdfs,
    spd2_off_centre,
)

#: Scale of the wrong laws, in units of the right one.
WRONG = 0.93


def distance_to(sample: Array, cdf: CDF, limit: float = np.inf) -> float:
    """The statistic of Kolmogorov and Smirnov for min(sample, limit): the values beyond are spread
    evenly over the rest of the probability."""
    short = sample < limit
    ranks = cdf(sample[short])
    if not short.all():
        below = float(cdf(np.array([limit]))[0])
        ranks = np.concatenate([ranks, np.linspace(below, 1, len(sample) - len(ranks))])
    return ks_statistic(ranks, lambda x: x)


def assert_law(sample: Array, cdf: CDF, limit: float = np.inf) -> None:
    assert len(sample) == 0 or distance_to(sample, cdf, limit) <= ks_critical(len(sample))


def assert_other_law(sample: Array, cdf: CDF, right: CDF, limit: float) -> None:
    """``cdf`` is far enough from the right law to be told from it, and is."""
    grid = np.linspace(0, limit, 2_001)
    assert np.abs(cdf(grid) - right(grid)).max() >= detectable_gap(len(sample))
    assert distance_to(sample, cdf, limit) > ks_critical(len(sample))


def perturbed(case: Case) -> Case:
    return replace(case, scale=WRONG * case.scale)


SIZES = [N, pytest.param(10 * N, marks=pytest.mark.slow)]
each_size = pytest.mark.parametrize("n", SIZES)


def each_case(*cases: Case) -> pytest.MarkDecorator:
    """Of a module's scope: all questions about a case are asked by the process that drew it."""
    return pytest.mark.parametrize("case", cases, ids=str, scope="module")


@pytest.mark.parametrize(
    ("spec", "scale", "volume"),
    [
        ("hyperboloid:2", 0.5, lambda: hyperbolic_volume(2)),
        ("hyperboloid:3", 0.3, lambda: hyperbolic_volume(3)),
        ("spd:2", 0.8, spd2_volume),
        ("spd:3", 0.4, spd3_volume),
    ],
    ids=["hyperboloid:2", "hyperboloid:3", "spd:2", "spd:3"],
)
def test_closed_forms_agree_with_the_volume_of_spheres(
    spec: str, scale: float, volume: Callable[[], Callable[[Array], Array]]
) -> None:
    profile, ln_volume = laplace(scale), volume()
    law = RadialLaw(lambda t: profile(t) + ln_volume(t), 40.0, 4_001)
    t = np.linspace(0, 10, 50)
    closed = length_law(Case(spec, scale)).cdf_up_to(10.0)
    np.testing.assert_allclose(closed(t), law.cdf(t), atol=1e-4)


@each_size
@each_case(*CENTRAL, *OFF_CENTRE)
def test_error_has_the_law_of_the_length_up_to_the_nearest_clipped_point(
    case: Case, n: int
) -> None:
    limit = case.edge - case.distance
    assert_law(released(case, n).error, length_law(case).cdf_up_to(limit), limit)


@each_case(*CENTRAL, *OFF_CENTRE)
def test_no_release_lies_beyond_the_clipping_radius(case: Case) -> None:
    """Up to the rounding to the grid."""
    assert case.omega * released(case).dist.max() <= CLIP * (1 + EDGE)


@each_size
@each_case(*CENTRAL_SPD)
def test_spectra_have_the_shape_of_the_noise(case: Case, n: int) -> None:
    """Clipping keeps the shape; most of what has gone wrong shows in that of clipped releases."""
    sample = released(case, n)
    for beyond in (0.0, case.edge):
        angles = shape(sample.coords[sample.dist >= beyond])
        for angle, cdf in zip(angles, shape_cdfs(case, beyond), strict=True):
            assert_law(angle, cdf)


@each_case(*CENTRAL_SPD2)
def test_clipped_releases_seldom_have_a_small_log_eigenvalue(case: Case) -> None:
    """The larger one, 16 sin(θ + π/4), lies in (0, 2)."""
    sample = released(case)
    larger = sample.coords[sample.dist > case.edge, 0]
    end = 3 * np.pi / 4
    share = np.diff(shape_cdfs(case, case.edge)[0](np.array([end - np.arcsin(2 / CLIP), end])))[0]
    count = int(((larger > 0) & (larger < 2)).sum())
    assert len(larger) == 0 or stats.binomtest(count, len(larger), share).pvalue > FAILURE


@each_case(*CENTRAL_SPD)
def test_eigenvectors_are_uniform_around_the_centre(case: Case) -> None:
    """So is the angle that two coordinates of the first make."""
    assert_law(released(case).turn, lambda x: 2 * x / np.pi)


@each_size
@each_case(*OFF_CENTRE_H)
def test_releases_around_other_points_of_hyperbolic_space_follow_the_law_of_cosines(
    case: Case, n: int
) -> None:
    sample = released(case, n)
    assert_law(sample.dist, hyperbolic_dist_cdf(case), case.edge)
    assert_law(sample.turn[sample.dist > case.edge], hyperbolic_clipped_turn_cdf(case))


@each_size
@each_case(*OFF_CENTRE_SPD2)
def test_releases_around_other_points_of_spd2_follow_the_density(case: Case, n: int) -> None:
    sample = released(case, n)
    far = sample.dist > case.edge
    dist, turn, clipped_turn, clipped_shape = spd2_off_centre(case)
    assert_law(sample.dist, dist, case.edge)
    assert_law(sample.turn[~far], turn)
    assert_law(sample.turn[far], clipped_turn)
    assert_law(shape(sample.coords[far])[0], clipped_shape)


@each_case(*CENTRAL)
def test_a_scale_seven_per_cent_off_is_rejected(case: Case) -> None:
    right, wrong = (length_law(c).cdf_up_to(case.edge) for c in (case, perturbed(case)))
    assert_other_law(released(case).error, wrong, right, case.edge)


@each_case(*OFF_CENTRE_H, *OFF_CENTRE_SPD2)
def test_a_scale_seven_per_cent_off_is_rejected_around_other_points(case: Case) -> None:
    if case.is_spd:
        right, wrong = (spd2_off_centre(c)[0] for c in (case, perturbed(case)))
    else:
        right, wrong = (hyperbolic_dist_cdf(c) for c in (case, perturbed(case)))
    assert_other_law(released(case).dist, wrong, right, case.edge)


@each_case(*CENTRAL_SPD2[-2:])
def test_shapes_of_a_scale_seven_per_cent_off_are_rejected(case: Case) -> None:
    right, wrong = (shape_cdfs(c, case.edge)[0] for c in (case, perturbed(case)))
    sample = released(case)
    assert_other_law(shape(sample.coords[sample.dist > case.edge])[0], wrong, right, np.pi)


@each_case(*CENTRAL, *OFF_CENTRE)
def test_expected_error_counts_clipping(case: Case) -> None:
    """E min(t, C + r), C the clipping radius and r the ball's."""
    exact = length_law(case).mean_within(CLIP / case.omega + case.radius)
    accuracy = 1e-5 if case.is_spd else 1e-7
    assert mechanism(case)[0].expected_error == pytest.approx(exact, rel=accuracy)


@each_case(*CENTRAL, *OFF_CENTRE)
def test_expected_error_bounds_the_mean_error(case: Case) -> None:
    errors = released(case).error
    bound = mechanism(case)[0].expected_error
    sampling = DEVIATIONS * errors.std() / np.sqrt(len(errors))
    assert errors.mean() <= bound + sampling
    if case.distance == 0:
        clipped = np.mean(released(case).dist > case.edge)
        assert errors.mean() >= (0.95 if clipped < 0.01 else 0.85) * bound - sampling
