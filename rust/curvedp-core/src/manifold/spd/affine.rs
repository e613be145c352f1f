//! SPD(m) with the affine-invariant metric <V, W>_P = tr(P^-1 V P^-1 W).
//!
//! With P = G G^T (Cholesky) every map is a spectral function of a whitened matrix:
//! exp_P(V) = G exp(G^-1 V G^-T) G^T, log_P(Q) = G log(G^-1 Q G^-T) G^T,
//! rho(P, Q) = |log lambda(P^-1 Q)|. Sectional curvatures lie in [-1/2, 0].

use super::factors::SpdFactors;
use super::moments::{curvature_function, eigenvalues, sum_log_moments_block};
use super::sum_log::{PlainLog, sum_log_block};
use super::transvection;
use super::whitened::{WhitenedLog, Whitener};
use super::{
    condition, for_size, from_triangle, is_spd, load_rows, project_spd, snap, to_tangent,
    triangle_size, two,
};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::sync::Arc;

use crate::manifold::checked::Checked;
use crate::manifold::{CLIP_LENGTH, LogMoments, LogSums, Manifold, Precise, Range, UNIT_ROUNDOFF};
use crate::messages::Start;
use crate::roots::{Matrices, Space};
use crate::rows::Rows;
use crate::simd::elementary::exp;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::matrices::{
    add_product, congruence, exp_diagonal, load_coords, lower_times_full, packed, packed_len,
    spectral, squared_norm, store, store_coords,
};
use crate::simd::vectorize_widest;

const EPS: f64 = f64::EPSILON;

/// Largest radius of a ball whose points a matrix of doubles tells apart: a condition of e^(22 sqrt 2) = 3e13.
const WIDEST: f64 = 22.0;

/// SPD(m) with the affine-invariant metric.
#[derive(Clone, Copy, Debug)]
pub struct SpdAffine {
    m: usize,
}

impl SpdAffine {
    /// m x m matrices, m >= 1.
    pub fn new(m: usize) -> Self {
        Self { m }
    }

    /// True if matrices of entries do not hold the points of a ball well enough, given the error of their logarithms, and
    /// factors do.
    pub(in crate::manifold) fn needs_factors(log_error: f64, radius: f64) -> bool {
        let worst = 1e-8 * radius;
        log_error > worst && radius <= WIDEST
    }

    /// Rounding of the rotations of 40 sweeps, in unit roundoffs: 9 for each of 20 m (m - 1), and what the
    /// products around them round.
    fn sweeps_rounding(&self) -> f64 {
        let m = self.m as f64;
        9.0 * 20.0 * m * (m - 1.0) + 2.0 * m * m
    }
}

impl Manifold for SpdAffine {
    fn point_size(&self) -> usize {
        self.m * self.m
    }

    fn dim(&self) -> usize {
        packed_len(self.m)
    }

    fn space(&self) -> Space {
        Matrices::symmetric(self.m).into()
    }

    fn spectrum(&self, u: &[f64]) -> Vec<f64> {
        eigenvalues(self.m, u, None)
    }

    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        curvature_function(self.m, u, f, out);
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH
    }

    fn start(&self) -> Start {
        Start::Determinant { order: self.m, is_complex: false }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        is_spd(self.m, point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        project_spd(self.m, point)
    }

    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        snap(self.m, records, valid);
    }

    fn short_size(&self) -> Option<usize> {
        triangle_size(self.m)
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        from_triangle(self.m, rows, out);
    }

    fn to_tangent(&self, vector: Rows, _base: Rows, out: &mut [f64]) {
        to_tangent(self.m, vector, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, exp_block(tangent, base, false, out));
    }

    fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, exp_block(coords, base, true, out));
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, log_block(point, base, false, out));
    }

    fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, log_block(point, base, true, out));
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        for_size!(self.m, dist_block(a, b, out));
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for_size!(self.m, transport_block(tangent, base, end, out));
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, inner_block(a, b, base, out));
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, coords_block(tangent, base, out));
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        for_size!(self.m, from_coords_block(coords, base, out));
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        condition(self.m, point)
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    /// Factors, where matrices would hold logarithms to less than 1 part in 10^8 of the radius, and still hold what is
    /// released.
    fn precise(&self, radius: f64) -> Option<Arc<dyn Precise>> {
        Self::needs_factors(self.log_error(radius), radius)
            .then(|| Arc::new(Checked(SpdFactors::new(self.m, radius))) as Arc<dyn Precise>)
    }

    /// The condition of a whitened matrix amplifies the rounding of its entries: e^(sqrt 2 r) for each of both points.
    fn log_error(&self, radius: f64) -> f64 {
        let growth = FRAC_1_SQRT_2;
        let entries = self.point_size() as f64 + 4.0;
        21.0 * entries * UNIT_ROUNDOFF * (4.0 * radius * growth).exp() * (1.0 / growth)
    }

    fn origin(&self) -> Vec<f64> {
        (0..self.m * self.m).map(|i| if i % (self.m + 1) == 0 { 1.0 } else { 0.0 }).collect()
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for_size!(self.m, congruence_block(point, center, false, out));
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for_size!(self.m, congruence_block(point, center, true, out));
    }

    /// Eigenvalues are off by the rounding of up to 40 sweeps of rotations relative to the largest one, so
    /// logarithms by that times the condition e^(sqrt 2 radius).
    fn dist_origin_error(&self, radius: f64) -> f64 {
        let m = self.m as f64;
        m.sqrt() * self.sweeps_rounding() * UNIT_ROUNDOFF * (SQRT_2 * radius).exp()
    }

    /// Of the condition of a matrix at that distance.
    fn chart_error(&self, radius: f64) -> f64 {
        16.0 * (self.point_size() as f64 + 4.0) * UNIT_ROUNDOFF * (SQRT_2 * radius).exp()
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        for_size!(self.m, sum_block(points, count, weights, base, sum))
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        transvection::log_along(self, self.m, points, times, velocity, base, out);
    }

    /// A Jacobi rotation is orthogonal up to 9 roundings, so the eigenvectors are up to h = 9 N U for the
    /// N rotations of 40 sweeps, and their fourfold products up to 4h; another 4h for the norm of the
    /// eigenvalues compared to that of the logarithm. The sums over m eigenvectors round less.
    fn hessian_rounding(&self) -> f64 {
        8.0 * self.sweeps_rounding()
    }

    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        for_size!(self.m, sum_moments_block(points, count, base, range, sums));
    }
}

