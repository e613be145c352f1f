use super::super::RadialNoise;
use super::super::steps::Density;
use super::super::steps::tests::check_all_heights;
use super::*;
use crate::exact::try_decide;
use crate::manifold::{Hyperboloid, Manifold};
use crate::rows::Rows;

const SPACES: [Radial; 8] = [
    Radial::Sphere { dim: 1, radius: 1.0 },
    Radial::Sphere { dim: 2, radius: 1.0 },
    Radial::Sphere { dim: 9, radius: 3.0 },
    Radial::Hyperbolic { dim: 1, curvature: -1.0 },
    Radial::Hyperbolic { dim: 2, curvature: -1.0 },
    Radial::Hyperbolic { dim: 5, curvature: -0.25 },
    Radial::ComplexProjective { m: 1 },
    Radial::ComplexProjective { m: 4 },
];

fn radius(space: Radial) -> f64 {
    match space {
        Radial::Sphere { radius, .. } => radius,
        Radial::Hyperbolic { curvature, .. } => 1.0 / (-curvature).sqrt(),
        _ => 1.0,
    }
}

/// A point some way from the origin.
fn base(space: Radial) -> Vec<f64> {
    let size = match space {
        Radial::ComplexProjective { m } => 2 * m + 2,
        _ => space.dim() + 1,
    };
    let mut point: Vec<f64> = (0..size).map(|i| 0.1 * (i as f64 + 1.0)).collect();
    let rest: f64 = point[1..].iter().map(|x| x * x).sum();
    match space {
        Radial::Hyperbolic { .. } => point[0] = (1.0 + rest).sqrt(),
        _ => {
            let length = (point[0] * point[0] + rest).sqrt();
            point.iter_mut().for_each(|x| *x /= length);
        }
    }
    point.iter_mut().for_each(|x| *x *= radius(space));
    point
}

fn laws(space: Radial, scale: f64) -> [Profile; 2] {
    // on hyperbolic space Laplace noise must be shorter than the volume grows
    let growth = space.roots().growth_rate() * 1.5;
    [Profile::Gaussian { scale }, Profile::Laplace { scale: scale.min(1.0 / growth) }]
}

fn noise(space: Radial, profile: Profile) -> RadialNoise {
    RadialNoise::new(space, profile).unwrap()
}

fn draw(
    noise: &RadialNoise,
    base: &[f64],
    grid: i32,
    stream: &mut Stream,
    effort: Effort,
) -> Vec<f64> {
    let curved = noise.curved.as_ref().unwrap();
    let mut out = vec![0.0; base.len() - usize::from(curved.shape == Shape::Hyperbolic)];
    curved.draw(base, grid, stream, effort, &mut out);
    out
}

/// Space parts are rounded, so coordinates differ by that.
#[test]
fn chart_coordinates_are_the_points_that_they_stand_for() {
    for (dim, curvature) in [(1, -1.0), (2, -1.0), (5, -0.25)] {
        let space = Radial::Hyperbolic { dim, curvature };
        let manifold = Hyperboloid::new(dim, curvature);
        let noise = noise(space, Profile::Gaussian { scale: 0.4 });
        for length in [0.0, 1e-9, 0.3, 2.0, 9.0] {
            let chart: Vec<f64> = (0..dim).map(|i| length / (1.0 + i as f64)).collect();
            let mut point = vec![0.0; dim + 1];
            manifold.exp_origin(Rows::shared(&chart), &mut point);
            for seed in 0..5 {
                let drawn = [&chart, &point].map(|base| {
                    let mut stream = Stream::from_key([seed; 32], 0);
                    let mut out = vec![0.0; dim];
                    let curved = noise.curved.as_ref().unwrap();
                    curved.draw(base, -40, &mut stream, Effort::Least, &mut out);
                    out
                });
                let error = 2e-15 * length.exp() + 2f64.powi(-39);
                for (x, y) in drawn[0].iter().zip(&drawn[1]) {
                    assert!((x - y).abs() <= error, "{dim} {length} {x} {y}");
                }
            }
        }
    }
}

