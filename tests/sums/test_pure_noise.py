"""Pure noise of sums: the loss of every pair of neighbours, bounded along whole searches.

The adversary sees every noisy sum. Along the path that these sums determine, the logarithm of the
likelihood ratio of two neighbouring data sets is at most the sum of the distances of their exact
sums, each in scales of the noise that was really drawn: lengths for vectors, absolute values for
counts. No chance is in it: laws are read off the calls that draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from curvedp import _core
from curvedp.manifolds import Manifold, as_manifold
from curvedp.sums import pure
from curvedp.sums.filter import Filter
from curvedp.sums.messages import Request, start_of
from curvedp.sums.pure import PureNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from sums.test_search_neighbours import _hostile, _pair

SPECS = [
    "sphere:1", "sphere:2", "sphere:3", "rotations:3", "projective:2", "projective:3", "torus:1",
    "torus:3", "hyperboloid:2", "hyperboloid:3", "euclidean:1", "euclidean:3", "kendall:3", "so:3",
    "grassmann:3:1", "unitary:1",
]  # fmt: skip


class _Law:
    """What a draw was asked for, in the place of the draw."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.asked: list[tuple[np.ndarray, float, bool]] = []

    def add_discrete_laplace(self, rate: float, total: np.ndarray, out: np.ndarray) -> None:
        """As a stream."""
        self.asked.append((total.astype(object), 1.0 / rate, True))
        out[:] = total + self.rng.laplace(scale=1.0 / rate, size=len(out))

    def of(self, size: int, profile: str, scale: float) -> _Law:
        """As `flat_law`."""
        assert profile == "laplace"
        self.scale = scale
        return self

    def add_on_grid(self, stream: Any, step: float, vectors: np.ndarray) -> None:
        """As a law: the vector that gets noise, and the noise, on the grid."""
        assert step == 1.0
        direction = self.rng.standard_normal(vectors.shape[1])
        length = self.rng.gamma(vectors.shape[1]) / np.linalg.norm(direction)
        self.asked.append((vectors[0].astype(object), self.scale, False))
        vectors[0] = np.rint(vectors[0] + direction * length * self.scale)


@contextmanager
def _read(law: _Law) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pure, "flat_law", law.of)
        yield


def _moved(request: Request, weights: np.ndarray, change: np.ndarray, law: _Law) -> float:
    """The loss of a pair of sums, from the scale of the noise that one of them got."""
    _, scale, is_count = law.asked[-1]
    if is_count:
        return float(np.abs(change).sum()) / scale
    if (weights == 2.0).any():  # the lattice on which the noise is drawn
        factors = np.where(weights == 1.0, 1024.0, 1449.0)
        return float(np.linalg.norm(change * factors)) / scale
    return float(np.linalg.norm(change[:-1])) / scale


def _loss(
    manifold: Manifold,
    one: np.ndarray,
    other: np.ndarray,
    noise: PureNoise,
    *,
    replaces: bool,
    rng: np.random.Generator,
    ends: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    budget: type[Filter] = Filter,
) -> tuple[float, float]:
    """Loss along a path that one of two data sets takes, and what the path spent."""
    a, b = RecordSums(manifold, one, ends[0]), RecordSums(manifold, other, ends[1])
    units = len(one) if ends[0] is None else len(ends[0]) - 1
    search = Search(a.geometry, noise, units if replaces else None)
    search.budget = budget(noise.budget, 1)
    law, total = _Law(rng), 0.0
    requests = search.run()
    request = next(requests)
    try:
        while True:
            exact = a.answer(request), b.answer(request)
            start = start_of(manifold) if request.kind == "start" else None
            weights = np.ones(len(exact[0])) if start is None else start.weights
            bound = a.bound(request, noise, replaces, 1)
            taken = exact[int(rng.integers(2))]
            with _read(law):
                noisy = noise.answered(taken, request, bound, weights, law)  # type: ignore[arg-type]
            total += _moved(request, weights, (exact[0] - exact[1]).astype(float), law)
            request = requests.send(noisy)
    except StopIteration as end:
        return total, end.value.spent


@pytest.mark.parametrize("replaces", [True, False], ids=["replace", "add-remove"])
@pytest.mark.parametrize("spec", SPECS)
def test_no_pair_of_neighbours_loses_more_than_the_budget(spec: str, replaces: bool) -> None:
    manifold, rng = as_manifold(spec), np.random.default_rng(1)
    longest = 0.0
    for _ in range(64):  # by exact sums
        one, other = _pair(manifold, rng, replaces=replaces)
        noise = PureNoise(float(10.0 ** rng.uniform(-1, 2)))
        loss, spent = _loss(manifold, one, other, noise, replaces=replaces, rng=rng)
        assert loss <= spent * (1.0 + 1e-9)
        assert spent <= noise.budget
        longest = max(longest, loss / spent)
    assert longest > 0.6  # the pairs come near what is allowed


