"""Quantiles on a public grid: their law, what it promises where values tie, several levels."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import curvedp as cdp
from curvedp import _core
from curvedp.mechanisms import GridQuantile, bounded_range_epsilon
from curvedp.mechanisms.bounded_range import pure_mu
from curvedp.mechanisms.grid_quantile import draws_of
from reference import quantile as reference

Law = dict[tuple[int, ...], float]


def stream(number: int = 0) -> _core.Stream:
    return _core.Stream.from_key(b"\5" * 32, number)


def lattice(q: Any, points: int, guarantee: Any = None, **options: Any) -> GridQuantile:
    """On 0, 1, ..., points - 1."""
    how = {"guarantee": guarantee or cdp.PureDP(1.0), "step": 1.0, **options}
    return GridQuantile(q, low=0.0, high=points - 1.0, **how)


def chi_square(seen: dict[Any, int], law: dict[Any, float], n: int) -> float:
    """Probability of a chi-square as large; rare outcomes are taken together."""
    assert set(seen) <= set(law)
    often = [own for own in law if law[own] * n >= 20]
    pairs = [(seen.get(own, 0), law[own] * n) for own in often]
    if len(pairs) < 2:
        return 1.0
    rest = n - sum(p for _, p in pairs)
    if rest >= 20:
        pairs.append((n - sum(count for count, _ in pairs), rest))
    found = sum((count - p) ** 2 / p for count, p in pairs)
    return float(stats.chi2.sf(found, len(pairs) - 1))


def counts(draws: np.ndarray) -> dict[Any, int]:
    rows, times = np.unique(draws, axis=0, return_counts=True)
    return dict(zip(map(tuple, np.atleast_2d(rows.T).T.tolist()), times.tolist(), strict=True))


# ------------------------------------------------------------------ the law of one level

TIED = {
    "one group": [5] * 12,
    "two groups": [2] * 6 + [7] * 6,
    "groups and singles": [0, 0, 1, 4, 4, 4, 4, 6, 9, 11, 11],
    "one": [3],
    "at the ends": [0, 0, 0, 11, 11],
}


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("base", ["uniform", "log-uniform"])
def test_draws_and_densities_have_the_law_of_the_formula(name: str, q: float, base: str) -> None:
    values, n = np.array(TIED[name]) + 1.0, 20_000
    how: dict[str, Any] = {"low": 1.0, "high": 12.0, "step": 1.0, "base": base}
    kernel = GridQuantile(q, guarantee=cdp.PureDP(2.0), **how)
    mass = reference.weights(*kernel.grid.measure)
    first = kernel.grid.first
    points = [int(x) - 1 + first for x in values]
    law = reference.grid_law(points, Fraction(q), kernel.scale, mass, first)
    density = kernel.log_density(np.arange(1.0, 13.0), values)
    expected = [math.log(p * sum(mass) / w) for p, w in zip(law, mass, strict=True)]
    np.testing.assert_allclose(density, expected, rtol=1e-11, atol=1e-11)
    seen = counts(kernel.sample(values, stream(), n)[:, None])
    right = {(float(y),): p for y, p in enumerate(law, start=1)}
    assert chi_square(seen, right, n) > 1e-9
    wrong = reference.grid_law(points, Fraction(q), 0.6 * kernel.scale, mass, first)
    gap = 0.5 * sum(abs(a - b) for a, b in zip(law, wrong, strict=True))
    if gap > 0.08:
        control = {(float(y),): p for y, p in enumerate(wrong, start=1)}
        assert chi_square(seen, control, n) < 1e-9


def test_the_default_grid_has_the_law_of_the_formula() -> None:
    """All draws of a fine grid fall into cells: values, gaps, and short decimals in them."""
    kernel = GridQuantile(0.4, low=-0.5, high=2.0, guarantee=cdp.PureDP(1.0))
    values = np.array([-7.0, 0.1, 0.3, 0.3, 1.25, 1.250000001, np.nan, 9.0])
    n = 20_000
    draws = kernel.sample(values, stream(1), n)
    core, first = kernel._kernel(), kernel.grid.first
    assert kernel.grid.exponent == -10
    inside = np.clip(np.where(np.isnan(values), -0.5, values), -0.5, 2.0)
    edges = np.unique(inside)
    law = {}
    number = [round((x + 0.5) * 1e10) + first for x in edges]
    for k, x in enumerate(edges):
        d = reference.score(inside.tolist(), x, Fraction(0.4))
        law[2 * k] = core.mass(number[k], number[k] + 1)[0] * math.exp(-float(d) / kernel.scale)
        if k + 1 < len(edges):
            d = reference.score(inside.tolist(), 0.5 * (x + edges[k + 1]), Fraction(0.4))
            mass = core.mass(number[k] + 1, number[k + 1])[0]
            law[2 * k + 1] = mass * math.exp(-float(d) / kernel.scale)
    total = sum(law.values())
    law = {cell: p / total for cell, p in law.items()}
    left = np.searchsorted(edges, draws, side="right") - 1
    cell = 2 * left + (draws > edges[left])
    found, times = np.unique(cell, return_counts=True)
    assert chi_square(dict(zip(found.tolist(), times.tolist(), strict=True)), law, n) > 1e-9
    steps = np.round((draws + 0.5) * 1e10)
    short = np.mean(steps % 10_000 == 0)
    assert 0.05 < short < 0.5


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_far_values_do_not_change_the_law(q: float) -> None:
    """Most cells of many values are proposed with the least weight; all are in the law."""
    values = np.arange(400.0)
    kernel = lattice(q, 400, cdp.PureDP(10.0))
    draws = kernel.sample(values, stream(2), 2000)
    law = reference.grid_law(list(range(400)), Fraction(q), kernel.scale, [1] * 400)
    right = {(float(y),): p for y, p in enumerate(law)}
    assert chi_square(counts(draws[:, None]), right, 2000) > 1e-9


# ------------------------------------------------------------------ ties

FOUR = ((1, 0.1), (2, 0.2), (3, 0.4), (4, 0.2), (5, 0.1))


def answers(n: int) -> np.ndarray:
    return np.concatenate([np.full(round(share * n), float(own)) for own, share in FOUR])


@pytest.mark.parametrize("n", [100, 300, 2000])
def test_the_median_of_tied_values_is_theirs(n: int) -> None:
    how: dict[str, Any] = {"guarantee": cdp.PureDP(1.0)}
    likert = GridQuantile(0.5, low=0.0, high=6.0, **how)
    assert (likert.sample(answers(n), stream(3), 2000) == 3.0).mean() >= 0.98
    fives = GridQuantile(0.5, low=0.0, high=100.0, **how)
    assert (fives.sample(np.full(100_000, 5.0), stream(4), 200) == 5.0).all()
    two = np.repeat([20.0, 40.0], [900, 2100])
    assert (fives.sample(two, stream(5), 200) == 40.0).all()


def test_public_calls_release_tied_values_themselves() -> None:
    """With fresh keys: the probability of any other value is below 1e-200."""
    values = np.full(100_000, 5.0)
    for extra in ({}, {"step": 1.0}, {"base": "log-uniform"}):
        how: dict[str, Any] = {"low": 1.0, "high": 100.0, "guarantee": cdp.PureDP(1.0), **extra}
        assert cdp.quantile(values, 0.5, **how).value == 5.0
        assert cdp.quantile(values, [0.2, 0.8], **how).value.tolist() == [5.0, 5.0]


def test_a_score_without_the_upper_rank_misses_tied_values() -> None:
    """The control: of values that tie the rank below them is far from the middle."""
    points, mass = [3] * 400 + [5] * 400, [1] * 7
    right = reference.grid_law(points, Fraction(2, 5), 2.0, mass)
    wrong = reference.grid_law(points, Fraction(2, 5), 2.0, mass, ties=False)
    assert right[3] > 0.99
    assert wrong[3] < 1e-3


# ------------------------------------------------------------------ what it promises


def needed(p: np.ndarray, r: np.ndarray) -> tuple[float, float]:
    """Smallest mu and epsilon of a pair of discrete laws: vertices of the exact curve."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(p) - np.log(r)
    order = np.argsort(-loss)
    power, level = np.cumsum(p[order])[:-1], np.cumsum(r[order])[:-1]
    inside = (power < 1 - 1e-9) & (level > 1e-12)
    mu = special.ndtri(power[inside]) - special.ndtri(level[inside])
    return float(np.max(mu, initial=0.0)), float(np.abs(loss).max())


