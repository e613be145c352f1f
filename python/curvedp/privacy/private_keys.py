"""Secret keys of groups: the least count at which a group is shown.

A group of one unit reaches it with probability delta at most, whatever else is known. Proofs:
docs/proofs/sums-of-messages.md for Gaussian noise, docs/proofs/count-resize.md for both.
"""

from __future__ import annotations

import math

import scipy

__all__ = ["geometric_key_threshold", "key_threshold"]


def key_threshold(changed: float, deviation: float, delta: float) -> float:
    """Least count at which a private key is shown: one unit reaches it with probability delta.

    Parameters
    ----------
    changed : float
        The most that one unit adds to the count.
    deviation : float
        Standard deviation of the count's Gaussian noise.
    delta : float

    Returns
    -------
    float

    Examples
    --------
    >>> key_threshold(1.0, 10.0, 1e-6)
    50.0
    """
    quantile = -float(scipy.special.ndtri(delta)) * (1.0 + 1e-9)
    return math.ceil(changed) + 1.0 + math.ceil(max(deviation * quantile, 0.0))


def geometric_key_threshold(changed: int, rate: float, delta: float) -> float:
    """The same for two-sided geometric noise, P(K >= j) = q^j / (1 + q) with q = e^-rate.

    Parameters
    ----------
    changed : int
        The most that one unit adds to the count.
    rate : float
        P(K = j) is proportional to e^(-rate |j|).
    delta : float

    Returns
    -------
    float

    Examples
    --------
    >>> geometric_key_threshold(1, 0.25, 1e-6)
    54.0
    """
    tail = -math.log(delta) - math.log1p(math.exp(-rate))
    return changed + float(math.ceil(max(tail / rate * (1.0 + 1e-9), 0.0)))
