//! Sparse rows in slices of eight, entry by entry side by side: eight sums grow at once, and no branch
//! depends on the length of a single row.

use std::hint::black_box;
use std::ops::{Add, Mul, Sub};

use super::sums::lane;
use curvedp_core::parallel::pass;
use curvedp_core::simd::lanes::LANES;

/// Rows of a slice.
pub(super) const WIDTH: usize = LANES;

/// Slices that one thread fills at a time, in memory of their own.
const SLICES: usize = 512;

/// Slices ahead whose rows are brought into the cache: in another order they stand anywhere in memory.
const AHEAD: usize = 4;

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
    pieces: Vec<Piece<T>>,
}

/// Up to [`SLICES`] slices.
struct Piece<T> {
    /// First entry of every slice, and the end.
    starts: Vec<usize>,
    columns: Vec<[u32; WIDTH]>,
    values: Vec<[T; WIDTH]>,
}

impl<T: Real> Sliced<T> {
    /// The matrix with these rows, their columns renumbered and their entries what `entry` makes of row,
    /// old column and value.
    pub fn new<'a>(
        size: usize,
        row: impl Fn(usize) -> (&'a [u32], &'a [f64]) + Sync + Send,
        column: impl Fn(u32) -> u32 + Sync + Send,
        entry: impl Fn(usize, u32, f64) -> f64 + Sync + Send,
    ) -> Self {
        let slices = size.div_ceil(WIDTH);
        let rows = |slice: usize| slice * WIDTH..((slice + 1) * WIDTH).min(size);
        let pieces = pass((0..slices).step_by(SLICES).collect(), |first| {
            let slices = first..(first + SLICES).min(slices);
            let mut starts = vec![0];
            for (s, slice) in slices.clone().enumerate() {
                let longest = rows(slice).map(|i| row(i).0.len()).max().unwrap_or(0);
                starts.push(starts[s] + longest);
            }
            let entries = starts[slices.len()];
            let (mut columns, mut values) =
                (Vec::with_capacity(entries), Vec::with_capacity(entries));
            for (slice, ends) in slices.zip(starts.windows(2)) {
                for i in rows(slice + AHEAD) {
                    touch(row(i).0);
                    touch(row(i).1);
                }
                let mut from: [(&[u32], &[f64]); WIDTH] = [(&[], &[]); WIDTH];
                let mut filling = [0; WIDTH];
                for (s, i) in rows(slice).enumerate() {
                    from[s] = row(i);
                    // the column of a filling is one that is in use anyway
                    filling[s] = from[s].0.first().map_or(0, |&j| column(j));
                }
                for e in 0..ends[1] - ends[0] {
                    let (mut c, mut v) = (filling, [T::default(); WIDTH]);
                    for s in 0..WIDTH {
                        if let (Some(&j), Some(&value)) = (from[s].0.get(e), from[s].1.get(e)) {
                            c[s] = column(j);
                            v[s] = T::nearest(entry(slice * WIDTH + s, j, value));
                        }
                    }
                    columns.push(c);
                    values.push(v);
                }
            }
            Piece { starts, columns, values }
        });
        Self { pieces }
    }

    #[inline(always)]
    fn slice(&self, slice: usize) -> impl Iterator<Item = (&[u32; WIDTH], &[T; WIDTH])> {
        let (piece, slice) = (&self.pieces[slice / SLICES], slice % SLICES);
        let range = piece.starts[slice]..piece.starts[slice + 1];
        piece.columns[range.clone()].iter().zip(&piece.values[range])
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

/// Brings numbers into the cache.
#[inline(always)]
fn touch<T: Copy>(numbers: &[T]) {
    let ends = (numbers.first(), numbers.last());
    black_box((ends.0.copied(), numbers.get(numbers.len() / 2).copied(), ends.1.copied()));
}
