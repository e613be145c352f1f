"""What a batch is asked for: columns, ball, guarantee; written to JSON and read again exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.mechanisms.choice import MECHANISMS
from curvedp.privacy import Guarantee
from curvedp.statistics.adaptive_means import AdaptivePlan
from curvedp.statistics.confidence_regions import RegionPlan
from curvedp.statistics.entry import check_ball
from curvedp.statistics.frechet_means import MeanPlan
from curvedp.statistics.frechet_variances import VariancePlan
from curvedp.statistics.group_plan import GroupPlan

__all__ = ["REFUSAL", "STATISTICS", "BatchParameters", "ball_from_dict", "ball_to_dict"]

#: What can be released of each group, by the word that selects it.
STATISTICS: dict[str, type[GroupPlan[Any]]] = {
    "mean": MeanPlan,
    "variance": VariancePlan,
    "adaptive": AdaptivePlan,
    "region": RegionPlan,
}

#: Columns of results that are not keys.
_RESERVED = frozenset(
    {"n", "value", "mean", "mean_scale", "radius", "chart_point", "covariance", "quantile", "dof"}
    | {"sensitivity", "scale", "expected_error", "guarantee"}
)

#: Why a batch needs public keys.
REFUSAL = (
    "the releases of a batch compose in parallel only if the groups are public: which keys occur, "
    "which record has which key, and how many records each key has must be public or fixed before "
    "the data were seen. If so, say public_keys=True (--public-keys). If not, a batch by these "
    "keys has no guarantee: release one mean over all records instead."
)


@dataclass(frozen=True)
class BatchParameters:
    """A batch of releases by group key.

    Attributes
    ----------
    by : tuple of str
        Columns of the group key.
    points : tuple of str
        The column of points, or one column for each number of a point.
    plan : GroupPlan
        Ball, guarantee and what else the releases are computed with.
    normalise : bool
        Whether directions and shapes are brought to size first.
    """

    by: tuple[str, ...]
    points: tuple[str, ...]
    plan: GroupPlan[Any]
    normalise: bool = False

    @classmethod
    def check(
        cls,
        statistic: str,
        *,
        by: str | Sequence[str],
        points: str | Sequence[str],
        ball: Ball,
        guarantee: Guarantee,
        public_keys: bool,
        records_per_unit: int,
        groups_per_unit: int,
        pass_over: bool,
        normalise: bool,
        **options: Any,
    ) -> BatchParameters:
        """The parameters, checked; `options` are the statistic's own keywords."""
        if public_keys is not True:
            raise BatchError(REFUSAL)
        keys, columns = _names(by, "by"), _names(points, "points")
        if set(keys) & set(columns):
            raise BatchError("a column cannot be a group key and a point at once")
        if _RESERVED & set(keys):
            raise BatchError(
                f"the result has columns {', '.join(sorted(_RESERVED))} of its own: rename the key"
            )
        mechanism = options.get("mechanism")
        if mechanism is not None and mechanism not in MECHANISMS:
            words = ", ".join(map(repr, MECHANISMS))
            raise ValueError(f"mechanism must be one of {words}, got {mechanism!r}")
        plan = STATISTICS[statistic](
            balls=(check_ball(ball),),
            guarantee=guarantee,
            records_per_unit=records_per_unit,
            groups_per_unit=groups_per_unit,
            pass_over=bool(pass_over),
            **options,
        )
        return cls(keys, columns, plan, bool(normalise))

    @property
    def ball(self) -> Ball:
        """The public domain of all groups."""
        return self.plan.balls[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {
            "by": list(self.by),
            "points": list(self.points),
            "normalise": self.normalise,
            "ball": ball_to_dict(self.ball),
            "statistic": next(name for name, kind in STATISTICS.items() if kind is type(self.plan)),
            "options": self.plan.options(),
            "guarantee": self.plan.guarantee.to_dict(),
            "records_per_unit": self.plan.records_per_unit,
            "groups_per_unit": self.plan.groups_per_unit,
            "pass_over": self.plan.pass_over,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BatchParameters:
        """Inverse of `to_dict`."""
        return cls(
            by=tuple(data["by"]),
            points=tuple(data["points"]),
            normalise=data["normalise"],
            plan=STATISTICS[data["statistic"]](
                balls=(ball_from_dict(data["ball"]),),
                guarantee=Guarantee.from_dict(data["guarantee"]),
                records_per_unit=data["records_per_unit"],
                groups_per_unit=data["groups_per_unit"],
                pass_over=data["pass_over"],
                **{name: _unlisted(value) for name, value in data["options"].items()},
            ),
        )


def _unlisted(value: Any) -> Any:
    """A value from JSON, which has no tuples."""
    return tuple(value) if isinstance(value, list) else value


def _names(given: str | Sequence[str], what: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a column's name, or several")
    if len(set(names)) != len(names):
        raise BatchError(f"{what} names a column twice")
    return names


def ball_to_dict(ball: Ball) -> dict[str, Any]:
    """A ball for JSON."""
    return {
        "manifold": ball.manifold.spec,
        "center": ball.center.ravel().tolist(),
        "radius": ball.radius,
    }


def ball_from_dict(data: dict[str, Any]) -> Ball:
    """The same ball to the last bit: rounding its centre onto the manifold again may change it."""
    from curvedp.manifolds import as_manifold

    space = as_manifold(data["manifold"])
    center = np.array(data["center"]).reshape(space.point_shape)
    ball = Ball(space, center, data["radius"])
    center.flags.writeable = False
    ball._center = center
    return ball
