"""Directions, times of day and axes: the mean direction or axis and what goes with it.

    records -> unit vectors x -> confidence region of E x on the unit ball of R^p (private)
            -> direction, length and certainty of E x (post-processing)

No ball is to be chosen: unit vectors lie in the unit ball, also where they cover the whole sphere.
Formulas are those of Mardia and Jupp, Directional Statistics (2000); noise and the sample's
covariance enter through the region. docs/directions.md.
"""

from typing import TYPE_CHECKING, NoReturn

from curvedp._hints import no_such_name
from curvedp.directions.axis import MeanAxis
from curvedp.directions.comparison import DirectionComparison, compare_directions
from curvedp.directions.mean import MeanDirection
from curvedp.directions.reading import as_radians
from curvedp.directions.release import mean_axis, mean_direction

__all__ = [
    "DirectionComparison",
    "MeanAxis",
    "MeanDirection",
    "as_radians",
    "compare_directions",
    "mean_axis",
    "mean_direction",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_such_name(name, own=__name__)
