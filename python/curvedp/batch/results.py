"""Releases of a batch as an Arrow table, and the manifest that says what they promise together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import curvedp
from curvedp._validation import FloatArray
from curvedp.batch._arrow import pa
from curvedp.batch.parameters import BatchParameters, ball_to_dict
from curvedp.privacy import ASSUMPTIONS, NEIGHBOURING
from curvedp.statistics.group_releases import GroupResults

__all__ = [
    "MANIFEST_VERSION",
    "charged",
    "count_sizes",
    "manifest",
    "releases_table",
    "with_plain_lists",
]

MANIFEST_VERSION = 1


def releases_table(keys: Any, releases: GroupResults) -> Any:
    """One row per group: its key, n, value, sensitivity, scale, expected error, guarantee.

    `value` is a number, or a fixed-size list of the numbers of a point in row-major order; null for
    groups that were passed over. The private mean that a value rests on stands in `mean`, its
    noise's scale in `mean_scale`.
    """
    missing = ~releases.released
    guarantee = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(len(releases), dtype=np.int8), mask=missing),
        pa.array([str(releases.guarantee)]),
    )
    columns = {name: keys.column(name) for name in keys.column_names}
    columns["n"] = pa.array(releases.n)
    columns |= {name: _values(own, missing) for name, own in releases.columns().items()}
    columns["guarantee"] = guarantee
    return pa.table(columns)


def _values(values: FloatArray, missing: NDArray[np.bool_]) -> Any:
    """Numbers, or points as fixed-size lists."""
    if values.ndim == 1:
        return pa.array(values, mask=missing)
    mask = {"mask": pa.array(missing)} if missing.any() else {}
    width = int(np.prod(values.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width, **mask)


def with_plain_lists(table: Any) -> Any:
    """Lists of fixed size as lists: Arrow before 26 cannot write or read missing ones."""
    for at, name in enumerate(table.column_names):
        if pa.types.is_fixed_size_list(table.schema.types[at]):
            kind = pa.list_(table.schema.types[at].value_type)
            plain = pa.chunked_array([_plain(chunk) for chunk in table.column(at).chunks], kind)
            table = table.set_column(at, name, plain)
    return table


def _plain(array: Any) -> Any:
    missing = array.is_null().to_numpy(zero_copy_only=False)
    ends = np.cumsum(np.where(missing, 0, array.type.list_size))
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets, mask=np.append(missing, False)), array.flatten()
    )


def manifest(
    parameters: BatchParameters,
    sizes: Counter[int],
    too_small: set[int],
    *,
    noise: str,
    ledger: str | None,
) -> dict[str, Any]:
    """Everything public about a batch; never the secret.

    Parameters
    ----------
    parameters : BatchParameters
    sizes : Counter
        Number of groups of each number of records.
    too_small : set of int
        Numbers of records at which groups were passed over.
    noise : {"fresh", "kept", "deleted"}
        Whether the noise came from a fresh key, a secret that is kept or one that is deleted.
    ledger : str or None
        How the budget was spent.
    """
    plan = parameters.plan
    groups = sum(sizes.values())
    passed_over = sum(sizes[n] for n in too_small)
    assumptions = ("idealized-sampling", "public-groups")
    return {
        "schema_version": MANIFEST_VERSION,
        "curvedp": curvedp.__version__,
        "statistic": plan.statistic,
        "mechanism": plan.mechanism_name,
        "options": plan.options(),
        "by": list(parameters.by),
        "points": list(parameters.points),
        "normalised": parameters.normalise,
        "ball": ball_to_dict(parameters.ball),
        "point_shape": list(parameters.ball.manifold.point_shape),
        "value_shape": list(plan.value_shape),
        "groups": groups,
        "groups_passed_over": passed_over,
        "records": sum(n * count for n, count in sizes.items()),
        "neighbouring": NEIGHBOURING,
        "records_per_unit": plan.records_per_unit,
        "groups_per_unit": plan.groups_per_unit,
        "guarantee_of_each_group": plan.guarantee.to_dict(),
        "guarantee_of_all": plan.total.to_dict(),
        "composition": composition(parameters, groups - passed_over),
        "assumptions": {name: ASSUMPTIONS[name] for name in assumptions},
        "noise": _NOISE[noise],
        "ledger": ledger or "none: what these releases cost was not charged to a ledger",
    }


_NOISE = {
    "fresh": "drawn with a fresh key from the operating system, which is not kept",
    "kept": "derived from a secret that its owner keeps: whoever holds it can subtract the noise",
    "deleted": "derived from a secret that was made for this batch and deleted when it was done",
}


def composition(parameters: BatchParameters, groups: int) -> str:
    """What all releases of a batch promise together, in words."""
    plan = parameters.plan
    several = plan.groups_per_unit > 1
    unit = (
        f"contributes at most {plan.records_per_unit} record"
        f"{'s' if plan.records_per_unit > 1 else ''} to each of at most {plan.groups_per_unit} "
        f"group{'s' if several else ''}"
    )
    how = (
        f"the guarantee of one group, composed {plan.groups_per_unit} times"
        if several
        else "the guarantee of one group, since its records are in no other"
    )
    return (
        f"Parallel composition over {groups} disjoint groups, whose keys were declared public: a "
        f"unit that {unit} is protected by {plan.total}, {how}. If keys depend on what is to be "
        "protected, or a unit contributes to more groups, this does not hold."
    )


def count_sizes(n: NDArray[np.int64]) -> Counter[int]:
    """How many groups have each number of records."""
    sizes, counts = np.unique(n, return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def charged(parameters: BatchParameters) -> str:
    """How the budget of a batch was spent."""
    return f"{parameters.plan.total} was charged before any noise was drawn"
