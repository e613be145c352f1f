"""Errors that curvedp raises, each saying what to do about it.

No message depends on the value of a record: only shapes, types and parameters raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from curvedp._text import rounded_up

if TYPE_CHECKING:
    from curvedp.privacy.guarantees import Guarantee

__all__ = [
    "BatchError",
    "BudgetError",
    "ConversionError",
    "CoverageWarning",
    "CurvedpError",
    "ExistenceError",
    "LedgerError",
    "MissingExtraError",
    "NoiseWarning",
    "SecretError",
    "SiteError",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class CurvedpError(Exception):
    """Base of every error that is curvedp's own."""


class CoverageWarning(UserWarning):
    """Many records of a release were no points, or few were points inside the ball.

    Computed from the released numbers of `Release.coverage` alone.
    """


class NoiseWarning(UserWarning):
    """The noise of a release is larger than what it could tell.

    Before anything is spent, from public numbers alone: the noise is larger than the range that the
    ball leaves, for a mean or any step of a median its radius. After, from released numbers alone,
    which the report then has, too: a classifier may not tell its classes apart, or noise hides the
    mean without a ball or its spread.
    """


class BudgetError(CurvedpError):
    """A ledger refused to spend; no noise was drawn and nothing was charged.

    Attributes
    ----------
    budget, requested : Guarantee
        The ledger's budget and what was asked for.
    spent, remaining : Guarantee or None
        The guarantees already spent and still left; None stands for nothing.
    """

    def __init__(
        self,
        budget: Guarantee,
        spent: Guarantee | None,
        requested: Guarantee,
        remaining: Guarantee | None,
    ) -> None:
        self.budget = budget
        self.spent = spent
        self.requested = requested
        self.remaining = remaining
        left = remaining.as_rest() if remaining else "nothing"
        super().__init__(
            f"the budget {budget} does not cover {requested}: spent {spent or 'nothing'}, "
            f"remaining {left}. Ask for no more than what remains; "
            "a new budget on the same data set adds to the privacy loss of the old one."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.budget, self.spent, self.requested, self.remaining)


class ConversionError(CurvedpError, TypeError):
    """A guarantee was asked for where that of another kind or relation does not imply it."""


class ExistenceError(CurvedpError, ValueError):
    """A mechanism does not exist at these parameters.

    Attributes
    ----------
    smallest_epsilon : float or None
        The smallest epsilon that works at the requested n, where it is known.
    smallest_n : int or None
        The smallest n that works at the requested epsilon, where it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        smallest_epsilon: float | None = None,
        smallest_n: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.smallest_epsilon = smallest_epsilon
        self.smallest_n = smallest_n

    def of_whole(self, share: Guarantee, whole: Guarantee) -> ExistenceError:
        """This error of a part of a release, with the epsilon that the whole release needs.

        Parameters
        ----------
        share : Guarantee
            The part's share of `whole`.
        whole : Guarantee

        Returns
        -------
        ExistenceError
        """
        part, total = (getattr(budget, "epsilon", None) for budget in (share, whole))
        if self.smallest_epsilon is None or part is None or total is None:
            return self
        return ExistenceError(
            self.message,
            smallest_epsilon=self.smallest_epsilon * (total / part),
            smallest_n=self.smallest_n,
        )

    def __str__(self) -> str:
        ways = []
        if self.smallest_epsilon is not None:
            ways.append(f"epsilon of at least {rounded_up(self.smallest_epsilon)}")
        if self.smallest_n is not None:
            ways.append(f"n of at least {self.smallest_n}")
        return f"{self.message} It works with {' or '.join(ways)}." if ways else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"smallest_epsilon": self.smallest_epsilon, "smallest_n": self.smallest_n}
        return type(self), (self.message,), state


class LedgerError(CurvedpError, RuntimeError):
    """A ledger cannot be used: closed, copied, busy, unreadable or of another budget."""


class MissingExtraError(CurvedpError, ImportError):
    """An optional dependency is missing; the message names the command that installs it.

    Parameters
    ----------
    extra : str
        Name of the extra, as in ``pip install 'curvedp[extra]'``.
    needed_for : str
        The thing asked for, as the subject of a sentence.
    """

    def __init__(self, extra: str, needed_for: str) -> None:
        self.extra = extra
        self.needed_for = needed_for
        super().__init__(f"{needed_for} needs an extra: run pip install 'curvedp[{extra}]'")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self.needed_for)


class SecretError(CurvedpError, RuntimeError):
    """A noise secret cannot be used: missing, readable by others, damaged, or of other data."""


class SiteError(CurvedpError, ValueError):
    """A message of a study over sites was refused: damaged, repeated, or not what was agreed on."""


class BatchError(CurvedpError, ValueError):
    """A batch cannot run: its table, its files or an earlier run's state do not fit."""