def pairs(n: int, values: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All data sets of n of so many values, in order, and their neighbours."""
    return [
        ((*rest, a), (*rest, b))
        for rest in itertools.combinations_with_replacement(range(values), n - 1)
        for a, b in itertools.permutations(range(values), 2)
    ]


def worst_of_one(n: int, epsilon: float, factor: float = 1.0) -> tuple[float, float, float]:
    """mu, epsilon and the range of the losses that all pairs of n of five values need at worst."""
    mu = largest = spread = 0.0
    for q in (Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        laws = {
            data: np.array(reference.grid_law(list(data), q, factor * 2 / epsilon, [2, 1, 1, 3, 1]))
            for data in itertools.combinations_with_replacement(range(5), n)
        }
        for a, b in pairs(n, 5):
            p, r = laws[tuple(sorted(a))], laws[tuple(sorted(b))]
            own_mu, own_epsilon = needed(p, r)
            mu, largest = max(mu, own_mu), max(largest, own_epsilon)
            spread = max(spread, float(np.ptp(np.log(p) - np.log(r))))
    return mu, largest, spread


@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_exact_curves_of_all_small_neighbours_are_within_the_claim(n: int, epsilon: float) -> None:
    mu, largest, spread = worst_of_one(n, epsilon)
    assert mu <= pure_mu(0.5 * epsilon) * (1 + 1e-12)
    assert largest <= epsilon * (1 + 1e-12)
    assert spread <= epsilon * (1 + 1e-12)
    if n > 1:
        assert spread > 0.99 * epsilon
    assert worst_of_one(n, epsilon, factor=0.4)[2] > epsilon  # the control


QUARTERS = [Fraction(k, 10) for k in (1, 2, 5, 8, 9)]


def worst_of_recursion(n: int, epsilon: float, *, wider: bool) -> tuple[float, float]:
    """mu and epsilon that pairs of n of four values need, all levels together."""
    mu = largest = 0.0
    for levels in (QUARTERS, [Fraction(k, 20) for k in (14, 15, 16, 17, 19)]):
        laws: dict[tuple[int, ...], Law] = {
            data: reference.recursion_law(list(data), levels, 2 / epsilon, [1] * 4, wider=wider)
            for data in itertools.combinations_with_replacement(range(4), n)
        }
        for a, b in pairs(n, 4):
            p, r = laws[tuple(sorted(a))], laws[tuple(sorted(b))]
            both = np.array([[p[own], r[own]] for own in p])
            own_mu, own_epsilon = needed(*both.T)
            mu, largest = max(mu, own_mu), max(largest, own_epsilon)
    return mu, largest


@pytest.mark.parametrize("n", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_exact_curves_of_several_levels_are_within_the_claim(n: int) -> None:
    epsilon = 1.0
    mu, largest = worst_of_recursion(n, epsilon, wider=True)
    assert largest <= draws_of(5) * epsilon * (1 + 1e-12)
    assert mu <= math.sqrt(draws_of(5)) * pure_mu(0.5 * epsilon) * (1 + 1e-12)


def range_at_a_node(q: Fraction, scale: Fraction, most: int) -> Fraction:
    """Largest range of the score's change when a value leaves a part, over `scale`."""
    worst = Fraction(0)
    for n in range(1, most + 1):
        for gone in range(n):
            change = [abs(k - (k > gone) - q * (n - 1)) - abs(k - q * n) for k in range(n + 1)]
            worst = max(worst, max(change) - min(change))
    return worst / scale


def test_a_value_that_leaves_a_part_costs_half_and_without_the_factor_more() -> None:
    """Theorem 4: half of epsilon = 1 at scales 2 max(q, 1 - q) 2/epsilon; attained."""
    attained = False
    for q in (Fraction(k, 20) for k in range(21)):
        wider = 2 * max(q, 1 - q)
        found = range_at_a_node(q, 2 * wider, 12)
        assert found <= Fraction(1, 2)
        attained |= found == Fraction(1, 2)
        control = range_at_a_node(q, Fraction(2), 40)
        assert (control > Fraction(1, 2)) == (q not in (0, Fraction(1, 2), 1))
    assert attained


def test_squares_of_mu_add_up_to_less_than_that_of_the_sum() -> None:
    """mu(a)^2 + mu(b)^2 <= mu(a + b)^2: mu(epsilon)^2/epsilon grows."""
    epsilon = np.geomspace(1e-4, 200.0, 4000)
    tail = special.log_expit(-0.5 * epsilon)
    mu = -2 * special.ndtri_exp(tail)
    assert np.all(np.diff(mu**2 / epsilon) > -1e-12)
    z = np.linspace(0.0, 30.0, 4000)
    hazard = lambda x: np.exp(-0.5 * x**2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(-x))  # noqa: E731
    assert np.all(z * (hazard(z) - z - hazard(-z)) < 1.0)


# ------------------------------------------------------------------ several levels


@pytest.mark.parametrize("levels", [[0.1, 0.2, 0.5, 0.8, 0.9], [0.0, 0.25, 0.5, 0.75, 1.0]])
def test_the_recursion_has_the_law_of_the_formula(levels: list[float]) -> None:
    values, n = [0, 1, 1, 3, 3, 3, 3], 20_000
    kernel = lattice(levels, 4, cdp.PureDP(6.0))
    kernel._coin_bits = 0
    seen = counts(kernel.sample(np.array(values, dtype=float), stream(6), n))
    exact = [Fraction(q) for q in levels]
    law = reference.recursion_law(values, exact, kernel.scale, [1] * 4)
    assert chi_square(seen, {tuple(map(float, y)): p for y, p in law.items()}, n) > 1e-9
    wrong = reference.recursion_law(values, exact, kernel.scale, [1] * 4, wider=False)
    assert chi_square(seen, {tuple(map(float, y)): p for y, p in wrong.items()}, n) < 1e-9


def test_coins_divide_values_that_tie() -> None:
    """Ninety of a hundred at 3: all levels but the ends are 3; without coins one side has all."""
    values = np.repeat([1.0, 3.0, 5.0], [200, 1600, 200])
    levels = [0.3, 0.4, 0.5, 0.6, 0.7]
    kernel = GridQuantile(levels, low=0.0, high=6.0, guarantee=cdp.PureDP(1.0))
    assert (kernel.sample(values, stream(7), 200) == 3.0).mean() > 0.98
    kernel._coin_bits = 0
    assert (kernel.sample(values, stream(7), 200) == 3.0).mean() < 0.7


def test_few_levels_are_independent_draws_in_order() -> None:
    values, n = [0, 1, 1, 2, 3, 3], 20_000
    kernel = lattice([0.3, 0.6], 4, cdp.PureDP(2.0))
    one = [reference.grid_law(values, Fraction(q), kernel.scale, [1] * 4) for q in kernel.levels]
    law: dict[tuple[float, ...], float] = {}
    for a, b in itertools.product(range(4), repeat=2):
        key = tuple(map(float, sorted((a, b))))
        law[key] = law.get(key, 0.0) + one[0][a] * one[1][b]
    draws = kernel.sample(np.array(values, dtype=float), stream(8), n)
    assert chi_square(counts(draws), law, n) > 1e-9


@pytest.mark.parametrize("m", [1, 2, 4, 5, 9, 15, 33])
def test_levels_share_the_guarantee(m: int) -> None:
    draws = draws_of(m)
    assert draws == (m if m <= 4 else math.ceil(math.log2(m + 1)))
    assert bounded_range_epsilon(cdp.PureDP(2.0), draws) == pytest.approx(2.0 / draws, rel=1e-15)
    assert bounded_range_epsilon(cdp.PureDP(2.0), draws) * draws <= 2.0 * (1 + 2**-52)
    each = cdp.PureDP(bounded_range_epsilon(cdp.GDP(1.0), draws)).to_gdp(bounded_range=True)
    assert cdp.compose(*[each] * draws).mu <= 1.0
    assert each.mu == pytest.approx(1 / math.sqrt(draws), rel=1e-6)
    rho = cdp.PureDP(bounded_range_epsilon(cdp.ZCDP(0.5), draws)).to_zcdp(bounded_range=True).rho
    assert rho == pytest.approx(0.5 / draws, rel=1e-12)
    values = np.random.default_rng(1).normal(size=2000)
    levels = ((np.arange(m) + 1) / (m + 1)).tolist()
    release = cdp.quantile(values, levels, low=-5.0, high=5.0, guarantee=cdp.GDP(2.0))
    assert release.value.shape == release.levels.shape == (m,)
    assert (np.diff(release.value) >= 0).all()
    assert np.abs(release.value - np.quantile(values, levels)).max() < 1.0
    assert cdp.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("q", [[0.5], np.linspace(0.1, 0.9, 9), (0.2, 0.8)])
def test_lists_keep_their_shape_with_groups_and_units(q: Any) -> None:
    values, who = np.arange(120.0), np.arange(120) // 2
    how: dict[str, Any] = {"low": 0.0, "high": 119.0, "guarantee": cdp.GDP(50.0)}
    groups = cdp.quantile(values, q, groups=np.repeat(["a", "b"], 60), **how)
    assert groups.value.shape == (2, len(q))
    assert groups["b"].value.shape == (len(q),)
    assert groups["a"].value[-1] < groups["b"].value[0]
    of_units = cdp.quantile(values, q, units=who, **how)
    assert (of_units.value.shape, of_units.n) == ((len(q),), 60)
    k = cdp.quantile(values, q, records_per_unit=2, **how)
    assert k.scale == pytest.approx(2 * cdp.quantile(values, q, **how).scale)


# ------------------------------------------------------------------ the grid


def test_short_decimals_are_points_and_come_back_as_they_are() -> None:
    for low, high, numbers in (
        (0.0, 100.0, [5.0, 0.1, 99.7]),
        (-3.0, 7.0, [-2.5, 0.0, 1e-3]),
        (1e12, 1e12 + 10.0, [1e12 + 3.0]),
        (1e-9, 3e-9, [2e-9, 1.1e-9]),
        (0.1, 0.9, [0.3, 0.7]),
    ):
        kernel = GridQuantile(0.5, low=low, high=high, guarantee=cdp.PureDP(1.0))
        for number in numbers:
            assert (kernel.sample([number] * 500, stream(9), 20) == number).all()
    for step in (0.1, 0.25, 1 / 3):
        kernel = GridQuantile(0.5, low=0.1, high=0.1 + 30 * step, step=step, guarantee=cdp.GDP(1.0))
        drawn = kernel.sample([0.1 + 7 * step] * 500, stream(9), 20)
        np.testing.assert_allclose(drawn, 0.1 + 7 * step, rtol=1e-15)


def test_grids_are_fine_and_their_points_lie_in_the_interval() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        low = float(rng.normal() * 10.0 ** rng.integers(-6, 7))
        length = float(10.0 ** rng.uniform(-5, 7))
        kernel = GridQuantile(0.5, low=low, high=low + length, guarantee=cdp.PureDP(1.0))
        grid = kernel.grid
        assert grid.first >= 0
        assert grid.step <= length / 2**32 < 10 * grid.step * (1 + 1e-12)
        _, total = kernel._kernel().mass(0, 1)
        assert 0.75 < 4 * grid.decimals * (grid.steps + 1) / total < 0.85
        draws = kernel.sample([low, low + length], stream(10), 5)
        assert ((draws >= low) & (draws <= low + length)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"q": []}, "give one level"),
        ({"q": [0.5, 0.5]}, "must increase"),
        ({"q": [0.75, 0.25]}, "must increase"),
        ({"q": [0.5, 1.1]}, "between 0 and 1"),
        ({"q": [-0.1, 0.5]}, "between 0 and 1"),
        ({"q": [0.1, math.nan]}, "q must be"),
        ({"q": [[0.1, 0.2]]}, "q must be"),
        ({"q": "0.5"}, "q must be"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": -1.0}, "step must be positive"),
        ({"step": math.inf}, "step must be positive"),
        ({"step": "1"}, "step must be"),
        ({"step": 0.3}, "not a multiple of step"),
        ({"step": 20.0}, "not a multiple of step"),
        ({"step": 1e-18}, "give a larger step"),
        ({"low": 1e-300, "base": "log-uniform"}, "give low of at least"),
        ({"low": 0.5, "step": 9.5, "base": "log-uniform"}, "larger than low"),
    ],
)
def test_bad_input_is_told_what_to_do(options: dict[str, Any], words: str) -> None:
    how = {"q": 0.5, "low": 0.0, "high": 10.0, "guarantee": cdp.PureDP(1.0), **options}
    with pytest.raises((ValueError, TypeError), match=words):
        cdp.quantile([1.0, 2.0], how.pop("q"), **how)


