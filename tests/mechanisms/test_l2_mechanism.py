"""The l2 mechanism: its privacy curve from above, its calibration, and releases by it."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import curvedp as cdp
from curvedp.errors import ExistenceError
from curvedp.mechanisms import choose_mechanism, pure_epsilon, ways_of_one_draw
from curvedp.opendp import make_frechet_mean
from curvedp.privacy import l2_noise
from curvedp.privacy.l2_noise import LARGEST_DIM, l2_delta, l2_epsilon, largest_pure_epsilon
from reference.l2_noise import delta as delta_by_grid

ONE = cdp.ApproxDP(1.0, 1e-3)


def line(dim: int) -> cdp.Ball:
    return cdp.Ball(f"euclidean:{dim}", center=[0.0] * dim, radius=1.0)


# ------------------------------------------------------------------ the curve


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 50])
@pytest.mark.parametrize(("epsilon", "growth"), [(0.0, 0.3), (0.5, 2.0), (2.0, 1.5)])
def test_the_curve_is_that_of_brute_force(dim, epsilon, growth):
    shift = epsilon * growth if epsilon else growth
    grid = delta_by_grid(epsilon, shift, dim)
    assert l2_delta(epsilon, shift, dim) == pytest.approx(grid, rel=2e-3, abs=1e-6)


def exact_masses(epsilon: float, shift: float, dim: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P(A) and Q(A) by quadrature with 30 digits."""
    with mpmath.workdps(30):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(shift)
        half, norm = (s * s - e * e) / 2, mpmath.beta(mpmath.mpf(dim - 1) / 2, mpmath.mpf(1) / 2)
        edge = mpmath.acos(e / s)

        def upper(x):
            return mpmath.exp(-x) * sum(x**k / mpmath.factorial(k) for k in range(dim))

        def lower(x):
            return 1 - upper(x) if x > dim else mpmath.gammainc(dim, 0, x, regularized=True)

        def near(angle):
            return mpmath.sin(angle) ** (dim - 2) * lower(
                half / max(e - s * mpmath.cos(angle), 1e-30)
            )

        def far(angle):
            return mpmath.sin(angle) ** (dim - 2) * upper(half / (s * mpmath.cos(angle) - e))

        cap = mpmath.quad(lambda angle: mpmath.sin(angle) ** (dim - 2), [0, edge])
        ends = [edge + (mpmath.pi - edge) * x for x in (0, 0.01, 0.1, 0.5, 1)]
        turns = [edge * x for x in (0, 0.5, 0.9, 0.99, 0.999)]
        return (cap + mpmath.quad(near, ends)) / norm, mpmath.quad(far, turns) / norm


@pytest.mark.parametrize(
    ("epsilon", "shift", "dim"), [(1.0, 1.2, 6), (0.5, 0.7, 2), (1.0, 2.5, 36)]
)
def test_the_masses_are_bounds_and_close(epsilon, shift, dim):
    near, far = exact_masses(epsilon, shift, dim)
    above = l2_noise._mass_at_origin(epsilon, shift, dim) / near
    below = l2_noise._mass_at_shift(epsilon, shift, dim) / far
    assert 1 - 1e-12 < above < 1 + 2e-5
    assert 1 - 2e-5 < below < 1 + 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("dim", [2, 3, 19, 20, 21, 100, 200, 201, 1024])
def test_gamma_functions_err_far_less_than_the_margin(dim):
    import scipy

    for x in [*(dim * np.geomspace(0.05, 4, 7)), *(dim + np.sqrt(dim) * np.linspace(-4, 4, 5))]:
        x = float(abs(x))
        with mpmath.workdps(40):
            lower = mpmath.gammainc(dim, 0, x, regularized=True)
            upper = mpmath.gammainc(dim, x, regularized=True)
        for computed, exact in (
            (scipy.special.gammainc(dim, x), lower),
            (scipy.special.gammaincc(dim, x), upper),
        ):
            if exact > 1e-290:
                assert abs(float(computed / exact - 1)) < l2_noise._MARGIN / 100


