"""Cost of a batch before it is begun: time, memory and the size of its result."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from curvedp import _core
from curvedp._arrow import pa
from curvedp.batch.chunk import Chunk, rows_of_chunk
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.run import AT_ONCE
from curvedp.statistics.tables import releases_table

__all__ = ["Outlook", "outlook_of"]

#: Groups and records that are released to find out.
_GROUPS, _RECORDS = 200, 20_000


@dataclass(frozen=True)
class Outlook:
    """Estimates for a whole batch.

    Attributes
    ----------
    seconds : float
        To release all groups by this process, without reading them.
    memory : float
        Bytes of the chunks under way, besides Python with its libraries.
    result : float
        Bytes of the result in memory; on disk it takes less.
    """

    seconds: float
    memory: float
    result: float


def outlook_of(
    parameters: BatchParameters, sizes: Counter[int], chunk_rows: int | None = None
) -> Outlook:
    """The outlook for groups of these sizes: a few are filled with made-up points and released.

    Parameters
    ----------
    parameters : BatchParameters
    sizes : Counter
        Number of groups of each number of records.
    chunk_rows : int, optional
        As in `curvedp.batch.release`.
    """
    call, columns = parameters.call, parameters.columns
    space, rng = call.manifold, np.random.default_rng(0)
    found, counts = np.array(sorted(sizes.items()), dtype=np.int64).T
    share = counts / counts.sum()
    n = rng.choice(found, size=_GROUPS, p=share)
    n = n[: max(1, int(np.searchsorted(np.cumsum(n), _RECORDS)))]
    coords = rng.standard_normal((int(n.sum()), space.dim))
    coords *= 0.5 * min(call.ball.radius, space.max_ball_radius, 1.0) / np.sqrt(space.dim)
    center = call.ball.center
    points = space.exp(space.coords_to_tangent(coords, center), center)
    beside = None
    if columns.beside is not None:
        beside = call.statistic.slow_beside(rng.integers(2, size=len(points)).astype(float))
    chunk = Chunk(
        keys=pa.table({"group": np.arange(len(n))}),
        offsets=np.concatenate(([0], np.cumsum(n))),
        names=(np.zeros(0, dtype=np.uint8), np.zeros(len(n) + 1, dtype=np.int64)),
        points=np.ascontiguousarray(points.reshape(len(points), space.point_size)),
        beside=beside,
    )
    designs = call.designs(chunk.sizes(call.statistic))
    begun = time.perf_counter()
    releases, _ = chunk.release(call, None, designs)
    seconds = time.perf_counter() - begun
    rows, row_bytes = rows_of_chunk(chunk_rows, columns.width), 8 * columns.width
    under_way = min(AT_ONCE, _core.num_threads()) * max(rows, int(found.max()))
    return Outlook(
        seconds=seconds * float(found @ counts) / len(points),
        memory=(1 + call.statistic.memory) * under_way * row_bytes,
        result=releases_table(chunk.keys, releases).nbytes * float(counts.sum()) / len(n),
    )
