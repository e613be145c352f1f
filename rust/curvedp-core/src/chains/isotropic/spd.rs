//! The walk on SPD(m) with the affine-invariant metric.
//!
//! With x = F F^T a step is x' = F exp(Z) F^T = F' F'^T, F' = F E, E = exp(Z/2): a walk on matrices F whose
//! steps E are as likely as their inverses. The distance of x from the identity depends on the eigenvalues of
//! x alone, which are those of S = F^T F, and S' = E S E: so S makes a chain with the same law as x, and needs
//! no Cholesky factor. A state holds D = S - I, which keeps small distances exact: with G = E - I,
//! D' = Y + G Y + G for Y = D + D G + G.

use super::walk::{Walk, each, length};
use crate::elementary::ln_1p;
use crate::linalg::jacobi::diagonalize;
use crate::linalg::lanes::{Lane, packed, packed_any, packed_len, spectral, squared_norm};
use crate::simd::vectorize;

/// SPD matrices of order M, or of the order that it holds where M is 0.
#[derive(Clone, Copy)]
pub(super) struct Spd<const M: usize>(pub usize);

impl<const M: usize> Spd<M> {
    #[inline(always)]
    fn order(self) -> usize {
        if M == 0 { self.0 } else { M }
    }
}

impl<const M: usize> Walk for Spd<M> {
    fn dim(self) -> usize {
        packed_len(self.order())
    }

    fn size(self) -> usize {
        packed_len(self.order())
    }

    fn normals(self) -> usize {
        packed_len(self.order())
    }

    fn work(self) -> usize {
        5 * self.order() * self.order()
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let m = self.order();
        let [a, g, c, d, e] = buffers(m, work);
        from_coords(m, u, 1.0, a);
        expm1(self, a, g, [c, d, e]);
        for i in 0..m {
            for j in i..m {
                state[packed(m, i, j)] = g[i * m + j];
            }
        }
    }

    #[inline(always)]
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        work: &mut [Lane<L>],
    ) {
        let m = self.order();
        let [a, g, d, y, rest] = buffers(m, work);
        from_coords(m, z, 0.5, a);
        expm1(self, a, g, [&mut *d, &mut *y, rest]);
        for i in 0..m {
            for j in 0..m {
                d[i * m + j] = from[packed_any(m, i, j)];
            }
        }
        // the transpose of Y is D + G D + G
        times(self, g, d, false, y);
        for (y, (d, g)) in y.iter_mut().zip(d.iter().zip(g.iter())) {
            for l in 0..L {
                y[l] += d[l] + g[l];
            }
        }
        times(self, g, y, true, d);
        for i in 0..m {
            for j in i..m {
                let (gy, y, g) = (&d[i * m + j], &y[j * m + i], &g[i * m + j]);
                for l in 0..L {
                    to[packed(m, i, j)][l] = gy[l] + (y[l] + g[l]);
                }
            }
        }
    }

    fn dist<const L: usize>(self, state: &[Lane<L>], work: &mut [Lane<L>]) -> Lane<L> {
        let m = self.order();
        let a = &mut work[..packed_len(m)];
        a.copy_from_slice(state);
        log_eigenvalues(self, a, None);
        let mut square = [0.0; L];
        for i in 0..m {
            let log = &a[packed(m, i, i)];
            for l in 0..L {
                square[l] += log[l] * log[l];
            }
        }
        each(&square, f64::sqrt)
    }

    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let m = self.order();
        let [a, vectors, logs, ..] = buffers(m, work);
        let a = &mut a[..packed_len(m)];
        a.copy_from_slice(state);
        log_eigenvalues(self, a, Some(&mut *vectors));
        for i in 0..m {
            logs[i] = a[packed(m, i, i)];
        }
        spectral::<M, L>(m, vectors, logs, u);
        for i in 0..m {
            for j in i + 1..m {
                u[packed(m, i, j)] = each(&u[packed(m, i, j)], |x| x * std::f64::consts::SQRT_2);
            }
        }
    }
}

