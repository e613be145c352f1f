"""Privacy of regression by whitened steps: sensitivities, every stage, and an audit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.mechanisms import RankExponential, vector_noise
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.regression.adaptive_design import moment_noise, second_weight
from many_releases import copies
from regression_problems import ONE, SPACES, SPHERE, geodesic, problem, release

# Sensitivities


def moments_of(t: np.ndarray, a: float) -> np.ndarray:
    """(t, a t t^T), shape (..., q + q^2)."""
    square = a * t[..., :, None] * t[..., None, :]
    return np.concatenate([t, square.reshape(*t.shape[:-1], -1)], axis=-1)


def widest(q: int, a: float) -> float:
    """Largest distance of moments found, of corners, their mixtures and random covariates."""
    rng = np.random.default_rng(q)
    one, two = rng.uniform(-0.5, 0.5, (2, 200_000, q))
    corner = rng.random((2, 200_000, q))
    one = np.where(corner[0] < 0.5, np.sign(one) / 2, one)
    two = np.where(corner[1] < 0.3, -one, np.where(corner[1] < 0.6, one, two))
    golden = (math.sqrt(5) - 1) / 2  # the difference at which one covariate attains the bound
    one[0], two[0] = 0.5, 0.5 - golden
    one[1], two[1] = 0.5, -0.5
    one[2], two[2] = 0.5, 0.5
    two[2, 1:] = -0.5
    two[2, 0] = 0.5 if q > 1 else -0.5
    gaps = np.linalg.norm(moments_of(one, a) - moments_of(two, a), axis=1)
    return float(gaps.max())


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_one_unit_moves_the_moments_by_at_most_their_sensitivity(q):
    a, limit = second_weight(q), math.sqrt(q)
    assert limit * (1 - 1e-9) < widest(q, a) <= limit * (1 + 1e-12)
    too_much = a * (1.01 if q == 1 else 1.5)
    assert widest(q, too_much) > limit * (1 + 1e-3)
    noise = moment_noise(50, q, 1, ONE)
    assert noise.sensitivity >= limit / 50
    assert noise.scale >= noise.sensitivity


def symmetric(rng, size):
    entries = rng.standard_normal((size, size))
    return entries + entries.T + 3 * np.eye(size)


def contributions(space, points, times, ends, at, whitening):
    manifold = space.ball.frame.manifold
    return manifold.regression_contributions(points, times, ends, *at, whitening)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_one_unit_moves_the_mean_by_at_most_its_sensitivity(space):
    rng, n, q = np.random.default_rng(0), 6, 2
    whitening = symmetric(rng, (q + 1) * space.manifold.dim)
    largest, unclipped = 0.0, 0.0
    for trial in range(60):
        length = 10.0 ** rng.uniform(-3, 1)
        at = geodesic(space, rng, q, rng.choice([0.1, 1.0, 30.0]))
        means, raw = [], []
        counts = [1, 1, 1, 1, 1, 1]
        shared = np.random.default_rng(trial).integers(1 << 30)
        for side in (1, 3):  # the last unit is another one, of another size
            counts[-1] = side
            own = np.random.default_rng(shared)
            total = sum(counts)
            times = np.vstack(
                [own.uniform(-0.5, 0.5, (n - 1, q)), rng.choice([-0.5, 0.5], (side, q))]
            )
            _, rows, _, _ = problem(space, own, n - 1, 1.0)
            _, last, _, _ = problem(space, rng, side, 1.0)
            points = space.ball.enter(np.concatenate([rows, last]))
            ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
            assert ends[-1] == total
            found = contributions(space, points, times, ends, at, whitening)
            means.append(_core.clipped_mean(found, length))
            raw.append(found.mean(axis=0))
        bound = 2 * length / n
        largest = max(largest, float(np.linalg.norm(means[0] - means[1])) / bound)
        unclipped = max(unclipped, float(np.linalg.norm(raw[0] - raw[1])) / bound)
    assert 0.5 < largest <= 1 + 1e-12
    assert unclipped > 10.0


def test_opposite_units_attain_the_sensitivity():
    rows = np.zeros((7, 4))
    rows[0] = [3.0, 0.0, 0.0, 4.0]
    moved = rows.copy()
    moved[0] *= -1e6
    gap = _core.clipped_mean(rows, 0.1) - _core.clipped_mean(moved, 0.1)
    assert np.linalg.norm(gap) == pytest.approx(2 * 0.1 / 7, rel=1e-12)


STRANGE = [0.0, 1e308, -1e308, 1e-308, 5e-324, 1.0, -1 / 3, 1e16, math.nan, math.inf, -math.inf]


def test_sums_of_clipped_rows_are_right_to_their_bound_in_exact_arithmetic():
    """Replacing a row by whatever moves the computed mean by 2 C/N and twice the rounding."""
    rng, width, length, n = np.random.default_rng(0), 5, 0.3, 2500
    limit = Fraction(2 * length) / n + 2 * Fraction(length * _core.summation_error(n))
    base = rng.standard_normal((n, width)) * 10.0 ** rng.integers(-12, 12, (n, 1))
    base[:100] = rng.choice(STRANGE, (100, width))
    for _ in range(200):
        one, two = base.copy(), base.copy()
        one[11], two[11] = rng.choice(STRANGE, (2, width))
        gap = [
            Fraction(x) - Fraction(y)
            for x, y in zip(
                _core.clipped_mean(one, length), _core.clipped_mean(two, length), strict=True
            )
        ]
        assert sum(x * x for x in gap) <= limit**2


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("q", [1, 2])
def test_contributions_are_gradients_of_single_records(space, q):
    """Against the kernel of the energy, whose gradients are tested by finite differences."""
    rng, n = np.random.default_rng(5), 5
    _, rows, _, _ = problem(space, rng, n, 0.2)
    points = space.ball.enter(rows)
    times = rng.uniform(-0.5, 0.5, (n, q))
    footpoint, velocities = geodesic(space, rng, q, 0.5 * space.v_max)
    whitening = symmetric(rng, (q + 1) * space.manifold.dim)
    manifold, expected = space.ball.frame.manifold, []
    for point, t in zip(points, times, strict=True):
        # exp_p(w) is exp_p(v/2) for v = 2 w
        _, start, slope = manifold.regression_energy(
            point[None], np.array([0.5]), footpoint, 2 * (t @ velocities), 1e3
        )
        own = np.vstack([-start, *(-2 * x * slope for x in t)])
        expected.append(whitening @ own.ravel())
    single = contributions(
        space, points, times, np.arange(n + 1), (footpoint, velocities), whitening
    )
    np.testing.assert_allclose(single, expected, rtol=1e-9, atol=1e-11)
    ends = np.array([0, 2, n])
    pairs = contributions(space, points, times, ends, (footpoint, velocities), whitening)
    means = [single[:2].mean(axis=0), single[2:].mean(axis=0)]
    np.testing.assert_allclose(pairs, means, rtol=1e-9, atol=1e-11)


# The whole release


class Transcript:
    """Records what every mechanism is applied to and releases; replays what was released."""

    def __init__(self, monkeypatch):
        self.centers, self.outputs, self.replayed = [], [], None
        add, sample = VectorNoise.add, RankExponential.sample

        def noisy(noise, vector, stream):
            return self._next((noise, vector.copy()), lambda: add(noise, vector, stream))

        def drawn(mechanism, values, stream):
            return self._next((mechanism, values.copy()), lambda: sample(mechanism, values, stream))

        monkeypatch.setattr(VectorNoise, "add", noisy)
        monkeypatch.setattr(RankExponential, "sample", drawn)

    def _next(self, center, draw):
        self.centers.append(center)
        if self.replayed is not None:
            return self.replayed[len(self.centers) - 1]
        self.outputs.append(draw())
        return self.outputs[-1]

    def losses(self, run, data_a, data_b):
        """Of each stage the share of its budget that the outputs of `data_a` could spend."""
        self.centers, self.outputs, self.replayed = [], [], None
        first = run(data_a)
        centers, self.replayed, self.centers = self.centers, self.outputs, []
        self.before = centers
        second = run(data_b)
        shares = []
        for (mechanism, a), (_, b), output in zip(centers, self.centers, self.outputs, strict=True):
            if isinstance(mechanism, VectorNoise):
                reach = mechanism.sensitivity + 2 * mechanism.rounding
                shares.append(float(np.linalg.norm(a - b)) / reach)
            else:
                loss = mechanism.log_density(output, a) - mechanism.log_density(output, b)
                shares.append(abs(float(loss[0])) * mechanism.scale / 2)
        return shares, first, second


def transcripts(space, monkeypatch, trials=25):
    """The largest share over random data sets that differ in all records of one unit."""
    audit, rng, largest = Transcript(monkeypatch), np.random.default_rng(0), 0.0
    for trial in range(trials):
        n = int(rng.choice([2, 5, 30]))
        guarantee = [cdp.GDP(1.0), cdp.GDP(30.0), cdp.PureDP(1.0)][trial % 3]
        x, y, _, _ = problem(space, rng, n, 0.3)
        sides = []
        for count in (1, int(rng.integers(1, 6))):
            last_x = rng.choice([0.5, -0.5, 0.0, np.nan], count)
            _, last_y, _, _ = problem(space, rng, count, 2.0)
            last_y[: count // 2] = np.nan
            units = np.concatenate([np.arange(n), np.full(count, n)])
            sides.append((np.append(x, last_x), np.concatenate([y, last_y]), units))

        def run(side, guarantee=guarantee):
            own_x, own_y, units = side
            return release(space, own_x, own_y, guarantee, units=units)

        shares, first, second = audit.losses(run, *sides)
        assert first == second  # all else is a function of what was released
        largest = max(largest, *shares)
    return largest


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_no_stage_spends_more_than_its_share(space, monkeypatch):
    assert 0.5 < transcripts(space, monkeypatch) <= 1 + 1e-9


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_longer_contributions_and_sharper_quantiles_are_found(monkeypatch):
    honest = _core.clipped_mean
    with monkeypatch.context() as broken:
        broken.setattr(_core, "clipped_mean", lambda rows, length: honest(rows, 1.5 * length))
        assert transcripts(SPHERE, broken) > 1.2
    with monkeypatch.context() as broken:
        utility = RankExponential._utility
        broken.setattr(RankExponential, "_utility", lambda own, *ranks: 4 * utility(own, *ranks))
        assert transcripts(SPHERE, broken, trials=150) > 1.05


def test_one_unit_moves_second_moments_by_at_most_their_sensitivity(monkeypatch):
    """Both parts: orthogonal contributions move S, one more in the same direction moves |Omega|."""
    audit, largest = Transcript(monkeypatch), [0.0, 0.0]
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(rng.choice([2, 3]))
        x, y = rng.choice([-0.5, 0.5], n), rng.choice([-1.0, 0.0, 1.0], (n, 2))
        y += 1e-3 * rng.standard_normal((n, 2))
        other_x, other = x.copy(), y.copy()
        other_x[-1] = rng.choice([-0.5, 0.5])
        other[-1] = rng.choice([-1.0, 0.0, 1.0], 2)

        def run(data):
            # residuals of .05 and less are whole: others have the clipping length
            how = {"x_range": (-0.5, 0.5), "tau": 0.05, "coverage": False}
            return cdp.geodesic_regression(*data, ball, cdp.GDP(30.0), **how)

        shares, _, _ = audit.losses(run, (x, y), (other_x, other))
        assert shares[-1] <= 1 + 1e-9
        noise, mean = audit.centers[-1]
        first = audit.before[-1][1]
        parts = np.abs(mean - first) / noise.sensitivity
        largest = [
            max(largest[0], float(np.linalg.norm(parts[:-1]))),
            max(largest[1], float(parts[-1])),
        ]
    # 1/sqrt(1.25) and half of 1/sqrt(2.5), if each were attained alone
    assert 0.6 < largest[0] <= 1 / math.sqrt(1.25)
    assert 0.2 < largest[1] <= 0.5 / math.sqrt(1.25)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("q", [1, 2])
def test_a_contribution_depends_on_its_own_unit_bit_by_bit(space, q):
    """Wherever it stands in a block, and whatever stands beside it."""
    rng, n = np.random.default_rng(2), 300
    _, rows, _, _ = problem(space, rng, n, 0.5)
    points = space.ball.enter(rows)
    times = rng.uniform(-0.5, 0.5, (n, q))
    at = geodesic(space, rng, q, space.v_max)
    whitening = symmetric(rng, (q + 1) * space.manifold.dim)
    whole = contributions(space, points, times, np.arange(n + 1), at, whitening)
    for shift in (1, 3, 7, 129):
        beside = points.copy()
        beside[:shift] = np.nan
        ends = np.arange(n - shift + 1)
        part = contributions(space, points[shift:], times[shift:], ends, at, whitening)
        assert part.tobytes() == whole[shift:].tobytes()
        other = contributions(space, beside, times, np.arange(n + 1), at, whitening)
        assert other[shift:].tobytes() == whole[shift:].tobytes()
    entered = np.concatenate([space.ball.enter(row[None]) for row in rows])
    assert entered.tobytes() == points.tobytes()
    moved = (np.nextafter(at[0], np.inf), at[1])
    nudged = contributions(space, points, times, np.arange(n + 1), moved, whitening)
    assert nudged.tobytes() != whole.tobytes()


def test_clipping_at_the_smallest_numbers_leaves_no_vector_too_long():
    """Factors that are not normal numbers have lost digits."""
    for length in (1e-300, 2.0**-574, 1e-155, 1e-100, 1.0):
        for entry in (1.9 * 2.0**500, 1e150, 1e-3):
            mean = _core.clipped_mean(np.array([[entry]]), length)
            assert abs(mean[0]) <= length


def test_a_length_found_privately_refuses_nothing_after_the_budget_is_spent():
    """Small residuals on a large ball: the grid does not depend on the length found."""
    ball = cdp.Ball("spd:2", "identity", 8.0)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 10_000)
    coords = 0.3 * rng.standard_normal((10_000, 3))
    y = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    for budget in (1.0, 1e3, 1e6):
        with cdp.Ledger(cdp.GDP(budget)) as ledger:
            how = {"x_range": (0.0, 1.0), "ledger": ledger}
            try:
                cdp.geodesic_regression(x, y, ball, cdp.GDP(budget), **how)
            except cdp.errors.ExistenceError:
                assert ledger.spent is None
            else:
                assert ledger.spent is not None


def test_too_little_noise_is_found_by_an_audit(monkeypatch):
    """One unit of several records turns over; the others agree, so that little noise is left."""
    ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    units = np.concatenate([np.arange(12), np.full(3, 12)])
    x = np.linspace(0.0, 1.0, 15)
    x[12:] = 0.5

    def scores(last):
        y = np.zeros((15, 1))
        y[12:] = last
        groups, times, points, own = copies(250, x, y, units)
        own = own + 13 * np.repeat(np.arange(250), 15)
        made = cdp.geodesic_regression(
            times, points, ball, ONE, x_range=(0.0, 1.0), units=own, **groups
        )
        return [release.value[0, 0] / release.scale for release in made]

    kept = audit_samples(scores(1.0), scores(-1.0), ONE, n_thresholds=5, confidence=CONFIDENCE)
    assert kept.passed, kept.report()
    honest = vector_noise.calibrated_scale
    monkeypatch.setattr(vector_noise, "calibrated_scale", lambda *of: honest(*of) / 10)
    broken = audit_samples(scores(1.0), scores(-1.0), ONE, n_thresholds=5, confidence=CONFIDENCE)
    assert not broken.passed, broken.report()