fn sum_block<const M: usize, const L: usize>(
    m: usize,
    points: Rows,
    count: usize,
    weights: Option<&[f64]>,
    base: &[f64],
    sum: &mut [f64],
) -> LogSums {
    sum_log_block::<M, L>(m, &mut PlainLog::<M, L>::new(m), points, count, weights, base, sum)
}

fn sum_moments_block<const M: usize, const L: usize>(
    m: usize,
    points: Rows,
    count: usize,
    base: &[f64],
    range: &Range,
    sums: &mut LogMoments,
) {
    let mut log = (Whitener::<M, L>::new(m), WhitenedLog::<M, L>::new(m));
    sum_log_moments_block::<M, L>(m, &mut log, points, count, base, range, sums);
}

fn exp_block<const M: usize, const L: usize>(
    m: usize,
    tangent: Rows,
    base: Rows,
    in_coords: bool,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut u = Lanes::<L>::new(m * m);
    let mut f = Lanes::<L>::new(m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        whitener.factor(&base, start, count);
        if in_coords {
            let shared = tangent.is_shared();
            load_coords::<M, L>(m, tangent.range(start..start + count).data(), shared, &mut a);
        } else {
            load_rows::<M, L>(m, &tangent, start, count, &mut a);
            whitener.whiten(&mut a);
        }
        let mut floor = squared_norm(m, &a);
        for l in 0..L {
            floor[l] *= EPS * EPS;
        }
        diagonalize::<M, L>(m, &mut a, Some(&mut u), &floor);
        exp_diagonal::<M, L>(m, &a, &mut f);
        lower_times_full::<M, L>(m, &whitener.factor, &u, &mut whitener.full);
        spectral::<M, L>(m, &whitener.full, &f, &mut a);
        store::<M, L>(m, &a, rows);
    }
}

fn log_block<const M: usize, const L: usize>(
    m: usize,
    point: Rows,
    base: Rows,
    in_coords: bool,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    let mut log = WhitenedLog::<M, L>::new(m);
    let size = if in_coords { packed_len(m) } else { m * m };
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        log.compute(&mut whitener, (&point, &base), (start, count));
        if in_coords {
            spectral::<M, L>(m, &log.vectors, &log.values, &mut log.far);
            store_coords::<M, L>(m, &log.far, rows);
        } else {
            lower_times_full::<M, L>(m, &whitener.factor, &log.vectors, &mut whitener.full);
            spectral::<M, L>(m, &whitener.full, &log.values, &mut log.far);
            store::<M, L>(m, &log.far, rows);
        }
    }
}

fn dist_block<const M: usize, const L: usize>(m: usize, base: Rows, point: Rows, out: &mut [f64]) {
    if M == 2 {
        return vectorize_widest(
            #[inline(always)]
            || two::dist_block::<L>(base, point, out),
        );
    }
    let mut whitener = Whitener::<M, L>::new(m);
    let mut log = WhitenedLog::<M, L>::new(m);
    for (block, rows) in out.chunks_mut(L).enumerate() {
        let (start, count) = (block * L, rows.len());
        log.compute_values(&mut whitener, (&point, &base), (start, count));
        let mut square = [0.0; L];
        for value in log.values.iter() {
            add_product(&mut square, value, value, 1.0);
        }
        for (l, entry) in rows.iter_mut().enumerate() {
            *entry = square[l].sqrt();
        }
    }
}

