use super::*;
use crate::twofold::Twofold;
use std::f64::consts::{FRAC_PI_2, PI};

#[test]
fn antipodes_have_a_logarithm_and_a_transport() {
    for (dim, radius) in [(1, 1.0), (2, 1.0), (2, 2.5), (9, 0.5), (40, 1.0)] {
        let sphere = Sphere::new(dim, radius);
        let mut field = Field::new(&sphere, 3);
        for _ in 0..50 {
            let base = field.point();
            let antipode: Vec<f64> = base.iter().map(|x| -x).collect();
            let log = field.log(&antipode, &base);
            assert_eq!(field.dist(&antipode, &base), PI * radius);
            assert!((field.norm(&log, &base) / (PI * radius) - 1.0).abs() < 1e-14);
            assert!(field.inner(&log, &base, &base).abs() < 1e-14 * radius * radius);
            assert!(distance(&field.exp(&log, &base), &antipode) < 1e-14 * radius);
            let arrival = field.transport(&log, &base, &antipode);
            let reversed: Vec<f64> = log.iter().map(|x| -x).collect();
            assert!(distance(&arrival, &reversed) < 1e-14 * radius);

            let mut sum = vec![0.0; dim];
            let points = [antipode.clone(), base.clone(), antipode].concat();
            let sums = sphere.sum_log(Rows::new(&points, dim + 1), 3, None, &base, &mut sum);
            let expected: Vec<f64> = field.coords(&log, &base).iter().map(|x| 2.0 * x).collect();
            assert!(distance(&sum, &expected) < 1e-13 * radius);
            assert!((sums.squared_dist / (2.0 * PI * PI * radius * radius) - 1.0).abs() < 1e-14);
            assert!(sums.curvature.is_finite());
        }
    }
}

#[test]
fn orthogonal_shapes_have_a_logarithm_and_a_transport() {
    let shapes = KendallPlanar::new(6);
    let mut field = Field::new(&shapes, 4);
    for _ in 0..50 {
        let base = field.point();
        let far = field.tangent_of_length(&base, 1.0);
        let log = field.log(&far, &base);
        assert!((field.dist(&far, &base) - FRAC_PI_2).abs() < 1e-15);
        assert!((field.norm(&log, &base) - FRAC_PI_2).abs() < 1e-14);
        let arrival = field.exp(&log, &base);
        assert!(field.dist(&arrival, &far) < 1e-14);
        let tangent = field.tangent(&base);
        let moved = field.transport(&tangent, &base, &far);
        assert!((field.norm(&moved, &far) - field.norm(&tangent, &base)).abs() < 1e-14);
        let sums = shapes.sum_log(row(&far), 1, None, &base, &mut vec![0.0; shapes.dim()]);
        assert!(sums.curvature.is_finite() && (sums.squared_dist - 2.4674).abs() < 1e-4);
    }
}

#[test]
fn exactly_orthogonal_shapes_are_a_right_angle_apart() {
    let shapes = KendallPlanar::new(4);
    let base = [0.5, 0.0, -0.5, 0.0, 0.5, 0.0, -0.5, 0.0];
    let far = [0.5, 0.0, 0.5, 0.0, -0.5, 0.0, -0.5, 0.0];
    let field = Field::new(&shapes, 0);
    assert_eq!(field.dist(&base, &far), FRAC_PI_2);
    let expected: Vec<f64> = far.iter().map(|x| FRAC_PI_2 * x).collect();
    assert!(distance(&field.log(&far, &base), &expected) < 1e-15);
    assert!(field.transport(&expected, &base, &far).iter().all(|x| x.is_finite()));
    let sums = shapes.sum_log(row(&far), 1, None, &base, &mut [0.0; 4]);
    assert!(sums.curvature.is_finite());
}

#[test]
fn projection_refuses_what_is_no_point_and_repairs_the_rest() {
    for (name, manifold) in manifolds() {
        let size = manifold.point_size();
        let mut field = Field::new(&*manifold, 9);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, size - 1] {
                let mut point = field.point();
                point[place] = bad;
                assert!(!manifold.belongs(&point, 1.0), "{name}");
                assert!(!manifold.project(&mut point), "{name}");
            }
        }
        for scale in [1e-150, 1e-9, 1.0, 1e9, 1e150] {
            let mut point: Vec<f64> = field.vector(size).iter().map(|x| scale * x).collect();
            assert!(manifold.project(&mut point), "{name} {scale}");
            assert!(manifold.belongs(&point, 4e-15), "{name} {scale}");
            let moved: Vec<f64> = point.iter().map(|x| 1.001 * x).collect();
            let flat = size == manifold.dim() || name.starts_with("hyperboloid");
            assert!(flat || !manifold.belongs(&moved, 1e-5), "{name} {scale}");
        }
    }
    assert!(!Sphere::new(2, 1.0).project(&mut [0.0; 3]));
    assert!(!KendallPlanar::new(3).project(&mut [0.1, 0.7, 0.1, 0.7, 0.1, 0.7]));
    assert!(!Hyperboloid::new(2, -1.0).belongs(&[-1.0, 0.0, 0.0], 1e-5));
    assert!(!Hyperboloid::new(2, -1.0).belongs(&[1.0, 0.1, 0.0], 1e-5));
    assert!(!KendallPlanar::new(3).belongs(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-5));
}

#[test]
fn logarithms_of_zero_length_vanish() {
    for (name, manifold) in manifolds() {
        let mut field = Field::new(&*manifold, 10);
        let base = field.point();
        assert!(size(&field.log(&base, &base)) < 1e-15, "{name}");
        assert_eq!(field.dist(&base, &base), 0.0, "{name}");
        let zero = vec![0.0; base.len()];
        assert!(distance(&field.exp(&zero, &base), &base) < 1e-15 * (1.0 + size(&base)), "{name}");
        let tangent = field.tangent(&base);
        let still = field.transport(&tangent, &base, &base);
        assert!(distance(&still, &tangent) < 1e-14 * (1.0 + size(&base)), "{name}");
    }
}

#[test]
fn the_error_of_a_sum_does_not_grow_with_the_number_of_points() {
    let sphere = Sphere::new(2, 1.0);
    let mut field = Field::new(&sphere, 11);
    let base = field.point();
    let mean = field.tangent_of_length(&base, 0.3);
    let count = 50_000;
    let mut points = vec![];
    for _ in 0..count {
        let noise = field.tangent_of_length(&base, 0.1);
        let tangent: Vec<f64> = mean.iter().zip(&noise).map(|(a, b)| a + b).collect();
        points.extend(field.exp(&tangent, &base));
    }
    let (x, s) = (Rows::new(&points, 3), Rows::shared(&base));
    let coords = field.apply(2 * count, |m, out| m.log_coords(x, s, out));
    let mut sum = [0.0; 2];
    sphere.sum_log(x, count, None, &base, &mut sum);
    for j in 0..2 {
        let exact = (0..count).fold(Twofold::from(0.0), |t, i| t + coords[2 * i + j].into());
        assert!((sum[j] - exact.value()).abs() < 4e-16 * count as f64 * 0.3);
    }
}
