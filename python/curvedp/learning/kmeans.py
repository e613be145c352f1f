"""k-means by noisy rounds of counts and clipped logarithms (Lloyd 1982, with noise).

    a public cover of the ball, one round: noisy counts and means of its cells
    -> k-means on these cells, without records: the first centres
    -> further rounds: centre p_k <- exp_{p_k}(noisy mean of shortened logs of its cluster)

Proof: docs/proofs/private-k-means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet, warn_of_noise
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.learning._sklearn import ClusterMixin
from curvedp.learning.cells import (
    Cells,
    Codes,
    Rows,
    cell_noise,
    cover,
    gaps,
    release_cells,
    seeds,
    stepped,
)
from curvedp.learning.estimator import Transformer, all_or_nothing
from curvedp.mechanisms import RiemannianLaplace, TangentGaussian
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release
from curvedp.statistics.entry import Entry
from curvedp.statistics.grouping import GroupsLike

#: Share of the budget of the first centres (of mu^2 for Gaussian noise, of epsilon for pure), and
#: how many rounds follow.
_GAUSSIAN, _PURE = (0.4, 3), (0.6, 1)
#: Radius of the cover over that of the ball.
_COVER = 0.5
#: Records of a cell of the cover over the noise of its sum, and most cells.
_FULL, _MOST = 2.0, 200
#: Clipping length over the distance to the next centre, and the shortest over the ball's radius.
_CLIP, _SHORTEST = 0.75, 0.01

#: Radii whose squares doubles hold, with room.
_LEAST_RADIUS, _LARGEST_RADIUS = 1e-140, 1e140

#: Attributes that are computed from the records without privacy.
_UNRELEASED = ("labels_", "inertia_")


@dataclass(frozen=True)
class Schedule:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    cover : int
        Cells of the cover; 0 for public first centres.
    first : VectorNoise or None
        Of the round on the cover.
    rounds : list of VectorNoise
        Of the further rounds.
    """

    cover: int
    first: VectorNoise | None
    rounds: list[VectorNoise]

    @classmethod
    def of(cls, entry: Entry, clusters: int, n_rounds: int | None, *, known: bool) -> Schedule:
        """The schedule; `known` first centres cost nothing. Raises where noise cannot be drawn."""
        n, dim = entry.n, entry.ball.manifold.dim
        seeded, usual = _PURE if isinstance(entry.guarantee, PureDP) else _GAUSSIAN
        count = usual if n_rounds is None else as_count(n_rounds, "n_rounds")
        moved = min(entry.records_per_unit, n)

        def noise(cells: int, share: PureDP | GDP) -> VectorNoise:
            return cell_noise(dim, cells, n, moved, share, by_unit=entry.unit_ends is not None)

        if known:
            shares = entry.shares([1.0] * count)
            return cls(0, None, [noise(clusters, share) for share in shares])
        share, *rest = entry.shares([seeded] + [(1.0 - seeded) / count] * count)
        first = noise(2, share)
        full = _FULL * n * first.deviation * math.sqrt(dim)
        size = max(2 * clusters, int(min(_MOST, n / full)))
        return cls(size, first, [noise(clusters, share) for share in rest])

    def noise_share(self, clusters: int, dim: int) -> float:
        """Size of the last round's noise over the clipping length, in a cluster of n/K records."""
        return clusters * self.rounds[-1].deviation * math.sqrt(dim)


