//! Graph Laplacians that approximate -Delta_g on public nodes.
//!
//! With heat weights W_ij = v_i v_j exp(-rho_ij^2 / 4t) on the edges (v the nodes' volumes), degrees
//! D_i = sum_j W_ij and node masses m, the operator is (L f)_i = (c/m_i) sum_j W_ij (f_i - f_j): a
//! symmetric stiffness and a diagonal mass. The constant c is taken from the graph itself, so that it
//! is right for any bandwidth and any truncation of the heat kernel: f = ½ rho(x, .)^2 has Laplacian
//! -d at x, and the edges at i give (Lf)_i = -(c/m_i) ½ sum_j W_ij rho_ij^2.

use std::sync::Arc;

use super::csr::Csr;
use super::edges::Graph;

/// Choice of the masses of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// The volumes: converges to -Delta_g where these are right.
    Unnormalised,
    /// The degrees: I - D^-1 W, a random walk, over the time 2d tau = mean squared step that one step
    /// takes. Converges to -Delta_g where nodes are spread evenly.
    RandomWalk,
    /// The random walk of K_ij / (q_i q_j) with the plain heat kernel K and q_i = sum_j K_ij the kernel
    /// density of the nodes: converges to -Delta_g for every spread of the nodes, whose volumes it
    /// needs only for the sum of the masses (Coifman and Lafon 2006, alpha = 1).
    DensityCorrected,
}

/// Parameters of the assembly of a Laplacian.
#[derive(Clone, Copy, Debug)]
pub struct Assembly<'a> {
    /// Dimension d of the manifold.
    pub dim: usize,
    /// Heat time t of the weights.
    pub bandwidth: f64,
    /// Volumes of the nodes; 1 if absent.
    pub volumes: Option<&'a [f64]>,
    /// The masses.
    pub normalization: Normalization,
    /// True to scale to -Delta_g; otherwise c = 1.
    pub scaled: bool,
}

/// The operator (L f)_i = (1/m_i) sum_j w_ij (f_i - f_j).
#[derive(Clone, Debug, PartialEq)]
pub struct Laplacian {
    /// Symmetric nonnegative weights w between different nodes.
    pub weights: Csr,
    /// Their sums D_i = sum_j w_ij.
    pub degrees: Vec<f64>,
    /// Positive masses m.
    pub mass: Vec<f64>,
    /// The nodes in the order of the graph.
    pub order: Arc<[u32]>,
}

/// The Laplacian of a graph.
pub fn laplacian(graph: &Graph, assembly: &Assembly) -> Laplacian {
    let lengths = &graph.lengths;
    let Assembly { dim, bandwidth, volumes, normalization, scaled } = *assembly;
    let size = lengths.size();
    let volume = |i: usize| volumes.map_or(1.0, |v| v[i]);
    let corrected = normalization == Normalization::DensityCorrected;
    let factor = |i: usize| if corrected { 1.0 } else { volume(i) };
    let mut weights = lengths.clone();
    for i in 0..size {
        for e in lengths.offsets[i]..lengths.offsets[i + 1] {
            let (j, length) = (lengths.columns[e] as usize, lengths.values[e]);
            let kernel = (-length * length / (4.0 * bandwidth)).exp();
            weights.values[e] = kernel * (factor(i) * factor(j));
        }
    }
    if corrected {
        let density: Vec<f64> = sums(&weights).into_iter().map(|sum| 1.0 + sum).collect();
        for i in 0..size {
            for e in weights.offsets[i]..weights.offsets[i + 1] {
                let j = weights.columns[e] as usize;
                weights.values[e] /= density[i] * density[j];
            }
        }
    }
    let degrees = sums(&weights);
    let moment = pairwise(size, &|i| {
        let (weights, lengths) = (weights.row(i).1, lengths.row(i).1);
        weights.iter().zip(lengths).map(|(w, rho)| w * rho * rho).sum()
    });
    // without edges of positive length there is nothing to scale: the operator is 0
    let or_infinite = |x: f64| if x > 0.0 { x } else { f64::INFINITY };
    let moment = or_infinite(moment);
    let total_degree = pairwise(size, &|i| degrees[i]);
    let total_volume = pairwise(size, &volume);
    let (mass, mut scale) = match normalization {
        Normalization::Unnormalised => {
            ((0..size).map(volume).collect(), 2.0 * dim as f64 * total_volume / moment)
        }
        Normalization::RandomWalk | Normalization::DensityCorrected => {
            // masses that add up to the volume; isolated nodes keep a little
            let unit = total_volume / or_infinite(total_degree);
            let least = 1e-12 * total_volume / size as f64;
            let mass: Vec<f64> = degrees.iter().map(|d| (unit * d).max(least)).collect();
            (mass, unit * 2.0 * dim as f64 * total_degree / moment)
        }
    };
    if !scaled {
        scale = match normalization {
            Normalization::Unnormalised => 1.0,
            _ => total_volume / or_infinite(total_degree),
        };
    }
    weights.values.iter_mut().for_each(|w| *w *= scale);
    // the sums of the scaled weights, not the scaled sums, which differ in the last digit
    Laplacian::new(weights, mass, Arc::clone(&graph.order))
}

/// The sum of every row.
fn sums(weights: &Csr) -> Vec<f64> {
    (0..weights.size()).map(|i| weights.row(i).1.iter().sum()).collect()
}

/// A sum over 0..count by halves.
fn pairwise(count: usize, term: &dyn Fn(usize) -> f64) -> f64 {
    fn part(start: usize, end: usize, term: &dyn Fn(usize) -> f64) -> f64 {
        if end - start <= 64 {
            return (start..end).map(term).sum();
        }
        let middle = start + (end - start) / 2;
        part(start, middle, term) + part(middle, end, term)
    }
    part(0, count, term)
}

impl Laplacian {
    /// The operator of symmetric nonnegative weights and positive masses.
    pub fn new(weights: Csr, mass: Vec<f64>, order: Arc<[u32]>) -> Self {
        Self { degrees: sums(&weights), weights, mass, order }
    }

    /// The symmetric matrix with the entries sum_j w_ij on the diagonal and -w_ij off it.
    pub fn stiffness(&self) -> Csr {
        let size = self.weights.size();
        let mut result = Csr { offsets: vec![0], ..Csr::default() };
        for i in 0..size {
            let (columns, weights) = self.weights.row(i);
            let before = columns.partition_point(|&j| (j as usize) < i);
            for e in 0..=columns.len() {
                if e == before {
                    result.columns.push(i as u32);
                    result.values.push(self.degrees[i]);
                }
                if e < columns.len() {
                    result.columns.push(columns[e]);
                    result.values.push(-weights[e]);
                }
            }
            result.offsets.push(result.columns.len());
        }
        result
    }

    /// An upper bound of the spectrum of L: 2 max_i D_i / m_i (Gershgorin).
    pub fn spectral_bound(&self) -> f64 {
        self.degrees.iter().zip(&self.mass).map(|(d, m)| 2.0 * d / m).fold(0.0, f64::max)
    }
}
