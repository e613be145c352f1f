"""A ledger is a privacy filter: it refuses what its budget does not cover, before noise is drawn.

Spends may be chosen adaptively, their size included, since each accepted kind adds up in one
number per spend: epsilon (and delta) by basic composition, rho (Feldman, Zrnic 2021, Individual
privacy accounting via a Rényi filter; Whitehouse et al. 2023) and mu^2 (Koskela, Tobaben, Honkela
2023; Smith, Thakurta 2022, fully adaptive composition for Gaussian differential privacy).

Rounding. Totals are kept as exact rational numbers: floats are rational, and so are eps^2/2 and
mu^2; the one rounded conversion (PureDP to GDP) is rounded up. A spend fits when the exact total
is at most budget (1 + 2^-50). That single allowance, at most 1e-15 relative for the whole life of
the ledger, exists because the k-th part of a budget is itself rounded: with u = 2^-53, budget / k
is at most 1 + u too large, and mu / sqrt(k) at most 1 + 2u, its square 1 + 4u + 5u^2 < 1 + 2^-50.
So k equal shares always fit, and a total beyond the allowance never does.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from types import TracebackType
from typing import Any, Self

from curvedp._hints import hinting
from curvedp._html import MOST_ROWS, card
from curvedp.errors import BudgetError, LedgerError
from curvedp.privacy.account import MemoryStore, Spend, Total
from curvedp.privacy.amounts import as_guarantee, cost_in
from curvedp.privacy.base import Guarantee
from curvedp.privacy.conversion import round_down, round_up
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP
from curvedp.privacy.place import real_path
from curvedp.privacy.steps import Noted, Step
from curvedp.privacy.store import (
    FileStore,
    LedgerEntry,
    MadeWith,
    made_with,
)

__all__ = ["Ledger", "LedgerEntry"]

_ALLOWANCE = Fraction(1, 2**50)


def _left(remaining: Guarantee | None) -> str:
    return remaining.as_rest() if remaining else "nothing"


def _time(entry: LedgerEntry) -> str:
    return entry.time.isoformat(sep=" ", timespec="seconds")


def _named(entry: LedgerEntry) -> str:
    """The label of an entry, and the entry in whose place it stands."""
    place = "" if entry.settles is None else f" (in place of entry {entry.settles})"
    return f"{entry.label}{place}"


def _open(made: MadeWith, path: str | None, spent: Guarantee | None = None) -> Ledger:
    return Ledger._of(made, path, spent)


class Ledger:
    """Budget for one data set; `spend` charges it or refuses.

    Parameters
    ----------
    budget : PureDP, ApproxDP, ZCDP or GDP
        Total to which all spends on the data set may compose. PureDP accepts PureDP; ApproxDP
        accepts PureDP and ApproxDP (sums); ZCDP accepts PureDP (epsilon^2/2), ZCDP and GDP
        (mu^2/2); GDP accepts PureDP and GDP (root of summed squares). A budget for replacing a
        record accepts guarantees for adding or removing one at what they imply
        (`Guarantee.to_replace`: 2 mu for mu); one for adding or removing accepts only such.
    path : path, optional
        SQLite file shared by threads, processes and later sessions; created with mode 0600 when it
        does not exist, in a folder on a local disk to which nobody else may write, nor to one above
        it (but /tmp and its like): others could undo what was spent. Without a path the ledger
        lives in this process's memory, and a fork or a copy of it is refused until it is closed.
    data, unit : str
        Public names of the data set and of whose record is protected, such as ``"patient"``, for
        the reports of releases that are paid from it. The file keeps them. A name protects nobody:
        if one patient has several records, a release protects one of them, unless it is called
        with ``units=`` or ``records_per_unit=``.

    Notes
    -----
    A spend is never taken back, also not when the release fails afterwards: the failure may have
    been seen. A search that ends before it spent all that was set aside for it settles its entry:
    another one, for what it spent, stands in its place. A stored release may be shown again without
    a spend; a fresh draw is a new spend.

    Examples
    --------
    >>> with Ledger(PureDP(1.0)) as ledger:
    ...     entry = ledger.spend(PureDP(0.4), "mean of the first visit")
    ...     print(ledger.spent, ledger.remaining)
    PureDP(epsilon=0.4) PureDP(epsilon=0.6)
    """

    @hinting
    def __init__(
        self,
        budget: Guarantee,
        *,
        path: str | os.PathLike[str] | None = None,
        data: str = "",
        unit: str = "",
    ) -> None:
        for name, text in (("data", data), ("unit", unit)):
            if not isinstance(text, str) or not text.isprintable():
                raise TypeError(f"{name} must be a plain text")
        made = MadeWith(budget, data, unit)
        self._set(made, None if path is None else real_path(path), create=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The ledger of a file that is there, with the budget that it was made with.

        Parameters
        ----------
        path : path

        Raises
        ------
        LedgerError
            If there is no ledger, or others may write to its folder.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "study.ledger")
        >>> Ledger(PureDP(1.0), path=path).close()
        >>> print(Ledger.open(path).report(), end="")
        budget:     PureDP(epsilon=1)
        spent:      nothing
        remaining:  PureDP(epsilon=1)
        """
        place = real_path(path)
        return cls._of(made_with(place), place)

    @classmethod
    def _of(cls, made: MadeWith, path: str | None, spent: Guarantee | None = None) -> Self:
        """The ledger of a file that is there; without one a closed ledger, of what was spent."""
        found = cls.__new__(cls)
        found._set(made, path, create=False, spent=spent)
        if path is None:
            found.close()
        return found

    def _set(
        self, made: MadeWith, path: str | None, *, create: bool, spent: Guarantee | None = None
    ) -> None:
        budget = made.budget
        if not isinstance(budget, PureDP | ApproxDP | ZCDP | GDP):
            raise TypeError("the budget must be a PureDP, ApproxDP, ZCDP or GDP object")
        self._budget: Guarantee = budget
        self._limit = budget.additive()
        self._closed = False
        #: By which a job knows a ledger in memory again.
        self._token = secrets.token_hex(8)
        start = tuple(Fraction(0) for _ in self._limit) if spent is None else self._cost(spent)
        self._store: MemoryStore | FileStore
        if path is None:
            self._made, self._store = made, MemoryStore(start)
        else:
            self._store = FileStore(path, made, start, self._cost, create=create)
            self._made = self._store.made

    def _cost(self, guarantee: Guarantee) -> Total:
        return cost_in(self._budget, guarantee)

    @property
    def budget(self) -> Guarantee:
        """The whole budget."""
        return self._budget

    @property
    def data(self) -> str:
        """Name of the data set; empty if none was given."""
        return self._made.data

    @property
    def unit(self) -> str:
        """Name of what is protected; empty if none was given."""
        return self._made.unit

    @property
    def path(self) -> str | None:
        """Absolute path of the file, None in memory."""
        return self._store.path if isinstance(self._store, FileStore) else None

    @property
    def spent(self) -> Guarantee | None:
        """Composition of all spends in the budget's kind, rounded up; None before the first."""
        return self._spent(self._store.total())

    @property
    def remaining(self) -> Guarantee | None:
        """The largest guarantee that can still be spent, rounded down; None if nothing is left.

        Printed it is rounded up, as any guarantee: `report` shows what can be asked for.
        """
        return self._remaining(self._store.total())

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All spends in order."""
        return self._entries(self._store.read()[1])

    def _entries(self, spends: Iterable[tuple[Spend, Total]]) -> tuple[LedgerEntry, ...]:
        return tuple(
            self._entry(spend, number, total) for number, (spend, total) in enumerate(spends, 1)
        )

    def _entry(self, spend: Spend, number: int, total: Total) -> LedgerEntry:
        spent = self._spent(total)
        assert spent is not None
        rest = self._remaining(total)
        own = (spend.time, spend.label, spend.guarantee, number, spent, rest, spend.settles)
        return LedgerEntry(*own)

    def spend(
        self, guarantee: Guarantee, label: str = "", *, search: str | None = None
    ) -> LedgerEntry:
        """Charge a guarantee, or refuse and charge nothing. Call it before drawing noise.

        Parameters
        ----------
        guarantee : Guarantee
            Guarantee of the coming release.
        label : str
            A note for `entries`; it must not be derived from records.
        search : str, optional
            Name of a search whose steps other processes may go on with: it is paid once, however
            many ask, and `note` notes its steps.

        Raises
        ------
        ValueError
            If the search was paid with another guarantee.
        BudgetError
            If the budget does not cover it.
        ConversionError
            If it does not imply the budget's kind or neighbouring relation, or is `Unproved`.
        LedgerError
            If the ledger is closed or its file cannot be used.
        """
        self._check_open()
        if not isinstance(label, str):
            raise TypeError(f"label must be a string, not {type(label).__name__}")
        decide = partial(self._after, guarantee, self._cost(guarantee))
        spend = Spend(datetime.now(UTC), label, guarantee, search=search)
        number, total = self._store.charge(decide, spend)
        if search is None:
            return self._entry(spend, number, total)
        entry = self.entries[number - 1]
        if entry.guarantee != guarantee:
            raise ValueError("the search was paid with another guarantee")
        return entry

    def note(self, search: str, before: Iterable[Step], steps: Iterable[Step]) -> bool:
        """Notes steps of a search that was paid. Call it before anything of them leaves.

        Parameters
        ----------
        search : str
            As `spend` took it.
        before, steps : iterable of Step
            All that are noted, and those that follow them.

        Returns
        -------
        bool
            False if nothing was noted: others are before them, or the search's entry was settled.

        Raises
        ------
        LedgerError
            If there is no such search, the ledger is closed or its file cannot be used.

        Examples
        --------
        >>> from curvedp.privacy.steps import Step
        >>> ledger = Ledger(GDP(2.0))
        >>> entry = ledger.spend(GDP(1.0), search="a study's run")
        >>> first = Step(0, "digest", 0.5)
        >>> ledger.note("a study's run", (), [first]), ledger.note("a study's run", (), [first])
        (True, False)
        """
        self._check_open()
        return self._store.note(search, tuple(before), tuple(steps))

    @property
    def searches(self) -> dict[str, Noted]:
        """Searches whose steps are noted, by name."""
        return self._store.searches()

    def settle(self, number: int, spent: Guarantee, steps: int = 0) -> LedgerEntry | None:
        """Puts what a search spent in the place of what was set aside for it.

        For searches whose steps are a filter within what was set aside, once they have ended
        (docs/proofs/sums-of-messages.md, section 6): releases that make their own spend call it.
        For everything else the promise of the ledger would be broken.

        Parameters
        ----------
        number : int
            Of the entry that set it aside.
        spent : Guarantee
        steps : int
            Number of the search's noted steps that `spent` is the cost of; 0 if none are noted.

        Returns
        -------
        LedgerEntry or None
            None if `spent` costs no less than that entry: then nothing is recorded.

        Raises
        ------
        ValueError
            If there is no such entry, it settles another, or it was settled.
        LedgerError
            If the ledger is closed, its file cannot be used, or the search has another number of
            steps.

        Examples
        --------
        >>> ledger = Ledger(GDP(2.0))
        >>> entry = ledger.spend(GDP(1.0), "mean without a ball")
        >>> print(ledger.settle(entry.number, GDP(0.5)).remaining)
        GDP(mu=1.9365)
        """
        self._check_open()
        cost, entries = self._cost(spent), self.entries
        if not 1 <= number <= len(entries):
            raise ValueError(f"there is no entry {number}")
        own = entries[number - 1]
        if own.settles is not None or any(entry.settles == number for entry in entries):
            raise ValueError(
                f"entry {number} cannot be settled: it settles another, or was settled"
            )
        before = self._cost(own.guarantee)
        saved = tuple(old - new for old, new in zip(before, cost, strict=True))
        if min(saved) < 0 or not any(saved):
            return None

        def decide(total: Total) -> Total:
            return tuple(used - part for used, part in zip(total, saved, strict=True))

        spend = Spend(datetime.now(UTC), own.label, spent, number, steps=steps)
        return self._entry(spend, *self._store.charge(decide, spend))

    def check(self, guarantee: Guarantee) -> None:
        """Refuse what `spend` would refuse now, and charge nothing.

        Long work that comes before a draw asks here first; what others spend meanwhile may still
        leave too little.

        Parameters
        ----------
        guarantee : Guarantee

        Raises
        ------
        BudgetError, ConversionError, LedgerError
            As in `spend`.

        Examples
        --------
        >>> ledger = Ledger(PureDP(1.0))
        >>> ledger.check(PureDP(0.4))
        >>> print(ledger.spent)
        None
        """
        self._check_open()
        self._after(guarantee, self._cost(guarantee), self._store.total())

    def _check_open(self) -> None:
        if self._closed and self.path is None:
            raise LedgerError(
                "this ledger is closed for good, as that of a stored model is: give the ledger "
                "that shall pay, to a model by set_params(ledger=...)"
            )
        if self._closed:
            raise LedgerError("this ledger is closed: open it again to spend")

    def closed_copy(self) -> Ledger:
        """A ledger in memory with the same names, budget and total that is closed for good.

        It names no file and spends nothing, so that it may be stored, as fitted models do.

        Examples
        --------
        >>> import pickle
        >>> ledger = Ledger(PureDP(1.0))
        >>> entry = ledger.spend(PureDP(0.4), "mean of the first visit")
        >>> print(pickle.loads(pickle.dumps(ledger.closed_copy())).spent)
        PureDP(epsilon=0.4)
        """
        return self._of(self._made, None, self.spent)

    def _after(self, guarantee: Guarantee, cost: Total, total: Total) -> Total:
        """The total after a spend; raises if the budget does not cover it."""
        after = tuple(used + more for used, more in zip(total, cost, strict=True))
        if any(
            more > 0 and use > limit * (1 + _ALLOWANCE)
            for use, more, limit in zip(after, cost, self._limit, strict=True)
        ):
            raise BudgetError(self._budget, self._spent(total), guarantee, self._remaining(total))
        return after

    def _spent(self, total: Total) -> Guarantee | None:
        return as_guarantee(self._budget, tuple(map(min, total, self._limit)), round_up)

    def _remaining(self, total: Total) -> Guarantee | None:
        rest = tuple(
            limit - used if limit - used > limit * _ALLOWANCE else Fraction(0)
            for limit, used in zip(self._limit, total, strict=True)
        )
        return as_guarantee(self._budget, rest, round_down)

    def report(self) -> str:
        """Plain text: names, budget, what is spent, what remains, and a line for each spend."""
        names = (("data", self.data), ("unit", self.unit))
        lines = [
            *(f"{f'{name}:':<12}{text}" for name, text in names if text),
            f"budget:     {self.budget}",
            f"spent:      {self.spent or 'nothing'}",
            f"remaining:  {_left(self.remaining)}",
        ]
        lines += [
            f"{_time(entry)}  {entry.guarantee}  {_named(entry)}".rstrip() for entry in self.entries
        ]
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Refuse further spends through this object; the account stays readable."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None:
            return _open, (self._made, self.path)
        if not self._closed:
            raise LedgerError(
                "a copy of a ledger in memory would spend its budget twice: for other processes, "
                "as by n_jobs, give it a path; of a search store best_estimator_"
            )
        return _open, (self._made, None, self.spent)

    def __sklearn_clone__(self) -> Self:
        """Itself: a clone of an estimator that holds a ledger spends from the same account."""
        return self

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else self.path
        return f"<Ledger of {self._budget!r}, {place}{', closed' if self._closed else ''}>"

    def _repr_html_(self) -> str:
        total, spends = self._store.read()
        entries = self._entries(spends)
        last = entries[-MOST_ROWS:]
        facts = [
            ("budget", str(self.budget)),
            ("spent", str(self._spent(total) or "nothing")),
            ("remaining", _left(self._remaining(total))),
        ]
        hidden = len(entries) - len(last)
        closed = ", closed" if self._closed else ""
        return card(
            f"Ledger {'in memory' if self.path is None else self.path}{closed}",
            facts,
            notes=[f"The last {len(last)} spends; {hidden} before them."] if hidden else (),
            columns=("time", "guarantee", "label") if last else (),
            rows=((_time(entry), str(entry.guarantee), _named(entry)) for entry in last),
        )
