//! Compact spaces of matrices by their logarithm at the origin: the frame of balls. A point has no redundant number; a
//! tangent vector at X has the coordinates of that at the origin which the turn to X takes there.

use super::curvature::hessian_excess;
use super::{Embedding, LogSums, Manifold, UNIT_ROUNDOFF};
use crate::roots::Space;
use crate::rows::Rows;
use crate::simd::arc::COTANGENT_FLOOR;
use crate::vector::{norm, scale_to};
use std::borrow::Cow;
use std::f64::consts::PI;

/// A space of matrices on which isometries, turns, take the origin to every point.
pub trait Turning: Copy + Send + Sync + 'static {
    /// What takes the origin to a point.
    type Turn;
    /// A point.
    type Place;

    /// The symmetric space.
    fn space(self) -> Space;

    /// Rows and columns of the matrix of a point.
    fn size(self) -> [usize; 2];

    /// The turn along the geodesic with this logarithm.
    fn turn(self, log: &[f64]) -> Self::Turn;

    /// Where it takes the origin.
    fn end(turn: &Self::Turn) -> Self::Place;

    /// Where it takes a point.
    fn moved(turn: &Self::Turn, place: &Self::Place) -> Self::Place;

    /// Where its inverse takes a point.
    fn seen(turn: &Self::Turn, place: &Self::Place) -> Self::Place;

    /// The logarithm at the origin.
    fn log(self, place: &Self::Place) -> Logarithm;

    /// Coordinates of the logarithm at exp(way), carried back to the origin.
    fn log_along(self, way: &[f64], place: &Self::Place) -> Vec<f64>;

    /// The tangent vector carried along the geodesic of `velocity` at `base`, seen from `end`, where it arrives.
    fn carry(self, vector: &[f64], velocity: &[f64], base: &[f64], end: &[f64]) -> Vec<f64>;

    /// The matrix of a point.
    fn matrix(place: &Self::Place) -> Vec<f64>;

    /// The point whose matrix is closest to this one; none if that is not unique.
    fn closest(self, matrix: &[f64]) -> Option<Self::Place>;

    /// See [`Manifold::spectrum`].
    fn spectrum(self, u: &[f64]) -> Vec<f64>;

    /// See [`Manifold::curvature_function`].
    fn curvature_function(self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]);

    /// An image of the matrix of a point: see [`Embedding`].
    fn image(self, matrix: &[f64]) -> Vec<f64>;

    /// Entries of an image.
    fn image_size(self) -> usize;
}

/// A logarithm at the origin.
pub struct Logarithm {
    /// Its coordinates.
    pub coords: Vec<f64>,
    /// Its length.
    pub length: f64,
    /// Its coordinates in a maximal flat.
    pub angles: Vec<f64>,
}

/// Unit roundings in a logarithm in the chart and a step there: docs/proofs/grassmann.md and
/// docs/proofs/special-orthogonal.md, section 6.
fn rounding(shape: impl Turning) -> f64 {
    let [n, k] = shape.size().map(|entries| entries as f64);
    120.0 * (n + 8.0) * k + 4800.0 * k * (k - 1.0)
}

/// See [`Manifold::hessian_rounding`].
pub(super) fn hessian_rounding(shape: impl Turning) -> f64 {
    let [n, _] = shape.size();
    (shape.space().dim() as f64).sqrt() * (16.0 * n as f64 + 8.0) + 4.0 * rounding(shape)
}

/// See [`Manifold::sum_log`], for points seen from the base point.
pub(super) fn sum_log<S: Turning>(
    shape: S,
    seen: impl Fn(usize) -> S::Place,
    count: usize,
    weights: Option<&[f64]>,
    sum: &mut [f64],
) -> LogSums {
    let (roots, mut sums) = (shape.space().roots(), LogSums::default());
    let radial = |square: f64| (1.0 + hessian_excess(square)).max(COTANGENT_FLOOR);
    for i in 0..count {
        let weight = weights.map_or(1.0, |weights| weights[i]);
        let log = shape.log(&seen(i));
        sum.iter_mut().zip(&log.coords).for_each(|(sum, x)| *sum += weight * x);
        sums.squared_dist += weight * log.length * log.length;
        sums.curvature += weight * (roots.trace(&log.angles, radial) / roots.dim() as f64);
    }
    sums
}

/// See [`Manifold::log_along`], for points seen from the base point.
pub(super) fn log_along<S: Turning>(
    shape: S,
    seen: impl Fn(usize) -> S::Place,
    times: &[f64],
    velocity: &[f64],
    out: &mut [f64],
) {
    for (i, (out, t)) in out.chunks_exact_mut(velocity.len()).zip(times).enumerate() {
        let way: Vec<f64> = velocity.iter().map(|v| t * v).collect();
        out.copy_from_slice(&shape.log_along(&way, &seen(i)));
    }
}

/// See [`Manifold::embedding`], for points of which `matrix` makes matrices. One angle orders distances, and so does
/// its sine.
pub(super) fn embedding<'a, S: Turning>(
    shape: S,
    matrix: impl Fn(&[f64]) -> Vec<f64> + Sync + 'a,
) -> Embedding<'a> {
    let (is_monotone, [n, k]) = (shape.space().roots().rank == 1, shape.size());
    let mut embedding = Embedding::new(shape.image_size(), is_monotone, move |point| {
        Cow::Owned(shape.image(&matrix(point)))
    });
    embedding.is_wide = k < n; // projectors, beside bases
    embedding
}

