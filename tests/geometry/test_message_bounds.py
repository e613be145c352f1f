"""No message is longer than its public bound, and no two differ by more than theirs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import curvedp
from manifold_list import CASES, FRAMES, SMALL, Case
from message_cases import base_of, core, hostile
from reference.messages import norm_squared
from reference.twin import Array

Integers = NDArray[np.int64]
BINS = 16
PROJECTED = [
    case
    for case in CASES
    if case.name.startswith(("projective", "rotations", "kendall", "grassmann"))
    and case.manifold.point_size < 40
]


def sender(case: Case) -> Callable[..., dict[str, Integers]]:
    """What one unit, a record or some of them, sends in sums of every kind."""
    kernels, base = case.manifold.kernels, base_of(case)
    has_start = core().start_bound(kernels) is not None
    has_scale = case.name.startswith(("spd", "hpd"))

    def send(rows: Array, ends: Any = None) -> dict[str, Integers]:
        sums = core().MessageSums(kernels, np.atleast_2d(rows), ends)
        found = {"round": sums.round(base, 0.5), "tail": sums.tail(base, 1.0, BINS)}
        if has_start:
            found["start"] = sums.start()
        if has_scale:
            found["scale"] = sums.scale(BINS)
        return found

    return send


def of_each(case: Case, rows: Array) -> dict[str, Integers]:
    """The messages of each row."""
    sent = list(map(sender(case), rows))
    return {kind: np.array([each[kind] for each in sent]) for kind in sent[0]}


def bound(case: Case, kind: str) -> tuple[float, float, Any]:
    """Longest message, largest difference, weights."""
    if kind == "round":
        largest = float(core().ROUND_BOUND)
        return largest, 2 * largest, None
    if kind == "start":
        add, replace, _, weights = core().start_bound(case.manifold.kernels)
        return add, replace, weights
    return *core().tail_bound(BINS), None


def longest(messages: Integers, weights: Any) -> int:
    """The largest squared length, exactly: each is below 2^63."""
    assert np.abs(messages).max() < 2**26
    squares = messages * messages * (1 if weights is None else weights)
    assert np.abs(squares.astype(float).sum(axis=1)).max() < 2.0**62
    return int(squares.sum(axis=1).max())


@pytest.mark.parametrize("count", [10_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_no_message_of_a_hostile_record_is_too_long(case: Case, count: int) -> None:
    """Control: a bound that is a hundredth smaller is exceeded."""
    chunk, most = 10_000, dict[str, int]()
    for part in range(count // chunk):
        for kind, sent in of_each(case, hostile(case, chunk, seed=100 + part)).items():
            most[kind] = max(most.get(kind, 0), longest(sent, bound(case, kind)[2]))
    for kind, square in most.items():
        add = Fraction(bound(case, kind)[0])
        assert square <= add**2, kind
        assert square > (Fraction(99, 100) * add) ** 2, kind


def population(case: Case) -> dict[str, Integers]:
    """Messages of hostile records, of points on both sides of the base, and of units."""
    rng = np.random.default_rng(11)
    base = base_of(case).reshape(case.twin.point_shape)
    reach = 0.9 * min(case.twin.injectivity_radius, 2.0)
    rows = [hostile(case, 300), base.reshape(1, -1)]
    for _ in range(20):
        vector = reach * case.twin.random_unit_vector(rng, base)
        ends = [case.twin.exp(sign * vector, base) for sign in (-1.0, 1.0)]
        rows.append(np.array(ends).reshape(2, -1))
    points = np.concatenate(rows)
    send = sender(case)
    sent = list(map(send, points))
    bad = np.full_like(points[:1], np.nan)
    for k in range(100):
        some = points[rng.integers(len(points), size=1 + k % 4)]
        own = np.concatenate([some, bad] if k % 3 == 0 else [some])
        sent.append(send(own, np.array([0, len(own)])))
    sent += [send(far.reshape(1, -1)) for far in opposite(case)]
    return {kind: np.array([each[kind] for each in sent]) for kind in sent[0]}


def opposite(case: Case) -> Array:
    """Points whose embeddings are as far apart as any, where there is such a pair."""
    eye = np.eye(*case.twin.point_shape[:2]) if len(case.twin.point_shape) > 1 else np.eye(2)
    kind = case.name.partition(":")[0]
    if kind == "sphere":
        pole = np.eye(case.manifold.dim + 1)[0]
        return case.manifold.radius * np.array([pole, -pole])
    if kind == "projective":
        return np.eye(case.manifold.dim + 1)[:2]
    if kind == "torus":
        return np.array([np.zeros(case.manifold.dim), np.full(case.manifold.dim, -np.pi)])
    if kind == "rotations":
        return np.array([eye, np.diag([1.0, -1.0, -1.0])])
    if kind == "grassmann":
        return np.array([eye, eye[::-1]])
    if kind in FRAMES:
        return np.array([case.manifold.origin, -case.manifold.origin])
    if kind == "kendall":
        k = case.twin.point_shape[0]
        angles = 2 * np.pi * np.arange(k) / k
        polygon = np.stack([np.cos(angles), np.sin(angles)], -1) / np.sqrt(k)
        return np.array([polygon, polygon * [1.0, -1.0]])
    return np.empty((0, *case.twin.point_shape))


def farthest(sent: Integers, weights: Any) -> int:
    """The largest squared distance of two messages, exactly."""
    weighted = sent if weights is None else sent * weights
    gram = sent @ weighted.T  # every entry and partial sum is below 2^63
    squares = np.diag(gram)
    i, j = np.unravel_index(np.argmax(squares[:, None] + squares - 2 * gram), gram.shape)
    return norm_squared(sent[i] - sent[j], weights)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_no_two_messages_differ_by_more_than_their_bound(case: Case) -> None:
    """Control: rounds and starts exceed a fiftieth less, columns the bound on a single one."""
    for kind, sent in population(case).items():
        add, replace, weights = bound(case, kind)
        square = farthest(sent, weights)
        assert square <= Fraction(replace) ** 2, kind
        if kind in ("tail", "scale"):
            assert square > Fraction(add) ** 2, kind
        else:
            assert square > (Fraction(98, 100) * Fraction(replace)) ** 2, kind


@pytest.mark.parametrize("case", PROJECTED, ids=repr)
def test_projectors_have_no_negative_inner_product(case: Case) -> None:
    """Control: without their part along the identity orthogonal ones have."""
    rows = np.concatenate([hostile(case, 300), opposite(case).reshape(2, -1)])
    sent, weights = of_each(case, rows)["start"], bound(case, "start")[2]
    gram = sent @ (sent * weights).T
    assert gram.min() >= 0
    traces = sent[:, weights == 1].sum(axis=1) / 2**12
    along = np.outer(traces, traces) / (weights == 1).sum()
    assert (gram / 2**24 - along).min() < -(2**20)


@pytest.mark.parametrize(
    ("space", "orders", "length", "slack"),
    [
        (curvedp.Sphere, range(90_000, 91_000), 2**24, 8),
        (curvedp.Projective, range(900, 1000), 2**12, 4),
    ],
)
def test_rounding_never_makes_a_good_record_too_long(
    space: Callable[..., Any], orders: range, length: int, slack: int
) -> None:
    """Equal entries that are all rounded up: control: without room for it they are too long."""

    def is_too_long(order: int) -> bool:
        return order * round((length - slack) / order**0.5) ** 2 > length**2

    order = next(filter(is_too_long, orders))
    kernels = space(order - 1).kernels
    sent = core().MessageSums(kernels, np.full((1, order), order**-0.5), None).start()
    add, _, unit, weights = core().start_bound(kernels)
    assert (0.98 * add) ** 2 < norm_squared(sent, weights) <= add**2
    assert unit > 0.4 * add


@pytest.mark.parametrize(
    "spec",
    ["so:33", "unitary:16", "torus:1000", "kendall:60", "grassmann:60:30", "grassmann:60:59"],
)
def test_large_points_are_almost_as_long_as_their_bound(spec: str) -> None:
    space = curvedp.as_manifold(spec)
    points = space.random_point(20, rng=np.random.default_rng(12)).reshape(20, -1)
    add, _, _, weights = core().start_bound(space.kernels)
    for point in points:
        sent = core().MessageSums(space.kernels, point[None], None).start()
        assert (0.98 * add) ** 2 < norm_squared(sent, weights) <= add**2


def test_bounds_are_above_their_squares_by_less_than_their_rounding() -> None:
    for bins in (1, 2, 64, 80, 277, 400, 1000, 4096):
        square = norm_squared(core().square_root_column(bins))
        add, replace = core().tail_bound(bins)
        assert square <= Fraction(add) ** 2 <= square * (1 + Fraction(1, 2**48))
        assert square <= Fraction(replace) ** 2 < 2 * square


def test_no_two_columns_differ_by_more_than_their_bound() -> None:
    for bins in (16, 80, 277):
        column = core().square_root_column(bins)
        columns = np.array([np.append(np.zeros(j, dtype=int), column)[:bins] for j in range(bins)])
        add, replace = core().tail_bound(bins)
        apart = farthest(columns, None)
        assert apart <= Fraction(replace) ** 2 <= apart * (1 + Fraction(1, 2**15))
        assert farthest(columns, None) > Fraction(add) ** 2
        assert longest(columns, None) <= Fraction(add) ** 2
