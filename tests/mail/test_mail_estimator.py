"""PrivateMail as an estimator: releases, budgets, bad records, scikit-learn's conventions."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from curvedp.mail import Embedding, PrivateMail
from reference import mail as twin


def blobs(n=60, m=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    rows = np.eye(m)[labels] + 0.2 * rng.standard_normal((n, m))
    return rows, labels


def mail(**parameters):
    return PrivateMail(**{"n_components": 2, "guarantee": cdp.GDP(1.0), **parameters})


def test_a_release_says_what_was_promised():
    rows, labels = blobs()
    estimator = mail()
    embedding = estimator.fit_transform(rows, labels)
    release = estimator.release_
    assert embedding.shape == (60, 2)
    assert np.array_equal(release.value, embedding)
    assert release.guarantee == cdp.GDP(1.0)
    assert release.manifold == "euclidean:5"
    assert release.n == 60
    assert len(release.parts) == 10
    total = cdp.compose(*(part.guarantee for part in release.parts))
    assert total.mu <= 1.0
    assert total.mu > 1 - 1e-12
    for part in release.parts:
        share = part.guarantee.mu
        assert part.scale == pytest.approx((part.sensitivity + 2 * part.solver_tolerance) / share)
        assert part.solver_tolerance < 1e-8
    assert cdp.Release.from_json(release.to_json()) == release
    assert "supervised embedding" in release.report()


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(2.0)]
)
def test_every_kind_of_guarantee_is_kept(guarantee):
    rows, labels = blobs()
    estimator = mail(guarantee=guarantee).fit(rows, labels)
    assert estimator.release_.guarantee == guarantee
    query = estimator.embed_query(rows[0], rows[1:], labels[1:])
    assert query.guarantee == guarantee
    assert query.release.assumptions == frozenset()
    noisy = estimator.embed_query(rows[0], rows[1:], labels[1:], method="noise")
    assert noisy.guarantee == guarantee
    assert noisy.release.assumptions == frozenset()


def test_the_noise_follows_the_diameter_of_the_start(monkeypatch):
    """Noise of the first iteration, from the seed's start: sensitivity for its own diameter."""
    rows, labels = blobs()
    honest, starts = Embedding.start, []

    def noted(self, n, stream):
        starts.append(honest(self, n, stream))
        return starts[-1]

    monkeypatch.setattr(Embedding, "start", noted)
    estimator = mail(seed=7, private_iterations=1, post_iterations=0, max_norm=1.5)
    estimator.fit(rows, labels)
    (start,) = starts
    assert 0.8 < start.std() < 1.2
    start *= 1.5 / np.maximum(np.linalg.norm(start, axis=1, keepdims=True), 1.5)
    gaps = np.linalg.norm(start[:, None] - start[None], axis=2)
    expected = sensitivity.mail_iteration(60, bandwidth=0.2, alpha=0.5, diameter=gaps.max())
    (part,) = estimator.release_.parts
    assert part.sensitivity == pytest.approx(expected, rel=1e-9)
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    w_x, w_y = twin.gaussian_kernel(unit, 0.2), twin.label_kernel(labels, 0.2)
    exact = twin.iterate(start, w_x, w_y, 0.5, "normalised")
    z = (part.value - exact) / part.scale
    assert abs(z.std() - 1) < 5 / np.sqrt(2 * z.size)
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert np.linalg.norm(estimator.embedding_, axis=1).max() <= 1.5 * (1 + 1e-12)
    assert isinstance(estimator.release_.guarantee, cdp.Unproved)


def test_post_processing_uses_no_record():
    """With the same seed and neighbouring labels, what comes after the noise is a map of it."""
    rows, labels = blobs()
    estimator = mail(seed=3, bandwidth=1.0).fit(rows, labels)
    last = estimator.release_.parts[-1].value
    short = last * np.minimum(1, 2 * np.sqrt(2) / np.linalg.norm(last, axis=1, keepdims=True))
    spread = np.sqrt(2 * np.mean(np.sum((short - short.mean(axis=0)) ** 2, axis=1)))
    w_z = twin.gaussian_kernel(short, spread / np.sqrt(2))
    expected = short
    for _ in range(2):
        expected = twin.iterate(expected, w_z, w_z, 0.0, "normalised")
    assert np.abs(expected - estimator.embedding_).max() < 1e-10


def test_without_a_seed_every_fit_draws_anew():
    rows, labels = blobs()
    assert not np.array_equal(
        mail().fit_transform(rows, labels), mail().fit_transform(rows, labels)
    )
    seeded = [mail(seed=1).fit_transform(rows, labels) for _ in range(2)]
    assert np.array_equal(*seeded)


