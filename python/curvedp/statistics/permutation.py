"""Private permutation tests (after Kim and Schrab 2023), and what all of them share.

    records -> projection on the public ball -> chart coordinates at its centre, |u| <= r
            -> T(w) = |sum_i w_i phi(u_i)| with features phi and weights w of the records
            -> S_0 = T + noise against the same of random relabellings: rejected if it is large

A relabelling gives the weights to other records. One of them is the true one, and noise of the same
law is added to all, so where records are exchangeable the level holds at every n and dimension.
The noise has no dimension. Proof: docs/proofs/permutation-tests.md.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray, as_count, as_positive, as_probability
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism, ways_to_meet
from curvedp.mechanisms.base import Mechanism
from curvedp.mechanisms.calibration import budget_of, calibrated_scale, unit_error
from curvedp.mechanisms.grid import grid_step
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.releases import Releases

#: Normal numbers are cut here, so that the rounding of what is added to them has a bound.
_LONGEST = 40.0
#: Entries of a block of the Gram matrix, and of weights.
_BLOCK = 1 << 22
_U = 2.0**-53
#: Squares of lengths in balls of this radius, or of its reciprocal, are doubles.
_LEAST_RADIUS = 1e-100


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PermutationRelease(Release):
    """The outcome of a private permutation test: `value`, shape (), is the gap.

    The gap is the noisy statistic less the rank of the relabelled ones that it has to exceed: the
    test rejects if it is positive. A p-value would not be covered by the guarantee.

    Attributes
    ----------
    level : float
        Largest probability of rejecting what is true.
    width : float
        Of the Gaussian kernel; 0 for a linear one.
    relabellings : int
    """

    level: float
    width: float
    relabellings: int

    #: What a positive value means.
    _meaning = "The value is by how much what was found exceeds what chance gives at that level"

    @property
    def rejects(self) -> bool:
        """True if the test rejects."""
        return bool(self.value.item() > 0)

    def _in_brief(self) -> str:
        gap = f"gap={self.value.item():.4g} (no p-value)"
        return f"rejects={self.rejects} at level {self.level:g}, {gap}"

    def _told_value(self) -> list[tuple[str, str]]:
        return [("value is", "the gap, no p-value: the test rejects if it is above 0")]

    def _error(self) -> str:
        return f"{self.expected_error:.6g} (mean size of the noise of the value)"


Outcome = TypeVar("Outcome", bound=PermutationRelease)


@dataclass(frozen=True)
class Labels:
    """Public facts of the weights that records get.

    Attributes
    ----------
    count : int
        Records.
    moved : float
        Most that T less an order statistic of relabelled ones moves when a unit's records are
        replaced, in diameters of the features, or lengths for a linear kernel: the sum of what both
        move.
    largest : float
        Largest T, in diameters.
    total : float
        Root of the sum of squares, over columns of weights, of their sums of absolute values.
    columns : int
    rounding : float
        Error of T from rounded weights, in lengths of the features.
    measured : float
        Share of the budget that the features take.
    """

    count: int
    moved: float
    largest: float
    total: float
    columns: int = 1
    rounding: float = 0.0
    measured: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PermutationTest(EachGroup[Outcome]):
    """A permutation test as a value.

    Parameters
    ----------
    level, width, relabellings
        As in `two_sample_test`.
    """

    stages: ClassVar[int] = 2
    memory: ClassVar[float] = 8.0
    takes_unknown_n: ClassVar[bool] = True
    infers: ClassVar[bool] = True

    level: float = 0.05
    width: float | None = None
    relabellings: int = 199

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", as_probability(self.level, "level"))
        object.__setattr__(self, "relabellings", as_count(self.relabellings, "relabellings"))
        if self.level * (self.relabellings + 1) < 1:
            least = math.ceil(1 / self.level) - 1
            raise ValueError(
                f"a test at level {self.level:g} needs at least {least} relabellings, got "
                f"{self.relabellings}"
            )
        if self.width is not None:
            object.__setattr__(self, "width", as_positive(self.width, "width"))

    @abc.abstractmethod
    def features(self, group: Group) -> tuple[FloatArray, FloatArray]:
        """Features of the records of a group, shape (n, m), and weights, shape (q, n).

        Chart coordinates for a Gaussian kernel; features at most 1 long for a linear one.

        Parameters
        ----------
        group : Group
        """

    @abc.abstractmethod
    def outcome(self, group: Group, told: dict[str, Any]) -> Outcome:
        """The release of a group.

        Parameters
        ----------
        group : Group
        told : dict
            Fields that all tests have.
        """

    def check(self, call: Call) -> None:
        for ball in call.balls:
            self.bandwidth(ball)

    def bandwidth(self, ball: Ball) -> float:
        """The width of the Gaussian kernel on a ball; 0 for a linear one."""
        check_radius(ball)
        width = ball.radius if self.width is None else self.width
        if not 1e-3 <= width / ball.radius <= 1e3:
            raise ValueError(
                f"width must lie between a thousandth and a thousand radii, "
                f"{1e-3 * ball.radius:g} to {1e3 * ball.radius:g}, got {width:g}"
            )
        return width

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return ()

    def is_exact(self, call: Call) -> bool:
        return True

    def mechanism_of(self, design: PermutationDesign) -> str:
        return design.mechanism.name

    def way_of(self, design: PermutationDesign) -> PureDP | GDP:
        return design.way

    def outlook(self, call: Call, design: PermutationDesign, n: int) -> tuple[float, float]:
        return design.scale, design.expected_error

    def noise_share(self, call: Call, design: PermutationDesign, n: int) -> float:
        return design.expected_error / design.largest

    def extent(self, call: Call) -> tuple[float, str]:
        return math.nan, "largest statistic"

    def memory_of_group(self, call: Call, n: int) -> float:
        return 8.0 * (4 * _BLOCK + 4 * n * (call.manifold.dim + 4))

    def release_group(self, group: Group) -> Outcome:
        design: PermutationDesign = group.design
        lead = np.array([design.lead(*self.features(group), relabelling(group.stream(1)))])
        released = group.release(
            value=group.drawn(lead, design.mechanism)[0],
            statistic=self.title,
            sensitivity=design.sensitivity,
            solver_tolerance=design.tolerance,
            scale=design.scale,
            expected_error=design.expected_error,
        )
        test = {"level": self.level, "relabellings": self.relabellings}
        return self.outcome(group, vars(released) | test | {"width": design.width})

    def further_columns(self, releases: Releases[Outcome]) -> dict[str, FloatArray]:
        """1 where the test rejects, 0 where it does not."""
        return {"rejects": np.where(releases.released, releases.value > 0, np.nan)}


def check_radius(ball: Ball) -> None:
    """Raises for balls in which squares of lengths are no doubles."""
    if not _LEAST_RADIUS <= ball.radius <= 1 / _LEAST_RADIUS:
        raise ValueError(
            f"tests need a radius from {_LEAST_RADIUS:g} to {1 / _LEAST_RADIUS:g}, got "
            f"{ball.radius:g}: measure in other units"
        )


def relabelling(stream: _core.Stream) -> np.random.Generator:
    """Randomness of relabellings and their noise: it says nothing about a record."""
    words = np.empty(4)
    stream.uniform(words)
    return np.random.default_rng(words.view(np.uint64))


@dataclass(frozen=True)
class PermutationDesign:
    """Everything about a test that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    way : PureDP or GDP
        The guarantee that its noise is calibrated to.
    level, relabellings
        As in `PermutationTest`.
    width : float
        Of the Gaussian kernel; 0 for a linear one.
    sensitivity, tolerance : float
        Of T less a rank of relabelled ones, and the bound on its error.
    largest : float
        T is at most so large.
    mechanism : Mechanism
        Draws the noise.
    """

    ball: Ball
    way: PureDP | GDP
    level: float
    width: float
    relabellings: int
    sensitivity: float
    tolerance: float
    largest: float
    mechanism: Mechanism

    @property
    def scale(self) -> float:
        """Of the noise of the gap, and of each relabelled statistic."""
        return self.mechanism.scale

    @property
    def expected_error(self) -> float:
        """Mean size of the noise of the gap."""
        return self.scale * unit_error(self.way, 1)

    @classmethod
    def of(
        cls, test: PermutationTest[Any], ball: Ball, guarantee: Guarantee, labels: Labels
    ) -> PermutationDesign:
        """The design with less noise of a pure and a Gaussian one."""
        radius, width = ball.radius * (1 + BOUNDARY_SLACK), test.bandwidth(ball)
        diameter, dim = 1 + 1e-12, ball.manifold.dim
        if width:
            diameter = math.sqrt(-2 * math.expm1(-2 * (radius / width) ** 2)) * (1 + 1e-12)
            # T is the root of a sum of N^2 terms |w_i w_j| times a kernel value
            of_kernel = 8 + 4 * (dim + 4) * (radius / width) ** 2
            rounding = labels.total * math.sqrt(_U * (of_kernel + 2 * (labels.count + 4)))
        else:
            numbers = labels.count + labels.columns * dim + 12
            rounding = 1.01 * _U * numbers * labels.total
        rounding += labels.rounding
        moved, largest = diameter * labels.moved, diameter * labels.largest

        def under(way: PureDP | GDP) -> PermutationDesign:
            own = way.split((labels.measured, 1 - labels.measured))[1] if labels.measured else way
            budget = budget_of(own)
            longest = max(diameter, largest) + _LONGEST * 2 * (moved + 4 * rounding) / budget
            tolerance = 2 * rounding + 8 * _U * longest
            scale = calibrated_scale(moved, tolerance, own)
            domain = Ball(Euclidean(1), [0.0], max(scale, largest))
            grid_step(domain, scale, own)  # raises where doubles are too coarse for such noise
            drawn = choose_mechanism(domain, own)(domain, moved + 2 * tolerance, own)
            return cls(
                ball,
                way,
                test.level,
                width,
                test.relabellings,
                moved,
                tolerance,
                largest,
                drawn,
            )

        found, refused = [], None
        for way in ways_to_meet(guarantee):
            try:
                found.append(under(way))
            except ExistenceError as error:
                refused = refused or error
        if refused is not None and not found:
            raise refused
        return min(found, key=lambda design: design.expected_error)

    def rank(self) -> int:
        """The statistic must exceed the relabelled one of this rank."""
        return math.ceil((1 - self.level) * (self.relabellings + 1) - 1e-9)

    def labellings(self, weights: FloatArray, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Weights of the records, shape (labellings, q, n), block by block; the true ones first."""
        count = weights.shape[1]
        yield weights[None]
        step = max(1, _BLOCK // weights.size)
        for start in range(0, self.relabellings, step):
            rows = np.tile(np.arange(count), (min(step, self.relabellings - start), 1))
            yield weights[:, rng.permuted(rows, axis=1)].transpose(1, 0, 2)

    def statistics(self, coords: FloatArray, labellings: Iterator[FloatArray]) -> FloatArray:
        """T of each labelling."""
        return np.concatenate([self._statistics(coords, weights) for weights in labellings])

    def _statistics(self, coords: FloatArray, weights: FloatArray) -> FloatArray:
        rows_of_weights = weights.reshape(-1, weights.shape[2])  # one product is faster than many
        if not self.width:
            sums = (rows_of_weights @ coords).reshape(len(weights), -1)
            return np.asarray(np.linalg.norm(sums, axis=1))
        squares = np.zeros(len(weights))
        for rows, block in self._gram(coords):
            products = (rows_of_weights @ block) * rows_of_weights[:, rows]
            squares += products.reshape(len(weights), -1).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def _gram(self, coords: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Columns of the Gram matrix of the Gaussian kernel's features, block by block."""
        count = len(coords)
        squares = np.sum(coords**2, axis=1)
        step = max(1, _BLOCK // count)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            block = coords @ coords[rows].T
            block *= -2.0
            block += squares[:, None]
            block += squares[rows]
            np.maximum(block, 0.0, out=block)
            block *= -0.5 / self.width**2
            np.exp(block, out=block)
            yield rows, block

    def lead(self, coords: FloatArray, weights: FloatArray, rng: np.random.Generator) -> float:
        """T less the rank of the noisy relabelled ones that it has to exceed: without its noise.

        Rows of `weights`, shape (q, n), are columns of labels of the n records.
        """
        values = self.statistics(coords, self.labellings(weights, rng))
        if isinstance(self.way, PureDP):
            noise = rng.laplace(size=self.relabellings)
        else:
            noise = rng.standard_normal(self.relabellings)
        noisy = values[1:] + self.scale * np.clip(noise, -_LONGEST, _LONGEST)
        return float(values[0] - np.partition(noisy, self.rank() - 1)[self.rank() - 1])

    def rejects(self, coords: FloatArray, weights: FloatArray, rng: np.random.Generator) -> bool:
        """True if the test rejects, with noise of its own: a simulation."""
        noise = rng.laplace() if isinstance(self.way, PureDP) else rng.standard_normal()
        return self.lead(coords, weights, rng) + self.scale * noise > 0


def simulated_power(
    design: PermutationDesign,
    features: Callable[[FloatArray, np.random.Generator], tuple[FloatArray, FloatArray]],
    shift: FloatArray,
    spread: FloatArray,
    simulations: int,
    rng: np.random.Generator,
) -> float:
    """Share of simulations in which the test rejects: records are `shift` times a random direction
    of the chart, and normal numbers times `spread`, cut to the ball.
    """
    ball, rejected = design.ball, 0
    dim = ball.manifold.dim
    for _ in range(simulations):
        direction = rng.standard_normal(dim)
        coords = spread * rng.standard_normal((len(shift), dim))
        coords += shift[:, None] * direction / np.linalg.norm(direction)
        _core.shorten(coords, ball.radius)
        rejected += design.rejects(*features(coords, rng), rng)
    return rejected / simulations


def as_deviations(spread: Any, dim: int) -> FloatArray:
    """Standard deviations along the axes, from a root mean square distance or themselves."""
    deviations = np.asarray(spread, dtype=float)
    if deviations.shape not in ((), (dim,)) or not (deviations > 0).all():
        raise ValueError(f"spread must be one positive number or {dim}, one for each axis")
    return deviations / math.sqrt(dim) if deviations.ndim == 0 else deviations


def chart_coords(ball: Ball, rows: FloatArray) -> FloatArray:
    """Chart coordinates at the centre, each a function of its own record, at most r long."""
    manifold = ball.frame.manifold
    coords = np.empty((len(rows), manifold.dim))
    manifold.log_coords(rows, np.ascontiguousarray(ball.frame.origin[None]), coords)
    _core.shorten(coords, ball.radius)
    return coords
