"""The mean without a ball under pure privacy: what it finds, says, refuses and costs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import curvedp as cdp
from command_line import run
from curvedp.manifolds import Euclidean, as_manifold
from curvedp.sums.messages import COUNT_UNIT, Request
from curvedp.sums.pure import PureNoise
from curvedp.sums.records import RecordSums
from curvedp.sums.search import Search
from curvedp.sums.steps import searched

#: Spaces that are served, and the spread of records about a random point of them.
SPACES = {
    "sphere:1": 0.3,
    "sphere:2": 0.3,
    "sphere:3": 0.3,
    "rotations:3": 0.3,
    "projective:2": 0.2,
    "kendall:3": 0.2,
    "grassmann:3:1": 0.2,
    "so:3": 0.3,
    "unitary:1": 0.3,
    "torus:2": 0.3,
    "hyperboloid:2": 1.0,
    "hyperboloid:3": 1.0,
    "euclidean:1": 2.0,
    "euclidean:2": 2.0,
}
ADD_REMOVE = cdp.PureDP(1.0, neighbours="add-remove")
SPHERE = cdp.Sphere(2)


def _records(spec: str, n: int, seed: int = 0) -> np.ndarray:
    """Normal records about a point."""
    space, rng = as_manifold(spec), np.random.default_rng(seed)
    center = space.random_point(rng=rng)
    coords = rng.standard_normal((n, space.dim)) * SPACES[spec] / np.sqrt(space.dim)
    return np.asarray(space.exp(space.coords_to_tangent(coords, center), center))


def _scattered(n: int) -> np.ndarray:
    return np.asarray(SPHERE.random_point(n, rng=0))


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("spec", SPACES)
def test_the_mean_is_found_within_a_few_expected_errors(spec: str, neighbours: str) -> None:
    space, records = as_manifold(spec), _records(spec, 4000)
    release = cdp.frechet_mean(records, space, cdp.PureDP(2.0, neighbours=neighbours), seed=3)
    assert release.found
    assert release.mechanism == "rounded Laplace"
    assert space.belongs(release.value)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    assert float(space.dist(release.value, exact)) < 6.0 * release.expected_error
    assert release.expected_error < 0.2 * SPACES[spec]
    assert release.n_points == pytest.approx(4000, abs=8.0 * release.n_points_error)
    assert 0.7 * SPACES[spec] < release.spread < 1.4 * SPACES[spec]
    assert f"epsilon spent {release.spent:.6g}" in release.report()
    assert release.spent <= 2.0


@pytest.mark.parametrize("kind", ["normal", "exponential", "two clusters", "ties", "one direction"])
@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "hyperboloid:2"])
def test_printed_errors_are_of_the_size_of_true_ones(spec: str, kind: str) -> None:
    """Over 12 seeds: a mean error within twice the mean printed one."""
    space, spread, rng = as_manifold(spec), SPACES[spec], np.random.default_rng(5)
    coords = rng.standard_normal((2000, space.dim)) * spread / np.sqrt(space.dim)
    match kind:
        case "exponential":
            coords[:, 0] += spread * rng.exponential(size=2000)
        case "two clusters":
            coords[:, 0] = 0.3 * coords[:, 0] + np.where(rng.random(2000) < 0.3, 1.5 * spread, 0.0)
        case "ties":
            coords = coords[rng.integers(20, size=2000)]
        case "one direction":
            coords[:, 1:] *= 0.05
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    releases = [cdp.frechet_mean(records, space, cdp.PureDP(2.0), seed=i) for i in range(12)]
    assert all(own.found for own in releases)
    true = np.mean([float(space.dist(own.value, exact)) for own in releases])
    assert true < 2.0 * np.mean([own.expected_error for own in releases])


@pytest.mark.parametrize(
    "spec", ["sphere:4", "spd:1", "spd:2", "hpd:2", "correlation:3", "euclidean:4", "so:4"]
)
def test_spaces_that_pure_noise_does_not_serve_are_refused_before_they_cost(spec: str) -> None:
    space, ledger = as_manifold(spec), cdp.Ledger(cdp.PureDP(10.0))
    records = space.random_point(50, rng=0)
    with pytest.raises(
        ValueError, match=rf"{spec}, of dimension {space.dim}.*Use GDP.*ball"
    ) as caught:
        cdp.frechet_mean(records, space, ADD_REMOVE, ledger=ledger)
    assert "50" not in str(caught.value)
    assert not ledger.entries
    cdp.frechet_mean(records, space, cdp.GDP(1.0, neighbours="add-remove"))


def test_products_are_refused() -> None:
    space = cdp.Product("sphere:1", "euclidean:1")
    with pytest.raises(ValueError, match="single spaces"):
        cdp.frechet_mean(space.join((np.eye(2)[:1], np.zeros((1, 1)))), space, ADD_REMOVE)


@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "euclidean:1"])
def test_too_few_records_are_refused_before_they_cost(spec: str) -> None:
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(cdp.errors.ExistenceError) as refused:
        cdp.frechet_mean(_records(spec, 200), as_manifold(spec), cdp.PureDP(1.0), ledger=ledger)
    least = refused.value.smallest_n
    assert least is not None
    assert not ledger.entries
    cdp.frechet_mean(_records(spec, least), as_manifold(spec), cdp.PureDP(1.0), ledger=ledger)
    assert ledger.entries


@pytest.mark.parametrize("epsilon", [1e-300, 2.0**-21, 1e10, 1e300])
def test_budgets_at_the_ends_of_doubles_are_refused(epsilon: float) -> None:
    ledger = cdp.Ledger(cdp.PureDP(1e308))
    guarantee = cdp.PureDP(epsilon, neighbours="add-remove")
    with pytest.raises(ValueError, match="use another budget"):
        cdp.frechet_mean(_records("sphere:2", 9), SPHERE, guarantee, ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "hyperboloid:2", "euclidean:1"])
@pytest.mark.parametrize("epsilon", [2.0**-20, 1e9])
def test_budgets_before_these_ends_are_served(spec: str, epsilon: float) -> None:
    guarantee = cdp.PureDP(epsilon, neighbours="add-remove")
    release = cdp.frechet_mean(_records(spec, 300), as_manifold(spec), guarantee, seed=1)
    assert release.found == (epsilon > 1.0)
    unit = cdp.PureDP(1.0, neighbours="add-remove")
    many = cdp.frechet_mean(
        _records(spec, 300), as_manifold(spec), unit, records_per_unit=2**20, seed=1
    )
    assert not many.found


@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "hyperboloid:2", "euclidean:1"])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_no_number_of_records_raises_where_it_is_protected(spec: str, n: int) -> None:
    release = cdp.frechet_mean(_records(spec, 50)[:n], as_manifold(spec), ADD_REMOVE, seed=2)
    assert not release.found
    assert release.n_points == pytest.approx(n, abs=12.0 * release.n_points_error) or np.isnan(
        release.n_points
    )
    release.report()


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", ["uniform", "antipodal", "circle", "three clusters"])
def test_records_without_a_mean_have_none(kind: str, neighbours: str) -> None:
    rng = np.random.default_rng(3)
    records = rng.standard_normal((2000, 3))
    match kind:
        case "antipodal":
            signs = np.where(np.arange(2000) % 2, 1.0, -1.0)
            records = 0.1 * records + signs[:, None] * [0, 0, 1]
        case "circle":
            records[:, 2] = 0.0
        case "three clusters":
            angle = np.arange(2000) % 3 * 2.0 * np.pi / 3.0
            middles = np.stack([np.cos(angle), np.sin(angle), np.zeros(2000)], axis=1)
            records = 0.1 * records + middles
    for seed in range(8):
        guarantee = cdp.PureDP(1.0, neighbours=neighbours)
        release = cdp.frechet_mean(SPHERE.project(records), SPHERE, guarantee, seed=seed)
        assert not release.found
        assert np.isnan(release.value).all()
        assert release.ball is None
        assert release.reason in release.report().replace("\n                ", " ")


def test_a_public_clip_level_is_used() -> None:
    mean = cdp.LocatedMean(clip=0.7, max_rounds=0)
    release = cdp.release(mean, _records("sphere:2", 3000), SPHERE, cdp.PureDP(1.0), seed=1)
    assert release.found
    assert release.clip_level == 0.7


def test_half_of_the_noise_is_for_the_relation() -> None:
    records = _records("sphere:2", 8000)
    add, replace = (
        cdp.frechet_mean(records, SPHERE, own, seed=1) for own in (ADD_REMOVE, cdp.PureDP(1.0))
    )
    assert 0.25 < add.noise / replace.noise < 0.85


@pytest.mark.parametrize(
    "budget",
    [cdp.PureDP(3.0), cdp.ApproxDP(3.0, 1e-6), cdp.GDP(4.0), cdp.ZCDP(8.0)],
    ids=repr,
)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_every_ledger_gets_back_what_was_not_spent(
    budget: cdp.privacy.Guarantee, neighbours: str
) -> None:
    ledger = cdp.Ledger(budget)
    whole = cdp.PureDP(1.0, neighbours=neighbours)
    release = cdp.frechet_mean(_scattered(20_000), SPHERE, whole, ledger=ledger)
    assert not release.found
    assert release.spent < 0.9
    assert release.guarantee == whole  # it promises what was set aside
    first, second = ledger.entries
    assert (first.guarantee, second.settles) == (whole, 1)
    assert second.guarantee == cdp.PureDP(release.spent, neighbours=neighbours)
    control = cdp.Ledger(budget)
    control.spend(cdp.PureDP((1.0 if neighbours == "replace" else 2.0) * release.spent))
    assert ledger.spent == control.spent
    assert cdp.Release.from_json(release.to_json()) == release
    assert release.reason is not None


def test_what_gaussian_steps_spent_is_still_all_to_epsilon_and_delta() -> None:
    """The control: only pure steps add up in a budget of epsilon and delta."""
    ledger = cdp.Ledger(cdp.ApproxDP(8.0, 1e-5))
    release = cdp.frechet_mean(_scattered(1000), SPHERE, cdp.ApproxDP(4.0, 1e-6), ledger=ledger)
    assert not release.found
    assert len(ledger.entries) == 1


def test_groups_that_spent_most_add_up() -> None:
    records = np.concatenate([_scattered(20_000), _scattered(20_000)])
    ledger = cdp.Ledger(cdp.PureDP(4.0))
    how = {"groups": [0, 20_000, 40_000], "groups_per_unit": 2, "ledger": ledger}
    releases = cdp.frechet_mean(records, SPHERE, cdp.PureDP(1.0), **how)
    amounts = [own.spent for own in releases]
    assert ledger.spent.epsilon == pytest.approx(sum(amounts))
    assert ledger.spent.epsilon >= sum(amounts)


def test_public_groups_have_counts_of_their_own() -> None:
    records, labels = (
        _records("sphere:2", 4000),
        np.repeat(["a", "b", "unasked"], [1500, 2000, 500]),
    )
    order = np.random.default_rng(3).permutation(4000)
    how = {"groups": labels[order], "keys": ["b", "empty", "a"], "seed": 2}
    releases = cdp.frechet_mean(records[order], SPHERE, ADD_REMOVE, **how)
    assert list(releases.keys()) == ["b", "empty", "a"]
    for name, n in (("a", 1500), ("b", 2000)):
        own = releases[name]
        assert own.found
        assert own.n_points == pytest.approx(n, abs=9.0 * own.n_points_error)
    assert not releases["empty"].found
    with pytest.raises(ValueError, match="give keys"):
        cdp.frechet_mean(records, SPHERE, ADD_REMOVE, groups=labels)


def test_a_person_counts_once_however_many_records() -> None:
    records = _records("sphere:2", 3000)
    far = np.tile(-np.mean(records, axis=0), (9000, 1))
    many = np.concatenate([records, SPHERE.project(far)])
    persons = np.concatenate([np.arange(3000), np.full(9000, 3000)])
    release = cdp.frechet_mean(many, SPHERE, ADD_REMOVE, units=persons)
    exact = cdp.nonprivate.frechet_mean(records, SPHERE).value
    assert release.n_points == pytest.approx(3001, abs=12.0 * release.n_points_error)
    assert float(SPHERE.dist(release.value, exact)) < 0.05


def test_records_that_are_no_points_are_left_out() -> None:
    records = _records("sphere:2", 6000)
    records[::3] = np.nan
    release = cdp.frechet_mean(records, SPHERE, ADD_REMOVE)
    assert release.n_points == pytest.approx(4000, abs=12.0 * release.n_points_error)


def test_the_same_seed_gives_the_same_release_whatever_the_order() -> None:
    records = _records("rotations:3", 1500)
    mixed = np.random.default_rng(9).permutation(records)
    one, other = (
        cdp.frechet_mean(own, cdp.Rotations(), cdp.PureDP(1.0), seed=4).value
        for own in (records, mixed)
    )
    np.testing.assert_array_equal(one, other)


def test_the_command_line_and_tables_take_pure_budgets(tmp_path: Path) -> None:
    records = _records("sphere:2", 3000)
    path, out = tmp_path / "directions.npy", tmp_path / "mean.json"
    np.save(path, records)
    options = ("--manifold", "sphere:2", "--epsilon", "1", "--neighbours", "add-remove")
    done = run("mean", path, *options, "--out", out)
    assert done.exit_code == 0, done.output
    found = cdp.Release.from_json(out.read_text())
    assert found.found
    assert found.guarantee == ADD_REMOVE
    table = pd.DataFrame(records, columns=list("xyz")).assign(site=np.repeat(["a", "b"], 1500))
    which = {"points": list("xyz"), "ball": SPHERE, "by": "site", "public_keys": True}
    releases = cdp.batch.release(cdp.LocatedMean(), table, guarantee=cdp.PureDP(2.0), **which)
    assert releases.table["found"].to_pylist() == [1.0, 1.0]
    assert set(releases.table["mechanism"].to_pylist()) == {"rounded Laplace"}


@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "hyperboloid:2"])
def test_plans_hold_the_noise_of_normal_records(spec: str) -> None:
    space = as_manifold(spec)
    for guarantee, n in ((cdp.PureDP(1.0), 2000), (ADD_REMOVE, 1000)):
        plan = cdp.plan("frechet_mean", space, guarantee, n=n, spread=SPACES[spec])
        noise = [
            cdp.frechet_mean(_records(spec, n), space, guarantee, seed=i).noise for i in range(9)
        ]
        assert 0.7 * plan.low < np.median(noise) < plan.high
    with pytest.raises(cdp.errors.ExistenceError):
        cdp.plan("frechet_mean", space, cdp.PureDP(1.0), n=300, spread=SPACES[spec])
    assert cdp.plan("frechet_mean", space, ADD_REMOVE, error=0.05, spread=SPACES[spec]).n < 4000


@pytest.mark.parametrize("doubtful", [64.0, pytest.param(math.inf, id="control")])
def test_noise_of_far_counts_does_not_set_the_clip_level(
    doubtful: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bin far out that noise made large is in all prefix sums after it: it is counted anew."""
    monkeypatch.setattr(PureNoise, "doubtful", doubtful)
    n, first = 1000, []
    sums = RecordSums(Euclidean(2), np.random.default_rng(1).standard_normal((n, 2)), None)

    def answer(request: Request, number: int) -> np.ndarray:
        total = sums.answer(request).astype(float)
        if request.kind == "histogram" and not first:
            first.append(number)
            total[20] += 0.4 * n * COUNT_UNIT  # at 2^20
        return total

    found = searched(Search(sums.geometry, PureNoise(1.0), n), answer)
    assert (found.radius < 10.0) is (doubtful == 64.0)
