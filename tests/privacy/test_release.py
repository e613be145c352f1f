"""Releases: read-only, exact through JSON, honest in their report, never with a seed."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import curvedp as cdp
import fresh_starts
from curvedp.privacy.assumptions import ASSUMPTIONS
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved
from curvedp.privacy.release import SCHEMA_VERSION, Release
from curvedp.statistics.permutation import PermutationRelease


def make(**changes) -> Release:
    parts = {
        "value": np.diag([1.0, 2.0, 1 / 3]),
        "guarantee": PureDP(1.0),
        "mechanism": "Riemannian Laplace",
        "statistic": "Fréchet mean",
        "manifold": "spd:3",
        "ball_center": np.eye(3),
        "ball_radius": 1.5,
        "n": 500,
        "records_per_unit": 1,
        "sensitivity": 0.006,
        "solver_tolerance": 1e-9,
        "scale": 0.00600000123,
        "expected_error": 0.0361,
        "assumptions": frozenset({"idealized-sampling"}),
    }
    return Release(**{**parts, **changes})


arrays = npst.arrays(np.float64, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


@settings(max_examples=100, deadline=None)
@given(
    arrays,
    st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    st.floats() | st.none(),
)
def test_json_round_trip_is_bit_exact(value, scale, expected_error):
    release = make(value=value, scale=scale, expected_error=expected_error)
    again = Release.from_json(release.to_json())
    assert again.value.shape == value.shape
    np.testing.assert_array_equal(again.value, value)
    number = ~np.isnan(value)
    assert np.array_equal(np.signbit(again.value)[number], np.signbit(value)[number])
    assert repr(again.scale) == repr(float(scale))
    assert repr(again.expected_error) == repr(expected_error)
    assert again == release
    assert hash(again) == hash(release)


@pytest.mark.parametrize(
    "guarantee",
    [PureDP(0.1), ApproxDP(0.1, 1e-6), ZCDP(0.1), GDP(0.1), Unproved(GDP(0.1), "as published")],
)
def test_every_guarantee_survives_json(guarantee):
    release = make(guarantee=guarantee)
    assert Release.from_json(release.to_json()).guarantee == guarantee


def stored_releases():
    """A release of each kind."""
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    x = np.linspace(-1.0, 1.0, 40)
    records = np.column_stack((x / 2, x**2 / 2))
    noise = cdp.GDP(1.0)
    mesh = cdp.conformal.ball_mesh(ball, 50)
    fit = cdp.geodesic_regression(x, records, ball, cdp.GDP(50.0), x_range=(-1.0, 1.0))
    protected = cdp.GDP(5.0, neighbours="add-remove")
    study = cdp.sites.Agreement(ball.manifold, protected, ["Aa", "Bo"])
    return [
        cdp.frechet_mean(records, ball, noise),
        cdp.frechet_mean(records, ball.manifold, cdp.GDP(5.0)),
        cdp.frechet_variance(records, ball, noise),
        cdp.quantile(x, [0.25, 0.5], low=-1.0, high=1.0, guarantee=noise),
        cdp.k_means(records, 2, ball, noise),
        cdp.tangent_logistic(records, x > 0, ball, noise, classes=[False, True]),
        cdp.two_sample_test(records[::2], records[1::2], ball, noise),
        cdp.geodesic_regression(x, records, ball, noise, x_range=(-1.0, 1.0), tau=0.2, v_max=0.5),
        cdp.k_sample_test(records, x > 0, ball, noise),
        cdp.trend_test(x, records, ball, noise, x_range=(-1.0, 1.0)),
        cdp.r_squared(x, records, fit, noise),
        cdp.conformal.density(records, ball, cdp.PureDP(1.0), mesh=mesh),
        cdp.sites.simulate([records[::2], records[1::2]], study),
    ]


def kinds(cls: type) -> set[type]:
    below = set(cls.__subclasses__())
    return below.union(*map(kinds, below))


def test_a_stored_release_of_any_kind_is_read_by_a_new_process():
    releases = stored_releases()
    assert {type(release) for release in releases} | {PermutationRelease} == kinds(Release)
    read = (
        "import curvedp\n"
        "release = curvedp.Release.from_json(text)\n"
        "assert release.to_json() == text\n"
        "print(type(release).__name__, end='')\n"
    )
    # each alone: none is read thanks to the kind before it
    found = fresh_starts.outputs([f"text = {own.to_json()!r}\n{read}" for own in releases])
    assert found == [type(release).__name__ for release in releases]


def test_json_is_standard_and_versioned():
    def refuse(constant):
        raise AssertionError(constant)

    text = make(value=[math.nan, math.inf, -math.inf, -0.0], expected_error=math.inf).to_json()
    data = json.loads(text, parse_constant=refuse)
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["guarantee"]["neighbours"] == "replace"
    assert Release.from_json(text).expected_error == math.inf


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_schema_is_refused(version):
    data = json.loads(make().to_json())
    data["schema_version"] = version
    with pytest.raises(ValueError, match="schema"):
        Release.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["[]", "3", "{}", "{"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        Release.from_json(text)


def test_a_release_has_no_place_for_a_seed():
    assert not any("seed" in field.name for field in dataclasses.fields(Release))
    data = json.loads(make().to_json())
    data["seed"] = 7
    with pytest.raises(ValueError, match="seed"):
        Release.from_json(json.dumps(data))
    del data["seed"], data["scale"]
    with pytest.raises(ValueError, match="scale"):
        Release.from_json(json.dumps(data))
    with pytest.raises(TypeError):
        make(seed=7)
    with pytest.raises(AttributeError):
        make().seed = 7


@pytest.mark.parametrize("name", ["value", "ball_center"])
def test_arrays_are_copied_and_stay_read_only(name):
    source = np.ones((2, 2))
    release = make(**{name: source})
    source[:] = 5.0
    array = getattr(release, name)
    np.testing.assert_array_equal(array, np.ones((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 2.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
    with pytest.raises(AttributeError):
        setattr(release, name, source)


def test_non_contiguous_and_integer_values_keep_shape_and_order():
    value = np.arange(12).reshape(3, 4).T[::2]
    np.testing.assert_array_equal(make(value=value).value, value)
    assert make(value=value).value.dtype == np.float64


def test_releases_are_values():
    release = make()
    for twin in (copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))):
        assert twin == release
        with pytest.raises(ValueError, match="read-only"):
            twin.value[0] = 0.0
    assert release != make(n=501)
    assert release != make(value=np.diag([1.0, 2.0, 0.3]))
    assert release != make(value=np.ravel(release.value))
    assert release != "release"


@pytest.mark.parametrize(
    "changes",
    [
        {"calibration": "published"},
        {"assumptions": {"seeded"}},
        {"assumptions": {"idealized-sampling", "records-validated"}},
        {"assumptions": {"approximate-sampling"}},
    ],
)
def test_what_voids_the_guarantee_forces_unproved(changes):
    with pytest.raises(ValueError, match="must carry Unproved"):
        make(**changes)
    assert make(guarantee=Unproved(PureDP(1.0), "for reproduction only"), **changes)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"guarantee": 1.0}, TypeError),
        ({"assumptions": "seeded"}, TypeError),
        ({"calibration": "guessed"}, ValueError),
    ],
)
def test_wrong_parts_are_refused(changes, error):
    with pytest.raises(error):
        make(**changes)


def test_report_says_what_is_promised_and_at_what_cost():
    report = make().report()
    for part in (
        "Fréchet mean",
        "spd:3",
        "Riemannian Laplace",
        "0.333333",
        "PureDP(epsilon=1)",
        "2.719 times as likely",
        "replace one record",
        "n is public",
        "one record;",
        "n = 500",
        "radius 1.5",
        "0.006",
        "1e-09",
        "0.0361",
        "proved",
        "idealized-sampling",
        "rounded to a public grid",
    ):
        assert part in " ".join(report.split())
    assert "NO GUARANTEE" not in report
    assert all(len(line) <= 88 for line in report.splitlines())


def test_report_of_an_unproved_release_is_loud():
    release = make(
        guarantee=Unproved(PureDP(1.0), "the paper's bound does not hold"),
        assumptions={"seeded"},
        calibration="published",
    )
    report = release.report()
    assert report.index("NO GUARANTEE") < report.index("value:")
    assert "the paper's bound does not hold" in report
    assert "meaning:        nothing" in report
    assert "subtract the noise" in report


def test_report_names_the_protected_unit():
    assert "at most 7" in make(records_per_unit=7).report()


def test_report_without_error_or_assumptions_says_so():
    report = make(expected_error=None, assumptions=()).report()
    assert "not known" in report
    assert "further assumptions: none" in report
    assert "No explanation is stored" in make(assumptions={"novel"}).report()


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (PureDP(800.0), "e^800 times"),
        (ApproxDP(1.0, 1e-6), "up to a probability of 1e-06"),
        (ZCDP(0.5), "Rényi divergence at most 0.5 alpha"),
        (GDP(0.25), "unit normal by 0.25"),
    ],
)
def test_report_explains_each_kind(guarantee, words):
    assert words in make(guarantee=guarantee).report()


@pytest.mark.parametrize("key", sorted(ASSUMPTIONS))
def test_every_known_assumption_is_a_sentence(key):
    assert ASSUMPTIONS[key].endswith(".")
    assert len(ASSUMPTIONS[key].split()) > 8
