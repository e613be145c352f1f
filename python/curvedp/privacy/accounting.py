"""Composition of guarantees of different kinds, through Google's `dp_accounting` (an extra).

`compose_mixed` composes privacy-loss distributions of dominating pairs (Koskela, Jälkö, Honkela
2020; Doroshenko et al. 2022, Connect the dots): N(0, 1) against N(mu, 1) for mu-GDP, randomised
response with a total loss of probability delta for (epsilon, delta)-DP, a shift by epsilon of the
density exp(-|x|) for `L2Noise`. `to_dp_event` hands single guarantees to its accountants.

The accountant's relation must be the guarantee's: REPLACE_ONE for "replace", ADD_OR_REMOVE_ONE for
"add-remove". Both functions avoid the library's pitfalls, found by running version 0.6.0; a test
covers each:

- REPLACE_ONE doubles a Gaussian's sensitivity in `PLDAccountant`. Ours are replace-one already:
  `GaussianDpEvent(2 / mu)` there, `GaussianDpEvent(1 / mu)` under ADD_OR_REMOVE_ONE.
- `RdpAccountant` ignores the neighbouring relation: the same event there would understate the loss
  fourfold, so GDP goes to it as `ZCDpEvent(mu^2 / 2)`. `GaussianDpEvent(1 / mu)` is exact there and
  counts as 2 mu in `PLDAccountant`: safe in both, it stands for GDP where no accountant is named.
- REPLACE_SPECIAL understates `RandomizedResponseDpEvent`, and ADD_OR_REMOVE_ONE does not know it.
  `LaplaceDpEvent`, which it knows, understates what mechanisms with a pure guarantee may lose
  together: PureDP for adding or removing a record has no event, only `compose_mixed`. It dominates
  `L2Noise` in every dimension (docs/proofs/l2-mechanism.md), and stands for it in `RdpAccountant`
  and under ADD_OR_REMOVE_ONE; REPLACE_ONE refuses it, and takes the randomised response.
- `PLDAccountant.compose(event, count)` ignores the count for `RandomizedResponseDpEvent`: compose
  the event once per release.
- Its distributions are pessimistic but for the rounding error of Fourier transforms, seen at 2e-15:
  `compose_mixed` asks for a smaller delta than it reports.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from curvedp.errors import ConversionError, MissingExtraError
from curvedp.privacy.base import Guarantee, probability
from curvedp.privacy.conversion import round_down, round_up
from curvedp.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    PureDP,
    Unproved,
    compose,
    one_relation,
)
from curvedp.privacy.l2_noise import L2Noise
from curvedp.privacy.release import Release

__all__ = ["compose_mixed", "to_dp_event"]

_GRID_POINTS = 2**15
#: Steps from epsilon 0 to the largest loss of `L2Noise` at which its curve is computed.
_CURVE_POINTS = 96
_LARGEST_LOSS = 500.0
_TRANSFORM_ERROR = 1e-14


def _library(name: str) -> Any:
    try:
        return import_module(f"dp_accounting.{name}")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "dp_accounting":
            raise
        raise MissingExtraError("accounting", "Composing guarantees of different kinds") from None


def compose_mixed(guarantees: Iterable[Guarantee | L2Noise | Release], delta: float) -> ApproxDP:
    """Smallest known (epsilon, delta) for releasing results with guarantees of any proved kinds.

    The guarantees must be fixed beforehand; what each mechanism does may depend on the results
    before it. Adaptively chosen guarantees need a `Ledger`.

    Parameters
    ----------
    guarantees : iterable of PureDP, ApproxDP, ZCDP, GDP, L2Noise or Release
        All of one neighbouring relation, which the result has, too. A release counts as what its
        noise is calibrated to; a mean by Laplace noise on a flat space, or by the l2 mechanism, as
        `L2Noise`, beside its count of records. Releases of one call share what they cost: give them
        only if each stands for a call of its own.
    delta : float
        Target, above the sum of all deltas in `guarantees`.

    Returns
    -------
    ApproxDP
        The best of: privacy-loss distributions; the sum of what each kind implies; one total in
        GDP, or in zCDP, where all kinds imply it. Each is valid, so their minimum is. zCDP has no
        dominating pair and enters the first by what it implies at half of the delta left over.

    Raises
    ------
    ConversionError
        If one is `Unproved`, or a release is, or the neighbouring relations differ.
    MissingExtraError
        If dp-accounting is not installed.

    Examples
    --------
    >>> import curvedp as cdp
    >>> total = compose_mixed([cdp.GDP(mu=0.5), cdp.PureDP(epsilon=0.5)], delta=1e-6)
    >>> round(total.epsilon, 2), total.delta
    (2.7, 1e-06)
    >>> from curvedp.privacy import L2Noise
    >>> [round(compose_mixed([one] * 50, delta=1e-6).epsilon, 1)
    ...  for one in (cdp.PureDP(0.3), L2Noise(0.3, dim=6))]
    [11.1, 4.1]
    """
    if isinstance(guarantees, Guarantee | L2Noise | Release):
        raise TypeError("give guarantees in a list, as compose_mixed([a, b], delta)")
    given = [
        part for one in guarantees for part in (one.losses if isinstance(one, Release) else (one,))
    ]
    shifts = [part for part in given if isinstance(part, L2Noise)]
    parts = tuple(
        PureDP(part.epsilon, neighbours=part.neighbours) if isinstance(part, L2Noise) else part
        for part in given
    )
    target = probability("delta", delta)
    if not parts:
        raise ValueError("compose_mixed needs at least one guarantee")
    for part in parts:
        if not isinstance(part, PureDP | ApproxDP | ZCDP | GDP):
            raise ConversionError(f"{type(part).__name__} composes with nothing: it proves nothing")
    neighbours = one_relation(parts)
    distributions = _library("pld.privacy_loss_distribution")
    left = Fraction(target) - sum(Fraction(p.delta) for p in parts if isinstance(p, ApproxDP))
    if left <= 0:
        raise ValueError(
            "delta must exceed the sum of the deltas that are composed: raise it or lower theirs"
        )
    candidates = [_basic(parts, left), *_single_kind(parts, target)]
    bounded = [part for part in given if isinstance(part, PureDP | ApproxDP)]
    gaussian = [part for part in parts if isinstance(part, GDP)]
    concentrated = [part for part in parts if isinstance(part, ZCDP)]
    if concentrated:
        bounded.append(compose(*concentrated).to_approx_dp(round_down(left / 2)))
    candidates.append(_by_distributions(distributions, bounded, gaussian, shifts, target))
    return ApproxDP(min(candidates), target, neighbours=neighbours)


def _basic(parts: tuple[Guarantee, ...], left: Fraction) -> float:
    """Sum of epsilons; composed GDP and zCDP share the delta that is left."""
    curves: list[Guarantee] = []
    total = Fraction(0)
    for kind in (GDP, ZCDP):
        same = [part for part in parts if isinstance(part, kind)]
        if same:
            curves.append(compose(*same))
    for part in parts:
        if isinstance(part, PureDP | ApproxDP):
            total += Fraction(part.epsilon)
    for curve in curves:
        epsilon = curve.to_epsilon(round_down(left / len(curves)))
        if math.isinf(epsilon):
            return math.inf
        total += Fraction(epsilon)
    return round_up(total)


def _single_kind(parts: tuple[Guarantee, ...], delta: float) -> list[float]:
    """Epsilons by one total in GDP and one in zCDP, where every part implies it."""
    epsilons = []
    try:
        if all(isinstance(part, PureDP | GDP) for part in parts):
            epsilons.append(compose(*(part.to_gdp() for part in parts)).to_epsilon(delta))
        if not any(isinstance(part, ApproxDP) for part in parts):
            epsilons.append(compose(*(part.to_zcdp() for part in parts)).to_epsilon(delta))
    except ValueError:  # beyond the range of floats
        return []
    return epsilons


def _by_distributions(
    library: Any,
    bounded: list[PureDP | ApproxDP],
    gaussian: list[GDP],
    shifts: list[L2Noise],
    delta: float,
) -> float:
    """Epsilon of the composed privacy-loss distributions; infinite where they are unreliable."""
    mu = compose(*gaussian).mu if gaussian else 0.0
    margin = _TRANSFORM_ERROR * (10 + len(bounded) + len(shifts))
    span = 2.0 * math.fsum(part.epsilon for part in (*bounded, *shifts)) + mu * (20.0 + mu)
    if delta <= 2.0 * margin or not 0.0 < span <= 2.0 * _LARGEST_LOSS:
        return math.inf
    interval = _interval(span / _GRID_POINTS, [part.epsilon for part in (*bounded, *shifts)])
    parameters = _library("pld.common").DifferentialPrivacyParameters
    composed = library.identity(value_discretization_interval=interval)
    for part, count in Counter(bounded).items():
        own = part.delta if isinstance(part, ApproxDP) else 0.0
        loss = library.from_privacy_parameters(
            parameters(_on_grid(part.epsilon, interval), own),
            value_discretization_interval=interval,
        )
        composed = composed.compose(loss.self_compose(count) if count > 1 else loss)
    for noise, count in Counter(shifts).items():
        loss = library.PrivacyLossDistribution(_losses_of(noise, interval))
        composed = composed.compose(loss.self_compose(count) if count > 1 else loss)
    if gaussian:
        shift = library.from_gaussian_mechanism(
            round_down(1 / Fraction(mu)), value_discretization_interval=interval
        )
        composed = composed.compose(shift)
    return float(composed.get_epsilon_for_delta(delta - margin)) * (1.0 + 1e-12)


def _losses_of(noise: L2Noise, interval: float) -> Any:
    """Masses at multiples of the grid step whose curve is above the noise's: Connect the dots.

    A convex curve is at most the lower convex hull, over e^epsilon, of points above it. Both orders
    of the pair are alike: delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)).
    """
    last = math.ceil(noise.epsilon / interval)
    right = np.unique(np.linspace(0, last, min(_CURVE_POINTS, last) + 1).round().astype(int))
    above = np.array([noise.to_delta(k * interval) for k in right.tolist()])
    above[-1] = 0.0  # at epsilon and beyond
    left, mirrored = -right[:0:-1], above[:0:-1]
    falls = np.exp(left * interval)
    points = np.concatenate([left, right])
    deltas = np.concatenate([-np.expm1(left * interval) + falls * mirrored, above])
    hull: list[int] = []
    places = np.exp(points * interval)
    for k in range(len(points)):
        while len(hull) > 1:
            i, j = hull[-2:]
            slope = (deltas[k] - deltas[i]) / (places[k] - places[i])
            if deltas[j] < deltas[i] + slope * (places[j] - places[i]):
                break
            hull.pop()
        hull.append(k)
    masses = _library("pld.pld_pmf").create_pmf_pessimistic_connect_dots
    return masses(interval, points[hull], np.clip(deltas[hull], 0.0, 1.0))


def _interval(widest: float, epsilons: list[float]) -> float:
    """Grid step near `widest`, the smallest epsilon just below a multiple of it.

    Rounded up to 30 bits, so that its multiples, and quotients by it, are exact.
    """
    smallest = min((epsilon for epsilon in epsilons if epsilon > 0.25 * widest), default=widest)
    mantissa, exponent = math.frexp(smallest / math.ceil(smallest / widest))
    return math.ldexp(math.ceil(mantissa * 2.0**30), exponent - 30)


def _on_grid(epsilon: float, interval: float) -> float:
    """Smallest multiple of the grid step that is at least epsilon.

    The library rounds the losses +epsilon and -epsilon both up; on the grid neither moves.
    """
    rounded = math.ceil(epsilon / interval) * interval
    return rounded if rounded >= epsilon else rounded + interval


def to_dp_event(guarantee: Guarantee | L2Noise, accountant: Any = None) -> Any:
    """The event that stands for a guarantee in a given accountant of dp_accounting.

    The mapping depends on the accountant (see the module's text): name it to have the exact one.
    Compose the returned event once per release, never with a count.

    Parameters
    ----------
    guarantee : PureDP, GDP, L2Noise, or ZCDP where the accountant is an `RdpAccountant`
        PureDP for replacing a record only. Of a release by the l2 mechanism take each of its
        `losses`: its (epsilon, delta) has no event.
    accountant : dp_accounting.pld.PLDAccountant or dp_accounting.rdp.RdpAccountant, optional
        With the neighbouring relation REPLACE_ONE for "replace", ADD_OR_REMOVE_ONE for
        "add-remove". Without it the event understates the loss in neither of them under that
        relation; others are not meant.

    Returns
    -------
    dp_accounting.DpEvent
        GDP: ``GaussianDpEvent(2 / mu)``, or ``ZCDpEvent(mu^2 / 2)`` for Rényi accounting, or
        ``GaussianDpEvent(1 / mu)`` for an unknown accountant and for adding or removing a record;
        ZCDP: ``ZCDpEvent(rho)``; PureDP: the randomised response of two buckets that dominates it;
        L2Noise: ``LaplaceDpEvent(1 / epsilon)``, or that of PureDP where it is refused.

    Raises
    ------
    ConversionError
        If there is no event for this guarantee in this accountant.
    ValueError
        If the accountant's neighbouring relation is not the guarantee's.

    Examples
    --------
    >>> import curvedp as cdp, dp_accounting
    >>> from dp_accounting.pld import PLDAccountant
    >>> accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    >>> to_dp_event(cdp.GDP(mu=1.0), accountant)
    GaussianDpEvent(noise_multiplier=2.0)
    >>> to_dp_event(cdp.GDP(mu=1.0))
    GaussianDpEvent(noise_multiplier=1.0)
    """
    events = _library("dp_event")
    if accountant is None:
        return _safe_event(guarantee, events)
    by_distribution = isinstance(accountant, _library("pld.pld_privacy_accountant").PLDAccountant)
    by_divergence = isinstance(accountant, _library("rdp.rdp_privacy_accountant").RdpAccountant)
    if not (by_distribution or by_divergence):
        raise TypeError("accountant must be a PLDAccountant or an RdpAccountant")
    by_replacing = guarantee.neighbours == "replace"
    word = "REPLACE_ONE" if by_replacing else "ADD_OR_REMOVE_ONE"
    known = _library("privacy_accountant").NeighboringRelation
    if accountant.neighboring_relation is not getattr(known, word):
        raise ValueError(
            f"the guarantee's neighbouring relation is {guarantee.neighbours!r}: create the "
            f"accountant with neighboring_relation=NeighboringRelation.{word}"
        )
    match guarantee:
        case GDP(mu) if by_distribution:
            return events.GaussianDpEvent(round_down((2 if by_replacing else 1) / Fraction(mu)))
        case GDP() | ZCDP() if by_divergence:
            return events.ZCDpEvent(guarantee.to_zcdp().rho)
        case L2Noise(epsilon) if by_divergence or not by_replacing:
            return events.LaplaceDpEvent(round_down(1 / Fraction(epsilon)))
        case PureDP(epsilon) | L2Noise(epsilon) if by_replacing:
            return events.RandomizedResponseDpEvent(_lie_probability(epsilon), 2)
    raise _no_event(guarantee, type(accountant).__name__)


def _safe_event(guarantee: Guarantee | L2Noise, events: Any) -> Any:
    """The event that no accountant for the guarantee's relation understates."""
    match guarantee:
        case GDP(mu):
            return events.GaussianDpEvent(round_down(1 / Fraction(mu)))
        case ZCDP(rho):
            return events.ZCDpEvent(rho)
        case PureDP(epsilon) | L2Noise(epsilon) if guarantee.neighbours == "replace":
            return events.RandomizedResponseDpEvent(_lie_probability(epsilon), 2)
        case L2Noise(epsilon):
            return events.LaplaceDpEvent(round_down(1 / Fraction(epsilon)))
    raise _no_event(guarantee, "dp_accounting")


def _no_event(guarantee: Guarantee | L2Noise, where: str) -> ConversionError:
    reason = "it proves nothing" if isinstance(guarantee, Unproved) else "use compose_mixed"
    if isinstance(guarantee, ApproxDP):
        reason += ", or the losses of the release: release.losses"
    return ConversionError(f"{type(guarantee).__name__} has no event in {where}: {reason}")


def _lie_probability(epsilon: float) -> float:
    """2 / (1 + e^epsilon), rounded down."""
    if epsilon < 1.0:
        return math.nextafter(1.0 - math.tanh(0.5 * epsilon) * (1.0 + 1e-15), 0.0)
    decay = math.exp(-epsilon)
    return max(0.0, math.nextafter(2.0 * decay / (1.0 + decay) * (1.0 - 1e-15), 0.0))
