"""Public meshes and the numerical tools of conformal mechanisms on them.

Nodes are public: they never depend on records. Everything here is either computed from public
values alone or is post-processing of what has been released.
"""

from curvedp.conformal.graph import Graph, Laplacian, knn_graph, laplacian, shortest_paths
from curvedp.conformal.mesh import Mesh, ball_mesh, fibonacci_mesh, icosphere_mesh
from curvedp.conformal.solve import HelmholtzSolution, heat_smooth, helmholtz_poisson

__all__ = [
    "Graph",
    "HelmholtzSolution",
    "Laplacian",
    "Mesh",
    "ball_mesh",
    "fibonacci_mesh",
    "heat_smooth",
    "helmholtz_poisson",
    "icosphere_mesh",
    "knn_graph",
    "laplacian",
    "shortest_paths",
]
