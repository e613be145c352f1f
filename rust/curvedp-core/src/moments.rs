//! Moments of logarithms at a public base point p, for private inference.
//!
//! For records x_i let u_i = log_p x_i in orthonormal coordinates at p ([`Manifold::coords`]), shortened to
//! length R = `max_dist` where it is longer. Computed are the means of min(rho(p, x_i), R)^2 and its square
//! ([`dist_moments`]), of u_i, of u_i u_i^T, and of Hess(½rho(., exp_p u_i)^2)(p) - I ([`log_moments`]).
//!
//! What a privacy proof rests on: the term that a record adds to a sum depends on that record, p and R
//! alone, and lies in the range that R and the curvature allow, whatever the record and its rounding (see
//! [`Range`]); a logarithm that is not finite counts as 0. Terms are summed in a fixed order, whatever the
//! number of threads, and the rounding of the sum is bounded by [`summation_error`] and [`hessian_error`].

pub(crate) mod cascade;
mod range;

pub use range::{Limit, Range};

use cascade::cascade;

use crate::error::Error;
use crate::manifold::Manifold;
use crate::parallel::Interrupt;
use crate::rows::Rows;

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

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

/// sum += terms
pub(crate) fn add(sum: &mut [f64], terms: &[f64]) {
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
    let range = Range::new(max_dist, dim);
    let piece = |i: usize| {
        let rows = i * PIECE..((i + 1) * PIECE).min(count);
        let mut sums = LogMoments::zero(dim, hessian);
        let points = points.range(rows.clone());
        manifold.sum_log_moments(points, rows.len(), base, &range, &mut sums);
        sums
    };
    let at_once = MEMORY / (2 * dim * dim);
    let sums = cascade(count.div_ceil(PIECE), at_once, interrupt, piece, LogMoments::add)?;
    let mut sums = sums.unwrap_or_else(|| LogMoments::zero(dim, hessian));
    sums.finish(count);
    Ok(sums)
}

/// Coordinates of a symmetric matrix (`dim` x `dim`) whose Euclidean norm is its Frobenius norm (vecd of
/// Schwartzman 2016), its trace part tr/dim I multiplied by `stretch` first: the diagonal, then the entries
/// above it times sqrt(2), row by row.
pub fn vecd(matrix: &[f64], dim: usize, stretch: f64, out: &mut [f64]) {
    let trace: f64 = (0..dim).map(|i| matrix[i * (dim + 1)]).sum();
    let share = (stretch - 1.0) * trace / dim as f64;
    let (diagonal, above) = out.split_at_mut(dim);
    for (i, x) in diagonal.iter_mut().enumerate() {
        *x = matrix[i * (dim + 1)] + share;
    }
    let entries = (0..dim).flat_map(|i| (i + 1..dim).map(move |j| matrix[i * dim + j]));
    for (x, entry) in above.iter_mut().zip(entries) {
        *x = std::f64::consts::SQRT_2 * entry;
    }
}

/// Bound on the rounding error of the means of distances, logarithms and their products over n records,
/// relative to the largest length (absolute value, Euclidean or Frobenius norm) that a term may have.
///
/// What is computed is (1/n) sum_i t_i + e, where t_i lies in its range exactly (|u_i| <= R, see [`Range`]),
/// depends on record i alone, and |e| <= this * max |t|. With U = 2^-53: a term meets at most ROWS = 128
/// additions in its block and PIECE/ROWS = 8 in its piece (or PIECE/L + L <= 136 in L lanes, at most 64 for
/// distances), log2 of the number of pieces + 1 <= log2 n + 1 in the tree, one division, and at most two
/// roundings of its own products. With k such roundings of relative size U, |e| <= kU/(1 - kU) max |t| by the
/// triangle inequality in any norm that is monotone in the entries' absolute values.
pub fn summation_error(n: usize) -> f64 {
    1.01 * U * (140.0 + (n.max(1) as f64).log2())
}

/// The same for the mean excess of the Hessian, relative to the largest Frobenius norm of a term.
///
/// A term is computed as a sum of parts whose norms add up to less than three times its own: on a sphere
/// c I and c u u^T/|u|^2 with (√d + 1)/√(d - 1) < 2.42, on CP^m less than 1.7, with B of norm √2 on SPD(m).
/// Each of these parts is summed as above; what the record's own formulas round is
/// [`Manifold::hessian_rounding`].
pub fn hessian_error(manifold: &dyn Manifold, n: usize) -> f64 {
    3.0 * summation_error(n) + 1.01 * U * manifold.hessian_rounding()
}
