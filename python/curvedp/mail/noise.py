"""Noise on an embedding, as one vector of all its entries, and what its release may promise."""

from __future__ import annotations

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms import RiemannianLaplace, TangentGaussian, outward_scale
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, Guarantee, PureDP, Release, Unproved
from curvedp.statistics.entry import Entry

PUBLISHED_WHY = (
    "the bound of Corollary 1.1 rests on the spurious root of a quadratic and is 0 at the largest "
    "beta that the paper allows; it is offered to reproduce results, not to protect records"
)


def promise(entry: Entry, guarantee: Guarantee) -> Guarantee:
    """What a release of this call may claim when its noise is calibrated to `guarantee`."""
    if entry.calibration == "published":
        return Unproved(claimed=guarantee, why=PUBLISHED_WHY)
    return entry.promise(guarantee)


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
    entry.report("noise")
    n, k = exact.shape
    pure = isinstance(guarantee, PureDP)
    budget = guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.mu
    if entry.calibration == "published":
        # independent Laplace noise on each entry (Figure 3, step 3c); Gaussian if not pure DP
        shape, name = (n * k, 1), "multi-dimensional Laplace" if pure else "Gaussian"
        scale, expected_error = sensitivity / budget, None
    else:
        # density in the Frobenius norm: one Laplace vector, or Gaussian rows
        shape = (1, n * k) if pure else (n, k)
        name = RiemannianLaplace.name if pure else TangentGaussian.name
        scale = outward_scale(sensitivity + 2 * rounding, budget)
        profile = "laplace" if pure else "gaussian"
        expected_error = _core.Noise("flat", n * k, 0.0, profile, scale).expected_dist
    return entry.release(
        promise(entry, guarantee),
        value=_add_noise(entry, exact, shape, pure, scale, largest, stage),
        mechanism=name,
        statistic="iteration of the supervised embedding",
        sensitivity=sensitivity,
        solver_tolerance=rounding,
        scale=scale,
        expected_error=expected_error,
    )


def _add_noise(
    entry: Entry,
    exact: FloatArray,
    shape: tuple[int, int],
    pure: bool,
    scale: float,
    largest: float,
    stage: int,
) -> FloatArray:
    """Noise drawn as rows of `shape`, and rounding to the public grid."""
    if scale == 0:
        return exact
    drawn = np.empty(shape)
    noise = _core.Noise("flat", shape[1], 0.0, "laplace" if pure else "gaussian", scale)
    noise.sample_coords(entry.stream(stage), drawn)
    step = _core.flat_grid_step(scale, largest, STEPS_PER_SCALE)
    return np.asarray(np.round((exact + drawn.reshape(exact.shape)) / step) * step + 0.0)
