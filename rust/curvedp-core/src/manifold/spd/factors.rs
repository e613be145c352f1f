//! SPD(m) with the affine-invariant metric, where points are lower triangular factors: the row G stands for GG^T,
//! exactly. It serves balls in which matrices of entries would lose the small eigenvalues.
//!
//! Tangent vectors are coordinates: V at GG^T stands for G V G^T.

use super::BlockLog;
use super::certified::{CertifiedLog, Extent, load_lower, store_lower};
use super::moments::{curvature_function, eigenvalues, sum_log_moments_block};
use super::sum_log::sum_log_block;
use crate::manifold::chart::tangents_are_coordinates;
use crate::manifold::{CLIP_LENGTH, LogMoments, LogSums, Manifold, Precise, Range, UNIT_ROUNDOFF};
use crate::roots::{Matrices, Space};
use crate::rows::Rows;
use crate::simd::elementary::exp;
use crate::simd::jacobi::diagonalize;
use crate::simd::lanes::Lanes;
use crate::simd::matrices::{
    add_product, cholesky, congruence, load, load_coords, lower_times_full, packed, packed_len,
    spectral, squared_norm, store, store_coords,
};
use crate::simd::precise::{PreciseLanes, invert, lower_product};
use crate::simd::rotations::lower_triangle;
use crate::vector::norm;
use std::f64::consts::SQRT_2;

/// Compiles a kernel for the orders of most matrices, and for all.
macro_rules! for_order {
    ($m:expr, $kernel:ident ( $($arg:expr),* $(,)? )) => {
        match $m {
            2 => $kernel::<2, 16>(2, $($arg),*),
            3 => $kernel::<3, 32>(3, $($arg),*),
            m => $kernel::<0, 8>(m, $($arg),*),
        }
    };
}

/// SPD(m), for points of the ball of this radius about the identity.
#[derive(Clone, Copy, Debug)]
pub struct SpdFactors {
    m: usize,
    extent: Extent,
}

impl SpdFactors {
    /// m x m matrices, m >= 1.
    pub fn new(m: usize, radius: f64) -> Self {
        Self { m, extent: Extent::new(radius) }
    }

    /// For points all of whose eigenvalues come in pairs of equal ones.
    pub(in crate::manifold) fn doubled(m: usize, radius: f64) -> Self {
        Self { m, extent: Extent { radius, rate: 1.0 } }
    }

    /// Bound on the error of logarithms between points within `radius` of the identity.
    fn certified_error(&self, radius: f64) -> f64 {
        self.extent.at_least(radius).log_error(self.m)
    }

    /// Bound on how far rounding moves the end of a safe step, at most sqrt 2 long, which is pulled back to the ball. What
    /// a product and the rotations to a triangle round is relative to the factor's norm, so its condition amplifies it;
    /// the eigenvectors of the step need not be orthogonal to the last digit.
    fn step_error(&self, radius: f64) -> f64 {
        let size = (self.m as f64).powf(1.5);
        let of_factor = 160.0 * size * (radius * (0.5 * self.extent.rate)).exp();
        (of_factor + 256.0 * size * (2.0 + 2.0 * radius)) * UNIT_ROUNDOFF
    }
}

impl Precise for SpdFactors {
    fn own_size(&self) -> usize {
        self.m * self.m
    }

    fn from_points(&self, points: Rows, out: &mut [f64]) {
        for_order!(self.m, factor_block(points, out));
    }

    fn to_points(&self, points: Rows, out: &mut [f64]) {
        for_order!(self.m, square_block(points, out));
    }
}

