"""Noise scales from sensitivities, rounded up.

The proof of a mechanism needs scale >= sensitivity/budget for real numbers. Sensitivity and
quotient are computed in double precision, so the scale gets a margin that covers their rounding.
Proof: docs/proofs/conversions.md, section 8.
"""

from __future__ import annotations

from curvedp import _core
from curvedp._validation import as_positive


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
    moved, spent = as_positive(sensitivity, "sensitivity"), as_positive(budget, "budget")
    return _core.outward_scale(moved, spent)
