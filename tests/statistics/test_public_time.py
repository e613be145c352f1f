"""Answers with ``timing="steady"``: the same bits, at times that no record has an influence on."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.regression.private import GeodesicLine
from curvedp.statistics import public_time
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.public_time import (
    KINDS,
    at_public_time,
    at_two_places,
    on_one_side,
    slow_records,
)
from curvedp.statistics.release import release
from manifold_list import CASES
from statistic_list import STATISTICS
from stored_texts import but_for_provenance

BENCHES = Path(__file__).parents[2] / "benches"
SPHERE = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5)
SPD = cdp.Ball(cdp.SPD(2), center="identity", radius=1.0)
WIDE = cdp.Ball(cdp.Hyperboloid(2), center=[1.25, 0.75, 0.0], radius=4.0)
PRODUCT = cdp.ProductBall(SPHERE, SPD)


class Clock:
    """A clock that only work and sleep move on."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0.0
        self.now += max(seconds, 1e-6)


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(public_time, "time", found)
    return found


def records_of(ball, n=40, seed=0):
    """Records in and about a ball."""
    if isinstance(ball, cdp.ProductBall):
        return ball.manifold.join([records_of(factor, n, seed) for factor in ball.factors])
    space, rng = ball.manifold, np.random.default_rng(seed)
    coords = 0.6 * ball.radius * rng.standard_normal((n, space.dim))
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


@pytest.mark.parametrize("ball", [SPHERE, WIDE], ids=["sphere", "wide"])
@pytest.mark.parametrize("own", STATISTICS, ids=repr)
def test_values_are_those_of_a_prompt_answer(own, ball, clock):
    records = records_of(ball)
    sites = np.repeat(["north", "south"], 20)
    for how in ({"seed": 3}, {"secret": cdp.NoiseSecret(bytes(32)), "groups": sites}):
        both = [
            own.call(records, ball, own.guarantee, timing=timing, **how)
            for timing in ("prompt", "steady")
        ]
        alone = [found if "seed" in how else found["south"] for found in both]
        prompt, steady = map(but_for_provenance, alone)
        assert steady == prompt


@pytest.mark.parametrize(
    ("work", "answered"),
    [(0.0, 4.0), (1.0, 4.0), (3.9, 4.0), (4.1, 8.0), (7.9, 8.0), (9.0, 16.0), (100.0, 128.0)],
)
def test_answers_are_given_after_periods_that_double(work, answered, clock):
    def take(seconds):
        clock.now += seconds
        return "answer"

    assert at_public_time(take, iter([0.5, 1.0, 0.25]), work) == "answer"
    assert clock.now == pytest.approx(1.75 + answered, abs=1e-5)


@dataclass(frozen=True)
class Counted(Mean):
    """A mean whose time is the number of its distinct records; notes what it is given."""

    def release(self, paid):
        rows = paid.records.reshape(len(paid.records), -1)
        SEEN.append(paid)
        public_time.time.now += len(np.unique(rows, axis=0)) / len(rows)
        return super().release(paid)


SEEN = []


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


@pytest.mark.parametrize("ball", [SPHERE, PRODUCT], ids=["sphere", "product"])
def test_the_time_of_an_answer_is_the_same_for_neighbours(ball, clock):
    first = np.repeat(records_of(ball, 1), 40, axis=0)
    others = [records_of(ball, seed=1), np.concatenate([first[1:], records_of(ball, 1, seed=2)])]

    def time_of(records, timing):
        start = clock.now
        if ball is PRODUCT:  # the statistic of its factors
            release(Counted(), records, ball, cdp.GDP(1.0), timing=timing)
        else:
            release(Counted(), records, ball, cdp.GDP(1.0), timing=timing, groups=[0, 15, 40])
        return clock.now - start

    for other in others:
        assert time_of(other, "steady") == pytest.approx(time_of(first, "steady"), abs=1e-5)
        # control: without it neighbours differ
        assert time_of(other, "prompt") > 1.01 * time_of(first, "prompt")


