//! A manifold whose kernels refuse rows and buffers of another number or width: what [`super::build`] gives, and
//! all that comes from it.
//!
//! Kernels fill as many rows as their buffer has. One that is too short, or rows that are wider than the
//! manifold's, would else have them read some of the records and leave out the others, without an error.

use std::ops::Range as Indices;
use std::sync::Arc;

use super::{Embedding, LogMoments, LogSums, Manifold, Precise, Range};
use crate::messages::Start;
use crate::roots::{Roots, Space};
use crate::rows::{Rows, row_count};

/// The same manifold, whose kernels look at all lengths first.
///
/// # Panics
/// Its kernels do, with a message that names no entry, if lengths do not match.
#[derive(Clone, Copy)]
pub(crate) struct Checked<M>(pub(crate) M);

impl<M: Manifold> Checked<M> {
    /// Refuses all but points, or tangent vectors, that go with `count` results.
    #[inline]
    fn points<const K: usize>(&self, count: usize, rows: [Rows; K]) {
        let size = self.point_size();
        rows.iter().for_each(|rows| rows.check(count, size));
    }

    /// The number of points that a buffer holds.
    #[inline]
    fn count(&self, out: &[f64]) -> usize {
        row_count(out.len(), self.point_size())
    }

    /// The number of rows of coordinates that a buffer holds.
    #[inline]
    fn coords_count(&self, out: &[f64]) -> usize {
        row_count(out.len(), self.dim())
    }

    /// Refuses all but one point each.
    #[inline]
    fn single<const K: usize>(&self, points: [&[f64]; K]) {
        points.iter().for_each(|point| same(point.len(), self.point_size()));
    }

    /// Refuses all but the coordinates of one tangent vector each.
    #[inline]
    fn vector<const K: usize>(&self, vectors: [&[f64]; K]) {
        vectors.iter().for_each(|vector| same(vector.len(), self.dim()));
    }
}

/// Refuses another length.
#[inline]
fn same(len: usize, expected: usize) {
    assert!(len == expected, "a buffer of another length");
}

