//! Triangular matrices in double-double arithmetic, `L` at a time.
//!
//! Sums of products keep the rounding errors of their parts in a second number (Ogita, Rump, Oishi 2005): a sum
//! of n terms is off by [`sum_error`]`(n)` times the sum of their absolute values. Lower triangular matrices are
//! packed as in [`super::matrices`].

use super::lanes::{Lane, Lanes};
use super::matrices::{order, packed, packed_len};
use super::vectorize_widest;

/// Bound on the relative error of a sum of `n` products, in units of the sum of their absolute values.
pub fn sum_error(n: usize) -> f64 {
    const ROUND: f64 = f64::EPSILON / 2.0;
    // (n + 1)(n + 2) u^2, and a few roundings of the second numbers
    let n = n as f64 + 4.0;
    n * n * ROUND * ROUND
}

/// Numbers that are the sum of two lanes.
pub struct PreciseLanes<const L: usize> {
    pub high: Lanes<L>,
    pub low: Lanes<L>,
}

impl<const L: usize> PreciseLanes<L> {
    /// `count` zeros.
    pub fn new(count: usize) -> Self {
        Self { high: Lanes::new(count), low: Lanes::new(count) }
    }

    #[inline(always)]
    fn set(&mut self, at: usize, sum: &Sum<L>) {
        for l in 0..L {
            let (high, low) = two_sum(sum.high[l], sum.low[l]);
            self.high[at][l] = high;
            self.low[at][l] = low;
        }
    }
}

#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// A sum with what its parts lost.
#[derive(Clone, Copy)]
pub(crate) struct Sum<const L: usize> {
    pub high: Lane<L>,
    pub low: Lane<L>,
}

impl<const L: usize> Sum<L> {
    pub const ZERO: Self = Self { high: [0.0; L], low: [0.0; L] };

    /// Adds (high + low) y.
    #[inline(always)]
    pub fn add_product(&mut self, high: &Lane<L>, low: &Lane<L>, y: &Lane<L>) {
        for l in 0..L {
            let product = high[l] * y[l];
            let lost = high[l].mul_add(y[l], -product) + low[l] * y[l];
            let (sum, more) = two_sum(self.high[l], product);
            self.high[l] = sum;
            self.low[l] += lost + more;
        }
    }

    /// Times -(1 / y), with the reciprocals in two parts.
    #[inline(always)]
    fn times_minus(&mut self, high: &Lane<L>, low: &Lane<L>) {
        for l in 0..L {
            let (x, rest) = two_sum(self.high[l], self.low[l]);
            let product = x * high[l];
            let lost = x.mul_add(high[l], -product) + (x * low[l] + rest * high[l]);
            self.high[l] = -product;
            self.low[l] = -lost;
        }
    }
}

/// H = G^-1 for a lower triangular G, row by row: |HG - I| <= [`sum_error`]`(m) |H||G|` entry by entry.
#[inline(never)]
pub fn invert<const M: usize, const L: usize>(
    m: usize,
    g: &[Lane<L>],
    inverse: &mut PreciseLanes<L>,
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let g = &g[..packed_len(m)];
            for i in 0..m {
                let diagonal = &g[packed(m, i, i)];
                let mut reciprocal = Sum::ZERO;
                for l in 0..L {
                    let x = 1.0 / diagonal[l];
                    reciprocal.high[l] = x;
                    reciprocal.low[l] = x * (-x).mul_add(diagonal[l], 1.0);
                }
                inverse.set(packed(m, i, i), &reciprocal);
            }
            for i in 0..m {
                for j in (0..i).rev() {
                    let mut sum = Sum::ZERO;
                    for k in j + 1..=i {
                        let at = packed(m, k, i);
                        let (high, low) = (inverse.high[at], inverse.low[at]);
                        sum.add_product(&high, &low, &g[packed(m, j, k)]);
                    }
                    let at = packed(m, j, j);
                    let (high, low) = (inverse.high[at], inverse.low[at]);
                    sum.times_minus(&high, &low);
                    inverse.set(packed(m, j, i), &sum);
                }
            }
        },
    );
}

/// HK for lower triangular matrices.
#[inline(never)]
pub fn lower_product<const M: usize, const L: usize>(
    m: usize,
    h: &PreciseLanes<L>,
    k: &[Lane<L>],
    out: &mut PreciseLanes<L>,
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let k = &k[..packed_len(m)];
            for i in 0..m {
                for j in 0..=i {
                    let mut sum = Sum::ZERO;
                    for between in j..=i {
                        let at = packed(m, between, i);
                        sum.add_product(&h.high[at], &h.low[at], &k[packed(m, j, between)]);
                    }
                    out.set(packed(m, j, i), &sum);
                }
            }
        },
    );
}

/// Doubles near U^T A for a full U and a lower triangular A.
#[inline(never)]
pub fn turned<const M: usize, const L: usize>(
    m: usize,
    u: &[Lane<L>],
    a: &PreciseLanes<L>,
    out: &mut [Lane<L>],
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            let (u, out) = (&u[..m * m], &mut out[..m * m]);
            for i in 0..m {
                for j in 0..m {
                    let mut sum = Sum::ZERO;
                    for k in j..m {
                        let at = packed(m, j, k);
                        sum.add_product(&a.high[at], &a.low[at], &u[k * m + i]);
                    }
                    for l in 0..L {
                        out[i * m + j][l] = sum.high[l] + sum.low[l];
                    }
                }
            }
        },
    );
}
