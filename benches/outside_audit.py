"""An audit written by others, of ten statistics as their users call them.

python benches/outside_audit.py [--quick]

It needs privacy-estimates (`pip install privacy-estimates`, MIT licence; Zanella-Béguelin and
others 2023, Bayesian estimation of differential privacy), which neither the package nor its tests
need: a virtual environment of its own, with this package on its path, will do.

Of each statistic many releases are drawn at two neighbouring data sets. Half of them choose the
threshold of a score that tells the data sets apart best, in either direction; the other half is
counted, and privacy-estimates makes of the counts a lower bound on epsilon by Clopper and Pearson,
at a delta that is 0 for claims of pure privacy. A bound above the claim refutes it. The control
draws with less noise than the claim needs, and must be refuted. Prints a table of
docs/measured/audits.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from privacy_estimates import AttackResults, compute_eps_lo

import curvedp as cdp
from curvedp.mail import PrivateQuery

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
N = 8
#: Where claims of Gaussian privacy are looked at.
DELTA = 0.1
#: Probability that a bound is above the truth, of each; and of the bounds that choose thresholds.
ALPHA, ALPHA_OF_CHOICE = 1e-6, 1e-3
PURE, GAUSSIAN = cdp.PureDP(1.0), cdp.GDP(1.0)

Scores = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """A statistic at two neighbouring data sets.

    Attributes
    ----------
    name : str
    claim : Guarantee
    broken : Guarantee
        Under which the control releases what it claims to have released under `claim`.
    draw : callable
        Scores of so many releases at the first or the second data set, under a guarantee.
    share : int
        By which the number of releases is divided, where they take long.
    """

    name: str
    claim: Any
    broken: Any
    draw: Callable[[int, Any, int], Scores]
    share: int = 1


def edge(angle: float) -> Any:
    """The point at the ball's edge in a direction."""
    tangent = BALL.radius * np.array([np.cos(angle), np.sin(angle), 0.0])
    return BALL.manifold.exp(tangent, BALL.center)


def crowd(point: Any, n: int = N) -> Any:
    """n records at the centre, with the first replaced."""
    return np.vstack([point[None], np.tile(BALL.center, (n - 1, 1))])


OPPOSITE = crowd(edge(0.0)), crowd(edge(np.pi))
OUT_OR_IN = crowd(edge(0.0)), crowd(BALL.center)


def many(records: Any, times: int) -> tuple[Any, Any]:
    """The records again and again, and the number of each copy."""
    return np.concatenate([records] * times), np.repeat(np.arange(times), len(records))


def mean(which: int, guarantee: Any, times: int) -> Scores:
    records, groups = many(OPPOSITE[which], times)
    return np.asarray(cdp.frechet_mean(records, BALL, guarantee, groups=groups).value[:, 0])


def adaptive_mean(which: int, guarantee: Any, times: int) -> Scores:
    records, groups = many(OPPOSITE[which], times)
    stages = (0.3, 0.2, 0.5)  # of so few records it would else be one mean
    found = cdp.adaptive_mean(records, BALL, guarantee, groups=groups, schedule=stages)
    return np.asarray(found.value[:, 0])


def variance(which: int, guarantee: Any, times: int) -> Scores:
    records, groups = many(OUT_OR_IN[which], times)
    return np.asarray(
        cdp.frechet_variance(records, BALL, guarantee, within=0.0, groups=groups).value
    )


def quantile(which: int, guarantee: Any, times: int) -> Scores:
    """Three values at the lower end, or two: the more, the rarer is a release beyond it."""
    values = np.zeros(3)
    values[0] = 1.0 - which
    copies, groups = many(values, times)
    public = {"low": 0.0, "high": 1.0, "step": 0.1}
    found = cdp.quantile(copies, 0.5, guarantee=guarantee, groups=groups, **public)
    return np.asarray(found.value, dtype=np.float64).ravel()


def k_means(which: int, guarantee: Any, times: int) -> Scores:
    records, groups = many(OPPOSITE[which], times)
    found = cdp.k_means(records, 1, BALL, guarantee, groups=groups)
    return np.asarray(found.value.reshape(times, -1)[:, 0])


def regression(which: int, guarantee: Any, times: int) -> Scores:
    x, y = np.linspace(0.0, 1.0, 40), np.zeros((40, 1))
    y[-1] = 1.0 - 2.0 * which
    (copies, groups), at = many(y, times), np.tile(x, times)
    found = cdp.geodesic_regression(at, copies, LINE, guarantee, x_range=(0.0, 1.0), groups=groups)
    return np.asarray(found.value.reshape(times, -1).sum(axis=1))


def two_samples(which: int, guarantee: Any, times: int) -> Scores:
    a, b = np.full((4, 1), -1.0), np.full((4, 1), 1.0)
    b[0] = 1.0 - 2.0 * which
    (first, groups), (second, _) = many(a, times), many(b, times)
    found = cdp.two_sample_test(first, second, LINE, guarantee, groups=(groups, groups))
    return np.asarray(found.value, dtype=np.float64).ravel()


