"""Wald tests of slopes from the second moments that a regression releases: post-processing.

The velocities v_a of m covariates have errors with E <e_a, e_b> = A_ab, from noise and sampling.
T = sum_ab (A^-1)_ab <v_a, v_b> has the mean m without slopes. T/m is compared with F of m f and
f (N/h - 1)/s^2 degrees of freedom (Satterthwaite 1946). f is 1 where all errors lie in one
direction and d where they divide evenly; s is the share of sampling in A; N/h is the number of
units, h the leverage of the farthest, from which the variance of a slope may be known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from curvedp._validation import FloatArray

#: Least variance of contributions over that of residuals that spread alike, and by how much it is
#: thought to differ from that.
_LEAST, _PRIOR = 0.05, 0.5
#: Noise over the variance of residuals that spread alike, from which on it may hide much more.
_HIDDEN = 4.0
#: Fewest and most degrees of freedom of the spread: beyond these it counts as known.
_FEWEST, _MOST = 1.0, 1e9


class WaldTest(NamedTuple):
    """A test of slopes that are 0, given all other covariates.

    Attributes
    ----------
    statistic : float
        About `dof` times an F with `dof` and `spread_dof` degrees of freedom without these slopes.
    dof : float
        Number of slopes times the number of directions among which their errors divide.
    spread_dof : float
        How well the spread of errors is known: from few records far out in their covariates, or
        from noise alone.
    p_value : float
        NaN where steps may not have arrived.
    """

    statistic: float
    dof: float
    spread_dof: float
    p_value: float


def shrunk_meat(meat: FloatArray, deviation: float, even: FloatArray) -> FloatArray:
    """Released second moments of contributions, moved to those of residuals that spread alike.

    Residuals of variance s^2 at all covariates have the moments s^2 H. In coordinates where H = I,
    an entry whose noise is small beside s^2 stays, and one whose noise is large becomes that of
    s^2 I.

    Parameters
    ----------
    meat : ndarray, shape (q + 1, q + 1)
    deviation : float
        Of the noise of an entry on its diagonal.
    even : ndarray, shape (q + 1, q + 1)
        H.

    Returns
    -------
    ndarray, shape (q + 1, q + 1)
        Positive definite.
    """
    values, axes = np.linalg.eigh(even)
    scale = np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))
    found = axes.T @ meat @ axes / np.outer(scale, scale)
    error = deviation * math.sqrt(len(meat)) / float(np.sum(scale**2))
    own = float(np.trace(meat)) / float(np.sum(scale**2))
    variance = max(own, error)
    noise = deviation / np.diag(np.outer(scale, scale))
    # what is larger by more than its noise is larger
    larger = np.maximum(np.diag(found) - variance, 0.0)
    prior = np.maximum((_PRIOR * variance) ** 2, larger**2 - noise**2)
    kept = 1.0 / (1.0 + noise**2 / prior)
    kept = np.sqrt(np.outer(kept, kept))
    posterior = kept * found + (1.0 - kept) * variance * np.eye(len(meat))
    values, vectors = np.linalg.eigh(0.5 * (posterior + posterior.T))
    posterior = (vectors * np.maximum(values, _LEAST * variance)) @ vectors.T
    back = axes * scale
    return np.asarray(back @ posterior @ back.T)


def raised_diagonal(sampling: FloatArray, raw: FloatArray, noise: FloatArray) -> FloatArray:
    """A covariance whose variances are at least what unshrunk ones tell beyond their noise.

    That noise is added to them, but at most their own size again; where it is so large that
    variances of a few units may hide in it, two deviations are.

    Parameters
    ----------
    sampling : ndarray, shape (m, m)
        From `shrunk_meat`.
    raw, noise : ndarray, shape (m,)
        Variances from the released moments themselves, and the deviations of their noise.
    """
    own = np.diag(sampling)
    larger = np.maximum(raw - own, 0.0)
    weight = np.maximum(larger**2 - noise**2, 0.0) / np.maximum(larger**2, 1e-300)
    hidden = np.where(noise > _HIDDEN * own, 2.0 * noise, np.minimum(noise, own))
    raised = weight * larger + hidden
    root = np.sqrt(1.0 + raised / np.maximum(own, 1e-300))
    return np.asarray(sampling * np.outer(root, root))


def share_of_one_direction(meat: FloatArray, norm: float, error: float, dim: int) -> float:
    """The sum of squares of the shares of directions in the spread of residuals: 1/d to 1.

    Parameters
    ----------
    meat : ndarray, shape (q + 1, q + 1)
    norm : float
        Released norm of the second moments added up over covariates.
    error : float
        Of its noise, by which it may be larger.
    dim : int
    """
    total = float(np.trace(meat))
    share = ((norm + error) / total) ** 2 if total > 0.0 else 1.0
    return min(max(share, 1.0 / dim), 1.0)


def wald(
    products: FloatArray,
    noise: FloatArray,
    sampling: FloatArray,
    share: float,
    dim: int,
    units: float,
) -> WaldTest:
    """The test from inner products of velocities.

    Parameters
    ----------
    products, noise, sampling : ndarray, shape (m, m)
        <v_a, v_b>, and E <e_a, e_b> from noise and from sampling.
    share : float
        See `share_of_one_direction`.
    dim : int
    units : float
        Fewest units that a slope may rest on.
    """
    count = len(products)
    inverse = np.linalg.pinv(noise + sampling, hermitian=True)
    by_noise = min(max(float(np.sum(inverse * noise)) / count, 0.0), 1.0)
    rest = 1.0 - by_noise
    directions = 1.0 / ((by_noise**2 + 2.0 * by_noise * rest) / dim + share * rest**2)
    statistic, dof = directions * float(np.sum(inverse * products)), count * directions
    known = directions * (units - 1.0) / max(rest, 1.0 / _MOST) ** 2
    spread_dof = min(max(known, _FEWEST), _MOST)
    p_value = float(scipy.special.fdtrc(dof, spread_dof, max(statistic, 0.0) / dof))
    return WaldTest(statistic, dof, spread_dof, p_value)
