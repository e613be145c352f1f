"""Small model spaces and a hill climber, for tests that try to break a proved bound.

Everything here is independent of the library: points are NumPy arrays with a batch axis first,
the centre of the ball is the space's base point (all spaces are homogeneous), and the mean is found
by Newton's method with the closed-form Hessian of the squared distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _ratio(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, 1 where both vanish."""
    small = np.abs(denominator) < 1e-150
    return np.where(small, 1.0, numerator / np.where(small, 1.0, denominator))


def _norm(vectors: Array) -> Array:
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]


def x_cot(x: Array) -> Array:
    """x cot x, continued by 1 at 0."""
    return _ratio(x, np.tan(x))


def x_coth(x: Array) -> Array:
    """x coth x, continued by 1 at 0."""
    return _ratio(x, np.tanh(x))


@dataclass(frozen=True)
class Space:
    """Base class: ambient real coordinates, base point `center`, curvature in [lower, upper]."""

    dim: int
    lower: float = 0.0
    upper: float = 0.0

    def exp(self, p: Array, v: Array) -> Array:
        return p + v

    def log(self, p: Array, x: Array) -> Array:
        return x - p

    def dist(self, p: Array, x: Array) -> Array:
        return _norm(self.log(p, x))[..., 0]

    def from_center(self, coords: Array) -> Array:
        """exp at the centre of the tangent vector with these orthonormal coordinates."""
        return coords

    def inner(self, p: Array, v: Array, w: Array) -> Array:
        return np.einsum("...i,...i->...", v, w)

    def safe_step(self, radius: float) -> float:
        """Step length with which gradient descent provably neither climbs nor leaves the ball."""
        return 1.0

    def newton_direction(self, p: Array, logs: Array, weights: Array) -> Array:
        return np.einsum("...n,...ni->...i", weights, logs)

    def gradient_norm(self, p: Array, logs: Array, weights: Array) -> Array:
        v = np.einsum("...n,...ni->...i", weights, logs)
        return np.sqrt(np.maximum(self.inner(p, v, v), 0.0))

    def mean(self, x: Array, weights: Array, iterations: int = 60) -> tuple[Array, Array]:
        """Mean of x (..., n, D) and the norm of the gradient there: 8 safe steps, then Newton.

        A data set takes no further step when its norm is below 1e-14, or below 1e-11 and no longer
        falls."""
        radius = 0.5 * float(np.max(self.dist(x[..., :1, :], x)))
        batch = x.shape[:-2]
        weights = np.broadcast_to(weights, x.shape[:-1]).reshape(-1, x.shape[-2])
        x = x.reshape(-1, *x.shape[-2:])
        p = np.broadcast_to(self.center, x[:, 0].shape).copy()
        norm = np.full(len(x), np.inf)
        left = np.arange(len(x))
        for index in range(iterations):
            logs = self.log(p[left, None], x[left])
            before, norm[left] = norm[left], self.gradient_norm(p[left], logs, weights[left])
            now = norm[left]
            going = (now >= 1e-14) & ((now >= 1e-11) | (now < before))
            left, logs, now = left[going], logs[going], now[going]
            if len(left) == 0:
                break
            v = np.einsum("...n,...ni->...i", weights[left], logs)
            if index >= 8:
                newton = self.newton_direction(p[left], logs, weights[left])
                v = np.where((now < 0.2)[:, None], newton, v)
            else:
                v = v * self.safe_step(radius)
            p[left] = self.exp(p[left], v)
        return p.reshape(*batch, -1), norm.reshape(batch)

    @property
    def center(self) -> Array:
        return np.zeros(self.dim)


class Flat(Space):
    pass


