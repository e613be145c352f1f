"""Keywords of other libraries are answered with what to write instead."""

import inspect

import numpy as np
import pytest

import curvedp as cdp

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
RELEASES = [
    cdp.frechet_mean,
    cdp.adaptive_mean,
    cdp.geometric_median,
    cdp.frechet_variance,
    cdp.confidence_region,
    cdp.conformal_mean,
]


@pytest.mark.parametrize("release", RELEASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    ("keyword", "hint"), [("epsilon", "PureDP"), ("mu", "GDP"), ("random_state", "seed=")]
)
def test_a_keyword_of_another_library_gets_a_hint(release, keyword, hint):
    ledger = cdp.Ledger(cdp.GDP(mu=1.0))
    with pytest.raises(TypeError, match=rf"{release.__name__}\(\) has no keyword .*{hint}"):
        release(np.tile([0.0, 0.0, 1.0], (9, 1)), BALL, ledger=ledger, **{keyword: 1.0})
    assert ledger.spent is None


@pytest.mark.parametrize("release", RELEASES, ids=lambda function: function.__name__)
def test_signatures_and_docstrings_are_the_functions_own(release):
    assert "guarantee" in inspect.signature(release).parameters
    assert "Examples" in release.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        release(np.eye(3)[:2], BALL, cdp.GDP(mu=1.0), nonsense=1)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("S2", "sphere:2"),
        ("SPD(3)", "spd:3"),
        ("poincare:2", "hyperboloid:2"),
        ("shpere:2", "sphere:2"),
        ("RP^2", "projective:2"),
        ("Gr(5, 2)", "grassmann:5:2"),
        ("Rotation:3", "rotations:3"),
        ("SE(3)", "rigid-motions:3"),
    ],
)
def test_names_of_other_texts_are_answered_by_ours(written, meant):
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        cdp.as_manifold(written)
    assert cdp.as_manifold(meant).spec.startswith(meant.split(":")[0])


@pytest.mark.parametrize("unknown", ["stiefel:3", "", "spd3x", "17", "(", "x" * 10_000])
def test_other_names_are_answered_by_the_list(unknown):
    with pytest.raises(ValueError, match=r"unknown manifold .*: use one of") as caught:
        cdp.as_manifold(unknown)
    assert "mean" not in str(caught.value)


def test_modules_of_extras_need_no_import_of_their_own():
    assert cdp.batch.release is not None
    assert cdp.learning.PrivateMDM is not None
