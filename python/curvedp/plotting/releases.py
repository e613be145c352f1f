"""A release as a picture: what was released, its public ball, and the error to expect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from curvedp._displays import Shown
from curvedp.manifolds import SPD, KendallPlanar, Manifold, Sphere, as_manifold
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.geodesics import GeodesicDisplay
from curvedp.plotting.points import (
    BALL,
    VIEWS,
    ReleasedPoint,
    draw_entries,
    draw_image,
    draw_interval,
    view_of,
)
from curvedp.privacy import Release, Unproved
from curvedp.privacy.wording import limits_of_error, percent, power_of, told_error
from curvedp.regression import GeodesicRelease
from curvedp.statistics import (
    AdaptiveMean,
    GeometricMedian,
    LocatedMean,
    LocatedMeanRelease,
    Mean,
    MeanRelease,
)

#: Statistics whose value is a point of the manifold.
POINTS = {
    *(own.title for own in (Mean, LocatedMean, AdaptiveMean, GeometricMedian)),
    "conformal Fréchet mean",
}

#: Beyond it matplotlib overflows.
_LARGEST = 1e150


class ReleaseDisplay(Shown):
    """One release: a point in the manner of its space, a number, or an array.

    `Release.plot` makes it. Of points it draws the public ball, or its centre, or the ball that a
    mean without one has released, and the expected error, which is a mean and no bound: as a circle
    on surfaces, as circles about the turned axes of rotations, and about landmarks of planar
    shapes, each with its share. Larger matrices are images, points of other spaces the coordinates
    of their logarithm at the ball's centre beside the noise scale, and numbers stand in an interval
    of the expected error.

    Parameters
    ----------
    release : Release
        With numbers of a size below 1e150.

    Attributes
    ----------
    view : str
        "circle", "globe", "square", "frame", "ellipse", "ellipsoid", "matrix", "outline", "disc",
        "line", "plane", "space" or "coordinates" of a point, "interval" of a number, "image" or
        "entries" of other arrays.
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=1.0)
    >>> mean = cdp.frechet_mean(np.tile(np.eye(3), (500, 1, 1)), ball, cdp.GDP(mu=1.0))
    >>> ReleaseDisplay.from_release(mean).view
    'ellipsoid'
    >>> variance = cdp.frechet_variance(np.tile(np.eye(3), (500, 1, 1)), ball, cdp.GDP(mu=1.0))
    >>> variance.plot().view
    'interval'
    """

    ax_: Any

    def __init__(self, release: Release) -> None:
        if not np.all(np.abs(release.value) < _LARGEST):
            raise ValueError(
                f"the release holds numbers that are not finite or beyond {_LARGEST:g}, which no "
                "picture shows: see value"
            )
        self.release = release
        self.view = _view(release)

    @classmethod
    def from_release(cls, release: Release, *, ax: Any = None) -> ReleaseDisplay:
        """Draw a release; parameters as in the class and in `plot`."""
        return cls(release).plot(ax)

    def plot(self, ax: Any = None) -> ReleaseDisplay:
        """Draw the release.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default. The views "frame", "ellipsoid" and "space" need a 3-D axes.

        Raises
        ------
        ValueError
            If `ax` is a plane one where the view needs three dimensions, or the reverse.
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        spatial = self.view in VIEWS and VIEWS[self.view].spatial
        if ax is None:
            figure = new_figure(6.2, 2.4 if self.view in ("interval", "line") else 4.6)
            ax = figure.add_subplot(projection="3d") if spatial else figure.add_subplot()
        elif spatial != (ax.name == "3d"):
            raise ValueError(f"the view {self.view!r} needs a {'3-D' if spatial else 'plane'} axes")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        ax.set_title(self._title, fontsize=10, parse_math=False)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="upper left", bbox_to_anchor=(1.02, 0.95), fontsize=8, frameon=False)
        return self

    def _draw(self, ax: Any) -> None:
        release, error = self.release, self.release.expected_error or 0.0
        known = error if error < _LARGEST else 0.0
        match self.view:
            case "interval":
                self._draw_number(ax, known)
            case "image":
                draw_image(ax, release.value)
            case "entries":
                draw_entries(ax, release.value.ravel())
            case view:
                center, radius, is_located = release.ball_center, release.ball_radius, False
                if isinstance(release, LocatedMeanRelease):
                    ball, is_located = release.ball, True
                    radius = 0.0 if ball is None else ball.radius
                    center = center if view == "coordinates" else release.value
                point = ReleasedPoint(
                    as_manifold(release.manifold),
                    center,
                    radius,
                    release.value,
                    known,
                    release.scale,
                    unit=release.ball_unit,
                    is_released=is_located,
                )
                VIEWS[view].draw(ax, point)

    def _draw_number(self, ax: Any, error: float) -> None:
        """The number on its public range, in the unit of the ball."""
        release, unit, power = (
            self.release,
            self.release.ball_unit,
            power_of(self.release.statistic),
        )
        size, name = 1.0, ""
        if unit is not None and unit.length is not None and power > 0:
            size, name = unit.length**power, f"{unit.name}{'' if power == 1 else f'^{power}'}"
        low, high = range_of(release)
        if high - low < _LARGEST:
            ax.plot([low / size, high / size], [0.0, 0.0], **{**BALL, "lw": 2.2, "label": "range"})
        draw_interval(ax, release.value.item() / size, error / size)
        ax.set_xlabel(name, fontsize=9)

    @property
    def _title(self) -> str:
        release, error = self.release, self.release.expected_error
        known = "expected error not known"
        if error is not None:
            told = told_error(release.statistic, release.ball_unit, error, 3)
            known = f"expected error {told}"
            has_ball = self.view in VIEWS and not isinstance(release, LocatedMeanRelease)
            if has_ball and 0.0 < error <= release.ball_radius:
                known += f", {percent(error / release.ball_radius)} of the radius"
            known += "\nwithin limits, see report()" if limits_of_error(release.statistic) else ""
        budget = budget_text(release.guarantee)
        loud = "NO GUARANTEE: " if isinstance(release.guarantee, Unproved) else ""
        return f"{release.statistic} on {release.manifold}\n{loud}{budget}\n{known}"


