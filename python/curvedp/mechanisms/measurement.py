"""Mechanisms and statistics as measurements of OpenDP (an extra): the parts that they share.

The losses that OpenDP adds up are those that curvedp prints on a release: epsilon d/Delta for
Laplace noise under the max divergence, (mu d/Delta)^2/2 for Gaussian noise under the
zero-concentrated one, d the distance of the true values.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.errors import MissingExtraError
from curvedp.privacy import Guarantee
from curvedp.privacy.base import non_negative
from curvedp.privacy.conversion import round_up


def opendp_prelude() -> Any:
    """OpenDP itself, or an error that says how to install it."""
    try:
        return import_module("opendp.prelude")
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "opendp":
            raise
        raise MissingExtraError("opendp", "A measurement of OpenDP") from None


def make_measurement(
    ball: Ball,
    release: Callable[[Any], FloatArray],
    guarantee: Guarantee,
    sensitivity: float,
    profile: str,
) -> Any:
    """Noise on points of a ball: `release` maps a point to a noisy one, under `guarantee` at
    `sensitivity`."""
    dp = opendp_prelude()
    point_shape = ball.manifold.point_shape

    def member(point: Any) -> bool:
        return np.shape(point) == point_shape and bool(ball.contains(point))

    def privacy_map(dist: Any) -> float:
        return loss(guarantee, sensitivity, profile, Fraction(non_negative("d_in", dist)))

    return dp.m.make_user_measurement(
        input_domain=dp.user_domain(f"curvedp: points of {domain_name(ball)}", member),
        input_metric=dp.user_distance(f"curvedp: geodesic distance on {ball.manifold.spec}"),
        output_measure=output_measure(dp, profile),
        function=release,
        privacy_map=privacy_map,
    )


def output_measure(dp: Any, profile: str) -> Any:
    """The divergence in which noise of that profile is counted."""
    return dp.max_divergence() if profile == "laplace" else dp.zero_concentrated_divergence()


def loss(guarantee: Guarantee, sensitivity: float, profile: str, dist: Fraction) -> float:
    """epsilon d/Delta for Laplace noise, rho = (mu d/Delta)^2/2 for Gaussian noise, rounded up."""
    (full,) = guarantee.additive()
    ratio = dist / Fraction(sensitivity)
    return round_up(full * ratio if profile == "laplace" else full * ratio**2 / 2)


def domain_name(ball: Ball) -> str:
    """A ball in full precision: OpenDP takes domains of one name for equal."""
    center = ",".join(map(float.hex, ball.center.ravel().tolist()))
    return f"B({ball.manifold.spec}; {center}; {ball.radius.hex()})"
