"""Releases that protect the number of records: count, resize, release.

The number of records is released with noise; from it alone follows the number m of records that
are used: a random selection of them, or all with copies of the ball's centre. The statistic of m
records is then released as ever, calibrated to replacing one of them. Proof:
docs/proofs/count-resize.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball, check_any_ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import ways_to_meet
from curvedp.mechanisms.calibration import budget_of
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, ApproxDP, Guarantee, PureDP, Release, Unproved
from curvedp.privacy.base import with_relation
from curvedp.privacy.conversion import round_down
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.statistics.call import Call, Statistic
from curvedp.statistics.design import smallest_n
from curvedp.statistics.grouping import Grouping, GroupsLike, Offsets
from curvedp.sums.noise import mean_length

UNCOUNTED = "where the number of records is protected"
#: Least and largest share of epsilon or mu that the count takes.
_PURE_SHARES, _GAUSSIAN_SHARES = (0.03, 0.5), (0.05, 0.5)
#: Distance from the ball's centre to the mean over that by which a record moves n means, in the
#: rule for the margin.
_ECCENTRICITY = 0.25
#: Largest scale of a count: beyond it the grid of the noise holds no integers.
_LARGEST_SCALE = 2.0**20


@dataclass(frozen=True)
class CountPlan:
    """Everything about a count that is fixed before a record is seen.

    Attributes
    ----------
    share : Guarantee
        Of the count, for adding or removing a record.
    rest : Guarantee
        Of the statistic, for replacing a record.
    way : PureDP or GDP
        The numbers of the share as the count's noise is calibrated to them: the sensitivity that
        it is calibrated to is that of adding or removing a record.
    records_per_unit, dim, n_guess : int
    """

    share: Guarantee
    rest: Guarantee
    way: PureDP | GDP
    records_per_unit: int
    dim: int
    n_guess: int

    @classmethod
    def of(cls, whole: Guarantee, n_guess: int, records_per_unit: int, dim: int) -> CountPlan:
        """The plan by the rule for the share, (2/(n mu))^(1/3) of mu, (2/(n epsilon))^(1/2) of
        epsilon, with n/k for n where a unit has up to k records."""
        share, rest = _split(with_relation(whole, "replace"), n_guess / records_per_unit)
        way, moved = ways_to_meet(share)[0], with_relation(share, "add-remove")
        plan = cls(moved, rest, way, records_per_unit, dim, n_guess)
        if plan.standard_error > min(n_guess, _LARGEST_SCALE):
            raise ExistenceError(
                f"too small a budget to count about {n_guess} records: the count would err by "
                f"{plan.standard_error:.3g}. Use a larger budget"
            )
        return plan

    @property
    def scale(self) -> float:
        """Length of the noise: 1/rate of the two-sided geometric law, or sigma."""
        if isinstance(self.way, PureDP):
            return 1.0 / self._rate
        return self._gaussian.scale

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise; of rounded Gaussian noise at most."""
        if isinstance(self.way, PureDP):
            return math.sqrt(2.0 * math.exp(-self._rate)) / -math.expm1(-self._rate)
        return math.sqrt(self.scale**2 + 0.25)

    @property
    def _rate(self) -> float:
        """Rate epsilon/k of the two-sided geometric law, rounded down."""
        return round_down(Fraction(budget_of(self.way)) / self.records_per_unit)

    @property
    def _gaussian(self) -> VectorNoise:
        return VectorNoise.of(1, float(self.records_per_unit), 0.0, 1.0, self.way)

    def draw(self, n: int, stream: _core.Stream) -> int:
        """The number of records with noise."""
        if isinstance(self.way, PureDP):
            noisy = np.empty(1)
            stream.add_discrete_laplace(self._rate, np.array([n], dtype=np.int64), noisy)
            return int(noisy[0])
        # the grid's step divides 1: this is n plus the real noise, on the grid and rounded
        return n + math.floor(float(self._gaussian.add(np.zeros(1), stream)[0]) + 0.5)

    def target(self, count: int) -> int:
        """Number of records to use, by the count alone; it may be below 1."""
        return math.floor(count - self.margin(max(count, 1)) * self.scale)

    def margin(self, n: int) -> float:
        """The margin below the count, in lengths of its noise.

        By the rule that balances records left out against copies of the centre.
        """
        noise = ways_to_meet(self.rest)[0]
        length = self.dim if isinstance(noise, PureDP) else mean_length(self.dim)
        missing = length * self.records_per_unit / (_ECCENTRICITY * budget_of(noise) * n)
        if isinstance(self.way, PureDP):
            return max(0.0, -math.log(2.0 * missing))
        return max(0.0, -float(scipy.special.ndtri(min(missing, 0.5))))


