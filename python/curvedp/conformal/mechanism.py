"""Laplace noise in a released conformal metric, drawn exactly and without a mesh.

The density of z, with respect to the volume of g, is proportional to
c(z)^d exp(-c(z) rho(eta, z)/scale), c = √phi/max √phi: the volume of phi g, and the distance from
eta in phi g to first order. Proof: docs/proofs/conformal-mean.md, section 3.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._text import rounded_down, rounded_up
from curvedp._validation import FloatArray, as_count, as_positive
from curvedp.conformal.graph import as_node_values
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.normaliser import normaliser_bound
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms.base import largest_laplace_scale
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.calibration import check_guarantee, outward_scale
from curvedp.mechanisms.grid import clip_radius, grid_step
from curvedp.privacy import GDP, PureDP

#: Largest quotient of the lengths √phi at two places, and of volumes phi^{d/2}, by default.
_MOST_LENGTH, _MOST_VOLUME = math.sqrt(2), 4.0

#: Proposals that are drawn at once for a release, and at most.
_BLOCK, _MOST = 4, 1024


def default_contrast(dim: int) -> float:
    """Largest quotient of √phi at two places: √2, or less where volumes would differ by over 4.

    Examples
    --------
    >>> [round(default_contrast(dim), 3) for dim in (2, 6, 45)]
    [1.414, 1.26, 1.031]
    """
    return min(_MOST_LENGTH, math.pow(_MOST_VOLUME, 1 / dim))


def log_lengths(sigma: FloatArray, contrast: float) -> FloatArray:
    """log c, from a quotient of at most `contrast` up to 0: phi^t with the largest t <= 1."""
    top, bottom = float(sigma.max()), float(sigma.min())
    room = math.log(contrast)
    share = min(1.0, room / (top - bottom)) if top > bottom else 1.0
    return np.clip(share * (sigma - top), -room, 0.0)


class ConformalLaplace:
    """Laplace noise in the metric phi g.

    Parameters
    ----------
    mesh : Mesh
        Public nodes; phi at a point is that of the node nearest to it.
    sigma : array-like, shape (n,)
        log √phi at the nodes: public, or released before.
    ball : Ball
        Domain of the true value and of the release.
    sensitivity : float
        Largest distance between the true values of neighbouring data sets, solver error included.
    guarantee : PureDP or GDP
    contrast : float, optional
        Largest quotient of √phi at two places, above 1; a power of phi has it if phi has more. By
        default √2, or 4^{1/d} if that is less.

    Attributes
    ----------
    scale : float
        1/lambda: the length over which the density falls by e where phi is largest.
    least : float
        The least c = √phi/max √phi. Outside the ball c is this.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import ball_mesh
    >>> ball = cdp.Ball("sphere", center=[0, 0, 1], radius=0.7)
    >>> mesh = ball_mesh(ball, 500)
    >>> sigma = mesh.points[:, 0]
    >>> noise = ConformalLaplace(
    ...     mesh, sigma, ball=ball, sensitivity=0.003, guarantee=cdp.PureDP(0.5)
    ... )
    >>> round(noise.scale, 5), round(noise.least, 4)  # plain Laplace noise: .006
    (0.00703, 0.7071)
    >>> bool(ball.contains(noise.sample([0, 0, 1], n_samples=20)).all())
    True
    """

    name: ClassVar[str] = "conformal Laplace"
    proof: ClassVar[str] = "docs/proofs/conformal-mean.md"

    def __init__(
        self,
        mesh: Mesh,
        sigma: ArrayLike,
        *,
        ball: Ball,
        sensitivity: float,
        guarantee: PureDP | GDP,
        contrast: float | None = None,
    ) -> None:
        if ball.manifold != mesh.manifold:
            raise ValueError(f"the mesh is on {mesh.manifold.spec}, the ball elsewhere")
        values = as_node_values(sigma, mesh, "sigma", one=True)
        if not np.isfinite(values).all():
            raise ValueError("sigma must be finite")
        check_guarantee(guarantee)
        self.mesh, self.ball, self.guarantee = mesh, ball, guarantee
        self.sensitivity = as_positive(sensitivity, "sensitivity")
        most = default_contrast(ball.manifold.dim) if contrast is None else as_contrast(contrast)
        self._logs = log_lengths(values, most)
        self.least = math.exp(float(self._logs.min()))
        self.scale = conformal_scale(ball, self.sensitivity, guarantee, self.least)
        self._widest = math.nextafter(self.scale / self.least, math.inf)
        self._grid = grid_step(ball, self._widest, guarantee), clip_radius(ball)
        self._noise = laplace(ball, self._widest)
        # about the origin, where coming back from the manifold loses no digits
        self._home = _core.Frame(ball.frame.manifold, ball.frame.origin, ball.radius)

    def error_at(self, point: ArrayLike) -> float:
        """Expected distance of a release from a true value near `point`, c being constant there.

        Parameters
        ----------
        point : array-like, shape point_shape

        Returns
        -------
        float
        """
        row = np.asarray(point, dtype=np.float64)[None]
        length = math.exp(float(self._logs[self.mesh.nearest(row)[0][0]]))
        dist = float(self.ball.manifold.dist(self.ball.center, row[0]))
        return laplace_error(self.ball, self.scale / length, dist)

    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        """Logarithm of the density at points inside the ball, up to a constant.

        The constant depends on `true_value`, by at most R sensitivity/scale between neighbours.

        Parameters
        ----------
        point : array-like, shape (..., *point_shape)
        true_value : array-like, shape point_shape

        Returns
        -------
        ndarray, shape (...)
        """
        space = self.mesh.manifold
        points = space._points(point, "point")
        lead = points.shape[: points.ndim - len(space.point_shape)]
        rows = points.reshape(-1, *space.point_shape)
        logs = self._logs[self.mesh.nearest(rows)[0]].reshape(lead)
        return np.asarray(
            space.dim * logs - np.exp(logs) * space.dist(true_value, points) / self.scale
        )

    def sample(
        self, true_value: ArrayLike, stream: _core.Stream | None = None, n_samples: int = 1
    ) -> FloatArray:
        """Independent draws, points of the ball.

        Parameters
        ----------
        true_value : array-like, shape point_shape
            Projected on the ball, outside which the calibration does not hold.
        stream : Stream, optional
            Source of randomness; by default a fresh key from the operating system.
        n_samples : int

        Returns
        -------
        ndarray, shape (n_samples, *point_shape)
        """
        count = as_count(n_samples, "n_samples")
        space = self.ball.manifold
        eta = space._points(true_value, "true_value")
        if eta.shape != space.point_shape:
            raise ValueError(f"true_value must be one point, got shape {eta.shape}")
        stream = _core.Stream.from_os() if stream is None else stream
        row = self.ball.enter(eta[None])[0]
        return self._draw(row, stream, count)

    def _draw(self, eta: FloatArray, stream: _core.Stream, count: int = 1) -> FloatArray:
        """Draws about a point of the ball's frame, shape (count, *point_shape)."""
        proposals = self._proposals(eta, stream, min(_BLOCK * count, _MOST))
        kept: list[FloatArray] = []
        while len(kept) < count:
            point, rate, word = next(proposals)
            if accepted(rate, word, stream):
                kept.append(point)
        return self.ball.project(np.array(kept))

    def _proposals(
        self, eta: FloatArray, stream: _core.Stream, block: int
    ) -> Iterator[tuple[FloatArray, float, float]]:
        """Points with Laplace noise of the widest scale, minus the logarithms of the probabilities
        with which they are kept, and uniform numbers."""
        home, dim = self._home, self.ball.manifold.dim
        rows = np.empty((block, len(eta)))
        inner, dist, words = np.empty_like(rows), np.empty(block), np.empty(block)
        lowest = math.log(self.least)
        while True:
            self._noise.release(home, eta, stream, self._grid, rows)
            inside = np.array(home.contains(rows), dtype=np.bool_)
            stream.uniform(words)
            home.enter(rows, inner)
            home.manifold.dist(eta[None], inner, dist)
            points = self.ball.leave(rows)
            logs = np.where(inside, self._logs[self.mesh.nearest(points)[0]], lowest)
            further = np.maximum(np.exp(logs) - self.least, 0.0) * dist / self.scale
            rates = np.where(inside, further, 0.0) - dim * logs
            yield from zip(points, rates.tolist(), words.tolist(), strict=True)

    def __repr__(self) -> str:
        scale = rounded_down(self.scale)
        return f"{type(self).__name__}({self.mesh!r}, {self.guarantee!r}, scale={scale})"


