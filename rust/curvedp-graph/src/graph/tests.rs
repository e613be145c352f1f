//! Neighbours, shortest paths and the Helmholtz-Poisson solver against the definitions.

use std::sync::Arc;

use crate::graph::{
    Assembly, Laplacian, Nodes, Normalization, laplacian, nearest, neighbours, shortest_paths,
};
use crate::solve::{Method, Solver};
use curvedp_core::manifold::{Hyperboloid, KendallPlanar, Manifold, SpdAffine, Sphere, build};
use curvedp_core::parallel::set_num_threads;
use curvedp_core::rows::Rows;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const NEVER: &dyn Fn() -> bool = &|| false;

fn random_points(manifold: &dyn Manifold, count: usize, spread: f64) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let size = manifold.point_size();
    let mut base = vec![0.0; size];
    let matrix = (size as f64).sqrt() as usize;
    if manifold.dim() == matrix * (matrix + 1) / 2 && matrix * matrix == size {
        (0..matrix).for_each(|i| base[i * matrix + i] = 1.0);
    } else {
        base[0] = 1.0;
    }
    assert!(manifold.project(&mut base));
    let entries = count * manifold.dim();
    let coords: Vec<f64> = (0..entries).map(|_| spread * (rng.random::<f64>() - 0.5)).collect();
    let mut points = vec![0.0; count * size];
    manifold.exp_coords(Rows::new(&coords, manifold.dim()), Rows::shared(&base), &mut points);
    points
}

fn manifolds() -> Vec<Box<dyn Manifold>> {
    vec![
        Box::new(Sphere::new(2, 1.0)),
        Box::new(Sphere::new(12, 2.0)),
        Box::new(Hyperboloid::new(3, -1.0)),
        Box::new(SpdAffine::new(2)),
        Box::new(KendallPlanar::new(4)),
        Box::new(KendallPlanar::new(12)),
        build("spd:log-cholesky", 3, 0.0).unwrap(),
    ]
}

#[test]
fn neighbours_are_the_nodes_of_least_distance_ties_by_index() {
    for manifold in manifolds() {
        let size = manifold.point_size();
        let mut points = random_points(&*manifold, 150, 1.0);
        points.extend_from_within(..30 * size);
        let count = points.len() / size;
        let nodes = Nodes { manifold: &*manifold, points: Rows::new(&points, size), count };
        let found = neighbours(&nodes, 6, NEVER).unwrap();
        for i in 0..count {
            let mut dists = vec![0.0; count];
            manifold.dist(Rows::shared(nodes.points.row(i)), nodes.points, &mut dists);
            let mut all: Vec<(f64, usize)> =
                dists.into_iter().zip(0..).filter(|&(_, j)| j != i).collect();
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            for e in 0..6 {
                assert_eq!(found.indices[i * 6 + e] as usize, all[e].1);
                assert_eq!(found.dists[i * 6 + e], all[e].0);
            }
        }
    }
}

#[test]
fn queries_that_are_no_points_have_a_node_all_the_same() {
    for manifold in manifolds() {
        let size = manifold.point_size();
        let points = random_points(&*manifold, 40, 1.0);
        let nodes = Nodes { manifold: &*manifold, points: Rows::new(&points, size), count: 40 };
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e308, -1e-308] {
            for count in [3, 30] {
                let queries = vec![value; count * size];
                let rows = (Rows::new(&queries, size), count);
                let found = nearest(&nodes, rows, 2, NEVER).unwrap();
                assert!(found.indices.iter().all(|&i| i < 40));
            }
        }
    }
}

fn sphere_laplacian(count: usize) -> Arc<Laplacian> {
    let sphere = Sphere::new(2, 1.0);
    let points = random_points(&sphere, count, 2.0);
    let nodes = Nodes { manifold: &sphere, points: Rows::new(&points, 3), count };
    let graph = neighbours(&nodes, 8, NEVER).unwrap().graph();
    let lengths = &graph.lengths;
    let start: Vec<f64> = (0..count).map(|i| i as f64 * 1e-3).collect();
    let paths = shortest_paths(lengths, None, &start, NEVER).unwrap();
    for i in 0..count {
        let (columns, edges) = lengths.row(i);
        assert!(paths[i] <= start[i]);
        for (&j, length) in columns.iter().zip(edges) {
            assert!(paths[i] <= paths[j as usize] + length);
        }
    }
    let assembly = Assembly {
        dim: 2,
        bandwidth: 5.0 / count as f64,
        volumes: None,
        normalization: Normalization::Unnormalised,
        scaled: true,
    };
    Arc::new(laplacian(&graph, &assembly))
}

#[test]
fn every_method_reaches_its_tolerance_and_agrees_within_its_certificate() {
    let operator = sphere_laplacian(4000);
    let h: Vec<f64> = (0..4000).map(|i| (i as f64 * 0.1).sin()).collect();
    for upsilon in [1e-3, 1.0, 1e5] {
        let solutions: Vec<_> = [Method::Jacobi, Method::Multigrid, Method::Auto]
            .into_iter()
            .map(|method| {
                let solver = Solver::new(Arc::clone(&operator), upsilon, method, 1).unwrap();
                solver.solve(&h, 1e-9, NEVER).unwrap()
            })
            .collect();
        for a in &solutions {
            assert!(a.converged);
            for b in &solutions {
                let apart = a.values.iter().zip(&b.values).map(|(x, y)| (x - y).abs());
                assert!(apart.fold(0.0, f64::max) <= a.max_error + b.max_error);
            }
        }
    }
}

#[test]
fn right_hand_sides_of_any_size_have_a_solution_and_a_certificate() {
    let operator = sphere_laplacian(4000);
    let h: Vec<f64> = (0..4000).map(|i| (i as f64 * 0.1).sin()).collect();
    for method in [Method::Jacobi, Method::Multigrid] {
        let solver = Solver::new(Arc::clone(&operator), 1.0, method, 1).unwrap();
        let plain = solver.solve(&h, 1e-9, NEVER).unwrap();
        for unit in [2.0_f64.powi(-600), 2.0_f64.powi(600)] {
            let scaled: Vec<f64> = h.iter().map(|x| unit * x).collect();
            let found = solver.solve(&scaled, 1e-9, NEVER).unwrap();
            assert!(found.converged && found.max_error == unit * plain.max_error);
            assert!(found.values.iter().zip(&plain.values).all(|(x, y)| *x == unit * y));
        }
        let nothing = solver.solve(&vec![0.0; 4000], 1e-9, NEVER).unwrap();
        assert!(nothing.converged && nothing.max_error == 0.0);
    }
}

#[test]
fn solutions_have_the_same_bits_for_any_number_of_threads() {
    let operator = sphere_laplacian(20_000);
    let h: Vec<f64> = (0..20_000).map(|i| (i as f64 * 0.1).sin()).collect();
    let solve = |threads| {
        set_num_threads(threads);
        let solver = Solver::new(Arc::clone(&operator), 1.0, Method::Multigrid, 1).unwrap();
        solver.solve(&h, 1e-8, NEVER).unwrap().values
    };
    let one = solve(1);
    assert_eq!(one, solve(2));
    assert_eq!(one, solve(5));
    set_num_threads(0);
}
