"""Facts about releases that are disclosed: in an entry of a registry, and in a page."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curvedp.privacy.base import Guarantee
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.statement import Statement

__all__ = ["Disclosed", "Disclosure"]


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
        found = found or [f"{self.statistic}: the rest"]
        return [*found, f"count of the records inside the ball: {self.count}"]

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
        return f"{self.statistic}{groups} on {self.manifold}"


class Disclosed(abc.ABC):
    """Releases that an entry of a registry and a page can be written about."""

    @abc.abstractmethod
    def _disclosure(self) -> Disclosure:
        """Facts for both."""

    def to_registry(
        self,
        *,
        name: str,
        data_curator: str,
        curator_type: str,
        description: str,
        intended_use: str,
        region: str,
        authors: Sequence[str],
        sector: str | None = None,
        preparation: str = "",
        justification: str = "",
        delta: float = 1e-6,
    ) -> dict[str, Any]:
        """An entry for a public registry of deployments (Dwork, Kohli, Mulligan 2019), tier 3.

        What follows from the releases is filled in: variant, parameters, unit and adjacency,
        quantities that are not protected, composition, mechanisms, measures against leaks and the
        error to expect. The registry has no word for Gaussian differential privacy: such a
        guarantee is "Custom", with its epsilon at `delta`, its rho and its privacy relation.

        Parameters
        ----------
        name, data_curator, description, intended_use, region : str
            Of the data product and its publisher.
        curator_type : {"Government", "Industry", "Nonprofit"}
        authors : sequence of str
            Of the entry.
        sector : str, optional
            "Technology", "Healthcare", "Education", "Government", "Energy" or "Finance".
        preparation : str
            What was done with the records before, how parameters were chosen, and whether that was
            accounted for.
        justification : str
            Reasons for the choices.
        delta : float
            At which an epsilon is stated where the guarantee has none.

        Returns
        -------
        dict
            For YAML or JSON.

        Raises
        ------
        ValueError
            If nothing is proved, it is not known when they were made, or a field that the registry
            requires is empty.

        Examples
        --------
        >>> import numpy as np, curvedp as cdp
        >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
        >>> mean = cdp.frechet_mean(np.tile(ball.center, (500, 1)), ball, cdp.PureDP(1.0))
        >>> entry = mean.to_registry(
        ...     name="Mean direction", data_curator="A laboratory", curator_type="Nonprofit",
        ...     description="Of 500 records", intended_use="Research", region="Europe",
        ...     authors=["A. Author"],
        ... )
        >>> entry["deployment"]["privacy_loss"]["privacy_parameters"]
        {'epsilon': 1.0}
        """
        from curvedp.privacy.registry import Product, entry

        product = Product(
            name=name,
            data_curator=data_curator,
            curator_type=curator_type,
            description=description,
            intended_use=intended_use,
            region=region,
            sector=sector,
            authors=tuple(authors),
            preparation=preparation,
            justification=justification,
        )
        return entry(self._disclosure(), product, delta=delta)

    def document(self) -> str:
        """Write a page in Markdown after the pyramid of NIST SP 800-226 (2025), from the top down.

        Privacy parameters and unit, assumptions of the model, the mechanism and its correctness,
        accuracy, side channels, and what the reader has to judge.
        """
        from curvedp.privacy.document import page

        return page(self._disclosure())
