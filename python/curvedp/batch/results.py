"""Releases of a batch as an Arrow table, and the manifest that says what they promise together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._arrow import pa
from curvedp.batch.parameters import BatchParameters, ball_to_dict
from curvedp.privacy import ASSUMPTIONS, Guarantee
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.group_report import Range, statement_of_groups
from curvedp.privacy.provenance import Provenance
from curvedp.statistics.call import Call
from curvedp.statistics.releases import Releases

__all__ = [
    "MANIFEST_VERSION",
    "count_sizes",
    "errors_of",
    "manifest",
    "mechanisms_of",
    "with_plain_lists",
]

MANIFEST_VERSION = 1


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


def mechanisms_of(call: Call, designs: Iterable[Any]) -> set[str]:
    """Names of the mechanisms of groups' designs; None for groups that were skipped."""
    return {call.statistic.mechanism_of(own) for own in designs if own is not None}


def manifest(
    parameters: BatchParameters,
    sizes: Counter[int],
    too_small: set[int],
    mechanisms: Iterable[str],
    *,
    noise: str,
    errors: Range | None,
    coverage: Coverage | GroupCoverage | None,
    uncounted: str | None,
    provenance: Provenance,
    protected: Releases[Any] | None = None,
) -> dict[str, Any]:
    """Everything public about a batch; never the secret.

    Parameters
    ----------
    parameters : BatchParameters
    sizes : Counter
        Number of groups of each number of records, or of units where they have names.
    too_small : set of int
        Those numbers at which groups were skipped.
    mechanisms : iterable of str
        Names of those that groups have.
    noise : {"fresh", "kept", "deleted"}
        Source of the noise: a fresh key, a secret that is kept, or one that is deleted.
    errors : pair of float or None
        See `errors_of`.
    coverage : Coverage, GroupCoverage or None
        Released numbers of records inside the ball.
    uncounted : str or None
        Why there are none.
    provenance : Provenance
    protected : Releases or None
        Where the numbers of records are protected, the releases: nothing about others is told.
    """
    call = parameters.call
    groups = sum(sizes.values())
    skipped = sum(sizes[n] for n in too_small)
    each, total = call.guarantee, call.total
    idealized = () if call.statistic.is_exact(call) else ("idealized-sampling",)
    by_name = () if parameters.units is None else ("units-by-name",)
    assumptions: Sequence[str] = (*idealized, "public-groups", *by_name)
    counted = "records" if parameters.units is None else "units"
    records: int | None = sum(n * count for n, count in sizes.items())
    if protected is not None:
        each, total, records = protected.guarantee, protected.total, None
        assumptions = sorted(protected.assumptions)
    told = statement_of_groups(
        total,
        statistic=call.statistic.title,
        groups=groups,
        by_name=parameters.units is not None,
        records_per_unit=call.records_per_unit,
        private_keys=call.private_keys,
        errors=errors,
        unit=parameters.ball.unit,
        coverage=coverage,
        uncounted=uncounted,
        provenance=provenance,
    )
    return {
        "schema_version": MANIFEST_VERSION,
        "statement": told.to_dict(),
        "statistic": call.statistic.title,
        "options": call.statistic.options(),
        "by": list(parameters.by),
        "points": list(parameters.points),
        "covariate": parameters.beside if call.statistic.beside == "covariate" else None,
        "labels": parameters.beside if call.statistic.beside == "labels" else None,
        "units_by": parameters.units,
        "ball": ball_to_dict(parameters.ball),
        "point_shape": list(parameters.ball.manifold.point_shape),
        "value_shape": list(call.statistic.value_shape(call)),
        "groups": groups,
        "groups_skipped": skipped,
        counted: records,
        "records_per_unit": call.records_per_unit,
        "groups_per_unit": call.groups_per_unit,
        "guarantee_of_each_group": each.to_dict(),
        "guarantee_of_all": total.to_dict(),
        "composition": composition(parameters, groups - skipped, total),
        "assumptions": {name: ASSUMPTIONS[name] for name in assumptions},
        "noise": _NOISE[noise],
        "mechanisms": sorted(set(mechanisms)),
        "expected_errors": None if errors is None else list(errors),
        "coverage": None if coverage is None else coverage.to_dict(),
        "uncounted": uncounted,
        "provenance": provenance.to_dict(),
    }


_NOISE = {
    "fresh": "drawn with a fresh key from the operating system, which is not kept",
    "kept": "derived from a secret that its owner keeps: whoever holds it can subtract the noise",
    "deleted": "derived from a secret that was made for this batch and deleted when it was done",
}


def composition(parameters: BatchParameters, groups: int, total: Guarantee) -> str:
    """The guarantee of all releases of a batch together, in words."""
    call = parameters.call
    several = call.groups_per_unit > 1
    most = f"at most {call.records_per_unit} record{'s' if call.records_per_unit > 1 else ''}"
    unit = (
        f"contributes {most if parameters.units is None else 'any number of records'} to each of "
        f"at most {call.groups_per_unit} group{'s' if several else ''}"
    )
    how = (
        f"the guarantee of one group, composed {call.groups_per_unit} times"
        if several
        else "the guarantee of one group, since its records are in no other"
    )
    if total.neighbours == "add-remove":
        shown = "have a key that is secret, and enough records to be shown: there may be others"
        known = shown if call.private_keys else "have the keys that were given, with records or not"
        return (
            f"Parallel composition over disjoint groups, {groups} of which {known}. Whether a unit "
            f"that {unit} is there is protected by {total}, {how}. Which group a record belongs to "
            "must follow from that record alone."
        )
    return (
        f"Parallel composition over {groups} disjoint groups, whose keys were declared public: a "
        f"unit that {unit} is protected by {total}, {how}. If keys depend on what is to be "
        "protected, or a unit contributes to more groups, this does not hold."
    )


def count_sizes(n: NDArray[np.int64]) -> Counter[int]:
    """Number of groups of each number of records."""
    sizes, counts = np.unique(n, return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def errors_of(table: Any, before: Range | None = None) -> Range | None:
    """The least and the largest expected error of a table of releases, and of those before.

    Parameters
    ----------
    table : pyarrow.Table
    before : pair of float or None

    Returns
    -------
    pair of float or None
        None if none is known.
    """
    errors = table.column("expected_error").to_numpy()
    known = np.append(errors[np.isfinite(errors)], before or ())
    return (float(known.min()), float(known.max())) if len(known) else None
