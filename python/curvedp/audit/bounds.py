"""Lower bounds on a privacy parameter from exact binomial bounds on the counts of one event.

An event has probability p under one data set and q under its neighbour. Each guarantee limits how
far apart p and q can be; observed counts limit p from below and q from above (Clopper and Pearson,
Biometrika 26, 1934), and the two together limit the guarantee's parameter from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP, Unproved

FloatArray = NDArray[np.float64]

_RENYI_ORDERS = 1.0 + np.geomspace(1e-3, 1e3, 61)


def clopper_pearson(hits: object, trials: int, error: float) -> tuple[FloatArray, FloatArray]:
    """Exact one-sided confidence bounds of a binomial probability.

    Parameters
    ----------
    hits : array_like of int
        Successes k out of ``trials``.
    trials : int
        Number n of independent trials.
    error : float
        Probability with which *each* bound may fail.

    Returns
    -------
    lower, upper : ndarray
        Quantiles ``error`` of Beta(k, n-k+1) and ``1 - error`` of Beta(k+1, n-k); 0 at k = 0 and
        1 at k = n.

    References
    ----------
    Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26(4).
    """
    k = np.asarray(hits, dtype=np.float64)
    lower = scipy.stats.beta.ppf(error, np.maximum(k, 1), trials - k + 1)
    upper = scipy.stats.beta.isf(error, k + 1, np.maximum(trials - k, 1))
    return np.where(k == 0, 0.0, lower), np.where(k == trials, 1.0, upper)


def epsilon_lower_bound(p: FloatArray, q: FloatArray, delta: float = 0.0) -> FloatArray:
    """Smallest ε with p <= e^ε q + δ, that is max(0, ln((p - δ) / q))."""
    ratio = np.maximum((p - delta) / q, 1.0)
    return np.asarray(np.log(ratio), dtype=np.float64)


def mu_lower_bound(p: FloatArray, q: FloatArray) -> FloatArray:
    """Smallest μ whose Gaussian trade-off curve leaves room for (p, q): max(0, Φ⁻¹(p) - Φ⁻¹(q)).

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian differential privacy", J. R. Stat. Soc. B 84(1), eq. 6.
    """
    with np.errstate(invalid="ignore"):
        difference = scipy.stats.norm.ppf(p) - scipy.stats.norm.ppf(q)
    return np.where(p > q, difference, 0.0)


def rho_lower_bound(p: FloatArray, q: FloatArray) -> FloatArray:
    """Smallest ρ of zero-concentrated privacy that allows (p, q).

    ρ >= sup over orders a > 1 of D_a(Bernoulli(p) || Bernoulli(q)) / a: the Rényi divergence of an
    event cannot exceed that of the outputs. It increases in p and decreases in q while p > q, so
    one pair of confidence bounds serves every order.

    References
    ----------
    Bun and Steinke (2016), "Concentrated differential privacy", definition 1.1 and lemma 2.2.
    """
    p, q = np.broadcast_arrays(np.asarray(p)[..., None], np.asarray(q)[..., None])
    a = _RENYI_ORDERS
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = a * np.log(p) + (1 - a) * np.log(q)
        outside = a * np.log1p(-p) + (1 - a) * np.log1p(-q)
        divergence = np.logaddexp(inside, outside) / (a - 1)
    rho = np.where(p > q, divergence / a, 0.0).max(axis=-1)
    return np.asarray(np.maximum(rho, 0.0), dtype=np.float64)


@dataclass(frozen=True)
class Parameter:
    """The parameter of a guarantee that an audit bounds from below.

    Attributes
    ----------
    name : str
        ``"epsilon"``, ``"mu"`` or ``"rho"``.
    claimed : float
        Its value in the guarantee under audit.
    lower_bound : callable
        Maps a lower bound of p and an upper bound of q to a lower bound of the parameter.
    whole_curve : bool
        True if the guarantee constrains events of every size about equally tightly, so that the
        whole trade-off curve is worth testing, rather than the single most telling event.
    """

    name: str
    claimed: float
    lower_bound: Callable[[FloatArray, FloatArray], FloatArray]
    whole_curve: bool


def claim_of(guarantee: Guarantee) -> Guarantee:
    """The guarantee to audit: the claimed one if it is ``Unproved``."""
    return guarantee.claimed if isinstance(guarantee, Unproved) else guarantee


def parameter_of(claim: Guarantee) -> Parameter:
    """The parameter an audit of ``claim`` bounds.

    Raises
    ------
    TypeError
        If ``claim`` is none of PureDP, ApproxDP, ZCDP and GDP.
    """
    match claim:
        case PureDP():
            return Parameter("epsilon", claim.epsilon, epsilon_lower_bound, False)
        case ApproxDP():
            delta = claim.delta
            return Parameter(
                "epsilon", claim.epsilon, lambda p, q: epsilon_lower_bound(p, q, delta), False
            )
        case ZCDP():
            return Parameter("rho", claim.rho, rho_lower_bound, True)
        case GDP():
            return Parameter("mu", claim.mu, mu_lower_bound, True)
    raise TypeError(f"claimed must be PureDP, ApproxDP, ZCDP or GDP, not {type(claim).__name__}")


def event_error(confidence: float, n_thresholds: int) -> float:
    """Share of ``1 - confidence`` for one Clopper-Pearson bound.

    Bonferroni over both directions, all thresholds and the two bounds of each event.

    Raises
    ------
    ValueError
        If ``confidence`` is not strictly between 0 and 1 or ``n_thresholds`` is below 1.
    """
    if not (0.0 < confidence < 1.0) or math.isnan(confidence):
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    if n_thresholds < 1:
        raise ValueError(f"n_thresholds must be at least 1, not {n_thresholds}")
    return (1.0 - confidence) / (4 * n_thresholds)
