"""Sensitivities as the papers state them, for comparison with `curvedp.sensitivity`.

That of the Fréchet mean is larger than the proved one; those of the moments leave out that rounding
may move records and the base point out of the ball; those of regression hold at one and the same
shooting vector, which moves with the records; that of PrivateMail is not what its proof bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypedDict, Unpack

from curvedp._validation import as_count, as_positive
from curvedp.curvature import excess_diameter, finite, radial_excess
from curvedp.domain import Ball
from curvedp.manifolds import Manifold
from curvedp.published import laplacian

#: ln of the paper's beta, by default.
LOG_BETA = math.log(1e-6)

#: Longest geodesic in radii of curvature: squares of hyperbolic functions of it are finite.
_LONGEST = 300.0


class Options(TypedDict, total=False):
    """Keywords of the sensitivities of moments.

    Attributes
    ----------
    records_per_unit : int
        Number k of records that one unit (a person) contributes at most; 1 if not given.
    max_dist : float or None
        Length R to which logarithms are shortened; if None they are as they are, and R = 2 r.
    """

    records_per_unit: int
    max_dist: float | None


def frechet_mean(ball: Ball, n: int, *, records_per_unit: int = 1) -> float:
    """Sensitivity of the Fréchet mean of n records (Reimherr et al. 2021; Jiang et al., eq. 1).

    (2 k r/n) (tan(2 r sqrt(kappa))/(r sqrt(kappa)) - 1) for the upper curvature bound kappa > 0 and
    r sqrt(kappa) < pi/4, 2 k r/n for kappa <= 0, with k = `records_per_unit`.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    records_per_unit : int
        Number of records that one person contributes at most.

    Returns
    -------
    float
        In the units of the metric.

    Raises
    ------
    ValueError
        On a ball of radius pi/(4 sqrt(kappa)) or more, where it is infinite.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> round(frechet_mean(ball, 500), 4)
    0.0204
    """
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    r, kappa = ball.radius, ball.manifold.curvature_bounds[1]
    if kappa <= 0:
        return changed * (2 * r) / count
    s = r * math.sqrt(kappa)
    if s >= math.pi / 4:
        limit = math.pi / (4 * math.sqrt(kappa))
        raise ValueError(f"the published sensitivity is finite for radii below {limit:.6g} only")
    return changed * (2 * r * (math.tan(2 * s) / s - 1)) / count


def frechet_variance(ball: Ball, n: int, **options: Unpack[Options]) -> float:
    """Sensitivity of the mean squared distance: k R^2/n (Jiang et al., Theorem 2, where R = 2 r).

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    **options
        `records_per_unit` k, and `max_dist` R, the length to which distances are cut; R = 2 r if
        it is not given.

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
    >>> frechet_variance(ball, 100)
    0.01
    """
    dist, share = _reach_and_share(ball, n, **options)
    return dist * dist * share


def fourth_moment(ball: Ball, n: int, **options: Unpack[Options]) -> float:
    """Sensitivity of the mean fourth power of the distance: k R^4/n (Theorem 7, where R = 2 r).

    Parameters as in `frechet_variance`.

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
    >>> fourth_moment(ball, 100)
    0.01
    """
    dist, share = _reach_and_share(ball, n, **options)
    return dist**4 * share


def log_covariance(ball: Ball, n: int, **options: Unpack[Options]) -> float:
    """Sensitivity of the centred covariance of the logarithms: 6 k R^2/n (Jiang et al., Theorem 6).

    In the Frobenius norm, with R of their assumption 3. Parameters as in `frechet_variance`.

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
    >>> log_covariance(ball, 100)
    0.06
    """
    dist, share = _reach_and_share(ball, n, **options)
    return 6 * (dist * dist) * share


def mean_hessian(ball: Ball, n: int, **options: Unpack[Options]) -> float:
    """Sensitivity of the mean Hessian of the squared distance: 2 k B/n (Jiang et al., Theorem 6).

    B is the largest Frobenius norm of a Hessian within the distance R. Parameters as in
    `frechet_variance`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the Hessian is unbounded within R: from R = pi/sqrt(kappa) on.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(mean_hessian(ball, 100), 4)
    0.0709
    """
    dist, share = _reach_and_share(ball, n, **options)
    return 2 * _hessian_bound(ball.manifold, dist) * share


def regression_footpoint(ball: Ball, n: int, *, tau: float, records_per_unit: int = 1) -> float:
    """Sensitivity of regression's gradient in the footpoint (Kulkarni and Soto, Theorem 3.3).

    (2 k tau/n) cosh(2 sqrt(-kappa) (r + tau)) for the lower curvature bound kappa < 0, 2 k tau/n
    otherwise, with k = `records_per_unit`; the radius r takes the place of the paper's tau_m, and
    geodesics start where the covariate is least.

    Parameters
    ----------
    ball : Ball
        The paper assumes r <= pi/(8 sqrt(kappa)) for an upper curvature bound kappa > 0
        (assumption 3.2), on which the bound does not depend: it is not checked.
    n : int
        Number of records.
    tau : float
        Bound on the residuals of the least-squares geodesic.
    records_per_unit : int
        Number of records that one person contributes at most.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a parameter is out of range, or the bound too large for double precision.

    Examples
    --------
    >>> ball = Ball("spd:2", center="identity", radius=1.0)
    >>> round(regression_footpoint(ball, 100, tau=0.1), 6)
    0.004949
    """
    return _regression(ball, n, tau, records_per_unit, math.cosh)


def regression_shooting(ball: Ball, n: int, *, tau: float, records_per_unit: int = 1) -> float:
    """Sensitivity of regression's gradient in the shooting vector (Kulkarni and Soto, eq. 20, 44).

    (2 k tau/n) sinh(x)/x with x = 2 sqrt(-kappa) (r + tau) for the lower curvature bound kappa < 0,
    2 k tau/n otherwise. The paper's Theorem D.1 prints sinh(sqrt(-kappa) tau)/sqrt(-kappa) for the
    last factor, which contradicts both equations. Parameters as in `regression_footpoint`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a parameter is out of range, or the bound too large for double precision.

    Examples
    --------
    >>> ball = Ball("spd:2", center="identity", radius=1.0)
    >>> round(regression_shooting(ball, 100, tau=0.1), 6)
    0.00291
    """
    return _regression(ball, n, tau, records_per_unit, lambda x: math.sinh(x) / x)


def mail_iteration(
    n: int,
    n_components: int,
    *,
    bandwidth: float,
    alpha: float,
    n_classes: int | None = None,
    log_beta: float = LOG_BETA,
    start_scale: float = 1.0,
) -> float:
    """Sensitivity of PrivateMail's iteration (Vepakomma et al., Corollary 1.1), as printed.

    Its proof keeps the spurious root of a quadratic: how far a record moves an iteration is another
    matter (docs/proofs/privatemail.md).

    Parameters
    ----------
    n, n_components : int
    bandwidth, alpha : float
    n_classes : int, optional
        For labels coded 0 .. n_classes - 1; one-hot labels if not given.
    log_beta : float
        ln of the paper's beta, the probability at which the bound is said to fail; 1e-6 by default.
        The bound is 0 at the largest at which it is a real number (`laplacian.largest_log_beta`),
        and grows without limit as beta falls.
    start_scale : float
        Standard deviation sigma_q of the random start.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the bandwidth is too small for n, or `log_beta` is larger than that.

    Examples
    --------
    >>> round(mail_iteration(1001, 2, bandwidth=6.0, alpha=0.6), 2)
    6.72
    """
    count, k = as_count(n, "n", least=2), as_count(n_components, "n_components")
    sigma = as_positive(bandwidth, "bandwidth")
    phi = laplacian.constants(count, float(alpha), sigma, n_classes)
    largest, chosen = laplacian.largest_log_beta(count, k, phi), float(log_beta)
    if not chosen <= largest:
        raise ValueError(
            f"log_beta must be at most {largest:.6g}, got {chosen:.6g}: the published bound is not "
            "a real number above; a larger bandwidth allows a larger one"
        )
    return laplacian.global_bound(count, k, phi, chosen, as_positive(start_scale, "start_scale"))


def _regression(
    ball: Ball, n: int, tau: float, records_per_unit: int, growth: Callable[[float], float]
) -> float:
    """2 k tau/n, times the growth of Jacobi fields on negative curvature."""
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    residual, kappa = as_positive(tau, "tau"), ball.manifold.curvature_bounds[0]
    flat = 2 * changed * residual / count
    if kappa >= 0:
        return flat
    length = 2 * math.sqrt(-kappa) * (ball.radius + residual)
    if length > _LONGEST:
        raise ValueError(
            f"r + tau must be at most {_LONGEST / (2 * math.sqrt(-kappa)):.6g} on "
            f"{ball.manifold.spec}, got {ball.radius + residual:.6g}: the bound is too large for "
            "double precision"
        )
    return flat * growth(length)


def reach(ball: Ball, max_dist: float | None) -> float:
    """The largest distance R of a record from the mean (Jiang et al., assumption 3)."""
    return 2 * ball.radius if max_dist is None else as_positive(max_dist, "max_dist")


def _reach_and_share(
    ball: Ball, n: int, records_per_unit: int = 1, max_dist: float | None = None
) -> tuple[float, float]:
    """R, and the share k/n of the records that a unit replaces."""
    share = as_count(records_per_unit, "records_per_unit") / as_count(n, "n")
    return reach(ball, max_dist), share


def _hessian_bound(manifold: Manifold, dist: float) -> float:
    """Largest Frobenius norm of Hess rho^2 = 2 (I + G) within distance `dist`, or more."""
    return 2 * (math.sqrt(manifold.dim) + _excess_norm(manifold, dist))


def _excess_norm(manifold: Manifold, dist: float) -> float:
    """Largest Frobenius norm of G within distance `dist`."""
    planes = manifold.kernels.planes
    if planes is None:
        # matrices, subspaces, rotations: all G have one sign, so tr(G G') >= 0, down to 0
        return excess_diameter(manifold, dist) / math.sqrt(2)
    square = sum(count * radial_excess(curvature, dist) ** 2 for count, curvature in planes)
    return finite(math.sqrt(square), dist)