class Sphere(Space):
    """Unit sphere; dimension 1 is the circle, whose curvature bound is 0."""

    def __init__(self, dim: int) -> None:
        upper = 1.0 if dim > 1 else 0.0
        super().__init__(dim, upper, upper)

    @property
    def center(self) -> Array:
        return np.eye(self.dim + 1)[0]

    def exp(self, p: Array, v: Array) -> Array:
        t = _norm(v)
        y = np.cos(t) * p + np.sinc(t / np.pi) * v
        return y / _norm(y)

    def log(self, p: Array, x: Array) -> Array:
        c = np.einsum("...i,...i->...", p, x)[..., None]
        w = x - c * p
        w = w - np.einsum("...i,...i->...", p, w)[..., None] * p
        s = _norm(w)
        return _ratio(np.arctan2(s, c), s) * w

    def from_center(self, coords: Array) -> Array:
        return self.exp(self.center, np.concatenate([0 * coords[..., :1], coords], axis=-1))

    def newton_direction(self, p: Array, logs: Array, weights: Array) -> Array:
        s = _norm(logs)
        u = logs / np.maximum(s, 1e-150)
        h = x_cot(s)[..., 0] if self.dim > 1 else np.ones(s.shape[:-1])
        hess = np.einsum("...n,...n,...ni,...nj->...ij", weights, 1 - h, u, u)
        hess += np.einsum("...n,...n->...", weights, h)[..., None, None] * np.eye(p.shape[-1])
        hess += 2 * p[..., :, None] * p[..., None, :]
        v = np.einsum("...n,...ni->...i", weights, logs)
        step = np.linalg.solve(hess, v[..., None])[..., 0]
        return step - np.einsum("...i,...i->...", p, step)[..., None] * p


class ComplexProjective(Space):
    """CP^m with curvature in [1, 4] (4 for m = 1): unit vectors (x_0, y_0, x_1, y_1, ...) modulo a
    phase; tangent vectors at p are horizontal."""

    def __init__(self, m: int) -> None:
        super().__init__(2 * m, 1.0 if m > 1 else 4.0, 4.0)

    @property
    def center(self) -> Array:
        return np.eye(self.dim + 2)[0]

    @staticmethod
    def _complex(x: Array) -> NDArray[np.complex128]:
        return x[..., ::2] + 1j * x[..., 1::2]

    @staticmethod
    def _real(z: NDArray[np.complex128]) -> Array:
        return np.stack([z.real, z.imag], axis=-1).reshape(*z.shape[:-1], -1)

    def _turn(self, x: Array) -> Array:
        return self._real(1j * self._complex(x))

    def exp(self, p: Array, v: Array) -> Array:
        t = _norm(v)
        y = np.cos(t) * p + np.sinc(t / np.pi) * v
        return y / _norm(y)

    def log(self, p: Array, x: Array) -> Array:
        pz, xz = self._complex(p), self._complex(x)
        c = np.einsum("...i,...i->...", pz.conj(), xz)[..., None]
        modulus = np.abs(c)
        w = xz - c * pz
        w = w - np.einsum("...i,...i->...", pz.conj(), w)[..., None] * pz
        w = w * np.where(modulus > 0, c.conj() / np.where(modulus > 0, modulus, 1.0), 1.0)
        s = np.sqrt(np.einsum("...i,...i->...", w, w.conj()).real)[..., None]
        return self._real(_ratio(np.arctan2(s, modulus), s) * w)

    def from_center(self, coords: Array) -> Array:
        pad = np.zeros((*coords.shape[:-1], 2))
        return self.exp(self.center, np.concatenate([pad, coords], axis=-1))

    def safe_step(self, radius: float) -> float:
        return 1.0 - np.tan(min(radius, 0.78)) ** 2 if self.dim > 2 else 1.0

    def newton_direction(self, p: Array, logs: Array, weights: Array) -> Array:
        s = _norm(logs)
        u = logs / np.maximum(s, 1e-150)
        ju = self._turn(u)
        h, hj = x_cot(s)[..., 0], x_cot(2 * s)[..., 0]
        hess = np.einsum("...n,...n,...ni,...nj->...ij", weights, 1 - h, u, u)
        hess += np.einsum("...n,...n,...ni,...nj->...ij", weights, hj - h, ju, ju)
        hess += np.einsum("...n,...n->...", weights, h)[..., None, None] * np.eye(p.shape[-1])
        for vertical in (p, self._turn(p)):
            hess += 2 * vertical[..., :, None] * vertical[..., None, :]
        v = np.einsum("...n,...ni->...i", weights, logs)
        step = np.linalg.solve(hess, v[..., None])[..., 0]
        for vertical in (p, self._turn(p)):
            step = step - np.einsum("...i,...i->...", vertical, step)[..., None] * vertical
        return step


