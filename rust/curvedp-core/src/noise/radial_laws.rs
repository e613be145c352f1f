//! Laws of the noise on flat space, spheres, hyperbolic and complex projective space, against
//! densities and distribution functions computed here from their textbook formulas.

use crate::noise::{IsotropicNoise, NoiseError, Profile, RadialNoise};
use crate::roots::{Radial, Space};

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

/// Distances over the whole law.
fn distances(reference: &Reference) -> impl Iterator<Item = f64> {
    let cells = (0..reference.cdf.len()).step_by(400);
    cells.map(|k| reference.from + reference.step * k as f64)
}

/// The largest difference of two distribution functions.
fn apart(noise: &RadialNoise, reference: &Reference) -> f64 {
    let difference = |t: f64| (noise.radius.cdf(t) - reference.cdf(t)).abs();
    distances(reference).map(difference).fold(0.0, f64::max)
}

const DIMS: [usize; 6] = [1, 2, 3, 9, 99, 999];
const SCALES: [f64; 4] = [1e-3, 0.1, 1.0, 10.0];

fn profiles(scale: f64) -> [Profile; 2] {
    [Profile::Laplace { scale }, Profile::Gaussian { scale }]
}

/// Distribution function and moments of the radius; draws are compared with these in `curved/tests.rs` and `flat.rs`.
fn check_radius(space: Radial) {
    for scale in SCALES {
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
            let distance = apart(&noise, &reference);
            assert!(distance < 1e-5, "{case} {distance}");
            assert!((noise.radius.mean() / reference.mean - 1.0).abs() < 1e-5, "{case}");
            let ratio = noise.radius.mean_square() / reference.mean_square;
            assert!((ratio - 1.0).abs() < 1e-5, "{case} {ratio}");
        }
    }
}

#[test]
fn the_law_of_the_radius_on_flat_space() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Flat { dim }));
}

#[test]
fn the_law_of_the_radius_on_spheres() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Sphere { dim, radius: 1.0 }));
    check_radius(Radial::Sphere { dim: 4, radius: 0.05 });
}

#[test]
fn the_law_of_the_radius_on_hyperbolic_space() {
    DIMS.into_iter().for_each(|dim| check_radius(Radial::Hyperbolic { dim, curvature: -1.0 }));
    check_radius(Radial::Hyperbolic { dim: 4, curvature: -9.0 });
}

#[test]
fn the_law_of_the_radius_on_complex_projective_space() {
    [1, 2, 5, 50, 500].into_iter().for_each(|m| check_radius(Radial::ComplexProjective { m }));
}

/// Controls.
#[test]
fn laws_differ_from_wrong_ones() {
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
        let noise = RadialNoise::new(space, profile).unwrap();
        let distance = apart(&noise, &Reference::new(wrong_space, wrong_profile));
        let case = format!("{space:?} {profile:?} against {wrong_space:?} {wrong_profile:?}");
        assert!(distance > 1e-2, "{case}: {distance}");
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

/// Scales from 1e-12 to 1e3 in dimensions to 1000, near the limits of existence: finite and sane.
#[test]
fn extreme_scales_and_dimensions_stay_finite() {
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
                    let variance = law.mean_square() - law.mean() * law.mean();
                    assert!(variance > -1e-9 * law.mean_square(), "{case}");
                    assert!((law.cdf(law.mean()) - 0.5).abs() < 0.2, "{case}");
                }
            }
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
