"""Choice of the mechanism for a guarantee on a ball, and the guarantee it is calibrated to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from curvedp.domain import Ball
from curvedp.mechanisms.base import ChartGaussian, IntrinsicMechanism, Mechanism
from curvedp.mechanisms.exponential_wrapped_gaussian import ExponentialWrappedGaussian
from curvedp.mechanisms.riemannian_gaussian import RiemannianGaussian
from curvedp.mechanisms.riemannian_laplace import RiemannianLaplace
from curvedp.mechanisms.tangent_gaussian import TangentGaussian
from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP

#: Mechanisms by the word that selects them.
MECHANISMS: dict[str, type[Mechanism]] = {
    "riemannian-laplace": RiemannianLaplace,
    "riemannian-gaussian": RiemannianGaussian,
    "exponential-wrapped-gaussian": ExponentialWrappedGaussian,
    "tangent-gaussian": TangentGaussian,
}


def draws_exactly(kind: type[Mechanism]) -> bool:
    """True for the mechanisms of curvedp, which draw in exact arithmetic."""
    return kind in MECHANISMS.values()


def choose_mechanism(
    ball: Ball, guarantee: Guarantee, mechanism: str | type[Mechanism] | None = None
) -> type[Mechanism]:
    """The mechanism class for a guarantee, by default the one with the least error.

    Pure DP: Riemannian Laplace. Every other guarantee: Gaussian noise, intrinsic on nonnegative
    curvature, wrapped by the exponential map at the ball's centre on Hadamard manifolds, in the
    chart where it is flat.

    Parameters
    ----------
    ball : Ball
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    mechanism : str or Mechanism class, optional
        One of ``"riemannian-laplace"``, ``"riemannian-gaussian"``,
        ``"exponential-wrapped-gaussian"``, ``"tangent-gaussian"``.

    Raises
    ------
    ValueError
        If `mechanism` is none of these.
    TypeError
        If it is a class without a name to print or a profile.

    Returns
    -------
    Mechanism class

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> choose_mechanism(ball, GDP(mu=1.0)).name, choose_mechanism(ball, PureDP(epsilon=1.0)).name
    ('Riemannian Gaussian', 'Riemannian Laplace')
    """
    if isinstance(mechanism, type) and issubclass(mechanism, Mechanism):
        if not isinstance(getattr(mechanism, "name", None), str):
            raise TypeError(f"{mechanism.__name__} has no name, which releases print")
        if getattr(mechanism, "profile", None) not in ("laplace", "gaussian"):
            raise TypeError(f"{mechanism.__name__} needs the profile 'laplace' or 'gaussian'")
        return mechanism
    if mechanism is not None:
        if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
            words = ", ".join(map(repr, MECHANISMS))
            raise ValueError(f"mechanism must be one of {words}, got {mechanism!r}")
        return MECHANISMS[mechanism]
    if isinstance(guarantee, PureDP):
        return RiemannianLaplace
    if ball.manifold.is_flat:
        return TangentGaussian
    if ball.manifold.is_hadamard:
        return ExponentialWrappedGaussian
    return RiemannianGaussian


def native_guarantee(guarantee: Guarantee, mechanism: type[Mechanism]) -> PureDP | GDP:
    """The guarantee to which the mechanism is calibrated, so that `guarantee` follows.

    Laplace noise serves pure DP. Gaussian noise serves mu-GDP, with the largest mu that implies the
    request: mu = sqrt(2 rho) for zCDP, the root of delta_mu(epsilon) = delta for (epsilon, delta).

    Parameters
    ----------
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    mechanism : Mechanism class

    Returns
    -------
    PureDP or GDP

    Raises
    ------
    TypeError
        If the mechanism's noise does not imply the guarantee.

    Examples
    --------
    >>> print(native_guarantee(ZCDP(rho=0.5), TangentGaussian))
    GDP(mu=1)
    """
    if mechanism.profile == "laplace":
        if isinstance(guarantee, PureDP):
            return guarantee
        raise TypeError(
            f"{mechanism.name} noise gives pure DP: ask for PureDP(epsilon), which implies more"
        )
    if isinstance(guarantee, GDP):
        return guarantee
    if isinstance(guarantee, ZCDP):
        return GDP(math.nextafter(math.sqrt(2 * guarantee.rho), 0.0))
    if isinstance(guarantee, ApproxDP):
        return guarantee.sufficient_gdp()
    raise TypeError(
        f"{mechanism.name} noise gives Gaussian DP: ask for GDP, ZCDP or ApproxDP, or use the "
        "Riemannian Laplace mechanism for pure DP"
    )


def known_noise(name: str) -> tuple[bool, str] | None:
    """Noise of the mechanism of that printed name: True if in the chart at the centre, and profile.

    Built-in mechanisms go before those of the user. None if there is no such mechanism, if several
    of that name differ, or if it builds its noise in a way of its own, so that the noise does not
    follow from name and scale.
    """
    for kind in MECHANISMS.values():
        if kind.name == name:
            return _family(kind)
    found = {_family(kind) for kind in _subclasses(Mechanism) if getattr(kind, "name", "") == name}
    return found.pop() if len(found) == 1 else None


def _family(kind: type[Mechanism]) -> tuple[bool, str] | None:
    for base in (ChartGaussian, IntrinsicMechanism):
        if issubclass(kind, base) and kind._build_noise is base._build_noise:
            return base is ChartGaussian, kind.profile
    return None


def _subclasses(kind: type[Any]) -> Iterator[type[Mechanism]]:
    for own in kind.__subclasses__():
        yield own
        yield from _subclasses(own)
