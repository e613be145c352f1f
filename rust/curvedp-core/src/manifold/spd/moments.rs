//! Functions of the curvature operator of the affine-invariant metric.
//!
//! For the whitened vector U = Q diag(lambda) Q^T the curvature operator R_U V = -[U, [U, V]]/4 has the
//! eigenvectors (q_i q_j^T + q_j q_i^T)/√2 with eigenvalues -(lambda_i - lambda_j)^2/4, and q_i q_i^T with 0.

use crate::linalg::jacobi::diagonalize;
use crate::linalg::lanes::{load_coords, packed, packed_len, squared_norm};
use crate::manifold::curvature::scalar;

/// See [`crate::manifold::Manifold::curvature_function`].
pub(super) fn curvature_function(m: usize, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
    let mut a = vec![[0.0; 1]; packed_len(m)];
    let mut vectors = vec![[0.0; 1]; m * m];
    load_coords(m, u, false, &mut a);
    let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
    diagonalize(m, &mut a, Some(&mut vectors), &floor);
    let flat = f(0.0);
    scalar(u.len(), flat, out);
    let mut pair = vec![0.0; u.len()];
    for i in 0..m {
        for j in i + 1..m {
            let difference = a[packed(m, i, i)][0] - a[packed(m, j, j)][0];
            let excess = f(-0.25 * difference * difference) - flat;
            pair_coords(m, &vectors, i, j, &mut pair);
            for (row, x) in out.chunks_exact_mut(u.len()).zip(&pair) {
                for (out, y) in row.iter_mut().zip(&pair) {
                    *out += excess * x * y;
                }
            }
        }
    }
}

/// Coordinates of (q_i q_j^T + q_j q_i^T)/√2.
fn pair_coords(m: usize, q: &[[f64; 1]], i: usize, j: usize, out: &mut [f64]) {
    for a in 0..m {
        for b in a..m {
            let sum = q[a * m + i][0] * q[b * m + j][0] + q[a * m + j][0] * q[b * m + i][0];
            out[packed(m, a, b)] = if a == b { sum * std::f64::consts::FRAC_1_SQRT_2 } else { sum };
        }
    }
}
