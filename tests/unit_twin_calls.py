"""Every public function that takes records, called for `unit_twin`: add one here and it is held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp import conformal, descriptors, published
from curvedp.learning import PrivateKMeans, PrivateMDM, TangentLogisticRegression, TangentPCA
from curvedp.mail import Client
from curvedp.mail.query import METHODS
from unit_twin import BALL, CENTER, PERSONS, Data

GDP, PURE, LARGE = cdp.GDP(1.0), cdp.PureDP(2.0), cdp.GDP(8.0)


@dataclass(frozen=True)
class Call:
    """A public function called with data.

    Attributes
    ----------
    run : callable
        Takes `Data` and a folder for files; returns what comes back.
    covers : tuple of str
        Places of the public functions that it calls, as `unit_twin.public_functions` names them.
    by_unit : bool
        True if it knows persons by name, whose numbers of records are private then.
    kinds : tuple of str
        Containers that it takes, of `unit_twin.CONTAINERS`; all if empty.
    scales_are_drawn : bool
        True if a released base point or length sets the scale of its noise.
    """

    run: Callable[[Data, Path], Any]
    covers: tuple[str, ...]
    by_unit: bool = False
    kinds: tuple[str, ...] = ()
    scales_are_drawn: bool = False


CALLS: dict[str, Call] = {}
ARRAYS = ("array", "float32", "list", "masked")


def add(name: str, run: Callable[[Data, Path], Any], *covers: str, **how: Any) -> None:
    CALLS[name] = Call(run, covers, **how)


LINE = cdp.tangent_logistic(
    np.tile(CENTER, (40, 1)), [0] * 40, BALL, GDP, classes=[0, 1], secret=cdp.NoiseSecret(bytes(32))
)

# ------------------------------------------------------------------------------- statistics


def _paid(call: Callable[..., Any], *given: Any, guarantee: Any, **how: Any) -> Any:
    """What is released, and what it cost."""
    ledger = cdp.Ledger(cdp.GDP(100.0))
    try:
        return call(*given, guarantee=guarantee, ledger=ledger, **how), ledger.spent
    except Exception as error:
        raise type(error)(f"{error}; spent {ledger.spent}") from None


def _statistic(
    name: str, function: Any, guarantee: Any = GDP, *, drawn: bool = True, **own: Any
) -> None:
    place = f"{function.__module__}.{function.__qualname__}".removeprefix("curvedp.")

    def plain(data: Data, folder: Path) -> Any:
        return _paid(function, data.rows, ball=BALL, guarantee=guarantee, **own)

    def by_unit(data: Data, folder: Path) -> Any:
        named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
        return _paid(function, data.rows, ball=BALL, guarantee=guarantee, **named, **own)

    add(name, plain, place, scales_are_drawn=drawn)
    add(f"{name} of persons", by_unit, place, by_unit=True, scales_are_drawn=drawn)


_statistic("frechet_mean", cdp.frechet_mean, drawn=False)
_statistic("adaptive_mean", cdp.adaptive_mean, LARGE)


def _located(data: Data, folder: Path) -> Any:
    return _paid(cdp.frechet_mean, data.rows, BALL.manifold, guarantee=cdp.GDP(40.0))


def _located_purely(data: Data, folder: Path) -> Any:
    return _paid(cdp.frechet_mean, data.rows, BALL.manifold, guarantee=cdp.PureDP(90.0))


def _located_of_persons(data: Data, folder: Path) -> Any:
    whole = cdp.GDP(25.0, neighbours="add-remove")
    keys = ["north", "south"]
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2, "keys": keys}
    found, spent = _paid(cdp.frechet_mean, data.rows, BALL.manifold, guarantee=whole, **named)
    object.__setattr__(found, "n", None)  # the number of persons is drawn, too
    for own in found.results:
        object.__setattr__(own, "n", None)
    return found, spent


_OF_MEAN = "statistics.frechet_mean.frechet_mean"
add("mean without a ball", _located, _OF_MEAN, scales_are_drawn=True)
add("mean without a ball under pure privacy", _located_purely, _OF_MEAN, scales_are_drawn=True)
add(
    "mean without a ball of persons",
    _located_of_persons,
    _OF_MEAN,
    by_unit=True,
    scales_are_drawn=True,
)


def _counted_each(data: Data, folder: Path) -> Any:
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    return _paid(cdp.frechet_mean, data.rows, ball=BALL, guarantee=LARGE, coverage="each", **named)


def _resized(data: Data, folder: Path) -> Any:
    whole = cdp.GDP(9.0, neighbours="add-remove")
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    how = {"n_guess": 20, "keys": ["north", "south"], **named}
    found, spent = _paid(cdp.frechet_variance, data.rows, ball=BALL, guarantee=whole, **how)
    # the numbers of records that are used are drawn, and what the noise is follows from them
    return list(found.labels), found.guarantee, spent


add("mean counted in each group", _counted_each, _OF_MEAN, by_unit=True)
add("variance of a hidden number of persons", _resized, by_unit=True)


def _of_sites(data: Data, folder: Path, **more: Any) -> Any:
    whole = cdp.GDP(40.0, neighbours="add-remove")
    study = cdp.sites.Agreement("sphere:2", whole, ["Aa", "Bo"], by_name=True, **more)
    at = np.repeat([True, False], len(data.persons) // 2)
    at = np.resize(at, len(data.persons))
    rows, persons = np.asarray(data.rows), np.asarray(data.persons)
    found = cdp.sites.simulate([rows[at], rows[~at]], study, units=[persons[at], persons[~at]])
    object.__setattr__(found, "n", None)  # the number of persons is drawn, too
    object.__setattr__(found, "transcript", "")  # a digest of what was drawn
    return found


add(
    "mean of sites",
    _of_sites,
    "sites.simulation.simulate",
    "sites.site.SiteMean.__init__",
    by_unit=True,
    kinds=("array", "float32"),
    scales_are_drawn=True,
)
add(
    "mean, variance and clusters of masked sites",
    lambda data, folder: _of_sites(data, folder, variance=0.2, clusters=2, masks=True),
    "sites.simulation.simulate",
    by_unit=True,
    kinds=("array",),
    scales_are_drawn=True,
)
_statistic("kng_mean", cdp.kng_mean, cdp.PureDP(9.0), drawn=False, tau=0.4)
_statistic("geometric_median", cdp.geometric_median, LARGE)
_statistic("frechet_variance", cdp.frechet_variance)
_statistic("fourth_moment", cdp.fourth_moment)
_statistic("log_covariance", cdp.log_covariance)
_statistic("mean_hessian", cdp.mean_hessian)
_statistic("confidence_region", cdp.confidence_region, LARGE)
_statistic("variance_interval", cdp.variance_interval, LARGE)


def _direction(data: Data, folder: Path) -> Any:
    return _paid(cdp.directions.mean_direction, data.rows, "sphere:2", guarantee=LARGE)


def _direction_of_persons(data: Data, folder: Path) -> Any:
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    found, spent = _paid(
        cdp.directions.mean_direction, data.rows, "sphere:2", guarantee=LARGE, **named
    )
    return dict(found), spent


_OF_DIRECTIONS = "directions.release.mean_direction"
add("mean_direction", _direction, _OF_DIRECTIONS, scales_are_drawn=True)
add(
    "mean_direction of persons",
    _direction_of_persons,
    _OF_DIRECTIONS,
    by_unit=True,
    scales_are_drawn=True,
)


def _axis(data: Data, folder: Path) -> Any:
    return _paid(cdp.directions.mean_axis, data.rows, "projective:2", guarantee=LARGE)


add("mean_axis", _axis, "directions.release.mean_axis", scales_are_drawn=True)
_statistic("k_means", cdp.k_means, LARGE, n_clusters=2)
_statistic("principal_components", cdp.principal_components, LARGE, n_components=1)


def _quantile(rows: Any, ball: Any, **how: Any) -> Any:
    return cdp.quantile(rows, 0.5, low=-1.0, high=1.0, **how)


def _of_values(data: Data, folder: Path) -> Any:
    return _paid(_quantile, data.x, None, guarantee=GDP)


def _of_persons_values(data: Data, folder: Path) -> Any:
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    return _paid(_quantile, data.x, None, guarantee=GDP, **named)


add("quantile", _of_values, "statistics.quantile.quantile")
add("quantile of persons", _of_persons_values, "statistics.quantile.quantile", by_unit=True)


def _two_samples(guarantee: Any) -> Callable[[Data, Path], Any]:
    def run(data: Data, folder: Path) -> Any:
        half = PERSONS
        first, second = data.rows[:half], data.rows[half:]
        return _paid(cdp.two_sample_test, first, second, BALL, guarantee=guarantee)

    return run


for _name, _budget in (("Gaussian noise", GDP), ("Laplace noise", PURE)):
    add(
        f"two_sample_test, {_name}",
        _two_samples(_budget),
        "statistics.two_samples.two_sample_test",
    )


def _two_samples_of_persons(data: Data, folder: Path) -> Any:
    """Every second person beside the others, in each site."""
    arm = [int(person[1:]) % 2 for person in data.persons]
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2, "labels": arm}
    return _paid(cdp.release, cdp.TwoSampleTest(), data.rows, BALL, guarantee=GDP, **named)


add(
    "release of two samples of persons",
    _two_samples_of_persons,
    "statistics.release.release",
    by_unit=True,
)


add(
    "release of a regression",
    lambda data, folder: _paid(
        cdp.release,
        cdp.GeodesicLine(x_range=(0.0, 5.0)),
        *(data.rows, BALL),
        guarantee=GDP,
        covariate=data.y,
    ),
    "statistics.release.release",
    scales_are_drawn=True,
)


def _k_samples(data: Data, folder: Path) -> Any:
    arm = np.arange(len(data.rows)) % 2
    return _paid(cdp.k_sample_test, data.rows, arm, BALL, guarantee=GDP)


def _k_samples_of_persons(data: Data, folder: Path) -> Any:
    arm = [int(person[1:]) % 2 for person in data.persons]
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    return _paid(cdp.k_sample_test, data.rows, arm, BALL, guarantee=GDP, **named)


add("k_sample_test", _k_samples, "statistics.k_samples.k_sample_test")
add(
    "k_sample_test of persons",
    _k_samples_of_persons,
    "statistics.k_samples.k_sample_test",
    by_unit=True,
)


def _classified(data: Data, folder: Path, **named: Any) -> Any:
    public = {"classes": [0, 1], "n_steps": 4}
    return _paid(cdp.tangent_logistic, data.rows, data.y, BALL, guarantee=GDP, **public, **named)


def _classified_by_unit(data: Data, folder: Path) -> Any:
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    return _classified(data, folder, **named)


_LOGISTIC = "statistics.logistic.tangent_logistic"
add("tangent_logistic", _classified, _LOGISTIC)
add("tangent_logistic of persons", _classified_by_unit, _LOGISTIC, by_unit=True)
add(
    "LogisticRelease",
    lambda data, folder: [LINE.predict(data.rows).shape, LINE.predict_proba(data.rows).shape],
    "statistics.logistic.LogisticRelease.predict",
    "statistics.logistic.LogisticRelease.predict_proba",
)

# ------------------------------------------------------------------------------- regression

RANGE = {"x_range": (0.0, 1.0)}


def _regression(data: Data, folder: Path, **own: Any) -> Any:
    return _paid(cdp.geodesic_regression, data.x, data.rows, BALL, guarantee=LARGE, **RANGE, **own)


def _regression_of_persons(data: Data, folder: Path) -> Any:
    named = {"units": data.persons, "groups": data.site, "groups_per_unit": 2}
    return _regression(data, folder, **named)


def _plain_fit() -> Any:
    """A released geodesic of public records."""
    x = np.linspace(0.0, 1.0, 40)
    y = np.tile(CENTER, (40, 1))
    return cdp.geodesic_regression(x, y, BALL, LARGE, secret=cdp.NoiseSecret(bytes(32)), **RANGE)


FIT = _plain_fit()
_REGRESSION = "regression.private.geodesic_regression"
add("geodesic_regression", _regression, _REGRESSION, scales_are_drawn=True)
add(
    "geodesic_regression with tau",
    lambda data, folder: _regression(data, folder, tau=0.3, v_max=0.5, sampler="whitened"),
    _REGRESSION,
)
add(
    "geodesic_regression of persons",
    _regression_of_persons,
    _REGRESSION,
    by_unit=True,
    scales_are_drawn=True,
)
add(
    "r_squared",
    lambda data, folder: _paid(cdp.r_squared, data.x, data.rows, FIT, guarantee=GDP),
    "regression.r_squared.r_squared",
)
add(
    "trend_test",
    lambda data, folder: _paid(cdp.trend_test, data.x, data.rows, BALL, guarantee=GDP, **RANGE),
    "regression.trend.trend_test",
)
add(
    "trend_test of persons",
    lambda data, folder: _paid(
        cdp.trend_test, data.x, data.rows, BALL, guarantee=GDP, units=data.persons, **RANGE
    ),
    "regression.trend.trend_test",
    by_unit=True,
)
add(
    "r_squared of persons",
    lambda data, folder: _paid(
        cdp.r_squared, data.x, data.rows, FIT, guarantee=GDP, units=data.persons
    ),
    "regression.r_squared.r_squared",
    by_unit=True,
)


def _fitted_regression(data: Data, units: Any = None) -> Any:
    model = cdp.GeodesicRegression(BALL, LARGE, ledger=cdp.Ledger(cdp.GDP(100.0)), **RANGE)
    return model.fit(data.x, data.rows, units=units)


def _regression_estimator(data: Data, folder: Path) -> Any:
    model = _fitted_regression(data)
    return model, model.predict(data.x).shape


_ESTIMATOR = "learning.geodesic_regression.GeodesicRegression"
add(
    "GeodesicRegression",
    _regression_estimator,
    *(f"{_ESTIMATOR}.{name}" for name in ("fit", "predict")),
    scales_are_drawn=True,
)
add(
    "GeodesicRegression of persons",
    lambda data, folder: _fitted_regression(data, data.persons),
    f"{_ESTIMATOR}.fit",
    by_unit=True,
    scales_are_drawn=True,
)


add(
    "GeodesicRelease",
    lambda data, folder: FIT.predict(data.x).shape,
    "regression.release.GeodesicRelease.predict",
)

# -------------------------------------------------------------------------------- estimators


def _estimator(
    name: str,
    make: Callable[[], Any],
    methods: tuple[str, ...],
    *,
    with_y: bool = False,
    y_is_public: bool = False,
    drawn: bool = False,
) -> None:
    def fitted(data: Data, **how: Any) -> Any:
        y = [k % 2 for k in range(len(data.y))] if y_is_public else data.y
        labels = [own == "north" for own in data.site] if y_is_public and how else y
        return make().fit(data.rows, *([labels] if with_y else []), **how)

    def plain(data: Data, folder: Path) -> Any:
        model = fitted(data)
        given = {"inverse_transform": [np.zeros((3, 2))]}
        done = [getattr(model, own)(*given.get(own, [data.rows])) for own in methods]
        return model, [(own.shape if hasattr(own, "shape") else type(own)) for own in done]

    def of_persons(data: Data, folder: Path) -> Any:
        return fitted(data, units=data.persons)

    where = type(make()).__module__.removeprefix("curvedp.") + "." + name
    covers = tuple(f"{where}.{own}" for own in ("fit", *methods))
    add(name, plain, *covers, scales_are_drawn=drawn)
    add(f"{name} of persons", of_persons, f"{where}.fit", by_unit=True, scales_are_drawn=drawn)


def _budget() -> dict[str, Any]:
    return {"ledger": cdp.Ledger(cdp.GDP(100.0))}


_estimator(
    "FrechetMean",
    lambda: cdp.FrechetMean(BALL, GDP, **_budget()),
    ("transform", "inverse_transform", "score"),
)
_estimator(
    "PrivateKMeans",
    lambda: PrivateKMeans(2, ball=BALL, guarantee=LARGE, **_budget()),
    ("transform", "predict", "score"),
    drawn=True,
)
_estimator(
    "PrivateMDM",
    lambda: PrivateMDM(BALL, LARGE, classes_per_unit=2, **_budget()),
    ("transform", "predict", "predict_proba"),
    with_y=True,
    y_is_public=True,
    drawn=True,
)
_estimator(
    "TangentLogisticRegression",
    lambda: TangentLogisticRegression(BALL, LARGE, classes=[0, 1, 2], n_steps=4, **_budget()),
    ("predict", "predict_proba"),
    with_y=True,
)
_estimator(
    "TangentPCA",
    lambda: TangentPCA(BALL, LARGE, n_components=2, **_budget()),
    ("transform", "inverse_transform"),
    drawn=True,
)

# -------------------------------------------------------------------------------------- mail

ANCHORS = np.random.default_rng(3).standard_normal((12, 3))


def _mail() -> Any:
    return cdp.PrivateMail(2, guarantee=GDP, post_iterations=1, **_budget())


def _embedding(data: Data, folder: Path) -> Any:
    model = _mail()
    return model.fit(data.rows, data.y), model.fit_transform(data.rows, data.y)


def _query(data: Data, folder: Path) -> Any:
    mail = cdp.PrivateMail(2, guarantee=PURE)
    labels = [k % 2 for k in range(12)]
    private = np.ma.array(data.rows) if isinstance(data.rows, np.ma.MaskedArray) else data.rows
    row = list(private)[10]
    released = [mail.embed_query(row, ANCHORS, labels, method=own) for own in METHODS]
    return released, Client(mail, ANCHORS, labels).ask(row, n_matches=3)


def _queries(data: Data, folder: Path) -> Any:
    mail = cdp.PrivateMail(2, guarantee=PURE, **_budget())
    private = np.ma.array(data.rows) if isinstance(data.rows, np.ma.MaskedArray) else data.rows
    names = [f"query {j}" for j in range(len(list(private)))]
    labels = [k % 2 for k in range(12)]
    how = {"groups": names, "groups_per_unit": 2}
    return [mail.embed_queries(private, ANCHORS, labels, method=own, **how) for own in METHODS]


add(
    "PrivateMail of many queries",
    _queries,
    "mail.private_mail.PrivateMail.embed_queries",
    kinds=ARRAYS,
)
add(
    "PrivateMail",
    _embedding,
    "mail.private_mail.PrivateMail.fit",
    "mail.private_mail.PrivateMail.fit_transform",
    kinds=(*ARRAYS, "frame"),
    scales_are_drawn=True,
)
add(
    "PrivateMail of a query",
    _query,
    "mail.private_mail.PrivateMail.embed_query",
    "mail.roles.Client.ask",
    kinds=ARRAYS,
)


# ----------------------------------------------------------------------- published, conformal

_PUBLISHED = {
    "frechet_mean": ("frechet_mean", {}, GDP),
    "frechet_variance": ("moments", {}, GDP),
    "fourth_moment": ("moments", {}, GDP),
    "log_covariance": ("moments", {}, GDP),
    "mean_hessian": ("moments", {}, GDP),
    "confidence_region": ("inference", {}, LARGE),
    "variance_interval": ("inference", {}, LARGE),
    "conformal_mean": ("conformal", {"chain_length": 20}, PURE),
}
for _name, (_home, _own, _guarantee) in _PUBLISHED.items():
    add(
        f"published.{_name}",
        lambda data, folder, _name=_name, _own=_own, _guarantee=_guarantee: getattr(
            published, _name
        )(data.rows, BALL, _guarantee, **_own),
        f"published.{_home}.{_name}",
        scales_are_drawn=True,
    )
add(
    "published.geodesic_regression",
    lambda data, folder: published.geodesic_regression(
        data.x, data.rows, BALL, cdp.PureDP(8.0), tau=0.3, chain_length=20, **RANGE
    ),
    "published.regression.geodesic_regression",
    scales_are_drawn=True,
)
add(
    "published.private_mail",
    lambda data, folder: published.private_mail(data.rows, data.y, GDP),
    "published.mail.private_mail",
    kinds=(*ARRAYS, "frame"),
    scales_are_drawn=True,
)
add(
    "conformal_mean",
    lambda data, folder: _paid(cdp.conformal_mean, data.rows, BALL, guarantee=PURE),
    "conformal.mean.conformal_mean",
    scales_are_drawn=True,
)
add(
    "conformal_mean of persons",
    lambda data, folder: _paid(
        cdp.conformal_mean, data.rows, BALL, guarantee=PURE, units=data.persons
    ),
    "conformal.mean.conformal_mean",
    by_unit=True,
    scales_are_drawn=True,
)
MESH = conformal.ball_mesh(BALL, 60)
add(
    "density of persons",
    lambda data, folder: _paid(
        *(conformal.density, data.rows, BALL), guarantee=PURE, mesh=MESH, units=data.persons
    ),
    "conformal.density.density",
    by_unit=True,
)
add(
    "density",
    lambda data, folder: _paid(conformal.density, data.rows, BALL, guarantee=PURE, mesh=MESH),
    "conformal.density.density",
)

# ------------------------------------------------------------------------------- descriptors


def _shapes(data: Data, size: int) -> Any:
    """Records of several points: each with its neighbours' rows for the others."""
    rows = list(data.rows)
    base = np.arange(3.0 * size).reshape(size, 3) % 5.0
    told = [[*base[:-1].tolist(), row] for row in rows]
    if isinstance(data.rows, np.ma.MaskedArray):
        whole = np.ma.array(np.tile(base, (len(rows), 1, 1)))
        whole[:, -1] = data.rows
        return whole
    return (
        np.array(told, dtype=getattr(data.rows, "dtype", None))
        if isinstance(data.rows, np.ndarray)
        else told
    )


