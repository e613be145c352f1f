"""Whoever knows all earlier outcomes learns from the next sum what its share says, and no more.

Pasts are those that a search comes through, and others that no noise would give: the proof needs
each share, base point and clip level to keep its word for every past. The noise of each sum must be
normal and new, whatever was released before.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import curvedp as cdp
from chance import FAILURE
from curvedp.manifolds import as_manifold
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.privacy import GDP
from curvedp.sums.geometry import geometry_of
from curvedp.sums.messages import Request, start_of
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from many_releases import copies
from sums.test_search_neighbours import SPECS, _pair
from sums.test_search_replay import Listener

Vector = NDArray[np.float64]


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    return Listener(monkeypatch)


# ------------------------------------------------------------------ shares, given any past


def _wild(total: Vector, n: int, rng: np.random.Generator) -> Vector:
    """A noisy sum that noise gives hardly ever, or never."""
    size = len(total)
    match rng.integers(9):
        case 0:
            return np.zeros(size)
        case 1:
            return np.asarray(rng.choice([-1.0, 1.0], size) * 2.0**61)
        case 2:
            return np.rint(rng.standard_normal(size) * 10.0 ** rng.uniform(0, 18))
        case 3:
            return np.full(size, rng.choice([-1.0, 1.0]) * 2.0**62)
        case 4:
            alone = np.zeros(size)
            alone[rng.integers(size)] = 2.0 ** rng.integers(0, 62)
            return alone
        case 5:
            return np.rint(np.abs(rng.standard_normal(size)) * n * 2.0 ** rng.uniform(10, 30))
        case 6:
            return total * rng.choice([-1.0, 1e3, 1e-3])
        case _:  # so that searches get farther
            return total


def _steps(
    search: Search,
    pair: tuple[RecordSums, RecordSums],
    rng: np.random.Generator,
    scale_of: Callable[[float, float], float] = lambda bound, mu: calibrated_scale(
        bound, 0.0, GDP(mu)
    ),
) -> Iterator[tuple[Request, float]]:
    """Requests on a wild way, and how many deviations of its noise apart the neighbours are."""
    steps, bins = search.run(), 1000
    request = next(steps)
    while True:
        one, other = (own.answer(request).astype(np.float64) for own in pair)
        start = start_of(search.geometry.manifold) if request.kind == "start" else None
        weights = np.ones(len(one)) if start is None else start.weights
        bound = pair[0].bound(request, search.noise, search.replaces, search.changed)
        apart = math.sqrt(float(weights @ (one - other) ** 2))
        yield request, apart / scale_of(bound, request.share)
        try:
            request = steps.send(_wild(one, bins, rng))
        except StopIteration:
            return


def _searches(spec: str, replaces: bool, count: int) -> Iterator[tuple[Search, Any, Any]]:
    space, rng = as_manifold(spec), np.random.default_rng(5)
    for number in range(count):
        one, other = _pair(space, rng, replaces=replaces)
        search = Search(
            geometry_of(space),
            GaussianNoise(float(10.0 ** rng.uniform(-3, 3))),
            len(one) if replaces else None,
            clip=None if number % 4 else float(10.0 ** rng.uniform(-10, 10)),
            key_delta=1e-3 if number % 5 == 0 and not replaces else None,
        )
        pair = RecordSums(space, one, None), RecordSums(space, other, None)
        yield search, pair, rng


@pytest.mark.parametrize("replaces", [True, False], ids=["replace", "add-remove"])
@pytest.mark.parametrize("spec", SPECS)
def test_each_sum_keeps_its_share_after_every_past(spec: str, replaces: bool) -> None:
    kinds: dict[str, float] = {}
    for search, pair, rng in _searches(spec, replaces, 48):
        square, mu = 0.0, search.budget.whole
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nor does a past make anything be said
            for request, apart in _steps(search, pair, rng):
                assert apart <= request.share * (1.0 + 1e-9)
                square += request.share**2
                assert square <= mu**2 * (1.0 + 1e-9)
                kinds[request.kind] = max(kinds.get(request.kind, 0.0), apart / request.share)
    assert {"tail", "round"} <= set(kinds)
    assert max(kinds.values()) > 0.6  # they come near what is allowed


@pytest.mark.parametrize("kind", ["start", "tail", "round"])
def test_a_kind_of_sums_with_half_the_noise_is_found(kind: str) -> None:
    worst = 0.0
    for search, pair, rng in _searches("sphere:2", True, 48):
        steps = _steps(
            search, pair, rng, lambda bound, mu: calibrated_scale(bound, 0.0, GDP(2 * mu))
        )
        for request, apart in steps:
            if request.kind == kind:
                worst = max(worst, apart / request.share)
    assert worst > 1.2


# ------------------------------------------------------------------ noise, given what was released


@dataclass
class Way:
    """What was asked of one search, and its noise in deviations."""

    requests: list[Request]
    noise: list[Vector]


def _ways(listener: Listener, space: Any, records: Vector, guarantee: Any, count: int) -> list[Way]:
    """Searches of the same records, by the library: exact sums are subtracted from what it drew."""
    how, rows = copies(count, records)
    replaces = guarantee.neighbours == "replace"
    if not replaces:
        how = {"groups": np.repeat(np.arange(count), len(records)), "keys": np.arange(count)}
    listener.during(lambda: cdp.frechet_mean(rows, space, guarantee, **how))
    sums, found = RecordSums(space, records, None), []
    for heard in listener.heard:
        noise = []
        for request, noisy in heard:
            bound = sums.bound(request, GaussianNoise(1.0), replaces, 1)
            scale = calibrated_scale(bound, 0.0, GDP(request.share))
            start = start_of(space) if request.kind == "start" else None
            weights = np.ones(len(noisy)) if start is None else start.weights
            noise.append((noisy - sums.answer(request)) * np.sqrt(weights) / scale)
        found.append(Way([request for request, _ in heard], noise))
    return found


def _pasts(ways: list[Way]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Events that are known before the noise of a sum is drawn: its clip level, its share, signs.

    How long a search will be is not: of the sums that every search has.
    """
    known = min(len(way.noise) for way in ways)
    for place in range(1, known):
        radii = np.array([way.requests[place].radius for way in ways])
        shares = np.array([way.requests[place].share for way in ways])
        for values in (radii, shares):
            if np.isfinite(values).all() and np.ptp(values) > 0.0:
                yield place, values > np.median(values)
        yield place, np.array([way.noise[place - 1][0] > 0.5 for way in ways])


