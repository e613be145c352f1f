//! Real projective space: axes, unit vectors up to sign, rho(x, y) = arccos |<x, y>|. The unit sphere covers it
//! twice (docs/proofs/coverings.md).
//!
//! A point is represented by either of its unit vectors, a tangent vector at x by v orthogonal to x; (-x, -v)
//! are the same two. So every formula is the sphere's, once the sign is chosen with which a point lies closest.

use std::f64::consts::FRAC_PI_2;

use super::euclidean::Dot;
use super::{Embedding, LogSums, Manifold, Sphere, exp_along};
use crate::manifold::checked::Checked;
use crate::messages::{Columns, Start};
use crate::roots::Space;
use crate::rows::Rows;
use crate::simd::kernel::run;

/// RP^dim with the metric of curvature 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealProjective {
    sphere: Sphere,
}

impl RealProjective {
    /// # Panics
    /// If `dim` is 0.
    pub fn new(dim: usize) -> Self {
        Self { sphere: Sphere::new(dim, 1.0) }
    }

    /// The signs with which `count` points lie closest to others: those of <x, y>, 1 on the cut locus.
    fn signs(&self, points: Rows, others: Rows, count: usize) -> Vec<f64> {
        let mut signs = vec![0.0; count];
        run(Dot { a: points, b: others }, self.point_size(), 1, &mut signs);
        signs.iter_mut().for_each(|x| *x = if *x < 0.0 { -1.0 } else { 1.0 });
        signs
    }

    /// Points by the vectors that lie closest to others.
    fn facing(&self, points: Rows, others: Rows, count: usize) -> Vec<f64> {
        let signs = self.signs(points, others, count);
        let mut facing = vec![0.0; count * self.point_size()];
        points.copy_to(&mut facing);
        turn(&mut facing, &signs, self.point_size());
        facing
    }
}

/// Multiplies rows by their signs.
fn turn(rows: &mut [f64], signs: &[f64], size: usize) {
    for (row, sign) in rows.chunks_exact_mut(size).zip(signs) {
        row.iter_mut().for_each(|x| *x *= sign);
    }
}

impl Manifold for RealProjective {
    fn point_size(&self) -> usize {
        self.sphere.point_size()
    }

    fn dim(&self) -> usize {
        self.sphere.dim()
    }

    /// The sphere that covers it.
    fn space(&self) -> Space {
        self.sphere.space()
    }

    fn injectivity_radius(&self) -> f64 {
        FRAC_PI_2
    }

    fn start(&self) -> Start {
        Start::Projector { order: self.point_size(), rank: 1, columns: Columns::Real }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        self.sphere.belongs(point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.sphere.project(point)
    }

    /// Vectors of any length stand for axes.
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        self.sphere.snap(records, valid);
    }

    fn short_size(&self) -> Option<usize> {
        self.sphere.short_size()
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        self.sphere.from_short(rows, out);
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        self.sphere.to_tangent(vector, base, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.sphere.exp(tangent, base, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let facing = self.facing(point, base, out.len() / size);
        self.sphere.log(Rows::new(&facing, size), base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let facing = self.facing(b, a, out.len());
        self.sphere.dist(a, Rows::new(&facing, self.point_size()), out);
    }

    /// Along the great circle to the closest end, then seen from the given one.
    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let size = self.point_size();
        let signs = self.signs(end, base, out.len() / size);
        let mut facing = vec![0.0; out.len()];
        end.copy_to(&mut facing);
        turn(&mut facing, &signs, size);
        self.sphere.parallel_transport(tangent, base, Rows::new(&facing, size), out);
        turn(out, &signs, size);
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        self.sphere.inner(a, b, base, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.sphere.coords(tangent, base, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        self.sphere.from_coords(coords, base, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::symmetric(self.point_size()))
    }

    fn is_quotient(&self) -> bool {
        true
    }

    /// The covering sphere, on which B(c, r), r < pi/4, has an isometric copy.
    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(self.sphere))
    }

    fn origin(&self) -> Vec<f64> {
        self.sphere.origin()
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let size = self.point_size();
        let facing = self.facing(point, Rows::shared(center), out.len() / size);
        self.sphere.centre(Rows::new(&facing, size), center, out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.sphere.uncentre(point, center, out);
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let facing = self.facing(points, Rows::shared(base), count);
        self.sphere.sum_log(Rows::new(&facing, self.point_size()), count, weights, base, sum)
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        self.sphere.transport_along(tangent, velocity, base, end, out);
    }

    /// The vectors that lie closest to the point of the geodesic.
    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let size = self.point_size();
        let mut along = vec![0.0; times.len() * size];
        exp_along(self, times, velocity, base, &mut along);
        let facing = self.facing(points, Rows::new(&along, size), times.len());
        self.sphere.log_along(Rows::new(&facing, size), times, velocity, base, out);
    }
}
