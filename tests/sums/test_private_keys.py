"""Groups whose keys are secret: shown with enough records, and nothing else of the others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy

import curvedp as cdp
from curvedp import _core
from curvedp.privacy.private_keys import key_threshold
from curvedp.sums.found import NOT_SHOWN
from curvedp.sums.geometry import geometry_of
from curvedp.sums.messages import Request, start_of
from curvedp.sums.noise import GaussianNoise, answered, noise_scale
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search

HIDDEN = cdp.ApproxDP(4.0, 1e-12, neighbours="add-remove")


def _records(n: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    return cdp.Sphere(2).project(rng.normal(size=(n, 3)) * 0.2 + [0.0, 0.0, 1.0])


def test_groups_with_enough_records_are_shown_and_no_others() -> None:
    sizes = {"large": 700, "a key that is longer than all others": 3, "middle": 400, "one": 1}
    labels = np.repeat(list(sizes), list(sizes.values()))
    ledger = cdp.Ledger(cdp.ApproxDP(8.0, 1e-4))
    releases = cdp.frechet_mean(
        _records(len(labels)), cdp.Sphere(2), HIDDEN, groups=labels, ledger=ledger
    )
    assert list(releases.keys()) == ["large", "middle"]
    assert {type(label) for label in releases.labels} == {str}
    assert [own.found for own in releases] == [True, True]
    assert len(releases.laws) == 1
    shown = releases.report() + repr(releases) + releases._repr_html_() + ledger.report()
    shown += "".join(own.report() + own.to_json() for own in releases)
    for secret in ("longer", "one of 4", "4 groups", "1104 records"):
        assert secret not in shown
    assert ledger.spent == HIDDEN.to_replace()
    assert (
        "So is which groups there are, but for large ones, whose names are shown."
        in releases.report().replace("\n            ", " ")
    )
    table = releases.to_arrow()
    assert table.num_rows == 2
    assert "longer" not in str(table.to_pydict())


def test_what_would_tell_which_groups_there_are_is_refused(tmp_path) -> None:
    records, labels = _records(100), np.repeat(["a", "b"], 50)
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    for how in ({"secret": secret}, {"progress": print}, {"timing": "steady"}):
        with pytest.raises(ValueError, match="which groups there are"):
            cdp.frechet_mean(records, cdp.Sphere(2), HIDDEN, groups=labels, **how)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("deviation", [0.5, 7.0, 300.0])
def test_a_single_unit_reaches_the_threshold_with_probability_delta(
    deviation: float, delta: float
) -> None:
    for moved in (1, 3, 200):
        least = key_threshold(moved, deviation, delta)
        # noise is rounded by less than a half
        assert scipy.special.ndtr(-(least - moved - 0.5) / deviation) <= delta
        lower = least - 2.0 * deviation - 2.0
        assert scipy.special.ndtr(-(lower - moved) / deviation) > delta


@pytest.mark.parametrize("spec", ["projective:40", "kendall:30", "grassmann:7:3", "rotations:3"])
def test_no_record_adds_more_to_a_count_than_is_said(spec: str) -> None:
    space = cdp.as_manifold(spec)
    start = start_of(space)
    assert start is not None
    for records in (
        space.random_point(40, rng=1),
        np.tile(space.origin, (3, 1, 1)[: 1 + space.origin.ndim]),
    ):
        for record in records:
            total = RecordSums(space, record[None], None).answer(Request("start", 1.0))
            assert 0.99 < start.count(total.astype(float), 1.0)[0] <= start.most


def test_sums_beyond_doubles_get_noise_exactly() -> None:
    """The low bits of a sum are those that the noise leaves, however large the sum is."""
    found = []
    for large in (0, 2**60 + 2**53 + 1):
        total = np.array([large, -large], dtype=np.int64)
        stream = _core.Stream.from_key(bytes(32), 7)
        noisy = answered(total, noise_scale(2.0**20, 1.0), np.ones(2), stream)
        found.append([int(x) - int(y) for x, y in zip(noisy.tolist(), total.tolist(), strict=True)])
    for small, large in zip(*found, strict=True):
        assert small == large


def _answers(search: Search, first: float) -> str | None:
    """The reason of a search whose first count is given, all other sums being 0."""
    requests = search.run()
    request = next(requests)
    try:
        for _ in range(30):
            size = {"tail": search.geometry.bins, "round": search.geometry.dim + 1}[request.kind]
            noisy = np.zeros(size)
            if request.kind == "tail" and first:
                noisy[-1], first = first * 2.0**20, 0.0
            request = requests.send(noisy)
    except StopIteration as end:
        return end.value.reason
    return "no end"


def test_the_first_count_decides_alone() -> None:
    geometry = geometry_of(cdp.Euclidean(2))
    for delta, shown in ((1e-6, False), (0.2, True)):
        search = Search(geometry, GaussianNoise(1.0), None, key_delta=delta)
        reason = _answers(search, 30.0)
        assert (reason != NOT_SHOWN) is shown


def _curve(mu: float, epsilon: float) -> float:
    """delta_mu(epsilon) of GDP."""
    near, far = (scipy.special.ndtr(s * mu / 2 - epsilon / mu) for s in (1.0, -1.0))
    return float(near - math.exp(epsilon) * far)


def test_keys_cost_the_larger_of_two_deltas() -> None:
    """Exactly, for a count that is all that is shown: both cases of neighbours, and a control."""
    mu, deviation, delta = 0.8, 1.0 / 0.8, 1e-3
    epsilon = next(e for e in np.linspace(0.0, 6.0, 6001) if _curve(mu, e) <= delta)
    least = key_threshold(1, deviation, delta)
    lower = 1.0 + deviation * float(-scipy.special.ndtri(delta)) - 0.5
    grid = np.linspace(least, least + 40.0, 400_001)

    def lost(threshold: float, with_key: int, without: int) -> float:
        """delta(epsilon) between counts of so many, shown from a threshold on."""
        x = grid - least + threshold
        p = np.exp(-0.5 * ((x - with_key) / deviation) ** 2)
        q = np.exp(-0.5 * ((x - without) / deviation) ** 2) if without else np.zeros_like(x)
        both = np.maximum(p - math.exp(epsilon) * q, 0.0) / (deviation * math.sqrt(2.0 * math.pi))
        return float(np.trapezoid(both, x))

    assert lost(least, 1, 0) <= delta
    for n in range(1, 12):
        assert lost(least, n + 1, n) <= delta
    assert lost(lower, 1, 0) > delta
    assert Fraction(delta) > 0


@pytest.mark.parametrize("names", ["one person", None])
def test_one_person_with_many_labels_tries_once(names: str | None) -> None:
    """Each key that a person brings would be shown with probability delta."""
    count = 3000
    whole = cdp.ApproxDP(1.0, 0.01, neighbours="add-remove")
    releases = cdp.frechet_mean(
        np.tile([0.0, 0.0, 1.0], (count, 1)),
        cdp.Sphere(2),
        whole,
        groups=np.array([f"key {i}" for i in range(count)]),
        units=np.array([names] * count, dtype=object),
    )
    assert len(releases) <= (names is not None)
    releases.report()
