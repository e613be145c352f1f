"""Dense references of the iteration for small n: spectral solution and CCCP.

    objective        Tr(Z' L_X Z) - alpha Tr(Z' L_Y Z)                                (equation 3)
    spectral         its minimiser under Z'Z = I: the lowest eigenvectors of L_X - alpha L_Y
    CCCP             Z_t = alpha L_X^+ (L_Y Z_{t-1} - S Q)                            (equation 6)

The paper speaks of the largest eigenvectors, which maximise.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._labels import label_codes
from curvedp._validation import FloatArray, as_count, as_float_array, as_positive


def _laplacian(weights: FloatArray) -> FloatArray:
    np.fill_diagonal(weights, 0.0)
    laplacian: FloatArray = np.diag(weights.sum(axis=1)) - weights
    return laplacian


def dense_laplacians(
    rows: ArrayLike, labels: ArrayLike, bandwidth: float, label_bandwidth: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """L_X and L_Y as matrices, shape (n, n) each."""
    points = as_float_array(rows, "rows")
    sigma = as_positive(bandwidth, "bandwidth")
    label_sigma = sigma if label_bandwidth is None else as_positive(label_bandwidth, "bandwidth")
    codes = label_codes(labels, len(points), "labels")
    same = codes[:, None] == codes[None, :]
    kernel = np.exp(-scipy.spatial.distance.cdist(points, points, "sqeuclidean") / (2 * sigma**2))
    return _laplacian(kernel), _laplacian(np.where(same, 1.0, np.exp(-1 / label_sigma**2)))


def objective(z: ArrayLike, l_x: ArrayLike, l_y: ArrayLike, alpha: float) -> float:
    """Tr(Z' L_X Z) - alpha Tr(Z' L_Y Z) (equation 3).

    Parameters
    ----------
    z : array-like, shape (n, k)
    l_x, l_y : array-like, shape (n, n)
    alpha : float

    Returns
    -------
    float

    Raises
    ------
    TypeError
        If an array does not hold real numbers.

    Examples
    --------
    >>> rows, labels = np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1]
    >>> l_x, l_y = dense_laplacians(rows, labels, bandwidth=0.5)
    >>> abs(objective(np.ones((4, 1)), l_x, l_y, alpha=0.5)) < 1e-12
    True
    """
    embedding = as_float_array(z, "z")
    difference = as_float_array(l_x, "l_x") - alpha * as_float_array(l_y, "l_y")
    return float(np.sum(embedding * (difference @ embedding)))


def spectral_embedding(
    l_x: ArrayLike, l_y: ArrayLike, alpha: float, n_components: int
) -> FloatArray:
    """The n x k matrix with orthonormal columns that minimises `objective`.

    Columns orthogonal to the constant vector, which both Laplacians map to 0: for alpha > 0 the
    objective may be negative on some of them.

    Parameters
    ----------
    l_x, l_y : array-like, shape (n, n)
    alpha : float
    n_components : int

    Returns
    -------
    ndarray, shape (n, n_components)

    Raises
    ------
    ValueError, TypeError
        If `n_components` is not a positive integer below n.

    Examples
    --------
    >>> rows, labels = np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1]
    >>> l_x, l_y = dense_laplacians(rows, labels, bandwidth=0.5)
    >>> np.abs(spectral_embedding(l_x, l_y, -1.0, n_components=1)[:, 0]).round(1).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    difference = as_float_array(l_x, "l_x") - alpha * as_float_array(l_y, "l_y")
    n, k = len(difference), as_count(n_components, "n_components")
    if k >= n:
        raise ValueError(f"n_components must be below the number of rows {n}, got {k}")
    # the constant vector is moved to the top of the spectrum
    top = float(np.abs(difference).sum(axis=1).max()) + 1.0
    shifted = difference + top / n * np.ones((n, n))
    vectors: FloatArray = scipy.linalg.eigh(shifted, subset_by_index=[0, k - 1])[1]
    return vectors


def cccp_embedding(
    l_x: ArrayLike,
    l_y: ArrayLike,
    alpha: float,
    start: ArrayLike,
    direction: ArrayLike,
    iterations: int,
) -> FloatArray:
    """Embeddings Z_0, Z_1, ... of the concave-convex procedure (equation 6).

    Each step lowers Tr(Z' L_X Z) - alpha Tr(Z' L_Y Z) + 2 alpha Tr(Z' S Q), S = n I - 1 1'.

    Parameters
    ----------
    l_x, l_y : array-like, shape (n, n)
    alpha : float
        At least 0.
    start, direction : array-like, shape (n, k)
        Z_0 and Q.
    iterations : int

    Returns
    -------
    ndarray, shape (iterations + 1, n, k)

    Raises
    ------
    ValueError, TypeError
        If an array does not hold real numbers, or `iterations` is not a positive integer.

    Examples
    --------
    >>> rows, labels = np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1]
    >>> l_x, l_y = dense_laplacians(rows, labels, bandwidth=0.5)
    >>> start = np.array([[0.1], [0.2], [0.3], [0.4]])
    >>> cccp_embedding(l_x, l_y, 0.1, start, start, iterations=3).shape
    (4, 4, 1)
    """
    inverse = scipy.linalg.pinvh(as_float_array(l_x, "l_x"))
    labels = as_float_array(l_y, "l_y")
    q = as_float_array(direction, "direction")
    pull = len(q) * q - q.sum(axis=0)
    embeddings = [as_float_array(start, "start")]
    for _ in range(as_count(iterations, "iterations")):
        embeddings.append(alpha * inverse @ (labels @ embeddings[-1] - pull))
    return np.stack(embeddings)
