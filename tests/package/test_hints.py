"""Keywords of other libraries are answered with what to write instead."""

import inspect
import operator

import numpy as np
import pandas as pd
import pytest

import curvedp as cdp
from curvedp import _hints

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
    ("keyword", "hint"),
    [
        ("epsilon", "PureDP"),
        ("mu", "GDP"),
        ("random_state", "seed="),
        ("order", r"as_points\(.*order="),
    ],
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
    with pytest.raises(TypeError, match=r"no keyword 'nonsense': it has .*, ledger, "):
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
        ("circle", "torus:1"),
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


def test_names_that_stand_elsewhere_are_led_there():
    for name, ours in _hints.NAMES_ELSEWHERE.items():
        with pytest.raises(
            AttributeError, match=rf"attribute '{name}': here it is curvedp\.{ours}"
        ):
            getattr(cdp, name)
        assert callable(operator.attrgetter(ours)(cdp))
    for name, module in {"mean_direction": "directions", "PrivateMDM": "learning"}.items():
        with pytest.raises(AttributeError, match=rf"it stands in curvedp\.{module}"):
            getattr(cdp, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nowhere'$"):
        cdp.nowhere  # noqa: B018
    for name in ("__wrapped__", "nowhere.at_all", ""):
        assert not hasattr(cdp, name)
    pytest.importorskip("sklearn")
    with pytest.raises(AttributeError, match=r"'curvedp\.learning' .*: here it is .*PrivateMDM$"):
        cdp.learning.MDM  # noqa: B018
    assert not hasattr(cdp.learning, "__wrapped__")


def test_keywords_of_other_words_lead_on():
    flat, records = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0), np.zeros((9, 2))
    with pytest.raises(TypeError, match="named by units="):
        cdp.frechet_mean(records, flat, cdp.GDP(1.0), subjects=np.arange(9))
    with pytest.raises(TypeError, match=r"pandas\.DataFrame"):
        cdp.geodesic_regression(np.ones(9), records, flat, cdp.GDP(1.0), names=["age"])


def test_keywords_that_a_statistic_lacks_are_told_by_its_own_name():
    flat = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    with pytest.raises(TypeError, match=r"^principal_components\(\) has no keyword 'mechanism'"):
        cdp.principal_components(np.zeros((9, 2)), 1, flat, cdp.PureDP(1.0), mechanism="gaussian")
    with pytest.raises(
        TypeError, match=r"^mean_direction\(\) has no keyword 'angles': it has .*angle_"
    ):
        cdp.directions.mean_direction([1.0], "torus:1", cdp.GDP(1.0), angles="hours")


@pytest.mark.parametrize("weights", [1.0, None, "ab", True])
def test_weights_that_are_no_sequence_are_named(weights):
    flat = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    records, guarantee = np.zeros((900, 2)), cdp.GDP(1.0)
    for release in (cdp.log_covariance, cdp.fourth_moment, cdp.variance_interval):
        with pytest.raises(TypeError, match=r"^weights must be a sequence of numbers, got"):
            release(records, flat, guarantee, weights=weights)
    if weights is not None:  # by public numbers
        with pytest.raises(TypeError, match=r"^weights must be a sequence of numbers, got"):
            cdp.principal_components(records, 1, flat, guarantee, weights=weights)


@pytest.mark.parametrize("number", [True, np.True_, "1"])
def test_truth_values_and_texts_are_no_lengths(number):
    for make in (
        lambda: cdp.Ball("sphere:2", [0.0, 0.0, 1.0], radius=number),
        lambda: cdp.Ball.from_units("earth", "km", center=[0.0, 0.0], radius=number),
        lambda: cdp.Ball.from_units("dti", "mm^2/s", center=np.eye(3), radius=number),
    ):
        with pytest.raises(TypeError, match=r"^radius must be a number, got"):
            make()


