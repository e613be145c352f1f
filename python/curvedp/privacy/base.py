"""Base of all guarantees: the neighbouring relation, validated parameters, splitting, JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

from curvedp._html import card
from curvedp._text import rounded_down, rounded_up
from curvedp._validation import as_choice, as_probability
from curvedp.errors import ConversionError
from curvedp.privacy.conversion import round_down, round_up

if TYPE_CHECKING:
    from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP

#: The neighbouring relation of a guarantee: which data sets it is hard to tell apart.
Neighbours = Literal["replace", "add-remove"]

RELATIONS: dict[Neighbours, str] = {
    "replace": "replace one record, n public",
    "add-remove": "add or remove one record",
}


def check_relation(neighbours: str) -> None:
    """Refuses what is no neighbouring relation."""
    as_choice(neighbours, tuple(RELATIONS), "neighbours")


def number(name: str, value: object) -> float:
    """A real parameter as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, not {type(value).__name__}")
    return float(value)


def positive(name: str, value: object) -> float:
    """A parameter that must be finite and positive."""
    x = number(name, value)
    if not (math.isfinite(x) and x > 0.0):
        raise ValueError(
            f"{name} must be finite and greater than 0, got {x!r}: "
            "a guarantee of 0 allows no release and an infinite one promises nothing"
        )
    return x


def non_negative(name: str, value: object) -> float:
    """A parameter that must be finite and at least 0."""
    x = number(name, value)
    if not (math.isfinite(x) and x >= 0.0):
        raise ValueError(f"{name} must be finite and at least 0, got {x!r}")
    return x


def probability(name: str, value: object) -> float:
    """A delta, strictly between 0 and 1."""
    x = number(name, value)
    if not 0.0 < x < 1.0:
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got {x!r}: "
            "choose it well below 1/n; use PureDP for delta = 0"
        )
    return x


