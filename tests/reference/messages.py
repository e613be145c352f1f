"""Twin of sums of messages: each record one vector of integers, no longer than a public bound.

The logarithm comes from the twin of the space; which rows are points, and the orthonormal basis in
which coordinates are taken, are the library's.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import comb, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_list import CASES, FRAMES
from reference.rotations import Rotations
from reference.spd_affine import SPDAffine
from reference.spd_log_cholesky import SPDLogCholesky
from reference.spd_log_euclidean import SPDLogEuclidean
from reference.twin import Array, Twin

Integers = NDArray[np.int64]
Message = Integers | None

#: Longest vector of a round.
ROUND_BOUND = 2**24
#: Bins of width 1/2 from ln 1e-30 to ln 1e30.
SCALE_BINS = 277

_LOWEST = np.log(1e-30)
_PROJECTORS = ("projective", "rotations", "kendall", "grassmann")
_POSITIVE = ("spd", "hpd")


def twin_of(spec: str) -> Twin:
    """The NumPy twin of the space that a text names."""
    kind, *rest = spec.split(":")
    if kind == "spd":
        metrics = {"log-euclidean": SPDLogEuclidean, "log-cholesky": SPDLogCholesky}
        made: Twin = metrics.get(rest[-1], SPDAffine)(int(rest[0]))
        return made
    if kind == "rotations":
        return Rotations()
    numbers = [float(x) if "." in x or "e" in x else int(x) for x in rest]
    kinds = {case.name.partition(":")[0]: type(case.twin) for case in CASES}
    return kinds[kind](*numbers)


def root_up(square: int) -> float:
    """The square root of an integer, rounded up to a double of 50 bits or more."""
    shift = max(0, (104 - square.bit_length()) // 2)
    scaled = square << 2 * shift
    root = isqrt(scaled)
    return float(root + (root * root < scaled)) / 2.0**shift


def norm_squared(message: Integers, weights: Integers | None = None) -> int:
    """Sum of the weighted squares, exactly."""
    weighted = [1] * len(message) if weights is None else weights.tolist()
    return sum(w * x * x for w, x in zip(weighted, message.tolist(), strict=True))


def truncated(total: int, count: int) -> int:
    """total/count, rounded towards zero."""
    return total // count if total >= 0 else -(-total // count)


def square_root_column(bins: int) -> Integers:
    """2^20 C(2k, k)/4^k: the first column of the square root of the matrix of prefix sums."""
    return np.array([round(Fraction(comb(2 * k, k) << 20, 4**k)) for k in range(bins)])


def tail_bound(bins: int) -> tuple[float, float]:
    """Longest column, and largest difference of two means of columns, rounded towards zero."""
    first = square_root_column(bins)
    moved = [np.append(np.zeros(j, dtype=np.int64), first)[:bins] for j in range(1, bins)]
    farthest = max([norm_squared(first), *(norm_squared(first - own) for own in moved)])
    apart = root_up(farthest) + root_up(bins)
    return root_up(norm_squared(first)), float(np.nextafter(apart, np.inf))


def _name(manifold: Any) -> str:
    return str(manifold.spec).partition(":")[0]


def start_shape(manifold: Any) -> tuple[int, int, bool]:
    """Order and rank of the projector of a point, and whether it is complex."""
    kind = _name(manifold)
    if kind == "rotations":
        return 4, 1, False
    if kind == "grassmann":
        return manifold.n, manifold.k, False
    return manifold.point_shape[0], 1, kind == "kendall"


def constant(manifold: Any) -> tuple[int, int]:
    """Squared length of a point, and the constant beside it: half the length times 2^24."""
    kind = _name(manifold)
    square = {"sphere": 1, "torus": manifold.dim}.get(kind, manifold.point_shape[0])
    return square, round(2**23 * float(np.sqrt(square)))


def start_bound(manifold: Any) -> tuple[float, float, float, Integers] | None:
    """Bounds of a record's message, its count, and the weights of entries in the norm."""
    kind = _name(manifold)
    if kind in _PROJECTORS:
        order, rank, is_complex = start_shape(manifold)
        entries = order * order if is_complex else order * (order + 1) // 2
        weights = np.full(entries, 2, dtype=np.int64)
        weights[:order] = 1
        square = rank << 48
        # units: entries rounded towards 0 take less than this from the inner product's lengths
        lost = order * (1 + is_complex)
        longest = isqrt(square - 1) + 1
        replace = root_up(2 * square + 4 * lost * longest + 2 * lost * lost)
        scale = _axis_scale(order * (1 + is_complex))
        return root_up(square), replace, float(rank * scale**2), weights
    if kind in ("sphere", "torus", *FRAMES):
        square, count = constant(manifold)
        entries = manifold.point_size * (1 + (kind == "torus"))
        add, replace = root_up((square << 48) + count**2), root_up(square << 50)
        return add, replace, float(count), np.ones(entries + 1, dtype=np.int64)
    return None


