//! Complex matrices as real ones of twice the order: x + iy becomes the block (x, -y; y, x).
//!
//! Sums, products, adjoints and inverses become those of the blocks, and lower triangular factors with a positive
//! diagonal stay such factors. Squared Frobenius norms double. The way back averages the two copies of every
//! number: it is the orthogonal projection, which shortens what rounding added.

use crate::rows::Rows;
use crate::simd::matrices::{packed, packed_len};

/// How a row holds a complex matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All entries, row by row, real and imaginary part in turn.
    Matrix,
    /// The upper triangle, row by row: the real diagonal, and beside it real and imaginary parts in turn.
    Triangle,
}

/// Rows of real matrices.
pub(super) struct RealRows {
    data: Vec<f64>,
    size: usize,
    shared: bool,
}

impl RealRows {
    pub(super) fn rows(&self) -> Rows<'_> {
        if self.shared { Rows::shared(&self.data) } else { Rows::new(&self.data, self.size) }
    }
}

impl Form {
    /// Entries of a row.
    pub(super) fn size(self, m: usize) -> usize {
        match self {
            Self::Matrix => 2 * m * m,
            Self::Triangle => m * m,
        }
    }

    /// Entries of a row of the real matrix.
    pub(super) fn real_size(self, m: usize) -> usize {
        match self {
            Self::Matrix => 4 * m * m,
            Self::Triangle => packed_len(2 * m),
        }
    }

    /// The real matrices of `count` rows.
    pub(super) fn spread(self, m: usize, rows: Rows, count: usize) -> RealRows {
        let count = if rows.is_shared() { 1 } else { count };
        let size = self.real_size(m);
        let mut data = vec![0.0; count * size];
        for (i, out) in data.chunks_exact_mut(size).enumerate() {
            match self {
                Self::Matrix => spread_matrix(m, rows.row(i), out),
                Self::Triangle => spread_triangle(m, rows.row(i), out),
            }
        }
        RealRows { data, size, shared: rows.is_shared() }
    }

    /// The complex matrices closest to real ones.
    pub(super) fn gather(self, m: usize, real: &[f64], out: &mut [f64]) {
        let rows = real.chunks_exact(self.real_size(m)).zip(out.chunks_exact_mut(self.size(m)));
        for (real, out) in rows {
            match self {
                Self::Matrix => gather_matrix(m, real, out),
                Self::Triangle => gather_triangle(m, real, out),
            }
        }
    }
}

fn spread_matrix(m: usize, row: &[f64], out: &mut [f64]) {
    let width = 2 * m;
    for (at, entry) in row.chunks_exact(2).enumerate() {
        let (i, j) = (2 * (at / m), 2 * (at % m));
        out[i * width + j..][..2].copy_from_slice(&[entry[0], -entry[1]]);
        out[(i + 1) * width + j..][..2].copy_from_slice(&[entry[1], entry[0]]);
    }
}

fn gather_matrix(m: usize, real: &[f64], out: &mut [f64]) {
    let width = 2 * m;
    for (at, entry) in out.chunks_exact_mut(2).enumerate() {
        let (i, j) = (2 * (at / m), 2 * (at % m));
        let (above, below) = (&real[i * width + j..][..2], &real[(i + 1) * width + j..][..2]);
        entry[0] = 0.5 * (above[0] + below[1]);
        entry[1] = 0.5 * (below[0] - above[1]);
    }
}

fn spread_triangle(m: usize, row: &[f64], out: &mut [f64]) {
    for (k, copies) in copies(m).enumerate() {
        for (at, sign) in copies {
            out[at] = sign * row[k];
        }
    }
}

fn gather_triangle(m: usize, real: &[f64], out: &mut [f64]) {
    for (out, [(first, _), (second, sign)]) in out.iter_mut().zip(copies(m)) {
        *out = 0.5 * (real[first] + sign * real[second]);
    }
}

/// Where each number of a triangle stands in the packed triangle of the real matrix, twice, and with which sign.
pub(super) fn copies(m: usize) -> impl Iterator<Item = [(usize, f64); 2]> {
    let at = move |i, j| packed(2 * m, i, j);
    (0..m).flat_map(move |i| {
        let a = 2 * i;
        let beside = (i + 1..m).flat_map(move |j| {
            let b = 2 * j;
            [
                [(at(a, b), 1.0), (at(a + 1, b + 1), 1.0)],
                [(at(a + 1, b), 1.0), (at(a, b + 1), -1.0)],
            ]
        });
        std::iter::once([(at(a, a), 1.0), (at(a + 1, a + 1), 1.0)]).chain(beside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_undoes_the_way_there_and_projects() {
        for m in 1..6 {
            for form in [Form::Matrix, Form::Triangle] {
                let row: Vec<f64> = (0..form.size(m)).map(|k| f64::from(k as u32) - 7.5).collect();
                let real = form.spread(m, Rows::shared(&row), 1);
                let mut back = vec![0.0; row.len()];
                form.gather(m, &real.data, &mut back);
                assert_eq!(back, row);
                let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
                assert_eq!(square(&real.data), 2.0 * square(&row));
                // what rounding adds is orthogonal to the rest of the way back
                let noisy: Vec<f64> = (real.data.iter().enumerate())
                    .map(|(k, x)| x + f64::from((k * k) as u32 % 5))
                    .collect();
                form.gather(m, &noisy, &mut back);
                let again = form.spread(m, Rows::shared(&back), 1);
                let rest: Vec<f64> = noisy.iter().zip(&again.data).map(|(x, y)| x - y).collect();
                let product: f64 = rest.iter().zip(&again.data).map(|(x, y)| x * y).sum();
                assert!(product.abs() < 1e-9, "{m} {form:?} {product}");
            }
        }
    }

    #[test]
    fn products_of_matrices_are_products_of_blocks() {
        let m = 3;
        let form = Form::Matrix;
        let number = |k: usize| f64::from((k * 7 % 11) as u32) - 5.0;
        let [a, b] = [0, 5].map(|from| (from..from + 2 * m * m).map(number).collect::<Vec<_>>());
        let mut product = vec![0.0; 2 * m * m];
        for i in 0..m {
            for j in 0..m {
                for k in 0..m {
                    let (x, y) = (&a[2 * (i * m + k)..][..2], &b[2 * (k * m + j)..][..2]);
                    product[2 * (i * m + j)] += x[0] * y[0] - x[1] * y[1];
                    product[2 * (i * m + j) + 1] += x[0] * y[1] + x[1] * y[0];
                }
            }
        }
        let [a, b, c] = [&a, &b, &product].map(|x| form.spread(m, Rows::shared(x), 1).data);
        for i in 0..2 * m {
            for j in 0..2 * m {
                let sum: f64 = (0..2 * m).map(|k| a[i * 2 * m + k] * b[k * 2 * m + j]).sum();
                assert_eq!(sum, c[i * 2 * m + j]);
            }
        }
    }
}
