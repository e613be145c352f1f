"""Rounding of PrivateMail's weights and steps stays below the bounds that its noise counts.

Exact values are those of 64-bit significands (`numpy.longdouble`), whose own errors are far below.
"""

from __future__ import annotations

import numpy as np
import pytest

from curvedp.mail import Laplacians
from curvedp.mail.iteration import rounding_error, weight_error

LONG = np.longdouble

pytestmark = pytest.mark.skipif(
    np.finfo(LONG).nmant < 60, reason="no wider numbers to compare with"
)


def rows_of_a_ball(n, dim, seed=0):
    """Opposite, equal, nearly equal and unrelated rows of the unit ball, most on its rim."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-15)
    rows[1::4] = -rows[::4]
    rows[2::4] = rows[::4] * (1 - 1e-9)
    rows[3] = rows[0]
    return rows


def computed(rows, bandwidth, dtype, radius):
    """All weights, as the library computes them."""
    n = len(rows)
    operators, weights = Laplacians(rows, bandwidth, radius=radius, dtype=dtype), np.empty((n, n))
    operators._kernel.product(np.eye(n), weights)
    return weights


def worst_error(weights, rows, bandwidth):
    """Largest relative error off the diagonal."""
    x = rows.astype(LONG) / LONG(bandwidth)
    exact = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2) / 2)
    off = ~np.eye(len(rows), dtype=bool)
    return float(np.abs(weights[off] / exact[off] - 1).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", [-400, -74, 0, 66, 400])
@pytest.mark.parametrize(("dim", "bandwidth"), [(1, 3.0), (3, 0.3), (300, 0.25)])
def test_weights_are_as_accurate_as_the_sensitivity_assumes(dtype, exponent, dim, bandwidth):
    """In every unit of length: squares of single numbers below 10^-23 or above 10^19 are none."""
    rows, unit = rows_of_a_ball(40, dim), 2.0**exponent
    weights = computed(rows * unit, bandwidth * unit, dtype, unit)
    error = worst_error(weights, rows, bandwidth)
    assert error <= weight_error(dim, bandwidth**-2, dtype) < 1


def test_control_other_weights_are_less_accurate_than_assumed():
    rows, bandwidth = rows_of_a_ball(40, 3), 0.3
    single = computed(rows, bandwidth, "float32", 1.0)
    assert worst_error(single, rows, bandwidth) > weight_error(3, bandwidth**-2, "float64")
    with np.errstate(all="ignore"):  # single precision without a unit of length
        tiny = (rows * 2.0**-74).astype(np.float32)
        squares = (tiny.astype(float) ** 2).sum(axis=1)
        halves = (tiny @ tiny.T).astype(float) - (squares[:, None] + squares) / 2
        weights = np.exp(halves / (bandwidth * 2.0**-74) ** 2)
    assert worst_error(weights, rows, bandwidth) > weight_error(3, bandwidth**-2, "float32")


def step_of(weights, label_weights, z, alpha, form, precision):
    """One iteration from given weights in a precision, labels as a dense kernel."""
    w, v, z = (part.astype(precision) for part in (weights, label_weights, z))
    d, e = w.sum(axis=1)[:, None], v.sum(axis=1)[:, None]
    pushed = (e * z - v @ z) / (d if form == "published" else e)
    return z + (alpha * pushed - (z - w @ z / d)) / 2


@pytest.mark.parametrize("form", ["normalised", "published"])
@pytest.mark.parametrize("classes", [1, 2, 352])
@pytest.mark.parametrize("alpha", [0.5, -3.0])
def test_a_step_rounds_by_less_than_the_noise_counts(form, classes, alpha):
    """Long rows about one place, whose differences cancel; classes of all, half and one record."""
    n, label_bandwidth = 352, 0.4
    rows, rng = rows_of_a_ball(n, 4), np.random.default_rng(1)
    z = 1e6 + rng.standard_normal((n, 3))
    labels = np.minimum(np.arange(n), classes - 1) if classes == 2 else np.arange(n) % classes
    operators = Laplacians(rows, 0.9, labels=labels, label_bandwidth=label_bandwidth, radius=1.0)
    weights = computed(rows, 0.9, "float64", 1.0)
    other = np.exp(-1 / label_bandwidth**2)
    label_weights = np.where(labels[:, None] == labels, 1.0, other) * (1 - np.eye(n))
    exact = step_of(weights, label_weights, z, alpha, form, LONG)
    largest = float(np.linalg.norm(z, axis=1).max())
    share = 1.0
    if form == "published":
        share = float((label_weights.sum(axis=1) / weights.sum(axis=1)).max())
    bound = rounding_error(n, largest, alpha, share)
    error = float(np.linalg.norm(operators.step(z, alpha, form) - exact))
    single = step_of(weights, label_weights, z, alpha, form, np.float32)
    assert error <= bound / 2
    assert float(np.linalg.norm(single - exact)) > bound, "control: sums in single precision"