#[test]
fn draws_do_not_depend_on_the_words_with_which_they_are_decided() {
    for space in SPACES {
        let base = base(space);
        for scale in [1e-9, 1e-3, 0.4, 10.0] {
            for profile in laws(space, scale) {
                let noise = noise(space, profile);
                let grid = exponent(scale.min(1.0)) - 20;
                let mut streams = [0; 2].map(|_| Stream::from_key([6; 32], 1));
                for _ in 0..40 {
                    let [a, b] = &mut streams;
                    let steady = draw(&noise, &base, grid, a, Effort::Steady);
                    let least = draw(&noise, &base, grid, b, Effort::Least);
                    assert_eq!(steady, least, "{space:?} {profile:?}");
                }
            }
        }
    }
}

/// Draws on a sphere that doubles decide with bounds times `trust`: their share, and how many of them differ from
/// what enclosures decide.
fn decided_in_doubles(space: Radial, profile: Profile, grid: i32, trust: f64) -> (f64, usize) {
    let (noise, n) = (noise(space, profile), 1000);
    let noise = noise.curved.as_ref().unwrap();
    let mut stream = Stream::from_key([12; 32], 0);
    let (mut decided, mut different) = (0, 0);
    for i in 0..n {
        let mut base = base(space);
        let angle = 0.006 * f64::from(i);
        let (q, r) = (base[0], base[1]);
        base[0] = libm::cos(angle) * q - libm::sin(angle) * r;
        base[1] = libm::sin(angle) * q + libm::cos(angle) * r;
        let (distance, is_negative) = noise.distances.draw(&mut stream, Effort::Least);
        let normals = Normal::draw_all(base.len(), &mut stream, Effort::Least);
        let stream = &stream;
        let point = Point { noise, base: &base, grid, distance, is_negative, normals, stream };
        if let Some(found) = point.in_doubles(trust) {
            decided += 1;
            different += usize::from(found != decide(&point, Effort::Steady));
        }
    }
    (f64::from(decided) / f64::from(n), different)
}

/// Grids so fine that the rounding of doubles often changes the multiples, and as coarse as those of releases.
#[test]
fn doubles_decide_nothing_that_enclosures_decide_otherwise() {
    for space in [SPACES[1], SPACES[2], Radial::Sphere { dim: 60, radius: 0.1 }] {
        let unit = exponent(radius(space));
        for scale in [1e-6, 0.01, 0.2, 0.7, 3.0] {
            for profile in laws(space, scale * radius(space)) {
                for grid in [-20, -36, -40, -42, -43, -44, -45, -48] {
                    let (share, different) = decided_in_doubles(space, profile, unit + grid, 1.0);
                    assert_eq!(different, 0, "{space:?} {profile:?} {grid}");
                    let is_usual = grid >= -36 && scale < 0.2 && space.dim() < 10;
                    assert!(!is_usual || share > 0.95, "{space:?} {profile:?} {share}");
                }
            }
        }
        let profile = Profile::Gaussian { scale: 0.2 * radius(space) };
        let (_, control) = decided_in_doubles(space, profile, unit - 48, 0.0);
        assert!(control > 0, "{space:?}");
    }
}

#[test]
fn all_heights_give_the_density_of_a_distance() {
    let law = |shape, power, angle, is_laplace| {
        let farthest = f64::INFINITY;
        let density = Distance { shape, power, angle, rate: 1.0, is_laplace, farthest };
        Scaled::new(density, 1.0).unwrap()
    };
    // to beyond the farthest points
    check_all_heights(Steps::new(law(Shape::Sphere, 1, 0.7, true), -3, 36).unwrap());
    check_all_heights(Steps::new(law(Shape::Sphere, 0, 0.7, false), -3, 36).unwrap());
    check_all_heights(Steps::new(law(Shape::ComplexProjective, 3, 0.5, false), -3, 26).unwrap());
    check_all_heights(Steps::new(law(Shape::Hyperbolic, 2, 0.2, true), -1, 40).unwrap());
    check_all_heights(Steps::new(law(Shape::Hyperbolic, 4, 1.0, false), -2, 36).unwrap());
}

