"""Subset response: s of K cells named, the true one among them with odds s e^eps : K - s.

Ye and Barg (2018), Optimal schemes for discrete distribution estimation under locally differential
privacy. Proofs: docs/proofs/privatemail.md.
"""

from __future__ import annotations

import math

import numpy as np

from curvedp import _core
from curvedp._labels import Codes
from curvedp._validation import as_count, as_probability
from curvedp.mail.cells import sufficient
from curvedp.mechanisms import outward_scale
from curvedp.privacy import Guarantee


def subset_response(
    cell: int, count: int, size: int, epsilon: float, stream: _core.Stream
) -> Codes:
    """`size` of `count` cells in increasing order: eps-DP.

    All cells are put in a random order, of which the first `size` are named: the true one in the
    place i with odds e^(1/s) for each i < size and 1 for each other, s = 1/epsilon rounded up, the
    others in a uniform order. Both are drawn exactly, and as many numbers whatever the outcome.
    """
    later, drawn = np.ones(count), np.empty(1)
    later[:size] = 0.0
    _core.choose(np.zeros(count), later, outward_scale(1.0, epsilon), stream, drawn)
    others = np.delete(np.arange(count), cell)
    for place in range(size):
        level = np.zeros(len(others) - place)
        _core.choose(level, level, 1.0, stream, swap := np.empty(1))
        other = place + int(swap[0])
        others[[place, other]] = others[[other, place]]
    named = others[:size]
    if drawn[0] < size:
        named[-1] = cell
    found: Codes = np.sort(named)
    return found


def naming_probability(epsilon: float, count: int, size: int) -> float:
    """Probability with which the true one is among `size` of `count` cells."""
    return 1 / (1 + (count - size) / size * math.exp(-epsilon))


def expected_recall(
    guarantee: Guarantee, n_classes: int, n_matches: int = 1, *, accuracy: float = 1.0
) -> float:
    """Probability that the class of a private query is among those of its matches, one of each.

    `PrivateMail.embed_query` with one cell for each class and s = `n_matches` named cells ("cell"
    for 1, "subset" for more) names the cell of the query with probability
    p = s e^eps/(s e^eps + K - s), each other one with (s - p)/(K - 1). With `accuracy` 1 and
    `PureDP` **no release does better**, if all classes are equally likely: choose epsilon by it.

    Parameters
    ----------
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of one query. Eps is that of the pure differential privacy that implies it.
    n_classes : int
        K, at least 2.
    n_matches : int
        From 1 to K.
    accuracy : float
        Share of queries whose class is predicted right without privacy, in (0, 1]:
        `Anchors.accuracy` of queries like the anchors.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> import curvedp as cdp
    >>> [round(expected_recall(cdp.PureDP(eps), 40, 8), 3) for eps in (1.0, 3.0, 5.0)]
    [0.405, 0.834, 0.974]
    >>> round(expected_recall(cdp.PureDP(3.0), 40), 3)
    0.34
    """
    count = as_count(n_classes, "n_classes", least=2)
    size = as_count(n_matches, "n_matches", most=count)
    right = 1.0 if accuracy == 1 else as_probability(accuracy, "accuracy")
    p = naming_probability(sufficient(guarantee), count, size)
    return right * p + (1 - right) * (size - p) / (count - 1)
