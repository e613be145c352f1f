"""Relative errors where the answer is known exactly, tracked so that speed never costs digits."""

from __future__ import annotations

import numpy as np

import curvedp as cdp

from . import workloads

_DISTANCES = np.geomspace(1e-9, 1.5, 400)


def _sphere(t):
    zero = np.zeros_like(t)
    return np.stack((np.cos(t), np.sin(t), zero), axis=-1), np.array([1.0, 0.0, 0.0])


def _hyperboloid(t):
    zero = np.zeros_like(t)
    return np.stack((np.cosh(t), np.sinh(t), zero), axis=-1), np.array([1.0, 0.0, 0.0])


def _spd(t):
    """diag(e^t, 1, 1): a distance t from the identity; rounding of e^t costs eps / t by itself."""
    matrices = np.tile(np.eye(3), (len(t), 1, 1))
    matrices[:, 0, 0] = np.exp(t)
    return matrices, np.eye(3)


class DistanceError:
    """Distances from 1e-9 to 1.5 along one geodesic."""

    params = ("sphere:2", "hyperboloid:2", "spd:3")
    param_names = ("manifold",)
    unit = "relative error"

    def track_dist(self, spec: str) -> float:
        """Largest relative error, against the distance that the rounded inputs determine."""
        along = {"sphere:2": _sphere, "hyperboloid:2": _hyperboloid, "spd:3": _spd}[spec]
        points, base = along(_DISTANCES)
        exact = np.log(points[:, 0, 0]) if spec == "spd:3" else _DISTANCES
        found = cdp.as_manifold(spec).dist(points, base)
        return float(np.abs(found / exact - 1).max())


class RoundTrip:
    """exp of log: the end point comes back."""

    params = ("sphere:2", "sphere:99", "hyperboloid:10", "kendall:50", "spd:3", "spd:11")
    param_names = ("manifold",)
    unit = "relative error"

    def track_exp_log(self, spec: str) -> float:
        """Distance between y and exp(log y), relative to the largest distance."""
        manifold = cdp.as_manifold(spec)
        x, y, _ = workloads.batch(spec, workloads.size(2_000))
        back = manifold.exp(manifold.log(y, x), x)
        return float(manifold.dist(back, y).max() / manifold.dist(x, y).max())
