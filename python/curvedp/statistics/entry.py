"""What every private statistic is called with, checked before a record's value is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray, as_choice, as_count, as_records
from curvedp.domain import Ball
from curvedp.mechanisms import TangentGaussian, native_guarantee
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release, Unproved

#: True prints the name of each stage to standard error; a callable receives it.
Progress = bool | Callable[[str], None]

_PUBLISHED_WHY = (
    "the published calibration does not count rounding and the solver's error as sensitivity, nor "
    "does it keep the released mean in the ball; it is offered to reproduce results, not to "
    "protect records"
)
SEEDED_WHY = "the noise was drawn from a seed, which whoever knows it can draw again and subtract"
_BASE_POINT_WHY = "the base point comes from a release without a guarantee"


@dataclass(frozen=True)
class Entry:
    """One call of a private statistic."""

    data: FloatArray
    ball: Ball
    guarantee: Guarantee
    records_per_unit: int
    ledger: Ledger | None
    calibration: str
    seed: int | None
    report: Callable[[str], None]

    @classmethod
    def check(
        cls,
        records: ArrayLike,
        ball: Ball,
        guarantee: Guarantee,
        *,
        records_per_unit: int,
        ledger: Ledger | None,
        calibration: str,
        seed: int | None,
        progress: Progress,
    ) -> Entry:
        """The call, with its parameters checked and the records as an array."""
        check_ball(ball)
        data = as_records(records, ball.manifold.point_shape)
        return cls(
            data=data,
            ball=ball,
            guarantee=check_guarantee(guarantee),
            records_per_unit=as_count(records_per_unit, "records_per_unit"),
            ledger=ledger,
            calibration=as_choice(calibration, sensitivity.CALIBRATIONS, "calibration"),
            seed=None if seed is None else as_count(seed, "seed", least=0, most=2**63 - 1),
            report=_reporter(progress),
        )

    @classmethod
    def planned(cls, ball: Ball, n: int, guarantee: Guarantee, records_per_unit: int) -> Entry:
        """A call with n records that it does not hold: for what is public before there are any."""
        return cls(
            data=np.broadcast_to(ball.center, (n, *ball.center.shape)),
            ball=ball,
            guarantee=guarantee,
            records_per_unit=records_per_unit,
            ledger=None,
            calibration="proved",
            seed=None,
            report=_reporter(False),
        )

    @property
    def n(self) -> int:
        """Number of records (public)."""
        return len(self.data)

    def promise(self, guarantee: Guarantee, *, base_is_released: bool = True) -> Guarantee:
        """What a release of this call may claim when its noise is calibrated to `guarantee`."""
        if self.calibration == "published":
            return Unproved(claimed=guarantee, why=_PUBLISHED_WHY)
        if self.seed is not None:
            return Unproved(claimed=guarantee, why=SEEDED_WHY)
        if not base_is_released:
            return Unproved(claimed=guarantee, why=_BASE_POINT_WHY)
        return guarantee

    def spend(self, label: str, promise: Guarantee | None = None) -> None:
        """Takes the whole guarantee from the ledger, before any noise is drawn.

        `promise` is what the release will claim, where that is less than `Entry.promise`.
        """
        if self.ledger is not None:
            claimed = self.promise(self.guarantee) if promise is None else promise
            self.ledger.spend(claimed, label=label)

    def shares(self, weights: Sequence[float]) -> tuple[PureDP | GDP, ...]:
        """Guarantees of the stages, which compose to the call's: see `Guarantee.split`."""
        return native(self.guarantee).split(weights)

    def enter(self) -> FloatArray:
        """The records projected on the ball and moved into its frame, one row each."""
        self.report("project")
        return self.ball._enter(self.data)

    def stream(self, stage: int) -> _core.Stream:
        """The randomness of a stage."""
        if self.seed is None:
            return _core.Stream.from_os()
        return _core.Stream.from_key(self.seed.to_bytes(32, "little"), stage)

    def release(self, guarantee: Guarantee, **fields: Any) -> Release:
        """A release of this call with the given promise."""
        assumptions = {"idealized-sampling"} | ({"seeded"} if self.seed is not None else set())
        described: dict[str, Any] = {
            "guarantee": guarantee,
            "manifold": self.ball.manifold.spec,
            "ball_center": self.ball.center,
            "ball_radius": self.ball.radius,
            "n": self.n,
            "records_per_unit": self.records_per_unit,
            "assumptions": frozenset(assumptions),
            "calibration": self.calibration,
        }
        return Release(**(described | fields))


def check_ball(ball: Ball) -> Ball:
    """The ball, if it is one."""
    if not isinstance(ball, Ball):
        raise TypeError(f"ball must be a Ball(manifold, center, radius), got {type(ball).__name__}")
    return ball


def check_guarantee(guarantee: Guarantee) -> Guarantee:
    """The guarantee, if a mechanism can be calibrated to it."""
    if not isinstance(guarantee, Guarantee) or isinstance(guarantee, Unproved):
        raise TypeError(
            "guarantee must be PureDP, ApproxDP, ZCDP or GDP, such as PureDP(epsilon=1.0), got "
            f"{type(guarantee).__name__}"
        )
    return guarantee


def native(guarantee: Guarantee) -> PureDP | GDP:
    """What noise is calibrated to so that `guarantee` follows: itself if pure, GDP otherwise."""
    if isinstance(guarantee, PureDP):
        return guarantee
    return native_guarantee(guarantee, TangentGaussian)


def _reporter(progress: Progress) -> Callable[[str], None]:
    if callable(progress):
        return progress
    if progress:
        return lambda stage: print(f"curvedp: {stage}", file=sys.stderr)
    return lambda stage: None
