//! Hyperbolic space as the sheet t > 0 of <x, x> = -R^2 in Minkowski space, time first, with curvature
//! -1/R^2.
//!
//! Distances come from the chord: |y - x|^2 = 4 R^2 sinh(angle/2)^2 in the Minkowski norm.

mod boost;
mod chart;
mod coords;

pub use chart::HyperbolicChart;

use coords::{Coords, FromCoords};

use super::add_coords;
use super::polar::{PolarDist, dist_polar, log_polar};
use super::transvection::{Frame, log_along};
use super::{CLIP_LENGTH, LogSums, Manifold, Precise, UNIT_ROUNDOFF};
use crate::manifold::checked::Checked;
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::simd::blocks::{BLOCK, Block, Width, first_entries, padded};
use crate::simd::elementary::{asinh_nonneg, cosh, sinh, sinhc};
use crate::simd::entries::{row_add, row_map, row_sums};
use crate::simd::kernel::{Kernel, SumKernel, run, run_sum, weights_of};
use crate::vector::norm;
use std::sync::Arc;

/// Hyperbolic space of dimension `dim` and sectional curvature `curvature` < 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperboloid {
    dim: usize,
    curvature: f64,
    radius: f64,
}

/// Squared time of a centre, in units of R, beyond which the boost that takes it to the origin is computed
/// with more digits.
const FAR: f64 = 1024.0;

/// Distance of the farthest centre from the origin, in units of R, with room for its rounding.
const FARTHEST_CENTER: f64 = 15.001;

impl Hyperboloid {
    /// # Panics
    /// If `dim` is 0 or `curvature` is not negative and finite.
    pub fn new(dim: usize, curvature: f64) -> Self {
        assert!(dim > 0, "the dimension of hyperbolic space must be positive");
        assert!(curvature < 0.0 && curvature.is_finite(), "the curvature must be negative");
        Self { dim, curvature, radius: (-1.0 / curvature).sqrt() }
    }

    /// Writes the boosted difference of `point` and `start`: by the boost that takes the origin to
    /// `center` (`sign` 1) or its inverse (`sign` -1). Its time is that of a point with its space part.
    fn boost(&self, point: &[f64], start: &[f64], center: &[f64], sign: f64, out: &mut [f64]) {
        let difference = [&point[1..], &start[1..]];
        let [along] =
            row_sums(self.dim, [difference[0], difference[1], &center[1..]], |[y, x, c]| {
                [(y - x) * c]
            });
        let delay = point[0] - start[0];
        let moved = (center[0] * delay + sign * along) / self.radius;
        let share = sign * (delay + moved) / (self.radius + center[0]);
        let entry = |[y, x, c]: [f64; 3]| (y - x) + share * c;
        row_map([difference[0], difference[1], &center[1..]], entry, &mut out[1..]);
        out[0] = time(&out[1..], self.radius);
    }
}

impl PolarDist for Hyperboloid {
    #[inline(always)]
    fn dist(self, tail: f64, _head: f64) -> f64 {
        self.radius * asinh_nonneg(tail / self.radius)
    }
}

/// Squared Minkowski chord of the points, at least 0, and <y, y> - <x, x>, which is rounding.
#[inline(always)]
fn chords<W: Width>(width: W, operands: [Rows; 2], first: usize, rows: usize) -> [Block; 2] {
    let [mut square, mut skew] = width.sums(operands, first, rows, |[x, y]| {
        let difference = y - x;
        [difference * difference, difference * (y + x)]
    });
    let times = [first_entries(operands[0], first, rows), first_entries(operands[1], first, rows)];
    for l in 0..padded(rows) {
        let difference = times[1][l] - times[0][l];
        let chord = square[l] - 2.0 * difference * difference;
        square[l] = if chord > 0.0 { chord } else { 0.0 };
        skew[l] -= 2.0 * difference * (times[1][l] + times[0][l]);
    }
    [square, skew]
}

