"""The Fréchet mean, private and not: time, memory, and how exact it is."""

from __future__ import annotations

import curvedp as cdp

from . import workloads

_RECORDS = {
    "sphere:2": lambda n: workloads.sphere_ball(2, n),
    "sphere:9": lambda n: workloads.sphere_ball(9, n),
    "rotations:3": workloads.rotations_ball,
    "spd:3": lambda n: workloads.spd_ball(3, n),
    "spd:5": lambda n: workloads.spd_ball(5, n),
    "spd:11": lambda n: workloads.spd_ball(11, n),
}


class FrechetMean:
    """Non-private mean of concentrated data, to gradient norm 1e-12."""

    params = (list(_RECORDS), [100, 10_000])
    param_names = ("manifold", "n")

    def setup(self, spec: str, n: int) -> None:
        """Draw the records."""
        self.manifold = cdp.as_manifold(spec)
        self.records = _RECORDS[spec](workloads.size(n))

    def time_mean(self, spec: str, n: int) -> None:
        """Seconds for one mean."""
        cdp.nonprivate.frechet_mean(self.records, self.manifold)

    def peakmem_mean(self, spec: str, n: int) -> None:
        """Resident memory, records and interpreter included."""
        cdp.nonprivate.frechet_mean(self.records, self.manifold)

    def track_certified_distance(self, spec: str, n: int) -> float:
        """Certified distance of the result to the true mean."""
        result = cdp.nonprivate.frechet_mean(self.records, self.manifold)
        return float(result.certified_distance)

    def track_evaluations(self, spec: str, n: int) -> int:
        """Gradients until the norm is reached."""
        return int(cdp.nonprivate.frechet_mean(self.records, self.manifold).n_iter)
