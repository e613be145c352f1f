"""No neighbouring data set moves the Fréchet mean further than the bound (docs/proofs).

The bound 2 tan(r√κ)/(n√κ) is attacked by annealed random search over whole data sets and the
replaced record; the family that attains it is checked to come close, so the attack is known to be
able to see a wrong constant.
"""

from __future__ import annotations

import numpy as np
import pytest

import adversarial_search as search

CASES = [
    (search.Flat(3), 1.0),
    (search.Sphere(1), 1.5),
    (search.Sphere(2), 0.6),
    (search.Sphere(2), 1.3),
    (search.Sphere(5), 1.1),
    (search.ComplexProjective(2), 0.35),
    (search.ComplexProjective(2), 0.7),
    (search.ComplexProjective(5), 0.6),
    (search.Planes(4), 0.5),
    (search.Planes(5), 0.7),
    (search.Turns(4), 1.0),
    (search.Turns(5), 1.4),
    (search.Hyperbolic(2), 2.0),
    (search.SPD(2), 2.0),
    (search.SPD(3), 1.5),
]
IDS = [f"{type(space).__name__}({space.dim})-r{radius}" for space, radius in CASES]


def bound(space: search.Space, radius: float, weight: float) -> float:
    """Shift allowed to a record of this weight, written from the formula, not from the library."""
    if space.upper <= 0:
        return 2 * weight * radius
    root = np.sqrt(space.upper)
    return float(2 * weight * np.tan(radius * root) / root)


def published(radius: float, kappa: float, n: int) -> float:
    return float((2 * radius / n) * (np.tan(2 * radius * kappa**0.5) / (radius * kappa**0.5) - 1))


