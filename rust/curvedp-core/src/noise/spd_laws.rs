//! Laws of the noise on SPD(m) and HPD(m) with the affine-invariant metric, against quadrature over
//! eigenvalues: their density is psi(|l|) prod_{i<j} sinh(|l_i - l_j| / 2)^beta, beta 1 or 2.

use crate::noise::drawn::{frame, logs};
use crate::noise::{ACCEPTANCE_FLOOR, IsotropicNoise, NoiseError, Profile};
use crate::roots::Matrices;

const SAMPLES: usize = 20_000;

fn psi(profile: Profile, t: f64) -> f64 {
    match profile {
        Profile::Laplace { scale } => (-t / scale).exp(),
        Profile::Gaussian { scale } => (-t * t / (2.0 * scale * scale)).exp(),
    }
}

fn scaled(profile: Profile, factor: f64) -> Profile {
    match profile {
        Profile::Laplace { scale } => Profile::Laplace { scale: factor * scale },
        Profile::Gaussian { scale } => Profile::Gaussian { scale: factor * scale },
    }
}

fn noise(m: usize, profile: Profile) -> IsotropicNoise {
    IsotropicNoise::new(Matrices::symmetric(m).into(), profile).unwrap()
}

fn draws(noise: &IsotropicNoise, key: u8, n: usize) -> Vec<Vec<f64>> {
    let identity = frame(noise.space).origin();
    logs(noise, &identity, key, n).chunks_exact(noise.dim()).map(<[f64]>::to_vec).collect()
}

