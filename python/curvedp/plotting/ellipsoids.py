"""Diffusion tensors as ellipsoids, the private mean beside the exact one.

A tensor with eigenvalues l_i and eigenvectors e_i is drawn as the ellipsoid with semi-axes
l_i e_i, coloured by direction as diffusion imaging does (Pajevic and Pierpaoli 1999): red, green
and blue are the components of the principal eigenvector, and the colour fades to grey as the
fractional anisotropy falls to 0.

Figures are built with `matplotlib.figure.Figure`, never pyplot: no window, no global state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._displays import Shown
from curvedp.manifolds import as_manifold
from curvedp.plotting.figures import budget_text, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from curvedp.privacy import Release

__all__ = [
    "DiffusionTensorDisplay",
    "direction_colour",
    "ellipsoid_surface",
    "fractional_anisotropy",
    "tensor_ellipsoids",
]

_GREY = 0.72
_RESOLUTION = 60
_ELEVATION, _AZIMUTH = 22.0, 35.0


def _as_tensors(tensors: ArrayLike) -> NDArray[np.float64]:
    stack = np.asarray(tensors, dtype=np.float64)
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1:] != (3, 3) or len(stack) == 0:
        raise ValueError(f"tensors must have shape (k, 3, 3) with k >= 1, not {stack.shape}")
    return stack


def fractional_anisotropy(tensors: ArrayLike) -> NDArray[np.float64]:
    """Fractional anisotropy of diffusion tensors (Basser and Pierpaoli 1996).

    Parameters
    ----------
    tensors : array_like of shape (..., 3, 3)
        Symmetric positive definite matrices, any unit.

    Returns
    -------
    ndarray of shape (...)
        sqrt(3/2) |l - mean(l)| / |l| of the eigenvalues l: 0 when isotropic, 1 for a line.

    Examples
    --------
    >>> float(fractional_anisotropy(np.diag([3.0, 1.0, 1.0])).round(4))
    0.603
    """
    eigenvalues = np.linalg.eigvalsh(np.asarray(tensors, dtype=np.float64))
    eigenvalues = eigenvalues / np.abs(eigenvalues).max(axis=-1, keepdims=True)
    deviation = eigenvalues - eigenvalues.mean(axis=-1, keepdims=True)
    ratio = np.linalg.norm(deviation, axis=-1) / np.linalg.norm(eigenvalues, axis=-1)
    return np.asarray(np.sqrt(1.5) * ratio, dtype=np.float64)


def direction_colour(tensor: ArrayLike) -> tuple[float, float, float]:
    """Colour of one tensor: direction of the principal eigenvector, grey when isotropic.

    Parameters
    ----------
    tensor : array_like of shape (3, 3)
        Symmetric positive definite matrix.

    Returns
    -------
    tuple of three floats in [0, 1]
        f |e| / max |e| + (1 - f) grey, with e the principal eigenvector and f the square root of
        the fractional anisotropy (the root keeps the hue visible at the anisotropy of a mean).

    Examples
    --------
    >>> tuple(round(float(c), 3) for c in direction_colour(np.diag([3.0, 1.0, 1.0])))
    (0.937, 0.161, 0.161)
    """
    principal = np.abs(np.linalg.eigh(np.asarray(tensor, dtype=np.float64))[1][:, -1])
    weight = np.sqrt(np.clip(fractional_anisotropy(tensor), 0.0, 1.0))
    red, green, blue = weight * principal / principal.max() + (1.0 - weight) * _GREY
    return float(red), float(green), float(blue)


def ellipsoid_surface(tensor: ArrayLike) -> NDArray[np.float64]:
    """Grid of points D u on the ellipsoid of a tensor D, u over the unit sphere.

    Parameters
    ----------
    tensor : array_like of shape (3, 3)
        Symmetric positive definite matrix.

    Returns
    -------
    ndarray of shape (3, p, q)
        Coordinates over azimuth and polar angle; the semi-axes are the eigenvalues.

    Examples
    --------
    >>> ellipsoid_surface(np.eye(3)).shape
    (3, 121, 60)
    """
    azimuth = np.linspace(0.0, 2.0 * np.pi, 2 * _RESOLUTION + 1)
    polar = np.linspace(1e-3, np.pi - 1e-3, _RESOLUTION)
    unit = np.stack(
        [
            np.outer(np.cos(azimuth), np.sin(polar)),
            np.outer(np.sin(azimuth), np.sin(polar)),
            np.outer(np.ones_like(azimuth), np.cos(polar)),
        ]
    )
    matrix = np.asarray(tensor, dtype=np.float64)
    return np.asarray(np.einsum("ij,jkl->ikl", matrix, unit), dtype=np.float64)


def _towards_viewer() -> NDArray[np.float64]:
    elevation, azimuth = np.radians(_ELEVATION), np.radians(_AZIMUTH)
    return np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )


def _circle(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit circle spanned by two orthonormal vectors, shape (3, 4R)."""
    angle = np.linspace(0.0, 2.0 * np.pi, 4 * _RESOLUTION)
    return np.outer(first, np.cos(angle)) + np.outer(second, np.sin(angle))


