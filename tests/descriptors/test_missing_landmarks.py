"""Landmarks that a specimen lacks stand where the template has them, each specimen on its own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import special_ortho_group

import curvedp as cdp
from curvedp.descriptors import AlignedLandmarks, fill_landmarks


def specimens(n, k, d, spread, seed=0):
    """A template, and specimens of it at other places, of other sizes, turned."""
    rng = np.random.default_rng(seed)
    template = rng.standard_normal((k, d))
    turns = special_ortho_group(d, seed=rng).rvs(n).reshape(n, d, d)
    near = template + spread * rng.standard_normal((n, k, d))
    return template, 3.0 * near @ turns + rng.standard_normal((n, 1, d))


def lacking(records, share, seed=1):
    found = records.copy()
    found[np.random.default_rng(seed).random(records.shape[:2]) < share] = np.nan
    return found


@pytest.mark.parametrize("d", [2, 3, 5])
def test_copies_of_the_template_are_made_whole(d):
    template, records = specimens(200, 12, d, 0.0)
    found = fill_landmarks(lacking(records, 0.3), template)
    whole = ~np.isnan(found).any(axis=(1, 2))
    assert whole.mean() > 0.9
    np.testing.assert_allclose(found[whole], records[whole], atol=1e-9)


def test_the_similarity_is_the_best_one():
    """Against a search over angle, size and place; reflections would fit this specimen better."""
    template, _ = specimens(1, 6, 2, 0.0)
    specimen = template * [1.0, -1.0] + 0.1 * np.random.default_rng(2).standard_normal((6, 2))
    specimen[5, 0] = np.nan
    (found,) = fill_landmarks([specimen], template)

    def moved(parameters):
        a, b, *place = parameters
        return template @ np.array([[a, b], [-b, a]]) + place

    starts = np.random.default_rng(3).standard_normal((20, 4))
    best = min(
        (minimize(lambda p: ((moved(p)[:5] - specimen[:5]) ** 2).sum(), own) for own in starts),
        key=lambda own: own.fun,
    )
    np.testing.assert_allclose(found[5], moved(best.x)[5], atol=1e-5)
    np.testing.assert_array_equal(found[:5], specimen[:5])


def test_each_specimen_stands_for_itself():
    template, records = specimens(40, 8, 3, 0.2)
    holes = lacking(records, 0.2)
    whole = fill_landmarks(holes, template)
    alone = np.concatenate([fill_landmarks(own[None], template) for own in holes])
    assert whole.tobytes() == alone.tobytes()
    complete = np.isfinite(holes).all(axis=(1, 2))
    assert complete.any()
    assert whole[complete].tobytes() == records[complete].tobytes()
    masked = np.ma.masked_invalid(holes)
    assert fill_landmarks(masked, template).tobytes() == whole.tobytes()


def hostile():
    """With two landmarks, none, all in one place, on a line, too large, infinite, tiny."""
    rng = np.random.default_rng(4)
    records = rng.standard_normal((8, 6, 3))
    records[0, 2:] = np.nan
    records[1] = np.nan
    records[2, 1:] = records[2, 0]
    records[3] = np.arange(6)[:, None] * [1.0, 2.0, 3.0]
    records[4] *= 1e307
    records[5, 0] = np.inf
    records[6] *= 1e-320
    records[2:, 5] = np.nan
    return records


def test_no_value_raises_or_warns():
    template, _ = specimens(1, 6, 3, 0.0)
    records = hostile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fill_landmarks(records, template)
        points = AlignedLandmarks(template).to_points(found)
    is_none = np.isnan(found).all(axis=(1, 2))
    assert is_none[[0, 1, 2, 3]].all()
    assert not is_none[[5, 7]].any()
    assert np.array_equal(np.isnan(found).any(axis=(1, 2)), is_none)
    assert np.isnan(points).any(axis=1)[is_none].all()


def test_means_of_filled_specimens_are_right_where_centres_are_not():
    """Of 300 specimens of 10 landmarks a tenth of which are missing; control: those as centres."""
    template, records = specimens(300, 10, 2, 0.15)
    space = cdp.KendallPlanar(10)
    ball = cdp.Ball(space, template + 0.3 * specimens(1, 10, 2, 0.0, 5)[0], 0.75)
    holes = lacking(records, 0.1)

    def mean_of(given):
        return cdp.nonprivate.frechet_mean(ball.project(given), space).value

    exact = mean_of(records)
    centre = np.where(np.isfinite(holes).all(axis=(1, 2), keepdims=True), holes, ball.center)
    off, off_as_centres = (
        float(space.dist(mean_of(own), exact))
        for own in (fill_landmarks(holes, ball.center), centre)
    )
    assert off < 0.2 * off_as_centres


@pytest.mark.parametrize(
    ("template", "landmarks", "message"),
    [
        (np.ones((4, 2)) * np.nan, np.ones((3, 4, 2)), "template must be finite"),
        (np.ones((4, 2)), np.ones((3, 5, 2)), r"shape \(n, 4, 2\)"),
        (np.ones((2, 2)), np.ones((3, 2, 2)), "at least 3 points"),
    ],
)
def test_shapes_and_templates_are_checked(template, landmarks, message):
    with pytest.raises(ValueError, match=message):
        fill_landmarks(landmarks, template)


def test_lapack_gets_finite_matrices_alone(monkeypatch):
    """It need not come to an end for infinite ones: 1e308 in one record, and no release returns."""
    seen, decompose = [], np.linalg.svd

    def watched(moments, **options):
        seen.append(bool(np.isfinite(moments).all()))
        assert seen[-1]
        return decompose(moments, **options)

    template = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 2]], float)
    records = np.stack([template, template, 5e307 * (1 + template), -8e307 * template])
    records[1:, 1] = np.nan
    monkeypatch.setattr(np.linalg, "svd", watched)
    filled = fill_landmarks(records, template)
    assert seen
    assert np.isfinite(filled[:2]).all()
    assert np.isnan(filled[2:]).all()
