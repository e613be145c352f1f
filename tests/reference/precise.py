"""The textbook formulas in 60-digit arithmetic: where float64 cancels, these are the truth.

Every function takes and returns object arrays of mpmath numbers; `lift` and `lower` convert. Inputs
that rounding has moved off the manifold are first put back on it, because float64 determines a
point of a sphere only up to its length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
DIGITS = 60


def lift(array: Any) -> Numbers:
    """Exact conversion of float64 entries to mpmath numbers."""
    source = np.asarray(array)
    return np.array([mp.mpf(float(x)) for x in source.ravel()], dtype=object).reshape(source.shape)


def lower(array: Any) -> NDArray[np.float64]:
    """Nearest float64 of every entry."""
    return np.asarray(array, dtype=object).astype(np.float64)


def dot(a: Numbers, b: Numbers) -> Any:
    return sum((x * y for x, y in zip(a.ravel(), b.ravel(), strict=True)), mp.mpf(0))


def length(a: Numbers) -> Any:
    return mp.sqrt(dot(a, a))


class PreciseEuclidean:
    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return base + vector

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return point - base

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return length(a - b)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        return vector


class PreciseSphere:
    def __init__(self, radius: float = 1.0) -> None:
        self.radius = mp.mpf(radius)

    def on_manifold(self, point: Numbers) -> Numbers:
        return point * (self.radius / length(point))

    def to_tangent(self, vector: Numbers, base: Numbers) -> Numbers:
        return vector - base * (dot(vector, base) / dot(base, base))

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector)

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        angle = length(vector) / self.radius
        if angle == 0:
            return base
        return base * mp.cos(angle) + vector * (mp.sin(angle) / angle)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        a, b = self.on_manifold(a), self.on_manifold(b)
        return 2 * self.radius * mp.atan2(length(a - b), length(a + b))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        base = self.on_manifold(base)
        direction = self.to_tangent(point, base)
        size = length(direction)
        return direction * (self.dist(point, base) / size if size else 0)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        base, end = self.on_manifold(base), self.on_manifold(end)
        vector = self.to_tangent(vector, base)
        share = dot(end, vector) / (self.radius**2 + dot(base, end))
        return vector - (base + end) * share


class PreciseAxes(PreciseSphere):
    """The sphere for the vectors of axes that are closer to the base point."""

    @staticmethod
    def sign(point: Numbers, base: Numbers) -> int:
        return -1 if dot(point, base) < 0 else 1

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return super().dist(a, b * self.sign(b, a))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        base = self.on_manifold(base)
        return super().log(point * self.sign(point, base), base)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        sign = self.sign(end, base)
        return super().parallel_transport(vector, base, end * sign) * sign


class PreciseTorus(PreciseEuclidean):
    @staticmethod
    def wrap(angles: Numbers) -> Numbers:
        turn = 2 * mp.pi
        entries = [x - turn * mp.floor(x / turn + mp.mpf(1) / 2) for x in angles.ravel()]
        return np.array(entries, dtype=object).reshape(angles.shape)

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return self.wrap(base + vector)

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return self.wrap(point - base)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return length(self.log(b, a))


class PreciseHyperboloid:
    def __init__(self, curvature: float = -1.0) -> None:
        self.radius = 1 / mp.sqrt(-mp.mpf(curvature))

    @staticmethod
    def minkowski(a: Numbers, b: Numbers) -> Any:
        return dot(a, b) - 2 * a[0] * b[0]

    def on_manifold(self, point: Numbers) -> Numbers:
        return point * (self.radius / mp.sqrt(-self.minkowski(point, point)))

    def to_tangent(self, vector: Numbers, base: Numbers) -> Numbers:
        return vector - base * (self.minkowski(vector, base) / self.minkowski(base, base))

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return mp.sqrt(self.minkowski(vector, vector))

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        base = self.on_manifold(base)
        vector = self.to_tangent(vector, base)
        angle = self.norm(vector, base) / self.radius
        if angle == 0:
            return base
        return base * mp.cosh(angle) + vector * (mp.sinh(angle) / angle)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        a, b = self.on_manifold(a), self.on_manifold(b)
        return self.radius * mp.acosh(max(mp.mpf(1), -self.minkowski(a, b) / self.radius**2))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        point, base = self.on_manifold(point), self.on_manifold(base)
        direction = self.to_tangent(point, base)
        size = mp.sqrt(abs(self.minkowski(direction, direction)))
        return direction * (self.dist(point, base) / size if size else 0)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        base, end = self.on_manifold(base), self.on_manifold(end)
        vector = self.to_tangent(vector, base)
        share = self.minkowski(end, vector) / (self.radius**2 - self.minkowski(base, end))
        return vector + (base + end) * share


class PreciseRotations:
    @staticmethod
    def skew(matrix: Numbers) -> Numbers:
        return (matrix - matrix.T) / 2

    @staticmethod
    def on_manifold(point: Numbers) -> Numbers:
        """Newton's iteration for the closest orthogonal matrix."""
        for _ in range(4):
            point = point @ (3 * lift(np.eye(3)) - point.T @ point) / 2
        return point

    def to_tangent(self, vector: Numbers, base: Numbers) -> Numbers:
        return base @ self.skew(base.T @ vector)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector) / mp.sqrt(2)

    def turn(self, generator: Numbers) -> Numbers:
        t = self.norm(generator, generator)
        if t == 0:
            return lift(np.eye(3))
        first, second = mp.sin(t) / t, (1 - mp.cos(t)) / t**2
        return lift(np.eye(3)) + first * generator + second * (generator @ generator)

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        base = self.on_manifold(base)
        return base @ self.turn(self.skew(base.T @ vector))

    def dist(self, a: Numbers, b: Numbers) -> Any:
        a, b = self.on_manifold(a), self.on_manifold(b)
        half_sine = length(a - b) / mp.sqrt(8)
        return 2 * mp.atan2(half_sine, mp.sqrt(max(mp.mpf(0), 1 - half_sine**2)))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        point, base = self.on_manifold(point), self.on_manifold(base)
        generator = self.skew(base.T @ point)
        size = self.norm(generator, base)
        return base @ generator * (self.dist(point, base) / size if size else 0)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        base = self.on_manifold(base)
        half = self.turn(base.T @ self.log(end, base) / 2)
        return base @ half @ self.skew(base.T @ vector) @ half


