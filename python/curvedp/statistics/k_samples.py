"""A private test of k samples for equal means, in spite of unequal sizes and spreads.

    records -> projection on the public ball -> chart coordinates at its centre, |u| <= r
            -> T = sqrt(sum_g n_g |mean_g - mean|^2), and what its square is on the average, and how
               it varies, where the means are equal: M^2 and F, by the samples' covariances
            -> all with noise of one scale -> p-value

Only the numbers with noise are looked at for the p-value: it costs nothing more. The noise has
three dimensions, whatever the records' is and however many samples there are. Proof:
docs/proofs/k-samples.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._labels import as_labels, ordered_codes
from curvedp._validation import FloatArray, as_probability
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import choose_mechanism
from curvedp.mechanisms.base import Mechanism
from curvedp.mechanisms.calibration import calibrated_scale, unit_error
from curvedp.mechanisms.grid import grid_step
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.privacy.base import adds_or_removes
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.confidence_region import gaussian_way
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.k_sample_release import KSampleRelease
from curvedp.statistics.null_law import SHARES, projection, units_of_values
from curvedp.statistics.permutation import chart_coords, check_radius
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases
from curvedp.statistics.samples import (
    protected_sample_numbers,
    sample_numbers,
    sample_of_units,
    sizes_of_samples,
)

_LONGEST = 40.0
_U = 2.0**-53


@dataclass(frozen=True)
class KSampleDesign:
    """Everything about a test that is fixed before a record is seen.

    Attributes
    ----------
    way : GDP
    sizes : tuple of int
    radius : float
    sensitivity, tolerance : float
        Of the values, all in their units, and the bound on their error.
    mechanism : Mechanism
    """

    way: GDP
    sizes: tuple[int, ...]
    radius: float
    sensitivity: float
    tolerance: float
    mechanism: Mechanism

    @classmethod
    def of(
        cls, ball: Ball, way: GDP, sizes: tuple[int, ...], records_per_unit: int
    ) -> KSampleDesign:
        """The design for samples of these sizes in a ball."""
        radius, dim, total = ball.radius, ball.manifold.dim, sum(sizes)
        shift = 2 * radius * (1 + BOUNDARY_SLACK) ** 2 / math.sqrt(SHARES[0])
        shift *= math.sqrt(1 / min(sizes) - 1 / total) * records_per_unit
        rounding = 4 * _U * (total + len(sizes) * dim + 16) * math.sqrt(total) * radius
        largest = 2 * math.sqrt(total) * radius
        operations = len(sizes) * float(np.sum(np.array(sizes) + dim + dim**2 + 16))
        for unit in units_of_values(sizes):
            rounding += 32 * _U * radius * operations / unit
            largest += 2 * len(sizes) * radius / unit
        longest = largest + _LONGEST * 2 * 3 * (shift + 4 * rounding) / way.mu
        tolerance = 2 * rounding + 8 * _U * longest
        scale = calibrated_scale(shift, tolerance, way)
        domain = Ball(Euclidean(3), np.zeros(3), max(scale, largest))
        grid_step(domain, scale, way)  # raises where doubles are too coarse for such noise
        drawn = choose_mechanism(domain, way)(domain, shift + 2 * tolerance, way)
        return cls(way, sizes, radius, shift, tolerance, drawn)

    def values(self, coords: FloatArray, numbers: FloatArray) -> FloatArray:
        """T, M^2 and F in their units, shape (3,), of records and their samples' numbers."""
        across, means, rows = projection(self.sizes), [], []
        for g, size in enumerate(self.sizes):
            own = coords[numbers == g] / self.radius
            means.append(own.mean(axis=0))
            rows.append((own - means[-1]) / math.sqrt(size - 1))
        sizes = np.array(self.sizes, dtype=float)
        apart = np.array(means) - sizes @ np.array(means) / sizes.sum()
        between = math.sqrt(float(sizes @ np.sum(apart**2, axis=1)))
        square = float(np.diag(across) @ [np.sum(own**2) for own in rows])
        norm = math.sqrt(max(float(np.sum(across**2 * _products(rows))), 0.0))
        of_square, of_norm = units_of_values(self.sizes)
        return np.asarray(self.radius * np.array([between, square / of_square, norm / of_norm]))


