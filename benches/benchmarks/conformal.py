"""Public meshes, graphs, Laplacians, solvers, chains, and the conformal release."""

from __future__ import annotations

import functools

import numpy as np

import curvedp as cdp
from curvedp import conformal
from curvedp.datasets import von_mises_fisher
from curvedp.mechanisms import MetropolisChains

from . import workloads

_POLE = np.array([0.0, 0.0, 1.0])
_BALL = cdp.Ball("sphere:2", _POLE, 0.7)


def _uneven_mesh(dim: int, n: int) -> conformal.Mesh:
    return conformal.Mesh(cdp.Sphere(dim), workloads.uneven(dim, n), np.ones(n))


@functools.cache
def _laplacian(dim: int, n: int, scaled: bool) -> conformal.Laplacian:
    mesh = conformal.fibonacci_mesh(n) if dim == 2 else _uneven_mesh(dim, n)
    return conformal.laplacian(conformal.knn_graph(mesh, 10), scaled=scaled)


class Neighbours:
    """Ten nearest neighbours, exactly: of all nodes, and of queries off the mesh."""

    params = (["sphere:2", "sphere:9", "spd:3", "hyperboloid:3", "kendall:10"],)
    param_names = ("manifold",)

    def setup(self, spec: str) -> None:
        """Half of the nodes of a sphere about one point."""
        n = workloads.size(10_000)
        kind, dim = spec.split(":")
        if kind == "sphere":
            self.mesh = _uneven_mesh(int(dim), n)
        else:
            points = workloads.in_ball(workloads.ball(spec, 0.7), n)
            self.mesh = conformal.Mesh(spec, points, np.ones(n))
        self.queries = self.mesh.points[::-1].copy()

    def time_neighbours(self, spec: str) -> None:
        """Seconds for 10,000 nodes."""
        self.mesh.neighbours(10)

    def time_queries(self, spec: str) -> None:
        """Seconds for the nearest node to 10,000 points."""
        self.mesh.nearest(self.queries)

    def peakmem_neighbours(self, spec: str) -> None:
        """Resident memory, nodes and interpreter included."""
        self.mesh.neighbours(10)


class Laplacian:
    """Graph, Laplacian, shortest paths and heat on a Fibonacci mesh of S^2."""

    params = ([1000, 30_000],)
    param_names = ("nodes",)

    def setup(self, nodes: int) -> None:
        """The mesh and its graph."""
        self.operator = _laplacian(2, workloads.size(nodes), True)
        self.graph = self.operator.graph
        self.mesh = self.graph.mesh
        self.start = self.mesh.manifold.dist(self.mesh.points, _POLE)
        self.factor = 1 + self.start

    def time_graph(self, nodes: int) -> None:
        """Seconds for the symmetric graph."""
        conformal.knn_graph(self.mesh, 10)

    def time_laplacian(self, nodes: int) -> None:
        """Seconds for weights, masses and scaling."""
        conformal.laplacian(self.graph)

    def time_shortest_paths(self, nodes: int) -> None:
        """Seconds for distances from one point to all nodes in a conformal metric."""
        conformal.shortest_paths(self.graph, self.start, conformal_factor=self.factor)

    def time_heat(self, nodes: int) -> None:
        """Seconds of smoothing for the time 0.01."""
        conformal.heat_smooth(self.operator, self.start, 0.01)


