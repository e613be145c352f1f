"""Mean directions and mean axes of groups: releases of their regions, read as these."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from curvedp._validation import FloatArray
from curvedp.directions.axis import MeanAxis, axis_text, cap_text
from curvedp.directions.mean import MeanDirection, direction_text, set_text
from curvedp.directions.reading import Angles
from curvedp.privacy.disclosure import Disclosure
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.releases import Releases

Mean = TypeVar("Mean", bound=MeanDirection | MeanAxis)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirectionReleases(Releases[Mean]):
    """One mean direction or mean axis per group; `Releases` says what else they have.

    Attributes
    ----------
    kind : type
        `MeanDirection` or `MeanAxis`.
    manifold : str
    angle_units : {"radians", "degrees", "hours"}
        As in `kind`.
    regions : Releases of ConfidenceRegion
        From which all is computed; `value` holds their estimates, the mean vectors.
    """

    kind: type[Mean]
    manifold: str
    angle_units: Angles
    regions: Releases[ConfidenceRegion]

    _heads: ClassVar[tuple[str, ...]] = ("group", "n", "mean", "confidence set")

    @classmethod
    def of(
        cls,
        regions: Releases[ConfidenceRegion],
        kind: type[Mean],
        manifold: str,
        angle_units: Angles,
    ) -> DirectionReleases[Mean]:
        """Releases of regions, as those of the means."""
        columns: dict[str, Any] = {own.name: getattr(regions, own.name) for own in fields(regions)}
        return cls(
            kind=kind, manifold=manifold, angle_units=angle_units, regions=regions, **columns
        )

    @property
    def statistic(self) -> str:
        """Name of what is released of each group."""
        return self.kind.statistic

    def release_at(self, index: int) -> Mean:
        """The mean of the group of that number, which must have a release."""
        return self.kind(self.regions.release_at(index), self.manifold, self.angle_units)

    def columns(self) -> dict[str, FloatArray]:
        """Arrays for a table of releases, by name, with one row per group: means, then regions."""
        found: dict[str, FloatArray] = {}
        for index in np.flatnonzero(self.released).tolist():
            for name, number in numbers_of(self.release_at(index)).items():
                if name not in found:
                    found[name] = np.full((len(self), *np.shape(number)), np.nan)
                found[name][index] = number
        return found | super().columns()

    def _disclosure(self) -> Disclosure:
        return replace(super()._disclosure(), manifold=self.manifold)

    @property
    def _title(self) -> str:
        return f"Releases: {self.statistic} on {self.manifold}"

    def _row(self, index: int) -> tuple[str, ...]:
        label, n = str(self.labels[index]), str(self.n[index])
        if not self.released[index]:
            return label, n, "skipped", ""
        return label, n, *texts_of(self.release_at(index))


def numbers_of(mean: MeanDirection | MeanAxis) -> dict[str, float | FloatArray]:
    """Numbers of a mean for a table: without the half-angle of an axis, which takes .1 s."""
    p_value = {"uniformity_p_value": mean.uniformity_p_value}
    if isinstance(mean, MeanAxis):
        return {"mean_axis": mean.mean_axis, "eigenvalues": mean.eigenvalues, **p_value}
    return {
        "mean_direction": mean.mean_direction,
        "mean_resultant_length": mean.mean_resultant_length,
        "mean_resultant_length_error": mean.mean_resultant_length_error,
        **({"half_angle": mean.half_angle} if len(mean.resultant) <= 3 else {}),
        **p_value,
    }


def texts_of(mean: MeanDirection | MeanAxis) -> tuple[str, str]:
    """A mean and how far its confidence set reaches, which is empty in high dimension."""
    if isinstance(mean, MeanAxis):
        return axis_text(mean), cap_text(mean) if len(mean.mean_axis) == 3 else ""
    return direction_text(mean), set_text(mean) if len(mean.resultant) <= 3 else ""
