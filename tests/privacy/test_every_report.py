"""The report, the registry's entry and the table of every kind of release."""

from __future__ import annotations

import contextlib
import html
import io
import runpy
import warnings
from pathlib import Path

import pytest

from curvedp.batch.tables import BatchReleases
from curvedp.learning.estimator import Estimator
from curvedp.mail.query import QueryRelease
from curvedp.privacy.disclosed import Disclosed
from registry_entries import check_entry


@pytest.fixture(scope="module")
def every_kind():
    """What the gallery shows of every kind of release, by name, and what it prints."""
    import matplotlib.pyplot as plt

    script = Path(__file__).parents[2] / "docs/gallery/planning/plot_every_report.py"
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = runpy.run_path(str(script))["found"]
    plt.close("all")
    return found, said.getvalue()


def kinds_of(base):
    """All classes below a base."""
    for own in base.__subclasses__():
        yield own
        yield from kinds_of(own)


def test_the_gallery_shows_the_report_of_every_kind(every_kind):
    found, said = every_kind
    shown = {type(release) for release in found.values()}
    for release in found.values():
        assert release.report() in said
    bases = {"MeanRelease", "ReleaseText", "OfParts", "OfRegion", "PermutationRelease"}
    for kind in kinds_of(Disclosed):
        name = kind.__name__
        of_others = not kind.__module__.startswith("curvedp.") or "published" in kind.__module__
        holds_others = issubclass(kind, (Estimator, QueryRelease, BatchReleases))
        if of_others or name in bases or holds_others:
            continue
        assert any(issubclass(own, kind) for own in shown), f"no {name} in the gallery"


def test_entries_pages_and_tables_of_every_kind(every_kind):
    for name, release in every_kind[0].items():
        if name == "combined mean":  # each site's release has its own
            continue
        check_entry(release)
        if name != "minimum distance":  # scikit-learn shows its parameters
            table = release._repr_html_()
            first = html.escape(release.statement.protected)
            assert table.index(first) < table.index("guarantee"), name


def test_no_entry_speaks_of_a_ball_that_was_not_given(every_kind):
    for name in ("mean without a ball", "mean of sites"):
        told = check_entry(every_kind[0][name])
        assert "ball" not in told["dp_variant"]["unprotected_quantities"]
        assert "no ball was given" in told["dp_variant"]["data_domain"]
        assert told["implementation"]["composition"].startswith("Noisy sums and counts")
        details = told["privacy_loss"]["privacy_parameters_details"]
        assert details.count(f"{every_kind[0][name].guarantee}") == 1


def test_a_geodesic_that_was_released_before_is_not_covered_by_what_explains_it(every_kind):
    explained = every_kind[0]["explained spread"]
    assert "which the guarantee above does not cover" in " ".join(explained.report().split())
    told = check_entry(explained)["implementation"]["composition"]
    assert "geodesic regression" not in told
    together = " ".join(every_kind[0]["variance"].report().split())
    assert "; the value itself has the rest)" in together
