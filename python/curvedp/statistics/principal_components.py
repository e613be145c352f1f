"""Private principal components of the logarithms at a private mean.

    records -> private mean p -> logarithms at p, shortened -> directions, one after the other, by
    the exponential mechanism -> noisy variances of the logarithms along them, less the expected
    square of the mean's own noise

Proof: docs/proofs/principal-components.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_count, as_numbers, as_positive
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import ways_to_meet
from curvedp.mechanisms.calibration import unit_error
from curvedp.mechanisms.directions import Directions, shortened
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.privacy.wording import percent
from curvedp.statistics.base_point import BasePoint, MeanNoise
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import Design, design_mean_under, shares_of
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.group import Group, groups_of
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.log_moments import DrawnMoments, draw_moments, flat_mechanism
from curvedp.statistics.paid import Paid
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases, release_of
from curvedp.statistics.statistic import Calibrated, Statistic

#: Shares of the budget (of mu^2 for GDP) of the mean to choose from, and that of the variances.
_OF_MEAN, _OF_VARIANCES = (0.2, 0.3, 0.4, 0.5, 0.6), 0.1
#: Length at which logarithms are shortened over the ball's radius.
_SHORT = 0.5
#: Keys of the directions and variances, apart from those of the mean.
_KEYS = 2**32 + 1
_BELOW_ONE = 1.0 - 2.0**-50


@dataclass(frozen=True)
class ComponentsDesign:
    """Everything that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    mean : Design
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    directions : Directions
    variances : VectorNoise
        For the mean of (x_1'u)^2, ..., (x_k'u)^2 and of the rest of |u|^2.
    share : PureDP or GDP
        That of the variances.
    """

    ball: Ball
    mean: Design
    way: PureDP | GDP
    directions: Directions
    variances: VectorNoise
    share: PureDP | GDP

    #: Of moments: there are none.
    shares: ClassVar[tuple[PureDP | GDP, ...]] = ()

    @property
    def mean_noise(self) -> MeanNoise:
        """The noise of the mean, at which logarithms are taken."""
        return MeanNoise.of(self.mean.mechanism, self.ball)

    @property
    def mean_square(self) -> float:
        """Mean squared length of that noise, in the chart where it is drawn there."""
        noise = self.mean_noise
        return noise.scale**2 * self.ball.manifold.dim if noise.in_chart else noise.mean_square

    def loss(self, length: float) -> float:
        """Variance that noise may cost a direction, over the square of the longest logarithm.

        By the draw where it is small, and by the mean: with its noise z the second moment at p
        holds z z' besides the variance, so that its first direction has up to |z|^2 less of that.
        """
        return self.directions.loss + self.mean_square / length**2

    def numbers(self) -> FloatArray:
        """Sensitivity, rounding, scale and expected error of the variances, in squared radii.

        With the error that the square of the mean's noise leaves, were all of it along a component.
        """
        own = self.variances
        of_noise = own.scale * unit_error(self.share, own.size)
        error = math.hypot(of_noise, self.mean_square / self.ball.radius**2)
        return np.array([own.sensitivity, own.rounding, own.scale, error])


@dataclass(frozen=True)
class PrincipalComponents(Calibrated[Release]):
    """Principal components of the logarithms, as a value: see `principal_components`.

    Parameters
    ----------
    n_components, max_dist, weights
        As in `principal_components`.

    Examples
    --------
    >>> PrincipalComponents(2).options()
    {'n_components': 2, 'max_dist': None, 'weights': None}
    """

    title: ClassVar[str] = "principal components"
    word: ClassVar[str | None] = "components"
    takes_unknown_n: ClassVar[bool] = True
    memory: ClassVar[float] = 6.0

    n_components: int
    max_dist: float | None = None
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_components", as_count(self.n_components, "n_components"))
        if self.weights is not None:
            weights = as_numbers(self.weights, "weights")
            if len(weights) != 3:
                raise ValueError(
                    "weights must be 3 positive numbers: of the mean, the directions and the "
                    "variances"
                )
            own = tuple(as_positive(weight, "a weight") for weight in weights)
            object.__setattr__(self, "weights", own)
        if self.max_dist is not None:
            object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    def ways(self, call: Call) -> tuple[PureDP | GDP, ...]:
        dim, own = call.manifold.dim, ways_to_meet(call.guarantee)
        return (max(own, key=lambda way: Directions(self.n_components, dim, n=1, way=way).rate),)

    def check(self, call: Call) -> None:
        dim = call.manifold.dim
        if dim < 2:
            raise ValueError(f"{call.manifold.spec} has one direction: there is nothing to choose")
        as_count(self.n_components, "n_components", most=dim)
        for ball in call.balls:
            for length in (ball.radius, self.length(ball)):
                if not 1e-140 <= length <= 1e140:
                    raise ValueError(
                        f"squares of {length:g} leave double precision: measure in other units"
                    )

    def length(self, ball: Ball) -> float:
        """Public length at which logarithms are shortened for the directions."""
        return _SHORT * ball.radius if self.max_dist is None else self.max_dist

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return self.n_components, call.manifold.dim

    def mechanism_of(self, design: ComponentsDesign) -> str:
        return design.directions.name

    def is_exact(self, call: Call) -> bool:
        return True

    def share(self, way: PureDP | GDP) -> PureDP | GDP:
        return shares_of(way, self.weights or _weights(_OF_MEAN[-1]))[0]

    def design_under(self, call: Call, way: PureDP | GDP, ball: Ball, n: int) -> ComponentsDesign:
        if self.weights is not None:
            return self._design(call, way, ball, n, self.weights)
        # The square of a mean's noise falls as that of its share, or as the share. It costs all
        # components up to its length; where variances are larger, below 1/dim of it: between both
        whole = self._design(call, way, ball, n, _weights(_OF_MEAN[-1]))
        power = 2 if isinstance(way, PureDP) else 1
        of_mean = whole.mean_square / (self.length(ball) ** 2 * math.sqrt(ball.manifold.dim))

        def loss(share: float) -> float:
            _, of_directions, _ = shares_of(way, _weights(share))
            own = self._directions(call, of_directions, ball, n)
            return own.draws * own.loss + of_mean * (_OF_MEAN[-1] / share) ** power

        chosen = min(_OF_MEAN, key=loss)
        try:
            return self._design(call, way, ball, n, _weights(chosen))
        except ExistenceError:
            return whole

    def _directions(self, call: Call, way: PureDP | GDP, ball: Ball, n: int) -> Directions:
        count, dim = self.n_components, ball.manifold.dim
        return Directions(count, dim, n=n, way=way, rows_per_unit=call.records_per_unit)

    def _design(
        self, call: Call, way: PureDP | GDP, ball: Ball, n: int, weights: tuple[float, ...]
    ) -> ComponentsDesign:
        of_mean, of_directions, of_variances = shares_of(way, weights)
        unit, count = call.records_per_unit, self.n_components
        mean = design_mean_under(ball, n, of_mean, unit, None)
        shift = min(1.0, unit / n)
        rounding = 2 * (_core.summation_error(n) + 4 * 2.0**-53)
        return ComponentsDesign(
            ball,
            mean,
            way,
            self._directions(call, of_directions, ball, n),
            VectorNoise.of(count + 1, math.sqrt(2.0) * shift, rounding, 1.0, of_variances),
            of_variances,
        )

    def outlook(self, call: Call, design: ComponentsDesign, n: int) -> tuple[float, float]:
        return 1.0 / design.directions.rate, math.nan

    def noise_share(self, call: Call, design: ComponentsDesign, n: int) -> float:
        return 10.0 * design.loss(self.length(design.ball))

    def extent(self, call: Call) -> tuple[float, str]:
        return math.nan, "tenth of the largest variance that the logarithms may have"

    def noise_told(self, call: Call, share: float, of_groups: str = "") -> str:
        return (
            f"noise may cost the {self.title}{of_groups} up to {percent(min(0.1 * share, 1.0))} of "
            "the largest variance that logarithms may have: where it is a tenth, hardly more is "
            "left than along random directions"
        )

    def memory_of_group(self, call: Call, n: int) -> float:
        return 8.0 * (6 * n * call.manifold.dim + 8 * call.manifold.dim**2)

    def release(self, paid: Paid) -> Releases[Release]:
        drawn = draw_moments(replace(paid, report=None), Mean(), [], max_dist=None)
        count, bases = len(paid), drawn.bases()
        value = np.full((count, *self.value_shape(paid.call)), np.nan)
        variances = np.full((count, self.n_components + 1), np.nan)
        scale, of_variances = np.full(count, np.nan), np.full((4, count), np.nan)
        for group in groups_of(replace(paid, keys=paid.keys.part(_KEYS)), 2):
            g, design = group.number, group.design
            value[g], variances[g] = self._of_group(group, bases[g])
            scale[g] = 1.0 / design.directions.rate
            of_variances[:, g] = design.numbers() * group.ball.radius**2
            if paid.report is not None:
                paid.report(g, count)
        if paid.report is not None:
            paid.report(count, count)
        means, along = drawn.means, _along(paid, drawn, variances, of_variances)
        assert means is not None
        return paid.releases(
            value=value,
            base_point=drawn.points,
            parts=(means, along),
            more={"mean": means.value, "variances": variances},
            sensitivity=np.where(np.isnan(scale), np.nan, float(paid.call.records_per_unit)),
            solver_tolerance=np.where(np.isnan(scale), np.nan, 0.0),
            scale=scale,
            expected_error=np.full(count, np.nan),
        )

    def _of_group(self, group: Group, base: BasePoint) -> tuple[FloatArray, FloatArray]:
        """Directions, and noisy variances along them and of the rest."""
        design, ball, rows = group.design, group.ball, group.enter()
        logs = np.empty((len(rows), ball.manifold.dim))
        ball.frame.manifold.log_coords(rows, np.repeat(base.inner, len(rows), axis=0), logs)
        short = shortened(logs, self.length(ball))
        directions = design.directions.sample(short, group.stream(0))
        shares = shares_along(shortened(logs, ball.radius), directions)
        noisy = design.variances.add(_core.clipped_mean(shares, 1.0), group.stream(1))
        outer = signed(directions @ base.rotation)
        # the square of the mean's noise, as it is expected
        shift = design.mean_noise.covariance(base.point)
        along = np.einsum("ji,ik,jk->j", outer, shift, outer)
        expected = np.append(along, max(float(np.trace(shift) - along.sum()), 0.0))
        return outer, np.maximum(noisy * ball.radius**2 - expected, 0.0)

    def result(self, releases: Releases[Release], index: int) -> Release:
        return release_of(releases, index)


class _VariancesAlong(Statistic[Release]):
    """The variances along the components, and the rest, released as a part of these."""

    title: ClassVar[str] = "variances along the components, and the rest"

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def check(self, call: Call) -> None:
        pass

    def mechanism_of(self, design: ComponentsDesign) -> str:
        return flat_mechanism(design.share).name

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (self.n_components + 1,)

    def design(self, call: Call, ball: Ball, n: int) -> ComponentsDesign:
        found: ComponentsDesign = PrincipalComponents(self.n_components).design(call, ball, n)
        return found

    def release(self, paid: Paid) -> Releases[Release]:
        return PrincipalComponents(self.n_components).release(paid).parts[1]

    def result(self, releases: Releases[Release], index: int) -> Release:
        return release_of(releases, index)


def _along(
    paid: Paid, drawn: DrawnMoments, variances: FloatArray, numbers: FloatArray
) -> Releases[Release]:
    """The releases of the variances."""
    statistic = _VariancesAlong(variances.shape[1] - 1)
    found = [
        None if own is None else (statistic.mechanism_of(own), own.share) for own in paid.designs[0]
    ]
    names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
    columns = dict(zip(names, numbers, strict=True))
    return paid.part(statistic, found, value=variances, base_point=drawn.points, **columns)


def _weights(of_mean: float) -> tuple[float, ...]:
    """Shares of the mean, the directions and the variances."""
    return of_mean, 1.0 - _OF_VARIANCES - of_mean, _OF_VARIANCES


def signed(rows: FloatArray) -> FloatArray:
    """Rows, or their negatives, whose entry of the largest size is positive."""
    largest = np.abs(rows).argmax(axis=1)[:, None]
    signs = np.sign(np.take_along_axis(rows, largest, axis=1))
    return np.asarray(rows * signs)


def shares_along(rows: FloatArray, directions: FloatArray) -> FloatArray:
    """(x_1'u)^2, ..., (x_k'u)^2 and what is left of |u|^2 for each row u, at most 1 together.

    Parameters
    ----------
    rows : ndarray, shape (n, dim)
        Of length at most 1; not finite ones count as 0.
    directions : ndarray, shape (k, dim)
        Orthonormal.

    Returns
    -------
    ndarray, shape (n, k + 1)
    """
    rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
    along = (rows @ directions.T) ** 2
    rest = np.maximum((rows * rows).sum(axis=1) - along.sum(axis=1), 0.0)
    shares = np.column_stack([along, rest])
    whole = np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    return np.ascontiguousarray(shares / whole * _BELOW_ONE)


@overload
def principal_components(
    records: ArrayLike,
    n_components: int,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    max_dist: float | None = None,
    weights: Sequence[float] | None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def principal_components(
    records: ArrayLike,
    n_components: int,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    max_dist: float | None = None,
    weights: Sequence[float] | None = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def principal_components(
    records: ArrayLike,
    n_components: int,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    max_dist: float | None = None,
    weights: Sequence[float] | None = None,
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release principal components of the logarithms log_p x_i at the private mean p.

    The exponential mechanism on directions: with u_i = log_p x_i / R, shortened to length 1, the
    first direction x has a density in proportion to exp(rate sum_i (x'u_i)^2) on the unit sphere,
    and each further one has it in the complement of those before. Draws are exact, without a Markov
    chain. For epsilon-DP the rate is epsilon/(k + 1) for k components: it needs far fewer records
    than the eigenvectors of `log_covariance`, whose noise is that of a matrix; for GDP those are
    better. Proof: docs/proofs/principal-components.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
    n_components : int
        Number k of components, at most the dimension.
    ball, guarantee, groups
        As in `frechet_mean`; the guarantee is that of mean, components and variances together.
    max_dist : float, optional
        Public length R at which logarithms are shortened; by default half of the ball's radius.
        Where most are longer, the components are those of their directions alone: for a law of
        elliptical shape about p they are the same, and noise counts less.
    weights : three float, optional
        Shares of the budget (of mu^2 for GDP) of the mean, the directions and the variances; by
        default a tenth for the variances, and for the mean what makes the expected loss of variance
        least, by public numbers: two to six tenths.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape (n_components, dim): orthonormal rows in `Manifold.tangent_to_coords`
        coordinates at `base_point`, the entry of largest size positive. Its error is not known
        beforehand. `parts` holds the mean and the variances: noisy means of the squares of the
        logarithms along each component and of the rest, shape (n_components + 1,), in squared units
        of the metric, of logarithms shortened to the ball's radius, less the square of the mean's
        noise that is expected along each, at least 0: about the mean, not about p. Their error
        holds the whole of that square.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Warns
    -----
    NoiseWarning
        If noise, that of the mean included, may cost a component a tenth of the largest variance
        that there may be: what is left is hardly more than that of random directions.

    References
    ----------
    Chaudhuri, Sarwate and Sinha 2013, J. Mach. Learn. Res. 14, 2905-2943, section 4; Kapralov and
    Talwar 2013, SODA, section 4; Kent, Ganeiban and Mardia 2018, J. Comput. Graph. Stat. 27 (2),
    section 3; Locantore et al. 1999, Test 8 (1), 1-73 (directions alone).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> angle = np.random.default_rng(0).uniform(-0.4, 0.4, 2000)
    >>> X = np.column_stack([np.sin(angle), 0.0 * angle, np.cos(angle)])
    >>> found = cdp.principal_components(X, 1, ball, cdp.PureDP(epsilon=1.0))
    >>> found.value.shape, [part.value.shape for part in found.parts]
    ((1, 2), [(3,), (2,)])
    """
    own = None if weights is None else as_numbers(weights, "weights")
    statistic = PrincipalComponents(n_components, max_dist, own)
    return release(statistic, records, ball, guarantee, groups=groups, **call)
