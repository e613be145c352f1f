"""Noise on an embedding, as one vector of all its entries, and what its release may promise."""

from __future__ import annotations

import math

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism
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
    stage: int,
) -> Release:
    """An embedding with noise in the Frobenius norm, calibrated to `sensitivity` + 2 `rounding`."""
    entry.report("noise")
    fields = {
        "statistic": "iteration of the supervised embedding",
        "sensitivity": sensitivity,
        "solver_tolerance": rounding,
    }
    if entry.calibration == "published":
        noisy, scale, name = _published_noise(entry, exact, guarantee, sensitivity, stage)
        return entry.release(
            promise(entry, guarantee),
            value=noisy,
            mechanism=name,
            scale=scale,
            expected_error=None,
            **fields,
        )
    size = exact.size
    reach = max(float(np.finfo(np.float64).tiny), sensitivity)
    domain = Ball(Euclidean(size), np.zeros(size), reach)
    mechanism = choose_mechanism(domain, guarantee)(domain, sensitivity + 2 * rounding, guarantee)
    noisy = mechanism._release(exact.reshape(-1), entry.stream(stage), 1)[0].reshape(exact.shape)
    return entry.release(
        promise(entry, guarantee),
        value=noisy,
        mechanism=mechanism.name,
        scale=mechanism.scale,
        expected_error=mechanism.expected_error,
        **fields,
    )


def _published_noise(
    entry: Entry, exact: FloatArray, guarantee: PureDP | GDP, sensitivity: float, stage: int
) -> tuple[FloatArray, float, str]:
    """Independent Laplace noise on each entry (Figure 3, step 3c); Gaussian if not pure DP."""
    laplace = isinstance(guarantee, PureDP)
    scale = sensitivity / (guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.mu)
    name = "multi-dimensional Laplace" if laplace else "Gaussian"
    if scale == 0:
        return exact, 0.0, name
    drawn = np.empty((exact.size, 1))
    noise = _core.Noise("flat", 1, 0.0, "laplace" if laplace else "gaussian", scale)
    noise.sample_coords(entry.stream(stage), drawn)
    step = math.ldexp(1.0, math.floor(math.log2(scale)) - 20)
    noisy: FloatArray = np.round((exact + drawn.reshape(exact.shape)) / step) * step
    return noisy, scale, name
