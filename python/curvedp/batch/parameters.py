"""Parameters of a batch: columns, ball, guarantee; written to JSON and read again exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from curvedp.ball_templates import stored_unit
from curvedp.batch.columns import RecordColumns
from curvedp.checked_domain import WholeSpace, as_domain
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.manifolds import Manifold
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.mechanisms.choice import MECHANISMS
from curvedp.privacy import Guarantee, Unproved
from curvedp.product_ball import ProductBall
from curvedp.statistics import Statistic
from curvedp.statistics.beside import check_statistic
from curvedp.statistics.call import Call, CoverageOption, Designs
from curvedp.statistics.counting import check_coverage, counted
from curvedp.statistics.moments import Moment
from curvedp.statistics.paid import COUNT_COLUMNS

__all__ = [
    "REFUSAL",
    "BatchParameters",
    "ball_from_dict",
    "ball_to_dict",
    "check_beside",
    "check_columns",
    "check_of_batch",
    "check_units",
    "columns_of",
    "names_of",
]

#: Columns of results that are not keys.
_RESERVED = frozenset(
    {"n", "value", "mean", "mean_scale", "radius", "chart_point", "covariance", "quantile", "dof"}
    | {"lower", "upper", "sensitivity", "scale", "expected_error", "guarantee"}
    | {"mechanism", "calibrated_to", "within", "unclipped", "shrunk", "shrunk_error"}
    | {
        "x_center",
        "moments",
        "meat",
        "meat_norm",
        "meat_deviation",
        "leverage",
        "deviation",
        "arrived",
        "growth",
        "remains",
    }
    | {"rejects", "r_squared", "sizes", "variances", *COUNT_COLUMNS}
    | {"count"}
    | {"found", "n_points", "n_points_error", "spread", "level", "spent"}
)

#: Refusal of a batch without public keys.
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
    call : Call
        Statistic, ball, guarantee and what else the releases are computed with.
    beside : str or None
        The column of what the statistic takes beside the points.
    units : str or None
        The column that names each record's person.
    coverage : bool, "each" or None
        Whether the records inside the ball are counted.
    reading : Reading
        How the numbers of points are written.
    """

    by: tuple[str, ...]
    points: tuple[str, ...]
    call: Call
    beside: str | None = None
    units: str | None = None
    coverage: CoverageOption = None
    reading: Reading = PLAIN

    @classmethod
    def check(
        cls,
        statistic: Statistic[Any],
        *,
        by: str | Sequence[str],
        points: str | Sequence[str],
        ball: Ball,
        guarantee: Guarantee,
        public_keys: bool,
        records_per_unit: int,
        groups_per_unit: int,
        skip_small: bool,
        covariate: str | None = None,
        labels: str | None = None,
        units: str | None = None,
        coverage: CoverageOption = None,
        reading: Reading = PLAIN,
        for_files: bool = False,
    ) -> BatchParameters:
        """The parameters, checked; `for_files` if records come chunk by chunk."""
        check_statistic(statistic)
        if public_keys is not True:
            raise BatchError(REFUSAL)
        keys, space = names_of(by, "by"), as_domain(ball).manifold
        columns, reading = columns_of(points, space, reading)
        beside = check_columns(statistic, keys, columns, covariate, labels, units, records_per_unit)
        if units is not None:
            statistic = statistic.with_units()
        if statistic.has_parts and for_files:
            raise TypeError(
                f"the {statistic.title} needs the sizes of both samples of each group, which files "
                "do not tell before they are read: give it a table in memory"
            )
        if for_files:
            statistic.from_options(statistic.options())  # as each chunk's process reads them
        check_of_batch(statistic)
        call = Call(
            statistic=statistic,
            balls=(as_domain(ball),),
            guarantee=guarantee,
            records_per_unit=records_per_unit,
            groups_per_unit=groups_per_unit,
            skip_small=bool(skip_small),
        )
        promise = statistic.promise(call)
        if isinstance(promise, Unproved):
            raise ValueError(f"a batch releases what is proved, and here {promise.why}")
        check_coverage(call, coverage, is_grouped=True)
        return cls(keys, columns, call, beside, units, coverage, reading)

    def planned(self, sizes: Counter[int]) -> tuple[Call, Designs, str | None]:
        """The call with the share of its count, the designs of all sizes, or why it does not count.

        Parameters
        ----------
        sizes : Counter
            Number of groups of each number of records; designs come in the order of these.

        Raises
        ------
        ExistenceError
            If groups have no release and may not be skipped.
        """
        total = sum(n * count for n, count in sizes.items())
        return counted(self.call, np.array(sorted(sizes), dtype=np.int64), self.coverage, total)

    @property
    def ball(self) -> Ball:
        """The public domain of all groups."""
        return self.call.ball

    @property
    def columns(self) -> RecordColumns:
        """The columns that hold the records."""
        space = self.call.manifold
        statistic, reading = self.call.statistic, self.reading
        return RecordColumns(
            self.points, space, self.beside, self.units, statistic, reading=reading
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {
            "by": list(self.by),
            "points": list(self.points),
            "beside": self.beside,
            "units": self.units,
            "coverage": self.coverage,
            "reading": self.reading.to_dict(),
            "ball": ball_to_dict(self.ball),
            "statistic": self.call.statistic.asked.name(),
            "options": self.call.statistic.options(),
            "guarantee": self.call.guarantee.to_dict(),
            "records_per_unit": self.call.records_per_unit,
            "groups_per_unit": self.call.groups_per_unit,
            "skip_small": self.call.skip_small,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BatchParameters:
        """Inverse of `to_dict`."""
        return cls(
            by=tuple(data["by"]),
            points=tuple(data["points"]),
            beside=data["beside"],
            units=data["units"],
            coverage=data["coverage"],
            reading=Reading(**data["reading"]),
            call=Call(
                statistic=statistic_named(data["statistic"]).from_options(data["options"]),
                balls=(ball_from_dict(data["ball"]),),
                guarantee=Guarantee.from_dict(data["guarantee"]),
                records_per_unit=data["records_per_unit"],
                groups_per_unit=data["groups_per_unit"],
                skip_small=data["skip_small"],
            ),
        )


def statistic_named(name: str) -> type[Statistic[Any]]:
    """The statistic of that name: its word, or its module and its own name."""
    module, _, own = name.partition(":")
    import_module(module if own else "curvedp.regression")
    return Statistic.named(name)


def check_of_batch(statistic: Statistic[Any]) -> None:
    """Refuses keywords that a batch does not know."""
    mechanism = getattr(statistic, "mechanism", None)
    if mechanism is not None and mechanism not in MECHANISMS:
        words = ", ".join(map(repr, MECHANISMS))
        raise ValueError(f"mechanism must be one of {words}, got {mechanism!r}")
    if getattr(statistic, "mean", None) is not None and isinstance(statistic, Moment):
        raise ValueError("a batch releases the means itself: leave mean out")


def check_columns(
    statistic: Statistic[Any],
    keys: tuple[str, ...],
    points: tuple[str, ...],
    covariate: str | None,
    labels: str | None,
    units: str | None,
    records_per_unit: int,
) -> str | None:
    """The column of what a statistic takes beside the points; no column has two uses."""
    if set(keys) & set(points):
        raise BatchError("a column cannot be a group key and a point at once")
    beside = check_beside(statistic, covariate, labels)
    if beside in {*keys, *points}:
        raise BatchError(f"the {statistic.beside} must be a column of its own")
    check_units(units, records_per_unit)
    if units in {*keys, *points, beside} - {None}:
        raise BatchError("the units' names must be a column of their own")
    if _RESERVED & set(keys):
        raise BatchError(
            f"the result has columns {', '.join(sorted(_RESERVED))} of its own: rename the key"
        )
    return beside


def check_beside(
    statistic: Statistic[Any], covariate: str | None, labels: str | None
) -> str | None:
    """The column of what a statistic takes beside the points.

    Raises
    ------
    TypeError
        For a statistic without one, and the other way round.
    """
    for name, column in (("covariate", covariate), ("labels", labels)):
        if statistic.beside != name and column is not None:
            raise TypeError(f"the {statistic.title} takes no {name}")
        if statistic.beside == name and not isinstance(column, str):
            raise TypeError(f"the {statistic.title} needs {name}, the name of a column")
    if statistic.beside_width > 1:
        raise TypeError(
            "a table has one column of covariates: release several by geodesic_regression"
        )
    return covariate if labels is None else labels


def check_units(units: str | None, records_per_unit: int) -> None:
    """Refuses names of units that are no column, or beside a number of records per unit."""
    if units is not None and not isinstance(units, str):
        raise TypeError("units must be the name of a column")
    if units is not None and records_per_unit != 1:
        raise ValueError("give units or records_per_unit, not both")


def names_of(given: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Names of columns."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a column's name, or several")
    if len(set(names)) != len(names):
        raise BatchError(f"{what} names a column twice")
    return names


def columns_of(
    given: str | Sequence[str], manifold: Manifold, reading: Reading
) -> tuple[tuple[str, ...], Reading]:
    """Columns of points in the order of a point's numbers, and how these are written."""
    names = names_of(given, "points")
    places, rest = reading.of_columns(names, manifold.written)
    return tuple(names[place] for place in places), rest


def ball_to_dict(ball: Ball) -> dict[str, Any]:
    """A ball for JSON."""
    if isinstance(ball, ProductBall):
        factors = [ball_to_dict(factor) for factor in ball.factors]
        return {"manifold": ball.manifold.spec, "factors": factors}
    if isinstance(ball, WholeSpace):
        return {"manifold": ball.manifold.spec}
    return {
        "manifold": ball.manifold.spec,
        "center": ball.center.ravel().tolist(),
        "radius": ball.radius,
        "unit": None if ball.unit is None else ball.unit.to_dict(),
    }


def ball_from_dict(data: dict[str, Any]) -> Ball:
    """The same ball to the last bit: rounding its centre onto the manifold again may change it."""
    from curvedp.manifolds import Product, as_manifold

    space = as_manifold(data["manifold"])
    if set(data) == {"manifold"}:
        return WholeSpace(space)
    if isinstance(space, Product):
        return ProductBall(*map(ball_from_dict, data["factors"]), manifold=space)
    center = np.array(data["center"]).reshape(space.point_shape)
    ball = Ball(space, center, data["radius"], unit=stored_unit(data["unit"]))
    center.flags.writeable = False
    ball._center = center
    return ball
