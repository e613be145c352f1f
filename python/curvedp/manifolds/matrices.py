"""Spaces of positive definite and of correlation matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray, as_choice, as_count
from curvedp.manifolds.base import Manifold
from curvedp.manifolds.reading import PLAIN, Reading, Written

SPD_METRICS = ("affine-invariant", "log-euclidean", "log-cholesky")
_PYRIEMANN = dict(zip(("riemann", "logeuclid", "logchol"), SPD_METRICS, strict=True))

#: Balls of correlation matrices lie within this distance of the identity.
_FARTHEST_CORRELATIONS = 16.0


class SPD(Manifold):
    """Symmetric positive definite matrices; points of shape (m, m).

    Parameters
    ----------
    m : int
    metric : {"affine-invariant", "log-euclidean", "log-cholesky"}
        Affine-invariant: <V, W>_P = tr(P^-1 V P^-1 W), curvature in [-1/2, 0]. The other two are
        flat: the matrix logarithm (Arsigny et al. 2007) or the Cholesky factor with logarithmic
        diagonal (Lin 2019) maps them isometrically onto Euclidean space.

    Examples
    --------
    >>> float(SPD(2).dist(np.eye(2), np.e * np.eye(2)).round(4))
    1.4142
    """

    _title = "symmetric positive definite matrices (affine-invariant, log-Euclidean, log-Cholesky)"
    #: As users of pyRiemann and geomstats write them.
    _names: ClassVar[dict[str, dict[str, Any]]] = {
        "spd": {},
        "riemann": {},
        "affine-invariant": {},
        "logeuclid": {"metric": "log-euclidean"},
        "log-euclidean": {"metric": "log-euclidean"},
        "logchol": {"metric": "log-cholesky"},
        "log-cholesky": {"metric": "log-cholesky"},
    }
    _keyword = "metric"
    _origin_name = "identity"
    _short_form = "the upper triangle row by row"

    def __init__(self, m: int, *, metric: str = "affine-invariant") -> None:
        self.m = as_count(m, "m", most=1000)
        self.metric = as_choice(_PYRIEMANN.get(str(metric), metric), SPD_METRICS, "metric")
        kind = "spd" if self.metric == SPD_METRICS[0] else f"spd:{self.metric}"
        super().__init__(kind, self.m, 0.0, (self.m, self.m))

    @property
    def spec(self) -> str:
        suffix = "" if self.metric == "affine-invariant" else f":{self.metric}"
        return f"spd:{self.m}{suffix}"

    @property
    def written(self) -> Written:
        return Written(self.spec, "symmetric", self.m)

    def _meant(self, shape: tuple[int, ...]) -> str:
        return _of_signals(shape, self.m)


class ComplexMatrices(Manifold):
    """Spaces of complex matrices, in real and imaginary parts on the last axis of points."""

    _origin_name = "identity"

    @property
    def origin(self) -> FloatArray:
        """The identity matrix."""
        return complex_parts(np.eye(self.point_shape[0], dtype=np.complex128))

    def to_complex(self, points: ArrayLike) -> NDArray[np.complex128]:
        """Points or tangent vectors as complex matrices; a view where their memory allows it.

        Parameters
        ----------
        points : array-like, shape (..., m, m, 2)

        Returns
        -------
        ndarray of complex128, shape (..., m, m)

        Examples
        --------
        >>> HPD(2).to_complex(HPD(2).origin).tolist()
        [[(1+0j), 0j], [0j, (1+0j)]]
        """
        pairs = np.ascontiguousarray(self._points(points, "points"))
        matrices: NDArray[np.complex128] = pairs.view(np.complex128)[..., 0]
        return matrices

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        # only an array may be complex: the dtype of a list depends on its entries
        if isinstance(value, np.ndarray) and value.dtype.kind == "c":
            return complex_parts(value)
        numbers = super()._numbers(value, name, reading)
        m = self.point_shape[0]
        if numbers.shape[-2:] == (m, m) and numbers.shape[-3:] != self.point_shape:
            raise ValueError(
                f"{name} must be complex, shape (..., {m}, {m}), or real and imaginary "
                f"parts, shape (..., {m}, {m}, 2), got real numbers of shape "
                f"{numbers.shape}"
            )
        return numbers


class HPD(ComplexMatrices):
    """Hermitian positive definite matrices, <V, W>_P = Re tr(P^-1 V P^-1 W); points (m, m, 2).

    The last axis holds real and imaginary parts, as complex numbers lie in memory. Arrays of
    complex numbers, shape (..., m, m), are read wherever points or tangent vectors are; what is
    returned is real, like every array that is released, stored or sent, and `to_complex` views it
    as complex matrices. Dimension m^2, sectional curvature in [-1/2, 0]; real matrices are a
    totally geodesic part, with the affine-invariant metric (proof:
    docs/proofs/hermitian-matrices.md).

    Parameters
    ----------
    m : int

    Examples
    --------
    >>> space = HPD(2)
    >>> coherent = np.array([[2.0, 1.0j], [-1.0j, 2.0]])  # eigenvalues 1 and 3
    >>> float(space.dist(space.origin, coherent).round(4))
    1.0986
    """

    _title = "Hermitian positive definite matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"hpd": {}}

    def __init__(self, m: int) -> None:
        self.m = as_count(m, "m", most=500)
        super().__init__("hpd", self.m, 0.0, (self.m, self.m, 2))


class Correlation(Manifold):
    """Correlation matrices of full rank with the off-log metric; points of shape (m, m).

    The entries of the matrix logarithm above its diagonal, times √2, map them isometrically onto
    Euclidean space of dimension m(m-1)/2: rho(A, B) = |off(log A) - off(log B)|, where off leaves
    out the diagonal. A covariance matrix stands for its correlations.

    Parameters
    ----------
    m : int
        2 or more.

    References
    ----------
    Archakov and Hansen (2021), A new parametrization of correlation matrices. Econometrica 89.

    Examples
    --------
    >>> half = [[1.0, 0.5], [0.5, 1.0]]
    >>> float(Correlation(2).dist(np.eye(2), half).round(4))
    0.7768
    """

    _title = "correlation matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"correlation": {}}
    _origin_name = "identity"
    _short_form = "the entries above the diagonal row by row"

    def __init__(self, m: int) -> None:
        self.m = as_count(m, "m", least=2, most=1000)
        super().__init__("correlation", self.m, 0.0, (self.m, self.m))

    @property
    def written(self) -> Written:
        return Written(self.spec, "correlation", self.m)

    def _meant(self, shape: tuple[int, ...]) -> str:
        if shape[-1:] != (self.m * (self.m + 1) // 2,):
            return _of_signals(shape, self.m)
        return (
            "; a lower triangle with its diagonal, as nilearn vectorises it, is read by "
            'as_points(records, order="nilearn")'
        )

    def _largest_radius(self, center: FloatArray) -> float:
        """Beyond a distance of 16 from the identity doubles do not hold correlation matrices."""
        return max(_FARTHEST_CORRELATIONS - float(self.dist(center, self.origin)), 0.0)


def _of_signals(shape: tuple[int, ...], channels: int) -> str:
    """Where records that may be time series of so many channels are read."""
    if len(shape) < 3 or channels not in shape[-2:]:
        return ""
    turned = "" if shape[-2] == channels else ", of shape (n, channels, samples)"
    return (
        "; time series become matrices by descriptors.time_series_covariance(signals, ridge=...)"
        f"{turned}"
    )


def complex_parts(value: Any) -> FloatArray:
    """Real and imaginary parts on a new last axis; NaN where masked."""
    with np.errstate(all="ignore"):
        parts = np.stack([value.real, value.imag], axis=-1).astype(np.float64)
    if isinstance(value, np.ma.MaskedArray):
        parts[value.mask] = np.nan
    return np.ascontiguousarray(np.asarray(parts))
