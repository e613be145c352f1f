//! Sums of clipped logarithms, of their products and of Hessians, where [`Curvature`] gives these in terms
//! of the logarithm and its length alone.
//!
//! With s = |u| and q(z) = (1 - √z cot √z)/z, or (√z coth √z - 1)/z for negative curvature (1/3 at 0):
//!
//! ```text
//! constant curvature kappa   Hess - I = -kappa q(|kappa| s^2) (s^2 I - u u^T)
//! CP^m                       Hess - I = -q(s^2) (s^2 I - u u^T) - (4 q(4 s^2) - q(s^2)) (iu)(iu)^T
//! ```
//!
//! so that the sums over records are three weighted sums of products u u^T.

mod panels;

use std::ops::Range as Indices;

use super::curvature::{Curvature, hessian_excess};
use super::{LogMoments, Range};
use crate::cascade::ROWS;
use crate::simd::elementary::{cot_excess, coth_excess};
use crate::simd::entries::row_sums;
use crate::simd::lanes::Lane;
use crate::simd::vectorize_widest;
use panels::Panels;

/// One number for each row of a block.
type Numbers = Lane<ROWS>;

/// Hess - I = identity I + along u u^T - turned (iu)(iu)^T for the rows u of a block.
struct Weights {
    identity: Numbers,
    along: Numbers,
    turned: Numbers,
}

