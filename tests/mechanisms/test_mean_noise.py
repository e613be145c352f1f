"""The private mean under other statistics: given as a point, or by a mechanism of one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mechanisms import ChartGaussian, Mechanism, choose_mechanism, outward_scale
from curvedp.mechanisms.base import IntrinsicMechanism
from curvedp.privacy import Release

SPHERE = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)


def points(ball: cdp.Ball, n: int, spread: float = 0.1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    space = ball.manifold
    coords = spread * rng.standard_normal((n, space.dim))
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


# ------------------------------------------------------- points given as points

MOMENTS = [cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian]


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
        cdp.fourth_moment(records, SPHERE, asked, groups=[0, 200])[0],
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


@pytest.mark.parametrize("mechanism", ["Renamed", "K-norm gradient", "known to nobody"])
def test_a_mean_by_any_mechanism_carries_a_moment(mechanism: str) -> None:
    records = points(SPHERE, 200)
    mean = replace(cdp.frechet_mean(records, SPHERE, cdp.GDP(1.0)), mechanism=mechanism)
    for statistic in MOMENTS:
        assert statistic(records, SPHERE, cdp.GDP(1.0), mean=mean).guarantee == cdp.GDP(1.0)


def test_classes_without_a_name_or_a_profile_are_refused() -> None:
    with pytest.raises(TypeError, match="has no name"):
        choose_mechanism(SPHERE, cdp.GDP(1.0), Nameless)
    odd = type("Odd", (cdp.TangentGaussian,), {"profile": "cauchy"})
    with pytest.raises(TypeError, match="profile"):
        choose_mechanism(SPHERE, cdp.GDP(1.0), odd)
