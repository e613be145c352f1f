//! Hermitian positive definite m x m matrices with the metric <V, W>_P = Re tr(P^-1 V P^-1 W).
//!
//! As real matrices of order 2m (see [`embedding`]) they are a totally geodesic part of SPD(2m), in whose metric
//! lengths are sqrt 2 times as long: geodesics, logarithms and transport are those of SPD(2m), with its bounds on
//! rounding. Restricted roots (l_i - l_j)/2 have multiplicity 2, sectional curvatures lie in [-1/2, 0]
//! (docs/proofs/hermitian-matrices.md).
//!
//! Points and tangent vectors are full row-major matrices, real and imaginary part of an entry in turn, which is
//! how complex numbers lie in memory. Tangent coordinates are the upper triangle row by row, real and imaginary
//! parts beside the diagonal times sqrt 2.

mod embedding;

use embedding::{Form, copies};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::sync::Arc;

use super::curvature::scalar;
use super::spd::{SpdAffine, SpdFactors, curvature_function, eigenvalues};
use super::{
    CLIP_LENGTH, LogMoments, LogSums, Manifold, Precise, RECORD_TOLERANCE, Range, moments,
};
use crate::manifold::checked::Checked;
use crate::messages::Start;
use crate::roots::{Matrices, Space};
use crate::rows::Rows;
use crate::simd::matrices::{hermitian_diagonal, packed_len};

/// Complex matrices in the form of those real ones.
pub trait Real: Manifold + Copy + 'static {
    /// True if points are upper triangles of adjoint factors G^*, which stand for G G^*.
    const IS_FACTOR: bool;

    /// The radius at which error bounds hold for the images of points within `radius` of the origin: lengths
    /// are longer there, the condition of matrices is not.
    fn radius(radius: f64) -> f64;

    /// The same complex points in numbers that hold those of a ball better; see [`Manifold::precise`].
    fn factors(m: usize, log_error: f64, radius: f64) -> Option<Arc<dyn Precise>>;
}

impl Real for SpdAffine {
    const IS_FACTOR: bool = false;

    /// Its bounds depend on the condition alone.
    fn radius(radius: f64) -> f64 {
        radius
    }

    fn factors(m: usize, log_error: f64, radius: f64) -> Option<Arc<dyn Precise>> {
        Self::needs_factors(log_error, radius)
            .then(|| Arc::new(Checked(HpdFactors::new(m, radius))) as Arc<dyn Precise>)
    }
}

impl Real for SpdFactors {
    const IS_FACTOR: bool = true;

    fn radius(radius: f64) -> f64 {
        SQRT_2 * radius
    }

    fn factors(_: usize, _: f64, _: f64) -> Option<Arc<dyn Precise>> {
        None
    }
}

/// Hermitian positive definite matrices by the real ones of twice the order.
#[derive(Clone, Copy, Debug)]
pub struct Hermitian<R> {
    m: usize,
    real: R,
}

/// Matrices of entries.
pub type Hpd = Hermitian<SpdAffine>;

/// Lower triangular factors: the row G^* stands for G G^*, exactly. They serve balls in which matrices of entries would
/// lose the small eigenvalues. Tangent vectors are coordinates: V at G G^* stands for G V G^*.
pub type HpdFactors = Hermitian<SpdFactors>;

impl Hpd {
    /// m x m matrices, m >= 1.
    pub fn new(m: usize) -> Self {
        Self { m, real: SpdAffine::new(2 * m) }
    }
}

impl HpdFactors {
    /// For points of the ball of this radius about the identity.
    pub fn new(m: usize, radius: f64) -> Self {
        Self { m, real: SpdFactors::doubled(2 * m, SQRT_2 * radius) }
    }
}

impl<R: Real> Hermitian<R> {
    /// Form of points and tangent vectors.
    const FORM: Form = if R::IS_FACTOR { Form::Triangle } else { Form::Matrix };

