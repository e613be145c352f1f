//! Weighted sums of products u u^T over a block of rows.
//!
//! Rows are packed into panels of [`LANES`] columns, so that a tile of the sum stays in registers while its
//! rows pass by; the work is that of a symmetric rank-k update.

use crate::cascade::ROWS;
use crate::simd::lanes::{LANES, Lane};
use crate::simd::vectorize_widest;

/// A block of rows, column by column in panels; the last panel is filled up with zeros.
pub(super) struct Panels {
    dim: usize,
    rows: usize,
    /// Entry (panel, row) at panel * ROWS + row.
    entries: Vec<Lane>,
}

impl Panels {
    pub fn new(dim: usize) -> Self {
        Self { dim, rows: 0, entries: vec![[0.0; LANES]; dim.div_ceil(LANES) * ROWS] }
    }

    /// Takes over at most [`ROWS`] rows.
    #[inline(always)]
    pub fn pack(&mut self, rows: &[f64]) {
        self.rows = rows.len() / self.dim;
        for (l, row) in rows.chunks_exact(self.dim).enumerate() {
            for (panel, part) in row.chunks(LANES).enumerate() {
                let entry = &mut self.entries[panel * ROWS + l];
                if let Ok(whole) = <Lane>::try_from(part) {
                    *entry = whole;
                } else {
                    entry[..part.len()].copy_from_slice(part);
                }
            }
        }
    }

    #[inline(always)]
    fn panel(&self, panel: usize) -> &[Lane] {
        &self.entries[panel * ROWS..][..self.rows]
    }

    /// Adds sum_l u_l to `sum`.
    #[inline(always)]
    pub fn add_rows(&self, sum: &mut [f64]) {
        for (panel, sum) in sum.chunks_mut(LANES).enumerate() {
            let mut total = [0.0; LANES];
            for entry in self.panel(panel) {
                for i in 0..LANES {
                    total[i] += entry[i];
                }
            }
            for (sum, total) in sum.iter_mut().zip(&total) {
                *sum += total;
            }
        }
    }

    /// Adds sum_l w_l u_l u_l^T to the upper triangle of `sum`. (What the tiles on the diagonal write
    /// below it is not used.)
    #[inline(never)]
    pub fn add_products(&self, weights: &[f64; ROWS], sum: &mut [f64]) {
        vectorize_widest(
            #[inline(always)]
            || {
                let panels = self.dim.div_ceil(LANES);
                for right in 0..panels {
                    for left in 0..=right {
                        match (self.dim - left * LANES).min(LANES) {
                            1 => self.add_tile::<1>(left, right, weights, sum),
                            2 => self.add_tile::<2>(left, right, weights, sum),
                            3 => self.add_tile::<3>(left, right, weights, sum),
                            4 => self.add_tile::<4>(left, right, weights, sum),
                            5 => self.add_tile::<5>(left, right, weights, sum),
                            6 => self.add_tile::<6>(left, right, weights, sum),
                            7 => self.add_tile::<7>(left, right, weights, sum),
                            _ => self.add_tile::<8>(left, right, weights, sum),
                        }
                    }
                }
            },
        );
    }

    /// The tile of the first `N` columns of panel `left` and the columns of panel `right`.
    #[inline(always)]
    fn add_tile<const N: usize>(
        &self,
        left: usize,
        right: usize,
        weights: &[f64; ROWS],
        sum: &mut [f64],
    ) {
        let mut tile = [[0.0; LANES]; N];
        for ((x, y), weight) in self.panel(left).iter().zip(self.panel(right)).zip(weights) {
            let mut weighted = [0.0; LANES];
            for j in 0..LANES {
                weighted[j] = weight * y[j];
            }
            for i in 0..N {
                for j in 0..LANES {
                    tile[i][j] += x[i] * weighted[j];
                }
            }
        }
        let start = right * LANES;
        let width = (self.dim - start).min(LANES);
        for i in 0..N {
            let row = (left * LANES + i) * self.dim + start;
            for (sum, term) in sum[row..row + width].iter_mut().zip(&tile[i]) {
                *sum += term;
            }
        }
    }
}
