"""Moments of the logarithms at a public base point, shared by moments, regions and intervals.

    base point p (private mean, kept in the ball) -> logarithms of the projected records at p,
    clipped at the largest distance R that is possible from p -> mean of a bounded function of them
    -> Gaussian noise (Laplace for pure DP) in a flat space of numbers or symmetric matrices

R = r + rho(c, p) is public once p is, and never clips. Each record's computed share lies in the
range that the sensitivity assumes, whatever rounding does; the rounding of their sum counts as
solver error. Proofs: docs/proofs/log-moments.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.curvature import excess_range, radial_hessian
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import Mechanism, Way, choose_mechanism
from curvedp.mechanisms.calibration import (
    amount_of,
    budget_of,
    calibrated_scale,
    outward_scale,
    profile_of,
    unit_error,
)
from curvedp.privacy import GDP, PureDP, Release
from curvedp.statistics.base_point import BasePoint, MeanNoise
from curvedp.statistics.design import Design
from curvedp.statistics.frechet_mean import Mean, as_points, noise_of_means
from curvedp.statistics.paid import Columns, Paid
from curvedp.statistics.releases import Releases
from curvedp.statistics.symmetric import clip_eigenvalues, scale_trace, unvecd


@dataclass(frozen=True)
class MomentDesign:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    mean : Design or None
        Of the private mean; none where the base point is given.
    way : PureDP, GDP or ApproxDP
        The guarantee that all noise together is calibrated to.
    shares : tuple of PureDP, GDP or ApproxDP
        Of the moments.
    """

    ball: Ball
    mean: Design | None
    way: Way
    shares: tuple[Way, ...]


@dataclass(frozen=True)
class MomentNoise:
    """The noise on a moment.

    Attributes
    ----------
    sensitivity, tolerance : float
        Of the moment, and the bound on its rounding.
    scale : float
    expected_error : float
        Mean length of the noise.
    """

    sensitivity: float
    tolerance: float
    scale: float
    expected_error: float

    @classmethod
    def of(
        cls,
        moment: _core.LogMoment,
        ball: Ball,
        n: int,
        records_per_unit: int,
        max_dist: float,
        share: Way,
    ) -> MomentNoise:
        """That of a moment, for logarithms of length `max_dist` at most."""
        replaced = min(1.0, records_per_unit / n)
        manifold = ball.frame.manifold
        sensitivity, tolerance, _ = moment.bounds(manifold, n, replaced, max_dist)
        size = moment.size(manifold.dim)
        scale = calibrated_scale(sensitivity, tolerance, share, size)
        return cls(sensitivity, tolerance, scale, unit_error(share, size) * scale)


@dataclass(frozen=True)
class DrawnMoment:
    """A moment of every group with its noise, by columns.

    Attributes
    ----------
    noisy : ndarray, shape (groups, size)
    sensitivity, solver_tolerance, scale, expected_error : ndarray, shape (groups,)
    """

    noisy: FloatArray
    sensitivity: FloatArray
    solver_tolerance: FloatArray
    scale: FloatArray
    expected_error: FloatArray

    @classmethod
    def of(cls, columns: Columns, name: str, unit_errors: FloatArray) -> DrawnMoment:
        """The columns of that name; `unit_errors` are those of noise of scale 1 in each group."""
        sensitivity, tolerance, scale = (
            columns[f"{name}_{number}"][:, 0] for number in ("sensitivity", "tolerance", "scale")
        )
        return cls(columns[name], sensitivity, tolerance, scale, unit_errors * scale)

    def noise(self) -> dict[str, FloatArray]:
        """Everything but the moment, as columns of releases."""
        return {
            "sensitivity": self.sensitivity,
            "solver_tolerance": self.solver_tolerance,
            "scale": self.scale,
            "expected_error": self.expected_error,
        }


@dataclass(frozen=True)
class DrawnMoments:
    """Moments of every group at its base point.

    Attributes
    ----------
    paid : Paid
    means : Releases or None
        The private means that the base points come from.
    points : ndarray, shape (groups, *point_shape)
        The base points.
    columns : dict of ndarray
    """

    paid: Paid
    means: Releases[Release] | None
    points: FloatArray
    columns: Columns

    def moment(self, name: str, stage: int = 0) -> DrawnMoment:
        """The moment of that name, drawn with the share of a stage."""
        (found, choice), size = self.paid.designs, self.columns[name].shape[1]
        units = [math.nan if own is None else unit_error(own.shares[stage], size) for own in found]
        return DrawnMoment.of(self.columns, name, np.array(units)[choice])

    def shares(self, stage: int) -> list[tuple[str, Way] | None]:
        """Mechanism and share of the moment of a stage, for each design."""
        found = [None if own is None else own.shares[stage] for own in self.paid.designs[0]]
        return [None if own is None else (flat_mechanism(own).name, own) for own in found]

    @property
    def max_dist(self) -> FloatArray:
        """R of each group, shape (groups,)."""
        return self.columns["max_dist"][:, 0]

    def bases(self) -> dict[int, BasePoint]:
        """The base point of each group that has a release, with the noise of its mean."""
        found, choice = self.paid.designs
        given = self.paid.given
        origins = as_points(self.paid, self.columns["mean"]) if given is None else given.points
        bases = {}
        for g in np.flatnonzero(self.paid.released).tolist():
            ball, design = self.paid.call.ball_of(g), found[choice[g]].mean
            bases[g] = BasePoint(
                ball=ball,
                point=self.points[g],
                inner=ball.enter(origins[g : g + 1]),
                max_dist=float(self.max_dist[g]),
                mean=None if self.means is None else self.means.value[g],
                noise=None if design is None else MeanNoise.of(design.mechanism, ball),
            )
        return bases


