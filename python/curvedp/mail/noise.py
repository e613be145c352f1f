"""Noise on an embedding, as one vector of all its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray
from curvedp.mechanisms import Mechanism, RiemannianLaplace, TangentGaussian
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, PureDP, Release
from curvedp.statistics.group import Group


def kind_of(guarantee: PureDP | GDP) -> type[Mechanism]:
    """The law of the noise under a guarantee."""
    return RiemannianLaplace if isinstance(guarantee, PureDP) else TangentGaussian


@dataclass(frozen=True)
class EmbeddingNoise:
    """Noise in the Frobenius norm of an embedding.

    Attributes
    ----------
    kind : type of Mechanism
        Its law: one Laplace vector of all entries, or Gaussian rows.
    shape : pair of int
        Of the embedding.
    sensitivity, rounding : float
        What it is calibrated to: `sensitivity` + 2 `rounding`.
    scale : float
    """

    kind: type[Mechanism]
    shape: tuple[int, int]
    sensitivity: float
    rounding: float
    scale: float

    @classmethod
    def calibrate(
        cls,
        guarantee: PureDP | GDP,
        shape: tuple[int, int],
        *,
        sensitivity: float,
        rounding: float,
    ) -> EmbeddingNoise:
        """Noise of an embedding of that shape that meets a guarantee."""
        scale = calibrated_scale(sensitivity, rounding, guarantee)
        return cls(kind_of(guarantee), shape, sensitivity, rounding, scale)

    def add(self, exact: FloatArray, largest: float, stream: _core.Stream) -> FloatArray:
        """The embedding with noise, its rows at most `largest` long before."""
        n, k = self.shape
        rows = (1, n * k) if self.kind is RiemannianLaplace else (n, k)
        return add_noise(exact, rows, self.kind.profile, self.scale, largest, stream)

    def told(self) -> dict[str, Any]:
        """Fields of a release about its noise."""
        dim = self.shape[0] * self.shape[1]
        noise = _core.Noise("flat", dim, 0.0, self.kind.profile, self.scale)
        return {
            "mechanism": self.kind.name,
            "sensitivity": self.sensitivity,
            "solver_tolerance": self.rounding,
            "scale": self.scale,
            "expected_error": noise.expected_dist,
        }


def noisy_embedding(
    group: Group,
    exact: FloatArray,
    guarantee: PureDP | GDP,
    *,
    sensitivity: float,
    rounding: float,
    largest: float,
    stage: int,
) -> Release:
    """An embedding with noise in the Frobenius norm, calibrated to `sensitivity` + 2 `rounding`."""
    tell_stage("noise")
    n, k = exact.shape
    noise = EmbeddingNoise.calibrate(guarantee, (n, k), sensitivity=sensitivity, rounding=rounding)
    return group.release(
        value=noise.add(exact, largest, group.stream(stage)),
        guarantee=group.paid.promise(guarantee),
        statistic="iteration of the supervised embedding",
        **noise.told(),
    )


def add_noise(
    exact: FloatArray,
    shape: tuple[int, int],
    profile: str,
    scale: float,
    largest: float,
    stream: _core.Stream,
) -> FloatArray:
    """Noise drawn as rows of `shape`, and rounding to the public grid, in exact arithmetic."""
    step = _core.flat_grid_step(scale, largest, STEPS_PER_SCALE)
    noisy = np.array(exact, dtype=np.float64).reshape(shape)
    _core.Noise("flat", shape[1], 0.0, profile, scale).add_on_grid(stream, step, noisy)
    return noisy.reshape(exact.shape)
