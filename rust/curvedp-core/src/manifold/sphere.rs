//! The sphere of radius R in R^(dim+1): points with |x| = R, great circles as geodesics.
//!
//! Angles come from the chord |y - x| or the cochord |y + x|, whichever is shorter: its entries carry
//! no rounding error, and it is 2R sin(t/2) for the angle t from y to x or to -x.

mod centring;
mod log;

use std::f64::consts::PI;
use std::ops::Range as Indices;

use centring::{Centre, Uncentre};
use log::{Log, SumLog, chord_terms, shorter, sum_short_ranges};

use super::add_coords;
use super::euclidean::Dot;
use super::polar::{PolarDist, dist_polar, exp_circular, log_polar, within_cone};
use super::transvection::{Frame, log_along};
use super::{Embedding, LogSums, Manifold};
use crate::manifold::checked::Checked;
use crate::messages::Start;
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::simd::arc::arc_over_chord;
use crate::simd::blocks::{BLOCK, Width, padded};
use crate::simd::elementary::{atan2_nonneg, sin_cos};
use crate::simd::entries::{row_map, row_sums};
use crate::simd::kernel::{Kernel, run, run_sum};
use crate::vector::{norm, scale_to};

/// Angle up to which a tangent keeps its digits.
const STEEP: f64 = 1.5;

/// The sphere of dimension `dim` and radius `radius`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    dim: usize,
    radius: f64,
}

impl Sphere {
    /// # Panics
    /// If `dim` is 0 or `radius` is not positive and finite.
    pub fn new(dim: usize, radius: f64) -> Self {
        assert!(dim > 0, "the dimension of a sphere must be positive");
        assert!(radius > 0.0 && radius.is_finite(), "the radius must be positive and finite");
        Self { dim, radius }
    }

    /// The tangent direction at `base` in which its antipode is taken to lie: the coordinate axis
    /// least aligned with `base`, made tangent.
    fn antipodal_direction(&self, base: &[f64]) -> Vec<f64> {
        let axis = (0..base.len())
            .fold(0, |least, j| if base[j].abs() < base[least].abs() { j } else { least });
        let scale = -base[axis] / (self.radius * self.radius);
        let mut direction: Vec<f64> = base.iter().map(|x| scale * x).collect();
        direction[axis] += 1.0;
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        direction
    }
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
        let [d2, s2, skew] = width.sums([self.a, self.b], first, rows, chord_terms);
        let mut dist = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let (near, u) = shorter(d2[l], s2[l], skew[l], self.radius);
            let arc = 2.0 * u.sqrt() * arc_over_chord(u);
            dist[l] = self.radius * (if near { arc } else { PI - arc });
        }
        out.copy_from_slice(&dist[..rows]);
    }
}

impl PolarDist for Sphere {
    #[inline(always)]
    fn dist(self, tail: f64, head: f64) -> f64 {
        let angle = atan2_nonneg(tail, head.abs());
        self.radius * if head < 0.0 { PI - angle } else { angle }
    }
}

/// Sine and cosine of an angle in degrees, exact at multiples of 90; NaN where it is not finite.
fn sin_cos_of_degrees(angle: f64) -> (f64, f64) {
    let turn = angle % 360.0;
    let quarter = (turn / 90.0).round();
    let (sin, cos) = sin_cos((turn - 90.0 * quarter).to_radians());
    match quarter.rem_euclid(4.0) {
        0.0 => (sin, cos),
        1.0 => (cos, 0.0 - sin),
        2.0 => (0.0 - sin, 0.0 - cos),
        3.0 => (0.0 - cos, sin),
        _ => (f64::NAN, f64::NAN),
    }
}

/// The factor that brings a row to the sphere's radius. 0 stands for rows whose squared norm may have
/// overflowed or underflowed, and factors that would.
struct SnapScale<'a> {
    points: Rows<'a>,
    radius: f64,
}

impl Kernel for SnapScale<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [square] = width.sums([self.points], first, rows, |[x]| [x * x]);
        let mut scale = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let size = square[l].sqrt();
            let safe = square[l] > 1e-250 && square[l] < 1e250;
            let factor = self.radius / size;
            let valid = safe && factor > 1e-250 && factor < 1e250;
            scale[l] = if valid { factor } else { 0.0 };
        }
        out.copy_from_slice(&scale[..rows]);
    }
}

/// exp on the sphere of radius `radius`, the result brought back to that radius.
pub(super) struct Exp<'a> {
    pub tangent: Rows<'a>,
    pub base: Rows<'a>,
    pub radius: f64,
}

impl Kernel for Exp<'_> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.tangent];
        let [x2, v2, xv] = width.sums(operands, first, rows, |[x, v]| [x * x, v * v, x * v]);
        let mut base_share = [0.0; BLOCK];
        let mut tangent_share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let angle = v2[l].sqrt() / self.radius;
            let (sin, cos) = sin_cos(angle);
            let sinc = if angle > 0.0 { sin / angle } else { 1.0 };
            let square = cos * cos * x2[l] + sinc * (2.0 * cos * xv[l] + sinc * v2[l]);
            let scale = self.radius / square.sqrt();
            base_share[l] = cos * scale;
            tangent_share[l] = sinc * scale;
        }
        let shares = [&base_share, &tangent_share];
        width.combine(operands, first, rows, shares, |[x, v], [c, s]| c * x + s * v, out);
    }
}

