"""The test of k means: its privacy, its level at unequal sizes and spreads, its power."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import ndtr
from scipy.stats import binom, norm

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples
from curvedp.errors import ExistenceError, NoiseWarning
from curvedp.statistics.k_sample_release import KSampleRelease
from curvedp.statistics.k_samples import KSampleDesign
from curvedp.statistics.null_law import (
    LEAST_P,
    SHARES,
    _square_of_root,
    _squared_ratio,
    p_value_of,
    projection,
    tail_of_between,
    units_of_values,
)
from curvedp.statistics.permutation import chart_coords
from many_releases import copies

MU = cdp.GDP(1.0)


def flat(dim: int, radius: float = 1.0) -> cdp.Ball:
    return cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), radius)


def numbers_of(sizes: tuple[int, ...]) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes).astype(float)


def on(ball: cdp.Ball, coords: np.ndarray) -> np.ndarray:
    """Points with these coordinates in the chart at the centre."""
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


# ------------------------------------------------------------------ privacy


def furthest(design: KSampleDesign, dim: int, rng: np.random.Generator, starts: int) -> float:
    """Largest move of the values that coordinate ascent finds, over neighbours."""
    numbers, count, best = numbers_of(design.sizes), sum(design.sizes), 0.0

    def cut(rows: np.ndarray) -> np.ndarray:
        return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True) / design.radius, 1.0)

    def move(rows: np.ndarray, changed: int) -> float:
        """Of replacing the record in place `changed` by the last row."""
        other = rows[:count].copy()
        other[changed] = rows[count]
        return float(
            np.linalg.norm(design.values(rows[:count], numbers) - design.values(other, numbers))
        )

    for _ in range(starts):
        changed = int(np.argmin(np.array(design.sizes)[numbers.astype(int)]))
        rows = cut(3 * rng.standard_normal((count + 1, dim)))
        found, step = move(rows, changed), 1.0
        while step > 1e-3:
            trial = rows.copy()
            trial[rng.integers(count + 1)] += step * rng.standard_normal(dim)
            trial = cut(trial)
            own = move(trial, changed)
            step *= 0.97 if own <= found else 1.3
            step = min(step, 2.0)
            if own > found:
                rows, found = trial, own
        best = max(best, found)
    return best


@pytest.mark.parametrize(("dim", "sizes"), [(1, (2, 3)), (2, (3, 3)), (3, (2, 4, 3)), (2, (2, 9))])
def test_no_neighbour_moves_the_values_further_than_their_sensitivity(dim, sizes) -> None:
    rng, ball = np.random.default_rng(len(sizes) + dim), flat(dim)
    design = KSampleDesign.of(ball, MU, sizes, 1)
    worst = furthest(design, dim, rng, 2)
    assert 0.999 * design.sensitivity < worst <= design.sensitivity


@pytest.mark.parametrize("which", [0, 1, 2])
def test_each_bound_is_nearly_attained(which: int) -> None:
    """Of T, M^2 and F alone: two records at a pole, one of which crosses the ball."""
    size, ball = (3, 3), flat(2)
    design = KSampleDesign.of(ball, MU, size, 1)
    pole = np.array([1.0, 0.0])
    there = np.tile(-pole, (6, 1))
    if which == 0:  # far apart, and further
        there[:3] = pole / 3
    other = there.copy()
    other[0] = pole if which else -pole
    there[0] = -pole if which else pole
    moved = np.abs(np.diff([design.values(x, numbers_of(size)) for x in (there, other)], axis=0))[0]
    share = SHARES[which]
    bound = design.sensitivity * np.sqrt(share)
    assert moved[which] <= bound * (1 + 1e-12)
    assert moved[which] > 0.8 * bound


def test_a_unit_with_three_records_moves_the_values_three_times_as_far_at_most() -> None:
    rng, ball, sizes = np.random.default_rng(0), flat(2), (4, 5)
    design = KSampleDesign.of(ball, MU, sizes, 3)
    assert design.sensitivity == pytest.approx(
        3 * KSampleDesign.of(ball, MU, sizes, 1).sensitivity, rel=1e-12
    )
    for _ in range(300):
        coords = rng.standard_normal((9, 2))
        coords /= np.linalg.norm(coords, axis=1, keepdims=True)
        other = coords.copy()
        other[rng.choice(9, 3, replace=False)] = -np.sign(rng.standard_normal()) * coords[0]
        values = [design.values(x, numbers_of(sizes)) for x in (coords, other)]
        assert np.linalg.norm(values[0] - values[1]) <= design.sensitivity


def test_the_bound_of_all_values_together_is_attained() -> None:
    design = KSampleDesign.of(flat(1), MU, (2, 4), 1)
    values = [design.values(x, numbers_of((2, 4))) for x in worst_pair()]
    assert np.linalg.norm(values[0] - values[1]) == pytest.approx(design.sensitivity, rel=1e-6)


def worst_pair() -> tuple[np.ndarray, np.ndarray]:
    """Samples of two and of four at opposite ends of a line; a record of the first crosses it."""
    first = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])[:, None]
    second = first.copy()
    second[0] = -1.0
    return first, second


def released(worst: tuple[np.ndarray, np.ndarray], sizes: tuple[int, ...]) -> list[list[float]]:
    """Released on neighbours, in the direction in which the values move."""
    ball = flat(1)
    design = KSampleDesign.of(ball, MU, sizes, 1)
    values = [design.values(x.copy(), numbers_of(sizes)) for x in worst]
    direction = (values[0] - values[1]) / np.linalg.norm(values[0] - values[1])
    drawn = []
    for x in worst:
        groups, points, labels = copies(1500, x, numbers_of(sizes).astype(int))
        tests = cdp.k_sample_test(points, labels, ball, MU, **groups)
        drawn.append([float(test.value @ direction) for test in tests])
    return drawn


def test_the_released_values_are_audited(monkeypatch) -> None:
    pair, sizes = worst_pair(), (2, 4)
    result = audit_samples(*released(pair, sizes), MU, n_thresholds=5, confidence=CONFIDENCE)
    assert result.passed, result.report()
    # the control: a quarter of the noise
    of = KSampleDesign.of.__func__
    monkeypatch.setattr(
        KSampleDesign,
        "of",
        classmethod(lambda cls, ball, way, own, unit: of(cls, ball, cdp.GDP(4.0), own, unit)),
    )
    assert not audit_samples(
        *released(pair, sizes), MU, n_thresholds=5, confidence=CONFIDENCE
    ).passed


def test_rounding_stays_within_its_bound() -> None:
    """Records alike but far from the centre, where squares cancel: against exact sums."""
    from fractions import Fraction

    rng, sizes, dim = np.random.default_rng(0), (7, 12), 3
    ball = flat(dim)
    design = KSampleDesign.of(ball, MU, sizes, 1)
    units = units_of_values(sizes)
    coords = np.array([0.57, 0.57, 0.57]) + 1e-9 * rng.standard_normal((19, dim))
    found = design.values(coords.copy(), numbers_of(sizes))
    rows = [[Fraction(float(x)) for x in row] for row in coords]
    means, covariances = [], []
    for own in (rows[:7], rows[7:]):
        mean = [sum(row[j] for row in own) / len(own) for j in range(dim)]
        means.append(mean)
        left = [[x - m for x, m in zip(row, mean, strict=True)] for row in own]
        covariances.append(
            [
                [sum(row[i] * row[j] for row in left) / (len(own) - 1) for j in range(dim)]
                for i in range(dim)
            ]
        )
    apart = sum((a - b) ** 2 for a, b in zip(*means, strict=True)) * 7 * 12 / 19
    shares = (Fraction(12, 19), Fraction(7, 19))
    square = sum(
        p * sum(c[j][j] for j in range(dim)) for p, c in zip(shares, covariances, strict=True)
    )
    pairs = [(i, j) for i in range(dim) for j in range(dim)]
    weights = {(0, 0): shares[0] ** 2, (1, 1): shares[1] ** 2, (0, 1): 2 * shares[0] * shares[1]}
    length = sum(
        weight * sum(covariances[g][i][j] * covariances[h][i][j] for i, j in pairs)
        for (g, h), weight in weights.items()
    )
    exact = [float(apart) ** 0.5, float(square) / units[0], float(length) ** 0.5 / units[1]]
    assert np.abs(found - exact).max() < design.tolerance / 2


# ------------------------------------------------------------------ level and power


def rejections(ball, sizes, mu: float, draw, count: int, seed: int, level: float = 0.05) -> int:
    """Of so many tests, with noise from the seed: `draw` returns coordinates one after another."""
    rng, numbers = np.random.default_rng(seed), numbers_of(sizes)
    design = KSampleDesign.of(ball, cdp.GDP(mu), sizes, 1)
    scale, found = design.mechanism.scale, 0
    for _ in range(count):
        coords = draw(rng)
        coords /= np.maximum(np.linalg.norm(coords, axis=1, keepdims=True) / ball.radius, 1.0)
        value = design.values(coords, numbers)
        value += scale * rng.standard_normal(len(value))
        radius = ball.radius
        found += p_value_of(value / radius, sizes, scale / radius, ball.manifold.dim) <= level
    return found


def spread_of(rng, sizes, spreads, dim: int, law: str = "normal") -> np.ndarray:
    """Records of one mean; `spreads` are root mean square distances from it."""
    shape = (sum(sizes), dim)
    drawn = rng.standard_normal(shape) if law == "normal" else rng.exponential(size=shape) - 1
    return np.repeat(spreads, sizes)[:, None] * drawn / np.sqrt(dim)


CELLS = [
    ("normal", 2, (40, 400), (0.3, 0.05), 5.0),
    ("normal", 6, (400, 40), (0.3, 0.05), 5.0),
    ("skew", 6, (20, 200), (0.3, 0.1), 3.0),
    ("normal", 1, (100, 100), (0.4, 0.4), 1.0),
    ("normal", 36, (50, 500, 100), (0.4, 0.1, 0.2), 1.0),
]


@pytest.mark.parametrize(("law", "dim", "sizes", "spreads", "mu"), CELLS)
def test_the_level_holds_at_unequal_sizes_and_spreads(law, dim, sizes, spreads, mu) -> None:
    count = 150
    found = rejections(
        flat(dim), sizes, mu, lambda rng: spread_of(rng, sizes, spreads, dim, law), count, 7
    )
    assert found <= binom.ppf(0.999, count, 0.07)


@pytest.mark.parametrize(("sizes", "spreads"), [((15, 200), (0.4, 0.05)), ((150, 15), (0.4, 0.05))])
def test_the_level_is_met_where_the_spread_is_less_than_its_noise(sizes, spreads) -> None:
    """With a density on what the spread can be alone 2 and 0 were rejected, not 15 and 8."""
    found = rejections(
        flat(3), sizes, 1.5, lambda rng: spread_of(rng, sizes, spreads, 3, "skew"), 250, 5
    )
    assert 7 <= found <= 22


NORMAL = np.linspace(-6.0, 6.0, 121)
WEIGHTS = norm.pdf(NORMAL) / norm.pdf(NORMAL).sum()


def level_of(edge_of, true: float, tail) -> float:
    """Of p = E_w tail(T, x + w) for a noisy x = true + v, where T has the tail of `true`.

    `edge_of(x)` holds what fresh noise makes of x; `tail(t, own)` is decreasing in t.
    """
    own = edge_of(true + NORMAL[:, None] + NORMAL)
    low, high = np.full(len(own), -100.0), np.full(len(own), 100.0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = tail(middle[:, None], own) @ WEIGHTS > 0.05
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return float(WEIGHTS @ tail(low, edge_of(np.array([true]), noisy=False)))


@pytest.mark.parametrize("noise", [0.3, 0.8, 2.0])
def test_the_bend_of_the_root_is_made_good(noise: float) -> None:
    """T = M + noise, M^2 in deviations of its own noise: by quadrature, at every M^2."""

    def tail(t, mean):
        return ndtr((mean - t) / noise)

    def ours(square, noisy=True):
        found = _square_of_root(square, 1.0, noise) if noisy else np.abs(square)
        return np.sign(square) * np.sqrt(found)

    def bare(square, noisy=True):
        return np.sign(square) * np.sqrt(np.abs(square))

    squares = (0.0, 0.05, 0.3, 0.7, 1.0, 2.0, 4.0, 10.0)
    levels = [level_of(ours, square, tail) for square in squares]
    assert 0.037 < min(levels) < max(levels) < 0.062
    assert levels[-2:] == pytest.approx([0.05, 0.05], abs=1e-3)
    worst = max(level_of(bare, square, tail) for square in squares)
    assert worst > 0.0605  # .078 at noise .8


@pytest.mark.parametrize("true", [0.0, 2.0, 4.0, 8.0])
def test_the_noise_of_the_variance_is_made_good(true: float) -> None:
    """T normal of variance 1 + F^2/2, M = 1, and F in deviations of its noise, here 0.25."""

    def tail(t, deviation):
        return norm.sf(t / deviation)

    def ours(own, noisy=True):
        told = (0.25 * own) ** 2
        return np.sqrt(1 + 0.5 * (_squared_ratio(0.25 * own, 0.25, 1.0, 1.0) if noisy else told))

    def bare(own, noisy=True):
        return np.sqrt(1 + 0.5 * (0.25 * own) ** 2)

    assert level_of(ours, true, tail) == pytest.approx(0.05, abs=6e-4)
    if true < 3.0:
        assert level_of(bare, true, tail) < 0.048


def test_a_permutation_of_the_records_would_not_hold_it() -> None:
    """The control, without privacy: 40 records that spread six times as far as 400 others."""
    rng, sizes, found = np.random.default_rng(0), (40, 400), 0
    for _ in range(150):
        coords = spread_of(rng, sizes, (0.3, 0.05), 2)
        weights = np.repeat([1 / 40, -1 / 400], sizes)
        relabelled = rng.permuted(np.tile(weights, (199, 1)), axis=1)
        lengths = np.linalg.norm(np.vstack([weights, relabelled]) @ coords, axis=1)
        found += np.mean(lengths[1:] >= lengths[0]) < 0.05
    assert found > 60


def test_power_exceeds_that_of_released_means() -> None:
    """Beside the Wald test of regions, at the same budget for each sample."""
    ball, sizes, count = flat(6), (100, 100), 60
    labels, rng = np.repeat([0, 1], sizes), np.random.default_rng(0)
    ours = theirs = 0
    for seed in range(count):
        x = spread_of(rng, sizes, (0.4, 0.4), 6)
        x[labels == 1, 0] += 0.13
        ours += cdp.k_sample_test(x, labels, ball, MU, seed=seed).rejects
        halves = [x[labels == g] for g in (0, 1)]
        regions = [cdp.confidence_region(half, ball, MU, seed=seed) for half in halves]
        theirs += cdp.compare_means(*regions).rejects
    assert ours > theirs + 10


def test_power_is_that_of_the_test() -> None:
    ball, sizes = cdp.Ball("spd:3", center="identity", radius=2.0), (50, 80)
    public = {"shift": 0.33, "spread": (0.7, 0.4)}
    planned = cdp.k_sample_power(ball, sizes, MU, **public, simulations=300)
    rng, found, labels = np.random.default_rng(1), 0, numbers_of(sizes).astype(int)
    for _ in range(150):
        coords = spread_of(rng, sizes, (0.7, 0.4), 6)
        direction = rng.standard_normal(6)
        coords[:50] += 0.33 * direction / np.linalg.norm(direction)
        found += cdp.k_sample_test(on(ball, coords), labels, ball, MU).rejects
    assert 0.3 < planned < 0.9
    # with fresh noise: seven standard errors
    assert abs(found / 150 - planned) < 0.35
    with pytest.raises(ValueError, match="spread"):
        cdp.k_sample_power(ball, sizes, MU, shift=0.1, spread=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="n must be"):
        cdp.k_sample_power(ball, (1, 5), MU, shift=0.1, spread=1.0)


@pytest.mark.parametrize(("dim", "count"), [(1, 2), (6, 2), (6, 5), (36, 3)])
def test_the_law_is_that_of_normal_means_where_the_noise_is_small(dim: int, count: int) -> None:
    """Of covariances alike but for their size: chi-square sums, drawn."""
    rng = np.random.default_rng(dim + count)
    sizes = np.linspace(2000.0, 5000.0, count)
    spreads = np.linspace(0.3, 0.8, count)
    covariances = spreads[:, None, None] ** 2 * np.eye(dim) / dim
    errors = rng.standard_normal((40_000, count, dim)) * spreads[:, None] / np.sqrt(dim)
    weights = np.sqrt(sizes / sizes.sum())
    errors -= weights[:, None] * np.einsum("g,dgj->dj", weights, errors)[:, None]
    between = np.sqrt(np.sum(errors**2, axis=(1, 2)))
    across = projection(sizes)
    square = float(np.diag(across) @ np.trace(covariances, axis1=1, axis2=2))
    products = np.einsum("gij,hij->gh", covariances, covariances)
    length = float(np.sqrt(np.sum(across**2 * products) + square**2 / sizes.sum()))  # as of samples
    scales = np.array([1e-3, 1e-4 * square, 1e-4 * square])
    for q in (0.5, 0.9, 0.99):
        noisy = np.array([np.quantile(between, q), square, length])
        assert tail_of_between(noisy, sizes, scales, dim) == pytest.approx(1 - q, rel=0.2)


def test_what_is_known_of_the_variance_is_told_from_what_is_not() -> None:
    """A noisier variance never makes a large distance more significant than a known one."""
    sizes = np.array([50.0, 50.0])

    def tail(between: float, noise: float) -> float:
        scales = np.array([0.1, 0.1 * noise, 0.1 * noise])
        return tail_of_between(np.array([between, 0.1, 0.1]), sizes, scales, 2)

    assert tail(0.9, 1e-3) < tail(0.9, 1.0) < tail(0.9, 5.0)
    values = [tail(x, 0.3) for x in np.linspace(-0.7, 4.0, 40)]
    assert np.all(np.diff(values) <= 0)
    assert values[0] == pytest.approx(1.0, abs=1e-6)
    assert tail(1e3, 0.1) == LEAST_P
    # on a line and without any noise: Student's t
    noisy, scales = np.array([2 * 0.1**0.5, 0.1, 0.1]), np.array([1e-4, 1e-5, 1e-5])
    found = tail_of_between(noisy, np.full(2, 900.0), scales, 1)
    assert found == pytest.approx(2 * norm.sf(2.0), rel=0.03)


# ------------------------------------------------------------------ the call


def test_the_release_says_what_was_done_and_is_stored_whole() -> None:
    ball = cdp.Ball("spd:3", center="identity", radius=1.5)
    rng = np.random.default_rng(0)
    coords = spread_of(rng, (200, 300, 100), (0.2, 0.4, 0.3), 6)
    records, arm = on(ball, coords), np.repeat(["a", "b", "c"], [200, 300, 100])
    with cdp.Ledger(cdp.GDP(60.0)) as ledger:
        how = {"ledger": ledger, "coverage": False}
        test = cdp.k_sample_test(records, arm, ball, cdp.GDP(50.0), **how)
        assert ledger.spent == cdp.GDP(50.0)
    assert test.sizes == (200, 300, 100)
    assert test.guarantee == test.calibrated_to == cdp.GDP(50.0)
    assert test.scale == pytest.approx((test.sensitivity + 2 * test.solver_tolerance) / 50.0)
    # sum_g (1 - n_g/N) V_g
    assert test.expected_square == pytest.approx(2 / 3 * 0.04 + 0.5 * 0.16 + 5 / 6 * 0.09, abs=0.05)
    assert 0.02 < test.norm < 0.1 < test.expected_square  # .056 and .185, deviations .005 and .003
    assert test.rejects == (test.p_value <= 0.05)
    stored = cdp.Release.from_json(test.to_json())
    assert isinstance(stored, KSampleRelease)
    assert stored == test
    assert stored.p_value == test.p_value
    assert f"p = {test.p_value:.4g}" in test.report()
    assert test.knows_spread
    assert "large differences alone" not in " ".join(test.report().split())
    few = np.r_[:20, 480:600]
    unknown = cdp.k_sample_test(records[few], arm[few], ball, cdp.GDP(0.1), seed=0)
    assert unknown.knows_spread == (unknown.value[1] > 2 * unknown.scale)
    assert ("large differences alone" in " ".join(unknown.report().split())) != unknown.knows_spread


def test_the_values_are_those_of_the_formula() -> None:
    sizes, rng, ball = (5, 9, 4), np.random.default_rng(1), flat(3)
    coords = 0.3 * rng.standard_normal((18, 3))
    design = KSampleDesign.of(ball, MU, sizes, 1)
    value = design.values(coords.copy(), numbers_of(sizes))
    parts = np.split(coords, np.cumsum(sizes)[:-1])
    between = sum(len(x) * np.sum((x.mean(0) - coords.mean(0)) ** 2) for x in parts)
    covariances = [np.cov(x.T) for x in parts]
    across, units = projection(sizes), units_of_values(sizes)
    spread = np.kron(across, np.eye(3))
    whole = spread @ block_diag(*covariances) @ spread
    assert value[0] == pytest.approx(np.sqrt(between))
    assert value[1] * units[0] == pytest.approx(np.trace(whole))
    assert value[2] * units[1] == pytest.approx(np.linalg.norm(whole))
    # fewer records than dimensions
    wide = np.hstack([coords, np.zeros((18, 30))])
    found = KSampleDesign.of(flat(33), MU, sizes, 1).values(wide, numbers_of(sizes))
    assert found == pytest.approx(value)


def test_groups_persons_and_a_secret_as_in_every_release(tmp_path) -> None:
    ball, rng = flat(2), np.random.default_rng(0)
    records = 0.2 * rng.standard_normal((80, 2))
    arm, site = np.tile(["x", "y"], 40), np.repeat(["a", "b"], 40)
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    how = {"groups": site, "secret": secret}
    found, again = (cdp.k_sample_test(records, arm, ball, MU, **how) for _ in range(2))
    assert [test.sizes for test in found] == [(20, 20), (20, 20)]
    assert np.array_equal(found.value, again.value)
    columns = found.columns()
    assert columns["p_value"].tolist() == [test.p_value for test in found]
    assert columns["rejects"].tolist() == [float(test.rejects) for test in found]
    person = np.repeat(np.arange(20), 4)
    with pytest.raises(ValueError, match="in several samples"):
        cdp.k_sample_test(records, arm, ball, MU, units=person)
    of_persons = cdp.k_sample_test(records, person % 2, ball, MU, units=person)
    assert of_persons.sizes == (10, 10)
    assert of_persons.n == 20


def test_the_samples_are_those_of_the_chart_at_the_centre() -> None:
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.0)
    coords = np.random.default_rng(2).uniform(-0.5, 0.5, (9, 2))
    assert chart_coords(ball, ball.enter(on(ball, coords))) == pytest.approx(coords)


@pytest.mark.parametrize("fill", [np.nan, np.inf, 0.0, 1e308])
def test_no_record_raises_or_warns(fill: float) -> None:
    ball = cdp.Ball("spd:3", center="identity", radius=1.0)
    records = np.tile(np.eye(3), (30, 1, 1))
    records[::4] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = cdp.k_sample_test(records, np.arange(30) % 3, ball, cdp.GDP(8.0))
        assert np.isfinite(test.value).all()
        assert 0 < test.p_value <= 1


def test_noise_too_fine_for_doubles_is_refused_and_the_widest_has_a_p_value() -> None:
    """Draws are cut 2^39 scales from 0: the values, .2 and 1.5 here, would come out near 0."""
    rng, arm = np.random.default_rng(0), np.repeat([0, 1], 60)
    x = 0.1 * rng.standard_normal((120, 2)) + 0.3 * arm[:, None]

    ball, how = flat(2), {"coverage": False, "seed": 1}
    tests = (
        lambda mu: cdp.two_sample_test(x[:60], x[60:], ball, mu, **how),
        lambda mu: cdp.trend_test(arm, x, ball, mu, x_range=(0.0, 1.0), **how),
        lambda mu: cdp.k_sample_test(x, arm, ball, mu, **how),
    )
    for test in tests:
        fine, known = test(cdp.GDP(1e6)), test(cdp.GDP(1e3))
        assert fine.value == pytest.approx(known.value, abs=5e-3)
        assert np.all(fine.value > 0.02)
        assert fine.rejects
        for mu in (1e9, 1e13, 1e50):
            with pytest.raises(ExistenceError, match="too fine for double precision"):
                test(cdp.GDP(mu))
    for radius, mu in ((1.0, 1e-50), (1e-90, 1e-99)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NoiseWarning)
            found = cdp.k_sample_test(x, arm, flat(2, radius), cdp.GDP(mu), **how)
            assert 1e-3 < found.p_value <= 1
            assert "p = " in found.report()


def test_parameters_are_refused_before_the_ledger_is_asked() -> None:
    records = np.zeros((30, 2))
    arm = np.arange(30) % 2
    for wrong, kind, words in (
        ({"level": 1.5}, ValueError, "level"),
        ({"labels": np.zeros(30, int)}, ValueError, "at least two labels"),
        ({"labels": np.arange(30) == 3}, ExistenceError, "two records in each sample"),
        ({"labels": arm[:9]}, ValueError, "labels"),
        ({"guarantee": cdp.PureDP(1.0)}, TypeError, "Gaussian noise"),
        ({"ball": flat(2, 1e-110)}, ValueError, "radius from"),
    ):
        with cdp.Ledger(cdp.GDP(2.0)) as ledger:
            public = {"labels": arm, "ball": flat(2), "guarantee": MU, "ledger": ledger} | wrong
            with pytest.raises(kind, match=words):
                cdp.k_sample_test(records, **public)
            assert ledger.spent is None
    with pytest.raises(ValueError, match="each once"):
        cdp.KSampleTest(samples=("a", "a"))
    test = cdp.KSampleTest(samples=("a", "b"))
    with pytest.raises(ValueError, match="those of 2 samples"):
        cdp.release(test, records, flat(2), MU, labels=np.arange(30) % 3)


def test_what_stands_in_the_place_of_labels_is_led_on() -> None:
    ball, rng = flat(2), np.random.default_rng(0)
    a, b = 0.1 * rng.standard_normal((2, 40, 2))
    for wrong in ((a, b), (np.repeat([0, 1], 40), np.concatenate([a, b]))):
        with pytest.raises(ValueError, match=r"records come first.*numpy\.repeat"):
            cdp.k_sample_test(*wrong, ball, cdp.GDP(1.0))
    with pytest.raises(TypeError, match=r"^labels must have exact equality.*astype\(int\)"):
        cdp.k_sample_test(np.concatenate([a, b]), np.repeat([0.0, 1.0], 40), ball, cdp.GDP(1.0))


def test_differences_that_are_no_coordinates_are_led_on() -> None:
    ball, rng = cdp.Ball("spd:2", center="identity", radius=2.0), np.random.default_rng(0)
    space = ball.manifold
    coords = 0.1 * rng.standard_normal((200, 3))
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    one, other = (cdp.confidence_region(own, ball, cdp.GDP(9.0)) for own in np.split(records, 2))
    made = cdp.compare_means(one, other)
    with pytest.raises(ValueError, match="tangent_to_coords") as refused:
        made.contains(np.zeros((2, 2)))
    assert "chart_point" in str(refused.value)
    zero = space.tangent_to_coords(np.zeros((2, 2)), made.chart_point)
    assert made.contains(zero).shape == ()