class PrivateKMeans(ClusterMixin, Transformer):  # type: ignore[misc]
    """k-means on a manifold, whose centres are released.

    A first round counts the records in the cells of a public cover of the ball, and averages them;
    k-means on these noisy cells gives the first centres. In each further round a centre moves by
    the mean logarithm of the records nearest to it. All counts and means have noise. Proof:
    docs/proofs/private-k-means.md.

    Each call of `fit` is a new release and spends the guarantee again, also in clones, folds and
    searches, such as one over n_clusters; with a ledger all are charged to it.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K, at most the number of records.
    ball : Ball
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of each call of `fit`, when one unit's records are replaced. PureDP needs more records: it
        adds up over the rounds, and its noise grows with the dimension.
    init : array-like, shape (K, *point_shape), optional
        Public first centres, chosen without looking at the records; the whole guarantee is then
        left to the rounds.
    n_rounds : int, optional
        Number of rounds after the first centres; by default 3, and 1 for PureDP.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget from which every fit is spent, before any noise is drawn; clones share it.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, *point_shape)
        Released centres, points of the ball.
    cluster_sizes_ : ndarray, shape (K,)
        Released numbers of records (or of units, in shares) nearest to each centre before its last
        step: noisy, cut at 0.
    release_ : Release
        `value` holds the centres; sensitivity and scale are those of the last round, for logarithms
        in units of their clipping lengths, and counts, over n.
    labels_ : ndarray of int, shape (n,)
        Number of the centre nearest to each record given to `fit`. **Not released**: as private as
        the records. Copies by `pickle` or `copy` and notebooks' displays are made without it.
    inertia_ : float
        Sum of squared distances of these records from their centres. **Not released**, as
        `labels_`.
    n_features_in_ : int
        Entries of a record, or columns of a table.

    Warns
    -----
    NoiseWarning
        If the noise of a round is as large as the clusters may be, which n, K, the dimension and
        the guarantee tell beforehand.

    Notes
    -----
    `score` is computed from the records given, without privacy. For records that need protection
    publish neither it nor what a search has chosen by it.

    Sources: Lloyd 1982, IEEE Trans. Inf. Theory 28 (2), 129-137; Blum, Dwork, McSherry and Nissim
    2005 (noisy sums and counts); Su, Cao, Li, Bertino and Jin 2016 (cells as starts).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.learning import PrivateKMeans
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 500, axis=0)
    >>> model = PrivateKMeans(2, ball=ball, guarantee=cdp.GDP(mu=1.0)).fit(X)
    >>> left, right = model.predict(X[[0, -1]])
    >>> model.cluster_centers_.shape, bool(left != right)
    ((2, 2, 2), True)
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        ball: Ball,
        guarantee: Guarantee,
        init: ArrayLike | None = None,
        n_rounds: int | None = None,
        records_per_unit: int = 1,
        ledger: Ledger | None = None,
        seed: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.ball = ball
        self.guarantee = guarantee
        self.init = init
        self.n_rounds = n_rounds
        self.records_per_unit = records_per_unit
        self.ledger = ledger
        self.seed = seed

    @quiet
    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None, units: GroupsLike = None) -> Self:
        """Releases the centres and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : ignored
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs, where persons have several: each of k
            records of a person counts 1/k then, in place of `records_per_unit`.

        Returns
        -------
        PrivateKMeans
            Itself.

        Raises
        ------
        BudgetError
            If the ledger refuses.
        ExistenceError, ValueError, TypeError
            For wrong shapes, dtypes and parameters, and fewer records than clusters; never for the
            value of a record.
        """
        entry = Entry.check(
            self._open(X),
            self._domain,
            self.guarantee,
            records_per_unit=self.records_per_unit,
            ledger=self.ledger,
            seed=self.seed,
            units=units,
        )
        clusters = as_count(self.n_clusters, "n_clusters")
        if clusters > entry.n:
            kind = "n_samples" if units is None else "number of units"
            raise ValueError(f"{kind}={entry.n} should be >= n_clusters={clusters}")
        ball, known = entry.ball, self._known_centers(clusters)
        if not _LEAST_RADIUS <= ball.radius <= _LARGEST_RADIUS:
            raise ValueError(
                f"k-means needs a radius between {_LEAST_RADIUS:g} and {_LARGEST_RADIUS:g}, as it "
                f"squares distances, got {ball.radius:g}"
            )
        schedule = Schedule.of(entry, clusters, self.n_rounds, known=known is not None)
        _warn_of_noise(schedule.noise_share(clusters, ball.manifold.dim))
        entry.spend("k-means", 8.0 * len(entry.data) * (4 * ball.manifold.dim + 2 * clusters))

        rows, stream = Rows(entry.enter(), entry.unit_ends), entry.stream(0)
        if known is None:
            centers = _first_centers(ball, rows, clusters, schedule, stream)
        else:
            centers = ball._enter(known)
        for noise in schedule.rounds:
            lengths = clip_lengths(ball, centers)
            cells = release_cells(ball, rows, centers, lengths, noise, stream)
            centers = stepped(ball, centers, cells.steps * lengths[:, None])

        self._set_released(entry, ball._leave(centers), cells, noise)
        away = self._distances(X)
        self.labels_: Codes = away.argmin(axis=1)
        self.inertia_: float = float((away.min(axis=1) ** 2).sum())
        return self

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Distances of records, projected on the ball, from each centre.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Returns
        -------
        ndarray, shape (n, K)
            In units of the metric. As private as the records.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return self._distances(X)

    @quiet
    def predict(self, X: ArrayLike) -> Codes:
        """The number of the nearest centre, shape (n,)."""
        found: Codes = self._distances(X).argmin(axis=1)
        return found

    @quiet
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the sum of squared distances from the nearest centres; parameters as in `fit`."""
        return -float((self._distances(X).min(axis=1) ** 2).sum())

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and releases: a stored model holds nothing else of the records."""
        state: dict[str, Any] = dict(super().__getstate__())
        return {name: value for name, value in state.items() if name not in _UNRELEASED}

    def __dir__(self) -> list[str]:
        """Without what is not released: notebooks show every attribute that is listed."""
        return [name for name in super().__dir__() if name not in _UNRELEASED]

    def _set_released(
        self, entry: Entry, centers: FloatArray, cells: Cells, noise: VectorNoise
    ) -> None:
        kind = RiemannianLaplace if noise.pure else TangentGaussian
        self.release_: Release = entry.release(
            entry.promise(entry.guarantee),
            value=centers,
            mechanism=kind.name,
            statistic="k-means",
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
        )
        self.cluster_centers_: FloatArray = np.array(centers)
        self.cluster_sizes_: FloatArray = np.maximum(cells.counts, 0.0)

    def _known_centers(self, clusters: int) -> FloatArray | None:
        """The public first centres, if there are any: one cluster starts at the ball's centre."""
        if self.init is None:
            return self._domain.center[None] if clusters == 1 else None
        points = self._manifold._records(self.init, "init")
        if len(points) != clusters:
            raise ValueError(f"init must hold n_clusters={clusters} points, got {len(points)}")
        if np.isnan(self._manifold.as_points(points)).any():
            raise ValueError(f"init holds a row that is no point of {self._manifold.spec}")
        return points

    def _distances(self, X: ArrayLike) -> FloatArray:
        points = self._projected(X)
        return self._manifold.pairwise_dist(points, self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def clip_lengths(ball: Ball, centers: FloatArray) -> FloatArray:
    """Public clipping lengths, shape (K,): a share of the distance to the next centre."""
    found: FloatArray = np.clip(_CLIP * gaps(ball, centers), _SHORTEST * ball.radius, ball.radius)
    return found


def _first_centers(
    ball: Ball, rows: Rows, clusters: int, schedule: Schedule, stream: Any
) -> FloatArray:
    """Centres from one noisy round on the cells of a public cover."""
    assert schedule.first is not None
    points = cover(ball, schedule.cover, _COVER * ball.radius)
    lengths = np.full(len(points), ball.radius)
    cells = release_cells(ball, rows, points, lengths, schedule.first, stream)
    return seeds(ball, points, lengths, cells, clusters)


def _warn_of_noise(share: float) -> None:
    if share > 1.0:
        warn_of_noise(
            f"the noise of a round is {share:.2g} times what a cluster of the mean size may move "
            "its centre: such centres tell less than the ball does. Use a larger budget, more "
            "records or fewer clusters.",
        )
