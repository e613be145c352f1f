"""Assumptions of guarantees besides their proofs, with their meaning."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ASSUMPTIONS", "explained"]

ASSUMPTIONS = {
    "idealized-sampling": (
        "The noise was computed in floating point and rounded to a public grid at least 2^16 times "
        "coarser than its rounding error; the guarantee is proved for the exact distribution, from "
        "which the probability of a single value may differ by about 2^-15 of itself per dimension."
    ),
    "seeded": (
        "The noise came from a seed, not from the operating system: whoever learns or guesses the "
        "seed can subtract the noise, so nothing is promised."
    ),
    "units-by-name": (
        "All records of one person carry one label, and no other person's do. How many records a "
        "person has is protected, how many persons there are is not."
    ),
    "records-validated": (
        "Records were checked and could have raised an error; whether they did depends on single "
        "records, so nothing is promised."
    ),
    "approximate-sampling": (
        "The noise came from a Markov chain that has not certifiably reached its distribution, so "
        "nothing is promised."
    ),
    "public-groups": (
        "Results for disjoint groups are counted in parallel; this holds only if the group of each "
        "record is public or fixed before the data were seen."
    ),
    "public-keys": (
        "The keys of the groups were chosen without a look at the records; which of them a record "
        "has is a property of that record alone, and is protected."
    ),
    "groups-by-record": (
        "Which group a record belongs to is a property of that record alone; groups of few records "
        "are not shown, but for the probability delta."
    ),
    "shares-of-noise": (
        "Every site but as many as may drop out, work together or lie added its share of the noise "
        "and had it seen by nobody; whoever gathered the answers gave all sites the same plans "
        "and looked at no single answer. A person has records at one site."
    ),
    "public-classes": (
        "The classes are those of the labels that were given: the guarantee holds if which labels "
        "occur at all is public. How many records have each, and which, is protected."
    ),
    "public-base-point": (
        "The point at which the statistic was taken was given as a plain point, not as a release: "
        "the guarantee holds only if it is public, that is, chosen without looking at the records "
        "or released before under a guarantee of its own."
    ),
}


def explained(keys: Iterable[str]) -> list[str]:
    """Assumptions, each with its meaning.

    Parameters
    ----------
    keys : iterable of str
    """
    missing = "No explanation is stored for this assumption."
    return [f"{key}: {ASSUMPTIONS.get(key, missing)}" for key in sorted(keys)]
