"""Whatever two neighbouring data sets are, their searches move apart by at most the budget.

The adversary sees every noisy sum. Along the path that these sums determine, each sum of the two
data sets differs by a vector whose length, in standard deviations of the noise, is that sum's share
of mu at most; the root of the sum of squares is the whole. No chance is in it: the exact sums are
compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from curvedp import _core
from curvedp.manifolds import Manifold, as_manifold
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.privacy import GDP
from curvedp.sums.filter import Filter
from curvedp.sums.messages import Request, start_of
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from manifold_list import COMPACT

SPECS = [
    "euclidean:2", "sphere:2", "sphere:9", "rotations:3", "projective:3", "kendall:6",
    "torus:3", "hyperboloid:2", "correlation:3", "spd:2", "spd:3", "spd:2:log-cholesky", "hpd:2",
    *(case.name for case in COMPACT),
]  # fmt: skip

Bound = Callable[[Request, float], float]


def _start_weights(sums: RecordSums, request: Request, size: int) -> np.ndarray:
    start = start_of(sums.geometry.manifold) if request.kind == "start" else None
    return np.ones(size) if start is None else start.weights


def _distance(
    manifold: Manifold,
    one: np.ndarray,
    other: np.ndarray,
    mu: float,
    *,
    replaces: bool,
    rng: np.random.Generator,
    ends: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    bound: Bound = lambda request, bound: bound,
    budget: type[Filter] = Filter,
) -> tuple[float, float]:
    """Distance of the two transcripts, in standard deviations of their noise, and mu spent."""
    a, b = RecordSums(manifold, one, ends[0]), RecordSums(manifold, other, ends[1])
    units = len(one) if ends[0] is None else len(ends[0]) - 1
    search = Search(a.geometry, GaussianNoise(mu), units if replaces else None)
    search.budget = budget(mu)
    requests, total = search.run(), 0.0
    request = next(requests)
    try:
        while True:
            exact = a.answer(request), b.answer(request)
            weights = _start_weights(a, request, len(exact[0]))
            scale = calibrated_scale(
                bound(request, a.bound(request, search.noise, replaces, 1)), 0.0, GDP(request.share)
            )
            moved = (exact[0] - exact[1]).astype(np.float64)
            total += float(weights @ moved**2) / scale**2
            noise = rng.standard_normal(len(weights)) * scale / np.sqrt(weights)
            request = requests.send(np.rint(exact[rng.integers(2)] + noise))
    except StopIteration as end:
        return math.sqrt(total), end.value.spent


def _hostile(manifold: Manifold, count: int, rng: np.random.Generator) -> np.ndarray:
    """Records far apart, at the rim, and of no points."""
    points = manifold.random_point(count + 1, rng=rng)[:count].reshape(count, -1)
    kinds = rng.integers(7, size=count)
    shape = manifold.point_shape
    far = manifold.random_point(2, rng=rng)[1].reshape(-1)
    for row, kind in zip(points, kinds, strict=True):
        match kind:
            case 1:
                row[:] = far
            case 2:
                row[:] = -row
            case 3:
                row[rng.integers(len(row))] = rng.choice([np.nan, np.inf, -np.inf])
            case 4:
                row *= 10.0 ** rng.integers(-300, 300)
            case 5:
                row[:] = rng.standard_normal(len(row)) * 10.0 ** rng.uniform(-8, 8)
            case 6:
                row[:] = np.finfo(float).tiny * rng.integers(-3, 4, size=len(row))
    return points.reshape(count, *shape)


def _pair(
    manifold: Manifold, rng: np.random.Generator, *, replaces: bool
) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(1, 40))
    with np.errstate(all="ignore"):
        records, last = _hostile(manifold, n, rng), _hostile(manifold, 1, rng)
        if rng.random() < 0.5:  # one place for all others
            records[:] = manifold.random_point(2, rng=rng)[0]
    at = int(rng.integers(n))
    without = np.delete(records, at, axis=0)
    other = np.insert(without, int(rng.integers(n)), last[0], axis=0) if replaces else without
    return records, other


@pytest.mark.parametrize("replaces", [True, False], ids=["replace", "add-remove"])
@pytest.mark.parametrize("spec", SPECS)
def test_neighbours_are_told_apart_no_better_than_the_budget_allows(
    spec: str, replaces: bool
) -> None:
    manifold, rng = as_manifold(spec), np.random.default_rng(1)
    longest = 0.0
    for _ in range(64):  # the exact sums are compared: there is no chance in it
        one, other = _pair(manifold, rng, replaces=replaces)
        mu = float(10.0 ** rng.uniform(-1, 1.5))
        distance, spent = _distance(manifold, one, other, mu, replaces=replaces, rng=rng)
        assert distance <= spent * (1.0 + 1e-9)
        assert spent <= mu
        longest = max(longest, distance / spent)
    assert longest > 0.6  # the search comes near what is allowed


@pytest.mark.parametrize("replaces", [True, False], ids=["replace", "add-remove"])
def test_units_of_any_number_of_records_count_as_one(replaces: bool) -> None:
    manifold, rng = as_manifold("rotations:3"), np.random.default_rng(2)
    for _ in range(40):
        sizes = rng.integers(1, 6, size=12)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        records = _hostile(manifold, int(ends[-1]), rng)
        more = _hostile(manifold, int(rng.integers(1, 9)), rng)
        kept = records[: ends[-2]]
        other, other_ends = kept, ends[:-1]
        if replaces:
            other = np.concatenate([kept, more])
            other_ends = np.append(ends[:-1], len(other))
        distance, spent = _distance(
            manifold, records, other, 3.0, replaces=replaces, rng=rng, ends=(ends, other_ends)
        )
        assert distance <= spent * (1.0 + 1e-9)


class _Forgetful(Filter):
    """Charges every other share alone."""

    taken = 0

    def take(self, mu: float) -> float:
        self.taken += 1
        return super().take(mu) if self.taken % 2 else min(mu, self.rest)


BROKEN: dict[str, dict[str, object]] = {
    "half the bound": {"bound": lambda request, bound: bound / 2.0},
    "rounds of add or remove": {
        "bound": lambda request, bound: bound / 2.0 if request.kind == "round" else bound
    },
    "rounds that are not counted": {"budget": _Forgetful},
    "counts for nothing": {
        "bound": lambda request, bound: bound / 50.0 if request.kind == "tail" else bound
    },
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_attack_finds_broken_searches(name: str) -> None:
    manifold, rng = as_manifold("euclidean:2"), np.random.default_rng(1)
    worst = 0.0
    for _ in range(64):  # by exact sums
        one, other = _pair(manifold, rng, replaces=True)
        distance, spent = _distance(
            manifold, one, other, 20.0, replaces=True, rng=rng, **BROKEN[name]
        )
        worst = max(worst, distance / spent)
    assert worst > 1.05


def test_the_same_records_at_other_places_have_the_same_sums() -> None:
    rng = np.random.default_rng(4)
    for spec in SPECS:
        manifold = as_manifold(spec)
        with np.errstate(all="ignore"):
            records = _hostile(manifold, 37, rng)
        base = np.ascontiguousarray(manifold.random_point(2, rng=rng)[0]).reshape(-1)
        request = Request("round", 1.0, base, 0.7)
        alone = sum(
            RecordSums(manifold, records[i : i + 1], None).answer(request) for i in range(37)
        )
        for start in range(5):
            own = np.roll(records, start, axis=0)
            np.testing.assert_array_equal(RecordSums(manifold, own, None).answer(request), alone)
    assert _core.ROUND_BOUND == 2**24
