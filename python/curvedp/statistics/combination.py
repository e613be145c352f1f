"""One mean from the released means of several sites: post-processing, without further cost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp import nonprivate
from curvedp._html import card
from curvedp._text import numbers, one_line
from curvedp._validation import FloatArray, as_number
from curvedp.manifolds import as_manifold
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.release import unproved_text
from curvedp.statistics.adaptive_mean import AdaptiveMean
from curvedp.statistics.frechet_mean import Mean

__all__ = ["CombinedMean", "combine"]

#: What releases of means are called.
_MEANS = (Mean.title, AdaptiveMean.title)

_DISJOINT = (
    "Each record has the guarantee of its own release, if no record, and no person, is in two of "
    "them; otherwise compose them."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedMean:
    """A weighted mean of released means.

    Attributes
    ----------
    value : ndarray, shape point_shape
    weights : ndarray, shape (k,)
        Of the releases, in their order; their sum is 1.
    expected_error : float
        Distance to expect between `value` and the mean of the sites' exact means with the same
        weights: the root of the sum of squares of weight times noise, and of the square of the sum
        of weight times bias, which adaptive means alone have and which is alike at all sites. About
        right where the noise is small beside the radius of curvature.
    n : int
        Records of all sites.
    guarantees : tuple of Guarantee
        Of the releases, in their order: what each site's records have, if no record, and no person,
        is in two of them. Otherwise compose them (`curvedp.compose`).
    """

    value: FloatArray
    weights: NDArray[np.float64]
    expected_error: float
    n: int
    guarantees: tuple[Guarantee, ...]

    __repr__ = one_line

    def report(self) -> str:
        """Plain text: the mean, its weights, the guarantees, and the error to expect."""
        alarm = [*textwrap.wrap(self._alarm, 88), ""] if self._alarm else []
        rows = [f"{f'{name}:':<16}{text}" for name, text in self._facts()]
        note = textwrap.wrap(_DISJOINT, 88)
        return "\n".join([self._title, "", *alarm, *rows, "", *note, ""])

    @property
    def _title(self) -> str:
        return f"Combined mean of {len(self.weights)} releases"

    @property
    def _alarm(self) -> str:
        """Warning that comes first if a release has no guarantee."""
        return next(filter(None, map(unproved_text, self.guarantees)), "")

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("value", numbers(self.value)),
            ("records", f"n = {self.n}"),
            ("weights", numbers(self.weights)),
            ("guarantees", ", ".join(dict.fromkeys(map(str, self.guarantees)))),
            ("expected error", f"{self.expected_error:.6g} (mean distance)"),
        ]

    def _repr_html_(self) -> str:
        return card(self._title, self._facts(), alarm=self._alarm, notes=[_DISJOINT])


def combine(releases: Iterable[Release], *, spread: float = 0.0) -> CombinedMean:
    """Combine released means of several sites into one, at no further cost.

    The weighted Fréchet mean of the released points, with weights in proportion to
    1/(e_i^2 + spread^2/n_i), e_i the expected error of release i and n_i its number of records.

    Parameters
    ----------
    releases : iterable of Release, or Releases
        Of `frechet_mean` or `adaptive_mean`, on one manifold, each of its own site: sites' records
        are disjoint. Let sites release `frechet_mean`, on one public ball if there is one: noise
        averages over sites, while what adaptive means leave outside their last balls is alike at
        all of them and does not. Combined adaptive means pay where the noise of each is far larger
        than that.
    spread : float
        Public guess of the root mean square distance of records from their mean, for the sampling
        error of each site. With 0 the noise alone decides: right for sites whose exact means are
        alike. Infinite for weights in proportion to n: the mean of all sites' records, on flat
        space.

    Returns
    -------
    CombinedMean

    Raises
    ------
    ValueError
        For no release, releases on different manifolds or without an expected error, and points
        that lie too far apart to have one mean.
    TypeError
        For anything but released means.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.0)
    >>> sites = [np.tile(1.2 * np.eye(2), (n, 1, 1)) for n in (100, 400)]
    >>> releases = [cdp.frechet_mean(records, ball, cdp.GDP(mu=1.0)) for records in sites]
    >>> combined = cdp.combine(releases)
    >>> combined.weights.round(3).tolist(), combined.value.shape
    ([0.056, 0.944], (2, 2))
    >>> cdp.combine(releases, spread=float("inf")).weights.tolist()
    [0.2, 0.8]
    """
    found = list(releases)
    deviation = as_number(spread, "spread")
    if math.isnan(deviation) or deviation < 0:
        raise ValueError(f"spread must be at least 0, got {deviation}")
    if not found:
        raise ValueError("there is no release to combine")
    if not all(isinstance(own, Release) for own in found):
        raise TypeError("combine takes releases of frechet_mean or adaptive_mean")
    specs = sorted({own.manifold for own in found})
    if len(specs) > 1:
        raise ValueError(f"the releases lie on different manifolds: {', '.join(specs)}")
    manifold = as_manifold(specs[0])
    for own in found:
        if own.statistic not in _MEANS or own.value.shape != manifold.point_shape:
            raise TypeError(
                f"combine takes released means, of shape {manifold.point_shape}, got the release "
                f"of a {own.statistic}"
            )
    if any(own.expected_error is None for own in found):
        raise ValueError("a release without an expected error has no weight")
    n = np.array([own.n for own in found], dtype=np.float64)
    noise = np.array([_noise(own) for own in found])
    error = np.array([own.expected_error for own in found], dtype=np.float64)
    if math.isinf(deviation):
        precision = n
    else:
        deviations = np.hypot(error, deviation / np.sqrt(n))
        precision = (deviations.min() / deviations) ** 2  # no square overflows
    weights = precision / precision.sum()
    largest = error.max() or 1.0  # no square overflows
    bias = largest * np.sqrt(np.maximum((error / largest) ** 2 - (noise / largest) ** 2, 0.0))
    values = np.stack([own.value for own in found])
    mean = nonprivate.frechet_mean(values, manifold, weights)
    if not math.isfinite(mean.certified_distance):
        raise ValueError("the released means lie too far apart to have one mean")
    return CombinedMean(
        value=mean.value,
        weights=weights,
        expected_error=math.hypot(float(np.linalg.norm(weights * noise)), float(weights @ bias)),
        n=int(n.sum()),
        guarantees=tuple(own.guarantee for own in found),
    )


def _noise(release: Release) -> float:
    """Expected error of a released mean without the bias of an adaptive one."""
    own = release.parts[-1:] if release.statistic == AdaptiveMean.title else ()
    errors = [part.expected_error for part in own if part.manifold == release.manifold]
    return min(error for error in (release.expected_error, *errors) if error is not None)
