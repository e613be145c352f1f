"""The geometric median: noisy steps on clipped logarithms, by lengths that follow the records.

    p <- exp_p(a (mean of clip(log_p x_i, tau) + noise))

first with a public clipping length, then with one in proportion to a private median of the
distances of the records to p. Proof: docs/proofs/geometric-median.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms import RankExponential
from curvedp.mechanisms.choice import ways_to_meet
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import least_error
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

#: Distances are sought from this fraction of the longest on.
_SHORTEST = 1 / 300
#: The first clipping length over the ball's radius.
_FIRST = 0.5


@dataclass(frozen=True)
class MedianSchedule:
    """Division of the budget, and lengths of steps.

    Attributes
    ----------
    weights : tuple of float
        Shares of the first step, of the median of distances and of each step after it.
    clip : float
        Clipping length over the released median of distances.
    averages : bool
        True if the last steps have lengths 1, 1/2, 1/3 ..., which averages their noise.
    """

    weights: tuple[float, ...]
    clip: float
    averages: bool

    def lengths(self, dim: int) -> list[float]:
        """Lengths of the steps after the median of distances.

        A full step is one over the mean Hessian, to which a record outside of the clipping length
        tau adds (1 - 1/d) tau over its distance.
        """
        steps = len(self.weights) - 2
        full = 1.0 if self.clip >= 1 else 1 / max(self.clip * max(1 - 1 / dim, 0.5), 0.3)
        if not self.averages:
            return [full] * steps
        return [full, *(full / (k + 1) for k in range(steps - 1))]


#: Chosen by simulation on spheres and SPD matrices with and without contamination.
_GAUSSIAN = MedianSchedule((0.1, 0.1, 1.0, 1.0, 1.0, 1.0), 0.5, averages=True)
_GAUSSIAN_SHORT = MedianSchedule((0.1, 0.1, 0.6, 1.0), 1.0, averages=False)
_PURE = MedianSchedule((0.15, 0.15, 0.25, 0.45), 1.0, averages=False)
_PURE_SHORT = MedianSchedule((0.35, 0.15, 0.5), 1.0, averages=False)
#: Noise of a step with the whole budget over its clipping length, beyond which there are few steps.
_GAUSSIAN_NOISE, _PURE_NOISE = 0.07, 0.04


@dataclass(frozen=True)
class MedianDesign:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    n, changed : int
        Number of records, and how many of them a unit may be.
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    """

    ball: Ball
    n: int
    changed: int
    way: PureDP | GDP

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return self.ball.manifold.dim

    @property
    def schedule(self) -> MedianSchedule:
        """The schedule for this budget."""
        share = 2 * self.changed / self.n
        if isinstance(self.way, PureDP):
            noise = share * math.sqrt(self.dim * (self.dim + 1)) / self.way.epsilon
            return _PURE_SHORT if noise > _PURE_NOISE else _PURE
        noise = share * math.sqrt(self.dim) / self.way.mu
        return _GAUSSIAN_SHORT if noise > _GAUSSIAN_NOISE else _GAUSSIAN

    @property
    def shares(self) -> tuple[PureDP | GDP, ...]:
        """Of the first step, of the median of distances and of each step after it."""
        found: tuple[PureDP | GDP, ...] = self.way.split(self.schedule.weights)
        return found

    @property
    def first_length(self) -> float:
        """The public clipping length of the first step."""
        return _FIRST * self.ball.radius

    def length_for(self, distance: float) -> float:
        """The clipping length after a released median of distances."""
        return min(self.schedule.clip * distance, self.first_length)

    def noise(self, length: float, share: PureDP | GDP) -> VectorNoise:
        """Of a step whose logarithms are clipped at `length`; raises where there is none."""
        return VectorNoise.of(
            self.dim,
            2 * length * self.changed / self.n,
            length * _core.summation_error(self.n),
            length,
            share,
        )

    @property
    def distances(self) -> RankExponential:
        """The median of the distances."""
        longest = 2 * self.ball.radius
        return RankExponential(
            0.5,
            low=_SHORTEST * longest,
            high=longest,
            guarantee=self.shares[1],
            records_per_unit=self.changed,
            base="log-uniform",
        )

    @property
    def coarsest_scale(self) -> float:
        """The noise scale of the last step at the first clipping length, for the public grid."""
        return self.noise(self.first_length, self.shares[-1]).scale

    def check(self) -> None:
        """Raises for what cannot be served, before a record is seen."""
        shortest = self.length_for(_SHORTEST * 2 * self.ball.radius)
        for share in (self.shares[0], *self.shares[2:]):
            for length in (shortest, self.first_length):
                self.noise(length, share)
        grid_step(self.ball, self.coarsest_scale)
        _ = self.distances

    @property
    def longest_noise(self) -> float:
        """Root mean square length of the longest noise of a step at the first clipping length.

        Later steps are too short to lead back from where the first one has lost its way.
        """
        noises = [self.noise(self.first_length, share) for share in self.shares]
        lengths = [1.0, 0.0, *self.schedule.lengths(self.dim)]
        return math.sqrt(self.dim) * max(
            length * own.deviation for length, own in zip(lengths, noises, strict=True)
        )

    def noise_after(self, length: float) -> float:
        """Root mean square length of the result's noise, to first order."""
        lengths = self.schedule.lengths(self.dim)
        noise = self.noise(length, self.shares[-1])
        return noise.deviation * math.sqrt(self.dim * lengths[0] * lengths[-1])

    def draw(self, rows: FloatArray, stream: _core.Stream) -> tuple[FloatArray, VectorNoise]:
        """The released point of the frame, and the noise of the last step."""
        ball, shares = self.ball, self.shares
        point = ball.frame.origin
        noise = self.noise(self.first_length, shares[0])
        mean = _core.clipped_mean(_logarithms(ball, rows, point), noise.largest)
        point = _moved(ball, point, noise.add(mean, stream))
        distances = np.linalg.norm(_logarithms(ball, rows, point), axis=1)
        length = self.length_for(float(self.distances.sample(distances, stream)[0]))
        for share, step in zip(shares[2:], self.schedule.lengths(self.dim), strict=True):
            noise = self.noise(length, share)
            mean = _core.clipped_mean(_logarithms(ball, rows, point), length)
            point = _moved(ball, point, step * noise.add(mean, stream))
        return point, noise


