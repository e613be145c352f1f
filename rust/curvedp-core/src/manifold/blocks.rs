//! Drivers that run a kernel over a batch, block by block, compiled for the best instruction set.

use super::entries::{LANES, row_sums, tree_sum};
use super::lanes::{Any, BLOCK, Block, Three, Width};
use super::{LogSums, Manifold};
use crate::rows::Rows;
use crate::simd::{vectorize, vectorize_widest};

/// A map of rows to rows.
pub(super) trait Kernel {
    /// Whether AVX-512 pays for rows of three entries.
    const WIDEST: bool = false;

    /// Writes the images of the rows `first..first + rows` to `out`.
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]);
}

/// Runs a kernel on rows of `width` entries; `out` has rows of `out_width` entries.
pub(super) fn run<K: Kernel>(kernel: K, width: usize, out_width: usize, out: &mut [f64]) {
    if width != 3 {
        run_any(kernel, width, out_width, out);
    } else if K::WIDEST {
        vectorize_widest(
            #[inline(always)]
            move || all(kernel, Three, out_width, out),
        );
    } else {
        vectorize(
            #[inline(always)]
            move || all(kernel, Three, out_width, out),
        );
    }
}

/// The same for rows that never have three entries, such as those of complex numbers.
pub(super) fn run_any(kernel: impl Kernel, width: usize, out_width: usize, out: &mut [f64]) {
    vectorize(
        #[inline(always)]
        move || all(kernel, Any(width), out_width, out),
    );
}

#[inline(always)]
fn all<W: Width>(kernel: impl Kernel, width: W, out_width: usize, out: &mut [f64]) {
    let count = out.len() / out_width;
    let full = width.rows();
    for first in (0..count).step_by(full) {
        let rows = full.min(count - first);
        let out = &mut out[first * out_width..(first + rows) * out_width];
        if rows == full {
            kernel.block(width, first, full, out);
        } else {
            kernel.block(width, first, rows, out);
        }
    }
}

/// What a block adds to the sums of a [`SumKernel`], besides the ambient vectors.
pub(super) struct Terms {
    /// w rho^2 of each row.
    pub squared_dist: Block,
    /// w tr(Hess ½rho^2) / dim of each row.
    pub curvature: Block,
}

/// A sum of ambient vectors over rows.
pub(super) trait SumKernel {
    /// Whether AVX-512 pays for rows of three entries.
    const WIDEST: bool = true;

    /// Adds the vectors of the rows `first..first + rows` to `accumulator`.
    fn block<W: Width>(
        &self,
        width: W,
        first: usize,
        rows: usize,
        accumulator: &mut [f64],
    ) -> Terms;
}

/// Writes the sum of the vectors of `count` rows to `out`, which is as wide as they are; returns the other
/// sums. Blocks are summed with compensation, so the error does not grow with `count`.
pub(super) fn run_sum<K: SumKernel>(kernel: K, count: usize, out: &mut [f64]) -> LogSums {
    if out.len() != 3 {
        run_sum_any(kernel, count, out)
    } else if K::WIDEST {
        vectorize_widest(
            #[inline(always)]
            move || sum_all(kernel, Three, count, out),
        )
    } else {
        vectorize(
            #[inline(always)]
            move || sum_all(kernel, Three, count, out),
        )
    }
}

/// The same for rows that never have three entries, such as those of complex numbers.
pub(super) fn run_sum_any(kernel: impl SumKernel, count: usize, out: &mut [f64]) -> LogSums {
    vectorize(
        #[inline(always)]
        move || sum_all(kernel, Any(out.len()), count, out),
    )
}

#[inline(always)]
fn sum_all<W: Width>(kernel: impl SumKernel, width: W, count: usize, out: &mut [f64]) -> LogSums {
    let full = width.rows();
    if count <= full {
        return sum_block(kernel, width, count, out);
    }
    let mut accumulators = [width.accumulator(), width.accumulator(), width.accumulator()];
    let [block, sum, lost] = accumulators.each_mut().map(AsMut::as_mut);
    let (mut scalars, mut scalars_lost) = ([0.0; 2], [0.0; 2]);
    for first in (0..count).step_by(full) {
        let rows = full.min(count - first);
        block.fill(0.0);
        let terms = if W::FULL_BLOCKS_APART && rows == full {
            kernel.block(width, first, full, block)
        } else {
            kernel.block(width, first, rows, block)
        };
        add_compensated(block, sum, lost);
        let block_scalars =
            [block_sum(&terms.squared_dist, rows), block_sum(&terms.curvature, rows)];
        add_compensated(&block_scalars, &mut scalars, &mut scalars_lost);
    }
    add_all(lost, sum);
    add_all(&scalars_lost, &mut scalars);
    width.collect(sum, out);
    LogSums { squared_dist: scalars[0], curvature: scalars[1] }
}

