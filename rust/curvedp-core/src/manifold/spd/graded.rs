//! log(G e^A G^T) for symmetric A of any size: far points, whose entries double precision does not hold.
//!
//! With A = U diag(l) U^T the matrix is M M^T, the columns of M being e^(l_j/2) G u_j. One-sided Jacobi
//! rotations make them orthogonal; eigenvalues of M M^T are then the squared lengths. A column is kept as a
//! unit vector and the logarithm of its length, so nothing overflows, and small eigenvalues are as accurate
//! as large ones: the error is that of G's condition, not of e^A's (Demmel and Veselić 1992).

use crate::simd::jacobi::diagonalize;
use crate::simd::matrices::{
    cholesky, load, load_coords, packed, packed_len, squared_norm, store_coords,
};

/// Rounds of rotations; in exact arithmetic a few suffice, and what is left after these is no worse than
/// rounding of the columns' angles.
const SWEEPS: usize = 40;

/// Writes the coordinates at the identity of log(G e^A G^T), G the Cholesky factor of `base` and A the matrix
/// with the given coordinates.
pub(super) fn log_of_congruence(m: usize, coords: &[f64], base: &[f64], out: &mut [f64]) {
    let mut columns = Columns::new(m, coords, base);
    columns.orthogonalize();
    columns.log(out);
}

/// m columns of m entries: unit vectors, and the logarithms of the lengths.
struct Columns {
    m: usize,
    units: Vec<Vec<f64>>,
    log_length: Vec<f64>,
}

impl Columns {
    /// e^(l_j/2) G u_j.
    fn new(m: usize, coords: &[f64], base: &[f64]) -> Self {
        let mut a = vec![[0.0; 1]; packed_len(m)];
        let mut vectors = vec![[0.0; 1]; m * m];
        load_coords::<0, 1>(m, coords, false, &mut a);
        let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
        diagonalize::<0, 1>(m, &mut a, Some(&mut vectors), &floor);
        let mut factor = vec![[0.0; 1]; packed_len(m)];
        load::<0, 1>(m, base, &mut factor);
        cholesky::<0, 1>(m, &mut factor, &mut vec![[0.0; 1]; m]);
        let mut columns =
            Self { m, units: Vec::with_capacity(m), log_length: Vec::with_capacity(m) };
        for j in 0..m {
            let entry = |i: usize| {
                (0..=i).map(|k| factor[packed(m, k, i)][0] * vectors[k * m + j][0]).sum::<f64>()
            };
            columns.units.push((0..m).map(entry).collect());
            columns.log_length.push(0.5 * a[packed(m, j, j)][0]);
            columns.normalize(j);
        }
        columns
    }

    fn normalize(&mut self, j: usize) {
        let length = dot(&self.units[j], &self.units[j]).sqrt();
        self.units[j].iter_mut().for_each(|x| *x /= length);
        self.log_length[j] += libm::log(length);
    }

    fn orthogonalize(&mut self) {
        for _ in 0..SWEEPS {
            let mut turned = false;
            for i in 0..self.m {
                for j in i + 1..self.m {
                    turned |= self.rotate(i, j);
                }
            }
            if !turned {
                return;
            }
        }
    }

    /// Makes two columns orthogonal; false if they are.
    fn rotate(&mut self, i: usize, j: usize) -> bool {
        let cosine = dot(&self.units[i], &self.units[j]);
        if cosine.abs() <= 4.0 * f64::EPSILON {
            return false;
        }
        let (long, short) = if self.log_length[i] >= self.log_length[j] { (i, j) } else { (j, i) };
        let gap = self.log_length[short] - self.log_length[long];
        let (ratio, excess) = (libm::exp(gap), -libm::expm1(2.0 * gap));
        // tan of the rotation over the ratio of the lengths: both may be as small as one likes
        let tan =
            2.0 * cosine / (excess + (excess * excess + 4.0 * (ratio * cosine).powi(2)).sqrt());
        for k in 0..self.m {
            let (x, y) = (self.units[long][k], self.units[short][k]);
            self.units[long][k] = x + tan * ratio * ratio * y;
            self.units[short][k] = y - tan * x;
        }
        let common = -0.5 * libm::log1p((tan * ratio).powi(2));
        for k in [long, short] {
            self.log_length[k] += common;
            self.normalize(k);
        }
        true
    }

