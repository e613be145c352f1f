"""k-means and logistic regression as releases: groups of persons, secrets, labels, starts."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, ExistenceError, SecretError

BALL = cdp.Ball("sphere:2", center=[0.0, 0.6, 0.8], radius=0.6)
LARGE = cdp.GDP(8.0)
SITES = ("a", "b", "c")


def secret() -> cdp.NoiseSecret:
    """One that has served no data yet, for the same noise on others."""
    return cdp.NoiseSecret(bytes(range(32)))


def data(count: int = 180, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Records, labels, sites and persons, who have records at one site each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    coords = 0.3 * np.array([[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]])[labels]
    coords = coords + 0.05 * rng.standard_normal((count, 2))
    space = BALL.manifold
    records = space.exp(space.coords_to_tangent(coords, BALL.center), BALL.center)
    person = rng.integers(0, count // 3, count)
    return records, labels, np.array(SITES)[person % 3], [f"p{own}" for own in person]


def clusters(rows: Any, labels: Any, **how: Any) -> Any:
    return cdp.k_means(rows, 3, BALL, how.pop("guarantee", LARGE), **how)


def classes(rows: Any, labels: Any, **how: Any) -> Any:
    public = {"classes": [0, 1, 2], "n_steps": 6} | how
    return cdp.tangent_logistic(rows, labels, BALL, public.pop("guarantee", LARGE), **public)


each = pytest.mark.parametrize("run", [clusters, classes])


def same(a: Any, b: Any) -> bool:
    return bool(json.loads(a.to_json()) == json.loads(b.to_json()))


@each
def test_groups_of_persons_are_what_each_is_alone(run):
    records, labels, site, person = data()
    names = {"units": person, "groups": site}
    whole = run(records, labels, secret=secret(), coverage=False, **names)
    for label in SITES:
        own = site == label
        alone = run(
            records[own],
            labels[own],
            units=np.array(person)[own],
            groups=site[own],
            secret=secret(),
            coverage=False,
        )
        assert same(alone[label], whole[label])
        assert whole[label].n == len(set(np.array(person)[own]))
        assert whole[label].assumptions == {"units-by-name", "public-groups"}


@each
def test_a_secret_draws_anew_for_changed_records_persons_and_labels(run):
    records, labels, site, person = data()

    def again(rows, y, names):
        return run(rows, y, units=names, groups=site, secret=secret(), coverage=False)

    first = again(records, labels, person)
    assert same(first["a"], again(records, labels, person)["a"])
    at = int(np.flatnonzero(site == "b")[0])
    moved, renamed, other = records.copy(), list(person), labels.copy()
    moved[at] = BALL.center
    renamed[at] = "somebody else"
    other[at] = (other[at] + 1) % 3
    for rows, names in ((moved, person), (records, renamed)):
        found = again(rows, labels, names)
        assert [same(found[label], first[label]) for label in SITES] == [True, False, True]
    found = again(records, other, person)
    expected = [True, run is clusters, True]
    assert [same(found[label], first[label]) for label in SITES] == expected


@each
def test_a_secret_that_served_other_data_is_refused_before_anything_is_spent(run):
    records, labels, _, _ = data()
    kept, ledger = secret(), cdp.Ledger(LARGE)
    run(records, labels, secret=kept)
    with pytest.raises(SecretError, match="served other data"):
        run(records[:-1], labels[:-1], secret=kept, ledger=ledger)
    if run is classes:
        with pytest.raises(SecretError, match="served other data"):
            run(records, (labels + 1) % 3, secret=kept, ledger=ledger)
    assert ledger.spent is None


def test_groups_with_fewer_persons_than_clusters_are_refused_or_skipped():
    records, labels, _, _ = data(60)
    site = ["small"] * 10 + ["large"] * 50
    person = ["p0", "p1"] * 5 + [f"q{k}" for k in range(50)]
    ledger = cdp.Ledger(LARGE)
    how = {"units": person, "groups": site, "ledger": ledger}
    with pytest.raises(ExistenceError, match="at least 3 records") as caught:
        clusters(records, labels, **how)
    assert caught.value.smallest_n == 3
    assert ledger.spent is None
    found = clusters(records, labels, skip_small=True, **how)
    assert found.labels == ["large", "small"]
    assert found.released.tolist() == [True, False]
    assert found.columns()["sizes"].shape == (2, 3)
    assert np.isnan(found.columns()["sizes"][1]).all()
    table = found.to_arrow()
    assert np.allclose(table["sizes"][0].as_py(), found["large"].sizes, rtol=0, atol=0)
    with pytest.raises(BudgetError):
        clusters(records, labels, skip_small=True, **how)


def test_a_person_counts_once_however_many_records():
    """Copies of all records of one person move nothing; without names they do."""
    records, labels, _, person = data(90)
    own = np.flatnonzero(np.array(person) == person[0])
    copies = np.concatenate([np.arange(90), np.tile(own, 30)])
    starts = BALL.project([[0.4, 0.6, 0.7], [-0.4, 0.6, 0.7], [0.0, 0.2, 0.9]])
    for run, own_how in ((clusters, {"init": starts}), (classes, {})):
        exact = {"guarantee": cdp.GDP(1e7)} | own_how
        one = run(records, labels, units=person, **exact)
        names = np.array(person)[copies]
        two = run(records[copies], labels[copies], units=names, **exact)
        assert one.n == two.n
        assert one.scale == two.scale
        np.testing.assert_allclose(one.value, two.value, atol=1e-4)
        plain = [run(records[rows], labels[rows], **exact).value for rows in (range(90), copies)]
        assert np.abs(plain[0] - plain[1]).max() > 0.01


def test_public_starts_come_in_every_form_of_points():
    ball = cdp.Ball(cdp.HPD(2), "identity", 1.5)
    rng = np.random.default_rng(0)
    matrices = np.stack([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])]).astype(complex)
    rows = np.repeat(matrices, 200, axis=0) * rng.uniform(0.9, 1.1, (400, 1, 1))
    found = cdp.k_means(rows, 2, ball, LARGE, init=matrices)
    starts = ball.manifold.as_points(matrices)
    assert ball.manifold.dist(found.value, starts).max() < 0.2
    value = cdp.KMeans(2, init=starts)
    assert value == cdp.KMeans(2, init=starts.tolist())
    assert cdp.KMeans.from_options(json.loads(json.dumps(value.options()))) == value
    same_starts = cdp.release(value, rows, ball, LARGE, seed=3)
    assert same(same_starts, cdp.k_means(rows, 2, ball, LARGE, init=matrices, seed=3))


def test_the_noise_is_told_as_the_engine_tells_it():
    records, labels, site, _ = data(60)
    with pytest.warns(cdp.errors.NoiseWarning, match="of 3 of 3 groups .* clipping length"):
        clusters(records, labels, groups=site, guarantee=cdp.GDP(0.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clusters(records, labels, guarantee=cdp.GDP(9.0))


# ------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("odd", [None, np.nan, "unknown", 10**400, ["nested"], {"a": 1}, ()])
def test_no_label_raises_and_one_of_no_class_counts_as_any_other(odd):
    records, labels, site, _ = data(60)
    first, second = labels.tolist(), labels.tolist()
    first[7], second[7] = odd, "another"
    found = [classes(records, own, groups=site, secret=secret()) for own in (first, second)]
    assert all(same(found[0][label], found[1][label]) for label in SITES)


def test_what_is_rehearsed_says_nothing_of_labels():
    """Records that are worked on first, for answers at public times, have public labels."""
    statistic = cdp.TangentLogistic([0, 1, 2])
    labels = np.array([-1.0, 0.0, 2.0, 2.0, 1.0])
    public = statistic.slow_beside(labels)
    assert np.array_equal(public, statistic.slow_beside(np.full(5, -1.0)))
    assert not np.array_equal(public, labels)
    assert set(public.tolist()) == {0.0, 1.0, 2.0}
    records, own, _, _ = data(60)
    assert classes(records, own, timing="steady").n == 60


def test_labels_belong_to_statistics_that_take_them():
    records, labels, _, _ = data(60)
    ledger = cdp.Ledger(LARGE)
    wrong = [
        (cdp.KMeans(3), {"labels": labels}, "takes no labels"),
        (cdp.TangentLogistic([0, 1]), {}, "needs labels"),
        (cdp.TangentLogistic([0, 1]), {"labels": labels[:-1]}, "one label for each"),
        (cdp.TangentLogistic([0, 1]), {"labels": labels, "covariate": labels}, "takes no cov"),
    ]
    for statistic, given, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            cdp.release(statistic, records, BALL, LARGE, ledger=ledger, **given)
    assert ledger.spent is None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([], "number of classes"),
        ([None, 1], "missing"),
        ([1.0, np.inf], "finite"),
        ([b"a", b"b"], "texts or finite numbers"),
        (np.array(["2026-01-01"], dtype="datetime64[D]"), "texts or finite numbers"),
    ],
)
def test_classes_are_texts_or_numbers(wrong, error):
    with pytest.raises((ValueError, TypeError), match=error):
        cdp.TangentLogistic(wrong)


def test_a_stored_classifier_keeps_its_classes_in_order():
    records, labels, _, _ = data()
    found = classes(records, np.array(["x", "y", "z"])[labels], classes=["z", "x", "y"])
    assert found.classes == ("x", "y", "z")
    again = cdp.Release.from_json(found.to_json())
    assert again == found
    assert np.array_equal(again.predict(records), found.predict(records))
    assert np.mean(found.predict(records) == np.array(["x", "y", "z"])[labels]) > 0.9
    np.testing.assert_allclose(found.predict_proba(records).sum(axis=1), 1.0)
    for edit in (["z", "y", "x"], ["x", "y"], "xyz", [None, "y", "z"], ["x", "x", "y"]):
        with pytest.raises((ValueError, TypeError)):
            cdp.Release.from_json(json.dumps(json.loads(found.to_json()) | {"classes": edit}))
    sizes = clusters(records, labels)
    for edit in ({"shape": [2], "data": [1.0, 2.0]}, {"shape": [1, 3], "data": [1.0, 2.0, 3.0]}):
        with pytest.raises(ValueError, match="sizes"):
            cdp.Release.from_json(json.dumps(json.loads(sizes.to_json()) | {"sizes": edit}))