def as_contrast(contrast: float) -> float:
    """The number, if it is finite and above 1."""
    number = as_positive(contrast, "contrast")
    if number <= 1.0:
        raise ValueError(f"contrast must be above 1, got {number:g}")
    return number


def conformal_scale(ball: Ball, sensitivity: float, way: PureDP | GDP, least: float) -> float:
    """The scale for a factor whose least c is `least`, rounding included.

    2 sensitivity/epsilon for the bounded range that implies GDP, and (1 + R) sensitivity/epsilon
    for pure DP, R the bound on the change of the normalising constant.

    Parameters
    ----------
    ball : Ball
    sensitivity : float
        Solver error included.
    way : PureDP or GDP
    least : float

    Returns
    -------
    float

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> [round(conformal_scale(ball, 0.01, cdp.PureDP(1.0), c), 5) for c in (1.0, 0.9, 0.5)]
    [0.01, 0.01051, 0.01369]
    """
    rounding = 4 * ball.frame.dist_error + 2.0**-44 * ball.radius
    total = sensitivity + 2 * rounding
    # sums of two logarithms are rounded by an absolute amount, whatever the scale
    lost = 2.0**-50 * (1 - ball.manifold.dim * math.log(least))
    budget = math.nextafter(bounded_range_epsilon(way) - lost, 0.0)
    if budget <= 0:
        raise ExistenceError(f"an epsilon of {lost:.3g} is lost to rounding: use a larger budget")
    coarse = outward_scale(2 * total, budget)
    if isinstance(way, GDP):
        return coarse
    moved = rounding + _moved_by_grid(ball, coarse / least, way)
    change = normaliser_bound(ball.manifold, least, coarse)
    own = total + change * sensitivity + 2 * (1 - least) * moved + 2.0**-44 * coarse
    return min(coarse, outward_scale(own, budget))


