//! Laws of the noise on flat space, spheres, hyperbolic and complex projective space, against
//! densities and distribution functions computed here from their textbook formulas.

use crate::noise::{IsotropicNoise, NoiseError, Profile, RadialNoise, Stream};
use crate::roots::{Radial, Space};

const SAMPLES: usize = 100_000;

/// Kolmogorov-Smirnov bound at false-positive rate 1e-6.
fn ks_bound(n: usize) -> f64 {
    ((2.0 / 1e-6f64).ln() / (2.0 * n as f64)).sqrt()
}

fn ks_distance(samples: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = samples.len() as f64;
    let mut worst: f64 = 0.0;
    for (i, &x) in samples.iter().enumerate() {
        let p = cdf(x);
        worst = worst.max(p - i as f64 / n).max((i + 1) as f64 / n - p);
    }
    worst
}

fn ln_density(space: Radial, profile: Profile, t: f64) -> f64 {
    let ln_sinh = |x: f64| x + (-(-2.0 * x).exp_m1()).ln();
    let power = space.dim() as f64 - 1.0;
    let volume = match space {
        _ if space.dim() == 1 => 0.0,
        Radial::Flat { .. } => power * t.ln(),
        Radial::Sphere { radius, .. } => power * (t / radius).sin().ln(),
        Radial::Hyperbolic { curvature, .. } => power * ln_sinh((-curvature).sqrt() * t),
        Radial::ComplexProjective { .. } => power * t.sin().ln() + t.cos().ln(),
    };
    match profile {
        Profile::Laplace { scale } => volume - t / scale,
        Profile::Gaussian { scale } => volume - t * t / (2.0 * scale * scale),
    }
}

/// A distribution function by the trapezoidal rule, on the range found by scanning the density.
struct Reference {
    from: f64,
    step: f64,
    cdf: Vec<f64>,
    mean: f64,
    mean_square: f64,
}

impl Reference {
    fn new(space: Radial, profile: Profile) -> Self {
        const SCAN: i32 = 200_000;
        const CELLS: usize = 40_000;
        let scale = match profile {
            Profile::Laplace { scale } | Profile::Gaussian { scale } => scale,
        };
        let diameter = space.roots().farthest.min(1e8 * scale);
        let low = diameter.min(1e-5 * scale);
        let at = |k: i32| low * (diameter / low).powf(f64::from(k) / f64::from(SCAN));
        let ln = |t: f64| ln_density(space, profile, t);
        let top = (1..SCAN).map(|k| ln(at(k))).fold(f64::NEG_INFINITY, f64::max);
        let first = (1..SCAN).find(|&k| ln(at(k)) > top - 50.0).unwrap();
        let last = (1..SCAN).rev().find(|&k| ln(at(k)) > top - 50.0).unwrap();
        let from = if first == 1 { 0.0 } else { at(first - 1) };
        let step = (at(last + 1) - from) / CELLS as f64;
        let density = |k: usize| match (k, from == 0.0) {
            (0, true) if space.dim() > 1 => 0.0,
            _ => {
                let t = from + step * k as f64;
                let value = (ln(t) - top).exp();
                if value.is_nan() { 0.0 } else { value }
            }
        };
        let (mut cdf, mut mean, mut mean_square) = (vec![0.0], 0.0, 0.0);
        for k in 0..CELLS {
            let mass = 0.5 * (density(k) + density(k + 1));
            let t = from + step * (k as f64 + 0.5);
            cdf.push(cdf[k] + mass);
            mean += mass * t;
            mean_square += mass * t * t;
        }
        let total = cdf[CELLS];
        cdf.iter_mut().for_each(|p| *p /= total);
        Self { from, step, cdf, mean: mean / total, mean_square: mean_square / total }
    }

    fn cdf(&self, t: f64) -> f64 {
        let position = ((t - self.from) / self.step).max(0.0);
        let k = position as usize;
        if k + 1 >= self.cdf.len() {
            return 1.0;
        }
        self.cdf[k] + (position - k as f64) * (self.cdf[k + 1] - self.cdf[k])
    }
}

fn radii(noise: &RadialNoise, key: u8, n: usize) -> Vec<f64> {
    let mut stream = Stream::from_key([key; 32], 0);
    let mut radii: Vec<f64> = (0..n).map(|_| noise.radius.sample(&mut stream)).collect();
    radii.sort_by(f64::total_cmp);
    radii
}

const DIMS: [usize; 6] = [1, 2, 3, 9, 99, 999];
const SCALES: [f64; 4] = [1e-3, 0.1, 1.0, 10.0];