def test_a_radius_in_degrees_is_told_what_it_is_in():
    for spec, center in (("sphere:2", [0.0, 0.0]), ("torus:1", [0.0]), ("rotations:3", "identity")):
        with pytest.raises(ValueError, match=rf"below \d.* radians on {spec}, .*got 60"):
            cdp.Ball(spec, center, radius=60)
    far = cdp.Sphere(2, radius=6371.0)
    with pytest.raises(ValueError, match=r"below 10007\.5 on sphere:2"):
        cdp.Ball(far, far.origin, radius=2e4)


def test_texts_name_spaces_of_means_and_plans():
    records, guarantee = np.zeros((900, 2)), cdp.GDP(1.0)
    by_name = cdp.frechet_mean(records, "euclidean:2", guarantee, seed=1)
    same = cdp.frechet_mean(records, cdp.Euclidean(2), guarantee, seed=1)
    np.testing.assert_array_equal(by_name.value, same.value)
    assert cdp.plan("frechet_mean", "euclidean:2", guarantee, n=900, spread=1.0).n == 900
    with pytest.raises(ValueError, match="did you mean 'euclidean:2'"):
        cdp.frechet_mean(records, "euclidian:2", guarantee)


@pytest.mark.parametrize(
    ("name", "metric"),
    [("riemann", "affine-invariant"), ("logeuclid", "log-euclidean"), ("logchol", "log-cholesky")],
)
def test_pyriemanns_names_of_metrics_are_understood(name, metric):
    assert cdp.SPD(3, metric=name) == cdp.SPD(3, metric=metric) == cdp.as_manifold(name, (3, 3))
    assert repr(cdp.SPD(3, metric=name)) == repr(cdp.SPD(3, metric=metric))


def test_a_wider_table_is_told_which_columns_are_points():
    table = pd.DataFrame({"depth": [1.0, 2], "Lat": [10.0, 20], "lon": [5.0, 6], "mag": [1.0, 2]})
    with pytest.raises(ValueError, match=r"take those of points, table\[\['lon', 'Lat'\]\]"):
        cdp.frechet_mean(table, cdp.Sphere(2), cdp.GDP(1.0))
    with pytest.raises(ValueError, match=r"2 for longitude and latitude in degrees$"):
        cdp.frechet_mean(table.to_numpy(), cdp.Sphere(2), cdp.GDP(1.0))


def test_a_regression_says_which_comes_first():
    x, y = np.linspace(0.0, 1.0, 9), np.tile([0.0, 0.0, 1.0], (9, 1))
    for release in (cdp.geodesic_regression, cdp.trend_test):
        with pytest.raises(ValueError, match=r"y, which x precedes"):
            release(y, x, BALL, cdp.GDP(1.0), x_range=(0.0, 1.0))


def test_shapes_in_space_are_led_to_alignment():
    with pytest.raises(ValueError, match="AlignedLandmarks"):
        cdp.as_manifold("kendall:24:3")
    shapes = cdp.KendallPlanar(24)
    ball = cdp.Ball(shapes, shapes.origin, 0.3)
    for records in (np.zeros((9, 24, 3)), np.zeros((9, 24, 4))):
        for read in (shapes.as_points, lambda own: cdp.frechet_mean(own, ball, cdp.GDP(1.0))):
            with pytest.raises(ValueError, match=r"\(\.\.\., 24, 2\), got \(9, 24, ") as caught:
                read(records)
            assert ("AlignedLandmarks" in str(caught.value)) == (records.shape[2] == 3)


@pytest.mark.parametrize("text", ["LP=2\n1 2\n3 4\nID=a", ["LP=2\n1 2\n3 4\nID=a"], b"1 2"])
def test_a_text_in_place_of_records_is_to_be_read_before(text):
    for read in (
        cdp.KendallPlanar(3).as_points,
        lambda own: cdp.frechet_mean(own, BALL, cdp.GDP(1.0)),
    ):
        with pytest.raises(
            TypeError, match=r"^records .*got text: read it into an array"
        ) as caught:
            read(text)
        assert "LP=" not in str(caught.value)