/// v - <x, v> x / <x, x>.
struct ToTangent<'a> {
    vector: Rows<'a>,
    base: Rows<'a>,
}

impl Kernel for ToTangent<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.vector];
        let [x2, xv] = width.sums(operands, first, rows, |[x, v]| [x * x, x * v]);
        let mut share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            share[l] = xv[l] / x2[l];
        }
        width.combine(operands, first, rows, [&share], |[x, v], [c]| v - c * x, out);
    }
}

/// Transport is the reflection that negates x + y (with y brought to the norm of x).
struct Transport<'a> {
    sphere: Sphere,
    tangent: Rows<'a>,
    base: Rows<'a>,
    end: Rows<'a>,
}

impl Kernel for Transport<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.end, self.tangent];
        let [s2, skew, sv] = width.sums(operands, first, rows, |[x, y, v]| {
            let s = x + y;
            [s * s, (y - x) * s, s * v]
        });
        let half_inverse = 0.5 / (self.sphere.radius * self.sphere.radius);
        let mut share = [0.0; BLOCK];
        let mut shrink = [0.0; BLOCK];
        for l in 0..padded(rows) {
            shrink[l] = half_inverse * skew[l];
            // The square of x + (1 - shrink) y.
            let square = s2[l] - shrink[l] * (s2[l] + 0.5 * skew[l]);
            share[l] = if square > 0.0 { 2.0 * sv[l] / square } else { f64::INFINITY };
        }
        let entry = |[x, y, v]: [f64; 3], [c, g]: [f64; 2]| v - c * ((x + y) - g * y);
        width.combine(operands, first, rows, [&share, &shrink], entry, out);
        for l in 0..rows {
            if share[l] == f64::INFINITY {
                let size = self.sphere.dim + 1;
                let direction = self.sphere.antipodal_direction(self.base.row(first + l));
                let tangent = self.tangent.row(first + l);
                let along = 2.0 * tangent.iter().zip(&direction).map(|(v, e)| v * e).sum::<f64>();
                for j in 0..size {
                    out[l * size + j] = tangent[j] - along * direction[j];
                }
            }
        }
    }
}

/// Householder coordinates: the reflection that takes x/|x| to an end of the first axis takes the
/// tangent space at x to the other axes.
struct Coords<'a> {
    sphere: Sphere,
    tangent: Rows<'a>,
    base: Rows<'a>,
}

impl Kernel for Coords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let dim = self.sphere.dim;
        for l in 0..rows {
            let (x, v) = (self.base.row(first + l), self.tangent.row(first + l));
            let share = v[0] / (self.sphere.radius.copysign(x[0]) + x[0]);
            let out = &mut out[l * dim..(l + 1) * dim];
            row_map([&x[1..], &v[1..]], |[x, v]| v - share * x, out);
        }
    }
}

struct FromCoords<'a> {
    sphere: Sphere,
    coords: Rows<'a>,
    base: Rows<'a>,
}

impl Kernel for FromCoords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let Sphere { dim, radius } = self.sphere;
        for l in 0..rows {
            let (x, c) = (self.base.row(first + l), self.coords.row(first + l));
            let [along] = row_sums(dim, [&x[1..], c], |[x, c]| [x * c]);
            let out = &mut out[l * (dim + 1)..(l + 1) * (dim + 1)];
            out[0] = -along / radius.copysign(x[0]);
            let share = along / (radius * (radius + x[0].abs()));
            row_map([&x[1..], c], |[x, c]| c - share * x, &mut out[1..]);
        }
    }
}

