"""Released numbers of records that were points inside the ball, and what these tell.

Everything here is computed from released numbers. How these are drawn, and that they are private,
stands in `curvedp.statistics.coverage` and docs/proofs/coverage.md.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

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
        no_point = 2.0 / math.sqrt(3.0) * float(point[1])
        outside = float(point[0]) - 0.5 * no_point
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
        if self.noisy[2] - reach > _MOST_NO_POINTS * self.n:
            found.append(
                f"about {self._share(self.no_point)} of the records are no points of the manifold "
                "and count as the ball's centre: look for missing values, the order of the "
                "numbers of a record, and deficient rank"
            )
        if self.noisy[0] + reach < _LEAST_INSIDE * self.n:
            found.append(
                f"only about {self._share(self.inside)} of the records are points inside the ball, "
                "and the result is largely that of records moved to its edge or centre: look at "
                "units, the order of columns, the ball's centre and its radius"
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
        error = f"(± {self._share(2.0 * self.standard_error)})"
        return (
            f"about {self._share(self.inside)} {error} of the records were points inside the ball; "
            f"{self._share(self.outside)} {error} outside, moved to its edge; "
            f"{self._share(self.no_point)} {error} no points, replaced by its centre"
        )

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


def _on_simplex(counts: tuple[float, float, float], n: int) -> tuple[float, float, float]:
    """The closest three numbers that are nonnegative and n together."""
    sorted_counts = np.sort(np.array(counts))[::-1]
    excess = (np.cumsum(sorted_counts) - n) / np.arange(1, 4)
    last = np.flatnonzero(sorted_counts > excess)[-1]
    inside, outside, no_point = np.maximum(np.array(counts) - excess[last], 0.0).tolist()
    return inside, outside, no_point
