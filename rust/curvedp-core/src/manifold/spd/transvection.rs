//! Points moved back along a geodesic of the affine-invariant metric: with P = G G^T and the whitened
//! velocity W, the transvection from exp_P(tV) to P is Q -> G e^(-tW/2) G^-1 Q G^-T e^(-tW/2) G^T.

use crate::manifold::Manifold;
use crate::rows::Rows;
use crate::simd::elementary::exp;
use crate::simd::jacobi::diagonalize;
use crate::simd::matrices::{load_coords, packed, packed_len, squared_norm};

/// See [`Manifold::log_along`].
pub(super) fn log_along(
    manifold: &impl Manifold,
    m: usize,
    points: Rows,
    times: &[f64],
    velocity: &[f64],
    base: &[f64],
    out: &mut [f64],
) {
    let mut moved = vec![0.0; times.len() * m * m];
    manifold.centre(points, base, &mut moved);
    if velocity.iter().any(|&v| v != 0.0) {
        let (rates, vectors) = half_spectrum(m, velocity);
        let mut factor = vec![0.0; m * m];
        let mut half = vec![0.0; m * m];
        for (point, &t) in moved.chunks_exact_mut(m * m).zip(times) {
            contraction(m, &rates, &vectors, t, &mut factor);
            conjugate(m, &factor, point, &mut half);
        }
    }
    manifold.log_origin(Rows::new(&moved, m * m), out);
}

/// Eigenvalues of W/2, and the eigenvectors as columns.
fn half_spectrum(m: usize, velocity: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut a = vec![[0.0; 1]; packed_len(m)];
    let mut vectors = vec![[0.0; 1]; m * m];
    load_coords::<0, 1>(m, velocity, false, &mut a);
    let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
    diagonalize::<0, 1>(m, &mut a, Some(&mut vectors), &floor);
    let rates = (0..m).map(|i| 0.5 * a[packed(m, i, i)][0]).collect();
    (rates, vectors.into_iter().map(|[x]| x).collect())
}

/// e^(-tW/2).
fn contraction(m: usize, rates: &[f64], vectors: &[f64], t: f64, out: &mut [f64]) {
    out.fill(0.0);
    for (k, rate) in rates.iter().enumerate() {
        let scale = exp(-t * rate);
        for i in 0..m {
            let left = scale * vectors[i * m + k];
            for j in 0..m {
                out[i * m + j] += left * vectors[j * m + k];
            }
        }
    }
}

/// point <- S point S for a symmetric S, symmetric to the last bit.
fn conjugate(m: usize, s: &[f64], point: &mut [f64], half: &mut [f64]) {
    half.fill(0.0);
    for i in 0..m {
        for k in 0..m {
            let left = s[i * m + k];
            for j in 0..m {
                half[i * m + j] += left * point[k * m + j];
            }
        }
    }
    for i in 0..m {
        for j in i..m {
            let sum = (0..m).map(|k| half[i * m + k] * s[k * m + j]).sum();
            point[i * m + j] = sum;
            point[j * m + i] = sum;
        }
    }
}
