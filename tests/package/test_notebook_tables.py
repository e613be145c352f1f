"""Objects as tables in a notebook: well-formed, escaped, and loud where nothing is promised."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
import curvedp.batch
from curvedp._html import MOST_ROWS, card

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
RECORDS = np.tile(BALL.center, (60, 1))
MU = cdp.GDP(mu=1.0)
WHY = "<script>alert(1)</script> & so on"
UNPROVED = cdp.Unproved(MU, WHY)
LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
X = np.linspace(-1.0, 1.0, 60)


class Checked(HTMLParser):
    """Every tag is closed, in order; keeps what a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.styles: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        self.styles += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.seen).split())


def spent_ledger() -> cdp.Ledger:
    ledger = cdp.Ledger(cdp.GDP(mu=2.0))
    ledger.spend(MU, "visit <1>")
    return ledger


def grouped(groups: Any = None) -> Any:
    labels = np.repeat(["<a>", "b"], 30) if groups is None else groups
    return cdp.frechet_mean(RECORDS, BALL, MU, groups=labels)


def comparison() -> cdp.MeanComparison:
    return cdp.compare_means(*(cdp.confidence_region(RECORDS, BALL, MU) for _ in range(2)))


def combined(seed: int | None = None) -> cdp.CombinedMean:
    halves = (cdp.frechet_mean(part, BALL, MU, seed=seed) for part in np.split(RECORDS, 2))
    return cdp.combine(halves)


def product() -> cdp.ProductBall:
    return cdp.ProductBall(BALL, LINE)


def batch(folder: Path | None = None) -> Any:
    """Of a table, or of a file into a file in a folder."""
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    source, placed = pa.table({"site": ["<a>", "b"] * 30, "x": list(RECORDS)}), {}
    if folder is not None:
        pq.write_table(source, folder / "in.parquet")
        source, placed = folder / "in.parquet", {"out": folder / "releases.parquet"}
    call = {"by": ["site"], "public_keys": True, "points": "x", "ball": BALL, "guarantee": MU}
    return cdp.batch.release(cdp.Mean(), source, **call, **placed)


class Stored:
    """A batch in a file that is there while it is shown, and not thereafter."""

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            made = batch(Path(folder))
            shown: str = made._repr_html_()
        assert "&lt;a&gt;" not in made._repr_html_()
        return shown


#: What shows each object, and what its table says among others.
OBJECTS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "ball": (lambda: BALL, ("sphere:2", "0.5", "[0., 0., 1.]")),
    "product": (product, ("sphere:2 x euclidean:1", "euclidean:1", "'origin'")),
    "pure": (lambda: cdp.PureDP(1.0), ("PureDP", "2.719 times", "replace one record")),
    "approx": (lambda: cdp.ApproxDP(1.0, 1e-6), ("ApproxDP", "1e-06", "up to a probability")),
    "zcdp": (lambda: cdp.ZCDP(0.5), ("ZCDP", "Rényi divergence at most 0.5")),
    "gdp": (lambda: MU, ("GDP", "shift of a unit normal by 1")),
    "unproved": (lambda: UNPROVED, ("GDP(mu=1)", WHY)),
    "mean": (lambda: cdp.frechet_mean(RECORDS, BALL, MU), ("GDP(mu=1)", "n = 60", "noise scale")),
    "variance": (lambda: cdp.frechet_variance(RECORDS, BALL, MU), ("GDP(mu=1)", "is assumed")),
    "test": (
        lambda: cdp.two_sample_test(RECORDS[:30], RECORDS[30:], BALL, MU),
        ("GDP(mu=1)", "samples of 30 and 30 records"),
    ),
    "geodesic": (
        lambda: cdp.geodesic_regression(
            X, X[:, None] / 2, LINE, MU, x_range=(-1.0, 1.0), tau=0.2, v_max=1.5
        ),
        ("GDP(mu=1)", "velocity over the range at most 1.5"),
    ),
    "density": (
        lambda: cdp.conformal.density(
            RECORDS, BALL, cdp.PureDP(1.0), mesh=cdp.conformal.fibonacci_mesh(50)
        ),
        ("PureDP(epsilon=1)", "50 public nodes", "see .value"),
    ),
    "region": (
        lambda: cdp.confidence_region(RECORDS, BALL, MU),
        ("95 % confidence region", "GDP(mu=1)", "computed from 3"),
    ),
    "interval": (
        lambda: cdp.variance_interval(RECORDS, BALL, MU),
        ("95 % confidence interval", "GDP(mu=1)"),
    ),
    "releases": (grouped, ("GDP(mu=1)", "<a>", "30", "expected error")),
    "combined": (combined, ("mean of 2 releases", "[0.5, 0.5]", "GDP(mu=1)", "n = 60")),
    "comparison": (comparison, ("level 0.05", "p-value", "the regions overlap")),
    "ledger": (spent_ledger, ("GDP(mu=2)", "GDP(mu=1.73205)", "visit <1>")),
    "batch": (batch, ("GDP(mu=1)", "30", "by site", "<a>", "Parallel composition over 2")),
    "stored batch": (Stored, ("GDP(mu=1)", "30", "by site", "<a>", "releases.parquet")),
    "plan": (lambda: cdp.plan("frechet_mean", BALL, MU, n=50), ("GDP(mu=1)", "50", "radius")),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_table_is_well_formed_and_says_what_it_is_about(name):
    make, words = OBJECTS[name]
    found = Checked(make()._repr_html_())
    for word in words:
        assert word in found.words
    assert not found.tags & {"script", "style", "link", "img", "a"}


