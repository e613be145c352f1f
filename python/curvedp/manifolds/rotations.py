"""Rotations, unitary matrices and subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_count
from curvedp.manifolds.base import Equation, Manifold
from curvedp.manifolds.matrices import ComplexMatrices
from curvedp.manifolds.reading import PLAIN, Reading, Written

#: Largest dimension of the space around subspaces.
MOST_AXES = 1000
#: Largest dimension of a space whose rotations are points: that of the exact samplers of noise.
MOST_TURNED = 33
#: Largest order of unitary matrices, for the same reason.
MOST_UNITARY = 16


class Rotations(Manifold):
    """Rotations of three-dimensional space, SO(3): matrices of shape (3, 3) with determinant 1.

    The distance of two rotations is the angle between them. Sectional curvature 1/4, injectivity
    radius pi. The sphere of dimension 3 and radius 2 covers them twice; statistics of a ball, whose
    radius is below pi/2, are those of its copy there, and noise is drawn there (proof:
    docs/proofs/coverings.md).

    Parameters
    ----------
    m : int
        Order of the matrices: 3.

    Examples
    --------
    >>> quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    >>> float(Rotations().dist(np.eye(3), quarter).round(4))
    1.5708
    """

    _title = "rotations of R³"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"rotations": {}}
    _origin_name = "identity"
    _short_form = (
        "a quaternion, its scalar last; Euler angles and rotation vectors are read as SciPy's "
        "Rotation.from_euler and from_rotvec make them"
    )

    def __init__(self, m: int = 3) -> None:
        size = as_count(m, "m", least=3, most=3)
        super().__init__("rotations", size, 0.0, (3, 3))

    @property
    def written(self) -> Written:
        return Written(self.spec, "quaternion")

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        as_quat = getattr(value, "as_quat", None)  # SciPy's Rotation
        if as_quat is None:
            return super()._numbers(value, name, reading)
        if reading.scalar_first is not None:
            raise ValueError(f"{name} are rotations, not quaternions: leave scalar_first out")
        return super()._numbers(as_quat(), name)

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        near = self.dist(point, center)
        return [near, 2 * np.pi - near]


class SpecialOrthogonal(Manifold):
    """Rotations of R^n, SO(n): matrices of shape (n, n) with orthonormal columns and determinant 1.

    R^T S turns planes by angles t_i in [0, pi]; the distance is sqrt(sum of t_i^2), in radians,
    |log(R^T S)|/sqrt 2 in Frobenius norm. Sectional curvature in [0, 1/2] (1/4 for n = 3, 0 for
    n = 2), injectivity radius pi; balls have a radius below pi/2. For n = 3 this is the space of
    ``Rotations``, which is faster and takes its noise from the sphere that covers it. Proof:
    docs/proofs/special-orthogonal.md.

    Parameters
    ----------
    n : int
        2 to 33.

    Examples
    --------
    >>> turn = [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]]
    >>> angles = np.pi / 2, np.pi
    >>> bool(np.isclose(SpecialOrthogonal(4).dist(np.eye(4), turn), np.hypot(*angles)))
    True
    """

    _title = "rotations of Rⁿ"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"so": {}}
    _is_compact = True
    _origin_name = "identity"

    def __init__(self, n: int) -> None:
        self.n = as_count(n, "n", least=2, most=MOST_TURNED)
        super().__init__("so", self.n, 0.0, (self.n, self.n))

    def _equations(self) -> Sequence[Equation]:
        return _unit_columns(self.point_shape[1])


class Unitary(ComplexMatrices):
    """Unitary matrices, U(n), <V, W>_U = Re tr(V^* W); points (n, n, 2).

    The last axis holds real and imaginary parts; arrays of complex numbers, shape (..., n, n), are
    read as well, and `to_complex` views points as complex matrices, as on ``HPD``. U^* V has
    eigenvalues exp(i t_j) with t_j in (-pi, pi]; the distance is sqrt(sum of t_j^2), in radians,
    |log(U^* V)| in Frobenius norm. Matrices that differ by a phase are two points: for gates up to
    a phase, fix the phase of each record by a public rule. Dimension n^2, sectional curvature in
    [0, 1/2] (0 for n = 1, the circle), injectivity radius pi; balls have a radius below pi/2.
    Proof: docs/proofs/special-orthogonal.md, section 7.

    Parameters
    ----------
    n : int
        1 to 16.

    Examples
    --------
    >>> space = Unitary(2)
    >>> gate = np.diag([1.0, 1.0j])
    >>> bool(np.isclose(space.dist(space.origin, gate), np.pi / 2))
    True
    """

    _title = "unitary matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"unitary": {}}
    _is_compact = True

    def __init__(self, n: int) -> None:
        self.n = as_count(n, "n", most=MOST_UNITARY)
        super().__init__("unitary", self.n, 0.0, (self.n, self.n, 2))

    def _equations(self) -> Sequence[Equation]:
        width = 2 * self.n
        rows = [slice(i * width, (i + 1) * width) for i in range(self.n)]
        return [Equation(f"|row {i}|^2 - 1", row, True, Fraction(1)) for i, row in enumerate(rows)]


class Grassmann(Manifold):
    """The Grassmannian: k-dimensional subspaces of R^n, points of shape (n, k).

    A point is given by an orthonormal basis in columns; any other orthonormal basis of the subspace
    is the same point. The distance is sqrt(sum of squared principal angles), in radians. Sectional
    curvature in [0, 2] (1 for k = 1 and k = n - 1), injectivity radius pi/2; balls have a radius
    below pi/4. Released bases are those closest to that of the ball's centre. Proof:
    docs/proofs/grassmann.md.

    Parameters
    ----------
    n : int
        2 to 1000.
    k : int
        1 to n - 1.

    Examples
    --------
    >>> planes = Grassmann(3, 2)
    >>> tilted = [[1.0, 0.0], [0.0, 0.8], [0.0, 0.6]]
    >>> float(planes.dist(planes.origin, tilted).round(4))
    0.6435
    """

    _title = "subspaces (Grassmannians)"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"grassmann": {}}
    _is_compact = True
    _keyword: ClassVar[str | None] = "k"
    _short_form = "its projector"

    def __init__(self, n: int, k: int) -> None:
        self.n = as_count(n, "n", least=2, most=MOST_AXES)
        self.k = as_count(k, "k", most=self.n - 1)
        super().__init__("grassmann", self.n, float(self.k), (self.n, self.k))

    @property
    def spec(self) -> str:
        return f"grassmann:{self.n}:{self.k}"

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        array = super()._numbers(value, name, reading)
        if array.shape[-2:] == (self.n, self.n):  # projectors
            array = array.reshape(*array.shape[:-2], self.n * self.n)
        return array

    def _equations(self) -> Sequence[Equation]:
        return _unit_columns(self.point_shape[1])


def _unit_columns(width: int) -> list[Equation]:
    """The columns of a matrix have length 1."""
    names = [f"|column {j}|^2 - 1" for j in range(width)]
    return [
        Equation(name, slice(j, None, width), True, Fraction(1)) for j, name in enumerate(names)
    ]