impl Manifold for Sphere {
    fn point_size(&self) -> usize {
        self.dim + 1
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn space(&self) -> Space {
        Radial::Sphere { dim: self.dim, radius: self.radius }.into()
    }

    fn start(&self) -> Start {
        Start::Direction { size: self.dim + 1, radius: self.radius }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        (norm(point) / self.radius - 1.0).abs() <= tolerance
    }

    fn project(&self, point: &mut [f64]) -> bool {
        scale_to(point, self.radius)
    }

    /// Vectors of any length stand for directions.
    fn snap(&self, points: &mut [f64], valid: &mut [bool]) {
        let size = self.dim + 1;
        let mut scales = vec![0.0; valid.len()];
        let kernel = SnapScale { points: Rows::new(points, size), radius: self.radius };
        run(kernel, size, 1, &mut scales);
        for (i, (scale, valid)) in scales.iter_mut().zip(valid).enumerate() {
            *valid = *scale != 0.0;
            if !*valid {
                *valid = scale_to(&mut points[i * size..(i + 1) * size], 1.0);
                *scale = self.radius;
            }
        }
        if size == 3 {
            for (row, scale) in points.as_chunks_mut::<3>().0.iter_mut().zip(&scales) {
                row.iter_mut().for_each(|x| *x *= scale);
            }
        } else {
            for (row, scale) in points.chunks_exact_mut(size).zip(&scales) {
                row.iter_mut().for_each(|x| *x *= scale);
            }
        }
    }

    /// On the 2-sphere longitude and latitude in degrees.
    fn short_size(&self) -> Option<usize> {
        (self.dim == 2).then_some(2)
    }

    fn from_short(&self, rows: Rows, out: &mut [f64]) {
        for (i, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (longitude, latitude) = (rows.row(i)[0], rows.row(i)[1]);
            let inside = (-90.0..=90.0).contains(&latitude);
            let (east, along) = sin_cos_of_degrees(longitude);
            let (north, level) = sin_cos_of_degrees(if inside { latitude } else { f64::NAN });
            *out = [level * along, level * east, north].map(|x| self.radius * x);
        }
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        run(ToTangent { vector, base }, self.dim + 1, self.dim + 1, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Exp { tangent, base, radius: self.radius }, self.dim + 1, self.dim + 1, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        run(Log { sphere: *self, point, base }, self.dim + 1, self.dim + 1, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        run(Dist { a, b, radius: self.radius }, self.dim + 1, 1, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let kernel = Transport { sphere: *self, tangent, base, end };
        run(kernel, self.dim + 1, self.dim + 1, out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Dot { a, b }, self.dim + 1, 1, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Coords { sphere: *self, tangent, base }, self.dim + 1, self.dim, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        run(FromCoords { sphere: *self, coords, base }, self.dim + 1, self.dim + 1, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::entries(self.point_size()))
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.dim + 1];
        origin[0] = self.radius;
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let kernel = Centre { point, center: Rows::shared(center), radius: self.radius };
        run(kernel, self.dim + 1, self.dim + 1, out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let kernel = Uncentre { point, center: Rows::shared(center), radius: self.radius };
        run(kernel, self.dim + 1, self.dim + 1, out);
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        dist_polar(point, self.dim + 1, *self, out);
    }

    fn within_origin(&self, point: Rows, limit: f64, out: &mut [bool]) {
        let angle = limit / self.radius;
        if angle < STEEP {
            return within_cone(point, self.dim + 1, angle.tan(), out);
        }
        let mut dist = vec![f64::NAN; out.len()];
        self.dist_origin(point, &mut dist);
        out.iter_mut().zip(dist).for_each(|(within, dist)| *within = dist <= limit);
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        log_polar(point, self.dim + 1, *self, out);
    }

    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        exp_circular(coords, self.radius, 0, out, self.dim + 1);
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
        let kernel = SumLog { sphere: *self, points, weights, base };
        let mut ambient = vec![0.0; self.dim + 1];
        let others = run_sum(kernel, count, &mut ambient);
        add_coords(self, &ambient, base, sum);
        LogSums::new(others)
    }

    fn sum_log_each(
        &self,
        points: Rows,
        ranges: &[Indices<usize>],
        bases: Rows,
        sums: &mut [f64],
        others: &mut [LogSums],
    ) {
        let width = self.dim + 1;
        let mut ambient = vec![0.0; ranges.len() * width];
        let short = width == 3 && ranges.iter().all(|range| range.len() < BLOCK);
        if !(short && sum_short_ranges(*self, points, ranges, bases, &mut ambient, others)) {
            let rows = ambient.chunks_exact_mut(width).zip(others);
            for (g, (range, (row, other))) in ranges.iter().zip(rows).enumerate() {
                let (points, base) = (points.range(range.clone()), Rows::shared(bases.row(g)));
                let kernel = SumLog { sphere: *self, points, weights: None, base };
                *other = LogSums::new(run_sum(kernel, range.len(), row));
            }
        }
        add_coords(self, &ambient, bases, sums);
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let frame = Frame::circular(self, velocity, base, self.radius);
        log_along(self, &frame, points, times, base, out);
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        _end: &[f64],
        out: &mut [f64],
    ) {
        carry(tangent, velocity, base, self.radius, out);
    }
}

/// v + <e, v> ((cos t - 1) e - sin t x/R) for the velocity t R e.
fn carry(tangent: Rows, velocity: &[f64], base: &[f64], radius: f64, out: &mut [f64]) {
    let length = norm(velocity);
    let scale = if length > f64::MIN_POSITIVE { 1.0 / length } else { 0.0 };
    let (sin, cos) = sin_cos(length / radius);
    for (i, out) in out.chunks_exact_mut(base.len()).enumerate() {
        let vector = tangent.row(i);
        let [along] = row_sums(base.len(), [velocity, vector], |[e, v]| [scale * e * v]);
        let (e, x) = (along * (cos - 1.0) * scale, along * sin / radius);
        row_map([vector, velocity, base], |[v, w, y]| v + (e * w - x * y), out);
    }
}