struct Dist<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
    radius: f64,
}

impl Kernel for Dist<'_> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [square, _] = chords(width, [self.a, self.b], first, rows);
        let mut dist = [0.0; BLOCK];
        let half = 0.5 / self.radius;
        for l in 0..padded(rows) {
            dist[l] = 2.0 * self.radius * asinh_nonneg(half * square[l].sqrt());
        }
        out.copy_from_slice(&dist[..rows]);
    }
}

struct Exp<'a> {
    tangent: Rows<'a>,
    base: Rows<'a>,
    radius: f64,
}

impl Kernel for Exp<'_> {
    const WIDEST: bool = true;

    /// The time is computed from the space part, so that the result lies on the sheet.
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [v2] = width.sums([self.tangent], first, rows, |[v]| [v * v]);
        let times = first_entries(self.tangent, first, rows);
        let mut base_share = [0.0; BLOCK];
        let mut tangent_share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let square = v2[l] - 2.0 * times[l] * times[l];
            let angle = (if square > 0.0 { square } else { 0.0 }).sqrt() / self.radius;
            base_share[l] = cosh(angle);
            tangent_share[l] = sinhc(angle);
        }
        let shares = [&base_share, &tangent_share];
        let entry = |[x, v]: [f64; 2], [c, s]: [f64; 2]| c * x + s * v;
        width.combine([self.base, self.tangent], first, rows, shares, entry, out);
        for point in out.chunks_exact_mut(out.len() / rows) {
            point[0] = time(&point[1..], self.radius);
        }
    }
}

/// Time of the point with the given space part.
#[inline(always)]
fn time(space: &[f64], radius: f64) -> f64 {
    let [square] = row_sums(space.len(), [space], |[x]| [x * x]);
    (radius * radius + square).sqrt()
}

/// Logarithms of a block of points: factor * ((y - x) + shift x).
struct LogBlock {
    /// t / sinh t at t = dist / radius.
    factor: Block,
    shift: Block,
    squared_angle: Block,
    /// t coth t.
    cotangent: Block,
}

impl LogBlock {
    #[inline(always)]
    fn new<W: Width>(
        width: W,
        operands: [Rows; 2],
        radius: f64,
        first: usize,
        rows: usize,
    ) -> Self {
        let [square, skew] = chords(width, operands, first, rows);
        let mut block = Self {
            factor: [0.0; BLOCK],
            shift: [0.0; BLOCK],
            squared_angle: [0.0; BLOCK],
            cotangent: [0.0; BLOCK],
        };
        let inverse = 1.0 / (radius * radius);
        for l in 0..padded(rows) {
            let quarter = 0.25 * inverse * square[l];
            let half_chord = quarter.sqrt();
            let angle = 2.0 * asinh_nonneg(half_chord);
            let sinh = 2.0 * half_chord * (1.0 + quarter).sqrt();
            let factor = if sinh > 0.0 { angle / sinh } else { 1.0 };
            block.factor[l] = factor;
            block.shift[l] = 0.5 * inverse * (skew[l] - square[l]);
            block.squared_angle[l] = angle * angle;
            block.cotangent[l] = factor * (1.0 + 2.0 * quarter);
        }
        block
    }
}

struct Log<'a> {
    point: Rows<'a>,
    base: Rows<'a>,
    radius: f64,
}

impl Kernel for Log<'_> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.point];
        let log = LogBlock::new(width, operands, self.radius, first, rows);
        let entry = |[x, y]: [f64; 2], [k, shift]: [f64; 2]| k * ((y - x) + shift * x);
        width.combine(operands, first, rows, [&log.factor, &log.shift], entry, out);
    }
}

struct SumLog<'a> {
    space: Hyperboloid,
    points: Rows<'a>,
    weights: Option<&'a [f64]>,
    base: Rows<'a>,
}

