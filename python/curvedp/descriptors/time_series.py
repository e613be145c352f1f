"""Covariances of multichannel time series (EEG, EMG, fMRI), points of SPD(channels)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_float_array, as_positive


@quiet
def time_series_covariance(
    signals: ArrayLike, *, ridge: float, shrinkage: float = 0.0
) -> FloatArray:
    """Sample covariances of time series: points of ``SPD(channels)``.

    With S = 1/T Σ_t (x_t - x̄)(x_t - x̄)ᵀ the covariance of the m channels over the T samples,

        C = (1 - shrinkage) S + (shrinkage · tr(S)/m + ridge) I.

    Parameters
    ----------
    signals : array-like, shape (n, channels, samples)
        One epoch per record, in any unit.
    ridge : float
        In the signals' unit squared; positive. A fixed public number such as the variance of the
        amplifier's noise. It makes C positive definite when channels are dead, dependent or more
        numerous than samples.
    shrinkage : float
        In [0, 1]; a fixed public number. 0 is what pyRiemann calls "scm", a positive value
        scikit-learn's ``shrunk_covariance``. A coefficient tuned on the data set would be a release
        of its own.

    Returns
    -------
    ndarray, shape (n, channels, channels)
        Symmetric positive definite. A record that is not finite becomes ``ridge * I``, as does one
        so large that the ridge is lost to rounding beside it and C is not positive definite.

    Raises
    ------
    ValueError, TypeError
        If the shape, the dtype or a parameter is wrong.

    Notes
    -----
    The unit matters: a ball's centre has to be in the signals' unit squared as well.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices,
    for the target tr(S)/m I. Barachant et al. (2012), Multiclass brain-computer interface
    classification by Riemannian geometry.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> microvolts = 10 * np.random.default_rng(0).standard_normal((5, 8, 250))
    >>> matrices = cdp.descriptors.time_series_covariance(microvolts, ridge=0.1)
    >>> matrices.shape
    (5, 8, 8)
    >>> bool(cdp.SPD(8).belongs(matrices).all())
    True
    """
    epochs = as_float_array(signals, "signals")
    if epochs.ndim != 3:
        raise ValueError(f"signals must have shape (n, channels, samples), got {epochs.shape}")
    if epochs.size == 0:
        raise ValueError(f"signals is empty: got shape {epochs.shape}")
    ridge = as_positive(ridge, "ridge")
    if ridge < 1e-150:
        raise ValueError(f"ridge must be at least 1e-150, got {ridge}")
    n, m, _ = epochs.shape
    out = np.empty((n, m, m))
    _core.time_series_covariance(epochs, _share(shrinkage), ridge, out.reshape(n, m * m))
    return out


def _share(shrinkage: float) -> float:
    try:
        share = math.nan if isinstance(shrinkage, (str, bytes)) else float(shrinkage)
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"shrinkage must be a number from 0 to 1, got {shrinkage!r}")
    return share
