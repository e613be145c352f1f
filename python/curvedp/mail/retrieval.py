"""Nearest matches and how good they are: recall@k, precision@k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import as_array, as_count, as_float_array
from curvedp.manifolds import Euclidean


def nearest(queries: ArrayLike, points: ArrayLike, k: int) -> NDArray[np.int64]:
    """Indices of the k points nearest to each query, nearest first; exact.

    Parameters
    ----------
    queries : array-like, shape (q, d)
    points : array-like, shape (n, d)
        Finite.
    k : int
        From 1 to n.

    Returns
    -------
    ndarray of int, shape (q, k)

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, or `k` is not an integer from 1 to n.

    Examples
    --------
    >>> nearest([[0.1], [2.2]], [[0.0], [1.0], [2.0]], k=2).tolist()
    [[0, 1], [2, 1]]
    """
    a, b = as_float_array(queries, "queries"), as_float_array(points, "points")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(
            f"queries and points must have shapes (q, d) and (n, d), got {a.shape} and {b.shape}"
        )
    count = as_count(k, "k", most=len(b))
    indices, _ = _core.nearest(Euclidean(b.shape[1]).kernels, b, a, count)
    return indices.reshape(len(a), count)


def in_turn(places: ArrayLike, points: ArrayLike, k: int) -> NDArray[np.int64]:
    """Indices of k points, all different: the nearest of each place, then the second of each.

    The matches of a query by `method="subset"`, one of each named cell first.

    Parameters
    ----------
    places : array-like, shape (s, d)
    points : array-like, shape (n, d)
    k : int
        From 1 to n.

    Returns
    -------
    ndarray of int, shape (k,)

    Raises
    ------
    ValueError, TypeError
        As `nearest`.

    Examples
    --------
    >>> in_turn([[0.1], [2.2]], [[0.0], [1.0], [2.0]], k=3).tolist()
    [0, 2, 1]
    """
    ranked = nearest(places, points, k).T.reshape(-1)
    firsts = np.unique(ranked, return_index=True)[1]
    found: NDArray[np.int64] = ranked[np.sort(firsts)[:k]]
    return found


@dataclass(frozen=True)
class RetrievalScore:
    """Rates at which the class of a query is among its matches, averaged over queries.

    Attributes
    ----------
    recall : dict from k to float
        Share of queries with a match of their class among the first k.
    precision : dict from k to float
        Mean share of the first k matches that have the query's class. With C classes, one match of
        each of k classes has recall@k = k/C whatever the query is, but precision@k = 1/C: quote
        both.
    """

    recall: dict[int, float]
    precision: dict[int, float]

    def __str__(self) -> str:
        recall = ", ".join(f"recall@{k} {value:.3f}" for k, value in self.recall.items())
        return recall + "; " + ", ".join(f"@{k} {v:.3f}" for k, v in self.precision.items())


def retrieval_score(
    match_labels: ArrayLike, query_labels: ArrayLike, ks: Sequence[int] = (1, 8)
) -> RetrievalScore:
    """Recall and precision at several k.

    Parameters
    ----------
    match_labels : array-like, shape (q, k_max)
        Labels of each query's matches, nearest first.
    query_labels : array-like, shape (q,)
    ks : sequence of int

    Returns
    -------
    RetrievalScore

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, or a k is not an integer from 1 to the number of matches.

    Examples
    --------
    >>> retrieval_score([["cat", "dog"], ["dog", "cat"]], ["cat", "cat"], ks=(1, 2)).recall
    {1: 0.5, 2: 1.0}
    """
    found, wanted = as_array(match_labels, "match_labels"), as_array(query_labels, "query_labels")
    if found.ndim != 2 or wanted.shape != found.shape[:1]:
        raise ValueError("match_labels must have shape (q, k), query_labels shape (q,)")
    hits = found == wanted[:, None]
    counts = [as_count(k, "k", most=hits.shape[1]) for k in ks]
    return RetrievalScore(
        {k: float(hits[:, :k].any(axis=1).mean()) for k in counts},
        {k: float(hits[:, :k].mean()) for k in counts},
    )