/// [`sum_all`] for rows that fill no more than one block: nothing has to be compensated.
#[inline(always)]
fn sum_block<W: Width>(kernel: impl SumKernel, width: W, rows: usize, out: &mut [f64]) -> LogSums {
    let mut accumulator = width.accumulator();
    let block = accumulator.as_mut();
    let terms = kernel.block(width, 0, rows, block);
    block.iter_mut().for_each(|x| *x += 0.0); // as a sum from 0 on, -0 is 0
    width.collect(block, out);
    LogSums {
        squared_dist: block_sum(&terms.squared_dist, rows) + 0.0,
        curvature: block_sum(&terms.curvature, rows) + 0.0,
    }
}

/// Sum of the first `rows` numbers of a block.
#[inline(always)]
fn block_sum(block: &Block, rows: usize) -> f64 {
    let mut lanes = [0.0; LANES];
    for l in (0..BLOCK).step_by(LANES) {
        for i in 0..LANES {
            lanes[i] += if l + i < rows { block[l + i] } else { 0.0 };
        }
    }
    tree_sum(&lanes)
}

/// Adds `terms` to `sum` and the rounding errors to `lost` (Knuth's two-sum).
#[inline(always)]
fn add_compensated(terms: &[f64], sum: &mut [f64], lost: &mut [f64]) {
    for ((&term, sum), lost) in terms.iter().zip(sum).zip(lost) {
        let total = *sum + term;
        let part = total - *sum;
        *lost += (*sum - (total - part)) + (term - part);
        *sum = total;
    }
}

#[inline(always)]
fn add_all(terms: &[f64], sum: &mut [f64]) {
    for (&term, sum) in terms.iter().zip(sum) {
        *sum += term;
    }
}

/// The weights of the rows `first..first + rows`, 1 if absent.
#[inline(always)]
pub(super) fn weights_of(weights: Option<&[f64]>, first: usize, rows: usize) -> Block {
    let mut block = [1.0; BLOCK];
    if let Some(weights) = weights {
        block[..rows].copy_from_slice(&weights[first..first + rows]);
    }
    block
}

/// Adds the coordinates at `base` of the tangent parts of rows of `ambient` to those of `sum`. The
/// projection runs twice: what the first leaves of a long normal part is rounding, and the second removes
/// that.
pub(super) fn add_coords(manifold: &impl Manifold, ambient: &[f64], base: Rows, sum: &mut [f64]) {
    let size = manifold.point_size();
    let mut once = vec![0.0; ambient.len()];
    let mut tangent = vec![0.0; ambient.len()];
    let mut coords = vec![0.0; sum.len()];
    manifold.to_tangent(Rows::new(ambient, size), base, &mut once);
    manifold.to_tangent(Rows::new(&once, size), base, &mut tangent);
    manifold.coords(Rows::new(&tangent, size), base, &mut coords);
    add_all(&coords, sum);
}

/// Euclidean length, safe from overflow and underflow; not finite if an entry is not.
pub(crate) fn norm(x: &[f64]) -> f64 {
    let [square] = row_sums(x.len(), [x], |[x]| [x * x]);
    if square > 1e-250 && square < 1e250 {
        return square.sqrt();
    }
    let largest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if x.iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    largest * x.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
}

/// Scales `x` to the given length; false if its own is zero or not finite.
pub(super) fn scale_to(x: &mut [f64], length: f64) -> bool {
    let own = norm(x);
    if own > 1e-125 && own < 1e125 {
        let scale = length / own;
        x.iter_mut().for_each(|x| *x *= scale);
        return true;
    }
    if !(own > 0.0 && own.is_finite()) {
        return false;
    }
    let largest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    x.iter_mut().for_each(|x| *x /= largest);
    scale_to(x, length)
}
