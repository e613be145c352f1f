use super::*;
use proptest::prelude::*;

/// Rounding allowed in vectors at points `x` and `y`: Minkowski cancellation grows with the square of
/// their size in units of the radius.
fn slack(manifold: &dyn Manifold, x: &[f64], y: &[f64]) -> f64 {
    let unit = (-manifold.curvature_bounds().0).max(1.0).sqrt();
    2e-14 * (1.0 + unit * size(x)) * (1.0 + unit * size(y))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn log_inverts_exp_and_has_the_length_of_the_distance(seed: u64, decade in -9.0..0.0f64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let base = field.point();
            let length = field.reach() * libm::pow(10.0, decade);
            let tangent = field.tangent_of_length(&base, length);
            let point = field.exp(&tangent, &base);
            let slack = slack(&*manifold, &base, &point);
            prop_assert!(manifold.belongs(&point, 1e-14), "{name}");
            prop_assert!((field.dist(&base, &point) - length).abs() < slack, "{name}");
            let log = field.log(&point, &base);
            prop_assert!(distance(&log, &tangent) < slack, "{name}");
            let ratio = field.norm(&log, &base) / field.dist(&base, &point);
            prop_assert!((ratio - 1.0).abs() < 1e-6 + slack, "{name} {ratio}");
        }
    }

    #[test]
    fn distance_is_symmetric_and_obeys_the_triangle_inequality(seed: u64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let (a, b, c) = (field.point(), field.point(), field.point());
            let (ab, ba) = (field.dist(&a, &b), field.dist(&b, &a));
            prop_assert!((ab - ba).abs() < slack(&*manifold, &a, &b), "{name}");
            prop_assert!(ab <= field.dist(&a, &c) + field.dist(&c, &b) + 1e-12, "{name}");
            prop_assert!(field.dist(&a, &a).abs() < 1e-15, "{name}");
        }
    }

    #[test]
    fn transport_is_an_isometry_and_carries_geodesics(seed: u64, decade in -9.0..0.0f64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let base = field.point();
            let velocity = field.tangent_of_length(&base, field.reach() * libm::pow(10.0, decade));
            let end = field.exp(&velocity, &base);
            let (a, b) = (field.tangent(&base), field.tangent(&base));
            let (ta, tb) = (field.transport(&a, &base, &end), field.transport(&b, &base, &end));
            let slack = slack(&*manifold, &base, &end) * (1.0 + size(&a)) * (1.0 + size(&b));
            let change = field.inner(&ta, &tb, &end) - field.inner(&a, &b, &base);
            prop_assert!(change.abs() < slack, "{name} {change}");
            let tangent = field.apply(a.len(), |m, out| m.to_tangent(row(&ta), row(&end), out));
            prop_assert!(distance(&tangent, &ta) < slack * size(&end).max(1.0), "{name}");
            let arrival = field.transport(&field.log(&end, &base), &base, &end);
            let back: Vec<f64> = field.log(&base, &end).iter().map(|x| -x).collect();
            prop_assert!(distance(&arrival, &back) < slack, "{name}");
            let returned = field.transport(&ta, &end, &base);
            prop_assert!(distance(&returned, &a) < slack * size(&end).max(1.0), "{name}");
        }
    }

    #[test]
    fn logs_along_a_geodesic_are_those_carried_back(seed: u64, t in -0.5..0.5f64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let base = field.point();
            let velocity = field.tangent_of_length(&base, field.reach());
            let step: Vec<f64> = velocity.iter().map(|v| t * v).collect();
            let end = field.exp(&step, &base);
            let log = field.tangent_of_length(&end, 0.4 * field.reach());
            let point = field.exp(&log, &end);
            let carried = field.coords(&field.transport(&log, &end, &base), &base);
            let coords = field.coords(&velocity, &base);
            let along = field.apply(manifold.dim(), |m, out| {
                m.log_along(row(&point), &[t], &coords, &base, out);
            });
            let limit = 1e-12 + 100.0 * slack(&*manifold, &base, &point);
            prop_assert!(distance(&along, &carried) <= limit, "{name}: {along:?} {carried:?}");
        }
    }

    #[test]
    fn coordinates_are_orthonormal_and_invertible(seed: u64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let base = field.point();
            let slack = slack(&*manifold, &base, &base) * 10.0;
            let (a, b) = (field.tangent(&base), field.tangent(&base));
            let (ca, cb) = (field.coords(&a, &base), field.coords(&b, &base));
            let dot: f64 = ca.iter().zip(&cb).map(|(x, y)| x * y).sum();
            prop_assert!((dot - field.inner(&a, &b, &base)).abs() < slack, "{name}");
            prop_assert!(distance(&field.vector_from(&ca, &base), &a) < slack, "{name}");
            let c = field.vector(manifold.dim());
            let v = field.vector_from(&c, &base);
            let tangent = field.apply(v.len(), |m, out| m.to_tangent(row(&v), row(&base), out));
            prop_assert!(distance(&tangent, &v) < slack, "{name}");
            prop_assert!(distance(&field.coords(&v, &base), &c) < slack, "{name}");
            let there = field.apply(base.len(), |m, out| m.exp_coords(row(&c), row(&base), out));
            prop_assert!(distance(&there, &field.exp(&v, &base)) == 0.0, "{name}");
        }
    }

    #[test]
    fn centring_is_an_isometry_that_moves_the_centre_to_the_origin(seed: u64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let (center, near) = (field.point(), field.point());
            let tangent = field.tangent_of_length(&center, 1e-7);
            let close = field.exp(&tangent, &center);
            let centred = manifold.centred();
            let moved = |x: &[f64]| {
                field.apply(centred.point_size(), |m, out| m.centre(row(x), &center, out))
            };
            let slack = slack(&*manifold, &center, &near);
            let origin = centred.origin();
            prop_assert!(distance(&moved(&center), &origin) < 1e-15 * size(&center), "{name}");
            for point in [&near, &close] {
                let image = moved(point);
                prop_assert!(centred.belongs(&image, 1e-14), "{name}");
                let mut dist = [0.0];
                centred.dist(row(&image), row(&origin), &mut dist);
                prop_assert!((dist[0] - field.dist(point, &center)).abs() < slack, "{name}");
                let back = field.apply(manifold.point_size(), |m, out| m.uncentre(row(&image), &center, out));
                prop_assert!(field.dist(&back, point) < slack, "{name}");
            }
        }
    }

    #[test]
    fn a_batch_gives_the_same_bits_as_its_rows(seed: u64, count in 1usize..70) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let size = manifold.point_size();
            let (points, bases) = (field.points(count), field.points(count));
            let shared = field.point();
            let (x, y) = (Rows::new(&points, size), Rows::new(&bases, size));
            let s = Rows::shared(&shared);
            let pairwise = field.apply(count, |m, out| m.dist(x, y, out));
            let shared_dist = field.apply(count, |m, out| m.dist(s, x, out));
            let logs = field.apply(count * size, |m, out| m.log(x, y, out));
            let shared_logs = field.apply(count * size, |m, out| m.log(x, s, out));
            let l = Rows::new(&logs, size);
            let exps = field.apply(count * size, |m, out| m.exp(l, y, out));
            let moved = field.apply(count * size, |m, out| m.parallel_transport(l, y, x, out));
            for i in 0..count {
                prop_assert_eq!(pairwise[i], field.dist(x.row(i), y.row(i)), "{}", name);
                prop_assert_eq!(shared_dist[i], field.dist(&shared, x.row(i)), "{}", name);
                let range = i * size..(i + 1) * size;
                prop_assert_eq!(&logs[range.clone()], field.log(x.row(i), y.row(i)), "{}", name);
                prop_assert_eq!(&shared_logs[range.clone()], field.log(x.row(i), &shared), "{}", name);
                prop_assert_eq!(&exps[range.clone()], field.exp(l.row(i), y.row(i)), "{}", name);
                let expected = field.transport(l.row(i), y.row(i), x.row(i));
                prop_assert_eq!(&moved[range], expected, "{}", name);
            }
        }
    }

    #[test]
    fn sums_of_logs_agree_with_single_logs(seed: u64, count in 1usize..90, weighted: bool) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let (size, dim) = (manifold.point_size(), manifold.dim());
            let points = field.points(count);
            let base = field.point();
            let weights: Vec<f64> = field.vector(count).iter().map(|w| w.abs()).collect();
            let (x, s) = (Rows::new(&points, size), Rows::shared(&base));
            let coords = field.apply(count * dim, |m, out| m.log_coords(x, s, out));
            let mut expected = vec![0.25; dim];
            let (mut squares, mut sum) = (0.0, vec![0.25; dim]);
            for i in 0..count {
                let w = if weighted { weights[i] } else { 1.0 };
                for j in 0..dim {
                    expected[j] += w * coords[i * dim + j];
                }
                squares += w * field.dist(&base, x.row(i)).powi(2);
            }
            let sums = manifold.sum_log(x, count, weighted.then_some(&weights), &base, &mut sum);
            let slack = 1e-13 * count as f64 * (1.0 + super::size(&base)).powi(2);
            prop_assert!(distance(&sum, &expected) < slack, "{name}");
            prop_assert!((sums.squared_dist - squares).abs() < slack, "{name}");
        }
    }

    #[test]
    fn curvature_is_the_mean_second_derivative_of_the_squared_distance(seed: u64) {
        for (name, manifold) in manifolds() {
            let mut field = Field::new(&*manifold, seed);
            let base = field.point();
            let away = field.tangent_of_length(&base, 0.7 * field.reach().min(1.0));
            let point = field.exp(&away, &base);
            let half_square = |x: &[f64]| 0.5 * field.dist(x, &point).powi(2);
            let step = 1e-3 * field.reach();
            let dim = manifold.dim();
            let mut laplacian = 0.0;
            for j in 0..dim {
                for sign in [-1.0, 1.0] {
                    let mut c = vec![0.0; dim];
                    c[j] = sign * step;
                    let moved = field.exp(&field.vector_from(&c, &base), &base);
                    laplacian += (half_square(&moved) - half_square(&base)) / (step * step);
                }
            }
            let sums = manifold.sum_log(row(&point), 1, None, &base, &mut vec![0.0; dim]);
            prop_assert!((sums.curvature - laplacian / dim as f64).abs() < 1e-3, "{name}");
        }
    }
}

