//! Sums of clipped logarithms against the plain loop over records.

use super::*;
use crate::manifold::curvature::jacobi_growth;
use crate::manifold::{
    LogMoments, SpdAffine, exp_growth, hessian_excess, log_jacobian, log_jacobian_bound,
};
use crate::moments::{dist_moments, log_moments};
use crate::roots::Space;

fn with_spd() -> Vec<(String, Box<dyn Manifold>)> {
    let mut list = manifolds();
    for m in [1, 2, 3, 4, 6, 9] {
        list.push((format!("spd:{m}"), Box::new(SpdAffine::new(m))));
    }
    list
}

/// A point and records at distances up to `reach` from it.
fn sample(manifold: &dyn Manifold, count: usize, reach: f64) -> (Vec<f64>, Vec<f64>) {
    let mut field = Field::new(manifold, 9);
    let base = spread(&mut field, &manifold.origin(), 0.4 * reach);
    let points = (0..count).flat_map(|_| spread(&mut field, &base, reach)).collect();
    (base, points)
}

/// A random point at most `reach` from `base`.
fn spread(field: &mut Field, base: &[f64], reach: f64) -> Vec<f64> {
    let mut coords = field.vector(field.manifold.dim());
    let share = field.vector(1)[0].abs() * reach / size(&coords);
    coords.iter_mut().for_each(|x| *x *= share);
    let mut point = vec![0.0; base.len()];
    field.manifold.exp_coords(row(&coords), row(base), &mut point);
    point
}

fn moments(manifold: &dyn Manifold, points: &[f64], base: &[f64], max_dist: f64) -> LogMoments {
    let count = points.len() / base.len();
    let rows = Rows::new(points, base.len());
    log_moments(manifold, rows, count, base, max_dist, true, &|| false).unwrap()
}

/// First, second and excess, one record after the other.
fn plain(manifold: &dyn Manifold, points: &[f64], base: &[f64], max_dist: f64) -> [Vec<f64>; 3] {
    let dim = manifold.dim();
    let mut means = [vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim * dim]];
    let share = base.len() as f64 / points.len() as f64;
    for point in points.chunks_exact(base.len()) {
        let mut u = vec![0.0; dim];
        manifold.log_coords(row(point), row(base), &mut u);
        let shrink = (max_dist / size(&u)).min(1.0);
        u.iter_mut().for_each(|x| *x *= shrink);
        let mut hessian = vec![0.0; dim * dim];
        manifold.curvature_function(&u, &hessian_excess, &mut hessian);
        for i in 0..dim {
            means[0][i] += share * u[i];
            for j in 0..dim {
                means[1][i * dim + j] += share * u[i] * u[j];
                means[2][i * dim + j] += share * hessian[i * dim + j];
            }
        }
    }
    means
}

#[test]
fn traces_are_those_of_the_matrices() {
    for (name, manifold) in with_spd() {
        let dim = manifold.dim();
        let u: Vec<f64> = (0..dim).map(|i| (1.0 + i as f64).sin() / (dim as f64).sqrt()).collect();
        for u in [u, vec![0.0; dim]] {
            let mut matrix = vec![0.0; dim * dim];
            manifold.curvature_function(&u, &jacobi_growth, &mut matrix);
            let growth: f64 = matrix.iter().map(|x| x * x).sum();
            assert!((exp_growth(&*manifold, &u) - growth).abs() < 1e-13 * growth, "{name}");
            manifold.curvature_function(&u, &|k| jacobi_growth(k).ln(), &mut matrix);
            let volume: f64 = matrix.iter().step_by(dim + 1).sum();
            let difference = (log_jacobian(&*manifold, &u) - volume).abs();
            assert!(difference < 1e-13 * (1.0 + volume.abs()), "{name}");
        }
    }
}

