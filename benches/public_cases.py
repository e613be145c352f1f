"""Questions from public threads, answered: each right, or refused with the way on.

    python public_cases.py                                   # the verdicts
    python benches/public_cases.py --write docs/measured/public-cases.md

A case draws records like those of its thread, asks curvedp as its author would, and looks at the
answer. "right" is an answer whose distance from the exact one is at most ten times the error that
the release states, and that says what it must say; "refused" an error, before anything is paid,
that names what works. Anything else is "WRONG", and fails a test.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.spatial.transform import Rotation

import curvedp as cdp
from curvedp.datasets import load_diffusion_tensors
from curvedp.descriptors import ElasticCurves, time_series_covariance
from curvedp.directions import mean_direction

RIGHT, REFUSED, WRONG = "right", "refused", "WRONG"
#: Largest error of a right answer, in expected errors: Gaussian noise exceeds it with probability
#: below 1e-9 in every dimension.
_TIMES = 10.0


@dataclass(frozen=True)
class Case:
    """A question of a thread, and what is done with it.

    Attributes
    ----------
    threads : str
    asked, answer : str
        What was asked, and what answers it here.
    verdict : {"right", "refused"}
        What is expected.
    run : callable
        The verdict that is found.
    own : bool
        True in the second round.
    newcomer : bool
        True in the third: what somebody met who had read no more than README.
    """

    threads: str
    asked: str
    answer: str
    verdict: str
    run: Callable[[], str]
    own: bool = False
    newcomer: bool = False


CASES: list[Case] = []


def case(
    threads: str,
    asked: str,
    answer: str,
    verdict: str = RIGHT,
    *,
    own: bool = False,
    newcomer: bool = False,
) -> Callable[[Callable[[], bool]], Callable[[], bool]]:
    """Adds the function that looks at an answer; True if it is as it must be."""

    def added(check: Callable[[], bool]) -> Callable[[], bool]:
        def run() -> str:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return verdict if check() else WRONG

        CASES.append(Case(threads, asked, answer, verdict, run, own, newcomer))
        return check

    return added


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def near(release: Any, exact: Any, unit: float = 1.0) -> bool:
    """True if a released point is as near the exact one as it says."""
    space = cdp.as_manifold(release.manifold)
    return bool(space.dist(release.value, exact) <= unit * _TIMES * release.expected_error)


def says(call: Callable[[], Any], *words: str, error: type[Exception] = ValueError) -> bool:
    """True if a call is refused by an error that says these words."""
    try:
        call()
    except error as refusal:
        return all(word in str(refusal) for word in words)
    return False


# ------------------------------------------------------------------------- circle and directions


@case(
    "SparkyFitness#1410",
    "mean bedtime of 800 users around midnight",
    '`Ball.from_units("clock", "hours", ...)`, `Torus(1).as_points(hours, angle_units="hours")`',
)
def bedtimes() -> bool:
    hours = _rng(1).normal(0.0, 1.1, 800) % 24
    ball = cdp.Ball.from_units("clock", "hours", center=0, radius=5.9)
    points = ball.manifold.as_points(hours, angle_units="hours")
    mean = cdp.frechet_mean(points, ball, cdp.GDP(1.0))
    middle = np.angle(np.exp(1j * hours * np.pi / 12).mean())
    off = float(ball.manifold.dist(mean.value, [middle]))
    return off <= _TIMES * mean.expected_error and "hours" in mean.report()


@case(
    "atria#41",
    "events at 23 h and 11 h: a mean of two opposite groups means nothing",
    "`directions.mean_direction` says that the mean vector may be 0, and which set holds it",
)
def opposite_groups() -> bool:
    rng = _rng(2)
    hours = np.concatenate([rng.normal(23, 0.7, 400), rng.normal(11, 0.7, 400)])
    found = mean_direction(hours, "torus:1", cdp.GDP(1.0), angle_units="hours")
    return found.mean_resultant_length < 0.4 and "may be 0" in found.report()


@case(
    "mplstereonet#39",
    "mean of poles of joints that dip to both sides",
    "axes: `Projective(2)` with longitude and latitude, back by `to_lonlat`",
)
def poles() -> bool:
    rng = _rng(3)
    x = np.array([0.0, 1.0, 0.05]) + 0.2 * rng.standard_normal((600, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[x[:, 2] < 0] *= -1
    lonlat = cdp.Sphere(2).to_lonlat(x)
    ball = cdp.Ball("projective:2", center=[90.0, 0.0], radius=0.75)
    mean = cdp.frechet_mean(lonlat, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(lonlat), "projective:2").value
    return near(mean, exact) and cdp.Projective(2).to_lonlat(mean.value).shape == (2,)


@case(
    "astropy#4823",
    "mean of 45°, 135°, 225°, 315°: some number comes out",
    "the mean vector may be 0, which is said; no direction is claimed",
)
def symmetric_angles() -> bool:
    degrees = np.tile([45.0, 135.0, 225.0, 315.0], 250)
    found = mean_direction(degrees, "torus:1", cdp.GDP(1.0), angle_units="degrees")
    return found.mean_resultant_length < 0.1 and "may be 0" in found.report()


@case(
    "miranda#371",
    "mean wind direction for every day",
    "`groups=`; labels find the releases",
)
def wind_by_day() -> bool:
    direction = np.degrees(_rng(4).vonmises(0.6, 3.0, 4000))
    day = np.repeat(np.arange(100, 120), 200)
    ball = cdp.Ball.from_units("clock", "degrees", center=0, radius=89)
    points = ball.manifold.as_points(direction, angle_units="degrees")
    found = cdp.frechet_mean(points, ball, cdp.GDP(1.0), groups=day)
    exact = cdp.nonprivate.frechet_mean(ball.project(points[day == 107]), "torus:1").value
    return len(found) == 20 and near(found[107], exact) and "degrees" in found.report()


# -------------------------------------------------------------------------------- covariances


@case(
    "pyRiemann#65, pyRiemann#95, mne-python#7727",
    "covariances after an average reference are singular",
    "the count of records inside the ball warns; `time_series_covariance(ridge=)` mends them",
)
def average_reference() -> bool:
    signals = _rng(5).standard_normal((300, 8, 200)) * np.linspace(1, 3, 8)[:, None]
    signals -= signals.mean(axis=1, keepdims=True)
    covariances = signals @ signals.swapaxes(1, 2) / 200
    ball = cdp.Ball("spd:8", center=4 * np.eye(8), radius=6.0)
    bad = cdp.frechet_mean(covariances, ball, cdp.GDP(1.0))
    mended = time_series_covariance(signals, ridge=0.05)
    good = cdp.frechet_mean(mended, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(mended), "spd:8").value
    return "WARNING" in bad.report() and near(good, exact) and "WARNING" not in good.report()


@case(
    "geomstats#1010, geomstats#913",
    "the mean of diag(e², 1) and 1 should be diag(e, 1)",
    "`nonprivate.frechet_mean`, with a certified distance",
)
def two_matrices() -> bool:
    pair = np.array([np.diag([np.e**2, 1.0]), np.eye(2)])
    found = cdp.nonprivate.frechet_mean(pair, "spd:2")
    return bool(np.abs(found.value - np.diag([np.e, 1.0])).max() < 1e-8)


@case(
    "geoopt#235",
    "geodesics, transport and means of SPD matrices",
    "`SPD(3).exp`, `log`, `parallel_transport`: half the geodesic is the mean of two",
)
def geodesic_of_spd() -> bool:
    space, (a, b) = cdp.SPD(3), load_diffusion_tensors().records[:2]
    half = space.exp(0.5 * space.log(b, a), a)
    mean = cdp.nonprivate.frechet_mean(np.stack([a, b]), space).value
    return bool(space.dist(half, mean) < 1e-8)


@case(
    "nilearn#1580",
    "tangent vectors of subjects that were not in the fit",
    "`FrechetMean(ball, guarantee).fit(...)`, then `transform` of others",
)
def tangent_of_others() -> bool:
    signals = _rng(6).standard_normal((120, 6, 80))
    covariances = time_series_covariance(signals, ridge=0.01)
    ball = cdp.Ball("spd:6", center="identity", radius=2.0)
    fitted = cdp.FrechetMean(ball, cdp.GDP(1.0)).fit(covariances[:100])
    found, space = fitted.transform(covariances[100:]), cdp.SPD(6)
    base = fitted.release_.value
    coords = space.tangent_to_coords(space.log(covariances[100:], base), base)
    return bool(np.abs(found - coords).max() < 1e-8)


# ------------------------------------------------------------------------------------ tensors

_TENSORS = cdp.Ball.from_units("dti", "1e-3 mm^2/s")


def _six(order: list[tuple[int, int]]) -> np.ndarray:
    full = load_diffusion_tensors().records
    return np.stack([full[:, i, j] for i, j in order], axis=1)


@case(
    "dipy#2673, dipy#2674",
    "in which order are the six numbers of a tensor?",
    '`order="fsl"`, `"dipy"` or `"mrtrix"`; columns by their names; a wrong order warns',
)
def order_of_six() -> bool:
    dipy = _six([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)])
    space = _TENSORS.manifold
    mean = cdp.frechet_mean(space.as_points(dipy, order="dipy"), _TENSORS, cdp.GDP(1.0))
    exact = _TENSORS.project(load_diffusion_tensors().records)
    wrong = cdp.frechet_mean(dipy, _TENSORS, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(exact, space).value
    return near(mean, exact) and "WARNING" in wrong.report()


@case(
    "ukf#66",
    "some tensors have negative eigenvalues",
    "they count as the ball's centre, which the count of records tells; nothing raises",
)
def negative_eigenvalues() -> bool:
    tensors = load_diffusion_tensors().records.copy()
    tensors[::20] -= 4.0 * np.eye(3)
    found = cdp.frechet_mean(tensors, _TENSORS, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(_TENSORS.project(tensors), "spd:3").value
    return near(found, exact) and found.coverage is not None


@case(
    "opendp#2936, opendp#2939",
    "a fifth of the records is missing",
    "missing records count as the centre, and the count of records warns",
)
def a_fifth_missing() -> bool:
    tensors = load_diffusion_tensors().records.copy()
    tensors[::5] = np.nan
    return "WARNING" in cdp.frechet_mean(tensors, _TENSORS, cdp.GDP(1.0)).report()


# --------------------------------------------------------------------- rotations and subspaces


@case(
    "Magic-Leap#4, mne-python#4895",
    "quaternions q and -q are one turn, and some files have the scalar first",
    "either sign is read; `scalar_first=True`, or columns w, x, y, z; a wrong order warns",
)
def quaternions() -> bool:
    from scipy.spatial.transform import Rotation

    rng = _rng(7)
    turns = Rotation.from_euler("z", 0.5) * Rotation.from_rotvec(0.2 * rng.normal(size=(400, 3)))
    first = turns.as_quat()[:, [3, 0, 1, 2]] * rng.choice([-1.0, 1.0], size=(400, 1))
    ball = cdp.Ball.from_units("rotations", "degrees", radius=70)
    points = ball.manifold.as_points(first, scalar_first=True)
    mean = cdp.frechet_mean(points, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(turns.as_matrix()), "rotations:3").value
    wrong = cdp.frechet_mean(first, ball, cdp.GDP(1.0))
    return near(mean, exact) and "WARNING" in wrong.report()


@case(
    "pymanopt#63, pymanopt#69",
    "mean of subspaces, whatever their bases",
    "`Grassmann(6, 2)`: bases and projectors are read",
)
def subspaces() -> bool:
    rng = _rng(8)
    base = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    bases = np.linalg.qr(base + 0.1 * rng.standard_normal((500, 6, 2)))[0]
    bases = bases @ np.linalg.qr(rng.standard_normal((500, 2, 2)))[0]
    guess = np.linalg.qr(base + 0.15 * rng.standard_normal((6, 2)))[0]
    ball = cdp.Ball("grassmann:6:2", center=guess, radius=0.75)
    mean = cdp.frechet_mean(bases, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(bases), ball.manifold).value
    projectors = cdp.frechet_mean(bases @ bases.swapaxes(1, 2), ball, cdp.GDP(1.0))
    return near(mean, exact) and near(projectors, exact)


@case(
    "poincare-embeddings#86",
    "points of the Poincaré ball fall on its rim by rounding",
    "they count as the centre, and the count of records tells; the ball bounds all others",
)
def on_the_rim() -> bool:
    points = 0.3 + 0.2 * _rng(9).uniform(-1, 1, (600, 2))
    points[::3] /= np.linalg.norm(points[::3], axis=1, keepdims=True)
    ball = cdp.Ball("hyperboloid:2", center="origin", radius=2.0)
    found = cdp.frechet_mean(points, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(points), ball.manifold).value
    return near(found, exact) and "WARNING" in found.report()


# ------------------------------------------------------------------------- numbers and budgets


@case(
    "diffprivlib#107",
    "median of many salaries, most of them equal",
    "`quantile`: ties are no trouble",
)
def tied_salaries() -> bool:
    values = np.concatenate([np.full(80_000, 65_000), _rng(10).integers(0, 500_000, 20_000)])
    found = cdp.quantile(values, 0.5, low=0, high=500_000, guarantee=cdp.PureDP(1.0))
    return abs(float(found.value) - 65_000) <= 1


@case("diffprivlib#43", "the median of a constant list", "`quantile` gives the constant")
def constant_list() -> bool:
    found = cdp.quantile(np.full(5000, 5), 0.5, low=0, high=10, guarantee=cdp.PureDP(1.0))
    return abs(float(found.value) - 5.0) < 1e-3


@case(
    "diffprivlib#79, opendp#2329",
    "several quantiles at once",
    "`quantile(values, [.25, .5, .75], ...)`: one budget for all",
)
def several_quantiles() -> bool:
    values = _rng(11).normal(40.0, 12.0, 20_000)
    found = cdp.quantile(values, [0.25, 0.5, 0.75], low=0, high=100, guarantee=cdp.PureDP(1.0))
    return bool(np.abs(found.value - np.quantile(values, [0.25, 0.5, 0.75])).max() < 1.0)


@case(
    "diffprivlib#58, diffprivlib#104",
    "bounds that are not symmetric; a list of ages",
    'a ball on the line: `Ball("euclidean:1", center=[50.0], radius=50.0)`; lists are read',
)
def mean_of_ages() -> bool:
    ball = cdp.Ball("euclidean:1", center=[50.0], radius=50.0)
    return near(cdp.frechet_mean([33, 45, 60] * 1000, ball, cdp.GDP(1.0)), [46.0])


@case(
    "google/dp#378",
    "accounting for Gaussian noise: which relation?",
    "the guarantee names its relation; its exact epsilon at a delta is `to_epsilon`",
)
def relation_of_accounting() -> bool:
    replaced, added = cdp.GDP(1.0), cdp.GDP(1.0, neighbours="add-remove")
    same = math.isclose(replaced.to_epsilon(1e-6), 4.89, rel_tol=1e-2)
    return same and replaced.neighbours == "replace" and added.neighbours == "add-remove"


@case(
    "autodp#39",
    "conversions that do not come back",
    "`to_epsilon` and `to_delta` are inverse to each other",
)
def conversions() -> bool:
    found = [
        cdp.GDP(mu).to_delta(cdp.GDP(mu).to_epsilon(delta)) / delta
        for mu, delta in ((0.5, 1e-6), (1.0, 1e-9), (5.0, 1e-5))
    ]
    return bool(np.abs(np.array(found) - 1.0).max() < 1e-6)


@case(
    "PySyft#6916",
    "two subjects: do their queries compose in parallel?",
    "`groups=` in one call costs a person the guarantee once; separate calls add up",
)
def parallel() -> bool:
    ledger = cdp.Ledger(cdp.GDP(1.0))
    values, ball = _rng(12).normal(size=(1000, 1)), cdp.Ball("euclidean:1", "origin", 5.0)
    groups = np.repeat(["A", "B"], 500)
    cdp.frechet_mean(values, ball, cdp.GDP(0.5), groups=groups, ledger=ledger)
    at_once = ledger.spent
    cdp.frechet_mean(values[:500], ball, cdp.GDP(0.5), ledger=ledger)
    later = ledger.spent
    found = (at_once.mu, later.mu) if at_once is not None and later is not None else (0.0, 0.0)
    return bool(np.allclose(found, (0.5, math.sqrt(0.5))))


@case(
    "smartnoise-sdk#537",
    "does delta have an effect?",
    "it does: the expected error falls as delta grows",
)
def delta_matters() -> bool:
    ball = cdp.Ball("euclidean:20", "origin", 1.0)
    errors = [
        cdp.expected_error(ball, n=1000, guarantee=cdp.ApproxDP(1.0, delta))
        for delta in (1e-9, 1e-6, 1e-3)
    ]
    return errors == sorted(errors, reverse=True) and errors[0] > errors[2]


@case(
    "smartnoise-sdk#422",
    "the price of several queries before they run",
    "`compose(...)`, and `Ledger.check`, which charges nothing",
)
def price_before() -> bool:
    whole = cdp.compose(*[cdp.GDP(0.5)] * 4)
    ledger = cdp.Ledger(cdp.GDP(0.9))
    refused = says(lambda: ledger.check(whole), "0.9", error=cdp.BudgetError)
    return math.isclose(whole.mu, 1.0) and refused


@case(
    "PipelineDP#122",
    "groups that are too small for pure noise on curved spaces",
    "refused before anything is paid, with the size that works; `skip_small=True` leaves them out",
    REFUSED,
)
def small_groups() -> bool:
    groups = np.array(["big"] * 600 + ["tiny"] * 4)
    ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    rows = np.tile(np.eye(3), (604, 1, 1))
    ledger = cdp.Ledger(cdp.PureDP(2.0))

    def call(**more: Any) -> Any:
        return cdp.frechet_mean(rows, ball, cdp.PureDP(1.0), groups=groups, **more)

    refused = says(lambda: call(ledger=ledger), "skip_small", error=cdp.ExistenceError)
    left = dict(call(skip_small=True).items())
    return refused and not ledger.entries and list(left) == ["big"]


# ------------------------------------------------------------------------------ cases of our own


@case(
    "scipy#12740",
    "the circular deviation of nearly equal angles is NaN",
    "the mean resultant length stays in [0, 1], the variance is finite",
    own=True,
)
def nearly_equal_angles() -> bool:
    angles = np.array([0.12675364631578953] * 10 + [0.12675365920187928] * 990)
    found = mean_direction(angles, "torus:1", cdp.GDP(1.0))
    return 0.9 < found.mean_resultant_length <= 1.0 and 0.0 <= found.circular_variance < 0.1


@case(
    "scipy#13457",
    "deviation of angles all around the circle depends on how the range is written",
    "angles are read up to whole turns; a test of uniformity does not reject",
    own=True,
)
def all_around() -> bool:
    degrees = np.arange(-180.0, 180.0)
    here, there = (
        mean_direction(own, "torus:1", cdp.GDP(1.0), angle_units="degrees", seed=1)
        for own in (degrees, degrees + 360.0)
    )
    same = math.isclose(here.mean_resultant_length, there.mean_resultant_length, abs_tol=1e-9)
    return same and here.uniformity_p_value > 1e-6 and "may be 0" in here.report()


@case(
    "scipy#6420",
    "a circular mean outside of the range that was asked for",
    "released angles lie in [-π, π), whatever turns the records come with",
    own=True,
)
def outside_the_range() -> bool:
    ball = cdp.Ball("torus:1", [2.8], 1.0)
    angles = 3.1 + 0.1 * _rng(13).standard_normal((1000, 1)) + 2 * np.pi * np.arange(1000)[:, None]
    mean = cdp.frechet_mean(angles, ball, cdp.GDP(1.0))
    in_range = bool(-np.pi <= float(mean.value[0]) < np.pi)
    exact = cdp.nonprivate.frechet_mean(ball.project(angles), "torus:1").value
    return in_range and near(mean, exact)


@case(
    "circstat-matlab#19",
    "the mean of nothing but NaN is 0",
    "it is the ball's centre, and the count of records warns",
    own=True,
)
def nothing_but_nan() -> bool:
    ball = cdp.Ball("torus:1", [1.0], 1.0)
    return "WARNING" in cdp.frechet_mean(np.full((500, 1), np.nan), ball, cdp.GDP(1.0)).report()


@case(
    "geomstats#975",
    "the mean of rigid motions is no rigid motion",
    "`RigidMotions`: every release is one",
    own=True,
)
def rigid_motions() -> bool:
    space, rng = cdp.RigidMotions(length=10.0), _rng(14)
    turns = cdp.Ball("rotations:3", center="identity", radius=1.0)
    ball = cdp.ProductBall(turns, cdp.Ball("euclidean:3", "origin", 20.0), manifold=space)
    turned = Rotation.from_rotvec([0.5, 0.0, 0.0] + 0.2 * rng.standard_normal((500, 3)))
    motions = space.join((turned.as_matrix(), 5.0 + rng.standard_normal((500, 3))))
    mean = cdp.frechet_mean(motions, ball, cdp.GDP(1.0))
    exact = cdp.nonprivate.frechet_mean(ball.project(motions), space).value
    return bool(space.belongs(mean.value)) and near(mean, exact)


@case(
    "geomstats#1283",
    "the mean of curves divides by a velocity of zero",
    "`ElasticCurves`: a curve without length becomes the centre; nothing warns or raises",
    own=True,
)
def curves_without_length() -> bool:
    angle = np.linspace(0.0, 6.0, 40)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    curves = circle + 0.02 * _rng(15).standard_normal((300, 40, 2))
    curves[::50] = 1.0
    aligned = ElasticCurves(circle)
    ball = aligned.ball(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        points = aligned.to_points(curves)
        value = cdp.frechet_mean(points, ball, cdp.GDP(5.0), coverage=False).value
    return bool(np.isfinite(value).all())


@case(
    "scipy#14548, scipy#19649",
    "quaternions of other programs come as w, x, y, z",
    "columns named so are read so; a name that contradicts the order is refused",
    REFUSED,
    own=True,
)
def names_of_quaternions() -> bool:
    import pandas as pd

    turn = Rotation.from_rotvec([0.5, 0.0, 0.0])
    rows = np.tile(np.roll(turn.as_quat(), 1), (500, 1))
    ball = cdp.Ball.from_units("rotations", "degrees", radius=60)
    named = pd.DataFrame(rows, columns=["qw", "qx", "qy", "qz"])
    is_read = near(cdp.frechet_mean(named, ball, cdp.GDP(1.0)), turn.as_matrix())
    wrong = named.rename(columns={"qx": "a", "qy": "b", "qz": "c", "qw": "w"})
    return is_read and says(lambda: cdp.frechet_mean(wrong, ball, cdp.GDP(1.0)), "'w'", "number 4")


@case(
    "diffprivlib#80, diffprivlib#87",
    "a NaN or infinity in the records: an error, or bounds that are NaN",
    "neither error nor warning depends on it: it counts as the centre, or as an end",
    own=True,
)
def nan_and_infinity() -> bool:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf, -np.inf, 5.0, 5.0] * 300)
    ball = cdp.Ball("euclidean:1", center=[2.5], radius=2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, which records decide
        mean = cdp.frechet_mean(values[:, None], ball, cdp.GDP(1.0))
        median = cdp.quantile(values, 0.5, low=0, high=5, guarantee=cdp.PureDP(1.0))
    exact = ball.project(values[:, None]).mean(axis=0)
    return near(mean, exact) and 2.0 <= float(median.value) <= 4.0


@case(
    "PySyft#6956",
    "a NaN in the data spends a budget of NaN",
    "what is paid is the guarantee, whatever the records hold",
    own=True,
)
def budget_of_nan() -> bool:
    ledger = cdp.Ledger(cdp.GDP(1.0))
    ball = cdp.Ball("euclidean:1", "origin", 1.0)
    cdp.frechet_mean(np.full((100, 1), np.nan), ball, cdp.GDP(0.25), ledger=ledger)
    return ledger.spent is not None and math.isclose(ledger.spent.mu, 0.25)


@case(
    "opendp#2331",
    "a median of groups fails for some settings of contributions",
    "`quantile(groups=, records_per_unit=)`: the same range serves all",
    own=True,
)
def median_of_contributions() -> bool:
    values, groups = _rng(16).uniform(20.0, 60.0, 6000), np.arange(6000) % 3
    found = [
        cdp.quantile(
            *(values, 0.5), low=0, high=100, guarantee=cdp.PureDP(1.0), groups=groups,
            records_per_unit=most,
        )
        for most in (1, 10)
    ]  # fmt: skip
    return all(abs(float(own.value) - 40.0) < 8.0 for own_found in found for own in own_found)


@case(
    "dp-wizard#656, opendp#318",
    "what does delta mean, and is n public?",
    "the report says both in sentences: who is protected, what n is, what a test can find",
    own=True,
)
def what_a_report_says() -> bool:
    ball = cdp.Ball("euclidean:1", "origin", 1.0)
    told = cdp.frechet_mean(np.zeros((500, 1)), ball, cdp.ApproxDP(1.0, 1e-6)).report()
    return all(word in told for word in ("Public, so not", "n = 500", "false alarms", "against:"))


@case(
    "pyRiemann#72",
    "an error of the mean does not say what to do with too few samples",
    "no error depends on a record: `ridge=` is asked for when covariances are made",
    REFUSED,
    own=True,
)
def ridge_is_asked_for() -> bool:
    signals: Any = _rng(17).standard_normal((10, 20, 5))
    return says(lambda: time_series_covariance(signals), "ridge", error=TypeError)


# ---------------------------------------------------------------- first guesses of newcomers


@case(
    "an astronomer: the whole table",
    "latitude and longitude stand among other columns",
    "`table[['lon', 'lat']]` is named",
    REFUSED,
    newcomer=True,
)
def whole_table() -> bool:
    pandas = import_module("pandas")
    table = pandas.DataFrame(_rng(18).uniform(0, 50, (300, 3)), columns=["lat", "depth", "lon"])
    table["mag"] = 1.0
    return says(
        lambda: cdp.frechet_mean(table, cdp.Sphere(2), cdp.GDP(1.0)), "table[['lon', 'lat']]"
    )


@case(
    "an astronomer: poles of orbits",
    "mean axis, how sure it is, and whether any is preferred",
    '`directions.mean_axis(poles, "projective:2", ...)`, Bingham\'s test',
    newcomer=True,
)
def poles_of_orbits() -> bool:
    poles = _rng(19).choice([-1, 1], (2000, 1)) * _rng(20).normal([0, 0, 3], 1.0, (2000, 3))
    mean = cdp.directions.mean_axis(poles, "projective:2", cdp.GDP(1.0))
    off = float(cdp.Projective(2).dist(mean.mean_axis, [0.0, 0.0, 1.0]))
    return off <= 3 * mean.half_angle < 0.3 and mean.uniformity_p_value < 1e-6


@case(
    "an astronomer: km",
    "how many records for an error of 5 km?",
    '`plan("frechet_mean", Ball.from_units("earth", "km", ...), ..., error=5)`',
    newcomer=True,
)
def five_km() -> bool:
    ball = cdp.Ball.from_units("earth", "km", center=[13.4, 52.5], radius=500)
    found = cdp.plan("frechet_mean", ball, cdp.GDP(1.0), error=5)
    return found.high <= 5 and "km" in found.report()


@case(
    "a neuroscientist: a volume and its mask",
    "`frechet_mean(volume, ball, guarantee, mask=mask)`",
    "`as_points(volume, mask=mask)` is named",
    REFUSED,
    newcomer=True,
)
def volume_and_mask() -> bool:
    volume, mask = np.tile(np.eye(3), (2, 2, 2, 1, 1)), np.ones((2, 2, 2), bool)
    call: dict[str, Any] = {"mask": mask}
    return says(
        lambda: cdp.frechet_mean(volume, cdp.SPD(3), cdp.GDP(1.0), **call),
        "as_points",
        error=TypeError,
    )


@case(
    "a neuroscientist: patients and controls",
    "`compare_means(patients, controls, ball, guarantee)`",
    "that it takes the regions of both, and what makes them",
    REFUSED,
    newcomer=True,
)
def patients_and_controls() -> bool:
    both, compare = np.zeros((2, 40, 2)), cast("Callable[..., Any]", cdp.compare_means)
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    return says(
        lambda: compare(*both, ball, cdp.GDP(1.0)), "released regions", error=TypeError
    ) and says(lambda: compare(*both), "confidence_region(records", error=TypeError)


@case(
    "an engineer of brain-computer interfaces: pyRiemann's words",
    '`SPD(8, metric="riemann")`, `curvedp.MDM`',
    "the metric is understood; `curvedp.learning.PrivateMDM` is named",
    newcomer=True,
)
def pyriemanns_words() -> bool:
    is_led = says(lambda: getattr(cdp, "MDM"), "PrivateMDM", error=AttributeError)  # noqa: B009
    return is_led and cdp.SPD(8, metric="riemann") == cdp.SPD(8)


@case(
    "the same: its keywords",
    '`PrivateMDM(..., metric="riemann")`, `fit(..., sample_weight=w)`',
    "the space's `metric=` and `units=` are named",
    REFUSED,
    newcomer=True,
)
def pyriemanns_keywords() -> bool:
    model = cast("type[Any]", import_module("curvedp.learning").PrivateMDM)
    ball = cdp.Ball("spd:2", np.eye(2), 1.0)
    return says(
        lambda: model(ball, cdp.GDP(1.0), metric="riemann"), "SPD(3, metric=", error=TypeError
    ) and says(
        lambda: model(ball, cdp.GDP(1.0)).fit(None, None, sample_weight=1.0),
        "units=",
        error=TypeError,
    )


@case(
    "a biologist: shapes against age",
    "`geodesic_regression(shapes, age, ...)`",
    "that x comes before y is said",
    REFUSED,
    newcomer=True,
)
def shapes_against_age() -> bool:
    shapes = _rng(21).standard_normal((30, 8, 2))
    ball = cdp.Ball("kendall:8", center=shapes[0], radius=0.3)
    return says(
        lambda: cdp.geodesic_regression(
            shapes, np.arange(30.0), ball, cdp.GDP(1.0), x_range=(0, 30)
        ),
        "which x precedes",
    )


@case(
    "a biologist: landmarks that are missing",
    "`KendallPlanar(8).as_points(landmarks, template=first)`",
    "`descriptors.fill_landmarks` is named",
    REFUSED,
    newcomer=True,
)
def missing_landmarks() -> bool:
    read: Any = cdp.KendallPlanar(8).as_points
    shapes = _rng(22).standard_normal((30, 8, 2))
    return says(lambda: read(shapes, template=shapes[0]), "fill_landmarks", error=TypeError)


@case(
    "a biologist: columns of a table",
    "landmarks in `X1, ..., X12, Y1, ..., Y12`, quaternions in `q0, q1, q2, q3`",
    "both are read by the names of their columns",
    newcomer=True,
)
def columns_of_landmarks() -> bool:
    pandas = import_module("pandas")
    space, turns = cdp.KendallPlanar(12), cdp.Rotations()
    shapes = 0.1 * _rng(23).standard_normal((400, 12, 2)) + _rng(24).standard_normal((12, 2))
    names = [f"{axis}{number}" for axis in "XY" for number in range(1, 13)]
    table = pandas.DataFrame(shapes.transpose(0, 2, 1).reshape(400, 24), columns=names)
    w, x, y, z = numbers = _rng(25).standard_normal((4, 50))
    named = pandas.DataFrame(numbers.T, columns=["q0", "q1", "q2", "q3"])
    same = turns.as_points(np.stack([x, y, z, w], axis=1))
    mean = cdp.frechet_mean(table, space, cdp.GDP(2.0))
    off = float(space.dist(mean.value, cdp.nonprivate.frechet_mean(shapes, space).value))
    return off <= _TIMES * mean.expected_error and np.allclose(turns.as_points(named), same)


@case(
    "a biologist: landmarks in space, arrays of R",
    "`KendallPlanar(10)` of shape (n, 10, 3); records on the last axis",
    "`descriptors.AlignedLandmarks` and `numpy.moveaxis` are named",
    REFUSED,
    newcomer=True,
)
def landmarks_in_space() -> bool:
    read = cdp.KendallPlanar(10).as_points
    return says(lambda: read(np.ones((9, 10, 3))), "AlignedLandmarks") and says(
        lambda: read(np.ones((10, 2, 9))), "numpy.moveaxis"
    )


@case(
    "a search engineer: a ledger of another kind",
    "`GDP` releases from a `Ledger(ApproxDP(8.0, 1e-5))`",
    "`to_approx_dp` and `sufficient_gdp` are named",
    REFUSED,
    newcomer=True,
)
def ledger_of_another_kind() -> bool:
    ledger = cdp.Ledger(cdp.ApproxDP(8.0, 1e-5))
    words, kind = ("to_approx_dp", "sufficient_gdp"), cdp.errors.ConversionError
    return says(lambda: ledger.spend(cdp.GDP(0.2)), *words, error=kind) and ledger.spent is None


@case(
    "a search engineer: names of other libraries",
    "`curvedp.PoincareBall(2)`, `curvedp.Hypersphere(63)`",
    "`Hyperboloid` and `Sphere` are named",
    REFUSED,
    newcomer=True,
)
def other_names() -> bool:
    wanted = {"PoincareBall": "Hyperboloid", "Hypersphere": "Sphere"}
    return all(
        says(lambda name=name: getattr(cdp, name), f"curvedp.{own}", error=AttributeError)  # type: ignore[misc]
        for name, own in wanted.items()
    )


# ------------------------------------------------------------------------------------ the page


def rows() -> Iterator[str]:
    """Lines of the table."""
    rounds = (("A first round", False, False), ("A second round", True, False))
    for title, *of in (*rounds, ("First guesses of newcomers", False, True)):
        yield f"## {title}\n"
        yield f"| {'who' if of[1] else 'thread'} | asked | verdict | here |"
        yield "|---|---|---|---|"
        for item in CASES:
            if [item.own, item.newcomer] == of:
                yield f"| {item.threads} | {item.asked} | {item.verdict} | {item.answer} |"
        yield ""


#: Who, pages that answered beside README and the guide, calls, those refused, those of them without
#: the way on, processor seconds of all calls.
PATHS = """
| an astronomer: orbits, earthquakes | [directions](../directions.md) | 25 | 6 | 1 | 1.5 |
| a neuroscientist: connectomes, tensors | [coming from](../coming-from.md), \
[the ball](../choosing-the-ball.md), [tests](../tests.md) | 26 | 8 | 2 | 2.5 |
| an engineer: gestures, EEG | [learning](../learning.md) | 25 | 3 | 0 | 8.7 |
| a biologist: skulls, leaves, brains | [regression](../geodesic-regression.md), \
[descriptors](../descriptors.md) | 30 | 13 | 5 | 1.6 |
| a search engineer: embeddings, a taxonomy | [PrivateMail](../privatemail.md), \
[learning](../learning.md) | 30 | 5 | 1 | 8.0 |
"""


#: Who, tasks, minutes of all by the clock, the longest task and its minutes, calls, those refused.
CLOCKED = """
| directions, times of day, sites | 7 | 8 | a table of places on the sphere, 2.9 | 158 | 62 |
| tensors, connectomes, sessions | 9 | 8 | a batch of 2,000 regions, 2.0 | 191 | 65 |
| landmarks, rotations, two papers | 9 | 9 | size against shape, 2.1 | 129 | 54 |
| covariances of EEG and muscles | 9 | 9 | a classifier with persons, 2.2 | 208 | 64 |
| embeddings, a taxonomy, retrieval | 9 | 13 | a statistic of one's own, 3.3 | 417 | 89 |
"""


def page() -> str:
    """The page, with the verdicts that are expected: `run_all` tells whether they are found."""
    return "\n".join(
        [
            "# Questions from public threads\n",
            "Written by `python benches/public_cases.py --write docs/measured/public-cases.md`, "
            "which runs each case on records",
            "like those of its thread; a test runs them, too. *Right*: within ten times the error "
            "that the release states, or what the case asks,",
            "and what must be said is said. *Refused*: before anything is paid, by an error that "
            "names what works. The last tables",
            "have what newcomers met who had read README and guessed the rest.\n",
            *rows(),
            "Their paths, begun anew on 27 November 2026 with public data: pages that answered "
            "beside README and guide; calls in the order in which",
            "they came to mind, those that were refused, and those that were refused without "
            "saying what to do instead; processor seconds of all.",
            "Without advice were fractional anisotropy elsewhere than where "
            "[it stands](../coming-from.md),",
            "`to_landmarks`, neighbours of released queries; and, mended since, `plot` of a mean "
            "direction, a mean as the ball's centre, landmarks in",
            "three dimensions, the text of a TPS file, `r_squared` of a ball.\n",
            "| who | pages | calls | refused | with no advice | seconds |",
            "|---|---|---|---|---|---|" + PATHS,
            "By the clock, on the same day: automated readers, no people, who had not seen the "
            "library, guessed from habit and looked up what was",
            "refused. They read far faster than people: these minutes tell which task takes longer "
            "than another, not how long a person takes.\n",
            "| field | tasks | minutes in all | the longest, minutes | calls, about | refused |",
            "|---|---|---|---|---|---|" + CLOCKED,
        ]
    )


def run_all() -> dict[str, tuple[str, str]]:
    """Expected and found verdict of each case, by its threads."""
    return {item.threads: (item.verdict, item.run()) for item in CASES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path)
    where = parser.parse_args().write
    found = run_all()
    for threads, (verdict, own) in found.items():
        print(f"{own:8} {threads}" + ("" if own == verdict else f"  (expected: {verdict})"))
    wrong = [threads for threads, (verdict, own) in found.items() if own != verdict]
    if wrong:
        raise SystemExit(f"wrong: {', '.join(wrong)}")
    if where is not None:
        where.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