    /// Applies a map of rows of SPD(2m).
    fn by_real<const K: usize>(
        &self,
        inputs: [(Form, Rows); K],
        form: Form,
        out: &mut [f64],
        map: impl FnOnce(&R, [Rows; K], &mut [f64]),
    ) {
        let count = out.len() / form.size(self.m);
        let inputs = inputs.map(|(form, rows)| form.spread(self.m, rows, count));
        let mut real = vec![0.0; count * form.real_size(self.m)];
        map(&self.real, std::array::from_fn(|k| inputs[k].rows()), &mut real);
        form.gather(self.m, &real, out);
    }

    /// Applies a function of rows of SPD(2m), times `unit`.
    fn numbers<const K: usize>(
        &self,
        inputs: [Rows; K],
        unit: f64,
        out: &mut [f64],
        function: impl FnOnce(&R, [Rows; K], &mut [f64]),
    ) {
        let inputs = inputs.map(|rows| Self::FORM.spread(self.m, rows, out.len()));
        function(&self.real, std::array::from_fn(|k| inputs[k].rows()), out);
        out.iter_mut().for_each(|x| *x *= unit);
    }
}

impl<R: Real> Manifold for Hermitian<R> {
    fn point_size(&self) -> usize {
        Self::FORM.size(self.m)
    }

    fn dim(&self) -> usize {
        self.m * self.m
    }

    fn space(&self) -> Space {
        Matrices::hermitian(self.m).into()
    }

