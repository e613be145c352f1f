"""The steps of noisy gradient descent, fixed by public values alone.

First steps travel: full Gauss-Newton steps for covariates spread evenly, with residuals clipped at
lengths that fall geometrically from half the ball's radius to tau. Then steps of length 1/(k + 1)
at tau average: in flat space the result is the mean of as many one-step estimates, so that
splitting the budget over them costs nothing under Gaussian DP. The fewer steps, the less noise in
each, which counts where the budget is low: the number of steps is the largest whose noise is still
short compared with the clipping length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from curvedp.privacy import GDP, PureDP

#: s of the norm sqrt(|g_p|^2 + s^2 |g_v|^2): 48^(1/4) gives the least mean squared error of
#: predictions in flat space, 4 + s^2/4 + 12/s^2 up to a factor.
SLOPE_WEIGHT = 48**0.25
#: The reciprocal of the variance of a covariate spread evenly over [-1/2, 1/2].
SLOPE_STEP = 12.0

_MIN_STEPS = 2
_AVERAGING = 4
_EXTRA_TRAVEL = 2
#: Fewer averaging steps where noise grows faster than averaging takes it away: under pure DP.
_FEW_AVERAGING = 2
#: Largest root mean square prediction errors of a step's noise, in clipping lengths: under Gaussian
#: DP; under pure DP for the steps that are needed to get there, and for those beyond.
_GAUSSIAN_NOISE = 1.0
_PURE_NOISE = 0.45
_PURE_NOISE_BEYOND = 0.12


@dataclass(frozen=True)
class Step:
    """One step: the length at which residuals are clipped, and the length of the step."""

    tau: float
    length: float


def schedule(
    n: int, dim: int, radius: float, tau: float, guarantee: PureDP | GDP, records_per_unit: int = 1
) -> list[Step]:
    """The steps for n records on a manifold of dimension `dim`, in a ball of the given radius."""
    start = max(tau, radius / 2)
    halvings = math.ceil(math.log2(start / tau)) if start > tau else 0
    pure = isinstance(guarantee, PureDP)
    needed = halvings + _FEW_AVERAGING
    steps = halvings + _EXTRA_TRAVEL + _AVERAGING
    while steps > _MIN_STEPS:
        limit = _GAUSSIAN_NOISE
        if pure:
            limit = _PURE_NOISE_BEYOND if steps > needed else _PURE_NOISE
        if _noise_to_clip(steps, n, dim, guarantee, records_per_unit) <= limit:
            break
        steps -= 1
    averaging = _AVERAGING
    if pure:
        averaging = min(_AVERAGING, _FEW_AVERAGING + max(0, steps - needed) // 2)
    averaging = min(averaging, steps // 2)
    travel = steps - averaging
    falling = [Step(start * (tau / start) ** (k / travel), 1.0) for k in range(travel)]
    return falling + [Step(tau, 1 / (k + 1)) for k in range(averaging)]


def noise_after(
    n: int, dim: int, radius: float, tau: float, guarantee: PureDP | GDP, records_per_unit: int = 1
) -> float:
    """Root mean square prediction error of the noise of a whole descent, flat space."""
    steps = schedule(n, dim, radius, tau, guarantee, records_per_unit)
    averaged = 1 + sum(step.length < 1 for step in steps)
    one = tau * _noise_to_clip(len(steps), n, dim, guarantee, records_per_unit)
    return one / math.sqrt(averaged)


def _noise_to_clip(
    steps: int, n: int, dim: int, guarantee: PureDP | GDP, records_per_unit: int
) -> float:
    """Root mean square prediction error of a step's noise over the clipping length, flat space."""
    share = 2 * records_per_unit / n
    if isinstance(guarantee, PureDP):  # noise of g_p/2 +- g_v of variance (dim + 1) scale^2
        return share * steps / guarantee.epsilon * math.sqrt(8 * dim * (dim + 1))
    sensitivity = share * math.sqrt(1 + SLOPE_WEIGHT**2 / 4)
    scale = sensitivity * math.sqrt(steps) / guarantee.mu
    return scale * math.sqrt(dim * (1 + SLOPE_STEP / SLOPE_WEIGHT**2))