def test_in_one_dimension_it_is_the_laplace_mechanism():
    for epsilon, shift in ((0.0, 0.5), (1.0, 1.3), (2.0, 7.0)):
        exact = -math.expm1((epsilon - shift) / 2)
        assert exact <= l2_delta(epsilon, shift, 1) <= exact * (1 + 2e-8)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 8.0), st.floats(1e-3, 3.0), st.integers(1, 200), st.floats(1.001, 1.5))
def test_the_curve_falls_with_epsilon_and_grows_with_the_shift(epsilon, more, dim, factor):
    """But where epsilon is so close to the shift that the curve of every mechanism is taken."""
    shift = epsilon + more
    pairs = ((epsilon, shift), (epsilon, shift * factor), (epsilon + 0.1 * more, shift))
    assume(all(b - a > 1.001 * l2_noise._least_gap(dim, b) for a, b in pairs))
    own, room = l2_delta(epsilon, shift, dim), 1 + 1e-4
    cancelled = 2e-5 * l2_noise._mass_at_origin(epsilon, shift, dim) if dim > 1 else 0.0
    assert 0.0 < own < 1.0
    assert own <= l2_delta(epsilon, shift * factor, dim) * room + cancelled
    assert l2_delta(epsilon + 0.1 * more, shift, dim) <= own * room + cancelled


# ------------------------------------------------------------------ the calibration


@pytest.mark.parametrize(
    ("epsilon", "delta", "dim", "error"),
    # scale times dimension, from the grid of lengths and angles
    [
        (1.0, 1e-3, 6, 4.976),
        (1.0, 1e-6, 36, 22.612),
        (3.0, 1e-3, 10, 2.641),
        (0.1, 1e-6, 10, 86.243),
    ],
)
def test_the_scale_is_known(epsilon, delta, dim, error):
    assert dim / l2_epsilon(epsilon, delta, dim) == pytest.approx(error, rel=2e-4)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.0, 20.0), st.floats(-12.0, -0.5), st.sampled_from([1, 2, 3, 6, 20, 300]))
@example(0.5, -6.0, 2)  # a search from the largest pure epsilon ended there, .0022 below
@example(0.4975375276509353, -10.06895, 6)
def test_what_is_calibrated_keeps_delta_and_spends_it(epsilon, exponent, dim):
    delta = 10.0**exponent
    own = l2_epsilon(epsilon, delta, dim)
    assert own >= largest_pure_epsilon(epsilon, delta)
    assert l2_delta(epsilon, own, dim) <= delta
    assert l2_delta(epsilon, own * (1 + 1e-5) + l2_noise._least_gap(dim, own), dim) > delta


@pytest.mark.parametrize("epsilon", [5e-324, 1e-12, 1.0, 700.0, 1e300])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 0.999])
@pytest.mark.parametrize("dim", [1, 2, LARGEST_DIM, 100_000])
def test_extremes_have_at_least_what_every_pure_mechanism_may_have(epsilon, delta, dim):
    own = l2_epsilon(epsilon, delta, dim)
    assert math.isfinite(own)
    assert own >= largest_pure_epsilon(epsilon, delta) > 0.0
    if delta < 1e-100 or dim > LARGEST_DIM:
        assert own == pure_epsilon(cdp.ApproxDP(epsilon, delta))


def test_scales_that_cannot_be_drawn_are_refused():
    with pytest.raises(ExistenceError, match="times epsilon and delta"):
        cdp.L2Mechanism(line(3), 1e-310, ONE)


# ------------------------------------------------------------------ draws


def measured_delta(mechanism, moved: float, epsilon: float, n: int) -> tuple[float, float]:
    """Mean and standard error of (1 - e^(epsilon - L))_+ over draws at a true value."""
    dim = mechanism.ball.manifold.dim
    true, other = np.zeros(dim), np.eye(dim)[0] * moved
    drawn = mechanism.sample(true, n_samples=n)
    loss = mechanism.log_density(drawn, true) - mechanism.log_density(drawn, other)
    lost = np.maximum(-np.expm1(epsilon - loss), 0.0)
    return float(lost.mean()), float(lost.std() / math.sqrt(n))