class HelmholtzPoisson:
    """(L + upsilon) sigma = h to relative residual 1e-10."""

    params = (
        ["S^2, -Delta_g", "S^2, unscaled", "S^3, unscaled"],
        ["jacobi", "multigrid"],
        [1000, 10_000],
    )
    param_names = ("system", "method", "nodes")

    def setup(self, system: str, method: str, nodes: int) -> None:
        """A right-hand side with noise."""
        scaled = system.endswith("Delta_g")
        self.operator = _laplacian(int(system[2]), workloads.size(nodes), scaled)
        points = self.operator.graph.mesh.points
        f = np.exp(8 * (points[:, 0] - 1)) + np.random.default_rng(5).laplace(0, 0.01, len(points))
        self.h, self.upsilon = f.mean() - f, 1.0 if scaled else 0.01

    def _solve(self, method: str) -> conformal.HelmholtzSolution:
        return conformal.helmholtz_poisson(
            self.operator, self.h, upsilon=self.upsilon, method=method
        )

    def time_solve(self, system: str, method: str, nodes: int) -> None:
        """Seconds, setting up included."""
        self.operator._solver.cache_clear()
        self._solve(method)

    def peakmem_solve(self, system: str, method: str, nodes: int) -> None:
        """Resident memory, interpreter included."""
        self._solve(method)

    def track_iterations(self, system: str, method: str, nodes: int) -> int:
        """Iterations of conjugate gradients."""
        return int(self._solve(method).n_iter)

    def track_error(self, system: str, method: str, nodes: int) -> float:
        """Certified bound of the error at every node."""
        return float(self._solve(method).max_error)


class SphericalHarmonics:
    """Accuracy of the whole chain of approximations on S^2: mesh, graph, Laplacian, solver."""

    params = ([1000, 10_000],)
    param_names = ("nodes",)
    unit = "relative error"

    def track_error(self, nodes: int) -> float:
        """Of the solution for h = z, which is z/3 at upsilon = 1."""
        operator = _laplacian(2, workloads.size(nodes), True)
        z = operator.graph.mesh.points[:, 2]
        found = conformal.helmholtz_poisson(operator, z, upsilon=1.0).value
        return float(np.abs(3 * found - z).max())


class Release:
    """The conformal mean and its stages, n = 500, 5000 nodes."""

    def setup(self) -> None:
        """Records about the pole."""
        nodes = workloads.size(5000)
        self.records = von_mises_fisher(workloads.size(500), _POLE, 100.0, rng=1)
        self.operator = conformal.default_laplacian(_BALL, nodes)
        self.density = self._density()
        self.sigma = conformal.factor(self.density, 1.0).sigma

    def time_density(self) -> None:
        """Seconds for the private density."""
        self._density()

    def _density(self) -> conformal.DensityRelease:
        return conformal.density(self.records, _BALL, cdp.PureDP(0.5), mesh=self.operator)

    def time_factor(self) -> None:
        """Seconds for the conformal factor."""
        conformal.factor(self.density, 1.0)

    def time_mean(self) -> None:
        """Seconds for the whole release on a mesh that exists."""
        conformal.conformal_mean(self.records, _BALL, cdp.PureDP(0.3), mesh=self.operator)

    def time_published(self) -> None:
        """Seconds for the published mechanism with 10,000 chain steps."""
        cdp.published.conformal_mean(
            self.records,
            _BALL,
            cdp.PureDP(0.3),
            distance="graph",
            chain_length=workloads.size(10_000),
        )


class Chains:
    """Metropolis-Hastings chains in a conformal metric, four at once, 3000 steps each."""

    params = (["graph", "line"],)
    param_names = ("distance",)

    def setup(self, distance: str) -> None:
        """A metric that is larger at the pole."""
        self.graph = _laplacian(2, workloads.size(5000), True).graph
        self.sigma = 0.5 * self.graph.mesh.points[:, 2]
        self.draws = workloads.size(1000)

    def _run(self, distance: str) -> MetropolisChains:
        return cdp.published.metropolis(
            self.graph,
            self.sigma,
            _POLE,
            rate=10.0,
            draws=self.draws,
            burn_in=2 * self.draws,
            distance=distance,
        )

    def time_chains(self, distance: str) -> None:
        """Seconds for all chains."""
        self._run(distance)

    def track_acceptance(self, distance: str) -> float:
        """Share of the proposals accepted, least over the chains."""
        return float(self._run(distance).acceptance.min())

    def track_effective_sample_size(self, distance: str) -> float:
        """Least over the coordinates, of all draws."""
        return float(self._run(distance).effective_sample_size.min())

    def track_r_hat(self, distance: str) -> float:
        """Largest over the coordinates."""
        return float(self._run(distance).r_hat.max())