def _there_and_back(there: Any, back: Any, records: Any) -> tuple[int, ...]:
    """The shape alone, as descriptors are records."""
    return tuple(np.shape(back(np.nan_to_num(there(records)))))


TEMPLATE = np.random.default_rng(1).standard_normal((6, 3))
LANDMARKS = descriptors.AlignedLandmarks(TEMPLATE)
CURVES = descriptors.ElasticCurves(
    np.random.default_rng(2).standard_normal((8, 3)).cumsum(axis=0), samples=10
)
add(
    "AlignedLandmarks",
    lambda data, folder: (
        LANDMARKS.to_landmarks(np.nan_to_num(LANDMARKS.to_points(_shapes(data, 6)))).shape
    ),
    "descriptors.landmarks.AlignedLandmarks.to_points",
    "descriptors.landmarks.AlignedLandmarks.to_landmarks",
    kinds=ARRAYS,
)
add(
    "fill_landmarks",
    lambda data, folder: (
        LANDMARKS.to_points(descriptors.fill_landmarks(_shapes(data, 6), TEMPLATE)).shape
    ),
    "descriptors.missing_landmarks.fill_landmarks",
    kinds=ARRAYS,
)
add(
    "ElasticCurves",
    lambda data, folder: _there_and_back(CURVES.to_points, CURVES.to_curves, _shapes(data, 8)),
    "descriptors.curves.ElasticCurves.to_points",
    "descriptors.curves.ElasticCurves.to_curves",
    kinds=ARRAYS,
)
add(
    "image_covariance",
    lambda data, folder: (
        descriptors.image_covariance(_shapes(data, 4), value_range=(0.0, 5.0)).shape
    ),
    "descriptors.images.image_covariance",
    kinds=ARRAYS,
)
add(
    "time_series_covariance",
    lambda data, folder: descriptors.time_series_covariance(_shapes(data, 6), ridge=0.1).shape,
    "descriptors.time_series.time_series_covariance",
    kinds=ARRAYS,
)