@pytest.mark.parametrize("center", ["mean", "median", "identity"])
def test_a_centre_of_the_records_is_led_to_a_mean_without_a_ball(center):
    with pytest.raises(
        ValueError, match=r"^center must be a point on sphere:2, got '.*public.*frechet_mean\(rec"
    ):
        cdp.Ball("sphere:2", center=center, radius=1.0)
    with pytest.raises(ValueError, match=r"^center must be a point or 'identity' on spd:3, got 'm"):
        cdp.Ball("spd:3", center="mean", radius=1.0)


def test_the_share_explained_says_what_it_rests_on():
    x, y = np.linspace(0.0, 1.0, 9), np.tile([0.0, 0.0, 1.0], (9, 1))
    with pytest.raises(TypeError, match=r"^fit must .*got Ball: .*geodesic_regression\(x, y, ball"):
        cdp.r_squared(x, y, BALL, cdp.GDP(1.0))


def test_modules_of_extras_need_no_import_of_their_own():
    assert cdp.batch.release is not None
    assert cdp.learning.PrivateMDM is not None


def test_more_arguments_than_have_a_place_are_answered_by_what_the_function_does():
    ball, records, guarantee = (
        cdp.Ball("euclidean:2", [0.0, 0.0], 1.0),
        np.zeros((90, 2)),
        cdp.GDP(1.0),
    )
    with pytest.raises(
        TypeError,
        match=r"^compare_means\(\) takes 2 arguments without names \(a, b\), got 4; with names "
        r"level=\. .*released regions",
    ):
        cdp.compare_means(records, records, ball, guarantee)
    with pytest.raises(
        TypeError,
        match=r"^frechet_mean\(\) .*\(records, ball, guarantee\), got 4; with names groups=, ",
    ):
        cdp.frechet_mean(records, ball, guarantee, 1.0)
    with pytest.raises(
        TypeError, match=r"^as_points\(\) .* 1 argument without names \(records\), got 2; "
    ):
        cdp.Sphere(2).as_points(records, "fsl")


def test_records_in_place_of_regions_are_answered_by_what_makes_regions():
    region = cdp.confidence_region(
        np.zeros((90, 2)), cdp.Ball("euclidean:2", [0.0, 0.0], 1.0), cdp.GDP(1.0)
    )
    for pair in ((np.zeros((9, 2)),) * 2, (region, np.zeros((9, 2))), (None, region)):
        with pytest.raises(TypeError, match=r"give two regions, .*confidence_region\(records"):
            cdp.compare_means(*pair)


def test_missing_landmarks_are_led_to_what_fills_them():
    with pytest.raises(
        TypeError, match=r"^as_points\(\) has no keyword 'template': .*fill_landmarks"
    ):
        cdp.KendallPlanar(8).as_points(np.zeros((2, 8, 2)), template=np.zeros((8, 2)))


def test_keywords_of_estimators_are_answered_as_those_of_functions():
    learning = pytest.importorskip("curvedp.learning")
    ball = cdp.Ball("spd:2", np.eye(2), 1.0)
    for name in set(learning.__all__) - {"Estimator"}:
        kind = getattr(learning, name)
        with pytest.raises(TypeError, match=rf"^{name}\(\) has no keyword 'metric': .*space"):
            kind(metric="riemann")
        with pytest.raises(TypeError, match=r"^fit\(\) has no keyword 'sample_weight': .*units="):
            kind.fit(kind.__new__(kind), None, None, sample_weight=1.0)
    with pytest.raises(
        TypeError,
        match=r"^PrivateKMeans\(\) .*\(n_clusters\), got 3; with names ball=, .*centres",
    ):
        learning.PrivateKMeans(ball, cdp.GDP(1.0), 3)
    model = learning.PrivateMDM(ball, cdp.GDP(1.0), classes_per_unit=2)
    assert model.get_params()["classes_per_unit"] == 2

    class Wide(learning.PrivateMDM):
        def __init__(self, **given):
            self.extra = given.pop("extra")
            super().__init__(**given)

    assert Wide(ball=ball, guarantee=cdp.GDP(1.0), extra=3).extra == 3


