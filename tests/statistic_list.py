"""Every statistic that the contract holds for: add one here and it gets the whole battery."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.conformal import ConformalMean, Density, ball_mesh, density, knn_graph
from curvedp.regression.private import GeodesicLine
from curvedp.statistics.call import as_balls


@dataclass(frozen=True)
class Entry:
    """A statistic: its function, called with records, ball and guarantee, and its value.

    Attributes
    ----------
    name : str
    call : callable
    statistic : Statistic
        The same as a value.
    guarantee : Guarantee
        One that it serves.
    least : int
        Fewest records of a group.
    drawn_by_kernels : bool
        Whether compiled code releases all groups together.
    refused : tuple
        Keywords that it must refuse, and what the message says.
    """

    name: str
    call: Callable[..., Any]
    statistic: Any
    guarantee: cdp.privacy.Guarantee = field(default_factory=lambda: cdp.GDP(1.0))
    least: int = 1
    drawn_by_kernels: bool = True
    refused: tuple[tuple[dict[str, Any], str], ...] = ()

    def __repr__(self) -> str:
        return self.name


def _clusters(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """Two clusters."""
    return cdp.k_means(records, 2, ball, guarantee, **how)


def _components(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """One of them."""
    return cdp.principal_components(records, 1, ball, guarantee, **how)


def _classes(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """Labels that follow from the records, some of no class."""
    first = np.asarray(records).reshape(len(records), -1)[:, 0]
    with np.errstate(all="ignore"):
        labels = np.nan_to_num(np.floor(4 * first), posinf=9, neginf=9) % 3
    public = {"classes": [0, 1], "n_steps": 4} | how
    return cdp.tangent_logistic(records, labels, ball, guarantee, **public)


#: An interval whose grid has no short decimals: two draws never are the same.
FINE = {"low": -1.0, "high": 1.0, "step": 2.0**-40}
QUINTILES = (0.1, 0.3, 0.5, 0.7, 0.9)


def _quantile(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """A quantile of the first coordinates."""
    values = np.asarray(records)[..., 0] if np.ndim(records) == 2 else records
    return cdp.quantile(values, 0.5, guarantee=guarantee, **FINE | how)


def _quantiles(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """Several quantiles of the first coordinates."""
    values = np.asarray(records)[..., 0] if np.ndim(records) == 2 else records
    return cdp.quantile(values, QUINTILES, guarantee=guarantee, **FINE | how)


def _regression(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """On covariates that follow from the records."""
    x = np.asarray(records)[..., 0] if np.ndim(records) == 2 else np.zeros(len(records))
    public = {"x_range": (-1.0, 1.0), "tau": 0.2, "v_max": 0.5} | how
    return cdp.geodesic_regression(x, records, ball, guarantee, **public)


def _trend(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """On covariates that follow from the records."""
    x = np.asarray(records)[..., 0] if np.ndim(records) == 2 else np.zeros(len(records))
    return cdp.trend_test(x, records, ball, guarantee, **{"x_range": (-1.0, 1.0)} | how)


def _adaptive_regression(records: Any, ball: cdp.Ball, guarantee: Any, **how: Any) -> Any:
    """The same without a public clipping length."""
    return _regression(records, ball, guarantee, **{"tau": None, "v_max": None} | how)


@functools.cache
def _nodes(space: cdp.Manifold) -> Any:
    """A few about the origin, whatever the ball is."""
    radius = min(1.0, 0.6 * space.max_ball_radius)
    return knn_graph(ball_mesh(cdp.Ball(space, space.origin, radius), 30), 6)


def _density(records: Any, ball: Any, guarantee: Any, **how: Any) -> Any:
    mesh = None if ball == [] else _nodes(as_balls(ball)[0].manifold)
    return density(records, ball, guarantee, **{"mesh": mesh} | how)


def _conformal(records: Any, ball: Any, guarantee: Any, **how: Any) -> Any:
    mesh = None if ball == [] else _nodes(as_balls(ball)[0].manifold)
    return cdp.conformal_mean(records, ball, guarantee, **{"mesh": mesh, "cells": mesh} | how)


def _located(records: Any, ball: Any, guarantee: Any, **how: Any) -> Any:
    """On the balls' manifold."""
    if isinstance(ball, cdp.Ball):
        return cdp.frechet_mean(records, ball.manifold, guarantee, **how)
    return cdp.frechet_mean(records, [own.manifold for own in ball], guarantee, **how)


_WEIGHTS = (({"weights": (1.0,)}, "positive numbers"), ({"weights": (1.0, -1.0)}, "positive"))
_CLIP = (({"max_dist": 0.0}, "max_dist"), ({"max_dist": 1e-60}, "powers of max_dist"))

