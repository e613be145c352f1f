"""The plan of a count of records where their number is protected: its noise, share and margin.

    count -> number of records to use, and whether a secret key is shown

Proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp import _core
from curvedp.errors import ExistenceError
from curvedp.mechanisms import ways_to_meet
from curvedp.mechanisms.calibration import budget_of
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.base import with_relation
from curvedp.privacy.conversion import round_down
from curvedp.privacy.private_keys import geometric_key_threshold
from curvedp.privacy.record_count import geometric_deviation, rounded_deviation
from curvedp.sums.noise import mean_length

#: Least and largest share of epsilon or mu that the count takes.
_PURE_SHARES, _GAUSSIAN_SHARES = (0.03, 0.5), (0.05, 0.5)
#: Distance from the ball's centre to the mean over that by which a record moves n means, in the
#: rule for the margin.
_ECCENTRICITY = 0.25
#: Largest scale of a count: beyond it the grid of the noise holds no integers.
_LARGEST_SCALE = 2.0**20


@dataclass(frozen=True)
class CountPlan:
    """Everything about a count that is fixed before a record is seen.

    Attributes
    ----------
    share : Guarantee
        Of the count, for adding or removing a record.
    rest : Guarantee
        Of the statistic, for replacing a record.
    way : PureDP or GDP
        The numbers of the share as the count's noise is calibrated to them: the sensitivity that
        it is calibrated to is that of adding or removing a record.
    records_per_unit, dim, n_guess : int
    key_delta : float or None
        Probability with which the key of a single unit may be shown, if keys are secret.
    padding : float or None
        Largest probability of using more records than there are; None where accuracy decides.
    """

    share: Guarantee
    rest: Guarantee
    way: PureDP | GDP
    records_per_unit: int
    dim: int
    n_guess: int
    key_delta: float | None = None
    padding: float | None = None

    @classmethod
    def of(
        cls,
        whole: Guarantee,
        n_guess: int,
        records_per_unit: int,
        dim: int,
        *,
        private_keys: bool = False,
        padding: float | None = None,
    ) -> CountPlan:
        """The plan by the rule for the share, (2/(n mu))^(1/3) of mu, (2/(n epsilon))^(1/2) of
        epsilon, with n/k for n where a unit has up to k records; with secret keys at least so much
        that a group of n_guess records is shown."""
        key_delta = whole.delta if private_keys and isinstance(whole, ApproxDP) else None
        n = n_guess / records_per_unit
        share, rest = _split(with_relation(whole, "replace"), n, key_delta)
        way, moved = ways_to_meet(share)[0], with_relation(share, "add-remove")
        plan = cls(moved, rest, way, records_per_unit, dim, n_guess, key_delta, padding)
        if plan.standard_error > min(n_guess, _LARGEST_SCALE):
            raise ExistenceError(
                f"too small a budget to count about {n_guess} records: the count would err by "
                f"{plan.standard_error:.3g}. Use a larger budget"
            )
        return plan

    @property
    def scale(self) -> float:
        """Length of the noise: 1/rate of the two-sided geometric law, or sigma."""
        if isinstance(self.way, PureDP):
            return 1.0 / self._rate
        return self._gaussian.scale

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise; of rounded Gaussian noise at most."""
        if isinstance(self.way, PureDP):
            return geometric_deviation(self._rate)
        return rounded_deviation(self.scale)

    @property
    def _rate(self) -> float:
        """Rate epsilon/k of the two-sided geometric law, rounded down."""
        return round_down(Fraction(budget_of(self.way)) / self.records_per_unit)

    @property
    def _gaussian(self) -> VectorNoise:
        return VectorNoise.of(1, float(self.records_per_unit), 0.0, 1.0, self.way)

    @property
    def key_threshold(self) -> float:
        """Least count at which a group with a secret key is shown."""
        # keys are secret under (epsilon, delta) alone, of which a count takes a share of epsilon
        assert self.key_delta is not None
        assert isinstance(self.way, PureDP)
        return geometric_key_threshold(self.records_per_unit, self._rate, self.key_delta)

    def draw(self, n: NDArray[np.int64], stream: _core.Stream) -> NDArray[np.int64]:
        """Numbers of records with noise, of disjoint records."""
        noisy = np.zeros(len(n))
        if isinstance(self.way, PureDP):
            stream.add_discrete_laplace(self._rate, np.ascontiguousarray(n, dtype=np.int64), noisy)
            return noisy.astype(np.int64)
        # the grid's step divides 1: this is n plus the real noise, on the grid and rounded
        return n + np.floor(self._gaussian.add(noisy, stream) + 0.5).astype(np.int64)

    def target(self, count: int) -> int:
        """Number of records to use, by the count alone; it may be below 1."""
        return math.floor(count - self.margin(max(count, 1)) * self.scale)

    def margin(self, n: int) -> float:
        """The margin below the count, in lengths of its noise.

        By the rule that balances records left out against copies of the centre, or such that the
        noise exceeds it with probability `padding`.
        """
        is_pure, missing = isinstance(self.way, PureDP), self.padding
        if missing is None:
            noise = ways_to_meet(self.rest)[0]
            length = self.dim if isinstance(noise, PureDP) else mean_length(self.dim)
            missing = length * self.records_per_unit / (_ECCENTRICITY * budget_of(noise) * n)
        if is_pure:
            return max(0.0, -math.log(2.0 * missing))
        return max(0.0, -float(scipy.special.ndtri(min(missing, 0.5))))


def share_of(way: PureDP | GDP, n: float) -> float:
    """The share of epsilon or mu that a count of about n records takes."""
    if isinstance(way, PureDP):
        (least, most), wished = _PURE_SHARES, math.sqrt(2.0 / (n * way.epsilon))
    else:
        (least, most), wished = _GAUSSIAN_SHARES, math.cbrt(2.0 / (n * way.mu))
    return min(max(wished, least), most)


def _split(whole: Guarantee, n: float, key_delta: float | None) -> tuple[Guarantee, Guarantee]:
    """Shares of a count of about n records and of the rest, which compose to the whole.

    Of (epsilon, delta) the count takes a share of epsilon alone.
    """
    if not isinstance(whole, ApproxDP):
        way = ways_to_meet(whole)[0]
        f = share_of(way, n)
        power = 1 if isinstance(way, PureDP) else 2
        first, second = whole.split((f**power, 1.0 - f**power))
        return first, second
    if whole.epsilon == 0.0:
        raise ExistenceError("no count exists at epsilon 0: use a larger epsilon")
    f = share_of(PureDP(whole.epsilon), n)
    if key_delta is not None:  # a threshold of about half of n
        f = min(max(f, -2.0 * math.log(key_delta) / (whole.epsilon * n)), _PURE_SHARES[1])
    share = Fraction(f) * Fraction(whole.epsilon)
    count = PureDP(round_down(share))
    rest = round_down(Fraction(whole.epsilon) - Fraction(count.epsilon))
    return count, ApproxDP(rest, whole.delta)