def _scale(entries: int) -> int:
    return 2**24 - 8 - isqrt(entries)


def _axis_scale(entries: int) -> int:
    return 2**12 - 4 - isqrt(entries)


def quaternion(rotation: Array) -> Array:
    """A unit quaternion of a rotation, its scalar first."""
    m = rotation
    products = np.array(
        [
            [1 + np.trace(m), m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0, 1 + 2 * m[0, 0] - np.trace(m), m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [0, 0, 1 + 2 * m[1, 1] - np.trace(m), m[1, 2] + m[2, 1]],
            [0, 0, 0, 1 + 2 * m[2, 2] - np.trace(m)],
        ]
    )
    products += np.triu(products, 1).T
    row: Array = products[np.argmax(np.diag(products))]
    return row / np.linalg.norm(row)


def start_message(manifold: Any, point: Array) -> Integers:
    """The start message of a point, before it is checked."""
    kind = _name(manifold)
    if kind in _PROJECTORS:
        order, rank, is_complex = start_shape(manifold)
        basis = quaternion(point) if kind == "rotations" else point
        w = np.rint(_axis_scale(order * (1 + is_complex)) * basis)
        w = w[:, 0] + 1j * w[:, 1] if is_complex else w
        columns = w.reshape(order, rank)
        matrix = columns @ columns.conj().T  # integers below 2^53: exact
        above = matrix[np.triu_indices(order, 1)]
        off = np.stack([above.real, above.imag], 1).ravel() if is_complex else above
        return np.concatenate([np.diag(matrix).real, off]).astype(np.int64)
    if kind == "torus":
        point = np.stack([np.cos(point), np.sin(point)], axis=1)
    radius = getattr(manifold, "radius", 1.0)
    w = np.rint(_scale(point.size) * (point.ravel() / radius))
    return np.append(w, constant(manifold)[1]).astype(np.int64)


def start_point(manifold: Any, vector: Array) -> tuple[Array, float, int]:
    """The point of a noisy sum, how far the sum decides it, and the order of its noise."""
    kind, body = _name(manifold), vector[:-1]
    if kind in _PROJECTORS:
        return _axis_point(manifold, vector)
    size = {"sphere": manifold.dim + 1, "torus": 2}.get(kind, manifold.point_shape[0])
    if not np.isfinite(vector).all() or not body.any():
        return manifold.origin.ravel(), 0.0, size
    point, decided = twin_of(manifold.spec).start_point(body)
    return point.ravel(), decided, size


def _axis_point(manifold: Any, vector: Array) -> tuple[Array, float, int]:
    kind = _name(manifold)
    order, rank, is_complex = start_shape(manifold)
    size = order - is_complex  # shapes are centred
    if not np.isfinite(vector).all() or not vector.any():
        return manifold.origin.ravel(), 0.0, size
    off = vector[order:].reshape(-1, 1 + is_complex)
    upper = np.zeros((order, order), dtype=complex)
    upper[np.triu_indices(order, 1)] = off[:, 0] + 1j * off[:, 1] if is_complex else off[:, 0]
    matrix = upper + upper.conj().T + np.diag(vector[:order])
    if is_complex:
        helmert = np.linalg.qr(np.eye(order) - 1 / order)[0][:, :size]
        values, inner = np.linalg.eigh(helmert.T @ matrix @ helmert)
        vectors = helmert @ inner
    else:
        values, vectors = np.linalg.eigh(matrix.real)
    gap = float(values[-rank] - values[-rank - 1]) if rank < len(values) else float(values[0])
    top = vectors[:, -rank:]
    if kind == "rotations":
        w, *axis = top[:, 0]
        x, y, z = axis
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return (np.eye(3) + 2 * w * cross + 2 * cross @ cross).ravel(), gap, size
    parts = np.stack([top.real, top.imag], -1) if is_complex else top
    return parts.ravel(), gap, size


class MessageSums:
    """Sums over records of a space of the library (not of its kernels)."""

    def __init__(self, manifold: Any, records: Array, unit_ends: Integers | None = None) -> None:
        self.manifold, self.twin = manifold, twin_of(manifold.spec)
        self.points = np.array(records, dtype=np.float64).reshape(-1, manifold.point_size)
        self.valid = np.zeros(len(self.points), dtype=bool)
        manifold.kernels.snap(self.points, self.valid)
        self.ends = range(len(self.points) + 1) if unit_ends is None else unit_ends.tolist()

    def _sum(self, messages: Iterable[Message], limit: int, weights: Integers) -> Integers:
        """Sum over units of the mean of their records' messages, those within the limit alone."""

        def checked(message: Message) -> list[int]:
            if message is None or norm_squared(message, weights) > limit:
                return [0] * len(weights)
            return [int(x) for x in message]

        sent = [checked(message) for message in messages]
        total = [0] * len(weights)
        for first, end in zip(self.ends[:-1], self.ends[1:], strict=True):
            sums = [sum(entries) for entries in zip(*sent[first:end], strict=True)]
            mean = [truncated(x, end - first) for x in sums]
            for j, x in enumerate(checked(np.array(mean)) if mean else []):
                total[j] += x
        return np.array(total, dtype=np.int64)

    def start(self) -> Integers | None:
        """Points embedded in Euclidean space; None where there is no message."""
        bound = start_bound(self.manifold)
        if bound is None:
            return None
        weights = bound[3]
        if _name(self.manifold) in _PROJECTORS:
            limit = start_shape(self.manifold)[1] << 48
        else:
            square, count = constant(self.manifold)
            limit = (square << 48) + count**2
        shape = self.manifold.point_shape
        rows = zip(self.points, self.valid, strict=True)
        messages = (
            start_message(self.manifold, row.reshape(shape)) if valid else None
            for row, valid in rows
        )
        return self._sum(messages, limit, weights)

    def coords(self, base: Array) -> Array:
        """Coordinates of the logarithms at a base point; NaN for what is no point."""
        shape, base = self.twin.point_shape, np.asarray(base, dtype=np.float64)
        tangent = np.full_like(self.points, np.nan)
        for row, point, valid in zip(tangent, self.points, self.valid, strict=True):
            if valid and np.isfinite(base).all():
                row[:] = self.twin.log(point.reshape(shape), base.reshape(shape)).ravel()
        out = np.empty((len(tangent), self.manifold.dim))
        self.manifold.kernels.coords(tangent, base.reshape(1, -1), out)
        return out

    def round(self, base: Array, radius: float) -> Integers:
        """Logarithms of length at most `radius`, and what completes each to length 2^24."""
        dim = self.manifold.dim
        whole = ROUND_BOUND - 8 * dim

        def message(log: Array) -> Message:
            length = _length(log)
            if not np.isfinite(length):
                return None
            z = np.rint(log / max(length, radius) * whole)
            z = z.astype(np.int64)
            rest = ROUND_BOUND**2 - norm_squared(z)
            return None if rest < 0 else np.append(z, isqrt(rest))

        weights = np.ones(dim + 1, dtype=np.int64)
        return self._sum(map(message, self.coords(base)), ROUND_BOUND**2, weights)

    def tail(self, base: Array, largest: float, bins: int) -> Integers:
        """Column j of the square root for a distance between largest 2^(-(j+1)/4) and 2^(-j/4)."""
        grid = [largest * 2.0 ** -(j % 4 / 4) * 2.0 ** -(j // 4) for j in range(bins)]

        def bin_of(log: Array) -> int | None:
            length = _length(log)
            if not np.isfinite(length):
                return None
            return max(sum(length <= y for y in grid) - 1, 0)

        return self._columns(map(bin_of, self.coords(base)), bins)

    def scale(self, bins: int) -> Integers:
        """Column j for ln det x/m between ln 1e-30 + j/2 and the same + 1/2."""
        if _name(self.manifold) not in _POSITIVE:
            raise ValueError("only positive definite matrices have a scale")
        shape = self.manifold.point_shape

        def bin_of(row: Array, valid: bool) -> int | None:
            if not valid:
                return None
            matrix = row.reshape(shape)
            if len(shape) == 3:
                matrix = matrix[..., 0] + 1j * matrix[..., 1]
            value = np.linalg.slogdet(matrix)[1] / shape[0]
            return int(np.clip(np.floor((value - _LOWEST) / 0.5), 0, bins - 1))

        return self._columns(map(bin_of, self.points, self.valid), bins)

    def _columns(self, indices: Iterable[int | None], bins: int) -> Integers:
        column = square_root_column(bins)

        def message(index: int | None) -> Message:
            if index is None:
                return None
            return np.concatenate([np.zeros(index, dtype=np.int64), column[: bins - index]])

        weights = np.ones(bins, dtype=np.int64)
        return self._sum(map(message, indices), norm_squared(column), weights)


def _length(log: Array) -> float:
    """Euclidean length; NaN if an entry is not finite."""
    if not np.isfinite(log).all():
        return float("nan")
    largest = float(np.max(np.abs(log), initial=0.0))
    return largest * float(np.linalg.norm(log / largest)) if largest > 0 else 0.0