fn profiles(scale: f64) -> [Profile; 2] {
    [Profile::Laplace { scale }, Profile::Gaussian { scale }]
}

/// The radius follows its law, and the law's own distribution function and moments are right.
fn check_radius(space: Radial) {
    for (k, scale) in SCALES.into_iter().enumerate() {
        for profile in profiles(scale) {
            let case = format!("{space:?} {profile:?}");
            let noise = match RadialNoise::new(space, profile) {
                Ok(noise) => noise,
                Err(NoiseError::Existence { scale, scale_limit, .. }) => {
                    assert!(
                        scale >= scale_limit && space.roots().growth_rate() * scale >= 1.0,
                        "{case}"
                    );
                    continue;
                }
                Err(error) => panic!("{case}: {error}"),
            };
            let reference = Reference::new(space, profile);
            let samples = radii(&noise, k as u8, SAMPLES);
            assert!(samples.iter().all(|&t| t >= 0.0 && t <= space.roots().farthest), "{case}");
            let distance = ks_distance(&samples, |t| reference.cdf(t));
            assert!(distance < ks_bound(SAMPLES), "{case} {distance}");
            for &t in samples.iter().step_by(SAMPLES / 50) {
                assert!((noise.radius.cdf(t) - reference.cdf(t)).abs() < 1e-5, "{case} {t}");
            }
            assert!((noise.radius.mean() / reference.mean - 1.0).abs() < 1e-5, "{case}");
            let ratio = noise.radius.mean_square() / reference.mean_square;
            assert!((ratio - 1.0).abs() < 1e-5, "{case} {ratio}");
            let acceptance = noise.radius.squeeze_acceptance();
            assert!(acceptance >= 0.98 && noise.radius.acceptance() <= 1.0 + 1e-12, "{case}");
        }
    }
}

#[test]
fn radius_follows_its_law_on_flat_space() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Flat { dim }));
}

#[test]
fn radius_follows_its_law_on_spheres() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Sphere { dim, radius: 1.0 }));
    check_radius(Radial::Sphere { dim: 4, radius: 0.05 });
}

#[test]
fn radius_follows_its_law_on_hyperbolic_space() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Hyperbolic { dim, curvature: -1.0 }));
    check_radius(Radial::Hyperbolic { dim: 4, curvature: -9.0 });
}

#[test]
fn radius_follows_its_law_on_complex_projective_space() {
    [1, 2, 5, 50, 500].into_iter().for_each(|m| check_radius(Radial::ComplexProjective { m }));
}

/// Samples of one law are rejected as another's: each control has power near 1 at this size.
#[test]
fn wrong_laws_are_rejected() {
    let sphere = |dim| Radial::Sphere { dim, radius: 1.0 };
    let hyperbolic = |dim| Radial::Hyperbolic { dim, curvature: -1.0 };
    let laplace = |scale| Profile::Laplace { scale };
    let gaussian = |scale| Profile::Gaussian { scale };
    let flat = |dim| Radial::Flat { dim };
    let projective = |m| Radial::ComplexProjective { m };
    let controls = [
        // Scale off by 10 %.
        (sphere(1), laplace(0.1), sphere(1), laplace(0.11)),
        (sphere(2), laplace(0.1), sphere(2), laplace(0.09)),
        (sphere(9), gaussian(0.1), sphere(9), gaussian(0.11)),
        (sphere(99), gaussian(0.1), sphere(99), gaussian(0.11)),
        (flat(999), laplace(1.0), flat(999), laplace(1.1)),
        (hyperbolic(3), laplace(0.1), hyperbolic(3), laplace(0.11)),
        (projective(5), gaussian(0.1), projective(5), gaussian(0.09)),
        // Dimension off by one.
        (sphere(1), laplace(0.1), sphere(2), laplace(0.1)),
        (sphere(9), laplace(0.1), sphere(10), laplace(0.1)),
        (sphere(99), gaussian(0.1), sphere(98), gaussian(0.1)),
        (flat(99), gaussian(1.0), flat(100), gaussian(1.0)),
        (hyperbolic(9), gaussian(1.0), hyperbolic(10), gaussian(1.0)),
        (projective(5), laplace(0.1), sphere(9), laplace(0.1)),
        // Curvature left out or wrong.
        (sphere(9), laplace(0.1), flat(9), laplace(0.1)),
        (sphere(2), gaussian(1.0), flat(2), gaussian(1.0)),
        (hyperbolic(3), laplace(0.2), flat(3), laplace(0.2)),
        (projective(5), gaussian(0.3), sphere(10), gaussian(0.3)),
        (
            hyperbolic(3),
            gaussian(1.0),
            Radial::Hyperbolic { dim: 3, curvature: -4.0 },
            gaussian(1.0),
        ),
    ];
    for (space, profile, wrong_space, wrong_profile) in controls {
        let samples = radii(&RadialNoise::new(space, profile).unwrap(), 77, SAMPLES);
        let wrong = Reference::new(wrong_space, wrong_profile);
        let distance = ks_distance(&samples, |t| wrong.cdf(t));
        let case = format!("{space:?} {profile:?} against {wrong_space:?} {wrong_profile:?}");
        assert!(distance > 1.5 * ks_bound(SAMPLES), "{case}: {distance}");
    }
}

