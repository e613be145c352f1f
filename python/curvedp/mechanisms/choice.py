"""Ways to meet a guarantee: pure or Gaussian noise, and the mechanism that draws it on a ball."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from curvedp.domain import Ball
from curvedp.mechanisms.base import Mechanism, Way
from curvedp.mechanisms.bounded_range import pure_epsilon
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.mechanisms.exponential_wrapped_gaussian import ExponentialWrappedGaussian
from curvedp.mechanisms.l2 import L2Mechanism
from curvedp.mechanisms.riemannian_gaussian import RiemannianGaussian
from curvedp.mechanisms.riemannian_laplace import RiemannianLaplace
from curvedp.mechanisms.tangent_gaussian import TangentGaussian
from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.conversion import round_down, sqrt_bounds

#: Mechanisms by the word that selects them.
MECHANISMS: dict[str, type[Mechanism]] = {
    "riemannian-laplace": RiemannianLaplace,
    "riemannian-gaussian": RiemannianGaussian,
    "exponential-wrapped-gaussian": ExponentialWrappedGaussian,
    "tangent-gaussian": TangentGaussian,
    "l2-mechanism": L2Mechanism,
}


def draws_exactly(mechanism: str | type[Mechanism] | None) -> bool:
    """True for the mechanisms of curvedp, which draw in exact arithmetic."""
    return mechanism is None or _as_kind(mechanism) in MECHANISMS.values()


def choose_mechanism(
    ball: Ball, way: Way, mechanism: str | type[Mechanism] | None = None
) -> type[Mechanism]:
    """The mechanism class for noise on a ball that satisfies a guarantee.

    By default Riemannian Laplace noise for pure DP. For Gaussian DP, Gaussian noise: intrinsic on
    nonnegative curvature, wrapped by the exponential map at the ball's centre on Hadamard
    manifolds, in the chart where it is flat. For ApproxDP the l2 mechanism.

    Parameters
    ----------
    ball : Ball
    way : PureDP, GDP or ApproxDP
        One of `ways_to_meet` a request, or of `ways_of_one_draw`.
    mechanism : str or Mechanism class, optional
        One of ``"riemannian-laplace"``, ``"riemannian-gaussian"``,
        ``"exponential-wrapped-gaussian"``, ``"tangent-gaussian"``, ``"l2-mechanism"``.

    Returns
    -------
    Mechanism class

    Raises
    ------
    ValueError
        If `mechanism` is none of these.
    TypeError
        If it is a class without a name to print or a profile.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> choose_mechanism(ball, GDP(mu=1.0)).name, choose_mechanism(ball, PureDP(epsilon=1.0)).name
    ('Riemannian Gaussian', 'Riemannian Laplace')
    """
    check_guarantee(way)
    if mechanism is not None:
        return _as_kind(mechanism)
    if isinstance(way, PureDP):
        return RiemannianLaplace
    if isinstance(way, ApproxDP):
        return L2Mechanism
    if ball.manifold._has_flat_frame:
        return TangentGaussian
    if ball.manifold._has_hadamard_frame:
        return ExponentialWrappedGaussian
    return RiemannianGaussian


def _as_kind(mechanism: str | type[Mechanism]) -> type[Mechanism]:
    """The mechanism class of that name, or the class itself if it can be used."""
    if isinstance(mechanism, type) and issubclass(mechanism, Mechanism):
        if not isinstance(getattr(mechanism, "name", None), str):
            raise TypeError(f"{mechanism.__name__} has no name, which releases print")
        if getattr(mechanism, "profile", None) not in ("laplace", "gaussian"):
            raise TypeError(f"{mechanism.__name__} needs the profile 'laplace' or 'gaussian'")
        return mechanism
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        words = ", ".join(map(repr, MECHANISMS))
        meant = [name for name in MECHANISMS if str(mechanism).lower() in name]
        hint = f": did you mean {meant[0]!r}?" if meant else ""
        raise ValueError(f"mechanism must be one of {words}, got {mechanism!r}{hint}")
    return MECHANISMS[mechanism]


def ways_to_meet(
    guarantee: Guarantee, mechanism: str | type[Mechanism] | None = None
) -> tuple[PureDP | GDP, ...]:
    """Guarantees that noise is calibrated to and each of which implies `guarantee`.

    Gaussian noise satisfies mu-GDP: the largest mu that implies the request, sqrt(2 rho) for zCDP
    and the root of delta_mu(epsilon) = delta for (epsilon, delta). Laplace noise satisfies pure DP:
    the largest epsilon that implies the request, see `pure_epsilon`. Statistics take the way with
    the smallest expected error.

    Parameters
    ----------
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    mechanism : str or Mechanism class, optional
        As in `choose_mechanism`: then its own way alone.

    Returns
    -------
    tuple of PureDP or GDP
        The Gaussian way first; only the pure one for PureDP.

    Raises
    ------
    ValueError, TypeError
        As in `choose_mechanism`, and for a Gaussian mechanism under PureDP.

    Examples
    --------
    >>> print(*ways_to_meet(ZCDP(rho=0.5)))
    GDP(mu=1) PureDP(epsilon=1)
    >>> print(*ways_to_meet(ApproxDP(epsilon=1.0, delta=1e-6), "riemannian-laplace"))
    PureDP(epsilon=1.00001)
    """
    ways = _ways(guarantee)
    if mechanism is None:
        return ways
    kind = _as_kind(mechanism)
    wanted = PureDP if kind.profile == "laplace" else GDP
    own = tuple(way for way in ways if isinstance(way, wanted))
    if not own:
        raise TypeError(
            f"{kind.name} noise gives Gaussian DP: ask for GDP, ZCDP or ApproxDP, or use the "
            "Riemannian Laplace mechanism for pure DP"
        )
    return own


def ways_of_one_draw(
    guarantee: Guarantee, mechanism: str | type[Mechanism] | None = None
) -> tuple[Way, ...]:
    """`ways_to_meet`, and the l2 mechanism's for (epsilon, delta): where there is one draw.

    Several draws compose better as GDP: shares of (epsilon, delta) only add up.

    Parameters
    ----------
    guarantee, mechanism
        As in `ways_to_meet`.

    Returns
    -------
    tuple of PureDP, GDP or ApproxDP
        The last is the request itself.

    Raises
    ------
    ValueError, TypeError
        As in `ways_to_meet`.

    Examples
    --------
    >>> print(*ways_of_one_draw(ApproxDP(epsilon=1.0, delta=1e-6)))
    GDP(mu=0.236705) PureDP(epsilon=1.00001) ApproxDP(epsilon=1, delta=1e-06)
    """
    if not isinstance(guarantee, ApproxDP) or guarantee.epsilon == 0.0:
        return ways_to_meet(guarantee, mechanism)
    if mechanism is None:
        return *ways_to_meet(guarantee), guarantee
    is_l2 = issubclass(_as_kind(mechanism), L2Mechanism)
    return (guarantee,) if is_l2 else ways_to_meet(guarantee, mechanism)


@lru_cache(maxsize=1024)
def _ways(guarantee: Guarantee) -> tuple[PureDP | GDP, ...]:
    check_guarantee(guarantee)
    match guarantee:
        case PureDP():
            return (guarantee,)
        case GDP():
            gaussian = guarantee
        case ZCDP(rho):
            gaussian = GDP(round_down(sqrt_bounds(2 * Fraction(rho))[0]))
        case ApproxDP():
            gaussian = guarantee.sufficient_gdp()
        case _:
            raise TypeError("guarantee must be PureDP, ApproxDP, ZCDP or GDP")
    return gaussian, PureDP(pure_epsilon(guarantee))
