"""Test of two groups for equal Fréchet means: post-processing of two private regions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import overload

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp._hints import hinting
from curvedp._html import card
from curvedp._validation import FloatArray, as_probability
from curvedp.manifolds import Manifold, as_manifold
from curvedp.statistics.quantiles import effective_dof, hotelling_quantile, hotelling_tail
from curvedp.statistics.region import ConfidenceRegion, principal_axes
from curvedp.statistics.releases import Releases


@dataclass(frozen=True, kw_only=True)
class MeanComparison:
    """Outcome of `compare_means`.

    Attributes
    ----------
    statistic : float
        T = (phi(p_a) - phi(p_b))' (Gamma_a + Gamma_b)^-1 (phi(p_a) - phi(p_b)).
    p_value : float
        Probability of a larger T between groups with one mean, for large n.
    level : float
        Significance level of the test.
    rejects : bool
        True if p_value < level: the means differ.
    regions_overlap : bool
        True if the two confidence regions have a point in common. The test may reject even so: it
        is sharper than a look at the regions.
    dist : float
        Geodesic distance between the two private means, in the units of the metric.
    dof : float
        Degrees of freedom of the statistic's Hotelling law.
    difference : ndarray, shape (dim,)
        phi(p_a) - phi(p_b), in tangent coordinates at `chart_point`.
    covariance : ndarray, shape (dim, dim)
        Gamma_a + Gamma_b, the estimated covariance of the difference.
    chart_point : ndarray, shape point_shape
        The balls' centre, if the regions share it; otherwise the midpoint of the estimates.
    """

    statistic: float
    p_value: float
    level: float
    rejects: bool
    regions_overlap: bool
    dist: float
    dof: float
    difference: FloatArray = field(repr=False, compare=False)
    covariance: FloatArray = field(repr=False, compare=False)
    chart_point: FloatArray = field(repr=False, compare=False)

    @property
    def quantile(self) -> float:
        """q of the 1 - `level` region {v : (v - difference)' covariance^-1 (v - difference) <= q}
        for the difference of the means.
        """
        return hotelling_quantile(1 - self.level, len(self.difference), self.dof)

    def contains(self, differences: ArrayLike) -> NDArray[np.bool_]:
        """True for differences of the means that lie in the 1 - `level` region.

        Parameters
        ----------
        differences : array-like, shape (..., dim)
            In tangent coordinates at `chart_point`, as `difference` is.

        Returns
        -------
        ndarray of bool, shape (...)

        Raises
        ------
        ValueError
            For another shape, such as that of a tangent vector of matrices.
        """
        differences, dim = np.asarray(differences, dtype=float), len(self.difference)
        if differences.shape[-1:] != (dim,):
            raise ValueError(
                f"differences must have shape (..., {dim}), tangent coordinates as `difference` "
                "has them: manifold.tangent_to_coords(vector, comparison.chart_point)"
            )
        offset = differences - self.difference
        solved = np.linalg.solve(self.covariance, offset[..., None])[..., 0]
        return np.asarray(np.sum(offset * solved, axis=-1) <= self.quantile)

    def axes(self) -> tuple[FloatArray, FloatArray]:
        """Half-lengths of that region's principal axes, longest first, and their directions.

        Returns
        -------
        radii : ndarray, shape (dim,)
            In the units of the metric.
        directions : ndarray, shape (dim, dim)
            One unit vector a row, in tangent coordinates at `chart_point`.
        """
        return principal_axes(self.quantile * self.covariance)

    def report(self) -> str:
        """Plain text: the test's result, and the distance of the means."""
        return f"{self._verdict}: p = {self.p_value:.4g}\n{self._distance}\n"

    @property
    def _verdict(self) -> str:
        verdict = "differ" if self.rejects else "may be equal"
        return f"the means {verdict} (level {self.level:g})"

    @property
    def _distance(self) -> str:
        overlap = "overlap" if self.regions_overlap else "do not overlap"
        return f"distance of the estimates: {self.dist:.4g}; the regions {overlap}"

    def _repr_html_(self) -> str:
        facts = [("p-value", f"{self.p_value:.4g}"), ("statistic", f"{self.statistic:.4g}")]
        facts.append(("degrees of freedom", f"{self.dof:.4g}"))
        return card(self._verdict, facts, notes=[self._distance])


@overload
def compare_means(
    a: ConfidenceRegion, b: ConfidenceRegion, *, level: float = 0.05
) -> MeanComparison: ...
@overload
def compare_means(
    a: Releases[ConfidenceRegion], b: Releases[ConfidenceRegion], *, level: float = 0.05
) -> dict[Hashable, MeanComparison]: ...
@hinting
def compare_means(
    a: ConfidenceRegion | Releases[ConfidenceRegion],
    b: ConfidenceRegion | Releases[ConfidenceRegion],
    *,
    level: float = 0.05,
) -> MeanComparison | dict[Hashable, MeanComparison]:
    """Test whether two populations have the same Fréchet mean, from their released regions.

    For low dimension: conservative in dozens of dimensions, and without power, or refused, where
    the dimension is near n. There use `k_sample_test`, which has a budget of its own. This one
    uses released quantities only, so it costs no further budget. Groups of disjoint records whose
    membership is public compose in parallel; otherwise both budgets add up.

    Parameters
    ----------
    a, b : ConfidenceRegion, or Releases of regions
        Regions on the same manifold, from independent records; or those of many groups twice, such
        as patients and controls by site.
    level : float
        Significance level: how often the test may reject when the means are equal. Of each test, if
        there are many.

    Returns
    -------
    MeanComparison, or a dict with one for each label that has a region in both

    Raises
    ------
    TypeError
        If they are no regions, such as records.
    ValueError
        If the regions lie on different manifolds, or the groups of one have labels and those of the
        other offsets.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    >>> rng = np.random.default_rng(0)
    >>> x = 0.2 * rng.standard_normal((2, 2000, 2)) + [[[0.0, 0.0]], [[0.3, 0.0]]]
    >>> regions = [cdp.confidence_region(group, ball, cdp.GDP(mu=1.0)) for group in x]
    >>> compare_means(*regions).rejects
    True
    """
    alpha = as_probability(level, "level")
    if isinstance(a, Releases) and isinstance(b, Releases):
        if isinstance(a.labels, range) != isinstance(b.labels, range):
            raise ValueError("give the regions of groups by labels twice, or by offsets twice")
        others = dict(b.items())
        return {
            label: compare_means(region, others[label], level=alpha)
            for label, region in a.items()
            if label in others
        }
    if not (isinstance(a, ConfidenceRegion) and isinstance(b, ConfidenceRegion)):
        raise TypeError(
            "give two regions, or the regions of groups twice: confidence_region(records, ball, "
            "guarantee) of either sample"
        )
    if a.manifold != b.manifold:
        raise ValueError(f"the regions lie on different manifolds, {a.manifold} and {b.manifold}")
    space = as_manifold(a.manifold)
    chart_point, difference, gamma_a, gamma_b = _common_chart(space, a, b)
    total = gamma_a + gamma_b
    solved = np.linalg.solve(total, difference)
    statistic = float(difference @ solved)
    dof = _pooled_dof(total, (gamma_a, a.dof), (gamma_b, b.dof))
    p_value = float(hotelling_tail(np.asarray(statistic), a.dim, dof))
    return MeanComparison(
        statistic=statistic,
        p_value=p_value,
        level=alpha,
        rejects=p_value < alpha,
        regions_overlap=_overlap(difference, a.quantile * gamma_a, b.quantile * gamma_b),
        dist=float(space.dist(a.estimate, b.estimate)),
        dof=dof,
        difference=difference,
        covariance=total,
        chart_point=chart_point,
    )


def _common_chart(
    space: Manifold, a: ConfidenceRegion, b: ConfidenceRegion
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Base point of a chart, the difference of the estimates and both covariances in it.

    The chart at the balls' centre if they share it, otherwise that at the midpoint of the two
    estimates, which treats them alike.
    """
    if np.array_equal(a.chart_point, b.chart_point):
        difference = a._coords(a.estimate) - b._coords(b.estimate)
        return a.chart_point, difference, a.covariance, b.covariance
    middle = space.exp(0.5 * space.log(b.estimate, a.estimate), a.estimate)
    ends = [region.in_chart(middle) for region in (a, b)]
    return middle, ends[0][0] - ends[1][0], ends[0][1], ends[1][1]


def _pooled_dof(total: FloatArray, *groups: tuple[FloatArray, float]) -> float:
    """Degrees of freedom of a sum of independent, Wishart-like covariances (Welch)."""
    dim = len(total)
    a = b = 0.0
    for gamma, dof in groups:
        share = np.linalg.solve(total, gamma)
        square, trace = float(np.sum(share * share.T)), float(np.trace(share))
        a += (square + trace**2) / dof
        b += 2 * square / dof
    return effective_dof(dim, a, b)


def _overlap(difference: FloatArray, a: FloatArray, b: FloatArray) -> bool:
    """Test if {x' a^-1 x <= 1} and {(x - difference)' b^-1 (x - difference) <= 1} meet.

    They are disjoint if and only if s (1 - s) d' ((1 - s) a + s b)^-1 d exceeds 1 for some s in
    [0, 1], where it is concave (Perram, Wertheim 1985).
    """

    def negative(s: float) -> float:
        solved = np.linalg.solve((1 - s) * a + s * b, difference)
        return -s * (1 - s) * float(difference @ solved)

    best = scipy.optimize.minimize_scalar(negative, bounds=(0.0, 1.0), method="bounded")
    return bool(-best.fun <= 1)
