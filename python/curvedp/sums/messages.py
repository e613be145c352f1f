"""Messages of records: bounds of their norms, noise for sums of them, and what they stand for."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.mechanisms.calibration import calibrated_scale, outward_scale
from curvedp.privacy import GDP
from curvedp.sums.geometry import Geometry

#: Norm of a message of clipped logarithms: the clip level.
ROUND_UNIT = float(_core.ROUND_BOUND)
#: Bins of the logarithm of the scale of matrices, from ln 1e-30 in steps of 1/2.
SCALE_BINS = int(_core.SCALE_BINS)
_LEAST_SCALE, _SCALE_STEP = math.log(1e-30), 0.5

#: The root of 2, rounded down.
_ROOT_2 = math.nextafter(math.sqrt(2.0), 0.0)

#: Standard deviations, times the root of the order, above which a direction stands out of noise.
_LEAST = {"vector": 2.2, "matrix": 3.0}


#: Noise is cut there to fit 64 bits: far beyond what is ever drawn, but with the least budgets.
_FARTHEST = 2.0**62

#: Kinds of sums.
Kind = Literal["start", "scale", "tail", "round"]


@dataclass(frozen=True)
class Request:
    """A sum of messages that is asked for.

    Attributes
    ----------
    kind : str
        "start", "scale", "tail" or "round".
    mu : float
        Its share of the budget.
    base : ndarray or None
        Point at which distances and logarithms are taken.
    radius : float
        Clip level of a round.
    of_diagonals : bool
        True for sums of logarithms of diagonals, as points of flat space.
    """

    kind: Kind
    mu: float
    base: FloatArray | None = None
    radius: float = math.nan
    of_diagonals: bool = False


@dataclass(frozen=True)
class Start:
    """The first sum on a space with a natural embedding.

    Attributes
    ----------
    weights : ndarray of int
        How often each entry counts in the norm.
    bounds : pair of float
        Bound on the norm of a message, and on the distance of two.
    unit : float
        The count coordinate of a record, or the trace of its matrix.
    order : int
        Of the matrix that a record sends; 0 for vectors.
    """

    weights: FloatArray
    bounds: tuple[float, float]
    unit: float
    order: int

    @property
    def is_matrix(self) -> bool:
        """True where messages are matrices, whose trace counts the records."""
        return self.order > 0

    @property
    def most(self) -> float:
        """The most that a record adds to the count: the trace is not exactly `unit`."""
        rank = round((self.bounds[0] / 2.0**24) ** 2) if self.is_matrix else 1
        return 1.0000001 * rank * 2.0**24 / self.unit if self.is_matrix else 1.0

    @property
    def least(self) -> float:
        """Signal, in standard deviations of the noise times the root of its order, that is one."""
        return _LEAST["matrix" if self.is_matrix else "vector"]

    def count(self, noisy: FloatArray, deviation: float) -> tuple[float, float]:
        """Number of records, and the variance of its noise."""
        if self.is_matrix:
            total = math.fsum(noisy[: self.order])
            return total / self.unit, self.order * (deviation / self.unit) ** 2
        return float(noisy[-1]) / self.unit, (deviation / self.unit) ** 2


@functools.cache
def start_of(manifold: Manifold) -> Start | None:
    """The first sum on a space; None where there is none."""
    found = _core.start_bound(manifold.kernels)
    if found is None:
        return None
    add, replace, unit, weights = found
    own = np.asarray(weights, dtype=np.float64)
    order = int((own == 1.0).sum()) if (own == 2.0).any() else 0
    return Start(own, (add, replace), unit, order)


def bound_of(kind: Kind, geometry: Geometry, replaces: bool, moved: int = 1) -> float:
    """Bound on what a unit changes in a sum: the norm of a message, or the distance of two.

    Parameters
    ----------
    kind : str
    geometry : Geometry
    replaces : bool
        True for the distance of two.
    moved : int
        Most messages of one unit.
    """
    match kind:
        case "round":
            pair = (ROUND_UNIT, 2.0 * ROUND_UNIT)
        case "tail":
            pair = _core.tail_bound(geometry.bins)
        case "scale":
            pair = _core.tail_bound(SCALE_BINS)
        case _:
            start = start_of(geometry.manifold)
            assert start is not None
            pair = start.bounds
    return moved * float(pair[replaces])


def weights_of(request: Request, geometry: Geometry) -> FloatArray:
    """Weights of the entries of an answer in its norm: 1 or 2; shape (size,)."""
    match request.kind:
        case "start":
            start = start_of(geometry.manifold)
            assert start is not None
            return start.weights
        case "scale":
            return np.ones(SCALE_BINS)
        case "tail":
            return np.ones(geometry.bins)
    return np.ones(geometry.dim + 1)


def scale_levels() -> FloatArray:
    """Middles of the bins of the logarithm of the scale."""
    return np.asarray(_LEAST_SCALE + _SCALE_STEP * (np.arange(SCALE_BINS) + 0.5))


def noise_scale(bound: float, mu: float, shares: int = 1) -> float:
    """Standard deviation of the noise of one of so many answers, which together are mu-GDP.

    Parameters
    ----------
    bound : float
        See `bound_of`.
    mu : float
    shares : int
        Independent answers that carry the whole noise: the variance of each is as many times less.
    """
    whole = calibrated_scale(bound, 0.0, GDP(mu))
    if shares == 1:
        return whole
    return outward_scale(whole, math.nextafter(math.sqrt(shares), 0.0))


def answered(
    total: NDArray[np.int64], scale: float, weights: FloatArray, stream: _core.Stream
) -> NDArray[np.int64]:
    """A sum of messages with noise, modulo 2^64: the noise is drawn exactly.

    Parameters
    ----------
    total : ndarray of int, shape (size,)
        The exact sum.
    scale : float
        Standard deviation of the noise of an entry of weight 1, see `noise_scale`. It is rounded to
        integers, beyond 2^24 to multiples of a power of two below 2^-23 of it.
    weights : ndarray, shape (size,)
        How often each entry counts in the norm: 1 or 2.
    stream : Stream
    """
    # a multiple of 2^52 goes by the grid of the noise: what is left is a double exactly
    high = (total >> 52) << 52
    noisy = (total - high).astype(np.float64)
    for weight in np.unique(weights):
        own = np.flatnonzero(weights == weight)
        part = noisy[own]
        narrow = scale if weight == 1.0 else outward_scale(scale, _ROOT_2)
        _law_of(len(own), narrow).add_on_grid(stream, 1.0, part[None])
        noisy[own] = part
    return np.clip(noisy, -_FARTHEST, _FARTHEST).astype(np.int64) + high


@functools.lru_cache(maxsize=256)
def _law_of(size: int, scale: float) -> _core.Noise:
    return _core.Noise("flat", size, 0.0, "gaussian", scale)
