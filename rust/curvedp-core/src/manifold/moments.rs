//! Sums of clipped logarithms, of their products and of Hessians; in spaces of rank 1 these follow from the logarithm and
//! its length alone.
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

use super::curvature::{excess, hessian_excess};
use super::{LogMoments, Manifold, Range};
use crate::cascade::ROWS;
use crate::roots::Roots;
use crate::rows::Rows;
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

/// kappa q(|kappa| s^2), in its range.
#[inline(always)]
fn along(kappa: f64, range: &Range, squares: &Numbers) -> Numbers {
    let mut along = [0.0; ROWS];
    if kappa > 0.0 {
        let limit = range.largest(kappa, cot_excess);
        for l in 0..ROWS {
            along[l] = limit.clamp(kappa * cot_excess(kappa * squares[l]), squares[l]);
        }
    } else {
        let limit = range.largest(-kappa, coth_excess);
        for l in 0..ROWS {
            along[l] = -limit.clamp(-kappa * coth_excess(-kappa * squares[l]), squares[l]);
        }
    }
    along
}

/// Those of [`Roots::planes`].
#[inline(always)]
fn weights(planes: &[(f64, f64)], range: &Range, squares: &Numbers) -> Weights {
    let mut block = Weights { identity: [0.0; ROWS], along: [0.0; ROWS], turned: [0.0; ROWS] };
    if let [.., (_, across)] = *planes {
        block.along = along(across, range, squares);
        for l in 0..ROWS {
            block.identity[l] = -block.along[l] * squares[l];
        }
    }
    if let [(_, turned), _] = *planes {
        block.turned = along(turned, range, squares);
        for l in 0..ROWS {
            block.turned[l] -= block.along[l];
        }
    }
    block
}

/// See [`super::Manifold::sum_log_moments`].
pub(super) fn sum_log_moments<M: Manifold + ?Sized>(
    manifold: &M,
    points: Rows,
    count: usize,
    base: &[f64],
    range: &Range,
    sums: &mut LogMoments,
) {
    let log = |rows, out: &mut [f64]| {
        manifold.log_coords(points.range(rows), Rows::shared(base), out);
    };
    let roots = manifold.roots();
    if let Some(planes) = roots.planes() {
        return sum_by_planes(&log, (&planes, manifold.dim()), count, range, sums);
    }
    let function = |u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]| {
        manifold.curvature_function(u, f, out);
    };
    sum_by_operator(&log, &function, roots, count, range, sums);
}

/// The same where Hessians follow from the curvatures of the planes through a direction; none for the other sums alone.
/// `log` writes the logarithms of a range of records in coordinates.
pub(super) fn sum_by_planes(
    log: &dyn Fn(Indices<usize>, &mut [f64]),
    (planes, dim): (&[(f64, f64)], usize),
    count: usize,
    range: &Range,
    sums: &mut LogMoments,
) {
    let mut logs = vec![0.0; ROWS.min(count) * dim];
    let mut panels = Panels::new(dim);
    let mut turned = match (planes, &sums.excess) {
        ([_, _], Some(_)) => vec![0.0; dim * dim],
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
                if let (Some(excess), true) = (&mut sums.excess, !planes.is_empty()) {
                    let weights = weights(planes, range, &squares);
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

/// Writes f(R_u) for a vector u and a function f.
type Function<'a> = dyn Fn(&[f64], &dyn Fn(f64) -> f64, &mut [f64]) + 'a;

/// The same where Hessians are functions of a curvature operator of curvature >= 0 in a space of higher rank.
fn sum_by_operator(
    log: &dyn Fn(Indices<usize>, &mut [f64]),
    function: &Function,
    roots: Roots,
    count: usize,
    range: &Range,
    sums: &mut LogMoments,
) {
    let (dim, (kappa, square)) = (roots.dim(), excess(roots));
    // no eigenvalue is below that of the largest curvature at the largest length
    let limit = range.largest(kappa, cot_excess);
    let clamped = |k: f64| -limit.clamp_product(-hessian_excess(k));
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
            function(&u, &clamped, &mut hessian);
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
