"""Bugs that outsiders found in other libraries in 2026, asked of this one; each with a control.

smartnoise-sdk#621 (an odometer whose formula lacked a logarithm), smartnoise-sdk#622 (clipping in
the wrong order), jax_privacy#338 (a documented sensitivity that an option made false),
google/differential-privacy#378 (noise for a record's length where one is replaced by its opposite),
google/differential-privacy#428 (outputs of one record priced one by one).
"""

from __future__ import annotations

import inspect
import itertools
import math

import numpy as np
import pytest

import curvedp as cdp
from sensitivity_cases import CASES
from statistic_list import STATISTICS

dp_accounting = pytest.importorskip("dp_accounting")

DELTA = 1e-6
#: Those of points alone, on flat space: others make labels and covariates of the records here.
OF_POINTS = [
    own
    for own in STATISTICS
    if own.statistic.beside is None and own.name not in ("hessian", "quantile", "quantiles")
]
#: Those that are computed from several releases.
SEVERAL = [own for own in STATISTICS if own.name in ("region", "interval", "adaptive")]
PLANE = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)


# ------------------------------------------------------------------ totals of many spends (#621)


def independent_epsilon(multipliers: list[float]) -> float:
    """Epsilon at DELTA of Gaussian mechanisms together, by numerical composition of others."""
    accountant = dp_accounting.pld.PLDAccountant(
        neighboring_relation=dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=1e-4,
    )
    for multiplier in multipliers:
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    return float(accountant.get_epsilon(DELTA))


def is_total(told: float, truth: float) -> bool:
    """True if a total is that of others, up to their discretisation."""
    return abs(told - truth) <= 2e-3 * truth


@pytest.mark.parametrize("spends", [[0.3] * 10, [0.05] * 100, [0.1, 0.5, 0.2, 0.9]], ids=len)
def test_a_ledgers_total_is_that_of_an_independent_accountant(spends):
    with cdp.Ledger(cdp.GDP(10.0)) as ledger:
        for k, mu in enumerate(spends):
            ledger.spend(cdp.GDP(mu), str(k))
        told = ledger.spent.to_epsilon(DELTA)
        assert ledger.entries[-1].spent == ledger.spent
    truth = independent_epsilon([1.0 / mu for mu in spends])
    assert is_total(told, truth)
    assert is_total(cdp.compose(*map(cdp.GDP, spends)).to_epsilon(DELTA), truth)
    by_rho = cdp.compose(*(cdp.GDP(mu).to_zcdp() for mu in spends))
    assert by_rho.to_epsilon(DELTA) >= truth * 0.999

    # controls: a spend that is forgotten, a root that is (the total then grows like k)
    assert not is_total(cdp.compose(*map(cdp.GDP, spends[1:])).to_epsilon(DELTA), truth)
    assert not is_total(cdp.GDP(sum(spends)).to_epsilon(DELTA), truth)


def test_shares_of_a_budget_compose_to_no_more_than_it():
    for whole in (cdp.GDP(1.0), cdp.PureDP(1.0), cdp.ZCDP(0.5), cdp.ApproxDP(1.0, 1e-6)):
        for weights in ([1.0] * 7, [0.1, 3.0, 1.0]):
            shares = whole.split(weights)
            columns = zip(*(own.additive() for own in shares), strict=True)
            exact = [sum(column) for column in columns]
            assert all(a <= b for a, b in zip(exact, whole.additive(), strict=True))
            assert all(a >= b * (1 - 1e-12) for a, b in zip(exact, whole.additive(), strict=True))


# ---------------------------------------------------------------------- order of clipping (#622)


def far_out(times: float, n: int = 300) -> np.ndarray:
    """Records on rays, a fifth of them outside the ball, so many times as far as its radius."""
    rng = np.random.default_rng(3)
    angle = rng.uniform(0.0, 2 * np.pi, n)
    length = np.where(np.arange(n) % 5 == 0, times, rng.uniform(0.1, 0.9, n))
    return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def values_of(found) -> list[np.ndarray]:
    """All numbers of a release that are drawn from records."""
    if isinstance(found, cdp.Release):
        return [found.value]
    return [part.value for part in found.parts]


@pytest.mark.parametrize("own", [own for own in OF_POINTS if own.name != "located"], ids=repr)
def test_how_far_outside_a_record_lies_changes_nothing(own):
    near, far = (
        values_of(own.call(far_out(times), PLANE, own.guarantee, seed=5)) for times in (1.5, 150.0)
    )
    for a, b in zip(near, far, strict=True):
        assert np.allclose(a, b, rtol=0.0, atol=1e-6, equal_nan=True)


def test_records_that_are_averaged_before_they_are_clipped_are_caught():
    """The control: a mean of raw records, moved to the ball at the end."""

    def clipped_last(records):
        mean = records.mean(axis=0)
        return mean / max(1.0, float(np.linalg.norm(mean)))

    assert not np.allclose(clipped_last(far_out(1.5)), clipped_last(far_out(150.0)), atol=1e-3)


@pytest.mark.parametrize("count", [1, 30])
def test_a_person_far_outside_moves_the_mean_by_one_record(count):
    """However many records they have, and however far they lie."""
    inside, outside = np.zeros((200, 2)), np.tile([1e6, 0.0], (count, 1))
    persons = [*map(str, range(200)), *["far"] * count]
    found = cdp.frechet_mean(
        np.vstack([inside, outside]), PLANE, cdp.GDP(100.0), units=persons, seed=1
    )
    exact = np.array([1.0, 0.0]) / 201
    assert np.linalg.norm(found.value - exact) <= 30 * found.scale


