"""k-means by noisy rounds of counts and clipped logarithms (Lloyd 1982, with noise).

    a public cover of the ball, one round: noisy counts and means of its cells
    -> k-means on these cells, without records: the first centres
    -> further rounds: centre p_k <- exp_{p_k}(noisy mean of shortened logs of its cluster)

Proof: docs/proofs/private-k-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_count, as_float_array
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import RiemannianLaplace, TangentGaussian, ways_to_meet
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.privacy.release import frozen_array
from curvedp.statistics.call import Call, CallOptions, as_balls
from curvedp.statistics.cells import (
    Rows,
    cell_noise,
    cover,
    gaps,
    release_cells,
    seeds,
    stepped,
)
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KMeansRelease(Release):
    """Released centres of clusters: `value`, shape (K, *point_shape).

    Sensitivity and scale are those of the last round, for logarithms in units of their clipping
    lengths, and counts, over n.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        Noisy numbers of records (of units in shares, where units are known by name) nearest to each
        centre before its last step, cut at 0.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> x = np.repeat([-0.5, 0.5], [300, 700])[:, None]
    >>> found = cdp.k_means(x, 2, ball, cdp.GDP(mu=2.0))
    >>> found.value.shape, bool(abs(found.sizes.max() - 700) < 40)
    ((2, 1), True)
    """

    sizes: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sizes", frozen_array(self.sizes))
        if self.value.ndim < 1 or self.sizes.shape != self.value.shape[:1]:
            raise ValueError("sizes must hold a number for each centre of the value")

    def _notes(self) -> list[str]:
        sizes = ", ".join(f"{size:.0f}" for size in self.sizes[:12])
        sizes += ", ..." if len(self.sizes) > 12 else ""
        return [f"{len(self.sizes)} centres, one a row of the value; noisy sizes: {sizes}"]


@dataclass(frozen=True)
class KMeansDesign:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    way : PureDP or GDP
        The guarantee that all rounds together are calibrated to.
    cover : int
        Cells of the cover; 0 for public first centres.
    first : VectorNoise or None
        Of the round on the cover.
    rounds : tuple of VectorNoise
        Of the further rounds.
    """

    way: PureDP | GDP
    cover: int
    first: VectorNoise | None
    rounds: tuple[VectorNoise, ...]


@dataclass(frozen=True)
class KMeans(EachGroup[KMeansRelease]):
    """k-means as a value; `k_means` releases it.

    Parameters
    ----------
    n_clusters, init, n_rounds
        As in `k_means`.

    Examples
    --------
    >>> KMeans(2, init=[[-0.5, 0.0], [0.5, 0.0]]).init
    ((-0.5, 0.0), (0.5, 0.0))
    """

    title: ClassVar[str] = "k-means"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "k-means"
    takes_units: ClassVar[bool] = True

    n_clusters: int
    init: Any = None
    n_rounds: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_clusters", as_count(self.n_clusters, "n_clusters"))
        if self.n_rounds is not None:
            object.__setattr__(self, "n_rounds", as_count(self.n_rounds, "n_rounds"))
        if self.init is not None:
            object.__setattr__(self, "init", _nested(as_float_array(self.init, "init").tolist()))

    def check(self, call: Call) -> None:
        for ball in call.balls:
            if not _LEAST_RADIUS <= ball.radius <= _LARGEST_RADIUS:
                raise ValueError(
                    f"k-means needs a radius between {_LEAST_RADIUS:g} and {_LARGEST_RADIUS:g}, as "
                    f"it squares distances, got {ball.radius:g}"
                )
        if self.init is None:
            return
        space = call.manifold
        points = space.read_records(self.init, "init")
        if len(points) != self.n_clusters:
            raise ValueError(
                f"init must hold n_clusters={self.n_clusters} points, got {len(points)}"
            )
        if np.isnan(space.as_points(points)).any():
            raise ValueError(f"init holds a row that is no point of {space.spec}")

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (self.n_clusters, *call.manifold.point_shape)

    def mechanism_of(self, design: KMeansDesign) -> str:
        return (RiemannianLaplace if design.rounds[-1].pure else TangentGaussian).name

    def way_of(self, design: KMeansDesign) -> PureDP | GDP:
        return design.way

    def outlook(self, call: Call, design: KMeansDesign, n: int) -> tuple[float, float]:
        return design.rounds[-1].scale, math.nan

    def noise_share(self, call: Call, design: KMeansDesign, n: int) -> float:
        return self.n_clusters * design.rounds[-1].deviation * math.sqrt(call.manifold.dim)

    def extent(self, call: Call) -> tuple[float, str]:
        return math.nan, "clipping length in a cluster of the mean size"

    def memory_of_group(self, call: Call, n: int) -> float:
        return (
            8.0 * n * (3 * call.manifold.point_size + 4 * call.manifold.dim + 2 * self.n_clusters)
        )

    def design(self, call: Call, ball: Ball, n: int) -> KMeansDesign:
        clusters, dim = self.n_clusters, ball.manifold.dim
        if n < clusters:
            raise ExistenceError(
                f"k-means with {clusters} clusters needs at least {clusters} records: "
                f"n_samples={n} should be >= n_clusters={clusters}.",
                smallest_n=clusters,
            )
        way = ways_to_meet(call.guarantee)[0]
        seeded, usual = _PURE if isinstance(way, PureDP) else _GAUSSIAN
        count = usual if self.n_rounds is None else self.n_rounds
        changed = min(call.records_per_unit, n)
        if self._has_known_centers:
            shares = way.split([1.0] * count)
            rounds = (cell_noise(dim, clusters, n, changed, share) for share in shares)
            return KMeansDesign(way, 0, None, tuple(rounds))
        share, *rest = way.split([seeded] + [(1.0 - seeded) / count] * count)
        first = cell_noise(dim, 2, n, changed, share)
        full = _FULL * n * first.deviation * math.sqrt(dim)
        size = max(2 * clusters, int(min(_MOST, n / full)))
        rounds = (cell_noise(dim, clusters, n, changed, share) for share in rest)
        return KMeansDesign(way, size, first, tuple(rounds))

    def release_group(self, group: Group) -> KMeansRelease:
        design: KMeansDesign = group.design
        ball, stream = group.ball, group.stream(0)
        rows = Rows(group.enter(), None if group.paid.unit_ends is None else group.ends)
        centers = self._first_centers(ball, rows, design, stream)
        for noise in design.rounds:
            lengths = clip_lengths(ball, centers)
            cells = release_cells(ball, rows, centers, lengths, noise, stream)
            centers = stepped(ball, centers, cells.steps * lengths[:, None])
        released = group.release(
            value=ball.leave(centers),
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
        )
        return KMeansRelease(**vars(released), sizes=np.maximum(cells.counts, 0.0))

    def further_columns(self, releases: Releases[KMeansRelease]) -> dict[str, FloatArray]:
        """The sizes of each group's clusters, shape (groups, K)."""
        empty = np.full(self.n_clusters, np.nan)
        found = releases.results or ()
        sizes = [empty if own is None else own.sizes for own in found]
        return {"sizes": np.array(sizes).reshape(len(found), self.n_clusters)}

    @property
    def _has_known_centers(self) -> bool:
        """True if the first centres are public: one cluster starts at the ball's centre."""
        return self.init is not None or self.n_clusters == 1

    def _first_centers(
        self, ball: Ball, rows: Rows, design: KMeansDesign, stream: _core.Stream
    ) -> FloatArray:
        """Public ones, or those of one noisy round on the cells of a public cover."""
        if design.first is None:
            points = ball.center[None]
            if self.init is not None:
                points = ball.manifold.read_records(self.init, "init")
            return ball.enter(points)
        points = cover(ball, design.cover, _COVER * ball.radius)
        lengths = np.full(len(points), ball.radius)
        cells = release_cells(ball, rows, points, lengths, design.first, stream)
        return seeds(ball, points, lengths, cells, self.n_clusters)