/// Closed forms: E t and E t^2 of the Gamma and chi laws.
#[test]
fn flat_moments_are_those_of_the_gamma_and_chi_laws() {
    for dim in [1, 2, 10, 1000] {
        let d = dim as f64;
        for scale in [1e-12, 0.3, 1e3] {
            let space = Space::Radial(Radial::Flat { dim });
            let laplace = IsotropicNoise::new(space, Profile::Laplace { scale }).unwrap();
            assert!((laplace.expected_dist() / (d * scale) - 1.0).abs() < 1e-10);
            let square = d * (d + 1.0) * scale * scale;
            assert!((laplace.root_mean_square_dist() / square.sqrt() - 1.0).abs() < 1e-10);
            let gaussian = IsotropicNoise::new(space, Profile::Gaussian { scale }).unwrap();
            let chi = (libm::lgamma(0.5 * (d + 1.0)) - libm::lgamma(0.5 * d)).exp() * 2f64.sqrt();
            assert!((gaussian.expected_dist() / (chi * scale) - 1.0).abs() < 1e-10);
            let ratio = gaussian.root_mean_square_dist() / (d.sqrt() * scale);
            assert!((ratio - 1.0).abs() < 1e-10);
        }
    }
}

/// The length of the coordinates is the radius, and their direction is uniform: first four moments
/// of a coordinate, and independence of the radius.
#[test]
fn coordinates_are_isotropic() {
    for dim in [1, 2, 3, 9] {
        for space in [
            Radial::Flat { dim },
            Radial::Sphere { dim, radius: 1.0 },
            Radial::Hyperbolic { dim, curvature: -1.0 },
        ] {
            for profile in profiles(0.1) {
                let noise = IsotropicNoise::new(Space::Radial(space), profile).unwrap();
                let mut stream = Stream::from_key([5; 32], dim as u64);
                let mut coords = vec![f64::NAN; dim];
                let mut lengths = Vec::with_capacity(SAMPLES);
                let mut sums = [0.0; 4];
                let mean = noise.expected_dist();
                for _ in 0..SAMPLES {
                    noise.sample_coords(&mut stream, &mut coords);
                    let t = coords.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let (u, v) = (coords[0] / t, coords[dim - 1] / t);
                    let cross = if dim == 1 { 0.0 } else { u * v };
                    for (sum, term) in sums.iter_mut().zip([u, v * v, cross, u * u * (t - mean)]) {
                        *sum += term / SAMPLES as f64;
                    }
                    lengths.push(t);
                }
                lengths.sort_by(f64::total_cmp);
                let reference = Reference::new(space, profile);
                let distance = ks_distance(&lengths, |t| reference.cdf(t));
                assert!(distance < ks_bound(SAMPLES), "{space:?} {profile:?} {distance}");
                let error = 5.0 / (SAMPLES as f64).sqrt();
                let case = format!("{space:?} {profile:?} {sums:?}");
                assert!(sums[0].abs() < error && sums[2].abs() < error, "{case}");
                assert!((sums[1] - 1.0 / dim as f64).abs() < error, "{case}");
                assert!(sums[3].abs() < error * noise.root_mean_square_dist(), "{case}");
            }
        }
    }
}

