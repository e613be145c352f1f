"""A text that claims a guarantee beside numbers with which none can hold is no release."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import curvedp as cdp


def text(guarantee: cdp.PureDP | cdp.GDP = cdp.PureDP(1.0)) -> str:  # noqa: B008 a constant
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    return cdp.frechet_mean(np.tile(ball.center, (20, 1)), ball, guarantee).to_json()


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(text()) | fields)


NOT_POSITIVE = [0.0, -1.0, "nan", "inf", "-inf"]


@pytest.mark.parametrize("name", ["scale", "sensitivity", "ball_radius"])
@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_lengths_beside_a_guarantee_are_positive_and_finite(name: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        cdp.Release.from_json(changed(**{name: value}))


@pytest.mark.parametrize("value", [-1e-9, "nan", "inf"])
def test_the_solver_tolerance_is_nonnegative_and_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="solver_tolerance"):
        cdp.Release.from_json(changed(solver_tolerance=value))


@pytest.mark.parametrize("name", ["n", "records_per_unit"])
@pytest.mark.parametrize("value", [0, -5, 2.7, True, "7", None])
def test_counts_are_counts(name: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        cdp.Release.from_json(changed(**{name: value}))


MEETS = {
    cdp.PureDP(1.0): [cdp.PureDP(1.0), cdp.ZCDP(0.5), cdp.PureDP(1.0).to_gdp()],
    cdp.GDP(1.0): [cdp.GDP(1.0), cdp.ZCDP(0.5), cdp.GDP(1.0).to_approx_dp(1e-6)],
}
SMALLER = {
    cdp.PureDP: lambda kept: cdp.PureDP(0.999 * kept.epsilon),
    cdp.ZCDP: lambda kept: cdp.ZCDP(0.999 * kept.rho),
    cdp.GDP: lambda kept: cdp.GDP(0.999 * kept.mu),
    cdp.ApproxDP: lambda kept: cdp.ApproxDP(0.999 * kept.epsilon, kept.delta),
}


@pytest.mark.parametrize("noise", MEETS, ids=str)
def test_noise_implies_the_guarantee_beside_it(noise: Any) -> None:
    """And the control that what it just implies is read."""
    own = json.loads(text(noise))

    def claiming(kept: Any) -> Any:
        return cdp.Release.from_json(json.dumps(own | {"guarantee": kept.to_dict()}))

    for kept in MEETS[noise]:
        assert claiming(kept).n == 20
        with pytest.raises(ValueError, match="does not imply the guarantee"):
            claiming(SMALLER[type(kept)](kept))
    if isinstance(noise, cdp.GDP):
        with pytest.raises(ValueError, match="does not imply the guarantee"):
            claiming(cdp.PureDP(1e6))


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ApproxDP(1.0, 1e-6)], ids=str
)
@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "euclidean:3"])
def test_a_mean_whose_numbers_do_not_make_its_guarantee_is_no_release(
    spec: str, guarantee: Any
) -> None:
    ball = cdp.Ball(spec, cdp.as_manifold(spec).origin, 0.5)
    records = np.tile(ball.center, (200, *[1] * ball.center.ndim))
    data = json.loads(cdp.frechet_mean(records, ball, guarantee, coverage=False).to_json())
    kind, own = data["calibrated_to"]["kind"], data["calibrated_to"]
    stronger = {"mu": 0.001} if kind == "GDP" else {"epsilon": 0.001}
    for edit, word in (
        ({"n": 3}, "sensitivity is below"),
        ({"n": 199}, "sensitivity is below"),
        ({"records_per_unit": 2}, "sensitivity is below"),
        ({"ball_radius": 0.6}, "sensitivity is below"),
        ({"sensitivity": 0.9 * data["sensitivity"]}, "sensitivity is below"),
        ({"scale": 0.9 * data["scale"]}, "noise does not imply"),
        ({"guarantee": own | stronger, "calibrated_to": own | stronger}, "noise|no such noise"),
    ):
        with pytest.raises(ValueError, match=word):
            cdp.Release.from_json(json.dumps(data | edit))
    assert cdp.Release.from_json(json.dumps(data)).n == 200
    more = data | {"scale": 1.1 * data["scale"]}
    assert cdp.Release.from_json(json.dumps(more)).scale == more["scale"]


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ApproxDP(1.0, 1e-3)], ids=str
)
def test_noise_and_the_count_beside_it_keep_the_guarantee_together(guarantee: Any) -> None:
    ball = cdp.Ball("euclidean:6", [0.0] * 6, 0.5)
    mean = cdp.frechet_mean(np.zeros((500, 6)), ball, guarantee, coverage=True)
    data = json.loads(mean.to_json())
    own = data["coverage"]["guarantee"]
    larger = own | {name: 1.1 * value for name, value in own.items() if isinstance(value, float)}
    whole = own | {name: 1.0 for name, value in own.items() if isinstance(value, float)}
    for edit in (
        {"scale": 0.999 * data["scale"]},
        {"coverage": data["coverage"] | {"guarantee": larger}},
        {"coverage": data["coverage"] | {"guarantee": whole}},
        {"coverage": data["coverage"] | {"guarantee": cdp.ZCDP(1e-9).to_dict()}},
    ):
        with pytest.raises(ValueError, match="beside"):
            cdp.Release.from_json(json.dumps(data | edit))
    assert cdp.Release.from_json(json.dumps(data)) == mean


WAYS: list[dict[str, Any]] = [
    {},
    {"coverage": False},
    {"records_per_unit": 3},
    {"units": np.arange(60) // 2},
    {"groups": np.arange(60) % 2},
    {"mechanism": "riemannian-laplace"},
    {"mechanism": "tangent-gaussian"},
    {"mechanism": "l2-mechanism", "coverage": False},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "hyperboloid:2", "torus:2", "rotations:3"])
def test_every_mean_that_is_released_is_read(spec: str, way: dict[str, Any]) -> None:
    """Control: also Laplace noise under Gaussian guarantees, and noise beside a count."""
    ball = cdp.Ball(spec, cdp.as_manifold(spec).origin, 0.3)
    records = np.tile(ball.center, (60, *[1] * ball.center.ndim))
    pure = [] if way.get("mechanism") == "tangent-gaussian" else [cdp.PureDP(5.0)]
    for guarantee in [*pure, cdp.GDP(2.0), cdp.ZCDP(2.0), cdp.ApproxDP(5.0, 1e-4)]:
        found: Any = cdp.frechet_mean(records, ball, guarantee, **way)
        found = found[0] if "groups" in way else found
        assert cdp.Release.from_json(found.to_json()) == found


@pytest.mark.parametrize("mechanism", [None, "l2-mechanism"])
def test_means_of_protected_numbers_of_records_are_read(mechanism: str | None) -> None:
    ball, call = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5), {"mechanism": mechanism}
    records = np.tile(ball.center, (900, 1))
    for guarantee in (cdp.PureDP(3.0), cdp.ApproxDP(1.0, 1e-6)):
        own = dataclasses.replace(guarantee, neighbours="add-remove")
        found: Any = cdp.frechet_mean(records, ball, own, coverage=True, n_guess=900, **call)
        assert found.coverage is not None
        assert found.count is not None
        assert cdp.Release.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    "guarantee",
    [cdp.GDP(1.0), cdp.ZCDP(0.5), cdp.PureDP(2.0), cdp.ApproxDP(2.0, 1e-6)],
    ids=str,
)
@pytest.mark.parametrize("statistic", ["frechet_mean", "frechet_variance", "kng_mean"])
def test_the_number_of_records_and_the_noise_beside_it_keep_the_guarantee_together(
    statistic: str, guarantee: Any
) -> None:
    """A share of the number that was not added passes for the whole: it is refused when read."""
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
    whole = dataclasses.replace(guarantee, neighbours="add-remove")
    found = getattr(cdp, statistic)(np.tile(ball.center, (400, 1)), ball, whole, n_guess=400)
    data = json.loads(found.to_json())
    assert type(found).from_json(json.dumps(data)) == found  # control
    count, noise = data["count"], data["calibrated_to"]

    def scaled(own: Any, factor: float) -> Any:
        return own | {k: factor * v for k, v in own.items() if k in ("mu", "rho", "epsilon")}

    edits: list[tuple[dict[str, Any], str]] = [
        ({"guarantee": scaled(data["guarantee"], 0.999)}, "does not imply|do not make"),
        ({"guarantee": count["replacing"]}, "adding or removing"),
        (
            {"count": count | {"guarantee": scaled(count["guarantee"], 0.99)}},
            "standard dev|do not make",
        ),
        ({"count": count | {"guarantee": data["guarantee"]}}, "leaves nothing"),
        ({"count": count | {"guarantee": cdp.GDP(0.1).to_dict()}}, "adding or removing"),
        ({"count": count | {"standard_error": 0.99 * count["standard_error"]}}, "standard dev"),
        ({"count": count | {"replacing": scaled(count["replacing"], 0.9)}}, "do not make"),
    ]
    if noise is not None:  # of the K-norm mean the noise is not stored
        larger = scaled(count["guarantee"], 1.2)
        edits += [
            ({"count": count | {"guarantee": larger}}, "does not imply|do not make"),
            ({"calibrated_to": noise | {"neighbours": "add-remove"}}, "does not imply|do not make"),
            ({"calibrated_to": scaled(noise, 1.01)}, "does not imply|do not make"),
            ({"count": None}, "does not imply|do not make"),
        ]
    for edit, word in edits:
        with pytest.raises(ValueError, match=word):
            cdp.Release.from_json(json.dumps(data | edit))


@pytest.mark.parametrize("guarantee", [cdp.ApproxDP(0.3, 0.1), cdp.ApproxDP(1.0, 1e-3)], ids=str)
def test_l2_noise_is_read_wherever_the_search_for_its_scale_ends(guarantee: Any) -> None:
    """Another build may end it up to a millionth farther; a thousandth less noise is refused."""
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
    records = np.tile(ball.center, (900, 1))
    found = cdp.frechet_mean(records, ball, guarantee, mechanism="l2-mechanism", coverage=True)
    data = json.loads(found.to_json())
    assert cdp.Release.from_json(json.dumps(data)) == found
    with pytest.raises(ValueError, match="beside"):
        cdp.Release.from_json(json.dumps(data | {"scale": 0.999 * data["scale"]}))


def test_assumptions_cannot_be_spelled_so_that_the_seed_is_overlooked() -> None:
    for disguise in ("seeded", {"seeded": 1}):
        with pytest.raises(ValueError, match="assumptions"):
            cdp.Release.from_json(changed(assumptions=disguise))
    with pytest.raises(ValueError, match="seeded"):
        cdp.Release.from_json(changed(assumptions=["seeded"]))


def test_a_name_occurs_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        cdp.Release.from_json(text()[:-1] + ', "n": 3}')


def test_the_untouched_text_is_accepted() -> None:
    """Control."""
    assert cdp.Release.from_json(changed()).n == 20


@pytest.mark.parametrize("statistic", [cdp.confidence_region, cdp.variance_interval])
def test_what_rests_on_unproved_releases_carries_no_guarantee(statistic: Any) -> None:
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    records = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2))
    proved, seeded = (statistic(records, ball, cdp.GDP(1.0), seed=seed) for seed in (None, 1))
    data = json.loads(proved.to_json())
    assert type(proved).from_json(json.dumps(data)).to_json() == proved.to_json()
    data["parts"] = json.loads(seeded.to_json())["parts"]
    with pytest.raises(ValueError, match="unproved"):
        type(proved).from_json(json.dumps(data))
    other = json.dumps(cdp.GDP(0.001).to_dict())
    with pytest.raises(ValueError, match="twice"):
        type(proved).from_json(proved.to_json()[:-1] + f', "guarantee": {other}}}')