/// Shortens rows to length R and returns their squared lengths; see [`Range::scale`].
#[inline(always)]
fn clip(dim: usize, logs: &mut [f64], range: &Range, squares: &mut Numbers) {
    let mut scales = [0.0; ROWS];
    for (square, u) in squares.iter_mut().zip(logs.chunks_exact(dim)) {
        [*square] = row_sums(dim, [u], |[x]| [x * x]);
    }
    for l in 0..ROWS {
        (scales[l], squares[l]) = range.scale(squares[l]);
    }
    for (scale, u) in scales.iter().zip(logs.chunks_exact_mut(dim)) {
        if *scale == 0.0 {
            u.fill(0.0); // what is not finite stays so when it is scaled
        } else if *scale < 1.0 {
            u.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

#[inline(always)]
fn weights(curvature: Curvature, range: &Range, squares: &Numbers) -> Weights {
    let mut block = Weights { identity: [0.0; ROWS], along: [0.0; ROWS], turned: [0.0; ROWS] };
    match curvature {
        Curvature::Flat
        | Curvature::Matrices(_)
        | Curvature::Hermitian(_)
        | Curvature::Subspaces { .. }
        | Curvature::Rotations(_) => {}
        Curvature::Constant(kappa) if kappa > 0.0 => {
            let limit = range.largest(kappa, cot_excess);
            for l in 0..ROWS {
                block.along[l] = limit.clamp(kappa * cot_excess(kappa * squares[l]), squares[l]);
                block.identity[l] = -block.along[l] * squares[l];
            }
        }
        Curvature::Constant(kappa) => {
            let limit = range.largest(-kappa, coth_excess);
            for l in 0..ROWS {
                block.along[l] =
                    -limit.clamp(-kappa * coth_excess(-kappa * squares[l]), squares[l]);
                block.identity[l] = -block.along[l] * squares[l];
            }
        }
        Curvature::Complex => {
            let limits = (range.largest(1.0, cot_excess), range.largest(4.0, cot_excess));
            for l in 0..ROWS {
                let across = limits.0.clamp(cot_excess(squares[l]), squares[l]);
                let turned = limits.1.clamp(4.0 * cot_excess(4.0 * squares[l]), squares[l]);
                block.along[l] = across;
                block.turned[l] = turned - across;
                block.identity[l] = -across * squares[l];
            }
        }
    }
    block
}

/// See [`super::Manifold::sum_log_moments`]; `log` writes the logarithms of a range of records in coordinates.
pub(super) fn sum_log_moments(
    log: &dyn Fn(Indices<usize>, &mut [f64]),
    (curvature, dim): (Curvature, usize),
    count: usize,
    range: &Range,
    sums: &mut LogMoments,
) {
    let curvature = curvature.reduced(dim);
    let mut logs = vec![0.0; ROWS.min(count) * dim];
    let mut panels = Panels::new(dim);
    let mut turned = match (curvature, &sums.excess) {
        (Curvature::Complex, Some(_)) => vec![0.0; dim * dim],
        _ => Vec::new(),
    };
    for first in (0..count).step_by(ROWS) {
        let rows = ROWS.min(count - first);
        let logs = &mut logs[..rows * dim];
        log(first..first + rows, logs);
        vectorize_widest(
            #[inline(always)]
            || {
                let mut squares = [0.0; ROWS];
                clip(dim, logs, range, &mut squares);
                panels.pack(logs);
                panels.add_rows(&mut sums.first);
                panels.add_products(&[1.0; ROWS], &mut sums.second);
                if let (Some(excess), true) = (&mut sums.excess, curvature != Curvature::Flat) {
                    let weights = weights(curvature, range, &squares);
                    panels.add_products(&weights.along, excess);
                    let identity: f64 = weights.identity[..rows].iter().sum();
                    excess.iter_mut().step_by(dim + 1).for_each(|x| *x += identity);
                    if !turned.is_empty() {
                        panels.add_products(&weights.turned, &mut turned);
                    }
                }
            },
        );
    }
    if let (Some(excess), false) = (&mut sums.excess, turned.is_empty()) {
        subtract_turned(dim, &turned, excess);
    }
}

/// The same where Hessians are functions of a curvature operator that has [`Curvature::excess`].
pub(super) fn sum_by_operator(
    log: &dyn Fn(Indices<usize>, &mut [f64]),
    (curvature, dim): (Curvature, usize),
    count: usize,
    range: &Range,
    sums: &mut LogMoments,
) {
    let (kappa, square) = curvature.excess().unwrap_or((0.0, 0.0));
    // no eigenvalue is below that of the largest curvature at the largest length
    let limit = range.largest(kappa, cot_excess);
    let excess = |k: f64| -limit.clamp_product(-hessian_excess(k));
    let most = square.sqrt() * (1.0 - 1e-14) * limit.clamp_product(f64::INFINITY);
    let (mut u, mut hessian) = (vec![0.0; dim], vec![0.0; dim * dim]);
    for i in 0..count {
        log(i..i + 1, &mut u);
        range.clip(&mut u);
        crate::vector::add(&mut sums.first, &u);
        for (row, x) in sums.second.chunks_exact_mut(dim).zip(&u) {
            row.iter_mut().zip(&u).for_each(|(sum, y)| *sum += x * y);
        }
        if let Some(sum) = &mut sums.excess {
            curvature.function(&u, &excess, &mut hessian);
            shorten(&mut hessian, most);
            crate::vector::add(sum, &hessian);
        }
    }
}

/// Keeps the norm of a Hessian's excess in its range, whatever was rounded.
fn shorten(hessian: &mut [f64], most: f64) {
    let length = crate::vector::norm(hessian);
    if length > most {
        hessian.iter_mut().for_each(|x| *x *= most / length);
    }
    if !length.is_finite() {
        hessian.fill(0.0);
    }
}

/// Subtracts J T J^T, J being multiplication by i, from the upper triangle of `sum`.
fn subtract_turned(dim: usize, t: &[f64], sum: &mut [f64]) {
    for i in (0..dim).step_by(2) {
        for j in (i..dim).step_by(2) {
            let at = |k: usize, l: usize| (i + k) * dim + j + l;
            sum[at(0, 0)] -= t[at(1, 1)];
            sum[at(1, 1)] -= t[at(0, 0)];
            // on the diagonal entry (1, 0) is below it: there t is (0, 1) by symmetry
            let below = if i == j { t[at(0, 1)] } else { t[at(1, 0)] };
            sum[at(0, 1)] += below;
            sum[at(1, 0)] += t[at(0, 1)];
        }
    }
}