# ------------------------------------------------------------------ accuracy


def expected_rank_error(values: np.ndarray, kernel: GridQuantile) -> tuple[float, float]:
    """Of draws around the median, exactly; and of those from the flat measure on the grid."""
    core, data = kernel._kernel(), kernel._kernel().points(values)
    t = 0.5 * len(data)
    near = min(int(40 * kernel.scale), int(t) - 1)
    rows = []
    for rank in range(int(t) - near, int(t) + near):
        gap, value = (data[rank - 1] + 1, data[rank]), (data[rank], data[rank] + 1)
        rows.append((core.mass(*gap)[0], gap[1] - gap[0], abs(rank - t), abs(rank - t)))
        score = max(0.0, rank - t, t - rank - 1)
        rows.append((core.mass(*value)[0], 1, score, abs(rank + 0.5 - t)))
    mass, flat, score, off = np.array(rows, dtype=float).T
    likely = np.exp(-score / kernel.scale)
    own, plain = (float(np.average(off, weights=base * likely)) for base in (mass, flat))
    return own, plain


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize(("mean", "sd"), [(40.0, 12.0), (50.0, 10.0), (41.37, 8.0)])
def test_values_that_do_not_tie_lose_little_by_short_decimals(
    n: int, epsilon: float, mean: float, sd: float
) -> None:
    """Exact errors of 40 data sets; worst where the quantile is itself a round number."""
    rng = np.random.default_rng(2)
    kernel = GridQuantile(0.5, low=0.0, high=100.0, guarantee=cdp.PureDP(epsilon))
    found = [expected_rank_error(rng.normal(mean, sd, n), kernel) for _ in range(40)]
    own, flat = np.mean(found, axis=0)
    print(f"N({mean:g}, {sd:g}^2), n = {n}, epsilon = {epsilon}: {own:.2f} ranks, {own / flat:.3f}")
    assert own <= 1.15 * flat
    assert flat == pytest.approx(kernel.scale, rel=0.2)


