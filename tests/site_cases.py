"""Studies over sites that several tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.manifolds import as_manifold
from curvedp.sites import Agreement, ServerMean, SiteMean, SitesMeanRelease
from curvedp.sums.found import Found
from curvedp.sums.records import RecordSums
from curvedp.sums.steps import searched

#: Neighbours by adding or removing a record, at mu.
PROTECTED = cdp.GDP(2.0, neighbours="add-remove")


def names(count: int) -> list[str]:
    """Names of so many sites."""
    return [f"site {number}" for number in range(count)]


def study(sites: int = 4, dropouts: int = 1, space: str = "sphere:2", **how: Any) -> Agreement:
    """An agreement; under "add-remove" unless `how` says otherwise."""
    guarantee = how.pop("guarantee", PROTECTED)
    return Agreement(as_manifold(space), guarantee, names(sites), dropouts, **how)


def cells_of(points: np.ndarray, *levels: float) -> np.ndarray:
    """The base of a request for cells: points, and the clip level of each."""
    return np.concatenate([points.reshape(-1), np.resize(levels, len(points))])


def normal(space: str, n: int, spread: float = 0.2, seed: int = 0) -> np.ndarray:
    """Records about a random point."""
    manifold, rng = as_manifold(space), np.random.default_rng(seed)
    center = manifold.random_point(rng=rng)
    coords = rng.standard_normal((n, manifold.dim)) * spread
    return np.asarray(manifold.exp(manifold.coords_to_tangent(coords, center), center))


def sites_of(agreement: Agreement, records: np.ndarray, **how: Any) -> list[SiteMean]:
    """All sites of a study, the records in equal parts."""
    parts = np.array_split(records, len(agreement.roster))
    return [
        SiteMean(own, agreement, name, **how)
        for own, name in zip(parts, agreement.roster, strict=True)
    ]


def finished(server: ServerMean, sites: list[SiteMean]) -> SitesMeanRelease:
    """The release after all rounds that are left, all sites answering."""
    step: bytes | SitesMeanRelease = server.plan()
    while isinstance(step, bytes):
        step = server.feed([site.answer(step) for site in sites])
    return step


def found_centrally(agreement: Agreement, records: np.ndarray, site: SiteMean) -> Found:
    """What the central engine finds in the records with the randomness of a site."""
    sums, search = RecordSums(agreement.manifold, records, None), agreement.search()
    return searched(
        search,
        lambda request, number: sums.noisy(
            request, search.noise, site._stream(number), agreement.replaces, 1
        ),
    )
