"""A private permutation test of two samples for equal laws (after Kim and Schrab 2023).

    records -> projection on the public ball -> chart coordinates at its centre, |u| <= r
            -> T(w) = |sum_i w_i phi(u_i)|, w = 1/n_a on one sample and -1/n_b on the other
            -> S_0 = T + noise against the same of random relabellings: rejected if it is large

One relabelling is the true one, and noise of the same law is added to all, so for independent
records the level holds at every n and dimension. The noise has no dimension. Proof:
docs/proofs/two-sample-test.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import (
    FloatArray,
    as_choice,
    as_count,
    as_float_array,
    as_positive,
    as_probability,
    as_records,
)
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import NoiseWarning
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism, outward_scale, ways_to_meet
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release, Unproved
from curvedp.privacy.release import percent
from curvedp.statistics.call import check_ball, check_guarantee
from curvedp.statistics.entry import Entry
from curvedp.statistics.log_moments import amount_of, unit_error

KERNELS = ("gaussian", "linear")

#: Noise on T, in sensitivities of T: with it the bit is as private as one Gaussian release of the
#: difference between T and an order statistic, which moves twice as far.
_NOISE = 2.0
#: Normal numbers are cut here, so that the rounding of what is added to them has a bound.
_LONGEST = 40.0
#: Entries of a block of the Gram matrix.
_BLOCK = 1 << 22
_U = 2.0**-53


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoSampleTest(Release):
    """The outcome of a private test of two samples: `value`, shape (), is the gap.

    The gap is the noisy statistic less the rank of the relabelled ones that it has to exceed: the
    test rejects if it is positive. A p-value would not be covered by the guarantee.

    Attributes
    ----------
    sizes : pair of int
        Numbers of records of the samples.
    level : float
        Largest probability of rejecting when both samples come from one law.
    kernel : str
    width : float
        Of the Gaussian kernel; 0 for the linear one.
    relabellings : int

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    >>> left, right = np.tile([-0.5, 0.0], (80, 1)), np.tile([0.5, 0.0], (80, 1))
    >>> test = cdp.two_sample_test(left, right, ball, cdp.GDP(mu=2.0))
    >>> test.rejects, test.sizes
    (True, (80, 80))
    """

    sizes: tuple[int, int]
    level: float
    kernel: str
    width: float
    relabellings: int

    def __post_init__(self) -> None:
        super().__post_init__()
        first, second = self.sizes
        object.__setattr__(self, "sizes", (int(first), int(second)))

    @property
    def rejects(self) -> bool:
        """True if the samples are told apart."""
        return bool(self.value > 0)

    def report(self) -> str:
        """As `Release.report`, with the outcome and what it says."""
        told = "differ" if self.rejects else "were not told apart"
        return super().report() + (
            f"the samples of {self.sizes[0]} and {self.sizes[1]} records {told} at the level "
            f"{self.level:g}\n({self.relabellings} relabellings, {self.kernel} kernel)\n"
        )


@dataclass(frozen=True)
class _Design:
    """Everything that is fixed before a record is seen."""

    ball: Ball
    way: PureDP | GDP
    sizes: tuple[int, int]
    level: float
    kernel: str
    width: float
    relabellings: int
    sensitivity: float
    tolerance: float
    scale: float

    @classmethod
    def of(
        cls,
        ball: Ball,
        sizes: tuple[int, int],
        guarantee: Guarantee,
        records_per_unit: int,
        level: float,
        kernel: str,
        width: float | None,
        relabellings: int,
    ) -> _Design:
        as_choice(kernel, KERNELS, "kernel")
        share = as_probability(level, "level")
        count = as_count(relabellings, "relabellings")
        if share * (count + 1) < 1:
            least = math.ceil(1 / share) - 1
            raise ValueError(
                f"a test at level {share:g} needs at least {least} relabellings, got {count}"
            )
        radius = ball.radius * (1 + BOUNDARY_SLACK)
        h = 0.0
        diameter = 2 * radius
        if kernel == "gaussian":
            h = ball.radius if width is None else as_positive(width, "width")
            if not 1e-3 <= h / ball.radius <= 1e3:
                raise ValueError(
                    f"width must lie between a thousandth and a thousand radii, "
                    f"{1e-3 * ball.radius:g} to {1e3 * ball.radius:g}, got {h:g}"
                )
            diameter = math.sqrt(-2 * math.expm1(-2 * (radius / h) ** 2)) * (1 + 1e-12)
        elif width is not None:
            raise ValueError("width is that of the Gaussian kernel: leave it out for a linear one")
        moved = diameter * min(1.0, records_per_unit / min(sizes))
        # T is the root of a sum of N^2 terms |w_i w_j| times a kernel value
        total, dim = sum(sizes), ball.manifold.dim
        of_kernel = 8 + 4 * (dim + 4) * (radius / h) ** 2 if h else (dim + 4) * radius**2
        largest = 1.0 if h else radius**2
        squared = 4 * _U * (of_kernel + 2 * (total + 4) * largest)
        noises = [
            (cls._noise(way, moved, 2 * math.sqrt(squared), diameter), way)
            for way in ways_to_meet(guarantee)
        ]
        (size, scale, tolerance), way = min(noises, key=lambda pair: pair[0][0])
        if size > diameter:
            warnings.warn(
                f"the noise of the test is {percent(size / diameter)} of the largest statistic: it "
                "tells samples apart by chance alone. Use a larger budget or more records.",
                NoiseWarning,
                stacklevel=3,
            )
        return cls(ball, way, sizes, share, kernel, h, count, _NOISE * moved, tolerance, scale)

    @staticmethod
    def _noise(
        way: PureDP | GDP, moved: float, rounding: float, diameter: float
    ) -> tuple[float, float, float]:
        """Mean size of the noise, its scale, and the bound on the error of T less a rank."""
        budget = amount_of(way)[1]
        sums = 8 * _U * (diameter + _LONGEST * 2 * (_NOISE * moved + 2 * rounding) / budget)
        tolerance = rounding + sums
        scale = outward_scale(_NOISE * moved + 2 * tolerance, budget)
        return scale * unit_error(way, 1), scale, tolerance

    def rank(self) -> int:
        """The statistic must exceed the relabelled one of this rank."""
        return math.ceil((1 - self.level) * (self.relabellings + 1) - 1e-9)

    def weights(self, rng: np.random.Generator) -> FloatArray:
        """Weights of the records, one row for each labelling; the true one first."""
        first, second = self.sizes
        weights = np.repeat([1 / first, -1 / second], self.sizes)
        rows = np.tile(weights, (self.relabellings + 1, 1))
        return np.concatenate((rows[:1], rng.permuted(rows[1:], axis=1)))

    def statistics(self, coords: FloatArray, weights: FloatArray) -> FloatArray:
        """T of each labelling."""
        squares = np.zeros(len(weights))
        for rows, block in self._gram(coords):
            squares += np.sum((weights @ block) * weights[:, rows], axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def _gram(self, coords: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Columns of the Gram matrix of the features, block by block."""
        count = len(coords)
        squares = np.sum(coords**2, axis=1)
        step = max(1, _BLOCK // count)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            block = coords @ coords[rows].T
            if self.kernel == "gaussian":
                block *= -2.0
                block += squares[:, None]
                block += squares[rows]
                np.maximum(block, 0.0, out=block)
                block *= -0.5 / self.width**2
                np.exp(block, out=block)
            yield rows, block

    def lead(self, coords: FloatArray, rng: np.random.Generator) -> float:
        """T less the rank of the noisy relabelled ones that it has to exceed: without its noise."""
        values = self.statistics(coords, self.weights(rng))
        if isinstance(self.way, PureDP):
            noise = rng.laplace(size=self.relabellings)
        else:
            noise = rng.standard_normal(self.relabellings)
        noisy = values[1:] + self.scale * np.clip(noise, -_LONGEST, _LONGEST)
        return float(values[0] - np.partition(noisy, self.rank() - 1)[self.rank() - 1])


def two_sample_test(
    records_a: ArrayLike,
    records_b: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.05,
    kernel: str = "gaussian",
    width: float | None = None,
    relabellings: int = 199,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
) -> TwoSampleTest:
    """Test privately whether two samples of independent records come from one law.

    If they do, and records are independent of each other, the test rejects with probability `level`
    at most, at every n and dimension. Several records of one person are not independent, nor are
    paired samples: average them first, or do not rely on the level.

    The linear kernel compares means in the chart at the ball's centre; the Gaussian one compares
    laws, and tells small shifts as well as the linear one where its width is the ball's radius.
    Where means were released anyway and the dimension is low, `compare_means` costs nothing more.

    Parameters
    ----------
    records_a, records_b : array-like, shape (n, *point_shape)
        Two samples; their sizes, and which record is in which, are public. No value raises.
    ball : Ball
        Public domain of both.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the outcome when one unit's records are replaced.
    level : float
        Chosen beforehand: one test is released, not a p-value.
    kernel : {"gaussian", "linear"}
    width : float, optional
        Of the Gaussian kernel, public; by default the ball's radius. A smaller one where the ball
        is known to be generous.
    relabellings : int
        More cost no budget and gain little.
    records_per_unit : int
        Number of records that one unit contributes to both samples together: 2 for paired data.
    ledger, seed
        As in `frechet_mean`.

    Returns
    -------
    TwoSampleTest

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Kim and Schrab (2023), Differentially private permutation tests: applications to kernel methods.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> rng = np.random.default_rng(0)
    >>> first, second = (
    ...     ball.manifold.exp(0.2 * (x + x.transpose(0, 2, 1)), np.eye(3))
    ...     for x in rng.standard_normal((2, 200, 3, 3))
    ... )
    >>> cdp.two_sample_test(first, 1.8 * second, ball, cdp.GDP(mu=1.0)).rejects
    True
    """
    shape = check_ball(ball).manifold.point_shape
    samples = [as_records(records_a, shape, "records_a"), as_records(records_b, shape, "records_b")]
    sizes = (len(samples[0]), len(samples[1]))
    entry = Entry.check(
        np.concatenate(samples),
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        seed=seed,
        progress=False,
    )
    unit = entry.records_per_unit
    design = _Design.of(ball, sizes, entry.guarantee, unit, level, kernel, width, relabellings)
    domain = Ball(Euclidean(1), [0.0], design.scale)
    noise = choose_mechanism(domain, design.way)
    drawn = noise(domain, design.sensitivity + 2 * design.tolerance, design.way)
    entry.spend("test of two samples")
    coords = _coords(ball, entry.enter())
    # which relabellings are drawn says nothing about a record
    rng = np.random.default_rng(seed)
    gap = drawn._release(np.array([design.lead(coords, rng)]), entry.stream(0), 1)[0, 0]
    promised = entry.promise(entry.guarantee)
    told = entry.release(
        promised,
        value=gap,
        mechanism=noise.name,
        statistic="permutation test of two samples",
        sensitivity=design.sensitivity,
        solver_tolerance=design.tolerance,
        scale=drawn.scale,
        expected_error=drawn.scale * unit_error(design.way, 1),
        calibrated_to=None if isinstance(promised, Unproved) else design.way,
    )
    return TwoSampleTest(
        **vars(told),
        sizes=sizes,
        level=design.level,
        kernel=design.kernel,
        width=design.width,
        relabellings=design.relabellings,
    )


def two_sample_power(
    ball: Ball,
    n: tuple[int, int],
    guarantee: Guarantee,
    *,
    shift: float,
    spread: ArrayLike,
    level: float = 0.05,
    kernel: str = "gaussian",
    width: float | None = None,
    relabellings: int = 199,
    records_per_unit: int = 1,
    simulations: int = 400,
    seed: int = 0,
) -> float:
    """Probability that `two_sample_test` tells two normal samples apart: by simulation, no data.

    Parameters
    ----------
    ball : Ball
    n : pair of int
        Sizes of the samples.
    guarantee, level, kernel, width, relabellings, records_per_unit
        As in `two_sample_test`.
    shift : float
        Distance of the means, in a random direction of the chart.
    spread : float or array-like, shape (dim,)
        Root mean square distance of records from their mean, alike in all directions, or their
        standard deviations along the axes: a guess that is not taken from the records.
    simulations : int
        400 make a standard error of at most 0.025.
    seed : int
        Of the simulation.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `two_sample_test`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> power = [cdp.two_sample_power(ball, (n, n), cdp.GDP(mu=1.0), shift=0.3, spread=0.7)
    ...          for n in (50, 400)]
    >>> power[0] < 0.5 < 0.9 < power[1]
    True
    """
    first, second = (as_count(size, "n") for size in n)
    unit = as_count(records_per_unit, "records_per_unit")
    design = _Design.of(
        check_ball(ball),
        (first, second),
        check_guarantee(guarantee),
        unit,
        level,
        kernel,
        width,
        relabellings,
    )
    dim = ball.manifold.dim
    deviations = as_float_array(spread, "spread")
    if deviations.shape not in ((), (dim,)) or not (deviations > 0).all():
        raise ValueError(f"spread must be one positive number or {dim}, one for each axis")
    deviations = deviations / math.sqrt(dim) if deviations.ndim == 0 else deviations
    distance = float(as_float_array(shift, "shift"))
    rng, rejected = np.random.default_rng(seed), 0
    for _ in range(as_count(simulations, "simulations")):
        coords = deviations * rng.standard_normal((first + second, dim))
        direction = rng.standard_normal(dim)
        coords[:first] += distance * direction / np.linalg.norm(direction)
        coords = _clipped(coords, ball.radius)
        pure = isinstance(design.way, PureDP)
        noise = rng.laplace() if pure else rng.standard_normal()
        rejected += design.lead(coords, rng) + design.scale * noise > 0
    return rejected / simulations


def _coords(ball: Ball, rows: FloatArray) -> FloatArray:
    """Chart coordinates at the centre, each a function of its own record, at most r long."""
    manifold = ball._frame.manifold
    coords = np.empty((len(rows), manifold.dim))
    manifold.log_coords(rows, np.ascontiguousarray(ball._frame.origin[None]), coords)
    return _clipped(np.where(np.isfinite(coords), coords, 0.0), ball.radius)


def _clipped(coords: FloatArray, radius: float) -> FloatArray:
    length = np.linalg.norm(coords, axis=1, keepdims=True)
    return np.asarray(coords * (radius / np.maximum(length, radius)))
