"""Names, reprs and signatures: what is typed is what is shown, and the other way round."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.unit import Unit
from manifold_list import CASES

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODULES = re.findall(
    r"^   (curvedp\.[\w.]+)$", (DOCS / "api.rst").read_text().partition(".. _modules:")[2], re.M
)
GROUPED = ("curvedp.manifolds", "curvedp.statistics", "curvedp.regression", "curvedp.planning")

# ----------------------------------------------------------------------------------- dir()


@pytest.mark.parametrize("name", [*MODULES, *GROUPED])
def test_a_module_shows_its_public_names_alone(name):
    module = importlib.import_module(name)
    assert [own for own in dir(module) if not own.startswith("__")] == sorted(module.__all__)
    for own in module.__all__:
        getattr(module, own)


# ----------------------------------------------------------------------------------- reprs

RATIO = cdp.Product("sphere:2", "euclidean:1")
MOTIONS = cdp.RigidMotions(length=10.0)
TURNS = cdp.Ball("rotations:3", center="identity", radius=0.5)
MOVES = cdp.Ball("euclidean:3", "origin", 20.0)
SPACES = [
    *(case.manifold for case in CASES),
    *(cdp.Sphere(2, radius=2.5), cdp.Hyperboloid(3, curvature=-0.3), cdp.SPD(4)),
    *(cdp.SPD(3, metric="log-euclidean"), cdp.Grassmann(5, 2), RATIO, MOTIONS),
]
TYPED: list[Any] = [
    *SPACES,
    cdp.Ball("sphere:2", [0.0, 0.6, 0.8], 0.5),
    cdp.Ball("spd:3", "identity", 2.0),
    cdp.Ball("hyperboloid:2", "origin", 1 / 3),
    cdp.Ball.from_units("earth", "km", center=[13.4, 52.5], radius=500),
    cdp.Ball.from_units("dti", "mm^2/s"),
    cdp.ProductBall(TURNS, MOVES),
    cdp.ProductBall(TURNS, MOVES, manifold=MOTIONS),
    Unit("earth", "km", 1 / 6371.0088),
    *(cdp.Mean(), cdp.Variance(), cdp.AdaptiveMean(), cdp.Quantile(0.5, low=0.0, high=1.0)),
    *(cdp.Region(), cdp.Interval(), cdp.GeometricMedian(), cdp.KMeans(3)),
]


def typed_back(text: str) -> Any:
    names = {name: getattr(cdp, name) for name in cdp.__all__}
    return eval(text, {**names, "Unit": Unit, "inf": np.inf})


@pytest.mark.parametrize("item", TYPED, ids=repr)
def test_a_repr_can_be_typed_back(item):
    assert typed_back(repr(item)) == item


def test_other_reprs_say_that_they_are_none():
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
    rows = np.tile([0.0, 0.0, 1.0], (400, 1))
    mean = cdp.frechet_mean(rows, ball, cdp.GDP(1.0))
    groups = cdp.frechet_mean(rows, ball, cdp.GDP(1.0), groups=np.arange(400) % 2)
    region = cdp.confidence_region(rows, ball, cdp.GDP(1.0))
    plan = cdp.plan("frechet_mean", ball, cdp.GDP(1.0), n=400)
    for item in (cdp.GDP(1.0), cdp.PureDP(1.0), mean, groups, region, plan, cdp.Ledger(cdp.GDP(1))):
        assert re.fullmatch(r"<.*>", repr(item)), repr(item)


# -------------------------------------------------------------------------------- signatures

#: One word for one thing: parameters of public functions that mean the same have one name, and
#: stand in one order. Other words for them are nowhere.
WORDS = {
    "guarantee": ("budget", "privacy", "dp"),
    "ball": ("domain", "region_of_records"),
    "records": ("data", "samples", "observations"),
    "groups": ("by_group", "group"),
    "units": ("users", "persons", "individuals"),
    "mechanism": ("noise", "noise_type"),
    "level": ("confidence", "confidence_level", "conf"),
    "seed": ("random_state", "rng_seed"),
    "n": ("n_records", "num_records", "size"),
}
#: Where a word means something else.
OTHERS = {("k_sample_test", "samples")}


def functions():
    for home in ("curvedp", "curvedp.statistics", "curvedp.regression", "curvedp.directions"):
        module = importlib.import_module(home)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield name, inspect.signature(value)


def test_parameters_that_mean_the_same_have_one_name():
    found = dict(functions())
    assert len(found) > 30
    wrong = {
        (name, parameter)
        for name, signature in found.items()
        for parameter in signature.parameters
        if any(parameter in others for others in WORDS.values())
    }
    assert wrong <= OTHERS


def test_records_come_before_the_ball_and_the_ball_before_the_guarantee():
    for name, signature in functions():
        order = [own for own in signature.parameters if own in ("records", "ball", "guarantee")]
        wanted = [own for own in ("records", "ball", "guarantee") if own in order]
        assert order == wanted, name


def test_all_but_the_first_parameters_are_named():
    """No function takes more than five by place."""
    for name, signature in functions():
        placed = [
            own for own in signature.parameters.values() if own.kind is own.POSITIONAL_OR_KEYWORD
        ]
        assert len(placed) <= 5, name


def test_compositions_take_lists_in_one_way():
    three = [cdp.GDP(0.5)] * 3
    assert np.isclose(cdp.compose(*three).mu, 0.75**0.5)
    with pytest.raises(TypeError, match="one by one, as compose"):
        cdp.compose(three)


# ------------------------------------------------------------------------- releases of groups


def test_releases_are_a_mapping_whose_iteration_gives_values():
    ball = cdp.Ball("spd:3", "identity", 2.0)
    rows = np.tile(np.eye(3), (604, 1, 1))
    labels = np.array(["big"] * 600 + ["tiny"] * 4)
    found = cdp.frechet_mean(rows, ball, cdp.PureDP(1.0), groups=labels, skip_small=True)
    assert list(found.keys()) == ["big", "tiny"]
    assert "big" in found
    assert "tiny" not in found  # it was skipped
    assert "none" not in found
    assert ["big"] not in found  # no label can be a list
    assert dict(found.items()) == {"big": found["big"]}
    assert list(found.values()) == list(found) == [found["big"]]


def test_classifiers_name_their_own_parameter():
    rng = np.random.default_rng(0)
    rows = cdp.SPD(2).random_point(60, rng=rng)
    model = cdp.learning.PrivateMDM(cdp.Ball("spd:2", "identity", 2.0), cdp.GDP(1.0))
    persons = np.arange(60) // 2
    with pytest.raises(ValueError, match="classes_per_unit=1") as refused:
        model.fit(rows, np.arange(60) % 2, units=persons)
    assert "groups_per_unit" not in str(refused.value)