@pytest.mark.parametrize("replaces", [True, False], ids=["replace", "add-remove"])
def test_units_of_any_number_of_records_lose_as_one(replaces: bool) -> None:
    manifold, rng = as_manifold("rotations:3"), np.random.default_rng(2)
    for _ in range(40):
        sizes = rng.integers(1, 6, size=12)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        records = _hostile(manifold, int(ends[-1]), rng)
        more = _hostile(manifold, int(rng.integers(1, 9)), rng)
        other, other_ends = records[: ends[-2]], ends[:-1]
        if replaces:
            other = np.concatenate([other, more])
            other_ends = np.append(ends[:-1], len(other))
        both = (ends, other_ends)
        loss, spent = _loss(
            manifold, records, other, PureNoise(30.0), replaces=replaces, rng=rng, ends=both
        )
        assert loss <= spent * (1.0 + 1e-9)


class _Forgetful(Filter):
    """Charges every other share alone."""

    taken = 0

    def take(self, share: float) -> float:
        self.taken += 1
        return super().take(share) if self.taken % 2 else min(share, self.rest)


class _Broken(PureNoise):
    """Bounds times a factor, for some kinds of sums."""

    def __init__(self, budget: float, kinds: tuple[str, ...], factor: float) -> None:
        super().__init__(budget)
        self.kinds, self.factor = kinds, factor

    def bound(self, kind: Any, geometry: Any, replaces: bool, changed: int = 1) -> float:
        whole = super().bound(kind, geometry, replaces, changed)
        return whole * (self.factor if kind in self.kinds else 1.0)


BROKEN: dict[str, tuple[PureNoise, type[Filter]]] = {
    "counts for nothing": (_Broken(100.0, ("histogram",), 0.02), Filter),
    "half the bound": (_Broken(100.0, ("start", "histogram", "round"), 0.5), Filter),
    "counts of add or remove": (_Broken(100.0, ("histogram",), 0.5), Filter),
    "rounds of add or remove": (_Broken(100.0, ("round",), 0.5), Filter),
    "a block that is not paid": (PureNoise(100.0), _Forgetful),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_attack_finds_broken_searches(name: str) -> None:
    manifold, rng = as_manifold("sphere:2"), np.random.default_rng(1)
    noise, budget = BROKEN[name]
    worst = 0.0
    for _ in range(200):  # by exact sums
        point = manifold.random_point(rng=rng)
        one = np.repeat(point[None], 60, axis=0)
        other = one.copy()
        other[0] = -point
        loss, spent = _loss(manifold, one, other, noise, replaces=True, rng=rng, budget=budget)
        worst = max(worst, loss / spent)
    assert worst > 1.05


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_odds_of_counts_are_those_of_the_budget(epsilon: float) -> None:
    """Exact odds of counts of replaced records: e^epsilon is reached, and twice it by the control.

    A record moves from one bin to the next. P(a, b) is proportional to q^(|a - n| + |b - m|).
    """
    noise = PureNoise(epsilon)
    line = RecordSums(as_manifold("euclidean:1"), np.zeros((1, 1)), None)
    request = Request("histogram", epsilon, np.zeros(1), levels=np.array([2.0, 1.0]))
    for factor, most in ((1.0, epsilon), (0.5, 2.0 * epsilon)):
        law = _Law(np.random.default_rng(0))
        bound = factor * noise.bound("histogram", line.geometry, True)
        noise.answered(line.answer(request), request, bound, np.ones(2), law)  # type: ignore[arg-type]
        rate = 1.0 / law.asked[0][1] * 2.0**20  # of one unit
        cells = [(a, b) for a in range(-9, 12) for b in range(-9, 12)]
        losses = [
            rate * abs(abs(a) + abs(b - 1) - abs(a - 1) - abs(b))  # (0, 1) against (1, 0)
            for a, b in cells
        ]
        assert max(losses) == pytest.approx(most, rel=1e-9)
        assert max(losses) <= most


@pytest.mark.parametrize("large", [0, 2**40 - 3, 2**52 + 1, 2**61 + 12345, -(2**60) - 7])
def test_a_noisy_sum_is_a_function_of_sum_and_noise_alone(large: int) -> None:
    """Sums are split where doubles end: what is joined again is the exact sum's nearest double."""
    rotations = as_manifold("rotations:3")
    start = start_of(rotations)
    assert start is not None
    noise, request = PureNoise(1.0), Request("start", 1.0)
    kicks = np.random.default_rng(3).integers(-(2**38), 2**38, size=len(start.weights))

    class _Kick:
        def add_on_grid(self, stream: Any, step: float, vectors: np.ndarray) -> None:
            vectors[0] += kicks

    total = np.full(len(start.weights), large) + np.arange(len(start.weights))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pure, "flat_law", lambda *law: _Kick())
        bound = noise.bound("start", RecordSums(rotations, np.eye(3)[None], None).geometry, True)
        noisy = noise.answered(total, request, bound, start.weights, None)  # type: ignore[arg-type]
    factors = [1024 if weight == 1.0 else 1449 for weight in start.weights]
    for got, exact, kick, factor in zip(noisy, total, kicks, factors, strict=True):
        assert got == float(Fraction(int(exact) * factor + int(kick), factor))