def _moved_by_grid(ball: Ball, scale: float, way: PureDP | GDP) -> float:
    """A bound on how far rounding to the grid moves a point inside the ball."""
    steep = max(-ball.manifold.curvature_bounds[0], 0.0) ** 0.5 * ball.radius
    stretch = math.sinh(steep) / steep if steep > 0 else 1.0
    return 8 * math.sqrt(ball.manifold.point_size) * stretch * grid_step(ball, scale, way)


def laplace(ball: Ball, scale: float) -> _core.Noise:
    """Riemannian Laplace noise of that scale."""
    return _core.Noise(*ball.manifold.noise_space, "laplace", scale)


def laplace_error(ball: Ball, scale: float, dist: float) -> float:
    """Expected distance of a release on the ball from a true value that far from its centre.

    Moved to the ball, noise across is no longer than the half chord there.
    """
    length = laplace(ball, scale).expected_dist_within(math.hypot(ball.radius, dist))
    return min(length, ball.radius + dist)


def check_widest(ball: Ball, scale: float, n: int, way: PureDP | GDP) -> None:
    """Refuses proposals of a scale at which Laplace noise cannot be drawn.

    Raises
    ------
    ExistenceError
        With the smallest epsilon and n that work, if the noise is calibrated to PureDP.
    """
    largest = largest_laplace_scale(ball.manifold.noise_space)
    if scale <= largest:
        return
    spec = ball.manifold.spec
    if largest == 0:
        raise ExistenceError(
            f"Riemannian Laplace noise on {spec} has no exact sampler; matrices up to 16 by 16 "
            "have one. Use frechet_mean with GDP, whose noise always exists."
        )
    message = (
        f"conformal noise on {spec} cannot be drawn at scale {rounded_up(scale, 4)}, because "
        f"volumes grow exponentially: scales up to {rounded_down(largest, 4)} can. Use more "
        "budget, more records, a smaller radius, or frechet_mean with GDP, whose noise always "
        "exists."
    )
    if isinstance(way, GDP):
        raise ExistenceError(message)
    share = scale / largest * (1 + 1e-9)
    raise ExistenceError(
        message, smallest_epsilon=way.epsilon * share, smallest_n=math.ceil(n * share)
    )


def accepted(rate: float, word: float, stream: _core.Stream) -> bool:
    """True with probability exp(-rate), exactly: is a uniform number below it?

    Parameters
    ----------
    rate : float
        Nonnegative.
    word : float
        The number's first 52 binary digits, as `Stream.uniform` gives them.
    stream : Stream
        Source of the next 52, as long as they do not decide.
    """
    digits, words = math.floor(math.ldexp(word, 52)), 1
    while True:
        context = decimal.Context(prec=20 * (words + 1), Emin=decimal.MIN_EMIN)
        context.Emax = decimal.MAX_EMAX
        # rounded to the nearest: off by less than one unit of its last digit
        middle = Fraction(context.exp(decimal.Decimal(-rate)))
        slack, unit = middle / 10 ** (context.prec - 1), 1 << (52 * words)
        if digits + 1 <= (middle - slack) * unit:
            return True
        if digits >= (middle + slack) * unit:
            return False
        further = np.empty(1)
        stream.uniform(further)
        digits = (digits << 52) + math.floor(math.ldexp(float(further[0]), 52))
        words += 1
