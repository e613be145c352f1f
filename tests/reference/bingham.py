"""The Bingham law, density in proportion to e^(x'Ax) on the unit sphere."""

from __future__ import annotations

import numpy as np
from scipy import special

#: Of Gauss and Legendre.
NODES = np.polynomial.legendre.leggauss(200)


def constant(matrix: np.ndarray) -> float:
    """ln of the mean of e^(x'Ax) over the unit circle or sphere, dimension 2 or 3."""
    values = np.linalg.eigvalsh(matrix)
    if len(values) == 2:
        half = 0.5 * (values[1] - values[0])
        return float(np.log(special.ive(0, half)) + values[1])
    # x_3 = z is uniform; given z the others lie on a circle of squared radius 1 - z^2
    z, weights = NODES
    low, middle, high = values
    square = 1 - z**2
    log_terms = high * z**2 + 0.5 * square * (low + middle)
    inner = special.ive(0, 0.5 * square * (middle - low))
    log_terms += 0.5 * square * (middle - low) + np.log(inner)
    return float(special.logsumexp(log_terms, b=0.5 * weights))


def sample(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One direction, by rejection from the uniform law."""
    top = np.linalg.eigvalsh(matrix)[-1]
    while True:
        x = rng.standard_normal(len(matrix))
        x /= np.linalg.norm(x)
        if np.log(rng.uniform()) < x @ matrix @ x - top:
            return x


def components(rows: np.ndarray, count: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Directions one after the other, each in the complement of those before: (count, dim)."""
    basis, found = np.eye(rows.shape[1]), []
    for _ in range(count):
        own = rows @ basis
        found.append(basis @ sample(rate * own.T @ own, rng))
        basis = np.linalg.svd(np.array(found), full_matrices=True)[2][len(found) :].T
    return np.array(found)
