"""The budget of a search for a mean: what serves it, and whom it is too small for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from curvedp.manifolds import Euclidean, Manifold, Product
from curvedp.mechanisms import ways_to_meet
from curvedp.privacy import GDP, PureDP
from curvedp.privacy.conversion import round_up
from curvedp.statistics.call import Call
from curvedp.sums.messages import start_of

#: Largest mu or epsilon, which keeps all numbers far from the ends of doubles.
_MOST = 1e9
#: The least mu and epsilon over the records of a unit, for which sums with noise are exact.
_LEAST_MU, _LEAST_EPSILON = 1e-9, 2.0**-20
#: Largest dimension that is served under pure DP.
_MOST_PURE = 3
#: Fewest records times mu with which a search may succeed, by the kind of start. Times epsilon: at
#: least, for each entry of the start, on flat space.
_LEAST = {
    "vector": 45.0,
    "matrices": 80.0,
    "projector": 20.0,
    "pure": 300.0,
    "entry": 40.0,
    "flat": 900.0,
}

#: What noise is calibrated to.
Way = GDP | PureDP


@dataclass(frozen=True)
class SearchDesign:
    """The shares of a search, fixed before a record is seen.

    Attributes
    ----------
    way : GDP or PureDP
        The budget of all sums together.
    shares : tuple of GDP or PureDP
        That of each factor of a product; of the whole otherwise.
    private_keys : bool
        True if which groups are shown is a part of the promise, which no GDP implies then.
    """

    way: Way
    shares: tuple[Way, ...]
    private_keys: bool


def way_of_call(call: Call) -> Way:
    """The guarantee that implies the call's, of the same relation: Gaussian but for a pure call."""
    whole = call.guarantee
    wanted = PureDP if isinstance(whole, PureDP) else GDP
    for way in ways_to_meet(replace(whole, neighbours="replace")):  # type: ignore[type-var]
        if isinstance(way, wanted):
            return replace(way, neighbours=whole.neighbours)
    raise ValueError(
        f"without a ball there is no mean under {type(call.guarantee).__name__}: use GDP, ZCDP, "
        "ApproxDP or PureDP, or give a public ball"
    )


def whole_of(way: Way) -> float:
    """mu or epsilon, under either relation."""
    return way.epsilon if isinstance(way, PureDP) else way.mu


def check_budget(call: Call) -> None:
    """Refuses budgets at the ends of doubles, and spaces that pure noise does not serve.

    Parameters
    ----------
    call : Call

    Raises
    ------
    ValueError
    """
    way = way_of_call(call)
    amount, least, name = whole_of(way), _LEAST_MU, "mu"
    if isinstance(way, PureDP):
        _check_pure(call.manifold)
        least, name = _LEAST_EPSILON, "epsilon"
    least *= call.records_per_unit
    if not least <= amount <= _MOST:
        raise ValueError(
            f"without a ball {name} must be between {least:g} and {_MOST:g}, got {amount:g}: "
            "use another budget"
        )


def _check_pure(space: Manifold) -> None:
    is_matrix = space.spec.partition(":")[0] in ("spd", "hpd", "correlation")
    if space.dim <= _MOST_PURE and not is_matrix and not isinstance(space, Product):
        return
    raise ValueError(
        f"without a ball there is no mean under PureDP on {space.spec}, of dimension {space.dim}: "
        f"it is served on single spaces of dimension up to {_MOST_PURE}, such as S^2, SO(3) and "
        "H^2, but not on SPD, HPD and correlation matrices. Use GDP, ZCDP or ApproxDP, or give a "
        "public ball"
    )


def factors_of(space: Manifold) -> tuple[Manifold, ...]:
    return space.factors if isinstance(space, Product) else (space,)


def composed_of(amounts: list[float], way: Way) -> Way:
    """Shares of a budget as one, not rounded down."""
    parts = [type(way)(own).additive()[0] for own in amounts]
    return way.from_additive([sum(parts, Fraction(0))], round_up, neighbours=way.neighbours)


def together(amounts: list[float], way: Way) -> float:
    """The same as a number, at most the whole."""
    if len(amounts) == 1:
        return amounts[0]
    return min(whole_of(way), whole_of(composed_of(amounts, way)))


def least_product(manifold: Manifold, way: Way) -> float:
    """Fewest records times the budget, under add or remove, with which a search may succeed."""
    start = start_of(manifold)
    if isinstance(way, PureDP):
        entries = 0 if start is None else len(start.weights)
        flat = _LEAST["flat"] if isinstance(manifold, Euclidean) else 0.0
        return max(_LEAST["pure"], flat, _LEAST["entry"] * entries)
    if start is not None and start.is_matrix:
        return _LEAST["projector"] * math.sqrt(start.order)
    if manifold.spec.partition(":")[0] in ("spd", "hpd"):
        return _LEAST["matrices"]
    return _LEAST["vector"]