class PreciseKendall:
    """Complex vectors: `lift` gives (k, 2) arrays, which `complexify` reads as C^k."""

    @staticmethod
    def complexify(array: Numbers) -> Numbers:
        return np.array([mp.mpc(x, y) for x, y in array], dtype=object)

    @staticmethod
    def realify(vector: Numbers) -> Numbers:
        return np.array([[z.real, z.imag] for z in vector], dtype=object)

    @staticmethod
    def hermitian(a: Numbers, b: Numbers) -> Any:
        """sum_j conj(a_j) b_j."""
        return sum((mp.conj(x) * y for x, y in zip(a, b, strict=True)), mp.mpc(0))

    def on_manifold(self, point: Numbers) -> Numbers:
        z = self.complexify(point)
        z = z - sum(z, mp.mpc(0)) / len(z)
        return z / mp.sqrt(self.hermitian(z, z).real)

    def horizontal(self, vector: Numbers, z: Numbers) -> Numbers:
        w = vector - sum(vector, mp.mpc(0)) / len(vector)
        return w - z * self.hermitian(z, w)

    def phase(self, z: Numbers, w: Numbers) -> Any:
        """The unit number u that makes <z, u w> positive."""
        overlap = self.hermitian(z, w)
        return mp.conj(overlap) / abs(overlap) if overlap else mp.mpc(1)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector)

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        angle = length(vector)
        if angle == 0:
            return base
        return base * mp.cos(angle) + vector * (mp.sin(angle) / angle)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        z, w = self.on_manifold(a), self.on_manifold(b)
        return mp.acos(min(mp.mpf(1), abs(self.hermitian(z, w))))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        z, w = self.on_manifold(base), self.on_manifold(point)
        direction = self.realify(self.horizontal(w * self.phase(z, w), z))
        size = length(direction)
        return direction * (self.dist(point, base) / size if size else 0)

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        z, w = self.on_manifold(base), self.on_manifold(end)
        v = self.horizontal(self.complexify(vector), z)
        turn = self.phase(z, w)
        along = self.horizontal(w * turn, z)
        size = length(self.realify(along))
        if size:
            along = along / size
            angle = self.dist(base, end)
            arrival = along * mp.cos(angle) - z * mp.sin(angle)
            v = v + (arrival - along) * self.hermitian(along, v)
        return self.realify(v * mp.conj(turn))