/// Vectors beyond this are no logarithms, but on their way to some.
const LONGEST: f64 = 100.0;

/// The points within the cut locus of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart<S> {
    pub(super) shape: S,
}

impl<S: Turning> Chart<S> {
    fn end(&self, row: &[f64]) -> S::Place {
        S::end(&self.shape.turn(row))
    }

    /// The logarithm of a point seen from another.
    fn seen(&self, from: &S::Turn, point: &[f64]) -> Logarithm {
        self.shape.log(&S::seen(from, &self.end(point)))
    }

    /// The turns of rows, one for all if they are one.
    fn turns(&self, rows: Rows, count: usize) -> Vec<S::Turn> {
        let count = if rows.is_shared() { count.min(1) } else { count };
        (0..count).map(|i| self.shape.turn(rows.row(i))).collect()
    }
}

/// Methods of a manifold whose tangent vectors are coordinates.
macro_rules! tangents_are_coordinates {
    () => {
        fn to_tangent(&self, vector: Rows, _: Rows, out: &mut [f64]) {
            vector.copy_to(out);
        }

        fn coords(&self, tangent: Rows, _: Rows, out: &mut [f64]) {
            tangent.copy_to(out);
        }

        fn from_coords(&self, coords: Rows, _: Rows, out: &mut [f64]) {
            coords.copy_to(out);
        }

        fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
            self.exp(coords, base, out);
        }

        fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
            self.log(point, base, out);
        }

        fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
            for (i, out) in out.iter_mut().enumerate() {
                *out = a.row(i).iter().zip(b.row(i)).map(|(x, y)| x * y).sum();
            }
        }

        fn centred(&self) -> Box<dyn Manifold> {
            Box::new($crate::manifold::checked::Checked(*self))
        }
    };
}
pub(super) use tangents_are_coordinates;

/// Methods of a manifold whose points are their logarithms at the origin.
macro_rules! points_are_logarithms {
    () => {
        fn belongs(&self, point: &[f64], _: f64) -> bool {
            point.iter().all(|x| x.is_finite())
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
    };
}
pub(super) use points_are_logarithms;

/// The item of a list that is one for all, or one for each.
fn of<T>(list: &[T], i: usize) -> &T {
    &list[if list.len() == 1 { 0 } else { i }]
}

impl<S: Turning> Manifold for Chart<S> {
    fn point_size(&self) -> usize {
        self.dim()
    }

    fn dim(&self) -> usize {
        self.shape.space().dim()
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

    points_are_logarithms!();
    tangents_are_coordinates!();

    /// The logarithm within the cut locus of what was one beyond; what is very long is shortened before.
    fn project(&self, point: &mut [f64]) -> bool {
        if norm(point) > LONGEST {
            scale_to(point, 1.0);
        }
        if norm(point) > self.injectivity_radius() {
            point.copy_from_slice(&self.shape.log(&self.end(point)).coords);
        }
        self.belongs(point, 0.0)
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let size = self.dim();
        let bases = self.turns(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            let end = S::moved(of(&bases, i), &self.end(tangent.row(i)));
            out.copy_from_slice(&self.shape.log(&end).coords);
        }
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let size = self.dim();
        let bases = self.turns(base, out.len() / size);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            out.copy_from_slice(&self.seen(of(&bases, i), point.row(i)).coords);
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let bases = self.turns(a, out.len());
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.seen(of(&bases, i), b.row(i)).length;
        }
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            let (base, end) = (base.row(i), end.row(i));
            let velocity = self.seen(&self.shape.turn(base), end).coords;
            out.copy_from_slice(&self.shape.carry(tangent.row(i), &velocity, base, end));
        }
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(embedding(self.shape, |point| S::matrix(&self.end(point))))
    }

    /// The point closest to a matrix.
    fn from_drawn(&self, drawn: &[f64], out: &mut [f64]) -> bool {
        let found = self.shape.closest(drawn);
        if let Some(place) = &found {
            out.copy_from_slice(&self.shape.log(place).coords);
        }
        found.is_some()
    }

    fn log_error(&self, radius: f64) -> f64 {
        // twice the radius, in units in which half a turn ends at the cut locus
        let angle = (2.0 * radius * (PI / self.injectivity_radius())).min(PI);
        let condition = if radius > 0.0 { angle / angle.sin().max(f64::MIN_POSITIVE) } else { 1.0 };
        rounding(self.shape) * UNIT_ROUNDOFF * 2.0 * radius * condition
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let base = self.shape.turn(base);
        let seen = |i: usize| S::seen(&base, &self.end(points.row(i)));
        sum_log(self.shape, seen, count, weights, sum)
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            out.copy_from_slice(&self.shape.carry(tangent.row(i), velocity, base, end));
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
        let base = self.shape.turn(base);
        let seen = |i: usize| S::seen(&base, &self.end(points.row(i)));
        log_along(self.shape, seen, times, velocity, out);
    }

    fn hessian_rounding(&self) -> f64 {
        hessian_rounding(self.shape)
    }
}
