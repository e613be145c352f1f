//! The curvature operator of a tangent vector: with the singular values t of its matrix X, and singular vectors as
//! axes, R_X multiplies
//!
//! ```text
//! (E_ij + E_ji)/√2   by (t_i - t_j)^2,      i < j <= p, the lesser of rows and columns
//! (E_ij - E_ji)/√2   by (t_i + t_j)^2
//! E_ij               by t_i^2 or t_j^2,     the other index being above p
//! E_ii               by 0.
//! ```

use crate::manifold::matrix::{Matrix, Spectrum};

/// Singular values of the matrix with these coordinates, as many as the lesser of rows and columns.
pub(super) fn singular_values(rows: usize, columns: usize, u: &[f64]) -> Vec<f64> {
    let x = Matrix::of(rows, columns, u);
    let gram = if rows < columns { x.times_transpose(&x) } else { x.gram() };
    Spectrum::of(&gram).values.iter().map(|square| square.max(0.0).sqrt()).collect()
}

/// f(R_X) as a matrix.
pub(super) fn curvature_function(
    rows: usize,
    columns: usize,
    u: &[f64],
    f: &dyn Fn(f64) -> f64,
    out: &mut [f64],
) {
    let x = Matrix::of(rows, columns, u);
    let [left, right] = if rows < columns {
        let left = Spectrum::of(&x.times_transpose(&x));
        let right = completed(&x.transpose_times(&left.vectors), &left.values);
        [left.vectors, right]
    } else {
        let right = Spectrum::of(&x.gram());
        let left = completed(&x.times(&right.vectors), &right.values);
        [left, right.vectors]
    };
    // the vectors may have either sign, so that X has singular values of either
    let rank = rows.min(columns);
    let within = left.transpose_times(&x).times(&right);
    let angle = |i: usize| if i < rank { within.at(i, i) } else { 0.0 };
    let half = |i: usize, j: usize| {
        let (plus, minus) = (angle(i) + angle(j), angle(i) - angle(j));
        [f(minus * minus), f(plus * plus)]
    };
    let dim = rows * columns;
    for (at, image) in out.chunks_exact_mut(dim).enumerate() {
        let (a, b) = (at / columns, at % columns);
        // the axis E_ab in singular vectors
        let entry = |i: usize, j: usize| left.at(a, i) * right.at(b, j);
        let seen = Matrix::from(rows, columns, |i, j| {
            if i >= rank || j >= rank {
                let t = angle(i.min(j));
                return f(t * t) * entry(i, j);
            }
            let [even, odd] = half(i, j);
            0.5 * ((even + odd) * entry(i, j) + (even - odd) * entry(j, i))
        });
        image.copy_from_slice(&left.times(&seen).times_transpose(&right).data);
    }
}

/// A square matrix with orthonormal columns, the first of which have the directions of these, whose squared lengths are
/// given, as far as they are known: a short one is known up to rounding.
fn completed(columns: &Matrix, squares: &[f64]) -> Matrix {
    let n = columns.rows;
    let mut order: Vec<usize> = (0..squares.len()).collect();
    order.sort_by(|i, j| squares[*j].total_cmp(&squares[*i]));
    let mut full = Matrix::zeros(n, n);
    for &j in &order {
        full.set_column(j, &columns.column(j));
    }
    order.extend(squares.len()..n);
    super::turn::orthonormalise(&mut full, &order);
    full
}