impl SumKernel for SumLog<'_> {
    /// The parts of the logarithms along the base point are left out: the sum is made tangent later.
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, sum: &mut [f64]) -> [Block; 2] {
        let operands = [self.base, self.points];
        let Hyperboloid { dim, radius, .. } = self.space;
        let log = LogBlock::new(width, operands, radius, first, rows);
        let weights = weights_of(self.weights, first, rows);
        let along = 1.0 / dim as f64;
        let across = 1.0 - along;
        let mut share = [0.0; BLOCK];
        let mut terms = [[0.0; BLOCK]; 2];
        let [squared_dist, curvature] = &mut terms;
        for l in 0..BLOCK {
            share[l] = weights[l] * log.factor[l];
            squared_dist[l] = weights[l] * (radius * radius * log.squared_angle[l]);
            curvature[l] = weights[l] * (along + across * log.cotangent[l]);
        }
        width.accumulate(operands, first, rows, [&share], |[x, y], [k]| k * (y - x), sum);
        terms
    }
}

/// Minkowski inner products.
struct Inner<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
}

#[inline(always)]
fn inner<W: Width>(width: W, a: Rows, b: Rows, first: usize, rows: usize) -> Block {
    let [mut dot] = width.sums([a, b], first, rows, |[a, b]| [a * b]);
    let (a, b) = (first_entries(a, first, rows), first_entries(b, first, rows));
    for l in 0..padded(rows) {
        dot[l] -= 2.0 * a[l] * b[l];
    }
    dot
}

impl Kernel for Inner<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        out.copy_from_slice(&inner(width, self.a, self.b, first, rows)[..rows]);
    }
}

/// v + <x, v> x / R^2.
struct ToTangent<'a> {
    vector: Rows<'a>,
    base: Rows<'a>,
    radius: f64,
}

impl Kernel for ToTangent<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let share = inner(width, self.base, self.vector, first, rows)
            .map(|dot| dot / (self.radius * self.radius));
        let entry = |[x, v]: [f64; 2], [c]: [f64; 1]| v + c * x;
        width.combine([self.base, self.vector], first, rows, [&share], entry, out);
    }
}

/// Transport is the Minkowski reflection that negates x + y, whose square is -4R^2 - |y - x|^2.
struct Transport<'a> {
    tangent: Rows<'a>,
    base: Rows<'a>,
    end: Rows<'a>,
    radius: f64,
}

impl Kernel for Transport<'_> {
    /// <x + y, v> = <y - x, v>, as v is tangent at x, and the difference is accurate.
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.end, self.tangent];
        let [d2, dv] =
            width.sums(operands, first, rows, |[x, y, v]| [(y - x) * (y - x), (y - x) * v]);
        let [x0, y0, v0] = operands.map(|operand| first_entries(operand, first, rows));
        let mut share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let difference = y0[l] - x0[l];
            let square = d2[l] - 2.0 * difference * difference;
            let dot = dv[l] - 2.0 * difference * v0[l];
            share[l] = 2.0 * dot / (4.0 * self.radius * self.radius + square);
        }
        let entry = |[x, y, v]: [f64; 3], [c]: [f64; 1]| v + c * (x + y);
        width.combine(operands, first, rows, [&share], entry, out);
    }
}

