"""PrivateMail with the published noise (Vepakomma, Balla and Raskar, Corollary 1.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray
from curvedp.mail import PrivateMail
from curvedp.mail.noise import add_noise
from curvedp.mail.rows import as_rows
from curvedp.privacy import Ledger, PureDP, Release
from curvedp.published import sensitivity
from curvedp.published.call import Call

_WHY = (
    "the bound of Corollary 1.1 rests on the spurious root of a quadratic and is 0 at the largest "
    "beta that the paper allows; it is offered to reproduce results, not to protect records"
)


@quiet
def private_mail(
    X: ArrayLike,
    y: ArrayLike | None,
    estimator: PrivateMail,
    *,
    log_beta: float | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Embed rows as `estimator` would, with noise of the published bound: `Unproved`.

    Later iterations leave the labels out; the paper's take the private ones again.

    Parameters
    ----------
    X : array-like, shape (n, m)
    y : array-like, shape (n,), or None
        Labels; not needed if `estimator.alpha` is 0.
    estimator : PrivateMail
        Holds all other parameters; it is not fitted.
    log_beta : float, optional
        ln of the paper's beta, the probability at which its bound is said to fail; by default the
        largest at which it is a real number. The bound is 0 there, and no noise is added; at
        smaller ones it is mostly larger than the proved one (docs/papers.md).
    ledger : Ledger, optional
        Refuses the call: no ledger accepts an `Unproved` release.

    Returns
    -------
    Release
        `value` is the embedding, `parts` are those of the private iterations.

    Raises
    ------
    ValueError, TypeError
        As `PrivateMail.fit_transform`; and if the bandwidth is too small for the published
        constants, or `log_beta` is too large.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 50)
    >>> rows = 0.1 * rng.standard_normal((100, 3)) + np.eye(3)[labels]
    >>> mail = cdp.PrivateMail(n_components=2, guarantee=cdp.GDP(mu=1.0))
    >>> release = cdp.published.private_mail(rows, labels, mail)
    >>> release.value.shape, release.scale
    ((100, 2), 0.0)
    """
    embedding, rows = estimator._statistic(), as_rows(X)
    call = Call.check(
        rows,
        estimator._ball(rows.shape[1]),
        estimator._guarantee(),
        why=_WHY,
        records_per_unit=estimator.records_per_unit,
        ledger=estimator.ledger if ledger is None else ledger,
        seed=estimator.seed,
    )
    codes = estimator._codes(y, call.n)
    labels = None if codes is None else codes.astype(np.int64)
    shares = call.shares([1.0] * estimator.private_iterations)
    delta = sensitivity.mail_iteration(
        call.n,
        estimator.n_components,
        bandwidth=estimator.bandwidth,
        alpha=estimator.alpha,
        log_beta=log_beta,
        start_scale=estimator.start_scale,
    )
    call.pay("published PrivateMail embedding")
    tell_stage("kernel")
    operators = embedding.operators(call.enter(), labels, call.ball)
    z = embedding.shorten(embedding.start(call.n, call.stream(0)))
    parts: list[Release] = []
    for stage, share in enumerate(shares, start=1):
        tell_stage(f"private iteration {stage}")
        pure = isinstance(share, PureDP)
        scale = delta / (share.epsilon if isinstance(share, PureDP) else share.mu)
        exact = operators.step(z, estimator.alpha, estimator.form)
        part = call.release(
            share,
            value=_with_noise(exact, pure, scale, embedding.largest_norm, call, stage),
            mechanism="multi-dimensional Laplace" if pure else "Gaussian",
            statistic="iteration of the supervised embedding",
            sensitivity=delta,
            solver_tolerance=embedding.rounding(call.n, call.ball),
            scale=scale,
            expected_error=None,
        )
        z = embedding.shorten(part.value)
        parts.append(part)
    last = parts[-1]
    return call.release(
        call.guarantee,
        value=embedding.post_process(z, call.ball),
        mechanism=last.mechanism,
        statistic="supervised embedding",
        sensitivity=last.sensitivity,
        solver_tolerance=last.solver_tolerance,
        scale=last.scale,
        expected_error=None,
        parts=tuple(parts),
    )


def _with_noise(
    exact: FloatArray, pure: bool, scale: float, largest: float, call: Call, stage: int
) -> FloatArray:
    """Independent Laplace noise on each entry (Figure 3, step 3c); Gaussian if not pure DP."""
    if scale == 0:
        return exact
    profile = "laplace" if pure else "gaussian"
    return add_noise(exact, (exact.size, 1), profile, scale, largest, call.stream(stage))
