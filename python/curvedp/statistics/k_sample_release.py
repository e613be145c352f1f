"""The release of a test of k means, and what follows from it: docs/proofs/k-samples.md."""

from __future__ import annotations

from dataclasses import dataclass

from curvedp.manifolds import as_manifold
from curvedp.privacy import Release
from curvedp.statistics.null_law import p_value_of, units_of_values

_UNKNOWN_SPREAD = (
    "how far the means may lie apart by chance is not known beside the noise, and the p-value "
    "averages over what it may be, so the test finds large differences alone; use more records in "
    "the smallest sample, a smaller ball or a larger budget"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KSampleRelease(Release):
    """The outcome of `k_sample_test`.

    Attributes
    ----------
    value : ndarray, shape (3,)
        `between`, then `expected_square` and `norm` in units in which the noise of all has one
        scale.
    sizes : tuple of int
        Records of each sample.
    level : float
        Largest p-value at which the test rejects.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    >>> x = 0.2 * np.random.default_rng(0).standard_normal((900, 2))
    >>> arm = np.repeat(["a", "b", "c"], 300)
    >>> x[arm == "c", 0] += 0.3
    >>> test = cdp.k_sample_test(x, arm, ball, cdp.GDP(mu=1.0))
    >>> test.sizes, test.rejects, test.value.shape
    ((300, 300, 300), True, (3,))
    """

    sizes: tuple[int, ...]
    level: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if len(self.sizes) < 2 or self.value.shape != (3,):
            raise ValueError("a test of k samples has k sizes, k >= 2, and 3 values")

    @property
    def between(self) -> float:
        """sqrt(sum_g n_g |mean_g - mean|^2), with noise."""
        return float(self.value[0])

    @property
    def expected_square(self) -> float:
        """Mean of between^2 where the means are equal, by the samples' covariances, with noise."""
        return self._in_units(0)

    @property
    def norm(self) -> float:
        """Root of half the variance of between^2 then, with noise."""
        return self._in_units(1)

    @property
    def knows_spread(self) -> bool:
        """False if `expected_square` lies within two deviations of its noise.

        The p-value then averages over all that it may be: its level is kept less closely, and power
        is low.
        """
        return float(self.value[1]) > 2.0 * self.scale

    def _in_units(self, which: int) -> float:
        return self.ball_radius * units_of_values(self.sizes)[which] * float(self.value[1 + which])

    @property
    def p_value(self) -> float:
        """Probability of a larger `between` where all populations have one mean, at least 1e-9.

        Computed from released numbers alone. For large n: docs/proofs/k-samples.md has the measured
        level at n from 20.
        """
        radius, dim = self.ball_radius, as_manifold(self.manifold).dim
        return p_value_of(self.value / radius, self.sizes, self.scale / radius, dim)

    @property
    def rejects(self) -> bool:
        """True if `p_value` is at most `level`: the means differ."""
        return self.p_value <= self.level

    def _notes(self) -> list[str]:
        p_value = self.p_value
        told = "differ" if p_value <= self.level else "were not told apart"
        sizes = ", ".join(map(str, self.sizes))
        return [
            f"the means of {len(self.sizes)} samples of {sizes} records {told}: p = {p_value:.4g} "
            f"(level {self.level:g}); means of logarithms at the ball's centre",
            *([] if self.knows_spread else [_UNKNOWN_SPREAD]),
        ]

    def _in_brief(self) -> str:
        p_value = self.p_value
        told = f"rejects={p_value <= self.level} at level {self.level:g}"
        return f"p_value={p_value:.4g}, {told}, between={self.between:.4g}"

    def _told_value(self) -> list[tuple[str, str]]:
        return [
            (
                "value is",
                f"between = {self.between:.4g}, the root of the sum of n_g times the squared "
                "distance of each sample's mean from that of all; then, in units of their noise, "
                f"what between^2 is in the mean by chance, expected_square = "
                f"{self.expected_square:.4g}, and how much it varies, norm = {self.norm:.4g}",
            )
        ]

    def _error(self) -> str:
        return f"{self.expected_error:.6g} (mean length of the noise of all values)"