/// Logarithms of the eigenvalues of I + A on the diagonal of A, NaN where there is none.
#[inline(never)]
fn log_eigenvalues<const M: usize, const L: usize>(
    walk: Spd<M>,
    a: &mut [Lane<L>],
    vectors: Option<&mut [Lane<L>]>,
) {
    let m = walk.order();
    let floor = negligible(m, a);
    diagonalize::<M, L>(m, a, vectors, &floor);
    vectorize(
        #[inline(always)]
        || {
            for i in 0..walk.order() {
                let value = &mut a[packed(m, i, i)];
                *value = each(value, |x| ln_1p(if x > -1.0 { x } else { f64::NAN }));
            }
        },
    );
}

/// Square of what counts as zero off the diagonal.
#[inline(always)]
fn negligible<const L: usize>(m: usize, a: &[Lane<L>]) -> Lane<L> {
    each(&squared_norm(m, a), |square| f64::EPSILON * f64::EPSILON * square)
}

/// Work space as five full matrices.
#[inline(always)]
fn buffers<const L: usize>(m: usize, work: &mut [Lane<L>]) -> [&mut [Lane<L>]; 5] {
    let (a, work) = work.split_at_mut(m * m);
    let (b, work) = work.split_at_mut(m * m);
    let (c, work) = work.split_at_mut(m * m);
    let (d, work) = work.split_at_mut(m * m);
    [a, b, c, d, &mut work[..m * m]]
}

/// Full symmetric matrices with the coordinates u, times `factor`.
#[inline(always)]
fn from_coords<const L: usize>(m: usize, u: &[Lane<L>], factor: f64, a: &mut [Lane<L>]) {
    for i in 0..m {
        for j in i..m {
            let scale = if i == j { factor } else { factor * std::f64::consts::FRAC_1_SQRT_2 };
            let entry = each(&u[packed(m, i, j)], |x| scale * x);
            a[i * m + j] = entry;
            a[j * m + i] = entry;
        }
    }
}

/// out <- X Y^T for full matrices, or its upper triangle and that again as the lower one: half the work.
fn times<const M: usize, const L: usize>(
    walk: Spd<M>,
    x: &[Lane<L>],
    y: &[Lane<L>],
    mirrored: bool,
    out: &mut [Lane<L>],
) {
    vectorize(
        #[inline(always)]
        || times_blocks(walk.order(), x, y, mirrored, out),
    );
}

#[inline(always)]
fn times_blocks<const L: usize>(
    m: usize,
    x: &[Lane<L>],
    y: &[Lane<L>],
    mirrored: bool,
    out: &mut [Lane<L>],
) {
    let even = m - m % 2;
    for i in (0..m).step_by(2) {
        let first = if mirrored { i } else { 0 };
        for j in (first..m).step_by(2) {
            match (i < even, j < even) {
                (true, true) => times_block::<2, 2, L>(m, x, y, (i, j), mirrored, out),
                (true, false) => times_block::<2, 1, L>(m, x, y, (i, j), mirrored, out),
                (false, true) => times_block::<1, 2, L>(m, x, y, (i, j), mirrored, out),
                (false, false) => times_block::<1, 1, L>(m, x, y, (i, j), mirrored, out),
            }
        }
    }
}

