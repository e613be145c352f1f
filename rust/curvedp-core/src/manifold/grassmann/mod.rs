//! Grassmannians: k-dimensional subspaces of R^n, rho^2 = sum of the squared principal angles
//! (docs/proofs/grassmann.md).
//!
//! A point is represented by an n x k matrix Q with orthonormal columns, a tangent vector at Q by an n x k matrix H with
//! Q^T H = 0; (Q O, H O) with an orthogonal O are the same two. Coordinates are P^T H, the columns of P being those
//! that Householder's reflections of Q leave for the complement.

mod chart;
mod roots;
mod turn;

use super::matrix::Matrix;
pub use chart::SubspaceChart;
pub(super) use turn::orthonormalise;
use turn::{Log, Turn};

use super::chart as compact;
use super::chart::Turning;
use super::{Embedding, LogSums, Manifold, RECORD_TOLERANCE};
use crate::manifold::checked::Checked;
use crate::messages::{Columns, Start};
use crate::roots::Space;
use crate::rows::Rows;
use crate::vector::norm;

/// Largest error of Q^T Q at which two Newton steps make columns orthonormal.
const NEAR: f64 = 1e-4;

/// Largest error of Q^T Q of a matrix whose columns are orthonormal up to rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Columns of length 1 of which this much or less is left across the others span no subspace.
const DEPENDENT: f64 = 1e-8;

/// k-dimensional subspaces of R^n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    n: usize,
    k: usize,
}

impl Shape {
    fn new(n: usize, k: usize) -> Self {
        assert!(0 < k && k < n, "subspaces have a dimension between 0 and n");
        Self { n, k }
    }

    /// n - k
    fn rest(self) -> usize {
        self.n - self.k
    }

    fn dim(self) -> usize {
        self.k * self.rest()
    }

    fn basis(self, row: &[f64]) -> Matrix {
        Matrix::of(self.n, self.k, row)
    }

    /// See [`Manifold::project`], for bases.
    fn project(self, point: &mut [f64]) -> bool {
        let basis = self.basis(point);
        let defect = basis.defect();
        if defect <= NEAR {
            if defect > ROUNDING {
                point.copy_from_slice(&basis.rounded().rounded().data);
            }
            return true;
        }
        let found = spanning(&basis);
        if let Some(basis) = &found {
            point.copy_from_slice(&basis.data);
        }
        found.is_some()
    }
}

/// A basis of the span of columns, which depends on each column's direction alone; none if they are dependent.
fn spanning(columns: &Matrix) -> Option<Matrix> {
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(columns.columns);
    for j in 0..columns.columns {
        let column = columns.column(j);
        let largest = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if !(largest > 0.0 && column.iter().all(|x| x.is_finite())) {
            return None;
        }
        let mut rest: Vec<f64> = column.iter().map(|x| x / largest).collect();
        let length = norm(&rest);
        rest.iter_mut().for_each(|x| *x /= length);
        for _ in 0..2 {
            for own in &found {
                let share: f64 = rest.iter().zip(own).map(|(x, y)| x * y).sum();
                rest.iter_mut().zip(own).for_each(|(x, y)| *x -= share * y);
            }
        }
        let length = norm(&rest);
        if length <= DEPENDENT {
            return None;
        }
        found.push(rest.iter().map(|x| x / length).collect());
    }
    let basis = Matrix::from(columns.rows, columns.columns, |i, j| found[j][i]);
    Some(basis.rounded())
}

/// A subspace and its complement.
struct Frame {
    base: Matrix,
    rest: Matrix,
}