# ------------------------------------------------------- documented sensitivities (jax_privacy#338)

#: Options that change nothing, or too little for neighbours that were searched for.
WITHOUT_EFFECT = {("distance_moments", "max_dist"), ("mail_iteration", "weight_error")}


def reached_and_told(name, chosen):
    """The largest change that was found under some options, and the sensitivity under them."""
    search, about, _ = CASES[name]
    return search(**chosen), getattr(cdp.sensitivity, name)(*about, **chosen)


def test_every_public_sensitivity_is_searched_under_every_option():
    assert set(CASES) == set(cdp.sensitivity.__all__)
    for name, (search, _, options) in CASES.items():
        parameters = inspect.signature(getattr(cdp.sensitivity, name)).parameters.values()
        own = {one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
        assert own == set(options) == set(inspect.signature(search).parameters), name
        assert all(len(values) > 1 for values in options.values()), name


@pytest.mark.parametrize("name", CASES)
def test_no_neighbours_lie_farther_apart_than_is_documented_under_any_options(name):
    options = CASES[name][2]
    closest = 0.0
    for values in itertools.product(*options.values()):
        reached, told = reached_and_told(name, dict(zip(options, values, strict=True)))
        assert reached <= told * (1 + 1e-9), values
        assert reached >= 0.3 * told, values  # a bound that is far off tells of no search
        closest = max(closest, reached / told)
    assert closest >= 0.85


@pytest.mark.parametrize("name", CASES)
def test_a_sensitivity_that_forgets_an_option_is_caught(name):
    """The control: under one value neighbours lie farther apart than another value allows."""
    options = CASES[name][2]
    for option, values in options.items():
        first = {own: known[0] for own, known in options.items()}
        found = [reached_and_told(name, first | {option: value}) for value in values]
        most, least = max(reached for reached, _ in found), min(told for _, told in found)
        assert (most > 1.01 * least) != ((name, option) in WITHOUT_EFFECT), option


# --------------------------------------------------------- opposite ends of the ball (google#378)


@pytest.mark.parametrize(("mu", "n"), [(0.3, 1), (0.3, 7), (0.3, 500), (2.0, 7)])
def test_noise_serves_a_record_that_is_replaced_by_its_opposite(mu, n):
    """Means of data sets with one record at either end of the ball, by an accountant of others."""
    ends = np.zeros((2, n, 2))
    ends[:, 0, 0] = 1.0, -1.0
    apart = np.linalg.norm(np.subtract(*ends.mean(axis=1)))
    found = cdp.frechet_mean(ends[0], PLANE, cdp.GDP(mu), coverage=False)
    assert found.mechanism == "tangent Gaussian"
    truth = independent_epsilon([found.scale / apart])
    assert truth <= found.guarantee.to_epsilon(DELTA) * (1 + 2e-3)
    assert is_total(truth, cdp.GDP(mu).to_epsilon(DELTA))  # nor more noise than that
    for kind in (dp_accounting.pld.PLDAccountant, dp_accounting.rdp.RdpAccountant):
        accountant = kind(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        accountant.compose(found.guarantee.to_dp_event(accountant))
        assert accountant.get_epsilon(DELTA) >= truth * (1 - 2e-3)
    # the control: noise for the length of a record, which is half as much
    assert independent_epsilon([0.5 * found.scale / apart]) > 1.5 * truth


@pytest.mark.parametrize("n", [1, 7, 500])
def test_noise_under_pure_privacy_serves_the_same_pair(n):
    """On a line the largest log ratio of Laplace densities is the distance over the scale."""
    line = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    found = cdp.frechet_mean(np.zeros((n, 1)), line, cdp.PureDP(0.7), coverage=False)
    assert found.mechanism == "Riemannian Laplace"
    apart = 2.0 / n
    assert 0.7 * (1 - 1e-3) <= apart / found.scale <= 0.7
    assert apart / (0.5 * found.scale) > 0.7  # the control


# ----------------------------------------------------------- joint releases, jointly priced (#428)


@pytest.mark.parametrize("own", SEVERAL, ids=repr)
def test_what_comes_from_the_same_records_is_priced_together(own):
    found = own.call(far_out(0.8), PLANE, cdp.GDP(1.0))
    assert len(found.parts) >= 2
    shares = [part.guarantee.mu for part in found.parts]
    joint = math.sqrt(sum(mu * mu for mu in shares))
    assert joint <= found.guarantee.mu * (1 + 1e-12)
    assert joint >= 0.9 * found.guarantee.mu  # nothing is given away
    # the control: the dearest part alone
    assert max(shares) < 0.999 * joint


def test_a_release_with_several_parts_is_paid_once_and_whole():
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        cdp.confidence_region(far_out(0.8), PLANE, cdp.GDP(1.0), ledger=ledger)
        assert ledger.spent == cdp.GDP(1.0)
        assert len(ledger.entries) == 1
        with pytest.raises(cdp.errors.BudgetError):
            cdp.frechet_variance(far_out(0.8), PLANE, cdp.GDP(0.01), ledger=ledger)
