//! Samples per second of the exact samplers on one thread, with the time to build each and its acceptance.

use curvedp_core::noise::{IsotropicNoise, Profile, Stream};
use curvedp_core::roots::{Matrices, Radial, Space};
use std::time::Instant;

fn report(name: &str, space: Space, profile: Profile, stream: &mut Stream) {
    let start = Instant::now();
    let noise = match IsotropicNoise::new(space, profile) {
        Ok(noise) => noise,
        Err(error) => return println!("{name:24} {error}"),
    };
    let build = start.elapsed().as_secs_f64();
    let mut coords = vec![0.0; noise.dim()];
    let mut rates = Vec::new();
    for _ in 0..5 {
        let (start, mut count, mut sum) = (Instant::now(), 0.0, 0.0);
        while start.elapsed().as_secs_f64() < 0.05 {
            for _ in 0..100 {
                noise.sample_coords(stream, &mut coords);
                sum += coords[0];
            }
            count += 100.0;
        }
        std::hint::black_box(sum);
        rates.push(count / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let (rate, acceptance) = (rates[2], noise.acceptance());
    println!(
        "{name:24} {rate:10.3e} /s  acceptance {acceptance:.4}  built in {:.2} ms",
        1e3 * build
    );
}

fn main() {
    let mut stream = Stream::from_key([5; 32], 0);
    let scale = 0.1;
    for (kind, profile) in
        [("Laplace", Profile::Laplace { scale }), ("Gaussian", Profile::Gaussian { scale })]
    {
        for dim in [2, 9, 99, 999] {
            let space = Radial::Sphere { dim, radius: 1.0 };
            report(&format!("{kind} S^{dim}"), Space::Radial(space), profile, &mut stream);
        }
        let space = Radial::ComplexProjective { m: 8 };
        report(&format!("{kind} CP^8"), Space::Radial(space), profile, &mut stream);
        let space = Radial::Hyperbolic { dim: 10, curvature: -1.0 };
        report(&format!("{kind} H^10"), Space::Radial(space), profile, &mut stream);
    }
    for m in [2, 3, 4, 5, 8, 11, 16] {
        let limit = 2.0 / ((m * (m * m - 1)) as f64 / 3.0).sqrt();
        for share in [0.1, 0.3, 0.7] {
            let profile = Profile::Laplace { scale: share * limit };
            let name = format!("Laplace SPD({m}) {share} limit");
            report(&name, Matrices::symmetric(m).into(), profile, &mut stream);
        }
        for scale in [0.1, 0.3, 1.0] {
            let name = format!("Gaussian SPD({m}) {scale}");
            report(&name, Matrices::symmetric(m).into(), Profile::Gaussian { scale }, &mut stream);
        }
    }
}
