//! Sums of clipped logarithms, of their products and of Hessians for the affine-invariant metric.
//!
//! For the whitened logarithm U = Q diag(lambda) Q^T the curvature operator R_U V = -[U, [U, V]]/4 has the
//! eigenvectors (q_i q_j^T + q_j q_i^T)/√2 with eigenvalues -(lambda_i - lambda_j)^2/4, and q_i q_i^T with 0.
//! With c_ij = x coth x - 1, x = (lambda_i - lambda_j)/2, the excess of the Hessian is therefore
//!
//! ```text
//! <X, (Hess - I) Y> = sum_ij c_ij (q_i^T X q_j)(q_i^T Y q_j) = sum_abcd X_ab Y_cd B_ac,bd,
//! B_ac,bd = sum_i P^i_ac T^i_bd,   P^i = q_i q_i^T,   T^i = sum_j c_ij P^j,
//! ```
//!
//! and the sum over records of the rearranged B costs m products a record for each entry where that of the
//! Hessian itself would cost m(m - 1)/2.

use super::BlockLog;
use crate::cascade::{ADDITIONS, PIECE};
use crate::manifold::curvature::scalar;
use crate::manifold::{LogMoments, Range};
use crate::rows::Rows;
use crate::simd::elementary::coth_excess;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::Lane;
use crate::simd::matrices::{
    add_product, load_coords, order, packed, packed_any, packed_len, spectral, squared_norm,
};
use crate::simd::vectorize_widest;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// f(R_u), with eigenvalues f(-(l_i - l_j)^2/4) for the eigenvalues l of the matrix with coordinates `u`.
pub(in crate::manifold) fn curvature_function(
    m: usize,
    u: &[f64],
    f: &dyn Fn(f64) -> f64,
    out: &mut [f64],
) {
    let mut vectors = vec![[0.0; 1]; m * m];
    let values = eigenvalues(m, u, Some(&mut vectors));
    let flat = f(0.0);
    scalar(u.len(), flat, out);
    let mut pair = vec![0.0; u.len()];
    for i in 0..m {
        for j in i + 1..m {
            let excess = f(pair_curvature(values[i], values[j])) - flat;
            pair_coords(m, &vectors, i, j, &mut pair);
            for (row, x) in out.chunks_exact_mut(u.len()).zip(&pair) {
                for (out, y) in row.iter_mut().zip(&pair) {
                    *out += excess * x * y;
                }
            }
        }
    }
}

/// The eigenvalue of R_u of a pair of eigenvalues of the matrix u.
fn pair_curvature(a: f64, b: f64) -> f64 {
    -0.25 * (a - b) * (a - b)
}

/// Eigenvalues of the matrix with coordinates `u`.
pub(in crate::manifold) fn eigenvalues(
    m: usize,
    u: &[f64],
    vectors: Option<&mut [Lane<1>]>,
) -> Vec<f64> {
    let mut a = vec![[0.0; 1]; packed_len(m)];
    load_coords::<0, 1>(m, u, false, &mut a);
    let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
    diagonalize::<0, 1>(m, &mut a, vectors, &floor);
    (0..m).map(|i| a[packed(m, i, i)][0]).collect()
}

/// Coordinates of (q_i q_j^T + q_j q_i^T)/√2.
fn pair_coords(m: usize, q: &[Lane<1>], i: usize, j: usize, out: &mut [f64]) {
    for a in 0..m {
        for b in a..m {
            let sum = q[a * m + i][0] * q[b * m + j][0] + q[a * m + j][0] * q[b * m + i][0];
            out[packed(m, a, b)] = if a == b { sum * FRAC_1_SQRT_2 } else { sum };
        }
    }
}

/// Clipped logarithms of `L` records and what they add up to.
struct Sums<const M: usize, const L: usize> {
    m: usize,
    /// Coordinates of U.
    coords: Vec<Lane<L>>,
    first: Vec<Lane<L>>,
    /// Upper triangle, packed.
    second: Vec<Lane<L>>,
    /// P^i and T^i, one after the other.
    projections: Vec<Lane<L>>,
    mixtures: Vec<Lane<L>>,
    /// c_ij, full.
    coefficients: Vec<Lane<L>>,
    /// sum B, upper triangle, packed.
    rearranged: Vec<Lane<L>>,
}

impl<const M: usize, const L: usize> Sums<M, L> {
    fn new(m: usize, hessian: bool) -> Self {
        let lane = [0.0; L];
        let d = packed_len(m);
        let of_hessian = |length: usize| vec![lane; if hessian { length } else { 0 }];
        Self {
            m,
            coords: vec![lane; d],
            first: vec![lane; d],
            second: vec![lane; packed_len(d)],
            projections: of_hessian(m * d),
            mixtures: of_hessian(m * d),
            coefficients: of_hessian(m * m),
            rearranged: of_hessian(packed_len(d)),
        }
    }

