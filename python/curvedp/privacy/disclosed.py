"""Base of releases about which an entry of a registry and a page can be written."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.document import page
from curvedp.privacy.registry import Product, entry

__all__ = ["Disclosed"]


class Disclosed(abc.ABC):
    """Releases that an entry of a registry and a page can be written about."""

    @abc.abstractmethod
    def _disclosure(self) -> Disclosure:
        """Facts for both."""

    @staticmethod
    def _facts_of(other: Disclosed) -> Disclosure:
        """Facts of a release from which this one is computed, or which it holds."""
        return other._disclosure()

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
        return page(self._disclosure())
