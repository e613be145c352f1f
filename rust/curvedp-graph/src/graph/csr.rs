//! Compressed sparse rows.

/// A square sparse matrix, its columns ascending within every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// First entry of every row, and the end.
    pub offsets: Vec<usize>,
    /// Column of every entry.
    pub columns: Vec<u32>,
    /// Entries.
    pub values: Vec<f64>,
}

impl Csr {
    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Columns and entries of row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The symmetric matrix with entries d at (i, j) and (j, i) for every (i, j, d), in ascending order
    /// of (i, j), i < j.
    pub fn symmetric(size: usize, triples: impl Iterator<Item = (u32, u32, f64)> + Clone) -> Self {
        let mut offsets = vec![0; size + 1];
        for (i, j, _) in triples.clone() {
            offsets[i as usize + 1] += 1;
            offsets[j as usize + 1] += 1;
        }
        for i in 0..size {
            offsets[i + 1] += offsets[i];
        }
        // ascending triples fill every row in the order of its columns
        let mut next = offsets.clone();
        let (mut columns, mut values) = (vec![0; offsets[size]], vec![0.0; offsets[size]]);
        for (i, j, value) in triples {
            for (row, column) in [(i as usize, j), (j as usize, i)] {
                columns[next[row]] = column;
                values[next[row]] = value;
                next[row] += 1;
            }
        }
        Self { offsets, columns, values }
    }
}
