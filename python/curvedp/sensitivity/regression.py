"""Sensitivities of what geodesic regression releases. Proof: docs/proofs/geodesic-regression.md."""

from __future__ import annotations

from curvedp._validation import as_count
from curvedp.domain import Ball
from curvedp.sensitivity.jacobi import jacobi_bounds, sum_of_norms_bound
from curvedp.sensitivity.statistics import slack


def regression_footpoint(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of the gradient of geodesic regression in the footpoint, at any geodesic.

    2 k tau C/n, never more than 2 tau C, with k = `records_per_unit` and C = cosh(sqrt(-kappa) V/2)
    for the lower curvature bound kappa < 0, 1 otherwise (after Kulkarni and Soto, Theorem 3.3).

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    tau : float
        Public length at which residuals are clipped.
    v_max : float
        Public bound V on the length of the velocity over the whole range of the covariate.
    records_per_unit : int

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(regression_footpoint(ball, 100, tau=0.1, v_max=1.0), 6)
    0.002
    """
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    start, _ = jacobi_bounds(ball.manifold, slack(v_max, "v_max") / 2)
    return 2 * min(1.0, changed / count) * slack(tau, "tau") * start


def regression_shooting(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of the gradient of geodesic regression in the velocity, at any geodesic.

    k tau G/n, never more than tau G, with G = sinh(x)/x, x = sqrt(-kappa) V/2, for kappa < 0 and 1
    otherwise: covariates are measured from the middle of their range, |t| <= 1/2, which halves the
    published 2 tau/n. Parameters as in `regression_footpoint`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(regression_shooting(ball, 100, tau=0.1, v_max=1.0), 6)
    0.001
    """
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    _, field = jacobi_bounds(ball.manifold, slack(v_max, "v_max") / 2)
    return 2 * min(1.0, changed / count) * slack(tau, "tau") * field / 2


def regression_sum_of_norms(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of both gradients in the norm |g_p/2 + g_v| + |g_p/2 - g_v|, at any geodesic.

    2 k tau c/n, with c = 1 on flat space: a record at time t moves the two terms by 1/2 + t and
    1/2 - t times its residual. On curved space c is `jacobi.sum_of_norms_bound`. Parameters as in
    `regression_footpoint`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(regression_sum_of_norms(ball, 100, tau=0.1, v_max=1.0), 5)
    0.00201
    """
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    factor = sum_of_norms_bound(ball.manifold, slack(v_max, "v_max") / 2)
    return 2 * min(1.0, changed / count) * slack(tau, "tau") * factor
