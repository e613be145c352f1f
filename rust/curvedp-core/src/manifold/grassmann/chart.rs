//! Subspaces by their logarithm X at the one that the first axes span: the frame of balls. A point has no redundant
//! number; a tangent vector at X is the matrix that E(X) carries there (see [`super::turn`]).

use super::turn::{Log, Turn};
use super::{Shape, trace_of_hessian};
use crate::manifold::checked::Checked;
use crate::manifold::matrix::Matrix;
use crate::manifold::{Embedding, LogSums, Manifold, UNIT_ROUNDOFF};
use crate::roots::Space;
use crate::rows::Rows;
use crate::vector::{norm, scale_to};

/// Vectors beyond this are no logarithms, but on their way to some.
const LONGEST: f64 = 100.0;

/// The subspaces within the cut locus of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubspaceChart {
    pub(super) shape: Shape,
}

impl SubspaceChart {
    /// # Panics
    /// Unless 0 < k < n.
    pub fn new(n: usize, k: usize) -> Self {
        Self { shape: Shape::new(n, k) }
    }

    fn matrix(self, row: &[f64]) -> Matrix {
        Matrix::of(self.shape.rest(), self.shape.k, row)
    }

    fn turn(self, row: &[f64]) -> Turn {
        Turn::of(self.matrix(row))
    }

    /// The logarithm of a point seen from another.
    fn seen(self, from: &Turn, point: &[f64]) -> Log {
        Log::of(&from.seen(&self.turn(point).basis()))
    }

    /// The turns of rows, one for all if they are one.
    fn turns(self, rows: Rows, count: usize) -> Vec<Turn> {
        let count = if rows.is_shared() { count.min(1) } else { count };
        (0..count).map(|i| self.turn(rows.row(i))).collect()
    }

    /// The tangent vectors carried along the geodesic of `velocity` at `base`, seen from `end`, where it arrives.
    fn carry(self, vector: &[f64], velocity: &[f64], base: &[f64], end: &[f64], out: &mut [f64]) {
        let Shape { n, k } = self.shape;
        let identity = |columns: std::ops::Range<usize>| {
            let first = columns.start;
            let part = |rows: usize, from: usize| {
                Matrix::from(rows, columns.len(), |i, j| f64::from(i + from == j + first))
            };
            [part(k, 0), part(n - k, k)]
        };
        let (base, velocity, end) = (self.turn(base), self.turn(velocity), self.turn(end));
        let rotated = |columns| end.undone(&base.applied(&velocity.applied(&identity(columns))));
        let [[own, _], [_, across]] = [rotated(0..k), rotated(k..n)];
        let carried = across.times(&self.matrix(vector)).times_transpose(&own);
        out.copy_from_slice(&carried.data);
    }
}

/// The item of a list that is one for all, or one for each.
fn of<T>(list: &[T], i: usize) -> &T {
    &list[if list.len() == 1 { 0 } else { i }]
}

impl Manifold for SubspaceChart {
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
            let log = Log::of(&self.turn(point).basis());
            point.copy_from_slice(&log.x.data);
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
            let end = of(&bases, i).applied(&self.turn(tangent.row(i)).basis());
            out.copy_from_slice(&Log::of(&end).x.data);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let bases = self.turns(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            out.copy_from_slice(&self.seen(of(&bases, i), point.row(i)).x.data);
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let bases = self.turns(a, out.len());
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.seen(of(&bases, i), b.row(i)).length();
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let size = self.point_size();
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            let (base, end) = (base.row(i), end.row(i));
            let velocity = self.seen(&self.turn(base), end).x.data;
            self.carry(tangent.row(i), &velocity, base, end, out);
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
        Embedding::Projectors
    }

    fn basis(&self, point: &[f64]) -> Vec<f64> {
        let [top, bottom] = self.turn(point).basis();
        [top.data, bottom.data].concat()
    }

    /// The span of drawn vectors.
    fn from_basis(&self, basis: &[f64], out: &mut [f64]) -> bool {
        let mut basis = basis.to_vec();
        let usable = self.shape.project(&mut basis);
        if usable {
            let (top, bottom) = basis.split_at(self.shape.k * self.shape.k);
            let top = Matrix::of(self.shape.k, self.shape.k, top);
            out.copy_from_slice(&Log::of(&[top, self.matrix(bottom)]).x.data);
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

    /// See docs/proofs/grassmann.md, section 6.
    fn log_error(&self, radius: f64) -> f64 {
        let angle = (2.0 * radius).min(std::f64::consts::FRAC_PI_2);
        let condition = angle / (angle.sin() * angle.cos()).max(f64::MIN_POSITIVE);
        let condition = if radius > 0.0 { condition } else { 1.0 };
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
        let mut sums = LogSums::default();
        for i in 0..count {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            let log = self.seen(&base, points.row(i));
            sum.iter_mut().zip(&log.x.data).for_each(|(sum, x)| *sum += weight * x);
            sums.squared_dist += weight * log.length() * log.length();
            sums.curvature += weight * trace_of_hessian(self.shape, &log.angles);
        }
        sums
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
            self.carry(tangent.row(i), velocity, base, end, out);
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
        for (i, (out, t)) in out.chunks_exact_mut(self.dim()).zip(times).enumerate() {
            let way: Vec<f64> = velocity.iter().map(|v| t * v).collect();
            let point = base.seen(&self.turn(points.row(i)).basis());
            out.copy_from_slice(&Log::of(&self.turn(&way).undone(&point)).x.data);
        }
    }

    fn hessian_rounding(&self) -> f64 {
        self.shape.hessian_rounding()
    }
}