#[test]
fn dimension_and_curvatures_follow_from_the_roots() {
    for (name, manifold) in with_spd() {
        let (dim, roots) = (manifold.dim(), manifold.roots());
        assert_eq!(roots.dim(), dim, "{name}");
        let (mut scalar, mut operator) = (0.0, vec![0.0; dim * dim]);
        let (lower, upper) = manifold.curvature_bounds();
        let mut field = Field::new(&*manifold, 4);
        for i in 0..dim {
            let axis: Vec<f64> = (0..dim).map(|j| f64::from(i == j)).collect();
            manifold.curvature_function(&axis, &|k| k, &mut operator);
            scalar += operator.iter().step_by(dim + 1).sum::<f64>();
            let mut v = field.vector(dim);
            v[i] = 0.0;
            let length = size(&v);
            v.iter_mut().for_each(|x| *x /= f64::max(length, f64::MIN_POSITIVE));
            let rows = operator.chunks_exact(dim).zip(&v);
            let sectional: f64 =
                rows.map(|(row, x)| x * row.iter().zip(&v).map(|(a, y)| a * y).sum::<f64>()).sum();
            let room = 1e-13 * (upper - lower + 1.0);
            let is_within = (lower - room..=upper + room).contains(&sectional);
            assert!(dim == 1 || is_within, "{name} {sectional}");
        }
        // matrices without trace where all roots are differences
        let curved = if roots.sums + roots.single + roots.double == 0 { dim - 1 } else { dim };
        let expected = roots.ricci() * curved as f64;
        assert!((scalar - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{name} {scalar}");
    }
}

/// The length of the sum of positive roots is the slope of the volume along it, far out.
#[test]
fn volumes_grow_at_the_rate_of_the_roots() {
    for (name, manifold) in with_spd() {
        let roots = manifold.roots();
        if roots.curvature >= 0.0 || roots.count() == 0 {
            continue;
        }
        let mut u = vec![0.0; manifold.dim()];
        match manifold.space() {
            Space::Matrices(matrices) => {
                let last = matrices.m as f64 - 1.0;
                matrices.diagonal().enumerate().for_each(|(i, at)| u[at] = last - 2.0 * i as f64);
            }
            _ => u[0] = 1.0,
        }
        let length = size(&u);
        let at = |t: f64| {
            let v: Vec<f64> = u.iter().map(|x| x * (t / length)).collect();
            log_jacobian(&*manifold, &v)
        };
        // each of the roots a adds ln(sinh(a t)/(a t))
        let t = 200.0 / (-roots.curvature).sqrt();
        let slope = (at(2.0 * t) - at(t) + roots.count() as f64 * 2f64.ln()) / t;
        assert!((slope / roots.growth_rate() - 1.0).abs() < 1e-12, "{name} {slope}");
    }
}

#[test]
fn the_bound_of_volumes_is_reached_by_none() {
    for (name, manifold) in with_spd() {
        let mut field = Field::new(&*manifold, 5);
        for length in [0.0, 0.1, 1.0, 6.0] {
            if length >= manifold.injectivity_radius() {
                continue;
            }
            let mut u = field.vector(manifold.dim());
            let share = length / size(&u);
            u.iter_mut().for_each(|x| *x *= share);
            let bound = log_jacobian_bound(&*manifold, length);
            assert!(log_jacobian(&*manifold, &u) <= bound + 1e-12 * (1.0 + bound), "{name}");
        }
    }
}

#[test]
fn sums_agree_with_the_plain_loop() {
    for (name, manifold) in with_spd() {
        let reach = (0.9 * manifold.injectivity_radius()).min(2.0);
        for (count, share) in [(1, 2.0), (5, 0.7), (130, 0.5), (2100, 0.8)] {
            if count > 500 && manifold.dim() > 20 {
                continue;
            }
            let (base, points) = sample(&*manifold, count, reach);
            let computed = moments(&*manifold, &points, &base, share * reach);
            let expected = plain(&*manifold, &points, &base, share * reach);
            let scale = manifold.conditioning(&base) * reach.max(1.0 / reach);
            let limit = 1e-13 * scale * scale;
            assert!(distance(&computed.first, &expected[0]) < limit, "{name} {count}");
            assert!(distance(&computed.second, &expected[1]) < limit, "{name} {count}");
            let excess = computed.excess.unwrap();
            assert!(distance(&excess, &expected[2]) < 10.0 * limit, "{name} {count}");
        }
    }
}

#[test]
fn a_record_adds_the_same_whatever_its_neighbours() {
    for (name, manifold) in with_spd() {
        let reach = (0.9 * manifold.injectivity_radius()).min(2.0);
        let (base, points) = sample(&*manifold, 1, reach);
        let alone = moments(&*manifold, &points, &base, reach);
        // a power of two of records, the others adding nothing: the mean is exact
        for place in [0, 5, 130, 1500] {
            let mut rows: Vec<f64> = (0..2048).flat_map(|_| base.clone()).collect();
            rows[place * base.len()..(place + 1) * base.len()].copy_from_slice(&points);
            let among = moments(&*manifold, &rows, &base, reach);
            let times = |x: &[f64]| x.iter().map(|x| 2048.0 * x).collect::<Vec<_>>();
            assert_eq!(times(&among.first), alone.first, "{name}");
            assert_eq!(times(&among.second), alone.second, "{name}");
            let excess = alone.excess.as_ref().unwrap();
            assert_eq!(times(among.excess.as_ref().unwrap()), *excess, "{name}");
            if manifold.dim() > 30 {
                break;
            }
        }
    }
}

#[test]
fn rows_that_are_no_points_stay_in_range() {
    let bad = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, 1e300, -1e300, 1e-300, -1.0];
    for (name, manifold) in with_spd() {
        let reach = (0.9 * manifold.injectivity_radius()).min(2.0);
        let (base, points) = sample(&*manifold, bad.len(), reach);
        for max_dist in [0.0, 0.5 * reach, reach] {
            for (i, &value) in bad.iter().enumerate() {
                for whole in [true, false] {
                    let mut point = points[i * base.len()..(i + 1) * base.len()].to_vec();
                    if whole {
                        point.fill(value);
                    } else {
                        *point.last_mut().unwrap() = value;
                    }
                    let computed = moments(&*manifold, &point, &base, max_dist);
                    let excess = computed.excess.unwrap();
                    let limit = max_dist * (1.0 + 1e-15);
                    assert!(size(&computed.first) <= limit, "{name} {value}");
                    assert!(size(&computed.second) <= limit * limit, "{name} {value}");
                    let (low, high) = manifold.curvature_bounds();
                    let square = max_dist * max_dist;
                    let largest =
                        f64::max(-hessian_excess(high * square), hessian_excess(low * square));
                    let limit = largest * (manifold.dim() as f64).sqrt() * (1.0 + 1e-13);
                    assert!(size(&excess) <= limit, "{name} {value} {}", size(&excess));
                    let rows = Rows::new(&point, base.len());
                    let (square, fourth) =
                        dist_moments(&*manifold, rows, 1, &base, max_dist, &|| false).unwrap();
                    assert!(square >= 0.0 && square <= max_dist * max_dist, "{name} {value}");
                    assert!(fourth == square * square, "{name} {value}");
                }
            }
        }
    }
}

#[test]
fn an_interrupt_ends_the_sums() {
    let sphere = Sphere::new(2, 1.0);
    let (base, points) = sample(&sphere, 40_000, 1.0);
    let rows = Rows::new(&points, 3);
    let all = log_moments(&sphere, rows, 40_000, &base, 1.0, true, &|| true);
    assert_eq!(all.map(|_| ()), Err(crate::error::Error::Interrupted));
    let all = dist_moments(&sphere, rows, 40_000, &base, 1.0, &|| true);
    assert_eq!(all, Err(crate::error::Error::Interrupted));
}
