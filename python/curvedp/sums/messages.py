"""Messages of records: bounds of their norms, and what sums of them stand for."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.sums.geometry import Geometry, axes, cells, log_diagonals, squares

#: Norm of a message of clipped logarithms: the clip level.
ROUND_UNIT = float(_core.ROUND_BOUND)
#: What a unit adds to all bins of a histogram together.
COUNT_UNIT = float(_core.COUNT_UNIT)
#: Bins of the logarithm of the scale of matrices, from ln 1e-30 in steps of 1/2.
SCALE_BINS = int(_core.SCALE_BINS)
_LEAST_SCALE, _SCALE_STEP = math.log(1e-30), 0.5

#: Standard deviations, times the root of the order, above which a direction stands out of noise.
_LEAST = {"vector": 2.2, "matrix": 3.0}


#: Kinds of sums.
Kind = Literal["start", "scale", "tail", "histogram", "round"]
#: Things that sums are of: records, or points of flat space that follow from each.
Of = Literal["records", "diagonals", "squares", "cells", "axes"]


@dataclass(frozen=True)
class Request:
    """A sum of messages that is asked for.

    Attributes
    ----------
    kind : str
        "start", "scale", "tail", "histogram" or "round".
    share : float
        Its share of the budget: mu or epsilon.
    base : ndarray or None
        Point at which distances and logarithms are taken.
    radius : float
        Clip level of a round.
    of : str
        "records"; "diagonals", their logarithms as points of flat space; or "squares" of distances
        from `base` up to `radius`, with a count: see `squares_radius`; or "cells", of which `base`
        has the points, one after the other, and then the clip level of each, of which `radius` is
        the largest: see `cells`; or "axes" of their directions from a point, of which `base` has
        the coordinates and then the largest weight: see `axes`.
    levels : ndarray or None
        Of a histogram, falling.
    """

    kind: Kind
    share: float
    base: FloatArray | None = None
    radius: float = math.nan
    of: Of = "records"
    levels: FloatArray | None = None


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


def bound_of(kind: Kind, geometry: Geometry, replaces: bool, changed: int = 1) -> float:
    """Bound on what a unit changes in a sum: the norm of a message, or the distance of two.

    Of histograms that of absolute values, of everything else the Euclidean one.

    Parameters
    ----------
    kind : str
    geometry : Geometry
    replaces : bool
        True for the distance of two.
    changed : int
        Most messages of one unit.
    """
    match kind:
        case "round":
            pair = (ROUND_UNIT, 2.0 * ROUND_UNIT)
        case "histogram":
            pair = (COUNT_UNIT, 2.0 * COUNT_UNIT)
        case "tail":
            pair = _core.tail_bound(geometry.bins)
        case "scale":
            pair = _core.tail_bound(SCALE_BINS)
        case _:
            start = start_of(geometry.manifold)
            assert start is not None
            pair = start.bounds
    return changed * float(pair[replaces])


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
        case "histogram":
            assert request.levels is not None
            return np.ones(len(request.levels))
    return np.ones(geometry.dim + 1)


def space_of(geometry: Geometry, request: Request) -> Geometry:
    """The space that a request's sums are on, of records of a space."""
    if request.of == "squares":
        return squares()
    if request.of == "diagonals":
        return log_diagonals(geometry.manifold.point_shape[0])
    if request.of == "axes":
        return axes(geometry)
    if request.of == "cells":
        assert request.base is not None
        return cells(geometry, len(request.base) // (geometry.manifold.point_size + 1))
    return geometry


#: Largest length of (log/R cut to length 1, 1), rounded up: nothing more is cut.
CELL_LENGTH = 1.4143
#: Largest length of a projector of a weight up to 1, rounded up.
AXES_LENGTH = 1.0001
#: Clip levels whose squares are doubles that can be divided by.
SQUARED = 1e-140, 1e140


def squares_radius(radius: float) -> float:
    """Largest length of (min(t, R)^2, R^2/2), rounded up: nothing is cut at it."""
    return 1.1181 * radius**2


def length_of(request: Request) -> float:
    """Largest length of derived points."""
    if request.of == "squares":
        return squares_radius(request.radius)
    return CELL_LENGTH if request.of == "cells" else AXES_LENGTH


def scale_levels() -> FloatArray:
    """Middles of the bins of the logarithm of the scale."""
    return np.asarray(_LEAST_SCALE + _SCALE_STEP * (np.arange(SCALE_BINS) + 0.5))
