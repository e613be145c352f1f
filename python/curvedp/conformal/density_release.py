"""A released density, with the public mesh on which it stands."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from curvedp._validation import FloatArray
from curvedp.conformal.graph import Laplacian
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.nodes import as_laplacian
from curvedp.conformal.triangles import TriangleMesh
from curvedp.privacy import Release
from curvedp.privacy.release import frozen_array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DensityRelease(Release):
    """A released density: `value` holds its values at the nodes, per unit of volume, shape (n,).

    Sensitivity and scale count records. Values may be negative where noise outweighs records.

    Attributes
    ----------
    method : str
        "histogram" or "kde".
    bandwidth : float
        Reach of the kernel, 0 for a histogram.
    heat_time : float
        Time of the heat smoothing, 0 for none.
    nodes : ndarray, shape (n, *point_shape)
    volumes : ndarray, shape (n,)
        The public mesh.
    triangles : ndarray, shape (m, 3), or None
        The corners of its triangles, where it is a `TriangleMesh`.
    projected : bool
        True if records beyond the ball were projected on it; False if the mesh reaches out of the
        ball, and they counted where they are.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.conformal import ball_mesh, density
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> release = density(np.eye(3), ball, cdp.PureDP(1.0), mesh=ball_mesh(ball, 20))
    >>> release.value.shape, release.method, release.projected
    ((20,), 'histogram', True)
    """

    _display = "curvedp.conformal.display:display_of"

    method: str
    bandwidth: float
    heat_time: float
    nodes: FloatArray
    volumes: FloatArray
    projected: bool
    triangles: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("nodes", "volumes"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        if self.triangles is not None:
            object.__setattr__(self, "triangles", frozen_array(self.triangles))
        if not self.value.shape == self.volumes.shape == self.nodes.shape[:1]:
            raise ValueError("value, nodes and volumes must have the same length")

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The public mesh."""
        if self.triangles is not None:
            return TriangleMesh(self.nodes, self.triangles.astype(np.int64))
        return Mesh(self.manifold, self.nodes, self.volumes)

    @functools.cached_property
    def laplacian(self) -> Laplacian:
        """The operator that smoothed the density; made anew after a round trip through JSON."""
        return as_laplacian(self.mesh)

    def _domain(self) -> str:
        if self.projected:
            return super()._domain()
        return (
            f"all of {self.manifold}: the mesh reaches out of the ball of radius "
            f"{self.ball_radius:.6g} around a public centre"
        )

    def _notes(self) -> list[str]:
        kernel = f", spread by a kernel of reach {self.bandwidth:.6g}" if self.bandwidth else ""
        return [
            f"every record counted at the nearest of {len(self.volumes)} public nodes{kernel}",
            f"smoothed by the heat equation for a time of {self.heat_time:.6g}",
        ]
