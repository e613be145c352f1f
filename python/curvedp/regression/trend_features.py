"""Records and covariates about private middles, in which a trend of the mean is sought.

    c = mean of the records in the chart, m = mean of the covariates, R = median of |u_i - c|
    phi(u) = (u - c)/R and z - m, cut to the unit ball and to [-1/2, 1/2]

c and R are functions of the records alone, m of the covariates alone, all with noise of their own:
where records and covariates are independent, relabelled ones have the law of the true ones. The
ball may be wide beside the records: only R counts. Proof: docs/proofs/permutation-tests.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.mechanisms.rank_exponential import RankExponential
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, PureDP

#: Share of the budget that the three take, and their shares of it.
MEASURED = 0.2
OF_THREE = (0.6, 0.1, 0.3)
#: R is sought from this share of its largest value on.
_SHORTEST = 1e-3
#: R is the median: less noise than at higher quantiles, for a signal that is cut little more.
_LEVEL = 0.5


@dataclass(frozen=True)
class Middles:
    """The noise of c, m and R, fixed before a record is seen.

    Attributes
    ----------
    center, middle : VectorNoise
    length : RankExponential
    radius : float
        Of the ball.
    """

    center: VectorNoise
    middle: VectorNoise
    length: RankExponential
    radius: float

    @classmethod
    def of(
        cls, ball: Ball, n: int, columns: int, records_per_unit: int, way: PureDP | GDP
    ) -> Middles:
        """Calibrated to a guarantee of the three together."""
        shares = way.split(OF_THREE)
        shift, error = min(1.0, records_per_unit / n), 1.01 * 2.0**-53 * (n + 4)
        radius, root = ball.radius * (1 + BOUNDARY_SLACK), math.sqrt(columns)
        dim = ball.manifold.dim
        return cls(
            VectorNoise.of(dim, 2 * radius * shift, radius * error, radius, shares[0]),
            VectorNoise.of(columns, root * shift, root * error, root / 2, shares[1]),
            RankExponential(
                _LEVEL,
                low=2 * radius * _SHORTEST,
                high=2 * radius,
                guarantee=shares[2],
                records_per_unit=records_per_unit,
                base="log-uniform",
            ),
            radius,
        )

    def applied(
        self, coords: FloatArray, times: FloatArray, streams: Sequence[_core.Stream]
    ) -> tuple[FloatArray, FloatArray]:
        """phi(u), at most 1 long, and z - m, in [-1/2, 1/2].

        Parameters
        ----------
        coords : ndarray, shape (n, dim)
            At most `radius` long.
        times : ndarray, shape (n, q)
            In [-1/2, 1/2].
        streams : sequence of three
        """
        own = coords - self._center(coords, streams[0])
        middle = np.clip(self.middle.add(_mean(times), streams[1]), -0.5, 0.5)
        lengths = np.linalg.norm(own, axis=1)
        own /= float(self.length.sample(lengths, streams[2])[0])
        _core.shorten(own, 1.0)
        return own, np.clip(times - middle, -0.5, 0.5)

    def _center(self, coords: FloatArray, stream: _core.Stream) -> FloatArray:
        """c, shrunk to the ball's centre by what of its length is noise (James and Stein)."""
        noisy = self.center.add(_mean(coords), stream)
        square = float(noisy @ noisy)
        noise = len(noisy) * self.center.deviation**2
        noisy *= max(0.0, 1.0 - noise / square) if square else 0.0
        _core.shorten(noisy[None], self.radius)
        return noisy


def _mean(rows: FloatArray) -> FloatArray:
    """Along contiguous rows, which NumPy adds up pairwise."""
    return np.asarray(np.ascontiguousarray(rows.T).mean(axis=1))
