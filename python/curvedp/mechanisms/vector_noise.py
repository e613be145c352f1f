"""Noise for a vector of a chart, drawn exactly on a public grid."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, PureDP


@dataclass(frozen=True)
class VectorNoise:
    """Noise for a vector that a unit moves by a known length, or for the rows of a table.

    Attributes
    ----------
    size : int
        Entries of the vector, or of a row.
    sensitivity, rounding : float
        In Euclidean norm; of a table with density exp(-length/lambda) in the sum of those of rows.
    scale : float
        sigma, or lambda of the density exp(-length/lambda).
    pure : bool
    largest : float
        Bound on the length of the vector, or of a row.
    """

    size: int
    sensitivity: float
    rounding: float
    scale: float
    pure: bool
    largest: float

    @classmethod
    def of(
        cls, size: int, sensitivity: float, rounding: float, largest: float, share: PureDP | GDP
    ) -> VectorNoise:
        """Calibrated to a share of the budget; raises where it cannot be drawn."""
        pure = isinstance(share, PureDP)
        scale = calibrated_scale(sensitivity, rounding, share)
        noise = cls(size, sensitivity, rounding, scale, pure, largest)
        noise._law()
        return noise

    @property
    def deviation(self) -> float:
        """Standard deviation of an entry."""
        return self.scale * math.sqrt(self.size + 1) if self.pure else self.scale

    def add(self, vector: FloatArray, stream: _core.Stream) -> FloatArray:
        """The vector, or each row of the table, with noise drawn exactly, on a public grid."""
        noisy = vector.reshape(-1, self.size).copy()
        law, step = self.law
        law.add_on_grid(stream, step, noisy)
        return noisy.reshape(vector.shape)

    @property
    def law(self) -> tuple[_core.Noise, float]:
        """The noise, and the step of its public grid."""
        step = _core.flat_grid_step(self.scale, self.largest, STEPS_PER_SCALE)
        return self._law(), step

    def _law(self) -> _core.Noise:
        return _law_of(self.size, "laplace" if self.pure else "gaussian", self.scale)


@functools.lru_cache(maxsize=256)
def _law_of(size: int, profile: str, scale: float) -> _core.Noise:
    """The noise of each step of a descent, which takes longer to set up than to draw."""
    return _core.Noise("flat", size, 0.0, profile, scale)
