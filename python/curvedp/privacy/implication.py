"""Promises that noise keeps which is calibrated to one of them."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from curvedp.privacy.base import Guarantee
from curvedp.privacy.conversion import round_up
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved

#: Relative room for roundings of conversions, there and back.
_ROOM = 1e-9


@lru_cache(maxsize=1024)
def implies(noise: PureDP | GDP | ApproxDP, promise: Guarantee) -> bool:
    """True if noise that is calibrated to one guarantee keeps another.

    Parameters
    ----------
    noise : PureDP, GDP or ApproxDP
    promise : PureDP, ApproxDP, ZCDP or GDP

    Returns
    -------
    bool

    Examples
    --------
    >>> implies(GDP(1.0), ZCDP(0.5)), implies(GDP(1.0), ZCDP(0.4)), implies(GDP(1.0), PureDP(9.0))
    (True, False, False)
    """
    match promise:
        case PureDP() | GDP() | ZCDP() if isinstance(noise, ApproxDP):
            return False
        case PureDP():
            needed = noise.epsilon if isinstance(noise, PureDP) else None
            kept = promise.epsilon
        case GDP():
            needed, kept = noise.to_gdp().mu, promise.mu
        case ZCDP():
            needed, kept = noise.to_zcdp().rho, promise.rho
        case ApproxDP():
            needed, kept = noise.to_delta(promise.epsilon * (1 + _ROOM)), promise.delta
        case _:
            return False
    return needed is not None and needed <= kept * (1 + _ROOM)


_G = TypeVar("_G", bound=Guarantee)


def beside(promise: _G, share: Guarantee) -> _G:
    """The rest of a promise beside a share of it, of another step on the same records.

    Parameters
    ----------
    promise, share : Guarantee
        Under one relation; the share of the promise's kind, or under (epsilon, delta) pure.

    Returns
    -------
    Guarantee
        Rounded up.

    Raises
    ------
    ValueError
        If nothing is left, or the share is of another kind.

    Examples
    --------
    >>> print(beside(GDP(1.0), GDP(0.6)), beside(ApproxDP(1.0, 1e-6), PureDP(0.25)))
    GDP(mu=0.8) ApproxDP(epsilon=0.75, delta=1e-06)
    """
    is_approximate = isinstance(promise, ApproxDP)
    fits = isinstance(share, PureDP if is_approximate else type(promise))
    left = [Fraction(0)]
    if fits and not isinstance(promise, Unproved):
        used = share.additive() + (Fraction(0),) * is_approximate
        left = [whole - own for whole, own in zip(promise.additive(), used, strict=True)]
    if left[0] <= 0:
        raise ValueError(f"{promise} leaves nothing beside a count at {share}")
    return promise.from_additive(left, round_up, neighbours=promise.neighbours)
