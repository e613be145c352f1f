"""The noise of the private mean under other statistics: whose ball it is on, whose mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mechanisms import ChartGaussian, Mechanism, choose_mechanism, outward_scale
from curvedp.mechanisms.base import IntrinsicMechanism
from curvedp.privacy import Release
from curvedp.statistics.base_point import GivenPoints

SPHERE = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)


def points(ball: cdp.Ball, n: int, spread: float = 0.1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    space = ball.manifold
    coords = spread * rng.standard_normal((n, space.dim))
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


# --------------------------------------------------------- the ball of the release


def _two_balls() -> tuple[cdp.Ball, cdp.Ball]:
    """Balls of the hyperbolic plane, centres 1.5 apart."""
    space = cdp.Hyperboloid(2)
    there = space.exp(space.coords_to_tangent(np.array([1.5, 0.0]), space.origin), space.origin)
    return cdp.Ball(space, space.origin, 2.0), cdp.Ball(space, there, 2.0)


def _noise_square(mean: Release, ball: cdp.Ball) -> float:
    (square,) = GivenPoints.of(mean, (ball,), range(1), needs_noise=True).noise
    return float(square)


def _mean_at(ball: cdp.Ball, value: np.ndarray, scale: float = 0.1) -> Release:
    found = cdp.frechet_mean(points(ball, 100), ball, cdp.GDP(1.0))
    assert found.mechanism == "exponential-wrapped Gaussian"
    return replace(found, value=value, scale=scale)


def test_noise_of_a_mean_counts_in_the_chart_that_it_was_drawn_in() -> None:
    """sigma^2 (1 + (sinh t/t)^2) at the distance t from the centre of the release's own ball."""
    here, there = _two_balls()
    middle = here.manifold.exp(0.5 * here.manifold.log(there.center, here.center), here.center)
    for value, dist in ((here.center, 0.0), (middle, 0.75), (there.center, 1.5)):
        growth = 1 + (np.sinh(dist) / dist) ** 2 if dist else 2.0
        mean = _mean_at(here, value)
        assert _noise_square(mean, here) == pytest.approx(0.01 * growth, rel=1e-9)
        assert _noise_square(mean, there) == pytest.approx(0.01 * growth, rel=1e-6)


def test_variances_do_not_depend_on_whose_ball_the_mean_is_from() -> None:
    """The mean of 400 variances about means from another ball, noise of scale 0.1."""
    here, there = _two_balls()
    space, records = here.manifold, points(here, 400, spread=0.15)
    rng = np.random.default_rng(2)
    centre = space.tangent_to_coords(
        space.log(cdp.nonprivate.frechet_mean(records, space).value, here.center), here.center
    )
    found: dict[str, list[float]] = {"same": [], "other": []}
    for _ in range(400):
        noisy = centre + 0.1 * rng.standard_normal(2)
        mean = _mean_at(here, space.exp(space.coords_to_tangent(noisy, here.center), here.center))
        for name, ball in (("same", here), ("other", there)):
            release = cdp.frechet_variance(records, ball, cdp.GDP(20.0), mean=mean)
            found[name].append(float(release.value))
    same, other = np.mean(found["same"]), np.mean(found["other"])
    error = np.std(np.subtract(found["same"], found["other"])) / 20
    assert abs(same - other) < 5 * error + 1e-4, (same, other, error)


def test_a_mean_released_on_the_same_ball_gives_what_one_call_gives() -> None:
    records = points(SPHERE, 200)
    whole = cdp.frechet_variance(records, SPHERE, cdp.GDP(1.0), seed=1)
    again = cdp.frechet_variance(
        records, SPHERE, cdp.GDP(1.0).split([0.25, 0.75])[1], mean=whole.parts[0], seed=1
    )
    assert again.value == whole.value


# ------------------------------------------------------- points given as points

MOMENTS = [cdp.frechet_variance, cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian]


