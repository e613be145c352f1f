"""Lists, masks and mixed types: how a record is written must not let its value speak either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mail import PrivateMail

BALL = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 1.0)
ROWS = [[0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]]


def value(records: Any) -> Any:
    return cdp.frechet_mean(records, BALL, cdp.PureDP(4.0), seed=5).value


def with_nan() -> Any:
    return value([*ROWS, [np.nan] * 3])


def signalling() -> Any:
    """float32 signalling NaNs, which NumPy warns about when it widens them."""
    return np.full(3, 0x7FA00000, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize(
    "row",
    [
        signalling(),
        list(signalling()),
        [signalling()[:1].reshape(()), 0.0, 0.0],
        np.full(3, np.longdouble("1e4000")),
        list(np.full(3, np.longdouble("1e4000"))),
        [None, None, None],
        [None, 0.0, 1.0],
        [-(10**400), 0.0, 0.0],
    ],
    ids=["array", "list", "0-d", "wide array", "wide list", "missing", "partly", "huge"],
)
def test_no_row_of_a_list_speaks(row: Any) -> None:
    """Warnings are errors in this suite."""
    assert np.array_equal(value([*ROWS, row]), with_nan())
    assert np.array_equal(value([*map(np.array, ROWS), row]), with_nan())


@pytest.mark.parametrize(
    "company",
    [
        [True, False, False],
        [np.bool_(True), 0, 0],
        np.array([True, False, False]),
        [np.array(1.0), 0.0, 0.0],
        [np.float16(1.0), 0, 0],
    ],
    ids=["bools", "numpy bool", "bool array", "0-d array", "half"],
)
def test_a_large_integer_does_not_get_its_company_refused(company: Any) -> None:
    """The same list with a small integer in its place is accepted."""
    expected = value([company, [7, 0, 0]])
    assert np.array_equal(value([company, [2**70, 0, 0]]), expected)
    missing = value([company, [None, 0, 0]])
    assert np.array_equal(missing, value([company, [-(10**400), 0, 0]]))
    assert not np.array_equal(missing, expected)


@pytest.mark.parametrize(
    "entry", ["1", 1j, object(), [1.0]], ids=["text", "complex", "object", "list"]
)
def test_what_is_no_number_is_refused_beside_large_integers_too(entry: Any) -> None:
    for other in (0.0, 2**70):
        with pytest.raises((TypeError, ValueError), match="real numbers"):
            value([[entry, 0.0, 1.0], [other, 0.0, 1.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_records_are_missing(dtype: Any) -> None:
    data = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], dtype=dtype)
    mask = np.zeros(data.shape, bool)
    assert np.array_equal(value(np.ma.array(data, mask=mask)), value(data))
    mask[1, 2] = True
    expected = value([[0.0, 0.0, 1.0], [np.nan] * 3, [1.0, 0.0, 0.0]])
    assert np.array_equal(value(np.ma.array(data, mask=mask)), expected)
    assert not np.array_equal(expected, value(data))


def test_masked_records_of_a_list_are_missing() -> None:
    """NumPy takes what a mask hides, or warns."""
    masked = np.ma.array(ROWS, mask=False)
    masked[1, 2] = np.ma.masked
    half = [ROWS[0], [0.0, 0.6, np.ma.masked], ROWS[2]]
    for rows in (list(masked), tuple(masked), half):
        assert np.array_equal(value(rows), value([ROWS[0], [np.nan] * 3, ROWS[2]]))
    assert np.array_equal(value([*half, [None] * 3]), value([*half, [np.nan] * 3]))


@pytest.mark.parametrize("missing", [None, 10**400, 2**70])
def test_a_covariate_of_a_list_does_not_speak_through_the_estimator(missing: Any) -> None:
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    model = cdp.GeodesicRegression(
        ball, cdp.GDP(1.0), x_range=(0.0, 1.0), tau=1.0, v_max=1.0, seed=1
    )
    usual = 0.5 if missing is None else 1.0
    models = [model.fit([0.0, 1.0, x], [[0.0]] * 3).coef_ for x in (usual, missing)]
    assert np.array_equal(*models)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_masked_covariates_and_rows_are_missing(dtype: Any) -> None:
    numbers = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=dtype)
    masked = np.ma.array(numbers, mask=False)
    masked[2, 1] = np.ma.masked
    missing = [[0, 1], [1, 0], [1, None], [0, 0]]
    mail = PrivateMail(1, guarantee=cdp.GDP(1.0), alpha=0.0, bandwidth=1.0, seed=1, max_norm=1e3)
    plain, hidden, expected = (mail.fit_transform(x) for x in (numbers, masked, missing))
    assert np.array_equal(hidden, expected)
    assert not np.array_equal(hidden, plain)
    if dtype is object:
        return
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    model = cdp.GeodesicRegression(
        ball, cdp.GDP(1.0), x_range=(0.0, 1.0), tau=1.0, v_max=1.0, seed=1
    )
    hidden, expected = (
        model.fit(x, np.ones((4, 1))).coef_ for x in (masked[:, 1], [1.0, 0.0, 0.5, 0.0])
    )
    assert np.array_equal(hidden, expected)


HOSTILE_CELLS = {
    "missing": None,
    "text": "a secret",
    "number": 3.0,
    "empty": [],
    "long": [1.0, 2.0, 3.0, 4.0],
    "ragged": [[1.0, 2.0], [3.0]],
    "dict": {"a": 1},
    "texts": np.array(["x", "y", "z"]),
    "complex": np.array([1 + 1j, 2, 3]),
    "huge": [10**400, 0.0, 1.0],
    "partly": [None, 0.0, 1.0],
    "masked": np.ma.array([0.0, 0.0, 1.0], mask=[True, False, False]),
    "object": object(),
    "matrix": np.full((3, 3), 1.0),
}


def test_a_series_of_arrays_is_an_array_of_records() -> None:
    pd = pytest.importorskip("pandas")
    assert np.array_equal(value(pd.Series(list(map(np.array, ROWS)))), value(ROWS))
    assert np.array_equal(value(pd.Series([*ROWS], index=[7, 7, 1])), value(ROWS))
    ball = cdp.Ball("hpd:2", center="identity", radius=1.0)
    matrices = np.array([[[2.0, 1j], [-1j, 2.0]], [[1.0, 0.5], [0.5, 2.0]]])
    np.testing.assert_array_equal(ball.project(pd.Series(list(matrices))), ball.project(matrices))
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    lists = pa.list_(pa.float64())
    for column in (pl.Series(ROWS), pa.array(ROWS), pd.Series(ROWS, dtype=pd.ArrowDtype(lists))):
        assert np.array_equal(value(column), value(ROWS))
    assert np.array_equal(value(pa.array([*ROWS, None, [1.0]])), value(pd.Series([*ROWS, 0, "a"])))
    lonlat = pd.Series([[10.0, 20.0], [30.0, 40.0]])
    expected = cdp.Sphere(2).as_points([[10.0, 20.0], [30.0, 40.0]])
    np.testing.assert_array_equal(cdp.Sphere(2).as_points(lonlat), expected)


@pytest.mark.parametrize("kind", HOSTILE_CELLS)
def test_no_cell_of_a_series_speaks(kind: str) -> None:
    pd = pytest.importorskip("pandas")
    cells = pd.Series([*ROWS, HOSTILE_CELLS[kind]], dtype=object)
    assert np.array_equal(value(cells), with_nan())
