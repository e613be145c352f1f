//! Symmetric positive definite m x m matrices under three metrics.
//!
//! Points and tangent vectors are full row-major matrices; kernels read the lower triangle. Tangent
//! coordinates are a triangle row by row (off-diagonals times sqrt 2 where the metric counts both).

mod affine;
mod certified;
mod factors;
mod flat;
mod log_cholesky;
mod log_euclidean;
mod moments;
mod off_log;
mod sum_log;
mod transvection;
mod two;
mod whitened;

pub use affine::SpdAffine;
pub use factors::SpdFactors;
pub use flat::{Flat, FlatChart};
pub use log_cholesky::LogCholesky;
pub use log_euclidean::LogEuclidean;
pub(super) use moments::{curvature_function, eigenvalues};
pub use off_log::OffLog;

use super::RECORD_TOLERANCE;
use crate::rows::Rows;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{cholesky, load, load_shared, packed, packed_len, spectral};

/// Eigenvalues below this fraction of the largest are lifted to it by the projection.
const PROJECTION_FLOOR: f64 = 1e-12;

/// Runs a kernel with the order of the matrices as a compile-time constant where that pays, and with a
/// number of lanes that keeps the working set in registers or in the first-level cache.
macro_rules! for_size {
    ($m:expr, $kernel:ident ( $($arg:expr),* $(,)? )) => {
        match $m {
            2 => $kernel::<2, 16>(2, $($arg),*),
            3 => $kernel::<3, 32>(3, $($arg),*),
            m if m <= 5 => $kernel::<0, 16>(m, $($arg),*),
            m => $kernel::<0, 8>(m, $($arg),*),
        }
    };
}
use for_size;

/// Logarithms of blocks of points at base points.
trait BlockLog<const L: usize> {
    /// log_base(point) for rows `start..start + count`.
    fn compute(&mut self, point: &Rows, base: &Rows, start: usize, count: usize);

    /// Eigenvalues, and eigenvectors as columns.
    fn spectrum(&mut self) -> (&mut [Lane<L>], &mut [Lane<L>]);
}

/// Rows `start..` of a batch as packed matrices.
fn load_rows<const M: usize, const L: usize>(
    m: usize,
    rows: &Rows,
    start: usize,
    count: usize,
    out: &mut [Lane<L>],
) {
    if rows.is_shared() {
        load_shared::<M, L>(m, rows.data(), out);
    } else {
        load::<M, L>(m, rows.range(start..start + count).data(), out);
    }
}

/// Finite, symmetric up to `tolerance` times the largest entry, and positive definite.
fn is_spd(m: usize, point: &[f64], tolerance: f64) -> bool {
    let mut valid = [is_symmetric(m, point, tolerance)];
    require_definite::<0, 1>(m, point, &mut valid);
    valid[0]
}

fn is_symmetric(m: usize, a: &[f64], tolerance: f64) -> bool {
    let (mut largest, mut asymmetry, mut finite) = (0.0_f64, 0.0_f64, 0.0);
    for i in 0..m {
        for j in 0..m {
            largest = largest.max(a[i * m + j].abs());
            asymmetry = asymmetry.max((a[i * m + j] - a[j * m + i]).abs());
            finite += 0.0 * a[i * m + j];
        }
    }
    finite == 0.0 && asymmetry <= tolerance * largest
}

/// Clears `valid` for rows whose Cholesky factorisation meets a pivot that is not a positive normal
/// number.
fn require_definite<const M: usize, const L: usize>(m: usize, points: &[f64], valid: &mut [bool]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut inverse = Lanes::<L>::new(m);
    let smallest = f64::MIN_POSITIVE.sqrt();
    for (rows, valid) in points.chunks(L * m * m).zip(valid.chunks_mut(L)) {
        load::<M, L>(m, rows, &mut g);
        cholesky::<M, L>(m, &mut g, &mut inverse);
        for i in 0..m {
            let pivot = &g[packed(m, i, i)];
            for (l, valid) in valid.iter_mut().enumerate() {
                *valid &= pivot[l] > smallest && pivot[l] < f64::INFINITY;
            }
        }
    }
}

/// See [`super::Manifold::snap`].
fn snap(m: usize, records: &mut [f64], valid: &mut [bool]) {
    for (row, valid) in records.chunks_exact_mut(m * m).zip(valid.iter_mut()) {
        *valid = is_symmetric(m, row, RECORD_TOLERANCE);
        symmetrize(m, row);
    }
    for_size!(m, require_definite(records, valid));
}

/// Entries of the upper triangle, where it is not the whole matrix.
fn triangle_size(m: usize) -> Option<usize> {
    (m > 1).then_some(m * (m + 1) / 2)
}

/// Symmetric matrices from their upper triangles, row by row.
fn from_triangle(m: usize, triangles: Rows, out: &mut [f64]) {
    for (t, matrix) in out.chunks_exact_mut(m * m).enumerate() {
        let mut entries = triangles.row(t).iter();
        for i in 0..m {
            for (j, entry) in (i..m).zip(&mut entries) {
                matrix[i * m + j] = *entry;
                matrix[j * m + i] = *entry;
            }
        }
    }
}

/// Symmetric part with eigenvalues lifted to [`PROJECTION_FLOOR`] times the largest magnitude.
fn project_spd(m: usize, point: &mut [f64]) -> bool {
    if !point.iter().all(|x| x.is_finite()) {
        return false;
    }
    symmetrize(m, point);
    if is_spd(m, point, 0.0) {
        return true;
    }
    let mut a = vec![[0.0; 1]; packed_len(m)];
    let mut u = vec![[0.0; 1]; m * m];
    load::<0, 1>(m, point, &mut a);
    let norm = crate::simd::matrices::squared_norm(m, &a)[0];
    diagonalize::<0, 1>(m, &mut a, Some(&mut u), &[norm * f64::EPSILON * f64::EPSILON]);
    let mut values: Vec<[f64; 1]> = (0..m).map(|i| a[packed(m, i, i)]).collect();
    let largest = values.iter().fold(0.0_f64, |acc, x| acc.max(x[0].abs()));
    let floor = PROJECTION_FLOOR * largest;
    if !(floor > f64::MIN_POSITIVE && largest.is_finite()) {
        return false;
    }
    for value in &mut values {
        value[0] = value[0].max(floor);
    }
    spectral::<0, 1>(m, &u, &values, &mut a);
    crate::simd::matrices::store::<0, 1>(m, &a, point);
    is_spd(m, point, 0.0)
}

/// Ratio of the largest to the smallest eigenvalue.
fn condition(m: usize, point: &[f64]) -> f64 {
    let mut a = vec![[0.0; 1]; packed_len(m)];
    load::<0, 1>(m, point, &mut a);
    diagonalize::<0, 1>(m, &mut a, None, &[0.0]);
    let values = (0..m).map(|i| a[packed(m, i, i)][0]);
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), x| (x.min(low), x.max(high)));
    high / low
}

/// A <- (A + A^T)/2 for one row-major matrix.
fn symmetrize(m: usize, a: &mut [f64]) {
    for i in 0..m {
        for j in 0..i {
            let mean = 0.5 * (a[i * m + j] + a[j * m + i]);
            a[i * m + j] = mean;
            a[j * m + i] = mean;
        }
    }
}

/// The symmetric parts of a batch of ambient matrices.
fn to_tangent(m: usize, vector: Rows, out: &mut [f64]) {
    for (i, row) in out.chunks_exact_mut(m * m).enumerate() {
        row.copy_from_slice(vector.row(i));
        symmetrize(m, row);
    }
}
