"""Shared by the K-norm gradients of means and of regressions: limits of exact draws, chains."""

from __future__ import annotations

from curvedp.domain import Ball

#: Largest dimension, of the manifold or of its tangent bundle, in which draws are exact.
MAX_EXACT_DIM = 6

#: Largest length of logarithms in noise scales: the bounds of boxes have room for rounding, 1e-9.
MAX_PRECISION = 1e7

CHAIN_WHY = "the Markov chain is not certified to have reached its law"

#: Acceptance rate to which the proposals of chains adapt, and their first size in radii.
_ACCEPTANCE = 0.3
_FIRST_STEP = 0.1


def is_resolved(ball: Ball, reach: float, n: int, scale: float) -> bool:
    """Returns True if logarithms up to a length `reach` are rounded by a small part of the scale,
    which the bounds of boxes give away."""
    return ball.frame.manifold.gradient_rounding(reach / 2, n) <= scale / 16


def chain_plan(
    radius: float, burn_in: int, draws: int, thinning: int = 1
) -> tuple[int, int, int, float, float]:
    """A chain in a ball: burn-in, draws, thinning, first step, acceptance rate."""
    return burn_in, draws, thinning, _FIRST_STEP * radius, _ACCEPTANCE
