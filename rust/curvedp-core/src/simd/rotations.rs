//! Rotations of rows and of columns that make them orthogonal, `L` matrices at a time.

use super::lanes::Lane;
use super::matrices::{order, packed, packed_len};
use super::vectorize_widest;

/// Sweeps after which iteration stops whatever the matrix.
const MAX_SWEEPS: usize = 40;

/// Makes the rows of full matrices orthogonal, longer ones first: Y <- R^T Y for a product R of rotations, up to
/// rounding relative to the length of each row (Hestenes 1958); the columns of `vectors` are turned, too.
#[inline(never)]
pub fn orthogonalize<const M: usize, const L: usize>(
    m: usize,
    rows: &mut [Lane<L>],
    vectors: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (rows, vectors) = (&mut rows[..m * m], &mut vectors[..m * m]);
            for _ in 0..MAX_SWEEPS {
                let mut any = false;
                for p in 0..m {
                    for q in p + 1..m {
                        any |= rotate_pair(m, rows, vectors, p, q);
                    }
                }
                if !any {
                    return;
                }
            }
        },
    );
}

/// Rows change places where the second is longer than the first by this factor, squared.
const LONGER: f64 = 1.25;

/// Rotates rows p and q of `rows`, and columns p and q of `vectors`, unless all are orthogonal and in order; returns
/// true if any were rotated.
#[inline(always)]
fn rotate_pair<const L: usize>(
    m: usize,
    rows: &mut [Lane<L>],
    vectors: &mut [Lane<L>],
    p: usize,
    q: usize,
) -> bool {
    let tolerance = f64::EPSILON * f64::EPSILON * 4.0 * m as f64;
    let (mut a, mut b, mut c) = ([0.0; L], [0.0; L], [0.0; L]);
    for k in 0..m {
        let (x, y) = (rows[p * m + k], rows[q * m + k]);
        for l in 0..L {
            a[l] += x[l] * x[l];
            b[l] += y[l] * y[l];
            c[l] += x[l] * y[l];
        }
    }
    let (mut active, mut swap, mut any) = ([0.0; L], [0.0; L], 0.0);
    for l in 0..L {
        active[l] = if c[l] * c[l] > tolerance * (a[l] * b[l]) { 1.0 } else { 0.0 };
        swap[l] = if b[l] > LONGER * a[l] { 1.0 } else { 0.0 };
        any += active[l] + swap[l];
    }
    if any == 0.0 {
        return false;
    }
    let (mut cos, mut sin) = ([1.0; L], [0.0; L]);
    for l in 0..L {
        let d = b[l] - a[l];
        let twice = 2.0 * c[l];
        let h = (d * d + twice * twice).sqrt();
        let signed = if d >= 0.0 { twice } else { -twice };
        let t = active[l] * (signed / (d.abs() + h + f64::MIN_POSITIVE));
        let (c, s) = (1.0 / (1.0 + t * t).sqrt(), t / (1.0 + t * t).sqrt());
        cos[l] = if swap[l] > 0.0 { s } else { c };
        sin[l] = if swap[l] > 0.0 { -c } else { s };
    }
    for k in 0..m {
        rotate(rows, p * m + k, q * m + k, &cos, &sin);
        rotate(vectors, k * m + p, k * m + q, &cos, &sin);
    }
    true
}

/// (x, y) <- (cos x - sin y, sin x + cos y)
#[inline(always)]
pub(super) fn rotate<const L: usize>(
    a: &mut [Lane<L>],
    first: usize,
    second: usize,
    cos: &Lane<L>,
    sin: &Lane<L>,
) {
    let (x, y) = (a[first], a[second]);
    let (mut new_x, mut new_y) = ([0.0; L], [0.0; L]);
    for l in 0..L {
        new_x[l] = cos[l] * x[l] - sin[l] * y[l];
        new_y[l] = sin[l] * x[l] + cos[l] * y[l];
    }
    a[first] = new_x;
    a[second] = new_y;
}

/// The lower triangular K with KK^T = BB^T and a positive diagonal, packed, for a full matrix B, which is overwritten.
#[inline(never)]
pub fn lower_triangle<const M: usize, const L: usize>(
    m: usize,
    b: &mut [Lane<L>],
    out: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (b, out) = (&mut b[..m * m], &mut out[..packed_len(m)]);
            for i in 0..m {
                for j in i + 1..m {
                    let (x, y) = (b[i * m + i], b[i * m + j]);
                    let (mut cos, mut sin) = ([1.0; L], [0.0; L]);
                    for l in 0..L {
                        let length = (x[l] * x[l] + y[l] * y[l]).sqrt();
                        let any = length > 0.0;
                        cos[l] = if any { x[l] / length } else { 1.0 };
                        sin[l] = if any { -y[l] / length } else { 0.0 };
                    }
                    for row in i..m {
                        rotate(b, row * m + i, row * m + j, &cos, &sin);
                    }
                }
                let diagonal = b[i * m + i];
                for row in i..m {
                    let entry = b[row * m + i];
                    for l in 0..L {
                        // the last column has met no rotation
                        let x = if diagonal[l] < 0.0 { -entry[l] } else { entry[l] };
                        out[packed(m, i, row)][l] = x;
                    }
                }
            }
        },
    );
}
