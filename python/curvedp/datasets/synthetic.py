"""Made-up records with known laws, for simulations and tests: no privacy noise comes from here.

Every sampler is exact: by inversion or by rejection from a bound that holds everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray, as_count, as_finite, as_points, as_positive
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.manifolds import Manifold, Sphere, as_manifold
from curvedp.manifolds.base import Seed
from curvedp.mechanisms.grid import grid_step

#: Rejection samplers give up where this many proposals yield nothing.
_HOPELESS = 100_000


def von_mises_fisher(n: int, mean: ArrayLike, kappa: float, *, rng: Seed = None) -> FloatArray:
    """Directions with density proportional to exp(kappa <mean, x>) on the unit sphere.

    Parameters
    ----------
    n : int
        Number of records.
    mean : array-like, shape (dim + 1,)
        Mean direction; its length does not matter.
    kappa : float
        Concentration, at least 0; 0 is the uniform law.
    rng : numpy.random.Generator, int or None

    Returns
    -------
    ndarray, shape (n, dim + 1)

    Raises
    ------
    ValueError, TypeError
        For wrong parameters.

    References
    ----------
    Ulrich (1984), Computer generation of distributions on the m-sphere; Wood (1994), Simulation of
    the von Mises Fisher distribution.

    Examples
    --------
    >>> records = von_mises_fisher(1000, mean=[0.0, 0.0, 2.0], kappa=100.0, rng=0)
    >>> bool(abs(records[:, 2].mean() - (1 / np.tanh(100.0) - 1 / 100.0)) < 0.001)
    True
    """
    count = as_count(n, "n")
    direction = as_points(mean, (np.size(mean),), "mean")
    if direction.ndim != 1:
        raise ValueError(f"mean must be one vector, got shape {direction.shape}")
    sphere = Sphere(direction.size - 1)
    center = sphere.project(direction)
    if not np.isfinite(center).all():
        raise ValueError("mean must be a finite vector other than 0")
    concentration = as_finite(kappa, "kappa")
    if concentration < 0:
        raise ValueError(f"kappa must be at least 0, got {concentration:g}")
    generator = np.random.default_rng(rng)
    d = float(sphere.dim)
    b = d / (2 * concentration + math.hypot(2 * concentration, d))
    x0, gap0 = (1 - b) / (1 + b), 2 * b / (1 + b)

    def propose(size: int) -> tuple[FloatArray, FloatArray]:
        """Wood's proposals for 1 - <mean, x>; the likeliest is gap0."""
        z = generator.beta(0.5 * d, 0.5 * d, size)
        gap = 2 * b * z / (1 - (1 - b) * z)
        log_ratio = np.log((gap0 + x0 * gap) / (gap0 + x0 * gap0))
        return gap, concentration * (gap0 - gap) + d * log_ratio

    gap = _accepted(propose, count, generator)
    vectors = sphere.to_tangent(generator.standard_normal((count, sphere.dim + 1)), center)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sine = np.sqrt(gap * (2 - gap))
    return sphere.project((1 - gap)[:, None] * center + sine[:, None] * vectors)


def wrapped_normal(
    n: int, manifold: Manifold | str | Any, mean: ArrayLike, scale: float, *, rng: Seed = None
) -> FloatArray:
    """Records exp_mean(v), v normal in the tangent space with standard deviation `scale`.

    Parameters
    ----------
    n : int
        Number of records.
    manifold : Manifold, str or geomstats space
    mean : array-like, shape point_shape
    scale : float
        Standard deviation of each orthonormal coordinate of v: |v| has root mean square
        scale sqrt(dim).
    rng : numpy.random.Generator, int or None

    Returns
    -------
    ndarray, shape (n, *point_shape)

    Raises
    ------
    ValueError, TypeError
        For wrong parameters.

    Examples
    --------
    >>> wrapped_normal(5, "spd:3", np.eye(3), 0.1, rng=0).shape
    (5, 3, 3)
    """
    count, length = as_count(n, "n"), as_positive(scale, "scale")
    space, center = _space_and_point(manifold, mean)
    coords = length * np.random.default_rng(rng).standard_normal((count, space.dim))
    return space.exp(space.coords_to_tangent(coords, center), center)


def riemannian_normal(
    n: int, manifold: Manifold | str | Any, mean: ArrayLike, scale: float, *, rng: Seed = None
) -> FloatArray:
    """Records with density proportional to exp(-rho(mean, x)^2 / (2 scale^2)).

    The density is with respect to the Riemannian volume (Pennec 2006; Said et al. 2017).

    Parameters
    ----------
    n, manifold, mean, rng
        As in `wrapped_normal`.
    scale : float

    Returns
    -------
    ndarray, shape (n, *point_shape)

    Raises
    ------
    ValueError, TypeError
        For wrong parameters, and where no exact sampler exists at this scale.

    Examples
    --------
    >>> riemannian_normal(5, "hyperboloid:2", [1.0, 0.0, 0.0], 0.5, rng=0).shape
    (5, 3)
    """
    count, length = as_count(n, "n"), as_positive(scale, "scale")
    space, center = _space_and_point(manifold, mean)
    noise = _core.Noise(*space.noise_space, "gaussian", length)
    stream = _core.Stream.from_key(np.random.default_rng(rng).bytes(32), 0)
    ball = Ball(space, center, 0.5 * min(space.max_ball_radius, 1.0))
    frame, rows = ball.frame, np.empty((count, space.point_size))
    noise.release(frame, frame.origin, stream, (grid_step(ball, length), math.inf), rows)
    return rows.reshape(count, *space.point_shape)


