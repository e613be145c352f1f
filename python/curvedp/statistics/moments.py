"""Private moments at the private mean: fourth moment, covariance of the logarithms, Hessian.

Each is a value. The functions that release them are in dispersion.py; `Region` and `Interval` are
made of them.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray, as_numbers, as_positive
from curvedp.curvature import has_curved_hessian, hessian_diameter
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.manifolds import Manifold
from curvedp.mechanisms import Way, ways_of_one_draw, ways_to_meet
from curvedp.mechanisms.calibration import own_epsilon
from curvedp.privacy import ApproxDP, Guarantee, PureDP, Release, Unproved
from curvedp.statistics.base_point import BasePoint, GivenPoints
from curvedp.statistics.call import Call
from curvedp.statistics.design import design_mean_under, shares_of
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.log_moments import (
    DrawnMoments,
    MomentDesign,
    MomentNoise,
    draw_moments,
    finish_covariance,
    finish_hessian,
    flat_mechanism,
    refuse_fine_noise,
)
from curvedp.statistics.paid import Paid
from curvedp.statistics.releases import Releases, release_of
from curvedp.statistics.statistic import Calibrated

#: Shares of the budget (of mu^2 for GDP) of the mean and of the statistic, if both are released.
DEFAULT_WEIGHTS = (0.25, 0.75)

#: A given mean: its release, those of groups, or points that are public.
MeanLike = Release | Releases[Release] | ArrayLike | None

_BASE_POINT_WHY = "the base point comes from a release without a guarantee"


@dataclass(frozen=True)
class Moment(Calibrated[Release]):
    """A moment of the logarithms at the private mean, as a value.

    Parameters
    ----------
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of this statistic.
    mean : Release, Releases or array-like, optional
        The base point, or one for each group, instead of a private mean that is released too.
    """

    max_dist: float | None = None
    weights: tuple[float, ...] = DEFAULT_WEIGHTS
    mean: MeanLike = field(default=None, compare=False)

    #: Name of its column, and the power of a length in which it is measured.
    column: ClassVar[str]
    power: ClassVar[int]

    def __post_init__(self) -> None:
        weights = as_numbers(self.weights, "weights")
        if len(weights) != 2:
            raise ValueError(
                "weights must be two positive numbers: of the mean and of the statistic"
            )
        own = tuple(as_positive(weight, "a weight") for weight in weights)
        object.__setattr__(self, "weights", own)
        if self.max_dist is not None:
            object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    @abc.abstractmethod
    def core(self, manifold: Manifold) -> _core.LogMoment:
        """The numbers that compiled code averages."""

    @abc.abstractmethod
    def finish(self, drawn: DrawnMoments) -> FloatArray:
        """The released values, from the noisy moments and base points: post-processing."""

    def ways(self, call: Call) -> tuple[Way, ...]:
        every = ways_to_meet if self.mean is None else ways_of_one_draw
        return every(call.guarantee)

    def shares(self, way: Way) -> tuple[Way, ...]:
        """Shares of the mean, where one is released, and of the moment."""
        if self.mean is not None:
            return (way,)
        assert not isinstance(way, ApproxDP)  # see `ways`
        return shares_of(way, self.weights)

    def promise(self, call: Call) -> Guarantee:
        mean = self.mean
        if isinstance(mean, (Release, Releases)) and isinstance(mean.guarantee, Unproved):
            return Unproved(claimed=call.promised, why=_BASE_POINT_WHY)
        return call.promised

    def given_points(self, call: Call, labels: Sequence[Hashable]) -> GivenPoints | None:
        if self.mean is None:
            return None
        return GivenPoints.of(self.mean, call.balls, labels)

    def mechanism_of(self, design: MomentDesign) -> str:
        return flat_mechanism(design.shares[-1]).name

    def share(self, way: Way) -> Way:
        return self.shares(way)[0]

    def is_exact(self, call: Call) -> bool:
        return True

    def design_under(self, call: Call, way: Way, ball: Ball, n: int) -> MomentDesign:
        shares, unit = self.shares(way), call.records_per_unit
        own = shares[-1]
        if isinstance(own, ApproxDP):  # the finest of all its noise
            own = PureDP(own_epsilon(own, self.core(ball.manifold).size(ball.manifold.dim)))
        refuse_fine_noise(ball, n, unit, own, 4, self.max_dist)
        mean = None if self.mean is not None else design_mean_under(ball, n, shares[0], unit, None)
        return MomentDesign(ball, mean, way, shares[-1:])

    def noise(self, call: Call, share: Way, ball: Ball, n: int, max_dist: float) -> MomentNoise:
        """The noise where logarithms are at most `max_dist` long.

        Parameters
        ----------
        call : Call
        share : PureDP, GDP or ApproxDP
            Of the moment.
        ball : Ball
        n : int
        max_dist : float
        """
        core = self.core(ball.manifold)
        return MomentNoise.of(core, ball, n, call.records_per_unit, max_dist, share)

    def outlook(self, call: Call, design: MomentDesign, n: int) -> tuple[float, float]:
        ball = design.ball
        reach = 2 * ball.radius * (1 + BOUNDARY_SLACK)
        reach = reach if self.max_dist is None else min(reach, self.max_dist)
        noise = self.noise(call, design.shares[0], ball, n, reach)
        return noise.scale, noise.expected_error

    def noise_share(self, call: Call, design: MomentDesign, n: int) -> float:
        radius = design.ball.radius
        least = self.noise(call, design.shares[0], design.ball, n, radius)
        return least.expected_error / radius**self.power

    def extent(self, call: Call) -> tuple[float, str]:
        names = {0: "unit matrix", 2: "radius squared", 4: "radius to the fourth power"}
        return call.ball.radius**self.power, names[self.power]

    def release(self, paid: Paid) -> Releases[Release]:
        moments = [self.core(paid.call.manifold)]
        drawn = draw_moments(paid, Mean(), moments, max_dist=self.max_dist)
        means, given = drawn.means, paid.given
        return paid.releases(
            value=self.finish(drawn),
            assumptions=paid.assumptions | (frozenset() if given is None else given.assumptions),
            base_point=drawn.points,
            parts=() if means is None else (means,),
            more={} if means is None else {"mean": means.value, "mean_scale": means.scale},
            **drawn.moment(self.column).noise(),
        )

    def result(self, releases: Releases[Release], index: int) -> Release:
        return release_of(releases, index)


@dataclass(frozen=True)
class FourthMoment(Moment):
    """The mean fourth power of the distance from the mean, as a value: see `fourth_moment`.

    Parameters
    ----------
    max_dist, weights, mean
        As in `fourth_moment`.

    Examples
    --------
    >>> FourthMoment(weights=(0.5, 0.5)).options()
    {'max_dist': None, 'weights': [0.5, 0.5]}
    """

    title: ClassVar[str] = "fourth moment of the distance"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "fourth-moment"
    column: ClassVar[str] = "fourth"
    power: ClassVar[int] = 4

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return ()

    def core(self, manifold: Manifold) -> _core.LogMoment:
        return _core.LogMoment.fourth()

    def finish(self, drawn: DrawnMoments) -> FloatArray:
        return np.clip(drawn.columns[self.column][:, 0], 0.0, drawn.max_dist**4)


@dataclass(frozen=True)
class DistanceMoments(Moment):
    """Second and fourth moment of the distance at once, from which an interval is computed.

    The noise is drawn on the mean of (a, c (a^2 - a)), a = (rho/R)^2, which one record moves no
    further than the mean of a alone. The value, (E rho^2, E rho^4), is not clipped.

    Parameters
    ----------
    max_dist, weights, mean
        As in `fourth_moment`.
    """

    title: ClassVar[str] = "second and fourth moment of the distance"
    column: ClassVar[str] = "distances"
    power: ClassVar[int] = 4

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (2,)

    def core(self, manifold: Manifold) -> _core.LogMoment:
        return _core.LogMoment.distances(sensitivity.FOURTH_MOMENT_WEIGHT)

    def finish(self, drawn: DrawnMoments) -> FloatArray:
        square, (a, b) = drawn.max_dist**2, drawn.columns[self.column].T
        fourth = (b / sensitivity.FOURTH_MOMENT_WEIGHT + a) * square**2
        return np.column_stack([a * square, fourth])


@dataclass(frozen=True)
class _MatrixMoment(Moment):
    """A symmetric matrix at each base point."""

    power: ClassVar[int] = 2

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return call.manifold.dim, call.manifold.dim

    def finish(self, drawn: DrawnMoments) -> FloatArray:
        noisy = drawn.columns[self.column]
        dim = drawn.paid.call.manifold.dim
        value = np.full((len(noisy), dim, dim), np.nan)
        for g, base in drawn.bases().items():
            value[g] = self.finish_one(base, noisy[g])
        return value

    @abc.abstractmethod
    def finish_one(self, base: BasePoint, noisy: FloatArray) -> FloatArray:
        """The matrix at one base point from its noisy coordinates.

        Parameters
        ----------
        base : BasePoint
        noisy : ndarray
            The coordinates with their noise.
        """


@dataclass(frozen=True)
class LogCovariance(_MatrixMoment):
    """The covariance of the logarithms at the mean, as a value: see `log_covariance`.

    Parameters
    ----------
    max_dist, weights, mean
        As in `fourth_moment`.

    Examples
    --------
    >>> LogCovariance(max_dist=0.4).options()
    {'max_dist': 0.4, 'weights': [0.25, 0.75]}
    """

    title: ClassVar[str] = "covariance of the logarithms"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "covariance"
    column: ClassVar[str] = "covariance"

    def core(self, manifold: Manifold) -> _core.LogMoment:
        return _core.LogMoment.covariance()

    def finish_one(self, base: BasePoint, noisy: FloatArray) -> FloatArray:
        return finish_covariance(base, noisy)


@dataclass(frozen=True)
class MeanHessian(_MatrixMoment):
    """The mean Hessian of the squared distance at the mean, as a value: see `mean_hessian`.

    Parameters
    ----------
    max_dist, weights, mean
        As in `fourth_moment`.

    Examples
    --------
    >>> MeanHessian().options()
    {'max_dist': None, 'weights': [0.25, 0.75]}
    """

    title: ClassVar[str] = "mean Hessian of the squared distance"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "hessian"
    column: ClassVar[str] = "hessian"
    power: ClassVar[int] = 0

    def check(self, call: Call) -> None:
        super().check(call)
        if not has_curved_hessian(call.manifold):
            raise ValueError(
                f"on {call.manifold.spec} the Hessian of the squared distance is 2 I whatever the "
                "records: there is nothing to release"
            )

    def design_under(self, call: Call, way: Way, ball: Ball, n: int) -> MomentDesign:
        check_hessian(ball, self.max_dist)
        return super().design_under(call, way, ball, n)

    def core(self, manifold: Manifold) -> _core.LogMoment:
        return _core.LogMoment.hessian()

    def finish_one(self, base: BasePoint, noisy: FloatArray) -> FloatArray:
        return finish_hessian(base, noisy)


def check_hessian(ball: Ball, max_dist: float | None) -> None:
    """Refuses lengths at which the Hessian of the squared distance is unbounded."""
    diameter = hessian_diameter(ball.manifold)
    reach = 2 * ball.radius * (1 + BOUNDARY_SLACK)
    reach = reach if max_dist is None else min(reach, max_dist)
    if diameter is not None and not math.isfinite(diameter.within(reach)):
        raise ValueError(
            f"the Hessian of the squared distance is unbounded within {reach:g}: use a smaller ball"
        )
