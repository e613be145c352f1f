//! Squared distances between blocks of rows by matrix products, for images of many dimensions.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::candidates::Closest;
use super::kd_tree::{Candidates, LEAF};
use crate::simd::vectorize;

/// Columns of a block: with 128 queries it stays in the second-level cache.
const COLUMNS: usize = 32 * LEAF;

/// All points, ready to be compared.
pub(super) struct Blocks {
    dim: usize,
    /// Rows of `dim` entries, padded with zeros to whole leaves.
    coords: Vec<f64>,
    /// Squared norms, NaN for padding.
    squared_norms: Vec<f64>,
    indices: Vec<u32>,
    /// Bound of the rounding error of |x|^2 + |y|^2 - 2 <x, y>.
    pub rounding: f64,
}

fn squared_norm(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum()
}

impl Blocks {
    pub fn new(dim: usize, points: &[f64]) -> Self {
        let count = points.len() / dim;
        let padded = count.next_multiple_of(LEAF);
        let mut coords = points.to_vec();
        coords.resize(padded * dim, 0.0);
        let mut squared_norms: Vec<f64> = points.chunks_exact(dim).map(squared_norm).collect();
        let largest = squared_norms.iter().fold(0.0, |acc: f64, &x| acc.max(x));
        squared_norms.resize(padded, f64::NAN);
        // each product of length `dim` is off by at most dim eps |x| |y|, the two sums by a few eps
        let rounding = 8.0 * (dim as f64 + 4.0) * f64::EPSILON * largest;
        Self { dim, coords, squared_norms, indices: (0..padded as u32).collect(), rounding }
    }

    /// Offers all points to the list of every query.
    pub fn collect(&self, queries: &[f64], lists: &mut [Closest]) {
        let rows = lists.len();
        let norms: Vec<f64> = queries.chunks_exact(self.dim).map(squared_norm).collect();
        let left = MatRef::from_row_major_slice(queries, rows, self.dim);
        let mut tile = vec![0.0; rows * COLUMNS];
        for start in (0..self.indices.len()).step_by(COLUMNS) {
            let columns = COLUMNS.min(self.indices.len() - start);
            let block = &self.coords[start * self.dim..(start + columns) * self.dim];
            let right = MatRef::from_row_major_slice(block, columns, self.dim).transpose();
            let tile = &mut tile[..rows * columns];
            let products = MatMut::from_row_major_slice_mut(tile, rows, columns);
            matmul(products, Accum::Replace, left, right, -2.0, Par::Seq);
            vectorize(
                #[inline(always)]
                || {
                    for (q, list) in lists.iter_mut().enumerate() {
                        let row = &tile[q * columns..(q + 1) * columns];
                        self.offer(start, norms[q], row, list);
                    }
                },
            );
        }
    }

    #[inline(always)]
    fn offer(&self, start: usize, norm: f64, products: &[f64], list: &mut Closest) {
        let others = &self.squared_norms[start..start + products.len()];
        let (products, others) = (products.as_chunks::<LEAF>().0, others.as_chunks::<LEAF>().0);
        for (c, (products, others)) in products.iter().zip(others).enumerate() {
            let mut squared = [0.0; LEAF];
            for s in 0..LEAF {
                squared[s] = (norm + others[s]) + products[s];
            }
            list.offer(&self.indices[start + c * LEAF..][..LEAF], &squared);
        }
    }
}