def share_of(way: PureDP | GDP, n: float) -> float:
    """The share of epsilon or mu that a count of about n records takes."""
    if isinstance(way, PureDP):
        (least, most), wished = _PURE_SHARES, math.sqrt(2.0 / (n * way.epsilon))
    else:
        (least, most), wished = _GAUSSIAN_SHARES, math.cbrt(2.0 / (n * way.mu))
    return min(max(wished, least), most)


def _split(whole: Guarantee, n: float) -> tuple[Guarantee, Guarantee]:
    """Shares of a count of about n records and of the rest, which compose to the whole.

    Of (epsilon, delta) the count takes a share of epsilon alone.
    """
    if not isinstance(whole, ApproxDP):
        way = ways_to_meet(whole)[0]
        f = share_of(way, n)
        power = 1 if isinstance(way, PureDP) else 2
        first, second = whole.split((f**power, 1.0 - f**power))
        return first, second
    if whole.epsilon == 0.0:
        raise ExistenceError("no count exists at epsilon 0: use a larger epsilon")
    share = Fraction(share_of(PureDP(whole.epsilon), n)) * Fraction(whole.epsilon)
    count = PureDP(round_down(share))
    rest = round_down(Fraction(whole.epsilon) - Fraction(count.epsilon))
    return count, ApproxDP(rest, whole.delta)


def release_counted(
    release_read: Callable[..., Any],
    statistic: Statistic[Any],
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    **options: Any,
) -> Any:
    """The release of a statistic under a guarantee for adding or removing a record.

    Parameters
    ----------
    release_read : callable
        The release of a public number of records.
    statistic : Statistic
        One that `takes_unknown_n`.
    records : array-like, shape (n, *point_shape)
        Also none.
    ball : Ball
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    groups
        Refused.
    **options
        Keywords of `release`.

    Raises
    ------
    ValueError, TypeError
        As `release`, for options that would show the number of records, and without `n_guess`.
    ExistenceError
        If there is no such release of `n_guess` records, or the budget is too small to count them.
    BudgetError, ConversionError
        If the ledger refuses.
    """
    _refuse_what_shows_n(options | {"groups": groups}, ball)
    own, seed = check_any_ball(cast(Ball, ball)), options.get("seed")
    k = as_count(options.get("records_per_unit", 1), "records_per_unit")
    units, guess = options.get("units"), as_count(options["n_guess"], "n_guess")
    plan = CountPlan.of(guarantee, guess, k, own.manifold.dim)
    call = Call(
        statistic=statistic if units is None else statistic.with_units(),
        balls=(own,),
        guarantee=plan.rest,
        records_per_unit=k,
    )
    if call.statistic.given_points(call, range(1)) is not None:
        raise ValueError(_refusal("a given base point", "leave mean out"))
    call.keys(None, seed)
    least = _least_n(call, guess)
    call.warn_of_noise(call.designs(_sizes(guess), alone=True), _sizes(guess))
    size = guess * own.manifold.point_size * 8
    call.ask_for_memory(size, guess, by_unit=units is not None)

    rows = own.manifold.read_records(records, least=0)
    ends: Offsets | None = None
    if units is not None:
        grouping, ends = Grouping.of(None, len(rows)).by_protected_unit(units, 1)
        rows = grouping.arranged(rows)
    ledger = options.get("ledger")
    by_replacing = ledger is not None and ledger.budget.neighbours == "replace"
    provenance = call.pay(ledger, None, seed, whole=None if by_replacing else guarantee)

    stream = _stream(seed)
    n = len(rows) if ends is None else len(ends) - 1
    count = plan.draw(n, stream)
    m = _largest_n(call, max(least, plan.target(count)), least)
    used, persons = resized(rows, ends, own.center, m, stream)
    found = release_read(
        statistic,
        used,
        own,
        plan.rest,
        units=persons,
        records_per_unit=k,
        seed=seed,
        progress=options.get("progress", False),
        coverage=False,
        paid=provenance,
    )
    told = RecordCount(
        value=count,
        standard_error=plan.standard_error,
        guarantee=plan.share,
        replacing=plan.rest,
    )
    return _dressed(found, guarantee, told, provenance)