def _logarithms(ball: Ball, rows: FloatArray, point: FloatArray) -> FloatArray:
    """Coordinates of the records' logarithms, each a function of its record and the point."""
    found = np.empty((len(rows), ball.manifold.dim))
    ball.frame.manifold.log_coords(rows, point[None], found)
    return found


def _moved(ball: Ball, point: FloatArray, coords: FloatArray) -> FloatArray:
    """Post-processing of a noisy vector: no step is longer than the ball is wide."""
    length, most = float(np.linalg.norm(coords)), 2 * ball.radius
    return ball._step(point, coords * (most / length) if length > most else coords)


@dataclass(frozen=True)
class GeometricMedian(EachGroup[Release]):
    """The geometric median as a value; `geometric_median` releases it.

    Attributes
    ----------
    title : str

    Examples
    --------
    >>> GeometricMedian().title
    'geometric median'
    """

    title: ClassVar[str] = "geometric median"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "median"
    memory: ClassVar[float] = 6.0

    def check(self, call: Call) -> None:
        ways_to_meet(call.guarantee)  # raises for what it does not serve

    def is_exact(self, call: Call) -> bool:
        return True

    def mechanism_of(self, design: MedianDesign) -> str:
        return "noisy steps on clipped logarithms"

    def way_of(self, design: MedianDesign) -> PureDP | GDP | None:
        return design.way

    def design(self, call: Call, ball: Ball, n: int) -> MedianDesign:
        def design_under(way: PureDP | GDP) -> MedianDesign:
            design = MedianDesign(ball, n, min(call.records_per_unit, n), way)
            design.check()
            return design

        return least_error(
            ways_to_meet(call.guarantee),
            design_under,
            lambda design: design.noise_after(design.first_length),
        )

    def outlook(self, call: Call, design: MedianDesign, n: int) -> tuple[float, float]:
        return design.coarsest_scale, math.nan

    def noise_share(self, call: Call, design: MedianDesign, n: int) -> float:
        return design.longest_noise / design.ball.radius

    def release_group(self, group: Group) -> Release:
        ball, own = group.ball, group.design
        design = MedianDesign(ball, own.n, own.changed, own.way)
        point, noise = design.draw(group.enter(), group.stream(0))
        # a function of noisy vectors on grids of their own: this grid only shortens digits
        rounded = round_to_grid(ball, point[None], design.coarsest_scale)
        return group.release(
            value=ball.leave(rounded)[0],
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
        )


@overload
def geometric_median(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def geometric_median(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def geometric_median(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release the geometric median of records: the point with the least sum of distances.

    A few hostile or mistaken records move it little, wherever in the ball they are: it suits
    contaminated and heavy-tailed records. Gaussian guarantees serve it best; under pure
    differential privacy it needs some hundred records for each dimension.

    Parameters
    ----------
    records, groups
        As in `frechet_mean`.
    ball : Ball, or a list with one for each group
        Public domain of the records, and of the release.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's records are replaced. It is divided among the
        steps by public rules.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape point_shape; `sensitivity` and `scale` are those of the last step.
        `expected_error` is None: on real records releases are .5 to 70 times as far from the median
        as the noise alone tells, and the release cannot know which.

    Warns
    -----
    NoiseWarning
        If the noise of one of its steps is longer than the ball's radius: the later steps do not
        lead back from there.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Fletcher, Venkatasubramanian and Joshi (2009), The geometric median on Riemannian manifolds
    with application to robust atlas estimation.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> records[:50] = [0.6, 0.0, 0.8]
    >>> release = cdp.geometric_median(records, ball, cdp.GDP(mu=1.0), seed=0)
    >>> bool(ball.manifold.dist(release.value, records[-1]) < 0.05)
    True
    """
    return release(GeometricMedian(), records, ball, guarantee, groups=groups, **call)
