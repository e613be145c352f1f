"""Noise on an embedding, as one vector of all its entries."""

from __future__ import annotations

import numpy as np

from curvedp import _core
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray
from curvedp.mechanisms import Mechanism, RiemannianLaplace, TangentGaussian, outward_scale
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, PureDP, Release
from curvedp.statistics.entry import Entry


def noisy_embedding(
    entry: Entry,
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
    kind: type[Mechanism]
    # density in the Frobenius norm: one Laplace vector, or Gaussian rows
    if isinstance(guarantee, PureDP):
        kind, budget, shape = RiemannianLaplace, guarantee.epsilon, (1, n * k)
    else:
        kind, budget, shape = TangentGaussian, guarantee.mu, (n, k)
    scale = outward_scale(sensitivity + 2 * rounding, budget)
    return entry.release(
        entry.promise(guarantee),
        value=add_noise(exact, shape, kind.profile, scale, largest, entry.stream(stage)),
        mechanism=kind.name,
        statistic="iteration of the supervised embedding",
        sensitivity=sensitivity,
        solver_tolerance=rounding,
        scale=scale,
        expected_error=_core.Noise("flat", n * k, 0.0, kind.profile, scale).expected_dist,
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