class Guarantee:
    """Base of all guarantees: a kind, exact parameters and the neighbouring relation.

    Equality, hash and `to_dict` use all three.
    """

    _kinds: ClassVar[dict[str, type[Guarantee]]] = {}

    def __init_subclass__(cls) -> None:
        Guarantee._kinds[cls.__name__] = cls

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation, "replace" (one record, n public) or "add-remove"."""
        raise NotImplementedError

    def _not_implied(self, wanted: str, reason: str) -> NoReturn:
        raise ConversionError(f"{type(self).__name__} does not imply {wanted}: {reason}")

    def _parameters(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def _amounts(self) -> dict[str, Any]:
        """The parameters without the relation."""
        return {name: own for name, own in self._parameters().items() if name != "neighbours"}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._amounts().items())
        return f"<{type(self).__name__}({inside}); neighbouring: {RELATIONS[self.neighbours]}>"

    def __str__(self) -> str:
        return self._shown(rounded_up)

    def _shown(self, rounded: Callable[[float], str]) -> str:
        inside = [f"{name}={rounded(value)}" for name, value in self._amounts().items()]
        if self.neighbours != "replace":
            inside.append(f"neighbours={self.neighbours!r}")
        return f"{type(self).__name__}({', '.join(inside)})"

    def as_rest(self) -> str:
        """Its text as what is left of a budget: rounded down, so that all of it can be spent."""
        return self._shown(rounded_down)

    @property
    def _brief(self) -> str:
        """For a line about something that has this guarantee."""
        return str(self)

    @property
    def _promise(self) -> str:
        """Meaning of the guarantee, as part of a sentence."""
        return "nothing"

    def _repr_html_(self) -> str:
        named = [(name, repr(value)) for name, value in self._amounts().items()]
        meaning = [("meaning", self._promise), ("neighbouring", RELATIONS[self.neighbours])]
        return card(type(self).__name__, [*named, *meaning])

    def additive(self) -> tuple[Fraction, ...]:
        """Exact parameters that add up under composition of this kind.

        (epsilon), (epsilon, delta), (rho) and, for GDP, (mu^2).
        """
        self._not_implied("composition", "an unproved claim composes with nothing")

    @classmethod
    def from_additive(
        cls,
        parameters: Sequence[Fraction],
        rounding: Callable[[Fraction], float] = float,
        *,
        neighbours: Neighbours,
    ) -> Self:
        """The guarantee of this kind with given additive parameters; inverse of `additive`.

        Parameters
        ----------
        parameters : sequence of Fraction
        rounding : callable
            From a fraction to a float, on the side that the caller needs.
        neighbours : {"replace", "add-remove"}
            The neighbouring relation, which `additive` leaves out.

        Returns
        -------
        Guarantee

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        try:
            return cls(*map(rounding, parameters), neighbours=neighbours)  # type: ignore[call-arg]
        except OverflowError:
            raise ValueError(f"the parameters are too large for {cls.__name__}") from None

    def to_epsilon(self, delta: float) -> float:
        """Smallest epsilon for which this guarantee implies (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        float
            Rounded up.

        Raises
        ------
        ConversionError
            If no epsilon is implied.
        """
        self._not_implied("(epsilon, delta)-DP", "no proof stands behind the claim")

    def to_delta(self, epsilon: float) -> float:
        """Smallest delta for which this guarantee implies (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float
            At least 0.

        Returns
        -------
        float
            Rounded up.

        Raises
        ------
        ConversionError
            If no delta is implied.
        """
        self._not_implied("(epsilon, delta)-DP", "no proof stands behind the claim")

    def power(self, false_alarms: float) -> float:
        """Largest power of a test that tells two neighbouring data sets apart.

        Whoever knows the method and all other records, and must tell from the release which of two
        values a record has ("replace"), or whether it is there ("add-remove"): the largest
        probability of finding one of both, if the other is taken for it with the probability
        `false_alarms` (Wasserman, Zhou 2010; Dong, Roth, Su 2022).

        Parameters
        ----------
        false_alarms : float
            Strictly between 0 and 1.

        Returns
        -------
        float
            Rounded up; `false_alarms` itself would be reached by guessing.

        Raises
        ------
        ConversionError
            If nothing is proved.

        Examples
        --------
        >>> import curvedp as cdp
        >>> round(cdp.GDP(mu=1.0).power(0.05), 3), round(cdp.PureDP(epsilon=1.0).power(0.05), 3)
        (0.26, 0.136)
        """
        return self._power(as_probability(false_alarms, "false_alarms"))

    def _power(self, false_alarms: float) -> float:
        self._not_implied("a bound on tests", "no proof stands behind the claim")

    def to_approx_dp(self, delta: float) -> ApproxDP:
        """The (epsilon, delta)-DP guarantee implied at a delta."""
        from curvedp.privacy.guarantees import ApproxDP

        epsilon = self.to_epsilon(probability("delta", delta))
        return ApproxDP(epsilon, delta, neighbours=self.neighbours)

    def to_pure_dp(self) -> PureDP:
        """The pure guarantee implied; only `PureDP` has one."""
        self._not_implied("PureDP", "its privacy loss is unbounded; use to_approx_dp(delta)")

    def to_zcdp(self) -> ZCDP:
        """The zCDP guarantee implied, where there is one."""
        self._not_implied("ZCDP", "an event of probability delta may lose everything")

    def to_gdp(self) -> GDP:
        """The GDP guarantee implied, where there is one."""
        self._not_implied("GDP", "an event of probability delta may lose everything")

    def to_replace(self) -> Self:
        """The guarantee implied for replacing one record, which is to remove one and add one.

        From "add-remove": 2 epsilon, 2 mu, 4 rho, (2 epsilon, (1 + e^epsilon) delta), rounded up.
        "replace" gives itself and implies nothing about adding or removing a record. Proof:
        docs/proofs/conversions.md, section 9.

        Returns
        -------
        guarantee of the same kind

        Raises
        ------
        ConversionError
            If nothing is proved.
        ValueError
            If what is implied is no guarantee: a delta of 1 or more, or beyond the range of floats.

        Examples
        --------
        >>> import curvedp as cdp
        >>> print(cdp.GDP(1.0, neighbours="add-remove").to_replace())
        GDP(mu=2)
        """
        if self.neighbours == "replace":
            return self
        return self.from_additive(self._additive_of_two(), round_up, neighbours="replace")

    def _additive_of_two(self) -> tuple[Fraction, ...]:
        """Additive parameters of what holds two steps of the relation apart."""
        raise NotImplementedError

    def to_dp_event(self, accountant: Any = None) -> Any:
        """The event of Google's `dp_accounting` (an extra) that stands for this guarantee.

        Parameters
        ----------
        accountant : dp_accounting.pld.PLDAccountant or dp_accounting.rdp.RdpAccountant, optional
            The accountant that will compose it, created for this guarantee's relation. What an
            event means depends on it: without it the event is one that understates in neither, see
            `curvedp.privacy.to_dp_event`.

        Returns
        -------
        dp_accounting.DpEvent

        Raises
        ------
        ConversionError
            If there is no event for this guarantee.
        MissingExtraError
            If dp-accounting is not installed.
        """
        from curvedp.privacy.accounting import to_dp_event

        return to_dp_event(self, accountant)

    def split(self, weights: Sequence[float]) -> tuple[Self, ...]:
        """Shares that compose to no more than this guarantee.

        Parameters
        ----------
        weights : sequence of float
            Positive shares of what adds up under composition: of epsilon, of (epsilon, delta),
            of rho, and of **mu squared** for GDP (pass squares to split mu in proportion). They
            are divided by their sum.

        Returns
        -------
        tuple of guarantees of the same kind and relation, rounded down: their exact total never
        exceeds self.
        """
        exact = [Fraction(positive("a weight", weight)) for weight in weights]
        if not exact:
            raise ValueError("split needs at least one weight")
        total, parts = sum(exact), self.additive()
        return tuple(
            self.from_additive(
                [weight / total * part for part in parts], round_down, neighbours=self.neighbours
            )
            for weight in exact
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; floats survive the round trip exactly."""
        return {"kind": type(self).__name__, **self._amounts(), "neighbours": self.neighbours}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Guarantee:
        """Inverse of `to_dict`; refuses unknown kinds and wrong parameters."""
        rest = dict(data)
        kind = Guarantee._kinds.get(str(rest.pop("kind", None)))
        if kind is None or set(rest) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
            raise ValueError("not the description of a guarantee: a kind or a parameter is unknown")
        if "claimed" in rest:
            rest["claimed"] = Guarantee.from_dict(rest["claimed"])
        return kind(**rest)


def with_relation(guarantee: Guarantee, neighbours: Neighbours) -> Guarantee:
    """The same parameters for another relation: no implication, but another claim."""
    return Guarantee.from_dict(guarantee.to_dict() | {"neighbours": neighbours})


def adds_or_removes(guarantee: object) -> bool:
    """True for a guarantee about adding or removing a record."""
    return isinstance(guarantee, Guarantee) and guarantee.neighbours == "add-remove"


def calibration_of(guarantee: Guarantee) -> dict[str, Any]:
    """Kind and parameters on which noise depends, for its keys.

    Without the relation: noise is calibrated to replacing a record, and where it is not, a call
    adds the relation to its keys.
    """
    return {name: own for name, own in guarantee.to_dict().items() if name != "neighbours"}