@pytest.mark.parametrize("statistic", MOMENTS)
def test_a_base_point_that_is_no_release_is_an_assumption(statistic: Any) -> None:
    records, asked = points(SPHERE, 200), cdp.GDP(1.0)
    given = statistic(records, SPHERE, asked, mean=SPHERE.center)
    assert "public-base-point" in given.assumptions
    assert "chosen without looking at the records" in " ".join(given.report().split())
    assert Release.from_json(given.to_json()).assumptions == given.assumptions
    mean = cdp.frechet_mean(records, SPHERE, asked)
    for release in (
        statistic(records, SPHERE, asked, mean=mean),
        statistic(records, SPHERE, asked),
    ):
        assert "public-base-point" not in release.assumptions


def test_statistics_that_release_their_own_mean_assume_nothing_of_it() -> None:
    records, asked = points(SPHERE, 200), cdp.GDP(1.0)
    for found in (
        cdp.confidence_region(records, SPHERE, asked),
        cdp.variance_interval(records, SPHERE, asked),
        cdp.adaptive_mean(records, SPHERE, asked),
        cdp.frechet_variance(records, SPHERE, asked, groups=[0, 200])[0],
    ):
        assert all("public-base-point" not in part.assumptions for part in found.parts)


# ------------------------------------------------- mechanisms of the user's own


class Renamed(cdp.TangentGaussian):
    """A built-in mechanism under another name."""

    name = "my Gaussian"


class Wider(IntrinsicMechanism):
    """Noise about the mean, with a calibration of its own."""

    name = "my wide Gaussian"
    proof = "none: for tests"
    profile = "gaussian"

    def _calibrate(self) -> float:
        return 2 * outward_scale(self.sensitivity, self._mu())

    def log_density(self, point: Any, true_value: Any) -> Any:
        return -(self.ball.manifold.dist(point, true_value) ** 2) / (2 * self.scale**2)


class Own(Wider):
    """A mechanism that draws in a way of its own."""

    name = "my own draws"

    def _release(self, true_value: Any, stream: Any, count: int) -> Any:
        return super()._release(true_value, stream, count)


class Nameless(Mechanism):
    """Without what a release prints."""

    profile = "gaussian"
    _calibrate = _build_noise = log_density = None  # type: ignore[assignment]


CALLS: dict[str, Any] = {
    "mean": lambda x, g, kind, ledger: cdp.frechet_mean(
        x, SPHERE, g, mechanism=kind, ledger=ledger
    ),
    "region": lambda x, g, kind, ledger: cdp.confidence_region(
        x, SPHERE, g, mechanism=kind, ledger=ledger
    ),
    "adaptive mean": lambda x, g, kind, ledger: cdp.adaptive_mean(
        x, SPHERE, g, mechanism=kind, ledger=ledger, schedule=[1, 1, 1]
    ),
    "means": lambda x, g, kind, ledger: cdp.frechet_mean(
        x, SPHERE, g, groups=[0, 100, 200], mechanism=kind, ledger=ledger
    ),
    "adaptive means": lambda x, g, kind, ledger: cdp.adaptive_mean(
        x, SPHERE, g, groups=[0, 100, 200], mechanism=kind, ledger=ledger
    ),
    "regions": lambda x, g, kind, ledger: cdp.confidence_region(
        x, SPHERE, g, groups=[0, 100, 200], mechanism=kind, ledger=ledger
    ),
}
#: Calls and mechanisms that are refused before they are paid for.
REFUSED = {
    *((name, Nameless) for name in CALLS),
    *((name, Own) for name in CALLS),
    # the noise on balls that shrink is known for the built-in ones
    *((name, kind) for name in ("adaptive mean", "adaptive means") for kind in (Renamed, Wider)),
}


