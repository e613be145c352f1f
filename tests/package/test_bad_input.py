"""Parameters raise clear errors; shapes and dtypes raise; the value of a record never does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from asked_of_each import asked_of_each
from manifold_list import BY_NAME, CASES, SMALL, Case

BAD = (ValueError, TypeError)
NOT_POSITIVE = [0, -1, 0.0, -1.5, np.nan, np.inf, -np.inf]
NOT_NUMBERS = [None, "1", [1.0], object(), 1j]
NOT_COUNTS = [0, -1, 1.5, np.nan, None, "3", [3], True]


@pytest.fixture(scope="module")
def cdp() -> Any:
    import curvedp

    return curvedp


@pytest.fixture
def ball(cdp: Any) -> Any:
    return cdp.Ball(cdp.Sphere(2), center=np.array([0.0, 0.0, 1.0]), radius=0.7)


@pytest.fixture
def records() -> np.ndarray:
    return BY_NAME["sphere:2"].twin.random_points(np.random.default_rng(0), 20)


def helpful(error: pytest.ExceptionInfo[BaseException]) -> str:
    """A message for people: not empty, no Rust, no traceback of somebody else's."""
    text = str(error.value)
    assert len(text) >= 10
    for word in ("panick", "unwrap", ".rs:", "PyErr", "index out of bounds"):
        assert word not in text
    return text


# ---------------------------------------------------------------------------- manifolds


@pytest.mark.parametrize("size", [*NOT_COUNTS, 10**30])
@pytest.mark.parametrize("kind", ["Sphere", "SPD", "Hyperboloid", "KendallPlanar", "Euclidean"])
def test_sizes_of_manifolds_are_positive_integers(cdp: Any, kind: str, size: Any) -> None:
    with pytest.raises(BAD) as error:
        getattr(cdp, kind)(size)
    helpful(error)


def test_shapes_need_three_landmarks(cdp: Any) -> None:
    for k in (1, 2):
        with pytest.raises(ValueError, match="k_landmarks"):
            cdp.KendallPlanar(k)


@pytest.mark.parametrize("value", [*NOT_POSITIVE, *NOT_NUMBERS])
def test_radii_and_curvatures_of_manifolds_are_checked(cdp: Any, value: Any) -> None:
    with pytest.raises(BAD, match="radius"):
        cdp.Sphere(2, radius=value)
    if value not in (-1, -1.5):
        with pytest.raises(BAD, match="curvature"):
            cdp.Hyperboloid(2, curvature=value)


@pytest.mark.parametrize("value", [0.5, 1.0])
def test_positive_curvature_is_not_hyperbolic(cdp: Any, value: float) -> None:
    with pytest.raises(ValueError, match="curvature"):
        cdp.Hyperboloid(2, curvature=value)


@pytest.mark.parametrize("metric", ["", "riemannian?", "euclidean", None, 3])
def test_unknown_spd_metrics_are_refused_and_the_known_named(cdp: Any, metric: Any) -> None:
    with pytest.raises(BAD, match="affine-invariant"):
        cdp.SPD(3, metric=metric)


@pytest.mark.parametrize(
    "text",
    [
        *("", "klein:2", "sphere", "sphere:", "sphere:two", "sphere:0", "sphere:-2"),
        *("torus:2:3", "projective:0"),
        *("sphere:2:x:y", "spd:3:euclid", "kendall:2", "euclidean:3:4", "sphere:2:nan"),
        *("hyperboloid:2:1", "::"),
    ],
)
def test_texts_that_name_no_manifold_are_refused(cdp: Any, text: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the texts differ
        cdp.as_manifold(text)
    helpful(error)


@pytest.mark.parametrize("thing", [None, 3, object(), [1, 2], np.eye(3), dict])
def test_things_that_are_no_manifold_are_refused(cdp: Any, thing: Any) -> None:
    with pytest.raises(BAD) as error:
        cdp.as_manifold(thing)
    helpful(error)


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "belongs": lambda m, x, p: m.belongs(x),
    "project": lambda m, x, p: m.project(x),
    "to_tangent": lambda m, x, p: m.to_tangent(x, p),
    "exp": lambda m, x, p: m.exp(x, p),
    "exp from": lambda m, x, p: m.exp(p, x),
    "log": lambda m, x, p: m.log(x, p),
    "dist": lambda m, x, p: m.dist(p, x),
    "pairwise_dist": lambda m, x, p: m.pairwise_dist(np.stack([p]), x),
    "transport": lambda m, x, p: m.parallel_transport(p, p, end_point=x),
    "transport along": lambda m, x, p: m.parallel_transport(p, p, direction=x),
    "inner": lambda m, x, p: m.inner(p, x, p),
    "norm": lambda m, x, p: m.norm(x, p),
    "tangent_to_coords": lambda m, x, p: m.tangent_to_coords(x, p),
    "coords_to_tangent": lambda m, x, p: m.coords_to_tangent(x, p),
    "random_tangent_vec": lambda m, x, p: m.random_tangent_vec(x),
}


