"""Time and memory of every kernel on every manifold."""

from __future__ import annotations

import curvedp as cdp
from curvedp import _core

from . import workloads

_BATCH = {
    "euclidean:10": 100_000,
    "sphere:2": 100_000,
    "sphere:9": 100_000,
    "sphere:99": 20_000,
    "hyperboloid:10": 100_000,
    "kendall:50": 10_000,
    "spd:2": 100_000,
    "spd:3": 100_000,
    "spd:3:log-euclidean": 100_000,
    "spd:3:log-cholesky": 100_000,
    "spd:5": 20_000,
    "spd:11": 5_000,
    "correlation:28": 500,
    "hpd:4": 10_000,
    "grassmann:10:3": 10_000,
    "rotations:3": 100_000,
    "projective:2": 100_000,
    "torus:3": 100_000,
}


class Kernels:
    """One batch of pairs of points through one kernel."""

    params = (list(_BATCH), ["exp", "log", "dist", "parallel_transport", "inner"])
    param_names = ("manifold", "kernel")

    def setup(self, spec: str, kernel: str) -> None:
        """Draw points and tangent vectors."""
        manifold = cdp.as_manifold(spec)
        x, y, v = workloads.batch(spec, workloads.size(_BATCH[spec]))
        self.call = {
            "exp": lambda: manifold.exp(v, x),
            "log": lambda: manifold.log(y, x),
            "dist": lambda: manifold.dist(x, y),
            "parallel_transport": lambda: manifold.parallel_transport(v, x, end_point=y),
            "inner": lambda: manifold.inner(v, v, x),
        }[kernel]

    def time_kernel(self, spec: str, kernel: str) -> None:
        """Seconds for the whole batch."""
        self.call()

    def peakmem_kernel(self, spec: str, kernel: str) -> None:
        """Resident memory, inputs and interpreter included."""
        self.call()


class PairwiseDistances:
    """Full distance matrix of 1000 points."""

    params = ("sphere:2", "hyperboloid:10", "kendall:50", "spd:3", "spd:11")
    param_names = ("manifold",)

    def setup(self, spec: str) -> None:
        """Draw the points."""
        self.manifold = cdp.as_manifold(spec)
        self.points, _, _ = workloads.batch(spec, workloads.size(1000))

    def time_pairwise_dist(self, spec: str) -> None:
        """Seconds for 1e6 entries."""
        self.manifold.pairwise_dist(self.points)


class BallProjection:
    """Projection of records on a public ball: the first step of every release."""

    params = ("sphere:2", "kendall:50", "spd:3")
    param_names = ("manifold",)

    def setup(self, spec: str) -> None:
        """A ball that half of the records leave."""
        manifold = cdp.as_manifold(spec)
        self.points, _, _ = workloads.batch(spec, workloads.size(10_000))
        self.ball = cdp.Ball(manifold, center=self.points[0], radius=0.7)

    def time_project(self, spec: str) -> None:
        """Seconds for 10,000 records."""
        self.ball.project(self.points)


class Messages:
    """Sums of bounded integer messages, records read anew."""

    params = (["sphere:2", "kendall:50", "spd:3", "spd:11"], ["first", "tail", "round"])
    param_names = ("manifold", "message")

    def setup(self, spec: str, message: str) -> None:
        """Draw the records; positive definite matrices start from their scale."""
        manifold = cdp.as_manifold(spec)
        points, _, _ = workloads.batch(spec, workloads.size(10_000))
        records, base = points.reshape(len(points), -1), points[0].ravel()
        start = "scale" if spec.startswith("spd") else "start"
        method, arguments = {
            "first": (start, (_core.SCALE_BINS,) if start == "scale" else ()),
            "tail": ("tail", (base, 8.0, 80)),
            "round": ("round", (base, 1.0)),
        }[message]

        def run() -> None:
            getattr(_core.MessageSums(manifold.kernels, records), method)(*arguments)

        self.call = run

    def time_message(self, spec: str, message: str) -> None:
        """Seconds for 10,000 records."""
        self.call()