def _view(release: Release) -> str:
    """The view of a release: by its statistic, since a covariance may have the shape of a point."""
    if isinstance(release, MeanRelease) or release.statistic in POINTS:
        space = as_manifold(release.manifold)
        has_ball = 0.0 < release.ball_radius < _LARGEST or isinstance(release, LocatedMeanRelease)
        if has_ball and _are_points(space, release):
            return view_of(space)
    if release.value.size == 1:
        return "interval"
    return "image" if release.value.ndim == 2 and min(release.value.shape) > 1 else "entries"


def range_of(release: Release) -> tuple[float, float]:
    """The public range of a released number; without end where there is none.

    Parameters
    ----------
    release : Release
    """
    power, radius = power_of(release.statistic), release.ball_radius
    if power > 1:
        return 0.0, radius**power
    if release.statistic.startswith("quantile at") and release.ball_center.size == 1:
        center = release.ball_center.item()
        return center - radius, center + radius
    return -math.inf, math.inf


def _are_points(space: Manifold, release: Release) -> bool:
    """True if the value and the ball's centre are points, which a text may fail to hold."""
    found = (release.value, release.ball_center)
    return all(
        p.shape == space.point_shape and bool(space.belongs(p)) and np.abs(p).max() < _LARGEST
        for p in found
    )


def display_of(release: Release, ax: Any = None) -> ReleaseDisplay | GeodesicDisplay:
    """The display of any release that brings none of its own, drawn.

    Parameters
    ----------
    release : Release
    ax : matplotlib axes, optional

    Returns
    -------
    ReleaseDisplay or GeodesicDisplay
    """
    if isinstance(release, GeodesicRelease) and _has_curves(release):
        return GeodesicDisplay.from_geodesics([release], ax=ax)
    return ReleaseDisplay.from_release(release, ax=ax)


def _has_curves(release: GeodesicRelease) -> bool:
    """True where geodesics of one covariate are drawn in the manner of their space."""
    match as_manifold(release.manifold):
        case KendallPlanar() | Sphere(dim=2) | SPD(m=2):
            return len(release.value) == 2
    return False
