"""Axes of wide directions over sites: asked for where distances alone allow a saddle."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import SiteError
from curvedp.manifolds import as_manifold
from curvedp.sites import simulate
from curvedp.sites.wire import Plan
from curvedp.sums.messages import Request
from site_cases import study


def test_a_study_of_wide_directions_asks_for_their_axes() -> None:
    space, rng = as_manifold("sphere:2"), np.random.default_rng(0)
    coords = 0.56 * rng.standard_normal((6000, 2)) / np.sqrt(rng.chisquare(3, (6000, 1)) / 3.0)
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    own, plans = study(3, 0, guarantee=cdp.GDP(3.0), n=6000), list[bytes]()
    release = simulate(
        np.array_split(records, 3), own, seed=0, watch=lambda plan, _: plans.append(plan)
    )
    assert release.found
    assert "axes" in [Plan.from_bytes(plan).request.of for plan in plans]


@pytest.mark.parametrize(("spec", "entries"), [("sphere:2", 4), ("sphere:3", 7)])
def test_a_site_answers_for_axes_where_there_are_any(spec: str, entries: int) -> None:
    space = as_manifold(spec)
    base = np.append(space.origin, 4.0)
    assert study(3, 0, spec).check(Request("round", 0.2, base, 1.0, "axes")) == entries
    for other in (Request("tail", 0.2, base, 1.0, "axes"),
                  Request("round", 0.2, base[:-1], 1.0, "axes")):  # fmt: skip
        with pytest.raises(SiteError):
            study(3, 0, spec).check(other)


@pytest.mark.parametrize("spec", ["spd:2", "sphere:21", "euclidean:3"])
def test_elsewhere_no_site_answers_for_axes(spec: str) -> None:
    base = np.append(as_manifold(spec).origin.reshape(-1), 4.0)
    with pytest.raises(SiteError, match="asks for what"):
        study(3, 0, spec).check(Request("round", 0.2, base, 1.0, "axes"))