impl Frame {
    fn of(base: Matrix) -> Self {
        let (n, k) = (base.rows, base.columns);
        let (mut left, mut reflected) =
            (base.clone(), Matrix::from(n, n, |i, j| f64::from(i == j)));
        for j in 0..k {
            let mut mirror = left.column(j);
            mirror[..j].fill(0.0);
            let length = norm(&mirror);
            mirror[j] += if mirror[j] < 0.0 { -length } else { length };
            let square: f64 = mirror.iter().map(|x| x * x).sum();
            if square == 0.0 {
                continue;
            }
            let reflect = |matrix: &mut Matrix| {
                let columns = matrix.columns;
                let mut shares = vec![0.0; columns];
                for (row, x) in matrix.data.chunks_exact(columns).zip(&mirror) {
                    shares.iter_mut().zip(row).for_each(|(share, y)| *share += x * y);
                }
                for (row, x) in matrix.data.chunks_exact_mut(columns).zip(&mirror) {
                    let factor = 2.0 * x / square;
                    row.iter_mut().zip(&shares).for_each(|(y, share)| *y -= factor * share);
                }
            };
            reflect(&mut left);
            reflect(&mut reflected);
        }
        // the rows of the product of the reflections
        let rest = Matrix::from(n, n - k, |i, j| reflected.at(k + j, i));
        Self { base, rest }
    }

    /// (Q^T Y; P^T Y), the second by the difference to Q.
    fn seen(&self, y: &Matrix) -> [Matrix; 2] {
        let difference = y.clone().plus(-1.0, &self.base);
        [self.base.transpose_times(y), self.rest.transpose_times(&difference)]
    }

    /// Q A + P B
    fn joined(&self, [a, b]: &[Matrix; 2]) -> Matrix {
        self.base.times(a).plus(1.0, &self.rest.times(b))
    }
}

/// The manifold of k-dimensional subspaces of R^n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grassmann {
    shape: Shape,
}

impl Grassmann {
    /// # Panics
    /// Unless 0 < k < n.
    pub fn new(n: usize, k: usize) -> Self {
        Self { shape: Shape::new(n, k) }
    }

    fn frames(self, rows: Rows, count: usize) -> Vec<Frame> {
        let count = if rows.is_shared() { count.min(1) } else { count };
        (0..count).map(|i| Frame::of(self.shape.basis(rows.row(i)))).collect()
    }

    /// The logarithm as a matrix of columns in R^n; it keeps its digits for bases that are close to each other.
    fn between(self, base: &[f64], point: &[f64]) -> Log {
        let (base, point) = (self.shape.basis(base), self.shape.basis(point));
        let top = base.transpose_times(&point);
        let mut across = point.plus(-1.0, &base);
        for _ in 0..2 {
            let share = base.transpose_times(&across);
            across = across.plus(-1.0, &base.times(&share));
        }
        Log::of(&[top, across])
    }

    /// The basis of exp that lies closest to that of the base point.
    fn end(self, tangent: Matrix, base: &Matrix) -> Matrix {
        let [cos, sine] = Turn::of(tangent).basis();
        base.times(&cos).plus(1.0, &sine).rounded()
    }

    /// Parallel transport along the geodesic of a velocity, in the basis `end` of where it arrives.
    fn carry(self, vector: &[f64], velocity: Matrix, base: &[f64], end: &[f64], out: &mut [f64]) {
        let base = self.shape.basis(base);
        let carried = Turn::of(velocity.clone()).carried(&self.shape.basis(vector), &base);
        let own = self.end(velocity, &base).transpose_times(&self.shape.basis(end));
        out.copy_from_slice(&carried.times(&own).data);
    }
}

impl Manifold for Grassmann {
    fn point_size(&self) -> usize {
        self.shape.n * self.shape.k
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
        Start::Projector { order: self.shape.n, rank: self.shape.k, columns: Columns::Real }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        self.shape.basis(point).defect() <= 2.0 * tolerance
    }

    /// Leaves a basis that is orthonormal up to rounding as it is.
    fn project(&self, point: &mut [f64]) -> bool {
        self.shape.project(point)
    }

