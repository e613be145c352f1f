"""Facts about releases that are disclosed: in an entry of a registry, and in a page."""

from __future__ import annotations

from dataclasses import dataclass

from curvedp.privacy.base import Guarantee
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.statement import Statement

__all__ = ["Disclosure"]


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Facts that follow from releases.

    Attributes
    ----------
    statistic, manifold : str
    domain : str
        Where records lie, and what became of others.
    guarantee : Guarantee
        Of all that is released, to one unit.
    statement : Statement
    provenance : Provenance or None
    n : int
        Number of records, or of units where they are known by name.
    records_per_unit : int
    assumptions : frozenset of str
    noise : tuple of str
        Mechanisms, with what each is calibrated to.
    parts : tuple of (str, Guarantee)
        Statistics that were released on the way, which the guarantee covers together.
    count : Guarantee or None
        Of a count of the records inside the ball that was released beside it.
    groups, groups_per_unit : int
        Number of groups, 0 for one data set, and to how many of them a unit contributes at most.
    each : Guarantee or None
        Of each group.
    is_local : bool
        True if the release is about one record, whose owner trusts nobody.
    model : str
        Name of the estimator that was fitted; empty for a statistic alone.
    """

    statistic: str
    manifold: str
    domain: str
    guarantee: Guarantee
    statement: Statement
    provenance: Provenance | None
    n: int
    records_per_unit: int
    assumptions: frozenset[str]
    noise: tuple[str, ...]
    parts: tuple[tuple[str, Guarantee], ...] = ()
    count: Guarantee | None = None
    groups: int = 0
    groups_per_unit: int = 1
    each: Guarantee | None = None
    is_local: bool = False
    model: str = ""

    @property
    def units_by_name(self) -> bool:
        """True if a person's records bear a label, and all of them count as one."""
        return "units-by-name" in self.assumptions

    @property
    def counted(self) -> str:
        """The word for what n counts."""
        return "units" if self.units_by_name else "records"

    @property
    def stages(self) -> list[str]:
        """Names of what was released together, with their guarantees; none for one mechanism."""
        found = [f"{name}: {guarantee}" for name, guarantee in self.parts]
        if self.count is None:
            return found
        whole = self.each or self.guarantee
        found = found or [f"{self.statistic}: what the count leaves of {whole}"]
        return [*found, f"count of the records inside the ball: {self.count}"]

    @property
    def alone(self) -> str:
        """The composition where nothing else was released on the way."""
        if "without a ball" in self.statistic:
            return (
                "Noisy sums and counts, each chosen by what those before it told, compose to it; "
                "they stop when the budget is spent."
            )
        return "One mechanism."

    @property
    def drawing(self) -> str:
        """The way in which noise was drawn."""
        if "idealized-sampling" in self.assumptions:
            return "computed in floating point and rounded to a public grid"
        return "drawn in exact arithmetic, so that the released doubles have the proved law"

    @property
    def title(self) -> str:
        """The statistic, its groups and its manifold."""
        groups = f" of each of {self.groups} groups" if self.groups else ""
        what = f"{self.statistic}{groups}"
        return f"{f'{self.model} ({what})' if self.model else what} on {self.manifold}"