/// Archimedes: on the tangent sphere S^2 a coordinate of the direction is uniform, on S^1 the
/// angle.
#[test]
fn directions_in_two_and_three_dimensions_are_uniform() {
    let mut stream = Stream::from_key([6; 32], 0);
    for dim in [2, 3] {
        let space = Space::Radial(Radial::Sphere { dim, radius: 2.0 });
        let noise = IsotropicNoise::new(space, Profile::Laplace { scale: 0.5 }).unwrap();
        let mut coords = vec![0.0; dim];
        let mut shares: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                noise.sample_coords(&mut stream, &mut coords);
                let t = coords.iter().map(|x| x * x).sum::<f64>().sqrt();
                match dim {
                    2 => 0.5 + coords[1].atan2(coords[0]) / (2.0 * std::f64::consts::PI),
                    _ => 0.5 + 0.5 * coords[2] / t,
                }
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        assert!(ks_distance(&shares, |x| x) < ks_bound(SAMPLES));
    }
}

/// Scales from 1e-12 to 1e3 in dimensions to 1000, near the limits of existence: finite and sane.
#[test]
fn extreme_scales_and_dimensions_stay_finite() {
    let mut stream = Stream::from_key([4; 32], 0);
    for dim in [1, 2, 10, 1000] {
        let curvature = -1.0;
        for space in [
            Radial::Flat { dim },
            Radial::Sphere { dim, radius: 1.0 },
            Radial::Sphere { dim, radius: 1e-6 },
            Radial::Hyperbolic { dim, curvature },
            Radial::ComplexProjective { m: dim },
        ] {
            let limit = 1.0 / space.roots().growth_rate();
            for scale in [1e-12, 1e-6, 1.0, 1e3, 0.999_999 * limit] {
                if !scale.is_finite() {
                    continue;
                }
                for profile in profiles(scale) {
                    let Ok(noise) = RadialNoise::new(space, profile) else {
                        assert!(scale >= limit);
                        continue;
                    };
                    let law = noise.radius;
                    let case = format!("{space:?} {profile:?}");
                    assert!(law.mean() > 0.0 && law.mean() <= space.roots().farthest, "{case}");
                    assert!(law.acceptance() > 0.97 && law.acceptance() < 1.0 + 1e-9, "{case}");
                    let mut sum = 0.0;
                    for _ in 0..500 {
                        let t = law.sample(&mut stream);
                        assert!(t >= 0.0 && t <= space.roots().farthest && t.is_finite(), "{case}");
                        sum += t / 500.0;
                    }
                    let variance = (law.mean_square() - law.mean() * law.mean()).max(0.0);
                    let deviation = (variance / 500.0).sqrt() + 1e-7 * law.mean();
                    assert!((sum - law.mean()).abs() < 6.0 * deviation, "{case} {sum}");
                }
            }
        }
    }
}

#[test]
fn coordinates_in_dimension_1000_are_finite() {
    let mut stream = Stream::from_key([2; 32], 0);
    let mut coords = vec![f64::NAN; 1000];
    for scale in [1e-12, 1e-3, 1.0] {
        let space = Space::Radial(Radial::Sphere { dim: 1000, radius: 1.0 });
        let noise = IsotropicNoise::new(space, Profile::Laplace { scale }).unwrap();
        assert_eq!(noise.dim(), 1000);
        for _ in 0..100 {
            noise.sample_coords(&mut stream, &mut coords);
            assert!(coords.iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let sphere = Radial::Sphere { dim: 2, radius: 1.0 };
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        for profile in profiles(scale) {
            let error = RadialNoise::new(sphere, profile).err().unwrap();
            assert!(matches!(error, NoiseError::Parameter { name: "scale", .. }));
        }
    }
    let spaces = [
        Radial::Flat { dim: 0 },
        Radial::ComplexProjective { m: 0 },
        Radial::Sphere { dim: 2, radius: 0.0 },
        Radial::Sphere { dim: 2, radius: f64::NAN },
        Radial::Hyperbolic { dim: 2, curvature: 1.0 },
        Radial::Hyperbolic { dim: 2, curvature: f64::NAN },
    ];
    for space in spaces {
        let error = RadialNoise::new(space, Profile::Laplace { scale: 1.0 }).err().unwrap();
        assert!(matches!(error, NoiseError::Parameter { .. }), "{space:?}");
    }
}

#[test]
fn hyperbolic_laplace_exists_below_the_reciprocal_growth_rate_of_volume() {
    let space = Radial::Hyperbolic { dim: 5, curvature: -4.0 };
    assert!(RadialNoise::new(space, Profile::Laplace { scale: 0.124 }).is_ok());
    let error = RadialNoise::new(space, Profile::Laplace { scale: 0.125 }).err().unwrap();
    assert_eq!(error, NoiseError::Existence { scale: 0.125, growth_rate: 8.0, scale_limit: 0.125 });
    assert!(RadialNoise::new(space, Profile::Gaussian { scale: 10.0 }).is_ok());
}
