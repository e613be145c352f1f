//! Logarithms and exponentials of subspaces at the one that the first axes span.
//!
//! A subspace is the span of the columns of (A; B), A square. X is the matrix of a tangent vector: its geodesic leads
//! to the span of (cos T; X sin(T)/T), T^2 = X^T X. The rotation
//!
//! ```text
//! E(X) = ( cos T          -(X sin(T)/T)^T                )
//!        ( X sin(T)/T      I - X (1 - cos T)/T^2 X^T     )
//! ```
//!
//! carries the first axes there and tangent vectors parallel along the geodesic.

use crate::manifold::matrix::{Matrix, Spectrum};
use crate::simd::elementary::{atan2_nonneg, sin_cos, sinc};
use crate::vector::norm;

/// X and functions of X^T X.
pub struct Turn {
    x: Matrix,
    cos: Matrix,
    /// sin(T)/T
    sinc: Matrix,
    /// (1 - cos T)/T^2
    versine: Matrix,
}

impl Turn {
    pub(super) fn of(x: Matrix) -> Self {
        let spectrum = Spectrum::of(&x.gram());
        let angle = |square: f64| if square > 0.0 { square.sqrt() } else { 0.0 };
        let half = |square| sinc(0.5 * angle(square));
        Self {
            cos: spectrum.function(|square| sin_cos(angle(square)).1),
            sinc: spectrum.function(|square| sinc(angle(square))),
            versine: spectrum.function(|square| 0.5 * half(square) * half(square)),
            x,
        }
    }

    /// (cos T; X sin(T)/T)
    pub(super) fn basis(&self) -> [Matrix; 2] {
        [self.cos.clone(), self.x.times(&self.sinc)]
    }

    /// E(X) (A; B)
    pub(super) fn applied(&self, [a, b]: &[Matrix; 2]) -> [Matrix; 2] {
        self.turned(a, b, 1.0)
    }

    /// E(X)^T (A; B)
    pub(super) fn undone(&self, [a, b]: &[Matrix; 2]) -> [Matrix; 2] {
        self.turned(a, b, -1.0)
    }

    /// The same by the difference to the first columns of E(X), which keeps the digits of what is close to them.
    pub(super) fn seen(&self, [a, b]: &[Matrix; 2]) -> [Matrix; 2] {
        let [top, bottom] = self.basis();
        let [top, bottom] =
            self.undone(&[a.clone().plus(-1.0, &top), b.clone().plus(-1.0, &bottom)]);
        let k = top.columns;
        [top.plus(1.0, &Matrix::from(k, k, |i, j| f64::from(i == j))), bottom]
    }

    fn turned(&self, a: &Matrix, b: &Matrix, sign: f64) -> [Matrix; 2] {
        let along = self.x.transpose_times(b);
        let top = self.cos.times(a).plus(-sign, &self.sinc.times(&along));
        let share = self.sinc.times(a).plus(-sign, &self.versine.times(&along));
        [top, b.clone().plus(sign, &self.x.times(&share))]
    }

    /// Parallel transport of a tangent vector along the geodesic of a horizontal X, in matrices whose columns are
    /// those of the space itself, from the subspace with that basis to E(X)'s.
    pub(super) fn carried(&self, vector: &Matrix, base: &Matrix) -> Matrix {
        let along = self.x.transpose_times(vector);
        let back = base.times(&self.sinc.times(&along));
        vector.clone().plus(-1.0, &back).plus(-1.0, &self.x.times(&self.versine.times(&along)))
    }
}

/// A logarithm and its principal angles.
pub(super) struct Log {
    pub x: Matrix,
    pub angles: Vec<f64>,
}

impl Log {
    /// That of the span of (A; B) with orthonormal columns.
    ///
    /// With the eigenvectors V of B^T B the columns of A V and of B V are orthogonal, of lengths cos t and sin t. X is
    /// the sum of t times a unit column of B V times that of A V, transposed. At the cut locus, where a column of A
    /// V is 0, any unit vector across the others will do.
    pub(super) fn of([a, b]: &[Matrix; 2]) -> Self {
        let k = a.columns;
        let vectors = Spectrum::of(&b.gram()).vectors;
        let (mut a, b) = (a.times(&vectors), b.times(&vectors));
        let columns: Vec<[Vec<f64>; 2]> = (0..k).map(|j| [a.column(j), b.column(j)]).collect();
        let lengths: Vec<[f64; 2]> = columns.iter().map(|[a, b]| [norm(a), norm(b)]).collect();
        let angles: Vec<f64> = lengths.iter().map(|[a, b]| atan2_nonneg(*b, *a)).collect();
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|i, j| lengths[*j][0].total_cmp(&lengths[*i][0]));
        orthonormalise(&mut a, &order);
        let mut x = Matrix::zeros(b.rows, k);
        for (j, [_, column]) in columns.iter().enumerate() {
            let factor = if lengths[j][1] > 0.0 { angles[j] / lengths[j][1] } else { 0.0 };
            for (row, y) in x.data.chunks_exact_mut(k).zip(column) {
                row.iter_mut().enumerate().for_each(|(i, x)| *x += factor * y * a.at(i, j));
            }
        }
        Self { x, angles }
    }

    /// rho
    pub(super) fn length(&self) -> f64 {
        norm(&self.angles)
    }
}

/// Columns shorter than this share of the first are replaced.
const NEGLIGIBLE: f64 = 1e-150;

/// Makes the columns of a square matrix orthonormal, one after the other (Gram and Schmidt, twice); columns that
/// depend on those before are replaced by an axis.
pub(in crate::manifold) fn orthonormalise(a: &mut Matrix, order: &[usize]) {
    let k = a.columns;
    for (count, &j) in order.iter().enumerate() {
        let before: Vec<Vec<f64>> = order[..count].iter().map(|&i| a.column(i)).collect();
        let across = |column: Vec<f64>| {
            let mut rest = column;
            for _ in 0..2 {
                for own in &before {
                    let share: f64 = rest.iter().zip(own).map(|(x, y)| x * y).sum();
                    rest.iter_mut().zip(own).for_each(|(x, y)| *x -= share * y);
                }
            }
            rest
        };
        let column = a.column(j);
        let length = norm(&column);
        let unit: Vec<f64> = column.iter().map(|x| x / length).collect();
        let mut rest = across(unit);
        if !(length > NEGLIGIBLE && norm(&rest) > 0.5) {
            let axes =
                (0..k).map(|i| across((0..k).map(|l| f64::from(u8::from(l == i))).collect()));
            let longest = axes.max_by(|x, y| norm(x).total_cmp(&norm(y)));
            rest = longest.unwrap_or(rest);
        }
        let length = norm(&rest);
        rest.iter_mut().for_each(|x| *x /= length);
        a.set_column(j, &rest);
    }
}
