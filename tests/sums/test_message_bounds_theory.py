"""How far a message moves a sum (docs/proofs/sums-of-messages.md, 1 and 2), in exact integers."""

from __future__ import annotations

from itertools import pairwise
from math import isqrt

import numpy as np
import pytest

#: Longest message, and the slack that a round leaves for rounding.
K, SLACK = 2**24, 8


def squared(vector):
    return sum(int(a) ** 2 for a in vector)


def towards_zero(total, count):
    return [abs(int(a)) // count * (1 if a >= 0 else -1) for a in total]


def unit_message(messages):
    """The mean of the messages of a unit's records, every entry cut to an integer towards 0."""
    total = [sum(int(a) for a in column) for column in zip(*messages, strict=True)]
    return towards_zero(total, len(messages))


# ---- rounds: the free coordinate


def round_message(z):
    """(z, root of what is left of K²), or zeros if z is too long."""
    rest = K * K - squared(z)
    if rest < 0:
        return [0] * (len(z) + 1)
    return [*map(int, z), isqrt(rest)]


def vectors(rng, dim, count):
    """Integer vectors of all lengths from 0 to K, along axes, at the rim and beyond it too."""
    directions = rng.standard_normal((count, dim))
    directions[::5] = np.eye(dim)[rng.integers(dim, size=len(directions[::5]))]
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    reach = rng.choice([0.0, 1e-6, 0.5, 1.0, 1.0 + 1e-7], size=(count, 1))
    return np.rint(directions / lengths * reach * K).astype(np.int64)


@pytest.mark.parametrize("dim", [1, 2, 6, 36])
def test_the_free_coordinate_is_free(dim):
    z = vectors(np.random.default_rng(dim), dim, 2000)
    messages = [round_message(row) for row in z]
    assert max(map(squared, messages)) <= K * K
    for first, second in pairwise(messages):
        assert squared(np.subtract(first, second)) <= 4 * K * K
    # nearly all of it is reached, so the coordinate has taken nothing away
    assert max(squared(np.subtract(a, b)) for a, b in pairwise(messages)) > 2 * K * K


def test_its_sign_would_be_free_too():
    rng = np.random.default_rng(3)
    for row in vectors(rng, 3, 500):
        *z, root = round_message(row)
        assert squared([*z, -root]) <= K * K
        assert squared(np.subtract([*z, root], [*z, -root])) <= 4 * K * K


@pytest.mark.parametrize(
    "coordinate",
    [
        lambda z: K,
        lambda z: isqrt(K * K - squared(z)) + 1,
        lambda z: K - isqrt(squared(z)) // 2,
    ],
    ids=["a constant", "a root rounded up", "half of the length"],
)
def test_other_coordinates_are_not(coordinate):
    z = [row for row in vectors(np.random.default_rng(4), 3, 500) if squared(row) <= K * K]
    assert max(squared(row) + coordinate(row) ** 2 for row in z) > K * K


@pytest.mark.parametrize("dim", [1, 3, 10, 96, 1000])
def test_the_check_acts_on_nothing_that_was_computed_well(dim):
    """A cut logarithm is at most R (1 + 1e-12) long when it is rounded to integers."""
    rng = np.random.default_rng(dim)
    for _ in range(200):
        v = rng.standard_normal(dim) * np.exp(rng.uniform(-5, 5, dim))
        v *= (1 + 1e-12) / np.linalg.norm(v)
        z = np.rint(v * (K - SLACK * dim)).astype(np.int64)
        assert 0.99 * K * K < squared(z) <= K * K


def test_a_round_is_read_off_with_its_own_factor():
    """In 1,000 dimensions K in place of K - 8d makes a step 5e-4 too short."""
    dim = 1000
    v = np.random.default_rng(7).standard_normal(dim)
    v /= np.linalg.norm(v)
    z = np.rint(v * (K - SLACK * dim))
    assert abs(z @ v / (K - SLACK * dim) - 1) < 1e-6
    assert z @ v / K - 1 < -4e-4


# ---- units


def test_a_unit_is_no_longer_than_its_records():
    rng = np.random.default_rng(8)
    for _ in range(300):
        messages = [round_message(row) for row in vectors(rng, 3, int(rng.integers(1, 30)))]
        assert squared(unit_message(messages)) <= K * K


def test_a_mean_rounded_to_nearest_can_be_longer():
    small, messages = 5, [(4, 3), (3, 4)]
    total = np.sum(messages, axis=0)
    assert max(map(squared, messages)) <= small**2 < squared(np.rint(total / 2))
    assert squared(unit_message(messages)) <= small**2


def test_units_with_a_constant_move_no_further_than_one_record():
    """Records that are no points make a unit's constant smaller: (w, a), K_x = 2²⁴, a = 2²³."""
    rng = np.random.default_rng(9)
    directions = [np.array([K, 0, 0]), np.array([-K, 0, 0]), np.array([0, 0, K])]
    worst = 0
    for _ in range(500):
        units = []
        for side in (0, 1):
            count = int(rng.integers(1, 50))
            points = int(rng.integers(max(0, count - 2), count + 1))
            record = directions[side] if rng.random() < 0.8 else directions[2]
            units.append(unit_message([[*record, K // 2]] * points + [[0] * 4] * (count - points)))
        worst = max(worst, squared(np.subtract(*units)))
    assert worst == 4 * K * K


# ---- projectors


def outer(w):
    """Entries of w w* as integers: the diagonal, and those off it once; and their weights.

    The last axis of w has one number, or a real and an imaginary part.
    """
    entries, weights = [], []
    w = np.asarray(w, int)
    for i, a in enumerate(w):
        for j, b in enumerate(w[: i + 1]):
            entries.append(int(a @ b))
            weights.append(1 if i == j else 2)
            if i != j and len(a) == 2:
                entries.append(int(a[1] * b[0] - a[0] * b[1]))
                weights.append(2)
    return entries, weights


def weighted(entries, weights):
    return sum(w * int(a) ** 2 for a, w in zip(entries, weights, strict=True))


def within(w, longest):
    """w, shortened to integers of length at most `longest`."""
    return np.trunc(w * min(1.0, longest / np.linalg.norm(w))).astype(int)


def drawn(rng, order, parts, longest):
    """Integer vectors, some entries far smaller than others."""
    w = rng.standard_normal((order, parts)) * np.exp(3 * rng.standard_normal((order, 1)))
    return within(w * 1e9, longest)


def projector_distance(first, second):
    (a, weights), (b, _) = outer(first), outer(second)
    assert max(weighted(a, weights), weighted(b, weights)) <= K * K
    return weighted(np.subtract(a, b), weights)


def vector_distance(first, second):
    """Of the vectors themselves, in units in which they are as long as projectors are."""
    return squared((first - second).ravel()) * 2**24


def farthest(distance, rng, order, parts):
    """The largest squared distance that a search by random steps finds."""
    largest = 0
    for _ in range(20):
        pair = [drawn(rng, order, parts, 2**12) for _ in range(2)]
        best = distance(*pair)
        for _ in range(60):
            other = [
                w if rng.random() < 0.3 else within(w + 500 * rng.standard_normal(w.shape), 2**12)
                for w in pair
            ]
            if distance(*other) > best:
                pair, best = other, distance(*other)
        largest = max(largest, best)
    return largest


@pytest.mark.parametrize("parts", [1, 2], ids=["real", "complex"])
@pytest.mark.parametrize("order", [2, 4, 9])
def test_projectors_move_a_sum_by_root_two(order, parts):
    rng = np.random.default_rng(10 * order + parts)
    assert 1.9 * K * K < farthest(projector_distance, rng, order, parts) <= 2 * K * K
    # the control: inner products of vectors may be negative
    assert farthest(vector_distance, rng, order, parts) > 2.2 * K * K


def test_entries_off_the_diagonal_count_twice():
    """Half the variance on them fits the length with weights; the plain length is too short."""
    entries, weights = outer([[2896], [2896]])
    opposite, _ = outer([[2896], [-2896]])
    moved = np.subtract(entries, opposite)
    variances = [1 / w for w in weights]
    in_deviations = sum(int(a) ** 2 / v for a, v in zip(moved, variances, strict=True))
    assert 1.99 * K * K < in_deviations == weighted(moved, weights) <= 2 * K * K
    plain = max(squared(entries), squared(opposite))
    assert in_deviations > 2.6 * plain  # so √2 of the plain length would be too little


FIRST = [1, 4095, 90, 9, 3, 0, 0, 0]
VARIANT = [0, 4095, 90, 9, 3, 0, 0, 0]
SECOND = [4095, -1, 0, 0, 0, 90, 9, 3]


def test_cut_means_of_projectors_may_have_a_negative_inner_product():
    """Root two alone is no bound for units: the example of section 2."""
    (first, weights), (variant, _), (second, _) = (
        outer(np.array(w)[:, None]) for w in (FIRST, VARIANT, SECOND)
    )
    unit = towards_zero([19_999 * a + b for a, b in zip(first, variant, strict=True)], 20_000)
    assert weighted(unit, weights) <= K * K
    assert weighted(second, weights) == K * K
    inner = sum(w * a * b for a, b, w in zip(unit, second, weights, strict=True))
    assert inner == -16_760_835
    moved = weighted(np.subtract(unit, second), weights)
    assert moved == 2 * K * K + 33_504_889
    # (√2 K + √Σw)², its mixed term rounded down
    assert moved <= 2 * K * K + isqrt(8 * K * K * sum(weights)) + sum(weights)


@pytest.mark.parametrize("parts", [1, 2], ids=["real", "complex"])
def test_units_of_projectors_keep_the_wider_bound(parts):
    """Units whose records differ by a step in some entries, which is where cutting moves most."""
    rng = np.random.default_rng(12 + parts)
    order, short = 4, 8  # short, so that a unit in the last place is no small part of the length
    negative = 0
    for _ in range(500):
        units = []
        for _ in range(2):
            w = drawn(rng, order, parts, short)
            steps = rng.integers(-1, 2, size=(int(rng.integers(1, 9)), order, parts))
            records = [r for r in w + steps if squared(r.ravel()) <= short**2] or [w]
            units.append(unit_message([outer(r)[0] for r in records]))
            weights = outer(w)[1]
            assert weighted(units[-1], weights) <= short**4
        room = 2 * short**4 + isqrt(8 * short**4 * sum(weights)) + sum(weights)
        assert weighted(np.subtract(*units), weights) <= room
        negative += sum(w * a * b for a, b, w in zip(*units, weights, strict=True)) < 0
    assert negative > 0  # the search finds matrices that are not positive semidefinite
    assert sum(weights) == (order**2 if parts == 1 else 2 * order**2 - order)
