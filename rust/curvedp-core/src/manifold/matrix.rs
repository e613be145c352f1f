//! Small dense matrices, row by row, and functions of symmetric ones.

use crate::simd::jacobi::diagonalize;
use crate::simd::matrices::{load, packed, packed_len, squared_norm};

/// A matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f64>,
}

impl Matrix {
    pub(super) fn of(rows: usize, columns: usize, data: &[f64]) -> Self {
        Self { rows, columns, data: data.to_vec() }
    }

    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    pub(crate) fn from(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * columns).map(|at| entry(at / columns, at % columns)).collect();
        Self { rows, columns, data }
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.columns + j]
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    pub(super) fn column(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self.at(i, j)).collect()
    }

    pub(super) fn set_column(&mut self, j: usize, column: &[f64]) {
        let columns = self.columns;
        column.iter().enumerate().for_each(|(i, x)| self.data[i * columns + j] = *x);
    }

    /// A B
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut out = Self::zeros(self.rows, other.columns);
        for (i, out) in out.data.chunks_exact_mut(other.columns).enumerate() {
            for (k, x) in self.row(i).iter().enumerate() {
                out.iter_mut().zip(other.row(k)).for_each(|(out, y)| *out += x * y);
            }
        }
        out
    }

    /// A^T B
    pub(super) fn transpose_times(&self, other: &Self) -> Self {
        let mut out = Self::zeros(self.columns, other.columns);
        for k in 0..self.rows {
            let rows = out.data.chunks_exact_mut(other.columns).zip(self.row(k));
            for (out, x) in rows {
                out.iter_mut().zip(other.row(k)).for_each(|(out, y)| *out += x * y);
            }
        }
        out
    }

    /// A B^T
    pub(super) fn times_transpose(&self, other: &Self) -> Self {
        let product = |i: usize, j: usize| {
            self.row(i).iter().zip(other.row(j)).map(|(x, y)| x * y).sum::<f64>()
        };
        Self::from(self.rows, other.rows, product)
    }

    /// A + c B
    pub(super) fn plus(mut self, c: f64, other: &Self) -> Self {
        self.data.iter_mut().zip(&other.data).for_each(|(x, y)| *x += c * y);
        self
    }

    /// c A
    pub(super) fn scaled(mut self, c: f64) -> Self {
        self.data.iter_mut().for_each(|x| *x *= c);
        self
    }

    /// A^T A
    pub(super) fn gram(&self) -> Self {
        self.transpose_times(self)
    }

    /// Largest entry of A^T A - I; infinite if one is not finite.
    pub(super) fn defect(&self) -> f64 {
        if !self.data.iter().all(|x| x.is_finite()) {
            return f64::INFINITY;
        }
        let gram = self.gram();
        let off =
            |at: usize| (gram.data[at] - f64::from(at.is_multiple_of(self.columns + 1))).abs();
        (0..gram.data.len()).map(off).fold(0.0, |most, x| if x <= most { most } else { x })
    }

    /// A Newton step to the closest matrix with orthonormal columns: A (3 I - A^T A)/2.
    pub(super) fn rounded(&self) -> Self {
        let gram = self.gram();
        let k = self.columns;
        let step = Self::from(k, k, |i, j| 0.5 * (if i == j { 3.0 } else { 0.0 } - gram.at(i, j)));
        self.times(&step)
    }
}

/// The eigenvalues of a symmetric matrix, which are not in order, and its eigenvectors in columns.
pub(crate) struct Spectrum {
    pub values: Vec<f64>,
    pub vectors: Matrix,
}

impl Spectrum {
    pub(crate) fn of(matrix: &Matrix) -> Self {
        let m = matrix.rows;
        if m == 1 {
            return Self { values: matrix.data.clone(), vectors: Matrix::of(1, 1, &[1.0]) };
        }
        let mut lanes = vec![[0.0; 1]; packed_len(m)];
        let mut vectors = vec![[0.0; 1]; m * m];
        load::<0, 1>(m, &matrix.data, &mut lanes);
        let floor = squared_norm(m, &lanes).map(|square| square * f64::EPSILON * f64::EPSILON);
        diagonalize::<0, 1>(m, &mut lanes, Some(&mut vectors), &floor);
        Self {
            values: (0..m).map(|i| lanes[packed(m, i, i)][0]).collect(),
            vectors: Matrix::from(m, m, |i, j| vectors[i * m + j][0]),
        }
    }

    /// f of the matrix.
    pub(super) fn function(&self, f: impl Fn(f64) -> f64) -> Matrix {
        let values: Vec<f64> = self.values.iter().map(|x| f(*x)).collect();
        let m = values.len();
        let scaled = Matrix::from(m, m, |i, j| self.vectors.at(i, j) * values[j]);
        scaled.times_transpose(&self.vectors)
    }
}
