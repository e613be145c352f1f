"""A private statistic as a value: what it takes, what it is designed from and what it releases.

A `Call` brings balls, a guarantee and a unit; `Paid` brings the records.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.checked_domain import NOT_ON_PRODUCTS
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Way, ways_to_meet
from curvedp.mechanisms.calibration import NUMBER_IS_PUBLIC
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.base import Neighbours
from curvedp.privacy.wording import percent
from curvedp.statistics.design import least_error
from curvedp.statistics.grouping import Offsets

if TYPE_CHECKING:
    from curvedp.statistics.base_point import GivenPoints
    from curvedp.statistics.call import Call
    from curvedp.statistics.paid import Paid
    from curvedp.statistics.releases import Releases

Result = TypeVar("Result")


class Statistic(abc.ABC, Generic[Result]):
    """A statistic as a value: its own keywords, apart from records, groups, ball and guarantee.

    `curvedp.batch.release` takes one. Subclasses are frozen dataclasses whose fields are the
    keywords.
    """

    #: Its name on releases.
    title: ClassVar[str]
    #: The word that selects it on the command line and in stored parameters; without one it is
    #: known by its module and its name.
    word: ClassVar[str | None] = None
    #: What each record has beside its point: the name of a keyword of `release`, and of the option
    #: that names the column of a table.
    beside: ClassVar[Literal["covariate", "labels"] | None] = None
    #: True if it averages over the records of units itself.
    takes_units: ClassVar[bool] = False
    #: Neighbouring relations that its noise can be calibrated to.
    served: ClassVar[tuple[Neighbours, ...]] = ("replace",)
    #: Why others are refused.
    why_unserved: ClassVar[str] = NUMBER_IS_PUBLIC
    #: True if `coverage` may count which of its records are points inside the ball.
    counted: ClassVar[bool] = True
    #: True if it is released, too, where the number of records is protected.
    takes_unknown_n: ClassVar[bool] = False
    #: True if what it says of the population would be wrong with copies of the ball's centre among
    #: the records: where their number is protected more are hardly ever used than there are.
    infers: ClassVar[bool] = False
    #: What copies of the ball's centre have beside their points: what counts as missing.
    padding_beside: ClassVar[float] = math.nan
    #: What to mind on the ball of a mean without a ball, which holds .95 of the records.
    _on_found_ball: ClassVar[str] = ""
    #: Memory that it takes, in sizes of the records: measured and rounded up.
    memory: ClassVar[float] = 2.0

    @property
    def why_uncounted(self) -> str:
        """Reason that records are not counted, where `counted` is False."""
        return f"the {self.title} does not count records inside the ball"

    @abc.abstractmethod
    def check(self, call: Call) -> None:
        """Raises for parameters that do not fit each other."""

    def with_units(self) -> Self:
        """The statistic where units have names, each of them with any number of records.

        Raises
        ------
        ValueError
            If there is none.
        """
        return self

    def ways(self, call: Call) -> tuple[Way, ...]:
        """Guarantees that its noise may be calibrated to, each of which implies the call's."""
        return ways_to_meet(call.guarantee, getattr(self, "mechanism", None))

    @abc.abstractmethod
    def mechanism_of(self, design: Any) -> str:
        """Name of the mechanism of a release of that design."""

    def way_of(self, design: Any) -> Way | None:
        """Guarantee that the noise of such a release is calibrated to."""
        return None

    @abc.abstractmethod
    def design(self, call: Call, ball: Ball, n: int) -> Any:
        """Everything about the release of n records that is fixed before one is seen.

        Parameters
        ----------
        call : Call
        ball : Ball
            The group's own.
        n : int
            Number of records.

        Raises
        ------
        ExistenceError
            If there is no such release. Whatever can be refused is refused here, before a budget is
            touched.
        """

    def design_of_parts(self, call: Call, ball: Ball, sizes: tuple[int, ...]) -> Any:
        """The same of records in public parts, see `parts`.

        Parameters
        ----------
        call : Call
        ball : Ball
        sizes : tuple of int
            Number of records of each part.
        """
        return self.design(call, ball, sum(sizes))

    @abc.abstractmethod
    def release(self, paid: Paid) -> Releases[Result]:
        """The releases of groups that have been paid for."""

    @abc.abstractmethod
    def result(self, releases: Releases[Result], index: int) -> Result:
        """The release of one group, from the columns of all.

        Parameters
        ----------
        releases : Releases
        index : int
            The group's number.
        """

    def spent(self, releases: Releases[Result]) -> Guarantee | None:
        """The cost of all releases, where they may stop before they spent what was set aside.

        Parameters
        ----------
        releases : Releases
            As `release` returns them.
        """
        return None

    @property
    def rests_on(self) -> tuple[Release, ...]:
        """Releases among its keywords, with guarantees of their own."""
        return ()

    @property
    def asked(self) -> Statistic[Any]:
        """The statistic that the user asked for."""
        return self

    def of_factors(self) -> Statistic[Any]:
        """The statistic of a product of manifolds, whose parts are this one's of each factor."""
        raise ValueError(f"the {self.title} is {NOT_ON_PRODUCTS}")

    def without_ball(self) -> Statistic[Any]:
        """The statistic of records anywhere on the manifold."""
        raise TypeError(
            f"the {self.title} needs a public ball: give one, or release one first, as "
            f"frechet_mean(records, manifold, guarantee).ball{self._on_found_ball}"
        )

    def promise(self, call: Call) -> Guarantee:
        """The guarantee that a release may claim: `Unproved` where there is no proof."""
        return call.promised

    def is_exact(self, call: Call) -> bool:
        """True if all of its noise is drawn in exact arithmetic, for every number of records."""
        return False

    def given_points(self, call: Call, labels: Sequence[Hashable]) -> GivenPoints | None:
        """Base points that the call does not release itself, if there are any.

        Parameters
        ----------
        call : Call
        labels : sequence
            Of all groups; points that do not fit them raise.
        """
        return None

    def read_beside(self, given: Any, n: int) -> FloatArray:
        """Numbers beside the points of n records, shape (n,) or (n, q).

        Parameters
        ----------
        given : array-like, shape (n,) or (n, q)
            As the user gave it.
        n : int

        Raises
        ------
        ValueError, TypeError
            For another shape or dtype, and for public labels that do not fit; never for the value
            of a record.
        """
        raise TypeError(f"the {self.title} takes nothing beside the points")

    def read_protected_beside(self, given: Any, n: int) -> FloatArray:
        """The same where who is there is protected: no label raises, and -1 is that of no part.

        Parameters
        ----------
        given : array-like, shape (n,) or (n, q)
        n : int
        """
        return self.read_beside(given, n)

    def categories_beside(self, beside: FloatArray) -> FloatArray | None:
        """0, 1 or 2 for numbers beside a record that are in range, out of it, and missing.

        None if they have no part in a count of records, such as labels.

        Parameters
        ----------
        beside : ndarray
            As `read_beside` returns it.
        """
        return None

    @property
    def beside_width(self) -> int:
        """Numbers that each record has beside its point."""
        return 0 if self.beside is None else 1

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        """The same of public records: what is public of it, and slow numbers for the rest.

        Parameters
        ----------
        beside : ndarray
            As `read_beside` returns it.
        """
        return beside

    def beside_of_units(self, beside: FloatArray, ends: Offsets) -> FloatArray:
        """The same of units, one number or row for each.

        Parameters
        ----------
        beside : ndarray
            Of records, those of one unit after the other.
        ends : ndarray of int, shape (units + 1,)
            Unit j has the records ``ends[j]:ends[j + 1]``.
        """
        return beside[ends[:-1]]

    #: True if designs depend on the sizes of a group's parts, see `parts`.
    has_parts: ClassVar[bool] = False

    @property
    def part_count(self) -> int:
        """Number of a group's parts, which numbers beside the records tell apart."""
        return 1

    def parts(self, beside: FloatArray | None, offsets: Offsets) -> Offsets:
        """Public sizes of each group's parts, such as two samples; shape (groups,) for one part.

        Parameters
        ----------
        beside : ndarray or None
            Of the records, or of the units where they are known by name.
        offsets : ndarray of int, shape (groups + 1,)
        """
        return offsets[1:] - offsets[:-1]

    def value_shape(self, call: Call) -> tuple[int, ...]:
        """Shape of a group's value."""
        return tuple(call.manifold.point_shape)

    def outlook(self, call: Call, design: Any, n: int) -> tuple[float, float]:
        """Scale and expected error of a release of n records, at most; NaN if not known.

        Parameters
        ----------
        call : Call
        design
            As `design` returns it.
        n : int
        """
        return np.nan, np.nan

    def memory_of_group(self, call: Call, n: int) -> float:
        """Bytes that a group of n records takes besides copies of its records.

        Parameters
        ----------
        call : Call
        n : int
        """
        return 0.0

    def memory_of_result(self, call: Call) -> float:
        """Bytes that the release of each group takes, where that is more than a few numbers."""
        return 0.0

    def noise_share(self, call: Call, design: Any, n: int) -> float:
        """Size of the noise over that of the range that the ball alone leaves; NaN if not known.

        Parameters
        ----------
        call : Call
        design
            As `design` returns it.
        n : int
        """
        return math.nan

    def noise_told(self, call: Call, share: float, of_groups: str = "") -> str:
        """Words for a `noise_share` above 1.

        Parameters
        ----------
        call : Call
        share : float
            The largest.
        of_groups : str
            Of which groups it is.
        """
        _, name = self.extent(call)
        return (
            f"the noise of the {self.title}{of_groups} is up to {percent(share)} of the {name}: "
            "such a release tells less than its ball does"
        )

    def further_columns(self, releases: Releases[Result]) -> dict[str, NDArray[np.float64]]:
        """Columns of a table of releases that are computed only for it."""
        return {}

    def extent(self, call: Call) -> tuple[float, str]:
        """Size of the value to compare an expected error with, and the name of that size."""
        return call.ball.radius, "radius"

    def options(self) -> dict[str, Any]:
        """The statistic's own keywords, for JSON; `from_options` reads them."""
        own = fields(self)  # type: ignore[arg-type]
        return {field.name: _plain(getattr(self, field.name)) for field in own if field.compare}

    @classmethod
    def name(cls) -> str:
        """Name in stored parameters."""
        return vars(cls).get("word") or f"{cls.__module__}:{cls.__qualname__}"

    @staticmethod
    def kinds() -> Iterator[type[Statistic[Any]]]:
        """All statistics of the modules that are imported."""
        waiting: list[type[Statistic[Any]]] = Statistic.__subclasses__()
        while waiting:
            kind = waiting.pop()
            yield kind
            waiting += kind.__subclasses__()

    @staticmethod
    def named(name: str) -> type[Statistic[Any]]:
        """The statistic of that `name`.

        Raises
        ------
        LookupError
            If there is none in the modules that are imported.
        """
        for kind in Statistic.kinds():
            if kind.name() == name:
                return kind
        raise LookupError(f"no statistic {name!r}: import the module that defines it")

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Statistic[Result]:
        """Inverse of `options`."""
        return cls(**{name: _unlisted(value) for name, value in options.items()})