def misshapen(shape: tuple[int, ...]) -> Iterator[Any]:
    """Arrays that no point of `shape` and no vector of coordinates fits."""
    yield 1.0
    yield np.zeros((*shape[:-1], shape[-1] + 7))
    yield np.zeros((3, *shape[:-1], shape[-1] + 7))
    yield np.zeros((*shape, 1))
    yield np.zeros(0)


def mistyped(shape: tuple[int, ...]) -> Iterator[Any]:
    # complex arrays of the shape of a Hermitian matrix, (m, m, 2), are matrices themselves
    yield np.zeros(shape if len(shape) < 3 else (*shape, 3), dtype=complex)
    yield np.zeros(shape, dtype=object)
    yield np.zeros(shape, dtype="M8[s]")
    yield np.full(shape, "1")
    yield np.zeros(shape, dtype=[("x", float)])
    yield None
    yield "point"
    yield {"x": 1}
    yield [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize("case", SMALL, ids=repr)
@asked_of_each("name", CALLS)
def test_wrong_shapes_and_dtypes_raise(case: Case, name: str) -> None:
    manifold, call = case.manifold, CALLS[name]
    point = case.twin.random_point(np.random.default_rng(1))
    for wrong in misshapen(case.twin.point_shape):
        with pytest.raises(BAD) as error:
            call(manifold, wrong, point)
        helpful(error)
    for wrong in mistyped(case.twin.point_shape):
        if wrong is None and name == "pairwise_dist":
            continue  # None means within one set
        with pytest.raises(BAD) as error:
            call(manifold, wrong, point)
        helpful(error)


@asked_of_each("name", ["exp", "log", "dist", "inner", "norm", "to_tangent"])
def test_batches_that_do_not_broadcast_raise(small_case: Case, name: str) -> None:
    points = small_case.twin.random_points(np.random.default_rng(2), 5)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - NumPy's own wording is fine too
        CALLS[name](small_case.manifold, points[:3], points)
    helpful(error)


def test_transport_needs_exactly_one_way_to_say_where(small_case: Case) -> None:
    point = small_case.twin.random_point(np.random.default_rng(3))
    for options in ({}, {"end_point": point, "direction": point}):
        with pytest.raises((ValueError, TypeError), match="end_point"):
            small_case.manifold.parallel_transport(point, point, **options)


@asked_of_each("n", NOT_COUNTS)
def test_numbers_of_random_points_are_checked(small_case: Case, n: Any) -> None:
    with pytest.raises(BAD) as error:
        small_case.manifold.random_point(n)
    helpful(error)


WILD = [np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 5e-324, 1e-200]


@asked_of_each("value", WILD)
def test_geometry_of_wild_values_ends_without_a_word(case: Case, value: float) -> None:
    """No exception, warning or hang; what comes out is unspecified."""
    manifold, shape = case.manifold, case.twin.point_shape
    good = case.twin.random_points(np.random.default_rng(4), 3)
    wild = good.copy()
    wild[0] = value
    wild[1].flat[0] = value
    for a, b in ((wild, good), (good, wild), (wild, wild)):
        for name in ("exp", "log", "dist", "transport", "inner", "norm", "to_tangent"):
            result = CALLS[name](manifold, a, b)
            assert result.shape[0] == 3
        manifold.tangent_to_coords(a, b)
        manifold.pairwise_dist(a, b)
        assert manifold.belongs(a).shape == (3,)
    assert manifold.exp(wild, good)[2].shape == shape
    # A wild neighbour does not disturb the rows beside it.
    assert np.array_equal(manifold.exp(0.1 * wild, good)[2], manifold.exp(0.1 * good, good)[2])
    assert manifold.dist(wild, good[0])[2] == manifold.dist(good, good[0])[2]


# ---------------------------------------------------------------------------- ball


@asked_of_each("value", [*NOT_POSITIVE, *NOT_NUMBERS])
def test_radius_of_a_ball_is_checked(small_case: Case, cdp: Any, value: Any) -> None:
    center = small_case.twin.random_point(np.random.default_rng(5))
    with pytest.raises(BAD, match="radius"):
        cdp.Ball(small_case.manifold, center, value)


@pytest.mark.parametrize("name", ["sphere:2", "sphere:2:radius=3", "sphere:9", "kendall:10"])
@pytest.mark.parametrize("excess", [1.0, 1.001, 2.0, 1e6])
def test_no_release_from_a_ball_whose_mean_need_not_be_unique(
    name: str, excess: float, cdp: Any
) -> None:
    case = BY_NAME[name]
    center = case.twin.random_point(np.random.default_rng(6))
    points = np.stack([center] * 5)
    with pytest.raises(ValueError, match="radius"):
        cdp.frechet_mean(
            points,
            cdp.Ball(case.manifold, center, excess * case.manifold.max_ball_radius),
            cdp.PureDP(1.0),
        )


@pytest.mark.parametrize("spoil", [np.nan, np.inf, 1e3])
def test_center_of_a_ball_is_a_point(small_case: Case, cdp: Any, spoil: float) -> None:
    center = small_case.twin.random_point(np.random.default_rng(7))
    if small_case.name.startswith(("euclidean", "torus")) and spoil == 1e3:
        spoil = np.nan
    if small_case.name.startswith(("sphere", "projective", "grassmann")) and spoil == 1e3:
        spoil = 0.0
    for wrong in (np.full_like(center, spoil), *mistyped(center.shape), np.stack([center] * 2)):
        with pytest.raises(BAD, match="cent"):
            cdp.Ball(small_case.manifold, wrong, 0.3)


# ---------------------------------------------------------------------------- guarantees


@pytest.mark.parametrize("value", [*NOT_POSITIVE, *NOT_NUMBERS])
def test_privacy_parameters_are_positive_and_finite(cdp: Any, value: Any) -> None:
    for make in (cdp.PureDP, cdp.ZCDP, cdp.GDP):
        with pytest.raises(BAD) as error:
            make(value)
        helpful(error)
    with pytest.raises(BAD, match="delta"):
        cdp.ApproxDP(1.0, value)


@pytest.mark.parametrize("delta", [1.0, 1.5, 2])
def test_delta_is_a_probability(cdp: Any, delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        cdp.ApproxDP(1.0, delta)


# ---------------------------------------------------------------------------- private mean


@pytest.mark.parametrize("thing", [None, 1.0, "PureDP(1)", PermissionError, {"epsilon": 1.0}])
def test_a_guarantee_is_asked_for_as_an_object(
    cdp: Any, ball: Any, records: np.ndarray, thing: Any
) -> None:
    with pytest.raises(TypeError, match="guarantee"):
        cdp.frechet_mean(records, ball, thing)
    with pytest.raises(TypeError, match="guarantee"):
        cdp.expected_error(ball, 20, thing)


@pytest.mark.parametrize("thing", [None, 0.7, {"center": 0.0}, (0.0, 1.0)])
def test_a_domain_is_a_ball(cdp: Any, records: np.ndarray, thing: Any) -> None:
    with pytest.raises(TypeError, match=r"[Bb]all"):
        cdp.frechet_mean(records, thing, cdp.PureDP(1.0))


@pytest.mark.parametrize("value", NOT_COUNTS)
def test_records_per_unit_is_a_count(cdp: Any, ball: Any, records: np.ndarray, value: Any) -> None:
    for call in (
        lambda: cdp.frechet_mean(records, ball, cdp.PureDP(1.0), records_per_unit=value),
        lambda: cdp.expected_error(ball, 20, cdp.PureDP(1.0), records_per_unit=value),
        lambda: cdp.sensitivity.frechet_mean(ball, 20, records_per_unit=value),
    ):
        with pytest.raises(BAD, match="records_per_unit"):
            call()


@pytest.mark.parametrize("value", NOT_COUNTS)
def test_the_number_of_records_is_a_count(cdp: Any, ball: Any, value: Any) -> None:
    with pytest.raises(BAD) as error:
        cdp.expected_error(ball, value, cdp.PureDP(1.0))
    helpful(error)
    with pytest.raises(BAD) as error:
        cdp.sensitivity.frechet_mean(ball, value)
    helpful(error)


@pytest.mark.parametrize("value", [*NOT_POSITIVE, *NOT_NUMBERS])
def test_a_wanted_error_is_positive(cdp: Any, ball: Any, value: Any) -> None:
    with pytest.raises(BAD) as error:
        cdp.required_n(ball, value, cdp.PureDP(1.0))
    helpful(error)


@pytest.mark.parametrize("word", ["", "laplacian?", 3, object()])
def test_unknown_mechanisms_are_refused(
    cdp: Any, ball: Any, records: np.ndarray, word: Any
) -> None:
    with pytest.raises(BAD, match="mechanism"):
        cdp.frechet_mean(records, ball, cdp.PureDP(1.0), mechanism=word)


@pytest.mark.parametrize("seed", ["x", 1.5, -1, [1], 2**256])
def test_seeds_are_checked(cdp: Any, ball: Any, records: np.ndarray, seed: Any) -> None:
    with pytest.raises(BAD, match="seed"):
        cdp.frechet_mean(records, ball, cdp.PureDP(1.0), seed=seed)


def test_wrong_records_raise_by_shape_and_dtype_alone(small_case: Case, cdp: Any) -> None:
    shape = small_case.twin.point_shape
    center = small_case.twin.random_point(np.random.default_rng(8))
    ball = cdp.Ball(small_case.manifold, center, 0.3)
    empty = np.zeros((0, *shape))
    for wrong in (center, empty, np.zeros((2, 3, *shape)), *misshapen(shape), *mistyped(shape)):
        for call in (
            lambda x: cdp.frechet_mean(x, ball, cdp.PureDP(1.0)),
            lambda x: cdp.nonprivate.frechet_mean(x, small_case.manifold),
        ):
            with pytest.raises(BAD, match=r"records|points") as error:
                call(wrong)
            helpful(error)
    messages = set()
    for fill in (0.0, 1.0, -7.25, np.nan, np.inf, 1e300):
        with pytest.raises(ValueError, match="shape") as error:
            cdp.frechet_mean(np.full((4, *shape, 2), fill), ball, cdp.PureDP(1.0))
        messages.add(str(error.value))
    assert len(messages) == 1


def test_a_refused_call_spends_nothing(cdp: Any, ball: Any, records: np.ndarray) -> None:
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        before = repr(ledger.spent)
        for wrong in (records[:0], records[:, :1], records.astype(complex)):
            with pytest.raises(BAD):
                cdp.frechet_mean(wrong, ball, cdp.PureDP(0.5), ledger=ledger)
        assert repr(ledger.spent) == before


# ---------------------------------------------------------------------------- weights and tol


@pytest.mark.parametrize(
    "weights",
    [[1.0], [[1.0] * 20], [-1.0] * 20, [0.0] * 20, [np.nan] * 20, [np.inf] * 20, "x", [None] * 20],
)
def test_weights_of_the_nonprivate_mean_are_checked(
    cdp: Any, records: np.ndarray, weights: Any
) -> None:
    with pytest.raises(BAD, match="weights"):
        cdp.nonprivate.frechet_mean(records, cdp.Sphere(2), weights)


@pytest.mark.parametrize("tol", [*NOT_POSITIVE, None, "x"])
def test_tolerance_of_the_nonprivate_mean_is_positive(
    cdp: Any, records: np.ndarray, tol: Any
) -> None:
    with pytest.raises(BAD, match="tol"):
        cdp.nonprivate.frechet_mean(records, cdp.Sphere(2), tol=tol)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "nonsense", '{"schema_version": 999}'])
def test_texts_that_are_no_release_are_refused(cdp: Any, text: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the texts differ
        cdp.Release.from_json(text)
    helpful(error)


def test_every_manifold_is_listed_once() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in CASES:
            assert case.manifold.dim == case.twin.dim
