//! SPD(m) with the log-Euclidean metric: the matrix logarithm is an isometric chart onto the symmetric
//! matrices (Arsigny et al. 2007).

use super::flat::FlatChart;
use super::{for_size, load_rows};
use crate::manifold::CLIP_LENGTH;
use crate::rows::Rows;
use crate::simd::elementary::{exp, sinhc};
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{
    congruence, exp_diagonal, ln_diagonal, load_coords, order, packed, packed_len, spectral,
    squared_norm, store, store_coords,
};
use crate::simd::vectorize_widest;

/// The matrix logarithm as a chart.
#[derive(Clone, Copy, Debug)]
pub struct LogEuclidean {
    m: usize,
}

impl LogEuclidean {
    /// m x m matrices, m >= 1.
    pub fn new(m: usize) -> Self {
        Self { m }
    }
}

impl FlatChart for LogEuclidean {
    fn order(&self) -> usize {
        self.m
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH
    }

    fn chart(&self, point: Rows, out: &mut [f64]) {
        for_size!(self.m, chart_block(point, out));
    }

    fn unchart(&self, coords: Rows, out: &mut [f64]) {
        for_size!(self.m, unchart_block(coords, out));
    }

    fn push(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, push_block(tangent, base, out));
    }

    fn pull(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, pull_block(coords, base, out));
    }
}

/// Eigenvectors and log-eigenvalues of a block of base points.
struct Logarithm<const M: usize, const L: usize> {
    m: usize,
    a: Lanes<L>,
    vectors: Lanes<L>,
    values: Lanes<L>,
}

impl<const M: usize, const L: usize> Logarithm<M, L> {
    fn new(m: usize) -> Self {
        Self {
            m,
            a: Lanes::<L>::new(packed_len(m)),
            vectors: Lanes::<L>::new(m * m),
            values: Lanes::<L>::new(m),
        }
    }

    fn compute(&mut self, point: &Rows, start: usize, count: usize) {
        load_rows::<M, L>(self.m, point, start, count, &mut self.a);
        diagonalize::<M, L>(self.m, &mut self.a, Some(&mut self.vectors), &[0.0; L]);
        ln_diagonal::<M, L>(self.m, &self.a, &mut self.values);
    }

    /// b_ij <- b_ij (l_i - l_j)/(lambda_i - lambda_j) for `derivative` of log, its inverse otherwise:
    /// the divided difference is e^{-(l_i + l_j)/2} / sinhc((l_i - l_j)/2), without cancellation.
    #[inline(never)]
    fn divided_difference(&self, b: &mut [Lane<L>], of_log: bool) {
        vectorize_widest(
            #[inline(always)]
            || {
                let m = order::<M>(self.m);
                for i in 0..m {
                    for j in i..m {
                        let (x, y) = (self.values[i], self.values[j]);
                        let entry = &mut b[packed(m, i, j)];
                        for l in 0..L {
                            let slope = exp(0.5 * (x[l] + y[l])) * sinhc(0.5 * (x[l] - y[l]));
                            entry[l] = if of_log { entry[l] / slope } else { entry[l] * slope };
                        }
                    }
                }
            },
        );
    }
}

fn chart_block<const M: usize, const L: usize>(m: usize, point: Rows, out: &mut [f64]) {
    let mut log = Logarithm::<M, L>::new(m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        log.compute(&point, block * L, rows.len() / size);
        spectral::<M, L>(m, &log.vectors, &log.values, &mut log.a);
        store_coords::<M, L>(m, &log.a, rows);
    }
}

fn unchart_block<const M: usize, const L: usize>(m: usize, coords: Rows, out: &mut [f64]) {
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut u = Lanes::<L>::new(m * m);
    let mut f = Lanes::<L>::new(m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        let shared = coords.is_shared();
        load_coords::<M, L>(m, coords.range(start..start + count).data(), shared, &mut a);
        let mut floor = squared_norm(m, &a);
        for l in 0..L {
            floor[l] *= f64::EPSILON * f64::EPSILON;
        }
        diagonalize::<M, L>(m, &mut a, Some(&mut u), &floor);
        exp_diagonal::<M, L>(m, &a, &mut f);
        spectral::<M, L>(m, &u, &f, &mut a);
        store::<M, L>(m, &a, rows);
    }
}

fn push_block<const M: usize, const L: usize>(
    m: usize,
    tangent: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let mut log = Logarithm::<M, L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut w = Lanes::<L>::new(packed_len(m));
    let mut work = Lanes::<L>::new(m * m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        log.compute(&base, start, count);
        load_rows::<M, L>(m, &tangent, start, count, &mut v);
        congruence::<M, L>(m, &log.vectors, true, &v, &mut w, &mut work);
        log.divided_difference(&mut w, true);
        congruence::<M, L>(m, &log.vectors, false, &w, &mut v, &mut work);
        store_coords::<M, L>(m, &v, rows);
    }
}

fn pull_block<const M: usize, const L: usize>(m: usize, coords: Rows, base: Rows, out: &mut [f64]) {
    let mut log = Logarithm::<M, L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut w = Lanes::<L>::new(packed_len(m));
    let mut work = Lanes::<L>::new(m * m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        log.compute(&base, start, count);
        let shared = coords.is_shared();
        load_coords::<M, L>(m, coords.range(start..start + count).data(), shared, &mut v);
        congruence::<M, L>(m, &log.vectors, true, &v, &mut w, &mut work);
        log.divided_difference(&mut w, false);
        congruence::<M, L>(m, &log.vectors, false, &w, &mut v, &mut work);
        store::<M, L>(m, &v, rows);
    }
}
