"""A search that ends early leaves the rest of its budget in the ledger, where that is proved."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import LedgerError

SCATTERED = cdp.Sphere(2).random_point(1000, rng=0)


@pytest.mark.parametrize("budget", [cdp.GDP(2.0), cdp.ZCDP(2.0)], ids=repr)
def test_what_was_not_spent_is_left(budget: cdp.privacy.Guarantee, tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    ledger = cdp.Ledger(budget, path=path)
    release = cdp.frechet_mean(SCATTERED, cdp.Sphere(2), cdp.GDP(1.0), ledger=ledger)
    assert not release.found
    assert release.spent < 1.0
    assert release.guarantee == cdp.GDP(1.0)  # it promises what was set aside
    first, second = ledger.entries
    assert first.guarantee == cdp.GDP(1.0)
    assert second.guarantee == cdp.GDP(release.spent)
    assert second.settles == 1
    spent = cdp.GDP(release.spent)
    assert ledger.spent == (spent if isinstance(budget, cdp.GDP) else spent.to_zcdp())
    assert cdp.Ledger.open(path).entries == ledger.entries
    assert "in place of entry 1" in ledger.report()
    assert release.provenance.payment.number == 2
    assert cdp.Release.from_json(release.to_json()) == release


def test_a_search_that_finds_its_mean_spends_all() -> None:
    ledger = cdp.Ledger(cdp.GDP(2.0))
    records = cdp.Sphere(2).project(0.2 * SCATTERED + [0.0, 0.0, 1.0])
    assert cdp.frechet_mean(records, cdp.Sphere(2), cdp.GDP(1.0), ledger=ledger).found
    assert len(ledger.entries) == 1


def test_a_budget_of_epsilon_and_delta_gets_nothing_back() -> None:
    ledger = cdp.Ledger(cdp.ApproxDP(8.0, 1e-5))
    guarantee = cdp.ApproxDP(4.0, 1e-6)
    release = cdp.frechet_mean(SCATTERED, cdp.Sphere(2), guarantee, ledger=ledger)
    assert not release.found
    assert len(ledger.entries) == 1
    assert ledger.spent == guarantee


def test_a_ledger_for_replacing_a_record_is_left_half_of_it() -> None:
    ledger = cdp.Ledger(cdp.GDP(4.0))
    guarantee = cdp.GDP(1.0, neighbours="add-remove")
    release = cdp.frechet_mean(SCATTERED, cdp.Sphere(2), guarantee, ledger=ledger)
    assert not release.found
    assert ledger.spent == cdp.GDP(2.0 * release.spent)


def test_of_groups_those_that_spent_most_count() -> None:
    found = cdp.Sphere(2).project(0.2 * SCATTERED + [0.0, 0.0, 1.0])
    records, labels = np.concatenate([SCATTERED, found]), np.repeat(["a", "b"], 1000)
    for most, entries in ((1, 1), (2, 2)):
        ledger = cdp.Ledger(cdp.GDP(4.0))
        releases = cdp.frechet_mean(
            records,
            cdp.Sphere(2),
            cdp.GDP(1.0),
            groups=labels,
            groups_per_unit=most,
            ledger=ledger,
        )
        assert releases["b"].found
        assert not releases["a"].found
        assert len(ledger.entries) == entries
    squares = releases["a"].spent ** 2 + releases["b"].spent ** 2
    assert ledger.spent.mu == pytest.approx(squares**0.5)
    assert ledger.spent.mu >= squares**0.5


def _row(total: str, mu: float, settles: int) -> tuple[str, str, str, str, int]:
    guarantee = json.dumps(cdp.GDP(mu).to_dict())
    return ("2026-01-01T00:00:00+00:00", "", guarantee, total, settles)


@pytest.mark.parametrize(
    ("mu", "settles"), [(0.1, 1), (0.1, 3), (0.1, 9), (3.0, 2)], ids=["twice", "of", "none", "more"]
)
def test_entries_that_settle_what_they_must_not_are_damage(
    mu: float, settles: int, tmp_path: Path
) -> None:
    path = tmp_path / "study.ledger"
    ledger = cdp.Ledger(cdp.GDP(10.0), path=path)
    ledger.spend(cdp.GDP(1.0))
    ledger.spend(cdp.GDP(2.0))
    ledger.settle(1, cdp.GDP(0.5))
    assert ledger.spent == cdp.GDP((0.25 + 4.0) ** 0.5)
    cost = {1: 0.01 - 1.0, 2: 9.0 - 4.0, 3: 0.01 - 0.25, 9: 0.01}[settles]
    numerator = round((4.25 + cost) * 2**60)
    with closing(sqlite3.connect(path)) as connection, connection:
        total = f"{numerator:x}/{2**60:x}"
        insert = "INSERT INTO entry (time, label, guarantee, total, settles) VALUES (?, ?, ?, ?, ?)"
        try:
            connection.execute(insert, _row(total, mu, settles))
        except sqlite3.IntegrityError:
            assert settles == 1
            return
        connection.execute("UPDATE account SET total = ?", (total,))
    with pytest.raises(LedgerError, match="damaged"):
        cdp.Ledger.open(path)


def test_an_entry_is_settled_once() -> None:
    ledger = cdp.Ledger(cdp.GDP(10.0))
    ledger.spend(cdp.GDP(2.0))
    ledger.settle(1, cdp.GDP(1.0))
    for number in (1, 2):
        with pytest.raises(ValueError, match="settles another, or was settled"):
            ledger.settle(number, cdp.GDP(0.5))
    for number in (0, 3, -1):
        with pytest.raises(ValueError, match="no entry"):
            ledger.settle(number, cdp.GDP(0.5))
    assert ledger.spent == cdp.GDP(1.0)
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.settle(1, cdp.GDP(0.5))


def test_where_nothing_is_left_over_nothing_is_recorded() -> None:
    """What a search spent is rounded up, what was set aside to nearest: an ulp is no debt."""
    ledger = cdp.Ledger(cdp.ZCDP(10.0))
    ledger.spend(cdp.ZCDP(0.5))
    for spent in (cdp.GDP(1.0), cdp.GDP(float(np.nextafter(1.0, 2.0))), cdp.GDP(3.0)):
        assert ledger.settle(1, spent) is None
    assert len(ledger.entries) == 1


def test_searches_on_products_never_lose_a_release_for_an_ulp() -> None:
    space = cdp.Product("euclidean:1", "euclidean:1")
    records = np.random.default_rng(1).standard_normal((800, 2))
    for rho in np.linspace(0.41, 1.7, 12).tolist():
        ledger = cdp.Ledger(cdp.ZCDP(100.0))
        how = {"groups": [0, 400, 800], "groups_per_unit": 2, "ledger": ledger}
        releases = cdp.frechet_mean(records, space, cdp.ZCDP(rho), **how)
        assert all(own.found for own in releases)
        assert len(ledger.entries) == 1
