"""Released numbers of records that were points inside the ball, and what these tell.

Everything here is computed from released numbers. How these are drawn, and that they are private,
stands in `curvedp.statistics.coverage` and docs/proofs/coverage.md.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from curvedp._validation import FloatArray
from curvedp.privacy.base import Guarantee

#: Standard errors that a share must lie beyond its limit before it is warned of.
_MARGINS = {"Gaussian": 2.0, "Laplace": 2.5}
#: More no points than this share are warned of, and fewer points inside than that.
_MOST_NO_POINTS, _LEAST_INSIDE = 0.02, 0.7


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Numbers of records that were points inside the ball, points outside it, and no points.

    Attributes
    ----------
    inside, outside, no_point : float
        Numbers of records, or of units where they are known by name: nonnegative, n together.
    noisy : tuple of float
        The same three as they were drawn, unbiased: they may lie outside [0, n].
    standard_error : float
        Of each of `noisy`.
    n : int
        Number of records that were counted.
    noise : str
        "Gaussian" or "Laplace".
    guarantee : Guarantee
        Of these numbers alone, to one unit; the release's own guarantee covers them.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.0)
    >>> X = np.tile(np.eye(2), (2000, 1, 1))
    >>> mean = cdp.frechet_mean(X, ball, cdp.GDP(mu=2.0), coverage=True)
    >>> mean.coverage.inside > 1800, mean.coverage.warnings
    (True, ())
    """

    inside: float
    outside: float
    no_point: float
    noisy: tuple[float, float, float]
    standard_error: float
    n: int
    noise: str
    guarantee: Guarantee

    @classmethod
    def of(
        cls, point: Any, standard_error: float, n: int, noise: str, guarantee: Guarantee
    ) -> Coverage:
        """The numbers that a noisy point of the triangle stands for.

        Parameters
        ----------
        point : ndarray, shape (2,)
            Sum of the corners of n records, with noise.
        standard_error : float
        n : int
        noise : str
        guarantee : Guarantee
        """
        _, outside, no_point = numbers_of_point(float(point[0]), float(point[1]), n)
        return cls.of_numbers(outside, no_point, standard_error, n, noise, guarantee)

    @classmethod
    def of_numbers(
        cls,
        outside: float,
        no_point: float,
        standard_error: float,
        n: int,
        noise: str,
        guarantee: Guarantee,
    ) -> Coverage:
        """The numbers that follow from two of them with their noise.

        Parameters
        ----------
        outside, no_point : float
        standard_error : float
        n : int
        noise : str
        guarantee : Guarantee
        """
        noisy = (n - outside - no_point, outside, no_point)
        inside, outside, no_point = _on_simplex(noisy, n)
        return cls(
            inside=inside,
            outside=outside,
            no_point=no_point,
            noisy=noisy,
            standard_error=standard_error,
            n=n,
            noise=noise,
            guarantee=guarantee,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences against the ball or the format of the records; empty if there are none."""
        reach = _MARGINS[self.noise] * self.standard_error
        found = []
        if self.noisy[2] - reach > _MOST_NO_POINTS * self.n and self.no_point > reach:
            found.append(
                f"about {self._share(self.no_point)} (± {self._error}) of the records are no "
                "points of the manifold and count as the ball's centre: look for missing values, "
                "texts (code two categories as 0 and 1), the order of the numbers of a record, and "
                "deficient rank"
            )
        if self.noisy[0] + reach < _LEAST_INSIDE * self.n:
            found.append(
                f"only about {self._share(self.inside)} (± {self._error}) of the records are "
                "points inside the ball, and the result is largely that of records moved to its "
                "edge or centre: look at units, the order of columns, the ball's centre and its "
                "radius"
            )
        return tuple(found)

    def bias(self, distance: float) -> float:
        """Distance of the mean of the points from the released mean, beside the noise.

        phi / (1 - phi) times the released mean's distance from the centre, phi the share of no
        points, which stand at the centre: exact in flat space, if those that are missing are like
        the others.

        Parameters
        ----------
        distance : float
            Of the released mean from the ball's centre.

        Returns
        -------
        float
        """
        share = min(self.no_point / self.n, 1.0 - 1.0 / self.n)
        return share / (1.0 - share) * distance

    def __str__(self) -> str:
        own = map(self._share, (self.inside, self.outside, self.no_point))
        return f"about {_shares(*own, error=self._error)}"

    @property
    def _error(self) -> str:
        return self._share(2.0 * self.standard_error)

    def _share(self, count: float) -> str:
        return f"{100.0 * count / self.n:.0f} %"

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return asdict(self) | {"noisy": list(self.noisy), "guarantee": self.guarantee.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Coverage:
        """Inverse of `to_dict`.

        Raises
        ------
        ValueError
            If the numbers are none of a coverage.
        """
        noisy = tuple(data["noisy"])
        numbers = (*noisy, data["standard_error"], data["n"])
        if len(noisy) != 3 or not all(map(math.isfinite, numbers)) or data["noise"] not in _MARGINS:
            raise ValueError("coverage is damaged")
        known = {"noisy": noisy, "guarantee": Guarantee.from_dict(data["guarantee"])}
        return cls(**(data | known))


@dataclass(frozen=True, kw_only=True)
class GroupCoverage:
    """Counts of the records of each of many groups, added up.

    The counts themselves stand with the releases: as `Release.coverage` of each group, and in the
    columns `inside`, `outside`, `no_point` and `count_error` of a table, unbiased, so that they
    may lie outside [0, n].

    Attributes
    ----------
    groups, counted : int
        Number of groups, and of those whose records were counted: the others are too small.
    n : int
        Number of records, or of units where they are known by name, in groups that were counted.
    noisy : tuple of float
        Numbers of records inside the ball, outside it, and no points: added up, unbiased.
    standard_error : float
        Of each of `noisy`.
    unreadable, elsewhere : int
        Number of groups with too many no points, and with too few points inside their ball.
    noise : str
        "Gaussian" or "Laplace".
    guarantee : Guarantee
        Of the count of each group, to a unit in it; that of the group's release covers it.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.0)
    >>> X, halves = np.tile(np.eye(2), (4000, 1, 1)), [0, 2000, 4000]
    >>> means = cdp.frechet_mean(X, ball, cdp.GDP(mu=2.0), groups=halves, coverage="each")
    >>> means.coverage.counted, means[0].coverage.inside > 1800, means.coverage.warnings
    (2, True, ())
    """

    groups: int
    counted: int
    n: int
    noisy: tuple[float, float, float]
    standard_error: float
    unreadable: int
    elsewhere: int
    noise: str
    guarantee: Guarantee

    @classmethod
    def of(
        cls,
        n: FloatArray,
        outside: FloatArray,
        no_point: FloatArray,
        error: FloatArray,
        *,
        groups: int,
        noise: str,
        guarantee: Guarantee,
    ) -> GroupCoverage:
        """The counts of some of so many groups, added up.

        Parameters
        ----------
        n, outside, no_point, error : ndarray
            Of each group; NaN where nothing was counted.
        groups : int
            Number of all groups, also of those that are not among these: a group is doubtful if
            its numbers would seldom be so by chance in any of so many.
        noise : str
        guarantee : Guarantee
        """
        known = np.isfinite(error)
        n, outside, no_point, error = (own[known] for own in (n, outside, no_point, error))
        inside, reach = n - outside - no_point, _margin(noise, groups) * error
        sums = (float(inside.sum()), float(outside.sum()), float(no_point.sum()))
        return cls(
            groups=len(known),
            counted=len(n),
            n=int(n.sum()),
            noisy=sums,
            standard_error=math.sqrt(float(np.sum(error**2))),
            unreadable=int(np.count_nonzero(no_point - reach > _MOST_NO_POINTS * n)),
            elsewhere=int(np.count_nonzero(inside + reach < _LEAST_INSIDE * n)),
            noise=noise,
            guarantee=guarantee,
        )

    def __add__(self, other: GroupCoverage) -> GroupCoverage:
        """That of the groups of both."""
        inside, outside, no_point = map(sum, zip(self.noisy, other.noisy, strict=True))
        return GroupCoverage(
            groups=self.groups + other.groups,
            counted=self.counted + other.counted,
            n=self.n + other.n,
            noisy=(inside, outside, no_point),
            standard_error=math.hypot(self.standard_error, other.standard_error),
            unreadable=self.unreadable + other.unreadable,
            elsewhere=self.elsewhere + other.elsewhere,
            noise=self.noise,
            guarantee=self.guarantee,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences against the balls or the format of the records; empty if there are none."""
        found = []
        if self.unreadable:
            found.append(
                f"in {self.unreadable} of {self.groups} groups many records are no points of the "
                "manifold and count as the ball's centre: look for missing values, texts (code two "
                "categories as 0 and 1), the order of the numbers of a record, and deficient rank"
            )
        if self.elsewhere:
            found.append(
                f"in {self.elsewhere} of {self.groups} groups few records are points inside the "
                "ball, and the result is largely that of records moved to its edge or centre: look "
                "at units, the order of columns, the ball's centre and its radius"
            )
        return tuple(found)

    def __str__(self) -> str:
        missing = self.groups - self.counted
        plural = "s are" if missing > 1 else " is"
        small = f"; {missing} group{plural} too small for a count" if missing else ""
        if not self.counted:
            return "one count for each group" + small
        inside, outside, no_point = _on_simplex(self.noisy, self.n)
        shares = [f"{100.0 * own / self.n:.0f} %" for own in (inside, outside, no_point)]
        error = f"{200.0 * self.standard_error / self.n:.0f} %"
        told = _shares(*shares, error=error)
        return f"one count for each of {self.counted} groups; in all about {told}{small}"

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return asdict(self) | {"noisy": list(self.noisy), "guarantee": self.guarantee.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GroupCoverage:
        """Inverse of `to_dict`."""
        known = {
            "noisy": tuple(data["noisy"]),
            "guarantee": Guarantee.from_dict(data["guarantee"]),
        }
        return cls(**(data | known))


def _shares(inside: str, outside: str, no_point: str, *, error: str) -> str:
    """Shares of the records by what became of them, with their error."""
    return (
        f"{inside} of the records were points inside the ball, {outside} outside, moved to its "
        f"edge, {no_point} no points, replaced by its centre (each ± {error}, two standard errors)"
    )


def coverage_from_dict(data: dict[str, Any]) -> Coverage | GroupCoverage:
    """Inverse of `to_dict` of either."""
    return GroupCoverage.from_dict(data) if "groups" in data else Coverage.from_dict(data)


def numbers_of_point(x: Any, y: Any, n: Any) -> tuple[Any, Any, Any]:
    """Numbers inside, outside and of no points that a point of the triangle stands for.

    Parameters
    ----------
    x, y, n : number, or ndarray of one shape
        Coordinates, and the number of records.
    """
    no_point = 2.0 / math.sqrt(3.0) * y
    outside = x - 0.5 * no_point
    return n - outside - no_point, outside, no_point


def _margin(noise: str, groups: int) -> float:
    """Standard errors that one of so many counts must lie beyond its limit to be warned of.

    Such that false alarms are about as rare as those of one count.
    """
    usual, groups = _MARGINS[noise], max(groups, 1)
    if noise == "Laplace":  # whose tail is about exp(-sqrt(3) t)
        return usual + 0.65 * math.log(groups)
    normal = NormalDist()
    return -normal.inv_cdf(normal.cdf(-usual) / groups)


def _on_simplex(counts: tuple[float, float, float], n: int) -> tuple[float, float, float]:
    """The closest three numbers that are nonnegative and n together."""
    excess = total = 0.0
    for k, count in enumerate(sorted(counts, reverse=True), 1):
        total += count
        if count > (total - n) / k:
            excess = (total - n) / k
    inside, outside, no_point = (max(0.0, count - excess) for count in counts)
    return inside, outside, no_point
