"""Rows for one conformal release on S^2, N = 500, beside the paper's own procedure."""

from __future__ import annotations

from typing import Any

import numpy as np

import curvedp as cdp
from benchmarks import workloads
from curvedp.datasets import von_mises_fisher
from harness import Peer, Row
from peers import conformal
from rows import ROWS

_POLE = np.array([0.0, 0.0, 1.0])
_AS_PEER: Any = {"bandwidth": 0.5, "distance": "graph"}


def _row(target: float | None, *, published: bool):
    def build(quick: bool) -> Row:
        steps = 500 if quick else 10_000
        records = von_mises_fisher(500, _POLE, 100.0, rng=1)
        rng, ball = np.random.default_rng(0), workloads.ball("sphere:2", 0.7)
        budget = cdp.PureDP(0.3)

        def release() -> cdp.Release:
            if published:
                how = {**_AS_PEER, "chain_length": steps}
                return cdp.published.conformal_mean(records, ball, budget, **how)
            return cdp.conformal_mean(records, ball, budget)

        peer = Peer(lambda: conformal.release(records, rng, steps), target, comparable=False)
        return Row(
            f"N=500, {steps} steps",
            lambda: release().value,
            {"NumPy and SciPy, published": peer},
        )

    return build


ROWS.add("conformal release, published")(_row(30, published=True))
ROWS.add("conformal release, proved, 5000 nodes")(_row(None, published=False))
