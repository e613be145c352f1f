"""Promises that noise keeps which is calibrated to one of them."""

from __future__ import annotations

from functools import lru_cache

from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP

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
