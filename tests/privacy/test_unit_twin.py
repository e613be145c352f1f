"""All records of one person replaced: nothing comes back that differs, but for drawn numbers.

Every public function that takes records is held, under `np.errstate(all="raise")`: a hostile value
must not decide between a release and an error, whatever the caller has set.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import curvedp as cdp
import unit_twin
from unit_twin import Data, outcome, public_functions, tame, twin
from unit_twin_calls import CALLS, Call
from unit_twin_files import COMMANDS

#: Public functions that take no private records: their places begin so.
ABOUT_PUBLIC = {
    "audit.": "draws of mechanisms, and data made up for an audit",
    "nonprivate.": "public data, for comparison",
    "plotting.": "releases and public points",
    "datasets.": "public data sets",
    "privacy.": "stored releases",
    "conformal.factor.": "a released density",
    "conformal.graph.": "public points and released functions",
    "conformal.solve.": "released functions",
    "conformal.mechanism.": "true values that conformal_mean computes",
    "conformal.mesh.Mesh.__init__": "public nodes",
    "mail.alignment.": "embeddings",
    "mail.anchors.": "public anchors; PrivateMail.embed_query brings a query",
    "mail.embedding.Embedding.": "stages of PrivateMail.fit",
    "mail.iteration.": "kernels of PrivateMail.fit",
    "mail.private_mail.PrivateMail.anchors": "public anchors",
    "mail.reference.": "the paper's dense formulas",
    "mail.retrieval.": "embeddings",
    "mail.roles.Server.": "the server's own images",
    "mechanisms.base.": "true values that statistics compute, which lie in the ball",
    "mechanisms.chains.": "chains about a true value",
    "domain.Ball.covering": "public points",
    "domain.Ball.enter": "what every release does with its records",
    "domain.Ball.leave": "released points",
    "manifolds.matrices.ComplexMatrices.to_complex": "another form of released points",
    "manifolds.vectors.Hyperboloid.to_poincare": "another form of released points",
    "learning.geodesic_regression.GeodesicRegression.score": "without privacy, as it says",
    "regression.geodesic.": "public covariates",
    "regression.release.GeodesicRelease.band": "public covariates",
    "statistics.region.ConfidenceRegion.": "public points",
    "statistics.mean_release.": "stored releases",
}
#: Commands that read no records.
ABOUT_RELEASES = {"batch", "compare", "completion", "demo", "ledger", "plan", "show"}

CASES = [
    pytest.param(name, kind, id=f"{name}-{kind}")
    for name, call in CALLS.items()
    for kind in (call.kinds or unit_twin.CONTAINERS)
]


def both(call: Call, kind: str, place: Path) -> tuple[list[Any], list[Any]]:
    """The outcomes of a call and of its twin."""
    hidden = unit_twin.PUBLIC if call.scales_are_drawn else ()

    def of(data: Data, folder: Path) -> list[Any]:
        folder.mkdir(parents=True)
        return outcome(lambda: call.run(data, folder), folder, hidden=hidden)

    other = twin(kind, as_many=not call.by_unit)
    return of(tame(kind), place / "one"), of(other, place / "two")


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_nothing_tells_of_one_persons_records(name: str, kind: str, tmp_path: Path) -> None:
    one, two = both(CALLS[name], kind, tmp_path)
    assert one == two
    assert not str(one[0][0]).endswith("Error"), one


def test_every_public_function_that_takes_records_has_a_twin() -> None:
    covered = set(itertools.chain.from_iterable(call.covers for call in CALLS.values()))
    known = {place for place, _ in public_functions()}
    missing = {place for place in known - covered if not place.startswith(tuple(ABOUT_PUBLIC))}
    assert not missing
    assert covered <= known
    for start in ABOUT_PUBLIC:
        assert any(place.startswith(start) for place in known), start


def test_every_command_that_takes_records_has_a_twin() -> None:
    from curvedp.cli.app import app

    assert set(app.commands) == set(COMMANDS) | ABOUT_RELEASES


# ---------------------------------------------------------------------------------- controls


def test_an_order_of_labels_that_follows_the_rows_is_found(monkeypatch, tmp_path) -> None:
    def as_they_come(labels: Any, name: str) -> Any:
        values, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return values[order].tolist(), np.argsort(order)[codes]

    monkeypatch.setattr("curvedp.statistics.grouping.ordered_codes", as_they_come)
    one, two = both(CALLS["frechet_mean of persons"], "array", tmp_path)
    assert one != two


def test_a_function_without_its_guard_is_found(monkeypatch, tmp_path) -> None:
    guarded = cdp.release
    monkeypatch.setattr(cdp, "release", guarded.__wrapped__)
    one, two = both(CALLS["release of a regression"], "array", tmp_path)
    assert one[0] != two[0]
    assert two[0][0] == "FloatingPointError"


def test_a_warning_and_a_word_of_a_record_are_found(tmp_path) -> None:
    def talkative(data: Any, folder: Path) -> int:
        warnings.warn(str(np.isnan(data.rows).sum()), UserWarning, stacklevel=1)
        return 0

    def printing(data: Any, folder: Path) -> int:
        print(int(np.isnan(data.rows).sum()))
        return 0

    def writing(data: Any, folder: Path) -> int:
        (folder / f"{len(data.rows)}.txt").touch()
        return 0

    for number, run in enumerate((talkative, printing, writing)):
        one, two = both(Call(run, (), by_unit=True), "array", tmp_path / str(number))
        assert one != two
