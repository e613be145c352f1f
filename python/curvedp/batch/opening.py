"""A job that is begun, resumed or finished already: what is asked for is what began, or an error.

A finished job leaves its state beside the result, in `.<out>.receipt` (mode 0600), so that
`resume` tells whether the result is that of the same records, secret and ledger, as it was written.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from curvedp.batch.build import check_build, own_build
from curvedp.batch.files import Location
from curvedp.batch.folder import folder_of, new_folder, sweep
from curvedp.batch.job import Job
from curvedp.batch.output import Output, output_of, read_manifest
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.parquet import Source
from curvedp.errors import BatchError
from curvedp.privacy import Ledger, NoiseSecret

__all__ = ["open_job"]

#: What must be asked for again to resume, by what messages call it.
_SAME = {
    "source": "location",
    "out": "out",
    "fingerprint": "fingerprint",
    "parameters": "parameters",
    "secret": "given_secret",
}


def open_job(
    location: Location,
    out: str | os.PathLike[str],
    parameters: BatchParameters,
    *,
    chunk_rows: int,
    secret: str | os.PathLike[str] | None,
    ledger: Ledger | None,
    resume: bool,
) -> Job | None:
    """A new job, or with `resume` the one that was interrupted; None if it is finished already.

    Raises
    ------
    BatchError
        If the result exists, a job was left unfinished or differs from what is asked for, or a
        finished result is no longer what was written.
    """
    target = Path(out).resolve()
    folder = folder_of(target)
    sweep(folder)
    place = output_of(target, folder, "")
    read = Source(location, [*parameters.by, *parameters.columns.names])
    own = None if secret is None else NoiseSecret.load(secret)
    identity = secrets.token_hex(16)
    asked = Job(
        folder=folder,
        identity=identity,
        location=read.location,
        out=str(target),
        fingerprint=read.fingerprint(),
        build=own_build(),
        parameters=parameters,
        chunk_rows=chunk_rows,
        given_secret=None if secret is None else str(Path(os.fsdecode(secret)).resolve()),
        secret_digest="" if own is None else own._digest(identity),
    )
    if os.path.lexists(folder):
        found = Job.load(folder)
        if not resume:
            raise BatchError(
                f"{folder} holds a batch that was interrupted: resume it, or remove the folder; "
                "what it released is paid for"
            )
        if found.output.is_published():
            _check_finished(found, asked, place, ledger)
            found.remove()
            return None
        _require_same(
            found,
            asked,
            lambda differing: (
                f"the interrupted batch in {found.folder} was asked for with another {differing}: "
                "resume it as it was begun, or remove the folder and begin anew, which is a new "
                "spend"
            ),
        )
        check_build(found.build, f"the batch in {folder} began")
        found.note_source(folder, read)
        return found
    if resume and target.exists() and place.manifest.exists():
        _check_finished(Job.of_result(target), asked, place, ledger)
        return None
    place.check_free()
    with new_folder(folder) as draft:
        fresh = own or NoiseSecret.create(draft / "secret")
        replace(asked, secret_digest=fresh._digest(identity)).write(draft)
        asked.note_source(draft, read)
    return Job.load(folder)


def _check_finished(found: Job, asked: Job, place: Output, ledger: Ledger | None) -> None:
    """Refuses a finished result that is not the one of what is asked for, as it was written."""
    _require_same(
        found,
        asked,
        lambda differing: (
            f"{place.out} is the finished result of a batch with another {differing}: give what "
            "is asked for now another out, or ask for the same again"
        ),
    )
    if found.given_secret is not None:
        found.secret  # noqa: B018 raises if it is another one
    if not found.was_paid_from(ledger):
        raise BatchError(
            f"{place.out} is the finished result of a batch with another ledger, or none: this one "
            "was not charged for it. Resume with the same, or give another out"
        )
    written = {"result_sha256": found.noted.get("result")}
    told = read_manifest(place)
    if told.get("job") != found.identity or not place.is_result_of(told | written):
        raise BatchError(
            f"{place.out} or its manifest is no longer what the batch wrote: bring it back from a "
            "copy, or give another out, which is a new spend"
        )


def _require_same(found: Job, asked: Job, message: Callable[[str], str]) -> None:
    mine, theirs = asked.to_dict(), found.to_dict()
    differing = [word for word, name in _SAME.items() if mine[name] != theirs[name]]
    if differing:
        raise BatchError(message(" and ".join(differing)))