impl Manifold for SpdFactors {
    fn point_size(&self) -> usize {
        packed_len(self.m)
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

    fn belongs(&self, point: &[f64], _tolerance: f64) -> bool {
        let diagonal = (0..self.m).all(|i| point[packed(self.m, i, i)] > 0.0);
        diagonal && point.iter().all(|x| x.is_finite())
    }

    /// Makes the diagonal positive.
    fn project(&self, point: &mut [f64]) -> bool {
        (0..self.m).map(|i| packed(self.m, i, i)).for_each(|at| point[at] = point[at].abs());
        self.belongs(point, 0.0)
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for_order!(self.m, exp_block(tangent, base, out));
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for_order!(self.m, log_block(self.extent, point, base, out));
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        for_order!(self.m, dist_block(self.extent, a, b, false, out));
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for_order!(self.m, transport_block(self.extent, tangent, base, end, out));
    }

    tangents_are_coordinates!();

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; packed_len(self.m)];
        (0..self.m).for_each(|i| origin[packed(self.m, i, i)] = 1.0);
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for_order!(self.m, translate_block(point, center, false, out));
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for_order!(self.m, translate_block(point, center, true, out));
    }

    /// By a step from the point: the way over coordinates at the origin would stretch their rounding.
    fn pull(&self, point: &mut [f64], dist: f64) {
        let mut step = vec![0.0; self.dim()];
        self.log_coords(Rows::shared(&self.origin()), Rows::shared(point), &mut step);
        let share = 1.0 - dist / norm(&step);
        step.iter_mut().for_each(|x| *x *= share);
        let from = point.to_vec();
        self.exp_coords(Rows::shared(&step), Rows::shared(&from), point);
    }

    /// Infinite where the logarithm has no bound.
    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        let origin = self.origin();
        for_order!(self.m, dist_block(self.extent, Rows::shared(&origin), point, true, out));
    }

    fn dist_origin_error(&self, radius: f64) -> f64 {
        self.certified_error(radius)
    }

    fn chart_error(&self, radius: f64) -> f64 {
        self.certified_error(radius)
    }

    /// That of logarithms, and of steps times the largest eigenvalue of the Hessian.
    fn log_error(&self, radius: f64) -> f64 {
        let reach = SQRT_2 * radius; // 2r at the rate 1/sqrt 2
        let hessian = 1.0 + reach; // at least reach coth reach
        self.certified_error(radius) + hessian * self.step_error(radius)
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        for_order!(self.m, sum_block(self.extent, points, count, weights, base, sum))
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let mut moved = vec![0.0; times.len() * self.dim()];
        self.centre(points, base, &mut moved);
        let rows = Rows::new(&moved, self.dim());
        let mut back = vec![0.0; moved.len()];
        for_order!(self.m, contract_block(rows, times, velocity, &mut back));
        self.log_origin(Rows::new(&back, self.dim()), out);
    }

    /// Eigenvectors are orthogonal up to the rounding of their rotations.
    fn hessian_rounding(&self) -> f64 {
        let order = self.m as f64;
        8.0 * (180.0 * order * order + 8.0)
    }

    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        for_order!(self.m, sum_moments_block(self.extent, points, count, base, range, sums));
    }
}

fn sum_block<const M: usize, const L: usize>(
    m: usize,
    extent: Extent,
    points: Rows,
    count: usize,
    weights: Option<&[f64]>,
    base: &[f64],
    sum: &mut [f64],
) -> LogSums {
    let mut log = CertifiedLog::<M, L>::new(m, extent);
    sum_log_block::<M, L>(m, &mut log, points, count, weights, base, sum)
}

fn sum_moments_block<const M: usize, const L: usize>(
    m: usize,
    extent: Extent,
    points: Rows,
    count: usize,
    base: &[f64],
    range: &Range,
    sums: &mut LogMoments,
) {
    let mut log = CertifiedLog::<M, L>::new(m, extent);
    sum_log_moments_block::<M, L>(m, &mut log, points, count, base, range, sums);
}

/// Cholesky factors of matrices.
fn factor_block<const M: usize, const L: usize>(m: usize, points: Rows, out: &mut [f64]) {
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut inverse = Lanes::<L>::new(m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        load::<M, L>(m, points.range(start..start + count).data(), &mut a);
        cholesky::<M, L>(m, &mut a, &mut inverse);
        store_lower(m, &a, rows);
    }
}

/// GG^T.
fn square_block<const M: usize, const L: usize>(m: usize, points: Rows, out: &mut [f64]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut a = Lanes::<L>::new(packed_len(m));
    for (block, rows) in out.chunks_mut(L * m * m).enumerate() {
        load_lower(&points, block * L, rows.len() / (m * m), m, &mut g);
        for i in 0..m {
            for j in i..m {
                let mut sum = [0.0; L];
                for k in 0..=i {
                    add_product(&mut sum, &g[packed(m, k, i)], &g[packed(m, k, j)], 1.0);
                }
                a[packed(m, i, j)] = sum;
            }
        }
        store::<M, L>(m, &a, rows);
    }
}

/// The triangle of G e^(V/2).
fn exp_block<const M: usize, const L: usize>(m: usize, tangent: Rows, base: Rows, out: &mut [f64]) {
    let mut g = Lanes::<L>::new(packed_len(m));
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut u = Lanes::<L>::new(m * m);
    let mut full = Lanes::<L>::new(m * m);
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        load_lower(&base, start, count, m, &mut g);
        let shared = tangent.is_shared();
        load_coords::<M, L>(m, tangent.range(start..start + count).data(), shared, &mut a);
        let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
        diagonalize::<M, L>(m, &mut a, Some(&mut u), &floor);
        for k in 0..m {
            let growth = a[packed(m, k, k)].map(|x| exp(0.5 * x));
            for i in 0..m {
                for l in 0..L {
                    u[i * m + k][l] *= growth[l];
                }
            }
        }
        lower_times_full::<M, L>(m, &g, &u, &mut full);
        lower_triangle::<M, L>(m, &mut full, &mut a);
        store_lower(m, &a, rows);
    }
}

