"""No exception, warning, log line or printed word may depend on the value of a record.

A record that is not finite, not on the manifold or in the cut locus of the ball's centre stands for
the centre. So, with the noise held fixed, every such record gives the same release bit for bit.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bad_record_cases import bad_records
from manifold_list import CASES, SMALL, Case, of
from reference.accuracy import EPS, condition
from reference.ball import project_on_ball
from reference.twin import Array

N = 40
ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)


def domain(case: Case) -> Any:
    import curvedp

    center = case.twin.random_point(np.random.default_rng(0), 0.5)
    radius = min(0.6 * case.manifold.max_ball_radius, 1.0)
    return curvedp.Ball(case.manifold, center, radius)


def records_near(case: Case, ball: Any, seed: int = 1) -> Array:
    """`N` records inside and beyond the ball, short of the cut locus."""
    twin, rng = case.twin, np.random.default_rng(seed)
    reach = min(2.0 * ball.radius, 0.9 * twin.injectivity_radius)
    return np.array(
        [
            twin.exp(reach * rng.uniform() * twin.random_unit_vector(rng, ball.center), ball.center)
            for _ in range(N)
        ]
    )


def release(records: Any, ball: Any) -> Any:
    import curvedp

    return curvedp.frechet_mean(records, ball, curvedp.PureDP(4.0), seed=5)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_every_bad_record_stands_for_the_centre(
    case: Case, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    ball = domain(case)
    records = records_near(case, ball)
    records[7] = ball.center
    expected = release(records, ball)
    for name, bad in bad_records(case, ball.center).items():
        records[7] = bad
        actual = release(records, ball)
        assert np.array_equal(actual.value, expected.value), name
        assert actual.to_json() == expected.to_json(), name
    out, err = capfd.readouterr()
    assert (out, err, caplog.records) == ("", "", [])


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_all_records_may_be_bad(case: Case) -> None:
    ball = domain(case)
    expected = release(np.stack([ball.center] * 3), ball)
    for name, bad in bad_records(case, ball.center).items():
        actual = release(np.stack([bad] * 3), ball)
        assert np.array_equal(actual.value, expected.value), name
        assert case.manifold.belongs(actual.value, atol=1e-9), name


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.parametrize("n", [1, 2])
def test_small_data_sets_give_valid_releases(case: Case, n: int) -> None:
    import curvedp

    ball = domain(case)
    records = records_near(case, ball)[:n]
    result = curvedp.frechet_mean(records, ball, curvedp.PureDP(1e3), seed=1)
    assert np.all(np.isfinite(result.value))
    assert case.manifold.belongs(result.value, atol=1e-9)
    assert result.n == n


@pytest.mark.parametrize("case", SMALL, ids=repr)
@settings(max_examples=20)
@given(data=st.data())
def test_any_array_of_the_right_shape_gives_a_valid_release(
    case: Case, data: st.DataObject
) -> None:
    ball = domain(case)
    entries = hnp.arrays(np.float64, (4, *case.twin.point_shape), elements=ANYTHING)
    result = release(np.concatenate([data.draw(entries), records_near(case, ball)]), ball)
    assert np.all(np.isfinite(result.value))
    assert case.manifold.belongs(result.value, atol=1e-9)
    assert result.n == N + 4


def narrow_nan(shape: tuple[int, ...]) -> Array:
    """A float32 signalling NaN, which NumPy warns about when it widens it."""
    return np.full(shape, 0x7FA00000, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_no_dtype_lets_a_record_speak_while_it_is_converted(case: Case, dtype: Any) -> None:
    ball = domain(case)
    records = records_near(case, ball).astype(dtype)
    records[7] = np.nan
    expected = release(records, ball)
    loud: list[Any] = [np.inf, -np.inf]
    if dtype is np.float32:
        loud.append(narrow_nan(case.twin.point_shape))
    if dtype is np.longdouble:
        loud += [np.longdouble("1e4000"), np.longdouble("-1e4000")]
    for value in loud:
        records[7] = value
        assert np.array_equal(release(records, ball).value, expected.value)


@pytest.mark.parametrize(
    "case", [case for case in SMALL if not case.name.startswith("euclidean")], ids=repr
)
@pytest.mark.parametrize("value", [2**63, 2**70, -(10**400)], ids=["2^63", "2^70", "-10^400"])
def test_large_integers_in_lists_are_records_like_any_other(case: Case, value: int) -> None:
    """NumPy makes a list with such an entry an object array: its dtype is a record's value."""
    ball = domain(case)
    records = records_near(case, ball)
    records[7] = 0.0
    rows = records.tolist()
    row = rows[7]
    while isinstance(row[0], list):
        row = row[0]
    row[0] = value
    records[7].flat[0] = 2.0 ** (value.bit_length() - 1) if value > 0 else -np.inf
    expected = release(records, ball)
    assert np.array_equal(release(rows, ball).value, expected.value)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_layout_and_width_of_the_records_do_not_change_the_release(case: Case) -> None:
    ball = domain(case)
    records = records_near(case, ball)
    expected = release(records, ball).value
    spaced = np.full((2 * N, *case.twin.point_shape), np.nan)
    spaced[::2] = records
    for same in (np.asfortranarray(records), spaced[::2], records.astype(">f8"), records.tolist()):
        assert np.array_equal(release(same, ball).value, expected)
    before = records.copy()
    records.flags.writeable = False
    assert np.array_equal(release(records, ball).value, expected)
    assert np.array_equal(records, before)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_projection_on_the_ball_agrees_with_the_twin(case: Case) -> None:
    ball = domain(case)
    records = records_near(case, ball, seed=3)
    projected = ball.project(records)
    expected = project_on_ball(case.twin, records, ball.center, ball.radius)
    worst = max(condition(case.twin, record) for record in records)
    assert np.max(np.abs(projected - expected)) <= (1e-12 + 64 * EPS * worst) * np.max(
        np.abs(expected)
    )
    distances = case.manifold.dist(projected, ball.center)
    assert np.all(distances <= ball.radius * (1.0 + 1e-12))
    inside = case.twin.each("dist", records, np.stack([ball.center] * N)) <= ball.radius
    assert 0 < inside.sum() < N
    assert np.max(np.abs(projected[inside] - records[inside])) <= 1e-12 * np.max(np.abs(records))
    assert np.array_equal(ball.contains(records), inside)
    again = ball.project(projected)
    assert np.max(np.abs(again - projected)) <= 1e-12 * np.max(np.abs(projected))


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_projection_sends_bad_records_to_the_centre(case: Case) -> None:
    ball = domain(case)
    for name, bad in bad_records(case, ball.center).items():
        assert np.array_equal(ball.project(bad[None])[0], ball.center), name


