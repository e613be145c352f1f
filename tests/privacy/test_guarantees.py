"""Guarantees as values: composition, splitting, JSON, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curvedp.errors import ConversionError, CurvedpError
from curvedp.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    Unproved,
    compose,
)


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log10(low), math.log10(high)).map(lambda power: 10.0**power)


# What is not implied


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ApproxDP(1.0, 1e-6).to_gdp(),
        lambda: ApproxDP(1.0, 1e-6).to_zcdp(),
        lambda: ApproxDP(1.0, 1e-6).to_pure_dp(),
        lambda: ApproxDP(1.0, 1e-6).to_epsilon(1e-7),
        lambda: ZCDP(1.0).to_gdp(),
        lambda: ZCDP(1.0).to_pure_dp(),
        lambda: GDP(1.0).to_pure_dp(),
        lambda: Unproved(GDP(1.0), "no proof").to_epsilon(1e-6),
        lambda: Unproved(GDP(1.0), "no proof").to_delta(1.0),
        lambda: Unproved(GDP(1.0), "no proof").to_approx_dp(1e-6),
        lambda: Unproved(GDP(1.0), "no proof").to_gdp(),
        lambda: Unproved(GDP(1.0), "no proof").to_zcdp(),
        lambda: Unproved(PureDP(1.0), "no proof").to_pure_dp(),
        lambda: Unproved(GDP(1.0), "no proof").split([1, 1]),
        lambda: compose(Unproved(GDP(1.0), "no proof")),
        lambda: compose(GDP(1.0), Unproved(GDP(1.0), "no proof")),
        lambda: compose(GDP(1.0), PureDP(1.0)),
        lambda: compose(ApproxDP(1.0, 1e-6), PureDP(1.0)),
    ],
)
def test_what_is_not_implied_is_refused(wrong):
    with pytest.raises(ConversionError) as caught:
        wrong()
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CurvedpError)


# Composition and splitting


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_sums_compose_exactly(kind):
    assert compose(*[kind(0.1)] * 10) == kind(1.0)
    assert compose(kind(0.3)) == kind(0.3)


def test_a_list_is_no_guarantee():
    for parts in (([GDP(1.0), GDP(1.0)],), (GDP(1.0), [GDP(1.0)])):
        with pytest.raises(TypeError, match="one by one"):
            compose(*parts)


def test_approx_dp_composes_by_both_sums():
    assert compose(ApproxDP(0.5, 2.0**-20), ApproxDP(0.25, 2.0**-20)) == ApproxDP(0.75, 2.0**-19)
    with pytest.raises(ValueError, match="deltas add up to 1"):
        compose(ApproxDP(1.0, 0.5), ApproxDP(1.0, 0.5))


def test_gdp_composes_by_the_root_of_summed_squares():
    assert compose(GDP(3.0), GDP(4.0)) == GDP(5.0)
    assert compose(GDP(3e-200), GDP(4e-200)).mu == pytest.approx(5e-200, rel=2e-16)
    assert compose(GDP(3e200), GDP(4e200)).mu == pytest.approx(5e200, rel=2e-16)


def test_composition_that_overflows_is_refused():
    for kind in (PureDP, ZCDP, GDP):
        with pytest.raises(ValueError, match="too large"):
            compose(*[kind(1.7e308)] * 2)


def kinds_of(value: float) -> list[Guarantee]:
    return [PureDP(value), ApproxDP(value, 1e-6), ZCDP(value), GDP(value)]


@settings(max_examples=60, deadline=None)
@given(
    decades(1e-6, 1e3),
    st.lists(decades(1e-3, 1e3), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_split_never_exceeds_and_loses_only_rounding(value, weights, which):
    whole = kinds_of(value)[which]
    shares = whole.split(weights)
    assert len(shares) == len(weights)
    for index, total in enumerate(whole.additive()):
        parts = [share.additive()[index] for share in shares]
        assert sum(parts) <= total
        assert sum(parts) >= total * (1 - Fraction(1, 2**49))
        for part, weight in zip(parts, weights, strict=True):
            assert float(part / total) == pytest.approx(weight / math.fsum(weights), rel=1e-12)


def test_equal_split_of_gdp_divides_by_root_k():
    assert GDP(1.0).split([1] * 4) == (GDP(0.5),) * 4


@pytest.mark.parametrize("weights", [[], [0.0], [1.0, -1.0], [math.nan], [math.inf]])
def test_split_refuses_weights_that_are_no_shares(weights):
    with pytest.raises(ValueError, match="weight"):
        PureDP(1.0).split(weights)


# Objects

EVERY = [
    PureDP(0.1),
    ApproxDP(0.1, 1e-6),
    ApproxDP(0.0, 1e-6),
    ZCDP(0.1),
    GDP(1 / 3),
    Unproved(PureDP(0.1), "calibrated as published"),
    PureDP(0.1, neighbours="add-remove"),
    ApproxDP(0.1, 1e-6, neighbours="add-remove"),
    ZCDP(0.1, neighbours="add-remove"),
    GDP(1 / 3, neighbours="add-remove"),
    Unproved(PureDP(0.1, neighbours="add-remove"), "calibrated as published"),
]


@pytest.mark.parametrize("guarantee", EVERY)
def test_json_round_trip_is_exact(guarantee):
    again = Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict())))
    assert again == guarantee
    assert type(again) is type(guarantee)
    assert hash(again) == hash(guarantee)


@pytest.mark.parametrize("guarantee", EVERY)
def test_guarantees_are_values(guarantee):
    for twin in (copy.deepcopy(guarantee), pickle.loads(pickle.dumps(guarantee))):
        assert twin == guarantee
    with pytest.raises(AttributeError):
        guarantee.epsilon = 2.0
    assert len({*EVERY, guarantee}) == len(EVERY)


def test_kinds_with_equal_numbers_differ():
    assert PureDP(1.0) != ZCDP(1.0)
    assert ZCDP(1.0) != GDP(1.0)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "PureDP"},
        {"kind": "Guarantee"},
        {"kind": "Perfect", "epsilon": 1.0},
        {"kind": "PureDP", "epsilon": 1.0, "delta": 0.0, "neighbours": "replace"},
        {"kind": "PureDP", "epsilon": 1.0},
    ],
)
def test_unknown_descriptions_are_refused(data):
    with pytest.raises(ValueError, match="not the description of a guarantee"):
        Guarantee.from_dict(data)


@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_parameters_must_be_finite_and_positive(kind, value):
    with pytest.raises(ValueError, match="finite and greater than 0"):
        kind(value)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 2.0, math.nan])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        ApproxDP(1.0, delta)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        GDP(1.0).to_epsilon(delta)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        ZCDP(1.0).to_epsilon(delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_epsilon_of_a_curve_must_be_finite_and_non_negative(epsilon):
    for guarantee in (PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(1.0), GDP(1.0)):
        with pytest.raises(ValueError, match="finite and at least 0"):
            guarantee.to_delta(epsilon)


@pytest.mark.parametrize("value", ["1", None, True, 1j, np.array([1.0])])
def test_parameters_must_be_real_numbers(value):
    for kind in (PureDP, ZCDP, GDP):
        with pytest.raises(TypeError, match="real number"):
            kind(value)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), Fraction(1, 2)])
def test_other_real_numbers_become_floats(value):
    assert type(PureDP(value).epsilon) is float
    assert PureDP(value) == PureDP(0.5)
    assert PureDP(np.int64(2)) == PureDP(2) == PureDP(2.0)


@pytest.mark.parametrize("wrong", [{"claimed": 1.0, "why": "x"}, {"claimed": GDP(1), "why": " "}])
def test_unproved_says_what_and_why(wrong):
    with pytest.raises(TypeError):
        Unproved(**wrong)
    with pytest.raises(TypeError):
        Unproved(claimed=Unproved(GDP(1), "no proof"), why="twice")
