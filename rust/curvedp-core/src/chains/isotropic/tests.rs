use super::*;
use crate::chains::diagnose;
use crate::linalg::lanes::{Lane, Lanes};
use crate::manifold::{Manifold, SpdAffine};
use crate::noise::IsotropicNoise;
use crate::parallel::set_num_threads;
use crate::rows::Rows;

const KEY: [u8; 32] = [4; 32];
const NEVER: &dyn Fn() -> bool = &|| false;

fn laplace(scale: f64) -> Profile {
    Profile::Laplace { scale }
}

fn gaussian(scale: f64) -> Profile {
    Profile::Gaussian { scale }
}

/// Every walk, with a law that feels the curvature.
fn laws() -> Vec<IsotropicLaw> {
    let radial = Space::Radial;
    let cases = [
        (radial(Radial::Flat { dim: 1 }), laplace(0.3)),
        (radial(Radial::Flat { dim: 5 }), gaussian(2.0)),
        (radial(Radial::Sphere { dim: 1, radius: 1.0 }), laplace(0.7)),
        (radial(Radial::Sphere { dim: 2, radius: 2.0 }), laplace(1.0)),
        (radial(Radial::Sphere { dim: 6, radius: 1.0 }), gaussian(0.6)),
        (radial(Radial::Hyperbolic { dim: 3, curvature: -0.5 }), laplace(0.4)),
        (radial(Radial::Hyperbolic { dim: 2, curvature: -1.0 }), gaussian(1.5)),
        (radial(Radial::ComplexProjective { m: 1 }), laplace(0.2)),
        (radial(Radial::ComplexProjective { m: 4 }), gaussian(0.4)),
        (Space::Spd { m: 1 }, laplace(1.0)),
        (Space::Spd { m: 2 }, laplace(0.4)),
        (Space::Spd { m: 2 }, gaussian(1.5)),
        (Space::Spd { m: 3 }, laplace(0.25)),
        (Space::Spd { m: 4 }, gaussian(0.7)),
        (Space::Spd { m: 7 }, laplace(0.05)),
    ];
    cases.into_iter().map(|(space, profile)| IsotropicLaw::new(space, profile).unwrap()).collect()
}

fn exact_draws(law: &IsotropicLaw, count: usize) -> Vec<f64> {
    let noise = IsotropicNoise::new(law.space, law.profile).unwrap();
    let mut stream = Stream::from_key([77; 32], 0);
    let mut draws = vec![0.0; count * law.space.dim()];
    for row in draws.chunks_exact_mut(law.space.dim()) {
        noise.sample_coords(&mut stream, row);
    }
    draws
}

