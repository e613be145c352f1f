"""The attack on the low-order bits of a release.

Proofs hold for real numbers, but programs release doubles. Through rounding, the last bits of a
value may depend on the records and not on the noise. They then tell data sets apart, whatever the
proof says (Mironov 2012). This audit tests them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_count, as_positive
from curvedp.audit.bounds import claim_of, event_error, parameter_of
from curvedp.audit.discrete import Search
from curvedp.audit.low_bit_statistics import Values, statistics_of
from curvedp.audit.release_function import relation_of, require_relation
from curvedp.audit.result import AuditResult
from curvedp.manifolds import Manifold, as_manifold
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import Guarantee
from curvedp.statistics import Releases

_LEAST_RELEASES = 8


def low_bits(
    release: Callable[[Any], Any],
    data_a: ArrayLike,
    data_b: ArrayLike,
    *,
    n_releases: int = 10_000,
    claimed: Guarantee | None = None,
    manifold: Manifold | str | None = None,
    step: float | None = None,
    records_per_unit: int = 1,
    confidence: float = 1 - 1e-6,
) -> AuditResult:
    """Audit the low-order bits of whole releases at two neighbouring data sets.

    Looks, in exact integer arithmetic on the released doubles, at

    - every entry: its last 1 to 8 bits, the zero bits at its end, the exponent of its lowest bit,
      its exact value where values repeat; the same bits of the entry in steps of the public grid,
      and how far it lies off a multiple of the step;
    - all entries together: hashes of their last bits and of the whole value;
    - the manifold's equation: |value|² - R² on spheres and shapes, the landmarks' sum of shapes,
      ⟨value, value⟩ + R² on hyperbolic space; the asymmetry of square matrices;
    - the sum of what all these have learnt.

    A quarter of the releases learns which outcomes speak for which data set, a quarter chooses one
    event for each statistic and direction, one half counts, and all events share the confidence.

    Parameters
    ----------
    release : callable
        Maps a data set to a :class:`~curvedp.Release`, to an array or a number, or to
        :class:`~curvedp.Releases` of which every group holds the whole data set and counts as
        one release. Called until there are ``n_releases`` of each data set and expected to draw
        fresh noise each time.
    data_a, data_b : array_like
        Two neighbouring data sets, see :func:`audit_release_function`.
    n_releases : int
        Releases of each data set, at least 8.
    claimed : guarantee, optional
        Guarantee to test: PureDP, ApproxDP, ZCDP or GDP (for ``Unproved`` the claimed one). If not
        given, the guarantee the first release carries.
    manifold : Manifold or str, optional
        Manifold of the values, see `as_manifold`; if not given, that of the first release.
        Counts only for values of the shape of its points.
    step : float, optional
        Step of the public grid. If not given, and the first release states its noise scale, the
        step of the library's own grid.
    records_per_unit : int
        Number of records that one person may contribute.
    confidence : float
        Joint confidence of the lower bound over all statistics and both directions.

    Returns
    -------
    AuditResult
        Its events have a ``description`` of the outcomes that they consist of.

    Raises
    ------
    ValueError
        If the data sets are not neighbouring, ``n_releases`` is below 8, the values differ in
        shape, or a parameter is out of range.
    TypeError
        If no guarantee is claimed: neither by argument nor by the release.

    Notes
    -----
    The choice of statistics affects only the power: each is a function of the released value, so
    that a correct release passes with probability at least ``confidence``. Passing proves nothing
    about other data sets; see "The low bits of a release" in the documentation for how to choose
    them.

    References
    ----------
    Mironov (2012), "On significance of the least significant bits for differential privacy";
    Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26(4).

    Examples
    --------
    Noise added in floating point, nothing rounded: all that comes out is above 1 or below it.

    >>> import curvedp as cdp
    >>> rng = np.random.default_rng(0)
    >>> def plain(data):
    ...     return 2.0**-60 * rng.laplace() + data.mean()
    >>> a, b = np.ones(8), np.ones(8)
    >>> b[0] += 2.0**-49
    >>> result = low_bits(plain, a, b, n_releases=400, claimed=cdp.PureDP(epsilon=1.0))
    >>> result.passed, result.lower_bound > 1.5
    (False, True)

    The library's own release of a mean, many at a time:

    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> def rounded(data):
    ...     many = np.tile(data, 200)[:, None]
    ...     offsets = np.arange(201) * len(data)
    ...     return cdp.frechet_mean(many, ball, cdp.PureDP(1.0), groups=offsets)
    >>> low_bits(rounded, a, b, n_releases=400).passed
    True
    """
    count = as_count(n_releases, "n_releases")
    if count < _LEAST_RELEASES:
        raise ValueError(f"n_releases must be at least {_LEAST_RELEASES}, not {count}")
    event_error(confidence, 1)
    a, b = np.asarray(data_a), np.asarray(data_b)
    relation = relation_of(a, b, records_per_unit)
    drawn_a, drawn_b = _draw(release, a, count), _draw(release, b, count)
    if drawn_a.values.shape != drawn_b.values.shape:
        raise ValueError("release must give values of one shape, these differ between data sets")
    guarantee = drawn_a.guarantee if claimed is None else claimed
    if guarantee is None:
        raise TypeError("claimed is needed: the release function returns no guarantee")
    claim = claim_of(guarantee)
    parameter = parameter_of(claim)
    require_relation(claim, relation)
    search = Search(count, parameter, confidence)
    space = drawn_a.manifold if manifold is None else manifold
    values = Values(
        entries=np.concatenate([part.values.reshape(count, -1) for part in (drawn_a, drawn_b)]),
        shape=drawn_a.values.shape[1:],
        learn=search.learn,
        manifold=None if space is None else as_manifold(space),
        step=drawn_a.step if step is None else as_positive(step, "step"),
    )
    for statistic in statistics_of(values):
        search.look_at(statistic)
    search.look_at_all_together()
    events = search.events()
    return AuditResult(
        parameter=parameter.name,
        lower_bound=max(event.lower_bound for event in events),
        claimed=claim,
        claimed_value=parameter.claimed,
        confidence=confidence,
        events=events,
    )


@dataclass(frozen=True)
class _Drawn:
    """Values of one data set, and what the first output says about them."""

    values: FloatArray
    guarantee: Guarantee | None
    manifold: str | None
    step: float | None


def _draw(release: Callable[[Any], Any], data: np.ndarray, count: int) -> _Drawn:
    first = release(data)
    parts = [_values(first)]
    missing = count - len(parts[0])
    while missing > 0:
        parts.append(_values(release(data)))
        if parts[-1].shape[1:] != parts[0].shape[1:]:
            raise ValueError("release must give values of one shape, these differ between calls")
        missing -= len(parts[-1])
    values = np.concatenate(parts)[:count]
    if not values[0].size:
        raise ValueError("release must give values with at least one entry")
    # the first release of a group stands for all: they have everything public in common
    single = next(iter(first)) if isinstance(first, Releases) else first
    return _Drawn(
        values=values,
        guarantee=getattr(single, "guarantee", None),
        manifold=getattr(single, "manifold", None),
        step=_step(getattr(single, "scale", None)),
    )


def _values(output: Any) -> FloatArray:
    """The values of an output, one release along the first axis."""
    if isinstance(output, Releases):
        if not output.released.any():
            raise ValueError("release must give values: every group was skipped")
        return np.asarray(output.value[output.released], dtype=np.float64)
    return np.asarray(getattr(output, "value", output), dtype=np.float64)[None]


def _step(scale: Any) -> float | None:
    """The step of the library's grid for a noise scale: a power of two."""
    if not isinstance(scale, float) or not 0.0 < scale < math.inf:
        return None
    return math.ldexp(1.0, math.frexp(scale)[1] - 1) / STEPS_PER_SCALE or None
