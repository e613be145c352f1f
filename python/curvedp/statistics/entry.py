"""One call of a system of several stages: PrivateMail, a density, a conformal mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._memory import ask_for_memory
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball, check_ball
from curvedp.mechanisms import ways_to_meet
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release, Unproved
from curvedp.statistics.call import SEEDED_WHY, check_guarantee
from curvedp.statistics.grouping import Grouping, GroupsLike, Offsets

#: Memory that a call takes, in sizes of the records.
_COPIES = 8.0


@dataclass(frozen=True)
class Entry:
    """The call, checked before a record's value is looked at.

    Attributes
    ----------
    data : ndarray, shape (records, *point_shape)
        With units known by name, those of one unit after the other.
    unit_ends : ndarray of int, shape (units + 1,), or None
        Unit j has the records ``unit_ends[j]:unit_ends[j + 1]``; None where it is not known who is
        who.
    """

    data: FloatArray
    ball: Ball
    guarantee: Guarantee
    records_per_unit: int
    ledger: Ledger | None
    seed: int | None
    unit_ends: Offsets | None = None
    _grouping: Grouping | None = field(default=None, repr=False)

    @classmethod
    def check(
        cls,
        records: ArrayLike,
        ball: Ball,
        guarantee: Guarantee,
        *,
        records_per_unit: int,
        ledger: Ledger | None,
        seed: int | None,
        units: GroupsLike = None,
    ) -> Entry:
        """The call, with its parameters checked and the records as an array."""
        check_ball(ball)
        data = ball.manifold._records(records)
        moved = as_count(records_per_unit, "records_per_unit")
        grouping = unit_ends = None
        if units is not None:
            if moved != 1:
                raise ValueError("give units or records_per_unit, not both")
            grouping, unit_ends = Grouping.of(None, len(data)).by_unit(units, 1)
        return cls(
            data=data if grouping is None else grouping.arranged(data),
            ball=ball,
            guarantee=check_guarantee(guarantee),
            records_per_unit=moved,
            ledger=ledger,
            seed=None if seed is None else as_count(seed, "seed", least=0, most=2**63 - 1),
            unit_ends=unit_ends,
            _grouping=grouping,
        )

    @property
    def n(self) -> int:
        """Number of records, or of units that are known by name (public)."""
        return len(self.data) if self.unit_ends is None else len(self.unit_ends) - 1

    @property
    def assumptions(self) -> frozenset[str]:
        """Those of every release of the call."""
        seeded = set() if self.seed is None else {"seeded"}
        return frozenset(seeded if self.unit_ends is None else seeded | {"units-by-name"})

    def arranged(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Further numbers of each record, such as labels, in the order of `data`."""
        return rows if self._grouping is None else self._grouping.arranged(rows)

    def promise(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee that a release may claim whose noise is calibrated to `guarantee`."""
        if self.seed is not None:
            return Unproved(claimed=guarantee, why=SEEDED_WHY)
        return guarantee

    def spend(self, label: str, memory: float = 0.0, promised: Guarantee | None = None) -> None:
        """Takes the whole guarantee from the ledger, before any noise is drawn.

        `memory` is what it takes in bytes besides some copies of the records, `promised` what the
        release will promise if that is not the call's guarantee.
        """
        ask_for_memory(_COPIES * self.data.nbytes + memory)
        if self.ledger is not None:
            self.ledger.spend(promised or self.promise(self.guarantee), label=label)

    def shares(self, weights: Sequence[float]) -> tuple[PureDP | GDP, ...]:
        """Guarantees of the stages, which compose to the call's: see `Guarantee.split`."""
        return ways_to_meet(self.guarantee)[0].split(weights)

    def enter(self) -> FloatArray:
        """The records projected on the ball and moved into its frame, one row each."""
        tell_stage("project")
        return self.ball._enter(self.data)

    def stream(self, stage: int) -> _core.Stream:
        """The randomness of a stage."""
        if self.seed is None:
            return _core.Stream.from_os()
        return _core.Stream.from_key(self.seed.to_bytes(32, "little"), stage)

    def release(self, guarantee: Guarantee, **fields: Any) -> Release:
        """A release of this call with the given promise, its noise drawn in exact arithmetic."""
        described: dict[str, Any] = {
            "guarantee": guarantee,
            "manifold": self.ball.manifold.spec,
            "ball_center": self.ball.center,
            "ball_radius": self.ball.radius,
            "n": self.n,
            "records_per_unit": self.records_per_unit,
            "assumptions": self.assumptions,
        }
        return Release(**(described | fields))
