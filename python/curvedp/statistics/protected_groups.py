"""Groups of records by the relation of a guarantee: whose labels are public, secret, or all."""

from __future__ import annotations

from curvedp.privacy import ApproxDP, Guarantee
from curvedp.statistics.grouping import Grouping, GroupsLike

__all__ = ["grouped", "keys_are_private"]


def grouped(
    guarantee: Guarantee, keys: GroupsLike, groups: GroupsLike, n: int, *, with_units: bool
) -> Grouping:
    """The groups of n records: of public keys where the number of records is protected.

    Raises
    ------
    ValueError
        For keys without need, and groups without keys where that would tell who is there.
    """
    if guarantee.neighbours == "replace":
        if keys is not None:
            raise ValueError(
                'keys are for guarantees with neighbours="add-remove": leave them out, all labels '
                "that occur are released"
            )
        return Grouping.of(groups, n, with_units=with_units)
    if groups is None:
        if keys is not None:
            raise ValueError("give groups, the label of each record, with keys")
        return Grouping.of(None, n)
    if keys_are_private(guarantee, keys, groups):
        return Grouping.of_protected(groups, n)
    if keys is None:
        raise ValueError(
            "which groups occur would tell who is there: give keys, the public labels of all "
            "groups that shall be released, or an ApproxDP guarantee, which shows those with "
            "enough records"
        )
    return Grouping.among(keys, groups, n)


def keys_are_private(guarantee: Guarantee, keys: GroupsLike, groups: GroupsLike) -> bool:
    """True if which groups occur is protected: (epsilon, delta) pays for showing some."""
    return (
        isinstance(guarantee, ApproxDP)
        and guarantee.neighbours == "add-remove"
        and groups is not None
        and keys is None
    )
