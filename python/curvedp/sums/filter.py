"""A filter: shares of one budget that may be chosen by what was released with earlier ones."""

from __future__ import annotations

from fractions import Fraction

from curvedp.privacy.conversion import round_down, round_up, sqrt_bounds


class Filter:
    """Shares s_1, s_2, ... of a whole w with sum s_t^power <= w^power, in exact arithmetic.

    With power 2 shares are mu of Gaussian steps, with power 1 epsilon of pure ones. All releases
    together are w-GDP, or w-DP, however each share follows from those before it (Smith and Thakurta
    2022; Koskela, Tobaben and Honkela 2023; docs/proofs/sums-of-messages.md).

    Parameters
    ----------
    whole : float
        mu or epsilon.
    power : int
        2 or 1.

    Examples
    --------
    >>> budget = Filter(1.0)
    >>> budget.take(0.6), round(budget.rest, 12), budget.spent
    (0.6, 0.8, 0.6)
    >>> budget = Filter(1.0, power=1)
    >>> budget.take(0.75), budget.rest
    (0.75, 0.25)
    """

    def __init__(self, whole: float, power: int = 2) -> None:
        self.whole = whole
        self.power = power
        self._left = Fraction(whole) ** power
        self._spent = Fraction(0)

    @property
    def rest(self) -> float:
        """The largest share that is left, rounded down."""
        return self._share(self._left, down=True)

    @property
    def spent(self) -> float:
        """All shares together, rounded up, at most the whole."""
        return min(self.whole, self._share(self._spent, down=False))

    def take(self, share: float) -> float:
        """A share of at most `share`: what is left, if that is less."""
        own = min(share, self.rest)
        self._left -= Fraction(own) ** self.power
        self._spent += Fraction(own) ** self.power
        return own

    def _share(self, cost: Fraction, *, down: bool) -> float:
        """The share of a cost, as a double on the safe side."""
        if self.power == 2:
            return root(cost, down=down)
        return round_down(cost) if down else round_up(cost)


def root(square: Fraction, *, down: bool) -> float:
    """The root of a fraction, rounded down or up to a double.

    The bounds are finer than doubles are apart, and on a grid that holds all of these: none lies
    between a bound and the root.
    """
    lower, upper = sqrt_bounds(square)
    return round_down(lower) if down else round_up(upper)