def shift(space: search.Space, coords: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Change of the mean when the first record is replaced by the last; 0 if unsolved."""
    x = space.from_center(coords)
    both = np.stack([x[..., :-1, :], np.concatenate([x[..., -1:, :], x[..., 1:-1, :]], -2)])
    (before, after), norms = space.mean(both, weights)
    solved = (norms < 1e-11).all(0)
    return np.where(solved, space.dist(before, after), 0.0)


def extremal(space: search.Space, radius: float, records: int) -> np.ndarray:
    """The moved record at ±r on one axis (first and last), the others in turn at ±r on the next.

    The second coordinate axis of CP^m completes the first to a complex line, of curvature 4.
    """
    coords = np.zeros((records + 1, space.dim))
    axis = min(1, space.dim - 1)
    coords[1:-1, 0] = radius * (-1.0) ** np.arange(records - 1)
    coords[[0, -1], axis] = radius, -radius
    return coords


#: Spaces of matrices, which take longest: the larger of a kind has no data set of five alike.
DEAR = (search.SPD, search.Planes, search.Turns)
SEARCHES = [
    pytest.param(space, radius, weights, id=f"{weights}-{name}")
    for weights in ("n=2", "n=5", "light record")
    for (space, radius), name in zip(CASES, IDS, strict=True)
    if not (weights == "n=5" and isinstance(space, DEAR) and space.dim > 5 and radius != 1.0)
]


@pytest.mark.parametrize(("space", "radius", "weights"), SEARCHES)
def test_no_neighbouring_data_set_moves_the_mean_further_than_the_bound(space, radius, weights):
    rng = np.random.default_rng(20240 + space.dim)
    light = 1e-3
    mass = {
        "n=2": np.full(2, 0.5),
        "n=5": np.full(5, 0.2),
        "light record": np.array([light, *[(1 - light) / 4] * 4]),
    }[weights]
    restarts = 6 if isinstance(space, DEAR) else 32
    start = radius * rng.standard_normal((restarts, len(mass) + 1, space.dim))
    near = extremal(space, radius, len(mass))
    start[::2] = near + 0.1 * radius * rng.standard_normal(start[::2].shape)
    limit = bound(space, radius, mass[0])
    best, _ = search.climb(
        lambda coords: shift(space, coords, mass) / limit, start, radius, rng, rounds=90
    )
    print(f"tightness {best:.6f}")
    assert best <= 1 + 1e-9
    assert best * limit > 0.9 * 2 * radius * mass[0], "the search is weaker than flat space"


@pytest.mark.parametrize("radius", [0.1, np.pi / 8, 0.6, 1.0, 1.3, 1.45])
@pytest.mark.parametrize(
    ("space", "scale"),
    [
        (search.Sphere(2), 1.0),
        (search.ComplexProjective(2), 0.5),
        (search.Planes(4), 0.5**0.5),
        (search.Turns(4), 2**0.5),
    ],
)
def test_the_extremal_family_approaches_the_bound(space, scale, radius):
    """Half the mass at either end of a diameter, the moved record perpendicular to it."""
    n = 10001
    mass = np.array([1 / n, 0.5 - 0.5 / n, 0.5 - 0.5 / n])
    coords = extremal(space, radius * scale, 3)[None]
    tightness = float(shift(space, coords, mass)[0]) / bound(space, radius * scale, 1 / n)
    print(f"tightness {tightness:.6f}")
    assert 0.999 < tightness <= 1 + 1e-9
    flat = 2 * radius * scale / n
    assert tightness * bound(space, radius * scale, 1 / n) / flat > 0.999 * np.tan(radius) / radius


def test_the_bound_of_curvature_1_fails_on_planes():
    """Negative control: 2 tan(r)/n is exceeded by the family in a tangent plane of curvature 2."""
    radius, light = 0.7, 1e-4
    mass = np.array([light, 0.5 - light / 2, 0.5 - light / 2])
    moved = shift(search.Planes(4), extremal(search.Planes(4), radius, 3)[None], mass)[0]
    assert moved > 1.27 * 2 * light * np.tan(radius)


def test_the_bound_of_curvature_a_quarter_fails_on_rotations_of_four_dimensions():
    """Negative control: the bound of SO(3) is exceeded in a tangent plane of curvature 1/2."""
    radius, light = 1.5, 1e-4
    mass = np.array([light, 0.5 - light / 2, 0.5 - light / 2])
    moved = shift(search.Turns(4), extremal(search.Turns(4), radius, 3)[None], mass)[0]
    assert moved > 1.3 * 2 * light * np.tan(radius / 2) / 0.5


def test_the_flat_bound_fails_on_the_sphere():
    """Negative control: 2r/n, the bound without curvature, is exceeded by the same family."""
    radius, light = 1.0, 1e-4
    space = search.Sphere(2)
    mass = np.array([light, 0.5 - light / 2, 0.5 - light / 2])
    assert shift(space, extremal(space, radius, 3)[None], mass)[0] > 1.5 * 2 * light * radius


@pytest.mark.parametrize("radius", [0.3, np.pi / 8, 0.6, 0.785])
def test_the_published_sensitivity_is_larger_than_the_proved_one(radius):
    proved = bound(search.Sphere(2), radius, 1 / 50)
    assert published(radius, 1.0, 50) > 1.2 * proved
    if radius == 0.785:
        assert published(radius, 1.0, 50) > 500 * proved


def test_the_library_computes_both_sensitivities():
    import curvedp
    from curvedp.sensitivity import frechet_mean

    ball = curvedp.Ball(curvedp.Sphere(2), np.array([0.0, 0.0, 1.0]), 0.6)
    for records_per_unit in (1, 3):
        expected = records_per_unit * 2 * np.tan(0.6) / 500
        value = frechet_mean(ball, 500, records_per_unit=records_per_unit)
        assert expected <= value <= expected * (1 + 2e-9)
    assert curvedp.published.sensitivity.frechet_mean(ball, 500) == pytest.approx(
        published(0.6, 1.0, 500), rel=1e-12
    )
    half = curvedp.Ball(curvedp.Sphere(2, radius=2.0), np.array([0.0, 0.0, 2.0]), 1.2)
    assert frechet_mean(half, 500) == pytest.approx(2 * 2 * np.tan(0.6) / 500, rel=2e-9)
    spd = curvedp.Ball(curvedp.SPD(3), np.eye(3), 1.5)
    assert frechet_mean(spd, 500) == pytest.approx(2 * 1.5 / 500, rel=2e-9)
