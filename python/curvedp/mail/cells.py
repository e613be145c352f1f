"""Public cells of the feature space and randomised response over them.

With labelled anchors a query's cell is its predicted class, or a part of it; without labels it is
the nearest of the centres that k-means finds among the anchors. Everything but the query is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp import _core
from curvedp._labels import Codes
from curvedp._validation import FloatArray
from curvedp.mail.retrieval import nearest
from curvedp.mechanisms import outward_scale
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.conversion import last_true_above, pure_mu

#: Anchors that vote on a query's class.
_VOTERS = 5

#: Neighbours by which representatives are judged, and anchors considered for one cell.
_NEIGHBOURS, _CANDIDATES = 8, 200

#: The most cells that are chosen without being asked for.
_MOST_CELLS = 512

#: Iterations of k-means, and rows that it sees.
_ITERATIONS, _SAMPLE = 20, 50_000


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
    found = [_vote(_squares(query, rows), codes) for query in queries]
    return np.array(found, dtype=np.int64)


def leave_one_out(tested: NDArray[np.int64], rows: FloatArray, codes: Codes) -> Codes:
    """The class that the other anchors predict for some of them."""
    found = np.empty(len(tested), dtype=np.int64)
    for number, place in enumerate(tested.tolist()):
        squares = _squares(rows[place], rows)
        squares[place] = np.inf
        found[number] = _vote(squares, codes)
    return found


def _squares(query: FloatArray, rows: FloatArray) -> FloatArray:
    """Squared distances, shape (n,); takes as long for every query, and no search structure."""
    found: FloatArray = scipy.spatial.distance.cdist(query[None], rows, "sqeuclidean")[0]
    return found


def _vote(squares: FloatArray, codes: Codes) -> int:
    """The class of most of the nearest, of equally near ones the first in order."""
    count = min(_VOTERS, len(squares))
    within = np.flatnonzero(squares <= np.partition(squares, count - 1)[count - 1])
    votes = codes[within[np.argsort(squares[within], kind="stable")[:count]]]
    counts = np.sum(votes[:, None] == votes[None, :], axis=1)
    return int(votes[np.argmax(counts)])


def even_sample(n: int, most: int) -> NDArray[np.int64]:
    """Places of at most so many of n rows, evenly spaced, in order."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def choose_n_cells(epsilon: float, n_anchors: int, codes: Codes | None, named: int = 1) -> int:
    """The number of cells that suits a budget, from public values alone.

    s named of K cells hold the true one with probability s e^eps/(s e^eps + K - s). With C
    classes, each has one cell, or more where one is named, as long as that probability stays at
    0.99. Without labels K = 4 sqrt(s e^eps): cells become purer slowly as K grows, and the
    probability falls only once K is near s e^eps (docs/privatemail.md).
    """
    most = max(2, min(n_anchors // 8, _MOST_CELLS))
    odds = math.exp(min(epsilon, 30.0))
    if codes is None:
        return min(most, max(int(4 * math.sqrt(named * odds)), named + 1))
    classes = len(np.unique(codes))
    parts = max(1, int((1 + odds / 99) / classes)) if named == 1 else 1
    return max(2, min(most, parts * classes, n_anchors))


def make_cells(
    rows: FloatArray,
    codes: Codes | None,
    embed: Callable[[NDArray[np.int64]], FloatArray],
    landmarks: tuple[FloatArray, Codes | None],
    n_cells: int,
) -> Cells:
    """K cells, or with labels the nearest multiple of the number of classes (one each at least).

    `embed` embeds rows by their places; `landmarks` are embedded anchors with their codes.
    """
    if codes is None:
        centres, members = _divide(rows, n_cells)
        values = _representatives(codes, embed, landmarks, members)
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
    values = _representatives(codes, embed, landmarks, all_members)
    centres = np.concatenate(all_centres)
    if len(centres) == 1:  # randomised response needs two: a cell that no query falls into
        centres, values = np.repeat(centres, 2, axis=0), np.repeat(values, 2, axis=0)
        classes = classes * 2
    return Cells(centres, np.array(classes), values, rows, codes)


def _divide(rows: FloatArray, parts: int) -> tuple[FloatArray, list[NDArray[np.int64]]]:
    """k-means centres and rows of an even sample nearest to each; centres without are dropped.

    SciPy's kmeans2 warns of a centre without rows, and no thread can hush that for itself alone:
    what it does in an iteration stands here, to the same bits.
    """
    if parts == 1:
        return rows.mean(axis=0, keepdims=True), [np.arange(len(rows))]
    sample = even_sample(len(rows), max(_SAMPLE, 8 * parts))
    rows, every = rows[sample], np.arange(len(sample))
    centres = rows[np.linspace(0, len(rows) - 1, parts).astype(np.int64)]
    for _ in range(_ITERATIONS):
        owner = scipy.cluster.vq.vq(rows, centres)[0]
        sizes = np.bincount(owner, minlength=parts)[:, None]
        belongs = scipy.sparse.csr_array((np.ones(len(rows)), (owner, every)), (parts, len(rows)))
        centres = np.where(sizes > 0, (belongs @ rows) / np.maximum(sizes, 1), centres)
    members = [sample[owner == part] for part in range(parts)]
    kept = [part for part in range(parts) if len(members[part])]
    return np.ascontiguousarray(centres[kept]), [members[part] for part in kept]


def _representatives(
    codes: Codes | None,
    embed: Callable[[NDArray[np.int64]], FloatArray],
    landmarks: tuple[FloatArray, Codes | None],
    cells: list[NDArray[np.int64]],
) -> FloatArray:
    """One embedded anchor for each cell: that whose neighbours share its label most, else the most
    central one."""
    known, known_codes = landmarks
    values = []
    for everyone in cells:
        members = everyone[even_sample(len(everyone), len(known))]
        own = embed(members)
        mean = own.mean(axis=0, keepdims=True)
        candidates = nearest(mean, own, min(_CANDIDATES, len(members)))[0]
        best = 0
        if codes is not None and known_codes is not None:
            k = min(_NEIGHBOURS, len(known))
            around = known_codes[nearest(own[candidates], known, k)]
            shared = around == codes[members[candidates]][:, None]
            best = int(np.argmax(np.mean(shared, axis=1)))
        values.append(own[candidates[best]])
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
    check_guarantee(guarantee)
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
