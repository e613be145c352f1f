use super::exact::Chart;
use super::k_norm::{GradientNorm, KNorm, Support, carried};
use super::least::Least;
use super::space::Space;
use super::{Geodesic, Sample, sample_k_norm};
use crate::manifold::{Manifold, build, log_jacobian};
use crate::noise::Stream;
use crate::rejection::chart::shortened;
use crate::rejection::{Bounded, Exponent};
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

/// By how much the norm at a point is below an affine bound on the box of that centre, as a share of tau.
fn shortfall(chart: &Chart, law: &KNorm, center: &[f64], least: &Least, point: &[f64]) -> f64 {
    if chart.exponent(point).is_none() {
        return f64::NEG_INFINITY;
    }
    let dim = center.len() / 2;
    let slope = least.slope.map(|slope| slope[..dim].to_vec()).concat();
    let steps = point.iter().zip(center).zip(&slope);
    let bound = least.value + steps.map(|((x, c), s)| s * (x - c)).sum::<f64>();
    (bound - law.norm(&chart.geodesic(point))) / law.max_residual
}

/// Largest shortfall in random boxes, at random points and uphill from them; the bounds are those of boxes
/// smaller by `share`.
fn largest_shortfall(case: &Case, share: f64, stream: &mut Stream) -> f64 {
    let mut largest = f64::NEG_INFINITY;
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
            let mut worst = (f64::NEG_INFINITY, center.clone());
            for step in 0..24 {
                // points of the whole box, then ever closer to the worst so far
                let reach = if step < 8 { 1.0 } else { 0.7_f64.powi(step - 7) };
                let from = if step < 8 { &center } else { &worst.1 };
                let point: Vec<f64> = (0..center.len())
                    .map(|i| {
                        let x = from[i] + reach * uniform(stream, half[i]);
                        x.clamp(center[i] - half[i], center[i] + half[i])
                    })
                    .collect();
                let found = shortfall(&chart, &law, &center, &least, &point);
                if found > worst.0 {
                    worst = (found, point);
                }
            }
            largest = largest.max(worst.0);
        }
    }
    largest
}

#[test]
fn no_value_in_a_box_exceeds_its_bound() {
    let mut stream = Stream::from_key([5; 32], 0);
    for case in cases() {
        assert!(largest_shortfall(&case, 1.0, &mut stream) <= 0.0);
        // the negative control: bounds for points in the place of boxes
        assert!(largest_shortfall(&case, 0.0, &mut stream) > 1e-3);
    }
}

#[test]
fn densities_in_the_model_are_those_of_the_manifold() {
    let mut stream = Stream::from_key([7; 32], 0);
    for case in cases() {
        for count in [1, 16, 40, 3000] {
            let (points, times) = records(&case, count, &mut stream);
            let law = law(&case, &points, &times, 0.1);
            let chart = Chart::new(&law);
            for _ in 0..20 {
                let point: Vec<f64> =
                    chart.extent().iter().map(|e| uniform(&mut stream, *e)).collect();
                let half = vec![1e-9; point.len()];
                if let Some(Exponent { volume, norm }) = chart.exponent(&point) {
                    let value = volume - norm / law.scale;
                    let geodesic = chart.geodesic(&point);
                    let mut a = vec![0.0; point.len() / 2];
                    let (end, base) =
                        (Rows::shared(&geodesic.footpoint), Rows::shared(&case.origin));
                    case.manifold.log_coords(end, base, &mut a);
                    let norm = law.norm(&geodesic);
                    let expected = -norm / law.scale + log_jacobian(&*case.manifold, &a);
                    assert!((value - expected).abs() < 1e-10 / law.scale, "{value} {expected}");
                    let bound = chart.bound(&point, &half).expect("it meets the support");
                    assert!((0.0..1e-5 / law.scale).contains(&(bound.log_density - value)));
                }
            }
        }
    }
}

/// The point of a geodesic at a time.
fn at(manifold: &dyn Manifold, geodesic: &Geodesic, time: f64) -> Vec<f64> {
    let coords: Vec<f64> = geodesic.velocity.iter().map(|v| time * v).collect();
    let mut point = vec![0.0; manifold.point_size()];
    let base = Rows::shared(&geodesic.footpoint);
    manifold.exp_coords(Rows::shared(&coords), base, &mut point);
    point
}

#[test]
fn steps_in_the_model_are_those_on_the_manifold() {
    let mut stream = Stream::from_key([8; 32], 0);
    for case in cases() {
        let (manifold, dim) = (&*case.manifold, case.manifold.dim());
        let support =
            Support { center: &case.origin, radius: case.radius, max_speed: case.max_speed };
        let space = Space::of(manifold);
        for _ in 0..50 {
            let mut draw = |limit: f64| -> Vec<f64> {
                (0..dim).map(|_| uniform(&mut stream, limit)).collect()
            };
            let (a, shift, w) = (draw(0.4), draw(0.4), draw(1.0));
            let start = support.geodesic(manifold, &[a.clone(), w.clone()].concat());
            let step = carried(manifold, &shift, &case.origin, &start.footpoint);
            let mut end = vec![0.0; manifold.point_size()];
            let (from, to) = (Rows::shared(&start.footpoint), Rows::shared(&step));
            manifold.exp_coords(to, from, &mut end);
            let velocity = carried(manifold, &start.velocity, &start.footpoint, &end);
            let [a, shift, w] = [a, shift, w].map(|x| space.enter(&x));
            let b = space.moved(&a, &shift);
            let coords = [b, space.around(&a, &shift, &b, &w)].map(|x| space.leave(&x)).concat();
            let found = support.geodesic(manifold, &coords);
            // shapes have many representatives: points are compared, by their distance
            let expected = Geodesic { footpoint: end, velocity };
            for time in [0.0, 0.5] {
                let mut dist = [f64::NAN];
                let [x, y] = [&found, &expected].map(|geodesic| at(manifold, geodesic, time));
                manifold.dist(Rows::shared(&x), Rows::shared(&y), &mut dist);
                assert!(dist[0] < 1e-7, "{found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn exact_draws_lie_in_the_support_whatever_the_records() {
    let mut stream = Stream::from_key([6; 32], 0);
    for case in cases() {
        let manifold = &*case.manifold;
        for (count, tau, scale) in [(1, 0.1, 1e-2), (4, 10.0, 10.0), (30, 0.1, 1e-2)] {
            let (points, times) = records(&case, count, &mut stream);
            let law = KNorm { scale, ..law(&case, &points, &times, tau) };
            let (drawn, _) =
                sample_k_norm(&law, 2f64.powi(-40), 2, &mut stream, &|| false).unwrap();
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