/// The distance in units of the radius, as far as doubles tell it.
fn angle(space: Radial, base: &[f64], drawn: &[f64]) -> f64 {
    let r = radius(space);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match space {
        Radial::Hyperbolic { .. } => {
            let far = dot(drawn, drawn).sqrt() / r;
            let space: Vec<f64> = drawn.iter().map(|x| x / r * libm::sinh(far) / far).collect();
            let base: Vec<f64> = base.iter().map(|x| x / r).collect();
            libm::acosh((libm::cosh(far) * base[0] - dot(&space, &base[1..])).max(1.0))
        }
        Radial::ComplexProjective { .. } => {
            let im: f64 = base
                .chunks_exact(2)
                .zip(drawn.chunks_exact(2))
                .map(|(a, b)| a[0] * b[1] - a[1] * b[0])
                .sum();
            libm::acos(dot(base, drawn).hypot(im).min(1.0))
        }
        _ => libm::acos((dot(base, drawn) / r / r).clamp(-1.0, 1.0)),
    }
}

/// Largest distance of the distances' distribution from that of a law, times the root of their number.
fn distance_from_law(space: Radial, profile: Profile, other: Profile) -> f64 {
    let (law, base, n) = (noise(space, profile), base(space), 8000);
    let mut stream = Stream::from_key([7; 32], space.dim() as u64);
    let mut found: Vec<f64> = (0..n)
        .map(|_| angle(space, &base, &draw(&law, &base, -40, &mut stream, Effort::Least)))
        .collect();
    found.sort_by(f64::total_cmp);
    let cdf = |t: f64| noise(space, other).radius.cdf(t * radius(space));
    let steps = found.iter().step_by(20).enumerate();
    let apart = steps.map(|(k, t)| (cdf(*t) - 20.0 * k as f64 / f64::from(n)).abs());
    apart.fold(0.0, f64::max) * f64::from(n).sqrt()
}

#[test]
fn distances_have_the_law_of_the_radius() {
    for space in SPACES {
        // doubles tell no distances far out in hyperbolic space
        let wide = if space.roots().farthest.is_finite() { 30.0 } else { 1.5 };
        for scale in [0.1, 0.6, wide] {
            for profile in laws(space, scale) {
                let found = distance_from_law(space, profile, profile);
                assert!(found < 2.2, "{space:?} {profile:?} {found}");
            }
        }
        let profile = Profile::Gaussian { scale: 0.3 };
        let control = distance_from_law(space, profile, Profile::Gaussian { scale: 0.33 });
        assert!(control > 2.7, "{space:?} {control}");
    }
}

/// Directions have mean 0, and no axis is longer than another.
#[test]
fn directions_are_uniform_about_the_origin() {
    for space in SPACES {
        let mut origin = base(space);
        origin.fill(0.0);
        origin[0] = radius(space);
        let (law, dim) = (noise(space, Profile::Gaussian { scale: 0.2 }), space.dim());
        let mut stream = Stream::from_key([8; 32], 0);
        let n = 6000;
        let (mut mean, mut square) = (vec![0.0; dim], vec![0.0; dim]);
        for _ in 0..n {
            let drawn = draw(&law, &origin, -40, &mut stream, Effort::Least);
            let tangent = &drawn[drawn.len() - dim..];
            let length = tangent.iter().map(|x| x * x).sum::<f64>().sqrt();
            for j in 0..dim {
                mean[j] += tangent[j] / length / f64::from(n);
                square[j] += tangent[j] * tangent[j] / length / length / f64::from(n);
            }
        }
        for j in 0..dim {
            let error = 5.0 / (f64::from(n) * dim as f64).sqrt();
            assert!(mean[j].abs() < error, "{space:?} {}", mean[j]);
            assert!((square[j] - 1.0 / dim as f64).abs() < 2.0 * error, "{space:?} {}", square[j]);
        }
    }
}

