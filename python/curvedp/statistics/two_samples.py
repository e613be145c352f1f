"""A private permutation test of two samples for equal laws.

The weights are 1/n_a on one sample and -1/n_b on the other: see `statistics.permutation`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._labels import as_labels
from curvedp._validation import FloatArray, as_count, as_float_array
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import Guarantee
from curvedp.privacy.base import adds_or_removes
from curvedp.statistics.call import Call, CommonOptions, as_balls
from curvedp.statistics.group import Group
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.permutation import (
    Labels,
    PermutationDesign,
    PermutationRelease,
    PermutationTest,
    as_deviations,
    chart_coords,
    simulated_power,
)
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases
from curvedp.statistics.samples import (
    protected_sample_numbers,
    sample_numbers,
    sample_of_units,
    sizes_of_samples,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TwoSampleRelease(PermutationRelease):
    """The outcome of a private test of two samples: see `PermutationRelease`.

    Attributes
    ----------
    sizes : pair of int
        Numbers of records of the samples.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    >>> left, right = np.tile([-0.5, 0.0], (80, 1)), np.tile([0.5, 0.0], (80, 1))
    >>> test = cdp.two_sample_test(left, right, ball, cdp.GDP(mu=2.0))
    >>> test.rejects, test.sizes
    (True, (80, 80))
    """

    sizes: tuple[int, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        first, second = self.sizes
        object.__setattr__(self, "sizes", (int(first), int(second)))

    def _notes(self) -> list[str]:
        told = "differ" if self.rejects else "were not told apart"
        return [
            f"the samples of {self.sizes[0]} and {self.sizes[1]} records {told} at the level "
            f"{self.level:g} ({self.relabellings} relabellings): their laws, not their means "
            f"alone. {self._meaning}"
        ]


@dataclass(frozen=True, kw_only=True)
class TwoSampleTest(PermutationTest[TwoSampleRelease]):
    """A test of two samples as a value: a record's label says in which sample it is.

    Parameters
    ----------
    level, width, relabellings
        As in `two_sample_test`.
    samples : pair, optional
        The labels of the first and the second sample; by default the two that occur, in order.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> x = np.repeat([-0.5, 0.5, -0.5, 0.5], 80)[:, None]
    >>> arm, site = np.repeat(["drug", "placebo"], 160), np.tile(np.repeat([1, 2], 80), 2)
    >>> tests = cdp.release(
    ...     cdp.TwoSampleTest(), x, ball, cdp.GDP(mu=2.0), labels=arm, groups=site
    ... )
    >>> [test.rejects for test in tests]
    [False, False]
    """

    title: ClassVar[str] = "permutation test of two samples"
    word: ClassVar[str | None] = "two-samples"
    beside: ClassVar[Literal["labels"]] = "labels"
    has_parts: ClassVar[bool] = True

    samples: tuple[Hashable, Hashable] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples is not None:
            first, second = self.samples
            if first == second:
                raise ValueError(f"samples must be two labels, got {first!r} twice")
            object.__setattr__(self, "samples", (first, second))

    def read_beside(self, given: Any, n: int) -> FloatArray:
        """0 for a record of the first sample, 1 for one of the second."""
        return sample_numbers(given, self.samples, 2)

    def read_protected_beside(self, given: Any, n: int) -> FloatArray:
        return protected_sample_numbers(given, self.samples, n)

    @property
    def part_count(self) -> int:
        return 2

    def beside_of_units(self, beside: FloatArray, ends: Offsets) -> FloatArray:
        return sample_of_units(beside, ends)

    def parts(self, beside: FloatArray | None, offsets: Offsets) -> Offsets:
        assert beside is not None
        return sizes_of_samples(beside, offsets, 2)

    def design_of_parts(self, call: Call, ball: Ball, sizes: tuple[int, ...]) -> PermutationDesign:
        first, second = sizes
        if not first or not second:
            raise ExistenceError("there is no test of two samples where one has no record")
        labels = _labels((first, second), call.records_per_unit)
        return PermutationDesign.of(self, ball, call.guarantee, labels)

    def design(self, call: Call, ball: Ball, n: int) -> PermutationDesign:
        """Of samples of n/2 records each."""
        return self.design_of_parts(call, ball, (n // 2, n - n // 2))

    def features(self, group: Group) -> tuple[FloatArray, FloatArray]:
        second = group.beside > 0
        sizes = len(second) - int(second.sum()), int(second.sum())
        weights = np.where(second, -1 / sizes[1], 1 / sizes[0])[None]
        return chart_coords(group.ball, group.enter()), weights

    def outcome(self, group: Group, told: dict[str, Any]) -> TwoSampleRelease:
        second = int(group.beside.sum())
        return TwoSampleRelease(**told, sizes=(group.n - second, second))


@overload
def two_sample_test(
    records_a: ArrayLike,
    records_b: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.05,
    width: float | None = None,
    relabellings: int = 199,
    groups: None = None,
    units: tuple[GroupsLike, GroupsLike] | None = None,
    n_guess: int | None = None,
    **call: Unpack[CommonOptions],
) -> TwoSampleRelease: ...
@overload
def two_sample_test(
    records_a: ArrayLike,
    records_b: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    level: float = 0.05,
    width: float | None = None,
    relabellings: int = 199,
    groups: tuple[GroupsLike, GroupsLike],
    units: tuple[GroupsLike, GroupsLike] | None = None,
    n_guess: int | None = None,
    **call: Unpack[CommonOptions],
) -> Releases[TwoSampleRelease]: ...
@quiet
@hinting
def two_sample_test(
    records_a: ArrayLike,
    records_b: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    level: float = 0.05,
    width: float | None = None,
    relabellings: int = 199,
    groups: tuple[GroupsLike, GroupsLike] | None = None,
    units: tuple[GroupsLike, GroupsLike] | None = None,
    n_guess: int | None = None,
    **call: Unpack[CommonOptions],
) -> TwoSampleRelease | Releases[TwoSampleRelease]:
    """Test privately whether two samples of independent records come from one law.

    If they do, and records are independent of each other, the test rejects with probability `level`
    at most, at every n and dimension. Several records of one person are not independent, nor are
    paired samples: average them first, or do not rely on the level.

    It compares laws by a Gaussian kernel: equal means with unequal spreads are a difference.
    `k_sample_test` asks whether means are equal, whatever the spreads.

    Parameters
    ----------
    records_a, records_b : array-like, shape (n, *point_shape)
        Two samples; their sizes, and which record is in which, are public, but under
        ``neighbours="add-remove"``. No value raises.
    ball : Ball, or a list with one for each group
        Public domain of both.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the outcome when one unit's records are replaced.
    level : float
        Level of the test, chosen beforehand: one test is released, not a p-value.
    width : float, optional
        Public width of the Gaussian kernel, by default the ball's radius. A smaller one where the
        ball is known to be generous.
    relabellings : int
        Number of relabellings; more cost no budget and gain little.
    groups : pair of array-like, optional
        Labels of public groups of both samples: one test for each label, see `frechet_mean`.
    units : pair of array-like, optional
        Labels of the persons to whom the records of both samples belong, none of whom is in both:
        one record for each, the mean of the person's own, so that the level holds.
    records_per_unit : int
        Number of records that one unit contributes to both samples together: 2 for paired data.
    groups_per_unit, keys, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.
    n_guess : int, optional
        As in `frechet_mean`: a public guess of the number of records of both samples together.

    Returns
    -------
    TwoSampleRelease, or Releases of them with `groups`

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Kim and Schrab (2023), Differentially private permutation tests: applications to kernel methods.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> rng = np.random.default_rng(0)
    >>> first, second = (
    ...     ball.manifold.exp(0.2 * (x + x.transpose(0, 2, 1)), np.eye(3))
    ...     for x in rng.standard_normal((2, 200, 3, 3))
    ... )
    >>> cdp.two_sample_test(first, 1.8 * second, ball, cdp.GDP(mu=1.0)).rejects
    True
    """
    space = as_balls(ball)[0].manifold
    least = 0 if adds_or_removes(guarantee) else 1
    samples = [
        space.read_records(records_a, "records_a", least=least),
        space.read_records(records_b, "records_b", least=least),
    ]
    sizes = (len(samples[0]), len(samples[1]))
    if least and not all(sizes):
        raise ValueError(f"both samples must hold records, got {sizes[0]} and {sizes[1]}")
    test = TwoSampleTest(level=level, width=width, relabellings=relabellings, samples=(0, 1))
    return release(
        test,
        np.concatenate(samples),
        ball,
        guarantee,
        labels=np.repeat([0, 1], sizes),
        groups=None if groups is None else _of_both(groups, sizes, "groups"),
        units=None if units is None else _of_both(units, sizes, "units"),
        n_guess=n_guess,
        **call,
    )


def _of_both(
    given: tuple[GroupsLike, GroupsLike], sizes: tuple[int, int], name: str
) -> list[Hashable]:
    """Labels of the records of both samples, one after the other."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"{name} must be a pair: labels of the first sample, and of the second")
    both = [as_labels(own, name) for own in given]
    for own, size in zip(both, sizes, strict=True):
        if own.shape != (size,):
            raise ValueError(f"{name} must have a label for each record, got shape {own.shape}")
    return [label for own in both for label in own.tolist()]


