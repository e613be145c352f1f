"""The share of the spread that a released geodesic explains."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples
from curvedp.errors import ConversionError
from curvedp.regression.r_squared import RSquaredRelease
from many_releases import copies

r_squared_file = sys.modules["curvedp.regression.r_squared"]
LINE = cdp.Ball("euclidean:1", [0.0], 1.0)
SPHERE = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.8)


def line(n: int, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0.0, 10.0, n)
    rng = np.random.default_rng(seed)
    return x, (0.1 * x - 0.5 + noise * rng.standard_normal(n))[:, None]


def fitted(x: np.ndarray, y: np.ndarray, ball: cdp.Ball = LINE) -> cdp.GeodesicRelease:
    return cdp.geodesic_regression(x, y, ball, cdp.GDP(100.0), x_range=(0.0, 10.0))


@pytest.mark.parametrize("ball", [LINE, SPHERE], ids=["line", "sphere"])
def test_it_is_that_of_the_fit_without_privacy(ball: cdp.Ball) -> None:
    space, rng = ball.manifold, np.random.default_rng(1)
    x = np.sort(rng.exponential(2.0, 3000)).clip(0.0, 10.0)  # off the middle of the range
    coords = 0.1 * rng.standard_normal((len(x), space.dim))
    coords[:, 0] += 0.1 * (x - 3.0)
    y = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    fit = fitted(x, y, ball)
    found = cdp.r_squared(x, y, fit, cdp.GDP(300.0)).r_squared
    exact = cdp.nonprivate.geodesic_regression(x, y, space).r_squared
    assert found == pytest.approx(exact, abs=0.01)


def test_its_noise_is_what_it_says() -> None:
    """The deviation of 1000 draws varies by 3 %: the limits are ten times as far."""
    x, y = line(2000)
    fit = fitted(x, y)
    for guarantee in (cdp.GDP(1.0), cdp.PureDP(1.0)):
        groups, times, points = copies(1000, x, y)
        releases = cdp.r_squared(times, points, fit, guarantee, **groups)
        found = np.array([release.r_squared for release in releases])
        printed = np.median([release.deviation for release in releases])
        assert 0.7 < printed / found.std() < 1.5
        assert abs(found.mean() - 0.89) < 0.02


@pytest.mark.parametrize("unit", [1, 3])
def test_no_neighbour_moves_the_pair_further_than_its_sensitivity(unit: int) -> None:
    rng, n, worst = np.random.default_rng(2), 12, 0.0
    fit = fitted(*line(500))
    release = cdp.r_squared(*line(n), fit, cdp.GDP(1.0), records_per_unit=unit)
    reach = release.max_dist
    for _ in range(400):
        x, y = rng.uniform(-5.0, 15.0, n), rng.uniform(-3.0, 3.0, (n, 1))
        other, moved = x.copy(), y.copy()
        changed = rng.choice(n, unit, replace=False)
        other[changed] = rng.choice([np.nan, -1e300, 0.0, 10.0], unit)
        moved[changed, 0] = rng.choice([np.nan, np.inf, -1.0, 1.0, 0.0], unit)
        pair = [
            r_squared_file._squares(LINE, b, a, fit, reach).mean(axis=1)
            for a, b in ((x, y), (other, moved))
        ]
        worst = max(worst, float(np.linalg.norm(pair[0] - pair[1])))
    assert 0.2 * release.sensitivity < worst <= release.sensitivity


def test_the_release_is_audited(monkeypatch) -> None:
    """All records at the far end, beside all but one; the control has a tenth of the noise."""
    fit = fitted(*line(500))
    x, y = np.zeros(20), -np.full((20, 1), 0.5)
    other = y.copy()
    other[0] = 1.0

    def released(records: np.ndarray) -> list[float]:
        groups, times, points = copies(1500, x, records)
        draws = cdp.r_squared(times, points, fit, cdp.GDP(1.0), **groups)
        return [float(release.value.sum()) for release in draws]

    result = audit_samples(
        released(other), released(y), cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE
    )
    assert result.passed, result.report()
    monkeypatch.setattr(r_squared_file, "_ROUNDING", -0.045)  # of a share of 1/20
    assert not audit_samples(
        released(other), released(y), cdp.GDP(1.0), n_thresholds=5, confidence=CONFIDENCE
    ).passed


def test_the_release_says_what_was_done_and_is_stored_whole() -> None:
    x, y = line(400)
    fit = fitted(x, y)
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        release = cdp.r_squared(x, y, fit, cdp.GDP(1.5), ledger=ledger)
        assert ledger.spent == cdp.GDP(1.5)
    assert release.max_dist == pytest.approx(1.5, abs=0.1)  # the radius and half the geodesic
    assert release.sensitivity == pytest.approx(math.sqrt(2) * release.max_dist**2 / 400)
    assert cdp.Release.from_json(release.to_json()) == release
    assert isinstance(cdp.Release.from_json(release.to_json()), RSquaredRelease)
    assert "explains" in release.report()
    seeded = [cdp.r_squared(x, y, fit, cdp.GDP(1.0), seed=3).value for _ in range(2)]
    assert np.array_equal(*seeded)


def test_a_fit_without_a_guarantee_voids_that_of_its_share() -> None:
    """What leaves holds the fit."""
    x, y = line(400)
    given = {"x_range": (0.0, 10.0), "seed": 1}
    fit = cdp.geodesic_regression(x, y, LINE, cdp.GDP(2.0), **given)
    release = cdp.r_squared(x, y, fit, cdp.GDP(1.0))
    assert isinstance(release.guarantee, cdp.Unproved)
    assert release.parts == (fit,)
    assert release.calibrated_to is None
    with cdp.Ledger(cdp.GDP(9.0)) as ledger:
        with pytest.raises(ConversionError):
            cdp.r_squared(x, y, fit, cdp.GDP(1.0), ledger=ledger)
        assert ledger.spent is None


def test_another_ball_than_that_of_the_fit_is_refused() -> None:
    """The longest distance follows from the centre: balls of one radius cannot share it."""
    x, y = line(400)
    fit = fitted(x, y)
    statistic = cdp.RSquared(fit)
    found = cdp.release(statistic, y, LINE, cdp.GDP(1.0), covariate=x)
    assert found.max_dist == cdp.r_squared(x, y, fit, cdp.GDP(1.0)).max_dist
    away, site = cdp.Ball("euclidean:1", [5.0], 1.0), np.repeat([0, 1], 200)
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        with pytest.raises(ValueError, match="the fit's own ball"):
            cdp.release(
                statistic,
                y,
                [LINE, away],
                cdp.GDP(1.0),
                covariate=x,
                groups=site,
                ledger=ledger,
            )
        assert ledger.spent is None


@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf, 1e308])
def test_no_value_raises_or_warns(fill: float) -> None:
    x, y = line(60)
    fit = fitted(*line(500))
    x[::3] = y[::4] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = cdp.r_squared(x, y, fit, cdp.GDP(9.0))
    assert np.isfinite(release.value).all()


def test_parameters_are_refused_before_the_ledger_is_asked() -> None:
    x, y = line(60)
    fit = fitted(*line(500))
    given = {"x_range": (0.0, 10.0), "tau": 0.3, "v_max": 1.0}
    with_tau = cdp.geodesic_regression(x, y, LINE, cdp.GDP(9.0), **given)
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        with pytest.raises(ValueError, match="without tau"):
            cdp.r_squared(x, y, with_tau, cdp.GDP(1.0), ledger=ledger)
        with pytest.raises(TypeError, match="GeodesicRelease"):
            cdp.r_squared(x, y, None, cdp.GDP(1.0), ledger=ledger)
        with pytest.raises(ValueError, match="max_dist"):
            cdp.r_squared(x, y, fit, cdp.GDP(1.0), max_dist=0.0, ledger=ledger)
        with pytest.raises(ValueError, match="shape"):
            cdp.r_squared(x[:, None], y, fit, cdp.GDP(1.0), ledger=ledger)
        with pytest.raises(ValueError, match="covariate must be given"):
            cdp.r_squared(x[:5], y, fit, cdp.GDP(1.0), ledger=ledger)
        assert ledger.spent is None
