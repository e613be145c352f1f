"""Sensitivities of PrivateMail. Proof: docs/proofs/privatemail.md."""

from __future__ import annotations

import math

from curvedp._validation import as_choice, as_count, as_positive
from curvedp.domain import BOUNDARY_SLACK
from curvedp.sensitivity import laplacian_bounds


def mail_iteration(
    n: int,
    *,
    bandwidth: float,
    alpha: float,
    diameter: float = 1.0,
    label_bandwidth: float | None = None,
    radius: float = 1.0,
    form: str = "normalised",
    records_per_unit: int = 1,
    weight_error: float = 0.0,
) -> float:
    """Sensitivity of one iteration of PrivateMail, given the released embedding it starts from.

    In the Frobenius norm of the n x k embedding. With D = `diameter`, sigma = `bandwidth`,
    sigma_Y = `label_bandwidth` and r = `radius`, the replaced record's own row moves at most

    - normalised: (D/2) (tanh(r^2/sigma^2) + |alpha| tanh(1/2 sigma_Y^2)), attained;
    - published (equation 7): (D/2) alpha (exp(2 r^2/sigma^2) - exp(-1/sigma_Y^2)) for alpha from
      exp(-2 r^2/sigma^2) on, attained,

    and the other rows add in squares (docs/proofs/privatemail.md). It does not fall with n: every
    row is private, as under local differential privacy.

    Parameters
    ----------
    n : int
        Number of records, at least 2 (public).
    bandwidth, label_bandwidth : float
        Bandwidths of the kernels exp(-d^2/2 sigma^2) of records and of one-hot labels; the second
        is the first if not given.
    alpha : float
        Weight of the label term.
    diameter : float
        Largest distance between two rows of the released embedding.
    radius : float
        Radius of the ball on which records are projected.
    form : {"normalised", "published"}
        "normalised" divides the label Laplacian by its own degrees, "published" by the records'.
    records_per_unit : int
        Number of records that one person contributes at most.
    weight_error : float
        Relative error of the computed kernel weights, which lie in their exact range all the same.

    Returns
    -------
    float
        In the units of the embedding.

    Raises
    ------
    ValueError
        If the published form has no usable bound: exp(2 r^2/sigma^2) overflows.

    Examples
    --------
    >>> round(mail_iteration(1000, bandwidth=1.0, alpha=0.5), 3)
    0.499
    >>> round(mail_iteration(1000, bandwidth=1.0, alpha=0.5, form="published"), 3)
    1.76
    """
    count = as_count(n, "n", least=2)
    changed = as_count(records_per_unit, "records_per_unit")
    as_choice(form, laplacian_bounds.FORMS, "form")
    sigma = as_positive(bandwidth, "bandwidth")
    sigma_y = sigma if label_bandwidth is None else as_positive(label_bandwidth, "label_bandwidth")
    reach = as_positive(radius, "radius") * (1 + BOUNDARY_SLACK)
    w = laplacian_bounds.weight_floor(4 * reach**2, sigma)
    v = laplacian_bounds.weight_floor(2.0, sigma_y)
    if form == "published" and w <= laplacian_bounds.LEAST_WEIGHT:
        raise ValueError(
            "the published form divides by degrees that are 0 in double precision: use a larger "
            "bandwidth or form='normalised'"
        )
    own = laplacian_bounds.replaced_row(w, v, alpha, form)
    exponent = 2 * reach**2 / sigma**2
    rest = laplacian_bounds.other_rows(count, w, v, alpha, form, exponent, weight_error)
    return changed * 0.5 * as_positive(diameter, "diameter") * math.hypot(own, rest)


def mail_query(*, bandwidth: float, diameter: float = 1.0, radius: float = 1.0) -> float:
    """Sensitivity of a query's place among public anchors: D tanh(r^2/sigma^2), attained.

    The place is the mean of the embedded anchors weighted by the Gaussian kernel of the query.
    Parameters as in `mail_iteration`, D the largest distance between two embedded anchors.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> round(mail_query(bandwidth=1.0), 4)
    0.7616
    """
    sigma = as_positive(bandwidth, "bandwidth")
    reach = as_positive(radius, "radius") * (1 + BOUNDARY_SLACK)
    w = laplacian_bounds.weight_floor(4 * reach**2, sigma)
    return as_positive(diameter, "diameter") * (1 - w) / (1 + w)
