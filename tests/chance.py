"""How often a comparison of drawn numbers may fail on right code, from which thresholds follow.

Tests draw with fixed keys (drawn_keys.py). These probabilities are those of a failure with fresh
ones, and so of a failure when a change of the library, or of NumPy, moves the draws.
"""

from __future__ import annotations

from scipy import stats

#: Of each comparison: a false alarm, or a wrong law that is overlooked.
FAILURE = 1e-10

#: Of audits, which bound a guarantee's parameter from below.
CONFIDENCE = 1 - FAILURE

#: Standard deviations that a sum of many draws exceeds with probability FAILURE.
DEVIATIONS = float(stats.norm.isf(FAILURE))
