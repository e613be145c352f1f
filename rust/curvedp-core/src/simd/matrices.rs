//! Small symmetric matrices, `L` at a time: entry (i, j) of all of them stands in one array of lanes,
//! so that every operation is a plain loop that vectorises.
//!
//! Symmetric matrices are packed: the upper triangle row by row, [`packed`]`(m, i, j)` for i <= j.
//! Lower triangular matrices use the transposed index, `packed(m, j, i)` for j <= i. Full matrices are
//! row-major.
//!
//! Operations with an order M among their parameters are compiled once for each instruction set, number of
//! lanes L and order, not into their callers. M = 0 stands for an order known at run time only.

use super::elementary::{exp, ln};
use super::lanes::Lane;
use super::vectorize_widest;

/// The order m, known to the compiler unless M is 0.
#[inline(always)]
pub const fn order<const M: usize>(m: usize) -> usize {
    debug_assert!(M == 0 || M == m);
    if M == 0 { m } else { M }
}

/// Position of entry (i, j), i <= j, of a packed symmetric m x m matrix.
#[inline(always)]
pub const fn packed(m: usize, i: usize, j: usize) -> usize {
    i * m - i * (i + 1) / 2 + j
}

/// Position of entry (i, j) in any order.
#[inline(always)]
pub const fn packed_any(m: usize, i: usize, j: usize) -> usize {
    if i <= j { packed(m, i, j) } else { packed(m, j, i) }
}

/// Entries of a packed symmetric m x m matrix.
#[inline(always)]
pub const fn packed_len(m: usize) -> usize {
    m * (m + 1) / 2
}

/// Position of the diagonal entry i of a packed Hermitian m x m matrix: its upper triangle row by row, beside the
/// diagonal real and imaginary parts in turn.
#[inline(always)]
pub const fn hermitian_diagonal(m: usize, i: usize) -> usize {
    i * (2 * m - i)
}

/// Position of the real part of entry (i, j), i < j, of the same.
#[inline(always)]
pub const fn hermitian_above(m: usize, i: usize, j: usize) -> usize {
    hermitian_diagonal(m, i) + 2 * (j - i) - 1
}

/// Reads the lower triangles of up to `L` row-major matrices; absent ones become the identity.
#[inline(never)]
pub fn load<const M: usize, const L: usize>(m: usize, rows: &[f64], out: &mut [Lane<L>]) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let out = &mut out[..packed_len(m)];
            let count = rows.len() / (m * m);
            for i in 0..m {
                for j in i..m {
                    let lane = &mut out[packed(m, i, j)];
                    *lane = [if i == j { 1.0 } else { 0.0 }; L];
                    for l in 0..count.min(L) {
                        lane[l] = rows[l * m * m + j * m + i];
                    }
                }
            }
        },
    );
}

/// Fills every lane with the lower triangle of one row-major matrix.
#[inline(never)]
pub fn load_shared<const M: usize, const L: usize>(m: usize, row: &[f64], out: &mut [Lane<L>]) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let out = &mut out[..packed_len(m)];
            for i in 0..m {
                for j in i..m {
                    out[packed(m, i, j)] = [row[j * m + i]; L];
                }
            }
        },
    );
}

/// Writes packed matrices as full row-major ones.
#[inline(never)]
pub fn store<const M: usize, const L: usize>(m: usize, a: &[Lane<L>], rows: &mut [f64]) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let a = &a[..packed_len(m)];
            let count = rows.len() / (m * m);
            for i in 0..m {
                for j in i..m {
                    let lane = &a[packed(m, i, j)];
                    for l in 0..count.min(L) {
                        rows[l * m * m + i * m + j] = lane[l];
                        rows[l * m * m + j * m + i] = lane[l];
                    }
                }
            }
        },
    );
}

/// x += scale * y * z, lane by lane.
#[inline(always)]
pub fn add_product<const L: usize>(x: &mut Lane<L>, y: &Lane<L>, z: &Lane<L>, scale: f64) {
    for l in 0..L {
        x[l] += scale * y[l] * z[l];
    }
}