@pytest.mark.parametrize("dim", [1, 2, 3, 50])
def test_draws_lose_what_was_asked_for_and_no_more(dim):
    asked = cdp.ApproxDP(1.0, 0.02)
    mean, error = measured_delta(cdp.L2Mechanism(line(dim), 0.1, asked), 0.1, 1.0, 40_000)
    assert mean == pytest.approx(asked.delta, abs=7 * error)


@pytest.mark.parametrize("dim", [1, 2, 3, 50])
def test_half_of_the_sensitivity_is_found(dim):
    asked = cdp.ApproxDP(1.0, 0.02)
    mean, error = measured_delta(cdp.L2Mechanism(line(dim), 0.05, asked), 0.1, 1.0, 40_000)
    assert mean > asked.delta + 7 * error


def test_on_positive_curvature_the_chart_counts():
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.0)
    scale = cdp.L2Mechanism(ball, 0.01, ONE).scale
    flat = cdp.L2Mechanism(line(2), 0.01, ONE).scale
    assert scale == pytest.approx(flat / math.sin(1.0), rel=1e-6)


def test_the_unit_error_is_that_of_the_noise():
    mechanism = cdp.L2Mechanism(line(6), 0.01, ONE)
    drawn = mechanism.sample(np.zeros(6), n_samples=20_000)
    mean = float(np.linalg.norm(drawn, axis=1).mean())
    assert mechanism.expected_error == pytest.approx(6 * mechanism.scale, rel=1e-3)
    assert mean == pytest.approx(mechanism.expected_error, rel=0.03)


# ------------------------------------------------------------------ choice and releases


def test_it_is_chosen_where_its_error_is_least():
    for dim, name in ((6, "l2 mechanism"), (100, "l2 mechanism"), (1100, "tangent Gaussian")):
        noise = {
            kind: cdp.expected_error(line(dim), 10_000, ONE, mechanism=kind, coverage=False)
            for kind in ("riemannian-laplace", "tangent-gaussian", "l2-mechanism")
        }
        own = cdp.expected_error(line(dim), 10_000, ONE, coverage=False)
        assert own == min(noise.values())
        mean = cdp.frechet_mean(np.zeros((10_000, dim)), line(dim), ONE, coverage=False)
        assert mean.mechanism == name


def test_the_gain_in_six_dimensions_is_a_sixth():
    kinds = ("riemannian-laplace", "tangent-gaussian")
    two = [cdp.expected_error(line(6), 500, ONE, mechanism=kind, coverage=False) for kind in kinds]
    own = cdp.expected_error(line(6), 500, ONE, coverage=False)
    assert own / min(two) == pytest.approx(0.83, abs=0.005)


def test_only_requests_of_epsilon_and_delta_have_that_way():
    assert ways_of_one_draw(ONE)[-1] == ONE
    assert ways_of_one_draw(ONE, "l2-mechanism") == (ONE,)
    assert choose_mechanism(line(2), ONE) is cdp.L2Mechanism
    for asked in (cdp.PureDP(1.0), cdp.GDP(1.0), cdp.ZCDP(0.5), cdp.ApproxDP(0.0, 0.1)):
        assert not any(isinstance(way, cdp.ApproxDP) for way in ways_of_one_draw(asked))
    for asked in (cdp.GDP(1.0), cdp.ZCDP(0.5)):
        with pytest.raises(TypeError, match="l2 mechanism gives pure or"):
            cdp.L2Mechanism(line(2), 0.1, asked)


