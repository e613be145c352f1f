//! Unitary matrices as rotations: x + iy becomes the block (x, -y; y, x), a vector of complex numbers its parts in turn. A
//! skew matrix X = i H of such blocks has the coordinates of the Hermitian matrix H: its upper triangle row by row, real and
//! imaginary parts beside the diagonal times sqrt 2.

use super::planes::{Planes, next, unit};
use crate::manifold::matrix::{Matrix, Spectrum};
use crate::simd::matrices::{hermitian_above, hermitian_diagonal};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// The matrix whose entries have these parts.
pub(super) fn from_parts(n: usize, parts: &[f64]) -> Matrix {
    Matrix::from(2 * n, 2 * n, |i, j| {
        let [re, im] = [0, 1].map(|k| parts[2 * (i / 2 * n + j / 2) + k]);
        match (i % 2, j % 2) {
            (0, 0) | (1, 1) => re,
            (0, _) => -im,
            _ => im,
        }
    })
}

/// Real and imaginary parts of the entries of the closest complex matrix.
pub(super) fn to_parts(matrix: &Matrix, parts: &mut [f64]) {
    let n = matrix.rows / 2;
    for (at, entry) in parts.chunks_exact_mut(2).enumerate() {
        let (i, j) = (2 * (at / n), 2 * (at % n));
        entry[0] = 0.5 * (matrix.at(i, j) + matrix.at(i + 1, j + 1));
        entry[1] = 0.5 * (matrix.at(i + 1, j) - matrix.at(i, j + 1));
    }
}

/// i H
pub(super) fn skew(n: usize, coords: &[f64]) -> Matrix {
    let mut parts = vec![0.0; 2 * n * n];
    for i in 0..n {
        parts[2 * i * (n + 1) + 1] = coords[hermitian_diagonal(n, i)];
        for j in i + 1..n {
            let [x, y] = [0, 1].map(|k| FRAC_1_SQRT_2 * coords[hermitian_above(n, i, j) + k]);
            parts[2 * (i * n + j)..][..2].copy_from_slice(&[-y, x]);
            parts[2 * (j * n + i)..][..2].copy_from_slice(&[y, x]);
        }
    }
    from_parts(n, &parts)
}

/// The coordinates of i H.
pub(super) fn read(x: &Matrix, coords: &mut [f64]) {
    let n = x.rows / 2;
    let mut parts = vec![0.0; 2 * n * n];
    to_parts(x, &mut parts);
    for i in 0..n {
        coords[hermitian_diagonal(n, i)] = parts[2 * i * (n + 1) + 1];
        for j in i + 1..n {
            let [re, im] = [0, 1].map(|k| SQRT_2 * parts[2 * (i * n + j) + k]);
            coords[hermitian_above(n, i, j)..][..2].copy_from_slice(&[im, -re]);
        }
    }
}

/// i v
fn times_i(v: &[f64]) -> Vec<f64> {
    v.chunks_exact(2).flat_map(|z| [-z[1], z[0]]).collect()
}

/// Eigenvectors of X within the space that these columns span, which the product by i maps onto itself: pairs of columns v and
/// i v with X v = a i v, and the numbers a.
pub(super) fn lines(x: &Matrix, span: &Matrix) -> Planes {
    let (rows, count) = (span.rows, span.columns);
    let image = x.times(span);
    // H = -i X
    let turned = |i: usize, j: usize| {
        if i.is_multiple_of(2) { image.at(i + 1, j) } else { -image.at(i - 1, j) }
    };
    let own = Spectrum::of(&span.transpose_times(&Matrix::from(rows, count, turned)));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|i, j| own.values[*j].total_cmp(&own.values[*i]));
    let axes = span.times(&own.vectors);
    let candidates: Vec<Vec<f64>> = order.iter().map(|i| axes.column(*i)).collect();
    let (mut found, mut angles) = (Vec::with_capacity(count), Vec::with_capacity(count / 2));
    while found.len() < count {
        let v = next(&candidates, &found);
        let image = x.times(&Matrix::of(rows, 1, &v)).data;
        found.push(v);
        let w = unit(&times_i(&found[found.len() - 1]), &found);
        angles.push(w.iter().zip(&image).map(|(w, image)| w * image).sum());
        found.push(w);
    }
    Planes { vectors: Matrix::from(rows, count, |i, j| found[j][i]), angles }
}
