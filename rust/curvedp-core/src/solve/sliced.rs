//! Sparse rows in slices of eight, entry by entry side by side: eight sums grow at once, and no branch
//! depends on the length of a single row.

use std::ops::{Add, Mul, Sub};

use super::sums::lane;
use crate::graph::Csr;

/// Rows of a slice.
pub(super) const WIDTH: usize = 8;

/// A real number of either precision.
pub(super) trait Real:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// The nearest number of this precision.
    fn nearest(x: f64) -> Self;
}

impl Real for f64 {
    fn nearest(x: f64) -> Self {
        x
    }
}

impl Real for f32 {
    fn nearest(x: f64) -> Self {
        x as Self
    }
}

/// A sparse matrix; rows shorter than others of their slice are filled up with zeros.
pub(super) struct Sliced<T> {
    /// First entry of every slice, and the end.
    starts: Vec<usize>,
    columns: Vec<[u32; WIDTH]>,
    values: Vec<[T; WIDTH]>,
}

impl<T: Real> Sliced<T> {
    pub fn new(matrix: &Csr) -> Self {
        let size = matrix.size();
        let mut result = Self { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for first in (0..size).step_by(WIDTH) {
            let rows = first..(first + WIDTH).min(size);
            let longest = rows.clone().map(|i| matrix.row(i).0.len()).max().unwrap_or(0);
            let start = result.columns.len();
            // the column of a filling is one that is in use anyway
            let filling = |s: usize| {
                let row = if first + s < size { matrix.row(first + s).0 } else { &[] };
                row.first().copied().unwrap_or(0)
            };
            result.columns.resize(start + longest, std::array::from_fn(filling));
            result.values.resize(start + longest, [T::default(); WIDTH]);
            for i in rows {
                let (columns, values) = matrix.row(i);
                for (e, (&j, &value)) in columns.iter().zip(values).enumerate() {
                    result.columns[start + e][i - first] = j;
                    result.values[start + e][i - first] = T::nearest(value);
                }
            }
            result.starts.push(result.columns.len());
        }
        result
    }

    #[inline(always)]
    fn slice(&self, slice: usize) -> impl Iterator<Item = (&[u32; WIDTH], &[T; WIDTH])> {
        let range = self.starts[slice]..self.starts[slice + 1];
        self.columns[range.clone()].iter().zip(&self.values[range])
    }

    /// sum_j w_ij (x_i - x_j) for the rows of a slice.
    #[inline(always)]
    pub fn differences(&self, slice: usize, x: &[T]) -> [T; WIDTH] {
        let here = lane(x, slice);
        let mut sums = [T::default(); WIDTH];
        for (columns, weights) in self.slice(slice) {
            let there: [T; WIDTH] = std::array::from_fn(|s| x[columns[s] as usize]);
            for s in 0..WIDTH {
                sums[s] = sums[s] + weights[s] * (here[s] - there[s]);
            }
        }
        sums
    }

    /// sum_j a_ij x_j for the rows of a slice.
    #[inline(always)]
    pub fn products(&self, slice: usize, x: &[T]) -> [T; WIDTH] {
        let mut sums = [T::default(); WIDTH];
        for (columns, values) in self.slice(slice) {
            let there: [T; WIDTH] = std::array::from_fn(|s| x[columns[s] as usize]);
            for s in 0..WIDTH {
                sums[s] = sums[s] + values[s] * there[s];
            }
        }
        sums
    }
}
