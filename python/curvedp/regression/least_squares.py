"""The geodesics of least squares over several covariates, without privacy.

    minimise (1/2n) sum_i rho(exp_p(sum_j t_ij v_j), y_i)^2

by damped Gauss-Newton steps: gradients are exact (Jacobi fields of every record), and the matrix of
the steps is the mean of J J^T over some of the records, with the moments of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.regression.steps import carry
from curvedp.regression.whitening import mean_of_fields

#: Records whose fields make up the matrix of a step.
_SOME = 200
#: Eigenvalues of that matrix over its largest, below which records do not determine a direction.
_SINGULAR = 1e-12
#: Share of the decrease that a step promises, which it must keep; shortest step.
_KEPT, _SHORTEST = 1e-4, 2.0**-30
#: Relative rounding of the loss.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class LeastSquares:
    """A state of the descent.

    Attributes
    ----------
    space : Manifold
    rows : ndarray, shape (n, point_size)
    times : ndarray, shape (n, q)
    footpoint : ndarray, shape (point_size,)
    velocities : ndarray, shape (q, dim)
        Coordinates at the footpoint.
    """

    space: Manifold
    rows: FloatArray
    times: FloatArray
    footpoint: FloatArray
    velocities: FloatArray

    def loss(self) -> float:
        """(1/2n) sum_i rho(prediction_i, y_i)^2"""
        ahead = np.empty_like(self.rows)
        moves = np.ascontiguousarray(self.times @ self.velocities)
        self.space.kernels.exp_coords(moves, self.footpoint[None], ahead)
        shape = (-1, *self.space.point_shape)
        lengths = self.space.dist(ahead.reshape(shape), self.rows.reshape(shape))
        return 0.5 * float(np.mean(lengths**2))

    def descent(self) -> FloatArray:
        """Minus the gradient in footpoint and velocities, shape ((q + 1) dim,)."""
        size = self.velocities.size + self.space.dim
        ends = np.arange(len(self.rows) + 1)
        found = self.space.kernels.regression_contributions(
            self.rows, self.times, ends, self.footpoint, self.velocities, np.eye(size)
        )
        return np.asarray(np.ascontiguousarray(found.T).mean(axis=1))

    def step(self, descent: FloatArray) -> FloatArray:
        """The Gauss-Newton step; none in directions that records do not determine."""
        some = self.times[:: max(1, len(self.times) // _SOME)]
        z = np.column_stack([np.ones(len(self.times)), self.times])
        gram = mean_of_fields(
            self.space.kernels,
            self.velocities,
            some,
            np.full(len(some), 1.0 / len(some)),
            z.T @ z / len(z),
        )
        values, vectors = np.linalg.eigh(gram)
        known = values > _SINGULAR * values[-1]
        return np.asarray(vectors[:, known] @ ((vectors[:, known].T @ descent) / values[known]))

    def moved(self, step: FloatArray) -> LeastSquares:
        """The state after a step."""
        dim, base = self.space.dim, self.footpoint[None]
        end = np.empty_like(base)
        self.space.kernels.exp_coords(np.ascontiguousarray(step[None, :dim]), base, end)
        ahead = self.velocities + step[dim:].reshape(self.velocities.shape)
        carried = carry(self.space.kernels, ahead, base, end)
        return LeastSquares(self.space, self.rows, self.times, end[0], carried)


def least_squares(
    start: LeastSquares, tol: float, max_evaluations: int
) -> tuple[LeastSquares, float, float, int, bool]:
    """The minimiser, its loss, the length of its gradient, evaluations, and if that reached `tol`.

    Parameters
    ----------
    start : LeastSquares
    tol : float
    max_evaluations : int
    """
    state, loss, evaluations = start, start.loss(), 1
    descent = state.descent()
    gradient = float(np.linalg.norm(descent))
    while gradient > tol and evaluations < max_evaluations:
        step, share = state.step(descent), 1.0
        promised = float(step @ descent)
        while share >= _SHORTEST and evaluations < max_evaluations:
            other = state.moved(share * step)
            own, evaluations = other.loss(), evaluations + 1
            if own <= loss - _KEPT * share * promised + _ROUNDING * loss:
                break
            share /= 2
        else:
            break
        descent = other.descent()
        length = float(np.linalg.norm(descent))
        if own >= loss * (1.0 - _ROUNDING) and length >= gradient:
            break  # rounding alone is left
        state, loss, gradient = other, own, length
    return state, loss, gradient, evaluations, bool(math.isfinite(gradient) and gradient <= tol)
