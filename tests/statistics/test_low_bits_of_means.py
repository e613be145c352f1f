"""The attack on low-order bits on private means: no manifold, size or claim may fail.

Where double precision is too coarse for a size, the library may refuse it before anything is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.audit import AuditResult
from low_bit_cases import attack, releases_of, walk
from manifold_list import BY_NAME, CASES

SEED = 20_261_122

CLAIMS = {"pure-0.1": cdp.PureDP(0.1), "pure-1": cdp.PureDP(1.0), "gdp-0.1": cdp.GDP(mu=0.1)}

#: Records and radius, by the number of records per radius.
SIZES = {
    "1e3": (500, 0.5),
    "1e6": (1_000, 1e-3),
    "1e9": (1_000, 1e-6),
    "1e10": (1_000, 1e-7),
    "1e12": (1_000, 1e-9),
}

#: One of each kind on which records are quick to average.
QUICK = [
    BY_NAME[name]
    for name in (
        "euclidean:3",
        "sphere:1",
        "sphere:2",
        "sphere:2:radius=3",
        "hyperboloid:2",
        "hyperboloid:3:curvature=-0.25",
        "kendall:3",
        "kendall:4",
        "projective:2",
        "torus:2",
        "grassmann:4:2",
        "so:4",
        "spd:2",
        "hpd:2",
        "spd:2:log-euclidean",
        "spd:2:log-cholesky",
    )
]

SETTINGS = [("1e3", "pure-0.1"), ("1e6", "gdp-0.1"), ("1e9", "pure-1")]

#: Sizes and budgets for the manifolds whose means take longest, with a fifth of the records on a
#: fifth of the radius: the noise is the same.
FEWER = [("1e6", "gdp-0.1"), ("1e12", "pure-0.1")]
SHARE = 5
SLOWEST = ("kendall:4", "grassmann:4:2", "so:4", "spd:2:log-euclidean", "spd:2:log-cholesky")


def attacked(
    manifold: Any,
    center: Any,
    n: int,
    radius: float,
    claim: str,
    n_releases: int,
    *,
    mechanism: str | None = None,
    **options: Any,
) -> AuditResult | None:
    """The audit's verdict, or None where the library refuses before anything is drawn."""
    guarantee = CLAIMS[claim]
    try:
        ball = cdp.Ball(manifold, np.reshape(center, manifold.point_shape), radius)
        releases_of(ball, guarantee, mechanism, 1)(walk(ball, n)[0])
    except (ValueError, cdp.errors.CurvedpError):
        return None
    return attack(ball, n, guarantee, n_releases, mechanism=mechanism, **options)


def some_point(manifold: Any) -> np.ndarray:
    """On no axis, so that no coordinate is special."""
    return manifold.random_point(1, rng=np.random.default_rng(SEED))


@pytest.mark.parametrize(
    ("case", "size", "claim"),
    [
        (case, *setting)
        for number, case in enumerate(QUICK)
        # of the largest size one claim for each manifold, in turn
        for setting in (
            FEWER
            if case.name in SLOWEST
            else [*SETTINGS, ("1e12", list(CLAIMS)[number % len(CLAIMS)])]
        )
    ],
    ids=str,
)
def test_low_bits_of_means_keep_the_claim(case, size, claim):
    manifold = case.manifold
    center, (n, radius) = some_point(manifold), SIZES[size]
    if case.name in SLOWEST:
        n, radius = n // SHARE, radius / SHARE
    result = attacked(manifold, center, n, radius, claim, 400, screening=30, width=16)
    assert result is not None or size in ("1e9", "1e12"), "ordinary sizes are served"
    assert result is None or result.passed, result.report()


@pytest.mark.parametrize(
    ("spec", "center", "n", "radius", "claim", "n_releases"),
    [
        ("sphere:2", [0.0, 0.0, 1.0], 10_000, 1e-7, "pure-0.1", 1_000),
        ("sphere:2", [0.48, 0.6, 0.64], 1_000, 1e-8, "pure-0.1", 1_000),
        ("sphere:2", [0.48, 0.6, 0.64], 1_000, 1e-7, "pure-1", 4_000),
        ("kendall:4", None, 1_000, 1e-7, "pure-1", 1_000),
    ],
    ids=["pole", "generic-0.1", "generic-1", "shapes"],
)
def test_low_bits_keep_the_claim_where_rounding_redundant_coordinates_does_not(
    spec, center, n, radius, claim, n_releases
):
    """Noise of scale 2e-10: rounding all entries of a point and rescaling it fails here."""
    manifold = cdp.as_manifold(spec)
    center = some_point(manifold) if center is None else center
    result = attacked(manifold, center, n, radius, claim, n_releases)
    assert result is None or result.passed, result.report()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "mechanism"),
    [("pure-0.1", None), ("pure-1", None), ("gdp-0.1", None), ("gdp-0.1", "tangent-gaussian")],
)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_low_bits_of_means_keep_the_claim_on_every_manifold(case, size, claim, mechanism):
    manifold, (n, radius) = case.manifold, SIZES[size]
    small = manifold.point_size <= 9
    n_releases, screening, width = (2_000, 60, 512) if small else (400, 20, 64)
    result = attacked(
        manifold,
        some_point(manifold),
        n,
        radius,
        claim,
        n_releases,
        mechanism=mechanism,
        screening=screening,
        width=width,
    )
    assert result is None or result.passed, result.report()
