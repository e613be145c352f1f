"""PrivateMail as published: its iterations, its budgets, its bound as printed and what it fails."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp import sensitivity as proved
from curvedp.audit import audit_release_function
from curvedp.published import laplacian, private_mail, sensitivity
from curvedp.published.composition import strong_epsilon, strong_share
from mail_cases import along, neighbours
from reference import mail as twin

#: Settings at which the bound is real at the default beta.
REAL = {"n_components": 2, "bandwidth": 6.0, "alpha": 0.6}


def blobs(n=60, m=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return np.eye(m)[labels] + 0.2 * rng.standard_normal((n, m)), labels


@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.GDP(1.0)])
@pytest.mark.parametrize("n_classes", [None, 3])
def test_the_release_is_unproved_and_says_why(guarantee, n_classes):
    how = {**REAL, "n_classes": n_classes, "seed": 1}
    release = private_mail(*blobs(), guarantee, **how)
    assert isinstance(release.guarantee, cdp.Unproved)
    assert release.guarantee.claimed == guarantee
    assert release.calibration == "published"
    assert release.sensitivity == sensitivity.mail_iteration(
        60, 2, bandwidth=6.0, alpha=0.6, n_classes=n_classes
    )
    assert "spurious" in release.report()
    assert "private labels" in release.report()
    assert cdp.Release.from_json(release.to_json()) == release
    assert private_mail(*blobs(), guarantee, **how) == release


def test_no_ledger_takes_it():
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        with pytest.raises(TypeError, match="no ledger accepts"):
            private_mail(*blobs(), cdp.GDP(1.0), ledger=ledger)
        assert ledger.spent is None
    with pytest.raises(TypeError, match="guarantee"):
        private_mail(*blobs(), 1.0)


# ------------------------------------------------------------------ the iterations are the paper's


def kernels(rows, labels, bandwidth, n_classes):
    w_x = twin.gaussian_kernel(rows, bandwidth)
    if n_classes is None:
        return w_x, twin.label_kernel(labels, bandwidth)
    return w_x, twin.gaussian_kernel(labels[:, None].astype(float), bandwidth)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_every_iteration_is_equation_7_with_the_labels(n_classes):
    """Between two noisy embeddings lies equation 7 and Laplace noise, after them equation 7."""
    rows, labels = blobs(400)
    how = {**REAL, "n_components": 50, "n_classes": n_classes, "private_iterations": 3}
    release = private_mail(rows, labels, cdp.PureDP(3.0), start_scale=0.1, **how)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    w_x, w_y = kernels(unit, labels, 6.0, n_classes)
    noise = []
    for before, after in zip(release.parts, release.parts[1:], strict=False):
        exact = twin.iterate(before.value, w_x, w_y, 0.6, "published")
        noise.append((after.value - exact) / after.scale)
    # Laplace noise of scale 1: |x| has mean and deviation 1, x^2 mean 2
    size = np.abs(noise)
    assert abs(size.mean() - 1) < 7 / np.sqrt(size.size)
    assert np.mean(size**2) > 1.8, "Gaussian noise of this mean has pi/2"
    assert all(part.scale == part.sensitivity for part in release.parts)
    z = release.parts[-1].value
    w_z, _ = kernels(z, labels, 6.0, n_classes)
    inverse = w_z.sum(axis=1) > 1e-15 * w_z.sum(axis=1).max()
    for _ in range(2):
        z = np.where(inverse[:, None], twin.iterate(z, w_z, w_y, 0.6, "published"), z)
    assert np.abs(z - release.value).max() < 1e-8 * np.abs(z).max()
    given = private_mail(rows, labels, cdp.PureDP(1e15), **how, start=release.value[::-1])
    first = twin.iterate(release.value[::-1], w_x, w_y, 0.6, "published")
    assert np.abs(given.parts[0].value - first).max() < 1e-8 * np.abs(first).max()
    without = twin.iterate(release.parts[-1].value, w_z, 0 * w_y, 0.6, "published")
    assert np.abs(without - release.value).max() > 1e-3 * np.abs(z).max()


def test_labels_of_case_b_count_by_their_distance_and_others_as_zero():
    rows, labels = blobs()
    how = {**REAL, "seed": 2}
    coded = private_mail(rows, labels, cdp.GDP(1.0), n_classes=3, **how).value
    assert not np.array_equal(private_mail(rows, labels, cdp.GDP(1.0), **how).value, coded)
    swapped = np.array([0, 2, 1])[labels]
    assert not np.array_equal(
        private_mail(rows, swapped, cdp.GDP(1.0), n_classes=3, **how).value, coded
    )
    outside = np.where(labels == 0, -7, labels)
    np.testing.assert_array_equal(
        private_mail(rows, outside, cdp.GDP(1.0), n_classes=3, **how).value, coded
    )


def test_rows_count_by_their_direction_and_no_value_raises():
    rows, labels = blobs()
    how = {**REAL, "seed": 2}
    found = private_mail(rows, labels, cdp.GDP(1.0), **how).value
    longer = private_mail(2.0 ** np.arange(60)[:, None] * rows, labels, cdp.GDP(1.0), **how).value
    np.testing.assert_allclose(longer, found, rtol=1e-9, atol=1e-9)
    for value in (np.nan, np.inf, 0.0, 1e308):
        rows[0] = value
        release = private_mail(rows, labels, cdp.PureDP(1e-9), post_iterations=30, **how)
        assert np.all(np.isfinite(release.value))


def test_labels_that_come_back_after_the_noise_are_no_post_processing():
    """One label of 60 differs; the noise hides it, the iterations after the noise show it again."""
    rows, labels = np.random.default_rng(0).standard_normal((60, 3)), np.zeros((60, 1))
    first, second = np.hstack([labels, rows]), np.hstack([labels, rows])
    second[0, 0] = 9.0

    def release(later):
        def of(data):
            return private_mail(
                *(data[:, 1:], data[:, 0].astype(int), cdp.PureDP(1.0)),
                **{**REAL, "n_components": 100, "n_classes": 10, "log_beta": -200.0},
                start_scale=0.01,
                private_iterations=1,
                post_iterations=later,
            )

        return of

    def length(value):
        lengths = np.linalg.norm(value - value.mean(axis=0), axis=1)
        return float(lengths[0] / np.median(lengths))

    def audited(later):
        return audit_release_function(
            release(later),
            first,
            second,
            length,
            n_releases=600,
            claimed=cdp.PureDP(1.0),
            confidence=CONFIDENCE,
        )

    assert audited(0).passed, "the noise alone is large enough here"
    shown = audited(2)
    assert not shown.passed
    assert shown.lower_bound > 2.0, "a label is replaced here, and a record added in the paper"


# ------------------------------------------------------------------ budgets


def test_figure_4_has_the_budgets_of_strong_composition_with_a_decimal_logarithm():
    """Five budgets printed on the axes, of epsilon .1, .5, 1, 3 and 5 in each of 2 iterations."""
    printed = [0.023, 0.311, 1.056, 5.827, 10.527]
    single = [0.1, 0.5, 1.0, 3.0, 5.0]
    decimal = np.exp(np.log10(0.99))
    assert [round(strong_epsilon(one, 2, decimal), 3) for one in single] == printed
    natural = [round(strong_epsilon(one, 2, 0.99), 3) for one in single]
    assert natural == [0.03, 0.345, 1.125, 6.032, 10.869]


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 1.0, 700.0])
@pytest.mark.parametrize("count", [1, 2, 20])
@pytest.mark.parametrize("slack", [1e-9, 0.5, 0.99, 1 - 1e-9])
def test_shares_compose_to_the_whole(epsilon, count, slack):
    share = strong_share(epsilon, count, slack)
    assert epsilon * (1 - 1e-9) < strong_epsilon(share, count, slack) <= epsilon


def test_a_claim_with_delta_is_split_by_strong_composition():
    release = private_mail(*blobs(), cdp.ApproxDP(1.125, 0.99), **REAL)
    shares = [part.guarantee.claimed.epsilon for part in release.parts]
    assert shares == pytest.approx([1.0, 1.0], rel=1e-3)
    assert strong_epsilon(shares[0], 2, 0.99) <= 1.125
    plain = private_mail(*blobs(), cdp.PureDP(1.0), **REAL)
    assert [part.guarantee.claimed for part in plain.parts] == [cdp.PureDP(0.5)] * 2


# ------------------------------------------------------------------ the bound


def test_the_audit_finds_out_that_no_noise_is_added_at_the_largest_beta():
    """The published bound's noise around the iteration of `mail_cases`, whose start is fixed.

    A record is replaced here and added in the paper, which is half of it: more than 2 mu is found.
    """
    first, second, start = neighbours()
    phi = laplacian.constants(len(first), 0.5, 1.5)
    largest = laplacian.largest_log_beta(len(first), 1, phi)
    rng = np.random.default_rng(5)

    def release(log_beta):
        delta = sensitivity.mail_iteration(
            len(first), 1, bandwidth=1.5, alpha=0.5, log_beta=log_beta
        )

        def of(data):
            w_x, w_y = twin.gaussian_kernel(data[:, 1:], 1.5), twin.label_kernel(data[:, 0], 1.5)
            exact = twin.iterate(start, w_x, w_y, 0.5, "published")
            return exact + delta * rng.standard_normal(exact.shape)

        return of

    def audited(log_beta):
        return audit_release_function(
            release(log_beta),
            first,
            second,
            along("published"),
            n_releases=600,
            claimed=cdp.GDP(1.0),
            confidence=CONFIDENCE,
        )

    found = audited(largest)
    assert not found.passed
    assert found.lower_bound > 2.5
    assert audited(4 * largest).passed, "at smaller ones there is noise enough here"


def test_at_a_small_beta_the_bound_is_far_above_the_proved_one_in_the_authors_parameters():
    def published(beta):
        return sensitivity.mail_iteration(
            1001, 2, bandwidth=6.0, alpha=0.6, log_beta=float(np.log(beta))
        )

    largest = np.exp(laplacian.largest_log_beta(1001, 2, laplacian.constants(1001, 0.6, 6.0)))
    assert largest == pytest.approx(0.966, abs=5e-4)
    assert [published(beta) for beta in (0.5, 0.05, 1e-6)] == pytest.approx(
        [1.36, 3.03, 6.72], abs=5e-3
    )
    # a start of 1,001 rows in the plane has a diameter below 12 with probability 1 - 1e-12
    assert proved.mail_iteration(1001, bandwidth=6.0, alpha=0.6, form="published") * 12 < 0.4
    assert sensitivity.mail_iteration(1001, 2, bandwidth=6.0, alpha=0.6) == published(1e-6)


@pytest.mark.parametrize("classes", [None, 2, 5])
@pytest.mark.parametrize(("n", "alpha", "sigma"), [(60, 0.5, 1.2), (1000, 1.0, 1.0)])
def test_the_constants_are_those_of_the_twin(classes, n, alpha, sigma):
    expected = twin.published_constants(n, alpha, sigma, classes or 0)
    found = laplacian.constants(n, alpha, sigma, classes)
    assert found.phi_min == pytest.approx(expected["phi_min"], rel=1e-12)
    assert found.phi_max == pytest.approx(expected["phi_max"], rel=1e-12)
    log_beta = -300.0
    assert sensitivity.mail_iteration(
        n, 2, bandwidth=sigma, alpha=alpha, n_classes=classes, log_beta=log_beta
    ) == pytest.approx(
        twin.published_bound(n, 2, alpha, sigma, 1.0, np.exp(log_beta), classes or 0), rel=1e-9
    )


def test_the_bound_is_zero_at_the_largest_beta():
    """Theorem 1 at the z_i of two data sets that differ, and Corollary 1.1."""
    rng = np.random.default_rng(4)
    rows, labels, z = rng.standard_normal((20, 3)), rng.integers(0, 3, 20), rng.random((20, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)

    def coefficients(x, y):
        w_x, w_y = twin.gaussian_kernel(x, 1.0), twin.label_kernel(y, 1.0)
        l_x, l_y = twin.laplacian(w_x), twin.laplacian(w_y)
        return (0.5 * l_y - l_x) / np.diag(l_x)[:, None]

    replaced, relabelled = rows.copy(), labels.copy()
    replaced[0], relabelled[0] = -rows[0], (labels[0] + 1) % 3
    difference = coefficients(rows, labels) - coefficients(replaced, relabelled)
    moved = np.linalg.norm(0.5 * difference @ z)
    assert moved > 0.01, "the data sets' iterations differ"
    norms = np.linalg.norm(difference, axis=1)
    largest = -4 * 2 * np.sum(norms**2) ** 2 / np.sum(norms**4)
    assert laplacian.local_bound(norms, 2, largest, 1.0) < 1e-6 * moved
    with pytest.raises(ValueError, match="equation 18"):
        laplacian.local_bound(norms, 2, largest / 2, 1.0)
    phi = laplacian.constants(1000, 0.5, 1.0)
    largest = laplacian.largest_log_beta(1000, 2, phi)
    at_largest = laplacian.global_bound(1000, 2, phi, largest, 1.0)
    assert at_largest == pytest.approx(0.0, abs=1e-6 * phi.phi_max)
    assert laplacian.global_bound(1000, 2, phi, 2 * largest, 1.0) > 0


def test_the_lower_bound_on_a_norm_can_be_negative():
    assert laplacian.constants(1000, 0.5, 1.0).phi_min < 0


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="larger bandwidth"):
        sensitivity.mail_iteration(5, 2, bandwidth=0.3, alpha=0.5)
    with pytest.raises(ValueError, match="log_beta must be at most"):
        sensitivity.mail_iteration(1000, 16, bandwidth=1.0, alpha=0.5)
    for wrong, message in (
        ({"private_iterations": 0}, "private_iterations"),
        ({"post_iterations": -1}, "post_iterations"),
        ({"n_classes": 1}, "n_classes"),
        ({"start_scale": 0.0}, "start_scale"),
        ({"bandwidth": 0.3}, "larger bandwidth"),
        ({"start": np.zeros((60, 3))}, "start must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            private_mail(*blobs(), cdp.GDP(1.0), **{**REAL, **wrong})
    with pytest.raises(ValueError, match="60 records"):
        private_mail(blobs()[0], blobs()[1][:-1], cdp.GDP(1.0))
    with pytest.raises(ValueError, match="slack"):
        strong_epsilon(1.0, 2, 1.0)