def _outline(tensor: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Curves that show an ellipsoid without hiding what is behind it, each (3, 4R).

    The silhouette, where the normal D^-1 u at D u is orthogonal to the line of sight, and the near
    half (NaN on the far half) of the ellipses in the three planes of symmetry.
    """
    viewer = _towards_viewer()
    around = np.linalg.svd(np.linalg.solve(tensor, viewer)[None])[2]
    curves = [tensor @ _circle(around[1], around[2])]
    principal = np.linalg.eigh(tensor)[1]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        unit = _circle(principal[:, i], principal[:, j])
        near = viewer @ np.linalg.solve(tensor, unit) >= 0.0
        curves.append(np.where(near, tensor @ unit, np.nan))
    return curves


def draw_ellipsoid(
    ax: Any,
    tensor: NDArray[np.float64],
    reference: NDArray[np.float64] | None,
    extent: float,
    title: str,
) -> None:
    """One ellipsoid on 3-D axes, with the outline of another."""
    ax.computed_zorder = False
    ax.plot_surface(
        *ellipsoid_surface(tensor),
        color=direction_colour(tensor),
        rstride=2,  # polygons of one size: Matplotlib fills up shorter ones with unset memory
        cstride=1,
        linewidth=0.0,
        antialiased=False,
        lightsource=_light(),
        zorder=1,
    )
    if reference is not None:
        for curve in _outline(reference):
            ax.plot(*curve, color="black", linewidth=1.0, zorder=2)
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent), zlim=(-extent, extent))
    ax.set_box_aspect((1.0, 1.0, 1.0), zoom=0.95)
    ax.set_proj_type("ortho")
    ax.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y"), (ax.zaxis, "z")):
        axis.set_major_locator(_symmetric_ticks(extent))
        axis.set_tick_params(labelsize=8, pad=-2)
        axis.set_label_text(name, fontsize=9)
        axis.labelpad = -6
    ax.set_title(title, fontsize=12, y=1.0)


def _light() -> Any:
    from matplotlib.colors import LightSource

    return LightSource(azdeg=90.0, altdeg=50.0)


def _symmetric_ticks(extent: float) -> Any:
    from matplotlib.ticker import FixedLocator

    step = 10.0 ** np.floor(np.log10(extent))
    step *= max(factor for factor in (1.0, 2.0, 5.0) if factor * step <= extent)
    return FixedLocator([-step, 0.0, step])


def tensor_ellipsoids(
    tensors: ArrayLike,
    *,
    titles: Sequence[str] | None = None,
    reference: ArrayLike | None = None,
    units: str = "1e-3 mm²/s",
    figure: Figure | None = None,
) -> NDArray[np.object_]:
    """Draw diffusion tensors side by side as ellipsoids on one common scale.

    Parameters
    ----------
    tensors : array_like of shape (k, 3, 3) or (3, 3)
        Symmetric positive definite matrices.
    titles : sequence of k str, optional
        One title per ellipsoid.
    reference : array_like of shape (3, 3), optional
        A tensor whose silhouette and principal ellipses are drawn in black over every ellipsoid.
    units : str
        Unit of the axes.
    figure : matplotlib.figure.Figure, optional
        Figure to draw in; a new one by default.

    Returns
    -------
    ndarray of k matplotlib axes
        Their figure is ``axes[0].figure``.

    Raises
    ------
    ValueError
        Wrong shape, or not as many titles as tensors.
    MissingExtraError
        matplotlib is not installed; the message names the install command.

    Examples
    --------
    >>> len(tensor_ellipsoids(np.eye(3)[None], titles=["isotropic"]))
    1
    """
    stack = _as_tensors(tensors)
    labels = [""] * len(stack) if titles is None else list(titles)
    if len(labels) != len(stack):
        raise ValueError(f"{len(labels)} titles for {len(stack)} tensors")
    outline = None if reference is None else _as_tensors(reference)[0]
    if figure is None:
        figure = new_figure(3.1 * len(stack), 4.1)
    shown = stack if outline is None else np.concatenate([stack, outline[None]])
    extent = 1.05 * float(np.linalg.eigvalsh(shown).max())
    axes = np.empty(len(stack), dtype=object)
    for k, (tensor, label) in enumerate(zip(stack, labels, strict=True)):
        axes[k] = figure.add_subplot(1, len(stack), k + 1, projection="3d")
        draw_ellipsoid(axes[k], tensor, outline, extent, label)
    figure.supxlabel(f"semi-axes are the eigenvalues, in {units}", fontsize=10)
    return axes


class DiffusionTensorDisplay(Shown):
    """Private mean diffusion tensors beside the exact one.

    Build it with `from_releases`; `plot` draws.

    Attributes
    ----------
    tensors : ndarray of shape (k, 3, 3)
        The tensors drawn, the non-private mean first when it was given.
    titles : list of k str
        Title of each panel: guarantee and, with a non-private mean, the distance to it.
    reference : ndarray of shape (3, 3) or None
        The non-private mean, outlined in black over the private ones.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.
    ax_ : ndarray of k matplotlib axes
        Set by `plot`.

    Examples
    --------
    >>> display = DiffusionTensorDisplay([np.eye(3)], ["isotropic"]).plot()
    >>> len(display.ax_)
    1
    """

    ax_: NDArray[np.object_]

    def __init__(
        self,
        tensors: ArrayLike,
        titles: Sequence[str],
        *,
        reference: ArrayLike | None = None,
    ) -> None:
        self.tensors = _as_tensors(tensors)
        self.titles = list(titles)
        self.reference = None if reference is None else _as_tensors(reference)[0]

    @classmethod
    def from_releases(
        cls,
        releases: Sequence[Release],
        *,
        nonprivate_mean: ArrayLike | None = None,
        figure: Figure | None = None,
    ) -> DiffusionTensorDisplay:
        """Draw the values of releases on SPD(3), one panel each.

        Parameters
        ----------
        releases : sequence of Release
            Releases on the same manifold of 3 x 3 symmetric positive definite matrices.
        nonprivate_mean : array_like of shape (3, 3), optional
            The exact mean. With it the picture is **not private**: it shows that mean and its
            distance to each release. Give it only for data that need no protection.
        figure : matplotlib.figure.Figure, optional
            Figure to draw in; a new one by default.

        Returns
        -------
        DiffusionTensorDisplay
            Already drawn; save it with ``display.figure_.savefig(...)``.

        Raises
        ------
        ValueError
            No release, or releases that are not on one manifold of 3 x 3 matrices.
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        specs = {release.manifold for release in releases}
        if len(specs) != 1 or not specs <= {"spd:3", "spd:3:log-euclidean", "spd:3:log-cholesky"}:
            raise ValueError(f"releases must be on one metric of spd:3, not {sorted(specs)}")
        values = [np.asarray(release.value, dtype=np.float64) for release in releases]
        titles = [f"private, {budget_text(release.guarantee)}" for release in releases]
        if nonprivate_mean is None:
            return cls(values, titles).plot(figure=figure)
        exact = _as_tensors(nonprivate_mean)[0]
        distances = as_manifold(specs.pop()).dist(np.stack(values), exact)
        titles = [
            f"{title}\ndistance {distance:.2g}"
            for title, distance in zip(titles, distances, strict=True)
        ]
        display = cls(
            [exact, *values], ["non-private mean\n(black outline)", *titles], reference=exact
        )
        return display.plot(figure=figure)

    def plot(self, *, figure: Figure | None = None) -> DiffusionTensorDisplay:
        """Draw all panels in `figure` or a new one; sets ``figure_`` and ``ax_``."""
        self.ax_ = tensor_ellipsoids(
            self.tensors, titles=self.titles, reference=self.reference, figure=figure
        )
        self.figure_ = self.ax_[0].figure
        return self