def uniform_ball(n: int, ball: Ball, *, rng: Seed = None) -> FloatArray:
    """Records uniform on a ball with respect to the Riemannian volume.

    Parameters
    ----------
    n : int
        Number of records.
    ball : Ball
    rng : numpy.random.Generator, int or None

    Returns
    -------
    ndarray, shape (n, *point_shape)

    Raises
    ------
    ValueError, TypeError
        For wrong parameters, and on large balls of large SPD or HPD matrices with the
        affine-invariant metric, where rejection would take too long.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> bool(ball.contains(uniform_ball(100, ball, rng=0)).all())
    True
    """
    count = as_count(n, "n")
    check_ball(ball)
    generator = np.random.default_rng(rng)
    space = ball.manifold
    planes = space.kernels.planes
    if planes is None:
        coords = _uniform_coords(count, ball, generator)
    else:
        coords = generator.standard_normal((count, space.dim))
        coords *= (_radii(count, ball, planes, generator) / np.linalg.norm(coords, axis=1))[:, None]
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def _radii(
    count: int, ball: Ball, planes: list[tuple[float, float]], generator: np.random.Generator
) -> FloatArray:
    """Distances from the centre, density proportional to the area of geodesic spheres."""
    space, r = ball.manifold, ball.radius
    if len(planes) == 2:  # sin^(2m-1) t cos t, the derivative of sin^(2m) t / 2m
        return np.arcsin(math.sin(r) * generator.random(count) ** (1 / space.dim))
    if not planes:
        return r * generator.random(count) ** (1 / space.dim)
    ((_, curvature),) = planes
    unit = 1 / math.sqrt(abs(curvature))
    if curvature > 0:
        log_sine, slope = _log_sin, 1 / math.tan(r / unit)
    else:
        log_sine, slope = _log_sinh, 1 / math.tanh(r / unit)
    reach, power = r / unit, space.dim - 1
    rate, top = power * slope, float(log_sine(np.array(reach)))

    def propose(size: int) -> tuple[FloatArray, FloatArray]:
        """log sin and log sinh are concave: below their tangents at the boundary."""
        u = generator.random(size)
        below = -np.log1p(u * math.expm1(-rate * reach)) / rate if rate else u * reach
        t = reach - np.minimum(below, reach)
        return t, power * (log_sine(t) - top) + rate * (reach - t)

    return unit * _accepted(propose, count, generator)


def _uniform_coords(count: int, ball: Ball, generator: np.random.Generator) -> FloatArray:
    """Coordinates at the centre, from uniform ones by the volume density of exp."""
    space, r = ball.manifold, ball.radius
    bound = space.kernels.log_volume_bound(r)

    def propose(size: int) -> tuple[FloatArray, FloatArray]:
        coords = generator.standard_normal((size, space.dim))
        norm = np.linalg.norm(coords, axis=1)
        coords *= (r * generator.random(size) ** (1 / space.dim) / norm)[:, None]
        return coords, space.log_volume_density(coords) - bound

    return _accepted(propose, count, generator)


def _log_sin(t: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.sin(t)))


def _log_sinh(t: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(t + np.log(-0.5 * np.expm1(-2 * t)))


def _accepted(
    propose: Callable[[int], tuple[FloatArray, FloatArray]],
    count: int,
    generator: np.random.Generator,
) -> FloatArray:
    """`count` proposals, each accepted with the probability whose logarithm comes with it."""
    kept: list[FloatArray] = []
    found = tried = 0
    while found < count:
        size = min(max(2 * (count - found), 256), 1 << 16)
        proposals, log_probability = propose(size)
        chosen = proposals[-generator.standard_exponential(size) <= log_probability]
        kept.append(chosen)
        found, tried = found + len(chosen), tried + size
        if found == 0 and tried >= _HOPELESS:
            raise ValueError("rejection would take too long here: use a smaller ball")
    return np.concatenate(kept)[:count]


def _space_and_point(
    manifold: Manifold | str | Any, mean: ArrayLike
) -> tuple[Manifold, FloatArray]:
    space = as_manifold(manifold, np.shape(mean))
    point = space._points(mean, "mean")
    if point.shape != space.point_shape or not space.belongs(point):
        raise ValueError(f"mean must be one point of {space.spec}")
    return space, space.project(point)
