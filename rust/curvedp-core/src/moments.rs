//! Moments of logarithms at a public base point p, for private inference.
//!
//! For records x_i let u_i = log_p x_i in orthonormal coordinates at p ([`Manifold::coords`]), shortened to
//! length R = `max_dist` where it is longer. Computed are the means of min(rho(p, x_i), R)^2 and its square
//! ([`dist_moments`]), of u_i, of u_i u_i^T, and of Hess(½rho(., exp_p u_i)^2)(p) - I ([`log_moments`]).
//!
//! What a privacy proof rests on: the term that a record adds to a sum depends on that record, p and R
//! alone and lies in the range that R and the curvature allow, whatever the record. Terms are summed in a fixed order, so what remains is the rounding of the
//! sum, bounded by [`summation_error`].

pub(crate) mod cascade;

use cascade::cascade;

use crate::error::Error;
use crate::manifold::Manifold;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// Points in one partial sum.
const PIECE: usize = 1024;

/// Rows of which the sums are formed before they are added to those of the piece.
const BLOCK: usize = 32;

/// Numbers that the partial sums computed at once may hold.
const MEMORY: usize = 1 << 24;

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
    fn zero(dim: usize, hessian: bool) -> Self {
        let matrix = vec![0.0; dim * dim];
        Self { first: vec![0.0; dim], second: matrix.clone(), excess: hessian.then_some(matrix) }
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
        if let (Some(excess), Some(other)) = (&mut self.excess, &other.excess) {
            add(excess, other);
        }
    }

    /// Turns sums into means and fills the lower triangles.
    fn finish(&mut self, count: usize) {
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

fn add(sum: &mut [f64], terms: &[f64]) {
    sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// Means of min(rho(p, x_i), R)^2 and of its square. Distances that are not finite count 0.
pub fn dist_moments(
    manifold: &dyn Manifold,
    points: Rows,
    count: usize,
    base: &[f64],
    max_dist: f64,
    interrupt: Interrupt,
) -> Result<(f64, f64), Error> {
    let piece = |i: usize| {
        let range = i * PIECE..((i + 1) * PIECE).min(count);
        let mut dist = vec![0.0; range.len()];
        manifold.dist(Rows::shared(base), points.range(range), &mut dist);
        let mut sums = [[0.0; BLOCK]; 2];
        for block in dist.chunks(BLOCK) {
            for (l, &dist) in block.iter().enumerate() {
                let clipped = if dist < max_dist { dist } else { max_dist };
                let square = clipped * clipped;
                let square = if dist.is_finite() { square } else { 0.0 };
                sums[0][l] += square;
                sums[1][l] += square * square;
            }
        }
        sums.map(|lanes| lanes.iter().sum::<f64>())
    };
    let merge = |sum: &mut [f64; 2], other: &[f64; 2]| add(sum, other);
    let sums = cascade(count.div_ceil(PIECE), usize::MAX, interrupt, piece, merge)?;
    let [square, fourth] = sums.unwrap_or_default().map(|sum| sum / count as f64);
    Ok((square, fourth))
}

/// Means of u_i, u_i u_i^T and, if `hessian`, Hess(½rho(., exp_p u_i)^2)(p) - I, as full matrices in the
/// coordinates at p.
pub fn log_moments(
    manifold: &dyn Manifold,
    points: Rows,
    count: usize,
    base: &[f64],
    max_dist: f64,
    hessian: bool,
    interrupt: Interrupt,
) -> Result<LogMoments, Error> {
    let dim = manifold.dim();
    let piece = |i: usize| {
        let range = i * PIECE..((i + 1) * PIECE).min(count);
        let mut sums = LogMoments::zero(dim, hessian);
        let points = points.range(range.clone());
        manifold.sum_log_moments(points, range.len(), base, max_dist, &mut sums);
        sums
    };
    let at_once = MEMORY / (2 * dim * dim);
    let sums = cascade(count.div_ceil(PIECE), at_once, interrupt, piece, LogMoments::add)?;
    let mut sums = sums.unwrap_or_else(|| LogMoments::zero(dim, hessian));
    sums.finish(count);
    Ok(sums)
}

/// Shortens `u` to length `max_dist` if it is longer. A vector that is not finite, or whose square is
/// not, becomes 0. Returns the squared length, at most R^2.
pub fn clip(u: &mut [f64], max_dist: f64) -> f64 {
    let square: f64 = u.iter().map(|x| x * x).sum();
    let limit = max_dist * max_dist;
    if !square.is_finite() {
        u.fill(0.0);
        return 0.0;
    }
    if square <= limit {
        return square;
    }
    let scale = max_dist / square.sqrt();
    u.iter_mut().for_each(|x| *x *= scale);
    limit
}

/// [`Manifold::sum_log_moments`] one record after the other.
pub(crate) fn sum_by_rows<M: Manifold + ?Sized>(
    manifold: &M,
    points: Rows,
    count: usize,
    base: &[f64],
    max_dist: f64,
    sums: &mut LogMoments,
) {
    let dim = manifold.dim();
    let mut logs = vec![0.0; count * dim];
    let mut hessian = vec![0.0; dim * dim];
    manifold.log_coords(points, Rows::shared(base), &mut logs);
    for u in logs.chunks_exact_mut(dim) {
        clip(u, max_dist);
        add(&mut sums.first, u);
        for i in 0..dim {
            for j in i..dim {
                sums.second[i * dim + j] += u[i] * u[j];
            }
        }
        if let Some(excess) = &mut sums.excess {
            manifold.curvature_function(u, &crate::manifold::hessian_excess, &mut hessian);
            add(excess, &hessian);
        }
    }
}

/// Bound on the rounding error of a mean of n terms, relative to the largest length of a term (its
/// absolute value, Euclidean or Frobenius norm).
pub fn summation_error(n: usize) -> f64 {
    const U: f64 = f64::EPSILON / 2.0;
    (140.0 + (n.max(1) as f64).log2()) * U
}
