"""Public cells of the feature space and randomised response over them.

With labelled anchors a query's cell is its predicted class, or a part of it; without labels it is
the nearest of the centres that k-means finds among the anchors. Everything but the query is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp import _core
from curvedp._labels import Codes
from curvedp._validation import FloatArray
from curvedp.mail.retrieval import nearest
from curvedp.mechanisms import outward_scale
from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.conversion import last_true_above, pure_mu

#: Anchors that vote on a query's class.
_VOTERS = 5

#: Neighbours by which representatives are judged, and anchors considered for one cell.
_NEIGHBOURS, _CANDIDATES = 8, 200

#: Iterations of k-means.
_ITERATIONS = 20


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the feature space, decided by the anchors.

    Attributes
    ----------
    centres : ndarray, shape (K, m)
    classes : ndarray of int, shape (K,), or None
        The class that each cell is part of.
    values : ndarray, shape (K, k)
        Embedded representatives.
    rows, codes : the anchors
    """

    centres: FloatArray
    classes: Codes | None
    values: FloatArray
    rows: FloatArray
    codes: Codes | None

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.centres)

    def find(self, queries: FloatArray) -> Codes:
        """Cells of queries, shape (q,)."""
        squares = scipy.spatial.distance.cdist(queries, self.centres, "sqeuclidean")
        if self.codes is not None and self.classes is not None:
            predicted = predict_class(queries, self.rows, self.codes)
            squares[predicted[:, None] != self.classes[None, :]] = np.inf
        found: Codes = np.argmin(squares, axis=1).astype(np.int64)
        return found


def predict_class(queries: FloatArray, rows: FloatArray, codes: Codes) -> Codes:
    """The class of most of the nearest anchors, among equals that of the nearest."""
    votes = codes[nearest(queries, rows, min(_VOTERS, len(rows)))]
    counts = np.sum(votes[:, :, None] == votes[:, None, :], axis=2)
    winners: Codes = votes[np.arange(len(votes)), np.argmax(counts, axis=1)]
    return winners


def choose_n_cells(epsilon: float, n_anchors: int, codes: Codes | None) -> int:
    """The number of cells that suits a budget, from public values alone.

    The true cell is released with probability e^eps/(e^eps + K - 1). With C classes, each has one
    cell, or more as long as that probability stays at 0.99. Without labels K = 4 e^(eps/2): cells
    become purer slowly as K grows, and the probability falls only once K is near e^eps
    (docs/privatemail.md).
    """
    most = max(2, n_anchors // 8)
    odds = math.exp(min(epsilon, 30.0))
    if codes is None:
        return min(most, int(4 * math.sqrt(odds)))
    classes = len(np.unique(codes))
    parts = max(1, int((1 + odds / 99) / classes))
    return max(2, min(most, parts * classes, n_anchors))


def make_cells(rows: FloatArray, codes: Codes | None, embedding: FloatArray, n_cells: int) -> Cells:
    """K cells, or with labels the nearest multiple of the number of classes (one each at least)."""
    if codes is None:
        centres, members = _divide(rows, n_cells)
        values = _representatives(embedding, members, None)
        return Cells(centres, None, values, rows, None)
    present = np.unique(codes)
    parts = max(1, n_cells // len(present))
    all_centres, all_members, classes = [], [], []
    for label in present:
        own = np.flatnonzero(codes == label)
        centres, members = _divide(rows[own], min(parts, max(1, len(own) // 2)))
        all_centres.append(centres)
        all_members += [own[part] for part in members]
        classes += [label] * len(centres)
    values = _representatives(embedding, all_members, codes)
    centres = np.concatenate(all_centres)
    if len(centres) == 1:  # randomised response needs two: a cell that no query falls into
        centres, values = np.repeat(centres, 2, axis=0), np.repeat(values, 2, axis=0)
        classes = classes * 2
    return Cells(centres, np.array(classes), values, rows, codes)


def _divide(rows: FloatArray, parts: int) -> tuple[FloatArray, list[NDArray[np.int64]]]:
    """k-means centres and the rows nearest to each; centres without rows are dropped.

    SciPy's kmeans2 warns of a centre without rows, and no thread can hush that for itself alone:
    what it does in an iteration stands here, to the same bits.
    """
    if parts == 1:
        return rows.mean(axis=0, keepdims=True), [np.arange(len(rows))]
    every = np.arange(len(rows))
    centres = rows[np.linspace(0, len(rows) - 1, parts).astype(np.int64)]
    for _ in range(_ITERATIONS):
        owner = scipy.cluster.vq.vq(rows, centres)[0]
        sizes = np.bincount(owner, minlength=parts)[:, None]
        belongs = scipy.sparse.csr_array((np.ones(len(rows)), (owner, every)), (parts, len(rows)))
        centres = np.where(sizes > 0, (belongs @ rows) / np.maximum(sizes, 1), centres)
    members = [np.flatnonzero(owner == part) for part in range(parts)]
    kept = [part for part in range(parts) if len(members[part])]
    return np.ascontiguousarray(centres[kept]), [members[part] for part in kept]


def _representatives(
    embedding: FloatArray, cells: list[NDArray[np.int64]], codes: Codes | None
) -> FloatArray:
    """One embedded anchor for each cell: that whose neighbours share its label most, else the most
    central one."""
    values = []
    for members in cells:
        mean = embedding[members].mean(axis=0, keepdims=True)
        count = min(_CANDIDATES, len(members))
        candidates = members[nearest(mean, embedding[members], count)[0]]
        best = 0
        if codes is not None:
            k = min(_NEIGHBOURS, len(embedding))
            around = codes[nearest(embedding[candidates], embedding, k)]
            best = int(np.argmax(np.mean(around == codes[candidates][:, None], axis=1)))
        values.append(embedding[candidates[best]])
    return np.stack(values)


def randomised_response(cell: int, count: int, epsilon: float, stream: _core.Stream) -> int:
    """The cell with probability e^eps/(e^eps + K - 1), else any other one: eps-DP.

    The odds of the true cell are e^(1/s), drawn exactly, with s = 1/epsilon rounded up.
    """
    others, drawn = np.ones(count), np.empty(1)
    others[cell] = 0.0
    _core.choose(np.zeros(count), others, outward_scale(1.0, epsilon), stream, drawn)
    return int(drawn[0])


def sufficient(guarantee: Guarantee) -> float:
    """The largest epsilon of pure differential privacy that implies `guarantee`, rounded down.

    sqrt(2 rho) for ZCDP, log(Phi(mu/2)/Phi(-mu/2)) for GDP.
    """
    match guarantee:
        case PureDP(epsilon) | ApproxDP(epsilon, _):
            found = epsilon
        case ZCDP(rho):
            found = math.sqrt(2 * rho) * (1 - 1e-12)
        case GDP(mu):
            found = last_true_above(lambda epsilon: pure_mu(epsilon) <= mu, mu)
        case _:
            raise TypeError("guarantee must be PureDP, ApproxDP, ZCDP or GDP")
    if found <= 0:
        raise ValueError("randomised response needs an epsilon above 0")
    return float(found)
