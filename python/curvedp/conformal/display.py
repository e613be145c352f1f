"""Values at the nodes of a mesh on S^2: a released density, its conformal factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._displays import Shown
from curvedp._validation import FloatArray, as_points
from curvedp.conformal.density_release import DensityRelease
from curvedp.conformal.factor import ConformalFactor
from curvedp.conformal.graph import as_node_values
from curvedp.conformal.mesh import Mesh
from curvedp.manifolds import Sphere
from curvedp.plotting import releases
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.orthographic import Orthographic


class MeshFieldDisplay(Shown):
    """A picture of values at the nodes of a mesh on S^2, as colours of its nodes.

    Build it with `from_density` or `from_factor`, which draw at once, or draw with `plot`.

    Parameters
    ----------
    mesh : Mesh
        On the unit sphere S^2.
    values : array-like, shape (n,)
    title : str
    above : array-like, shape (3,), optional
        Unit vector from which the sphere is seen; by default the node of the greatest value.

    Attributes
    ----------
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> from curvedp.conformal import density, factor, fibonacci_mesh
    >>> from curvedp.conformal.display import MeshFieldDisplay
    >>> from curvedp.datasets import von_mises_fisher
    >>> records = von_mises_fisher(5000, [0, 0, 1], 20.0, rng=0)
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.5)
    >>> release = density(records, ball, cdp.PureDP(1.0), mesh=fibonacci_mesh(300))
    >>> MeshFieldDisplay.from_density(release).title
    'density, ε = 1'
    >>> MeshFieldDisplay.from_factor(factor(release)).title
    'conformal factor, υ = 1'
    """

    ax_: Any

    def __init__(
        self, mesh: Mesh, values: ArrayLike, *, title: str = "", above: ArrayLike | None = None
    ) -> None:
        if mesh.manifold != Sphere(2):
            raise ValueError(f"only meshes on sphere:2 can be drawn, got {mesh.manifold.spec}")
        self.mesh, self.title = mesh, title
        self.values: FloatArray = as_node_values(values, mesh, "values", one=True)
        if above is None:
            self.above: FloatArray = mesh.points[int(np.argmax(self.values))]
        else:
            self.above = as_points(above, (3,), "above")

    @classmethod
    def from_density(
        cls, release: DensityRelease, *, above: ArrayLike | None = None, ax: Any = None
    ) -> MeshFieldDisplay:
        """Draw a released density; parameters as in the class and in `plot`."""
        title = f"density, {budget_text(release.guarantee)}"
        return cls(release.mesh, release.value, title=title, above=above).plot(ax)

    @classmethod
    def from_factor(
        cls, factor: ConformalFactor, *, above: ArrayLike | None = None, ax: Any = None
    ) -> MeshFieldDisplay:
        """Draw a conformal factor phi, by default seen from where it is smallest; parameters as in
        the class and in `plot`.
        """
        mesh = factor.laplacian.graph.mesh
        top = mesh.points[int(np.argmin(factor.phi))] if above is None else above
        title = f"conformal factor, υ = {factor.upsilon:g}"
        return cls(mesh, factor.phi, title=title, above=top).plot(ax)

    def plot(self, ax: Any = None) -> MeshFieldDisplay:
        """Draw the nodes on the near side, each as large as its cell.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        if ax is None:
            self.figure_ = new_figure(5.0, 4.4)
            ax = self.figure_.subplots()
        else:
            self.figure_ = ax.figure
        self.ax_ = ax
        view = Orthographic(self.above)
        near = self.mesh.points @ view.towards > 0
        flat = view.project(self.mesh.points[near])
        extent = view.extent(self.mesh.points)
        view.draw_globe(ax, extent)
        # points of a picture 320 points wide that shows 2 extents
        sizes = self.mesh.volumes[near] * (160 / extent) ** 2
        drawn = ax.scatter(*flat.T, c=self.values[near], s=np.minimum(sizes, 4000), zorder=2)
        self.figure_.colorbar(drawn, ax=ax, shrink=0.8)
        ax.set_title(self.title)
        return self


def display_of(release: DensityRelease, ax: Any = None) -> Shown:
    """The display of a released density, drawn: on S^2 its mesh, elsewhere its values.

    Parameters
    ----------
    release : DensityRelease
    ax : matplotlib axes, optional
        By default those of a new figure.
    """
    if release.mesh.manifold == Sphere(2):
        return MeshFieldDisplay.from_density(release, ax=ax)
    return releases.display_of(release, ax=ax)
