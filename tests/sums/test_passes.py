"""How often a search looks at the records: each point from which it asks is a pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from curvedp.manifolds import as_manifold
from curvedp.sums.messages import ROUND_UNIT, Request
from curvedp.sums.noise import GaussianNoise, Noise
from curvedp.sums.pure import PureNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from curvedp.sums.steps import searched

#: The worst that records may do: each round pulls with all its length, so that none is settled.
CASES = [
    ("sphere:2", GaussianNoise(1.0)),
    ("euclidean:3", GaussianNoise(1.0)),
    ("spd:3", GaussianNoise(1.0)),
    ("sphere:2", PureNoise(1.0)),
]


def _points(spec: str, noise: Noise, **how: Any) -> int:
    """From how many points a search asks whose rounds all pull away."""
    space, n = as_manifold(spec), 20_000
    rng = np.random.default_rng(3)
    coords = 0.1 * rng.standard_normal((n, space.dim))
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    sums, asked = RecordSums(space, records, None), []

    def answer(request: Request, number: int) -> np.ndarray:
        base = b"" if request.base is None else request.base.tobytes()
        asked.append((request.of, base))
        total = sums.answer(request).astype(float)
        if request.kind == "round":
            total[:] = 0.0
            total[0] = (-1.0) ** number * n * ROUND_UNIT
        return total

    searched(Search(sums.geometry, noise, n, **how), answer)
    return 1 + sum(one != other for one, other in zip(asked[1:], asked, strict=False))


@pytest.mark.parametrize(("spec", "noise"), CASES)
@pytest.mark.parametrize("max_rounds", [3, 8])
def test_records_are_read_six_times_at_most(spec: str, noise: Noise, max_rounds: int) -> None:
    assert _points(spec, noise, max_rounds=max_rounds) <= 6


def test_without_that_rule_they_would_be_read_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    monkeypatch.setattr("curvedp.sums.search._PASSES", 99)
    assert max(_points(spec, noise, max_rounds=8) for spec, noise in CASES) > 6