fn lengths(rows: &[f64], dim: usize) -> Vec<f64> {
    let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
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

#[test]
fn ends_of_chains_follow_the_exact_law_and_no_other() {
    for law in laws() {
        let plan = plan(60 + 25 * law.space.dim(), 1, law.first_step());
        let chains = law.run(&law.starts(2048, KEY), &plan, KEY, NEVER).unwrap();
        let exact = lengths(&exact_draws(&law, 20_000), law.space.dim());
        let found = gap_between(ends(&chains), exact.clone());
        assert!(found < CRITICAL, "{law:?} {found}");
        let other = IsotropicLaw::new(law.space, law.profile.with_scale(1.3 * law.profile.scale()));
        let chains = other.unwrap().run(&law.starts(2048, KEY), &plan, KEY, NEVER).unwrap();
        assert!(gap_between(ends(&chains), exact) > CRITICAL, "{law:?}");
    }
}

/// Detailed balance: from the law itself, a step from near to far is as likely as one from far to near,
/// wherever the border lies; and directions count as little as they do in the law.
#[test]
fn a_step_from_the_law_looks_the_same_backwards() {
    let crossings = |law: &IsotropicLaw, starts: &[f64]| -> f64 {
        let dim = law.space.dim();
        let plan = Plan { acceptance: None, ..plan(0, 1, law.first_step()) };
        let chains = law.run(starts, &plan, KEY, NEVER).unwrap();
        let (before, after) = (lengths(starts, dim), ends(&chains));
        let mut sorted = before.clone();
        sorted.sort_by(f64::total_cmp);
        let borders = (1..10).map(|i| sorted[i * sorted.len() / 10]);
        let excess = borders.map(|border| {
            let pairs = || before.iter().zip(&after);
            let out = pairs().filter(|(x, y)| **x <= border && **y > border).count() as f64;
            let back = pairs().filter(|(x, y)| **x > border && **y <= border).count() as f64;
            (out - back).abs() / (out + back).max(1.0).sqrt()
        });
        excess.fold(0.0, f64::max)
    };
    for law in laws() {
        let starts = exact_draws(&law, 30_000);
        let found = crossings(&law, &starts);
        assert!(found < 5.0, "{law:?} {found}");
        let other = law.profile.with_scale(1.5 * law.profile.scale());
        let other = IsotropicLaw::new(law.space, other).unwrap();
        assert!(crossings(&other, &starts) > 5.0, "{law:?}");
    }
}

#[test]
fn directions_are_uniform() {
    for law in laws() {
        let dim = law.space.dim();
        let starts: Vec<f64> = (0..2048)
            .flat_map(|_| (0..dim).map(|j| if j == 0 { law.reach.typical } else { 0.0 }))
            .collect();
        let plan = plan(100 + 40 * dim, 1, law.first_step());
        let chains = law.run(&starts, &plan, KEY, NEVER).unwrap();
        let count = chains.len() as f64;
        let mut mean = vec![0.0; dim];
        let mut square = vec![0.0; dim];
        for chain in &chains {
            for (j, x) in chain.draws[..dim].iter().enumerate() {
                mean[j] += x / count;
                square[j] += x * x / count;
            }
        }
        let variance = square.iter().sum::<f64>() / dim as f64;
        for j in 0..dim {
            let off_center = mean[j] / (variance / count).sqrt();
            let stretched = (square[j] / variance - 1.0) * (count / 8.0).sqrt();
            assert!(off_center.abs() < 5.0, "{law:?} {j} {off_center}");
            assert!(dim == 1 || stretched.abs() < 5.0, "{law:?} {j} {stretched}");
        }
    }
}

/// exp_origin and log_origin, and the length of steps from the origin.
fn check_walk<W: Walk>(walk: W, first_free: usize) {
    const L: usize = 3;
    let dim = walk.dim();
    let mut stream = Stream::from_key([8; 32], 0);
    let mut fill = |count: usize, scale: f64| -> Vec<Lane<L>> {
        (0..count).map(|_| std::array::from_fn(|_| scale * stream.normal())).collect()
    };
    for scale in [1e-9, 1e-3, 0.2] {
        let u = fill(dim, scale);
        let (mut state, mut to) = (Lanes::<L>::new(walk.size()), Lanes::<L>::new(walk.size()));
        let (mut work, mut back) = (Lanes::<L>::new(walk.work()), Lanes::<L>::new(dim));
        walk.enter(&u, &mut state, &mut work);
        let dist = walk.dist(&state, &mut work);
        walk.leave(&state, &mut back, &mut work);
        for l in 0..L {
            let length = u.iter().map(|x| x[l] * x[l]).sum::<f64>().sqrt();
            assert!((dist[l] / length - 1.0).abs() < 1e-13, "{} {length}", dist[l]);
            for j in 0..dim {
                assert!((back[j][l] - u[j][l]).abs() < 1e-13 * length);
            }
        }
        let mut z = fill(walk.normals(), scale);
        z[..first_free].fill([0.0; L]);
        walk.enter(&vec![[0.0; L]; dim], &mut state, &mut work);
        walk.step(&state, &z, &mut to, &mut work);
        let dist = walk.dist(&to, &mut work);
        for l in 0..L {
            let length = z.iter().map(|x| x[l] * x[l]).sum::<f64>().sqrt();
            assert!((dist[l] / length - 1.0).abs() < 1e-13, "{} {length}", dist[l]);
        }
    }
}

#[test]
fn normal_coordinates_and_steps_have_their_lengths() {
    check_walk(Flat { dim: 3 }, 0);
    check_walk(Sphere { dim: 1 }, 1);
    check_walk(Sphere { dim: 5 }, 1);
    check_walk(Hyperbolic { dim: 1 }, 0);
    check_walk(Hyperbolic { dim: 4 }, 0);
    check_walk(Projective { m: 1 }, 2);
    check_walk(Projective { m: 3 }, 2);
    check_walk(Spd::<2>(2), 0);
    check_walk(Spd::<0>(3), 0);
    check_walk(Spd::<0>(6), 0);
}

/// S' = E S E with E = exp(Z/2), by the maps of the manifold; Z small and large.
#[test]
fn steps_on_matrices_are_congruences() {
    let m = 4;
    let manifold = SpdAffine::new(m);
    let mut stream = Stream::from_key([9; 32], 0);
    let identity: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { 1.0 } else { 0.0 }).collect();
    let exp = |coords: &[f64]| {
        let mut out = vec![0.0; 16];
        manifold.exp_coords(Rows::shared(coords), Rows::shared(&identity), &mut out);
        out
    };
    let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..m).map(|k| a[i * m + k] * b[k * m + j]).sum();
        (0..16).map(|at| entry(at / m, at % m)).collect()
    };
    for size in [1e-3, 0.1, 3.0] {
        let mut normals =
            |scale: f64| -> Vec<f64> { (0..10).map(|_| scale * stream.normal()).collect() };
        let (u, z) = (normals(0.8), normals(size));
        let half: Vec<f64> = z.iter().map(|x| 0.5 * x).collect();
        let (s, e) = (exp(&u), exp(&half));
        let expected = times(&times(&e, &s), &e);
        let walk = Spd::<0>(m);
        let lanes = |x: &[f64]| -> Vec<Lane<1>> { x.iter().map(|&x| [x]).collect() };
        let (mut state, mut to) = (Lanes::<1>::new(10), Lanes::<1>::new(10));
        let mut work = Lanes::<1>::new(walk.work());
        walk.enter(&lanes(&u), &mut state, &mut work);
        walk.step(&state, &lanes(&z), &mut to, &mut work);
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut at = 0;
        for i in 0..m {
            for j in i..m {
                let found = to[at][0] + if i == j { 1.0 } else { 0.0 };
                assert!((found - expected[i * m + j]).abs() < 1e-13 * norm, "{size} {i} {j}");
                at += 1;
            }
        }
    }
}

