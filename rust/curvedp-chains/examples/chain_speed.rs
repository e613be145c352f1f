//! Nanoseconds for a step of Metropolis chains: `cargo run --release --example chain_speed -- 11 16`.

use curvedp_chains::{Isotropic, Plan};
use curvedp_core::manifold::{Manifold, SpdAffine, Sphere};
use curvedp_core::noise::Profile;
use curvedp_core::roots::{Matrices, Radial, Space};
use std::time::Instant;

fn main() {
    let argument = |i: usize| std::env::args().nth(i).and_then(|x| x.parse().ok());
    let (m, chains) = (argument(1).unwrap_or(11usize), argument(2).unwrap_or(16usize));
    let (manifold, space): (Box<dyn Manifold>, Space) = match m {
        0 => (Box::new(Sphere::new(2, 1.0)), Space::Radial(Radial::Sphere { dim: 2, radius: 1.0 })),
        m => (Box::new(SpdAffine::new(m)), Matrices::symmetric(m).into()),
    };
    let (scale, step) = match m {
        0 => (0.1, 0.15),
        1..5 => (0.3, 0.36),
        _ => (0.02, 0.024),
    };
    let law = Isotropic::new(&*manifold, space, Profile::Laplace { scale }).expect("law");
    let draws = argument(3).unwrap_or(10_000) / chains;
    let plan = Plan { burn_in: 0, draws: 1, thinning: draws, scale: step, acceptance: None };
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let starts = law.starts(chains, [1; 32]);
        let start = Instant::now();
        let found = law.run(starts, &plan, [2; 32], &|| false).expect("chains");
        best = best.min(start.elapsed().as_secs_f64() / (chains * draws) as f64);
        assert!(found[0].acceptance > 0.0);
    }
    println!("order {m}, {chains} chains: {:.1} ns a step", best * 1e9);
}
