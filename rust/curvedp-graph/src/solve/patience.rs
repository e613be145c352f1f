//! The rule by which conjugate gradients with the diagonal give way to multigrid: as soon as the iterations
//! they can be expected to take cost more than multigrid would.

use crate::graph::Csr;

/// Number of iterations with the diagonal that cost as much as multigrid does, whatever the right-hand side.
pub(super) struct Patience {
    iterations: f64,
}

/// Cost of a multigrid hierarchy and of a solution with it, in iterations with the diagonal. Both are
/// multiplied by the [`growth`] of the graph, at which the rows of coarser levels grow too.
const HIERARCHY: f64 = 100.0;
const CYCLES: f64 = 60.0;

/// Number of nodes from which [`growth`] is estimated.
const PROBES: usize = 64;

/// Iterations after which their total number is estimated, and the factor that corrects the estimate. Early
/// estimates are too low, as the smallest eigenvalues have not shown yet; late ones are too high, as the
/// error has already lost part of the spectrum that they count in full.
const TRIALS: [(usize, f64); 3] = [(10, 1.1), (25, 1.0), (60, 0.67)];

impl Patience {
    /// For a system on these edges and about `count` right-hand sides.
    pub fn new(edges: &Csr, count: usize) -> Self {
        let price = HIERARCHY / count.max(1) as f64 + CYCLES;
        Self { iterations: growth(edges) * price }
    }
}

/// The number of nodes two edges away from a node over that of nodes within one edge, on average.
fn growth(edges: &Csr) -> f64 {
    let (mut near, mut further) = (0, 0);
    for node in (0..edges.size()).step_by(edges.size().div_ceil(PROBES).max(1)) {
        let mut ball = edges.row(node).0.to_vec();
        ball.push(node as u32);
        let inner = ball.len();
        ball.extend(edges.row(node).0.iter().flat_map(|&j| edges.row(j as usize).0));
        ball.sort_unstable();
        ball.dedup();
        near += inner;
        further += ball.len() - inner;
    }
    further as f64 / near.max(1) as f64
}

/// Estimate of the spectrum from conjugate gradients: the tridiagonal matrix of Lanczos's method.
#[derive(Default)]
pub(super) struct Trial {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    /// beta / alpha of the last iteration.
    carried: f64,
}

impl Trial {
    /// Records an iteration x <- x + alpha p, p <- r + beta p, and returns true if the iterations that are
    /// still needed to shrink the residual by `factor` are expected to cost less than multigrid.
    pub fn goes_on(&mut self, alpha: f64, beta: f64, factor: f64, patience: &Patience) -> bool {
        if self.diagonal.len() >= TRIALS[TRIALS.len() - 1].0 {
            return true;
        }
        self.diagonal.push(1.0 / alpha + self.carried);
        self.beside.push(beta.sqrt() / alpha);
        self.carried = beta / alpha;
        let done = self.diagonal.len();
        let Some(&(_, part)) = TRIALS.iter().find(|trial| trial.0 == done) else {
            return true;
        };
        let left = 0.5 * self.condition().sqrt() * (2.0 / factor).ln();
        part * (done as f64 + left) <= patience.iterations
    }

    /// The condition of the system as far as it is known.
    fn condition(&self) -> f64 {
        if self.diagonal.iter().chain(&self.beside).any(|x| !x.is_finite()) {
            return f64::INFINITY;
        }
        let (least, most) = (self.eigenvalue(0), self.eigenvalue(self.diagonal.len() - 1));
        if least > 0.0 && least <= most { most / least } else { f64::INFINITY }
    }

    /// The eigenvalue with `below` others below it, by bisection.
    fn eigenvalue(&self, below: usize) -> f64 {
        // Gershgorin's bound of a positive definite matrix
        let beside = self.beside.iter().fold(0.0, |most: f64, b| most.max(*b));
        let diagonal = self.diagonal.iter().fold(0.0, |most: f64, d| most.max(*d));
        let (mut low, mut high) = (0.0, diagonal + 2.0 * beside);
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if self.count_below(middle) > below { high = middle } else { low = middle }
        }
        high
    }

    /// Eigenvalues below x: negative pivots of the matrix less x (Sturm).
    fn count_below(&self, x: f64) -> usize {
        let (mut pivot, mut count) = (1.0, 0);
        for (i, d) in self.diagonal.iter().enumerate() {
            let beside = if i > 0 { self.beside[i - 1] } else { 0.0 };
            pivot = d - x - beside * beside / pivot;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes in a row, or all joined to all.
    fn edges(size: usize, joined: impl Fn(usize, usize) -> bool) -> Csr {
        let mut edges = Csr { offsets: vec![0], ..Csr::default() };
        for i in 0..size {
            let row = (0..size).filter(|&j| j != i && joined(i, j));
            edges.columns.extend(row.map(|j| j as u32));
            edges.offsets.push(edges.columns.len());
        }
        edges.values = vec![1.0; edges.columns.len()];
        edges
    }

    #[test]
    fn surroundings_grow_as_the_edges_say() {
        let path = growth(&edges(60, |i, j| i.abs_diff(j) == 1));
        assert!((path - (56.0 * 2.0 + 4.0) / (58.0 * 3.0 + 4.0)).abs() < 0.02, "{path}");
        assert_eq!(growth(&edges(30, |_, _| true)), 0.0);
        assert_eq!(growth(&edges(30, |_, _| false)), 0.0);
    }

    #[test]
    fn conjugate_gradients_tell_the_condition_of_the_system() {
        let system = [1.0, 2.0, 5.0, 30.0];
        let (mut r, mut trial, patience) =
            ([1.0; 4], Trial::default(), Patience { iterations: 0.0 });
        let mut p = r;
        let square = |r: &[f64; 4]| r.iter().map(|x| x * x).sum::<f64>();
        for _ in 0..4 {
            let curvature: f64 = p.iter().zip(system).map(|(p, d)| p * d * p).sum();
            let before = square(&r);
            let alpha = before / curvature;
            r.iter_mut().zip(p.iter().zip(system)).for_each(|(r, (p, d))| *r -= alpha * d * p);
            let beta = square(&r) / before;
            p.iter_mut().zip(r).for_each(|(p, r)| *p = r + beta * *p);
            assert!(trial.goes_on(alpha, beta, 1e-3, &patience));
        }
        assert!((trial.condition() - 30.0).abs() < 1e-9, "{}", trial.condition());
    }

    #[test]
    fn patience_ends_where_too_many_iterations_are_left() {
        // the same coefficients again and again: a spectrum without gaps, of which more and more is seen
        let run = |patience: f64| {
            let (mut trial, patience) = (Trial::default(), Patience { iterations: patience });
            (0..200).position(|_| !trial.goes_on(1.2, 0.9, 1e-8, &patience))
        };
        assert_eq!(run(1e6), None);
        assert_eq!(run(1.0), Some(9));
        assert!(run(150.0).is_some_and(|at| at == 9 || at == 24 || at == 59));
    }
}
