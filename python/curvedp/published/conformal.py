"""The conformal mean as published (He et al.): for comparison, without a guarantee.

The graph stands on the private records, the density is evaluated there, and a Metropolis chain that
starts at the exact mean draws from exp(-lambda rho*(eta, x)), without the volume factor phi^{d/2}
of the law that it is said to draw from. What is missing for a guarantee is listed in
docs/proofs/conformal-mean.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, nonprivate
from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_count, as_positive, as_probability
from curvedp.conformal.factor import factor
from curvedp.conformal.graph import Laplacian, knn_graph, laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.privacy import Guarantee, PureDP, Release
from curvedp.published import sensitivity
from curvedp.published.call import Call, Options
from curvedp.published.chains import DISTANCES, metropolis
from curvedp.published.density import DensityNoise, volume_growth

WHY = (
    "the graph of the conformal factor stands on the private records, so that no finite epsilon "
    "covers the factor, and the Markov chain is not certified to have converged"
)

#: Neighbours of a record in the graph.
_NEIGHBOURS = 10

#: Points of the midpoint rule along a line.
_LINE_STEPS = 4

#: Share of accepted proposals that the paper reports.
_ACCEPTANCE = 0.72


@quiet
def conformal_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    split: float = 0.5,
    noise: str = "measure",
    bandwidth: float | None = None,
    upsilon: float = 1.0,
    distance: str = "line",
    chain_length: int = 10_000,
    **options: Unpack[Options],
) -> Release:
    """Draw the Fréchet mean in the metric of the records' own density: `Unproved`.

    The paper leaves two things open, which are arguments here: the noise of the density at a record
    and the way along which distances are measured. It gives no bandwidth and no upsilon.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
    ball : Ball
    guarantee : PureDP
        The guarantee that the paper claims for both parts together.
    split : float
        Share of epsilon of the density, strictly between 0 and 1.
    noise : {"measure", "pointwise"}
        Laplace noise on the density at each record: of scale 2 B_K(h)/(epsilon_phi V), equation 12
        with V/n of the ball's volume V for each record, or of scale 2 B_K(h)/(n epsilon_phi), as
        section III-A5 has it. B_K(h) is the mass of the kernel.
    bandwidth : float, optional
        Reach h of the kernel of the density, at most half the injectivity radius; its square is
        that of the graph. By default half the ball's radius, but no less than e^{-1/d} in dimension
        d, at which the kernel's peak is 1.
    upsilon : float
        See `curvedp.conformal.factor`.
    distance : {"line", "graph"}
        Distances in the metric phi g: along the geodesic of g from the mean, or along the graph of
        the records, where no path to a point is shorter than that over the record nearest to it:
        the error then ends near the distance of the mean from the nearest record.
    chain_length : int
        Steps of the Markov chain. In the first half the proposals adapt to the paper's acceptance
        of 72 %.
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
    ExistenceError
        If the law has no normalising constant, whatever phi is: where volumes grow exponentially
        and epsilon is small for n.
    ValueError
        If the published sensitivity is infinite, the density leaves double precision, or log √phi
        could leave [-300, 300] by public numbers: bandwidth, upsilon, epsilon and the ball.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (50, 1))
    >>> release = cdp.published.conformal_mean(records, ball, cdp.PureDP(2.0), chain_length=100)
    >>> release.value.shape, release.parts[0].value.shape
    ((3,), (50,))
    """
    call = Call.check(records, ball, guarantee, why=WHY, **options)
    plan = ConformalPlan.make(
        call,
        split=split,
        noise=noise,
        bandwidth=bandwidth,
        upsilon=upsilon,
        distance=distance,
        chain_length=chain_length,
    )
    call.pay("published conformal mean")
    return plan.release(RecordsGraph.of(call.data, ball, plan.noise.bandwidth))


@dataclass(frozen=True)
class RecordsGraph:
    """The graph on the records with their density and mean, all without noise.

    Attributes
    ----------
    operator : Laplacian
        Unnormalised, on ten nearest neighbours.
    density : ndarray, shape (n,)
    mean : ndarray, shape point_shape
    """

    operator: Laplacian
    density: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, records: FloatArray, ball: Ball, bandwidth: float) -> RecordsGraph:
        """The graph of records projected on the ball."""
        tell_stage("density")
        n, points, space = len(records), ball.project(records), ball.manifold
        mesh = Mesh(space, points, np.ones(n))
        graph = knn_graph(mesh, min(_NEIGHBOURS, max(1, n - 1)))
        operator = laplacian(graph, bandwidth=bandwidth**2, scaled=False)
        density = _core.bump_density(space.kernels, points.reshape(n, -1), bandwidth)
        tell_stage("mean")
        return cls(operator, density, nonprivate.frechet_mean(points, space).value)


@dataclass(frozen=True)
class ConformalPlan:
    """Everything about a published conformal mean that is fixed before a record is seen.

    Attributes
    ----------
    call : Call
    shares : tuple of two PureDP
        Of the density and of the chain.
    noise : DensityNoise
    sensitivity : float
        Of the mean.
    upsilon, distance, steps
        As in `conformal_mean`.
    """

    call: Call
    shares: tuple[PureDP, ...]
    noise: DensityNoise
    sensitivity: float
    upsilon: float
    distance: str
    steps: int

    @classmethod
    def make(
        cls,
        call: Call,
        *,
        split: float = 0.5,
        noise: str = "measure",
        bandwidth: float | None = None,
        upsilon: float = 1.0,
        distance: str = "line",
        chain_length: int = 10_000,
    ) -> ConformalPlan:
        """The plan of a call; raises as `conformal_mean` does."""
        claimed = call.guarantee
        if not isinstance(claimed, PureDP):
            raise TypeError("the published mechanism claims pure DP: ask for PureDP(epsilon)")
        part, shift = as_probability(split, "split"), as_positive(upsilon, "upsilon")
        way = as_choice(distance, DISTANCES, "distance")
        steps = as_count(chain_length, "chain_length")
        shares = claimed.split([part, 1 - part])
        ball, n, changed = call.ball, call.n, call.records_per_unit
        delta = sensitivity.frechet_mean(ball, n, records_per_unit=changed)
        # √phi is at most 1 in units of its largest value: no law is narrower than that of phi = 1
        least = 2 * delta * volume_growth(ball.manifold)
        if shares[1].epsilon <= least:
            raise ExistenceError(
                f"the published law has no normalising constant on {ball.manifold.spec}, whose "
                "volumes grow faster than it decays.",
                smallest_epsilon=1.0001 * least / (1 - part),
                smallest_n=math.floor(n * least / shares[1].epsilon) + 1,
            )
        density = DensityNoise.make(
            ball,
            n,
            shares[0].epsilon,
            noise=noise,
            bandwidth=bandwidth,
            records_per_unit=changed,
        )
        density.check(shift)
        return cls(call, shares, density, delta, shift, way, steps)

    def release(self, graph: RecordsGraph) -> Release:
        """The density, the factor and the chain of the records that the graph stands on."""
        call, operator, eta = self.call, graph.operator, graph.mean
        density = self.noise.add(graph.density, call.stream(0))
        tell_stage("conformal factor")
        # diagonally dominant for the upsilon of the paper, and solved once: no hierarchy
        sigma = factor(density, self.upsilon, laplacian=operator, method="jacobi").sigma
        tell_stage("noise")
        stretch = math.exp(float(sigma.max()))
        rate = self.shares[1].epsilon / (2 * stretch * self.sensitivity)
        chains = metropolis(
            operator.graph,
            sigma,
            eta,
            rate,
            starts=eta[None],
            draws=1,
            burn_in=self.steps // 2,
            thinning=self.steps - self.steps // 2,
            step=min(call.ball.radius, 1 / (rate * math.exp(float(np.median(sigma))))),
            acceptance=_ACCEPTANCE,
            volume_factor=False,
            distance=self.distance,
            line_steps=_LINE_STEPS,
            stream=call.stream(1),
        )
        fields: dict[str, Any] = {"solver_tolerance": 0.0, "expected_error": None}
        stage_one = call.release(
            self.shares[0],
            value=density,
            mechanism="functional Laplace at the records",
            statistic="density of the records",
            sensitivity=self.noise.sensitivity,
            scale=self.noise.scale,
            **fields,
        )
        return call.release(
            call.guarantee,
            value=chains.points[0, -1],
            mechanism="Metropolis chain in the conformal metric",
            statistic="conformal Fréchet mean",
            sensitivity=stretch * self.sensitivity,
            scale=1 / rate,
            parts=(stage_one,),
            **fields,
        )
