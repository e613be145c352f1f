"""One iteration of the supervised embedding (equation 7), its kernel in tiles, its labels as sums.

    published    Z + (1/2) D_X^-1 (alpha L_Y - L_X) Z
    normalised   Z + (1/2) (alpha D_Y^-1 L_Y - D_X^-1 L_X) Z

with L = D - W the Laplacian of a Gaussian kernel W without its diagonal. In the normalised form
both terms are differences between a row and a weighted mean of the others, so that a record moves
its row by no more than the diameter of Z.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._labels import label_codes
from curvedp._validation import FloatArray, as_choice, as_float_array, as_positive
from curvedp.sensitivity.laplacian_bounds import FORMS, weight_floor

#: Memory for kernel weights, in bytes, by default.
MEMORY_LIMIT = 2**30

DTYPES = ("float64", "float32")

_U = 2.0**-53


class Laplacians:
    """The Laplacians of rows and of labels, as operators.

    Parameters
    ----------
    rows : array-like, shape (n, m)
        n >= 2.
    bandwidth : float
        Of the Gaussian kernel exp(-d^2/2 sigma^2) of the rows.
    labels : array-like, shape (n,), optional
        Without labels the label term is 0.
    label_bandwidth : float, optional
        Of the kernel of the one-hot labels, exp(-1/sigma^2) for different ones; `bandwidth` if not
        given.
    radius : float, optional
        Radius of a ball that holds all rows: weights are kept at or above exp(-2 r^2/sigma^2)
        whatever rounding does.
    dtype : {"float64", "float32"}
        Precision in which distances are computed and weights are stored.
    memory_limit : int
        Bytes that stored weights may take, as many as fit; the others are computed anew for each
        iteration, in O(n (m + k)) memory.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> operators = Laplacians(rows, bandwidth=1.0)
    >>> operators.step(np.array([[0.0], [1.0], [2.0]])).round(3).tolist()
    [[0.75], [0.878], [1.189]]
    """

    def __init__(
        self,
        rows: ArrayLike,
        bandwidth: float,
        *,
        labels: ArrayLike | None = None,
        label_bandwidth: float | None = None,
        radius: float | None = None,
        dtype: str = "float64",
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        points = as_float_array(rows, "rows")
        if points.ndim != 2 or len(points) < 2 or points.shape[1] == 0:
            raise ValueError(f"rows must have shape (n, m) with n >= 2, got {points.shape}")
        sigma = as_positive(bandwidth, "bandwidth")
        floor = weight_floor(np.inf if radius is None else 4 * radius**2, sigma)
        single = as_choice(dtype, DTYPES, "dtype") == "float32"
        self._codes = None if labels is None else label_codes(labels, len(points), "labels")
        label_sigma = sigma if label_bandwidth is None else label_bandwidth
        self._label_weight = weight_floor(2.0, as_positive(label_sigma, "label_bandwidth"))
        self._kernel = _core.GaussianKernel(points, sigma, floor, int(memory_limit), single)

    @property
    def is_stored(self) -> bool:
        """True if all weights are kept in memory."""
        return self._kernel.is_kept

    def step(self, z: ArrayLike, alpha: float = 0.0, form: str = "normalised") -> FloatArray:
        """One iteration: z + (alpha (pushed from other labels) - (pulled to similar rows))/2.

        Parameters
        ----------
        z : array-like, shape (n, k)
            The embedding.
        alpha : float
            Weight of the label term.
        form : {"normalised", "published"}
            "normalised" divides the label term by the degrees of the labels, "published" by those
            of the rows.

        Returns
        -------
        ndarray, shape (n, k)
        """
        as_choice(form, FORMS, "form")
        start = as_float_array(z, "z")
        n, k = start.shape
        # a column of ones gives the degrees in the same pass
        sums = np.empty((n, k + 1))
        self._kernel.product(np.hstack([start, np.ones((n, 1))]), sums)
        degrees = sums[:, k:]
        pulled = start - sums[:, :k] / degrees
        if self._codes is None or alpha == 0:
            return start - 0.5 * pulled
        label_sums, label_degrees = np.empty((n, k)), np.empty(n)
        classes = int(self._codes.max()) + 1
        _core.label_sums(self._codes, classes, self._label_weight, start, label_sums, label_degrees)
        own = label_degrees[:, None]
        if form == "published":
            pushed = (own * start - label_sums) / degrees
        else:
            pushed = start - label_sums / own
        return start + 0.5 * (alpha * pushed - pulled)


def weight_error(dim: int, spread: float, dtype: str) -> float:
    """Bound on the relative error of computed weights that are above their floor.

    A product of two rows is a sum of `dim` terms in any order, of at most r^2 in all, in the
    precision of `dtype`; half the squared distance is a difference of three such numbers.

    Parameters
    ----------
    dim : int
        Entries of a row.
    spread : float
        r^2/sigma^2, r the radius of the ball of rows.
    dtype : {"float64", "float32"}
    """
    unit = 2.0**-24 if dtype == "float32" else _U
    return (4 * (dim + 8) * spread + 8) * unit


def rounding_error(n: int, largest_norm: float, alpha: float, label_share: float = 1.0) -> float:
    """Bound on the Frobenius norm of a step's rounding error.

    Each row is a weighted mean, a sum of n terms of at most `largest_norm` each, over the sum of
    the weights; `label_share` bounds the ratio of label to kernel degrees in the published form.
    Derived twice: docs/proofs/privatemail.md, Rounding.
    """
    relative = (8 * n + 2000) * _U * (1 + abs(alpha) * label_share)
    return float(relative * largest_norm * np.sqrt(n))