    fn spectrum(&self, u: &[f64]) -> Vec<f64> {
        let mut values = eigenvalues(2 * self.m, &spread(self.m, u), None);
        values.sort_by(f64::total_cmp);
        values.chunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect()
    }

    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        hermitian_function(self.m, u, f, out);
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH
    }

    fn start(&self) -> Start {
        if R::IS_FACTOR {
            Start::None
        } else {
            Start::Determinant { order: self.m, is_complex: true }
        }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        if R::IS_FACTOR {
            let positive = (0..self.m).all(|i| point[hermitian_diagonal(self.m, i)] > 0.0);
            return positive && point.iter().all(|x| x.is_finite());
        }
        let mut point = point.to_vec();
        symmetrize(self.m, &mut point, tolerance)
            && self
                .real
                .belongs(Form::Matrix.spread(self.m, Rows::shared(&point), 1).rows().row(0), 0.0)
    }

    /// The Hermitian part with eigenvalues lifted as those of real matrices are; of factors, the diagonal made
    /// positive.
    fn project(&self, point: &mut [f64]) -> bool {
        if R::IS_FACTOR {
            (0..self.m)
                .map(|i| hermitian_diagonal(self.m, i))
                .for_each(|at| point[at] = point[at].abs());
            return self.belongs(point, 0.0);
        }
        if !symmetrize(self.m, point, f64::INFINITY) {
            return false;
        }
        if self.belongs(point, 0.0) {
            return true;
        }
        let mut real = Form::Matrix.spread(self.m, Rows::shared(point), 1).rows().data().to_vec();
        let found = self.real.project(&mut real);
        Form::Matrix.gather(self.m, &real, point);
        found && self.belongs(point, 0.0)
    }

    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        let size = self.point_size();
        if R::IS_FACTOR {
            for (row, valid) in records.chunks_exact_mut(size).zip(valid) {
                *valid = self.belongs(row, RECORD_TOLERANCE) && self.project(row);
            }
            return;
        }
        let mut near: Vec<bool> = records
            .chunks_exact_mut(size)
            .map(|row| symmetrize(self.m, row, RECORD_TOLERANCE))
            .collect();
        let real = Form::Matrix.spread(self.m, Rows::new(records, size), valid.len());
        let mut real = real.rows().data().to_vec();
        self.real.snap(&mut real, valid);
        valid.iter_mut().zip(&mut near).for_each(|(valid, near)| *valid &= *near);
    }

    fn to_tangent(&self, vector: Rows, _base: Rows, out: &mut [f64]) {
        vector.copy_to(out);
        if !R::IS_FACTOR {
            out.chunks_exact_mut(self.point_size()).for_each(|row| {
                symmetrize(self.m, row, f64::INFINITY);
            });
        }
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Self::FORM, tangent), (Self::FORM, base)];
        self.by_real(inputs, Self::FORM, out, |real, [v, p], out| real.exp(v, p, out));
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Self::FORM, point), (Self::FORM, base)];
        self.by_real(inputs, Self::FORM, out, |real, [q, p], out| real.log(q, p, out));
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        self.numbers([a, b], FRAC_1_SQRT_2, out, |real, [a, b], out| real.dist(a, b, out));
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let inputs = [tangent, base, end].map(|rows| (Self::FORM, rows));
        self.by_real(inputs, Self::FORM, out, |real, [v, p, q], out| {
            real.parallel_transport(v, p, q, out);
        });
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        self.numbers([a, b, base], 0.5, out, |real, [a, b, p], out| real.inner(a, b, p, out));
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Self::FORM, tangent), (Self::FORM, base)];
        self.by_real(inputs, Form::Triangle, out, |real, [v, p], out| real.coords(v, p, out));
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Form::Triangle, coords), (Self::FORM, base)];
        self.by_real(inputs, Self::FORM, out, |real, [u, p], out| real.from_coords(u, p, out));
    }

    fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Form::Triangle, coords), (Self::FORM, base)];
        self.by_real(inputs, Self::FORM, out, |real, [u, p], out| real.exp_coords(u, p, out));
    }

    fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let inputs = [(Self::FORM, point), (Self::FORM, base)];
        self.by_real(inputs, Form::Triangle, out, |real, [q, p], out| real.log_coords(q, p, out));
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        self.real.conditioning(Self::FORM.spread(self.m, Rows::shared(point), 1).rows().row(0))
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn precise(&self, radius: f64) -> Option<Arc<dyn Precise>> {
        R::factors(self.m, self.log_error(radius), radius)
    }

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.point_size()];
        Self::FORM.gather(self.m, &self.real.origin(), &mut origin);
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let inputs = [(Self::FORM, point), (Self::FORM, Rows::shared(center))];
        self.by_real(inputs, Self::FORM, out, |real, [q, c], out| real.centre(q, c.row(0), out));
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let inputs = [(Self::FORM, point), (Self::FORM, Rows::shared(center))];
        self.by_real(inputs, Self::FORM, out, |real, [q, c], out| real.uncentre(q, c.row(0), out));
    }

    /// Infinite where the logarithm has no bound, for factors.
    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        self.numbers([point], FRAC_1_SQRT_2, out, |real, [q], out| real.dist_origin(q, out));
    }

    // Bounds of lengths in SPD(2m) are sqrt 2 times those of lengths here, which leaves room for the rounding of
    // the averages.

    fn dist_origin_error(&self, radius: f64) -> f64 {
        self.real.dist_origin_error(R::radius(radius))
    }

    fn chart_error(&self, radius: f64) -> f64 {
        self.real.chart_error(R::radius(radius))
    }

    fn log_error(&self, radius: f64) -> f64 {
        self.real.log_error(R::radius(radius))
    }

    fn pull(&self, point: &mut [f64], dist: f64) {
        let mut real = Self::FORM.spread(self.m, Rows::shared(point), 1).rows().data().to_vec();
        self.real.pull(&mut real, SQRT_2 * dist);
        Self::FORM.gather(self.m, &real, point);
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let points = Self::FORM.spread(self.m, points, count);
        let base = Self::FORM.spread(self.m, Rows::shared(base), 1);
        let (points, base) = (points.rows(), base.rows());
        let mut real = vec![0.0; self.real.dim()];
        let mut own = vec![0.0; self.dim()];
        let found = self.real.sum_log(points, count, weights, base.row(0), &mut real);
        Form::Triangle.gather(self.m, &real, &mut own);
        sum.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
        // traces of Hessians: for each pair of eigenvalues four terms there, two here, and 3 m and m times 1
        let weight = weights.map_or(count as f64, |weights| weights[..count].iter().sum());
        let trace = found.curvature * self.real.dim() as f64;
        LogSums {
            squared_dist: 0.5 * found.squared_dist,
            curvature: 0.5 * (trace - weight * self.m as f64) / self.dim() as f64,
        }
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let shared = Rows::shared;
        let inputs =
            [(Self::FORM, points), (Form::Triangle, shared(velocity)), (Self::FORM, shared(base))];
        self.by_real(inputs, Form::Triangle, out, |real, [points, velocity, base], out| {
            real.log_along(points, times, velocity.row(0), base.row(0), out);
        });
    }

    /// That of SPD(2m), whose Hessians have sqrt 2 times the norm, and of the averages.
    fn hessian_rounding(&self) -> f64 {
        SQRT_2 * self.real.hessian_rounding() + 4.0
    }

    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        let log = |rows, out: &mut [f64]| {
            self.log_coords(points.range(rows), Rows::shared(base), out);
        };
        moments::sum_by_planes(&log, (&[], self.dim()), count, range, sums);
        let Some(excess) = &mut sums.excess else { return };
        let points = Self::FORM.spread(self.m, points, count);
        let base = Self::FORM.spread(self.m, Rows::shared(base), 1);
        let (points, base, dim) = (points.rows(), base.rows(), self.real.dim());
        let mut real = LogMoments::zero(dim, true);
        let range = range.stretched(SQRT_2, dim);
        self.real.sum_log_moments(points, count, base.row(0), &range, &mut real);
        if let Some(real) = &real.excess {
            add_restricted(self.m, real, excess);
        }
    }
}

