//! Sums of logarithms for the affine-invariant metric.

use super::whitened::Whitener;
use super::{BlockLog, load_rows};
use crate::cascade::{ADDITIONS, PIECE};
use crate::manifold::LogSums;
use crate::rows::Rows;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{add_product, ln_diagonal, order, packed_len, spectral, store_coords};
use crate::simd::vectorize_widest;

/// Logarithms of whitened points, which may lie anywhere: near ones are not told apart.
pub(super) struct PlainLog<const M: usize, const L: usize> {
    m: usize,
    whitener: Whitener<M, L>,
    point: Lanes<L>,
    values: Lanes<L>,
    vectors: Lanes<L>,
}

impl<const M: usize, const L: usize> PlainLog<M, L> {
    pub(super) fn new(m: usize) -> Self {
        let point = Lanes::<L>::new(packed_len(m));
        let (values, vectors) = (Lanes::<L>::new(m), Lanes::<L>::new(m * m));
        Self { m, whitener: Whitener::new(m), point, values, vectors }
    }
}

impl<const M: usize, const L: usize> BlockLog<L> for PlainLog<M, L> {
    fn compute(&mut self, point: &Rows, base: &Rows, start: usize, count: usize) {
        let m = self.m;
        self.whitener.factor(base, start, count);
        load_rows::<M, L>(m, point, start, count, &mut self.point);
        self.whitener.whiten(&mut self.point);
        diagonalize::<M, L>(m, &mut self.point, Some(&mut self.vectors), &[0.0; L]);
        ln_diagonal::<M, L>(m, &self.point, &mut self.values);
    }

    fn spectrum(&mut self) -> (&mut [Lane<L>], &mut [Lane<L>]) {
        (&mut self.values, &mut self.vectors)
    }
}

/// See [`crate::manifold::Manifold::sum_log`].
pub(super) fn sum_log_block<const M: usize, const L: usize>(
    m: usize,
    log: &mut impl BlockLog<L>,
    points: Rows,
    count: usize,
    weights: Option<&[f64]>,
    base: &[f64],
    sum: &mut [f64],
) -> LogSums {
    const { assert!(PIECE.div_ceil(L) + L <= ADDITIONS) };
    let lane = [0.0; L];
    let base = Rows::shared(base);
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut total = Lanes::<L>::new(packed_len(m));
    let (mut squared_dist, mut curvature) = (lane, lane);
    let mut start = 0;
    while start < count {
        let here = L.min(count - start);
        log.compute(&points, &base, start, here);
        let mut weight = lane;
        for l in 0..here {
            weight[l] = weights.map_or(1.0, |w| w[start + l]);
        }
        let (values, vectors) = log.spectrum();
        weigh::<M, L>(m, values, &weight, &mut squared_dist, &mut curvature);
        spectral::<M, L>(m, vectors, values, &mut a);
        add_lanes(&mut total, &a);
        start += L;
    }
    let mut row = vec![0.0; packed_len(m)];
    let reduced: Vec<[f64; 1]> = total.iter().map(|lane| [lane.iter().sum()]).collect();
    store_coords::<0, 1>(m, &reduced, &mut row);
    for (sum, x) in sum.iter_mut().zip(&row) {
        *sum += x;
    }
    LogSums { squared_dist: squared_dist.iter().sum(), curvature: curvature.iter().sum() }
}

/// total += a
#[inline(never)]
fn add_lanes<const L: usize>(total: &mut [Lane<L>], a: &[Lane<L>]) {
    vectorize_widest(
        #[inline(always)]
        || {
            for (total, a) in total.iter_mut().zip(a) {
                for l in 0..L {
                    total[l] += a[l];
                }
            }
        },
    );
}

/// Adds w |log|^2 and w tr(Hess)/dim, and turns the logarithms into w log.
#[inline(never)]
fn weigh<const M: usize, const L: usize>(
    m: usize,
    logs: &mut [Lane<L>],
    weight: &Lane<L>,
    squared_dist: &mut Lane<L>,
    curvature: &mut Lane<L>,
) {
    vectorize_widest(
        #[inline(always)]
        || {
            let logs = &mut logs[..order::<M>(m)];
            let mut square = [0.0; L];
            for log in logs.iter() {
                add_product(&mut square, log, log, 1.0);
            }
            add_curvature(order::<M>(m), logs, weight, curvature);
            add_product(squared_dist, &square, weight, 1.0);
            for log in logs {
                for l in 0..L {
                    log[l] *= weight[l];
                }
            }
        },
    );
}

/// Adds w tr(Hess)/dim: one eigenvalue x coth x, x = d/2, for each pair of log-eigenvalues d apart
/// (approximated by sqrt(1 + 2/3 x^2), exact to second order), 1 for each diagonal direction.
#[inline(always)]
fn add_curvature<const L: usize>(
    m: usize,
    log: &[Lane<L>],
    weight: &Lane<L>,
    curvature: &mut Lane<L>,
) {
    let mut trace = [m as f64; L];
    for i in 0..m {
        for j in i + 1..m {
            let (x, y) = (log[i], log[j]);
            for l in 0..L {
                let half = 0.5 * (x[l] - y[l]);
                let square = half * half;
                trace[l] += (1.0 + square * (2.0 / 3.0)).sqrt();
            }
        }
    }
    for l in 0..L {
        curvature[l] += weight[l] * trace[l] / packed_len(m) as f64;
    }
}
