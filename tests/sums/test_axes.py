"""Axes on which records of a sphere lie: what they tell of the Hessian, and of saddles.

docs/proofs/sums-of-messages.md, section 10.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp.manifolds import as_manifold
from curvedp.sums import search
from curvedp.sums.derived import derived
from curvedp.sums.geometry import Geometry, across_sphere, axes, geometry_of
from curvedp.sums.hessian import symmetric
from curvedp.sums.messages import AXES_LENGTH, ROUND_UNIT, Request
from curvedp.sums.records import RecordSums

PI = math.pi


def _wide(space: cdp.Manifold, n: int, scale: float) -> np.ndarray:
    """t3 records about the origin."""
    rng = np.random.default_rng(n)
    coords = rng.standard_normal((n, space.dim)) * scale
    coords /= np.sqrt(rng.chisquare(3, (n, 1)) / 3.0)
    return np.asarray(space.exp(space.coords_to_tangent(coords, space.origin), space.origin))


def _circle(space: cdp.Manifold, n: int, kappa: float) -> np.ndarray:
    """Records along a great circle."""
    rng = np.random.default_rng(n)
    coords = 0.1 * rng.standard_normal((n, space.dim))
    coords[:, 0] = rng.vonmises(0.0, kappa, n)
    return np.asarray(space.exp(space.coords_to_tangent(coords, space.origin), space.origin))


@pytest.mark.parametrize("scale", [1.0, pytest.param(1.2, id="control")])
@pytest.mark.parametrize("dim", [2, 5])
def test_axes_tell_the_hessian(dim: int, scale: float) -> None:
    """The mean of t cot t and the axes are the Hessian by differences of mean logarithms."""
    space, step = as_manifold(f"sphere:{dim}"), 1e-5
    records = _wide(space, 400, 0.3)
    base = records[0] * 0.0
    base[0], base[1] = math.cos(0.3), math.sin(0.3)
    dist = space.dist(base, records)
    records = records[dist < 2.8]
    dist = space.dist(base, records)
    sums = RecordSums(space, records, None)
    request = Request("round", 1.0, np.append(base, 16.0), PI, "axes")
    size = dim * (dim + 1) // 2
    entries = sums.answer(request)[:-1] / (ROUND_UNIT - 8.0 * size) * 16.0 * AXES_LENGTH
    found = scale * symmetric(entries / len(records), dim)
    found += np.mean(across_sphere(dist)) * np.eye(dim)
    basis = space.coords_to_tangent(np.eye(dim), base)
    rows = []
    for own in basis:
        ends = [space.exp(sign * step * own, base) for sign in (-1.0, 1.0)]
        logs = [space.log(records, end).mean(axis=0) for end in ends]
        # a tangent vector at either end, seen at the base: to second order
        rows.append(basis @ (logs[0] - logs[1]) / (2.0 * step))
    assert np.allclose(np.array(rows), found, atol=2e-5) is (scale == 1.0)


def test_no_point_of_hostile_records_is_longer_than_the_bound() -> None:
    space = as_manifold("sphere:3")
    base = space.origin
    far = np.array([-base, base, np.roll(base, 1), np.full(4, np.nan), np.zeros(4), 1e300 * base])
    near = base + 1e-160 * np.roll(base, 1), -base + 1e-16 * np.roll(base, 1)
    records = np.concatenate([far, near, space.random_point(3000, rng=1)])
    for most in (1.0, 16.0):
        for radius in (1e-300, 0.5, PI):
            request = Request("round", 1.0, np.append(base, most), radius, "axes")
            points = derived(space, records, request)
            assert points.flags.c_contiguous
            assert np.isnan(points).any(axis=1).tolist()[3:5] == [True, True]
            assert np.nanmax(np.linalg.norm(points, axis=1)) <= 1.0 + 1e-12 < AXES_LENGTH
            # the noise of a sum hides one record, whatever it is
            total = RecordSums(space, records[:1], None).answer(request)
            assert sum(int(own) ** 2 for own in total) <= ROUND_UNIT**2


@pytest.mark.parametrize("asks", [True, pytest.param(False, id="control")])
def test_wide_records_in_all_directions_have_a_mean(
    asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distances alone allow a saddle: records on one great circle could have them."""
    if not asks:
        monkeypatch.setattr(Geometry, "tells_axes", False)
    space, n, count = as_manifold("sphere:2"), 3000, 24
    records, groups = _wide(space, n * count, 0.56), np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(records, space, cdp.GDP(3.0), groups=groups)
    assert bool(sum(mean.found for mean in means) > count / 2) is asks


@pytest.mark.parametrize("alike", [False, pytest.param(True, id="control")])
@pytest.mark.parametrize("dim", [2, 3])
def test_axes_show_that_records_lie_on_a_circle(
    dim: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control takes directions for alike: then saddles pass for means."""
    if alike:
        own = search.symmetric
        monkeypatch.setattr(
            search, "symmetric", lambda *how: np.eye(dim) * np.trace(own(*how)) / dim
        )
    space, n, count = as_manifold(f"sphere:{dim}"), 12_000, 6
    records, groups = np.tile(_circle(space, n, 1.42), (count, 1)), np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(records, space, cdp.GDP(3.0), groups=groups)
    assert all(mean.found is alike for mean in means)


def test_axes_are_asked_for_on_spheres_alone() -> None:
    told = {
        spec: geometry_of(as_manifold(spec)).tells_axes
        for spec in (
            "sphere:1",
            "sphere:2",
            "sphere:20",
            "sphere:21",
            "projective:2",
            "spd:2",
            "kendall:4",
        )
    }
    assert [spec for spec, own in told.items() if own] == ["sphere:2", "sphere:20"]
    assert axes(geometry_of(as_manifold("sphere:20"))).dim == 210
