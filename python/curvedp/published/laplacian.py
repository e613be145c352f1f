"""The published sensitivity of PrivateMail (Vepakomma, Balla and Raskar), exactly as printed.

Its proof keeps the spurious root of a quadratic (docs/proofs/privatemail.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Bounds phi_min <= |z_i| <= phi_max of equations 41 and 42, data-independent."""

    phi_min: float
    phi_max: float


def constants(n: int, alpha: float, bandwidth: float, n_classes: int | None = None) -> Constants:
    """Equations 32, 33, 37-40 and 41, 42.

    Parameters
    ----------
    n_classes : int, optional
        For labels coded 0 .. n_classes - 1 (Case B); one-hot labels if not given (Case A).

    Raises
    ------
    ValueError
        If a denominator of the paper is not positive: the bandwidth is too small for n.
    """
    s, a = bandwidth**2, alpha
    top = n + math.exp(-1 / (2 * s)) - 1
    low = n * math.exp(-2 / s) + math.exp(-1 / (2 * s)) - 1
    low_plus = (n + 1) * math.exp(-2 / s) - 1
    one_hot_plus = (n + 1) * math.exp(-1 / s) - 1
    if min(low, low_plus, one_hot_plus) <= 0:
        raise ValueError(
            "the published constants need n exp(-2/bandwidth^2) above 1: use a larger bandwidth"
        )
    if n_classes is None:
        one_hot = n * math.exp(-1 / s) + math.exp(-1 / (2 * s)) - 1
        same, cross, last = math.exp(-2 / s), math.exp(-3 / s), math.exp(-3 / s)
        ii_max = (top / low) ** 2 + (n / low_plus) ** 2 - 2 * one_hot * one_hot_plus / (n * top)
        ii_min = (one_hot / top) ** 2 + (one_hot_plus / n) ** 2
        ii_min -= 2 * n * top / (low * one_hot_plus)
    else:
        c = (n_classes - 1) ** 2
        coded = (n + 1) * math.exp(-c / (2 * s)) - 1
        same, cross = math.exp(-c / s), math.exp(-(c + 4) / (2 * s))
        last = math.exp(-(c + 4) / s)
        ii_max = (n / low) ** 2 + (n / low_plus) ** 2 - 2 * coded**2 / (n * top)
        ii_min = (coded / top) ** 2 + (coded / n) ** 2 - 2 * n**2 / (low * one_hot_plus)
    square = a**2 * same + math.exp(-4 / s)
    ij_max = (a**2 + 1) / low - 2 * a * cross / top + (a**2 + 1) / low_plus - 2 * a * cross / n
    ij_max += -2 * square / (n * top) + 4 * a / (low * low_plus)
    ij_min = square / top - 2 * a / low + square / n - 2 * a / low_plus
    ij_min += -2 * (a**2 + 1) / (low * low_plus) + 4 * a * last / (n * top)
    return Constants(n * ij_min + a**2 * ii_min, n * ij_max + a**2 * ii_max)


def largest_log_beta(n: int, n_components: int, phi: Constants) -> float:
    """The largest ln(beta) at which Corollary 1.1 is a real number: it is 0 there.

    The paper's own condition, equation 18, speaks of z_i that depend on the data.
    """
    return -4.0 * n_components * n * (phi.phi_min / phi.phi_max) ** 8


def local_bound(
    row_norms: Sequence[float], n_components: int, log_beta: float, start_scale: float
) -> float:
    """Theorem 1 at given |z_i|: 0 at the largest beta that equation 18 allows.

    Raises
    ------
    ValueError
        If `log_beta` is above -4 k (sum |z_i|^2)^2 / sum |z_i|^4.
    """
    second = math.fsum(z**2 for z in row_norms)
    fourth = math.fsum(z**4 for z in row_norms)
    largest = -4 * n_components * second**2 / fourth
    if log_beta > largest * (1 - 1e-12):
        raise ValueError(f"log_beta must be at most {largest:.6g} for these z_i (equation 18)")
    return _bound(log_beta, fourth / second, fourth, n_components, start_scale)


def global_bound(
    n: int, n_components: int, phi: Constants, log_beta: float, start_scale: float
) -> float:
    """Corollary 1.1: (sigma_q/2) sqrt(-ln b phi_max^4/phi_min^2 - 2 sqrt(-k n ln b phi_min^4))."""
    ratio = phi.phi_max**4 / phi.phi_min**2
    return _bound(log_beta, ratio, n * phi.phi_min**4, n_components, start_scale)


def _bound(log_beta: float, ratio: float, fourth: float, k: int, start_scale: float) -> float:
    inside = -log_beta * ratio - 2 * math.sqrt(-k * log_beta * fourth)
    return 0.5 * start_scale * math.sqrt(max(inside, 0.0))
