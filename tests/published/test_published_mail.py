"""The published noise of PrivateMail: the constants as printed, and what they fail to bound."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.published import laplacian, private_mail, sensitivity
from mail_cases import audit, estimator
from reference import mail as twin


def blobs(n=60, m=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return np.eye(m)[labels] + 0.2 * rng.standard_normal((n, m)), labels


@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0)])
@pytest.mark.parametrize("log_beta", [None, -1e6])
@pytest.mark.parametrize("form", ["normalised", "published"])
def test_the_release_is_unproved_and_says_why(guarantee, log_beta, form):
    mail = cdp.PrivateMail(2, guarantee=guarantee, form=form, seed=1)
    release = private_mail(*blobs(), mail, log_beta=log_beta)
    assert isinstance(release.guarantee, cdp.Unproved)
    assert release.guarantee.claimed == guarantee
    assert release.calibration == "published"
    assert (release.scale == 0) == (log_beta is None)
    assert "spurious" in release.report()
    assert cdp.Release.from_json(release.to_json()) == release
    assert private_mail(*blobs(), mail, log_beta=log_beta) == release


def test_no_ledger_takes_it_and_it_needs_a_guarantee_to_claim():
    mail = cdp.PrivateMail(2, guarantee=cdp.GDP(1.0))
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        with pytest.raises(TypeError, match="no ledger accepts"):
            private_mail(*blobs(), mail, ledger=ledger)
        with pytest.raises(TypeError, match="no ledger accepts"):
            private_mail(*blobs(), mail.set_params(ledger=ledger))
        assert ledger.spent is None
    with pytest.raises(TypeError, match="guarantee"):
        private_mail(*blobs(), cdp.PrivateMail(2))


def test_the_audit_finds_out_that_no_noise_is_added():
    def release(data):
        return private_mail(data[:, 1:], data[:, 0], estimator(form="published"))

    result = audit(release, cdp.GDP(2.0), 600)
    assert not result.passed
    assert result.lower_bound > 2.5


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
    assert sensitivity.mail_iteration(1000, 2, bandwidth=1.0, alpha=0.5) == 0.0


def test_the_lower_bound_on_a_norm_can_be_negative():
    assert laplacian.constants(1000, 0.5, 1.0).phi_min < 0


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="larger bandwidth"):
        sensitivity.mail_iteration(5, 2, bandwidth=0.3, alpha=0.5)
    with pytest.raises(ValueError, match="log_beta"):
        sensitivity.mail_iteration(1000, 2, bandwidth=1.0, alpha=0.5, log_beta=-1e-30)
