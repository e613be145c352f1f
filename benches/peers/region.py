"""Parts of a confidence region of the mean, without privacy, in NumPy."""

from __future__ import annotations

import numpy as np

from peers import sphere


def sphere_region(x):
    """Covariance of the estimated mean on S^2: H^-1 C H^-1/n, ambient coordinates."""
    n, p = len(x), sphere.mean(x)
    cosine = x @ p
    across = x - cosine[:, None] * p
    sine = np.sqrt(sphere.dot(across, across))
    angle = np.arctan2(sine, cosine)
    logs = (angle / np.where(sine > 0, sine, 1.0))[:, None] * across
    covariance = logs.T @ logs / n
    # the Hessian of d^2/2 is 1 along the geodesic and t cot t across it
    flat = np.where(angle > 0, angle / np.tan(np.where(angle > 0, angle, 1.0)), 1.0)
    share = (1 - flat) / np.where(angle > 0, angle, 1.0) ** 2
    tangent = np.eye(3) - np.outer(p, p)
    hessian = flat.mean() * tangent + (logs * share[:, None]).T @ logs / n
    inverse = np.linalg.pinv(hessian, hermitian=True)
    return inverse @ covariance @ inverse / n
