//! A batch of points or tangent vectors: equally long rows of one slice.

use std::ops::Range;

/// Rows of one contiguous slice, or a single row that stands for every index (broadcasting).
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f64],
    size: usize,
    shared: bool,
}

impl<'a> Rows<'a> {
    /// Rows of `size` entries each; `data.len()` must be a multiple of `size`.
    #[inline]
    pub fn new(data: &'a [f64], size: usize) -> Self {
        debug_assert!(size > 0 && data.len().is_multiple_of(size));
        Self { data, size, shared: false }
    }

    /// One row that stands for every index.
    #[inline]
    pub fn shared(row: &'a [f64]) -> Self {
        Self { data: row, size: row.len(), shared: true }
    }

    /// Entries in a row.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.size
    }

    /// True if one row stands for every index.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The underlying contiguous slice (one row if shared).
    #[inline(always)]
    pub fn data(&self) -> &'a [f64] {
        self.data
    }

    /// Row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f64] {
        let start = if self.shared { 0 } else { i * self.size };
        &self.data[start..start + self.size]
    }

    /// Copies as many rows as `out` holds.
    #[inline]
    pub fn copy_to(&self, out: &mut [f64]) {
        if self.shared {
            out.chunks_exact_mut(self.size).for_each(|row| row.copy_from_slice(self.data));
        } else {
            out.copy_from_slice(&self.data[..out.len()]);
        }
    }

    /// The rows with indices in `range`.
    #[inline]
    pub fn range(&self, range: Range<usize>) -> Rows<'a> {
        if self.shared {
            return *self;
        }
        let data = &self.data[range.start * self.size..range.end * self.size];
        Rows { data, ..*self }
    }
}
