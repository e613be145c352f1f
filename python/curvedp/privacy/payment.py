"""The one place where a ledger is asked: before any noise is drawn, after memory was."""

from __future__ import annotations

from curvedp.privacy.base import Guarantee
from curvedp.privacy.ledger import Ledger
from curvedp.privacy.store import LedgerEntry


def pay(ledger: Ledger | None, guarantee: Guarantee, label: str) -> LedgerEntry | None:
    """Takes a guarantee from a ledger, if there is one.

    Parameters
    ----------
    ledger : Ledger or None
    guarantee : Guarantee
        What all releases of the call promise together; no ledger takes an `Unproved` one.
    label : str
        Its entry's name.

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
    return None if ledger is None else ledger.spend(guarantee, label=label)