/// The cosine of the angle with a fixed direction at a base point that is not the origin: on S^2 uniform
/// directions give u in [-1, 1] with density 1/(pi sqrt(1 - u^2)).
#[test]
fn directions_are_uniform_about_other_points() {
    let space = SPACES[1];
    let (law, base) = (noise(space, Profile::Gaussian { scale: 0.5 }), base(space));
    let along = {
        let dot = base[2];
        let v: Vec<f64> = (0..3).map(|i| if i == 2 { 1.0 } else { 0.0 } - dot * base[i]).collect();
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter().map(|x| x / length).collect::<Vec<_>>()
    };
    let mut stream = Stream::from_key([9; 32], 0);
    let n = 20_000;
    let mut found: Vec<f64> = (0..n)
        .map(|_| {
            let drawn = draw(&law, &base, -40, &mut stream, Effort::Least);
            let dot: f64 = drawn.iter().zip(&base).map(|(a, b)| a * b).sum();
            let v: Vec<f64> = drawn.iter().zip(&base).map(|(y, q)| y - dot * q).collect();
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter().zip(&along).map(|(a, b)| a * b).sum::<f64>() / length
        })
        .collect();
    found.sort_by(f64::total_cmp);
    let cdf = |u: f64| 0.5 + u.clamp(-1.0, 1.0).asin() / std::f64::consts::PI;
    let apart = found.iter().enumerate().map(|(k, u)| (cdf(*u) - k as f64 / f64::from(n)).abs());
    assert!(apart.fold(0.0, f64::max) * f64::from(n).sqrt() < 2.2);
}

#[test]
fn noise_of_every_width_has_a_law_and_wide_noise_fills_the_space() {
    for (dim, scale) in (1..40).flat_map(|dim| (1..30).map(move |k| (dim, 0.05 * f64::from(k)))) {
        for profile in laws(SPACES[0], scale) {
            noise(Radial::Sphere { dim, radius: 1.0 }, profile);
            noise(Radial::ComplexProjective { m: dim }, profile);
        }
        for profile in laws(Radial::Hyperbolic { dim, curvature: -1.0 }, scale) {
            noise(Radial::Hyperbolic { dim, curvature: -1.0 }, profile);
        }
    }
    for space in [SPACES[1], SPACES[2], SPACES[6]] {
        let law = noise(space, Profile::Laplace { scale: 1e9 });
        let mut stream = Stream::from_key([4; 32], 0);
        let drawn = (0..2000).map(|_| draw(&law, &base(space), -30, &mut stream, Effort::Least));
        let mean: f64 = drawn.map(|x| x[1] / radius(space)).sum::<f64>() / 2000.0;
        assert!(mean.abs() < 0.07, "{space:?} {mean}");
        for scale in [1e20, 1e90] {
            noise(space, Profile::Gaussian { scale });
        }
    }
}

/// Both formulas for points at x about base points at b, in directions up to `turn` from the one to the origin.
#[test]
fn points_about_far_base_points_are_those_of_the_boost() {
    for b in [0.5, 3.0, 8.0, 14.0, 20.0] {
        for gap in [-7.0, -0.3, 0.0, 1e-9, 0.9, 1.1, 5.0] {
            for turn in [1.0, 1e-3, 1e-9] {
                let (x, log) = (Enclosure::<16>::double(b + gap, 0), [0.6 * b, -0.8 * b]);
                if b + gap < 1e-9 {
                    continue;
                }
                let log = log.map(|x| Enclosure::double(x, 0));
                let back = [-0.6 - 0.8 * turn, 0.8 - 0.6 * turn].map(|x| Enclosure::double(x, 0));
                let direction = Unit::of(back.into_iter().collect()).unwrap().vector;
                let base = Unit::of(log.into_iter().collect()).unwrap();
                let far = far_from_origin(base, &x, &direction).unwrap();
                let space = space_part(log.into_iter().collect()).unwrap();
                let near = on_hyperboloid(&space, &x, &direction).unwrap();
                for (x, y) in far.iter().zip(&near) {
                    let apart = x.minus(y);
                    let bits = apart.middle_as_double().abs();
                    assert!(apart.sign().is_err() && bits < 1e-100, "{b} {gap} {turn} {bits}");
                }
            }
        }
    }
}