def test_a_ball_that_a_mean_has_not_released_is_told_from_other_mistakes():
    rng, records = np.random.default_rng(0), np.zeros((900, 3))
    wide = rng.normal([0.0, 0.0, 1.2], 1.0, (900, 3))
    ball = cdp.frechet_mean(wide, "sphere:2", cdp.GDP(3.0), seed=1).ball
    assert ball is None
    for release in (cdp.frechet_mean, cdp.frechet_variance, cdp.confidence_region):
        with pytest.raises(TypeError, match=r"got None: a mean without a ball has none where"):
            release(records, ball, cdp.GDP(1.0))
        with pytest.raises(TypeError, match=r"got float$"):
            release(records, 1.0, cdp.GDP(1.0))


def test_what_must_be_given_and_is_not_is_told_with_what_it_is():
    x, y = np.linspace(0.0, 1.0, 9), np.tile([0.0, 0.0, 1.0], (9, 1))
    guarantee = cdp.GDP(1.0)
    for call, said in {
        lambda: cdp.geodesic_regression(x, y, BALL, guarantee): (
            r"^geodesic_regression\(\) needs x_range \(pair of .*takes x, y, ball, guarantee$"
        ),
        lambda: cdp.k_sample_test([y, y], BALL, guarantee): (
            r"^k_sample_test\(\) needs guarantee \(GDP.*takes records, labels, ball, guarantee$"
        ),
        lambda: cdp.descriptors.fill_landmarks(y): r"^fill_landmarks\(\) needs template \(array",
        lambda: cdp.Ledger(path="study.ledger"): r"^Ledger\(\) needs budget \(",
        lambda: cdp.Hyperboloid(): r"^Hyperboloid\(\) needs dim \(int\): .*takes dim$",
    }.items():
        with pytest.raises(TypeError, match=said):
            call()


def test_constructors_tell_their_arguments():
    for call, said in {
        lambda: cdp.KendallPlanar(12, 2): r"1 argument without names \(k_landmarks\), got 2\. Sha",
        lambda: cdp.Hyperboloid(2, c=1.0): r"Hyperboloid\(\) has no keyword 'c': it has dim, curv",
        lambda: cdp.Ledger(cdp.GDP(1.0), "a.ledger"): r"\(budget\), got 2; with names path=, data",
        lambda: cdp.PrivateMail(epsilon=1.0): r"PrivateMail\(\) .*: say it in the guarantee",
        lambda: cdp.PrivateMail(2, cdp.GDP(1.0)): r"\(n_components\), got 2; .*guarantee=",
    }.items():
        with pytest.raises(TypeError, match=said):
            call()
    assert list(inspect.signature(cdp.Hyperboloid).parameters) == ["dim", "curvature"]


def test_arrays_in_the_order_of_other_programs_are_led_on():
    space = cdp.KendallPlanar(12)
    with pytest.raises(ValueError, match=r"got \(12, 2, 50\); records come first: numpy.moveaxis"):
        space.as_points(np.zeros((12, 2, 50)))
    assert space.as_points(np.moveaxis(np.ones((12, 2, 50)), -1, 0)).shape == (50, 12, 2)
    with pytest.raises(ValueError, match=r"Euler angles .*Rotation\.from_euler"):
        cdp.Rotations().as_points(np.zeros((9, 3)))
    with pytest.raises(TypeError, match=r"complex128: give real and imaginary parts"):
        cdp.descriptors.fill_landmarks(np.ones((9, 12)) * 1j, np.ones((12, 2)))
    flat = cdp.Ball("euclidean:3", np.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"got \(2, 9, 3\); .* joined by numpy\.concatenate"):
        cdp.frechet_mean([np.zeros((9, 3))] * 2, flat, cdp.GDP(1.0))
    with pytest.raises(ValueError, match="NaN where one is missing"):
        cdp.descriptors.fill_landmarks([[None, [1.0, 2.0], [0.0, 0.0]]], np.eye(3, 2))