class Calibrated(Statistic[Result]):
    """A statistic whose noise is calibrated in the way that has the least expected error."""

    @abc.abstractmethod
    def design_under(self, call: Call, way: Any, ball: Ball, n: int) -> Any:
        """As `design`, with noise calibrated to `way`, which the design holds as an attribute.

        Parameters
        ----------
        call : Call
        way : PureDP, GDP or ApproxDP
            One of `ways`.
        ball : Ball
        n : int
        """

    def share(self, way: Any) -> Way:
        """The share of `way` that `design_under` may find too small."""
        own: Way = way
        return own

    def design(self, call: Call, ball: Ball, n: int) -> Any:
        def design_under(way: Way) -> Any:
            try:
                return self.design_under(call, way, ball, n)
            except ExistenceError as error:
                raise error.of_whole(self.share(way), way) from None

        def error(design: Any) -> float:
            return self.outlook(call, design, n)[1]

        return least_error(self.ways(call), design_under, error)

    def way_of(self, design: Any) -> Way | None:
        way: Way = design.way
        return way

    def check(self, call: Call) -> None:
        self.ways(call)


def _plain(value: Any) -> Any:
    """A keyword as JSON has it."""
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def _unlisted(value: Any) -> Any:
    """A value from JSON, which has no tuples."""
    return tuple(map(_unlisted, value)) if isinstance(value, list) else value