# --------------------------------------------------------------------------------- geometry


def _geometry(data: Data, folder: Path) -> Any:
    """Shapes alone: whether a point belongs to a space or a ball is no release."""
    space = BALL.manifold
    points = space.as_points(data.rows)
    found = [
        space.belongs(data.rows),
        space.project(data.rows),
        space.to_tangent(data.rows, CENTER),
        space.log(data.rows, CENTER),
        space.exp(data.rows, CENTER),
        space.dist(data.rows, CENTER),
        space.norm(data.rows, CENTER),
        space.tangent_to_coords(data.rows, CENTER),
        space.parallel_transport(data.rows, CENTER, direction=CENTER),
        space.to_lonlat(data.rows),
        BALL.project(data.rows),
        BALL.contains(data.rows),
        MESH.nearest(data.rows),
        points,
    ]
    return [np.shape(own) for own in found]


_MANIFOLD = (
    *("belongs", "exp", "log", "norm", "parallel_transport", "project"),
    *("tangent_to_coords", "to_tangent"),
)
add(
    "geometry",
    _geometry,
    *(f"manifolds.base.Manifold.{name}" for name in _MANIFOLD),
    "manifolds.records.RecordReader.as_points",
    "manifolds.vectors._LonLat.to_lonlat",
    "domain.Ball.project",
    "domain.Ball.contains",
    "conformal.mesh.Mesh.nearest",
)
PRODUCT = cdp.Product(cdp.Euclidean(1), cdp.Euclidean(2))
PRODUCT_BALL = cdp.ProductBall(
    cdp.Ball("euclidean:1", [0.0], 1.0), cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
)


