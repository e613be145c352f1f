//! Moments of logarithms at a public base point p, for private inference.
//!
//! For records x_i let u_i = log_p x_i in orthonormal coordinates at p ([`Manifold::coords`]), shortened to
//! length R = `max_dist` where it is longer. Computed are the means of min(rho(p, x_i), R)^2 and its square
//! ([`dist_moments`]), of u_i, of u_i u_i^T, and of Hess(½rho(., exp_p u_i)^2)(p) - I ([`log_moments`]).
//!
//! Basis of the privacy proofs: the term that a record adds to a sum depends on that record, p and R
//! alone, and lies in the range that R and the curvature allow, whatever the record and its rounding (see
//! [`Range`]); a logarithm that is not finite counts as 0. Terms are summed in a fixed order, whatever the
//! number of threads, and the rounding of the sum is bounded by [`summation_error`] and [`hessian_error`].

use crate::cascade::{ADDITIONS, PIECE, cascade, roundings};
use crate::error::Error;
use crate::manifold::{LogMoments, Manifold, Range};
use crate::parallel::Interrupt;
use crate::rows::Rows;
use crate::simd::lanes::LANES;
use crate::vector::add;

/// Unit roundoff.
const U: f64 = f64::EPSILON / 2.0;

/// Independent partial sums of distances.
const PARTS: usize = 4 * LANES;

const _: () = assert!(PIECE.div_ceil(PARTS) + PARTS <= ADDITIONS);

/// Numbers that the partial sums computed at once may hold.
const MEMORY: usize = 1 << 24;

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
        let mut sums = [[0.0; PARTS]; 2];
        for block in dist.chunks(PARTS) {
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

/// Bound on the rounding error of [`vecd`], relative to the largest norm of its result for matrices of the given
/// one's norm: d - 1 additions of the trace and three roundings of its share, which together weigh
/// (d + 2) U (stretch - 1) |A|, one addition, two roundings of sqrt(2) times an entry and two of the stretch.
pub fn vecd_error(dim: usize) -> f64 {
    1.01 * U * (dim as f64 + 7.0)
}

/// Bound on the rounding error of the means of distances, logarithms and their products over n records,
/// relative to the largest length (absolute value, Euclidean or Frobenius norm) that a term may have.
///
/// The computed mean is (1/n) sum_i t_i + e, where t_i lies in its range exactly (|u_i| <= R, see [`Range`]),
/// depends on record i alone, and |e| <= this * max |t|. With k roundings of relative size U = 2^-53 on its
/// way (see `roundings`), |e| <= kU/(1 - kU) max |t| by the triangle inequality in any norm that is monotone in
/// the entries' absolute values.
pub fn summation_error(n: usize) -> f64 {
    1.01 * U * roundings(n)
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
