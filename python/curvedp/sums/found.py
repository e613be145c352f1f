"""The results of a search: a round, the end, and reasons that there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from curvedp._validation import FloatArray

#: Why nothing was found: reasons are functions of released numbers.
NO_DIRECTION = "the records have no common direction, or are too few to show one"
TOO_FEW = (
    "there are too few points among the records for this guarantee: see that they are read as they "
    "are written (order=, mask=, units of the numbers)"
)
SPREAD_OUT = "the records lie nearly as far apart as uniform ones"
OUT_OF_RANGE = "the mean lies beyond what doubles hold"
NOT_SHOWN = "the key of the group is not shown"
TOO_CURVED = "the records surround the point from all sides: no mean stands out"
CLIPPED = "the clip level that was given is shorter than most distances: give a longer one, or none"
VOID = "too few sites answered, and nothing is left to ask again"


#: On spaces without a largest distance the larger printed error counts with so many clip levels.
REACH = 32.0
#: Part that is expected of the error of a Hessian above 1, if all records lay along the step.
MISJUDGED = 0.5
#: The same of what jumps at the cut locus take from the Hessian: in one dimension, where counts
#: tell it but for the width of their bins, and in more, where they do not tell directions.
TURNING_MISJUDGED = (0.25, 1.0)
#: Part that is expected of the deviation of the number of records that change sides on the way: of
#: several minima a search ends in a near one.
TURNED_BY_CHANCE = 0.5
#: Counts exclude what is so many standard deviations above them.
_EXCLUDED = 2.0


def most_beyond(within: float, deviation: float) -> float:
    """Most of the share of records beyond the clip level that counts do not exclude.

    Parameters
    ----------
    within, deviation : float
        The share within it, as counted, and its standard deviation.
    """
    return min(max(1.0 - within, 0.0) + _EXCLUDED * deviation, 1.0)


def most_left(left: float, least_curvature: float) -> float:
    """Most that the last step leaves, if all records lie along it.

    Its Hessian is 1 then. On negative curvature a larger one is released, and steps are shorter.

    Parameters
    ----------
    left : float
        What it leaves as a rule.
    least_curvature : float
        Lower bound on sectional curvatures.
    """
    return left / MISJUDGED if least_curvature < 0.0 else left


def error_beyond(
    noise: float,
    left: float,
    clip: float,
    share: float,
    reach: float,
    overtaken: float = 0.0,
    moved: float = 0.0,
    turned: float = 0.0,
) -> float:
    """Expected error if that share of the records lies at a distance, all in one direction.

    Clipping moves the mean by e/(1 - s) at most, e the mean excess over the clip level and s the
    share (theorems 6 and 9); a record that changes sides moves it by two clip levels (theorem 10).

    Parameters
    ----------
    noise, left : float
        Parts of the error that have other reasons.
    clip : float
        The clip level.
    share : float
    reach : float
        The distance, from the point about which logarithms are clipped.
    overtaken, moved : float
        Share of other records that this point may have left behind the clip level, and its
        distance from where they were counted.
    turned : float
        Share of the records that the last step may find on the other side, behind the cut locus.
    """
    share, far = max(share, turned), max(reach - clip, 0.0)
    within = 1.0 - share
    excess = share * far + overtaken * min(moved, far) + 2.0 * clip * turned
    if excess > 0.0:
        excess = excess / within if within > 0.0 else math.inf
    return math.hypot(noise, left, excess)


@dataclass(frozen=True)
class Round:
    """A round of clipped logarithms.

    Attributes
    ----------
    mean : ndarray, shape (dim,)
        Of the clipped logarithms, shrunk, and cut to the clip level.
    length : float
        Of `mean`.
    signal : float
        That of the true mean: the root of what the square before has above the noise's.
    expected_noise : float
        Expected length of its noise.
    lost : float
        Length of what noise and shrinking leave, over that.
    deviation : float
        Standard deviation of each coordinate of its noise.
    carried : float
        That of the noise in each coordinate of the point that the step leads to.
    hessian : float
        By which the step is divided.
    turning : float
        What jumps at the cut locus took from it.
    heights : float
        Mean of sqrt(R^2 - t^2), t the clipped distances; 0 where the noise does not tell it.
    """

    mean: FloatArray
    length: float
    signal: float
    expected_noise: float
    lost: float
    deviation: float
    carried: float
    hessian: float
    turning: float
    heights: float


@dataclass(frozen=True)
class Found:
    """The end of a search.

    Attributes
    ----------
    value : ndarray or None
        The mean; None if none was found.
    reason : str or None
        Why none was found.
    spent : float
        mu or epsilon of all sums that were asked for.
    count, count_deviation : float
        Number of records that are points, and the standard deviation of its noise.
    radius : float
        Clip level of the last round.
    within, within_error : float
        Share of the records within it, and its standard deviation.
    noise, cut : float
        Expected length of what noise leaves, and mean excess over the clip level.
    left : float
        Length that the last step leaves, as a step of a descent with an approximate Hessian does.
    last_step, moved : float
        Length of the last step, and of those before it since the counts.
    overtaken : float
        Most of the share of records that were counted within the clip level and may lie beyond it
        where the last step began.
    turned : float
        Most of the share of records that may lie so near the cut locus that the way to the mean
        leads beyond it.
    sensitivity, scale : float
        What a unit changes in the last mean of logarithms, and the noise of each coordinate.
    spread : float
        Root mean square of clipped distances, on average over equal ones.
    variance, variance_error : float
        Mean square of distances up to `radius`, if asked for, and the deviation of its noise.
    centers, sizes : ndarray, or None
        Of clusters, shape (k, point_size) and (k,), if they were asked for.
    level : float
        Distance of the mean within which .95 of the records lie.
    blocks, rounds : int
    expected_error : float
        Expected distance from the mean of the records: of noise, of the cut, and of what the last
        step leaves.
    most_error, reach : float
        The same if all that counts do not exclude lies beyond the clip level, at the distance
        `reach`.
    """

    value: FloatArray | None
    reason: str | None
    spent: float
    count: float
    count_deviation: float
    radius: float = math.nan
    within: float = math.nan
    within_error: float = math.nan
    noise: float = math.nan
    cut: float = math.nan
    left: float = 0.0
    last_step: float = math.nan
    moved: float = math.nan
    overtaken: float = math.nan
    turned: float = math.nan
    sensitivity: float = math.nan
    scale: float = math.nan
    spread: float = math.nan
    variance: float = math.nan
    variance_error: float = math.nan
    centers: FloatArray | None = None
    sizes: FloatArray | None = None
    level: float = math.inf
    blocks: int = 0
    rounds: int = 0
    expected_error: float = math.nan
    most_error: float = math.nan
    reach: float = math.nan


class Stopped(Exception):
    """The search ends without a mean."""
