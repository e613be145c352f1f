"""What the scripts of the papers compute: cells that agree, bounds that hold, laws as stated."""

from __future__ import annotations

import csv
import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.conformal.factor import GREATEST_SIGMA
from curvedp.published.call import Call
from curvedp.published.conformal import WHY, ConformalPlan

PAPERS = Path(__file__).resolve().parents[2] / "benches" / "papers"
SCRIPTS = [path.stem for path in PAPERS.glob("*.py")]


@pytest.fixture(scope="module")
def paper():
    """Imports a script of the papers."""
    sys.path.insert(0, str(PAPERS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(PAPERS))
        for name in SCRIPTS:
            sys.modules.pop(name, None)


def test_a_cell_has_the_same_number_in_every_figure_and_a_closed_form(paper):
    conformal = paper("conformal_cells")
    few = {name: conformal.CURVES[name] for name in ("Laplace, proved", "adaptive")}
    arguments = (3, 0.1, 500, 0.3, 20)
    cells = [conformal.on_sphere(*arguments, curves) for curves in (few, conformal.PLAIN)]
    assert all(cells[0][name] == cells[1][name] for name in few)
    one = cells[0]["Laplace, proved"]
    ball = conformal.sphere(3, 0.1, 500)[1]
    assert one.closed_form == cdp.expected_error(ball, 500, cdp.PureDP(0.3))
    # seeds follow from the cell, so this cannot fail by chance
    assert abs(one.mean - one.closed_form) < 4 * one.standard_error
    assert cells[0]["adaptive"].closed_form is None
    other = conformal.on_sphere(3, 0.1, 500, 0.2, 20, few)
    assert other["Laplace, proved"].mean != one.mean


def test_a_figure_with_standard_errors_is_written(paper, tmp_path):
    conformal = paper("conformal_cells")
    figure = conformal.Figure("2a: test", "dimension", tmp_path)
    few = {"Laplace, proved": conformal.CURVES["Laplace, proved"]}
    figure.add(3, conformal.on_sphere(3, 0.1, 500, 0.3, 20, few))
    figure.write()
    lines = (tmp_path / "conformal-figure-2a.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "dimension,curve,mean,standard error,repetitions,closed form"
    assert lines[1].startswith('3,"Laplace, proved",')
    assert ",20,0.022" in lines[1]
    assert (tmp_path / "conformal-figure-2a.png").exists()


def test_curves_that_are_not_drawn_anew_keep_their_cells(paper, tmp_path):
    conformal = paper("conformal_cells")
    cell = {name: conformal.Error(1.0, 0.1, 4, None) for name in ("adaptive", "conformal, proved")}
    for only, mean in (("", 1.0), ("conformal, proved", 2.0)):
        figure = conformal.Figure("2a: test", "dimension", tmp_path, only)
        drawn = {name: one._replace(mean=mean) for name, one in cell.items() if only in name}
        figure.add(3, drawn)
        figure.write()
    stored = conformal.read_cells(tmp_path / "conformal-figure-2a.csv")
    assert {name: one.mean for name, one in stored[3.0].items()} == {
        "conformal, proved": 2.0,
        "adaptive": 1.0,
    }


MEASURED = PAPERS.parents[1] / "docs" / "measured"
#: Number of records, dimension and budget of figures 2 to 5; None is what the axis says.
SETTINGS = {
    "2a": (500, None, 0.3),
    "2b": (500, None, 0.3),
    "3a": (None, 3, 0.3),
    "3b": (None, 10, 0.3),
    "4a": (1000, 3, 0.3),
    "4b": (500, 10, 0.3),
    "5a": (500, 3, None),
    "5b": (500, 10, None),
}


def wrong(one, farthest, nearest):
    """True of an error that is no distance, or is the nearest record's with hardly a spread."""
    is_floor = abs(one.mean - nearest) < 0.1 * nearest and one.standard_error < 0.05 * nearest
    return not 0 < one.mean <= farthest or is_floor


@pytest.mark.parametrize("number", SETTINGS)
def test_published_conformal_cells_on_spheres_are_of_the_mechanism(paper, number):
    """Each stored cell belongs to a plan whose factor is not cut, and each missing one to none."""
    cells = paper("conformal_cells")
    n, dim, epsilon = SETTINGS[number]
    stored = cells.read_cells(MEASURED / f"conformal-figure-{number}.csv")
    assert len(stored) >= 5
    for x, cell in stored.items():
        size, axis, budget = n or int(x), dim or int(x), epsilon or x
        records, ball, _ = cells.sphere(axis, 0.1, 5)
        call = Call.check(np.resize(records, (size, axis)), ball, cdp.PureDP(budget), why=WHY)
        for reading, noise in cells.READINGS.items():
            one = cell.get(f"conformal, published, {reading}")
            try:
                plan = ConformalPlan.make(call, noise=noise)
            except ValueError:
                assert one is None
                continue
            assert plan.noise.greatest_sigma(plan.upsilon) <= GREATEST_SIGMA
            assert plan.distance == "line"
            assert one is not None
            assert not wrong(one, math.pi, 0.0)


#: Distances of the nearest record to the mean, as the page has them.
NEAREST = {"7-log": 1.27, "8-fewer": 0.512, "8-log": 0.387}


@pytest.mark.parametrize("number", NEAREST)
def test_published_conformal_cells_of_images_are_those_of_laplace_noise(paper, number):
    """φ is 1 to rounding: they agree with the closed form, which no clipped or floored one does."""
    cells = paper("conformal_cells")
    stored = cells.read_cells(MEASURED / f"conformal-figure-{number}.csv")
    found = [
        one
        for cell in stored.values()
        for name, one in cell.items()
        if name.startswith("conformal, published")
    ]
    assert len(found) >= 6
    for one in found:
        assert one.mean == pytest.approx(one.closed_form, rel=0.25)
        assert not wrong(one, math.inf, NEAREST[number])
    page = (MEASURED / "conformal.md").read_text(encoding="utf-8")
    assert f"the record nearest to the mean {NEAREST[number]:g}." in page


def test_the_cells_of_a_clipped_factor_would_be_seen(paper):
    """The control: figures as they stood, ln of the largest double and the nearest record."""
    error = paper("conformal_cells").Error
    assert wrong(error(710.24, 0.06, 2, None), math.pi, 0.0)
    assert wrong(error(0.512, 0.004, 2, None), math.inf, 0.507)
    assert not wrong(error(0.22, 0.01, 5, None), math.inf, 0.507)


def test_images_are_the_same_in_flat_coordinates(paper):
    images = paper("conformal_images")
    pixels = np.random.default_rng(0).integers(0, 255, (20, 12, 12)).astype(np.uint8)
    curved = images.Images("Fashion-MNIST", pixels, np.arange(20) % 10)
    flat = curved.flat()
    space = cdp.SPD(curved.records.shape[-1], metric="log-euclidean")
    np.testing.assert_allclose(
        flat.space.pairwise_dist(flat.records), space.pairwise_dist(curved.records), atol=1e-9
    )


def test_images_come_with_a_ball_of_another_class(paper):
    conformal = paper("conformal_images")
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (60, 12, 12)).astype(np.uint8)
    images = conformal.Images("Fashion-MNIST", pixels, np.arange(60) % 10)
    assert images.of(3).shape == (6, 9, 9)
    expected = cdp.nonprivate.frechet_mean(images.of(2), images.space).value
    np.testing.assert_array_equal(images.ball(3).center, expected)
    np.testing.assert_array_equal(
        images.ball(0).center, cdp.nonprivate.frechet_mean(images.of(9), images.space).value
    )


def test_the_utility_theorem_is_exact_without_density_and_fails_with_one(paper):
    claims = paper("claims")
    cells = [list(map(float, line.strip("| ").split(" | "))) for line in claims.utility()[2:]]
    assert cells[0] == [1.0, 1.0, 1.0]
    assert all(claimed > 1 for _, claimed, _ in cells[1:])
    assert all(proved <= 1 for *_, proved in cells)
    compact = [
        list(map(float, line.strip("| ").split(" | "))) for line in claims.sphere_utility()[2:]
    ]
    assert compact[0][1:] == pytest.approx([1, 1], abs=1e-3)
    assert all(jump > 1.05 for _, jump, _ in compact[1:])
    assert compact[2][2] > 1.1
    curved = [float(line.strip("| ").split(" | ")[1]) for line in claims.hyperbolic_utility()[2:]]
    assert all(ratio > 1 for ratio in curved)
    # by summation: sinh t exp(-3t) on a fine grid
    t = np.linspace(0, 30, 300_001)
    weight = np.sinh(t) * np.exp(-3 * t)
    assert curved[1] == pytest.approx((t**2 @ weight) / weight.sum() * 9 / 6, rel=5e-3)


def test_no_channel_names_classes_more_often_than_the_bound(paper):
    best = paper("privatemail").best
    rng = np.random.default_rng(0)
    for epsilon, classes in ((0.5, 3), (1.0, 10), (5.0, 40)):
        odds = math.exp(epsilon)
        response = np.where(np.eye(classes, dtype=bool), odds, 1.0) / (odds + classes - 1)
        assert np.trace(response) / classes == pytest.approx(best(epsilon, classes))
        for _ in range(200):
            # rows within e^epsilon of each other, column by column
            channel = rng.random(classes) * np.exp(epsilon / 2 * rng.random((classes, classes)))
            channel += np.diag(channel.diagonal() * rng.random())
            channel /= channel.sum(axis=1, keepdims=True)
            loss = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
            assert np.trace(channel) / classes <= best(loss, classes) * (1 + 1e-12)
        # a control: a channel with twice the budget beats the bound
        odds = math.exp(2 * epsilon)
        assert odds / (odds + classes - 1) > best(epsilon, classes)
    threshold = [best(math.log(classes) + 2, classes) for classes in (2, 10, 40, 1000)]
    assert all(value > math.e**2 / (math.e**2 + 1) for value in threshold)


def test_equation_7_grows_or_shrinks_as_its_eigenvalues_say(paper, capsys):
    pytest.importorskip("sklearn")
    paper("privatemail_bound").convergence(count=100, steps=30)
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines() if "of 30" in line]
    assert len(lines) == 9
    directions = set()
    for _, _, _, eigenvalue, objective, rises, size, _ in lines:
        first, last = map(float, size.split(","))
        assert (last > first) == (float(eigenvalue) > 1)
        assert rises.strip() == "0 of 30"
        before, after = map(float, objective.split(","))
        assert after < before
        directions.add(last > first)
    assert directions == {True, False}


