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
