//! SPD(m) with the log-Euclidean metric: the matrix logarithm is an isometric chart onto the symmetric
//! matrices (Arsigny et al. 2007).

use super::flat::FlatChart;
use super::{condition, for_size, is_spd, load_rows, project_spd, snap, to_tangent};
use crate::elementary::{exp, ln, sinhc};
use crate::linalg::jacobi::diagonalize;
use crate::linalg::lanes::{
    Lane, Lanes, congruence, load_coords, packed, packed_len, spectral, squared_norm, store,
    store_coords,
};
use crate::rows::Rows;

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
    fn point_size(&self) -> usize {
        self.m * self.m
    }

    fn dim(&self) -> usize {
        packed_len(self.m)
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        is_spd(self.m, point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        project_spd(self.m, point)
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        condition(self.m, point)
    }

    fn snap(&self, points: &mut [f64], tolerance: f64, valid: &mut [bool]) {
        snap(self.m, points, tolerance, valid);
    }

    fn to_tangent(&self, vector: Rows, out: &mut [f64]) {
        to_tangent(self.m, vector, out);
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
struct Logarithm<const L: usize> {
    a: Lanes<L>,
    vectors: Lanes<L>,
    values: Lanes<L>,
}

impl<const L: usize> Logarithm<L> {
    #[inline(always)]
    fn new(m: usize) -> Self {
        Self {
            a: Lanes::<L>::new(packed_len(m)),
            vectors: Lanes::<L>::new(m * m),
            values: Lanes::<L>::new(m),
        }
    }

    #[inline(always)]
    fn compute(&mut self, m: usize, point: &Rows, start: usize, count: usize) {
        load_rows(m, point, start, count, &mut self.a);
        diagonalize(m, &mut self.a, Some(&mut self.vectors), &[0.0; L]);
        for i in 0..m {
            let (eigenvalue, value) = (self.a[packed(m, i, i)], &mut self.values[i]);
            for l in 0..L {
                let x = eigenvalue[l];
                value[l] = ln(if x > f64::MIN_POSITIVE { x } else { f64::MIN_POSITIVE });
            }
        }
    }

    /// b_ij <- b_ij (l_i - l_j)/(lambda_i - lambda_j) for `derivative` of log, its inverse otherwise:
    /// the divided difference is e^{-(l_i + l_j)/2} / sinhc((l_i - l_j)/2), without cancellation.
    #[inline(always)]
    fn divided_difference(&self, m: usize, b: &mut [Lane<L>], of_log: bool) {
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
    }
}

#[inline(always)]
fn chart_block<const L: usize>(m: usize, point: Rows, out: &mut [f64]) {
    let mut log = Logarithm::<L>::new(m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        log.compute(m, &point, block * L, rows.len() / size);
        spectral(m, &log.vectors, &log.values, &mut log.a);
        store_coords(m, &log.a, rows);
    }
}

#[inline(always)]
fn unchart_block<const L: usize>(m: usize, coords: Rows, out: &mut [f64]) {
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut u = Lanes::<L>::new(m * m);
    let mut f = Lanes::<L>::new(m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        let shared = coords.is_shared();
        load_coords(m, coords.range(start..start + count).data(), shared, &mut a);
        let mut floor = squared_norm(m, &a);
        for l in 0..L {
            floor[l] *= f64::EPSILON * f64::EPSILON;
        }
        diagonalize(m, &mut a, Some(&mut u), &floor);
        for i in 0..m {
            let (eigenvalue, f) = (a[packed(m, i, i)], &mut f[i]);
            for l in 0..L {
                f[l] = exp(eigenvalue[l]);
            }
        }
        spectral(m, &u, &f, &mut a);
        store(m, &a, rows);
    }
}

#[inline(always)]
fn push_block<const L: usize>(m: usize, tangent: Rows, base: Rows, out: &mut [f64]) {
    let mut log = Logarithm::<L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut w = Lanes::<L>::new(packed_len(m));
    let mut work = Lanes::<L>::new(m * m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        log.compute(m, &base, start, count);
        load_rows(m, &tangent, start, count, &mut v);
        congruence(m, &log.vectors, true, &v, &mut w, &mut work);
        log.divided_difference(m, &mut w, true);
        congruence(m, &log.vectors, false, &w, &mut v, &mut work);
        store_coords(m, &v, rows);
    }
}

#[inline(always)]
fn pull_block<const L: usize>(m: usize, coords: Rows, base: Rows, out: &mut [f64]) {
    let mut log = Logarithm::<L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut w = Lanes::<L>::new(packed_len(m));
    let mut work = Lanes::<L>::new(m * m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        log.compute(m, &base, start, count);
        let shared = coords.is_shared();
        load_coords(m, coords.range(start..start + count).data(), shared, &mut v);
        congruence(m, &log.vectors, true, &v, &mut w, &mut work);
        log.divided_difference(m, &mut w, false);
        congruence(m, &log.vectors, false, &w, &mut v, &mut work);
        store(m, &v, rows);
    }
}