def test_the_table_of_bounds_says_where_there_is_none(paper):
    bound = paper("privatemail_bound")
    assert bound.published(1001, 2, 6.0, 0.6, 1e-6) == "6.72"
    assert bound.published(1001, 2, 6.0, 0.6, 0.97) == "not real"
    assert bound.published(1000, 16, 0.2, 0.5, 1e-6) == "no constants"
    assert bound.largest_beta(1001, 2, 6.0, 0.6) == "0.9663"


def test_no_published_embedding_of_figure_4_is_cut(paper, monkeypatch):
    figures = paper("privatemail_figures")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 260)
    rows = np.eye(5)[labels] + 0.3 * rng.standard_normal((260, 5))
    settings = {"authors'": figures.SETTINGS["authors'"]}
    monkeypatch.setattr(figures, "SETTINGS", settings)
    sides = figures.Sides((rows[:250], labels[:250], rows[250:], labels[250:]), 10)
    how = settings["authors'"]
    starts = [sides.start(how, count, seed) for count, seed in ((126, 1), (126, 2), (250, 0))]
    assert np.array_equal(starts[0][:125], starts[1][:125])
    assert np.array_equal(starts[0][:125], starts[2][:125])
    assert not np.array_equal(starts[0][125], starts[1][125])
    assert 0.2 <= sides.score("authors'", 10.0).recall[8] <= 1
    # the control: noise that parts the rows further than their kernel reaches
    monkeypatch.setattr(figures, "START", 1.0)
    wide = {**how, "n_components": 40, "post_iterations": 8}
    monkeypatch.setitem(settings, "authors'", wide)
    with pytest.raises(ValueError, match="were cut"):
        sides.client("authors'", 0, 0.05)