def _worst(ways: list[Way]) -> float:
    """The least p-value that the noise after a past is standard normal, times their number."""
    p_values: list[float] = []
    for place, event in _pasts(ways):
        for side in (event, ~event):
            later = [way.noise[place] for way, own in zip(ways, side, strict=True) if own]
            if len(later) < 50:
                continue
            noise = np.concatenate(later)
            square = float(noise @ noise)
            p_values.append(float(stats.kstest(noise, "norm").pvalue))
            p_values += [float(own(square, len(noise))) for own in (stats.chi2.sf, stats.chi2.cdf)]
    # and no sum's noise is that of an earlier one, of those sums that every search has
    known = min(len(way.noise) for way in ways)
    first = np.array([np.concatenate([own[:2] for own in way.noise[:known]]) for way in ways]).T
    p_values += [
        float(stats.pearsonr(one, other).pvalue) for one, other in itertools.combinations(first, 2)
    ]
    return min(p_values) * len(p_values)


CASES = {
    "sphere:2": 0.3,
    "spd:2": 1.0,
    "rotations:3": 0.4,
    "euclidean:3": 2.0,
}


@functools.cache
def _records(spec: str) -> Vector:
    space, rng = as_manifold(spec), np.random.default_rng(11)
    center = space.random_point(rng=rng)
    coords = rng.standard_t(3, (150, space.dim)) * CASES[spec] / math.sqrt(space.dim)
    return np.asarray(space.exp(space.coords_to_tangent(coords, center), center))


@pytest.mark.parametrize(
    ("spec", "relation"),
    [
        *(("sphere:2", "replace"), ("sphere:2", "add-remove"), ("spd:2", "replace")),
        *(("rotations:3", "add-remove"), ("euclidean:3", "replace")),
    ],
)
def test_noise_is_new_and_normal_after_every_past(
    spec: str, relation: Any, listener: Listener
) -> None:
    guarantee = cdp.GDP(3.0, neighbours=relation)
    ways = _ways(listener, as_manifold(spec), _records(spec), guarantee, 400)
    assert len(list(_pasts(ways))) > 3
    assert _worst(ways) > FAILURE


def test_noise_that_is_drawn_twice_is_found(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sum of a search draws from the stream of its first one."""
    from curvedp.statistics.group import Group

    stream = Group.stream
    monkeypatch.setattr(Group, "stream", lambda self, stage: stream(self, 0 * stage))
    ways = _ways(listener, as_manifold("sphere:2"), _records("sphere:2"), cdp.GDP(3.0), 400)
    assert _worst(ways) < FAILURE


def test_noise_of_a_scale_that_reads_the_records_is_found(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of which the first entry is large have a fifth less noise."""
    ways = _ways(listener, as_manifold("sphere:2"), _records("sphere:2"), cdp.GDP(3.0), 400)
    for way in ways:
        for place in range(2, len(way.noise)):
            if way.noise[place - 1][0] > 0.5:
                way.noise[place] = 0.8 * way.noise[place]
    assert _worst(ways) < FAILURE
