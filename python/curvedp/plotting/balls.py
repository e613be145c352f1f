"""Pictures of balls: the rim, or points on it, in the manner of the space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._displays import Shown
from curvedp.domain import Ball
from curvedp.manifolds import SPD, Manifold, Rotations
from curvedp.plotting.figures import new_figure
from curvedp.plotting.points import VIEWS, ReleasedPoint, draw_entries, view_of
from curvedp.product_ball import ProductBall
from curvedp.unit import told_in

#: Labels that say nothing here.
_OF_RELEASES = {"expected error"}
#: Views that show where a ball ends.
_WITH_RIM = {"circle", "globe", "square", "disc", "line", "plane", "space"}


class BallDisplay(Shown):
    """A ball: its rim where a picture of the space shows it, else points of its rim.

    `Ball.plot` makes it. On surfaces and lines it draws the rim; elsewhere the points at the radius
    from the centre in a few directions, each beside the centre: for diffusion tensors the largest,
    smallest, longest and flattest ones that the ball holds.

    Parameters
    ----------
    ball : Ball
        Not a product: each of its factors has a picture.

    Attributes
    ----------
    view : str
        As in `ReleaseDisplay`.
    axes_ : list of matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> display = cdp.Ball.from_units("dti", "mm^2/s").plot()
    >>> display.view, len(display.axes_)
    ('ellipsoid', 4)
    """

    axes_: list[Any]

    def __init__(self, ball: Ball) -> None:
        if isinstance(ball, ProductBall):
            raise TypeError("a product of balls has no picture: plot each of its factors")
        self.ball = ball
        self.view = view_of(ball.manifold)

    @classmethod
    def from_ball(cls, ball: Ball) -> BallDisplay:
        """Draw a ball; parameters as in the class."""
        return cls(ball).plot()

    def plot(self) -> BallDisplay:
        """Draw the ball in a new figure.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        ball, view = self.ball, VIEWS[self.view]
        shown = [("", ball.center)] if self.view in _WITH_RIM else list(rim_points(ball))
        height = 1.6 if self.view == "line" else 3.2
        self.figure_ = new_figure(max(4.6, 2.6 * len(shown)), height)
        self.axes_ = []
        options = {"projection": "3d"} if view.spatial else {}
        for k, (title, point) in enumerate(shown):
            ax = self.figure_.add_subplot(1, len(shown), k + 1, **options)
            if self.view == "coordinates":
                draw_entries(ax, np.ravel(point).view(np.float64))
            else:
                view.draw(ax, self._as_point(point))
            ax.set_title(title, fontsize=9)
            self.axes_.append(ax)
        title = f"Ball on {ball.manifold.spec}, radius {told_in(ball.unit)(ball.radius, 4)}"
        self.figure_.suptitle(title, fontsize=10)
        named = zip(*self.axes_[-1].get_legend_handles_labels(), strict=True)
        handles = [handle for handle, label in named if label not in _OF_RELEASES]
        if handles and self.view != "coordinates":
            self.axes_[-1].legend(
                handles=handles,
                loc="upper left",
                bbox_to_anchor=(1.02, 1.0),
                fontsize=8,
                frameon=False,
            )
        return self

    def _as_point(self, value: NDArray[Any]) -> ReleasedPoint:
        ball = self.ball
        label = "ball's centre" if value is ball.center else "at the rim"
        return ReleasedPoint(
            *(ball.manifold, ball.center, ball.radius, value, 0.0, ball.radius),
            label=label,
            unit=ball.unit,
        )


def rim_points(ball: Ball) -> Iterator[tuple[str, NDArray[Any]]]:
    """Names and points exp_c(r u), for a few unit vectors u at the centre."""
    space, center = ball.manifold, ball.center
    for name, tangent in _directions(space, center):
        coords = space.tangent_to_coords(tangent, center)
        coords *= ball.radius / np.linalg.norm(coords)
        yield name, space.exp(space.coords_to_tangent(coords, center), center)


def _directions(space: Manifold, center: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    if isinstance(space, SPD):
        values, vectors = np.linalg.eigh(center)
        root = vectors * np.sqrt(values)
        long = np.diag([space.m - 1.0] + [-1.0] * (space.m - 1))
        whole = np.eye(space.m)
        yield "largest", root @ whole @ root.T
        yield "smallest", -root @ whole @ root.T
        if space.m > 1:
            yield "longest", root @ long @ root.T
            yield "flattest", -root @ long @ root.T
        return
    if isinstance(space, Rotations):
        for name, coords in zip("xyz", np.eye(3), strict=True):
            yield f"turned about {name}", space.coords_to_tangent(coords, center)
        return
    for k, coords in enumerate(np.eye(space.dim)[:2]):
        for sign, name in ((1.0, "+"), (-1.0, "−")):
            yield f"{name} axis {k + 1}", space.coords_to_tangent(sign * coords, center)
