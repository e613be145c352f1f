"""Confidence intervals for Fréchet variances, one row each, beside the one without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from curvedp._displays import Shown
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.regions import NONPRIVATE_COLOUR, PRIVATE_COLOURS
from curvedp.statistics import VarianceInterval

if TYPE_CHECKING:
    pass


class VarianceIntervalDisplay(Shown):
    """Confidence intervals for the Fréchet variance, one row each.

    Build it with `from_intervals`, which draws at once, or draw with `plot`.

    Parameters
    ----------
    intervals : sequence of VarianceInterval
    names : sequence of str, optional
        Of the rows; by default the budget, or "without privacy".
    nonprivate : VarianceInterval, optional
        Drawn as a band behind the rows. With it the picture is **not private**.

    Attributes
    ----------
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> intervals = [cdp.variance_interval(records, ball, cdp.GDP(mu)) for mu in (0.5, 2.0)]
    >>> VarianceIntervalDisplay.from_intervals(intervals).names
    ['μ = 0.5', 'μ = 2']
    """

    ax_: Any

    def __init__(
        self,
        intervals: Sequence[VarianceInterval],
        *,
        names: Sequence[str] | None = None,
        nonprivate: VarianceInterval | None = None,
    ) -> None:
        self.intervals = list(intervals)
        if not self.intervals:
            raise ValueError("intervals must hold one VarianceInterval at least")
        self.names = [_name(i) for i in self.intervals] if names is None else list(names)
        if len(self.names) != len(self.intervals):
            raise ValueError(f"{len(self.names)} names for {len(self.intervals)} intervals")
        self.nonprivate = nonprivate

    @classmethod
    def from_intervals(
        cls,
        intervals: Sequence[VarianceInterval],
        *,
        names: Sequence[str] | None = None,
        nonprivate: VarianceInterval | None = None,
        ax: Any = None,
    ) -> VarianceIntervalDisplay:
        """Draw intervals; parameters as in the class and in `plot`."""
        return cls(intervals, names=names, nonprivate=nonprivate).plot(ax)

    def plot(self, ax: Any = None) -> VarianceIntervalDisplay:
        """Draw all intervals, the first on top.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        if ax is None:
            ax = new_figure(5.6, 1.1 + 0.38 * len(self.intervals)).add_subplot()
        self.ax_, self.figure_ = ax, ax.figure
        exact, unit = self.nonprivate, self.intervals[0].ball_unit
        size = 1.0 if unit is None or unit.length is None else unit.length**2
        if exact is not None:
            band = {"color": NONPRIVATE_COLOUR, "zorder": 0}
            ax.axvspan(exact.lower / size, exact.upper / size, alpha=0.12, linewidth=0, **band)
            ax.axvline(exact.estimate / size, linewidth=1.0, label="without privacy", **band)
        for row, interval in enumerate(self.intervals):
            colour = NONPRIVATE_COLOUR if interval.guarantee is None else PRIVATE_COLOURS[0]
            ends = [[interval.estimate - interval.lower], [interval.upper - interval.estimate]]
            ax.errorbar(
                [interval.estimate / size],
                [row],
                xerr=np.array(ends) / size,
                fmt="o",
                markersize=5,
                capsize=4,
                color=colour,
            )
        ax.set_yticks(range(len(self.names)), self.names, fontsize=9)
        ax.set_ylim(len(self.names) - 0.5, -0.5)
        name = "squared units of the metric" if unit is None or size == 1.0 else f"{unit.name}^2"
        ax.set_xlabel(f"Fréchet variance, {name}", fontsize=9)
        ax.tick_params(labelsize=8, axis="x")
        if exact is not None:
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
        return self


def _name(interval: VarianceInterval) -> str:
    return "without privacy" if interval.guarantee is None else budget_text(interval.guarantee)