class Hyperbolic(Space):
    """Hyperboloid of curvature -1, time coordinate first."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, -1.0, -1.0)

    @property
    def center(self) -> Array:
        return np.eye(self.dim + 1)[0]

    def inner(self, p: Array, v: Array, w: Array) -> Array:
        return np.einsum("...i,...i->...", v[..., 1:], w[..., 1:]) - v[..., 0] * w[..., 0]

    def exp(self, p: Array, v: Array) -> Array:
        t = np.sqrt(np.maximum(self.inner(p, v, v), 0.0))[..., None]
        space = (np.cosh(t) * p + _ratio(np.sinh(t), t) * v)[..., 1:]
        return np.concatenate([np.sqrt(1 + _norm(space) ** 2), space], axis=-1)

    def log(self, p: Array, x: Array) -> Array:
        w = x + self.inner(p, p, x)[..., None] * p
        w = w + self.inner(p, p, w)[..., None] * p
        s = np.sqrt(np.maximum(self.inner(p, w, w), 0.0))[..., None]
        return _ratio(np.arcsinh(s), s) * w

    def dist(self, p: Array, x: Array) -> Array:
        v = self.log(p, x)
        return np.sqrt(np.maximum(self.inner(p, v, v), 0.0))

    def from_center(self, coords: Array) -> Array:
        return self.exp(self.center, np.concatenate([0 * coords[..., :1], coords], axis=-1))

    def safe_step(self, radius: float) -> float:
        return 1.0 / float(x_coth(np.array(2 * radius)))

    def newton_direction(self, p: Array, logs: Array, weights: Array) -> Array:
        s = np.sqrt(np.maximum(self.inner(p[..., None, :], logs, logs), 0.0))
        u = logs / np.maximum(s, 1e-150)[..., None]
        h = x_coth(s)
        hess = np.einsum("...n,...n,...ni,...nj->...ij", weights, 1 - h, u, u)
        hess[..., 0] *= -1  # which lowers the index
        hess += np.einsum("...n,...n->...", weights, h)[..., None, None] * np.eye(p.shape[-1])
        v = np.einsum("...n,...ni->...i", weights, logs)
        return np.linalg.solve(hess, v[..., None])[..., 0]


class SPD(Space):
    """m x m positive definite matrices, flattened, affine-invariant metric tr(P^-1 V P^-1 V)."""

    def __init__(self, m: int) -> None:
        super().__init__(m * (m + 1) // 2, -0.5, 0.0)
        object.__setattr__(self, "m", m)

    m: int

    @property
    def center(self) -> Array:
        return np.eye(self.m).ravel()

    def _matrix(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.m, self.m)

    @staticmethod
    def _apply(function: Callable[[Array], Array], matrix: Array) -> Array:
        values, vectors = np.linalg.eigh(matrix)
        return (vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)

    def _between(self, function: Callable[[Array], Array], p: Array, x: Array) -> Array:
        root = self._apply(np.sqrt, self._matrix(p))
        inverse = self._apply(lambda e: 1 / np.sqrt(e), self._matrix(p))
        inside = inverse @ self._matrix(x) @ inverse
        inside = self._apply(function, 0.5 * (inside + np.swapaxes(inside, -1, -2)))
        out = root @ inside @ root
        return out.reshape(*out.shape[:-2], -1)

    def exp(self, p: Array, v: Array) -> Array:
        return self._between(np.exp, p, v)

    def log(self, p: Array, x: Array) -> Array:
        return self._between(np.log, p, x)

    def inner(self, p: Array, v: Array, w: Array) -> Array:
        inverse = np.linalg.inv(self._matrix(p))
        return np.einsum("...ij,...ji->...", inverse @ self._matrix(v), inverse @ self._matrix(w))

    def dist(self, p: Array, x: Array) -> Array:
        v = self.log(p, x)
        return np.sqrt(np.maximum(self.inner(p, v, v), 0.0))

    def from_center(self, coords: Array) -> Array:
        rows, columns = np.triu_indices(self.m)
        matrix = np.zeros((*coords.shape[:-1], self.m, self.m))
        values = np.where(rows == columns, coords, coords / np.sqrt(2.0))
        matrix[..., rows, columns] = values
        matrix[..., columns, rows] = values
        out = self._apply(np.exp, matrix)
        return out.reshape(*out.shape[:-2], -1)

    def safe_step(self, radius: float) -> float:
        return 1.0 / float(x_coth(np.array(2 * radius / np.sqrt(2.0))))

    def newton_direction(self, p: Array, logs: Array, weights: Array) -> Array:
        squared = self.inner(p[..., None, :], logs, logs)
        s = np.sqrt(np.maximum(squared, 0.0)) / np.sqrt(2.0)
        length = np.einsum("...n,...n->...", weights, x_coth(s))[..., None]
        return np.einsum("...n,...ni->...i", weights, logs) / length


class Planes(Space):
    """Planes of R^n, n >= 4, curvature in [0, 2]: orthonormal bases, flattened. The first two axes
    of coordinates span the tangent plane of curvature 2."""

    def __init__(self, n: int) -> None:
        super().__init__(2 * (n - 2), 0.0, 2.0)
        object.__setattr__(self, "n", n)

    n: int

    @property
    def center(self) -> Array:
        return np.eye(self.n, 2).ravel()

    def _matrix(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.n, 2)

    def exp(self, p: Array, v: Array) -> Array:
        p, v = self._matrix(p), self._matrix(v)
        u, angles, vt = np.linalg.svd(v, full_matrices=False)
        moved = (p @ np.swapaxes(vt, -1, -2)) * np.cos(angles)[..., None, :]
        x = (moved + u * np.sin(angles)[..., None, :]) @ vt
        return np.linalg.qr(x)[0].reshape(*x.shape[:-2], -1)

    def log(self, p: Array, x: Array) -> Array:
        p, x = self._matrix(p), self._matrix(x)
        left, cosines, right = np.linalg.svd(np.swapaxes(p, -1, -2) @ x)
        across = x - p @ (np.swapaxes(p, -1, -2) @ x)
        across = across @ np.swapaxes(right, -1, -2)
        sines = np.sqrt(np.sum(across**2, axis=-2))
        factor = _ratio(np.arctan2(sines, cosines), sines)
        v = (across * factor[..., None, :]) @ np.swapaxes(left, -1, -2)
        return v.reshape(*v.shape[:-2], -1)

    def mean(self, x: Array, weights: Array, iterations: int = 240) -> tuple[Array, Array]:
        return super().mean(x, weights, iterations)

    def from_center(self, coords: Array) -> Array:
        bottom = coords.reshape(*coords.shape[:-1], self.n - 2, 2).copy()
        root = np.sqrt(0.5)
        a, b, c, d = (bottom[..., i, j].copy() for i in (0, 1) for j in (0, 1))
        # a (I) + b (J) + c (diag(1, -1)) + d (exchange), each of length 1
        bottom[..., 0, 0], bottom[..., 1, 1] = root * (a + c), root * (a - c)
        bottom[..., 0, 1], bottom[..., 1, 0] = root * (d - b), root * (d + b)
        v = np.concatenate([np.zeros((*coords.shape[:-1], 2, 2)), bottom], axis=-2)
        return self.exp(self.center, v.reshape(*v.shape[:-2], -1))


class Turns(Space):
    """Rotations of R^n, n >= 4, curvature in [0, 1/2]: matrices, flattened. The first two axes of
    coordinates span a tangent plane of curvature 1/2."""

    def __init__(self, n: int) -> None:
        super().__init__(n * (n - 1) // 2, 0.0, 0.5)
        object.__setattr__(self, "n", n)

    n: int

    @property
    def center(self) -> Array:
        return np.eye(self.n).ravel()

    def _matrix(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.n, self.n)

    @staticmethod
    def _exp(w: Array) -> Array:
        values, vectors = np.linalg.eigh(1j * w)
        turned = vectors * np.exp(-1j * values)[..., None, :]
        return np.asarray((turned @ np.conj(np.swapaxes(vectors, -1, -2))).real)

    def exp(self, p: Array, v: Array) -> Array:
        """Tangent vectors are left-invariant, at unit length for Frobenius norm 1 here."""
        w = np.swapaxes(self._matrix(p), -1, -2) @ self._matrix(v) * np.sqrt(2)
        w = 0.5 * (w - np.swapaxes(w, -1, -2))
        x = self._matrix(p) @ self._exp(w)
        return x.reshape(*x.shape[:-2], -1)

    def log(self, p: Array, x: Array) -> Array:
        p, x = self._matrix(p), self._matrix(x)
        turn = np.swapaxes(p, -1, -2) @ x
        # the rotation by half the angles, then twice its logarithm: angles stay within pi/2
        identity = np.eye(self.n)
        u, _, vt = np.linalg.svd(turn + identity)
        half = u @ vt
        skew = 0.5 * (half - np.swapaxes(half, -1, -2))
        values, vectors = np.linalg.eigh(1j * skew)
        angles = 2j * np.arcsin(np.clip(values, -1, 1))
        w = (vectors * -angles[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))
        v = p @ w.real / np.sqrt(2)
        return v.reshape(*v.shape[:-2], -1)

    def mean(self, x: Array, weights: Array, iterations: int = 240) -> tuple[Array, Array]:
        return super().mean(x, weights, iterations)

    def from_center(self, coords: Array) -> Array:
        below = coords.copy()
        root = np.sqrt(0.5)
        rows, columns = np.tril_indices(self.n, -1)
        at = {pair: k for k, pair in enumerate(zip(rows, columns, strict=True))}
        # (1, 0) + (3, 2) and (2, 0) - (3, 1), whose bracket is the longest, and their complements
        first, second = (at[1, 0], at[3, 2]), (at[2, 0], at[3, 1])
        rest = [k for k in range(self.dim) if k not in (*first, *second)]
        below[..., first[0]] = root * (coords[..., 0] + coords[..., 2])
        below[..., first[1]] = root * (coords[..., 0] - coords[..., 2])
        below[..., second[0]] = root * (coords[..., 1] + coords[..., 3])
        below[..., second[1]] = root * (coords[..., 3] - coords[..., 1])
        below[..., rest] = coords[..., 4:]
        w = np.zeros((*coords.shape[:-1], self.n, self.n))
        w[..., rows, columns], w[..., columns, rows] = below, -below
        return self._exp(w).reshape(*w.shape[:-2], -1)


def clip(coords: Array, radius: float) -> Array:
    """Coordinates at the centre, shortened to length at most `radius`."""
    return coords * np.minimum(1.0, radius / np.maximum(_norm(coords), 1e-300))


def climb(
    objective: Callable[[Array], Array],
    start: Array,
    radius: float,
    rng: np.random.Generator,
    rounds: int,
) -> tuple[float, Array]:
    """Maximise `objective` over batches of point coordinates in the ball, by annealed random moves.

    `start` is (restarts, ...points..., dim); each restart keeps its best. Moves change all
    points or one; steps shrink geometrically from `radius` to 1e-4 of it.
    """
    best = clip(start, radius)
    value = objective(best)
    for index in range(rounds):
        size = radius * 10.0 ** (-4.0 * index / rounds)
        move = size * rng.standard_normal(best.shape)
        keep = rng.random(best.shape[:-1]) < rng.choice([0.2, 0.5, 1.0])
        trial = clip(best + move * keep[..., None], radius)
        if index % 5 == 0:
            trial = np.where(
                keep[..., None], trial * (radius / np.maximum(_norm(trial), 1e-300)), trial
            )
        score = objective(trial)
        better = score > value
        best = np.where(better.reshape(-1, *[1] * (best.ndim - 1)), trial, best)
        value = np.where(better, score, value)
    top = int(np.argmax(value))
    return float(value[top]), best[top]
