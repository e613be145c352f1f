use super::*;
use crate::diagnose;
use curvedp_core::ball::Ball;
use curvedp_core::exact::Effort;
use curvedp_core::manifold::{ComplexProjective, Euclidean, Hyperboloid, Sphere, build};
use curvedp_core::noise::IsotropicNoise;
use curvedp_core::parallel::set_num_threads;
use curvedp_core::release::Grid;
use curvedp_core::roots::{Matrices, Radial};
use curvedp_core::vector::power_of_two_below;

const KEY: [u8; 32] = [4; 32];
const NEVER: &dyn Fn() -> bool = &|| false;

fn laplace(scale: f64) -> Profile {
    Profile::Laplace { scale }
}

fn gaussian(scale: f64) -> Profile {
    Profile::Gaussian { scale }
}

fn wider(profile: Profile) -> Profile {
    match profile {
        Profile::Laplace { scale } => laplace(1.5 * scale),
        Profile::Gaussian { scale } => gaussian(1.5 * scale),
    }
}

fn spd(m: usize) -> Space {
    Matrices::symmetric(m).into()
}

fn law(space: Space, profile: Profile) -> Result<Isotropic, NoiseError> {
    Isotropic::new(&*frame(space), space, profile)
}

/// Every kind of space, with a law that feels the curvature.
fn cases() -> Vec<(Space, Profile)> {
    let radial = Space::Radial;
    vec![
        (radial(Radial::Flat { dim: 1 }), laplace(0.3)),
        (radial(Radial::Flat { dim: 5 }), gaussian(2.0)),
        (radial(Radial::Sphere { dim: 1, radius: 1.0 }), laplace(0.7)),
        (radial(Radial::Sphere { dim: 2, radius: 2.0 }), laplace(1.0)),
        (radial(Radial::Sphere { dim: 6, radius: 1.0 }), gaussian(0.6)),
        (radial(Radial::Hyperbolic { dim: 3, curvature: -0.5 }), laplace(0.4)),
        (radial(Radial::Hyperbolic { dim: 2, curvature: -1.0 }), gaussian(1.5)),
        (radial(Radial::ComplexProjective { m: 1 }), laplace(0.2)),
        (radial(Radial::ComplexProjective { m: 4 }), gaussian(0.4)),
        (spd(1), laplace(1.0)),
        (spd(2), laplace(0.4)),
        (spd(2), gaussian(1.5)),
        (spd(3), laplace(0.25)),
        (spd(4), gaussian(0.7)),
        (spd(5), laplace(0.1)),
        (Matrices::hermitian(2).into(), laplace(0.2)),
        (Matrices::hermitian(3).into(), gaussian(0.7)),
    ]
}

/// The manifold in whose frame noise on a space is drawn.
fn frame(space: Space) -> Box<dyn Manifold> {
    match space {
        Space::Radial(Radial::Flat { dim }) => Box::new(Euclidean::new(dim)),
        Space::Radial(Radial::Sphere { dim, radius }) => Box::new(Sphere::new(dim, radius)),
        Space::Radial(Radial::Hyperbolic { dim, curvature }) => {
            Box::new(Hyperboloid::new(dim, curvature))
        }
        Space::Radial(Radial::ComplexProjective { m }) => Box::new(ComplexProjective::new(m)),
        Space::Matrices(_) | Space::Compact(_) => {
            let (name, size, parameter) = space.name();
            build(name, size, parameter).unwrap()
        }
    }
}

/// Coordinates at the origin of points drawn about it.
fn exact_draws(space: Space, profile: Profile, count: usize) -> Vec<f64> {
    let (manifold, noise) = (frame(space), IsotropicNoise::new(space, profile).unwrap());
    let (center, size) = (manifold.origin(), manifold.point_size());
    let step = power_of_two_below(profile.scale().min(1.0)) / f64::from(1 << 30);
    let grid = Grid { step, clip_radius: f64::INFINITY };
    let mut stream = Stream::from_key([77; 32], space.dim() as u64);
    let mut points = vec![0.0; count * size];
    Ball { manifold: &*manifold, center: &center, radius: f64::INFINITY }.release(
        Rows::shared(&center),
        |_| (&noise, grid),
        |_, draw| draw(&mut stream),
        Effort::Least,
        &mut points,
    );
    let mut coords = vec![0.0; count * space.dim()];
    manifold.log_origin(Rows::new(&points, size), &mut coords);
    coords
}