def coverage(which: int, guarantee: Any, times: int) -> Scores:
    """The released numbers of records inside the ball and outside it, of one mean each time."""
    n, whole = 40, cdp.GDP(10.0 * guarantee.mu)
    records = np.tile(BALL.center, (n, 1))
    records[0, :2] = (0.0, 0.0) if which else (1.0, 0.0)
    records[0, 2] = 1.0 if which else 0.0
    scores = np.empty(times)
    for number in range(times):
        found = cdp.frechet_mean(records, BALL, whole, coverage=True)
        assert found.coverage is not None
        assert found.coverage.guarantee.mu <= guarantee.mu
        scores[number] = found.coverage.noisy[1] - found.coverage.noisy[0]
    return scores


@cache
def queries() -> PrivateQuery:
    """Public anchors at two poles."""
    side = np.tile([1.0, -1.0], 10)
    mail = cdp.PrivateMail(1, guarantee=PURE)
    anchors = mail.anchors(side[:, None] * np.array([[1.0, 0.0]]), (side < 0).astype(int))
    return PrivateQuery(anchors=anchors, method="noise")


def query(which: int, guarantee: Any, times: int) -> Scores:
    statistic = queries()
    rows = np.tile([1.0 - 2.0 * which, 0.0], (times, 1))
    found = cdp.release(statistic, rows, statistic.anchors.ball, guarantee, groups=np.arange(times))
    towards = statistic.anchors.embedding[0] - statistic.anchors.embedding[1]
    return np.asarray(found.value @ towards)


CASES = [
    Case("mean, Laplace noise", PURE, cdp.PureDP(3.0), mean),
    Case("mean, Gaussian noise", GAUSSIAN, cdp.GDP(2.0), mean),
    Case("adaptive mean", GAUSSIAN, cdp.GDP(6.0), adaptive_mean),
    Case("variance", PURE, cdp.PureDP(2.0), variance),
    Case("median by ranks", PURE, cdp.PureDP(6.0), quantile),
    Case("k-means, one cluster", GAUSSIAN, cdp.GDP(4.0), k_means, share=2),
    Case("geodesic regression", GAUSSIAN, cdp.GDP(6.0), regression, share=8),
    Case("test of two samples", PURE, cdp.PureDP(8.0), two_samples, share=2),
    Case("count of records inside the ball", GAUSSIAN, cdp.GDP(2.0), coverage, share=2),
    Case("query of PrivateMail", GAUSSIAN, cdp.GDP(2.0), query, share=2),
]


def counts(positive: Scores, negative: Scores, threshold: float) -> AttackResults:
    """Hits and false alarms of the test that calls scores from the threshold on positive."""
    hits, alarms = int((positive >= threshold).sum()), int((negative >= threshold).sum())
    return AttackResults(TP=hits, FN=len(positive) - hits, FP=alarms, TN=len(negative) - alarms)


def lower_bound(first: Scores, second: Scores, delta: float) -> float:
    """The bound of privacy-estimates by the threshold that half of the scores choose."""
    half = len(first) // 2
    best, chosen = -1.0, None
    with warnings.catch_warnings():  # of logarithms of 0, which it means
        warnings.simplefilter("ignore")
        for a, b in ((first, second), (-second, -first), (second, first), (-first, -second)):
            levels = np.concatenate([np.geomspace(3e-3, 0.5, 25), [0.7, 0.9]])
            for threshold in np.unique(np.quantile(b[:half], 1.0 - levels)):
                told = counts(a[:half], b[:half], threshold)
                bound = compute_eps_lo(told, delta, ALPHA_OF_CHOICE, "beta")
                if bound > best:
                    best, chosen = bound, (a, b, threshold)
        assert chosen is not None
        a, b, threshold = chosen
        found = compute_eps_lo(counts(a[half:], b[half:], threshold), delta, ALPHA, "beta")
    return max(0.0, float(found))


def row(case: Case, times: int) -> tuple[str, float, float, float]:
    """Name, claimed epsilon, bound, and the bound of the control."""
    delta = 0.0 if isinstance(case.claim, cdp.PureDP) else DELTA
    times //= case.share
    bounds = [
        lower_bound(*(case.draw(which, guarantee, times) for which in (0, 1)), delta)
        for guarantee in (case.claim, case.broken)
    ]
    claimed = case.claim.to_epsilon(delta) if delta else case.claim.epsilon
    return (f"{case.name} | {times} | {case.claim} | {delta:g}", claimed, *bounds)


def main(times: int) -> None:
    """Prints the table, and raises if a claim is refuted or a control is not."""
    warnings.simplefilter("ignore", UserWarning)
    print("| statistic | releases | claim | δ | ε of the claim | bound | control | its bound |")
    print("|---|---|---|---|---|---|---|---|")
    wrong = []
    for case in CASES:
        told, claimed, bound, control = row(case, times)
        print(
            f"| {told} | {claimed:.2f} | {bound:.2f} | {case.broken} | {control:.2f} |", flush=True
        )
        if bound > claimed or control <= claimed:
            wrong.append(case.name)
    if wrong:
        raise SystemExit(f"not as it should be: {', '.join(wrong)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the releases")
    main(4_000 if parser.parse_args().quick else 20_000)
