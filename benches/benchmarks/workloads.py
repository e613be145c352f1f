"""Inputs of all benchmarks: the same laws for asv, for the side-by-side table and for scaling."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import curvedp as cdp
from curvedp import _core
from curvedp.mechanisms import metropolis

#: Largest number of records in asv benchmarks: tests set it, so that each runs in a blink.
LIMIT: int | None = None


def size(n: int) -> int:
    """``n``, or the limit if that is smaller."""
    return n if LIMIT is None else min(n, LIMIT)


def _unit_rows(generator, n, width):
    rows = generator.standard_normal((n, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _symmetric(generator, n, m, scale):
    square = generator.standard_normal((n, m, m))
    return scale * (square + np.swapaxes(square, 1, 2)) / 2


def _expm(symmetric):
    values, vectors = np.linalg.eigh(symmetric)
    return (vectors * np.exp(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def sphere(dim, n, seed=1):
    """Two sets of uniform points and tangent vectors at the first, shorter than 2."""
    generator = np.random.default_rng(seed)
    x, y = _unit_rows(generator, n, dim + 1), _unit_rows(generator, n, dim + 1)
    v = generator.standard_normal((n, dim + 1))
    v -= np.einsum("ij,ij->i", v, x)[:, None] * x
    v *= (2 * generator.random(n) / np.linalg.norm(v, axis=1))[:, None]
    return x, y, v


def hyperboloid(dim, n, seed=1):
    """Points over normal space coordinates, and tangent vectors of length below 2."""
    generator = np.random.default_rng(seed)

    def lift(space):
        return np.column_stack((np.sqrt(1 + (space**2).sum(axis=1)), space))

    x = lift(0.7 * generator.standard_normal((n, dim)))
    y = lift(0.7 * generator.standard_normal((n, dim)))
    v = generator.standard_normal((n, dim + 1))
    v[:, 0] = np.einsum("ij,ij->i", v[:, 1:], x[:, 1:]) / x[:, 0]
    length = np.sqrt(np.einsum("ij,ij->i", v[:, 1:], v[:, 1:]) - v[:, 0] ** 2)
    v *= (2 * generator.random(n) / length)[:, None]
    return x, y, v


def spd(m, n, seed=1):
    """Matrix exponentials of Gaussian symmetric matrices, and symmetric tangent vectors."""
    generator = np.random.default_rng(seed)
    p = _expm(_symmetric(generator, n, m, 0.5))
    q = _expm(_symmetric(generator, n, m, 0.5))
    return p, q, _symmetric(generator, n, m, 0.5)


def hermitian(m, n, seed=1):
    """Hermitian positive definite matrices about the identity, and Hermitian tangent vectors."""
    space, generator = cdp.HPD(m), np.random.default_rng(seed)
    p, q = (space.random_point(n, rng=generator) for _ in range(2))
    coords = generator.standard_normal((n, space.dim)) / np.sqrt(space.dim)
    v = space.coords_to_tangent(coords, p)
    return space.to_complex(p), space.to_complex(q), space.to_complex(v)


def grassmann(n, k, count, seed=1):
    """Bases of subspaces within a radian of each other, and tangent vectors at the first."""
    space, generator = cdp.Grassmann(n, k), np.random.default_rng(seed)
    x = space.random_point(count, rng=generator)
    coords = generator.standard_normal((2, count, space.dim))
    coords /= np.linalg.norm(coords, axis=-1, keepdims=True)
    u, v = (space.coords_to_tangent(own, x) for own in coords)
    return x, space.exp(u, x), v


def rotations(n, seed=1):
    """Two sets of uniform rotation matrices and tangent vectors at the first, shorter than 2."""
    first, second = (Rotation.random(n, rng=seed + i).as_matrix() for i in (0, 1))
    space, generator = cdp.Rotations(), np.random.default_rng(seed)
    coords = generator.standard_normal((n, 3))
    coords *= (2 * generator.random(n) / np.linalg.norm(coords, axis=1))[:, None]
    return first, second, space.coords_to_tangent(coords, first)


def rotations_ball(n, radius=0.5, seed=3):
    """Rotations within ``radius`` of one of them, for means."""
    generator = np.random.default_rng(seed)
    vector = generator.standard_normal((n, 3))
    vector *= (radius * generator.random(n) / np.linalg.norm(vector, axis=1))[:, None]
    return (Rotation.random(rng=seed) * Rotation.from_rotvec(vector)).as_matrix()


def kendall(k, n, seed=1):
    """Centred unit configurations, the second a rotated perturbation of the first; complex rows
    and the same as ``(n, k, 2)`` arrays."""
    generator = np.random.default_rng(seed)

    def normalise(z):
        z = z - z.mean(axis=1, keepdims=True)
        return z / np.linalg.norm(z, axis=1, keepdims=True)

    def noise():
        return generator.standard_normal((n, k)) + 1j * generator.standard_normal((n, k))

    z = normalise(noise())
    w = normalise(z + 0.5 * normalise(noise())) * np.exp(6j * generator.random(n))[:, None]
    return z, w


def as_planar(z):
    """Complex rows as ``(n, k, 2)`` configurations."""
    return np.stack((z.real, z.imag), axis=-1)


def sphere_ball(dim, n, radius=np.pi / 8, seed=3):
    """Points within ``radius`` of the last axis, for means."""
    generator = np.random.default_rng(seed)
    direction = _unit_rows(generator, n, dim)
    distance = radius * generator.random(n) ** (1 / dim)
    return np.column_stack((np.sin(distance)[:, None] * direction, np.cos(distance)))


def spd_ball(m, n, radius=1.5, seed=3):
    """Matrices within ``radius`` of a random centre, for means."""
    generator = np.random.default_rng(seed)
    tangent = _symmetric(generator, n, m, 1.0)
    tangent *= (radius * generator.random(n) / np.linalg.norm(tangent, axis=(1, 2)))[:, None, None]
    frame = np.eye(m) + 0.3 * generator.standard_normal((m, m))
    x = frame @ _expm(tangent) @ frame.T
    return (x + np.swapaxes(x, 1, 2)) / 2


def ball(spec, radius):
    """A public ball about the customary reference point: pole, origin, identity."""
    manifold = cdp.as_manifold(spec)
    kind, shape = spec.split(":")[0], manifold.point_shape
    center = {"spd": np.eye(shape[0]), "sphere": np.eye(shape[0])[-1]}.get(kind)
    if center is None:
        center = np.reshape(batch(spec, 1)[0], shape)
    return cdp.Ball(manifold, center, radius)


def in_ball(domain, n, seed=3):
    """Points uniform in direction and distance up to 0.8 of the radius of a ball."""
    generator = np.random.default_rng(seed)
    manifold, center = domain.manifold, domain.center
    coords = generator.standard_normal((n, manifold.dim))
    coords *= (0.8 * domain.radius * generator.random(n) / np.linalg.norm(coords, axis=1))[:, None]
    return manifold.exp(manifold.coords_to_tangent(coords, center), center)


def along_geodesic(domain, n, noise=0.03, seed=5):
    """Covariates in [-1/2, 1/2] and records about a geodesic of length r through the centre."""
    generator = np.random.default_rng(seed)
    manifold, center = domain.manifold, domain.center
    x = np.linspace(-0.5, 0.5, n)
    coords = noise * generator.standard_normal((n, manifold.dim))
    coords[:, 0] += domain.radius * x
    return x, manifold.exp(manifold.coords_to_tangent(coords, center), center)


def batch(spec, n):
    """Points x, points y and tangent vectors at x of the manifold ``spec``."""
    kind, size = spec.split(":")[:2]
    match kind:
        case "sphere":
            return sphere(int(size), n)
        case "hyperboloid":
            return hyperboloid(int(size), n)
        case "spd":
            return spd(int(size), n)
        case "euclidean":
            return tuple(np.random.default_rng(1).standard_normal((3, n, int(size))))
        case "kendall":
            z, w = kendall(int(size), n)
            # a horizontal tangent vector at z: what is left of w without its part along z
            tangent = w - np.einsum("ij,ij->i", z.conj(), w)[:, None] * z
            return as_planar(z), as_planar(w), as_planar(tangent)
        case "rotations":
            return rotations(n)
        case "hpd":
            return hermitian(int(size), n)
        case "grassmann":
            return grassmann(int(size), int(spec.split(":")[2]), n)
        case "projective" | "torus" | "correlation":
            space, generator = cdp.as_manifold(spec), np.random.default_rng(1)
            x, y = (space.random_point(n, rng=generator) for _ in range(2))
            coords = generator.standard_normal((n, space.dim)) / np.sqrt(space.dim)
            return x, y, space.coords_to_tangent(coords, x)
    raise ValueError(f"no workload for {spec}")


def noise(mechanism, spec, scale):
    """A function of n that draws from ``mechanism`` calibrated to noise ``scale`` (1/λ or σ).

    Mechanisms whose scale is not the sensitivity over the guarantee's parameter get what they make
    of ``scale`` as a sensitivity.
    """
    manifold = cdp.as_manifold(spec)
    center = np.reshape(batch(spec, 1)[0], manifold.point_shape)
    ball = cdp.Ball(manifold, center=center, radius=0.5)
    laplace = mechanism is cdp.RiemannianLaplace
    calibrated = mechanism(ball, scale, cdp.PureDP(1.0) if laplace else cdp.GDP(1.0))
    return lambda n: calibrated.sample(center, _core.Stream.from_os(), n_samples=n)


def uneven(dim, n):
    """Points on S^dim, half of them about one point."""
    x = np.random.default_rng(4).standard_normal((n, dim + 1))
    x[: n // 2] *= 0.35
    x[: n // 2, 0] += 1.0
    return x / np.linalg.norm(x, axis=1, keepdims=True)


#: Scales at which the Riemannian Laplace exists, and radii that cut off next to nothing of it.
def laplace_chains(spec, scale, step, chains):
    """A function of a number of steps in all that runs Metropolis chains for exp(-d(x, c)/scale).

    Steps keep their length and start to count at once; every fifth state is kept.
    """
    center = ball(spec, 0.5).center

    def run(steps):
        return metropolis(
            spec,
            center,
            scale,
            chains=chains,
            burn_in=0,
            draws=max(4, steps // chains // 5),
            thinning=5,
            step=step,
            acceptance=None,
        )

    return run