@overload
def k_means(
    records: ArrayLike,
    n_clusters: int,
    ball: Ball,
    guarantee: Guarantee,
    *,
    init: ArrayLike | None = None,
    n_rounds: int | None = None,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> KMeansRelease: ...
@overload
def k_means(
    records: ArrayLike,
    n_clusters: int,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    init: ArrayLike | None = None,
    n_rounds: int | None = None,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[KMeansRelease]: ...
@quiet
@hinting
def k_means(
    records: ArrayLike,
    n_clusters: int,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    init: ArrayLike | None = None,
    n_rounds: int | None = None,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> KMeansRelease | Releases[KMeansRelease]:
    """Release centres of clusters on a manifold by noisy rounds of k-means.

    A first round counts the records in the cells of a public cover of the ball, and averages them;
    k-means on these noisy cells gives the first centres. In each further round a centre moves by
    the mean logarithm of the records nearest to it. All counts and means have noise. Proof:
    docs/proofs/private-k-means.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        No value raises.
    n_clusters : int
        Number of clusters K, at most the number of records.
    ball : Ball, or a list with one for each group
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's records are replaced. PureDP needs more records: it
        adds up over the rounds, and its noise grows with the dimension.
    init : array-like, shape (K, *point_shape), optional
        Public first centres, chosen without looking at the records; the whole guarantee is then
        left to the rounds.
    n_rounds : int, optional
        Number of rounds after the first centres; by default 3, and 1 for PureDP.
    groups : array-like, optional
        Labels or offsets of public groups, the clusters of each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs: each of k records of a person then counts
        1/k.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    KMeansRelease, or Releases of them with `groups`

    Raises
    ------
    ExistenceError
        For fewer records than clusters.
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    Warns
    -----
    NoiseWarning
        If the noise of a round is as large as the clusters may be, which n, K, the dimension and
        the guarantee tell beforehand.

    References
    ----------
    Lloyd 1982, IEEE Trans. Inf. Theory 28 (2), 129-137; Blum, Dwork, McSherry and Nissim 2005
    (noisy sums and counts); Su, Cao, Li, Bertino and Jin 2016 (cells as starts).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 500, axis=0)
    >>> found = cdp.k_means(X, 2, ball, cdp.GDP(mu=1.0))
    >>> away = ball.manifold.pairwise_dist(X[[0, -1]], found.value)
    >>> bool(away.min(axis=1).max() < 0.2)
    True
    """
    space = as_balls(ball)[0].manifold
    starts = None if init is None else space.read_records(init, "init")
    statistic = KMeans(n_clusters, starts, n_rounds)
    return release(statistic, records, ball, guarantee, groups=groups, **call)


def clip_lengths(ball: Ball, centers: FloatArray) -> FloatArray:
    """Public clipping lengths, shape (K,): a share of the distance to the next centre."""
    found: FloatArray = np.clip(_CLIP * gaps(ball, centers), _SHORTEST * ball.radius, ball.radius)
    return found


def _nested(rows: Any) -> Any:
    """Lists of lists as tuples, which equal each other and have a hash."""
    return tuple(map(_nested, rows)) if isinstance(rows, list) else rows
