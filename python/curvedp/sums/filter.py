"""A filter: shares of one budget that may be chosen by what was released with earlier ones."""

from __future__ import annotations

import math
from fractions import Fraction

from curvedp.privacy.conversion import round_down, round_up


class Filter:
    """Shares mu_1, mu_2, ... of mu with sum mu_t^2 <= mu^2, in exact arithmetic.

    All releases together are mu-GDP, however each share follows from those before it (Smith and
    Thakurta 2022; Koskela, Tobaben and Honkela 2023; docs/proofs/sums-of-messages.md).

    Parameters
    ----------
    mu : float
        The whole.

    Examples
    --------
    >>> budget = Filter(1.0)
    >>> budget.take(0.6), round(budget.rest, 12), budget.spent
    (0.6, 0.8, 0.6)
    """

    def __init__(self, mu: float) -> None:
        self.mu = mu
        self._left = Fraction(mu) ** 2
        self._spent = Fraction(0)

    @property
    def rest(self) -> float:
        """The largest share that is left, rounded down."""
        return root(self._left, down=True)

    @property
    def spent(self) -> float:
        """The root of the sum of squared shares, rounded up, at most mu."""
        return min(self.mu, root(self._spent, down=False))

    def take(self, mu: float) -> float:
        """A share of at most `mu`: what is left, if that is less."""
        own = min(mu, self.rest)
        self._left -= Fraction(own) ** 2
        self._spent += Fraction(own) ** 2
        return own


def root(square: Fraction, *, down: bool) -> float:
    """The root of a fraction as a double on the safe side."""
    root = math.sqrt(round_down(square) if down else round_up(square))
    while down and Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    while not down and Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
