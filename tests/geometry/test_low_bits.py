"""The attack on low-order bits, on releases that leak and on some that do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import exact, low_bits
from curvedp.audit.discrete import part_of_draws
from manifold_list import CASES

SEED = 20_261_122
PURE, GAUSSIAN = cdp.PureDP(1.0), cdp.GDP(mu=0.1)


def neighbours(a, b):
    """Data sets of five equal records but for the first, a or b."""
    first = np.zeros((5, *np.shape(a)))
    second = first.copy()
    first[0], second[0] = a, b
    return first, second


def audited(release, claimed=PURE, **options):
    options = {"n_releases": 1_000, "claimed": claimed} | options
    return low_bits(release, *neighbours(1.0, -1.0), **options)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_points_satisfy_the_equations_that_the_audit_looks_at(case):
    space = case.manifold
    point, other = space.random_point(rng=1).ravel(), 1.001 * space.random_point(rng=2).ravel()
    for equation in space._equations():
        off = []
        for row in (point, other):
            part = row[equation.entries]
            terms = part**2 if equation.is_squared else part.copy()
            terms[0] *= equation.first
            scale = np.abs(terms).sum() + abs(float(equation.value))
            off.append(abs(terms.sum() - float(equation.value)) / scale)
        assert off[0] < 1e-13
        # the control: of a sum that is 0 multiples are as good
        assert off[1] > 1e-6 or not equation.value


# ------------------------------------------------------------------ releases that leak


def test_noise_on_a_grid_passes():
    generator = np.random.default_rng(SEED)
    result = audited(lambda data: 2.0**-20 * np.rint(2.0**20 * generator.laplace(data.sum(), 2.0)))
    assert result.passed
    assert result.claimed_value == 1.0


def test_a_last_bit_that_is_the_record_is_caught_and_named():
    generator = np.random.default_rng(SEED)

    def leak(data):
        noisy = 1.5 + 2.0**-20 * generator.integers(-100, 100)
        return noisy + 2.0**-52 * (data.sum() > 0)

    result = audited(leak)
    assert not result.passed
    assert result.lower_bound > 2.5
    assert "the value" in result.strongest.description
    assert result.strongest.description in result.report()
    assert "CLAIM REFUTED" in result.report()


@pytest.mark.parametrize(
    "claimed",
    [cdp.PureDP(0.1), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), GAUSSIAN, cdp.Unproved(PURE, "-")],
    ids=["pure", "approx", "zcdp", "gdp", "unproved"],
)
def test_every_kind_of_claim_is_refuted_by_a_bit_that_is_often_right(claimed):
    """The last bit is the record's sign with probability 0.97."""
    generator = np.random.default_rng(SEED)

    def leak(data):
        shown = (data.sum() > 0) ^ (generator.random() < 0.03)
        entries = 1.5 + 2.0**-20 * generator.integers(-100, 100, 3)
        entries[1] += 2.0**-52 * shown
        return entries

    result = audited(leak, claimed)
    assert not result.passed
    assert result.strongest.hits < result.strongest.trials


def planar(generator, scale, step, redundant):
    """A mean in the tangent plane at the north pole, as a point of the sphere: rounded in all three
    coordinates and rescaled, or in the two that are free."""

    def release(data):
        x, y = data.mean(axis=0)
        z = np.sqrt(1 - x * x - y * y)
        dx, dy = generator.normal(scale=scale, size=2)
        if redundant:
            point = np.array([x + dx, y + dy, z - x * dx - y * dy])
            point = np.rint(point / step) * step
            return point / np.sqrt(point @ point)
        x, y = np.rint(np.array([x + dx, y + dy]) / step) * step
        return np.array([x, y, np.sqrt(1 - x * x - y * y)])

    return release


@pytest.mark.parametrize("redundant", [True, False], ids=["redundant", "free"])
def test_a_redundant_coordinate_is_caught_and_free_ones_pass(redundant):
    """Means 2e-11 apart at the radius where the third coordinate jumps by a last bit."""
    generator = np.random.default_rng(SEED)
    jump = np.sqrt(8.5 * 2.0**-53)
    data_a = np.tile([jump, 0.0], (10, 1))
    data_b = data_a.copy()
    data_a[0, 0] -= 1e-10
    data_b[0, 0] += 1e-10
    release = planar(generator, 2e-10, 2.0**-53, redundant)
    result = low_bits(
        release, data_a, data_b, claimed=GAUSSIAN, manifold="sphere:2", n_releases=1_000
    )
    assert result.passed is not redundant


