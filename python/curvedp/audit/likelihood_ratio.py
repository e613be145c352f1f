"""White-box audit: the exact log density ratio of a mechanism as the score.

By the Neyman-Pearson lemma no other score separates two true values better: up to sampling error,
an attacker who knows both data sets sees no more than this audit.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from curvedp._core import Stream
from curvedp.audit.bounds import FloatArray
from curvedp.audit.result import AuditResult
from curvedp.audit.samples import audit_samples
from curvedp.privacy import Guarantee

_BATCH = 65_536
_SCORE_GRID = 2.0**-26


class Auditable(Protocol):
    """The part of a mechanism that the audit uses; every mechanism of the library has it."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that the mechanism claims."""

    def sample(self, true_value: Any, stream: Any, n_samples: int = 1) -> Any:
        """Independent outputs.

        Parameters
        ----------
        true_value : array-like
        stream : Stream or None
        n_samples : int

        Returns
        -------
        array
            Outputs along the first axis.
        """

    def log_density(self, point: Any, true_value: Any) -> Any:
        """Log density of every output, up to a constant that may not depend on the output.

        Parameters
        ----------
        point : array
            Outputs, as from `sample`.
        true_value : array-like

        Returns
        -------
        array
            One number for each output.
        """


def likelihood_ratio_audit(
    mechanism: Auditable,
    value_a: ArrayLike,
    value_b: ArrayLike,
    *,
    n_samples: int = 100_000,
    claimed: Guarantee | None = None,
    confidence: float = 1 - 1e-6,
    n_thresholds: int | None = None,
    stream: object = None,
) -> AuditResult:
    """Audit a mechanism at the true values of two neighbouring data sets.

    Draws fresh outputs at both, scores each by S(y) = log f(y | a) - log f(y | b) and bounds the
    guarantee's parameter from below (see :func:`audit_samples`). Scores are rounded to 2⁻²⁶, so
    that the audit tests the mechanism's law and not the last bits of floating-point numbers, which
    the rounding of releases protects and :func:`audit_release_function` tests.

    Parameters
    ----------
    mechanism : Auditable
        ``sample(true_value, stream, n_samples)``, ``log_density(points, true_value)`` and
        ``guarantee``.
    value_a, value_b : array_like
        True values of the statistic on two neighbouring data sets; the hardest test puts them at
        distance ``sensitivity``.
    n_samples : int
        Outputs drawn at *each* value; half of them choose the threshold.
    claimed : guarantee, optional
        The guarantee to test; ``mechanism.guarantee`` if not given.
    confidence : float
        Joint confidence of the lower bound.
    n_thresholds : int, optional
        Events in each direction, see :func:`audit_samples`.
    stream : object, optional
        Source of randomness handed to ``mechanism.sample``; by default a stream with a fresh key
        from the operating system.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        If ``n_samples`` is below 4 or a parameter is out of range.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> noise = cdp.TangentGaussian(ball, 0.1, cdp.GDP(mu=1.0))
    >>> likelihood_ratio_audit(noise, [0.05], [-0.05], n_samples=5000).passed
    True
    """
    stream = Stream.from_os() if stream is None else stream
    scores_a = _scores(mechanism, value_a, value_a, value_b, n_samples, stream)
    scores_b = _scores(mechanism, value_b, value_a, value_b, n_samples, stream)
    return audit_samples(
        scores_a,
        scores_b,
        mechanism.guarantee if claimed is None else claimed,
        confidence=confidence,
        n_thresholds=n_thresholds,
    )


def _scores(
    mechanism: Auditable,
    true_value: ArrayLike,
    value_a: ArrayLike,
    value_b: ArrayLike,
    n_samples: int,
    stream: object,
) -> FloatArray:
    """Log density ratios of fresh outputs, drawn in batches so that memory stays small."""
    parts = []
    for start in range(0, n_samples, _BATCH):
        outputs = mechanism.sample(true_value, stream, min(_BATCH, n_samples - start))
        log_a = np.asarray(mechanism.log_density(outputs, value_a), dtype=np.float64)
        parts.append(log_a - np.asarray(mechanism.log_density(outputs, value_b)))
    scores = np.concatenate(parts) if parts else np.empty(0)
    return np.round(scores / _SCORE_GRID) * _SCORE_GRID