def test_the_ledger_refuses_before_anything_is_drawn():
    rows, labels = blobs()
    with cdp.Ledger(cdp.GDP(1.2)) as ledger:
        estimator = mail()
        estimator.fit(rows, labels, ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            estimator.embed_query(rows[0], rows[1:], labels[1:], ledger=ledger)
        assert ledger.spent == cdp.GDP(1.0)
        with pytest.raises(TypeError):
            mail(seed=1).fit(rows, labels, ledger=ledger)


@pytest.mark.parametrize("form", ["normalised", "published"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_both_forms_and_precisions_give_finite_embeddings(form, dtype):
    rows, labels = blobs()
    estimator = mail(form=form, dtype=dtype, memory_limit=0).fit(rows, labels)
    assert np.all(np.isfinite(estimator.embedding_))
    assert isinstance(estimator.release_.guarantee, cdp.GDP)


def test_a_secret_draws_the_same_embedding_again_and_another_for_changed_rows_or_labels():
    rows, labels = blobs()

    def drawn(rows, labels, **parameters):
        secret = cdp.NoiseSecret(bytes(range(32)))
        return mail(**parameters).fit_transform(rows, labels, secret=secret)

    first = drawn(rows, labels)
    np.testing.assert_array_equal(drawn(rows, labels * 7), first)  # equal labels are equal
    other, relabelled = rows.copy(), labels.copy()
    other[0, 0] += 1e-15
    relabelled[0] = (labels[0] + 1) % 3
    for found in (
        drawn(other, labels),
        drawn(rows, relabelled),
        drawn(rows, labels, alpha=0.4),
        drawn(rows, labels, records_per_unit=2),
        drawn(rows, labels, guarantee=cdp.GDP(1.1)),
    ):
        assert np.mean(found == first) < 0.1


def test_a_release_of_rows_is_the_estimators_and_of_one_data_set():
    rows, labels = blobs()
    ball, names = cdp.Ball("euclidean:5", np.zeros(5), 1.0), np.array(["x", "y", "z"])[labels]
    found = cdp.release(Embedding(), rows, ball, cdp.GDP(1.0), labels=names, seed=5)
    np.testing.assert_array_equal(found.value, mail(seed=5).fit_transform(rows, labels))
    ledger = cdp.Ledger(cdp.GDP(1.0))
    how = {"labels": names, "ledger": ledger}
    with pytest.raises(TypeError, match="a call of its own"):
        cdp.release(Embedding(), rows, ball, cdp.GDP(1.0), groups=[0, 20, 60], **how)
    with pytest.raises(ValueError, match="Euclidean space"):
        cdp.release(
            *(Embedding(), rows[:, :3], cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.0), cdp.GDP(1.0)),
            **how,
        )
    with pytest.raises(TypeError, match="needs labels"):
        cdp.release(Embedding(), rows, ball, cdp.GDP(1.0), ledger=ledger)
    assert not ledger.entries
    persons = np.arange(60) // 3
    by_name = cdp.release(Embedding(), rows, ball, cdp.GDP(1.0), labels=names, units=persons)
    assert by_name.value.shape == (20, 2)
    assert "units-by-name" in by_name.assumptions
    assert Embedding.from_options(Embedding(alpha=0.1).options()) == Embedding(alpha=0.1)


# ------------------------------------------------------------------ records cannot raise or warn


BAD = [np.nan, np.inf, -np.inf, 1e308, -1e-320, 0.0]


@pytest.mark.parametrize("value", BAD)
def test_no_record_value_raises_or_warns_or_spoils_the_others(value, capfd):
    rows, labels = blobs()
    rows[3] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding = mail().fit_transform(rows, labels)
        query = mail().embed_query(rows[3], *blobs())
    assert np.all(np.isfinite(embedding))
    assert np.all(np.isfinite(query.value))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "labels",
    [
        np.full(60, np.nan),
        np.array(["a", "b"] * 30),
        [None, "a", 3] * 20,
        [[1], [2], [1]] * 20,
        np.array([float("nan"), 1.0] * 30, dtype=object),
        np.arange(60),
        np.zeros(60, dtype=bool),
        [[1, [2]], (3, 4), np.array([5])] * 20,
    ],
    ids=["nan", "strings", "mixed", "column", "objects", "all different", "booleans", "ragged"],
)
def test_labels_of_any_value_are_accepted(labels):
    rows, _ = blobs()
    assert np.all(np.isfinite(mail().fit_transform(rows, labels)))


def test_only_the_equality_of_labels_counts():
    rows, labels = blobs()
    results = [
        mail(seed=5).fit_transform(rows, renamed)
        for renamed in (labels, labels * -3.5, np.array(["x", "y", "zz"])[labels])
    ]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_wrong_parameters_and_shapes_are_refused_before_records_are_read():
    rows, labels = blobs()
    for parameters, message in [
        ({"n_components": 0}, "n_components"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"alpha": np.inf}, "alpha"),
        ({"private_iterations": 0}, "private_iterations"),
        ({"post_iterations": -1}, "post_iterations"),
        ({"form": "other"}, "form"),
        ({"dtype": "float16"}, "dtype"),
        ({"memory_limit": -1}, "memory_limit"),
        ({"max_norm": 0.0}, "max_norm"),
        ({"ball": cdp.Ball("euclidean:4", np.zeros(4), 1.0)}, "ball"),
        ({"bandwidth": 0.01, "form": "published"}, "published form"),
        ({"bandwidth": 1e-170}, "bandwidth must lie"),
        ({"label_bandwidth": 1e170}, "label_bandwidth must lie"),
    ]:
        with pytest.raises(ValueError, match=message):
            mail(**parameters).fit(rows, labels)
    with pytest.raises(TypeError, match="guarantee"):
        PrivateMail().fit(rows, labels)
    with pytest.raises(TypeError, match="guarantee"):
        mail(guarantee=1.0).fit(rows, labels)
    with pytest.raises(ValueError, match="requires y"):
        mail().fit(rows)
    with pytest.raises(ValueError, match="60 records"):
        mail().fit(rows, labels[:-1])
    with pytest.raises(ValueError, match="n_samples=1"):
        mail().fit(rows[:1], labels[:1])
    with pytest.raises(ValueError, match="5 entries"):
        mail().embed_query(rows[0, :4], rows, labels)
    with pytest.raises(ValueError, match="method"):
        mail().embed_query(rows[0], rows, labels, method="other")
    mail(alpha=0.0).fit(rows)