def _refuse_what_shows_n(options: dict[str, Any], ball: Ball | Sequence[Ball]) -> None:
    """Refuses options that do not go with an unknown number of records."""
    if options.get("n_guess") is None:
        raise TypeError(
            "n_guess is needed to add or remove a record: a public guess of the number of records, "
            "made without a look at them. A wrong one costs accuracy alone"
        )
    given = {
        "groups": options["groups"] is not None,
        "groups_per_unit": options.get("groups_per_unit", 1) != 1,
        "keys": options.get("keys") is not None,
        "secret": options.get("secret") is not None,
        "timing": options.get("timing", "prompt") != "prompt",
        "coverage": bool(options.get("coverage")),
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(_refusal(name, "leave it out"))
    if isinstance(ball, (list, tuple)):
        raise ValueError(_refusal("a list of balls", "give one"))


def _refusal(what: str, instead: str) -> str:
    return f"{what} is not served under neighbours='add-remove': {instead}"


def _sizes(n: int) -> Offsets:
    return np.array([n], dtype=np.int64)


def _exists(call: Call, n: int) -> bool:
    try:
        call.statistic.design_of_parts(call, call.ball, (n,))
    except ExistenceError:
        return False
    return True


def _least_n(call: Call, guess: int) -> int:
    """The least number of records from which on the release exists, at most the guess."""
    call.designs(_sizes(guess), alone=True)  # raises where it does not
    return smallest_n(lambda n: n >= guess or _exists(call, n), "")


def _largest_n(call: Call, wished: int, least: int) -> int:
    """A number of records with a release, the wished one if it has: noise that is too fine for
    double precision has none."""
    n = wished
    while n > least and not _exists(call, n):
        n = max(least, n // 2)
    return n


def _stream(seed: int | None) -> _core.Stream:
    """Randomness of the count and the selection, apart from that of the noise."""
    if seed is None:
        return _core.Stream.from_os()
    return _core.Stream.from_key(hashlib.sha256(f"count {seed}".encode()).digest(), 0)


def resized(
    rows: FloatArray, ends: Offsets | None, center: FloatArray, m: int, stream: _core.Stream
) -> tuple[FloatArray, NDArray[np.int64] | None]:
    """Exactly m records, or units, in random order: a random selection, or all with copies of the
    centre.

    Parameters
    ----------
    rows : ndarray, shape (n, *point_shape)
        Those of one unit after the other, where units are known.
    ends : ndarray of int, shape (units + 1,), or None
        Where units begin.
    center : ndarray, shape point_shape
    m : int
    stream : Stream

    Returns
    -------
    rows : ndarray
    units : ndarray of int, or None
        The number of each row's unit.
    """
    starts = np.arange(len(rows) + 1) if ends is None else ends
    n, total = len(starts) - 1, len(rows)
    added = max(0, m - n)
    pool = np.concatenate([rows, np.broadcast_to(center, (added, *center.shape))])
    starts = np.concatenate([starts, total + 1 + np.arange(added)])
    chosen = random_order(n + added, stream)[:m]
    if ends is None:
        return pool[chosen], None
    sizes = np.diff(starts)[chosen]
    units = np.repeat(np.arange(m), sizes)
    within = np.arange(len(units)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return pool[starts[chosen][units] + within], units


def random_order(count: int, stream: _core.Stream) -> NDArray[np.int64]:
    """A uniformly random order of so many things.

    The order of independent keys of one law; keys of which two are equal are all drawn again.
    """
    halves = np.empty(2 * count)
    while True:
        stream.uniform(halves)
        high, low = (halves * 2.0**32).astype(np.uint64).reshape(2, count)
        keys = (high << np.uint64(32)) | low
        order = np.argsort(keys)
        sorted_keys = keys[order]
        if not (sorted_keys[1:] == sorted_keys[:-1]).any():
            return np.asarray(order, dtype=np.int64)


def _dressed(found: Release, whole: Guarantee, count: RecordCount, made: Provenance) -> Release:
    """A fresh release, and those it rests on, with the guarantee of all and the count."""
    own = found.guarantee
    promised = Unproved(claimed=whole, why=own.why) if isinstance(own, Unproved) else whole
    for name, value in (
        ("guarantee", promised),
        ("count", count),
        ("provenance", made),
        ("uncounted", UNCOUNTED),
    ):
        object.__setattr__(found, name, value)  # a copy would lose what is in no field
    for part in found.parts:
        _dressed(part, whole, count, made)
    return found