def test_the_smeary_law_has_no_hessian_at_its_mean_and_the_projected_one_does(paper):
    smeary = paper("inference_smeary")
    rng = np.random.default_rng(0)
    records = smeary.smeary(400_000, rng)
    space, pole = smeary.SPACE, smeary.POLE
    length = np.arccos(np.clip(records[:, 3], -1, 1))
    across = np.where(length == 0, 1.0, length / np.tan(np.where(length == 0, 1.0, length)))
    # records at the pole count with the identity, others with 1 and twice across, over 3
    hessian = np.where(length == 0, 1.0, (1 + 2 * across) / 3)
    assert abs(hessian.mean()) < 5 * hessian.std() / np.sqrt(len(records))

    def loss(angle: float) -> float:
        # both ways, without the mean's own noise
        ends = [[side * np.sin(angle), 0, 0, np.cos(angle)] for side in (-1, 1)]
        return float(np.mean([space.dist(records, end) ** 2 for end in ends]))

    angles = (0.5, 1.0, 1.5, 2.0, 3.0)
    assert all(loss(angle) > loss(0.0) + 0.005 * angle**4 for angle in angles)
    least = smeary.RADIUS / math.tan(smeary.RADIUS)
    assert all(smeary.least_eigenvalue(offset, 20_000) > least for offset in smeary.OFFSETS)
    assert "below 1.5708" in smeary.refusal()
    target = smeary.target(0.5)
    projected = smeary.ball(0.5).project(records)
    sampled = cdp.nonprivate.frechet_mean(projected, space).value
    assert space.dist(target, sampled) < 5 * 2.2 / np.sqrt(len(records))
    errors, covers = smeary.measured(1000, 4, [pole, target])
    assert errors.shape == covers.shape == (3,)
    assert errors[0] > 5 * errors[1]


def test_regressions_with_the_seed_of_their_repetition_agree_between_tables(paper):
    regression = paper("regression")

    def make(seed: int):
        return regression.drawn(regression.sphere(), 100, 0.04, 0.1, 1.5, seed)

    budget = [cdp.PureDP(1.0)]
    many = regression.all_errors(make, budget, 6, sampler="whitened")
    few = regression.all_errors(make, budget, 3, sampler="whitened")
    np.testing.assert_array_equal(many[:, :3], few)


def test_in_no_cell_is_the_published_conformal_mean_nearer_than_the_published_laplace():
    """What docs/papers.md says of the figures, by the files of the figures."""
    ratios = []
    for path in (PAPERS.parents[1] / "docs" / "measured").glob("conformal-figure-*.csv"):
        with path.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        where = next(iter(rows[0]))
        plain = {r[where]: float(r["mean"]) for r in rows if r["curve"] == "Laplace, published"}
        ratios += [
            float(r["mean"]) / plain[r[where]]
            for r in rows
            if r["curve"].startswith("conformal, published") and r[where] in plain
        ]
    assert len(ratios) == 105
    assert min(ratios) > 1