fn norm(coords: &[f64]) -> f64 {
    coords.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn mean_and_error(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for x in values {
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    let mean = sum / n;
    (mean, ((squares / n - mean * mean) / n).sqrt())
}

fn hermitian(m: usize, profile: Profile) -> IsotropicNoise {
    IsotropicNoise::new(Matrices::hermitian(m).into(), profile).unwrap()
}

/// Midpoint rule on a grid of trace and gap: E t, E t^2 and the distribution function of the gap of
/// SPD(2) or HPD(2), with or without the curvature factor.
struct TwoByTwo {
    step: f64,
    gap_cdf: Vec<f64>,
    mean: f64,
    mean_square: f64,
}

impl TwoByTwo {
    fn new(profile: Profile, curved: bool) -> Self {
        Self::of(profile, curved, 1)
    }

    fn of(profile: Profile, curved: bool, beta: i32) -> Self {
        const CELLS: usize = 2000;
        let reach = match profile {
            Profile::Laplace { scale } => 40.0 / (1.0 / scale - f64::from(beta) * 0.5f64.sqrt()),
            Profile::Gaussian { scale } => scale * (10.0 + scale),
        };
        let step = reach / CELLS as f64;
        let at = |k: usize| step * (k as f64 + 0.5);
        let (mut gap_cdf, mut first, mut second) = (vec![0.0], 0.0, 0.0);
        for i in 0..CELLS {
            // b = gap / sqrt 2, a the trace part: orthonormal coordinates of the plane of
            // eigenvalues.
            let b = at(i);
            let half_gap = b / 2f64.sqrt();
            let volume = (if curved { half_gap.sinh() } else { half_gap }).powi(beta);
            let mut mass = 0.0;
            for k in 0..CELLS {
                let t = b.hypot(at(k));
                let weight = volume * psi(profile, t);
                mass += weight;
                first += weight * t;
                second += weight * t * t;
            }
            gap_cdf.push(gap_cdf[i] + mass);
        }
        let total = gap_cdf[CELLS];
        gap_cdf.iter_mut().for_each(|p| *p /= total);
        Self { step: step * 2f64.sqrt(), gap_cdf, mean: first / total, mean_square: second / total }
    }

    fn ks_distance(&self, sorted_gaps: &[f64]) -> f64 {
        let n = sorted_gaps.len() as f64;
        let mut worst: f64 = 0.0;
        for (i, gap) in sorted_gaps.iter().enumerate() {
            let position = gap / self.step;
            let k = (position as usize).min(self.gap_cdf.len() - 2);
            let share = (position - k as f64).min(1.0);
            let p = self.gap_cdf[k] + share * (self.gap_cdf[k + 1] - self.gap_cdf[k]);
            worst = worst.max((p - i as f64 / n).abs()).max((p - (i + 1) as f64 / n).abs());
        }
        worst
    }
}

fn sorted_gaps(draws: &[Vec<f64>]) -> Vec<f64> {
    let gap = |c: &Vec<f64>| (c[0] - c[2]).hypot(2f64.sqrt() * c[1]);
    let mut gaps: Vec<f64> = draws.iter().map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

#[test]
fn two_by_two_law_agrees_with_quadrature_and_wrong_laws_are_rejected() {
    let bound = ((2.0 / 1e-6f64).ln() / (2.0 * SAMPLES as f64)).sqrt();
    let profiles = [
        Profile::Laplace { scale: 0.1 },
        Profile::Laplace { scale: 0.4 },
        Profile::Laplace { scale: 1.0 },
        Profile::Gaussian { scale: 0.1 },
        Profile::Gaussian { scale: 0.5 },
        Profile::Gaussian { scale: 2.0 },
    ];
    for (key, profile) in profiles.into_iter().enumerate() {
        let noise = noise(2, profile);
        let draws = draws(&noise, key as u8, SAMPLES);
        let exact = TwoByTwo::new(profile, true);
        assert!((noise.expected_dist() / exact.mean - 1.0).abs() < 1e-4, "{profile:?}");
        let ratio = noise.root_mean_square_dist() / exact.mean_square.sqrt();
        assert!((ratio - 1.0).abs() < 1e-4, "{profile:?} {ratio}");
        let (mean_square, error) = mean_and_error(draws.iter().map(|c| norm(c).powi(2)));
        assert!((mean_square - exact.mean_square).abs() < 5.0 * error, "{profile:?}");
        let gaps = sorted_gaps(&draws);
        let distance = exact.ks_distance(&gaps);
        assert!(distance < bound, "{profile:?} {distance}");
        for wrong in
            [TwoByTwo::new(scaled(profile, 1.1), true), TwoByTwo::new(scaled(profile, 0.9), true)]
        {
            assert!(wrong.ks_distance(&gaps) > 1.5 * bound, "{profile:?}");
        }
        if mean_square > 1.0 {
            let flat = TwoByTwo::new(profile, false).ks_distance(&gaps);
            assert!(flat > 1.5 * bound, "{profile:?} {flat}");
        }
    }
}

#[test]
fn two_by_two_hermitian_law_agrees_with_quadrature_and_wrong_laws_are_rejected() {
    let bound = ((2.0 / 1e-6f64).ln() / (2.0 * SAMPLES as f64)).sqrt();
    let profiles = [
        Profile::Laplace { scale: 0.1 },
        Profile::Laplace { scale: 0.3 },
        Profile::Laplace { scale: 0.5 },
        Profile::Gaussian { scale: 0.1 },
        Profile::Gaussian { scale: 0.5 },
        Profile::Gaussian { scale: 1.5 },
    ];
    for (key, profile) in profiles.into_iter().enumerate() {
        let noise = hermitian(2, profile);
        let draws = draws(&noise, 100 + key as u8, SAMPLES);
        let exact = TwoByTwo::of(profile, true, 2);
        assert!((noise.expected_dist() / exact.mean - 1.0).abs() < 1e-4, "{profile:?}");
        let ratio = noise.root_mean_square_dist() / exact.mean_square.sqrt();
        assert!((ratio - 1.0).abs() < 1e-4, "{profile:?} {ratio}");
        let (mean_square, error) = mean_and_error(draws.iter().map(|c| norm(c).powi(2)));
        assert!((mean_square - exact.mean_square).abs() < 5.0 * error, "{profile:?}");
        // coordinates: a, sqrt 2 Re b, sqrt 2 Im b, d
        let gap = |c: &Vec<f64>| norm(&[c[0] - c[3], 2f64.sqrt() * c[1], 2f64.sqrt() * c[2]]);
        let mut gaps: Vec<f64> = draws.iter().map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        let distance = exact.ks_distance(&gaps);
        assert!(distance < bound, "{profile:?} {distance}");
        let real = TwoByTwo::of(profile, true, 1);
        let wrong = [0.9, 1.1].map(|factor| TwoByTwo::of(scaled(profile, factor), true, 2));
        for wrong in wrong.into_iter().chain([real]) {
            assert!(wrong.ks_distance(&gaps) > 1.5 * bound, "{profile:?}");
        }
        if mean_square > 1.0 {
            let flat = TwoByTwo::of(profile, false, 2).ks_distance(&gaps);
            assert!(flat > 1.5 * bound, "{profile:?} {flat}");
        }
    }
}

/// Sampler and quadrature share no path.
#[test]
fn sampled_moments_of_larger_hermitian_matrices_are_the_expected_ones() {
    for (m, n) in [(3, 8000), (4, 4000), (5, 2000)] {
        let growth_rate = ((m * (m * m - 1)) as f64 / 3.0).sqrt();
        for profile in [
            Profile::Laplace { scale: 0.05 / growth_rate },
            Profile::Laplace { scale: 0.6 / growth_rate },
            Profile::Gaussian { scale: 0.05 },
            Profile::Gaussian { scale: 0.3 },
        ] {
            let noise = hermitian(m, profile);
            let draws = draws(&noise, 150 + m as u8, n);
            for (power, tolerance) in [(1, 1e-3), (2, 2e-3)] {
                let expected = match power {
                    1 => noise.expected_dist(),
                    _ => noise.root_mean_square_dist().powi(2),
                };
                let found = mean_and_error(draws.iter().map(|c| norm(c).powi(power)));
                let apart = (found.0 - expected).abs();
                assert!(apart < 5.0 * found.1 + tolerance * expected, "{m} {profile:?}");
            }
            let wrong = self::noise(m, profile).expected_dist();
            let (found, error) = mean_and_error(draws.iter().map(|c| norm(c)));
            assert!((found - wrong).abs() > 10.0 * error, "{m} {profile:?}");
        }
    }
}

/// E t and E t^2 of SPD(3) over the three eigenvalues, in cylinder coordinates about the trace.
fn three_by_three_moments(profile: Profile, curved: bool) -> (f64, f64) {
    let reach = match profile {
        Profile::Laplace { scale } => 40.0 / (1.0 / scale - 2f64.sqrt()),
        Profile::Gaussian { scale } => scale * (9.0 + 1.5 * scale),
    };
    let (radii, angles, heights) = (240, 120, 240);
    let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
    for i in 0..radii {
        let u = reach * (i as f64 + 0.5) / radii as f64;
        let mut volume = 0.0;
        for k in 0..angles {
            let angle = std::f64::consts::TAU * (k as f64 + 0.5) / angles as f64;
            let eigenvalue = |j: f64| {
                (2.0f64 / 3.0).sqrt() * u * (angle + j * std::f64::consts::TAU / 3.0).cos()
            };
            let l = [eigenvalue(0.0), eigenvalue(1.0), eigenvalue(2.0)];
            volume += [l[0] - l[1], l[0] - l[2], l[1] - l[2]]
                .map(|d| if curved { (0.5 * d.abs()).sinh() } else { 0.5 * d.abs() })
                .iter()
                .product::<f64>();
        }
        for k in 0..heights {
            let t = u.hypot(reach * (k as f64 + 0.5) / heights as f64);
            let weight = u * volume * psi(profile, t);
            mass += weight;
            first += weight * t;
            second += weight * t * t;
        }
    }
    (first / mass, second / mass)
}

#[test]
fn three_by_three_moments_agree_with_quadrature_and_wrong_laws_are_rejected() {
    for (key, profile) in [
        Profile::Laplace { scale: 0.05 },
        Profile::Laplace { scale: 0.35 },
        Profile::Laplace { scale: 0.5 },
        Profile::Gaussian { scale: 0.1 },
        Profile::Gaussian { scale: 0.6 },
        Profile::Gaussian { scale: 1.5 },
    ]
    .into_iter()
    .enumerate()
    {
        let noise = noise(3, profile);
        let draws = draws(&noise, 50 + key as u8, SAMPLES);
        let (mean, mean_square) = three_by_three_moments(profile, true);
        assert!((noise.expected_dist() / mean - 1.0).abs() < 1e-4, "{profile:?}");
        let ratio = noise.root_mean_square_dist() / mean_square.sqrt();
        assert!((ratio - 1.0).abs() < 1e-4, "{profile:?} {ratio}");
        let (found, error) = mean_and_error(draws.iter().map(|c| norm(c)));
        assert!((found - mean).abs() < 5.0 * error, "{profile:?} {found} {mean}");
        let (found_square, square_error) = mean_and_error(draws.iter().map(|c| norm(c).powi(2)));
        assert!((found_square - mean_square).abs() < 5.0 * square_error, "{profile:?}");
        for factor in [0.9, 1.1] {
            let (wrong, _) = three_by_three_moments(scaled(profile, factor), true);
            assert!((found - wrong).abs() > 10.0 * error, "{profile:?}");
        }
        if mean_square > 0.5 {
            let (flat, _) = three_by_three_moments(profile, false);
            assert!((found - flat).abs() > 10.0 * error, "{profile:?}");
        }
    }
}

/// Sampler and quadrature share no path for m >= 4: their moments agree.
#[test]
fn sampled_moments_are_the_expected_ones_for_larger_matrices() {
    for (m, n) in [(4, 8000), (5, 4000), (8, 1000)] {
        let growth_rate = 0.5 * ((m * (m * m - 1)) as f64 / 3.0).sqrt();
        for profile in [
            Profile::Laplace { scale: 0.05 / growth_rate },
            Profile::Laplace { scale: 0.6 / growth_rate },
            Profile::Gaussian { scale: 0.05 },
            Profile::Gaussian { scale: 0.3 },
        ] {
            let noise = noise(m, profile);
            let draws = draws(&noise, m as u8, n);
            assert!(draws.iter().flatten().all(|x| x.is_finite()));
            let (found, error) = mean_and_error(draws.iter().map(|c| norm(c)));
            let expected = noise.expected_dist();
            assert!((found - expected).abs() < 5.0 * error + 1e-3 * expected, "{m} {profile:?}");
            let (found, error) = mean_and_error(draws.iter().map(|c| norm(c).powi(2)));
            let expected = noise.root_mean_square_dist().powi(2);
            assert!((found - expected).abs() < 5.0 * error + 2e-3 * expected, "{m} {profile:?}");
        }
    }
}

/// The law is invariant under conjugation by rotations, so all trace-free coordinates have one
/// variance, whether on the diagonal or off it, and no coordinate has a mean.
#[test]
fn coordinates_are_isotropic_under_conjugation() {
    for profile in [
        Profile::Laplace { scale: 0.4 },
        Profile::Gaussian { scale: 1.0 },
        Profile::Gaussian { scale: 0.01 },
    ] {
        let draws = draws(&noise(3, profile), 90, SAMPLES);
        let diagonal = |c: &Vec<f64>| (c[0] - c[5]) * 0.5f64.sqrt();
        let other_diagonal = |c: &Vec<f64>| (c[0] + c[5] - 2.0 * c[3]) / 6f64.sqrt();
        let variances = [
            mean_and_error(draws.iter().map(|c| diagonal(c).powi(2))),
            mean_and_error(draws.iter().map(|c| other_diagonal(c).powi(2))),
            mean_and_error(draws.iter().map(|c| c[1] * c[1])),
            mean_and_error(draws.iter().map(|c| c[2] * c[2])),
            mean_and_error(draws.iter().map(|c| c[4] * c[4])),
        ];
        for (variance, error) in variances {
            let difference = (variance - variances[0].0).abs();
            assert!(difference < 5.0 * error.hypot(variances[0].1), "{profile:?} {variances:?}");
        }
        for k in 0..6 {
            let (mean, error) = mean_and_error(draws.iter().map(|c| c[k]));
            assert!(mean.abs() < 5.0 * error, "{profile:?} {k}");
        }
        if let Profile::Gaussian { scale } = profile {
            let trace = |c: &Vec<f64>| (c[0] + c[3] + c[5]) / 3f64.sqrt();
            let (variance, error) = mean_and_error(draws.iter().map(|c| trace(c).powi(2)));
            assert!((variance - scale * scale).abs() < 5.0 * error);
        }
    }
}

#[test]
fn small_noise_is_flat_noise() {
    for m in [2, 3, 7, 16] {
        let dim = (m * (m + 1) / 2) as f64;
        for scale in [1e-12, 1e-5] {
            let laplace = noise(m, Profile::Laplace { scale });
            assert!((laplace.expected_dist() / (dim * scale) - 1.0).abs() < 1e-5, "{m}");
            let gaussian = noise(m, Profile::Gaussian { scale });
            let ratio = gaussian.root_mean_square_dist() / (dim.sqrt() * scale);
            assert!((ratio - 1.0).abs() < 1e-6, "{m} {ratio}");
            assert!(laplace.acceptance() > 0.999 && gaussian.acceptance() > 0.999);
        }
    }
}

#[test]
fn positive_numbers_are_a_line() {
    let noise = noise(1, Profile::Laplace { scale: 2.0 });
    assert_eq!(noise.dim(), 1);
    assert!((noise.expected_dist() - 2.0).abs() < 1e-10);
    assert_eq!(noise.log_profile(3.0), -1.5);
}

#[test]
fn laws_that_do_not_exist_or_would_hang_are_refused() {
    let spaces = [2, 3, 16].map(|m| {
        [(m, 0.5, Matrices::symmetric(m).into()), (m, 1.0, Matrices::hermitian(m).into())]
    });
    for (m, factor, space) in spaces.into_iter().flatten() {
        let growth = factor * ((m * (m * m - 1)) as f64 / 3.0).sqrt();
        let error =
            IsotropicNoise::new(space, Profile::Laplace { scale: 1.0 / growth }).err().unwrap();
        let NoiseError::Existence { growth_rate, scale_limit, .. } = error else {
            panic!("{error}");
        };
        assert!((growth_rate / growth - 1.0).abs() < 1e-12);
        assert!((scale_limit * growth - 1.0).abs() < 1e-12);
    }
    let error =
        IsotropicNoise::new(Matrices::symmetric(16).into(), Profile::Gaussian { scale: 2.0 });
    let Err(NoiseError::Acceptance { expected, floor, scale_limit, .. }) = error else {
        panic!("the acceptance is far below the floor");
    };
    assert!(expected < floor && floor == ACCEPTANCE_FLOOR && scale_limit < 2.0);
    for m in [0, 17] {
        let error =
            IsotropicNoise::new(Matrices::symmetric(m).into(), Profile::Gaussian { scale: 0.1 });
        assert!(matches!(error, Err(NoiseError::Parameter { name: "order", .. })));
    }
}

#[test]
fn large_scales_give_a_law_or_an_error_that_names_one() {
    for m in [2, 3, 16] {
        for scale in [4.0, 1e3, 1e10, 1e100] {
            match IsotropicNoise::new(Matrices::symmetric(m).into(), Profile::Gaussian { scale }) {
                Ok(noise) => {
                    let drawn = draws(&noise, 9, 1);
                    assert!(drawn[0].iter().all(|x| x.is_finite()), "{m} {scale}");
                }
                Err(NoiseError::Acceptance { expected, scale_limit, .. }) => {
                    assert!(expected < ACCEPTANCE_FLOOR && scale_limit > 0.3 && scale_limit < 8.0);
                }
                Err(error) => assert!(matches!(error, NoiseError::Range { .. }), "{error}"),
            }
        }
    }
}