@pytest.mark.parametrize(
    "how",
    [
        {"ball": SPHERE},
        {"ball": PRODUCT},
        {"ball": SPHERE, "groups": [0, 30, 40]},
        {"ball": [SPHERE, cdp.Ball(SPHERE.manifold, [1.0, 0.0, 0.0], 0.3)], "groups": [0, 30, 40]},
        {"ball": SPD, "units": np.arange(40) // 2},
    ],
    ids=["one", "product", "groups", "balls", "units"],
)
def test_what_is_worked_on_first_is_public(how, clock):
    how = dict(how)
    ball = how.pop("ball")
    first = ball[0] if isinstance(ball, list) else ball
    found = []
    for seed in (1, 2):
        SEEN.clear()
        release(Counted(), records_of(first, seed=seed), ball, cdp.GDP(1.0), timing="steady", **how)
        last = len(SEEN) // (1 + len(KINDS))  # one for each factor of a product
        found.append([paid.records for paid in SEEN[:-last]])
        for public, own in zip(SEEN[:-last], SEEN[-last:] * len(KINDS), strict=True):
            assert public.keys is not own.keys
            assert public.records.shape == own.records.shape
            assert not np.array_equal(public.records, own.records)
            assert np.array_equal(public.offsets, own.offsets)
    assert len(found[0]) >= len(KINDS)
    for a, b in zip(*found, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("x_range", [(2.0, 5.0), ((0.0, 1.0), (-3.0, 7.0))])
def test_covariates_that_are_worked_on_first_are_public(x_range, clock):
    class Line(GeodesicLine):
        def release(self, paid):
            SEEN.append(paid)
            return super().release(paid)

    low, high = np.array(x_range).T
    x = np.random.default_rng(1).uniform(low, high, (40, *low.shape))
    found = []
    for scale in (1.0, 0.5):
        line = Line(x_range)
        release(
            line,
            records_of(SPHERE),
            SPHERE,
            cdp.GDP(9.0),
            covariate=scale * x,
            timing="steady",
            seed=1,
        )
        public, own = SEEN[-2:]
        assert np.array_equal(public.beside, SEEN[-3].beside)
        assert public.beside.shape == own.beside.shape
        assert np.array_equal(own.beside, scale * x)
        assert np.all((low <= public.beside) & (public.beside <= high))
        found.append(public.beside)
    assert np.array_equal(*found)


@pytest.mark.parametrize("space", [case.manifold for case in CASES], ids=lambda space: space.spec)
def test_public_records_are_projected(space):
    radius = min(1.0, 0.9 * space.max_ball_radius)
    ball = cdp.Ball(space, center=space.origin, radius=radius)
    share = {on_one_side: (0.4, 0.6, 1024), at_two_places: (0.0, 0.0, 2)}
    for kind in KINDS:
        least, most, distinct = share[kind]
        records = slow_records(kind, (ball,), np.array([0, 3000]), (3000, *space.point_shape))
        assert records.shape == (3000, *space.point_shape)
        assert least <= ball.contains(records).mean() <= most
        dist = space.dist(ball.project(records), ball.center)
        assert dist.min() > 0.45 * radius  # none is invalid, which would make it the centre
        assert len(np.unique(records.reshape(3000, -1), axis=0)) == distinct


def test_what_tells_the_time_or_is_no_word_is_refused_before_anything_is_spent():
    records = records_of(SPHERE)
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        with pytest.raises(ValueError, match="timing must be"):
            cdp.frechet_mean(records, SPHERE, cdp.GDP(1.0), timing="slow", ledger=ledger)
        with pytest.raises(ValueError, match="progress"):
            cdp.frechet_mean(
                records, SPHERE, cdp.GDP(1.0), timing="steady", progress=print, ledger=ledger
            )
        assert len(ledger.entries) == 0


def test_the_budget_is_spent_once(clock):
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        cdp.frechet_mean(records_of(SPHERE), SPHERE, cdp.GDP(1.0), timing="steady", ledger=ledger)
        assert len(ledger.entries) == 1


def test_the_classifier_tells_times_apart_where_they_differ():
    path = BENCHES / "timing_classifier.py"
    spec = importlib.util.spec_from_file_location("timing_classifier", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1000)
    noise = rng.exponential(1.0, 1000)
    told, low, high = bench.accuracy(noise - 2.0 * labels, labels)
    assert low > 0.8
    assert low < told < high
    told, low, high = bench.accuracy(noise, labels)
    assert low < 0.5 < high
    first, second = bench.pair(SPHERE, 50, "outside")
    assert [int(np.any(a != b)) for a, b in zip(first, second, strict=True)] == [0] * 25 + [1] + (
        [0] * 24
    )
    assert not SPHERE.contains(second[25])