def test_a_ball_moves_and_scales_the_problem():
    rows, labels = blobs()
    center = np.full(5, 3.0)
    ball = cdp.Ball("euclidean:5", center, 2.0)
    for given in ({}, {"bandwidth": 0.7}):
        scaled = {name: 2.0 * value for name, value in given.items()}
        moved = mail(seed=2, ball=ball, **scaled)
        assert np.allclose(
            moved.fit_transform(2.0 * rows + center, labels),
            mail(seed=2, **given).fit_transform(rows, labels),
            atol=1e-5,
        )
        query, public = 2.0 * rows[0] + center, 2.0 * rows[1:] + center
        assert np.allclose(
            moved.anchors(public, labels[1:]).place(query[None] - center),
            mail(**given).anchors(rows[1:], labels[1:]).place(rows[:1]) * 2.0,
            atol=1e-9,
        )


@pytest.mark.parametrize("labelled", [True, False])
def test_the_defaults_separate_digits_where_there_is_no_noise(labelled):
    """A row's nearest other row has its class for 9 of 10; at a bandwidth of r it is chance."""
    datasets = pytest.importorskip("sklearn.datasets")
    rows, labels = datasets.load_digits(return_X_y=True)
    rows, labels = rows[:600] - 8.0, labels[:600]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def found(**parameters):
        how = {} if labelled else {"alpha": 0.0}
        estimator = PrivateMail(16, guarantee=cdp.GDP(1e14), seed=0, **how, **parameters)
        z = estimator.fit_transform(rows, labels if labelled else None)
        gaps = np.linalg.norm(z[:, None] - z, axis=2)
        np.fill_diagonal(gaps, np.inf)
        return np.mean(labels[gaps.argmin(axis=1)] == labels)

    assert found() > 0.85
    assert found(bandwidth=1.0) < 0.3


# ------------------------------------------------------------------ scikit-learn

#: Checks that must fail, with the reason that privacy gives. None does: scikit-learn asks only
#: classifiers and regressors to refuse missing labels, and the tag allow_nan covers the rows.
PRIVACY_REASONS: dict[str, str] = {}


def test_it_follows_scikit_learns_conventions():
    pytest.importorskip("sklearn", minversion="1.6")
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(
            mail(guarantee=cdp.GDP(5.0)), on_fail=None, expected_failed_checks=PRIVACY_REASONS
        )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    expected = {r["check_name"] for r in results if r["status"] == "xfail"}
    details = io.StringIO()
    for result in results:
        if result["status"] == "failed":
            print(result["check_name"], repr(result["exception"]), file=details)
    assert not failed, details.getvalue()
    assert expected == set(PRIVACY_REASONS), "a reason without its failure"
    assert sum(r["status"] == "passed" for r in results) > 25


def test_parameters_can_be_read_set_and_cloned():
    base = pytest.importorskip("sklearn.base")
    estimator = mail(alpha=0.25)
    copy = base.clone(estimator)
    assert copy is not estimator
    assert copy.get_params() == estimator.get_params()
    assert copy.set_params(alpha=0.75).alpha == 0.75
    assert estimator.alpha == 0.25
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(beta=1)
    assert repr(estimator) == f"PrivateMail(alpha=0.25, guarantee={cdp.GDP(1.0)!r})"


def test_the_library_does_not_import_scikit_learn():
    import subprocess
    import sys

    code = "import sys, curvedp; curvedp.PrivateMail(); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("form", ["normalised", "published"])
def test_bandwidths_at_which_all_weights_round_to_one_are_served(form):
    rows, labels = blobs()
    estimator = mail(bandwidth=1e9, form=form).fit(rows, labels)
    assert all(part.sensitivity > 0 for part in estimator.release_.parts)
    query = estimator.embed_query(rows[0], rows[1:], labels[1:], method="noise")
    assert query.release.sensitivity > 0