def two_sample_power(
    ball: Ball,
    n: tuple[int, int],
    guarantee: Guarantee,
    *,
    shift: float,
    spread: ArrayLike,
    level: float = 0.05,
    width: float | None = None,
    relabellings: int = 199,
    records_per_unit: int = 1,
    simulations: int = 400,
    seed: int = 0,
) -> float:
    """Probability that `two_sample_test` tells two normal samples apart: by simulation, no data.

    Parameters
    ----------
    ball : Ball
    n : pair of int
        Sizes of the samples.
    guarantee, level, width, relabellings, records_per_unit
        As in `two_sample_test`.
    shift : float
        Distance of the means, in a random direction of the chart.
    spread : float or array-like, shape (dim,)
        Root mean square distance of records from their mean, alike in all directions, or their
        standard deviations along the axes: a guess that is not taken from the records.
    simulations : int
        400 make a standard error of at most 0.025.
    seed : int
        Of the simulation.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `two_sample_test`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> public = {"shift": 0.3, "spread": 0.7, "simulations": 100}
    >>> power = [cdp.two_sample_power(ball, (n, n), cdp.GDP(mu=1.0), **public) for n in (50, 400)]
    >>> power[0] < 0.5 < 0.9 < power[1]
    True
    """
    first, second = (as_count(size, "n") for size in n)
    labels = _labels((first, second), as_count(records_per_unit, "records_per_unit"))
    test = TwoSampleTest(level=level, width=width, relabellings=relabellings)
    design = PermutationDesign.of(test, check_ball(ball), check_guarantee(guarantee), labels)
    distance, weights = float(as_float_array(shift, "shift")), _weights((first, second))
    return simulated_power(
        design,
        lambda coords, _: (coords, weights),
        np.repeat([distance, 0.0], (first, second)),
        as_deviations(as_float_array(spread, "spread"), ball.manifold.dim),
        as_count(simulations, "simulations"),
        np.random.default_rng(seed),
    )


def _labels(sizes: tuple[int, int], records_per_unit: int) -> Labels:
    moved = 2 * min(1.0, records_per_unit / min(sizes))  # T, and an order statistic
    return Labels(count=sum(sizes), moved=moved, largest=1.0, total=2.0)


def _weights(sizes: tuple[int, int]) -> FloatArray:
    first, second = sizes
    return np.repeat([1 / first, -1 / second], sizes)[None]
