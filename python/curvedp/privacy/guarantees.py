r"""Guarantees: what a release promises about any single record.

Every guarantee names its neighbouring relation. With "replace", the default, two data sets are
neighbouring when one is the other with **one record replaced**; the number of records n is public.
With "add-remove" they are when one is the other with **one record more**; then n is protected, too.
"add-remove" implies "replace" at a price (`Guarantee.to_replace`), "replace" implies nothing about
"add-remove", and nothing composes guarantees of different relations. With M a mechanism and D, D'
any neighbouring data sets, the guarantees are

- `PureDP`: P(M(D) in A) <= e^epsilon P(M(D') in A) for every event A;
- `ApproxDP`: the same up to an additive delta;
- `ZCDP`: Rényi divergence of M(D) from M(D') at most rho alpha for every order alpha > 1
  (Bun, Steinke 2016);
- `GDP`: telling D from D' is no easier than telling N(0, 1) from N(mu, 1)
  (Dong, Roth, Su 2022);
- `Unproved`: a claim without a proof; nothing accepts it.

The proofs of all implications stand in docs/proofs/conversions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self, TypeVar

from curvedp._html import card
from curvedp._text import rounded_up
from curvedp.errors import ConversionError
from curvedp.privacy import conversion
from curvedp.privacy.base import (
    Guarantee,
    Neighbours,
    check_relation,
    non_negative,
    number,
    positive,
    probability,
)

__all__ = [
    "GDP",
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Neighbours",
    "PureDP",
    "Unproved",
    "compose",
]

GuaranteeT = TypeVar("GuaranteeT", bound=Guarantee)

#: Stands first in all that is shown of a release without a guarantee.
NO_GUARANTEE = "!!! NO GUARANTEE: NOTHING IS PROVED ABOUT THE PRIVACY OF THIS VALUE !!!"


@dataclass(frozen=True, repr=False)
class PureDP(Guarantee):
    """epsilon-differential privacy.

    Parameters
    ----------
    epsilon : float
        Bound on the privacy loss in nats; finite and positive.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation.

    Examples
    --------
    >>> PureDP(epsilon=1.0).to_gdp()
    <GDP(mu=1.2320353853450243); neighbouring: replace one record, n public>
    >>> PureDP(epsilon=1.0).to_zcdp().rho
    0.5
    """

    epsilon: float
    neighbours: Neighbours = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        check_relation(self.neighbours)

    @property
    def _promise(self) -> str:
        factor = f"e^{rounded_up(self.epsilon)}"
        if self.epsilon < 700.0:
            factor = rounded_up(math.nextafter(math.exp(self.epsilon), math.inf), 4)
        return f"no event becomes more than {factor} times as likely"

    def additive(self) -> tuple[Fraction, ...]:
        """(epsilon): losses bounded by epsilon_i add up to one bounded by their sum."""
        return (Fraction(self.epsilon),)

    def _additive_of_two(self) -> tuple[Fraction, ...]:
        return (2 * Fraction(self.epsilon),)

    def to_epsilon(self, delta: float = 0.0) -> float:
        """Smallest epsilon' implied at delta in [0, 1).

        Proof: randomised response with odds e^epsilon dominates every epsilon-DP pair; its curve
        is delta(epsilon') = (e^epsilon - e^epsilon') / (1 + e^epsilon), here inverted.
        """
        if number("delta", delta) == 0.0:
            return self.epsilon
        return conversion.approx_epsilon(self.epsilon, 0.0, probability("delta", delta))

    def to_delta(self, epsilon: float) -> float:
        """Smallest delta implied at epsilon: 0 from self.epsilon on, else as in `to_epsilon`."""
        return conversion.approx_delta(self.epsilon, 0.0, non_negative("epsilon", epsilon))

    def _power(self, false_alarms: float) -> float:
        return conversion.approx_power(self.epsilon, 0.0, false_alarms)

    def to_pure_dp(self) -> PureDP:
        """Itself."""
        return self

    def to_zcdp(self, *, bounded_range: bool = False) -> ZCDP:
        """epsilon^2/2-zCDP; epsilon^2/8-zCDP if the mechanism is epsilon-bounded-range.

        Proof: let L be the loss and psi(s) = log E_Q e^(sL). psi(0) = psi(1) = 0, and psi'' is a
        variance of L, at most (width of L's range)^2 / 4. So psi(a) <= width^2 a (a - 1) / 8 for
        a > 1 and the Rényi divergence psi(a) / (a - 1) is at most a width^2 / 8. The width is
        2 epsilon for epsilon-DP and epsilon for epsilon-bounded range.

        Parameters
        ----------
        bounded_range : bool
            Claim that the mechanism, not only its guarantee, is *proved* epsilon-bounded-range:
            for each pair of neighbours the loss lies in an interval of length epsilon.
        """
        width = Fraction(self.epsilon) * (1 if bounded_range else 2)
        rho = [width * width / 8]
        return ZCDP.from_additive(rho, conversion.round_up, neighbours=self.neighbours)

    def to_gdp(self, *, bounded_range: bool = False) -> GDP:
        """mu = 2 Phi^-1(1 / (1 + e^-epsilon)); with epsilon / 2 if the mechanism is bounded-range.

        Proof: a loss within [t, t + w] has a trade-off curve above that of a binary pair (q, p)
        with logit p - logit q = w. That curve is linear between (0, 1), one vertex and (1, 0), and
        the Gaussian curve is convex, so mu = Phi^-1(p) - Phi^-1(q) suffices. Phi^-1(logistic) is
        odd and concave on [0, oo), so this is largest at p = 1 - q. w is as in `to_zcdp`.
        """
        mu = conversion.pure_mu(0.5 * self.epsilon if bounded_range else self.epsilon)
        return GDP(mu, neighbours=self.neighbours)


@dataclass(frozen=True, repr=False)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : float
        Finite, at least 0.
    delta : float
        Strictly between 0 and 1; a mechanism with delta near 1/n may publish a whole record.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation.

    Examples
    --------
    >>> round(ApproxDP(epsilon=1.0, delta=1e-6).sufficient_gdp().mu, 4)
    0.2367
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        check_relation(self.neighbours)

    @property
    def _promise(self) -> str:
        return (
            f"as for epsilon = {rounded_up(self.epsilon)}, "
            f"up to a probability of {rounded_up(self.delta)}"
        )

    def additive(self) -> tuple[Fraction, ...]:
        """(epsilon, delta): basic composition. Valid; `compose_mixed` gives the smallest."""
        return (Fraction(self.epsilon), Fraction(self.delta))

    def _additive_of_two(self) -> tuple[Fraction, ...]:
        delta = conversion.delta_of_two(self.epsilon, self.delta)
        if delta >= 1:
            raise ValueError(
                f"{self} implies nothing about replacing a record, (1 + e^epsilon) delta being 1 "
                "or more: lower epsilon or delta"
            )
        return (2 * Fraction(self.epsilon), delta)

    def to_epsilon(self, delta: float) -> float:
        """Smallest epsilon' implied at a delta' of at least self.delta.

        Proof: revealing all with probability delta and randomised response otherwise dominates;
        its curve is delta + (1 - delta)(e^epsilon - e^epsilon') / (1 + e^epsilon).
        """
        if probability("delta", delta) < self.delta:
            self._not_implied(f"(epsilon, {delta!r})-DP", "ask for a delta of at least its own")
        return conversion.approx_epsilon(self.epsilon, self.delta, float(delta))

    def to_delta(self, epsilon: float) -> float:
        """Smallest delta' implied at epsilon'; self.delta from self.epsilon on."""
        return conversion.approx_delta(self.epsilon, self.delta, non_negative("epsilon", epsilon))

    def _power(self, false_alarms: float) -> float:
        return conversion.approx_power(self.epsilon, self.delta, false_alarms)

    def sufficient_gdp(self) -> GDP:
        """The largest mu with mu-GDP implying this guarantee, rounded down; not an implication."""
        mu = conversion.gdp_mu(self.epsilon, self.delta)
        return GDP(mu, neighbours=self.neighbours)

    def sufficient_zcdp(self) -> ZCDP:
        """The largest rho with rho-zCDP implying this guarantee, rounded down."""
        rho = conversion.zcdp_rho(self.epsilon, self.delta)
        return ZCDP(rho, neighbours=self.neighbours)


@dataclass(frozen=True, repr=False)
class ZCDP(Guarantee):
    """rho-zero-concentrated differential privacy.

    Parameters
    ----------
    rho : float
        Finite and positive.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation.

    Examples
    --------
    >>> round(ZCDP(rho=0.5).to_epsilon(delta=1e-6), 4)
    5.2215
    """

    rho: float
    neighbours: Neighbours = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", self.rho))
        check_relation(self.neighbours)

    @property
    def _promise(self) -> str:
        return f"Rényi divergence at most {rounded_up(self.rho)} alpha at every order alpha > 1"

    def additive(self) -> tuple[Fraction, ...]:
        """(rho): Rényi divergences of one order add up."""
        return (Fraction(self.rho),)

    def _additive_of_two(self) -> tuple[Fraction, ...]:
        return (4 * Fraction(self.rho),)

    def to_epsilon(self, delta: float) -> float:
        """Smallest epsilon of the Canonne-Kamath-Steinke bound, optimised over the order alpha.

        Proof: with Z the loss and E e^((alpha-1) Z) <= e^((alpha-1) alpha rho), delta(epsilon) =
        E (1 - e^(epsilon - Z))_+ is at most that times the maximum over z of
        (1 - e^(epsilon - z)) e^(-(alpha-1) z), which is at z = epsilon + log(alpha / (alpha-1)).
        """
        return conversion.zcdp_epsilon(self.rho, probability("delta", delta))

    def to_delta(self, epsilon: float) -> float:
        """Smallest delta of the same bound."""
        return conversion.zcdp_delta(self.rho, non_negative("epsilon", epsilon))

    def _power(self, false_alarms: float) -> float:
        return conversion.zcdp_power(self.rho, false_alarms)

    def to_zcdp(self) -> ZCDP:
        """Itself."""
        return self

    def to_gdp(self) -> GDP:
        """Not implied: randomised response with odds e is 1/2-zCDP but only 1.232-GDP."""
        self._not_implied("GDP", "rho-zCDP is not sqrt(2 rho)-GDP; ask the mechanism for GDP")


@dataclass(frozen=True, repr=False)
class GDP(Guarantee):
    """mu-Gaussian differential privacy.

    Parameters
    ----------
    mu : float
        Shift of the unit normal that is as hard to see as any record; finite and positive.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation.

    Examples
    --------
    >>> round(GDP(mu=1.0).to_epsilon(delta=1e-6), 4)
    4.8866
    >>> GDP(mu=1.0).split([1.0, 3.0])[0]
    <GDP(mu=0.5); neighbouring: replace one record, n public>
    """

    mu: float
    neighbours: Neighbours = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive("mu", self.mu))
        check_relation(self.neighbours)

    @property
    def _promise(self) -> str:
        return f"no easier to see than a shift of a unit normal by {rounded_up(self.mu)}"

    def additive(self) -> tuple[Fraction, ...]:
        """(mu^2): N(0, 1) against N(mu_i, 1) for all i is N(0, 1) against N(|mu|, 1)."""
        return (Fraction(self.mu) ** 2,)

    def _additive_of_two(self) -> tuple[Fraction, ...]:
        return (4 * Fraction(self.mu) ** 2,)

    @classmethod
    def from_additive(
        cls,
        parameters: Sequence[Fraction],
        rounding: Callable[[Fraction], float] = float,
        *,
        neighbours: Neighbours,
    ) -> Self:
        """The root of the summed squares, rounded on the same side as asked for."""
        lower, upper = conversion.sqrt_bounds(parameters[0])
        root = upper if rounding is conversion.round_up else lower
        return super().from_additive([root], rounding, neighbours=neighbours)

    def to_epsilon(self, delta: float) -> float:
        """Smallest epsilon with delta_mu(epsilon) <= delta; see `to_delta`."""
        return conversion.gdp_epsilon(self.mu, probability("delta", delta))

    def to_delta(self, epsilon: float) -> float:
        """delta_mu(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

        Proof: by Blackwell's theorem the pair of output laws is a processing of N(0, 1) and
        N(mu, 1), whose best event for P(A) - e^epsilon Q(A) is the half-line above
        epsilon/mu + mu/2.
        """
        return conversion.gdp_delta(self.mu, non_negative("epsilon", epsilon))

    def to_zcdp(self) -> ZCDP:
        """mu^2/2-zCDP.

        Proof: Rényi divergence shrinks under processing and is alpha mu^2/2 between the normals.
        """
        rho = [Fraction(self.mu) ** 2 / 2]
        return ZCDP.from_additive(rho, conversion.round_up, neighbours=self.neighbours)

    def _power(self, false_alarms: float) -> float:
        return conversion.gdp_power(self.mu, false_alarms)

    def to_gdp(self) -> GDP:
        """Itself."""
        return self


@dataclass(frozen=True, repr=False)
class Unproved(Guarantee):
    """A claim for which no proof stands. It implies nothing and no ledger accepts it.

    Parameters
    ----------
    claimed : Guarantee
        The guarantee claimed, by a paper or an approximate sampler for instance.
    why : str
        Reason that it is not proved.

    Examples
    --------
    >>> print(Unproved(claimed=PureDP(epsilon=1.0), why="the noise came from a seed"))
    Unproved(claimed=PureDP(epsilon=1), why='the noise came from a seed')
    """

    claimed: Guarantee
    why: str

    def __post_init__(self) -> None:
        if not isinstance(self.claimed, Guarantee) or isinstance(self.claimed, Unproved):
            raise TypeError("claimed must be a PureDP, ApproxDP, ZCDP or GDP object")
        if not isinstance(self.why, str) or not self.why.strip():
            raise TypeError("why must be a sentence that says what the proof lacks")

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation of the claim."""
        return self.claimed.neighbours

    def __str__(self) -> str:
        return f"Unproved(claimed={self.claimed}, why={self.why!r})"

    @property
    def _claim(self) -> str:
        return f"Claimed {self.claimed}. Why not proved: {self.why}"

    @property
    def _brief(self) -> str:
        return f"NO GUARANTEE (claimed {self.claimed})"

    def _repr_html_(self) -> str:
        facts = [("claimed", str(self.claimed)), ("why not proved", self.why)]
        return card("Unproved", facts, alarm=NO_GUARANTEE)

    def to_replace(self) -> Self:
        """Raises: nothing is implied."""
        self._not_implied("what it claims", "no proof stands behind the claim")

    def to_pure_dp(self) -> PureDP:
        """Raises: nothing is implied."""
        self._not_implied("PureDP", "no proof stands behind the claim")

    def to_zcdp(self) -> ZCDP:
        """Raises: nothing is implied."""
        self._not_implied("ZCDP", "no proof stands behind the claim")

    def to_gdp(self) -> GDP:
        """Raises: nothing is implied."""
        self._not_implied("GDP", "no proof stands behind the claim")

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON, the claim nested."""
        return {"kind": "Unproved", "claimed": self.claimed.to_dict(), "why": self.why}


def compose(first: GuaranteeT, *others: GuaranteeT) -> GuaranteeT:
    """Guarantee of releasing all of several results on one data set; exact within one kind.

    The sum of epsilon, (epsilon, delta) or rho, and the root of the summed squares of mu. It holds
    when each mechanism is chosen after seeing the results before it, the guarantees being fixed.
    The exact total is rounded to the nearest float, at most 2^-53 relative below it.

    Raises
    ------
    ConversionError
        If the kinds differ (convert them first, or use `compose_mixed`), if the neighbouring
        relations do (see `Guarantee.to_replace`), or if one is `Unproved`.
    TypeError
        For anything else, such as a list of them.

    Parameters
    ----------
    first, *others : PureDP, ApproxDP, ZCDP or GDP
        All of one kind and one neighbouring relation.

    Returns
    -------
    guarantee of that kind and relation

    Examples
    --------
    >>> print(compose(PureDP(0.5), PureDP(0.25)), compose(GDP(0.6), GDP(0.8)))
    PureDP(epsilon=0.75) GDP(mu=1)
    """
    for own in (first, *others):
        if not isinstance(own, Guarantee):
            raise TypeError(f"give guarantees one by one, as compose(a, b), got {own!r}")
    kind = type(first)
    for other in others:
        if type(other) is not kind:
            raise ConversionError(
                f"{kind.__name__} and {type(other).__name__} are different kinds: convert them to "
                "one kind (to_zcdp, to_gdp, to_approx_dp), or use compose_mixed at a delta"
            )
    neighbours = one_relation((first, *others))
    columns = zip(*(guarantee.additive() for guarantee in (first, *others)), strict=True)
    return _of_totals(first, [sum(column, Fraction(0)) for column in columns], neighbours)


def composed(guarantee: Guarantee, times: int) -> Guarantee:
    """A guarantee given `times` times: `compose` of as many.

    Raises
    ------
    ValueError
        If the deltas add up to 1 or more.
    """
    if isinstance(guarantee, Unproved) or times == 1:
        return guarantee
    totals = [times * own for own in guarantee.additive()]
    return _of_totals(guarantee, totals, guarantee.neighbours)


def _of_totals(like: GuaranteeT, totals: Sequence[Fraction], neighbours: Neighbours) -> GuaranteeT:
    if isinstance(like, ApproxDP) and totals[1] >= 1:
        raise ValueError("the deltas add up to 1 or more, which promises nothing: lower them")
    return like.from_additive(totals, neighbours=neighbours)


def one_relation(guarantees: Sequence[Guarantee]) -> Neighbours:
    """The neighbouring relation of guarantees that are about to be composed.

    Raises
    ------
    ConversionError
        If they differ.
    """
    found, *more = {guarantee.neighbours for guarantee in guarantees}
    if more:
        raise ConversionError(
            "guarantees of different neighbouring relations compose to none: those for adding or "
            "removing a record imply some for replacing one, by to_replace(); the reverse holds "
            "for none"
        )
    return found