def _products(data: Data, folder: Path) -> Any:
    points = PRODUCT.as_points(data.rows)
    places = (PRODUCT_BALL.project(data.rows), PRODUCT_BALL.contains(data.rows))
    release = _paid(cdp.frechet_mean, data.rows, PRODUCT_BALL, guarantee=GDP)
    return release, [np.shape(own) for own in (points, *PRODUCT.split(data.rows), *places)]


add(
    "products",
    _products,
    "manifolds.product.Product.split",
    "product_ball.ProductBall.contains",
    "product_ball.ProductBall.project",
)


def _rank_exponential(data: Data, folder: Path) -> Any:
    noise = cdp.mechanisms.RankExponential(0.5, low=0.0, high=1.0, guarantee=PURE)
    return np.shape(noise.sample(data.x)), np.shape(noise.log_density([0.5], data.x))


add(
    "RankExponential",
    _rank_exponential,
    "mechanisms.rank_exponential.RankExponential.sample",
    "mechanisms.rank_exponential.RankExponential.log_density",
)


def _grid_quantile(data: Data, folder: Path) -> Any:
    noise = cdp.mechanisms.GridQuantile(0.5, low=0.0, high=1.0, guarantee=PURE)
    return np.shape(noise.sample(data.x)), np.shape(noise.log_density([0.5], data.x))


add(
    "GridQuantile",
    _grid_quantile,
    "mechanisms.grid_quantile.GridQuantile.sample",
    "mechanisms.grid_quantile.GridQuantile.log_density",
)
