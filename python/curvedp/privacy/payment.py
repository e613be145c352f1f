"""The one place where a ledger is asked: before any noise is drawn, after memory was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP, ZCDP, PureDP
from curvedp.privacy.ledger import Ledger
from curvedp.privacy.store import LedgerEntry


def pay(
    ledger: Ledger | None, guarantee: Guarantee, label: str, search: str | None = None
) -> LedgerEntry | None:
    """Takes a guarantee from a ledger, if there is one.

    Parameters
    ----------
    ledger : Ledger or None
    guarantee : Guarantee
        What all releases of the call promise together; no ledger takes an `Unproved` one.
    label : str
        Its entry's name.
    search : str, optional
        See `Ledger.spend`.

    Returns
    -------
    LedgerEntry or None

    Raises
    ------
    BudgetError
        If the budget does not suffice: nothing is taken then.
    TypeError
        For an `Unproved` guarantee.
    """
    return None if ledger is None else ledger.spend(guarantee, label=label, search=search)


def settle(ledger: Ledger, number: int, spent: Guarantee, steps: int = 0) -> LedgerEntry | None:
    """Puts what a search spent in the place of what was set aside, where that is proved.

    Pure steps that stop early have spent the sum of their epsilon, to every budget; Gaussian ones
    the root of their squares to a budget of GDP or zCDP, and all to one of epsilon and delta.

    Parameters
    ----------
    ledger : Ledger
    number : int
        Of the entry.
    spent : GDP or PureDP
    steps : int
        See `Ledger.settle`.

    Returns
    -------
    LedgerEntry or None
        None where nothing is left over.
    """
    if not isinstance(spent, PureDP) and not isinstance(ledger.budget, (GDP, ZCDP)):
        return None
    return ledger.settle(number, spent, steps)


@contextlib.contextmanager
def charged(ledger: Ledger | None, rest: str = "") -> Iterator[None]:
    """Adds to every error after a charge that there was one, and what is left to do.

    Parameters
    ----------
    ledger : Ledger or None
        Which was charged; without one nothing is added.
    rest : str
        What is kept and how to go on; by default that nothing is.
    """
    try:
        yield
    except BaseException as error:
        if ledger is not None:
            place = "in memory" if ledger.path is None else ledger.path
            error.add_note(
                f"paid from the ledger {place}; "
                + (rest or "nothing was released, and another draw is another spend")
            )
        raise
