"""Black-box audit of a whole release: from neighbouring data sets to a score of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp.audit.result import AuditResult
from curvedp.audit.samples import audit_samples
from curvedp.privacy import Guarantee, Neighbours


def audit_release_function(
    release: Callable[[Any], Any],
    data_a: ArrayLike,
    data_b: ArrayLike,
    score: Callable[[Any], float],
    *,
    n_releases: int = 10_000,
    claimed: Guarantee | None = None,
    records_per_unit: int = 1,
    confidence: float = 1 - 1e-6,
    n_thresholds: int | None = None,
) -> AuditResult:
    """Audit a release function end to end: projection, statistic, noise and rounding.

    The audit itself is not private: run it on made-up data sets.

    Parameters
    ----------
    release : callable
        Maps a data set to a :class:`~curvedp.Release` or to any other output; called
        ``2 * n_releases`` times and expected to draw fresh noise each time.
    data_a, data_b : array_like
        Two neighbouring data sets, under the guarantee's relation: for "replace" equally many
        records along the first axis, of which at most ``records_per_unit`` differ; for
        "add-remove" one is the other with that many more.
    score : callable
        Maps an output (a release's ``value``) to a number; high numbers should speak for
        ``data_a``. The log density ratio is the sharpest; the distance to ``data_b``'s statistic
        less that to ``data_a``'s is a good start.
    n_releases : int
        Releases of each data set.
    claimed : guarantee, optional
        The guarantee to test; if not given, the one that the first release carries.
    records_per_unit : int
        Number of records that one person may contribute.
    confidence, n_thresholds
        See :func:`audit_samples`.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        If the data sets are not neighbouring or ``n_releases`` is below 4.
    TypeError
        If no guarantee is claimed: neither by argument nor by the release.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> first, second = np.zeros((5, 1)), np.zeros((5, 1))
    >>> first[0], second[0] = 1.0, -1.0
    >>> result = audit_release_function(
    ...     lambda records: cdp.frechet_mean(records, ball, cdp.GDP(mu=2.0)),
    ...     first,
    ...     second,
    ...     score=lambda value: value[0],
    ...     n_releases=200,
    ... )
    >>> result.passed
    True
    """
    a, b = np.asarray(data_a), np.asarray(data_b)
    relation = relation_of(a, b, records_per_unit)
    outputs_a = [release(a) for _ in range(n_releases)]
    outputs_b = [release(b) for _ in range(n_releases)]
    if claimed is None:
        claimed = getattr(outputs_a[0], "guarantee", None) if outputs_a else None
    if claimed is None:
        raise TypeError("claimed is needed: the release function returns no guarantee")
    require_relation(claimed, relation)
    return audit_samples(
        [score(getattr(output, "value", output)) for output in outputs_a],
        [score(getattr(output, "value", output)) for output in outputs_b],
        claimed,
        confidence=confidence,
        n_thresholds=n_thresholds,
    )


def relation_of(a: np.ndarray, b: np.ndarray, records_per_unit: int) -> Neighbours:
    """The relation under which two data sets are neighbouring.

    Raises
    ------
    ValueError
        If they differ in the shape of records, or in too many records.
    """
    if a.ndim == 0 or a.shape[1:] != b.shape[1:] or b.ndim == 0:
        raise ValueError(
            f"neighbouring data sets have records of one shape, these have {a.shape} and {b.shape}"
        )
    relation: Neighbours = "replace" if len(a) == len(b) else "add-remove"
    if relation == "replace":
        apart = int((a != b).reshape(len(a), -1).any(axis=1).sum())
    else:
        apart = abs(len(a) - len(b)) if _is_part(*sorted((a, b), key=len)) else -1
    if not 0 <= apart <= records_per_unit:
        found = "are parts of no other" if apart < 0 else f"differ in {apart}"
        raise ValueError(
            f"neighbouring data sets differ in at most {records_per_unit} record(s), or one has "
            f"that many more and is the other otherwise; these {found}"
        )
    return relation


def require_relation(claimed: Guarantee, relation: Neighbours) -> None:
    """Refuses to test a claim at data sets that its neighbouring relation is not about."""
    if claimed.neighbours != relation:
        raise ValueError(
            f"the claim's neighbouring relation is {claimed.neighbours!r}, and the data sets are "
            f"neighbours under {relation!r}: give data sets of the claim's relation"
            + (", or claim its to_replace()" if relation == "replace" else "")
        )


def _is_part(small: np.ndarray, large: np.ndarray) -> bool:
    """True if the smaller one is the larger one without some of its records, in their order."""
    left = iter(large)
    return all(any(bool(np.all(row == other)) for other in left) for row in small)
