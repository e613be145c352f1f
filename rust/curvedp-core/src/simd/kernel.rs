//! Drivers that run a kernel over a batch, block by block, compiled for the best instruction set.

use super::blocks::{Any, BLOCK, Block, Three, Width};
use super::lanes::{LANES, tree_sum};
use super::{vectorize, vectorize_widest};
use crate::cascade::ADDITIONS;

/// A map of rows to rows.
pub(crate) trait Kernel {
    /// True if AVX-512 pays for rows of three entries.
    const WIDEST: bool = false;

    /// Writes the images of the rows `first..first + rows` to `out`.
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]);
}

/// Runs a kernel on rows of `width` entries; `out` has rows of `out_width` entries.
pub(crate) fn run<K: Kernel>(kernel: K, width: usize, out_width: usize, out: &mut [f64]) {
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
pub(crate) fn run_any(kernel: impl Kernel, width: usize, out_width: usize, out: &mut [f64]) {
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

/// A sum over rows of vectors, and of two numbers that go with each.
pub(crate) trait SumKernel {
    /// True if AVX-512 pays for rows of three entries.
    const WIDEST: bool = true;

    /// Adds the vectors of the rows `first..first + rows` to `accumulator` and returns the numbers.
    fn block<W: Width>(
        &self,
        width: W,
        first: usize,
        rows: usize,
        accumulator: &mut [f64],
    ) -> [Block; 2];
}

/// A block adds its rows one by one or in lanes, and is added to the others with compensation.
const _: () = assert!(BLOCK + LANES + 4 <= ADDITIONS);

/// Writes the sum of the vectors of `count` rows to `out`, which is as wide as they are; returns the sums of
/// the numbers. Blocks are summed with compensation, so the error does not grow with `count`.
pub(crate) fn run_sum<K: SumKernel>(kernel: K, count: usize, out: &mut [f64]) -> [f64; 2] {
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
pub(crate) fn run_sum_any(kernel: impl SumKernel, count: usize, out: &mut [f64]) -> [f64; 2] {
    vectorize(
        #[inline(always)]
        move || sum_all(kernel, Any(out.len()), count, out),
    )
}

#[inline(always)]
fn sum_all<W: Width>(kernel: impl SumKernel, width: W, count: usize, out: &mut [f64]) -> [f64; 2] {
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
        let block_scalars = terms.each_ref().map(|numbers| block_sum(numbers, rows));
        add_compensated(&block_scalars, &mut scalars, &mut scalars_lost);
    }
    add_all(lost, sum);
    add_all(&scalars_lost, &mut scalars);
    width.collect(sum, out);
    scalars
}

/// [`sum_all`] for rows that fill no more than one block: nothing has to be compensated.
#[inline(always)]
fn sum_block<W: Width>(kernel: impl SumKernel, width: W, rows: usize, out: &mut [f64]) -> [f64; 2] {
    let mut accumulator = width.accumulator();
    let block = accumulator.as_mut();
    let terms = kernel.block(width, 0, rows, block);
    block.iter_mut().for_each(|x| *x += 0.0); // as a sum from 0 on, -0 is 0
    width.collect(block, out);
    terms.each_ref().map(|numbers| block_sum(numbers, rows) + 0.0)
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
pub(crate) fn weights_of(weights: Option<&[f64]>, first: usize, rows: usize) -> Block {
    let mut block = [1.0; BLOCK];
    if let Some(weights) = weights {
        block[..rows].copy_from_slice(&weights[first..first + rows]);
    }
    block
}
