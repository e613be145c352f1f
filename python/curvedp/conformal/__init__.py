"""Conformal differential privacy: a private density, the metric it induces, a mean in that metric.

Nodes are public: they never depend on records. `density` and `conformal_mean` read records; all
else is computed from public values alone or is post-processing of what has been released.
"""

from curvedp.conformal.density import Density, density
from curvedp.conformal.density_plan import default_heat_time
from curvedp.conformal.density_release import DensityRelease
from curvedp.conformal.factor import ConformalFactor, factor, mean_in_metric, sigma_error
from curvedp.conformal.graph import Graph, Laplacian, knn_graph, laplacian, shortest_paths
from curvedp.conformal.mean import ConformalMean, conformal_mean, default_cells
from curvedp.conformal.mechanism import ConformalLaplace
from curvedp.conformal.mesh import Mesh, ball_mesh, fibonacci_mesh, icosphere_mesh
from curvedp.conformal.nodes import default_laplacian
from curvedp.conformal.solve import HelmholtzSolution, heat_smooth, helmholtz_poisson
from curvedp.conformal.triangles import TriangleMesh, cotangent_laplacian, edge_graph

__all__ = [
    "ConformalFactor",
    "ConformalLaplace",
    "ConformalMean",
    "Density",
    "DensityRelease",
    "Graph",
    "HelmholtzSolution",
    "Laplacian",
    "Mesh",
    "TriangleMesh",
    "ball_mesh",
    "conformal_mean",
    "cotangent_laplacian",
    "default_cells",
    "default_heat_time",
    "default_laplacian",
    "density",
    "edge_graph",
    "factor",
    "fibonacci_mesh",
    "heat_smooth",
    "helmholtz_poisson",
    "icosphere_mesh",
    "knn_graph",
    "laplacian",
    "mean_in_metric",
    "shortest_paths",
    "sigma_error",
]


def __dir__() -> list[str]:
    return sorted(__all__)
