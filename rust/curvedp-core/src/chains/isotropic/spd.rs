//! The walk on SPD(m) with the affine-invariant metric.
//!
//! With x = F F^T a step is x' = F exp(Z) F^T = F' F'^T, F' = F E, E = exp(Z/2): a walk on matrices F whose
//! steps E are as likely as their inverses. The distance of x from the identity depends on the eigenvalues of
//! x alone, which are those of S = F^T F, and S' = E S E: so S makes a chain with the same law as x, and needs
//! no Cholesky factor. A state holds D = S - I, which keeps small distances exact: with G = E - I,
//! D' = Y + G Y + G for Y = D + D G + G.

use super::walk::{Walk, each};
use crate::elementary::ln_1p;
use crate::linalg::jacobi::diagonalize;
use crate::linalg::lanes::{Lane, packed, packed_any, packed_len, spectral, squared_norm};

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
        let m = self.order();
        5 * packed_len(m) + m * m
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let m = self.order();
        let (a, work) = work.split_at_mut(packed_len(m));
        from_coords(m, u, 1.0, a);
        expm1(m, a, state, work);
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
        let (a, work) = work.split_at_mut(packed_len(m));
        let (g, work) = work.split_at_mut(packed_len(m));
        from_coords(m, z, 0.5, a);
        expm1(m, a, g, work);
        let y = &mut work[..m * m];
        for i in 0..m {
            for j in 0..m {
                let (mut sum, d, g_ij) =
                    ([0.0; L], from[packed_any(m, i, j)], g[packed_any(m, i, j)]);
                add_row(m, |k| &from[packed_any(m, i, k)], |k| &g[packed_any(m, k, j)], &mut sum);
                for l in 0..L {
                    sum[l] += d[l] + g_ij[l];
                }
                y[i * m + j] = sum;
            }
        }
        for i in 0..m {
            for j in i..m {
                let (mut sum, y_ij, g_ij) = ([0.0; L], y[i * m + j], g[packed(m, i, j)]);
                add_row(m, |k| &g[packed_any(m, i, k)], |k| &y[k * m + j], &mut sum);
                for l in 0..L {
                    sum[l] += y_ij[l] + g_ij[l];
                }
                to[packed(m, i, j)] = sum;
            }
        }
    }

    #[inline(always)]
    fn dist<const L: usize>(self, state: &[Lane<L>], work: &mut [Lane<L>]) -> Lane<L> {
        let m = self.order();
        let a = &mut work[..packed_len(m)];
        a.copy_from_slice(state);
        diagonalize(m, a, None, &negligible(m, a));
        let mut square = [0.0; L];
        for i in 0..m {
            let log = log_of(&a[packed(m, i, i)]);
            for l in 0..L {
                square[l] += log[l] * log[l];
            }
        }
        each(&square, f64::sqrt)
    }

    #[inline(always)]
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let m = self.order();
        let (a, work) = work.split_at_mut(packed_len(m));
        let (vectors, logs) = work.split_at_mut(m * m);
        a.copy_from_slice(state);
        let floor = negligible(m, a);
        diagonalize(m, a, Some(&mut *vectors), &floor);
        for i in 0..m {
            logs[i] = log_of(&a[packed(m, i, i)]);
        }
        spectral(m, vectors, logs, u);
        for i in 0..m {
            for j in i + 1..m {
                u[packed(m, i, j)] = each(&u[packed(m, i, j)], |x| x * std::f64::consts::SQRT_2);
            }
        }
    }
}

/// Square of what counts as zero off the diagonal.
#[inline(always)]
fn negligible<const L: usize>(m: usize, a: &[Lane<L>]) -> Lane<L> {
    each(&squared_norm(m, a), |square| f64::EPSILON * f64::EPSILON * square)
}

/// ln(1 + x), NaN for x <= -1.
#[inline(always)]
fn log_of<const L: usize>(x: &Lane<L>) -> Lane<L> {
    each(x, |x| ln_1p(if x > -1.0 { x } else { f64::NAN }))
}