def off_the_manifold(generator, spec, shift):
    """Points of a manifold, moved by a shift where the record is positive."""
    manifold = cdp.as_manifold(spec)

    def release(data):
        point = manifold.random_point(1, rng=generator).reshape(manifold.point_shape)
        return shift(point, generator) if data.sum() > 0 else point

    return release


def stretched(point, generator):
    return point * (1 + 2.0**-40)


def lifted(point, generator):
    return point + 2.0**-40


def skewed(point, generator):
    skew = 2.0**-40 * generator.standard_normal(point.shape)
    return point + np.triu(skew)


@pytest.mark.parametrize(
    ("spec", "shift", "named"),
    [
        ("sphere:2", stretched, "|value|^2 - R^2"),
        ("sphere:2:3.0", stretched, "|value|^2 - R^2"),
        ("kendall:4", stretched, "|value|^2 - R^2"),
        ("kendall:4", lifted, "of the landmarks"),
        ("hyperboloid:2", stretched, "<value, value> + R^2"),
        ("hyperboloid:2:-0.3", stretched, "<value, value> + R^2"),
        ("spd:3", skewed, "asymmetry"),
    ],
)
def test_points_off_the_manifold_are_caught_by_its_equation(spec, shift, named):
    generator = np.random.default_rng(SEED)
    result = audited(off_the_manifold(generator, spec, shift), manifold=spec)
    assert not result.passed
    assert any(
        named in event.description and event.lower_bound > result.claimed_value
        for event in result.events
    )


def test_values_that_occur_at_one_data_set_only_are_caught():
    """Any bits: among values that repeat, two belong to one data set each."""
    generator = np.random.default_rng(SEED)
    common = generator.random(6)

    def release(data):
        own = np.pi if data.sum() > 0 else np.e
        return own if generator.random() < 0.2 else generator.choice(common)

    result = audited(release)
    assert not result.passed


def test_a_multiple_of_the_step_that_is_missed_at_one_data_set_is_caught():
    generator = np.random.default_rng(SEED)

    def release(data):
        value = 0.001 * generator.integers(100, 200)
        return value if data.sum() > 0 else value * (1 + 2.0**-52 * generator.integers(0, 3))

    result = audited(release, step=0.001)
    assert not result.passed


# ------------------------------------------------------------------ no false alarms


def test_correct_releases_are_flagged_no_more_often_than_stated():
    """200 audits at 80 % confidence: more than 69 flags would have probability below 1e-6."""
    assert stats.binom.sf(69, 200, 0.2) < 1e-6
    generator = np.random.default_rng(SEED)

    def release(data):
        return generator.normal(data.sum(), 2.0)

    flagged = sum(
        not audited(release, cdp.GDP(1.0), n_releases=80, confidence=0.8).passed for _ in range(200)
    )
    assert flagged <= 69


def test_events_and_counts_come_from_different_draws():
    """A first half that lies about the release cannot forge a bound."""
    generator = np.random.default_rng(SEED)
    calls = iter(range(10**9))

    def release(data):
        honest = float(generator.integers(0, 64))
        lie = next(calls) % 2_000 < 1_000
        return float(data.sum() > 0) if lie else honest

    result = audited(release, cdp.PureDP(0.1), n_releases=2_000)
    assert result.passed
    assert result.lower_bound == 0.0


@pytest.mark.parametrize("count", [8, 9, 10, 11, 1_001])
def test_half_of_the_draws_count(count):
    sizes = np.bincount(part_of_draws(count))
    assert sizes.sum() == count
    assert sizes[2] == (count + 1) // 2
    assert sizes.min() >= 2


def test_constant_missing_and_infinite_values_are_audited():
    for value in (0.0, -0.0, np.nan, np.inf, 5e-324, 1.7e308, np.zeros((2, 2))):
        assert audited(lambda data, value=value: value, step=0.5, n_releases=20).passed


# ------------------------------------------------------------------ what it takes


