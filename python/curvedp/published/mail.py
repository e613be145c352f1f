"""PrivateMail as published (Vepakomma, Balla and Raskar, Figure 3, Algorithm 1, section 6.2).

The paper's: rows of unit length, a random start, equation 7 with the Gaussian kernels of rows and
of labels of one bandwidth; noise of Corollary 1.1 on each entry after each private iteration;
then equation 7 with the kernel of the noisy embedding in place of the rows' and **the private
labels as before**.

Not the paper's: a row of zeros, which has no direction, stays zero, and integer labels outside 0 ..
n_classes - 1 count as 0; degrees below 1e-15 of the largest are 0 for the pseudo-inverse
Diag(L)^+, as NumPy's has it; entries are cut at 1e100; noise for GDP and ZCDP is Gaussian, where
the paper leaves the mechanism open; `records_per_unit` multiplies the bound. The embedding's norm
is rescaled in each iteration by the authors' code, nowhere in the paper, and not here.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet
from curvedp._labels import codes_among, label_codes
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_count, as_float_array, as_positive
from curvedp.domain import Ball
from curvedp.mail.iteration import MEMORY_LIMIT
from curvedp.mail.rows import as_rows
from curvedp.manifolds import Euclidean
from curvedp.privacy import GDP, ApproxDP, Guarantee, PureDP, Release
from curvedp.published import sensitivity
from curvedp.published.call import Call, Options
from curvedp.published.composition import strong_share
from curvedp.published.sensitivity import LOG_BETA
from curvedp.sensitivity.laplacian_bounds import LEAST_WEIGHT

_WHY = (
    "the bound of Corollary 1.1 rests on the spurious root of a quadratic, and iterations after "
    "the noise use the private labels again; it is offered to reproduce results, not to protect "
    "records"
)

#: Share of the largest degree below which the pseudo-inverse takes a degree for 0.
_CUT = 1e-15
#: Entries of an embedding are cut here.
_LARGEST = 1e100


@quiet
def private_mail(
    X: ArrayLike,
    y: ArrayLike,
    guarantee: Guarantee,
    *,
    n_components: int = 2,
    bandwidth: float = 6.0,
    alpha: float = 0.6,
    n_classes: int | None = None,
    log_beta: float = LOG_BETA,
    private_iterations: int = 2,
    post_iterations: int = 2,
    start_scale: float = 1.0,
    start: ArrayLike | None = None,
    **options: Unpack[Options],
) -> Release:
    """Embed rows with labels by equation 7 and noise of the published bound: `Unproved`.

    Parameters
    ----------
    X : array-like, shape (n, m)
        Scaled to unit length.
    y : array-like, shape (n,)
        Labels, private and used in every iteration, also in those after the noise.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the paper claims. ApproxDP: Laplace noise and the paper's strong composition of the
        private iterations, with its delta' = delta. PureDP: plain composition. The others: Gaussian
        noise.
    n_components : int
    bandwidth, alpha : float
        By default those of the authors' notebook for cars; of both kernels exp(-d^2/2 sigma^2).
    n_classes : int, optional
        For integer labels 0 .. n_classes - 1, whose distance counts (Case B); labels are one-hot
        (Case A) if not given.
    log_beta : float
        ln of the paper's beta, the probability at which its bound is said to fail; 1e-6 by default.
    private_iterations, post_iterations : int
        With and after the noise.
    start_scale : float
        Standard deviation sigma_q of the random start.
    start : array-like, shape (n, n_components), optional
        A start that you promise to have drawn without the data, with that deviation, such as one
        that client and server share; the paper draws it.
    **options
        As in `frechet_mean`.

    Returns
    -------
    Release
        `value` is the embedding, `parts` are those of the private iterations.

    Raises
    ------
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; if the bandwidth is too small for the published
        constants, or `log_beta` too large for the bound to be a real number.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 500)
    >>> rows = 0.1 * rng.standard_normal((1000, 3)) + np.eye(3)[labels]
    >>> release = cdp.published.private_mail(rows, labels, cdp.PureDP(epsilon=2.0))
    >>> release.value.shape, round(release.scale, 2)
    ((1000, 2), 6.72)
    """
    rows = as_rows(X)
    ball = Ball(Euclidean(rows.shape[1]), np.zeros(rows.shape[1]), 1.0)
    call = Call.check(rows, ball, guarantee, why=_WHY, **options)
    codes, kernel = _labels(y, call.n, bandwidth, n_classes)
    shares = _shares(call, as_count(private_iterations, "private_iterations"))
    later = as_count(post_iterations, "post_iterations", least=0)
    delta = call.records_per_unit * sensitivity.mail_iteration(
        call.n,
        n_components,
        bandwidth=bandwidth,
        alpha=alpha,
        n_classes=n_classes,
        log_beta=log_beta,
        start_scale=start_scale,
    )
    call.pay("published PrivateMail embedding")
    tell_stage("kernel")
    step = _Iteration(_unit(call.enter()), bandwidth, codes, kernel, alpha)
    z = _start(start, (call.n, n_components), start_scale, call)
    parts: list[Release] = []
    for share in shares:
        parts.append(_with_noise(step(z), delta, share, call, len(parts) + 1))
        z = parts[-1].value
    tell_stage("iterations after the noise")
    if later:
        step = _Iteration(z, bandwidth, codes, kernel, alpha)
    for _ in range(later):
        z = _cut(step(z))
    last = parts[-1]
    return call.release(
        call.guarantee,
        value=z,
        mechanism=last.mechanism,
        statistic="supervised embedding",
        sensitivity=delta,
        solver_tolerance=0.0,
        scale=last.scale,
        expected_error=None,
        parts=tuple(parts),
    )


def _with_noise(
    exact: FloatArray, delta: float, share: PureDP | GDP, call: Call, stage: int
) -> Release:
    """An iteration with independent noise for each entry (Figure 3, step 3c)."""
    tell_stage(f"private iteration {stage}")
    profile, budget = (
        ("laplace", share.epsilon) if isinstance(share, PureDP) else ("gaussian", share.mu)
    )
    scale = delta / budget
    noise = np.zeros(exact.size)
    if scale > 0:
        call.stream(stage).noise(profile, scale, noise)
    return call.release(
        share,
        value=_cut(exact + noise.reshape(exact.shape)),
        mechanism="multi-dimensional Laplace" if profile == "laplace" else "Gaussian",
        statistic="iteration of the supervised embedding",
        sensitivity=delta,
        solver_tolerance=0.0,
        scale=scale,
        expected_error=None,
    )


class _Iteration:
    """Equation 7: z + (1/2) Diag(L_X)^+ (alpha L_Y - L_X) z.

    Parameters
    ----------
    rows : ndarray, shape (n, m)
        Whose kernel is L_X's.
    bandwidth : float
    codes : ndarray of int, shape (n,)
        Class numbers.
    classes : ndarray, shape (c, c)
        The kernel of the labels of two classes.
    alpha : float
    """

    def __init__(
        self,
        rows: FloatArray,
        bandwidth: float,
        codes: NDArray[np.int64],
        classes: FloatArray,
        alpha: float,
    ) -> None:
        self.kernel = _core.GaussianKernel(rows, bandwidth, LEAST_WEIGHT, MEMORY_LIMIT, False)
        self.codes, self.classes, self.alpha = codes, classes, alpha

    def __call__(self, z: FloatArray) -> FloatArray:
        """The next embedding, shape (n, k)."""
        extended = np.hstack([z, np.ones((len(z), 1))])
        sums = np.empty_like(extended)
        self.kernel.product(extended, sums)
        of_classes = np.zeros((len(self.classes), extended.shape[1]))
        np.add.at(of_classes, self.codes, extended)
        label_sums = (self.classes @ of_classes)[self.codes] - extended
        degrees, label_degrees = sums[:, -1:], label_sums[:, -1:]
        l_x = degrees * z - sums[:, :-1]
        l_y = label_degrees * z - label_sums[:, :-1]
        kept = degrees > _CUT * degrees.max()
        inverse = np.where(kept, 1 / np.where(kept, degrees, 1.0), 0.0)
        following: FloatArray = z + 0.5 * inverse * (self.alpha * l_y - l_x)
        return following


def _labels(
    y: ArrayLike, n: int, bandwidth: float, n_classes: int | None
) -> tuple[NDArray[np.int64], FloatArray]:
    """Class numbers of the labels, and the kernel of two classes: Case A or B of appendix A.1."""
    sigma = as_positive(bandwidth, "bandwidth")
    if n_classes is None:
        codes = label_codes(y, n)
        count = int(codes.max(initial=0)) + 1
        return codes, np.where(np.eye(count, dtype=bool), 1.0, math.exp(-1 / sigma**2))
    numbers = np.arange(as_count(n_classes, "n_classes", least=2))
    codes = np.maximum(codes_among(numbers, y, n), 0)
    return codes, np.exp(-((numbers[:, None] - numbers) ** 2) / (2 * sigma**2))


def _shares(call: Call, count: int) -> tuple[PureDP | GDP, ...]:
    """Guarantees of the private iterations: strong composition where a delta is claimed."""
    if isinstance(call.guarantee, ApproxDP):
        share = strong_share(call.guarantee.epsilon, count, call.guarantee.delta)
        return (PureDP(share),) * count
    return call.shares([1.0] * count)


def _unit(rows: FloatArray) -> FloatArray:
    """Rows of unit length; a row of zeros stays what it is."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: FloatArray = rows / np.where(norms > 0, norms, 1.0)
    return unit


def _start(given: ArrayLike | None, shape: tuple[int, int], scale: float, call: Call) -> FloatArray:
    """The start: the one given, or normal entries."""
    if given is None:
        drawn = np.empty(shape)
        call.stream(0).noise("gaussian", scale, drawn.reshape(-1))
        return drawn
    start = as_float_array(given, "start")
    if start.shape != shape:
        raise ValueError(f"start must have shape {shape}, got {start.shape}")
    return start


def _cut(z: FloatArray) -> FloatArray:
    return np.clip(z, -_LARGEST, _LARGEST)