def test_reports_speak_of_an_interval_and_of_ranks() -> None:
    how: dict[str, Any] = {"low": 0.0, "high": 6.0, "guarantee": cdp.PureDP(1.0)}
    text = " ".join(cdp.quantile(answers(100), [0.25, 0.5], **how).report().split())
    assert "quantiles at levels 0.25, 0.5" in text
    assert "interval from 0 to 6" in text
    assert "ball" not in text
    assert "ranks with probability 0.95" in text


def test_the_bound_on_ranks_holds_where_it_is_worst() -> None:
    """Theorem 3 for the law itself: values far apart, none on a short decimal."""
    values = np.repeat([0.0, 33.33333333, 100.0], [500, 40, 500])
    kernel = GridQuantile(0.5, low=0.0, high=100.0, guarantee=cdp.PureDP(1.0))
    bound = kernel.rank_error(0.95)
    draws = kernel.sample(values, stream(13), 4000)
    below, up_to = (np.searchsorted(values, draws, side=side) for side in ("left", "right"))
    off = np.maximum(np.maximum(below - 520, 520 - up_to), 0)
    assert (off > bound).mean() <= 0.05
    assert off.mean() > kernel.scale  # far from the few scales that are usual


def test_an_interval_whose_points_would_be_subnormal_is_refused() -> None:
    with pytest.raises(ValueError, match="too close for double precision"):
        cdp.quantile([0.0], 0.5, low=-1e-320, high=1e-320, guarantee=cdp.PureDP(1.0))
