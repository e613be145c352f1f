"""Shares of a budget that are chosen one after the other: their squares never exceed the whole."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from curvedp.sums.filter import Filter, root

shares = st.lists(st.floats(1e-6, 2.0), max_size=12)


def _square(numbers: list[float]) -> Fraction:
    return sum((Fraction(own) ** 2 for own in numbers), Fraction(0))


@given(st.floats(1e-3, 1e3), shares)
@example(821.9780498195593, [0.38])
def test_squares_of_shares_add_up_to_no_more_than_the_whole(mu: float, wished: list[float]) -> None:
    budget = Filter(mu)
    taken = [budget.take(own * mu) for own in wished]
    taken.append(budget.take(budget.rest))
    assert _square(taken) <= Fraction(mu) ** 2
    assert all(own <= wish * mu for own, wish in zip(taken, wished, strict=False))
    # what is left cannot be had, and almost nothing is left
    assert Fraction(math.nextafter(budget.rest, math.inf)) ** 2 + _square(taken) > Fraction(mu) ** 2
    assert budget.rest <= 1e-7 * mu


@given(st.floats(1e-3, 1e3), shares)
def test_what_was_spent_is_not_less_than_its_shares(mu: float, wished: list[float]) -> None:
    budget = Filter(mu)
    taken = [budget.take(own * mu) for own in wished]
    assert Fraction(budget.spent) ** 2 >= _square(taken) or budget.spent == mu
    assert budget.spent <= mu


def test_shares_that_are_rounded_to_nearest_exceed_the_whole() -> None:
    over = 0
    for k in range(1, 400):
        mu, first = 1.0, math.sqrt(k / 400)
        rest = math.sqrt(mu * mu - first * first)
        over += _square([first, rest]) > Fraction(mu) ** 2
        budget = Filter(mu)
        assert _square([budget.take(first), budget.take(budget.rest)]) <= 1
    assert over > 50


@given(st.floats(1e-3, 1e3), shares)
def test_pure_shares_add_up_to_no_more_than_the_whole(whole: float, wished: list[float]) -> None:
    budget = Filter(whole, power=1)
    taken = [budget.take(own * whole) for own in wished]
    taken.append(budget.take(budget.rest))
    total = sum((Fraction(own) for own in taken), Fraction(0))
    assert total <= Fraction(whole)
    assert Fraction(math.nextafter(budget.rest, math.inf)) + total > Fraction(whole)
    assert Fraction(budget.spent) >= total or budget.spent == whole
    assert budget.spent <= whole


@pytest.mark.parametrize("square", [0, 5e-324, 1e-320, 1e-34, 0.37, 1.0, 2.0, 1e18, 1e300])
@pytest.mark.parametrize("power", [1, 2])
def test_a_root_is_the_double_beside_it(square: float, power: int) -> None:
    for part in (Fraction(1), Fraction(1, 3), Fraction(997, 1000), 1 - Fraction(1, 10**30)):
        exact = Fraction(square) ** power * part
        below, above = root(exact, down=True), root(exact, down=False)
        assert Fraction(below) ** 2 <= exact <= Fraction(above) ** 2
        # one double where it is the root, else two side by side
        assert above == (
            below if Fraction(below) ** 2 == exact else math.nextafter(below, math.inf)
        )
