"""Words and figures of reports: errors, shares, counts, and what stands for a missing guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence

from curvedp.privacy.base import Guarantee
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.guarantees import NO_GUARANTEE, Unproved
from curvedp.privacy.statement import NOT_COUNTED
from curvedp.unit import Unit, told_in

_OF_VECTOR = "mean distance of the released mean vector from that of a group's records"
#: Limits of the expected error, by the first words of a statistic.
_LIMITS_OF_ERROR = {
    "adaptive Fréchet mean": (
        "about the Fréchet mean of the records projected on the public ball; an estimate and no "
        "bound: a few records far from the others move that mean and look like none"
    ),
    "geometric median": (
        "the noise is not all of it: how near the steps come to the median, and how far shortened "
        "logarithms move where they end, depends on the records and is not seen in a release"
    ),
    "Fréchet mean without a ball": "from noise, clipping and what the last step leaves",
    "mean direction": _OF_VECTOR,
    "mean axis": _OF_VECTOR,
    "quantile": ("the noise scale counts ranks; the release is usually off by a few times as many"),
}

#: Statistics whose values and errors are lengths, or powers of them, by their first words.
_POWERS = {
    "Fréchet mean": 1,
    "adaptive Fréchet mean": 1,
    "conformal Fréchet mean": 1,
    "geometric median": 1,
    "K-norm gradient": 1,
    "Fréchet variance": 2,
    "fourth moment": 4,
}

#: First words of statistics of one record, whose owner trusts nobody.
LOCAL = "query among"

#: Stands for the guarantee of what was computed without privacy.
NOT_PRIVATE = "NONE: computed without privacy"


def alarm_of(guarantee: Guarantee | None, warnings: Sequence[str]) -> str:
    """The text that notebooks show before all else: a missing proof, warnings of the coverage.

    Parameters
    ----------
    guarantee : Guarantee or None
    warnings : sequence of str
    """
    texts = (unproved_text(guarantee), *(f"WARNING: {text}" for text in warnings))
    return ". ".join(filter(None, texts))


def power_of(statistic: str) -> int:
    """The power of a length that a statistic's error is; 0 if it is none.

    Parameters
    ----------
    statistic : str
    """
    found = (power for name, power in _POWERS.items() if statistic.startswith(name))
    return next(found, 0)


def told_error(statistic: str, unit: Unit | None, error: float | None, digits: int = 6) -> str:
    """The expected error of a statistic in the unit of its ball.

    Parameters
    ----------
    statistic : str
    unit : Unit or None
    error : float or None
    digits : int
    """
    if error is None:
        return "not known"
    power = power_of(statistic)
    return told_in(unit if power else None)(error, digits, max(power, 1))


def limits_of_error(statistic: str) -> str:
    """Limits of the expected error of a statistic; empty if there are none."""
    found = (text for name, text in _LIMITS_OF_ERROR.items() if statistic.startswith(name))
    return next(found, "")


def coverage_text(coverage: Coverage | GroupCoverage | None, uncounted: str | None) -> str:
    """A sentence on how many records were points inside the ball, or why that is not known."""
    if coverage is not None:
        return f"Counted: {coverage}."
    return f"{NOT_COUNTED} ({uncounted})." if uncounted else f"{NOT_COUNTED}."


def percent(share: float) -> str:
    """A share in percent, with two digits where it is small."""
    digits = max(0, 1 - math.floor(math.log10(100.0 * share))) if 0.0 < share < 1.0 else 0
    return f"{100.0 * share:.{digits}f} %"


def unproved_text(guarantee: Guarantee | None) -> str:
    """Warning that comes first without a proved guarantee; empty with one."""
    if guarantee is None:
        return NOT_PRIVATE
    if isinstance(guarantee, Unproved):
        return f"{NO_GUARANTEE} {guarantee._claim}"
    return ""
