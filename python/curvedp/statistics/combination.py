"""One mean from the released means of several sites: post-processing, without further cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from curvedp._html import MOST_ROWS, card
from curvedp._text import numbers
from curvedp._validation import FloatArray, as_number
from curvedp.manifolds import as_manifold
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.group_report import report_of_groups
from curvedp.privacy.statement import Statement, accuracy_of, cost_of, statement
from curvedp.privacy.wording import coverage_text, unproved_text
from curvedp.statistics.adaptive_mean import AdaptiveMean
from curvedp.statistics.frechet_mean import Mean

__all__ = ["CombinedMean", "combine"]

#: What releases of means are called.
_MEANS = (Mean.title, AdaptiveMean.title)

_DISJOINT = (
    "No record, and no person, is in two of the releases: otherwise their guarantees compose."
)
_ABOUT = "mean distance from the mean of the sites' exact means with these weights"
_NO_LEDGER = "No ledger was asked"
#: Head of the table of a report.
_COLUMNS = ("release", "n", "weight", "guarantee", "expected error")


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
    parts : tuple of Release
        The releases.
    """

    value: FloatArray
    weights: NDArray[np.float64]
    expected_error: float
    parts: tuple[Release, ...]

    def __repr__(self) -> str:
        error = f"expected_error={self.expected_error:.4g}"
        return f"<{self._title}: value={numbers(self.value)}, {error}, n={self.n}>"

    @property
    def n(self) -> int:
        """Records of all sites."""
        return sum(part.n for part in self.parts)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Those of the releases, in their order.

        What each site's records have, if no record, and no person, is in two of them. Otherwise
        compose them (`curvedp.compose`).
        """
        return tuple(part.guarantee for part in self.parts)

    @property
    def statement(self) -> Statement:
        """See `Release.statement`: about the releases together, as far as sites are disjoint."""
        own = [_statement_at_a_site(part) for part in self.parts]
        assuming = f"{_by_release([told.assuming for told in own])} {_DISJOINT}"
        return Statement(
            protected=_by_release([told.protected for told in own]),
            against=_by_release([told.against for told in own]),
            assuming=assuming,
            cost=f"{_by_release([told.cost for told in own])} {self._paid()}",
            accuracy=accuracy_of(f"{self.expected_error:.6g}", _ABOUT, self._counted()),
        )

    def report(self) -> str:
        """Plain text: the `statement`, then a line for each of the first ten releases."""
        shown = range(min(len(self.parts), MOST_ROWS))
        return report_of_groups(
            self._title,
            self.statement,
            self._facts(),
            [_COLUMNS, *map(self._row, shown)],
            len(self.parts),
            alarm=self._alarm,
            warnings=self._warnings(),
        )

    @property
    def _title(self) -> str:
        return f"Combined mean of {len(self.weights)} releases"

    @property
    def _alarm(self) -> str:
        """Warning that comes first if a release has no guarantee."""
        return next(filter(None, map(unproved_text, self.guarantees)), "")

    def _facts(self) -> list[tuple[str, str]]:
        made = dict.fromkeys(str(own.provenance) for own in self.parts if own.provenance)
        return [
            ("value", numbers(self.value)),
            ("records", f"n = {self.n}"),
            ("weights", numbers(self.weights)),
            ("guarantees", ", ".join(dict.fromkeys(map(str, self.guarantees)))),
            ("expected error", f"{self.expected_error:.6g} (mean distance)"),
            *([("provenance", "; ".join(made))] if made else []),
        ]

    def _row(self, index: int) -> tuple[str, ...]:
        """Number, size, weight, guarantee and error of a release."""
        part = self.parts[index]
        weight, error = f"{self.weights[index]:.4g}", f"{part.expected_error:.4g}"
        return str(index + 1), str(part.n), weight, str(part.guarantee), error

    def _warnings(self) -> list[str]:
        """Sentences of the counts against balls or formats of records."""
        return [
            f"release {number}: {text}"
            for number, part in enumerate(self.parts, 1)
            if part.coverage is not None
            for text in part.coverage.warnings
        ]

    def _paid(self) -> str:
        """Sentences on the ledgers, and on the combination itself."""
        paid = [own.provenance and own.provenance.payment for own in self.parts]
        entries = list(dict.fromkeys(str(own) for own in paid if own is not None))
        told = [f"{text[0].upper()}{text[1:]}." for text in entries[:MOST_ROWS]]
        if (rest := len(entries) - MOST_ROWS) > 0:
            told.append(f"{rest} more entries of ledgers stand with the releases.")
        if not entries:
            told = [f"{_NO_LEDGER}: nobody adds up what else was released."]
        elif missing := paid.count(None):
            told.append(f"{_NO_LEDGER} for {missing} of the releases.")
        return " ".join([*told, "To combine them costs nothing more."])

    def _counted(self) -> str:
        """A sentence on the records inside the balls of the sites that counted them."""
        counts = [part.coverage for part in self.parts if part.coverage is not None]
        if not counts:
            return coverage_text(None, next((own.uncounted for own in self.parts), None))
        n = sum(own.n for own in counts)
        inside = 100 * sum(own.inside for own in counts) / n
        error = 200 * math.hypot(*(own.standard_error for own in counts)) / n
        return (
            f"Counted at {len(counts)} of {len(self.parts)} sites: about {inside:.0f} % (± "
            f"{error:.0f} %) of their records were points inside the ball."
        )

    def _repr_html_(self) -> str:
        return card(
            self._title,
            self._facts(),
            alarm=self._alarm,
            notes=[
                *(f"{name}: {text}" for name, text in self.statement.items()),
                *self._warnings(),
            ],
        )


def _statement_at_a_site(part: Release) -> Statement:
    """The statement of a site's release, without its number of records and the entry that paid."""
    made = part.provenance
    told = statement(
        part.guarantee,
        n="the number of records of each site",
        accuracy="",
        by_name=part.units_by_name,
        records_per_unit=part.records_per_unit,
        grouped=bool({"public-groups", "public-keys"} & part.assumptions),
        steady=made is not None and made.steady,
        provenance=made,
    )
    return replace(told, cost=cost_of(part.guarantee, by_name=part.units_by_name))


def _by_release(texts: Sequence[str]) -> str:
    """One text if all are alike; otherwise each with the numbers of its releases."""
    numbers_of: dict[str, list[str]] = {}
    for number, text in enumerate(texts, 1):
        numbers_of.setdefault(text, []).append(str(number))
    if len(numbers_of) == 1:
        return texts[0]
    return " ".join(
        f"Release{'s' if len(own) > 1 else ''} {', '.join(own)}: {text}"
        for text, own in numbers_of.items()
    )


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
    from curvedp import nonprivate  # brings all of regression

    mean = nonprivate.frechet_mean(values, manifold, weights)
    if not math.isfinite(mean.certified_distance):
        raise ValueError("the released means lie too far apart to have one mean")
    return CombinedMean(
        value=mean.value,
        weights=weights,
        expected_error=math.hypot(float(np.linalg.norm(weights * noise)), float(weights @ bias)),
        parts=tuple(found),
    )


def _noise(release: Release) -> float:
    """Expected error of a released mean without the bias of an adaptive one."""
    own = release.parts[-1:] if release.statistic == AdaptiveMean.title else ()
    errors = [part.expected_error for part in own if part.manifold == release.manifold]
    return min(error for error in (release.expected_error, *errors) if error is not None)