def test_guarantees_and_releases_of_another_kind_are_led_on():
    ledger = cdp.Ledger(cdp.ApproxDP(8.0, 1e-5))
    for guarantee, way in (
        (cdp.GDP(0.2), r"GDP\(\.\.\.\)\.to_ap.*sufficient_gdp"),
        (cdp.ZCDP(0.1), "ZCDP"),
    ):
        with pytest.raises(cdp.errors.ConversionError, match=rf"at each delta.*{way}"):
            ledger.spend(guarantee)
        ledger.spend(guarantee.to_approx_dp(1e-7))
    with pytest.raises(TypeError, match=r"in a list, as compose_mixed\(\[a, b\], delta\)"):
        cdp.privacy.compose_mixed(cdp.GDP(1.0), cdp.GDP(1.0))
    mean = cdp.frechet_mean(np.tile(BALL.center, (90, 1)), BALL, cdp.GDP(1.0), coverage=False)
    variance = cdp.frechet_variance(np.tile(BALL.center, (90, 1)), BALL, cdp.GDP(1.0))
    with pytest.raises(ValueError, match=r"it is a VarianceRelease, not a MeanRelease: Release\."):
        type(mean).from_json(variance.to_json())
    assert cdp.Release.from_json(variance.to_json()) == variance


def test_a_radius_that_is_too_large_is_answered_by_one_that_is_served():
    center = np.eye(8)[0]
    for radius in (1.57, 1.5707, 1.57079):
        ball = cdp.Ball("sphere:7", center, radius)
        with pytest.raises(ValueError, match="use another radius, such as") as caught:
            cdp.frechet_mean(np.tile(center, (90, 1)), ball, cdp.GDP(1.0))
        served = float(str(caught.value).rpartition(" ")[2])
        assert served < radius
        mean = cdp.frechet_mean(
            np.tile(center, (90, 1)), cdp.Ball("sphere:7", center, served), cdp.GDP(1.0)
        )
        assert mean.ball_radius == served


def test_arrays_of_objects_and_images_as_queries_are_led_on():
    with pytest.raises(TypeError, match=r"got dtype object: numpy\.asarray\(records, dtype=float"):
        cdp.frechet_mean(np.ones((9, 3), dtype=object), BALL, cdp.GDP(1.0))
    mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(1.0))
    with pytest.raises(ValueError, match=r"use embed_queries for many, and ravel\(\) for an image"):
        mail.embed_query(np.zeros((28, 28)), np.zeros((9, 784)), np.arange(9) % 2)
    with pytest.raises(
        ValueError, match=r"no field 'landmarks': .*Ball\(manifold, center, radius\)"
    ):
        cdp.Ball.from_units("landmarks", "mm", center=np.eye(3, 2), radius=1.0)


def test_what_a_reader_of_circular_statistics_writes_is_led_on():
    angles = np.linspace(0.0, 3.0, 40)
    for keyword, hint in (("high", "360 degrees or 24 hours"), ("axial", "mean_axis")):
        with pytest.raises(TypeError, match=hint):
            cdp.directions.mean_direction(angles, "torus:1", cdp.GDP(1.0), **{keyword: 24})
    with pytest.raises(AttributeError, match=r"here it is curvedp\.directions\.mean_direction"):
        _ = cdp.directions.circmean
    with pytest.raises(TypeError, match=r"pandas\.DataFrame\(records\)"):
        cdp.frechet_mean(np.zeros(40, [("lat", "f8"), ("lon", "f8")]), "sphere:2", cdp.GDP(1.0))


def test_vectors_of_another_length_and_landmarks_are_led_to_their_sphere():
    with pytest.raises(ValueError, match=r"got \(9, 384\); the sphere of R\^384 is Sphere\(383\)$"):
        cdp.frechet_mean(np.ones((9, 384)), cdp.Sphere(384), cdp.GDP(1.0))
    aligned = cdp.descriptors.AlignedLandmarks(np.random.default_rng(0).standard_normal((10, 3)))
    with pytest.raises(ValueError, match=r"got \(90, 10, 3\); landmarks .* by to_points"):
        cdp.frechet_mean(np.ones((90, 10, 3)), aligned.ball(0.5), cdp.GDP(1.0))
