"""``curvedp batch``: a statistic of every group of a Parquet file."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from curvedp._places import public_name
from curvedp._text import rounded_down
from curvedp.cli.options import (
    ball_options,
    budget_options,
    coverage_option,
    ledger_options,
    mechanism_option,
    relation_options,
    units_option,
)
from curvedp.cli.output import kept_in
from curvedp.cli.parameters import open_ledger, parse_ball, parse_guarantee, parse_levels
from curvedp.cli.tables import FileError
from curvedp.errors import MissingExtraError
from curvedp.privacy import Ledger, NoiseSecret
from curvedp.privacy.base import Neighbours, with_relation
from curvedp.privacy.release import limits_of_error
from curvedp.statistics import Statistic
from curvedp.statistics.schedule import SCHEDULES

__all__ = ["batch"]

#: Statistics of each group, by the words that name them.
_WORDS = (
    *("mean", "variance", "adaptive", "region", "interval"),
    *("fourth-moment", "covariance", "hessian", "median", "kng", "regression"),
    *("quantile", "trend", "k-means", "logistic", "components"),
)


@click.command()
@click.argument("source")
@click.option("--by", required=True, help="Columns of the group key, separated by commas.")
@click.option(
    "--points",
    required=True,
    help="Column of points (lists or tensors), or the columns of a point's numbers, with commas.",
)
@click.option(
    "--statistic",
    type=click.Choice(_WORDS),
    default="mean",
    show_default=True,
    help="What to release of each group; with all but means its private mean is released too.",
)
@ball_options
@click.option(
    "--center",
    metavar="POINT",
    help="Centre of the ball, chosen without looking at the data; as for mean.",
)
@budget_options
@mechanism_option
@click.option(
    "--max-dist",
    type=float,
    help="Of a moment, region or interval: public length at which distances are clipped; by "
    "default never.",
)
@click.option(
    "--within",
    type=float,
    help="Of a variance: public bound on the distance of the mean from the centre; by default one "
    "is released.",
)
@click.option(
    "--weights",
    metavar="NUMBERS",
    help="Shares of the budget, with commas: of a variance for its mean's distance from the centre "
    "and itself, of a moment or interval for its mean and itself, of a region for its mean, its "
    "covariance and (on curved manifolds) its Hessian.",
)
@click.option(
    "--schedule",
    metavar="WORD|NUMBERS",
    help="Of an adaptive mean: auto, adaptive, one-shot, or shares of the budget for mean, radius, "
    "mean ...",
)
@click.option(
    "--quantile", type=float, help="Of an adaptive mean: level of the quantiles of distances."
)
@click.option(
    "--level",
    type=float,
    help="Of a region or interval: level of confidence, 0.95 by default; of a trend: of the test.",
)
@click.option(
    "--tau",
    type=float,
    help="Of a K-norm gradient or regression: public length at which logarithms or residuals are "
    "clipped.",
)
@click.option("--q", help="Of a quantile: its level, 0.5 for the median, or several: 0.25,0.75.")
@click.option("--low", type=float, help="Of a quantile: public lower end of the values.")
@click.option("--high", type=float, help="Of a quantile: public upper end of the values.")
@click.option("--step", type=float, help="Of a quantile: distance of possible values.")
@click.option(
    "--covariate", metavar="NAME", help="Of a regression or trend: column of the covariate."
)
@click.option("--n-clusters", type=int, help="Of k-means: number of clusters of each group.")
@click.option("--n-rounds", type=int, help="Of k-means: rounds after the first centres.")
@click.option("--n-components", type=int, help="Of principal components: their number.")
@click.option("--labels", metavar="NAME", help="Of a logistic regression: column of the labels.")
@click.option(
    "--classes",
    metavar="LABELS",
    help="Of a logistic regression: the public labels, with commas, as the column's type has them.",
)
@click.option("--n-steps", type=int, help="Of a logistic regression: steps of its descent.")
@units_option
@relation_options
@click.option(
    "--keys",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="With --neighbours add-remove: Parquet file with the public keys of all groups that shall "
    "be released, in columns of the same names. Without it keys are secret, which needs --delta: "
    "groups with enough records are shown.",
)
@click.option(
    "--x-range",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Of a regression or trend: public range of the covariate, to which it is clipped.",
)
@click.option(
    "--v-max",
    type=float,
    help="Of a regression: public bound on the distance that the geodesic covers over the range.",
)
@click.option(
    "--public-keys",
    is_flag=True,
    help="Declare that which record belongs to which group is public; without it: refused.",
)
@click.option(
    "--groups-per-unit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Largest number of groups to which one protected person contributes.",
)
@click.option(
    "--skip-small",
    is_flag=True,
    help="Skip groups that are too small for the noise to exist, instead of refusing.",
)
@click.option(
    "--out",
    type=click.Path(),
    required=True,
    help="Parquet file to write, with the manifest beside it, or, by a name without its ending, "
    "folder of such files with the manifest in it; never over an existing one. Also the URI of an "
    "object store, with --stage.",
)
@click.option(
    "--stage",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of this machine in which a result that goes to a URI is made and kept.",
)
@ledger_options
@click.option(
    "--secret",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of a noise secret, made when new and kept. Never publish it. It serves these data "
    "and is refused for others. By default one is made and deleted at the end.",
)
@click.option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    help="Records in a chunk, at least; by default 524,288, or as many as make 32 MiB.",
)
@coverage_option
@click.option(
    "--coverage-each",
    is_flag=True,
    help="Count the records inside the ball in every group that is large enough, in place of one "
    "count of all.",
)
@click.option("--resume", is_flag=True, help="Go on with a batch that was interrupted.")
@click.option(
    "--log",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="File to which a line is added for each chunk, with rate and time left; - for standard "
    "error.",
)
@click.option("--log-json", is_flag=True, help="Write these lines as JSON.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost and how good it would be.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes of a Dask cluster to start for this."
)
@click.option("--scheduler", metavar="ADDRESS", help="A running Dask cluster to use.")
def batch(
    source: str,
    by: str,
    points: str,
    statistic: str,
    manifold: str,
    radius: float | None,
    records_per_unit: int,
    center: str | None,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mu: float | None,
    mechanism: str | None,
    max_dist: float | None,
    within: float | None,
    weights: str | None,
    schedule: str | None,
    quantile: float | None,
    level: float | None,
    tau: float | None,
    q: str | None,
    low: float | None,
    high: float | None,
    step: float | None,
    covariate: str | None,
    n_clusters: int | None,
    n_rounds: int | None,
    n_components: int | None,
    labels: str | None,
    classes: str | None,
    n_steps: int | None,
    units: str | None,
    neighbours: Neighbours,
    n_guess: int | None,
    keys: Path | None,
    x_range: tuple[float, float] | None,
    v_max: float | None,
    public_keys: bool,
    groups_per_unit: int,
    skip_small: bool,
    out: str,
    stage: Path | None,
    ledger: Path | None,
    ledger_budget: str | None,
    ledger_data: str | None,
    ledger_unit: str | None,
    secret: Path | None,
    chunk_rows: int | None,
    coverage: bool | None,
    coverage_each: bool,
    resume: bool,
    log: Path | None,
    log_json: bool,
    dry_run: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Private statistic of every group of records, such as its Frechet mean.

    SOURCE is a Parquet file, a folder of such files, a pattern in quotes or the URI of an object
    store; folders such as site=3/ name columns. It holds one record per row: the columns of its
    group's key and its point, as lists or tensors in row-major order: upper triangles of symmetric
    matrices, longitude and latitude in degrees and quaternions are read too. Directions may have
    any length and landmarks any position and size. A record that is not a point of the manifold, or
    is missing, counts as the centre. A batch that was interrupted goes on with --resume, with the
    same noise, and is paid for once.
    """
    if workers is not None and scheduler is not None:
        raise click.UsageError("give --workers or --scheduler, not both")
    if coverage_each and coverage is not None:
        raise click.UsageError("give --coverage-each or --coverage or --no-coverage, not several")
    try:
        from curvedp.batch.parameters import REFUSAL, BatchParameters, statistic_named
        from curvedp.batch.parquet import all_rows
        from curvedp.batch.release import release
        from curvedp.batch.run import release_all, run
        from curvedp.batch.tables import BatchReleases
        from curvedp.batch.upload import place_of
    except MissingExtraError as error:
        raise click.UsageError(str(error)) from error
    protected = neighbours == "add-remove"
    if not protected and not public_keys:
        raise click.UsageError(REFUSAL)
    if not protected and (keys is not None or n_guess is not None):
        raise click.UsageError("--keys and --n-guess are for --neighbours add-remove")
    own = _statistic(
        statistic_named(statistic),
        mechanism=mechanism,
        max_dist=max_dist,
        within=within,
        weights=None if weights is None else _numbers(weights, "weights"),
        schedule=_schedule(schedule),
        quantile=quantile,
        level=level,
        tau=tau,
        x_range=x_range or None,
        v_max=v_max,
        q=None if q is None else parse_levels(q),
        low=low,
        high=high,
        step=step,
        n_clusters=n_clusters,
        n_rounds=n_rounds,
        n_components=n_components,
        classes=_classes(classes, source, labels),
        n_steps=n_steps,
    )
    console = Console(soft_wrap=True, highlight=False)
    common: dict[str, Any] = {
        "by": _names(by),
        "points": _names(points),
        "ball": parse_ball(manifold, center, radius),
        "guarantee": with_relation(parse_guarantee(epsilon, delta, rho, mu), neighbours),
        "public_keys": public_keys,
        "records_per_unit": records_per_unit,
        "groups_per_unit": groups_per_unit,
        "skip_small": skip_small,
        "covariate": covariate,
        "labels": labels,
        "units": units,
        "coverage": "each" if coverage_each else coverage,
    }
    if protected:
        _refuse_with_protected_keys(
            dry_run=dry_run, log=log, workers=workers, scheduler=scheduler, stage=stage
        )
        with open_ledger(ledger, ledger_budget, ledger_data, ledger_unit) as book:
            found = release(
                own,
                source,
                **common,
                keys=None if keys is None else all_rows(keys, common["by"]),
                n_guess=n_guess,
                out=out,
                ledger=book,
                secret=secret,
                chunk_rows=chunk_rows,
                resume=resume,
            )
        _print_done(console, found, out)
        return
    parameters = BatchParameters.check(own, **common)
    if dry_run:
        # a ledger that does not exist yet is not created by a dry run
        existing = ledger if ledger is not None and ledger.exists() else None
        names = (ledger_budget, ledger_data, ledger_unit) if existing else ()
        with open_ledger(existing, *names) as book:
            _print_plan(console, parameters, source, book, chunk_rows)
        return
    if secret is not None and not secret.exists() and not resume:
        NoiseSecret.create(secret)
    with (
        _logged(log, log_json),
        open_ledger(ledger, ledger_budget, ledger_data, ledger_unit) as book,
        _bar() as report,
        _release_on(workers, scheduler, release_all) as release_chunks,
    ):
        described = run(
            source,
            out,
            stage,
            parameters,
            release_chunks,
            ledger=book,
            secret=secret,
            chunk_rows=chunk_rows,
            resume=resume,
            progress=report,
        )
    done = BatchReleases(described, path=place_of(out, stage)[0])
    _print_done(console, done, out, is_local=stage is None)


