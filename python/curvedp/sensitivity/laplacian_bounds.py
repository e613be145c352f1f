"""Bounds of the change of one PrivateMail iteration when a record is replaced, part by part.

Notation: n rows, kernel weights in [w, 1], label weights 1 or v, everything in units of D/2, D the
largest distance between two rows of the released embedding. Proofs: docs/proofs/privatemail.md.

The differences 1 - w and 1 - v are exact for weights near 1: every bound is written as a sum of
positive terms in them, so that its relative error is a few units of rounding.
"""

from __future__ import annotations

import math

from curvedp._validation import as_positive

FORMS = ("normalised", "published")

#: Smallest weight of a kernel: keeps degrees away from 0.
LEAST_WEIGHT = 1e-300


def as_bandwidth(value: float, name: str) -> float:
    """A positive float whose square is one too."""
    number = as_positive(value, name)
    if not 1e-150 < number < 1e150:
        raise ValueError(f"{name} must lie between 1e-150 and 1e150, got {number:g}")
    return number


def weight_floor(squared_dist: float, bandwidth: float) -> float:
    """Smallest Gaussian weight exp(-d^2/2 sigma^2) up to the squared distance d^2, below 1."""
    sigma = as_bandwidth(bandwidth, "bandwidth")
    weight = math.exp(-min(squared_dist / (2 * sigma**2), 700.0))
    return min(max(weight, LEAST_WEIGHT), 1 - 2.0**-53)


def replaced_row(w: float, v: float, alpha: float, form: str) -> float:
    """Bound of the change of the replaced record's own row; attained."""
    if form == "normalised":
        return _tanh_half(w) + abs(alpha) * _tanh_half(v)
    d, e = 1 - w, 1 - v
    if not 0 <= alpha < w:
        whole = abs(alpha) * ((d + w * e) / w)  # |alpha| (1/w - v)
        return whole if alpha >= w else _tanh_half(w) + whole
    # the share pi = (root - w)/(d (1 + root)) of rows that come closer, at which the gain of
    # positive coefficients, pi (1 - alpha v)/(w + pi d) - pi (w - alpha)/(1 - pi d), is largest
    root = math.sqrt(w * ((1 - alpha) + alpha * e) / (w - alpha))
    nearer = w * ((1 + (w - alpha)) + alpha * e / d) / ((w - alpha) * (root + w) * (1 + root))
    pi = min(1.0, nearer)
    rest = (1 - pi) + pi * w
    gain = d * ((1 - pi) * (1 + (w - alpha)) + alpha * pi) + alpha * e * rest
    return pi * gain / ((w + pi * d) * rest)


def other_rows(
    n: int, w: float, v: float, alpha: float, form: str, exponent: float, weight_error: float
) -> float:
    """Bound of the change of all other rows, in the Frobenius norm.

    Parameters
    ----------
    exponent : float
        4 r^2/2 sigma^2, so that w = exp(-exponent), r the radius of the ball of records.
    weight_error : float
        Relative error of the computed weights.
    """
    others = n - 1
    kernel = math.sqrt(others) * _one_weight(w, (n - 2) * w)
    second = inverse_degrees(others, 1, exponent, weight_error)
    kernel = min(kernel, (1 - w) * second)
    if form == "normalised":
        return kernel + abs(alpha) * math.sqrt(others) * _one_weight(v, (n - 2) * v)
    s = (n - 2) * w
    constant, slope = (n - 2) * (1 - w) + ((1 - w) + w * (1 - v)), 1 - v
    label = math.sqrt(others) * (constant + slope * s) / ((s + w) * (s + 1))
    fourth = inverse_degrees(others, 2, exponent, weight_error)
    return kernel + abs(alpha) * min(label, constant * fourth + slope * second)


def inverse_degrees(others: int, power: int, exponent: float, weight_error: float) -> float:
    """Bound on the root of sum_i s_i^(-2 power), s_i the kernel degree of row i among the others.

    From Jensen's inequality and the convexity of the sum in the rows, for rows in the ball.
    """
    if others < 2 or weight_error >= 1:
        return math.inf
    kappa = power * exponent * others / (others - 1)
    if kappa > 80:  # beyond, weights may leave the normal range of single precision
        return math.inf
    degree = (others - 1) * (1 - weight_error)
    grown = math.exp(0.5 * kappa) * math.sqrt(_spread(kappa) * others)
    return grown / degree**power * (1 + 1e-12)


def _spread(kappa: float) -> float:
    """Maximum of cosh(kappa b) - b sinh(kappa b) over b in [0, 1]."""
    if kappa <= 2:
        return 1.0
    # stationary at (kappa - 1) tanh x = x, x = kappa b: concave, so Newton descends to the root
    x = kappa - 1
    for _ in range(200):
        slope = (kappa - 1) / math.cosh(x) ** 2 - 1
        step = ((kappa - 1) * math.tanh(x) - x) / slope
        x -= step
        if abs(step) <= 1e-14 * x:
            break
    return math.cosh(x) - x / kappa * math.sinh(x)


def _tanh_half(w: float) -> float:
    """(1 - w)/(1 + w): how far two distributions with weights in [w, 1] can be apart."""
    return (1 - w) / (1 + w)


def _one_weight(w: float, least_degree: float) -> float:
    """s (1 - w)/((s + 1)(s + w)) at its largest over degrees s >= `least_degree`."""
    s = max(least_degree, math.sqrt(w))
    return s * (1 - w) / ((s + 1) * (s + w))
