"""Rows for Metropolis chains that draw the Riemannian Laplace."""

from __future__ import annotations

from benchmarks import workloads
from harness import Peer, Row
from peers import chains
from rows import ROWS

_SPACES = {
    # manifold: scale of the law and of the steps, ratio to reach
    "sphere:2": (0.1, 0.15, 20),
    "spd:2": (0.3, 0.36, 20),
    "spd:11": (0.02, 0.024, 2),
}


def _steps(spec: str, quick: bool):
    scale, step, target = _SPACES[spec]
    count = 1600 if quick else 10_000
    if spec == "sphere:2":
        return count, Peer(lambda: chains.sphere(scale, step, count), target, comparable=False)
    m = int(spec.split(":")[1])
    return count, Peer(lambda: chains.spd(m, scale, step, count), target, comparable=False)


def _chain(spec: str, together: int):
    """As many steps as the peer's, shared by chains of which every fifth state is kept; the peer
    keeps its last."""

    def build(quick: bool) -> Row:
        count, peer = _steps(spec, quick)
        scale, step, _ = _SPACES[spec]
        run = workloads.laplace_chains(spec, scale, step, together)
        peer = peer if together > 1 else Peer(peer.run, comparable=False)
        return Row(f"{count} steps", lambda: run(count).points, {"NumPy": peer})

    return build


for _spec in _SPACES:
    ROWS.add(f"Metropolis, Riemannian Laplace, {_spec}, 16 chains")(_chain(_spec, 16))
for _spec in _SPACES:
    ROWS.add(f"Metropolis, Riemannian Laplace, {_spec}, one chain")(_chain(_spec, 1))
