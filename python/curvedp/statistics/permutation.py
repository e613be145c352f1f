"""Private permutation tests (after Kim and Schrab 2023), and what all of them share.

    records -> projection on the public ball -> chart coordinates at its centre, |u| <= r
            -> T(w) = |sum_i w_i phi(u_i)| with weights w of the records
            -> S_0 = T + noise against the same of random relabellings: rejected if it is large

A relabelling gives the weights to other records. One of them is the true one, and noise of the same
law is added to all, so where records are exchangeable the level holds at every n and dimension.
The noise has no dimension. Proof: docs/proofs/permutation-tests.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._guard import warn_of_noise
from curvedp._validation import FloatArray, as_choice, as_count, as_positive, as_probability
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism, outward_scale, ways_to_meet
from curvedp.privacy import GDP, Guarantee, PureDP, Release, Unproved
from curvedp.privacy.release import percent
from curvedp.statistics.entry import Entry
from curvedp.statistics.log_moments import amount_of, unit_error

KERNELS = ("gaussian", "linear")

#: Normal numbers are cut here, so that the rounding of what is added to them has a bound.
_LONGEST = 40.0
#: Entries of a block of the Gram matrix, and of weights.
_BLOCK = 1 << 22
_U = 2.0**-53
#: Squares of lengths in balls of this radius, or of its reciprocal, are doubles.
_LEAST_RADIUS = 1e-100


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PermutationTest(Release):
    """The outcome of a private permutation test: `value`, shape (), is the gap.

    The gap is the noisy statistic less the rank of the relabelled ones that it has to exceed: the
    test rejects if it is positive. A p-value would not be covered by the guarantee.

    Attributes
    ----------
    level : float
        Largest probability of rejecting what is true.
    kernel : str
    width : float
        Of the Gaussian kernel; 0 for the linear one.
    relabellings : int
    """

    level: float
    kernel: str
    width: float
    relabellings: int

    @property
    def rejects(self) -> bool:
        """True if the test rejects."""
        return bool(self.value.item() > 0)

    def _error(self) -> str:
        return f"{self.expected_error:.6g} (mean size of the noise of the gap)"


@dataclass(frozen=True)
class Labels:
    """What is public of the weights that records get.

    Attributes
    ----------
    count : int
        Records.
    moved : float
        Most that T less an order statistic of relabelled ones moves when a unit's records are
        replaced, in diameters of the features: the sum of what both move.
    largest : float
        Largest T, in diameters.
    total : float
        Root of the sum of squares, over columns of weights, of their sums of absolute values.
    columns : int
    rounding : float
        Error of T from rounded weights, in lengths of the features.
    """

    count: int
    moved: float
    largest: float
    total: float
    columns: int = 1
    rounding: float = 0.0


@dataclass(frozen=True)
class PermutationDesign:
    """Everything that is fixed before a record is seen."""

    ball: Ball
    way: PureDP | GDP
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
        guarantee: Guarantee,
        labels: Labels,
        *,
        level: float,
        kernel: str,
        width: float | None,
        relabellings: int,
    ) -> PermutationDesign:
        """The design; warns where the noise is larger than the statistic can be."""
        as_choice(kernel, KERNELS, "kernel")
        share = as_probability(level, "level")
        count = as_count(relabellings, "relabellings")
        if share * (count + 1) < 1:
            least = math.ceil(1 / share) - 1
            raise ValueError(
                f"a test at level {share:g} needs at least {least} relabellings, got {count}"
            )
        if not _LEAST_RADIUS <= ball.radius <= 1 / _LEAST_RADIUS:
            raise ValueError(
                f"tests need a radius from {_LEAST_RADIUS:g} to {1 / _LEAST_RADIUS:g}, got "
                f"{ball.radius:g}: measure in other units"
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
        moved = diameter * labels.moved
        dim = ball.manifold.dim
        if h:
            # T is the root of a sum of N^2 terms |w_i w_j| times a kernel value
            of_kernel = 8 + 4 * (dim + 4) * (radius / h) ** 2
            rounding = labels.total * math.sqrt(_U * (of_kernel + 2 * (labels.count + 4)))
        else:
            numbers = labels.count + labels.columns * dim + 12
            rounding = 1.01 * _U * numbers * labels.total * radius
        rounding += labels.rounding * (1.0 if h else radius)
        largest = max(1.0, labels.largest) * diameter
        noises = [
            (cls._noise(way, moved, rounding, largest), way) for way in ways_to_meet(guarantee)
        ]
        (size, scale, tolerance), way = min(noises, key=lambda pair: pair[0][0])
        if size > labels.largest * diameter:
            part = percent(size / (labels.largest * diameter))
            warn_of_noise(
                f"the noise of the test is {part} of the largest statistic: its "
                "outcome is chance alone. Use a larger budget or more records.",
            )
        return cls(ball, way, share, kernel, h, count, moved, tolerance, scale)

    @staticmethod
    def _noise(
        way: PureDP | GDP, moved: float, rounding: float, largest: float
    ) -> tuple[float, float, float]:
        """Mean size of the noise, its scale, and the bound on the error of T less a rank."""
        budget = amount_of(way)[1]
        sums = 8 * _U * (largest + _LONGEST * 2 * (moved + 4 * rounding) / budget)
        tolerance = 2 * rounding + sums
        scale = outward_scale(moved + 2 * tolerance, budget)
        return scale * unit_error(way, 1), scale, tolerance

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
        if self.kernel == "linear":
            return np.asarray(np.linalg.norm(weights @ coords, axis=(1, 2)))
        squares = np.zeros(len(weights))
        for rows, block in self._gram(coords):
            squares += np.sum((weights @ block) * weights[..., rows], axis=(1, 2))
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

    def release(self, entry: Entry, weights: FloatArray, statistic: str) -> dict[str, Any]:
        """Fields of the `PermutationTest`; spends the budget before a record is projected."""
        domain = Ball(Euclidean(1), [0.0], self.scale)
        noise = choose_mechanism(domain, self.way)
        drawn = noise(domain, self.sensitivity + 2 * self.tolerance, self.way)
        entry.spend(statistic)
        coords = chart_coords(self.ball, entry.enter())
        # which relabellings are drawn says nothing about a record
        rng = np.random.default_rng(entry.seed)
        lead = np.array([self.lead(coords, weights, rng)])
        promised = entry.promise(entry.guarantee)
        told = entry.release(
            promised,
            value=drawn._release(lead, entry.stream(0), 1)[0, 0],
            mechanism=noise.name,
            statistic=statistic,
            sensitivity=self.sensitivity,
            solver_tolerance=self.tolerance,
            scale=drawn.scale,
            expected_error=drawn.scale * unit_error(self.way, 1),
            calibrated_to=None if isinstance(promised, Unproved) else self.way,
        )
        return vars(told) | {
            "level": self.level,
            "kernel": self.kernel,
            "width": self.width,
            "relabellings": self.relabellings,
        }


def simulated_power(
    design: PermutationDesign,
    weights: FloatArray,
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
        rejected += design.rejects(coords, weights, rng)
    return rejected / simulations


def as_deviations(spread: Any, dim: int) -> FloatArray:
    """Standard deviations along the axes, from a root mean square distance or themselves."""
    deviations = np.asarray(spread, dtype=float)
    if deviations.shape not in ((), (dim,)) or not (deviations > 0).all():
        raise ValueError(f"spread must be one positive number or {dim}, one for each axis")
    return deviations / math.sqrt(dim) if deviations.ndim == 0 else deviations


def chart_coords(ball: Ball, rows: FloatArray) -> FloatArray:
    """Chart coordinates at the centre, each a function of its own record, at most r long."""
    manifold = ball._frame.manifold
    coords = np.empty((len(rows), manifold.dim))
    manifold.log_coords(rows, np.ascontiguousarray(ball._frame.origin[None]), coords)
    _core.shorten(coords, ball.radius)
    return coords
