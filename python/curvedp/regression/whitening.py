"""Coordinates in which contributions to a step are clipped, and steps taken.

At a geodesic (p, v) a change (dp, dv) moves the prediction at covariates t by J(t)^T (dp, dv), J(t)
of the blocks c(R_w), t_1 g(R_w), ..., t_q g(R_w), w = sum_j t_j v_j (Jacobi fields: Kulkarni and
Soto, equations 5 to 8). A residual u at t contributes J(t) u to a step.

Contributions are clipped, and get noise, as W J(t) u, W = D^(-1/2), D the mean of J(t) J(t)^T over
an optimal design in the place of the covariates: no contribution is then longer than
sqrt(q + 1) |u| on flat space, wherever its covariates lie (Kiefer, Wolfowitz 1960), and noise is in
proportion to what each covariate may add. The step is (dp, dv) = G^(-1) W^(-1) mean, G the mean of
J(t) J(t)^T over the law of the covariates: Gauss-Newton.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy

from curvedp import _core
from curvedp._validation import FloatArray

#: Nodes of the law of one covariate.
_NODES = 8
#: Smallest parameter of a Beta law whose nodes have its moments, and largest variance of a law on
#: both ends, over that of the covariate, for which nodes are finite.
_LEAST_PARAMETER, _NARROW = 0.01, 100.0
#: Longest argument of hyperbolic functions: their squares are finite.
_LONGEST = 300.0
#: Covariates up to which all corners of the ranges are looked at.
_MOST_CORNERS = 10


@dataclass(frozen=True)
class CovariateLaw:
    """The law of covariates t, moved to mean 0, as far as released moments tell it.

    Attributes
    ----------
    moments : ndarray, shape (q + 1, q + 1)
        Of (1, t).
    low, high : ndarray, shape (q,)
        Ends of the ranges, from the mean on.
    """

    moments: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def about(cls, center: FloatArray, moments: FloatArray) -> CovariateLaw:
        """With the mean `center` in [-1/2, 1/2]^q."""
        return cls(moments, -0.5 - center, 0.5 - center)

    @staticmethod
    def gram(times: FloatArray, weights: FloatArray) -> FloatArray:
        """Moments of z = (1, t) over nodes, shape (q + 1, q + 1)."""
        z = np.column_stack([np.ones(len(times)), times])
        return np.asarray((z.T * weights) @ z)

    @property
    def covariance(self) -> FloatArray:
        """Shape (q, q)."""
        return self.moments[1:, 1:]

    def leverage(self, times: FloatArray) -> FloatArray:
        """h(t) = 1 + t^T covariance^-1 t, with mean q + 1 over the covariates; shape (...).

        Parameters
        ----------
        times : ndarray, shape (..., q)
        """
        solved = np.linalg.solve(self.covariance, times[..., None])[..., 0]
        return np.asarray(1.0 + np.sum(times * solved, axis=-1))

    def design_leverage(self, times: FloatArray, leverage: float) -> FloatArray:
        """z^T D^-1 z of a design for covariates up to a leverage: at most q + 1 there; shape (...).

        Parameters
        ----------
        times : ndarray, shape (..., q)
        leverage : float
        """
        center, half = self._box(leverage)
        return np.asarray(1.0 + np.sum(((times - center) / half) ** 2, axis=-1))

    def residual_variance(self, meat: FloatArray, leverage: float) -> float:
        """Mean squared length of residuals that spread alike, from their meat: its trace over the
        mean of `design_leverage`, which the covariates' moments tell, as it is quadratic in them.
        """
        center, half = self._box(leverage)
        mean = 1.0 + float(np.sum((np.diag(self.covariance) + center**2) / half**2))
        return float(np.trace(meat) / mean)

    def _box(self, leverage: float) -> tuple[FloatArray, FloatArray]:
        """Middle and half widths of the box of a design for covariates up to a leverage."""
        design = self.design(leverage)
        center = 0.5 * (design.min(axis=0) + design.max(axis=0))
        return center, np.maximum(design.max(axis=0) - center, 1e-300)

    @functools.cached_property
    def highest_leverage(self) -> float:
        """The highest leverage in the ranges, or for very many covariates a bound on it."""
        if self.farthest is not None:
            return float(self.leverage(self.farthest))
        longest = np.maximum(np.abs(self.low), np.abs(self.high))
        least = float(np.linalg.eigvalsh(self.covariance)[0])
        return 1.0 + float(longest @ longest) / least

    @functools.cached_property
    def farthest(self) -> FloatArray | None:
        """The corner of the ranges with the highest leverage; None for very many covariates."""
        if len(self.low) > _MOST_CORNERS:
            return None
        corners = np.array(list(itertools.product(*zip(self.low, self.high, strict=True))))
        return np.asarray(corners[np.argmax(self.leverage(corners))])

    def design(self, leverage: float) -> FloatArray:
        """Covariates of an optimal design, shape (m, q), for those up to a leverage.

        All ends of the smallest box that holds them, or as many as have its moments (Plackett and
        Burman's designs of 2^k runs): of all laws on the box theirs has the least highest leverage,
        q + 1 (Kiefer and Wolfowitz 1960).
        """
        reach = np.sqrt(max(leverage - 1.0, 0.0) * np.diag(self.covariance))
        low, high = np.maximum(self.low, -reach), np.minimum(self.high, reach)
        q = len(low)
        signs = scipy.linalg.hadamard(1 << q.bit_length())[:, 1 : q + 1]
        return np.asarray(0.5 * (low + high) + 0.5 * (high - low) * signs)

    @functools.cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Covariates, shape (m, q), and weights, shape (m,), with these moments.

        Of one covariate those of the Beta law on its range, uniform among them; where it comes
        close to a law on the ends and the mean these three points, and where it is narrow two. Of
        several, points on the principal axes, cut to the ranges.
        """
        if len(self.low) == 1:
            low, high, variance = self.low[0], self.high[0], self.covariance[0, 0]
            return _nodes_of_one(float(low), float(high), float(variance))
        values, vectors = np.linalg.eigh(self.covariance)
        steps = (vectors * np.sqrt(len(values) * values)).T
        nodes = np.clip(np.concatenate([steps, -steps]), self.low, self.high)
        return nodes, np.full(len(nodes), 1.0 / len(nodes))


def _nodes_of_one(low: float, high: float, variance: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a law on [low, high] with mean 0 and a variance, at most the largest."""
    room = -low * high  # the variance of a law on both ends
    if variance * _NARROW >= room:
        parts = room / variance - 1.0
        shares = [max(parts, 0.0) * end / (high - low) for end in (-low, high)]
        if min(shares) >= _LEAST_PARAMETER:
            x, weights = scipy.special.roots_jacobi(_NODES, shares[1] - 1.0, shares[0] - 1.0)
            return low + (high - low) * (x[:, None] + 1.0) / 2.0, weights / weights.sum()
        if room > 0.0:
            ends = min(variance, room) / (high - low) / np.array([-low, high])
            return np.array([[low], [0.0], [high]]), np.array([ends[0], 1.0 - ends.sum(), ends[1]])
    # narrow beside the range, or about its end: two points
    return math.sqrt(variance) * np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])


@dataclass(frozen=True)
class StepMetric:
    """W and G^(-1) W^(-1) at a geodesic.

    Attributes
    ----------
    manifold : _core.Manifold
    velocities : ndarray, shape (q, d)
        Coordinates at the footpoint.
    whitening : ndarray, shape ((q + 1) d, (q + 1) d)
        W, symmetric.
    solution : ndarray, shape ((q + 1) d, (q + 1) d)
        G^(-1) W^(-1).
    spread : float
        tr G^(-1) D: noise of deviation s in each whitened coordinate moves predictions by
        s sqrt(spread), root mean square over the covariates.
    """

    manifold: _core.Manifold
    velocities: FloatArray
    whitening: FloatArray
    solution: FloatArray
    spread: float

    @classmethod
    def at(
        cls,
        manifold: _core.Manifold,
        velocities: FloatArray,
        law: CovariateLaw,
        leverage: float,
    ) -> StepMetric:
        """At a geodesic, with a design for covariates up to a leverage."""
        nodes, weights = law.nodes
        design = law.design(leverage)
        even = np.full(len(design), 1.0 / len(design))
        if len(velocities) == 1:
            curvatures, axes = np.linalg.eigh(manifold.curvature_operator(velocities[0]))
            grams = [
                _grams_of_one(curvatures, times, own)
                for times, own in ((nodes, weights), (design, even))
            ]
            whitening, solution, spread = solved(*grams)
            whitening, solution = _along(axes, whitening), _along(axes, solution)
            return cls(manifold, velocities, whitening, solution, spread)
        gram = mean_of_fields(manifold, velocities, nodes, weights, law.moments)
        of_design = _gram(manifold, velocities, design, even)
        return cls(manifold, velocities, *solved(gram, of_design))

    def leverage(self, times: FloatArray) -> float:
        """tr J(t)^T G^-1 J(t)/d, on flat space `CovariateLaw.leverage`.

        Parameters
        ----------
        times : ndarray, shape (q,)
        """
        fields = _fields(self.manifold, self.velocities, times)
        return float(np.sum(fields * (self.solution @ (self.whitening @ fields)))) / len(fields.T)

    def effect(self, times: FloatArray, growth: FloatArray | None = None) -> FloatArray:
        """E_ab = sum over blocks of (S J(t))_a (S J(t))_b, S = (G^-1 W^-1)^T, (..., q + 1, q + 1).

        Noise in whitened coordinates whose blocks of d entries have the covariances V_ab I moves
        the prediction at t by sum_ab V_ab E_ab, mean square.

        Parameters
        ----------
        times : ndarray, shape (..., q)
        growth : ndarray, shape (q, q), optional
            By what errors of velocities are larger; the identity by default.
        """
        q, dim = self.velocities.shape
        rows = times.reshape(-1, q)
        found = np.empty((len(rows), q + 1, q + 1))
        for own, t in zip(found, rows, strict=True):
            fields = _fields(self.manifold, self.velocities, t)
            if growth is not None:
                slopes = fields[dim:].reshape(q, dim * dim)
                fields[dim:] = (growth @ slopes).reshape(q * dim, dim)
            moved = self.solution.T @ fields
            blocks = moved.reshape(q + 1, dim * dim)
            own[...] = blocks @ blocks.T
        return found.reshape(*times.shape[:-1], q + 1, q + 1)


def _grams_of_one(curvatures: FloatArray, times: FloatArray, weights: FloatArray) -> FloatArray:
    """Means of J J^T of one covariate: two rows and columns for each eigenvalue of R_v."""
    fields = np.stack(jacobi_fields(curvatures, times))  # (2, m, d)
    rows = fields.transpose(2, 0, 1)
    return np.asarray((rows * weights) @ rows.transpose(0, 2, 1))


def _along(axes: FloatArray, blocks: FloatArray) -> FloatArray:
    """The matrix with these blocks along the axes."""
    dim = len(axes)
    whole = (axes * blocks.transpose(1, 2, 0)[:, :, None, :]) @ axes.T
    return np.ascontiguousarray(whole.transpose(0, 2, 1, 3).reshape(2 * dim, 2 * dim))


def mean_of_fields(
    manifold: _core.Manifold,
    velocities: FloatArray,
    times: FloatArray,
    weights: FloatArray,
    moments: FloatArray,
) -> FloatArray:
    """The mean of J J^T over nodes, exact on flat space for these `moments` of z = (1, t).

    Parameters
    ----------
    manifold : _core.Manifold
    velocities : ndarray, shape (q, d)
    times : ndarray, shape (m, q)
    weights : ndarray, shape (m,)
    moments : ndarray, shape (q + 1, q + 1)
    """
    z = np.column_stack([np.ones(len(times)), times])
    missing = np.kron(moments - (z.T * weights) @ z, np.eye(velocities.shape[1]))
    return np.asarray(_gram(manifold, velocities, times, weights) + missing)


def _gram(
    manifold: _core.Manifold, velocities: FloatArray, times: FloatArray, weights: FloatArray
) -> FloatArray:
    """The mean of J J^T."""
    fields = [_fields(manifold, velocities, t) for t in times]
    sums = [weight * own @ own.T for own, weight in zip(fields, weights, strict=True)]
    return np.asarray(np.sum(sums, axis=0))


def solved(gram: FloatArray, of_design: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """W, G^(-1) W^(-1) and tr G^(-1) D, of matrices of shape (..., k, k)."""
    values, vectors = np.linalg.eigh(of_design)
    # a positive definite matrix has no smaller eigenvalue, but for rounding
    roots = np.sqrt(np.maximum(values, np.finfo(float).eps * values[..., -1:]))[..., None, :]
    turned = np.swapaxes(vectors, -1, -2)
    whitening, unwhitening = (vectors / roots) @ turned, (vectors * roots) @ turned
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, np.finfo(float).eps * values[..., -1:])[..., None, :]
    inverse = (vectors / values) @ np.swapaxes(vectors, -1, -2)
    solution = inverse @ unwhitening
    spread = float(np.sum(inverse * (unwhitening @ unwhitening)))
    return np.asarray(whitening), np.asarray(solution), spread


def _fields(manifold: _core.Manifold, velocities: FloatArray, times: FloatArray) -> FloatArray:
    """J(t), shape ((q + 1) d, d)."""
    curvatures, axes = np.linalg.eigh(manifold.curvature_operator(times @ velocities))
    c, g = ((axes * field) @ axes.T for field in jacobi_fields(curvatures, 1.0))
    return np.concatenate([c, *(t * g for t in times)])


def jacobi_fields(
    curvatures: FloatArray, times: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """c(k t^2) and t g(k t^2): Jacobi fields that start with size 1, and with slope 1.

    c(k) = cos sqrt(k) and g(k) = sin(sqrt(k))/sqrt(k), of negative k the hyperbolic functions.
    """
    root = np.clip(np.sqrt(np.abs(curvatures)) * times, -_LONGEST, _LONGEST)
    flat = np.abs(root) < 1e-8
    safe = np.where(flat, 1.0, root)
    bent = np.where(curvatures > 0.0, np.sin(safe), np.sinh(safe)) / safe
    c = np.where(curvatures > 0.0, np.cos(root), np.cosh(root))
    return c, np.asarray(times * np.where(flat, 1.0, bent))
