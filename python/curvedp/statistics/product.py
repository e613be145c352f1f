"""Statistics on products of manifolds: the statistic of each factor, on its own ball.

    records -> parts, one for each factor -> statistic of each with a share of the guarantee
            -> parts of the release, which compose to the whole

The shares are those with the least sum of squared expected errors, found before a record is seen.
Proof: docs/proofs/products.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Product
from curvedp.mechanisms import Way, ways_to_meet
from curvedp.privacy import GDP, Release
from curvedp.product_ball import ProductBall
from curvedp.statistics.call import Call, Report
from curvedp.statistics.releases import NoiseLaw, Releases, release_fields
from curvedp.statistics.statistic import Calibrated

if TYPE_CHECKING:
    from curvedp.statistics.paid import Paid


@dataclass(frozen=True)
class FactorDesigns:
    """The designs of all factors.

    Attributes
    ----------
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    shares : tuple of PureDP or GDP
        That of each factor.
    designs : tuple
        The design of each factor.
    """

    way: Way
    shares: tuple[Way, ...]
    designs: tuple[Any, ...]


@dataclass(frozen=True)
class OfFactors(Calibrated[Release]):
    """A statistic on a product of manifolds: `of_factor` of each factor.

    Parameters
    ----------
    of_factor : Calibrated
    """

    title: ClassVar[str] = "statistic of factors"
    takes_unknown_n: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True

    of_factor: Calibrated[Any]
    memory: float = field(init=False, compare=False)  # type: ignore[misc]

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.of_factor.title)
        object.__setattr__(self, "memory", 1.0 + self.of_factor.memory)

    @property
    def asked(self) -> Calibrated[Any]:
        return self.of_factor

    def of_factors(self) -> OfFactors:
        return self

    def options(self) -> dict[str, Any]:
        return self.of_factor.options()

    def ways(self, call: Call) -> tuple[Way, ...]:
        return ways_to_meet(call.guarantee, getattr(self.of_factor, "mechanism", None))

    def check(self, call: Call) -> None:
        for i in range(len(_space(call).factors)):
            self._call(call, i)

    def mechanism_of(self, design: FactorDesigns) -> str:
        return " x ".join(map(self.of_factor.mechanism_of, design.designs))

    def is_exact(self, call: Call) -> bool:
        return self.of_factor.is_exact(call)

    def share(self, way: Way) -> Way:
        return way

    def design_under(self, call: Call, way: Way, ball: Ball, n: int) -> FactorDesigns:
        assert isinstance(ball, ProductBall)
        factors = ball.factors

        def designs(shares: Sequence[Way]) -> FactorDesigns:
            own = [
                self.of_factor.design_under(call, share, factor, n)
                for share, factor in zip(shares, factors, strict=True)
            ]
            return FactorDesigns(way, tuple(shares), tuple(own))

        even = way.split((1.0,) * len(factors))
        try:
            first = designs(even)
        except ExistenceError as error:
            raise error.of_whole(even[0], way) from None
        # errors are about in proportion to 1/epsilon, or 1/mu: shares of epsilon, or mu^2, with the
        # least sum of their squares
        errors = np.array(_space(call)._weights) * self._errors(call, first, n)
        weights = errors ** (1.0 if isinstance(way, GDP) else 2.0 / 3.0)
        if not np.isfinite(weights).all() or weights.min() <= 0.0:
            return first
        try:
            return designs(way.split(tuple((weights / weights.sum()).tolist())))
        except ExistenceError:  # a factor's Laplace law exists with even shares alone
            return first

    def _errors(self, call: Call, design: FactorDesigns, n: int) -> Any:
        """Expected error of each part."""
        return np.array([self.of_factor.outlook(call, own, n)[1] for own in design.designs])

    def outlook(self, call: Call, design: FactorDesigns, n: int) -> tuple[float, float]:
        parts = [self.of_factor.outlook(call, own, n) for own in design.designs]
        scales, errors = (np.array(column) for column in zip(*parts, strict=True))
        space = _space(call)
        joint = joint_error(space, isinstance(design.way, GDP), errors[:, None])
        return float(space.joint_length(scales)), float(joint[0])

    def noise_share(self, call: Call, design: FactorDesigns, n: int) -> float:
        shares = [self.of_factor.noise_share(call, own, n) for own in design.designs]
        return math.nan if any(map(math.isnan, shares)) else max(shares)

    def release(self, paid: Paid) -> Releases[Release]:
        call, (found, choice) = paid.call, paid.designs
        space, parts = _space(call), []
        points = paid.records.reshape(len(paid.records), *space.point_shape)
        for i, records in enumerate(space.split(points)):
            own = [None if design is None else design.designs[i] for design in found]
            inner = replace(
                paid,
                call=self._call(call, i),
                records=records,
                designs=(own, choice),
                keys=paid.keys.part(i),
                report=_part_of(paid.report, i, len(space.factors)),
            )
            part = self.of_factor.release(inner.by_unit())
            parts.append(_with_shares(part, paid, self.of_factor, found, i))
        lengths = {
            name: space.joint_length([getattr(part, name) for part in parts])
            for name in ("sensitivity", "solver_tolerance", "scale")
        }
        errors = np.stack([part.expected_error for part in parts])
        is_gaussian = np.array([one is not None and isinstance(one.way, GDP) for one in found])
        return paid.releases(
            value=space.join([part.value for part in parts]),
            expected_error=joint_error(space, is_gaussian[choice], errors),
            **lengths,
            more={"factor_errors": errors.T},
            parts=tuple(parts),
        )

    def result(self, releases: Releases[Release], index: int) -> Release:
        return Release(**release_fields(releases, index))

    def _call(self, call: Call, i: int) -> Call:
        """The call of a factor."""
        balls = [ball.factors[i] for ball in call.balls if isinstance(ball, ProductBall)]
        return replace(call, statistic=self.of_factor, balls=tuple(balls))


def joint_error(space: Product, is_gaussian: Any, errors: Any) -> Any:
    """Expected length of noise whose parts have these expected lengths, shape (groups,).

    Each part has the length of a Gaussian or Laplace vector of the factor's dimension, about: then
    its mean square is known, and the root of a sum of squares is that of about as many normals as
    have its mean and variance.

    Parameters
    ----------
    space : Product
    is_gaussian : bool or ndarray of bool, shape (groups,)
    errors : ndarray, shape (factors, groups)
    """
    total, spread = 0.0, 0.0
    for weight, factor, error in zip(space._weights, space.factors, errors, strict=True):
        d = factor.dim
        # E X^2/(E X)^2 and Var X^2/(E X^2)^2, X the length
        gaussian = 0.5 * d * math.exp(2 * (math.lgamma(0.5 * d) - math.lgamma(0.5 * (d + 1))))
        square = (weight * error) ** 2 * np.where(is_gaussian, gaussian, (d + 1) / d)
        laplace = (d + 3) * (d + 2) / (d * (d + 1)) - 1.0
        total = total + square
        spread = spread + square**2 * np.where(is_gaussian, 2.0 / d, laplace)
    with np.errstate(divide="ignore", invalid="ignore"):
        # E sqrt(S) of a gamma variable S with that mean and variance, to second order in 1/k
        k = total**2 / spread
        return np.sqrt(total) * np.exp(_log_root_mean(k))


def _log_root_mean(k: Any) -> Any:
    """ln of E sqrt(S/E S) for a gamma variable S of shape k."""
    from scipy.special import gammaln

    return gammaln(k + 0.5) - gammaln(k) - 0.5 * np.log(k)


def _with_shares(
    part: Releases[Any], paid: Paid, statistic: Calibrated[Any], found: Sequence[Any], i: int
) -> Releases[Any]:
    """Releases of a factor that promise its share."""
    laws: list[NoiseLaw | None] = []
    for design in found:
        told = None
        if design is not None:
            mechanism = statistic.mechanism_of(design.designs[i])
            told = paid.law_of_share(mechanism, design.shares[i])
        laws.append(told)
    guarantees = {law.guarantee for law in laws if law is not None}
    # otherwise that of all parts together holds for each
    guarantee = guarantees.pop() if len(guarantees) == 1 else part.guarantee
    return replace(part, laws=laws, guarantee=guarantee)


def _part_of(report: Report | None, i: int, count: int) -> Report | None:
    """Progress of the i-th of so many parts of the whole."""
    if report is None:
        return None
    tell = report
    return lambda done, groups: tell((i * groups + done) // count, groups)


def _space(call: Call) -> Product:
    space = call.manifold
    assert isinstance(space, Product)
    return space