fn lengths(rows: &[f64], dim: usize) -> Vec<f64> {
    rows.chunks_exact(dim).map(length).collect()
}

/// The distances that chains keep last.
fn ends(chains: &[Chain]) -> Vec<f64> {
    chains.iter().map(|chain| *chain.draws.last().unwrap()).collect()
}

/// sqrt(nm/(n + m)) sup |F_n - G_m| of two samples (Smirnov).
fn gap_between(mut x: Vec<f64>, mut y: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    y.sort_by(f64::total_cmp);
    let (n, m) = (x.len() as f64, y.len() as f64);
    let below = |sorted: &[f64], t: f64| sorted.partition_point(|&s| s <= t) as f64;
    let gap = |&t: &f64| (below(&x, t) / n - below(&y, t) / m).abs();
    let largest = x.iter().chain(&y).map(gap).fold(0.0, f64::max);
    largest * (n * m / (n + m)).sqrt()
}

fn plan(burn_in: usize, draws: usize, scale: f64) -> Plan {
    Plan { burn_in, draws, thinning: 1, scale, acceptance: Some(0.3) }
}

const CRITICAL: f64 = 2.8; // p = 3e-7

/// The largest deviation of the mean of a coordinate, and that of its mean square from the others', in standard errors.
fn unevenness(chains: &[Chain], dim: usize) -> [f64; 2] {
    let count = chains.len() as f64;
    let mut mean = vec![0.0; dim];
    let mut square = vec![0.0; dim];
    for chain in chains {
        for (j, x) in chain.draws[..dim].iter().enumerate() {
            mean[j] += x / count;
            square[j] += x * x / count;
        }
    }
    let variance = square.iter().sum::<f64>() / dim as f64;
    let off_center = mean.iter().map(|x| x.abs() / (variance / count).sqrt());
    let stretched = square.iter().map(|x| (x / variance - 1.0).abs() * (count / 8.0).sqrt());
    [off_center.fold(0.0, f64::max), stretched.fold(0.0, f64::max)]
}

/// Chains that all start on one side forget it: distances have the law, and directions are uniform. A few, from the
/// usual starts, tell a wider law.
#[test]
fn ends_of_chains_follow_the_exact_law_and_no_other() {
    for (space, profile) in cases() {
        let dim = space.dim();
        let exact = lengths(&exact_draws(space, profile, 8000), dim);
        let at_end = |law: &Isotropic, starts| {
            let plan = plan(60 + 25 * dim, 1, law.first_scale());
            law.run(starts, &plan, KEY, NEVER).unwrap()
        };
        let right = law(space, profile).unwrap();
        let mut start = vec![0.0; dim];
        start[0] = right.reach.typical;
        let chains = at_end(&right, vec![right.point(&start); if dim < 3 { 1024 } else { 512 }]);
        let gap = gap_between(ends(&chains), exact.clone());
        assert!(gap < CRITICAL, "{space:?} {profile:?} {gap}");
        let [off_center, stretched] = unevenness(&chains, dim);
        assert!(off_center < 5.0 && stretched < 5.0, "{space:?} {off_center} {stretched}");
        let wider = law(space, wider(profile)).unwrap();
        let few = if dim < 3 { 1024 } else { 256 };
        let chains = at_end(&wider, wider.starts(few, KEY));
        assert!(gap_between(ends(&chains), exact) > CRITICAL, "{space:?} {profile:?}");
    }
}

