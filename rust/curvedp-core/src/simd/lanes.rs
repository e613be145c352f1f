//! Lanes: numbers side by side, on which every operation is a plain loop that vectorises.

use std::ops::{Deref, DerefMut};

/// Doubles that the widest registers hold, and independent partial sums of a loop. Results depend on it,
/// since it fixes the order of sums, the same on every processor.
pub const LANES: usize = 8;

/// The same number of `L` things: entries of matrices, records, rows.
pub type Lane<const L: usize = LANES> = [f64; L];

/// Zeroed lanes that begin at a cache line: a vector that straddles two lines takes twice as long to load
/// and far longer to load back after a store.
pub struct Lanes<const L: usize> {
    entries: Vec<f64>,
    start: usize,
    count: usize,
}

impl<const L: usize> Lanes<L> {
    const CACHE_LINE: usize = 64;

    /// `count` lanes.
    #[inline]
    pub fn new(count: usize) -> Self {
        let spare = Self::CACHE_LINE / size_of::<f64>() - 1;
        let entries = vec![0.0; count * L + spare];
        let start = entries.as_ptr().align_offset(Self::CACHE_LINE).min(spare);
        Self { entries, start, count }
    }
}

impl<const L: usize> Deref for Lanes<L> {
    type Target = [Lane<L>];

    #[inline(always)]
    fn deref(&self) -> &[Lane<L>] {
        self.entries[self.start..self.start + self.count * L].as_chunks().0
    }
}

impl<const L: usize> DerefMut for Lanes<L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Lane<L>] {
        self.entries[self.start..self.start + self.count * L].as_chunks_mut().0
    }
}

/// Sum of eight numbers in a fixed order.
#[inline(always)]
pub fn tree_sum(x: &Lane) -> f64 {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// Sums of `term` over the whole chunks of two slices of one length, and the remainders of both.
#[inline(always)]
pub fn lane_sums<'a>(
    a: &'a [f64],
    b: &'a [f64],
    term: impl Fn(f64, f64) -> f64,
) -> (Lane, &'a [f64], &'a [f64]) {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] += term(a[l], b[l]);
        }
    }
    (sums, a_rest, b_rest)
}
