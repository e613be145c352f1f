"""The release of a private mean, with the same mean shrunk to the ball's centre."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from curvedp import sensitivity
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import as_manifold
from curvedp.mechanisms.base import Mechanism, Way
from curvedp.mechanisms.calibration import own_epsilon
from curvedp.mechanisms.choice import MECHANISMS, ways_of_one_draw
from curvedp.mechanisms.l2 import L2Mechanism
from curvedp.privacy import ApproxDP, Guarantee, PureDP, Release, Unproved
from curvedp.privacy.coverage import Coverage
from curvedp.privacy.implication import beside
from curvedp.privacy.l2_noise import L2Noise, l2_delta
from curvedp.privacy.release import frozen_array
from curvedp.privacy.wording import percent
from curvedp.statistics.shrinkage import error_ratio, shrunk_points
from curvedp.unit import told_in

#: From this share of the error of `value` on, the report recommends `shrunk`.
_WORTH = 0.9
#: Relative room for numbers that other versions rounded otherwise.
_ROOM = 1e-9


@functools.lru_cache(maxsize=1024)
def _needed_scale(kind: type[Mechanism], ball: Ball, moved: float, way: Way) -> float:
    """Scale of the noise by which a mean that moves so far keeps a guarantee."""
    try:
        (own,) = ways_of_one_draw(way, kind)
        return kind(ball, moved, own).scale
    except (ExistenceError, TypeError) as error:
        raise ValueError(f"there is no such noise: {error}") from None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MeanRelease(Release):
    """A released mean: `value` is a point of the ball.

    Attributes
    ----------
    unprojected : array, read-only
        The noisy point before it was moved to the ball.
    mean_square : float
        Of the noise's length.
    strength : float
        James and Stein's constant of the noise; see docs/proofs/shrinkage.md.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> mean = cdp.frechet_mean(np.tile(1.2 * np.eye(3), (30, 1, 1)), ball, cdp.GDP(mu=0.1))
    >>> mean.shrunk_error < mean.expected_error
    True
    >>> bool(np.all(np.linalg.eigvalsh(mean.shrunk) > 0))
    True
    """

    unprojected: NDArray[np.float64]
    mean_square: float
    strength: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "unprojected", frozen_array(self.unprojected))
        object.__setattr__(self, "mean_square", float(self.mean_square))
        object.__setattr__(self, "strength", float(self.strength))

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Inverse of `to_dict`; refuses noise that does not imply the guarantee beside it."""
        found = super().from_dict(data)
        if not isinstance(found.guarantee, Unproved):
            found.check_noise()
        return found

    @property
    def _kind(self) -> type[Mechanism] | None:
        """None for a mechanism of the user's own."""
        return next((own for own in MECHANISMS.values() if own.name == self.mechanism), None)

    def check_noise(self) -> None:
        """Refuse a sensitivity below that of so many records, and noise below what it needs.

        Raises
        ------
        ValueError
        """
        least = sensitivity.frechet_mean(self._ball, self.n, records_per_unit=self.records_per_unit)
        if self.sensitivity < least * (1 - _ROOM):
            raise ValueError(
                f"its sensitivity is below {least:.6g}, that of a mean of {self.n} records in its "
                "ball"
            )
        kind = self._kind
        if kind is None or self.calibrated_to is None:
            return
        moved = self.sensitivity + 2 * self.solver_tolerance
        way = self.calibrated_to
        if self.count is None and self.coverage is not None:  # else both counts are one promise
            way = beside(way, self.coverage.guarantee)
        scale = _needed_scale(kind, self._ball, moved, way)
        is_enough = self.scale >= scale * (1 - _ROOM)
        if not is_enough and not (kind is L2Mechanism and self._is_on_curve(way, moved)):
            counted = "" if way == self.calibrated_to else ", beside its count of records"
            raise ValueError(
                f"its noise does not imply {self.calibrated_to}{counted}: that needs {scale:.6g}"
            )

    def _is_on_curve(self, way: Way, moved: float) -> bool:
        """True for l2 noise that keeps (epsilon, delta); searches for its scale end nearby."""
        if not isinstance(way, ApproxDP):
            return False
        shift = moved * self._ball.frame.lipschitz / self.scale
        delta = l2_delta(way.epsilon, shift, self._ball.manifold.dim)
        return delta <= way.delta * (1 + _ROOM)

    @property
    def losses(self) -> tuple[Guarantee | L2Noise, ...]:
        """Its privacy losses: of noise exp(-|x|/scale) on flat space its own, and the count's."""
        kind = self._kind
        way, ball, count = self.calibrated_to, self._ball, self.coverage
        flat = kind is L2Mechanism or ball.manifold.noise_space[0] == "flat"
        if kind is None or kind.profile != "laplace" or not flat or self.count is not None:
            return super().losses
        if not isinstance(way, PureDP | ApproxDP):
            return super().losses
        moved = self.sensitivity + 2 * self.solver_tolerance
        moved *= ball.frame.lipschitz if kind.in_chart else 1.0
        noise = L2Noise(
            moved / self.scale * (1 + _ROOM), ball.manifold.dim, neighbours=way.neighbours
        )
        if isinstance(count, Coverage):
            return noise, count.guarantee
        whole = own_epsilon(way, noise.dim)  # less in one of many groups, counted together
        return (noise,) if noise.epsilon >= whole * (1 - _ROOM) else super().losses

    @functools.cached_property
    def shrunk(self) -> FloatArray:
        """The mean shrunk to the ball's centre, shape point_shape: post-processing.

        It errs less than `value` where the noise is large, and is biased towards the centre: take
        `value` for differences of groups, regions, tests and combinations. From dimension 3 on by
        James and Stein's rule: on Hadamard manifolds its mean squared error is at most that of
        `unprojected`, wherever the mean lies. In dimensions 1 and 2 by r^2/(r^2 + E |noise|^2). See
        docs/proofs/shrinkage.md.
        """
        return shrunk_points(self._ball, self.unprojected, self.mean_square, self.strength)

    @functools.cached_property
    def shrunk_error(self) -> float:
        """Expected distance of `shrunk` from the exact mean, at the released point."""
        assert self.expected_error is not None
        own, ball = self.mean_square, self._ball
        square = float(ball.manifold.dist(ball.center, self.unprojected)) ** 2 - own
        dist = min(max(square, 0.0) ** 0.5, ball.radius)
        return self.expected_error * float(error_ratio(ball.manifold.dim, own, dist, ball.radius))

    @functools.cached_property
    def _ball(self) -> Ball:
        space = as_manifold(self.manifold)
        return Ball(space, self.ball_center, self.ball_radius, unit=self.ball_unit)

    def _noise(self) -> list[tuple[str, str]]:
        assert self.expected_error is not None
        share = percent(self.expected_error / self.ball_radius)
        rows = [("noise", f"{share} of the ball's radius")]
        if self._warnings():
            assert self.coverage is not None
            dist = float(self._ball.manifold.dist(self.ball_center, self.value))
            told = told_in(self.ball_unit)(self.coverage.bias(dist), 3)
            bias = f"{told} towards the centre, from records that are no "
            return [*rows, ("bias", bias + "points, if the missing are like the others")]
        if self.shrunk_error < _WORTH * self.expected_error:
            told = told_in(self.ball_unit)(self.shrunk_error, 3)
            advice = (
                f"use shrunk, whose expected error is {told}, and value only "
                "where a bias to the centre would harm: in differences, regions, combinations"
            )
        else:
            advice = "use value: shrunk would err about as much"
        return [*rows, ("advice", advice)]