@pytest.mark.parametrize("name", OBJECTS)
def test_colours_are_those_of_the_page(name):
    for style in Checked(OBJECTS[name][0]()._repr_html_()).styles:
        assert "#" not in style
        assert "url" not in style
        for colour in re.findall(r"rgba?\(([^)]*)\)", style):
            red, green, blue = colour.split(",")[:3]
            assert int(red) == int(green) == int(blue)


def test_the_check_finds_what_is_open_and_what_is_crossed():
    Checked("<p>a <b>b</b></p>")
    for text in ("<p>a", "<p><b>a</p></b>", '<p onclick="a">b</p>'):
        with pytest.raises(AssertionError):
            Checked(text)


def test_texts_of_users_are_escaped():
    text = UNPROVED._repr_html_() + spent_ledger()._repr_html_() + grouped()._repr_html_()
    for raw in ("<script", "<1>", "<a>"):
        assert raw not in text
    assert "\x1b" not in card("a \x1b[31m red", [("b\x00", "‮c")])


SEEDED: dict[str, Callable[[], Any]] = {
    "guarantee": lambda: UNPROVED,
    "mean": lambda: cdp.frechet_mean(RECORDS, BALL, MU, seed=1),
    "region": lambda: cdp.confidence_region(RECORDS, BALL, MU, seed=1),
    "interval": lambda: cdp.variance_interval(RECORDS, BALL, MU, seed=1),
    "releases": lambda: cdp.frechet_mean(RECORDS, BALL, MU, groups=[0] * 60, seed=1),
    "combined": lambda: combined(seed=1),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_claim_without_a_proof_is_loud(name):
    words = Checked(SEEDED[name]()._repr_html_()).words
    assert "NO GUARANTEE" in words
    assert words.index("NO GUARANTEE") < words.index("GDP(mu=1)")


@pytest.mark.parametrize("name", ["mean", "region", "interval", "releases", "combined"])
def test_a_proved_release_raises_no_alarm(name):
    assert "NO GUARANTEE" not in OBJECTS[name][0]()._repr_html_()


@pytest.mark.parametrize("kind", ["confidence_region", "variance_interval"])
def test_what_was_computed_without_privacy_says_so(kind):
    points = BALL.manifold.project(
        BALL.center + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    )
    exact = getattr(cdp.nonprivate, kind)(points, "sphere:2")
    words = Checked(exact._repr_html_()).words
    assert words.index("NONE: computed without privacy") < words.index("records")
    assert "NONE: computed without privacy" in repr(exact)


def test_long_tables_are_cut_and_say_so():
    count = MOST_ROWS + 3
    many = grouped(np.repeat(np.arange(count), 5)[:60].tolist())
    words = Checked(many._repr_html_()).words
    assert f"{len(many) - MOST_ROWS} more" in words
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        for number in range(count):
            ledger.spend(cdp.PureDP(0.01), f"spend {number}.")
        words = Checked(ledger._repr_html_()).words
    assert "3 before them" in words
    assert "spend 2." not in words
    assert f"spend {count - 1}." in words


def test_skipped_groups_are_named():
    ball = cdp.Ball("spd:3", center="identity", radius=1.0)
    records = np.tile(np.eye(3), (402, 1, 1))
    groups = cdp.frechet_mean(
        records, ball, cdp.PureDP(0.5), groups=["few"] * 2 + ["many"] * 400, skip_small=True
    )
    words = Checked(groups._repr_html_()).words
    assert "1, and 1 skipped: too small" in words
    assert "few 2 skipped" in words
    assert "skipped" not in grouped()._repr_html_()


def test_nothing_in_a_table_is_no_field_of_the_release():
    """Records that were not released move nothing but the released numbers."""
    seed = {"seed": 918273645}
    release = cdp.frechet_mean(RECORDS, BALL, MU, **seed)
    assert "918273645" not in release._repr_html_() + repr(release)
    again = cdp.Release.from_json(release.to_json())
    assert again._repr_html_() == release._repr_html_()
    assert repr(again) == repr(release)