def draw_moments(
    paid: Paid,
    mean: Mean,
    moments: Sequence[_core.LogMoment],
    *,
    max_dist: float | None,
) -> DrawnMoments:
    """Moments at private means or given points, each with its share of the budget."""
    (found, _), given = paid.designs, paid.given
    manifold, clip = paid.call.manifold, math.inf if max_dist is None else max_dist
    sizes = [moment.size(manifold.dim) for moment in moments]
    budgets = [
        [amount_of(share, size) for share, size in zip(own.shares, sizes, strict=True)]
        for own in found
        if own is not None
    ]
    designs = [None if design is None else design.mean for design in found]
    rows = None if given is None else given.points.reshape(len(paid), manifold.point_size)
    engine = _core.GroupStatistic.moments(rows, moments, budgets, clip)
    columns = paid.columns(engine, designs)
    means = None
    if given is None:
        shares = [None if own is None else (own.mechanism.name, own.way) for own in designs]
        means = paid.part(
            mean,
            shares,
            value=as_points(paid, columns["mean"]),
            **noise_of_means((designs, paid.designs[1])),
        )
    return DrawnMoments(paid, means, as_points(paid, columns["base_point"]), columns)


@lru_cache(maxsize=1024)
def refuse_fine_noise(
    ball: Ball,
    n: int,
    records_per_unit: int,
    share: PureDP | GDP,
    power: int,
    max_dist: float | None,
) -> None:
    """Refuses a budget or a length with which the noise of a moment of that power cannot be drawn.

    A moment of n records changes by k/n of its magnitude over 4 sqrt(dim + 1), or more, when a unit
    of k records is replaced; its magnitude lies between r^power and (2 r)^power, up to constants,
    or is max_dist^power if that is less.
    """
    root = math.sqrt(ball.manifold.dim + 1)
    shift = min(1.0, records_per_unit / n) / (4 * root)
    lengths = {"the radius": ball.radius, "three times the radius": 3 * ball.radius}
    if max_dist is not None:
        lengths["max_dist"] = min(max_dist, ball.radius)
    for name, length in lengths.items():
        if not abs(power * math.log10(length / root)) < 90:
            raise ValueError(
                f"powers of {name}, {length:g}, leave double precision: measure lengths in other "
                "units"
            )
    flat_mechanism(share)(_LINE, shift, share)
    widest = outward_scale(max(1.0, (3 * ball.radius) ** power), budget_of(share))
    _core.Noise("flat", 1, 0.0, profile_of(share), widest)


def flat_mechanism(share: Way) -> type[Mechanism]:
    """The mechanism of a moment: on a line."""
    return choose_mechanism(_LINE, share)


_LINE = Ball(Euclidean(1), [0.0], 1.0)


def finish_covariance(base: BasePoint, noisy: FloatArray) -> FloatArray:
    """The released second moment from its noisy coordinates, with eigenvalues in [0, R^2]."""
    stretch = math.sqrt(base.ball.manifold.dim + 1)
    matrix = scale_trace(unvecd(noisy), 1 / stretch)
    return base.to_outer(clip_eigenvalues(matrix, 0.0, base.max_dist**2))


def finish_hessian(base: BasePoint, noisy: FloatArray) -> FloatArray:
    """The released mean Hessian from the noisy coordinates of 2 G."""
    matrix = unvecd(noisy) + 2 * np.eye(base.ball.manifold.dim)
    return base.to_outer(clip_eigenvalues(matrix, *hessian_limits(base)))


def hessian_limits(base: BasePoint) -> tuple[float, float]:
    """Public bounds on the eigenvalues of the mean Hessian of rho^2 at a mean.

    From below at most h(R) and, at the mean of points of a ball, r cot r > 0 (on positive
    curvature, docs/proofs/frechet-mean-sensitivity.md, step 2).
    """
    manifold = base.ball.manifold
    low, high = excess_range(manifold, base.max_dist)
    upper = manifold.curvature_bounds[1]
    at_mean = radial_hessian(upper, base.ball.radius) if upper > 0 else 1.0
    return 2 * max(1 + low, at_mean), 2 * (1 + high)
