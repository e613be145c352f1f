use super::exact::Chart;
use super::k_norm::{GradientNorm, KNorm, Support};
use super::{Sample, sample_k_norm};
use crate::manifold::{Manifold, build};
use crate::noise::Stream;
use crate::rejection::Bounded;
use crate::rejection::chart::shortened;
use crate::rows::Rows;

/// A space, a ball about its origin, and the longest velocity.
struct Case {
    manifold: Box<dyn Manifold>,
    origin: Vec<f64>,
    radius: f64,
    max_speed: f64,
}

fn cases() -> Vec<Case> {
    let case = |kind, size, parameter, origin: &[f64], radius, max_speed| Case {
        manifold: build(kind, size, parameter).unwrap(),
        origin: origin.to_vec(),
        radius,
        max_speed,
    };
    let half = 0.5_f64.sqrt();
    let shape = [half, 0.0, -half, 0.0, 0.0, 0.0];
    vec![
        case("euclidean", 2, 0.0, &[0.0, 0.0], 1.0, 2.0),
        case("sphere", 2, 1.0, &[0.0, 0.0, 1.0], 0.78, 1.5),
        case("sphere", 3, 1.0, &[1.0, 0.0, 0.0, 0.0], 0.9, 2.5),
        case("hyperboloid", 2, -1.0, &[1.0, 0.0, 0.0], 1.0, 2.0),
        case("spd", 2, 0.0, &[1.0, 0.0, 0.0, 1.0], 1.0, 1.5),
        case("kendall", 3, 0.0, &shape, 0.4, 0.7),
    ]
}

fn uniform(stream: &mut Stream, limit: f64) -> f64 {
    limit * (2.0 * stream.uniform_open() - 1.0)
}

/// Records around a geodesic of the support, some of them far from it.
fn records(case: &Case, count: usize, stream: &mut Stream) -> (Vec<f64>, Vec<f64>) {
    let manifold = &*case.manifold;
    let (mut points, mut times) = (Vec::new(), Vec::new());
    let drift: Vec<f64> = (0..manifold.dim()).map(|_| stream.normal()).collect();
    let drift = shortened(&drift, 0.5 * case.max_speed);
    for i in 0..count {
        let t = uniform(stream, 0.5);
        let noise = if i % 5 == 0 { 0.5 } else { 0.05 };
        let coords: Vec<f64> = drift.iter().map(|v| t * v + noise * stream.normal()).collect();
        let coords = shortened(&coords, case.radius);
        let mut point = vec![0.0; manifold.point_size()];
        manifold.exp_coords(Rows::shared(&coords), Rows::shared(&case.origin), &mut point);
        points.extend(point);
        times.push(t);
    }
    (points, times)
}

fn law<'a>(case: &'a Case, points: &'a [f64], times: &'a [f64], tau: f64) -> KNorm<'a> {
    let manifold = &*case.manifold;
    let support = Support { center: &case.origin, radius: case.radius, max_speed: case.max_speed };
    let points = Rows::new(points, manifold.point_size());
    let sample = Sample { manifold, points, times };
    KNorm { sample, norm: GradientNorm::SumOfNorms, max_residual: tau, scale: 1e-3, support }
}

/// How often the norm at a point of a box is below the bound for a box that is smaller by `share`.
fn violations(case: &Case, share: f64, stream: &mut Stream) -> usize {
    let mut found = 0;
    for round in 0..60 {
        let (points, times) = records(case, [1, 3, 20][round % 3], stream);
        let law = law(case, &points, &times, [0.02, 0.2, 5.0][round / 3 % 3]);
        let chart = Chart::new(&law);
        let extent = chart.extent();
        for _ in 0..20 {
            let size = 0.3 * stream.uniform_open().powi(3);
            let center: Vec<f64> = extent.iter().map(|e| uniform(stream, *e)).collect();
            let half: Vec<f64> = extent.iter().map(|e| e * size * stream.uniform_open()).collect();
            let smaller: Vec<f64> = half.iter().map(|h| h * share).collect();
            let least = chart.least_norm(&center, &smaller);
            for _ in 0..8 {
                let point: Vec<f64> =
                    center.iter().zip(&half).map(|(c, h)| c + uniform(stream, *h)).collect();
                let affine = |slope: &[f64], value: f64| {
                    let steps = point.iter().zip(&center).zip(slope);
                    value + steps.map(|((x, c), s)| s * (x - c)).sum::<f64>()
                };
                if let Some(value) = chart.log_density(&point) {
                    let geodesic = law.support.geodesic(law.sample.manifold, &point);
                    found += usize::from(law.norm(&geodesic) < affine(&least.slope, least.value));
                    let bound = chart.bound(&center, &half);
                    let bound = bound.expect("a box that meets the support has a bound");
                    if share == 1.0 {
                        assert!(value <= affine(&bound.slope, bound.log_density));
                    }
                }
            }
        }
    }
    found
}

#[test]
fn no_value_in_a_box_exceeds_its_bound() {
    let mut stream = Stream::from_key([5; 32], 0);
    for case in cases() {
        assert_eq!(violations(&case, 1.0, &mut stream), 0);
        // the negative control: boxes that are three times as large
        assert!(violations(&case, 1.0 / 3.0, &mut stream) > 0);
    }
}

#[test]
fn exact_draws_lie_in_the_support_whatever_the_records() {
    let mut stream = Stream::from_key([6; 32], 0);
    for case in cases() {
        let manifold = &*case.manifold;
        for (count, tau, scale) in [(1, 0.1, 1e-3), (4, 10.0, 10.0), (30, 0.1, 2e-3)] {
            let (points, times) = records(&case, count, &mut stream);
            let law = KNorm { scale, ..law(&case, &points, &times, tau) };
            let (drawn, _) = sample_k_norm(&law, 2, &mut stream, &|| false).unwrap();
            let slack = Support {
                radius: case.radius * (1.0 + 1e-9),
                max_speed: case.max_speed * (1.0 + 1e-9),
                ..law.support
            };
            assert!(drawn.iter().all(|drawn| slack.contains(manifold, drawn)));
        }
    }
}

#[test]
fn the_norms_are_those_of_the_formula() {
    let (g_p, g_v) = ([3.0, 0.0], [0.0, 2.0]);
    assert_eq!(GradientNorm::SumOfNorms.of(&g_p, &g_v), 2.0 * 1.5_f64.hypot(2.0));
    assert_eq!(GradientNorm::Weighted { slope_weight: 2.0 }.of(&g_p, &g_v), 5.0);
}