fn log_block<const M: usize, const L: usize>(
    m: usize,
    extent: Extent,
    point: Rows,
    base: Rows,
    out: &mut [f64],
) {
    let mut log = CertifiedLog::<M, L>::new(m, extent);
    let mut a = Lanes::<L>::new(packed_len(m));
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        log.compute(&point, &base, block * L, rows.len() / size);
        let (values, vectors) = log.spectrum();
        spectral::<M, L>(m, vectors, values, &mut a);
        store_coords::<M, L>(m, &a, rows);
    }
}

/// Distances, infinite where `certain` ones are asked for and there is no bound.
fn dist_block<const M: usize, const L: usize>(
    m: usize,
    extent: Extent,
    base: Rows,
    point: Rows,
    certain: bool,
    out: &mut [f64],
) {
    let mut log = CertifiedLog::<M, L>::new(m, extent);
    for (block, rows) in out.chunks_mut(L).enumerate() {
        log.compute(&point, &base, block * L, rows.len());
        for (l, out) in rows.iter_mut().enumerate() {
            *out = if certain && !log.is_certain(l) { f64::INFINITY } else { log.dist[l] };
        }
    }
}

/// V -> O^T V O, where O turns the frame of the moved base point into that of the end.
fn transport_block<const M: usize, const L: usize>(
    m: usize,
    extent: Extent,
    tangent: Rows,
    base: Rows,
    end: Rows,
    out: &mut [f64],
) {
    let mut log = CertifiedLog::<M, L>::new(m, extent);
    let mut turn = Lanes::<L>::new(m * m);
    let mut work = Lanes::<L>::new(m * m);
    let mut v = Lanes::<L>::new(packed_len(m));
    let mut moved = Lanes::<L>::new(packed_len(m));
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        log.compute(&end, &base, start, count);
        log.rotation(&mut turn);
        let shared = tangent.is_shared();
        load_coords::<M, L>(m, tangent.range(start..start + count).data(), shared, &mut v);
        congruence::<M, L>(m, &turn, true, &v, &mut moved, &mut work);
        store_coords::<M, L>(m, &moved, rows);
    }
}

/// C^-1 K, or CK where `outward`.
fn translate_block<const M: usize, const L: usize>(
    m: usize,
    point: Rows,
    center: &[f64],
    outward: bool,
    out: &mut [f64],
) {
    let size = packed_len(m);
    let mut c = PreciseLanes::<L>::new(size);
    load_lower(&Rows::shared(center), 0, L, m, &mut c.high);
    if !outward {
        let mut inverse = PreciseLanes::<L>::new(size);
        invert::<M, L>(m, &c.high, &mut inverse);
        c = inverse;
    }
    let mut k = Lanes::<L>::new(size);
    let mut product = PreciseLanes::<L>::new(size);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        load_lower(&point, block * L, rows.len() / size, m, &mut k);
        lower_product::<M, L>(m, &c, &k, &mut product);
        store_lower(m, &product.high, rows);
    }
}

/// The triangle of e^(-tV/2) K for the velocity V.
fn contract_block<const M: usize, const L: usize>(
    m: usize,
    points: Rows,
    times: &[f64],
    velocity: &[f64],
    out: &mut [f64],
) {
    let mut a = Lanes::<L>::new(packed_len(m));
    let mut u = Lanes::<L>::new(m * m);
    let mut k = Lanes::<L>::new(packed_len(m));
    let mut full = Lanes::<L>::new(m * m);
    let mut scaled = Lanes::<L>::new(m * m);
    load_coords::<M, L>(m, velocity, true, &mut a);
    let floor = squared_norm(m, &a).map(|square| square * f64::EPSILON * f64::EPSILON);
    diagonalize::<M, L>(m, &mut a, Some(&mut u), &floor);
    let rates: Vec<f64> = (0..m).map(|i| -0.5 * a[packed(m, i, i)][0]).collect();
    let size = packed_len(m);
    for (block, rows) in out.chunks_mut(L * size).enumerate() {
        let (start, count) = (block * L, rows.len() / size);
        load_lower(&points, start, count, m, &mut k);
        // e^(-tV/2) K = U (e^(-t lambda/2) U^T K)
        for i in 0..m {
            for j in 0..m {
                let mut sum = [0.0; L];
                for r in j..m {
                    add_product(&mut sum, &u[r * m + i], &k[packed(m, j, r)], 1.0);
                }
                for l in 0..count {
                    sum[l] *= exp(times[start + l] * rates[i]);
                }
                scaled[i * m + j] = sum;
            }
        }
        for i in 0..m {
            for j in 0..m {
                let mut sum = [0.0; L];
                for r in 0..m {
                    add_product(&mut sum, &u[i * m + r], &scaled[r * m + j], 1.0);
                }
                full[i * m + j] = sum;
            }
        }
        lower_triangle::<M, L>(m, &mut full, &mut k);
        store_lower(m, &k, rows);
    }
}
