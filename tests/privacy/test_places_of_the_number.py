"""Every place that tells a number of records, where that number is protected: one question each.

Noise and, with a ball, the count are the same whatever the records are, and so are the sums of a
search: what differs then was not released. Public numbers of records are the control.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.text import Text

import curvedp as cdp
from command_line import run
from curvedp import _core
from curvedp.plotting import ReleaseDisplay
from curvedp.statistics.call import Call
from curvedp.statistics.count_plan import CountPlan
from curvedp.sums.records import RecordSums
from unknown_n_cases import ADD, BALL, rows

SPACE = BALL.manifold
PRODUCT: dict[str, Any] = {
    **dict.fromkeys(("name", "data_curator", "description", "intended_use", "region"), "a study"),
    "curator_type": "Nonprofit",
    "authors": ["A"],
}
NUMBERS = (0, 1, 29, 400)


@pytest.fixture
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise and, where a number is protected, count and sums are those of 300 records."""
    keys = _core.GroupKeys.numbered(bytes(32))
    monkeypatch.setattr(Call, "keys", lambda call, secret, seed: keys)
    monkeypatch.setattr(CountPlan, "draw", lambda self, n, stream: np.full(len(n), 300))
    sums, answer = RecordSums(SPACE, rows(300), None), RecordSums.answer
    monkeypatch.setattr(RecordSums, "answer", lambda self, request: answer(sums, request))


def centres(n: int) -> np.ndarray:
    """Copies of the ball's centre, of which any number has the same mean."""
    return np.tile(BALL.center, (n, 1))


def with_ball(n: int, own: Any, **how: Any) -> Any:
    guess = {"n_guess": 250} if own.neighbours == ADD else {"coverage": False}
    return cdp.frechet_mean(centres(n), BALL, own, **guess, **how)


def without_ball(n: int, own: Any, **how: Any) -> Any:
    return cdp.frechet_mean(rows(n), SPACE, own, **how)


WAYS = {"with a ball": with_ball, "without a ball": without_ball}


def _ledger(release: Callable[..., Any], own: Any) -> cdp.Ledger:
    ledger = cdp.Ledger(cdp.GDP(9.0, neighbours=own.neighbours), data="cohort", unit="patient")
    release(ledger=ledger)
    return ledger


def _entries(release: Callable[..., Any], own: Any) -> str:
    return str([(e.label, str(e.guarantee), e.settles) for e in _ledger(release, own).entries])


def _plotted(release: Callable[..., Any]) -> str:
    display = release().plot()
    assert isinstance(display, ReleaseDisplay)
    texts = [text.get_text() for text in display.figure_.findobj(Text)]
    plt.close(display.figure_)
    return " ".join(texts)