impl<M: Manifold> Manifold for Checked<M> {
    fn point_size(&self) -> usize {
        self.0.point_size()
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn space(&self) -> Space {
        self.0.space()
    }

    fn roots(&self) -> Roots {
        self.0.roots()
    }

    fn spectrum(&self, u: &[f64]) -> Vec<f64> {
        self.vector([u]);
        self.0.spectrum(u)
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        self.0.curvature_bounds()
    }

    fn injectivity_radius(&self) -> f64 {
        self.0.injectivity_radius()
    }

    fn clip_limit(&self) -> f64 {
        self.0.clip_limit()
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        self.single([point]);
        self.0.belongs(point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.single([point]);
        self.0.project(point)
    }

    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        same(self.count(records), valid.len());
        self.0.snap(records, valid);
    }

    fn short_size(&self) -> Option<usize> {
        self.0.short_size()
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        rows.check(self.count(out), self.0.short_size().unwrap_or(0));
        self.0.from_short(rows, out);
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        self.points(self.count(out), [vector, base]);
        self.0.to_tangent(vector, base, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.points(self.count(out), [tangent, base]);
        self.0.exp(tangent, base, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        self.points(self.count(out), [point, base]);
        self.0.log(point, base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        self.points(out.len(), [a, b]);
        self.0.dist(a, b, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        self.points(self.count(out), [tangent, base, end]);
        self.0.parallel_transport(tangent, base, end, out);
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        self.points(out.len(), [a, b, base]);
        self.0.inner(a, b, base, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.points(self.coords_count(out), [tangent, base]);
        self.0.coords(tangent, base, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let count = self.count(out);
        coords.check(count, self.dim());
        self.points(count, [base]);
        self.0.from_coords(coords, base, out);
    }

    fn exp_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let count = self.count(out);
        coords.check(count, self.dim());
        self.points(count, [base]);
        self.0.exp_coords(coords, base, out);
    }

    fn log_coords(&self, point: Rows, base: Rows, out: &mut [f64]) {
        self.points(self.coords_count(out), [point, base]);
        self.0.log_coords(point, base, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        self.0.embedding()
    }

    fn start(&self) -> Start {
        self.0.start()
    }

    fn start_point(&self, sum: &[f64]) -> Option<(Vec<f64>, f64)> {
        self.0.start_point(sum)
    }

    fn is_quotient(&self) -> bool {
        self.0.is_quotient()
    }

    fn from_drawn(&self, drawn: &[f64], out: &mut [f64]) -> bool {
        self.single([out]);
        self.0.from_drawn(drawn, out)
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        self.single([point]);
        self.0.conditioning(point)
    }

    fn centred(&self) -> Box<dyn Manifold> {
        self.0.centred()
    }

    fn carries(&self, center: &[f64]) -> bool {
        self.single([center]);
        self.0.carries(center)
    }

    fn origin(&self) -> Vec<f64> {
        self.0.origin()
    }

    /// The results are points of [`Manifold::centred`], which knows how wide they are: of kernels of two manifolds,
    /// [`crate::ball::Frame`] looks at both.
    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.single([center]);
        self.0.centre(point, center, out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.single([center]);
        point.check(self.count(out), point.size());
        self.0.uncentre(point, center, out);
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        self.points(out.len(), [point]);
        self.0.dist_origin(point, out);
    }

    fn dist_origin_error(&self, radius: f64) -> f64 {
        self.0.dist_origin_error(radius)
    }

    fn within_origin(&self, point: Rows, limit: f64, out: &mut [bool]) {
        self.points(out.len(), [point]);
        self.0.within_origin(point, limit, out);
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        self.points(self.coords_count(out), [point]);
        self.0.log_origin(point, out);
    }

    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        coords.check(self.count(out), self.dim());
        self.0.exp_origin(coords, out);
    }

    fn pull(&self, point: &mut [f64], dist: f64) {
        self.single([point]);
        self.0.pull(point, dist);
    }

    fn chart_error(&self, radius: f64) -> f64 {
        self.0.chart_error(radius)
    }

    fn log_error(&self, radius: f64) -> f64 {
        self.0.log_error(radius)
    }

    fn precise(&self, radius: f64) -> Option<Arc<dyn Precise>> {
        self.0.precise(radius)
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        self.points(count, [points]);
        self.single([base]);
        self.vector([sum]);
        same(weights.map_or(count, <[f64]>::len), count);
        self.0.sum_log(points, count, weights, base, sum)
    }

    fn sum_log_each(
        &self,
        points: Rows,
        ranges: &[Indices<usize>],
        bases: Rows,
        sums: &mut [f64],
        others: &mut [LogSums],
    ) {
        same(points.size(), self.point_size());
        self.points(ranges.len(), [bases]);
        same(self.coords_count(sums), ranges.len());
        same(others.len(), ranges.len());
        self.0.sum_log_each(points, ranges, bases, sums, others);
    }

    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        self.vector([u]);
        same(out.len(), self.dim() * self.dim());
        self.0.curvature_function(u, f, out);
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        end: &[f64],
        out: &mut [f64],
    ) {
        self.points(self.count(out), [tangent]);
        self.vector([velocity]);
        self.single([base, end]);
        self.0.transport_along(tangent, velocity, base, end, out);
    }

    fn exp_differential(&self, coords: &[f64], base: &[f64], out: &mut [f64]) {
        self.vector([coords]);
        self.single([base]);
        same(out.len(), self.dim() * self.dim());
        self.0.exp_differential(coords, base, out);
    }

    fn hessian_rounding(&self) -> f64 {
        self.0.hessian_rounding()
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        self.points(times.len(), [points]);
        self.vector([velocity]);
        self.single([base]);
        same(self.coords_count(out), times.len());
        self.0.log_along(points, times, velocity, base, out);
    }

    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        self.points(count, [points]);
        self.single([base]);
        self.0.sum_log_moments(points, count, base, range, sums);
    }
}

impl<M: Precise> Precise for Checked<M> {
    fn own_size(&self) -> usize {
        self.0.own_size()
    }

    fn from_points(&self, points: Rows, out: &mut [f64]) {
        points.check(self.count(out), self.own_size());
        self.0.from_points(points, out);
    }

    fn to_points(&self, points: Rows, out: &mut [f64]) {
        self.points(row_count(out.len(), self.own_size()), [points]);
        self.0.to_points(points, out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::manifold::{Hyperboloid, build};

    /// Names of the methods in a source.
    fn methods(source: &str) -> BTreeSet<&str> {
        let names = source.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.filter_map(|rest| rest.split(['(', '<']).next()).collect()
    }

    #[test]
    fn every_method_is_passed_on() {
        let (all, _) = include_str!("mod.rs").split_once("/// Work space of").unwrap();
        let (_, all) = all.split_once("pub trait Manifold").unwrap();
        let (_, own) = include_str!("checked.rs").split_once("Manifold for Checked").unwrap();
        let missing: Vec<_> = methods(all).difference(&methods(own)).copied().collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(methods(all).len() > 40);
    }

    fn refuses(work: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(work)).is_err()
    }

    #[test]
    fn kernels_refuse_other_lengths() {
        let space = build("hyperboloid", 2, -1.0).unwrap();
        let origin = space.origin();
        let (three, base) = (origin.repeat(3), Rows::shared(&origin));
        let points = Rows::new(&three, 3);
        space.dist(points, base, &mut [0.0; 3]);
        space.log_coords(points, base, &mut [0.0; 6]);
        for len in [0, 1, 2, 4] {
            assert!(refuses(|| space.dist(points, base, &mut vec![0.0; len])), "{len}");
            assert!(refuses(|| space.log(points, base, &mut vec![0.0; 3 * len])), "{len}");
            assert!(refuses(|| space.log_coords(points, base, &mut vec![0.0; 2 * len])), "{len}");
            assert!(refuses(|| space.dist_origin(points, &mut vec![0.0; len])), "{len}");
            let count = || {
                space.sum_log(points, len, None, &origin, &mut [0.0; 2]);
            };
            assert!(refuses(count), "{len}");
        }
        assert!(refuses(|| space.exp(points, base, &mut [0.0; 8])));
        let narrow = Rows::new(&three[..6], 2);
        assert!(refuses(|| space.dist_origin(narrow, &mut [0.0; 3])));
    }

    #[test]
    fn what_comes_from_a_manifold_is_checked_too() {
        let space = build("hyperboloid", 2, -1.0).unwrap();
        let (centred, precise) = (space.centred(), space.precise(8.0).unwrap());
        for manifold in [&*centred, &*precise as &dyn Manifold] {
            let two = manifold.origin().repeat(2);
            let points = Rows::new(&two, manifold.point_size());
            manifold.dist_origin(points, &mut [0.0; 2]);
            assert!(refuses(|| manifold.dist_origin(points, &mut [0.0; 1])));
        }
        let unchecked = Hyperboloid::new(2, -1.0);
        let two = unchecked.origin().repeat(2);
        unchecked.dist_origin(Rows::new(&two, 3), &mut [0.0; 1]); // the control: one of two is read
    }
}
