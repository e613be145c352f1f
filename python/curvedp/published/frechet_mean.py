"""The private Fréchet mean with the sensitivity of Reimherr, Bharath and Soto (2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray
from curvedp.checked_domain import refused_radius
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, choose_mechanism, ways_to_meet
from curvedp.privacy import Guarantee, Release
from curvedp.published import sensitivity
from curvedp.published.call import Call, Options

#: The solver's tolerance, as a fraction of the sensitivity.
_TOLERANCE_SHARE = 1e-4


@quiet
def frechet_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mechanism: str | type[Mechanism] | None = None,
    **options: Unpack[Options],
) -> Release:
    """Draw the Fréchet mean with noise in proportion to the published sensitivity: `Unproved`.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
    ball : Ball
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        The guarantee that the paper claims.
    mechanism : str or Mechanism class, optional
        See `curvedp.mechanisms.choose_mechanism`.
    **options
        `records_per_unit`, `ledger` and `seed` as in `curvedp.frechet_mean`; a ledger
        refuses the call.

    Returns
    -------
    Release
        `value` has shape point_shape.

    Raises
    ------
    ValueError
        If the published sensitivity is infinite: from r = pi/(4 sqrt(kappa)) on.
    ConversionError
        If a ledger is given.
    ExistenceError, TypeError
        As in `curvedp.frechet_mean`.

    References
    ----------
    Reimherr, Bharath and Soto, Differential privacy over Riemannian manifolds, 2021.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> print(cdp.published.frechet_mean(records, ball, cdp.PureDP(1.0)).guarantee.claimed)
    PureDP(epsilon=1)
    """
    call = Call.check(records, ball, guarantee, **options)
    design = MeanDesign.of(call, guarantee, mechanism)
    call.pay("published Fréchet mean")
    return design.release(call.enter())


@dataclass(frozen=True)
class MeanDesign:
    """Everything about a private mean that is fixed before a record is seen."""

    call: Call
    guarantee: Guarantee
    noise: Mechanism
    plan: _core.Plan
    sensitivity: float

    @classmethod
    def of(
        cls, call: Call, guarantee: Guarantee, mechanism: str | type[Mechanism] | None = None
    ) -> MeanDesign:
        """The mean of a call, calibrated to a share `guarantee` of what the call claims."""
        ball = call.ball
        delta = sensitivity.frechet_mean(ball, call.n, records_per_unit=call.records_per_unit)
        plan = _planned(ball, call.n, call.records_per_unit)
        if plan is None:
            raise refused_radius(
                ball, lambda other: _planned(other, call.n, call.records_per_unit) is not None
            )
        way = ways_to_meet(guarantee, mechanism)[0]
        kind = choose_mechanism(ball, way, mechanism)
        try:
            noise = kind(ball, delta, way)
        except ExistenceError as error:
            raise error.of_whole(guarantee, call.guarantee) from None
        return cls(call, guarantee, noise, plan, delta)

    def release(self, rows: FloatArray) -> Release:
        """The mean of rows of the frame with its noise, the first stage of the call."""
        tell_stage("mean")
        mean = self.call.ball.frame.mean(rows, self.plan)
        tell_stage("noise")
        return self.call.release(
            self.guarantee,
            value=self.noise._release(mean, self.call.stream(0), 1)[0],
            mechanism=self.noise.name,
            statistic="Fréchet mean",
            sensitivity=self.sensitivity,
            solver_tolerance=self.plan.tolerance,
            scale=self.noise.scale,
            expected_error=self.noise.expected_error,
        )


def _planned(ball: Ball, n: int, records_per_unit: int) -> _core.Plan | None:
    """The solver's plan for the mean of n records, if there is one."""
    delta = sensitivity.frechet_mean(ball, n, records_per_unit=records_per_unit)
    return ball.frame.plan(n, _TOLERANCE_SHARE * delta)
