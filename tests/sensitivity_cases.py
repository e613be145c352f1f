"""Plain statistics beside their documented sensitivities, and searches for neighbours far apart.

Each search takes the options of a sensitivity as keywords and returns the largest change that it
found between two data sets of `N` records of which as many differ as one unit contributes. The
statistics follow the docstrings, and use the library for distances and logarithms alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import curvedp as cdp
from reference import mail

N = 9
SPHERE = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
PLANE = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
HYPERBOLIC = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=1.0)
TRIALS = 60
#: Records of PrivateMail: the bound on the rows of others is the closer, the more these are.
N_MAIL = 41


def neighbours(ball: cdp.Ball, k: int) -> Iterator[tuple[Any, Any, Any]]:
    """Points, the same with k others, and a point of the ball to look at them from.

    By coordinates at the centre: on the rim, at the point that is looked from, or anywhere; half of
    the replaced ones go from one to another of these.
    """
    rng, r = np.random.default_rng(2), ball.radius
    right, left, up = np.array([r, 0.0]), np.array([-r, 0.0]), np.array([0.0, r])
    for trial in range(TRIALS):
        at = [right, left, np.zeros(2), 0.2 * right, r * rng.uniform(-0.7, 0.7, 2)][trial % 5]
        places = [right, left, at, up, np.zeros(2), r * rng.uniform(-0.7, 0.7, 2)]
        chosen = rng.integers(len(places), size=3)
        own = np.tile(places[chosen[0]], (N, 1))
        if trial % 4 == 3:
            own = r * rng.uniform(-0.7, 0.7, (N, 2))
        other = own.copy()
        own[:k], other[:k] = places[chosen[1]], places[chosen[2]]
        yield points(ball, own), points(ball, other), points(ball, at[None])[0]


def points(ball: cdp.Ball, coords: Any) -> Any:
    """Points with these normal coordinates at the centre."""
    space = ball.manifold
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def clipped_coords(ball: cdp.Ball, records: Any, at: Any, length: float) -> Any:
    """Coordinates of logarithms at a point, clipped to a length."""
    space = ball.manifold
    coords = space.tangent_to_coords(space.log(records, at), at)
    norms = np.linalg.norm(coords, axis=1, keepdims=True)
    return coords * np.minimum(1.0, length / np.maximum(norms, 1e-300))


def farthest(
    ball: cdp.Ball, k: int, statistic: Callable[[Any, Any], Any], norm: Callable[[Any], float]
) -> float:
    """Largest norm of the change of ``statistic(records, at)``."""
    found = (
        norm(statistic(own, at) - statistic(other, at)) for own, other, at in neighbours(ball, k)
    )
    return max(map(float, found))


def euclidean(change: Any) -> float:
    return float(np.linalg.norm(change))


# ------------------------------------------------------------------------------- the searches


def frechet_mean(records_per_unit: int = 1) -> float:
    space = SPHERE.manifold
    return max(
        float(space.dist(*(cdp.nonprivate.frechet_mean(one, space).value for one in pair)))
        for *pair, _ in neighbours(SPHERE, records_per_unit)
    )


def frechet_variance(within: float | None = None, records_per_unit: int = 1) -> float:
    def least(records: Any, _: Any) -> Any:
        mean = records.mean(axis=0)
        limit = PLANE.radius if within is None else within
        point = mean * min(1.0, limit / max(np.linalg.norm(mean), 1e-300))
        return np.mean(np.sum((records - point) ** 2, axis=1))

    return farthest(PLANE, records_per_unit, least, abs)


def _moment(statistic: Callable[[Any], Any], norm: Callable[[Any], float]) -> Callable[..., float]:
    """The search for a mean over records of something of their clipped coordinates."""

    def search(max_dist: float | None = None, records_per_unit: int = 1) -> float:
        reach = 2 * SPHERE.radius if max_dist is None else max_dist

        def mean(records: Any, at: Any) -> Any:
            coords = clipped_coords(SPHERE, records, at, reach)
            return np.mean([statistic(own, reach) for own in coords], axis=0)

        return farthest(SPHERE, records_per_unit, mean, norm)

    return search


def _fourth(coords: Any, _: float) -> Any:
    return np.linalg.norm(coords) ** 4


def _distances(coords: Any, reach: float) -> Any:
    a = (np.linalg.norm(coords) / reach) ** 2
    return np.array([a, cdp.sensitivity.FOURTH_MOMENT_WEIGHT * (a * a - a)])


def _outer(coords: Any, _: float) -> Any:
    return np.outer(coords, coords)


def _hessian(coords: Any, _: float) -> Any:
    """Of the squared distance on the sphere: 2 along the logarithm, 2 x cot x across it."""
    x = np.linalg.norm(coords)
    if x < 1e-9:
        return 2.0 * np.eye(2)
    along = np.outer(coords, coords) / x**2
    return 2.0 * along + 2.0 * x / np.tan(x) * (np.eye(2) - along)


def _with_trace(change: Any) -> float:
    return float(np.hypot(np.linalg.norm(change), np.trace(change)))


def kng_mean(tau: float | None = None, records_per_unit: int = 1) -> float:
    length = np.inf if tau is None else tau

    def gradient(records: Any, at: Any) -> Any:
        return clipped_coords(SPHERE, records, at, length).mean(axis=0)

    return farthest(SPHERE, records_per_unit, gradient, euclidean)


def _regression(norm: Callable[[Any, Any], float]) -> Callable[..., float]:
    """The search for gradients at a geodesic of curvature -1.

    A residual (a, b) along and across it at time t moves the gradient in the footpoint by (a, b
    cosh(vt)) and that in the velocity by (t a, b sinh(vt)/v).
    """

    def search(tau: float, v_max: float, records_per_unit: int = 1) -> float:
        rng, best = np.random.default_rng(3), 0.0
        for trial in range(300):
            speed = v_max if trial % 2 else v_max * rng.random()
            times = rng.choice([-0.5, 0.5, rng.uniform(-0.5, 0.5)], size=2)
            if trial % 3:
                times = times[:1].repeat(2)
            angle = rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)])
            residual = tau * np.array([np.cos(angle), np.sin(angle)])
            change = [
                np.array([a, b * np.cosh(speed * t), t * a, b * np.sinh(speed * t) / speed])
                for t, (a, b) in zip(times, (residual, -residual), strict=True)
            ]
            moved = (change[0] - change[1]) * records_per_unit / N
            best = max(best, norm(moved[:2], moved[2:]))
        return best

    return search


def _sum_of_norms(footpoint: Any, velocity: Any) -> float:
    return euclidean(footpoint / 2 + velocity) + euclidean(footpoint / 2 - velocity)


def mail_iteration(
    bandwidth: float = 1.0,
    alpha: float = 2.0,
    diameter: float = 1.0,
    label_bandwidth: float | None = None,
    radius: float = 1.0,
    form: str = "normalised",
    records_per_unit: int = 1,
    weight_error: float = 0.0,
) -> float:
    """Records, labels and rows of the embedding at two poles, in several proportions."""
    sigma_y = bandwidth if label_bandwidth is None else label_bandwidth
    best, k = 0.0, records_per_unit
    for ours in np.linspace(0, N_MAIL - k, 9, dtype=int):
        side = np.concatenate([np.ones(k + ours), -np.ones(N_MAIL - k - ours)])
        for label in (0, 1):
            labels = (side < 0).astype(int)
            z, ends = 0.5 * diameter * side[:, None], []
            for sign, own in ((1.0, label), (-1.0, 1 - label)):
                rows, classes = radius * side[:, None], labels.copy()
                rows[:k], classes[:k] = sign * radius, own
                kernels = mail.gaussian_kernel(rows, bandwidth), mail.label_kernel(classes, sigma_y)
                ends.append(mail.iterate(z, *kernels, alpha, form))
            best = max(best, euclidean(ends[0] - ends[1]))
    return best


def mail_query(bandwidth: float = 1.0, diameter: float = 1.0, radius: float = 1.0) -> float:
    anchors, places = radius * np.array([1.0, -1.0]), diameter * np.array([0.5, -0.5])
    found = []
    for query in anchors:
        weights = np.exp(-((query - anchors) ** 2) / (2 * bandwidth**2))
        found.append(weights @ places / weights.sum())
    return abs(found[0] - found[1])


#: Of each public sensitivity: the search, what it is asked about besides options, and the options,
#: the first value of each being where the others are varied.
CASES: dict[str, tuple[Callable[..., float], tuple[Any, ...], dict[str, tuple[Any, ...]]]] = {
    "frechet_mean": (frechet_mean, (SPHERE, N), {"records_per_unit": (1, 3)}),
    "frechet_variance": (
        frechet_variance,
        (PLANE, N),
        {"within": (None, 0.0, 0.5), "records_per_unit": (1, 3)},
    ),
    **{
        name: (
            _moment(statistic, norm),
            (SPHERE, N),
            {"max_dist": (None, 0.5), "records_per_unit": (1, 3)},
        )
        for name, statistic, norm in (
            ("fourth_moment", _fourth, abs),
            ("distance_moments", _distances, euclidean),
            ("log_covariance", _outer, _with_trace),
            ("mean_hessian", _hessian, euclidean),
        )
    },
    "kng_mean": (kng_mean, (SPHERE, N), {"tau": (None, 0.3), "records_per_unit": (1, 3)}),
    **{
        f"regression_{name}": (
            _regression(norm),
            (HYPERBOLIC, N),
            {"tau": (0.1, 0.3), "v_max": (0.5, 3.0), "records_per_unit": (1, 3)},
        )
        for name, norm in (
            ("footpoint", lambda p, _: euclidean(p)),
            ("shooting", lambda _, v: euclidean(v)),
            ("sum_of_norms", _sum_of_norms),
        )
    },
    "mail_iteration": (
        mail_iteration,
        (N_MAIL,),
        {
            "bandwidth": (1.0, 2.0),
            "alpha": (2.0, 0.5, -2.0),
            "diameter": (1.0, 2.0),
            "label_bandwidth": (None, 2.0),
            "radius": (1.0, 0.5),
            "form": ("normalised", "published"),
            "records_per_unit": (1, 3),
            "weight_error": (0.0, 0.1),
        },
    ),
    "mail_query": (
        mail_query,
        (),
        {"bandwidth": (1.0, 2.0), "diameter": (1.0, 2.0), "radius": (1.0, 0.5)},
    ),
}