/// Directions 2^-64 from the one to the origin, at a distance 2^-64 from that to the origin.
#[test]
fn points_next_to_the_origin_are_decided() {
    for b in [9.0, 21.0, 29.9] {
        let log = [Enclosure::<32>::double(b, 0), Enclosure::ZERO];
        let small = Enclosure::dyadic(1, -64);
        let back = Unit::of([Enclosure::integer(-1), small].into_iter().collect()).unwrap();
        let x = Enclosure::double(b, 0).plus(&small);
        let base = Unit::of(log.into_iter().collect()).unwrap();
        let drawn = far_from_origin(base, &x, &back.vector).unwrap();
        assert!(drawn.iter().all(|x| x.nearest_multiple(-10) == Ok(0)), "{b}");
    }
}

/// Base points at the rim of the largest balls, in every dimension: no multiple is drawn twice.
#[test]
fn noise_about_far_base_points_has_no_atoms() {
    for (dim, scale) in [(1, 0.05), (1, 5.0), (2, 0.05), (2, 0.9), (3, 0.4), (10, 0.05)] {
        for b in [7.9, 8.1, 21.4, 21.6, 29.7] {
            let space = Radial::Hyperbolic { dim, curvature: -1.0 };
            for profile in laws(space, scale) {
                let law = noise(space, profile);
                let curved = law.curved.as_ref().unwrap();
                let base: Vec<f64> = (0..dim).map(|i| if i == 0 { b } else { 0.0 }).collect();
                let mut stream = Stream::from_key([2; 32], dim as u64);
                let mut seen = std::collections::HashSet::new();
                for effort in [Effort::Steady, Effort::Least].repeat(50) {
                    let mut out = vec![0.0; dim];
                    curved.draw(&base, -40, &mut stream, effort, &mut out);
                    assert!(out.iter().all(|x| x.is_finite()) && out[0] != 0.0);
                    assert!(seen.insert(out[0].to_bits()), "{dim} {scale} {b}");
                }
            }
        }
    }
}

/// Places behind the farthest point, which the tail of a table may propose, have no density: nothing there is undecided.
#[test]
fn the_tail_of_a_table_beyond_the_space_is_decided() {
    for space in SPACES {
        for scale in [0.07, 0.235, 0.5, 3.0] {
            for profile in laws(space, scale * radius(space)) {
                let law = noise(space, profile);
                let density = law.curved.as_ref().unwrap().distances.density();
                for t in [0.5, 3.0, 20.0, 1e3, 1e6] {
                    let value = density.at::<3>(&Enclosure::double(t, 0));
                    assert!(value.is_ok(), "{space:?} {profile:?} {t}");
                }
            }
        }
    }
}

/// Normals, heights and places of 2^-100 leave nothing undecided.
#[test]
fn small_numbers_are_decided() {
    for space in SPACES {
        let (noise, base) = (noise(space, Profile::Gaussian { scale: 0.4 }), base(space));
        let noise = noise.curved.as_ref().unwrap();
        let mut stream = Stream::from_key([3; 32], 0);
        let count = if noise.distances.density().of.power == 0 { 0 } else { base.len() };
        let count = count - usize::from(count > 0 && noise.shape == Shape::Hyperbolic);
        for small in 0..=count {
            let (mut distance, is_negative) = noise.distances.draw(&mut stream, Effort::Least);
            let mut normals = Normal::draw_all(count, &mut stream, Effort::Least);
            let place = normals.get_mut(small).map_or(&mut distance, |normal| &mut normal.size);
            place.set_small(100);
            let (base, stream, grid) = (&base[..], &stream, -20);
            let point = Point { noise, base, grid, distance, is_negative, normals, stream };
            assert!(try_decide(&point, Effort::Least).is_ok(), "{space:?} {small}");
        }
    }
}

#[test]
fn far_draws_of_hyperbolic_space_are_finite() {
    let space = Radial::Hyperbolic { dim: 2, curvature: -1.0 };
    let law = noise(space, Profile::Gaussian { scale: 30.0 });
    let mut stream = Stream::from_key([5; 32], 0);
    let mut farthest: f64 = 0.0;
    for _ in 0..500 {
        let drawn = draw(&law, &base(space), -16, &mut stream, Effort::Least);
        farthest = farthest.max(drawn[0].hypot(drawn[1]));
    }
    assert!(farthest > 900.0 && farthest < 1300.0, "{farthest}");
}
