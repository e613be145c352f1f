//! Sums over the logarithms of points at a base point.

use crate::vector::add;

/// Sums of one pass over the points at a base point; see [`Manifold::sum_log`](super::Manifold::sum_log).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogSums {
    /// sum_i w_i rho(p, x_i)^2
    pub squared_dist: f64,
    /// sum_i w_i tr(Hess ½rho(., x_i)^2)(p) / dim: the mean curvature of the squared distance. It
    /// only steers the step length, so an approximation within a few per cent is enough.
    pub curvature: f64,
}

impl LogSums {
    pub(super) fn new([squared_dist, curvature]: [f64; 2]) -> Self {
        Self { squared_dist, curvature }
    }
}

/// Sums over clipped logarithms u. Of the symmetric matrices the upper triangle counts.
#[derive(Clone, Debug)]
pub struct LogMoments {
    /// sum u
    pub first: Vec<f64>,
    /// sum u u^T
    pub second: Vec<f64>,
    /// sum Hess(½rho(., exp_p u)^2)(p) - I, if asked for
    pub excess: Option<Vec<f64>>,
}

impl LogMoments {
    pub(crate) fn zero(dim: usize, hessian: bool) -> Self {
        let matrix = vec![0.0; dim * dim];
        Self { first: vec![0.0; dim], second: matrix.clone(), excess: hessian.then_some(matrix) }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
        if let (Some(excess), Some(other)) = (&mut self.excess, &other.excess) {
            add(excess, other);
        }
    }

    /// Turns sums into means and fills the lower triangles.
    pub(crate) fn finish(&mut self, count: usize) {
        let dim = self.first.len();
        let count = count as f64;
        self.first.iter_mut().for_each(|x| *x /= count);
        for matrix in [Some(&mut self.second), self.excess.as_mut()].into_iter().flatten() {
            for i in 0..dim {
                for j in i..dim {
                    matrix[i * dim + j] /= count;
                    matrix[j * dim + i] = matrix[i * dim + j];
                }
            }
        }
    }
}