impl Precise for HpdFactors {
    fn own_size(&self) -> usize {
        Form::Matrix.size(self.m)
    }

    fn from_points(&self, points: Rows, out: &mut [f64]) {
        let inputs = [(Form::Matrix, points)];
        self.by_real(inputs, Form::Triangle, out, |real, [q], out| real.from_points(q, out));
    }

    fn to_points(&self, points: Rows, out: &mut [f64]) {
        let inputs = [(Form::Triangle, points)];
        self.by_real(inputs, Form::Matrix, out, |real, [q], out| real.to_points(q, out));
    }
}

/// (A + A^*)/2 in place; true if A was finite and Hermitian up to `tolerance` times its largest number.
fn symmetrize(m: usize, a: &mut [f64], tolerance: f64) -> bool {
    let (mut largest, mut defect, mut finite) = (0.0_f64, 0.0_f64, 0.0);
    for x in a.iter() {
        largest = largest.max(x.abs());
        finite += 0.0 * x;
    }
    for i in 0..m {
        for j in 0..=i {
            let (below, above) = (2 * (i * m + j), 2 * (j * m + i));
            for (part, sign) in [(0, 1.0), (1, -1.0)] {
                let (x, y) = (a[below + part], sign * a[above + part]);
                defect = defect.max((x - y).abs());
                let mean = 0.5 * (x + y);
                (a[below + part], a[above + part]) = (mean, sign * mean);
            }
            if i == j {
                a[below + 1] = 0.0;
            }
        }
    }
    finite == 0.0 && defect <= tolerance * largest
}

/// Adds the restriction of a quadratic form on SPD(2m) (upper triangle), lengths being sqrt 2 times as long there.
fn add_restricted(m: usize, real: &[f64], out: &mut [f64]) {
    let (dim, width) = (m * m, packed_len(2 * m));
    let copies: Vec<_> = copies(m).collect();
    for (i, rows) in copies.iter().enumerate() {
        for (j, columns) in copies.iter().enumerate().skip(i) {
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            let sum: f64 = pairs
                .map(|((a, s), (b, t))| s * t * real[(*a).min(*b) * width + (*a).max(*b)])
                .sum();
            out[i * dim + j] += 0.5 * sum;
        }
    }
}

/// Coordinates in SPD(2m) of the matrix with coordinates `u`.
fn spread(m: usize, u: &[f64]) -> Vec<f64> {
    Form::Triangle.spread(m, Rows::shared(u), 1).rows().data().to_vec()
}

/// f(R_u), with eigenvalues f(-(l_i - l_j)^2/4), each twice, for the eigenvalues l of the matrix with coordinates `u`.
fn hermitian_function(m: usize, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
    let width = packed_len(2 * m);
    let mut real = vec![0.0; width * width];
    curvature_function(2 * m, &spread(m, u), f, &mut real);
    scalar(u.len(), 0.0, out);
    add_restricted(m, &real, out);
    for i in 0..u.len() {
        for j in 0..i {
            out[i * u.len() + j] = out[j * u.len() + i];
        }
    }
}
