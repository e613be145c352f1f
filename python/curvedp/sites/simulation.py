"""A study in one process: server and sites exchange real bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from curvedp.privacy import Ledger
from curvedp.sites.agreement import Agreement
from curvedp.sites.release import SitesMeanRelease
from curvedp.sites.server import ServerMean
from curvedp.sites.site import SiteMean


def simulate(
    records: Sequence[ArrayLike],
    agreement: Agreement,
    *,
    units: Sequence[Any] | None = None,
    ledgers: Sequence[Ledger] | None = None,
    dropouts: Mapping[int, Collection[str]] | None = None,
    liars: Mapping[str, Callable[[bytes], bytes]] | None = None,
    watch: Callable[[bytes, dict[str, bytes]], object] | None = None,
    seed: int | None = None,
) -> SitesMeanRelease:
    """The release of a study whose sites are all in this process: to plan one, and to test.

    Parameters
    ----------
    records : sequence of array-like
        Of each site of the roster, in its order.
    agreement : Agreement
    units, ledgers : sequence, optional
        Of each site, as `SiteMean` takes them.
    dropouts : mapping of int to names, optional
        Sites that do not answer, by the number of the round.
    liars : mapping of name to callable, optional
        What becomes of a site's answer on its way.
    watch : callable, optional
        Is given each plan, and the answers by name.
    seed : int, optional
        For tests: noise from a seed, with which the release promises nothing.

    Returns
    -------
    SitesMeanRelease

    Raises
    ------
    ValueError, TypeError
        As `SiteMean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> study = cdp.sites.Agreement(
    ...     "sphere:2", cdp.GDP(2.0, neighbours="add-remove"), ["Aa", "Bo", "Ce"], 1
    ... )
    >>> mean = simulate([np.tile([0.0, 0.0, 1.0], (200, 1))] * 3, study, dropouts={1: ["Bo"]})
    >>> mean.found, mean.fewest
    (True, 2)
    """
    names = agreement.roster
    if len(records) != len(names):
        raise ValueError(f"give records of {len(names)} sites, one array for each")
    sites = {
        name: SiteMean(
            own,
            agreement,
            name,
            units=None if units is None else units[number],
            ledger=None if ledgers is None else ledgers[number],
            seed=seed,
        )
        for number, (name, own) in enumerate(zip(names, records, strict=True))
    }
    keys = {name: site.key for name, site in sites.items()} if agreement.masks else None
    server, number = ServerMean(agreement, keys=keys), 0
    step: bytes | SitesMeanRelease = server.plan()
    while isinstance(step, bytes):
        away = set((dropouts or {}).get(number, ()))
        answers = {name: site.answer(step) for name, site in sites.items() if name not in away}
        for name, lie in (liars or {}).items():
            if name in answers:
                answers[name] = lie(answers[name])
        if watch is not None:
            watch(step, answers)
        step, number = server.feed(answers.values()), number + 1
    for site in sites.values():
        site.finish()
    return step
