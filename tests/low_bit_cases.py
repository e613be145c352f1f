"""Neighbouring data sets at which the low bits of a release would tell the most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import AuditResult, low_bits
from curvedp.audit.low_bit_statistics import Values, statistics_of

#: Entries of all records of one call of the library, at most.
_BLOCK = 3_000_000


@dataclass(frozen=True)
class Walk:
    """Data sets 0 to `n` of which two in a row are neighbouring.

    Records are copies of a few points of the ball; in data set k the first k of them have moved
    across the ball.
    """

    ball: Any
    before: np.ndarray
    after: np.ndarray

    def __getitem__(self, k: int) -> np.ndarray:
        return np.concatenate((self.after[:k], self.before[k:]))

    def __len__(self) -> int:
        return len(self.before)


def walk(ball: Any, n: int, seed: int = 0, points: int = 5) -> Walk:
    """A walk of which one step moves the mean by up to the sensitivity."""
    rng = np.random.default_rng(seed)
    manifold = ball.manifold

    def at(coords: np.ndarray) -> np.ndarray:
        return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)

    def lengths(coords: np.ndarray) -> np.ndarray:
        return np.linalg.norm(coords, axis=-1, keepdims=True)

    direction = rng.standard_normal((1, manifold.dim))
    direction /= lengths(direction)
    spread = rng.standard_normal((points, manifold.dim))
    spread /= 5 * lengths(spread)
    copies = np.arange(n) % points
    before, after = (
        at(ball.radius * (spread - 0.75 * direction)),
        at(ball.radius * (spread + 0.75 * direction)),
    )
    return Walk(ball, before[copies], after[copies])


def releases_of(
    ball: Any, guarantee: Any, mechanism: str | None = None, count: int = 2**20
) -> Callable[[np.ndarray], Any]:
    """Means of as many equal groups as fit one call, at most `count`: each draws its own noise."""

    def release(records: np.ndarray) -> Any:
        groups = max(1, min(count, _BLOCK // records.size))
        many = np.tile(records, (groups, *(1,) * (records.ndim - 1)))
        offsets = np.arange(groups + 1) * len(records)
        return cdp.frechet_mean(many, ball, guarantee, groups=offsets, mechanism=mechanism)

    return release


def telling_pair(
    steps: Walk, release: Callable[[np.ndarray], Any], count: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Two neighbouring data sets among `width` steps of a walk, halfway to the centre, found by
    bisection on what `count` releases of each tell about their low bits.

    Of the two halves of the walk the one is kept whose ends differ more. A computed mean that
    jumps somewhere, where it is rounded, is thus found in few steps.
    """

    def draw(k: int) -> np.ndarray:
        drawn = np.asarray(release(steps[k]).value)[:count]
        while len(drawn) < count:
            drawn = np.concatenate((drawn, np.asarray(release(steps[k]).value)))[:count]
        return drawn

    first = len(steps) // 4
    last = first + width
    at_first, at_last = draw(first), draw(last)
    while last - first > 1:
        middle = (first + last) // 2
        at_middle = draw(middle)
        left = difference(steps.ball, at_first, at_middle)
        right = difference(steps.ball, at_middle, at_last)
        if left >= right:
            last, at_last = middle, at_middle
        else:
            first, at_first = middle, at_middle
    return steps[first], steps[last]


def difference(ball: Any, a: np.ndarray, b: np.ndarray) -> float:
    """Largest total variation of a statistic of low bits between two samples of releases."""
    pooled = np.concatenate((a, b))
    values = Values(
        entries=pooled.reshape(len(pooled), -1),
        shape=pooled.shape[1:],
        learn=np.ones(len(pooled), dtype=bool),
        manifold=ball.manifold,
        step=None,
    )
    largest = 0.0
    for statistic in statistics_of(values):
        size = int(statistic.codes.max()) + 1
        at_a = np.bincount(statistic.codes[: len(a)], minlength=size)
        at_b = np.bincount(statistic.codes[len(a) :], minlength=size)
        # what tells little for its number of outcomes is the noise of a small sample
        noise = np.sqrt(np.count_nonzero(at_a + at_b) / (np.pi * len(a)))
        largest = max(largest, float(np.abs(at_a - at_b).sum()) / (2 * len(a)) - noise)
    return largest


def attack(
    ball: Any,
    n: int,
    guarantee: Any,
    n_releases: int,
    *,
    mechanism: str | None = None,
    seed: int = 0,
    screening: int = 60,
    width: int = 512,
) -> AuditResult:
    """Audit means of n records in a ball at the most telling step of a walk."""
    pair = telling_pair(
        walk(ball, n, seed),
        releases_of(ball, guarantee, mechanism, screening),
        screening,
        min(width, n // 2),
    )
    return low_bits(
        releases_of(ball, guarantee, mechanism, n_releases),
        *pair,
        n_releases=n_releases,
        confidence=CONFIDENCE,
    )
