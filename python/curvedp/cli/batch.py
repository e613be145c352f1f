"""``curvedp batch``: a statistic of every group of a Parquet file."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from curvedp._places import public_name
from curvedp.cli.batch_plan import print_plan
from curvedp.cli.fields import can_be_said, field_options, names_as, names_in, statistic_of
from curvedp.cli.options import (
    ball_options,
    budget_options,
    coverage_option,
    ledger_options,
    reading_of,
    reading_options,
    relation_options,
    units_option,
)
from curvedp.cli.output import kept_in
from curvedp.cli.parameters import open_ledger, parse_ball, parse_guarantee
from curvedp.cli.tables import FileError
from curvedp.errors import MissingExtraError
from curvedp.privacy import NoiseSecret
from curvedp.privacy.base import Neighbours, with_relation
from curvedp.statistics import Mean, Statistic

__all__ = ["batch"]

#: Statistics of each group, by the words that name them.
_STATISTICS = {"mean": Mean} | {
    kind.word: kind
    for kind in sorted(Statistic.kinds(), key=lambda kind: kind.word or "")
    if kind.word is not None and not kind.has_parts and can_be_said(kind)
}


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
    type=click.Choice(list(_STATISTICS)),
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
@field_options(_STATISTICS)
@units_option
@reading_options
@relation_options
@click.option(
    "--keys",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="With --neighbours add-remove: Parquet file with the public keys of all groups that shall "
    "be released, in columns of the same names. Without it keys are secret, which needs --delta: "
    "groups with enough records are shown.",
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
    help="Records in a chunk, about; by default 524,288, or as many as make 32 MiB.",
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
    units: str | None,
    order: str | None,
    scalar_first: bool | None,
    angle_units: str | None,
    neighbours: Neighbours,
    n_guess: int | None,
    keys: Path | None,
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
    **given: Any,
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
        from curvedp.batch.files import location_of
        from curvedp.batch.parameters import REFUSAL, BatchParameters
        from curvedp.batch.parquet import Source, all_rows
        from curvedp.batch.release import release
        from curvedp.batch.run import run
        from curvedp.batch.tables import BatchReleases
        from curvedp.batch.upload import place_of
    except MissingExtraError as error:
        raise click.UsageError(str(error)) from error
    protected = neighbours == "add-remove"
    if not protected and not public_keys:
        raise click.UsageError(REFUSAL)
    if not protected and (keys is not None or n_guess is not None):
        raise click.UsageError("--keys and --n-guess are for --neighbours add-remove")
    beside = {name: given.pop(name) for name in ("covariate", "labels")}
    given = {name: value for name, value in given.items() if value not in (None, ())}
    if "classes" in given:
        if beside["labels"] is None:
            raise click.UsageError("--classes says which --labels there are: give these, too")
        column = Source(location_of(source), [beside["labels"]]).schema.field(beside["labels"])
        given["classes"] = names_as(given["classes"], column, "--classes")
    own = statistic_of(_STATISTICS[statistic], given)
    console = Console(soft_wrap=True, highlight=False)
    common: dict[str, Any] = {
        "by": names_in(by),
        "points": names_in(points),
        "ball": parse_ball(manifold, center, radius),
        "guarantee": with_relation(parse_guarantee(epsilon, delta, rho, mu), neighbours),
        "public_keys": public_keys,
        "records_per_unit": records_per_unit,
        "groups_per_unit": groups_per_unit,
        "skip_small": skip_small,
        **beside,
        "units": units,
        "coverage": "each" if coverage_each else coverage,
    }
    written: dict[str, Any] = {
        "order": order,
        "scalar_first": scalar_first,
        "angle_units": angle_units,
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
                **written,
                keys=None if keys is None else all_rows(location_of(keys), common["by"]),
                n_guess=n_guess,
                out=out,
                ledger=book,
                secret=secret,
                chunk_rows=chunk_rows,
                resume=resume,
            )
        _print_done(console, found, out)
        return
    parameters = BatchParameters.check(own, **common, reading=reading_of(written))
    if dry_run:
        # a ledger that does not exist yet is not created by a dry run
        existing = ledger if ledger is not None and ledger.exists() else None
        names = (ledger_budget, ledger_data, ledger_unit) if existing else ()
        with open_ledger(existing, *names) as book:
            print_plan(console, parameters, source, book, chunk_rows)
        return
    if secret is not None and not secret.exists() and not resume:
        NoiseSecret.create(secret)
    with (
        _logged(log, log_json),
        open_ledger(ledger, ledger_budget, ledger_data, ledger_unit) as book,
        _bar() as report,
        _workers_of(workers, scheduler) as done_by,
    ):
        described = run(
            location_of(source),
            out,
            stage,
            parameters,
            done_by,
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
def _workers_of(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Those who do the work: threads of this process, or a Dask cluster."""
    if workers is None and scheduler is None:
        from curvedp.batch.run import Threads

        yield Threads()
        return
    try:
        from curvedp.batch.cluster import Cluster, cluster_of
    except MissingExtraError as error:
        raise click.UsageError(str(error)) from error
    with cluster_of(workers, scheduler) as client:
        yield Cluster(client)
