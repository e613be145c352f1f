"""Tables of grouped records for the tests of batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
from curvedp.batch import job as jobs
from curvedp.batch.parameters import BatchParameters


class Stop(Exception):
    """An interruption."""


GUARANTEE = cdp.PureDP(1.0)
#: Enough for regions and intervals of small groups.
LARGE = cdp.GDP(6.0)

#: Every statistic, with keywords that are not its defaults, and the guarantee of each group.
STATISTICS = {
    "mean": (cdp.Mean("tangent-gaussian"), cdp.GDP(1.0)),
    "variance": (cdp.Variance(None, (0.4, 0.6)), GUARANTEE),
    "adaptive": (cdp.AdaptiveMean((0.3, 0.2, 0.5), 0.8), LARGE),
    "region": (cdp.Region(0.9, (0.6, 0.3, 0.1), 0.7), LARGE),
    "interval": (cdp.Interval(0.9, (0.4, 0.6), 0.7), LARGE),
    "fourth-moment": (cdp.FourthMoment(0.7, (0.4, 0.6)), GUARANTEE),
    "covariance": (cdp.LogCovariance(0.7, (0.4, 0.6)), GUARANTEE),
    "hessian": (cdp.MeanHessian(0.7, (0.4, 0.6)), GUARANTEE),
    "median": (cdp.GeometricMedian(), LARGE),
    "kng": (cdp.KNGMean(0.4), GUARANTEE),
    "regression": (cdp.GeodesicLine((0.0, 900.0), 0.3, 0.5, "whitened"), LARGE),
    "trend": (cdp.TrendTest(x_range=(0.0, 900.0), relabellings=19), LARGE),
    "k-means": (cdp.KMeans(2, None, 2), LARGE),
    "components": (cdp.PrincipalComponents(1, 0.3, (0.3, 0.4, 0.3)), GUARANTEE),
    "logistic": (cdp.TangentLogistic(["drug", "placebo"], 5), LARGE),
}


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
            "arm": np.where(np.arange(len(rows)) % 2, "drug", "placebo"),
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


def asked(word):
    """Statistic and guarantee by the statistic's word; groups of one record may be too small."""
    statistic, guarantee = STATISTICS[word]
    found = {"statistic": statistic, "guarantee": guarantee, "skip_small": True}
    return found | beside(statistic)


def beside(statistic):
    """The column of what a statistic takes beside the points."""
    return {"covariate": {"covariate": "age"}, "labels": {"labels": "arm"}}.get(
        statistic.beside, {}
    )


def unused(secret):
    """A copy of a secret's file that has served no data yet, to draw the same noise for others."""
    folder = secret.with_name("unused-secrets")
    folder.mkdir(exist_ok=True)
    copy = folder / str(len(list(folder.iterdir())))
    copy.write_bytes(secret.read_bytes().splitlines()[0])
    copy.chmod(0o600)
    return copy


def release(source, *, statistic=None, **changes):
    """A batch by site and scanner, of means if nothing else is said."""
    if isinstance(changes.get("secret"), Path) and "out" not in changes:
        changes["secret"] = unused(changes["secret"])  # the same records may come in other forms
    return cdp.batch.release(statistic or cdp.Mean(), source, **arguments(**changes))


def run(tmp_path, source, out="out.parquet", **changes):
    """The manifest of a batch from file to file."""
    return release(source, out=tmp_path / out, **changes).manifest


def left_over(folder):
    """Files that a finished batch must not leave behind."""
    return [path.name for path in folder.iterdir() if ".job" in path.name or ".tmp" in path.name]


def check_parameters(statistic=None, **changes):
    """The parameters of a batch by site and scanner, as `curvedp.batch.release` makes them."""
    rest = {"records_per_unit": 1, "groups_per_unit": 1, "skip_small": False}
    return BatchParameters.check(statistic or cdp.Mean(), **(rest | arguments(**changes)))


def interrupted(tmp_path, source, monkeypatch, after=2, **changes):
    """A batch that is cut off after some chunks."""
    store, done = jobs.Job.store, []

    def few(job, number, *released):
        if len(done) == after:
            raise Stop
        done.append(number)
        return store(job, number, *released)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "store", few)
        with pytest.raises(Stop):
            run(tmp_path, source, **changes)