class PreciseProjective(PreciseKendall):
    """Complex lines, without the centring of landmarks."""

    def on_manifold(self, point: Numbers) -> Numbers:
        z = self.complexify(point)
        return z / mp.sqrt(self.hermitian(z, z).real)

    def horizontal(self, vector: Numbers, z: Numbers) -> Numbers:
        return vector - z * self.hermitian(z, vector)


def eigen(matrix: Numbers) -> tuple[Numbers, Numbers]:
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix."""
    values, vectors = mp.eigsy(mp.matrix(matrix.tolist()))
    return (
        np.array([x for x in values], dtype=object),
        np.array(vectors.tolist(), dtype=object).reshape(matrix.shape),
    )


def cholesky(matrix: Numbers) -> Numbers:
    return np.array(mp.cholesky(mp.matrix(matrix.tolist())).tolist(), dtype=object)


def inverse(matrix: Numbers) -> Numbers:
    return np.array((mp.matrix(matrix.tolist()) ** -1).tolist(), dtype=object)


def on_spectrum(function: Callable[[Any], Any], matrix: Numbers) -> Numbers:
    values, q = eigen(matrix)
    return (q * np.array([function(x) for x in values], dtype=object)) @ q.T


class PreciseSPDAffine:
    def whiten(self, matrix: Numbers, base: Numbers) -> Numbers:
        back = inverse(cholesky(base))
        half = back @ matrix @ back.T
        return (half + half.T) / 2

    def colour(self, matrix: Numbers, base: Numbers) -> Numbers:
        low = cholesky(base)
        return low @ matrix @ low.T

    def log_eigenvalues(self, point: Numbers, base: Numbers) -> Numbers:
        """Logarithms of the eigenvalues of base^-1 point, ascending."""
        return np.array(sorted(mp.log(x) for x in eigen(self.whiten(point, base))[0]), dtype=object)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(self.whiten(vector, base))

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return self.colour(on_spectrum(mp.exp, self.whiten(vector, base)), base)

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return self.colour(on_spectrum(mp.log, self.whiten(point, base)), base)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return length(self.log_eigenvalues(b, a))

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        root = on_spectrum(mp.sqrt, self.whiten(end, base))
        return self.colour(root @ self.whiten(vector, base) @ root, base)


class PreciseHPD:
    """Hermitian matrices: `lift` gives (m, m, 2) arrays, which `complexify` reads as complex."""

    @staticmethod
    def complexify(array: Numbers) -> Any:
        return mp.matrix([[mp.mpc(x, y) for x, y in row] for row in array])

    @staticmethod
    def realify(matrix: Any) -> Numbers:
        rows = [[[z.real, z.imag] for z in map(mp.mpmathify, row)] for row in matrix.tolist()]
        return np.array(rows, dtype=object)

    def whiten(self, matrix: Numbers, base: Numbers) -> Any:
        back = mp.cholesky(self.complexify(base)) ** -1
        half = back * self.complexify(matrix) * back.H
        return (half + half.H) / 2

    def colour(self, matrix: Any, base: Numbers) -> Numbers:
        low = mp.cholesky(self.complexify(base))
        return self.realify(low * matrix * low.H)

    @staticmethod
    def on_spectrum(function: Callable[[Any], Any], matrix: Any) -> Any:
        values, q = mp.eighe(matrix)
        return q * mp.diag([function(x) for x in values]) * q.H

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(self.realify(self.whiten(vector, base)))

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return self.colour(self.on_spectrum(mp.exp, self.whiten(vector, base)), base)

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return self.colour(self.on_spectrum(mp.log, self.whiten(point, base)), base)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        values = mp.eighe(self.whiten(b, a), eigvals_only=True)
        return length(np.array([mp.log(x) for x in values], dtype=object))

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        root = self.on_spectrum(mp.sqrt, self.whiten(end, base))
        return self.colour(root * self.whiten(vector, base) * root, base)


class PreciseSPDLogEuclidean:
    def chart(self, point: Numbers) -> Numbers:
        return on_spectrum(mp.log, point)

    @staticmethod
    def quotients(values: Numbers) -> Numbers:
        def quotient(a: Any, b: Any) -> Any:
            return (mp.log(a) - mp.log(b)) / (a - b) if a != b else 1 / a

        return np.array([[quotient(a, b) for b in values] for a in values], dtype=object)

    def dchart(self, vector: Numbers, base: Numbers) -> Numbers:
        values, q = eigen(base)
        return q @ (self.quotients(values) * (q.T @ vector @ q)) @ q.T

    def dunchart(self, coords: Numbers, base: Numbers) -> Numbers:
        values, q = eigen(base)
        return q @ ((q.T @ coords @ q) / self.quotients(values)) @ q.T

    def unchart(self, coords: Numbers) -> Numbers:
        return on_spectrum(mp.exp, coords)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(self.dchart(vector, base))

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return self.unchart(self.chart(base) + self.dchart(vector, base))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return self.dunchart(self.chart(point) - self.chart(base), base)

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return length(self.chart(a) - self.chart(b))

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        return self.dunchart(self.dchart(vector, base), end)


class PreciseCorrelation(PreciseSPDLogEuclidean):
    """The logarithm without its diagonal, which follows from the rest."""

    def chart(self, point: Numbers) -> Numbers:
        return _hollow(super().chart(point))

    def dchart(self, vector: Numbers, base: Numbers) -> Numbers:
        return _hollow(super().dchart(vector, base))

    def dunchart(self, coords: Numbers, base: Numbers) -> Numbers:
        bare = super().dunchart(coords, base)
        e = np.vectorize(mp.mpf)(np.eye(len(base)))
        images = [super(PreciseCorrelation, self).dunchart(np.diag(row), base) for row in e]
        slope = mp.matrix([[images[j][i, i] for j in range(len(base))] for i in range(len(base))])
        solved = mp.lu_solve(slope, mp.matrix([-bare[i, i] for i in range(len(base))]))
        return _hollow(bare + sum(x * image for x, image in zip(solved, images, strict=True)))

    def unchart(self, coords: Numbers) -> Numbers:
        full = coords.copy()
        for _ in range(3000):
            point = super().unchart(full)
            excess = [mp.log(x) for x in np.diag(point)]
            for i, x in enumerate(excess):
                full[i, i] -= x
            if max(map(abs, excess)) < mp.mpf(10) ** (5 - mp.mp.dps):
                break
        return point


def _hollow(matrix: Numbers) -> Numbers:
    hollow = matrix.copy()
    hollow[np.diag_indices(len(matrix))] = mp.mpf(0)
    return hollow


class PreciseSPDLogCholesky(PreciseSPDLogEuclidean):
    """The same flat geometry in Lin's chart: strict lower part and log-diagonal of the factor."""

    def chart(self, point: Numbers) -> Numbers:
        low = cholesky(point)
        for i in range(len(low)):
            low[i, i] = mp.log(low[i, i])
        return low

    def unchart(self, coords: Numbers) -> Numbers:
        low = coords.copy()
        for i in range(len(low)):
            low[i, i] = mp.exp(low[i, i])
        return low @ low.T

    def dchart(self, vector: Numbers, base: Numbers) -> Numbers:
        low = cholesky(base)
        back = inverse(low)
        half = np.tril(back @ vector @ back.T)
        half[np.diag_indices(len(low))] /= 2
        out = low @ half
        out[np.diag_indices(len(low))] /= np.diag(low)
        return out

    def dunchart(self, coords: Numbers, base: Numbers) -> Numbers:
        low = cholesky(base)
        step = coords.copy()
        step[np.diag_indices(len(low))] *= np.diag(low)
        return step @ low.T + low @ step.T