#: What a release, its ledger and its pictures say. Each takes a call that releases.
PLACES: dict[str, Callable[[Callable[..., Any], Any], str]] = {
    "n": lambda release, own: str(release().n),
    "repr": lambda release, own: repr(release()),
    "report": lambda release, own: release().report(),
    "notebook": lambda release, own: release()._repr_html_(),
    "JSON": lambda release, own: release().to_json(),
    "pickle": lambda release, own: pickle.dumps(release()).decode("latin-1"),
    "statement": lambda release, own: str(release().statement),
    "document": lambda release, own: release().document(),
    "registry entry": lambda release, own: str(release().to_registry(**PRODUCT)),
    "numbers": lambda release, own: str(
        [release().sensitivity, release().scale, release().expected_error]
    ),
    "picture": lambda release, own: _plotted(release),
    "losses": lambda release, own: str(release().losses),
    "ledger": lambda release, own: _ledger(release, own).report().split("\n", 5)[0:5].__str__(),
    "entries": _entries,
    "ledger in a notebook": lambda release, own: str(
        [part for part in _ledger(release, own)._repr_html_().split("<td>") if ":" not in part]
    ),
}
#: Those that say nothing of a number even where it is public.
SILENT = ("losses", "picture", "ledger", "entries", "ledger in a notebook")


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_no_place_tells_a_protected_number(place: str, way: str) -> None:
    own = cdp.GDP(2.0, neighbours=ADD)

    def told(n: int) -> str:
        return PLACES[place](lambda **how: WAYS[way](n, own, **how), own)

    first = told(300)
    for n in NUMBERS:
        assert told(n) == first


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("place", [place for place in PLACES if place not in SILENT])
def test_control_each_place_tells_a_public_number(place: str) -> None:
    own = cdp.GDP(2.0)

    def told(n: int) -> str:
        return PLACES[place](lambda **how: with_ball(n, own, **how), own)

    assert told(300) != told(299)


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("way", WAYS)
def test_log_lines_progress_and_warnings_tell_none(
    way: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    told = []
    for n in (300, *NUMBERS):
        caplog.clear()
        recwarn.clear()
        with caplog.at_level(logging.DEBUG, logger="curvedp"):
            WAYS[way](n, cdp.GDP(2.0, neighbours=ADD), progress=True)
        lines = [record.getMessage() for record in caplog.records]
        told.append((lines, capsys.readouterr(), [str(own.message) for own in recwarn]))
    assert told[0][1].err.startswith("curvedp: ")
    assert told[1:] == told[:1] * len(NUMBERS)


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("way", WAYS)
def test_no_error_after_payment_tells_one(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in what is computed of the records, with what is noted on it."""

    def failing(*given: Any, **how: Any) -> Any:
        raise MemoryError("no memory")

    monkeypatch.setattr(cdp.statistics.paid.Paid, "by_unit", failing)
    monkeypatch.setattr(RecordSums, "noisy", failing)
    told = []
    for n in (300, *NUMBERS):
        ledger = cdp.Ledger(cdp.GDP(9.0, neighbours=ADD))
        with pytest.raises(MemoryError) as error:
            WAYS[way](n, cdp.GDP(2.0, neighbours=ADD), ledger=ledger)
        told.append((str(error.value), error.value.__notes__, str(ledger.spent)))
    assert told[1:] == told[:1] * len(NUMBERS)


def _table(n: int) -> pa.Table:
    points = pa.FixedSizeListArray.from_arrays(pa.array(centres(n).ravel()), 3)
    return pa.table({"point": points, "site": pa.array(["a"] * n, pa.string())})


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("way", ["mean", "located"])
@pytest.mark.parametrize("place", ["report", "manifest", "table", "schema", "notebook", "files"])
def test_no_place_of_a_batch_tells_one(way: str, place: str, tmp_path: Path) -> None:
    told = []
    for number, n in enumerate((300, *NUMBERS)):
        how: dict[str, Any] = {"ball": SPACE}
        if way == "mean":
            how = {"n_guess": 250, "ball": BALL}
        folder = tmp_path / str(number)
        found = cdp.batch.release(
            cdp.Mean(),
            _table(n),
            points="point",
            by="site",
            keys=["a", "b"],
            guarantee=cdp.GDP(2.0, neighbours=ADD),
            out=folder if place == "files" else None,
            **how,
        )
        texts = {
            "report": found.report,
            "manifest": found.manifest_json,
            "table": lambda found=found: str(found.table.to_pylist()),
            "schema": lambda found=found: str(found.table.schema),
            "notebook": found._repr_html_,
            "files": lambda folder=folder: str(
                [(own.name, own.stat().st_size) for own in sorted(folder.rglob("*"))]
            ),
        }
        told.append(texts[place]())
    assert told[1:] == told[:1] * len(NUMBERS)


@pytest.mark.usefixtures("same_draws")
@pytest.mark.parametrize("way", WAYS)
def test_the_command_line_tells_none(way: str, tmp_path: Path) -> None:
    """What is printed and what is stored, but for the sizes of the files that are read."""
    domain = ["--n-guess", "250", "--radius", "0.7", "--center", "0,0,1"]
    told = []
    for n in (300, 1, 29, 400):
        np.save(tmp_path / "records.npy", centres(n))
        own = ["--manifold", "sphere:2", *(domain if way == "with a ball" else [])]
        call = [tmp_path / "records.npy", *own, "--mu", "2", "--neighbours", ADD]
        found = run("mean", *map(str, call), "--out", str(tmp_path / "out.json"))
        assert found.exit_code == 0, found.output
        told.append((found.output, (tmp_path / "out.json").read_text()))
        (tmp_path / "out.json").unlink()
    assert told[1:] == told[:1] * 3
