//! Loops over the entries of a row and over blocks of rows, shaped so that they vectorise.
//!
//! A [kernel](super::kernel::Kernel) handles a block of at most [`BLOCK`] rows in stages: sums over the entries of each row,
//! one plain loop over the rows with the formula, and a combination of the entries of each row. A
//! [`Width`] does the first and last stage; kernels never see how. All sums have a fixed order, so
//! results are the same on every processor.

use super::entries::{each, row_add, row_map, row_sums};
use super::lanes::{LANES, Lane, tree_sum};
use crate::rows::Rows;

/// Most rows in a block.
pub(crate) const BLOCK: usize = 32;
/// One number for each row of a block.
pub(crate) type Block = Lane<BLOCK>;

/// The number of entries in a row, and the loops that suit it.
pub(crate) trait Width: Copy {
    /// True if a copy of the kernel for a known number of rows pays.
    const FULL_BLOCKS_APART: bool;

    /// Rows in a full block.
    fn rows(self) -> usize;

    /// Sums of `term` over the entries of the rows `first..first + rows` of `operands`.
    fn sums<const N: usize, const K: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        term: impl Fn([f64; N]) -> [f64; K],
    ) -> [Block; K];

    /// Writes `entry(entries, coefficients)` for each entry of the rows `first..first + rows`.
    fn combine<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        out: &mut [f64],
    );

    /// The sums to which [`Width::accumulate`] adds.
    type Accumulator: AsMut<[f64]>;

    /// An accumulator of zeros.
    fn accumulator(self) -> Self::Accumulator;

    /// Adds `entry(entries, coefficients)` of the rows `first..first + rows` to `accumulator`.
    fn accumulate<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        accumulator: &mut [f64],
    );

    /// Writes the row sums held by an accumulator.
    fn collect(self, accumulator: &[f64], out: &mut [f64]);
}

/// Rows of three entries, handled as three columns.
#[derive(Clone, Copy)]
pub(crate) struct Three;

/// Rows of any length, handled one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Any(pub usize);

/// The rows of an operand as three columns of `B` lanes.
#[inline(always)]
pub(crate) fn columns<const B: usize>(operand: Rows, first: usize, rows: usize) -> [[f64; B]; 3] {
    let mut columns = [[0.0; B]; 3];
    if operand.is_shared() {
        let row = operand.data();
        return [[row[0]; B], [row[1]; B], [row[2]; B]];
    }
    let (points, _) = operand.data()[3 * first..3 * (first + rows)].as_chunks::<3>();
    for (l, point) in points.iter().enumerate().take(B) {
        for j in 0..3 {
            columns[j][l] = point[j];
        }
    }
    columns
}

/// [`Width::sums`] over `B` lanes, of which the first `rows` count.
#[inline(always)]
fn column_sums<const B: usize, const N: usize, const K: usize>(
    operands: [Rows; N],
    first: usize,
    rows: usize,
    term: impl Fn([f64; N]) -> [f64; K],
) -> [Block; K] {
    let mut entries = [[[0.0; B]; 3]; N];
    for n in 0..N {
        entries[n] = columns(operands[n], first, rows);
    }
    let mut sums = [[0.0; BLOCK]; K];
    for l in 0..B {
        let at = |j: usize| term(std::array::from_fn(|n| entries[n][j][l]));
        let (t0, t1, t2) = (at(0), at(1), at(2));
        for k in 0..K {
            sums[k][l] = (t0[k] + t1[k]) + t2[k];
        }
    }
    sums
}

/// [`Width::combine`] over `B` lanes, of which the first `rows` count.
#[inline(always)]
fn combine_columns<const B: usize, const N: usize, const M: usize>(
    operands: [Rows; N],
    first: usize,
    rows: usize,
    coefficients: [&Block; M],
    entry: impl Fn([f64; N], [f64; M]) -> f64,
    out: &mut [f64],
) {
    let mut entries = [[[0.0; B]; 3]; N];
    for n in 0..N {
        entries[n] = columns(operands[n], first, rows);
    }
    let mut result = [[0.0; B]; 3];
    for l in 0..B {
        let factors = std::array::from_fn(|m| coefficients[m][l]);
        for j in 0..3 {
            result[j][l] = entry(std::array::from_fn(|n| entries[n][j][l]), factors);
        }
    }
    let (points, _) = out[..3 * rows].as_chunks_mut::<3>();
    for (l, point) in points.iter_mut().enumerate().take(B) {
        for j in 0..3 {
            point[j] = result[j][l];
        }
    }
}

