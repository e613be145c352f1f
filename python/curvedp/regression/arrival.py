"""Judges whether the last steps of a regression are what noise alone makes of them.

Post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from curvedp._validation import FloatArray

#: Probability that the last steps of a fit that has arrived look as if it had not.
_FALSE_ALARMS = 0.005


@dataclass
class Arrival:
    """The last steps beside what noise alone would make of them: post-processing.

    After steps of lengths l_1, ..., l_m the fit is off by a sum of their noises, of variance V_m,
    if it has arrived; so the next step, before its length is applied, has the variance V_m plus
    that of its own noise. With lengths 1, 1/2, 1/3, ... these steps are independent.

    Attributes
    ----------
    size : int
        Entries of a step.
    pure : bool
        True if noise is that of pure DP.
    before : float or None
        V_m; None before the first step.
    total : float
        Sum of squared lengths over their variances.
    count : int
        Number of them.
    """

    size: int
    pure: bool
    before: float | None = None
    total: float = 0.0
    count: int = 0

    def note(self, step: FloatArray, deviation: float, length: float) -> None:
        """One more step whose noise has this deviation in each entry."""
        own = deviation**2
        if self.before is not None:
            self.total += float(np.sum(step**2)) / (self.before + own)
            self.count += 1
        self.before = (1.0 - length) ** 2 * (self.before or 0.0) + length**2 * own

    @property
    def is_seen(self) -> bool:
        """False if the steps are longer than noise makes them, but for `_FALSE_ALARMS`."""
        if not self.count:  # one step tells nothing
            return True
        dof = float(self.size)
        if self.pure:  # of the squared length of one noise, by its first two moments
            dof = dof * (dof + 1.0) / (2.0 * dof + 3.0)
        dof *= self.count
        limit = float(scipy.stats.chi2.ppf(1.0 - _FALSE_ALARMS, dof)) / dof
        return self.total / (self.size * self.count) < limit
