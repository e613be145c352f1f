"""Random-walk Metropolis for isotropic noise: where no exact sampler exists, and for comparison.

A chain is not an exact sampler, however long: what it draws carries no guarantee, and no mechanism
uses it. The mechanisms draw the same laws exactly on every manifold but SPD matrices beyond 16 by
16, and at scales so large that the exact sampler rejects nearly every proposal.
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
    as_points,
    as_positive,
    as_probability,
    as_records,
)
from curvedp.manifolds import Manifold, as_manifold

PROFILES = ("laplace", "gaussian")


@dataclass(frozen=True)
class NoiseChains:
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


def metropolis(
    manifold: Manifold | str,
    center: ArrayLike,
    scale: float,
    *,
    profile: str = "laplace",
    chains: int = 16,
    starts: ArrayLike | None = None,
    draws: int = 1000,
    burn_in: int = 1000,
    thinning: int = 1,
    step: float | None = None,
    acceptance: float | None = 0.3,
    stream: _core.Stream | None = None,
) -> NoiseChains:
    """Metropolis chains for exp(-d(x, c)/scale) or exp(-d(x, c)²/(2 scale²)).

    Densities are with respect to the Riemannian volume; proposals are exp_x(step N(0, I)), which is
    symmetric (Metropolis et al. 1953). Chains run in lock step, so that sixteen take little longer
    than one. They are no exact sampler: use `RiemannianLaplace` and `RiemannianGaussian` where they
    serve the manifold, and look at `r_hat` and `effective_sample_size` where they do not.

    Parameters
    ----------
    manifold : Manifold or str
        Any manifold, or text such as ``"spd:20"``.
    center : array-like, shape point_shape
        c.
    scale : float
        In the units of the metric.
    profile : {"laplace", "gaussian"}
        Which of the two laws.
    chains : int
        How many, where `starts` are not given.
    starts : array-like, shape (chains, *point_shape), optional
        Where chains start; by default in random directions at distances spread evenly up to twice
        the typical one. Starts nearer to each other than the law is wide hide that chains have not
        met.
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
    NoiseChains

    Raises
    ------
    ValueError, TypeError
        If an array has the wrong shape, the centre or a start does not lie on the manifold, a
        number is out of range, no law of that scale exists (volumes grow exponentially on
        negatively curved spaces), or it is so wide that its points leave double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from curvedp.mechanisms import metropolis
    >>> found = metropolis("spd:2", np.eye(2), 0.1, draws=500)
    >>> found.points.shape, bool(found.r_hat.max() < 1.2)
    ((16, 500, 2, 2), True)
    """
    space = as_manifold(manifold)
    shape = as_choice(profile, PROFILES, "profile")
    law = _core.IsotropicLaw(*space.noise_space, shape, as_positive(scale, "scale"))
    middle = as_points(center, space.point_shape, "center")
    if middle.shape != space.point_shape or not space.belongs(middle):
        raise ValueError(f"center must be one point of {space.spec}")
    middle = space.project(middle)
    first: int | FloatArray = as_count(chains, "chains", most=2**20)
    if starts is not None:
        points = as_records(starts, space.point_shape, "starts")
        if not np.all(space.belongs(points)):
            raise ValueError(f"some starts do not lie on {space.spec}")
        first = space.tangent_to_coords(space.log(space.project(points), middle), middle)
        with np.errstate(over="ignore"):
            dist = np.linalg.norm(first, axis=-1)
        if not np.all(dist <= (1 + 1e-9) * law.farthest):
            raise ValueError(
                f"chains on {space.spec} must start within {law.farthest:.4g} of the centre: "
                "double precision does not hold points farther away"
            )
    count = first if isinstance(first, int) else len(first)
    kept = as_count(draws, "draws")
    plan = (
        as_count(burn_in, "burn_in", least=0),
        kept,
        as_count(thinning, "thinning"),
        law.first_step if step is None else as_positive(step, "step"),
        None if acceptance is None else as_probability(acceptance, "acceptance"),
    )
    ran = law.run_chains(first, plan, _core.Stream.from_os() if stream is None else stream)
    rows = ran.draws().reshape(count * kept, space.dim + 1)
    reached = np.empty((count * kept, space.point_size))
    coords = np.ascontiguousarray(rows[:, :-1])
    space._core.exp_coords(coords, middle.reshape(1, -1), reached)
    diagnoses = np.array(ran.diagnose())
    return NoiseChains(
        reached.reshape(count, kept, *space.point_shape),
        rows[:, -1].reshape(count, kept).copy(),
        np.array(ran.acceptance),
        np.array(ran.scale),
        diagnoses[:, 0],
        diagnoses[:, 1],
    )
