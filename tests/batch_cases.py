"""Tables of grouped records for the tests of batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import curvedp as cdp
import curvedp.batch

GUARANTEE = cdp.PureDP(1.0)


def ball():
    """A ball on the sphere whose centre needs all its digits."""
    return cdp.Ball(cdp.Sphere(2), center=np.array([1.0, 2.0, 2.5]) / np.sqrt(11.25), radius=0.5)


def sizes(groups, seed=0):
    """Numbers of records from 1 to 40, in no order."""
    return np.random.default_rng(seed).integers(1, 41, size=groups)


def table(groups=200, seed=0, *, ordered=True):
    """Records keyed by site (text, some missing) and scanner (numbers)."""
    generator = np.random.default_rng(seed)
    counts = sizes(groups, seed)
    rows = cdp.Sphere(2).random_point(int(counts.sum()), rng=generator)
    rows[::3] = ball().center
    group = np.repeat(np.arange(groups), counts)
    site = [None if g // 10 * 10 == groups - 10 else f"site{g // 10:04d}" for g in group]
    whole = pa.table(
        {
            "site": pa.array(site, pa.string()),
            "scanner": pa.array(group % 10, pa.int32()),
            "direction": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3),
            "age": np.arange(len(rows)),
        }
    )
    if ordered:
        return whole
    return whole.take(pa.array(generator.permutation(len(whole))))


def write(path, data, row_group_size=700):
    """A Parquet file with many row groups."""
    pq.write_table(data, path, row_group_size=row_group_size)
    return path


def write_points(path, points, row_group_size=777):
    """A Parquet file with one column of points."""
    width = points[0].size
    column = pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1)), width)
    pq.write_table(pa.table({"point": column}), path, row_group_size=row_group_size)
    return path


ARGUMENTS = {
    "by": ["site", "scanner"],
    "points": "direction",
    "guarantee": GUARANTEE,
    "public_keys": True,
}


def arguments(**changes):
    """Arguments of a batch."""
    return {"ball": ball(), **ARGUMENTS} | changes


def by_key(releases):
    """The released values of a table by their keys."""
    keys = zip(releases["site"].to_pylist(), releases["scanner"].to_pylist(), strict=True)
    return dict(zip(keys, releases["value"].to_pylist(), strict=True))


def run(tmp_path, source, out="out.parquet", **changes):
    """A batch from file to file."""
    return cdp.batch.frechet_means_of_file(source, tmp_path / out, **(arguments() | changes))


def in_memory(data, secret):
    """The same batch of a table in memory."""
    loaded = cdp.NoiseSecret.load(secret)
    return cdp.batch.frechet_means(data, **arguments(), secret=loaded)


def left_over(folder):
    """What a finished batch must not leave behind."""
    return [path.name for path in folder.iterdir() if ".job" in path.name or ".tmp" in path.name]
