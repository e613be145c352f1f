use super::precise::{hyperboloid_log, kendall_log, sphere_log};
use super::*;

const GAPS: [f64; 7] = [1e-12, 1e-9, 1e-6, 1e-3, 0.3, 1.0, 1.5];

type Oracle = fn(&[f64], &[f64]) -> (Vec<f64>, f64);

/// Largest relative error of dist and log over random pairs made by `pair`.
fn worst(
    manifold: &dyn Manifold,
    oracle: Oracle,
    pair: impl Fn(&mut Field) -> (Vec<f64>, Vec<f64>),
) -> (f64, f64) {
    let mut field = Field::new(manifold, 1);
    let (mut dist, mut log) = (0.0f64, 0.0f64);
    for _ in 0..300 {
        let (base, point) = pair(&mut field);
        let (expected, angle) = oracle(&point, &base);
        dist = dist.max((field.dist(&base, &point) / angle - 1.0).abs());
        log = log.max(distance(&field.log(&point, &base), &expected) / size(&expected));
    }
    (dist, log)
}

#[test]
fn sphere_logs_are_accurate_at_every_distance() {
    for dim in [1, 2, 9, 99] {
        let sphere = Sphere::new(dim, 1.0);
        for gap in GAPS {
            for turn in [1.0, -1.0] {
                let (dist, log) = worst(&sphere, sphere_log, |field| {
                    let base = field.point();
                    let tangent = field.tangent_of_length(&base, gap);
                    let mut point = field.exp(&tangent, &base);
                    point.iter_mut().for_each(|x| *x *= turn);
                    (base, point)
                });
                assert!(dist < 2e-15, "S^{dim} {gap} {turn}: dist {dist}");
                assert!(log < 4e-15, "S^{dim} {gap} {turn}: log {log}");
            }
        }
    }
}

#[test]
fn hyperboloid_logs_are_accurate_at_every_distance() {
    for dim in [1, 2, 10, 99] {
        let space = Hyperboloid::new(dim, -1.0);
        for gap in GAPS {
            let (dist, log) = worst(&space, hyperboloid_log, |field| {
                let origin: Vec<f64> = (0..=dim).map(|j| if j == 0 { 1.0 } else { 0.0 }).collect();
                let away = field.tangent_of_length(&origin, 1.0);
                let base = field.exp(&away, &origin);
                let tangent = field.tangent_of_length(&base, gap);
                let point = field.exp(&tangent, &base);
                (base, point)
            });
            let junk = (3e-15 / gap).powi(2);
            assert!(dist < 2e-14 + junk, "H^{dim} {gap}: dist {dist}");
            assert!(log < 2e-14 + junk, "H^{dim} {gap}: log {log}");
        }
    }
}

/// A shape at the given distance from a random one, and its representative turned by `turn`.
fn shapes(field: &mut Field, gap: f64, turn: f64) -> (Vec<f64>, Vec<f64>) {
    let base = field.point();
    let tangent = field.tangent_of_length(&base, gap);
    let point = field.exp(&tangent, &base);
    let (sin, cos) = (libm::sin(turn), libm::cos(turn));
    let turned =
        point.chunks(2).flat_map(|z| [cos * z[0] - sin * z[1], sin * z[0] + cos * z[1]]).collect();
    (base, turned)
}

#[test]
fn kendall_logs_of_aligned_shapes_are_accurate_at_every_distance() {
    for k in [3, 10, 50] {
        let manifold = KendallPlanar::new(k);
        for gap in [1e-9, 1e-6, 1e-3, 0.3, 1.0] {
            let (dist, log) = worst(&manifold, kendall_log, |field| shapes(field, gap, 0.0));
            let junk = (3e-16 / gap).powi(2);
            assert!(dist < 3e-15 + junk, "k={k} {gap}: dist {dist}");
            assert!(log < 4e-15 + junk, "k={k} {gap}: log {log}");
        }
    }
}

#[test]
fn kendall_logs_of_turned_shapes_have_small_absolute_errors() {
    for k in [3, 10, 50] {
        let manifold = KendallPlanar::new(k);
        for gap in [1e-12, 1e-9, 1e-6, 1e-3, 0.3, 1.0] {
            for turn in [1e-9, 1e-3, 1.0, 3.0] {
                let (dist, log) = worst(&manifold, kendall_log, |field| shapes(field, gap, turn));
                assert!(gap * dist < 1e-15 + 2e-15 * gap, "k={k} {gap} {turn}: dist {dist}");
                assert!(gap * log < 4e-15, "k={k} {gap} {turn}: log {log}");
            }
        }
    }
}

#[test]
fn exponentials_lie_on_the_manifold_to_the_last_digits() {
    for (name, manifold) in manifolds() {
        let mut field = Field::new(&*manifold, 2);
        for length in [1e-9, 0.1, 1.0, 3.0, 6.0] {
            let base = field.point();
            let tangent = field.tangent_of_length(&base, length);
            assert!(manifold.belongs(&field.exp(&tangent, &base), 1e-15), "{name} {length}");
        }
    }
}
