"""No replaced record moves an iteration of PrivateMail further than the proved bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

from curvedp import sensitivity
from curvedp._labels import label_codes
from curvedp.mail.iteration import Laplacians
from curvedp.sensitivity import laplacian_bounds
from reference import mail as twin

FORMS = ("normalised", "published")
SETTINGS = [(1.0, 0.5, 1.0), (0.6, 1.0, 0.5), (2.0, 0.05, 2.0), (0.8, -0.7, 1.5), (1.5, 0.2, 0.7)]


def project(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0)


def shift(rows, new_row, labels, new_label, z, sigma, sigma_y, alpha, form):
    """Row norms of the change when the first record is replaced, relative to the diameter of z."""
    replaced = rows.copy()
    replaced[0] = new_row
    relabelled = labels.copy()
    relabelled[0] = new_label
    before, after = (
        twin.iterate(z, twin.gaussian_kernel(x, sigma), twin.label_kernel(y, sigma_y), alpha, form)
        for x, y in ((rows, labels), (replaced, relabelled))
    )
    return np.linalg.norm(after - before, axis=1) / pdist(z).max()


def bound(n, sigma, sigma_y, alpha, form):
    return sensitivity.mail_iteration(
        n, bandwidth=sigma, label_bandwidth=sigma_y, alpha=alpha, form=form
    )


def start(rng, n, m, k, extreme):
    """A data set, its replaced record and an embedding; near the worst case or anywhere."""
    labels = np.arange(n) % 2 if extreme else rng.integers(0, 3, n)
    rows = project(3 * rng.standard_normal((n, m)))
    z = rng.standard_normal((n, k))
    if extreme:
        side = 1.0 - 2.0 * labels
        rows = project(np.column_stack([side, 0.1 * rng.standard_normal((n, m - 1))]))
        z = 0.1 * rng.standard_normal((n, k))
        z[:, 0] += side
    return rows, -rows[0], labels, 1 - labels[0], z


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("sigma", "alpha", "sigma_y"), SETTINGS)
def test_random_neighbours_stay_within_the_bound(form, sigma, alpha, sigma_y):
    rng = np.random.default_rng(11)
    worst = 0.0
    for trial in range(100):
        n, m, k = int(rng.integers(2, 30)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        data = start(rng, n, m, k, extreme=trial % 2 == 0)
        moved = shift(*data, sigma, sigma_y, alpha, form)
        worst = max(worst, np.linalg.norm(moved) / bound(n, sigma, sigma_y, alpha, form))
    print(f"tightness {worst:.3f}")
    assert worst <= 1 + 1e-12
    assert worst > 0.02


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("sigma", "alpha", "sigma_y"), SETTINGS)
@pytest.mark.parametrize(
    ("n", "restarts"), [(4, 2), *(pytest.param(n, 6, marks=pytest.mark.slow) for n in (3, 6, 9))]
)
def test_gradient_search_stays_within_the_bound(form, sigma, alpha, sigma_y, n, restarts):
    """Ascent on rows, replaced row and embedding at once, by quasi-Newton with restarts."""
    m = k = 2
    limit = bound(n, sigma, sigma_y, alpha, form)
    rng = np.random.default_rng(5)
    best = 0.0
    for restart in range(restarts):
        rows, new_row, labels, new_label, z = start(rng, n, m, k, extreme=restart > 0)

        def loss(x, labels=labels, new_label=new_label):
            points = project(x[: (n + 1) * m].reshape(n + 1, m))
            z = x[(n + 1) * m :].reshape(n, k)
            moved = shift(points[:n], points[n], labels, new_label, z, sigma, sigma_y, alpha, form)
            return -np.linalg.norm(moved) / limit

        x = np.concatenate([rows.ravel(), new_row, z.ravel()])
        best = max(
            best, -minimize(loss, x, method="L-BFGS-B", options={"maxiter": 12 * restarts}).fun
        )
    print(f"tightness {best:.3f}")
    assert best <= 1 + 1e-9
    assert best > 0.1


def halves(n, alpha):
    """The family that attains the normalised bound: half the others at either pole.

    The replaced record and its label change sides; with alpha < 0 the label changes to the side
    that the record leaves.
    """
    side = np.concatenate([[1.0], np.tile([1.0, -1.0], (n - 1) // 2)])
    rows, z = side[:, None] * np.array([[1.0, 0.0]]), 0.5 * side[:, None]
    labels = (side < 0).astype(int)
    old, new = (0, 1) if alpha < 0 else (1, 0)
    labels[0] = old
    return rows, -rows[0], labels, new, z


@pytest.mark.parametrize(("sigma", "alpha", "sigma_y"), SETTINGS)
def test_the_normalised_bound_of_the_replaced_row_is_attained(sigma, alpha, sigma_y):
    n = 201
    moved = shift(*halves(n, alpha), sigma, sigma_y, alpha, "normalised")
    exact = np.tanh(1 / sigma**2) + abs(alpha) * np.tanh(1 / (2 * sigma_y**2))
    assert moved[0] == pytest.approx(0.5 * exact, rel=1e-9)
    w, v = np.exp(-2 / sigma**2), np.exp(-1 / sigma_y**2)
    assert laplacian_bounds.replaced_row(w, v, alpha, "normalised") == pytest.approx(exact)
    tightness = np.linalg.norm(moved) / bound(n, sigma, sigma_y, alpha, "normalised")
    print(f"tightness of the whole bound {tightness:.3f}")
    assert tightness <= 1


@pytest.mark.parametrize(("sigma", "alpha", "sigma_y"), [s for s in SETTINGS if s[1] > 0])
def test_the_published_bound_of_the_replaced_row_is_attained(sigma, alpha, sigma_y):
    """A share pi of the others comes close as the record moves: all of them for alpha >= w."""
    w, v = np.exp(-2 / sigma**2), np.exp(-1 / sigma_y**2)
    limit = laplacian_bounds.replaced_row(w, v, alpha, "published")
    best = 0.0
    n = 101
    for close in range(1, n):
        side = np.concatenate([[-1.0], np.ones(close), -np.ones(n - 1 - close)])
        rows, z = side[:, None] * np.array([[1.0, 0.0]]), 0.5 * side[:, None]
        labels = (side < 0).astype(int)
        labels[0] = 0
        moved = shift(rows, -rows[0], labels, 1, z, sigma, sigma_y, alpha, "published")
        best = max(best, moved[0])
    assert 0.98 * 0.5 * limit < best <= 0.5 * limit * (1 + 1e-9)


def test_degrees_of_rows_in_the_ball_obey_the_bound_on_their_inverses():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n, sigma = int(rng.integers(3, 200)), float(rng.uniform(0.4, 2.0))
        side = np.where(rng.random(n) < rng.uniform(0.5, 1), 1.0, -1.0)
        rows = project(np.column_stack([side, rng.choice([0.0, 1.0]) * rng.standard_normal(n)]))
        degrees = twin.gaussian_kernel(rows, sigma).sum(axis=1)
        for power in (1, 2):
            limit = laplacian_bounds.inverse_degrees(n, power, 2 / sigma**2, 0.0)
            assert np.sqrt(np.sum(degrees ** (-2.0 * power))) <= limit * (1 + 1e-9)


def test_the_bound_does_not_fall_with_n_and_scales_with_the_embedding():
    values = [bound(n, 1.0, 1.0, 0.5, "normalised") for n in (100, 10_000, 10**8)]
    assert values[0] > values[1] > values[2] > 0.4963
    assert sensitivity.mail_iteration(
        50, bandwidth=1.0, alpha=0.5, diameter=3.0, records_per_unit=2
    ) == pytest.approx(6 * sensitivity.mail_iteration(50, bandwidth=1.0, alpha=0.5))
    # a ball twice as large with a bandwidth twice as wide is the same problem
    assert sensitivity.mail_iteration(
        50, bandwidth=2.0, alpha=0.5, radius=2.0, label_bandwidth=1.0
    ) == pytest.approx(sensitivity.mail_iteration(50, bandwidth=1.0, alpha=0.5))


def test_a_query_among_anchors_stays_within_its_bound_and_attains_it():
    rng = np.random.default_rng(2)
    for sigma in (0.5, 1.0, 2.0):
        limit = sensitivity.mail_query(bandwidth=sigma)
        worst = 0.0
        for trial in range(200):
            n = int(rng.integers(2, 40))
            rows, new_row, _, _, z = start(rng, n, 3, 2, extreme=trial % 2 == 0)
            queries = np.stack([rows[0], new_row])
            squares = np.sum((queries[:, None] - rows[None]) ** 2, axis=2)
            weights = np.exp(-squares / (2 * sigma**2))
            places = weights @ z / weights.sum(axis=1, keepdims=True)
            worst = max(worst, np.linalg.norm(places[0] - places[1]) / pdist(z).max())
        assert 0.5 * limit < worst <= limit * (1 + 1e-9)
        side = np.array([1.0, -1.0])
        weights = np.exp(-((side[:, None] - side[None]) ** 2) / (2 * sigma**2))
        places = weights @ (0.5 * side) / weights.sum(axis=1)
        assert abs(places[0] - places[1]) == pytest.approx(limit, rel=1e-8)


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="published form"):
        sensitivity.mail_iteration(10, bandwidth=0.01, alpha=0.5, form="published")
    with pytest.raises(ValueError, match="form"):
        sensitivity.mail_iteration(10, bandwidth=1.0, alpha=0.5, form="other")
    with pytest.raises(ValueError, match="at least 2"):
        sensitivity.mail_iteration(1, bandwidth=1.0, alpha=0.5)


@pytest.mark.parametrize(
    ("label", "new_label", "others"),
    [
        (2**53, 0.5, [2**53, 2**53 + 1]),
        (1, "a", [1, 1.0]),
        (1, "a", [True, 1]),
        (1, None, [2**63 + 1, 2**63 + 2]),
    ],
)
def test_a_label_of_another_type_does_not_change_which_others_are_equal(label, new_label, others):
    """In an array of one dtype it would, and the whole kernel of labels with it."""
    z = np.array([0.0] + [0.0, 1.0] * 50)[:, None]
    rows = np.zeros((101, 1))

    def embedded(first):
        kernels = Laplacians(rows, 1.0, labels=[first, *(others * 50)], label_bandwidth=1.0)
        return kernels.step(z, alpha=1.0)

    moved = np.linalg.norm(embedded(label) - embedded(new_label))
    assert moved <= bound(101, 1.0, 1.0, 1.0, "normalised")


@pytest.mark.parametrize(
    ("module", "column"),
    [
        ("pyarrow", "array"),
        ("pyarrow", "chunked_array"),
        ("polars", "Series"),
        ("pandas", "Series"),
    ],
)
def test_a_missing_label_in_a_column_does_not_change_which_others_are_equal(module, column):
    """Converted to an array, integers in a column with a missing one become floats."""
    make = getattr(pytest.importorskip(module), column)
    options = {"dtype": "Int64"} if module == "pandas" else {}
    labels = [2**53, 2**53 + 1, None]
    labels = make([labels] if column == "chunked_array" else labels, **options)
    assert len(set(label_codes(labels, 3).tolist())) == 3