def _refuse_with_protected_keys(**given: object) -> None:
    """Refuses options that would show groups, or that need chunks."""
    for name, own in given.items():
        if own is not None and own is not False:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is not served with --neighbours add-remove")


def _print_done(console: Console, done: Any, out: str, *, is_local: bool = True) -> None:
    """Report and places of a result that is written."""
    from curvedp.batch.folder import folder_of
    from curvedp.batch.output import output_of

    with kept_in(public_name(out)):
        console.print(done.report(), markup=False)
        released = done.manifest["groups"] - done.manifest["groups_skipped"]
        written = f"{released} releases written to {public_name(out)}"
        console.print(written, markup=False, soft_wrap=True)
        if is_local:
            place = output_of(Path(out), folder_of(Path(out)), "").manifest
            console.print(f"Manifest written to {place}", markup=False, soft_wrap=True)


def _statistic(kind: type[Statistic[Any]], **given: Any) -> Statistic[Any]:
    """The statistic with the options that were given, all of which must be its own."""
    found = {name: value for name, value in given.items() if value is not None}
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in found:
        if name not in known:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is not an option of the {kind.title}")
    needed = [field.name for field in dataclasses.fields(kind) if _is_needed(field)]  # type: ignore[arg-type]
    if missing := [name for name in needed if name not in found]:
        options = ", ".join("--" + name.replace("_", "-") for name in missing)
        raise click.UsageError(f"a {kind.title} needs {options}")
    return kind(**found)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    """True if a keyword has no default."""
    return field.default is dataclasses.MISSING