    /// Vectors of any length span subspaces.
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        for (row, valid) in records.chunks_exact_mut(self.point_size()).zip(valid) {
            *valid = self.shape.project(row);
        }
    }

    /// The projector on the subspace.
    fn short_size(&self) -> Option<usize> {
        Some(self.shape.n * self.shape.n)
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            match image_of(&Matrix::of(self.shape.n, self.shape.n, rows.row(i)), self.shape.k) {
                Some(basis) => out.copy_from_slice(&basis.data),
                None => out.fill(f64::NAN),
            }
        }
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.basis(base.row(i));
            let vector = self.shape.basis(vector.row(i));
            let share = base.transpose_times(&vector);
            out.copy_from_slice(&vector.plus(-1.0, &base.times(&share)).data);
        }
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let base = self.shape.basis(base.row(i));
            out.copy_from_slice(&self.end(self.shape.basis(tangent.row(i)), &base).data);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            out.copy_from_slice(&self.between(base.row(i), point.row(i)).x.data);
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.between(a.row(i), b.row(i)).length();
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let (base, end) = (base.row(i), end.row(i));
            self.carry(tangent.row(i), self.between(base, end).x, base, end, out);
        }
    }

    fn inner(&self, a: Rows, b: Rows, _base: Rows, out: &mut [f64]) {
        for (i, inner) in out.iter_mut().enumerate() {
            *inner = a.row(i).iter().zip(b.row(i)).map(|(x, y)| x * y).sum();
        }
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let dim = self.dim();
        let frames = self.frames(base, out.len() / dim);
        for (i, out) in out.chunks_exact_mut(dim).enumerate() {
            let frame = &frames[if frames.len() == 1 { 0 } else { i }];
            out.copy_from_slice(
                &frame.rest.transpose_times(&self.shape.basis(tangent.row(i))).data,
            );
        }
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let frames = self.frames(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            let frame = &frames[if frames.len() == 1 { 0 } else { i }];
            let x = Matrix::of(self.shape.rest(), self.shape.k, coords.row(i));
            out.copy_from_slice(&frame.rest.times(&x).data);
        }
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(compact::embedding(self.shape, <[f64]>::to_vec))
    }

    fn is_quotient(&self) -> bool {
        true
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(SubspaceChart { shape: self.shape }))
    }

    /// The span of the first axes.
    fn origin(&self) -> Vec<f64> {
        Matrix::from(self.shape.n, self.shape.k, |i, j| f64::from(i == j)).data
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let frame = Frame::of(self.shape.basis(center));
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            let log = Log::of(&frame.seen(&self.shape.basis(point.row(i))));
            out.copy_from_slice(&log.x.data);
        }
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let frame = Frame::of(self.shape.basis(center));
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let x = Matrix::of(self.shape.rest(), self.shape.k, point.row(i));
            out.copy_from_slice(&frame.joined(&Turn::of(x).basis()).rounded().data);
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
        let frame = Frame::of(self.shape.basis(base));
        let seen = |i: usize| frame.seen(&self.shape.basis(points.row(i)));
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
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            self.carry(tangent.row(i), self.shape.basis(velocity), base, end, out);
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
        let frame = Frame::of(self.shape.basis(base));
        let seen = |i: usize| frame.seen(&self.shape.basis(points.row(i)));
        compact::log_along(self.shape, seen, times, velocity, out);
    }

    fn hessian_rounding(&self) -> f64 {
        compact::hessian_rounding(self.shape)
    }
}

/// A basis of the space on which a matrix projects, by Gram and Schmidt with the longest column left; none for what
/// is no projector on k dimensions, up to the tolerance of records.
fn image_of(projector: &Matrix, k: usize) -> Option<Matrix> {
    let n = projector.rows;
    if !projector.data.iter().all(|x| x.abs() <= 2.0) {
        return None;
    }
    let (mut left, mut basis) = (projector.clone(), Matrix::zeros(n, k));
    for j in 0..k {
        let lengths = (0..n).map(|i| (i, norm(&left.column(i))));
        let (longest, length) = lengths.max_by(|(_, x), (_, y)| x.total_cmp(y))?;
        if length <= RECORD_TOLERANCE {
            return None;
        }
        let unit: Vec<f64> = left.column(longest).iter().map(|x| x / length).collect();
        let unit = Matrix::of(n, 1, &unit);
        for _ in 0..2 {
            let share = unit.transpose_times(&left);
            left = left.plus(-1.0, &unit.times(&share));
        }
        basis.set_column(j, &unit.data);
    }
    let basis = basis.rounded().rounded();
    let product = basis.times_transpose(&basis);
    let near = |(x, y): (&f64, &f64)| (x - y).abs() <= RECORD_TOLERANCE;
    product.data.iter().zip(&projector.data).all(near).then_some(basis)
}
