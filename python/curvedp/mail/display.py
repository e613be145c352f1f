"""Embeddings coloured by class, and retrieval against the budget (PrivateMail, figures 2 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._displays import Shown
from curvedp.mail.alignment import align
from curvedp.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from curvedp.mail.private_mail import PrivateMail

__all__ = ["EmbeddingDisplay", "RetrievalDisplay"]


class EmbeddingDisplay(Shown):
    """Embeddings side by side, on their first two components.

    Attributes
    ----------
    panels : list of dict from a name to an ndarray of shape (n, k)
        Point sets of each panel.
    titles : list of str
    labels : ndarray of shape (n,) or None
        Classes, which give the colours. They are **not private**.
    figure_, ax_
        Set by `plot`.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((20, 2))
    >>> display = EmbeddingDisplay([{"rows": points}], ["start"]).plot()
    >>> display.ax_.size
    1
    """

    ax_: NDArray[np.object_]

    def __init__(
        self,
        panels: Sequence[Mapping[str, ArrayLike]],
        titles: Sequence[str],
        labels: ArrayLike | None = None,
    ) -> None:
        self.panels = [
            {name: np.asarray(points, dtype=np.float64) for name, points in panel.items()}
            for panel in panels
        ]
        if len(titles) != len(self.panels) or not self.panels:
            raise ValueError("as many titles as panels are needed, and at least one")
        for panel in self.panels:
            for points in panel.values():
                if points.ndim != 2 or points.shape[1] < 2:
                    raise ValueError("embeddings need at least two components to be drawn")
        self.titles = list(titles)
        self.labels = None if labels is None else np.asarray(labels)

    @classmethod
    def from_iterations(
        cls, estimator: PrivateMail, *, labels: ArrayLike | None = None
    ) -> EmbeddingDisplay:
        """The noisy embedding of each private iteration and the final one (figure 2).

        Parameters
        ----------
        estimator : PrivateMail
            Fitted.
        labels : array_like of shape (n,), optional
            With it the picture is **not private**: it shows every label.
        """
        release = estimator.release_
        values = [part.value for part in release.parts] + [release.value]
        titles = [f"private iteration {i}" for i in range(1, len(values))] + ["post-processed"]
        return cls([{"embedding": value} for value in values], titles, labels).plot()

    @classmethod
    def from_alignment(
        cls, source: ArrayLike, target: ArrayLike, *, labels: ArrayLike | None = None
    ) -> EmbeddingDisplay:
        """Two embeddings of the same anchors before and after alignment (figure 4, a-f).

        Parameters
        ----------
        source, target : array_like of shape (n, k)
            The client's embedding and the server's.
        labels : array_like of shape (n,), optional
            Of the public anchors.
        """
        moved = align(source, target)(source)
        panels = [{"client": source, "server": target}, {"client": moved, "server": target}]
        return cls(panels, ["before alignment", "after alignment"], labels).plot()

    def plot(self, *, figure: Figure | None = None) -> EmbeddingDisplay:
        """Draws all panels in a row."""
        width = 3.2 * len(self.panels)
        self.figure_ = new_figure(width, 3.2) if figure is None else figure
        axes = self.figure_.subplots(1, len(self.panels), squeeze=False)[0]
        self.ax_ = axes
        for ax, panel, title in zip(axes, self.panels, self.titles, strict=True):
            marks = (("o", 9), ("+", 28), ("x", 20))
            for (marker, size), (name, points) in zip(marks, panel.items(), strict=False):
                colours: dict[str, Any] = {}
                if self.labels is not None:
                    codes = np.unique(self.labels, return_inverse=True)[1]
                    colours = {"c": codes, "cmap": "tab10"}
                ax.scatter(points[:, 0], points[:, 1], s=size, marker=marker, label=name, **colours)
            if len(panel) > 1:
                ax.legend(fontsize=7)
            ax.set_title(title, fontsize=9)
            ax.set_aspect("equal", adjustable="datalim")
        return self


class RetrievalDisplay(Shown):
    """Retrieval scores against the budget, one curve for each method (figure 4, g-h).

    Attributes
    ----------
    epsilons : ndarray of shape (b,)
    scores : dict from a method's name to an ndarray of shape (b,)
    baseline : float or None
        The score without privacy.
    figure_, ax_
        Set by `plot`.
    """

    ax_: Any

    def __init__(
        self,
        epsilons: ArrayLike,
        scores: Mapping[str, ArrayLike],
        *,
        baseline: float | None = None,
        metric: str = "recall@1",
    ) -> None:
        self.epsilons = np.asarray(epsilons, dtype=np.float64)
        self.scores = {name: np.asarray(s, dtype=np.float64) for name, s in scores.items()}
        if any(s.shape != self.epsilons.shape for s in self.scores.values()):
            raise ValueError("every method needs one score for each epsilon")
        self.baseline = baseline
        self.metric = metric

    def plot(self, *, figure: Figure | None = None) -> RetrievalDisplay:
        """Draws the curves and the non-private score as a dashed line."""
        self.figure_ = new_figure(4.5, 3.4) if figure is None else figure
        self.ax_ = self.figure_.subplots()
        for name, values in self.scores.items():
            self.ax_.plot(self.epsilons, values, marker="o", label=name)
        if self.baseline is not None:
            self.ax_.axhline(self.baseline, linestyle="--", color="grey", label="not private")
        self.ax_.set(xlabel="epsilon", ylabel=self.metric, ylim=(0, 1))
        self.ax_.legend(
            fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False
        )
        return self