/// Cholesky factor A = G G^T, in place (packed upper becomes packed lower), with 1/g_ii in `inverse`.
///
/// A pivot that is not positive becomes the smallest positive number: finite, never NaN.
#[inline(never)]
pub fn cholesky<const M: usize, const L: usize>(
    m: usize,
    a: &mut [Lane<L>],
    inverse: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (a, inverse) = (&mut a[..packed_len(m)], &mut inverse[..m]);
            for j in 0..m {
                let mut pivot = a[packed(m, j, j)];
                for k in 0..j {
                    let g = a[packed(m, k, j)];
                    for l in 0..L {
                        pivot[l] -= g[l] * g[l];
                    }
                }
                for l in 0..L {
                    let p = if pivot[l] > f64::MIN_POSITIVE { pivot[l] } else { f64::MIN_POSITIVE };
                    let root = p.sqrt();
                    a[packed(m, j, j)][l] = root;
                    inverse[j][l] = 1.0 / root;
                }
                for i in j + 1..m {
                    let mut entry = a[packed(m, j, i)];
                    for k in 0..j {
                        let (x, y) = (a[packed(m, k, i)], a[packed(m, k, j)]);
                        for l in 0..L {
                            entry[l] -= x[l] * y[l];
                        }
                    }
                    for l in 0..L {
                        a[packed(m, j, i)][l] = entry[l] * inverse[j][l];
                    }
                }
            }
        },
    );
}

/// A <- G^-1 A G^-T for symmetric A and lower triangular G with 1/g_ii in `inverse`.
#[inline(never)]
pub fn whiten<const M: usize, const L: usize>(
    m: usize,
    g: &[Lane<L>],
    inverse: &[Lane<L>],
    a: &mut [Lane<L>],
    full: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (g, inverse, a, full) =
                (&g[..packed_len(m)], &inverse[..m], &mut a[..packed_len(m)], &mut full[..m * m]);
            // Y = G^-1 A, full, row by row
            for j in 0..m {
                for i in 0..m {
                    let mut y = a[packed_any(m, i, j)];
                    for k in 0..i {
                        let (x, z) = (g[packed(m, k, i)], full[k * m + j]);
                        for l in 0..L {
                            y[l] -= x[l] * z[l];
                        }
                    }
                    for l in 0..L {
                        full[i * m + j][l] = y[l] * inverse[i][l];
                    }
                }
            }
            // S = Y G^-T: s_ij = (y_ij - sum_{k<j} s_ik g_jk) / g_jj, for j <= i
            for i in 0..m {
                for j in 0..=i {
                    let mut s = full[i * m + j];
                    for k in 0..j {
                        let (x, z) = (a[packed_any(m, i, k)], g[packed(m, k, j)]);
                        for l in 0..L {
                            s[l] -= x[l] * z[l];
                        }
                    }
                    for l in 0..L {
                        a[packed(m, j, i)][l] = s[l] * inverse[j][l];
                    }
                }
            }
        },
    );
}

/// values_i <- exp(a_ii)
#[inline(never)]
pub fn exp_diagonal<const M: usize, const L: usize>(
    m: usize,
    a: &[Lane<L>],
    values: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            for i in 0..order::<M>(m) {
                let x = a[packed(m, i, i)];
                for l in 0..L {
                    values[i][l] = exp(x[l]);
                }
            }
        },
    );
}

/// values_i <- ln(a_ii), of the smallest normal number where that is larger.
#[inline(never)]
pub fn ln_diagonal<const M: usize, const L: usize>(
    m: usize,
    a: &[Lane<L>],
    values: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            for i in 0..order::<M>(m) {
                let x = a[packed(m, i, i)];
                for l in 0..L {
                    values[i][l] =
                        ln(if x[l] > f64::MIN_POSITIVE { x[l] } else { f64::MIN_POSITIVE });
                }
            }
        },
    );
}

/// full <- G U for lower triangular G: the columns that carry a spectral form back from whitened
/// coordinates.
#[inline(never)]
pub fn lower_times_full<const M: usize, const L: usize>(
    m: usize,
    g: &[Lane<L>],
    u: &[Lane<L>],
    full: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (g, u, full) = (&g[..packed_len(m)], &u[..m * m], &mut full[..m * m]);
            for i in 0..m {
                for k in 0..m {
                    let mut sum = [0.0; L];
                    for j in 0..=i {
                        add_product(&mut sum, &g[packed(m, j, i)], &u[j * m + k], 1.0);
                    }
                    full[i * m + k] = sum;
                }
            }
        },
    );
}

