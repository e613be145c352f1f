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
    /// Rows of `size` entries each.
    ///
    /// # Panics
    /// If `data` holds no whole number of them.
    #[inline]
    pub fn new(data: &'a [f64], size: usize) -> Self {
        assert!(size > 0 && data.len().is_multiple_of(size), "no whole number of rows");
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

    /// Refuses all but `count` rows of `size` entries, or one of them that stands for every index: a kernel that
    /// read some of the rows alone would give a number without an error.
    ///
    /// # Panics
    /// If there are more or fewer, or wider or narrower ones.
    #[inline]
    pub fn check(&self, count: usize, size: usize) {
        let fits = self.size == size && (self.shared || self.data.len() == count * size);
        assert!(fits, "rows of another number or width");
    }

    /// Copies the rows, or the one that stands for every index into each row of `out`.
    ///
    /// # Panics
    /// If `out` is longer or shorter.
    #[inline]
    pub fn copy_to(&self, out: &mut [f64]) {
        self.check(row_count(out.len(), self.size), self.size);
        if self.shared {
            out.chunks_exact_mut(self.size).for_each(|row| row.copy_from_slice(self.data));
        } else {
            out.copy_from_slice(self.data);
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

/// The number of rows of `size` entries that a buffer of `len` holds.
///
/// # Panics
/// If it is no whole number.
#[inline]
#[must_use]
pub fn row_count(len: usize, size: usize) -> usize {
    assert!(len.is_multiple_of(size), "no whole number of rows");
    len / size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_copied_whole_and_a_shared_one_into_each() {
        let mut out = [0.0; 4];
        Rows::new(&[1.0, 2.0, 3.0, 4.0], 2).copy_to(&mut out);
        assert_eq!(out, [1.0, 2.0, 3.0, 4.0]);
        Rows::shared(&[5.0, 6.0]).copy_to(&mut out);
        assert_eq!(out, [5.0, 6.0, 5.0, 6.0]);
    }

    #[test]
    fn other_lengths_are_refused() {
        let refuses =
            |work: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
        let rows = Rows::new(&[1.0, 2.0, 3.0, 4.0], 2);
        for len in [0, 2, 3, 6] {
            assert!(refuses(&|| rows.copy_to(&mut vec![0.0; len])), "{len}");
        }
        assert!(refuses(&|| Rows::shared(&[1.0, 2.0]).copy_to(&mut [0.0; 3])));
        assert!(refuses(&|| assert!(Rows::new(&[1.0, 2.0, 3.0], 2).size() > 0)));
        for (count, size) in [(1, 2), (3, 2), (4, 1), (2, 3)] {
            assert!(refuses(&|| rows.check(count, size)), "{count} {size}");
        }
        rows.check(2, 2);
        Rows::shared(&[1.0, 2.0]).check(7, 2);
    }
}