/// Detailed balance: from the law itself, a step from near to far is as likely as one from far to near,
/// wherever the border lies; and directions count as little as they do in the law.
#[test]
fn a_step_from_the_law_looks_the_same_backwards() {
    for (space, profile) in cases() {
        let starts = exact_draws(space, profile, 16_000);
        let before = lengths(&starts, space.dim());
        let mut sorted = before.clone();
        sorted.sort_by(f64::total_cmp);
        let crossings = |profile, count| -> f64 {
            let law = law(space, profile).unwrap();
            let rows = starts.chunks_exact(space.dim()).take(count);
            let points = rows.map(|row| law.point(row)).collect();
            let plan = Plan { acceptance: None, ..plan(0, 1, law.first_scale()) };
            let after = ends(&law.run(points, &plan, KEY, NEVER).unwrap());
            let borders = (1..10).map(|i| sorted[i * sorted.len() / 10]);
            let excess = borders.map(|border| {
                let pairs = || before.iter().zip(&after);
                let out = pairs().filter(|(x, y)| **x <= border && **y > border).count() as f64;
                let back = pairs().filter(|(x, y)| **x > border && **y <= border).count() as f64;
                (out - back).abs() / (out + back).max(1.0).sqrt()
            });
            excess.fold(0.0, f64::max)
        };
        let found = crossings(profile, 16_000);
        assert!(found < 5.0, "{space:?} {profile:?} {found}");
        assert!(crossings(wider(profile), 12_000) > 5.0, "{space:?} {profile:?}");
    }
}

/// At a small scale the law of the distance is nearly that of flat space, whose mean is the dimension times
/// the scale.
#[test]
fn chains_serve_orders_without_an_exact_sampler() {
    let (space, scale) = (spd(17), 1e-5);
    assert!(IsotropicNoise::new(space, laplace(scale)).is_err());
    let law = law(space, laplace(scale)).unwrap();
    let plan = Plan { thinning: 20, ..plan(2000, 800, law.first_scale()) };
    let chains = law.run(law.starts(8, KEY), &plan, KEY, NEVER).unwrap();
    let width = space.dim() + 1;
    let dists: Vec<f64> =
        chains.iter().flat_map(|c| c.draws.chunks_exact(width).map(|r| r[width - 1])).collect();
    let mean = dists.iter().sum::<f64>() / dists.len() as f64;
    let diagnosis = diagnose(&chains, width)[width - 1];
    assert!(diagnosis.r_hat < 1.2 && diagnosis.effective_sample_size > 50.0, "{diagnosis:?}");
    // the law's standard deviation is the mean over sqrt(153)
    assert!((mean / (153.0 * scale) - 1.0).abs() < 0.04, "{mean}");
    for chain in &chains {
        assert!((chain.acceptance - 0.3).abs() < 0.1, "{}", chain.acceptance);
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_other_chains() {
    for (space, profile) in cases() {
        let law = law(space, profile).unwrap();
        let plan = Plan { thinning: 3, ..plan(40, 10, law.first_scale()) };
        let starts = law.starts(21, KEY);
        let run = |count: usize| law.run(starts[..count].to_vec(), &plan, KEY, NEVER).unwrap();
        set_num_threads(1);
        let alone = run(21);
        set_num_threads(3);
        let together = run(21);
        set_num_threads(0);
        assert_eq!(alone, together);
        assert_eq!(run(1), alone[..1], "{space:?}");
        assert_eq!(run(18), alone[..18]);
        assert_ne!(alone[0].draws, alone[1].draws);
        assert_eq!(alone[0].draws.len(), 10 * (space.dim() + 1));
    }
}

#[test]
fn steps_of_any_size_leave_chains_finite() {
    for (space, profile) in cases() {
        let law = law(space, profile).unwrap();
        for scale in [1e-300, 1e-3, 1e3, 1e300] {
            let plan = Plan { acceptance: None, ..plan(0, 50, scale) };
            for chain in law.run(law.starts(3, KEY), &plan, KEY, NEVER).unwrap() {
                assert!(chain.draws.iter().all(|x| x.is_finite()), "{space:?} {scale}");
            }
        }
    }
}

#[test]
fn laws_beyond_double_precision_are_refused() {
    let refused = |space, profile| matches!(law(space, profile), Err(NoiseError::Range { .. }));
    assert!(refused(spd(2), gaussian(20.0)));
    assert!(refused(spd(3), laplace(0.706)));
    let hyperbolic = Space::Radial(Radial::Hyperbolic { dim: 2, curvature: -1.0 });
    assert!(refused(hyperbolic, laplace(0.999)) && !refused(hyperbolic, laplace(0.9)));
    let existence = law(spd(3), laplace(1.0));
    assert!(matches!(existence, Err(NoiseError::Existence { .. })));
}
