use super::*;
use curvedp_chains::{Plan, diagnose, run};
use curvedp_core::manifold::{Euclidean, Sphere};

const NEVER: &dyn Fn() -> bool = &|| false;

fn plan(draws: usize) -> Plan {
    Plan { burn_in: 2000, draws, thinning: 5, scale: 0.3, acceptance: Some(0.4) }
}

/// Mean of the last number that chains keep, over all draws of all chains.
fn mean_dist(law: &ConformalLaplace, starts: &[Vec<f64>]) -> (f64, f64) {
    let states = starts.iter().map(|start| law.state(start)).collect();
    let chains = run(law, states, &plan(4000), [5; 32], NEVER).unwrap();
    let width = law.width();
    let draws = chains.iter().flat_map(|c| c.draws.chunks_exact(width).map(|r| r[width - 1]));
    let all: Vec<f64> = draws.collect();
    let r_hat = diagnose(&chains, width).iter().map(|d| d.r_hat).fold(0.0, f64::max);
    (all.iter().sum::<f64>() / all.len() as f64, r_hat)
}

/// With phi = 1 the law is exp(-rate rho): on S^2 its mean distance is a quotient of integrals.
#[test]
fn a_constant_factor_gives_laplace_noise_on_the_sphere() {
    let sphere = Sphere::new(2, 1.0);
    let nodes = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]];
    let points: Vec<f64> = nodes.concat();
    let nodes = Nodes { manifold: &sphere, points: Rows::new(&points, 3), count: 4 };
    let (rate, steps) = (4.0, 20_000);
    let density = |t: f64| (-rate * t).exp() * t.sin();
    let grid = (0..steps).map(|i| (f64::from(i) + 0.5) * std::f64::consts::PI / f64::from(steps));
    let total: f64 = grid.clone().map(density).sum();
    let expected = grid.map(|t| t * density(t)).sum::<f64>() / total;
    let eta = [0.6, 0.0, 0.8];
    let starts: Vec<Vec<f64>> = points.chunks(3).map(<[f64]>::to_vec).collect();
    let line = Distance::Line(3);
    let law = ConformalLaplace::new(&nodes, &[0.0; 4], &eta, rate, true, line, NEVER).unwrap();
    let (found, r_hat) = mean_dist(&law, &starts);
    assert!((found / expected - 1.0).abs() < 0.04, "{found} {expected}");
    assert!(r_hat < 1.05, "{r_hat}");
}

/// On a line with two cells of different phi every integral is elementary: the share of the right half
/// is phi_r^{1/2}/(rate √phi_r) : phi_l^{1/2}/(rate √phi_l), equal halves, with the volume factor; without
/// it 1/√phi_r : 1/√phi_l.
#[test]
fn the_volume_factor_counts() {
    let line = Euclidean::new(1);
    let points = [-1.0, 1.0];
    let nodes = Nodes { manifold: &line, points: Rows::new(&points, 1), count: 2 };
    let sigma = [0.0, 3f64.ln()];
    let eta = [0.0];
    for (volume, expected) in [(true, 0.5), (false, 0.25)] {
        let way = Distance::Line(1);
        let law = ConformalLaplace::new(&nodes, &sigma, &eta, 2.0, volume, way, NEVER).unwrap();
        let starts = [[-2.0], [2.0], [-0.5], [0.5]];
        let states = starts.iter().map(|start| law.state(start)).collect();
        let chains = run(&law, states, &plan(8000), [6; 32], NEVER).unwrap();
        let rows: Vec<f64> =
            chains.iter().flat_map(|c| c.draws.chunks_exact(2).map(|row| row[0])).collect();
        let right = rows.iter().filter(|&&x| x > 0.0).count() as f64 / rows.len() as f64;
        assert!((right - expected).abs() < 0.03, "{volume} {right}");
    }
}

#[test]
fn both_distances_agree_at_the_nodes_of_a_fine_line() {
    let line = Euclidean::new(1);
    let count = 2001;
    let points: Vec<f64> = (0..count).map(|i| -1.0 + 2.0 * i as f64 / (count - 1) as f64).collect();
    let nodes = Nodes { manifold: &line, points: Rows::new(&points, 1), count };
    let sigma: Vec<f64> = points.iter().map(|x| (3.0 * x).sin()).collect();
    let mut lengths = vec![0.0; count];
    let middle = count / 2;
    for i in middle + 1..count {
        let edge = points[i] - points[i - 1];
        lengths[i] = lengths[i - 1] + 0.5 * edge * (sigma[i].exp() + sigma[i - 1].exp());
    }
    let eta = [0.0];
    let build = |distance| {
        ConformalLaplace::new(&nodes, &sigma, &eta, 1.0, false, distance, NEVER).unwrap()
    };
    let (graph, line) = (build(Distance::Graph(lengths)), build(Distance::Line(4000)));
    for x in [0.1, 0.5, 0.99] {
        let values = [&graph, &line].map(|law| law.log_density(&mut law.state(&[x])));
        assert!((values[0] - values[1]).abs() < 1e-3, "{values:?}");
    }
}

#[test]
fn nearest_nodes_are_nearest_on_every_kind_of_manifold() {
    for (kind, size) in [("sphere", 2), ("sphere", 30), ("spd", 2), ("kendall", 4), ("kendall", 20)]
    {
        let manifold = curvedp_core::manifold::build(kind, size, 1.0).unwrap();
        let width = manifold.point_size();
        let mut stream = Stream::from_key([3; 32], 0);
        let mut points = Vec::new();
        while points.len() < 60 * width {
            let mut point: Vec<f64> = (0..width).map(|_| stream.normal()).collect();
            if kind == "spd" {
                let (a, b, c) = (point[0].exp(), point[1] * 0.1, point[2].exp());
                point = vec![a, b * (a * c).sqrt(), b * (a * c).sqrt(), c];
            }
            if manifold.project(&mut point) && manifold.belongs(&point, 1e-9) {
                points.extend(point);
            }
        }
        let own = Rows::new(&points, width).range(0..40);
        let nodes = Nodes { manifold: &*manifold, points: own, count: 40 };
        let index = NodeIndex::new(&nodes, NEVER).unwrap();
        for query in points.chunks(width).skip(40) {
            let mut dists = vec![0.0; 40];
            manifold.dist(Rows::shared(query), nodes.points, &mut dists);
            let found = dists[index.nearest(query, &mut Vec::new())];
            let least = dists.iter().fold(f64::INFINITY, |a: f64, &b| a.min(b));
            assert!(found <= least * (1.0 + 1e-9), "{kind} {size}");
        }
        assert!(index.nearest(&vec![f64::NAN; width], &mut Vec::new()) < 40);
    }
}