    /// Clips the logarithms, of which `count` are there, and zeroes those that are not finite.
    #[inline(never)]
    fn clip(&mut self, log: &mut impl BlockLog<L>, count: usize, range: &Range) {
        let (values, vectors) = log.spectrum();
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let coords = &mut self.coords[..packed_len(m)];
                spectral::<M, L>(m, vectors, values, coords);
                let square = squared_norm(m, coords);
                let mut scale = [0.0; L];
                for l in 0..L {
                    scale[l] = if l < count { range.scale(square[l]).0 } else { 0.0 };
                }
                let apply = |lane: &mut Lane<L>, factor: f64| {
                    for l in 0..L {
                        let scaled = lane[l] * (factor * scale[l]);
                        lane[l] = if scale[l] > 0.0 { scaled } else { 0.0 };
                    }
                };
                for i in 0..m {
                    for j in i..m {
                        apply(&mut coords[packed(m, i, j)], if i == j { 1.0 } else { SQRT_2 });
                    }
                }
                values.iter_mut().for_each(|value| apply(value, 1.0));
                for vector in vectors.iter_mut() {
                    for l in 0..L {
                        vector[l] = if scale[l] > 0.0 { vector[l] } else { 0.0 };
                    }
                }
            },
        );
    }

    #[inline(never)]
    fn add_products(&mut self) {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let d = packed_len(m);
                let (coords, first) = (&self.coords[..d], &mut self.first[..d]);
                let second = &mut self.second[..packed_len(d)];
                for a in 0..d {
                    let x = coords[a];
                    add_product(&mut first[a], &x, &[1.0; L], 1.0);
                    for b in a..d {
                        add_product(&mut second[packed(d, a, b)], &x, &coords[b], 1.0);
                    }
                }
            },
        );
    }

    #[inline(never)]
    fn add_hessians(&mut self, log: &mut impl BlockLog<L>, range: &Range) {
        let (values, vectors) = log.spectrum();
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                let d = packed_len(m);
                let (values, vectors) = (&values[..m], &vectors[..m * m]);
                let coefficients = &mut self.coefficients[..m * m];
                let (projections, mixtures) =
                    (&mut self.projections[..m * d], &mut self.mixtures[..m * d]);
                let rearranged = &mut self.rearranged[..packed_len(d)];
                // |lambda_i - lambda_j| <= √2 R
                let limit = range.largest(0.5, coth_excess);
                for i in 0..m {
                    for j in i + 1..m {
                        let (x, y) = (values[i], values[j]);
                        let mut c = [0.0; L];
                        for l in 0..L {
                            let half = 0.5 * (x[l] - y[l]);
                            let z = half * half;
                            c[l] = limit.clamp_product(z * coth_excess(z));
                        }
                        coefficients[i * m + j] = c;
                        coefficients[j * m + i] = c;
                    }
                }
                for i in 0..m {
                    for a in 0..m {
                        for c in a..m {
                            let (x, y) = (vectors[a * m + i], vectors[c * m + i]);
                            let out = &mut projections[i * d + packed(m, a, c)];
                            for l in 0..L {
                                out[l] = x[l] * y[l];
                            }
                        }
                    }
                }
                for i in 0..m {
                    for k in 0..d {
                        let mut sum = [0.0; L];
                        for j in 0..m {
                            if j != i {
                                let c = &coefficients[i * m + j];
                                add_product(&mut sum, c, &projections[j * d + k], 1.0);
                            }
                        }
                        mixtures[i * d + k] = sum;
                    }
                }
                for a in 0..d {
                    for b in a..d {
                        let mut sum = [0.0; L];
                        for i in 0..m {
                            let (x, y) = (&projections[i * d + a], &mixtures[i * d + b]);
                            add_product(&mut sum, x, y, 1.0);
                        }
                        let total = &mut rearranged[packed(d, a, b)];
                        for l in 0..L {
                            total[l] += sum[l];
                        }
                    }
                }
            },
        );
    }

    /// Adds the sums of all lanes to `sums`.
    fn add_to(&self, sums: &mut LogMoments) {
        let m = self.m;
        let d = packed_len(m);
        let total = |lane: &Lane<L>| lane.iter().sum::<f64>();
        for (sum, lane) in sums.first.iter_mut().zip(&self.first) {
            *sum += total(lane);
        }
        for a in 0..d {
            for b in a..d {
                sums.second[a * d + b] += total(&self.second[packed(d, a, b)]);
            }
        }
        if let Some(excess) = &mut sums.excess {
            let rearranged: Vec<f64> = self.rearranged.iter().map(total).collect();
            add_excess(m, &rearranged, excess);
        }
    }
}

/// Adds the matrix of the form sum_abcd X_ab Y_cd B_ac,bd in orthonormal coordinates (upper triangle).
fn add_excess(m: usize, rearranged: &[f64], excess: &mut [f64]) {
    let d = packed_len(m);
    let b = |i, j, k, l| rearranged[packed_any(d, packed_any(m, i, j), packed_any(m, k, l))];
    for i in 0..m {
        for j in i..m {
            for k in 0..m {
                for l in k..m {
                    let (row, column) = (packed(m, i, j), packed(m, k, l));
                    if row <= column {
                        let scale = match (i == j, k == l) {
                            (true, true) => 0.5,
                            (false, false) => 1.0,
                            _ => FRAC_1_SQRT_2,
                        };
                        excess[row * d + column] += scale * (b(i, k, j, l) + b(i, l, j, k));
                    }
                }
            }
        }
    }
}

/// See [`crate::manifold::Manifold::sum_log_moments`].
pub(super) fn sum_log_moments_block<const M: usize, const L: usize>(
    m: usize,
    log: &mut impl BlockLog<L>,
    points: Rows,
    count: usize,
    base: &[f64],
    range: &Range,
    sums: &mut LogMoments,
) {
    const { assert!(PIECE.div_ceil(L) + L <= ADDITIONS) };
    let base = Rows::shared(base);
    let mut lanes = Sums::<M, L>::new(m, sums.excess.is_some());
    for start in (0..count).step_by(L) {
        let here = L.min(count - start);
        log.compute(&points, &base, start, here);
        lanes.clip(log, here, range);
        lanes.add_products();
        if sums.excess.is_some() {
            lanes.add_hessians(log, range);
        }
    }
    lanes.add_to(sums);
}
