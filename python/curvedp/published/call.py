"""One call of a published mechanism: its checked parameters, its randomness, its release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.mechanisms import ways_to_meet
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release, Unproved
from curvedp.privacy.payment import pay
from curvedp.privacy.provenance import Provenance

WHY = (
    "the published calibration does not count rounding and the solver's error as sensitivity, nor "
    "does it keep the released mean in the ball; it is offered to reproduce results, not to "
    "protect records"
)


class Options(TypedDict, total=False):
    """Keywords that every published mechanism takes.

    Attributes
    ----------
    records_per_unit : int
        Number of records that one unit (a person) contributes at most; 1 if not given.
    ledger : Ledger or None
        Refuses the call: no ledger accepts an `Unproved` release.
    seed : int or None
        The same seed draws the same noise.
    """

    records_per_unit: int
    ledger: Ledger | None
    seed: int | None


@dataclass(frozen=True)
class Call:
    """A call whose parameters are checked; `why` says what is missing for a guarantee."""

    data: FloatArray
    ball: Ball
    guarantee: Guarantee
    records_per_unit: int
    ledger: Ledger | None
    seed: int | None
    why: str

    @classmethod
    def check(
        cls,
        records: ArrayLike,
        ball: Ball,
        guarantee: Guarantee,
        *,
        why: str = WHY,
        records_per_unit: int = 1,
        ledger: Ledger | None = None,
        seed: int | None = None,
    ) -> Call:
        """The call, with the records as an array; raises for shapes, dtypes and parameters."""
        check_ball(ball)
        check_guarantee(guarantee)
        return cls(
            data=ball.manifold.read_records(records),
            ball=ball,
            guarantee=guarantee,
            records_per_unit=as_count(records_per_unit, "records_per_unit"),
            ledger=ledger,
            seed=None if seed is None else as_count(seed, "seed", least=0, most=2**63 - 1),
            why=why,
        )

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.data)

    def pay(self, label: str) -> None:
        """Asks the ledger, which refuses: nothing is drawn then."""
        pay(self.ledger, self.unproved(self.guarantee), label)

    def unproved(self, claimed: Guarantee) -> Unproved:
        """The claim, marked with what is missing."""
        return Unproved(claimed=claimed, why=self.why)

    def shares(self, weights: Sequence[float]) -> tuple[PureDP | GDP, ...]:
        """Guarantees of the stages, which compose to the claimed one."""
        return self.native().split(weights)

    def native(self) -> PureDP | GDP:
        """The claimed guarantee as noise is calibrated to it: itself if pure, GDP otherwise."""
        return ways_to_meet(self.guarantee)[0]

    def enter(self) -> FloatArray:
        """The records projected on the ball and moved into its frame, one row each."""
        tell_stage("project")
        return self.ball.enter(self.data)

    def stream(self, stage: int) -> _core.Stream:
        """The randomness of a stage."""
        if self.seed is None:
            return _core.Stream.from_os()
        return _core.Stream.from_key(self.seed.to_bytes(32, "little"), stage)

    def release(
        self, claimed: Guarantee, *, assumptions: Sequence[str] = (), **fields: Any
    ) -> Release:
        """A release that claims a guarantee and carries none."""
        seeded = () if self.seed is None else ("seeded",)
        return Release(
            guarantee=self.unproved(claimed),
            manifold=self.ball.manifold.spec,
            ball_center=self.ball.center,
            ball_radius=self.ball.radius,
            ball_unit=self.ball.unit,
            n=self.n,
            records_per_unit=self.records_per_unit,
            assumptions=frozenset({"idealized-sampling", *seeded, *assumptions}),
            calibration="published",
            provenance=Provenance.now(),
            **fields,
        )