STATISTICS = [
    Entry("mean", cdp.frechet_mean, cdp.Mean(), refused=(({"mechanism": "laplace"}, "mechanism"),)),
    Entry(
        "located",
        _located,
        cdp.LocatedMean(),
        guarantee=cdp.GDP(30.0),
        drawn_by_kernels=False,
    ),
    Entry(
        "variance",
        cdp.frechet_variance,
        cdp.Variance(within=0.1),
        refused=(*_WEIGHTS, ({"within": -0.1}, "within")),
    ),
    Entry("fourth moment", cdp.fourth_moment, cdp.FourthMoment(), refused=(*_WEIGHTS, *_CLIP)),
    Entry("covariance", cdp.log_covariance, cdp.LogCovariance(), refused=(*_WEIGHTS, *_CLIP)),
    Entry("hessian", cdp.mean_hessian, cdp.MeanHessian(), refused=(*_WEIGHTS, *_CLIP)),
    Entry(
        "adaptive",
        cdp.adaptive_mean,
        cdp.AdaptiveMean((1.0, 1.0, 2.0)),
        refused=(
            ({"schedule": "often"}, "schedule must be"),
            ({"schedule": (1.0, 2.0)}, "odd number"),
            ({"quantile": 1.5}, "quantile"),
        ),
    ),
    Entry(
        "region",
        cdp.confidence_region,
        cdp.Region(level=0.9),
        least=4,
        refused=(({"level": 1.5}, "level"), ({"weights": (1.0, 2.0)}, "3 positive"), *_CLIP),
    ),
    Entry(
        "interval",
        cdp.variance_interval,
        cdp.Interval(level=0.9),
        least=2,
        refused=(({"level": 1.5}, "level"), *_WEIGHTS, *_CLIP),
    ),
    Entry(
        "components",
        _components,
        cdp.PrincipalComponents(1),
        guarantee=cdp.GDP(3.0),  # with less the noise of few records' means is warned of
        drawn_by_kernels=False,
        refused=(
            ({"weights": (1.0, 1.0)}, "3 positive"),
            ({"weights": (1.0, 1.0, -1.0)}, "positive"),
            ({"max_dist": 0.0}, "max_dist"),
            ({"max_dist": 1e-200}, "squares"),
        ),
    ),
    Entry(
        "k-means",
        _clusters,
        cdp.KMeans(2, [[0.0, 0.6, 0.8], [0.0, 0.8, 0.6]], 2),
        least=2,
        drawn_by_kernels=False,
        refused=(({"n_rounds": 0}, "n_rounds"), ({"init": [[0.0, 0.0, 1.0]]}, "2 points")),
    ),
    Entry(
        "logistic",
        _classes,
        cdp.TangentLogistic(["a", "b"], 4),
        drawn_by_kernels=False,
        refused=(({"n_steps": 0}, "n_steps"), ({"classes": []}, "number of classes")),
    ),
    Entry("median", cdp.geometric_median, cdp.GeometricMedian(), drawn_by_kernels=False),
    Entry(
        "kng",
        cdp.kng_mean,
        cdp.KNGMean(tau=0.3),
        guarantee=cdp.PureDP(5.0),
        drawn_by_kernels=False,
        refused=(({"tau": -1.0}, "tau"), ({"sampler": "gibbs"}, "sampler")),
    ),
    Entry(
        "quantile",
        _quantile,
        cdp.Quantile(0.5, **FINE),
        guarantee=cdp.PureDP(1.0),
        drawn_by_kernels=False,
        refused=(({"base": "normal"}, "base"), ({"step": 0.3}, "step"), ({"step": 0.0}, "step")),
    ),
    Entry(
        "quantiles",
        _quantiles,
        cdp.Quantile(QUINTILES, **FINE),
        guarantee=cdp.PureDP(1.0),
        drawn_by_kernels=False,
        refused=(({"base": "normal"}, "base"),),
    ),
    Entry(
        "regression",
        _regression,
        GeodesicLine((-1.0, 1.0), 0.2, 0.5),
        drawn_by_kernels=False,
        refused=(({"tau": -1.0}, "tau"), ({"v_max": -1.0}, "v_max"), ({"sampler": "x"}, "sampler")),
    ),
    Entry(
        "adaptive regression",
        _adaptive_regression,
        GeodesicLine((-1.0, 1.0)),
        drawn_by_kernels=False,
        refused=(({"v_max": -1.0}, "v_max"), ({"sampler": "exact"}, "needs tau")),
    ),
    Entry(
        "trend",
        _trend,
        cdp.TrendTest(x_range=(-1.0, 1.0)),
        drawn_by_kernels=False,
        refused=(({"relabellings": 5}, "relabellings"), ({"kernel": "cubic"}, "kernel")),
    ),
    Entry(
        "density",
        _density,
        Density(),
        guarantee=cdp.PureDP(1.0),
        drawn_by_kernels=False,
        refused=(({"method": "spline"}, "method"), ({"heat_time": -1.0}, "heat_time")),
    ),
    Entry(
        "conformal mean",
        _conformal,
        ConformalMean(),
        guarantee=cdp.PureDP(4.0),
        drawn_by_kernels=False,
        refused=(({"split": 1.0}, "split"), ({"upsilon": 0.0}, "upsilon")),
    ),
]