impl Width for Three {
    const FULL_BLOCKS_APART: bool = true;

    #[inline(always)]
    fn rows(self) -> usize {
        BLOCK
    }

    #[inline(always)]
    fn sums<const N: usize, const K: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        term: impl Fn([f64; N]) -> [f64; K],
    ) -> [Block; K] {
        // a chain asks for one row at a time
        if rows <= LANES {
            column_sums::<LANES, N, K>(operands, first, rows, term)
        } else {
            column_sums::<BLOCK, N, K>(operands, first, rows, term)
        }
    }

    #[inline(always)]
    fn combine<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        out: &mut [f64],
    ) {
        if rows <= LANES {
            combine_columns::<LANES, N, M>(operands, first, rows, coefficients, entry, out);
        } else {
            combine_columns::<BLOCK, N, M>(operands, first, rows, coefficients, entry, out);
        }
    }

    type Accumulator = [f64; 3 * LANES];

    #[inline(always)]
    fn accumulator(self) -> Self::Accumulator {
        [0.0; 3 * LANES]
    }

    #[inline(always)]
    fn accumulate<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        accumulator: &mut [f64],
    ) {
        let mut entries = [[[0.0; BLOCK]; 3]; N];
        for n in 0..N {
            entries[n] = columns::<BLOCK>(operands[n], first, rows);
        }
        let (lanes, _) = accumulator.as_chunks_mut::<LANES>();
        for j in 0..3 {
            let mut terms = [0.0; BLOCK];
            for l in 0..BLOCK {
                let factors = std::array::from_fn(|m| coefficients[m][l]);
                let term = entry(std::array::from_fn(|n| entries[n][j][l]), factors);
                terms[l] = if l < rows { term } else { 0.0 };
            }
            for l in (0..BLOCK).step_by(LANES) {
                for i in 0..LANES {
                    lanes[j][i] += terms[l + i];
                }
            }
        }
    }

    #[inline(always)]
    fn collect(self, accumulator: &[f64], out: &mut [f64]) {
        for (out, lanes) in out.iter_mut().zip(accumulator.as_chunks::<LANES>().0) {
            *out = tree_sum(lanes);
        }
    }
}

impl Width for Any {
    const FULL_BLOCKS_APART: bool = false;

    #[inline(always)]
    fn rows(self) -> usize {
        BLOCK / 2
    }

    #[inline(always)]
    fn sums<const N: usize, const K: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        term: impl Fn([f64; N]) -> [f64; K],
    ) -> [Block; K] {
        let mut sums = [[0.0; BLOCK]; K];
        for l in 0..rows {
            let row = row_sums::<N, K>(self.0, each(|n| operands[n].row(first + l)), &term);
            for k in 0..K {
                sums[k][l] = row[k];
            }
        }
        sums
    }

    #[inline(always)]
    fn combine<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        out: &mut [f64],
    ) {
        for l in 0..rows {
            let factors = std::array::from_fn(|m| coefficients[m][l]);
            let entries: [_; N] = each(|n| operands[n].row(first + l));
            let out = &mut out[l * self.0..(l + 1) * self.0];
            row_map(entries, |x| entry(x, factors), out);
        }
    }

    type Accumulator = Vec<f64>;

    #[inline(always)]
    fn accumulator(self) -> Self::Accumulator {
        vec![0.0; self.0]
    }

    #[inline(always)]
    fn accumulate<const N: usize, const M: usize>(
        self,
        operands: [Rows; N],
        first: usize,
        rows: usize,
        coefficients: [&Block; M],
        entry: impl Fn([f64; N], [f64; M]) -> f64,
        accumulator: &mut [f64],
    ) {
        for l in 0..rows {
            let factors = std::array::from_fn(|m| coefficients[m][l]);
            let entries: [_; N] = each(|n| operands[n].row(first + l));
            row_add(entries, |x| entry(x, factors), accumulator);
        }
    }

    #[inline(always)]
    fn collect(self, accumulator: &[f64], out: &mut [f64]) {
        out.copy_from_slice(accumulator);
    }
}

/// The first entries of the rows `first..first + rows`.
#[inline(always)]
pub(crate) fn first_entries(operand: Rows, first: usize, rows: usize) -> Block {
    let mut entries = [0.0; BLOCK];
    for l in 0..rows {
        entries[l] = operand.row(first + l)[0];
    }
    entries
}

/// Rows of a block whose formula is evaluated: whole vectors of lanes.
#[inline(always)]
pub(crate) fn padded(rows: usize) -> usize {
    rows.next_multiple_of(LANES).min(BLOCK)
}
