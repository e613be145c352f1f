"""Five sentences by which a reader without the code can decide on a release."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from curvedp._html import card
from curvedp._text import rounded_up
from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP, ZCDP, PureDP, Unproved

if TYPE_CHECKING:
    from curvedp.privacy.provenance import Provenance

__all__ = ["FALSE_ALARMS", "NOT_COUNTED", "Statement", "accuracy_of", "cost_of", "statement"]

#: Stands for the numbers of records inside the ball where they were not counted.
NOT_COUNTED = "Not counted: how many records were points inside the ball"
#: Share of false alarms of the test by which guarantees are explained.
FALSE_ALARMS = 0.05
#: A test that is that sure finds anybody.
_SURE = 0.99
_WIDTH = 88
_INDENT = 12


@dataclass(frozen=True)
class Statement:
    """Five sentences: who is protected, against whom, assuming what, at what cost, how exactly.

    Attributes
    ----------
    protected, against, assuming, cost, accuracy : str
        A sentence or two each.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> mean = cdp.frechet_mean(np.tile(ball.center, (500, 1)), ball, cdp.GDP(mu=1.0))
    >>> mean.statement.cost.split("alarms, ")[1].split(";")[0]
    'finds it in at most 26 % of cases'
    """

    protected: str
    against: str
    assuming: str
    cost: str
    accuracy: str

    def items(self) -> Iterator[tuple[str, str]]:
        """Names and texts, in order."""
        yield "protected", self.protected
        yield "against", self.against
        yield "assuming", self.assuming
        yield "cost", self.cost
        yield "accuracy", self.accuracy

    def lines(self) -> list[str]:
        """Lines of at most 88 characters."""
        rows = [f"{name + ':':<{_INDENT}}{text}" for name, text in self.items()]
        return [
            line
            for row in rows
            for line in textwrap.wrap(
                row,
                _WIDTH,
                subsequent_indent=" " * _INDENT,
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return card("What it promises", self.items())


def statement(
    guarantee: Guarantee,
    *,
    n: str,
    accuracy: str,
    by_name: bool = False,
    records_per_unit: int = 1,
    grouped: bool = False,
    private_keys: bool = False,
    steady: bool = False,
    local: bool = False,
    provenance: Provenance | None = None,
) -> Statement:
    """The statement about releases, from what they promise and what is public of them.

    Parameters
    ----------
    guarantee : Guarantee
        Of all that is released, to one unit.
    n : str
        What is public about numbers where a record is replaced, such as ``"the number of records,
        n = 600"``.
    accuracy : str
        See `accuracy_of`.
    by_name : bool
        True if units are known by name.
    records_per_unit : int
    grouped : bool
        True if there are groups.
    private_keys : bool
        True if which groups there are is protected, too.
    steady : bool
        True if the answer came at a public time.
    local : bool
        True if each release is about one record, whose owner trusts nobody.
    provenance : Provenance or None
    """
    unit = _unit(provenance, by_name, records_per_unit)
    if isinstance(guarantee, Unproved):
        protected = f"nobody, as far as is proved; the claim is about {unit}."
    elif local:
        protected = f"{unit}: the release hardly depends on which record it is."
    else:
        what = "what they are" if by_name else "what it is"
        if guarantee.neighbours == "replace":
            protected = f"{unit}: the release hardly depends on {what}. "
            protected += f"Public, so not protected: {n}."
        else:
            there = "whether they are there" if by_name else "whether it is there"
            protected = f"{unit}: the release hardly depends on {there}, nor on {what}. "
            protected += f"The number of {'units' if by_name else 'records'} is protected, too."
            if private_keys:
                protected += (
                    " So is which groups there are, but for large ones, whose names are shown."
                )
            elif grouped:
                protected += " Public, so not protected: which groups there are."
        if not by_name and records_per_unit == 1:
            owner = _named(provenance)
            owner = "person" if owner in ("", "record") else owner
            protected += f" If one {owner} has several records, this protects one of them: "
            protected += "say units=, the label of each record's owner."
    return Statement(
        protected=protected,
        against=_against(guarantee, steady, local),
        assuming=_assuming(guarantee, grouped and not private_keys, local),
        cost=cost_of(guarantee, provenance, by_name=by_name),
        accuracy=accuracy,
    )


def cost_of(
    guarantee: Guarantee, provenance: Provenance | None = None, *, by_name: bool = False
) -> str:
    """A guarantee in terms of a test that can be checked, and the ledger that paid for it.

    Parameters
    ----------
    guarantee : Guarantee
    provenance : Provenance or None
    by_name : bool
        True if units are known by name.

    Examples
    --------
    >>> import curvedp as cdp
    >>> cost_of(cdp.GDP(mu=1.0)).split("%. ")[1]
    'It implies epsilon = 4.89 at delta = 1e-06.'
    """
    if isinstance(guarantee, Unproved):
        return f"not known. {guarantee.claimed} was claimed, which no ledger accepts."
    power = guarantee.power(FALSE_ALARMS)
    share = math.ceil(100.0 * power - 1e-9)
    protected = f"protected {_named(provenance) or 'person'}" if by_name else "protected record"
    values = "sets of records" if by_name else "values"
    question = {
        "replace": f"which of two {values} a {protected} has",
        "add-remove": f"whether a {protected} is there",
    }[guarantee.neighbours]
    found = (
        f"{guarantee}: whoever tests {question}, with "
        f"{100 * FALSE_ALARMS:.0f} % false alarms, finds it in at most {share} % of cases; who "
        f"guesses, in {100 * FALSE_ALARMS:.0f} %."
    )
    if power > _SURE:
        found += " SO LARGE A BUDGET PROTECTS NOBODY."
    elif isinstance(guarantee, PureDP):
        found += f" No event becomes more than {_times(guarantee.epsilon)} times as likely."
    elif isinstance(guarantee, (GDP, ZCDP)):
        implied = rounded_up(guarantee.to_epsilon(1e-6), 3)
        found += f" It implies epsilon = {implied} at delta = 1e-06."
    if provenance is None:
        return found
    if provenance.payment is None:
        return found + " No ledger was asked: nobody adds up what else was released."
    paid = str(provenance.payment)
    return f"{found} {paid[0].upper()}{paid[1:]}."


def accuracy_of(expected_error: str, about: str, counted: str = "") -> str:
    """The error to expect, and how many records were points inside the ball.

    Parameters
    ----------
    expected_error : str
    about : str
        What it is an error of, and what it leaves out.
    counted : str
        On the count of records inside the ball.
    """
    error = f"expected error {expected_error}{f' ({about})' if about else ''}."
    return " ".join(filter(None, (error, counted)))


def _named(provenance: Provenance | None) -> str:
    return "" if provenance is None else provenance.unit


def _unit(provenance: Provenance | None, by_name: bool, records_per_unit: int) -> str:
    """The protected unit, in words."""
    name = _named(provenance)
    if by_name:
        return f"all records of one {name or 'person'}, however many"
    if records_per_unit == 1:
        return f"the record of one {name}" if name else "one record"
    return f"the records of one {name or 'contributor'}, at most {records_per_unit}"


def _against(guarantee: Guarantee, steady: bool, local: bool) -> str:
    """Whom the guarantee stops."""
    if isinstance(guarantee, Unproved):
        return "nobody, as far as is proved."
    knows = "the method tells" if local else "the method and all other records tell"
    seen = " or the computer's memory"
    if not steady:
        seen = ", the computer's memory, or how long the computation took"
    return (
        f"everybody who sees the release, whoever that is, whatever {knows} them, with any "
        f"computer. Not against those who see the records themselves{seen}."
    )


def _assuming(guarantee: Guarantee, grouped: bool, local: bool) -> str:
    """Assumptions of every guarantee."""
    n_is_public = not local and guarantee.neighbours == "replace"
    public = "the domain, n" if n_is_public else "the domain"
    groups = ", the groups" if grouped else ""
    return (
        f"{public}{groups} and all parameters were known or chosen without a look at the records, "
        "and whatever else is released from them is added to the cost."
    )


def _times(epsilon: float) -> str:
    """e^epsilon, rounded up."""
    if epsilon < 700.0:
        return rounded_up(math.nextafter(math.exp(epsilon), math.inf), 4)
    return f"e^{rounded_up(epsilon)}"
