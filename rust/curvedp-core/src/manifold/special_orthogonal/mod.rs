//! Rotations of R^n: matrices with orthonormal columns and determinant 1, rho^2 = sum of the squared angles of
//! R^T S in the planes that it turns (docs/proofs/special-orthogonal.md).
//!
//! The tangent vector R X at R, X skew, has the coordinates X_ij, i > j, row by row.
//!
//! Unitary matrices of order n are the rotations of R^2n that commute with the product by i: the same code serves them, by
//! blocks of two (see [`complex`]). Their points are real and imaginary parts of entries in turn.

mod chart;
mod complex;
mod planes;
mod turn;

pub use chart::RotationChart;
use turn::{Log, identity, rotation, skew_part, turned_back};

use super::chart as compact;
use super::chart::Turning;
use super::matrix::{Matrix, Spectrum};
use super::{Embedding, LogSums, Manifold};
use crate::manifold::checked::Checked;
use crate::messages::Start;
use crate::roots::{Compact, Space};
use crate::rows::Rows;
use crate::vector::norm;

/// Largest error of R^T R at which two Newton steps round a matrix onto the rotations.
const NEAR: f64 = 1e-4;

/// Largest error of R^T R at which a matrix is a rotation up to rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Gap of two singular values, relative to the largest, below which no rotation is the closest.
const GAP: f64 = 1e-7;

/// The skew matrix with these entries below the diagonal.
fn skew(n: usize, coords: &[f64]) -> Matrix {
    let below = |i: usize, j: usize| coords[i * (i - 1) / 2 + j];
    Matrix::from(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Greater => below(i, j),
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Less => -below(j, i),
    })
}

/// The entries below the diagonal of a skew matrix.
fn read(x: &Matrix, coords: &mut [f64]) {
    let mut out = coords.iter_mut();
    for i in 0..x.rows {
        (0..i).zip(&mut out).for_each(|(j, out)| *out = x.at(i, j));
    }
}

/// The sign of the determinant, by elimination with pivots.
fn turns_orientation(matrix: &Matrix) -> bool {
    let n = matrix.rows;
    let (mut left, mut negative) = (matrix.clone(), false);
    for j in 0..n {
        let pivot = (j..n).max_by(|a, b| left.at(*a, j).abs().total_cmp(&left.at(*b, j).abs()));
        let pivot = pivot.unwrap_or(j);
        if pivot != j {
            (0..n).for_each(|k| left.data.swap(pivot * n + k, j * n + k));
            negative = !negative;
        }
        let own = left.at(j, j);
        negative ^= own < 0.0;
        for i in j + 1..n {
            let factor = if own == 0.0 { 0.0 } else { left.at(i, j) / own };
            (j..n).for_each(|k| left.data[i * n + k] -= factor * left.at(j, k));
        }
    }
    negative
}

/// Largest entry of R^T R - I; infinite for a matrix that turns orientation or is not finite.
fn defect(matrix: &Matrix) -> f64 {
    let defect = matrix.defect();
    if defect < 0.5 && turns_orientation(matrix) { f64::INFINITY } else { defect }
}

/// The closest rotation: U V^T for singular vectors, with the shortest of U turned over if the determinant asks for it.
fn closest(matrix: &Matrix) -> Option<Matrix> {
    let n = matrix.rows;
    let largest = matrix.data.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let usable = matrix.data.iter().all(|x| x.is_finite()) && largest >= f64::MIN_POSITIVE;
    if !usable {
        return None;
    }
    let matrix = Matrix::from(n, n, |i, j| matrix.at(i, j) / largest);
    let right = Spectrum::of(&matrix.gram()).vectors;
    let mut left = matrix.times(&right);
    let mut order: Vec<usize> = (0..n).collect();
    let lengths: Vec<f64> = (0..n).map(|j| norm(&left.column(j))).collect();
    order.sort_by(|i, j| lengths[*j].total_cmp(&lengths[*i]));
    super::grassmann::orthonormalise(&mut left, &order);
    let (last, other) = (order[n - 1], order[n - 2]);
    let flipped = turns_orientation(&left) != turns_orientation(&right);
    let sign = if flipped { -1.0 } else { 1.0 };
    if lengths[other] + sign * lengths[last] <= GAP * lengths[order[0]] {
        return None;
    }
    let column: Vec<f64> = left.column(last).iter().map(|x| sign * x).collect();
    left.set_column(last, &column);
    Some(left.times_transpose(&right).rounded().rounded())
}

