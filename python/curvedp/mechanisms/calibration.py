"""Noise scales from sensitivities, rounded up.

The proof of a mechanism needs scale >= sensitivity/budget for real numbers. Sensitivity and
quotient are computed in double precision, so the scale gets a margin that covers their rounding.
Proof: docs/proofs/conversions.md, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from curvedp import _core
from curvedp._validation import as_positive
from curvedp.errors import ConversionError
from curvedp.privacy import GDP, ApproxDP, Guarantee, PureDP, Unproved
from curvedp.privacy.base import Neighbours
from curvedp.privacy.l2_noise import l2_epsilon

#: Why noise is calibrated to replacing a record, and what serves those who protect their number.
NUMBER_IS_PUBLIC = (
    "noise is calibrated to replacing a record, with the number of records public. The mean, the "
    "median, moments, k-means and the density of one data set take it with n_guess, and a mean "
    "without a ball without one; elsewhere leave out neighbours if that number may be known"
)


def check_guarantee(
    guarantee: Guarantee | None,
    served: Sequence[Neighbours] = ("replace",),
    why: str = NUMBER_IS_PUBLIC,
) -> Guarantee:
    """The guarantee, if noise can be calibrated to it: every calibration passes here.

    All sensitivities are those of replacing a record, but where `served` names another relation;
    `why` says what others lack.

    Raises
    ------
    TypeError
        If it is no guarantee, or `Unproved`.
    ConversionError
        If it is about adding or removing a record.
    """
    if not isinstance(guarantee, Guarantee) or isinstance(guarantee, Unproved):
        raise TypeError(
            "guarantee must be PureDP, ApproxDP, ZCDP or GDP, such as PureDP(epsilon=1.0), got "
            f"{type(guarantee).__name__}"
        )
    if guarantee.neighbours not in served:
        raise ConversionError(f"{guarantee} cannot be met: {why}")
    return guarantee


def outward_scale(sensitivity: float, budget: float) -> float:
    """A noise scale of at least sensitivity/budget, the sensitivity's own rounding included.

    The float above (sensitivity / budget) (1 + 2^-40).

    Parameters
    ----------
    sensitivity : float
        Right to 2^-42 relative.
    budget : float
        epsilon or mu.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If one of them is not positive and finite.

    Examples
    --------
    >>> from fractions import Fraction
    >>> 1.7 / 1.1, Fraction(1.7 / 1.1) * Fraction(1.1) >= Fraction(1.7)
    (1.5454545454545452, False)
    >>> round(outward_scale(1.7, 1.1), 10), Fraction(outward_scale(1.7, 1.1)) * Fraction(1.1) >= 1.7
    (1.5454545455, True)
    """
    shift, spent = as_positive(sensitivity, "sensitivity"), as_positive(budget, "budget")
    return _core.outward_scale(shift, spent)


def calibrated_scale(
    sensitivity: float, tolerance: float, way: PureDP | GDP | ApproxDP, size: int = 1
) -> float:
    """Scale of noise on a value that is computed up to `tolerance`.

    (sensitivity + 2 tolerance)/budget, rounded up: on each of two neighbouring data sets the
    computed value may lie that far from the exact one.

    Parameters
    ----------
    sensitivity : float
        Of the exact value.
    tolerance : float
        Largest error of the computed one.
    way : PureDP, GDP or ApproxDP
    size : int
        Numbers that the noise is added to, where `way` is ApproxDP.

    Returns
    -------
    float

    Examples
    --------
    >>> from curvedp.privacy import GDP
    >>> round(calibrated_scale(1.0, 0.25, GDP(3.0)), 9)
    0.5
    """
    return outward_scale(sensitivity + 2 * tolerance, budget_of(way, size))


def own_epsilon(way: PureDP | ApproxDP, size: int) -> float:
    """epsilon of the noise exp(-|x|/scale) on so many numbers: its scale is sensitivity/epsilon.

    Parameters
    ----------
    way : PureDP or ApproxDP
    size : int
        Numbers that the noise is added to.

    Returns
    -------
    float
        Of (epsilon, delta) the largest shift, in scales, that keeps it: `l2_epsilon`.
    """
    if isinstance(way, PureDP):
        return way.epsilon
    return l2_epsilon(way.epsilon, way.delta, size)


def budget_of(way: PureDP | GDP | ApproxDP, size: int = 1) -> float:
    """Sensitivity over scale of noise on so many numbers: epsilon, mu or `own_epsilon`."""
    check_guarantee(way)
    return way.mu if isinstance(way, GDP) else own_epsilon(way, size)


def profile_of(way: PureDP | GDP | ApproxDP) -> str:
    """The shape of the noise, as compiled code names it."""
    return "gaussian" if isinstance(way, GDP) else "laplace"


def amount_of(way: PureDP | GDP | ApproxDP, size: int = 1) -> tuple[bool, float]:
    """True if the noise has a pure epsilon, and its budget, as compiled code takes both."""
    return not isinstance(way, GDP), budget_of(way, size)


def unit_error(way: PureDP | GDP | ApproxDP, size: int) -> float:
    """Mean length of noise of scale 1 on so many numbers."""
    return _unit_error(profile_of(way), size)


@lru_cache(maxsize=1024)
def _unit_error(profile: str, size: int) -> float:
    return _core.Noise("flat", size, 0.0, profile, 1.0).expected_dist