/// Where there is no exact sampler: at a small scale the law of the distance is nearly that of flat space,
/// whose mean is the dimension times the scale.
#[test]
fn chains_serve_orders_without_an_exact_sampler() {
    let (m, scale) = (17, 1e-5);
    let space = Space::Spd { m };
    assert!(IsotropicNoise::new(space, laplace(scale)).is_err());
    let law = IsotropicLaw::new(space, laplace(scale)).unwrap();
    let plan = Plan { thinning: 20, ..plan(2000, 400, law.first_step()) };
    let chains = law.run(&law.starts(8, KEY), &plan, KEY, NEVER).unwrap();
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
    for law in laws() {
        let plan = Plan { thinning: 3, ..plan(40, 10, law.first_step()) };
        let starts = law.starts(21, KEY);
        let run =
            |count: usize| law.run(&starts[..count * law.space.dim()], &plan, KEY, NEVER).unwrap();
        set_num_threads(1);
        let alone = run(21);
        set_num_threads(3);
        let together = run(21);
        set_num_threads(0);
        assert_eq!(alone, together);
        assert_eq!(run(1), alone[..1], "{law:?}");
        assert_eq!(run(18), alone[..18]);
        assert_ne!(alone[0].draws, alone[1].draws);
        assert_eq!(alone[0].draws.len(), 10 * (law.space.dim() + 1));
        for row in alone[0].draws.chunks_exact(law.space.dim() + 1) {
            let (dist, coords) = row.split_last().unwrap();
            assert!((lengths(coords, coords.len())[0] / dist - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn a_raised_flag_ends_the_run() {
    let law = IsotropicLaw::new(Space::Spd { m: 2 }, laplace(0.1)).unwrap();
    let plan = plan(0, usize::MAX, 0.1);
    assert_eq!(law.run(&law.starts(3, KEY), &plan, KEY, &|| true), Err(Error::Interrupted));
}

#[test]
fn steps_of_any_size_leave_chains_finite() {
    for law in laws() {
        for scale in [1e-300, 1e-3, 1e3, 1e300] {
            let plan = Plan { acceptance: None, ..plan(0, 50, scale) };
            let chains = law.run(&law.starts(3, KEY), &plan, KEY, NEVER).unwrap();
            for chain in &chains {
                assert!(chain.draws.iter().all(|x| x.is_finite()), "{law:?} {scale}");
            }
        }
    }
}

#[test]
fn laws_beyond_double_precision_are_refused() {
    let refused =
        |space, profile| matches!(IsotropicLaw::new(space, profile), Err(NoiseError::Range { .. }));
    assert!(refused(Space::Spd { m: 2 }, gaussian(20.0)));
    assert!(refused(Space::Spd { m: 3 }, laplace(0.706)));
    let hyperbolic = Space::Radial(Radial::Hyperbolic { dim: 2, curvature: -1.0 });
    assert!(refused(hyperbolic, laplace(0.999)) && !refused(hyperbolic, laplace(0.9)));
    assert!(matches!(
        IsotropicLaw::new(Space::Spd { m: 3 }, laplace(1.0)),
        Err(NoiseError::Existence { .. })
    ));
}
