"""Gamma, the covariance of the private mean in a chart, of which a confidence region is computed.

    Gamma = H^-1 S H^-1 / n + noise of p

from released quantities alone. Derivation: docs/proofs/confidence-region.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.statistics.base_point import BasePoint, chart_differential
from curvedp.statistics.bootstrap import NoisyCovariance
from curvedp.statistics.log_moments import hessian_limits
from curvedp.statistics.quantiles import dof_at_quantile, effective_dof
from curvedp.statistics.symmetric import clip_eigenvalues

#: Degrees of freedom per dimension from which the expansion of quantiles.py is used.
SMALL_NOISE_DOF = 10


class NoisyMatrix(NamedTuple):
    """A released matrix, shape (dim, dim), and the noise per coordinate of its `vecd`."""

    value: FloatArray
    scale: float


@dataclass(frozen=True)
class Spread:
    """Gamma and what it is made of; matrices are (dim, dim).

    Attributes
    ----------
    chart_point : ndarray
    gamma : ndarray
        Covariance of phi(p).
    sampling : ndarray
        H^-1 S H^-1 / n at the base point: the covariance of the exact mean.
    inverse_hessian : ndarray
        H^-1 at the base point.
    to_chart : ndarray
        From coordinates at the base point to those of the chart.
    estimate : NoisyCovariance
        S, H and their noise.
    """

    chart_point: FloatArray
    gamma: FloatArray
    sampling: FloatArray
    inverse_hessian: FloatArray
    to_chart: FloatArray
    estimate: NoisyCovariance

    @classmethod
    def of(cls, base: BasePoint, moments: Sequence[NoisyMatrix], n: int) -> Spread:
        """From the private mean, the covariance S and, unless H = I, the Hessian 2 H."""
        ball = base.ball
        assert base.mean is not None
        assert base.noise is not None
        dim = ball.manifold.dim
        hessian = moments[1].value / 2 if len(moments) > 1 else np.eye(dim)
        hessian_scale = moments[1].scale / 2 if len(moments) > 1 else 0.0
        limits = hessian_limits(base)
        noise = base.noise.covariance(base.point)
        second = moments[0].value
        # S is about p, not about the sample mean, which is H noise away
        correction = n / (n - 1)
        high = correction * base.max_dist**2
        # an eigenvalue below the noise's own size may be noise alone
        low = min(correction * moments[0].scale, high)
        second = clip_eigenvalues(correction * (second - hessian @ noise @ hessian), low, high)
        inverse = np.linalg.inv(hessian)
        sampling = inverse @ second @ inverse / n
        if base.noise.in_chart:
            chart_point = ball.center
            to_chart = np.linalg.inv(chart_differential(ball, base.point))
        else:
            chart_point = base.mean
            to_chart = _transport(ball, base.point, chart_point)
        gamma = to_chart @ (sampling + noise) @ to_chart.T
        return cls(
            chart_point=chart_point,
            gamma=np.asarray((gamma + gamma.T) / 2),
            sampling=sampling,
            inverse_hessian=np.asarray(inverse),
            to_chart=np.asarray(to_chart),
            estimate=NoisyCovariance(
                second=second,
                second_range=(low, high),
                second_scale=correction * moments[0].scale,
                hessian=hessian,
                hessian_range=(limits[0] / 2, limits[1] / 2),
                hessian_scale=hessian_scale,
                mean_noise=noise,
                n=n,
            ),
        )

    def dof(self) -> float:
        """Degrees of freedom of a Wishart matrix as noisy as Gamma.

        From the expansion where the noise is small, from the bootstrap's 95 % quantile elsewhere.
        """
        dim = len(self.gamma)
        dof = effective_dof(dim, *self.noise())
        if dof >= SMALL_NOISE_DOF * dim:
            return dof
        return dof_at_quantile(self.estimate.quantile(0.95), dim)

    def noise(self) -> tuple[float, float]:
        """E tr M^2 and E (tr M)^2 of M = Gamma^-1/2 (estimate of Gamma) Gamma^-1/2 - I.

        Three independent causes: noise in S, noise in H (to first order), and the sampling of S,
        for which normal logarithms are assumed.
        """
        values, vectors = np.linalg.eigh(self.gamma)
        whiten = (vectors / np.sqrt(values)) @ vectors.T @ self.to_chart
        u = whiten @ self.inverse_hessian
        t = whiten @ self.sampling
        n = self.estimate.n
        p, sampled = u @ u.T / n, whiten @ self.sampling @ whiten.T
        s2, h2 = self.estimate.second_scale**2, self.estimate.hessian_scale**2
        cross = t.T @ u
        symmetric = (cross + cross.T) / 2
        squares = (
            # the noise on the trace is smaller by 1/sqrt(dim + 1)
            s2 * (_square(p) / 2 - (p * p).sum() / (len(p) + 1)),
            # M = -(u E t' + t E u')
            h2 * (((u.T @ u) * (t.T @ t)).sum() + cross.trace() ** 2)
            + h2 * (((u @ t.T) * (u @ t.T)).sum() + (t @ t.T).trace() * (u @ u.T).trace()),
            _square(sampled) / (n - 1),
        )
        traces = (
            s2 * ((p * p).sum() - p.trace() ** 2 / (len(p) + 1)),
            4 * h2 * (symmetric**2).sum(),
            2 * (sampled**2).sum() / (n - 1),
        )
        return float(sum(squares)), float(sum(traces))


def _square(p: FloatArray) -> float:
    return float((p * p).sum() + p.trace() ** 2)


def _transport(ball: Ball, start: FloatArray, end: FloatArray) -> FloatArray:
    """Parallel transport in coordinates at both ends, shape (dim, dim)."""
    manifold = ball.manifold
    basis = manifold.coords_to_tangent(np.eye(manifold.dim), start)
    moved = manifold.parallel_transport(basis, start, end_point=end)
    return manifold.tangent_to_coords(moved, end).T