/// out <- sum_k f_k b_k b_k^T for the columns b_k of a full matrix (packed).
#[inline(never)]
pub fn spectral<const M: usize, const L: usize>(
    m: usize,
    b: &[Lane<L>],
    f: &[Lane<L>],
    out: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (b, f, out) = (&b[..m * m], &f[..m], &mut out[..packed_len(m)]);
            for i in 0..m {
                for j in i..m {
                    let mut sum = [0.0; L];
                    for k in 0..m {
                        let (x, y, z) = (b[i * m + k], b[j * m + k], f[k]);
                        for l in 0..L {
                            sum[l] += x[l] * z[l] * y[l];
                        }
                    }
                    out[packed(m, i, j)] = sum;
                }
            }
        },
    );
}

/// out <- B^T A B (`transpose`) or B A B^T for symmetric A and full B; `work` holds m^2 lanes.
#[inline(never)]
pub fn congruence<const M: usize, const L: usize>(
    m: usize,
    b: &[Lane<L>],
    transpose: bool,
    a: &[Lane<L>],
    out: &mut [Lane<L>],
    work: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (b, a, out, work) =
                (&b[..m * m], &a[..packed_len(m)], &mut out[..packed_len(m)], &mut work[..m * m]);
            let (down, across) = if transpose { (1, m) } else { (m, 1) };
            let at = |i: usize, k: usize| i * down + k * across;
            for i in 0..m {
                for k in 0..m {
                    let mut sum = [0.0; L];
                    for j in 0..m {
                        add_product(&mut sum, &b[at(i, j)], &a[packed_any(m, j, k)], 1.0);
                    }
                    work[i * m + k] = sum;
                }
            }
            for i in 0..m {
                for j in i..m {
                    let mut sum = [0.0; L];
                    for k in 0..m {
                        add_product(&mut sum, &work[i * m + k], &b[at(j, k)], 1.0);
                    }
                    out[packed(m, i, j)] = sum;
                }
            }
        },
    );
}

/// A <- G A G^T for symmetric A and lower triangular G: the inverse of [`whiten`].
#[inline(never)]
pub fn unwhiten<const M: usize, const L: usize>(
    m: usize,
    g: &[Lane<L>],
    a: &mut [Lane<L>],
    full: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (g, a, full) = (&g[..packed_len(m)], &mut a[..packed_len(m)], &mut full[..m * m]);
            for i in 0..m {
                for k in 0..m {
                    let mut sum = [0.0; L];
                    for j in 0..=i {
                        add_product(&mut sum, &g[packed(m, j, i)], &a[packed_any(m, j, k)], 1.0);
                    }
                    full[i * m + k] = sum;
                }
            }
            for i in 0..m {
                for j in 0..=i {
                    let mut sum = [0.0; L];
                    for k in 0..=j {
                        add_product(&mut sum, &full[i * m + k], &g[packed(m, k, j)], 1.0);
                    }
                    a[packed(m, j, i)] = sum;
                }
            }
        },
    );
}

/// Squared Frobenius norm of packed symmetric matrices.
#[inline(always)]
pub fn squared_norm<const L: usize>(m: usize, a: &[Lane<L>]) -> Lane<L> {
    let mut sum = [0.0; L];
    for i in 0..m {
        for j in i..m {
            let x = a[packed(m, i, j)];
            add_product(&mut sum, &x, &x, if i == j { 1.0 } else { 2.0 });
        }
    }
    sum
}

/// Reads up to `L` rows of orthonormal coordinates (packed order, off-diagonals times sqrt 2).
#[inline(never)]
pub fn load_coords<const M: usize, const L: usize>(
    m: usize,
    rows: &[f64],
    shared: bool,
    out: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let out = &mut out[..packed_len(m)];
            let size = packed_len(m);
            let count = if shared { L } else { (rows.len() / size).min(L) };
            for i in 0..m {
                for j in i..m {
                    let scale = if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
                    let k = packed(m, i, j);
                    out[k] = [0.0; L];
                    for l in 0..count {
                        out[k][l] = scale * rows[if shared { k } else { l * size + k }];
                    }
                }
            }
        },
    );
}

/// Writes packed symmetric matrices as rows of orthonormal coordinates.
#[inline(never)]
pub fn store_coords<const M: usize, const L: usize>(m: usize, a: &[Lane<L>], rows: &mut [f64]) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let a = &a[..packed_len(m)];
            let size = packed_len(m);
            let count = rows.len() / size;
            for i in 0..m {
                for j in i..m {
                    let scale = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
                    let k = packed(m, i, j);
                    for l in 0..count.min(L) {
                        rows[l * size + k] = scale * a[k][l];
                    }
                }
            }
        },
    );
}
