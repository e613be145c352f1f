"""The releases of many groups in one picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from curvedp._displays import Shown
from curvedp.manifolds import as_manifold
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.points import VALUE
from curvedp.plotting.releases import POINTS
from curvedp.privacy import Unproved
from curvedp.statistics.releases import Releases

#: Labels beside an axis; of more groups every second, third ... is named.
_MOST_LABELS = 30
#: Groups of an image of distances.
_MOST_GROUPS = 2000


class ReleasesDisplay(Shown):
    """Releases of many groups: numbers as intervals, points as their distances from each other.

    `Releases.plot` makes it. Numbers (variances, quantiles) stand in intervals of their expected
    errors, one row for each group. Of points (means, medians) it draws the geodesic distances of
    every two, in units of the expected error of their difference, sqrt(e_i^2 + e_j^2): about 1 is
    what noise alone makes, if the groups' exact statistics are equal.

    Parameters
    ----------
    releases : Releases
        Of one number or one point for each group; of points at most 2000 groups.

    Attributes
    ----------
    view : {"intervals", "distances"}
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> sites = np.repeat(["north", "south"], 100)
    >>> records = np.tile(ball.center, (200, 1))
    >>> cdp.frechet_mean(records, ball, cdp.GDP(mu=1.0), groups=sites).plot().view
    'distances'
    """

    ax_: Any

    def __init__(self, releases: Releases[Any]) -> None:
        specs = {ball.manifold.spec for ball in releases.balls}
        self.releases = releases
        self._shown = np.flatnonzero(releases.released)
        value = releases.value[self._shown]
        if releases.statistic in POINTS:
            if len(specs) > 1:
                raise ValueError("the groups' points lie on different manifolds")
            if len(value) > _MOST_GROUPS:
                raise ValueError(f"no picture shows the distances of {len(value)} points")
            self.view = "distances"
        elif value.size == len(value):
            self.view = "intervals"
        else:
            raise TypeError(
                f"no picture shows the {releases.statistic} of many groups: plot one, as "
                "releases[label].plot()"
            )

    @classmethod
    def from_releases(cls, releases: Releases[Any], *, ax: Any = None) -> ReleasesDisplay:
        """Draw releases; parameters as in the class and in `plot`."""
        return cls(releases).plot(ax)

    def plot(self, ax: Any = None) -> ReleasesDisplay:
        """Draw the releases.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        count = len(self._shown)
        if ax is None:
            rows = min(count, 2 * _MOST_LABELS)
            size = (6.2, 1.3 + 0.24 * rows) if self.view == "intervals" else (6.2, 5.0)
            ax = new_figure(*size).add_subplot()
        self.ax_, self.figure_ = ax, ax.figure
        labels = [str(self.releases.labels[g]) for g in self._shown]
        named = range(0, count, max(1, -(-count // _MOST_LABELS)))
        if self.view == "intervals":
            self._draw_intervals(ax)
        else:
            self._draw_distances(ax)
            ax.set_xticks(named, [labels[k] for k in named], rotation=90, parse_math=False)
        ax.set_yticks(named, [labels[k] for k in named], parse_math=False)
        ax.tick_params(labelsize=8)
        found = self.releases
        loud = "NO GUARANTEE: " if isinstance(found.guarantee, Unproved) else ""
        title = f"{found.statistic} of {count} groups\n{loud}{budget_text(found.guarantee)} each"
        ax.set_title(title, fontsize=10, parse_math=False)
        return self

    def _draw_intervals(self, ax: Any) -> None:
        found = self.releases
        error = np.nan_to_num(found.expected_error[self._shown], posinf=0.0)
        rows = np.arange(len(self._shown))
        look = {"fmt": "o", "markersize": 4, "capsize": 3, "color": VALUE}
        ax.errorbar(found.value[self._shown].ravel(), rows, xerr=error, **look)
        ax.invert_yaxis()
        ax.set_xlabel(f"{found.statistic}, with its expected error", fontsize=9)

    def _draw_distances(self, ax: Any) -> None:
        found = self.releases
        space = as_manifold(found.balls[0].manifold.spec)
        apart = space.pairwise_dist(found.value[self._shown], found.value[self._shown])
        error = found.expected_error[self._shown]
        with np.errstate(all="ignore"):
            ratio = apart / np.hypot(error[:, None], error[None, :])
        np.fill_diagonal(ratio, np.nan)
        image = ax.imshow(ratio, cmap="viridis", vmin=0.0)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85)
        bar.set_label("distance over the expected error of the difference", fontsize=9)
