//! SPD(m) with the log-Cholesky metric (Lin 2019): with P = G G^T the map P -> (strict lower part of G,
//! logarithms of its diagonal) is an isometric chart onto Euclidean space.

use super::flat::FlatChart;
use super::{for_size, load_rows};
use crate::manifold::CLIP_LENGTH;
use crate::rows::Rows;
use crate::simd::elementary::{exp, ln};
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{add_product, cholesky, order, packed, packed_len, store, whiten};
use crate::simd::vectorize;

/// The Cholesky factor with logarithmic diagonal as a chart; coordinates row by row of G^T.
#[derive(Clone, Copy, Debug)]
pub struct LogCholesky {
    m: usize,
}

impl LogCholesky {
    /// m x m matrices, m >= 1.
    pub fn new(m: usize) -> Self {
        Self { m }
    }
}

impl FlatChart for LogCholesky {
    fn order(&self) -> usize {
        self.m
    }

    /// The metric counts logarithms of the factor, half those of the matrix: farther out, rounding may leave no
    /// positive definite matrix.
    fn clip_limit(&self) -> f64 {
        0.5 * CLIP_LENGTH
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

/// Reads rows of packed coordinates as they are.
fn load_packed<const L: usize>(
    m: usize,
    coords: &Rows,
    start: usize,
    count: usize,
    out: &mut [Lane<L>],
) {
    for (k, lane) in out.iter_mut().enumerate().take(packed_len(m)) {
        *lane = [0.0; L];
        for l in 0..count {
            lane[l] = coords.row(start + l)[k];
        }
    }
}

fn store_packed<const L: usize>(m: usize, a: &[Lane<L>], rows: &mut [f64]) {
    let size = packed_len(m);
    for (l, row) in rows.chunks_exact_mut(size).enumerate() {
        for k in 0..size {
            row[k] = a[k][l];
        }
    }
}

/// Changes every entry of the diagonal.
#[inline(always)]
fn each_diagonal<const M: usize, const L: usize>(
    m: usize,
    g: &mut [Lane<L>],
    change: impl Fn(&mut f64),
) {
    vectorize(
        #[inline(always)]
        || {
            for i in 0..order::<M>(m) {
                g[packed(m, i, i)].iter_mut().for_each(&change);
            }
        },
    );
}

/// a <- G G^T
#[inline(never)]
fn square<const M: usize, const L: usize>(m: usize, g: &[Lane<L>], a: &mut [Lane<L>]) {
    vectorize(
        #[inline(always)]
        || {
            let m = order::<M>(m);
            for i in 0..m {
                for j in 0..=i {
                    let mut sum = [0.0; L];
                    for k in 0..=j {
                        add_product(&mut sum, &g[packed(m, k, i)], &g[packed(m, k, j)], 1.0);
                    }
                    a[packed(m, j, i)] = sum;
                }
            }
        },
    );
}

fn chart_block<const M: usize, const L: usize>(m: usize, point: Rows, out: &mut [f64]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut inverse = Lanes::<L>::new(m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        load_rows::<M, L>(m, &point, block * L, rows.len() / size, &mut g);
        cholesky::<M, L>(m, &mut g, &mut inverse);
        each_diagonal::<M, L>(
            m,
            &mut g,
            #[inline(always)]
            |x| *x = ln(*x),
        );
        store_packed(m, &g, rows);
    }
}

fn unchart_block<const M: usize, const L: usize>(m: usize, coords: Rows, out: &mut [f64]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut a = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        load_packed(m, &coords, block * L, rows.len() / (m * m), &mut g);
        each_diagonal::<M, L>(
            m,
            &mut g,
            #[inline(always)]
            |x| *x = exp(*x),
        );
        square::<M, L>(m, &g, &mut a);
        store::<M, L>(m, &a, rows);
    }
}

/// D chart: dG = G half(G^-1 V G^-T), half = strict lower part plus half the diagonal; the diagonal
/// coordinates are d log g_ii = dg_ii / g_ii.
fn push_block<const M: usize, const L: usize>(
    m: usize,
    tangent: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut inverse = Lanes::<L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut d = Lanes::<L>::new(packed_len(m));
    let mut work = Lanes::<L>::new(m * m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        load_rows::<M, L>(m, &base, start, count, &mut g);
        cholesky::<M, L>(m, &mut g, &mut inverse);
        load_rows::<M, L>(m, &tangent, start, count, &mut v);
        whiten::<M, L>(m, &g, &inverse, &mut v, &mut work);
        vectorize(
            #[inline(always)]
            || {
                let m = order::<M>(m);
                let (g, v) = (&g[..packed_len(m)], &v[..packed_len(m)]);
                let (d, inverse) = (&mut d[..packed_len(m)], &inverse[..m]);
                for i in 0..m {
                    for j in 0..=i {
                        let mut sum = [0.0; L];
                        for k in j..=i {
                            let (x, y) = (g[packed(m, k, i)], v[packed(m, j, k)]);
                            let half = if k == j { 0.5 } else { 1.0 };
                            for l in 0..L {
                                sum[l] += half * x[l] * y[l];
                            }
                        }
                        if i == j {
                            for l in 0..L {
                                sum[l] *= inverse[i][l];
                            }
                        }
                        d[packed(m, j, i)] = sum;
                    }
                }
            },
        );
        store_packed(m, &d, rows);
    }
}

/// The inverse of [`push_block`]: V = dG G^T + G dG^T.
fn pull_block<const M: usize, const L: usize>(m: usize, coords: Rows, base: Rows, out: &mut [f64]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut inverse = Lanes::<L>::new(m);
    let mut d = Lanes::<L>::new(packed_len(m));
    let mut a = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        load_rows::<M, L>(m, &base, start, count, &mut g);
        cholesky::<M, L>(m, &mut g, &mut inverse);
        load_packed(m, &coords, start, count, &mut d);
        vectorize(
            #[inline(always)]
            || {
                let m = order::<M>(m);
                let (g, d) = (&g[..packed_len(m)], &mut d[..packed_len(m)]);
                let a = &mut a[..packed_len(m)];
                for i in 0..m {
                    let scale = g[packed(m, i, i)];
                    for l in 0..L {
                        d[packed(m, i, i)][l] *= scale[l];
                    }
                }
                for i in 0..m {
                    for j in 0..=i {
                        let mut sum = [0.0; L];
                        for k in 0..=j {
                            let (x, y) = (d[packed(m, k, i)], g[packed(m, k, j)]);
                            let (z, w) = (g[packed(m, k, i)], d[packed(m, k, j)]);
                            for l in 0..L {
                                sum[l] += x[l] * y[l] + z[l] * w[l];
                            }
                        }
                        a[packed(m, j, i)] = sum;
                    }
                }
            },
        );
        store::<M, L>(m, &a, rows);
    }
}
