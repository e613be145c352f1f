"""A mean on S² from sums of messages, the plain way, and what neighbours can see of it.

Every outcome is revealed: start, tail counts, rounds, with shares that depend on what came before
and a stop when the count is low (docs/proofs/sums-of-messages.md, 1 to 3). As noise is normal, the
privacy loss of a sequence of outcomes is known exactly.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

K, BINS = 2**24, 64
DEVIATIONS = 6.5  # of means of draws that are seeded: 4e-11


@cache
def table():
    b = [1.0]
    for k in range(1, BINS):
        b.append(b[-1] * (2 * k - 1) / (2 * k))
    c = [round(2**20 * x) for x in b]
    return np.array([[0] * j + c[: BINS - j] for j in range(BINS)], dtype=np.int64)


@cache
def bounds(relation):
    """How far start, counts and a round move; several records a unit under replace."""
    columns = table().astype(float)
    longest = math.sqrt((columns[0] ** 2).sum())
    widest = math.sqrt(max(((columns[0] - c) ** 2).sum() for c in columns))
    if relation == "add-remove":
        return {"start": K * math.sqrt(1.25), "counts": longest, "round": K}
    return {"start": 2 * K, "counts": widest + math.sqrt(BINS), "round": 2 * K}


def root(numbers):
    """Integer square roots of integers below 2⁴⁹, rounded down."""
    found = np.sqrt(numbers).astype(np.int64)
    return found - (found * found > numbers)


def messages(question, records):
    """Messages of records, integers: one row each; a row that is no point sends zeros."""
    kind, p, radius = question
    x = np.where(np.isfinite(records), records, 0.0)
    length = np.linalg.norm(x, axis=1)
    bad = ~np.isfinite(records).all(axis=1) | (length == 0)
    x = x / np.where(bad, 1.0, length)[:, None]
    if kind == "start":
        w = np.rint(x * (K - 8)).astype(np.int64)
        w = np.column_stack([w, np.full(len(w), K // 2)])
        limit = K * K + K * K // 4
    else:
        frame = np.linalg.svd(p[None])[2][1:]
        across = x @ frame.T
        sine = np.linalg.norm(across, axis=1)
        t = np.arctan2(sine, x @ p)
        if kind == "counts":
            steps = 4 * np.log2(math.pi / np.maximum(t, 1e-12))
            w = table()[np.clip(np.floor(steps), 0, BINS - 1).astype(int)]
            limit = int((table()[0] ** 2).sum())
        else:
            cut = np.minimum(t, radius) / np.where(sine > 0, sine, 1.0)
            z = np.rint(across * (cut * (K - 16) / radius)[:, None]).astype(np.int64)
            z[(z**2).sum(axis=1) > K * K] = 0
            w = np.column_stack([z, root(K * K - (z**2).sum(axis=1))])
            limit = K * K
    w[bad | ((w**2).sum(axis=1) > limit)] = 0
    return w


def total(question, units):
    """The sum of all units' messages, a unit's being the mean of its records', cut towards 0."""
    if not units:
        return np.zeros({"start": 4, "counts": BINS, "round": 3}[question[0]], dtype=np.int64)
    sizes = np.array([len(records) for records in units])
    ends = np.cumsum(sizes)
    sums = np.add.reduceat(messages(question, np.concatenate(units)), ends - sizes)
    return (np.sign(sums) * (np.abs(sums) // sizes[:, None])).sum(axis=0)


def next_question(mu, outcomes, relation):
    """(question, share) that follows from the outcomes, or None to stop."""
    left = math.sqrt(max(mu**2 - math.fsum(share**2 for _, share, _ in outcomes), 0.0))
    if not outcomes:
        return ("start", None, None), min(0.3 * mu, left)
    _, first_share, start = outcomes[0]
    p = start[:3] / max(np.linalg.norm(start[:3]), 1e-300)
    count, radius, rounds = start[3] / (K // 2), None, 0
    if count < math.sqrt(5) / first_share:
        return None
    for (kind, _, _), share, outcome in outcomes[1:]:
        if kind == "counts":
            tails = _tails(outcome)
            count = tails[-1]
            few = np.flatnonzero(tails <= max(2 * 2.39 / share, 0.02 * count))
            radius = math.pi * 2 ** -((few[-1] + 1 if len(few) else 0) / 4)
        else:
            rounds += 1
            p = _moved(p, outcome[:2] * radius / (K - 16) / max(count, 1.0), radius)
    if radius is None:
        share = mu * min(0.4, max(0.2, 18 / max(count * mu, 1.0)))
        return ("counts", p, None), min(share, left)
    if count < 5 * 2.39 / outcomes[1][1] or left < 1e-6 * mu:
        return None
    if rounds < 2 and np.linalg.norm(outcomes[-1][2][:2]) > 0.3 * K * count:
        return ("round", p, radius), min(0.3 * mu, left)
    return ("round", p, radius), left


def _tails(outcome):
    b = table()[0] / 2**20
    return np.convolve(b, outcome)[:BINS] / 2**20


def _moved(p, step, longest):
    frame = np.linalg.svd(p[None])[2][1:]
    length = np.linalg.norm(step)
    step = step * min(1.0, longest / max(length, 1e-300))
    length = np.linalg.norm(step)
    v = step @ frame
    q = math.cos(length) * p + (math.sin(length) / length if length else 1.0) * v
    return q / np.linalg.norm(q)


def run(units, neighbours, mu, rng, relation, unpaid=0.0, scale=1.0):
    """Outcomes drawn from `units`; squared distance in deviations to `neighbours`; the loss."""
    outcomes, squares, loss = [], 0.0, 0.0
    following = next_question(mu, outcomes, relation)
    while following is not None:
        question, share = following
        steps = [share] + ([unpaid] if unpaid and question[0] == "round" else [])
        here, there = total(question, units), total(question, neighbours)
        for number, paid in enumerate(steps):
            sigma = scale * bounds(relation)[question[0]] / paid
            noise = sigma * rng.standard_normal(len(here))
            moved = (here - there) / sigma
            squares += float(moved @ moved)
            loss += float(moved @ (noise / sigma) + moved @ moved / 2)
            if number == 0:
                outcomes.append((question, share, here + np.rint(noise)))
        following = next_question(mu, outcomes, relation)
    return outcomes, squares, loss


def data(rng, count, spread):
    records = [0.0, 0.0, 1.0] + spread * rng.standard_normal((count, 3))
    return records / np.linalg.norm(records, axis=1, keepdims=True)


HOSTILE = [
    [[0.0, 0.0, -1.0]],
    [[1.0, 0.0, 0.0]],
    [[math.nan, 0.0, 1.0]],
    [[0.0, 0.0, 0.0]],
    [[1e-300, 0.0, 0.0]],
    [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 1.0, math.inf]],
    [[0.0, 0.0, 1.0]] * 3 + [[0.0, 1e-9, -1.0]],
]


def pair(rng, relation):
    """Neighbouring data sets of units, one of them with a hostile unit."""
    units = [
        row[None] for row in data(rng, int(rng.integers(0, 150)), rng.choice([0.01, 0.3, 2.0]))
    ]
    first = np.array(HOSTILE[rng.integers(len(HOSTILE))])
    if relation == "add-remove":
        both = [units, [*units, first]]
    else:
        both = [[*units, np.array(HOSTILE[rng.integers(len(HOSTILE))])], [*units, first]]
    return both[:: int(rng.choice([1, -1]))]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_outcomes_are_farther_apart_than_the_share(relation):
    rng = np.random.default_rng(len(relation))
    kinds, farthest = set(), 0.0
    for _ in range(250):
        mu = float(rng.choice([0.3, 1.0, 3.0]))
        outcomes, squares, _ = run(*pair(rng, relation), mu, rng, relation)
        assert squares <= mu**2 * (1 + 1e-9)
        farthest = max(farthest, squares / mu**2)
        kinds.add(tuple(question[0] for question, _, _ in outcomes))
    assert farthest > (0.95 if relation == "add-remove" else 0.6)
    assert {("start",), ("start", "counts"), ("start", "counts", "round")} <= kinds


@pytest.mark.parametrize(
    ("relation", "change"),
    [("add-remove", {"scale": 0.5}), ("add-remove", {"unpaid": 0.5}), ("replace", {"scale": 0.5})],
    ids=["half of K", "a round not counted", "K under replace"],
)
def test_controls_are_farther_apart(relation, change):
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(60):
        _, squares, _ = run(*pair(rng, relation), 1.0, rng, relation, **change)
        worst = max(worst, squares)
    assert worst > 1.1


def profile(losses, epsilon):
    """Mean and deviation of (1 - e^(ε - loss))₊ over outcomes drawn from the first data set."""
    gains = np.maximum(1 - np.exp(np.minimum(epsilon - losses, 0.0)), 0.0)
    return gains.mean(), gains.std() / math.sqrt(len(gains))


@pytest.mark.parametrize("unpaid", [0.0, 0.9], ids=["all paid", "a round not counted"])
def test_losses_of_whole_sequences(unpaid):
    """A record at the far side is added to 60 at the pole: every message moves by all of K."""
    rng = np.random.default_rng(17)
    units = [row[None] for row in data(rng, 60, 0.05)]
    added = [*units, np.array([[0.0, 1e-3, -1.0]])]
    losses = np.array([run(added, units, 1.0, rng, "add-remove", unpaid)[2] for _ in range(800)])
    for epsilon in (0.0, 0.5, 1.0):
        claimed = ndtr(0.5 - epsilon) - math.exp(epsilon) * ndtr(-0.5 - epsilon)
        found, deviation = profile(losses, epsilon)
        if unpaid:
            assert found - DEVIATIONS * deviation > claimed
        else:
            assert found - DEVIATIONS * deviation < claimed < found + DEVIATIONS * deviation
