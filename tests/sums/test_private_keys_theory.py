"""Keys that are shown from a count on (docs/proofs/sums-of-messages.md, 9), by exact sums."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

SHARE_OF_COUNT, SHARE_AFTER = 0.3, 0.95
MU = math.hypot(SHARE_OF_COUNT, SHARE_AFTER)


def normal(mu, c):
    return ndtr(mu / 2 - math.log(c) / mu) - c * ndtr(-mu / 2 - math.log(c) / mu)


def quantile(delta):
    """Φ⁻¹(1 - δ) to 40 digits, rounded up."""
    with mpmath.workdps(40):
        exact = mpmath.findroot(
            lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2) - mpmath.log(delta),
            mpmath.sqrt(-2 * mpmath.log(delta)),
        )
        return math.nextafter(float(exact), math.inf)


def threshold(k, deviation, delta):
    return k + 1 + math.ceil(deviation * quantile(delta))


def reaches(count, deviation, tau, rounding=0.0):
    """Exact probability that a count with noise, off by at most `rounding`, is tau or more."""
    with mpmath.workdps(40):
        z = (mpmath.mpf(tau) - count - mpmath.mpf(rounding)) / deviation
        return mpmath.erfc(z / mpmath.sqrt(2)) / 2


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-15])
@pytest.mark.parametrize("k", [1, 3, 100, 2**16])
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["vector", "projector", "counts"])
def test_a_key_of_one_unit_is_hardly_ever_shown(kind, share, k, delta):
    """The deviation is that of the noise for k records; rounding as the page bounds it."""
    deviation, rounding = {
        "vector": (math.sqrt(5) * k / share, 2.0**-24),
        "projector": (math.sqrt(50) * k / share, 25 * 2.0**-24),
        "counts": (2.9733 * k / share, 1.1e-5 * (1 + k)),
    }[kind]
    tau = threshold(k, deviation, delta)
    assert reaches(k, deviation, tau, rounding) <= delta
    # the controls: one deviation less, and a threshold that forgets that the unit itself counts
    assert reaches(k, deviation, tau - deviation, rounding) > delta
    assert reaches(k, deviation, tau - k - 1, rounding) > delta


def test_thresholds_of_counts_with_noise_of_their_own():
    """Integer noise ceil(Z k / mu), where the + 1 of the threshold pays for the rounding up."""
    for mu0, k, delta in [(0.1, 1, 1e-6), (0.5, 1, 1e-6), (1.0, 4, 1e-9)]:
        tau = k + 1 + math.ceil(quantile(delta) * k / mu0)
        # ceil(Z k / mu0) >= tau - k  if and only if  Z k / mu0 > tau - k - 1
        assert reaches(0, k / mu0, tau - k - 1) <= delta
        assert reaches(0, k / mu0, tau - k - 2 - k / mu0) > delta


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 1.0])
def test_thresholds_of_geometric_counts(epsilon):
    """P(K = j) ∝ q^|j|: the tail is summed; the table of epsilon = .1, .25, .5, 1 at 1e-6."""
    delta, q = 1e-6, math.exp(-epsilon)
    tau = 1 + math.ceil(math.log(1 / (delta * (1 + q))) / epsilon)
    assert tau == {0.1: 133, 0.25: 54, 0.5: 28, 1.0: 15}[epsilon]
    masses = [(1 - q) / (1 + q) * q**j for j in range(3000)]
    assert math.fsum(masses[tau - 1 :]) <= delta * (1 + 1e-12) < math.fsum(masses[tau - 2 :])


# ---- the whole release of one key: its count, and a step after it where it is shown


def counts(units, deviation):
    """Law of units + rint(deviation Z) on -400, ..., 400."""
    k = np.arange(-400, 401) - units
    return ndtr((k + 0.5) / deviation) - ndtr((k - 0.5) / deviation)


def profile(units, more, tau, c, after=SHARE_AFTER):
    """Exact P(A | more) - c P(A | units) at its largest; 0 units: the key does not occur."""
    deviation = 1 / SHARE_OF_COUNT
    shown = np.arange(-400, 401) >= tau
    laws = []
    for n in (units, more):
        law = counts(n, deviation) if n else np.zeros(801)
        laws.append((law[shown], law[~shown].sum() if n else 1.0))
    (low, hidden_low), (high, hidden_high) = laws
    total = max(hidden_high - c * hidden_low, 0.0)
    for p0, p1 in zip(low, high, strict=True):
        # where both data sets have the key a step of the share `after` follows
        both = p0 > 0 and p1 > 0
        total += p1 * normal(after, c * p0 / p1) if both else max(p1 - c * p0, 0.0)
    return total


DELTA = 1e-3
TAU = threshold(1, 1 / SHARE_OF_COUNT, DELTA)
FACTORS = np.exp([0.0, 0.5, 1.0, 2.0, 3.0, 5.0])


@pytest.mark.parametrize("c", FACTORS)
def test_the_delta_is_the_larger_one_and_not_the_sum(c):
    claimed = max(DELTA, normal(MU, c))
    for units in (0, 1, 2, TAU - 1, TAU, TAU + 5, 100):
        assert profile(units, units + 1, TAU, c) <= claimed + 1e-12
        assert profile(units + 1, units, TAU, c) <= claimed + 1e-12


def test_a_key_of_one_unit_needs_the_delta():
    """It is not mu-GDP: of large epsilon δ stays."""
    c = math.exp(5.0)
    assert profile(0, 1, TAU, c) > 0.2 * DELTA > 100 * normal(MU, c)


@pytest.mark.parametrize(
    ("tau", "after", "c"),
    [
        (TAU - 3, SHARE_AFTER, FACTORS[-1]),  # about one deviation less
        (TAU, math.hypot(SHARE_AFTER, 0.9), FACTORS[1]),  # a step after it that is not paid
    ],
    ids=["a lower threshold", "a step that is not paid"],
)
def test_controls_exceed_the_delta(tau, after, c):
    worst = max(
        max(profile(n, n + 1, tau, c, after), profile(n + 1, n, tau, c, after))
        for n in (0, 1, TAU, 100)
    )
    assert worst > 1.05 * max(DELTA, normal(MU, c))
