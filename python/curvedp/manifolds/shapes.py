"""Kendall's shapes of landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from curvedp._validation import FloatArray, as_count
from curvedp.manifolds.base import Equation, Manifold
from curvedp.manifolds.matrices import complex_parts
from curvedp.manifolds.reading import PLAIN, Reading, Written
from curvedp.manifolds.vectors import MAX_SIZE, UNIT_LENGTH

#: Advice for landmarks in space.
LANDMARKS_IN_SPACE = (
    "shapes are planar here; landmarks in space can be aligned to a public template, see "
    "curvedp.descriptors.AlignedLandmarks"
)


class KendallPlanar(Manifold):
    """Shapes of `k_landmarks` points in the plane: centred, unit, up to rotation (CP^(k-2)).

    Points have shape (k_landmarks, 2). Sectional curvature in [1, 4], injectivity radius pi/2.

    Parameters
    ----------
    k_landmarks : int
        3 or more.

    Examples
    --------
    >>> triangle = KendallPlanar(3).project([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> turned = triangle @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> bool(KendallPlanar(3).dist(triangle, turned) < 1e-7)
    True
    """

    _title = "Kendall's planar shapes"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"kendall": {}}
    _is_compact = True

    def __init__(self, k_landmarks: int) -> None:
        self.k_landmarks = as_count(k_landmarks, "k_landmarks", least=3, most=MAX_SIZE)
        super().__init__("kendall", self.k_landmarks, 0.0, (self.k_landmarks, 2))

    @property
    def origin(self) -> FloatArray:
        """The regular polygon."""
        angle = 2.0 * np.pi * np.arange(self.k_landmarks) / self.k_landmarks
        return self.project(np.stack([np.cos(angle), np.sin(angle)], axis=1))

    @property
    def written(self) -> Written:
        return Written(self.spec, "landmarks", self.k_landmarks)

    def _equations(self) -> Sequence[Equation]:
        name = "sum of coordinate {} of the landmarks"
        sums = [Equation(name.format(axis), slice(axis, None, 2), False) for axis in range(2)]
        return [UNIT_LENGTH, *sums]

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        # only an array may be complex: the dtype of a list depends on its entries
        if isinstance(value, np.ndarray) and value.dtype.kind == "c":
            return complex_parts(value)
        return super()._numbers(value, name, reading)

    def _meant(self, shape: tuple[int, ...]) -> str:
        return f": {LANDMARKS_IN_SPACE}" * (len(shape) > 1 and shape[-1] == 3)