def test_groups_count_as_releases_and_say_what_is_claimed():
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.1)
    calls = []

    def release(data):
        calls.append(len(data))
        offsets = np.arange(31) * len(data)
        return cdp.frechet_mean(np.tile(data, (30, 1)), ball, GAUSSIAN, groups=offsets)

    records = ball.project(np.random.default_rng(SEED).normal(size=(9, 3)))
    result = low_bits(release, records, records, n_releases=100, confidence=CONFIDENCE)
    assert calls == [9] * 8
    assert result.claimed == GAUSSIAN
    assert result.passed
    assert any("R^2" in event.description for event in result.events)
    assert any("grid" in event.description for event in result.events)


@pytest.mark.parametrize("statistic", [cdp.frechet_variance, cdp.log_covariance])
def test_variances_and_covariances_are_audited(statistic):
    ball = cdp.Ball("spd:2", center="identity", radius=0.5)
    data_a = np.tile(np.eye(2), (50, 1, 1))
    data_b = data_a.copy()
    data_b[0] *= np.exp(0.5 / np.sqrt(2))
    result = low_bits(
        lambda data: statistic(data, ball, cdp.GDP(mu=1.0)),
        data_a,
        data_b,
        n_releases=100,
        confidence=CONFIDENCE,
    )
    assert result.passed


def test_what_makes_no_audit_is_refused():
    with pytest.raises(ValueError, match="at least 8"):
        audited(np.sum, n_releases=7)
    with pytest.raises(ValueError, match="confidence"):
        audited(np.sum, confidence=1.0)
    with pytest.raises(ValueError, match="step"):
        audited(np.sum, step=-1.0)
    with pytest.raises(ValueError, match="at least one entry"):
        audited(lambda data: np.zeros(0))
    with pytest.raises(TypeError, match="claimed"):
        audited(np.sum, claimed=None)
    with pytest.raises(TypeError, match="claimed"):
        audited(np.sum, claimed=1.0)
    with pytest.raises(ValueError, match="differ in at most 1"):
        low_bits(np.sum, np.zeros(9), np.ones(9), claimed=PURE)
    shapes = iter(np.zeros(1 + i // 20) for i in range(99))
    with pytest.raises(ValueError, match="one shape"):
        audited(lambda data: next(shapes), n_releases=20)
    with pytest.raises(ValueError, match="one shape"):
        audited(lambda data: np.zeros(int(data.sum()) + 2), n_releases=20)


# ------------------------------------------------------------------ the arithmetic


def doubles(count):
    """Doubles of all sizes, among them 0, subnormal ones and whole numbers."""
    generator = np.random.default_rng(SEED)
    some = generator.standard_normal(count) * 2.0 ** generator.integers(-300, 300, count)
    special = [0.0, -0.0, 1.0, -2.0, 5e-324, -2.5e-310, 2.0**-1022, 1.7976931348623157e308]
    return np.concatenate((special, some))


def test_a_double_is_its_mantissa_times_a_power_of_two():
    x = doubles(300)
    mantissa, exponent = exact.mantissa_and_exponent(x)
    zeros, lowest = exact.trailing_zeros(mantissa), exact.lowest_bit(x)
    for i, value in enumerate(x.tolist()):
        size = abs(Fraction(value))
        assert int(mantissa[i]) * Fraction(2) ** int(exponent[i]) == size
        if size == 0:
            assert (zeros[i], lowest[i]) == (exact.ZEROS_OF_ZERO, exact.LOWEST_BIT_OF_ZERO)
            continue
        assert int(mantissa[i]) >> int(zeros[i]) & 1
        assert (size / Fraction(2) ** int(lowest[i])).numerator % 2
        assert (size / Fraction(2) ** int(lowest[i])).denominator == 1


@pytest.mark.parametrize("squared", [True, False])
def test_sums_are_exact(squared):
    generator = np.random.default_rng(SEED)
    columns = list(generator.standard_normal((3, 200)) * 2.0 ** generator.integers(-40, 3, 200))
    constant, weights = Fraction(-9, 7), [-1, 1, 1]
    found = exact.weighted_sum(
        columns, weights, squared=squared, constant=constant, unit_exponent=-54
    )
    for i, row in enumerate(np.stack(columns, axis=1).tolist()):
        terms = (
            w * Fraction(x) ** (2 if squared else 1) for w, x in zip(weights, row, strict=True)
        )
        assert int(found[i]) == (sum(terms) + constant) * 2**54 // 1
