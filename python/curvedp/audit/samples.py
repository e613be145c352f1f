"""Audit from scores alone: any real statistic of the outputs at two neighbouring data sets.

The first half of the draws chooses the thresholds, the second half counts. The thresholds are
therefore independent of the counts and the confidence statement holds for whatever score is used; a
better score only makes the bound sharper.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp.audit.bounds import (
    FloatArray,
    Parameter,
    claim_of,
    clopper_pearson,
    event_error,
    parameter_of,
)
from curvedp.audit.result import AuditResult, Event
from curvedp.privacy import Guarantee

_CURVE_POINTS = 25
_TAIL_CANDIDATES = np.geomspace(1e-6, 0.5, 160)


def audit_samples(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    claimed: Guarantee,
    *,
    confidence: float = 1 - 1e-6,
    n_thresholds: int | None = None,
) -> AuditResult:
    """Test a claimed guarantee on scores of outputs at two neighbouring data sets.

    Events are {score >= t} (a over b) and {score <= t} (b over a). With p the probability where the
    event should be likely and q at the neighbour, Clopper-Pearson bounds p_low and q_up give

    - PureDP, ApproxDP: ε >= ln((p_low - δ) / q_up);
    - GDP: μ >= Φ⁻¹(p_low) - Φ⁻¹(q_up) at every point of the trade-off curve;
    - ZCDP: ρ >= max over orders a of D_a(p_low || q_up) / a, the divergence of two coins.

    Parameters
    ----------
    scores_a, scores_b : array_like of float
        Scores of independent outputs at a and at b, any finite or infinite values, in the order
        they were drawn. High scores should speak for a.
    claimed : PureDP, ApproxDP, ZCDP, GDP or Unproved
        The guarantee under audit (for ``Unproved`` the claimed one).
    confidence : float
        Joint confidence of the lower bound over all events and both directions.
    n_thresholds : int, optional
        Events tested in each direction, Bonferroni-corrected. Default: 1 for ε, placed where the
        first half proves most; 25 for μ and ρ, spread over the whole curve.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        If a sample has fewer than 4 scores or a NaN, or a parameter is out of range.
    TypeError
        If ``claimed`` is no guarantee.

    References
    ----------
    Jagielski, Ullman and Oprea (2020), "Auditing differentially private machine learning"; Nasr et
    al. (2023), "Tight auditing of differentially private machine learning" for the GDP curve.

    Examples
    --------
    >>> from curvedp import GDP
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000)
    >>> result = audit_samples(a, b, GDP(mu=0.5))
    >>> result.passed, round(result.lower_bound, 2)
    (False, 0.86)
    """
    claim = claim_of(claimed)
    parameter = parameter_of(claim)
    if n_thresholds is None:
        n_thresholds = _CURVE_POINTS if parameter.whole_curve else 1
    error = event_error(confidence, n_thresholds)
    choose_a, count_a = _halves(scores_a, "scores_a")
    choose_b, count_b = _halves(scores_b, "scores_b")

    forward = _thresholds(choose_a, choose_b, parameter, error, n_thresholds)
    backward = -_thresholds(-choose_b, -choose_a, parameter, error, n_thresholds)
    events = (
        *_events("a over b", forward, count_a, count_b, 1.0, parameter, error),
        *_events("b over a", backward, count_b, count_a, -1.0, parameter, error),
    )
    return AuditResult(
        parameter=parameter.name,
        lower_bound=max(event.lower_bound for event in events),
        claimed=claim,
        claimed_value=parameter.claimed,
        confidence=confidence,
        events=events,
    )


def _halves(scores: ArrayLike, name: str) -> tuple[FloatArray, FloatArray]:
    values = np.asarray(scores, dtype=np.float64).ravel()
    if values.size < 4:
        raise ValueError(f"{name} needs at least 4 scores, got {values.size}")
    if np.isnan(values).any():
        raise ValueError(f"{name} holds NaN: the score must order all outputs")
    middle = values.size // 2
    return values[:middle], values[middle:]


def _exceedances(scores: FloatArray, thresholds: FloatArray) -> NDArray[np.intp]:
    """Number of scores at or above each threshold."""
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return np.asarray(scores.size - below, dtype=np.intp)


def _thresholds(
    likely: FloatArray,
    neighbour: FloatArray,
    parameter: Parameter,
    error: float,
    n_thresholds: int,
) -> FloatArray:
    """Thresholds for events {score >= t}, from the draws set aside for choosing them."""
    pooled = np.concatenate((likely, neighbour))
    if n_thresholds > 1:
        levels = scipy.stats.norm.cdf(np.linspace(-3.0, 3.0, n_thresholds))
        quantiles = np.quantile(pooled, levels, method="inverted_cdf")
        return np.asarray(quantiles, dtype=np.float64)
    levels = np.concatenate((_TAIL_CANDIDATES, 1.0 - _TAIL_CANDIDATES[:-1]))
    candidates = np.unique(np.quantile(pooled, levels, method="inverted_cdf"))
    p, _ = clopper_pearson(_exceedances(likely, candidates), likely.size, error)
    _, q = clopper_pearson(_exceedances(neighbour, candidates), neighbour.size, error)
    return candidates[[np.argmax(parameter.lower_bound(p, q))]]


def _events(
    direction: str,
    thresholds: FloatArray,
    likely: FloatArray,
    neighbour: FloatArray,
    sign: float,
    parameter: Parameter,
    error: float,
) -> list[Event]:
    """Count every event on the draws that did not choose its threshold."""
    hits = _exceedances(sign * likely, sign * thresholds)
    neighbour_hits = _exceedances(sign * neighbour, sign * thresholds)
    p, _ = clopper_pearson(hits, likely.size, error)
    _, q = clopper_pearson(neighbour_hits, neighbour.size, error)
    bounds = parameter.lower_bound(p, q)
    return [
        Event(
            direction=direction,
            threshold=float(thresholds[i]),
            hits=int(hits[i]),
            neighbour_hits=int(neighbour_hits[i]),
            trials=likely.size,
            neighbour_trials=neighbour.size,
            probability_lower=float(p[i]),
            neighbour_probability_upper=float(q[i]),
            lower_bound=float(bounds[i]),
        )
        for i in range(thresholds.size)
    ]