@pytest.mark.parametrize("case", SMALL, ids=repr)
@settings(max_examples=20)
@given(data=st.data())
def test_projection_lands_in_the_ball_whatever_comes(case: Case, data: st.DataObject) -> None:
    ball = domain(case)
    entries = hnp.arrays(np.float64, (3, *case.twin.point_shape), elements=ANYTHING)
    projected = ball.project(data.draw(entries))
    assert np.all(case.manifold.belongs(projected, atol=1e-9))
    assert np.all(case.manifold.dist(projected, ball.center) <= ball.radius * (1.0 + 1e-9))


SPD = [*of(CASES, "spd")]


def nearly_singular(m: int, rng: np.random.Generator) -> Array:
    """A symmetric matrix of random rank and scale: positive definite, if at all, by rounding."""
    rank = int(rng.integers(1, m + 1))
    factor = rng.standard_normal((m, rank))
    spread = rng.choice([0.0, 10.0, 150.0])
    matrix = (factor * 10.0 ** rng.uniform(-spread, spread, rank)) @ factor.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("case", SPD, ids=repr)
def test_records_at_the_edge_of_the_cone_enter_the_ball(case: Case) -> None:
    """Rank-deficient covariances are common, and one record outside the ball breaks the bound."""
    import curvedp

    rng = np.random.default_rng(6)
    m = case.twin.point_shape[0]
    for _ in range(40):
        half = rng.standard_normal((m, m))
        ball = curvedp.Ball(case.manifold, half @ half.T + 0.1 * np.eye(m), 1.0)
        records = np.array([nearly_singular(m, rng) for _ in range(30)])
        projected = ball.project(records)
        assert np.all(case.manifold.belongs(projected))
        assert case.twin.each("dist", projected, np.stack([ball.center] * 30)).max() <= 1.0 + 1e-9
        # The same in the frame in which the mean is computed.
        returned = ball.leave(ball.enter(records))
        assert case.twin.each("dist", returned, np.stack([ball.center] * 30)).max() <= 1.0 + 1e-9


def test_warnings_are_errors_here() -> None:
    """Control: the tests above would notice a warning."""
    with pytest.raises(UserWarning, match="control"):
        warnings.warn("control", UserWarning, stacklevel=1)
