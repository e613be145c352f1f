"""The power of `k_sample_test`, by simulation and without data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray, as_count, as_float_array, as_probability
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import Guarantee
from curvedp.statistics.confidence_region import gaussian_way
from curvedp.statistics.k_samples import KSampleDesign
from curvedp.statistics.null_law import p_value_of


def k_sample_power(
    ball: Ball,
    n: Sequence[int],
    guarantee: Guarantee,
    *,
    shift: float,
    spread: ArrayLike,
    level: float = 0.05,
    records_per_unit: int = 1,
    simulations: int = 400,
    seed: int = 0,
) -> float:
    """Probability that `k_sample_test` tells the means of normal samples apart: by simulation.

    Parameters
    ----------
    ball : Ball
    n : sequence of int
        Sizes of the samples, each at least 2.
    guarantee, level, records_per_unit
        As in `k_sample_test`.
    shift : float
        Distance of the first sample's mean from that of all others, in a random direction of the
        chart.
    spread : float or array-like, shape (k,)
        Root mean square distance of records from their mean, alike in all directions, of all
        samples or of each: a guess that is not taken from the records.
    simulations : int
        400 make a standard error of at most 0.025, in some 10 s.
    seed : int
        Of the simulation.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `k_sample_test`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> power = [cdp.k_sample_power(ball, (n, n, n), cdp.GDP(mu=1.0), shift=0.3, spread=0.7,
    ...                             simulations=50)
    ...          for n in (50, 400)]
    >>> power[0] < 0.5 < 0.9 < power[1]
    True
    """
    sizes = tuple(as_count(size, "n", least=2) for size in n)
    if len(sizes) < 2:
        raise ExistenceError("a test of k means needs at least two samples")
    (way,) = gaussian_way(check_guarantee(guarantee), "a test of k means")
    unit = as_count(records_per_unit, "records_per_unit")
    design = KSampleDesign.of(check_ball(ball), way, sizes, unit)
    distance, alpha = float(as_float_array(shift, "shift")), as_probability(level, "level")
    deviations = _deviations(spread, len(sizes))
    rng, rejected = np.random.default_rng(seed), 0
    count, dim = as_count(simulations, "simulations"), ball.manifold.dim
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(count):
        direction = rng.standard_normal(dim)
        coords = rng.standard_normal((len(numbers), dim)) / math.sqrt(dim)
        coords *= deviations[numbers][:, None]
        coords[: sizes[0]] += distance * direction / np.linalg.norm(direction)
        _core.shorten(coords, ball.radius)
        value = design.values(coords, numbers)
        value += design.mechanism.scale * rng.standard_normal(len(value))
        found = p_value_of(value / ball.radius, sizes, design.mechanism.scale / ball.radius, dim)
        rejected += found <= alpha
    return rejected / count


def _deviations(spread: ArrayLike, count: int) -> FloatArray:
    given = np.asarray(spread, dtype=float)
    if given.shape not in ((), (count,)) or not (given > 0).all():
        raise ValueError(f"spread must be one positive number or {count}, one for each sample")
    return np.broadcast_to(given, (count,))