def test_the_lattice_of_matrices_is_as_wide_as_its_norm() -> None:
    """Entries off the diagonal count twice: 1449/1024 is more than the root of 2, and paid for."""
    assert Fraction(1449, 1024) ** 2 > 2
    rotations = as_manifold("rotations:3")
    geometry = RecordSums(rotations, np.eye(3)[None], None).geometry
    start = start_of(rotations)
    assert start is not None
    paid = PureNoise(1.0).bound("start", geometry, False)
    off = np.zeros(len(start.weights))
    off[start.weights == 2.0] = start.bounds[0] / math.sqrt(2.0 * (start.weights == 2.0).sum())
    assert float(start.weights @ off**2) == pytest.approx(start.bounds[0] ** 2)
    assert np.linalg.norm(off * 1449.0 / 1024.0) == pytest.approx(paid, rel=1e-12)
    assert np.linalg.norm(off * 1449.0 / 1024.0) > start.bounds[0]  # unpaid without the factor


@pytest.mark.parametrize("spec", ["sphere:1", "sphere:3", "torus:3", "so:3", "unitary:1"])
def test_vectors_are_paid_for_without_their_constant(spec: str) -> None:
    manifold = as_manifold(spec)
    start = start_of(manifold)
    assert start is not None
    geometry = RecordSums(manifold, manifold.random_point(2, rng=0), None).geometry
    longest = Fraction(start.bounds[0]) ** 2 - Fraction(start.unit) ** 2  # of vectors, squared
    add, replace = (PureNoise(1.0).bound("start", geometry, own) for own in (False, True))
    assert replace == 2.0 * add
    assert Fraction(add) ** 2 >= longest * (1 - Fraction(1, 2**48))
    assert add < start.bounds[0]
    for point in manifold.random_point(50, rng=1):
        total = RecordSums(manifold, point[None], None).answer(Request("start", 1.0))
        assert total[-1] == start.unit
        assert sum(int(entry) ** 2 for entry in total[:-1]) <= longest


def test_noise_has_the_length_and_deviation_that_plans_say() -> None:
    request, noise = Request("round", 1.0, np.zeros(3), 1.0), PureNoise(1.0)
    rows = []
    for number in range(4000):
        stream = _core.Stream.from_key(bytes([9] * 32), number)
        rows.append(noise.answered(np.zeros(4, np.int64), request, 2.0**20, np.ones(4), stream))
    drawn = np.array(rows) / 2.0**20
    assert (drawn[:, 3] == 0.0).all()
    length = np.linalg.norm(drawn[:, :3], axis=1)
    assert length.mean() == pytest.approx(noise.unit_length(3), rel=0.06)  # 6.6 deviations
    deviation = drawn[:, :3].std()
    assert deviation == pytest.approx(noise.unit_deviation(3), rel=0.08)
    assert length.mean() != pytest.approx(noise.unit_length(4), rel=0.2)


def test_counts_have_the_deviation_that_is_told() -> None:
    noise, level = PureNoise(1.0), np.array([4.0, 2.0, 1.0, 0.5])
    request = Request("histogram", 0.5, np.zeros(1), levels=level)
    whole = []
    for number in range(4000):
        stream = _core.Stream.from_key(bytes([8] * 32), number)
        exact = np.full(4, 5 * 2**20)
        noisy = noise.answered(exact, request, 2.0**20, np.ones(4), stream)
        whole.append(noise.tails(noisy, level, 2.0**20, 0.5))
    counts = np.array([tails.count for tails in whole])
    np.testing.assert_allclose(counts.mean(axis=0), [5.0, 10.0, 15.0, 20.0], atol=0.6)
    np.testing.assert_allclose(counts.std(axis=0), whole[0].deviation, rtol=0.09)
    assert whole[0].deviation[0] == pytest.approx(math.sqrt(2.0) / 0.5)
