"""Amounts that guarantees take of a budget, in exact fractions of what adds up."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from curvedp.errors import ConversionError
from curvedp.privacy.account import Total
from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved


def cost_in(budget: Guarantee, spent: Guarantee) -> Total:
    """Exact amount of the budget's additive parameters that a guarantee uses up."""
    guarantee = _at_relation(budget, spent)
    match budget, guarantee:
        case (PureDP(), PureDP()) | (ApproxDP(), ApproxDP()) | (ZCDP(), ZCDP()) | (GDP(), GDP()):
            return guarantee.additive()
        case ApproxDP(), PureDP(epsilon):
            return (Fraction(epsilon), Fraction(0))
        case ZCDP(), PureDP(epsilon):
            return (Fraction(epsilon) ** 2 / 2,)
        case ZCDP(), GDP(mu):
            return (Fraction(mu) ** 2 / 2,)
        case GDP(), PureDP():
            return guarantee.to_gdp().additive()
    kind, wanted = type(guarantee).__name__, type(budget).__name__
    if isinstance(budget, ApproxDP) and isinstance(guarantee, ZCDP | GDP):
        more = "; many add up to less in a ledger of ApproxDP(...).sufficient_gdp()"
        raise ConversionError(
            f"{kind} implies {wanted}, the kind of this ledger's budget, at each delta, which must "
            f"be chosen: spend {kind}(...).to_approx_dp(1e-7), say"
            + (more if isinstance(guarantee, GDP) else "")
        )
    raise ConversionError(
        f"{kind} does not imply {wanted}, the kind of this ledger's budget: ask the mechanism for "
        "a guarantee of that kind, or open a ledger of a kind that covers both"
    )


def _at_relation(budget: Guarantee, guarantee: Guarantee) -> Guarantee:
    """The guarantee that another implies under the budget's neighbouring relation."""
    if not isinstance(guarantee, Guarantee):
        raise TypeError(f"a ledger spends guarantees, not {type(guarantee).__name__}")
    if isinstance(guarantee, Unproved):
        raise ConversionError("an Unproved claim has no known cost: no ledger accepts it")
    if budget.neighbours == "replace":
        return guarantee.to_replace()
    if guarantee.neighbours == "replace":
        raise ConversionError(
            "this ledger's budget is for adding or removing a record, about which a guarantee for "
            'replacing one says nothing: spend guarantees with neighbours="add-remove", or open a '
            'ledger of a budget with neighbours="replace", which accepts both'
        )
    return guarantee


def as_guarantee(
    budget: Guarantee, amount: Total, rounding: Callable[[Fraction], float]
) -> Guarantee | None:
    """An amount of the budget's additive parameters; None for nothing."""
    if not any(amount):
        return None
    if isinstance(budget, ApproxDP) and amount[1] == 0:
        return PureDP.from_additive(amount[:1], rounding, neighbours=budget.neighbours)
    return type(budget).from_additive(amount, rounding, neighbours=budget.neighbours)