/// x <- exp(x / 2)
#[inline(never)]
fn half_exp<const L: usize>(values: &mut [Lane<L>]) {
    vectorize_widest(
        #[inline(always)]
        || values.as_flattened_mut().iter_mut().for_each(|x| *x = exp(0.5 * *x)),
    );
}

fn transport_block<const M: usize, const L: usize>(
    m: usize,
    tangent: Rows,
    base: Rows,
    end: Rows,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    let mut log = WhitenedLog::<M, L>::new(m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut root = Lanes::<L>::new(packed_len(m));
    let mut root_full = Lanes::<L>::new(m * m);
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        log.compute(&mut whitener, (&end, &base), (start, count));
        half_exp(&mut log.values);
        spectral::<M, L>(m, &log.vectors, &log.values, &mut root);
        for i in 0..m {
            for j in i..m {
                root_full[i * m + j] = root[packed(m, i, j)];
                root_full[j * m + i] = root[packed(m, i, j)];
            }
        }
        load_rows::<M, L>(m, &tangent, start, count, &mut v);
        whitener.whiten(&mut v);
        congruence::<M, L>(m, &root_full, false, &v, &mut log.far, &mut whitener.full);
        whitener.unwhiten(&mut log.far);
        store::<M, L>(m, &log.far, rows);
    }
}

fn inner_block<const M: usize, const L: usize>(
    m: usize,
    a: Rows,
    b: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let lane = [0.0; L];
    let mut whitener = Whitener::<M, L>::new(m);
    let mut x = Lanes::<L>::new(packed_len(m));
    let mut y = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L).enumerate() {
        let (start, count) = (block * L, rows.len());
        whitener.factor(&base, start, count);
        load_rows::<M, L>(m, &a, start, count, &mut x);
        load_rows::<M, L>(m, &b, start, count, &mut y);
        whitener.whiten(&mut x);
        whitener.whiten(&mut y);
        let mut sum = lane;
        for i in 0..m {
            for j in i..m {
                let k = packed(m, i, j);
                add_product(&mut sum, &x[k], &y[k], if i == j { 1.0 } else { 2.0 });
            }
        }
        rows.copy_from_slice(&sum[..count]);
    }
}

fn coords_block<const M: usize, const L: usize>(
    m: usize,
    tangent: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    let mut a = Lanes::<L>::new(packed_len(m));
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        whitener.factor(&base, start, count);
        load_rows::<M, L>(m, &tangent, start, count, &mut a);
        whitener.whiten(&mut a);
        store_coords::<M, L>(m, &a, rows);
    }
}

fn from_coords_block<const M: usize, const L: usize>(
    m: usize,
    coords: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    let mut a = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        let (start, count) = (block * L, rows.len() / (m * m));
        whitener.factor(&base, start, count);
        let shared = coords.is_shared();
        load_coords::<M, L>(m, coords.range(start..start + count).data(), shared, &mut a);
        whitener.unwhiten(&mut a);
        store::<M, L>(m, &a, rows);
    }
}

/// X -> G X G^T with C = G G^T (`outward`), or its inverse: the isometry between I and the centre C.
fn congruence_block<const M: usize, const L: usize>(
    m: usize,
    point: Rows,
    center: &[f64],
    outward: bool,
    out: &mut [f64],
) {
    let mut whitener = Whitener::<M, L>::new(m);
    whitener.factor(&Rows::shared(center), 0, 1);
    let mut a = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        load_rows::<M, L>(m, &point, block * L, rows.len() / (m * m), &mut a);
        if outward {
            whitener.unwhiten(&mut a);
        } else {
            whitener.whiten(&mut a);
        }
        store::<M, L>(m, &a, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::elementary::ln_1p;

    #[test]
    fn near_points_keep_relative_accuracy() {
        let spd = SpdAffine::new(2);
        let p = [2.0, 0.3, 0.3, 1.0];
        let h = 1e-9;
        let q = [2.0 + h, 0.3, 0.3, 1.0];
        let mut d = [0.0];
        spd.dist(Rows::new(&p, 4), Rows::new(&q, 4), &mut d);
        // rho = |P^-1/2 (Q-P) P^-1/2| to first order: h (P^-1)_00, and h is q[0] - p[0] exactly
        let step = q[0] - p[0];
        let first = step * 1.0 / (2.0 - 0.09);
        assert!((d[0] / first - 1.0).abs() < 2e-9, "{} {}", d[0], first);
        let second = ln_1p(first);
        assert!((d[0] / second - 1.0).abs() < 1e-14);
    }
}
