"""Records that try the bounds of messages: of every size, near cut loci, and no points at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from bad_record_cases import bad_records
from manifold_list import Case
from reference.twin import Array


def core() -> Any:
    """The extension module."""
    from curvedp import _core

    return _core


def base_of(case: Case, seed: int = 3) -> Array:
    """A base point, flat."""
    return case.twin.random_point(np.random.default_rng(seed), 0.4).ravel()


def records_of(case: Case, n: int, seed: int = 4) -> Array:
    """Points, one in eight no point; flat rows."""
    rng = np.random.default_rng(seed)
    rows = case.twin.random_points(rng, n, 0.7).reshape(n, -1)
    bad = list(bad_records(case, rows[0].reshape(case.twin.point_shape)).values())
    for i in range(3, n, 8):
        rows[i] = bad[i // 8 % len(bad)].ravel()
    return rows


def hostile(case: Case, n: int, seed: int = 5) -> Array:
    """Rows of numbers of every size, points, points moved and scaled, and antipodes."""
    rng = np.random.default_rng(seed)
    twin, size = case.twin, case.manifold.point_size
    few = twin.random_points(rng, 64, 1.0).reshape(64, -1)
    base = base_of(case)
    points = few[rng.integers(64, size=n)]
    rows = points
    kind = rng.integers(8, size=n)
    sign = rng.choice([-1.0, 1.0], (n, size))
    noise = rng.standard_normal((n, size))
    wild = sign * 10.0 ** rng.uniform(-308, 308, (n, size))
    rows = np.where((kind == 1)[:, None], noise * 10.0 ** rng.uniform(-300, 300, (n, 1)), rows)
    rows = np.where((kind == 2)[:, None], wild, rows)
    rows = np.where((kind == 3)[:, None], points * (1 + 1e-6 * noise), rows)
    rows = np.where((kind == 4)[:, None], -base, rows)
    rows = np.where((kind == 5)[:, None], -base * (1 + 10.0 ** rng.uniform(-17, -3, (n, 1))), rows)
    rows = np.where((kind == 6)[:, None], points * 10.0 ** rng.uniform(-200, 200, (n, 1)), rows)
    odd = rng.choice([np.nan, np.inf, -np.inf, 5e-324, -0.0, 1e308], n)
    holed = np.flatnonzero(kind == 7)
    rows[holed, rng.integers(size, size=len(holed))] = odd[holed]
    if len(twin.point_shape) >= 2 and twin.point_shape[0] == twin.point_shape[1]:
        square = rows.reshape(n, *twin.point_shape)  # symmetric ones, indefinite too
        sign = np.array([1.0, -1.0]) if case.name.startswith("hpd") else 1.0
        with np.errstate(invalid="ignore"):  # inf - inf
            even = 0.5 * square + 0.5 * sign * np.swapaxes(square, 1, 2)
        rows = np.where((rng.uniform(size=n) < 0.5)[:, None], even.reshape(n, -1), rows)
    bad = [row.ravel() for row in bad_records(case, base.reshape(twin.point_shape)).values()]
    rows[: 2 * len(bad)] = bad * 2
    return np.ascontiguousarray(rows)