def _products(rows: list[FloatArray]) -> FloatArray:
    """tr S_g S_h of S_g = rows_g^T rows_g, shape (k, k)."""
    count, dim = len(rows), rows[0].shape[1]
    if dim <= sum(map(len, rows)):
        covariances = np.array([own.T @ own for own in rows]).reshape(count, -1)
        return np.asarray(covariances @ covariances.T)
    found = np.empty((count, count))
    for g, one in enumerate(rows):
        for h, two in enumerate(rows[: g + 1]):
            found[g, h] = found[h, g] = np.sum((one @ two.T) ** 2)
    return found


@dataclass(frozen=True, kw_only=True)
class KSampleTest(EachGroup[KSampleRelease]):
    """A test of k samples for equal means as a value; `k_sample_test` releases it.

    Parameters
    ----------
    samples : tuple
        The labels of the samples, at least two: public.
    level : float
        As in `k_sample_test`.

    Examples
    --------
    >>> KSampleTest(samples=("drug", "placebo")).level
    0.05
    """

    title: ClassVar[str] = "test of k means"
    word: ClassVar[str | None] = "k-samples"
    beside: ClassVar[Literal["labels"]] = "labels"
    has_parts: ClassVar[bool] = True
    takes_unknown_n: ClassVar[bool] = True
    infers: ClassVar[bool] = True
    memory: ClassVar[float] = 8.0
    #: The null law counts on Gaussian noise.
    mechanism: ClassVar[str] = "riemannian-gaussian"

    samples: tuple[Hashable, ...] = field(kw_only=True)
    level: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", tuple(self.samples))
        if len(self.samples) < 2 or len(set(self.samples)) < len(self.samples):
            raise ValueError(
                f"samples must be at least two labels, each once, got {self.samples!r}"
            )
        object.__setattr__(self, "level", as_probability(self.level, "level"))

    def read_beside(self, given: Any, n: int) -> FloatArray:
        """The number of each record's sample."""
        return sample_numbers(given, self.samples, len(self.samples))

    def read_protected_beside(self, given: Any, n: int) -> FloatArray:
        return protected_sample_numbers(given, self.samples, n)

    @property
    def part_count(self) -> int:
        return len(self.samples)

    def beside_of_units(self, beside: FloatArray, ends: Offsets) -> FloatArray:
        return sample_of_units(beside, ends)

    def parts(self, beside: FloatArray | None, offsets: Offsets) -> Offsets:
        assert beside is not None
        return sizes_of_samples(beside, offsets, len(self.samples))

    def check(self, call: Call) -> None:
        gaussian_way(call.guarantee, "a test of k means")
        for ball in call.balls:
            check_radius(ball)

    def design_of_parts(self, call: Call, ball: Ball, sizes: tuple[int, ...]) -> KSampleDesign:
        if min(sizes) < 2:
            raise ExistenceError(
                f"a test of k means needs at least two records in each sample, got {sizes}",
                smallest_n=2 * len(self.samples),
            )
        (way,) = gaussian_way(call.guarantee, "a test of k means")
        return KSampleDesign.of(ball, way, sizes, call.records_per_unit)

    def design(self, call: Call, ball: Ball, n: int) -> KSampleDesign:
        """Of samples of equal sizes."""
        count = len(self.samples)
        return self.design_of_parts(call, ball, tuple((n + g) // count for g in range(count)))

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (3,)

    def is_exact(self, call: Call) -> bool:
        return True

    def mechanism_of(self, design: KSampleDesign) -> str:
        return design.mechanism.name

    def way_of(self, design: KSampleDesign) -> PureDP | GDP:
        return design.way

    def outlook(self, call: Call, design: KSampleDesign, n: int) -> tuple[float, float]:
        scale = design.mechanism.scale
        return scale, scale * unit_error(design.way, 3)

    def noise_share(self, call: Call, design: KSampleDesign, n: int) -> float:
        return design.mechanism.scale * unit_error(design.way, 1) / (math.sqrt(n) * design.radius)

    def extent(self, call: Call) -> tuple[float, str]:
        return math.nan, "largest distance between means"

    def memory_of_group(self, call: Call, n: int) -> float:
        dim = call.manifold.dim
        matrices = (len(self.samples) + 2.0) * min(dim, n) ** 2
        return 8.0 * (4.0 * n * (dim + 4) + matrices)

    def release_group(self, group: Group) -> KSampleRelease:
        design: KSampleDesign = group.design
        values = design.values(chart_coords(group.ball, group.enter()), group.beside)
        scale, expected_error = self.outlook(group.call, design, group.n)
        released = group.release(
            value=group.drawn(values, design.mechanism),
            statistic=self.title,
            sensitivity=design.sensitivity,
            solver_tolerance=design.tolerance,
            scale=scale,
            expected_error=expected_error,
        )
        return KSampleRelease(**vars(released), sizes=design.sizes, level=self.level)

    def further_columns(self, releases: Releases[KSampleRelease]) -> dict[str, FloatArray]:
        """The p-values, and 1 where the test rejects, 0 where it does not."""
        results = releases.results or ()
        found = np.array([math.nan if own is None else own.p_value for own in results])
        rejects = np.where(releases.released, found <= self.level, np.nan)
        return {"p_value": found, "rejects": rejects}


@overload
def k_sample_test(
    records: ArrayLike,
    labels: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    samples: Sequence[Hashable] | None = None,
    level: float = 0.05,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> KSampleRelease: ...
@overload
def k_sample_test(
    records: ArrayLike,
    labels: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    samples: Sequence[Hashable] | None = None,
    level: float = 0.05,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[KSampleRelease]: ...
@quiet
@hinting
def k_sample_test(
    records: ArrayLike,
    labels: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    samples: Sequence[Hashable] | None = None,
    level: float = 0.05,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> KSampleRelease | Releases[KSampleRelease]:
    """Test privately whether k samples have equal means, whatever their sizes and spreads.

    A one-way analysis of variance. The means are those of the logarithms, at the ball's centre, of
    records projected on the ball: on flat spaces, and where the means lie at the centre, Fréchet
    means. The p-value is computed from released numbers and may be compared with any level.
    `two_sample_test` compares whole laws.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        No value raises.
    labels : array-like, shape (n,)
        Label of each record's sample; labels and sizes are public, but under
        ``neighbours="add-remove"``. Each sample needs two records.
    ball : Ball, or a list with one for each group
        Public domain of the records.
    guarantee : GDP, ZCDP or ApproxDP
        Guarantee of the outcome when one unit's records are replaced. The noise is that of the
        smallest sample.
    samples : sequence, optional
        The public labels of the samples, needed under ``neighbours="add-remove"``: records with
        others are left out then. By default those that occur.
    level : float
        Largest p-value at which ``rejects`` is true.
    groups : array-like, optional
        Labels or offsets of public groups, one test of all samples for each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, none of whom is in two samples: one record
        for each, the mean of the person's own.
    records_per_unit : int
        Number of records that one unit contributes to all samples together. Several records of one
        person are not independent: the guarantee holds, the level does not.
    groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.

    Returns
    -------
    KSampleRelease, or Releases of them with `groups`

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Satterthwaite (1946), An approximate distribution of estimates of variance components.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.8)
    >>> rng, arm = np.random.default_rng(0), np.repeat(["a", "b", "c"], [60, 300, 300])
    >>> spread, shift = np.where(arm == "a", 0.2, 0.05), np.where(arm == "b", 0.2, 0.0)
    >>> coords = spread[:, None] * rng.standard_normal((660, 2)) + np.outer(shift, [1.0, 0.0])
    >>> y = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    >>> cdp.k_sample_test(y, arm, ball, cdp.GDP(mu=3.0)).rejects
    True
    """
    if samples is None and adds_or_removes(guarantee):
        raise ValueError("which labels occur would tell who is there: give samples, their labels")
    if np.ndim(labels) > 1:
        raise ValueError(
            "records come first, all in one array, then labels, one for each: of samples a and b "
            "numpy.concatenate([a, b]) and numpy.repeat(['a', 'b'], [len(a), len(b)])"
        )
    found = ordered_codes(as_labels(labels, "labels"), "labels")[0] if samples is None else samples
    test = KSampleTest(samples=tuple(found), level=level)
    return release(test, records, ball, guarantee, labels=labels, groups=groups, **call)
