"""The exact point of a row in the frame of a ball, in 50 digits, and records that try to get in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DIGITS = 50


def entered_dist(name: str, row: Array, *, precise: bool = False) -> Any:
    """Distance from the centre of the exact point that a row of the frame stands for.

    A sphere's row is taken at its own length, also over an axis, a hyperboloid's by its space part,
    a shape's as a complex line, a matrix by its lower triangle; flat metrics, tori, subspaces
    and SO(n) store coordinates. The `precise` numbers of wide balls are chart coordinates, and
    columns of a lower triangle L for L L^T.
    """
    x = [mp.mpf(float(entry)) for entry in row]
    kind, *rest = name.split(":")
    with mp.workdps(DIGITS):
        if kind in ("sphere", "projective"):
            radius = float(rest[1].removeprefix("radius=")) if len(rest) > 1 else 1.0
            return mp.mpf(radius) * mp.atan2(_length(x[1:]), x[0])
        if kind == "hyperboloid" and precise:
            return _length(x)
        if kind == "hyperboloid":
            curvature = float(rest[1].removeprefix("curvature=")) if len(rest) > 1 else -1.0
            radius = mp.mpf(float(np.sqrt(-1 / curvature)))
            return radius * mp.asinh(_length(x[1:]) / radius)
        if kind == "rotations":
            return 2 * mp.atan2(_length(x[1:]), x[0])
        if kind == "kendall":
            return mp.atan2(_length(x[2:]), mp.hypot(x[0], x[1]))
        if kind == "spd" and len(rest) == 1:
            m = int(rest[0])
            return _log_norm(product_of_factors(x, m) if precise else x, m)
        if kind == "hpd":
            m = int(rest[0])
            return _complex_log_norm(hermitian_product(x, m) if precise else _complex_matrix(x, m))
        return _length(x)


def _complex_matrix(x: list[Any], m: int) -> Any:
    """The lower triangle of a matrix of pairs, and its conjugate."""
    found = mp.matrix(m, m)
    for i in range(m):
        for j in range(i + 1):
            at = 2 * (i * m + j)
            found[i, j] = mp.mpc(x[at], x[at + 1] if i != j else 0)
            found[j, i] = mp.conj(found[i, j])
    return found


def hermitian_product(entries: list[Any], m: int) -> Any:
    """U^* U for the rows of an upper triangle U: the real diagonal, then pairs."""
    upper, rest = mp.matrix(m, m), iter(entries)
    for i in range(m):
        upper[i, i] = next(rest)
        for j in range(i + 1, m):
            upper[i, j] = mp.mpc(next(rest), next(rest))
    return upper.H * upper


def _complex_log_norm(matrix: Any) -> Any:
    if matrix.rows == 2:
        a, b, c = matrix[0, 0].real, abs(matrix[1, 0]), matrix[1, 1].real
        high = (a + c) / 2 + mp.sqrt((a - c) ** 2 / 4 + b * b)
        values = [high, (a * c - b * b) / high if high else high]
    elif matrix.rows == 1:
        values = [matrix[0, 0].real]
    else:
        values = list(mp.eighe(matrix, eigvals_only=True))
    if any(value <= 0 for value in values):
        return mp.inf
    return _length([mp.log(value) for value in values])


def wide_point(manifold: Any, row: Array) -> Any:
    """The exact point that a row of the frame of a wide ball stands for, as numbers."""
    x = [mp.mpf(float(entry)) for entry in row]
    if manifold.spec.startswith("spd"):
        return np.array(product_of_factors(x, manifold.m), dtype=object).reshape(-1, manifold.m)
    if manifold.spec.startswith("hpd"):
        product = hermitian_product(x, manifold.m)
        pairs = [(z.real, z.imag) for z in map(mp.mpmathify, product)]
        return np.array(pairs, dtype=object).reshape(manifold.point_shape)
    radius = 1 / mp.sqrt(-mp.mpf(float(manifold.curvature)))
    length = _length(x)
    stretch = radius * mp.sinh(length / radius) / length if length else mp.mpf(1)
    return np.array([radius * mp.cosh(length / radius), *(stretch * y for y in x)], dtype=object)


def product_of_factors(entries: list[Any], m: int) -> list[Any]:
    """L L^T, row by row, for the columns of a lower triangle."""
    lower, rest = mp.matrix(m, m), iter(entries)
    for j in range(m):
        for i in range(j, m):
            lower[i, j] = next(rest)
    return list(lower * lower.T)


def _length(x: list[Any]) -> Any:
    return mp.sqrt(sum((y * y for y in x), mp.mpf(0)))


def _log_norm(entries: list[Any], m: int) -> Any:
    lower = mp.matrix(m, m)
    for i in range(m):
        for j in range(i + 1):
            lower[i, j] = lower[j, i] = entries[i * m + j]
    if m == 1:
        values = [lower[0, 0]]
    elif m == 2:
        a, b, c = lower[0, 0], lower[1, 0], lower[1, 1]
        root = mp.sqrt((a - c) ** 2 / 4 + b * b)
        high = (a + c) / 2 + root
        values = [high, (a * c - b * b) / high]
    else:
        values = list(mp.eigsy(lower, eigvals_only=True))
    if any(value <= 0 for value in values):
        return mp.inf
    return mp.sqrt(sum((mp.log(value) ** 2 for value in values), mp.mpf(0)))


def hostile_records(manifold: Any, ball: Any, count: int, rng: np.random.Generator) -> Array:
    """Records that lie on the manifold up to rounding, where rounding does the most."""
    generators = list(_generators(manifold, ball, rng))
    rows = [generators[i % len(generators)](int(rng.integers(2**31))) for i in range(count)]
    return np.array(rows).reshape(count, *manifold.point_shape)


def _generators(manifold: Any, ball: Any, rng: np.random.Generator) -> Iterator[Any]:
    yield lambda seed: near_the_border(manifold, ball, np.random.default_rng(seed))
    yield lambda seed: _scaled(
        manifold, near_the_border(manifold, ball, np.random.default_rng(seed)), seed
    )
    yield lambda seed: far_out(manifold, np.random.default_rng(seed))
    yield lambda seed: opposite(manifold, ball, np.random.default_rng(seed))


def near_the_border(manifold: Any, ball: Any, rng: np.random.Generator) -> Array:
    """A point within a few slacks of the border, inside or outside."""
    coords = rng.standard_normal(manifold.dim)
    share = 1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-16, -7)
    coords *= min(ball.radius * share, 0.999 * manifold.injectivity_radius)
    coords /= np.linalg.norm(coords)
    point = manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)
    bits = point.view(np.int64) + rng.integers(-2, 3, point.shape)  # a few ulps off
    return np.asarray(bits.view(np.float64))


def _scaled(manifold: Any, point: Array, seed: int) -> Array:
    """The same off the manifold by what still counts as rounding (float32 data)."""
    noise = np.random.default_rng(seed).uniform(-1, 1, point.shape)
    return np.asarray(point * (1 + 1e-6 * noise))


def far_out(manifold: Any, rng: np.random.Generator) -> Array:
    """Rows at scales from 1 to 1e300, or down to 1e-300 where these say nothing, that cancel."""
    kind = manifold.spec.split(":")[0]
    size = 10.0 ** rng.uniform(0, 300)
    if kind == "hyperboloid":
        size **= 0.5
        space = rng.standard_normal(manifold.dim)
        space *= size / np.linalg.norm(space)
        if rng.random() < 0.5:
            space[1:] = 0.0
        radius = manifold.origin[0]
        time = np.hypot(radius, np.linalg.norm(space)) * (1 + rng.integers(-2, 3) * 2.0**-53)
        return np.concatenate([[time], space])
    if kind == "spd":
        q, _ = np.linalg.qr(rng.standard_normal(manifold.point_shape))
        spectrum = size ** rng.uniform(-1, 1, manifold.m)
        matrix = (q * spectrum) @ q.T
        return np.asarray(0.5 * (matrix + matrix.T))
    if kind == "hpd":
        shape = (manifold.m, manifold.m)
        unitary, _ = np.linalg.qr(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
        matrix = (unitary * size ** rng.uniform(-1, 1, manifold.m)) @ unitary.conj().T
        matrix = 0.5 * (matrix + matrix.conj().T)
        return np.stack([matrix.real, matrix.imag], axis=-1)
    if kind in ("euclidean", "torus"):
        return np.asarray(size * rng.standard_normal(manifold.dim))
    if kind in (
        "sphere",
        "projective",
        "kendall",
        "grassmann",
    ):  # any size stands for a point, and landmarks at any place
        row = rng.standard_normal(manifold.point_shape)
        if kind == "kendall":
            row += 10.0 ** rng.uniform(-3, 9) * rng.standard_normal(2)
        return np.asarray(size ** rng.choice([-1.0, 1.0]) * row)
    return np.asarray(manifold.project(rng.standard_normal(manifold.point_shape)))


def opposite(manifold: Any, ball: Any, rng: np.random.Generator) -> Array:
    """Points at or within rounding of the cut locus, or far beyond the centre."""
    coords = rng.standard_normal(manifold.dim)
    reach = min(manifold.injectivity_radius, 40.0 * rng.uniform(0.1, 1.0))
    coords *= reach * (1 - 10.0 ** rng.uniform(-17, -8)) / np.linalg.norm(coords)
    return np.asarray(manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center))