/// Rotations of R^n, or unitary matrices of order n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    n: usize,
    is_complex: bool,
}

impl Shape {
    fn new(n: usize) -> Self {
        assert!(n >= 2, "rotations turn planes");
        Self { n, is_complex: false }
    }

    fn unitary(n: usize) -> Self {
        assert!(n >= 1, "matrices have entries");
        Self { n, is_complex: true }
    }

    fn compact(self) -> Compact {
        if self.is_complex {
            Compact::Unitary { n: self.n }
        } else {
            Compact::Rotations { n: self.n }
        }
    }

    fn dim(self) -> usize {
        self.compact().roots().dim()
    }

    /// Order of the matrices of rotations.
    fn order(self) -> usize {
        if self.is_complex { 2 * self.n } else { self.n }
    }

    /// The skew matrix with these coordinates.
    fn skew(self, coords: &[f64]) -> Matrix {
        if self.is_complex { complex::skew(self.n, coords) } else { skew(self.n, coords) }
    }

    /// The coordinates of a skew matrix.
    fn read(self, x: &Matrix, coords: &mut [f64]) {
        if self.is_complex { complex::read(x, coords) } else { read(x, coords) }
    }

    fn coords(self, x: &Matrix) -> Vec<f64> {
        let mut coords = vec![0.0; self.dim()];
        self.read(x, &mut coords);
        coords
    }

    /// The matrix of a point or an ambient vector.
    fn rotation(self, row: &[f64]) -> Matrix {
        if self.is_complex {
            complex::from_parts(self.n, row)
        } else {
            Matrix::of(self.n, self.n, row)
        }
    }

    /// The point or ambient vector with this matrix.
    fn write(self, matrix: &Matrix, out: &mut [f64]) {
        if self.is_complex {
            complex::to_parts(matrix, out);
        } else {
            out.copy_from_slice(&matrix.data);
        }
    }

    fn log_of(self, difference: &Matrix) -> Log {
        Log::of(difference, self.is_complex)
    }

    /// See [`Manifold::project`], for matrices.
    fn project(self, point: &mut [f64]) -> bool {
        let matrix = self.rotation(point);
        let defect = defect(&matrix);
        if defect <= NEAR {
            if defect > ROUNDING {
                self.write(&matrix.rounded().rounded(), point);
            }
            return true;
        }
        let found = closest(&matrix);
        if let Some(rotation) = &found {
            self.write(rotation, point);
        }
        found.is_some()
    }
}

/// The manifold of rotations of R^n, or that of unitary matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialOrthogonal {
    shape: Shape,
}

impl SpecialOrthogonal {
    /// # Panics
    /// Unless n >= 2.
    pub fn new(n: usize) -> Self {
        Self { shape: Shape::new(n) }
    }

    /// Unitary matrices of order n, <V, W> = Re tr(V^* W).
    ///
    /// # Panics
    /// Unless n >= 1.
    pub fn unitary(n: usize) -> Self {
        Self { shape: Shape::unitary(n) }
    }

    /// R^T S - I
    fn between(self, base: &Matrix, point: &[f64]) -> Matrix {
        base.transpose_times(&self.shape.rotation(point).plus(-1.0, base))
    }

    /// X of the tangent part R X of a matrix.
    fn algebra(self, vector: &[f64], base: &Matrix) -> Matrix {
        skew_part(&base.transpose_times(&self.shape.rotation(vector)))
    }
}

impl Manifold for SpecialOrthogonal {
    fn point_size(&self) -> usize {
        self.shape.compact().matrix_size()
    }

    fn dim(&self) -> usize {
        self.shape.dim()
    }

