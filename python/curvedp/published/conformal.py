"""The conformal mean as published (He et al.): for comparison, without a guarantee.

The graph stands on the private records, the density is evaluated there, and a Metropolis chain that
starts at the exact mean draws from exp(-lambda rho*(eta, x)), without the volume factor phi^{d/2}
of the law that it is said to draw from. What is missing for a guarantee is listed in
docs/proofs/conformal-mean.md, section 4. The noise of the density has scale 2/(epsilon V) at each
record, V the volume of the ball; section III-A5 of the paper can also be read as 2/(n epsilon).
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, nonprivate
from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count, as_positive, as_probability
from curvedp.conformal.factor import factor
from curvedp.conformal.graph import knn_graph, laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, PureDP, Release
from curvedp.published import sensitivity
from curvedp.published.call import Call, Options
from curvedp.published.chains import metropolis

_WHY = (
    "the graph of the conformal factor stands on the private records, so that no finite epsilon "
    "covers the factor, and the Markov chain is not certified to have converged"
)

#: Neighbours of a record in the graph.
_NEIGHBOURS = 10


@quiet
def conformal_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    bandwidth: float = 0.5,
    upsilon: float = 1.0,
    chain_length: int = 10_000,
    **options: Unpack[Options],
) -> Release:
    """Draw the Fréchet mean in the metric of the records' own density: `Unproved`.

    Where `bandwidth` is small for the dimension the factor's logarithm is cut to [-300, 300] (at
    0.5 from dimension 30 on), and the release says nothing about the paper's mechanism.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
    ball : Ball
    guarantee : PureDP
        The guarantee that the paper claims for both parts together.
    split : float
        Share of epsilon of the density, strictly between 0 and 1.
    bandwidth : float
        Reach of the kernel of the density; its square is that of the graph.
    upsilon : float
        See `curvedp.conformal.factor`.
    chain_length : int
        Steps of the Markov chain.
    **options
        As in `frechet_mean`.

    Returns
    -------
    Release
        `parts` holds the density at the records.

    Raises
    ------
    TypeError
        If `guarantee` is not pure.
    ValueError
        If the published sensitivity is infinite, or the density, of order 1/volume, leaves double
        precision.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (50, 1))
    >>> release = cdp.published.conformal_mean(records, ball, cdp.PureDP(2.0), chain_length=100)
    >>> release.value.shape, release.parts[0].value.shape
    ((3,), (50,))
    """
    call = Call.check(records, ball, guarantee, why=_WHY, **options)
    if not isinstance(guarantee, PureDP):
        raise TypeError("the published mechanism claims pure DP: ask for PureDP(epsilon)")
    part, reach = as_probability(split, "split"), as_positive(bandwidth, "bandwidth")
    shift, steps = as_positive(upsilon, "upsilon"), as_count(chain_length, "chain_length")
    first, second = guarantee.split([part, 1 - part])
    delta = sensitivity.frechet_mean(ball, call.n, records_per_unit=call.records_per_unit)
    volume = ball_volume(ball)
    smallest = min(volume, 10.0 ** min(300.0, ball.manifold.dim * math.log10(reach)))
    if smallest < 1e-200:
        raise ValueError(
            f"the published density leaves the range of double precision in dimension "
            f"{ball.manifold.dim}: the volume of the ball is {smallest:.1e}"
        )
    call.pay("published conformal mean")

    tell_stage("density")
    points = ball.project(call.data)
    operator = laplacian(
        knn_graph(Mesh(ball.manifold, points, np.ones(call.n)), _neighbours(call.n)),
        bandwidth=reach**2,
        scaled=False,
    )
    # the L1 norm of values at n records that stand for the volume V of the ball: V/n each
    density = _noisy_density(call, points, reach, 2 / first.epsilon / volume)
    tell_stage("conformal factor")
    # diagonally dominant for the upsilon of the paper, and solved once: no hierarchy
    sigma = factor(density, shift, laplacian=operator, method="jacobi").sigma
    tell_stage("mean")
    eta = nonprivate.frechet_mean(points, ball.manifold).value
    tell_stage("noise")
    stretch = math.exp(float(sigma.max()))
    rate = second.epsilon / (2 * stretch * delta)
    chains = metropolis(
        operator.graph,
        sigma,
        eta,
        rate,
        starts=eta[None],
        draws=1,
        burn_in=0,
        thinning=steps,
        step=min(ball.radius, 1 / (rate * math.exp(float(np.median(sigma))))),
        acceptance=None,
        volume_factor=False,
        stream=call.stream(1),
    )
    fields: dict[str, Any] = {"solver_tolerance": 0.0, "expected_error": None}
    stage_one = call.release(
        first,
        value=density,
        mechanism="functional Laplace at the records",
        statistic="density of the records",
        sensitivity=2 / call.n,
        scale=2 / (call.n * first.epsilon),
        **fields,
    )
    return call.release(
        guarantee,
        value=chains.points[0, -1],
        mechanism="Metropolis chain in the conformal metric",
        statistic="conformal Fréchet mean",
        sensitivity=stretch * delta,
        scale=1 / rate,
        parts=(stage_one,),
        **fields,
    )


def _neighbours(n: int) -> int:
    return min(_NEIGHBOURS, max(1, n - 1))


def _noisy_density(call: Call, points: FloatArray, reach: float, scale: float) -> FloatArray:
    """The density at the records with Laplace noise of that scale on each value."""
    density = _core.bump_density(call.ball.manifold.kernels, points.reshape(call.n, -1), reach)
    exponential = np.empty((2, call.n))
    stream = call.stream(0)
    for row in exponential:
        stream.exponential(row)
    return np.asarray(density + scale * (exponential[0] - exponential[1]))


def ball_volume(ball: Ball) -> float:
    """Volume of the ball, to first order in its curvature: that of a flat one."""
    dim = ball.manifold.dim
    log_unit = dim / 2 * math.log(math.pi) - math.lgamma(dim / 2 + 1)
    return math.exp(log_unit + dim * math.log(ball.radius))