impl Manifold for Hyperboloid {
    fn point_size(&self) -> usize {
        self.dim + 1
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn space(&self) -> Space {
        Radial::Hyperbolic { dim: self.dim, curvature: self.curvature }.into()
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH / (-self.curvature).sqrt()
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        let time = self.radius.hypot(norm(&point[1..]));
        time.is_finite() && (point[0] - time).abs() <= tolerance * time
    }

    /// Computes the time from the space part, which must be small enough for its square to be finite.
    fn project(&self, point: &mut [f64]) -> bool {
        let length = norm(&point[1..]);
        let square = 16.0 * length * length;
        point[0] = if point[0].is_finite() { self.radius.hypot(length) } else { f64::NAN };
        point[0].is_finite() && square.is_finite()
    }

    /// The point of the Poincaré ball, whose radius is that of curvature.
    fn short_size(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dim + 1).enumerate() {
            let length = norm(rows.row(i)) / self.radius;
            let rest = if length < 1.0 { (1.0 - length) * (1.0 + length) } else { f64::NAN };
            out[1..].iter_mut().zip(rows.row(i)).for_each(|(x, y)| *x = 2.0 * y / rest);
            out[0] = self.radius.hypot(norm(&out[1..]));
        }
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        let kernel = ToTangent { vector, base, radius: self.radius };
        run(kernel, self.dim + 1, self.dim + 1, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Exp { tangent, base, radius: self.radius }, self.dim + 1, self.dim + 1, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        run(Log { point, base, radius: self.radius }, self.dim + 1, self.dim + 1, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        run(Dist { a, b, radius: self.radius }, self.dim + 1, 1, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let kernel = Transport { tangent, base, end, radius: self.radius };
        run(kernel, self.dim + 1, self.dim + 1, out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Inner { a, b }, self.dim + 1, 1, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Coords { space: *self, tangent, base }, self.dim + 1, self.dim, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        run(FromCoords { space: *self, coords, base }, self.dim + 1, self.dim + 1, out);
    }

    fn conditioning(&self, point: &[f64]) -> f64 {
        (point[0] / self.radius).powi(2)
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.dim + 1];
        origin[0] = self.radius;
        origin
    }

    /// Up to the distance 15 R from the origin: beyond, logarithms between points there lose their digits.
    fn carries(&self, center: &[f64]) -> bool {
        norm(&center[1..]) <= self.radius * sinh(FARTHEST_CENTER)
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        if self.conditioning(center) > FAR {
            return boost::centre(point, center, self.radius, out);
        }
        for (i, out) in out.chunks_exact_mut(self.dim + 1).enumerate() {
            self.boost(point.row(i), center, center, -1.0, out);
        }
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let origin = self.origin();
        for (i, out) in out.chunks_exact_mut(self.dim + 1).enumerate() {
            self.boost(point.row(i), &origin, center, 1.0, out);
            row_add([&center[1..]], |[x]| x, &mut out[1..]);
            out[0] = time(&out[1..], self.radius);
        }
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        dist_polar(point, self.dim + 1, *self, out);
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        log_polar(point, self.dim + 1, *self, out);
    }

    /// Entries grow with the distance from the origin, in one dimension too, which is flat but not written in a chart.
    /// The rounding of the space part is relative to its length; the time of a point is as accurate.
    fn log_error(&self, radius: f64) -> f64 {
        let growth = (-self.curvature).sqrt();
        let entries = self.point_size() as f64 + 4.0;
        let size = self.radius.min(2.0 * radius);
        21.0 * entries * UNIT_ROUNDOFF * (4.0 * radius * growth).exp() * size
    }

    /// Chart coordinates, where space parts would hold logarithms to less than 1 part in 10^8 of the radius.
    fn precise(&self, radius: f64) -> Option<Arc<dyn Precise>> {
        if self.log_error(radius) <= 1e-8 * radius {
            return None;
        }
        Some(Arc::new(Checked(HyperbolicChart::new(self.dim, self.curvature))))
    }

    fn chart_error(&self, radius: f64) -> f64 {
        8.0 * (self.point_size() as f64 + 4.0) * UNIT_ROUNDOFF * radius
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let base = Rows::shared(base);
        let kernel = SumLog { space: *self, points, weights, base };
        let mut ambient = vec![0.0; self.dim + 1];
        let others = run_sum(kernel, count, &mut ambient);
        add_coords(self, &ambient, base, sum);
        LogSums::new(others)
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let frame = Frame::hyperbolic(self, velocity, base, self.radius);
        log_along(self, &frame, points, times, base, out);
    }
}