def _numbers(text: str, option: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(f"--{option} takes numbers, separated by commas") from None


def _classes(text: str | None, source: str, labels: str | None) -> list[Any] | None:
    """Public labels as the column of labels has them: integers, numbers, truth values or texts."""
    if text is None or labels is None:
        return None if text is None else list(_names(text))
    from curvedp.batch.files import location_of
    from curvedp.batch.parquet import Source

    kind = str(Source(location_of(source), [labels]).schema.field(labels).type)
    read: Callable[[str], Any] = str
    for start, own in (("int", int), ("uint", int), ("float", float), ("double", float)):
        read = own if kind.startswith(start) else read
    read = {"true": True, "false": False}.__getitem__ if kind == "bool" else read
    try:
        return [read(name) for name in _names(text)]
    except (ValueError, KeyError):
        raise click.UsageError(f"--classes {text}: the column {labels!r} holds {kind}") from None


def _schedule(text: str | None) -> str | tuple[float, ...] | None:
    return text if text is None or text in SCHEDULES else _numbers(text, "schedule")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


@contextlib.contextmanager
def _logged(path: Path | None, as_json: bool) -> Iterator[None]:
    """Adds what the batch logs to a file."""
    if path is None:
        if as_json:
            raise click.UsageError("--log-json needs --log")
        yield
        return
    from curvedp.batch.log import JsonLines

    logger = logging.getLogger("curvedp.batch")
    try:
        handler = logging.StreamHandler() if str(path) == "-" else logging.FileHandler(path)
    except OSError as error:
        raise FileError(f"--log {path}: cannot be written ({error.strerror})") from None
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error."""
    messages = Console(stderr=True)
    with Progress(
        TextColumn("groups"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=messages,
    ) as bar:
        task = bar.add_task("groups", total=None)
        yield lambda done, groups: bar.update(task, completed=done, total=groups)


@contextlib.contextmanager
def _release_on(
    workers: int | None, scheduler: str | None, local: Callable[..., None]
) -> Iterator[Callable[..., None]]:
    """The function that releases chunks: in this process or on a Dask cluster."""
    if workers is None and scheduler is None:
        yield local
        return
    try:
        from curvedp.batch.cluster import cluster_of, release_on
    except MissingExtraError as error:
        raise click.UsageError(str(error)) from error
    with cluster_of(workers, scheduler) as client:
        yield lambda job, report: release_on(client, job, report)


def _print_plan(
    console: Console, parameters: Any, source: str, book: Ledger | None, chunk_rows: int | None
) -> None:
    """Budget, expected error by size of group, and cost."""
    from curvedp.batch.files import location_of
    from curvedp.batch.layout import group_sizes
    from curvedp.batch.outlook import outlook_of
    from curvedp.batch.parquet import Source
    from curvedp.batch.results import composition

    file = Source(location_of(source), [*parameters.by, *parameters.columns.names])
    sizes = group_sizes(file, parameters.by, parameters.units)
    call, (designs, choice), uncounted = parameters.planned(sizes)
    chosen = {n: designs[number] for n, number in zip(sorted(sizes), choice.tolist(), strict=True)}
    left_out = sum(sizes[n] for n, design in chosen.items() if design is None)
    groups, total = sum(sizes.values()), sum(n * count for n, count in sizes.items())
    counted = "records" if parameters.units is None else "persons"
    read = f"{file.files} file{'s' if file.files > 1 else ''}"
    if parameters.units is None:  # how many records persons have is protected
        read += f", {file.rows} rows"
    rows = [
        ("input", read),
        (counted, f"{total} in {groups} groups by {', '.join(parameters.by)}"),
        ("each group", str(call.promised)),
        ("cost of all", str(call.total)),
        ("skipped", f"{left_out} groups, too small for the noise to exist"),
        ("coverage", f"not counted: {uncounted}" if uncounted else "counted, with a small share"),
    ]
    told = outlook_of(parameters, sizes, chunk_rows)
    rows += [
        ("time", f"about {told.seconds:.2g} s to release all, without reading them"),
        (
            "memory",
            f"about {told.memory / 1e6:.3g} MB, besides Python and its libraries",
        ),
        ("result", f"about {told.result / 1e6:.3g} MB, less on disk"),
    ]
    if book is not None:
        left = "nothing" if book.remaining is None else book.remaining.as_rest()
        rows.append(("ledger", f"remaining {left} of {book.budget}"))
    for name, text in rows:
        console.print(f"{name:<16} {text}", markup=False)
    extent, name = call.statistic.extent(call)
    table = Table(title=f"Largest expected error by size of group, also as a share of the {name}")
    for column in (counted, "groups", "noise scale", "expected error", "share"):
        table.add_column(column, justify="right")
    for n in _typical(sizes):
        design = chosen[n]
        if design is None:
            table.add_row(str(n), str(sizes[n]), "-", "-", "-")
            continue
        scale, error = call.statistic.outlook(call, design, n)
        share = f"{100 * error / extent:.2g} %"
        known = ("-", "-") if math.isnan(error) else (f"{error:.4g}", share)
        table.add_row(str(n), str(sizes[n]), rounded_down(scale, 4), *known)
    console.print(table)
    if limits := limits_of_error(call.statistic.title):
        console.print(f"Expected errors: {limits}.", markup=False)
    console.print(composition(parameters, groups - left_out, call.total), markup=False)
    console.print("Nothing was spent or released.", markup=False)


def _typical(sizes: Counter[int]) -> list[int]:
    """The smallest, the largest and the quantiles of the sizes of groups."""
    ordered = np.array(sorted(sizes), dtype=np.int64)
    cumulative = np.cumsum([sizes[int(n)] for n in ordered])
    levels = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]) * cumulative[-1]
    found = ordered[np.minimum(np.searchsorted(cumulative, levels), len(ordered) - 1)]
    return sorted(set(found.tolist()))