    /// sum_j 2 ln |column j| q_j q_j^T in coordinates.
    fn log(&self, out: &mut [f64]) {
        let mut a = vec![[0.0; 1]; packed_len(self.m)];
        for (unit, log_length) in self.units.iter().zip(&self.log_length) {
            for i in 0..self.m {
                for j in i..self.m {
                    a[packed(self.m, i, j)][0] += 2.0 * log_length * unit[i] * unit[j];
                }
            }
        }
        store_coords::<0, 1>(self.m, &a, out);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifold::{Manifold, SpdAffine};
    use crate::noise::Stream;
    use crate::rows::Rows;

    fn random_coords(stream: &mut Stream, dim: usize, length: f64) -> Vec<f64> {
        let mut x = vec![0.0; dim];
        stream.fill_normal(&mut x);
        let scale = length / dot(&x, &x).sqrt();
        x.iter_mut().for_each(|x| *x *= scale);
        x
    }

    #[test]
    fn near_points_are_those_of_the_matrix_itself() {
        let mut stream = Stream::from_key([3; 32], 0);
        for m in [2, 3, 5, 8] {
            let spd = SpdAffine::new(m);
            let dim = packed_len(m);
            for length in [1e-3, 0.3, 1.0] {
                let mut base = vec![0.0; m * m];
                let to_base = random_coords(&mut stream, dim, 0.7);
                spd.exp_origin(Rows::shared(&to_base), &mut base);
                let coords = random_coords(&mut stream, dim, length);
                let (mut point, mut plain) = (vec![0.0; m * m], vec![0.0; dim]);
                spd.exp_coords(Rows::shared(&coords), Rows::shared(&base), &mut point);
                spd.log_origin(Rows::shared(&point), &mut plain);
                let mut graded = vec![0.0; dim];
                log_of_congruence(m, &coords, &base, &mut graded);
                let error: f64 = plain.iter().zip(&graded).map(|(a, b)| (a - b) * (a - b)).sum();
                assert!(error.sqrt() < 1e-13 * m as f64, "{m} {length} {}", error.sqrt());
            }
        }
    }

    /// The determinant is a product, lengths differ by at most that of the base point, and diagonal matrices
    /// add, however large A is.
    #[test]
    fn identities_hold_at_every_size() {
        let mut stream = Stream::from_key([5; 32], 0);
        let spd = SpdAffine::new(3);
        let trace = |x: &[f64]| x[0] + x[3] + x[5];
        let length = |x: &[f64]| dot(x, x).sqrt();
        for size in [10.0, 100.0, 1e3, 1e5] {
            let to_base = random_coords(&mut stream, 6, 2.0);
            let mut base = vec![0.0; 9];
            spd.exp_origin(Rows::shared(&to_base), &mut base);
            let coords = random_coords(&mut stream, 6, size);
            let mut out = [0.0; 6];
            log_of_congruence(3, &coords, &base, &mut out);
            let excess = trace(&out) - trace(&coords) - trace(&to_base);
            assert!(excess.abs() < 1e-14 * size, "{size} {excess}");
            assert!((length(&out) - size).abs() < 2.0 + 1e-12 * size);
            let diagonal = [size, 0.0, 0.0, -2.0 * size, 0.0, 1.0];
            log_of_congruence(
                3,
                &diagonal,
                &[4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5],
                &mut out,
            );
            let shifts = [libm::log(4.0), 0.0, 0.0, 0.0, 0.0, libm::log(0.5)];
            for k in 0..6 {
                assert!((out[k] - diagonal[k] - shifts[k]).abs() < 1e-15 * size, "{size}");
            }
        }
    }
}