@pytest.mark.parametrize("kind", [Renamed, Wider, Own, Nameless])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_a_mechanism_of_ones_own_comes_back_or_costs_nothing(
    name: str, kind: Any
) -> None:
    ledger, asked = cdp.Ledger(cdp.GDP(2.0)), cdp.GDP(1.0)
    if (name, kind) in REFUSED:
        with pytest.raises((TypeError, ValueError), match=kind.__name__):
            CALLS[name](points(SPHERE, 200), asked, kind, ledger)
        assert ledger.remaining == cdp.GDP(2.0)
        return
    found = CALLS[name](points(SPHERE, 200), asked, kind, ledger)
    assert ledger.spent == asked
    if name == "mean":
        assert found.mechanism == kind.name


@pytest.mark.parametrize("kind", [Renamed, Wider])
def test_regions_with_a_mechanism_of_ones_own_count_its_noise(kind: Any) -> None:
    records, asked = points(SPHERE, 200), cdp.GDP(1.0)
    region = cdp.confidence_region(records, SPHERE, asked, mechanism=kind, seed=1)
    builtin = "tangent-gaussian" if issubclass(kind, ChartGaussian) else "riemannian-gaussian"
    plain = cdp.confidence_region(records, SPHERE, asked, mechanism=builtin, seed=1)
    if kind is Renamed:
        assert np.array_equal(region.covariance, plain.covariance)
    else:
        assert np.trace(region.covariance) > np.trace(plain.covariance)
    assert region.parts[0].mechanism == kind.name
    expected = cdp.plan("confidence_region", SPHERE, asked, n=200, mechanism=kind)
    assert expected.low > 0


@pytest.mark.parametrize("kind", [Renamed, Wider])
def test_means_by_ones_own_mechanism_carry_a_variance(kind: Any) -> None:
    records, ledger = points(SPHERE, 200), cdp.Ledger(cdp.GDP(2.0))
    mean = cdp.frechet_mean(records, SPHERE, cdp.GDP(1.0), mechanism=kind)
    found = cdp.frechet_variance(records, SPHERE, cdp.GDP(1.0), mean=mean, ledger=ledger)
    assert ledger.spent == cdp.GDP(1.0)
    assert found.value >= 0


@pytest.mark.parametrize("mechanism", ["K-norm gradient", "known to nobody"])
def test_a_mean_of_unknown_noise_is_refused_before_the_variance_is_paid_for(mechanism: str) -> None:
    records, ledger = points(SPHERE, 200), cdp.Ledger(cdp.GDP(2.0))
    mean = replace(cdp.frechet_mean(records, SPHERE, cdp.GDP(1.0)), mechanism=mechanism)
    with pytest.raises(ValueError, match=mechanism):
        cdp.frechet_variance(records, SPHERE, cdp.GDP(1.0), mean=mean, ledger=ledger)
    assert ledger.remaining == cdp.GDP(2.0)
    # the others subtract nothing
    for statistic in (cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian):
        statistic(records, SPHERE, cdp.GDP(1.0), mean=mean)


def test_names_that_classes_share_say_nothing_where_the_classes_differ() -> None:
    from curvedp.mechanisms.choice import known_noise

    def clash(base: Any) -> Any:
        return type("Clash", (base,), {"name": "a name for two"})

    kinds = [clash(cdp.TangentGaussian)]
    assert known_noise("a name for two") == (True, "gaussian")
    kinds.append(clash(cdp.RiemannianGaussian))
    assert known_noise("a name for two") is None
    assert known_noise("tangent Gaussian") == (True, "gaussian")
    assert len(kinds) == 2


def test_classes_without_a_name_or_a_profile_are_refused() -> None:
    with pytest.raises(TypeError, match="has no name"):
        choose_mechanism(SPHERE, cdp.GDP(1.0), Nameless)
    odd = type("Odd", (cdp.TangentGaussian,), {"profile": "cauchy"})
    with pytest.raises(TypeError, match="profile"):
        choose_mechanism(SPHERE, cdp.GDP(1.0), odd)
