//! Rotations by their logarithm X at the identity: the frame of balls. A point has no redundant number; a tangent
//! vector at exp(X) is exp(X) times the skew matrix with its coordinates.

use super::{
    Log, Matrix, Shape, logs_along, read, rotation_minus_identity, seen, sum_of_logs, turned_back,
};
use crate::manifold::checked::Checked;
use crate::manifold::{Embedding, LogSums, Manifold, UNIT_ROUNDOFF};
use crate::roots::Space;
use crate::rows::Rows;
use crate::vector::{norm, scale_to};
use std::f64::consts::PI;

/// Vectors beyond this are no logarithms, but on their way to some.
const LONGEST: f64 = 100.0;

/// The rotations within the cut locus of the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationChart {
    pub(super) shape: Shape,
}

impl RotationChart {
    /// # Panics
    /// Unless n >= 2.
    pub fn new(n: usize) -> Self {
        Self { shape: Shape::new(n) }
    }

    /// exp(X) - I
    fn turn(self, row: &[f64]) -> Matrix {
        rotation_minus_identity(&self.shape.skew(row))
    }

    /// The logarithm of a point seen from another.
    fn seen(self, from: &Matrix, point: &[f64]) -> Log {
        Log::of(&seen(from, &self.turn(point)))
    }

    /// The turns of rows, one for all if they are one.
    fn turns(self, rows: Rows, count: usize) -> Vec<Matrix> {
        let count = if rows.is_shared() { count.min(1) } else { count };
        (0..count).map(|i| self.turn(rows.row(i))).collect()
    }

    /// Coordinates turned back by half of exp(V).
    fn carry(self, vector: &[f64], velocity: &Matrix, out: &mut [f64]) {
        read(&turned_back(&self.shape.skew(vector), velocity, 0.5), out);
    }
}

/// The item of a list that is one for all, or one for each.
fn of<T>(list: &[T], i: usize) -> &T {
    &list[if list.len() == 1 { 0 } else { i }]
}

impl Manifold for RotationChart {
    fn point_size(&self) -> usize {
        self.shape.dim()
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

    fn belongs(&self, point: &[f64], _tolerance: f64) -> bool {
        point.iter().all(|x| x.is_finite())
    }

    /// The logarithm within the cut locus of what was one beyond; what is very long is shortened before.
    fn project(&self, point: &mut [f64]) -> bool {
        if norm(point) > LONGEST {
            scale_to(point, 1.0);
        }
        if norm(point) > self.injectivity_radius() {
            read(&Log::of(&self.turn(point)).x, point);
        }
        self.belongs(point, 0.0)
    }

    fn to_tangent(&self, vector: Rows, _base: Rows, out: &mut [f64]) {
        vector.copy_to(out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let bases = self.turns(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            // (I + F)(I + G) - I
            let (base, turn) = (of(&bases, i), self.turn(tangent.row(i)));
            let product = base.times(&turn);
            read(&Log::of(&turn.plus(1.0, base).plus(1.0, &product)).x, out);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let bases = self.turns(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            read(&self.seen(of(&bases, i), point.row(i)).x, out);
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let bases = self.turns(a, out.len());
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.seen(of(&bases, i), b.row(i)).length();
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            let velocity = self.seen(&self.turn(base.row(i)), end.row(i)).x;
            self.carry(tangent.row(i), &velocity, out);
        }
    }

    fn inner(&self, a: Rows, b: Rows, _base: Rows, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = a.row(i).iter().zip(b.row(i)).map(|(x, y)| x * y).sum();
        }
    }

    fn coords(&self, tangent: Rows, _base: Rows, out: &mut [f64]) {
        tangent.copy_to(out);
    }

    fn from_coords(&self, coords: Rows, _base: Rows, out: &mut [f64]) {
        coords.copy_to(out);
    }

    fn embedding(&self) -> Embedding {
        Embedding::Rotations
    }

    /// The matrix of the rotation.
    fn basis(&self, point: &[f64]) -> Vec<f64> {
        super::rotation(&self.shape.skew(point)).data
    }

    /// The rotation closest to a matrix.
    fn from_basis(&self, basis: &[f64], out: &mut [f64]) -> bool {
        let mut basis = basis.to_vec();
        let usable = self.shape.project(&mut basis);
        if usable {
            let difference = self.shape.matrix(&basis).plus(-1.0, &super::identity(self.shape.n));
            read(&Log::of(&difference).x, out);
        }
        usable
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn origin(&self) -> Vec<f64> {
        vec![0.0; self.dim()]
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.log(point, Rows::shared(center), out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.exp(point, Rows::shared(center), out);
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = norm(point.row(i));
        }
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        point.copy_to(out);
    }

    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        coords.copy_to(out);
    }

    /// See docs/proofs/special-orthogonal.md, section 6.
    fn log_error(&self, radius: f64) -> f64 {
        let angle = (2.0 * radius).min(PI);
        let condition = if radius > 0.0 { angle / angle.sin().max(f64::MIN_POSITIVE) } else { 1.0 };
        self.shape.rounding() * UNIT_ROUNDOFF * 2.0 * radius * condition
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let base = self.turn(base);
        let between = |i: usize| seen(&base, &self.turn(points.row(i)));
        sum_of_logs(self.shape, between, count, weights, sum)
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        _base: &[f64],
        _end: &[f64],
        out: &mut [f64],
    ) {
        let velocity = self.shape.skew(velocity);
        for (i, out) in out.chunks_exact_mut(self.point_size()).enumerate() {
            self.carry(tangent.row(i), &velocity, out);
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
        let base = self.turn(base);
        let between = |i: usize| seen(&base, &self.turn(points.row(i)));
        logs_along(self.shape, between, times, velocity, out);
    }

    fn hessian_rounding(&self) -> f64 {
        self.shape.hessian_rounding()
    }
}
