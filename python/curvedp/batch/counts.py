"""Counts of a batch's records: one of all, from sums of chunks, or one of each group.

Sums of chunks are hidden until one noise is drawn at the end.

What a chunk counts is exact, and files of a job may be seen before it is finished. So it is stored
under a one-time pad of the job's secret, which nobody tells from random numbers without the secret
that the noise comes from. Proof: docs/proofs/coverage.md, "Batches".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from curvedp.privacy import NoiseSecret
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.statistics.call import Call
from curvedp.statistics.paid import COUNT_COLUMNS, stream_of_count
from curvedp.statistics.tallies import Weights

__all__ = ["added_up", "count_of", "counts_of_groups", "hidden", "shown"]

#: Sums are added modulo 2^128: those of all records of a batch are smaller.
_BITS = 128


def hidden(weights: Weights, secret: NoiseSecret, owner: str) -> list[str]:
    """A chunk's sums under its pad, as text.

    Parameters
    ----------
    weights : pair of int
    secret : NoiseSecret
        The job's.
    owner : str
        The job and the chunk: no other sums ever get this pad.
    """
    pads = _pads(secret, owner)
    return [f"{(own + pad) % 2**_BITS:032x}" for own, pad in zip(weights, pads, strict=True)]


def shown(texts: Iterable[str], secret: NoiseSecret, owner: str) -> Weights:
    """Inverse of `hidden`."""
    pads = _pads(secret, owner)
    outside, no_point = (
        (int(own, 16) - pad) % 2**_BITS for own, pad in zip(texts, pads, strict=True)
    )
    return outside, no_point


def _pads(secret: NoiseSecret, owner: str) -> tuple[int, int]:
    pad, half = secret.pad(f"the count of {owner}"), _BITS // 8
    return int.from_bytes(pad[:half], "big"), int.from_bytes(pad[half:], "big")


def added_up(weights: Iterable[Weights]) -> Weights:
    """The sums of all chunks."""
    outside, no_point = map(sum, zip(*weights, strict=True))
    return outside, no_point


def count_of(call: Call, weights: Weights, secret: NoiseSecret | None) -> Coverage | None:
    """The count of all records of a batch, drawn; None if the call does not count.

    Under a secret its noise follows from the sums and from all that its scale depends on: the same
    in every run, however the records were divided.
    """
    counting = call.counting
    if counting is None or counting.each:
        return None
    keys = call.keys(secret, None)
    name = None if secret is None else f"sums {weights[0]} {weights[1]}".encode()
    stream = stream_of_count(keys, np.zeros((1, 1)), name)
    return counting.draw(weights, call.promise(counting.total, None), stream)


def counts_of_groups(
    call: Call, table: Any, groups: int, before: GroupCoverage | None = None
) -> GroupCoverage | None:
    """The counts of each group in a table of releases, added up, and of those before.

    None if the call does not count the records of each.

    Parameters
    ----------
    call : Call
    table : pyarrow.Table
    groups : int
        Number of groups of the whole batch.
    before : GroupCoverage or None
    """
    counting = call.counting
    if counting is None or not counting.each:
        return None
    columns = [table.column(name).to_numpy() for name in ("n", *COUNT_COLUMNS[1:])]
    found = GroupCoverage.of(
        *(own.astype(np.float64) for own in columns),
        groups=groups,
        noise=counting.kind,
        guarantee=call.promise(counting.total, None),
    )
    return found if before is None else before + found