/// Matrices with the coordinates u, times `factor`.
#[inline(always)]
fn from_coords<const L: usize>(m: usize, u: &[Lane<L>], factor: f64, a: &mut [Lane<L>]) {
    for i in 0..m {
        for j in i..m {
            let scale = if i == j { factor } else { factor * std::f64::consts::FRAC_1_SQRT_2 };
            a[packed(m, i, j)] = each(&u[packed(m, i, j)], |x| scale * x);
        }
    }
}

/// sum += sum_k x_k y_k
#[inline(always)]
fn add_row<'a, const L: usize>(
    m: usize,
    x: impl Fn(usize) -> &'a Lane<L>,
    y: impl Fn(usize) -> &'a Lane<L>,
    sum: &mut Lane<L>,
) {
    for k in 0..m {
        let (x, y) = (x(k), y(k));
        for l in 0..L {
            sum[l] += x[l] * y[l];
        }
    }
}

/// out <- X Y for symmetric matrices that commute.
#[inline(always)]
fn product<const L: usize>(m: usize, x: &[Lane<L>], y: &[Lane<L>], out: &mut [Lane<L>]) {
    for i in 0..m {
        for j in i..m {
            let mut sum = [0.0; L];
            add_row(m, |k| &x[packed_any(m, i, k)], |k| &y[packed_any(m, k, j)], &mut sum);
            out[packed(m, i, j)] = sum;
        }
    }
}

/// Norm up to which the Taylor polynomial of degree 12 has exp to the last bit: x^13/13! < 2^-53 x.
const SMALL: f64 = 0.25;

/// Most squarings: enough for every number.
const MAX_SQUARINGS: usize = 1100;

/// out <- exp(A) - I, A symmetric and overwritten: A is halved until it is small, and
/// (I + G)^2 - I = 2 G + G^2 undoes that.
#[inline(always)]
fn expm1<const L: usize>(m: usize, a: &mut [Lane<L>], out: &mut [Lane<L>], work: &mut [Lane<L>]) {
    let len = packed_len(m);
    let (a2, work) = work.split_at_mut(len);
    let (a3, work) = work.split_at_mut(len);
    let next = &mut work[..len];
    let (norm, mut most) = (each(&squared_norm(m, a), f64::sqrt), 0);
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
    product(m, a, a, a2);
    product(m, a2, a, a3);
    // c_k = 1/k!: ((c_9 + ... + c_12 A^3) A^3 + c_6 + c_7 A + c_8 A^2) A^3 + ...
    let part = |k: usize, a: &Lane<L>, a2: &Lane<L>, l: usize| {
        INVERSE_FACTORIALS[k + 1] * a[l] + INVERSE_FACTORIALS[k + 2] * a2[l]
    };
    let add = |k: usize, a: &[Lane<L>], out: &mut [Lane<L>]| {
        for i in 0..m {
            for j in i..m {
                let at = packed(m, i, j);
                let constant = if i == j && k > 0 { INVERSE_FACTORIALS[k] } else { 0.0 };
                for l in 0..L {
                    out[at][l] += constant + part(k, &a[at], &a2[at], l);
                }
            }
        }
    };
    for (out, a3) in out.iter_mut().zip(a3.iter()) {
        *out = each(a3, |x| INVERSE_FACTORIALS[12] * x);
    }
    add(9, a, out);
    for k in [6, 3, 0] {
        product(m, out, a3, next);
        add(k, a, next);
        out.copy_from_slice(next);
    }
    for squaring in 0..most {
        product(m, out, out, next);
        for (out, next) in out.iter_mut().zip(next.iter()) {
            for l in 0..L {
                let squared = 2.0 * out[l] + next[l];
                out[l] = if squarings[l] > squaring as f64 { squared } else { out[l] };
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