    fn space(&self) -> Space {
        self.shape.space()
    }

    fn spectrum(&self, u: &[f64]) -> Vec<f64> {
        self.shape.spectrum(u)
    }

    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        self.shape.curvature_function(u, f, out);
    }

    fn start(&self) -> Start {
        Start::Orthogonal { order: self.shape.n, is_complex: self.shape.is_complex }
    }

    /// The polar factor Q of A = Q H, decided by the least eigenvalue of H: the least singular value, with the sign of
    /// the determinant for rotations.
    fn start_point(&self, sum: &[f64]) -> Option<(Vec<f64>, f64)> {
        let mut point = sum.to_vec();
        self.project(&mut point).then(|| {
            let (q, a) = (self.shape.rotation(&point), self.shape.rotation(sum));
            let twice = q.transpose_times(&a).plus(1.0, &a.transpose_times(&q));
            let least = Spectrum::of(&twice).values.into_iter().fold(f64::INFINITY, f64::min);
            (point, 0.5 * least)
        })
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        defect(&self.shape.rotation(point)) <= 2.0 * tolerance
    }

    /// Leaves a matrix that is a rotation up to rounding as it is.
    fn project(&self, point: &mut [f64]) -> bool {
        self.shape.project(point)
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.rotation(base.row(i));
            self.shape.write(&base.times(&self.algebra(vector.row(i), &base)), out);
        }
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.rotation(base.row(i));
            let turn = rotation(&self.algebra(tangent.row(i), &base));
            self.shape.write(&base.times(&turn).rounded(), out);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.rotation(base.row(i));
            let log = self.shape.log_of(&self.between(&base, point.row(i)));
            self.shape.write(&base.times(&log.x), out);
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            let base = self.shape.rotation(a.row(i));
            *out = self.shape.log_of(&self.between(&base, b.row(i))).length();
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let (base, end) = (self.shape.rotation(base.row(i)), end.row(i));
            let way = self.shape.log_of(&self.between(&base, end)).x;
            let carried = turned_back(&self.algebra(tangent.row(i), &base), &way, 0.5);
            self.shape.write(&self.shape.rotation(end).times(&carried), out);
        }
    }

    fn inner(&self, a: Rows, b: Rows, _base: Rows, out: &mut [f64]) {
        let unit = if self.shape.is_complex { 1.0 } else { 0.5 };
        for (i, inner) in out.iter_mut().enumerate() {
            *inner = unit * a.row(i).iter().zip(b.row(i)).map(|(x, y)| x * y).sum::<f64>();
        }
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            let base = self.shape.rotation(base.row(i));
            self.shape.read(&self.algebra(tangent.row(i), &base), out);
        }
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.rotation(base.row(i));
            self.shape.write(&base.times(&self.shape.skew(coords.row(i))), out);
        }
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(compact::embedding(self.shape, |point| self.shape.rotation(point).data))
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(RotationChart { shape: self.shape }))
    }

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.point_size()];
        self.shape.write(&identity(self.shape.order()), &mut origin);
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let center = self.shape.rotation(center);
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            let log = self.shape.log_of(&self.between(&center, point.row(i)));
            self.shape.read(&log.x, out);
        }
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let center = self.shape.rotation(center);
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let turn = rotation(&self.shape.skew(point.row(i)));
            self.shape.write(&center.times(&turn).rounded(), out);
        }
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let base = self.shape.rotation(base);
        let seen = |i: usize| self.between(&base, points.row(i));
        compact::sum_log(self.shape, seen, count, weights, sum)
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        let (base, end) = (self.shape.rotation(base), self.shape.rotation(end));
        let way = self.algebra(velocity, &base);
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let carried = turned_back(&self.algebra(tangent.row(i), &base), &way, 0.5);
            self.shape.write(&end.times(&carried), out);
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
        let base = self.shape.rotation(base);
        let seen = |i: usize| self.between(&base, points.row(i));
        compact::log_along(self.shape, seen, times, velocity, out);
    }

    fn hessian_rounding(&self) -> f64 {
        compact::hessian_rounding(self.shape)
    }
}
