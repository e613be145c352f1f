"""Random-walk Metropolis for isotropic noise: where no exact sampler exists, and for comparison.

A chain is not an exact sampler, however long: its draws carry no guarantee, and no mechanism uses
it. The mechanisms draw the same laws exactly on every manifold but SPD and HPD matrices beyond 16
by 16, and at scales so large that the exact sampler rejects nearly every proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import (
    FloatArray,
    as_choice,
    as_count,
    as_positive,
    as_probability,
)
from curvedp.manifolds import Manifold, as_manifold

PROFILES = ("laplace", "gaussian")


@dataclass(frozen=True)
class MetropolisChains:
    """Metropolis chains that have run.

    Attributes
    ----------
    points : ndarray, shape (chains, draws, *point_shape)
        Kept states.
    dist : ndarray, shape (chains, draws)
        Their distances to the centre.
    acceptance : ndarray, shape (chains,)
        Share of the proposals after burning in that were accepted.
    step : ndarray, shape (chains,)
        Standard deviation of these proposals in every direction.
    effective_sample_size : ndarray, shape (dim + 1,)
        Of the coordinates of log_center and of the distance, over all chains.
    r_hat : ndarray, shape (dim + 1,)
        Split R-hat of the same numbers: near 1 where the chains have met.
    """

    points: FloatArray
    dist: FloatArray
    acceptance: FloatArray
    step: FloatArray
    effective_sample_size: FloatArray
    r_hat: FloatArray

    @classmethod
    def _of(
        cls, ran: _core.Chains, space: Manifold, center: FloatArray, draws: int
    ) -> MetropolisChains:
        """Chains that have kept normal coordinates at the centre and the distance."""
        rows = ran.draws().reshape(-1, draws, space.dim + 1)
        sizes, r_hat = np.array(ran.diagnose()).T
        return cls(
            space.exp(space.coords_to_tangent(rows[..., :-1], center), center),
            rows[..., -1].copy(),
            np.array(ran.acceptance),
            np.array(ran.scale),
            sizes.copy(),
            r_hat.copy(),
        )


def metropolis(
    manifold: Manifold | str,
    center: ArrayLike,
    scale: float,
    *,
    profile: str = "laplace",
    chains: int = 16,
    draws: int = 1000,
    burn_in: int = 1000,
    thinning: int = 1,
    step: float | None = None,
    acceptance: float | None = 0.3,
    stream: _core.Stream | None = None,
) -> MetropolisChains:
    """Metropolis chains for exp(-d(x, c)/scale) or exp(-d(x, c)²/(2 scale²)).

    Densities are with respect to the Riemannian volume; proposals are exp_x(step N(0, I)), which is
    symmetric (Metropolis et al. 1953). Chains start in random directions at distances spread evenly
    up to twice the typical one, farther apart than the law is wide, so that `r_hat` tells whether
    they have met. They are no exact sampler: use `RiemannianLaplace` and `RiemannianGaussian` where
    they serve the manifold.

    Parameters
    ----------
    manifold : Manifold or str
        Any manifold, or text such as ``"spd:20"``.
    center : array-like, shape point_shape
        c.
    scale : float
        In the units of the metric.
    profile : {"laplace", "gaussian"}
        Choice of the law.
    chains : int
        Number of chains; eight take little longer than one.
    draws, burn_in, thinning : int
        States kept of each chain, steps before the first, and steps from one to the next.
    step : float, optional
        Standard deviation of the first proposals in every direction; by default what suits flat
        space.
    acceptance : float or None
        Acceptance rate to which the step adapts while burning in, and only then; None keeps it.
    stream : Stream, optional
        Source of randomness; by default a fresh key from the operating system.

    Returns
    -------
    MetropolisChains

    Raises
    ------
    ValueError, TypeError
        If the centre has the wrong shape or does not lie on the manifold, a number is out of
        range, no law of that scale exists (volumes grow exponentially on negatively curved spaces),
        or it is so wide that its points leave double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from curvedp.mechanisms import metropolis
    >>> found = metropolis("spd:2", np.eye(2), 0.1, draws=500)
    >>> found.points.shape, bool(found.r_hat.max() < 1.2)
    ((16, 500, 2, 2), True)
    """
    space = as_manifold(manifold)
    middle = center_on(space, center)
    kept = as_count(draws, "draws")
    ran = _core.isotropic_chains(
        space.kernels,
        space.noise_space,
        as_choice(profile, PROFILES, "profile"),
        as_positive(scale, "scale"),
        as_count(chains, "chains", most=2**20),
        (
            as_count(burn_in, "burn_in", least=0),
            kept,
            as_count(thinning, "thinning"),
            None if step is None else as_positive(step, "step"),
            None if acceptance is None else as_probability(acceptance, "acceptance"),
        ),
        _core.Stream.from_os() if stream is None else stream,
    )
    return MetropolisChains._of(ran, space, middle, kept)


def center_on(space: Manifold, center: ArrayLike) -> FloatArray:
    """One point of the manifold, checked."""
    middle = space._points(center, "center")
    if middle.shape != space.point_shape or not space.belongs(middle):
        raise ValueError(f"center must be one point of {space.spec}")
    return space.project(middle)