class PreciseGrassmann:
    """Bases in columns; angles from the eigenvalues of what lies across the base point."""

    def of_coords(self, coords: Numbers, origin: Numbers) -> Numbers:
        """The tangent vector at the origin with these coordinates."""
        vector = 0 * origin
        vector[origin.shape[1] :] = coords.reshape(-1, origin.shape[1])
        return vector

    def on_manifold(self, point: Numbers) -> Numbers:
        return point @ on_spectrum(lambda x: 1 / mp.sqrt(x), point.T @ point)

    def to_tangent(self, vector: Numbers, base: Numbers) -> Numbers:
        return vector - base @ (base.T @ vector)

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector)

    @staticmethod
    def functions(vector: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """cos T, sin(T)/T and (1 - cos T)/T^2 of T^2 = H^T H."""
        square = vector.T @ vector

        def of(f: Callable[[Any], Any], limit: Any) -> Numbers:
            small = mp.mpf(10) ** (-2 * mp.mp.dps)
            return on_spectrum(lambda x: limit if x < small else f(mp.sqrt(x)), square)

        return (
            of(mp.cos, mp.mpf(1)),
            of(lambda t: mp.sin(t) / t, mp.mpf(1)),
            of(lambda t: 2 * (mp.sin(t / 2) / t) ** 2, mp.mpf(1) / 2),
        )

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        base = self.on_manifold(base)
        cos, sinc, _ = self.functions(vector)
        return base @ cos + vector @ sinc

    def parts(self, point: Numbers, base: Numbers) -> list[tuple[Any, Numbers, Numbers]]:
        point, base = self.on_manifold(point), self.on_manifold(base)
        across = self.to_tangent(point, base)
        _, vectors = eigen(across.T @ across)
        pairs = zip((across @ vectors).T, (base.T @ point @ vectors).T, strict=True)
        return [(mp.atan2(length(b), length(a)), b, a) for b, a in pairs]

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return mp.sqrt(sum((t**2 for t, _, _ in self.parts(b, a)), mp.mpf(0)))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        found = base * 0
        for t, b, a in self.parts(point, base):
            if length(b):
                found = found + t / length(b) / length(a) * np.outer(b, a)
        return found

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        base, end = self.on_manifold(base), self.on_manifold(end)
        velocity = self.log(end, base)
        _, sinc, versine = self.functions(velocity)
        along = velocity.T @ self.to_tangent(vector, base)
        carried = vector - base @ (sinc @ along) - velocity @ (versine @ along)
        return carried @ (self.exp(velocity, base).T @ end)


class PreciseSpecialOrthogonal(PreciseRotations):
    """Rotation matrices; angles from what their eigenvectors are moved by."""

    def of_coords(self, coords: Numbers, origin: Numbers) -> Numbers:
        """The skew matrix at the identity with these coordinates."""
        vector, (rows, columns) = 0 * origin, np.tril_indices(len(origin), -1)
        vector[rows, columns], vector[columns, rows] = coords, -coords
        return vector

    def turn(self, generator: Numbers) -> Numbers:
        square = generator.T @ generator
        small = mp.mpf(10) ** (-2 * mp.mp.dps)

        def of(f: Callable[[Any], Any], limit: Any) -> Numbers:
            return on_spectrum(lambda x: limit if x < small else f(mp.sqrt(x)), square)

        first = of(lambda t: mp.sin(t) / t, mp.mpf(1))
        second = of(lambda t: 2 * (mp.sin(t / 2) / t) ** 2, mp.mpf(1) / 2)
        return lift(np.eye(len(generator))) + generator @ (first + generator @ second)

    def on_manifold(self, point: Numbers) -> Numbers:
        """Newton's iteration for the closest orthogonal matrix."""
        identity = lift(np.eye(len(point)))
        for _ in range(4):
            point = point @ (3 * identity - point.T @ point) / 2
        return point

    def parts(self, point: Numbers, base: Numbers) -> list[tuple[Any, Numbers, Numbers]]:
        """Angles, the vectors that turn by them, and these turned by a right angle or nothing."""
        point, base = self.on_manifold(point), self.on_manifold(base)
        difference = base.T @ (point - base)
        _, vectors = eigen(difference.T @ difference)
        moved, turned = difference @ vectors, self.skew(difference) @ vectors
        columns = zip(vectors.T, moved.T, turned.T, strict=True)
        return [(2 * mp.atan2(length(m), length(m + 2 * v)), v, w) for v, m, w in columns]

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return mp.sqrt(sum((t**2 for t, _, _ in self.parts(b, a)), mp.mpf(0)) / 2)

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        found = base * 0
        for t, v, w in self.parts(point, base):
            if length(w):
                found = found + t / length(w) * np.outer(w, v)
        return self.on_manifold(base) @ self.skew(found)


class PreciseUnitary:
    """Unitary matrices, as rotations of real and imaginary parts: blocks (x, -y; y, x)."""

    rotations = PreciseSpecialOrthogonal()

    @staticmethod
    def spread(array: Numbers) -> Numbers:
        x, y = array[..., 0], array[..., 1]
        return np.array(np.block([[x, -y], [y, x]]), dtype=object)

    @staticmethod
    def gather(matrix: Numbers) -> Numbers:
        n = len(matrix) // 2
        return np.stack([matrix[:n, :n], matrix[n:, :n]], axis=-1)

    def of_coords(self, coords: Numbers, origin: Numbers) -> Numbers:
        """i H at the identity, for the Hermitian matrix H with these coordinates, a triangle."""
        vector, numbers = 0 * origin, iter(coords)
        for i in range(len(origin)):
            vector[i, i, 1] = next(numbers)
            for j in range(i + 1, len(origin)):
                x, y = (next(numbers) / mp.sqrt(2) for _ in range(2))
                vector[i, j], vector[j, i] = (-y, x), (y, x)
        return vector

    def norm(self, vector: Numbers, base: Numbers) -> Any:
        return length(vector)

    def exp(self, vector: Numbers, base: Numbers) -> Numbers:
        return self.gather(self.rotations.exp(self.spread(vector), self.spread(base)))

    def log(self, point: Numbers, base: Numbers) -> Numbers:
        return self.gather(self.rotations.log(self.spread(point), self.spread(base)))

    def dist(self, a: Numbers, b: Numbers) -> Any:
        return self.rotations.dist(self.spread(a), self.spread(b))

    def parallel_transport(self, vector: Numbers, base: Numbers, end: Numbers) -> Numbers:
        return self.gather(
            self.rotations.parallel_transport(*map(self.spread, (vector, base, end)))
        )


def frechet_mean(
    manifold: Any, points: Numbers, weights: Numbers, start: Numbers, digits: int, step: float = 1.0
) -> Numbers:
    """The minimiser of sum_i w_i rho(p, x_i)^2 / 2 by gradient descent, to `digits` digits."""
    base, total = start, sum(weights, mp.mpf(0))
    for _ in range(2000):
        descent = sum(
            (w * manifold.log(x, base) for w, x in zip(weights, points, strict=True)), 0 * base
        )
        descent = descent / total
        if manifold.norm(descent, base) < mp.mpf(10) ** -digits:
            return base
        base = manifold.exp(mp.mpf(step) * descent, base)
    raise ArithmeticError("the reference mean did not converge: choose a smaller step")