/// Rows i.. and columns j.. of X Y^T: every entry that is loaded serves several sums.
#[inline(always)]
fn times_block<const R: usize, const C: usize, const L: usize>(
    m: usize,
    x: &[Lane<L>],
    y: &[Lane<L>],
    (i, j): (usize, usize),
    mirrored: bool,
    out: &mut [Lane<L>],
) {
    let rows: [&[Lane<L>]; R] = std::array::from_fn(|r| &x[(i + r) * m..][..m]);
    let columns: [&[Lane<L>]; C] = std::array::from_fn(|c| &y[(j + c) * m..][..m]);
    let mut sums = [[[0.0; L]; C]; R];
    for k in 0..m {
        for r in 0..R {
            for c in 0..C {
                for l in 0..L {
                    sums[r][c][l] += rows[r][k][l] * columns[c][k][l];
                }
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            let (row, column) = (i + r, j + c);
            if !mirrored {
                out[row * m + column] = sums[r][c];
            } else if row <= column {
                out[row * m + column] = sums[r][c];
                out[column * m + row] = sums[r][c];
            }
        }
    }
}

/// Norm up to which the Taylor polynomial of degree 12 has exp to the last bit: x^13/13! < 2^-53 x.
const SMALL: f64 = 0.25;

/// Most squarings: enough for every number.
const MAX_SQUARINGS: usize = 1100;

/// out <- exp(A) - I for full symmetric matrices, A overwritten: A is halved until it is small, and
/// (I + G)^2 - I = 2 G + G^2 undoes that.
#[inline(always)]
fn expm1<const M: usize, const L: usize>(
    walk: Spd<M>,
    a: &mut [Lane<L>],
    out: &mut [Lane<L>],
    [a2, a3, next]: [&mut [Lane<L>]; 3],
) {
    let m = walk.order();
    let (norm, mut most) = (length(a), 0);
    let (mut factor, mut squarings) = ([1.0; L], [0.0; L]);
    while most < MAX_SQUARINGS && (0..L).any(|l| norm[l] * factor[l] > SMALL) {
        most += 1;
        for l in 0..L {
            let more = norm[l] * factor[l] > SMALL;
            squarings[l] += if more { 1.0 } else { 0.0 };
            factor[l] *= if more { 0.5 } else { 1.0 };
        }
    }
    if most > 0 {
        for a in a.iter_mut() {
            for l in 0..L {
                a[l] *= factor[l];
            }
        }
    }
    times(walk, a, a, true, a2);
    times(walk, a2, a, true, a3);
    // c_k = 1/k!: ((c_12 A^3 + c_11 A^2 + c_10 A + c_9) A^3 + c_8 A^2 + c_7 A + c_6) A^3 + ...
    for (out, a3) in out.iter_mut().zip(a3.iter()) {
        *out = each(a3, |x| INVERSE_FACTORIALS[12] * x);
    }
    add_terms(m, 9, a, a2, out);
    for k in [6, 3, 0] {
        times(walk, out, a3, true, next);
        out.copy_from_slice(next);
        add_terms(m, k, a, a2, out);
    }
    for squaring in 0..most {
        times(walk, out, out, true, next);
        for (out, next) in out.iter_mut().zip(next.iter()) {
            for l in 0..L {
                let squared = 2.0 * out[l] + next[l];
                out[l] = if squarings[l] > squaring as f64 { squared } else { out[l] };
            }
        }
    }
}

/// out <- out + c_k I + c_(k + 1) A + c_(k + 2) A^2, without c_0.
#[inline(always)]
fn add_terms<const L: usize>(
    m: usize,
    k: usize,
    a: &[Lane<L>],
    a2: &[Lane<L>],
    out: &mut [Lane<L>],
) {
    let (first, second) = (INVERSE_FACTORIALS[k + 1], INVERSE_FACTORIALS[k + 2]);
    for (out, (a, a2)) in out.iter_mut().zip(a.iter().zip(a2)) {
        for l in 0..L {
            out[l] += first * a[l] + second * a2[l];
        }
    }
    if k > 0 {
        for i in 0..m {
            for l in 0..L {
                out[i * m + i][l] += INVERSE_FACTORIALS[k];
            }
        }
    }
}

const INVERSE_FACTORIALS: [f64; 13] = {
    let mut values = [1.0; 13];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < 13 {
        factorial *= k as f64;
        values[k] = 1.0 / factorial;
        k += 1;
    }
    values
};