@pytest.mark.parametrize("counted", [True, False])
def test_releases_say_what_they_are_by_and_can_be_stored(counted):
    records, ball = np.zeros((500, 6)), line(6)
    ledger = cdp.Ledger(cdp.ApproxDP(1.0, 1e-3))
    mean = cdp.frechet_mean(records, ball, ONE, coverage=counted, ledger=ledger)
    assert (mean.mechanism, mean.calibrated_to, mean.guarantee) == ("l2 mechanism", ONE, ONE)
    assert "by l2 mechanism" in mean.report()
    assert cdp.Release.from_json(mean.to_json()) == mean
    count = mean.coverage.guarantee.epsilon if counted else 0.0
    least = 0.004 / l2_epsilon(1.0 - count, 1e-3, 6)
    assert mean.scale == pytest.approx(least, rel=1e-3)
    assert ledger.spent == ONE


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own | {"scale": own["scale"] * 0.9},
        lambda own: own | {"guarantee": own["guarantee"] | {"delta": 1e-6}},
        lambda own: (
            own | {"guarantee": {"kind": "PureDP", "epsilon": 1.0, "neighbours": "replace"}}
        ),
        lambda own: own | {"mechanism": "tangent Gaussian"},
        lambda own: own | {"mechanism": "Riemannian Laplace"},
    ],
    ids=["scale", "delta", "pure", "gaussian", "laplace"],
)
def test_stored_noise_that_does_not_imply_the_guarantee_is_refused(change):
    mean = cdp.frechet_mean(np.zeros((500, 6)), line(6), ONE, coverage=False)
    with pytest.raises(ValueError, match="impl"):
        cdp.Release.from_json(json.dumps(change(mean.to_dict())))


def test_a_covariance_at_a_given_mean_has_less_noise():
    records, ball = np.zeros((2000, 3)), line(3)
    found = cdp.log_covariance(records, ball, ONE, mean=np.zeros(3), coverage=False)
    assert (found.mechanism, found.calibrated_to) == ("l2 mechanism", ONE)
    moved = found.sensitivity + 2 * found.solver_tolerance
    assert found.scale == pytest.approx(moved / l2_epsilon(1.0, 1e-3, 6), rel=1e-9)
    both = cdp.log_covariance(records, ball, ONE, coverage=False)
    assert both.calibrated_to != ONE  # two draws compose better as GDP


@pytest.mark.parametrize("stretched", [True, False], ids=["right", "broken"])
def test_adaptive_means_count_the_chart_on_positive_curvature(stretched, monkeypatch):
    """Compiled code calibrates the stages after the first, by the mechanism's `stretched`."""
    monkeypatch.setattr(cdp.L2Mechanism, "stretched", stretched)
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.4)
    records, seen = np.tile([0.0, 0.0, 1.0], (2000, 1)), 0
    for _ in range(12):  # a last ball so small that its chart hardly counts comes in .01
        mean = cdp.adaptive_mean(
            records, ball, cdp.PureDP(1.0), schedule=(1, 1, 2), mechanism="l2-mechanism"
        )
        last = mean.parts[-1]
        stretch = last.ball_radius / math.sin(last.ball_radius)
        moved = last.sensitivity + 2 * last.solver_tolerance
        found = last.scale * last.guarantee.epsilon / moved
        if stretch > 1.0 + 1e-4:
            seen += 1
            assert (found == pytest.approx(stretch, rel=1e-6)) is stretched
    assert seen > 0


def test_groups_are_served():
    records, ball = np.zeros((600, 6)), line(6)
    groups = np.repeat(["a", "b"], 300)
    means = cdp.frechet_mean(records, ball, ONE, groups=groups, coverage=False)
    for mean in (means["a"], means["b"]):
        assert (mean.mechanism, mean.guarantee) == ("l2 mechanism", ONE)


def test_opendp_has_means_whose_losses_it_adds_up():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    mean = make_frechet_mean(line(6), 500, ONE)
    assert mean.map(1) == pytest.approx(pure_epsilon(ONE), rel=1e-9)
    assert mean(np.zeros((500, 6))).shape == (6,)


def test_opendp_counts_its_own_epsilon():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    noise = cdp.L2Mechanism(line(6), 0.01, ONE).to_opendp()
    assert noise.map(0.01) == pytest.approx(l2_epsilon(1.0, 1e-3, 6), rel=1e-12)