#[test]
fn curvature_bounds_and_injectivity_radii_are_those_of_the_spaces() {
    use std::f64::consts::PI;
    let facts = |m: &dyn Manifold| (m.dim(), m.curvature_bounds(), m.injectivity_radius());
    assert_eq!(facts(&Sphere::new(1, 2.0)), (1, (0.0, 0.0), 2.0 * PI));
    assert_eq!(facts(&Sphere::new(2, 2.0)), (2, (0.25, 0.25), 2.0 * PI));
    assert_eq!(facts(&KendallPlanar::new(3)), (2, (4.0, 4.0), PI / 2.0));
    assert_eq!(facts(&KendallPlanar::new(10)), (16, (1.0, 4.0), PI / 2.0));
    assert_eq!(facts(&Hyperboloid::new(4, -0.5)), (4, (-0.5, -0.5), f64::INFINITY));
    assert_eq!(facts(&Euclidean::new(4)), (4, (0.0, 0.0), f64::INFINITY));
    assert_eq!(facts(&Rotations), (3, (0.25, 0.25), PI));
    assert_eq!(facts(&RealProjective::new(1)), (1, (0.0, 0.0), PI / 2.0));
    assert_eq!(facts(&RealProjective::new(4)), (4, (1.0, 1.0), PI / 2.0));
    assert_eq!(facts(&Torus::new(4)), (4, (0.0, 0.0), PI));
}

#[test]
fn shapes_of_triangles_form_a_sphere_of_radius_one_half() {
    let sphere = Sphere::new(2, 0.5);
    let shapes = KendallPlanar::new(3);
    let mut field = Field::new(&shapes, 5);
    let hopf = |z: &[f64]| -> Vec<f64> {
        let a = [(z[0] - z[2]) / 2f64.sqrt(), (z[1] - z[3]) / 2f64.sqrt()];
        let b =
            [(z[0] + z[2] - 2.0 * z[4]) / 6f64.sqrt(), (z[1] + z[3] - 2.0 * z[5]) / 6f64.sqrt()];
        vec![
            a[0] * b[0] + a[1] * b[1],
            a[0] * b[1] - a[1] * b[0],
            0.5 * (a[0] * a[0] + a[1] * a[1] - b[0] * b[0] - b[1] * b[1]),
        ]
    };
    let mut expected = [0.0];
    for _ in 0..1000 {
        let (z, w) = (field.point(), field.point());
        sphere.dist(row(&hopf(&z)), row(&hopf(&w)), &mut expected);
        assert!((field.dist(&z, &w) - expected[0]).abs() < 1e-14);
    }
}
