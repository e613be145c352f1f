//! The complex projective space CP^m with the Fubini-Study metric of curvatures 1 to 4: the frame of planar
//! shapes, whose centre is the complex line of (1, 0, ..., 0).
//!
//! A point is represented by a unit vector z of C^(m+1), a tangent vector by a horizontal one:
//! complex-orthogonal to z. With f = w - z, the horizontal part h = f - <z, f> z of w - z
//! turns with w, and the angle of the points has sine |h| and cosine |<z, w>|. Both are fully accurate
//! where f is short; of representatives that are turned against each other the angle has an absolute
//! error of a few rounding units.

mod centring;
mod coords;

use centring::polar;
pub(super) use centring::{centre_row, uncentre_row};
use coords::{Coords, FromCoords, pivot};

use super::add_coords;
use super::euclidean::Dot;
use super::polar::{chart_row, exp_circular};
use super::sphere::Exp;
use super::{Embedding, LogSums, Manifold, transvection};
use crate::manifold::checked::Checked;
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::simd::arc::COTANGENT_FLOOR;
use crate::simd::blocks::{BLOCK, Block, Width, padded};
use crate::simd::elementary::{atan2_nonneg, sin_cos};
use crate::simd::kernel::{Kernel, SumKernel, run, run_any, run_sum_any, weights_of};
use crate::simd::pairs::{
    Pair, hermitian, minus, pair_add, pair_map, pair_sums, part_sums, plus, times,
};
use crate::simd::vectorize;
use crate::vector::{norm, scale_to};

/// CP^m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComplexProjective {
    m: usize,
}

impl ComplexProjective {
    /// # Panics
    /// If `m` is 0.
    pub fn new(m: usize) -> Self {
        assert!(m > 0, "the complex dimension must be positive");
        Self { m }
    }

    /// Distances of representatives of `width` entries.
    pub(super) fn dist_of(width: usize, a: Rows, b: Rows, out: &mut [f64]) {
        run_any(Dist { a, b, width }, width, 1, out);
    }

    /// Logarithms of representatives of `width` entries.
    pub(super) fn log_of(width: usize, point: Rows, base: Rows, out: &mut [f64]) {
        run_any(Log { point, base, width }, width, width, out);
    }

    /// Parallel transport between representatives of `width` entries.
    pub(super) fn transport_of(
        width: usize,
        tangent: Rows,
        base: Rows,
        end: Rows,
        out: &mut [f64],
    ) {
        run_any(Transport { tangent, base, end, width }, width, width, out);
    }

    /// [`Manifold::sum_log`] of `manifold`, whose points are representatives.
    pub(super) fn sum_log_of(
        self,
        manifold: &impl Manifold,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let (base, width) = (Rows::shared(base), manifold.point_size());
        let kernel = SumLog { space: self, width, points, weights, base };
        let mut ambient = vec![0.0; width];
        let others = run_sum_any(kernel, count, &mut ambient);
        add_coords(manifold, &ambient, base, sum);
        LogSums::new(others)
    }
}

/// Squared length of h below this share of that of f is computed from h itself.
const CANCELLATION: f64 = 0.25;

/// The points of a block turned onto their base points.
struct Aligned {
    /// <z, f>, real and imaginary part.
    overlap: [Block; 2],
    /// |<z, w>|.
    cos: Block,
    /// |h|^2.
    squared_sin: Block,
}

impl Aligned {
    #[inline(always)]
    fn new(width: usize, base: Rows, point: Rows, first: usize, rows: usize) -> Self {
        let mut block =
            Self { overlap: [[0.0; BLOCK]; 2], cos: [0.0; BLOCK], squared_sin: [0.0; BLOCK] };
        let mut f2 = [0.0; BLOCK];
        for l in 0..rows {
            let operands = [base.row(first + l), point.row(first + l)];
            let [re, im, square] = part_sums(width, operands, |[z, w]| {
                let f = minus(w, z);
                let with_z = |[x, y]: Pair| [z[0] * x, z[1] * y];
                [with_z(f), with_z([f[1], f[0]]), [f[0] * f[0], f[1] * f[1]]]
            });
            block.overlap[0][l] = re[0] + re[1];
            block.overlap[1][l] = im[0] - im[1];
            f2[l] = square[0] + square[1];
        }
        for l in 0..padded(rows) {
            let (re, im) = (block.overlap[0][l], block.overlap[1][l]);
            block.cos[l] = ((1.0 + re) * (1.0 + re) + im * im).sqrt();
            block.squared_sin[l] = f2[l] - (re * re + im * im);
        }
        for l in 0..rows {
            if block.squared_sin[l] < CANCELLATION * f2[l] {
                let overlap = [block.overlap[0][l], block.overlap[1][l]];
                let operands = [base.row(first + l), point.row(first + l)];
                [block.squared_sin[l]] = pair_sums(width, operands, |[z, w]| {
                    let h = minus(minus(w, z), times(overlap, z));
                    [[h[0] * h[0], h[1] * h[1]]]
                });
            }
        }
        block
    }

    /// The unit complex number that turns the point of row `l` onto its base point.
    #[inline(always)]
    fn phase(&self, l: usize) -> Pair {
        let turned = self.cos[l] > 0.0;
        let scale = 1.0 / (if turned { self.cos[l] } else { 1.0 });
        let (re, im) = ((1.0 + self.overlap[0][l]) * scale, -self.overlap[1][l] * scale);
        if turned { [re, im] } else { [1.0, 0.0] }
    }

    /// angle / sin(angle), and the angle.
    #[inline(always)]
    fn factor(&self, l: usize) -> [f64; 2] {
        let sin = self.squared_sin[l].sqrt();
        let angle = atan2_nonneg(sin, self.cos[l]);
        [if sin > 0.0 { angle / sin } else { 1.0 }, angle]
    }
}

struct Dist<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
    width: usize,
}

impl Kernel for Dist<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let aligned = Aligned::new(self.width, self.a, self.b, first, rows);
        let mut dist = [0.0; BLOCK];
        for l in 0..padded(rows) {
            dist[l] = atan2_nonneg(aligned.squared_sin[l].sqrt(), aligned.cos[l]);
        }
        out.copy_from_slice(&dist[..rows]);
    }
}

struct Log<'a> {
    point: Rows<'a>,
    base: Rows<'a>,
    width: usize,
}

impl Kernel for Log<'_> {
    /// factor * phase * h.
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let aligned = Aligned::new(self.width, self.base, self.point, first, rows);
        let mut shares = [[0.0; BLOCK]; 2];
        for l in 0..padded(rows) {
            let [factor, _] = aligned.factor(l);
            let phase = aligned.phase(l);
            (shares[0][l], shares[1][l]) = (factor * phase[0], factor * phase[1]);
        }
        for (l, out) in out.chunks_exact_mut(self.width).enumerate().take(rows) {
            let overlap = [aligned.overlap[0][l], aligned.overlap[1][l]];
            let share = [shares[0][l], shares[1][l]];
            let operands = [self.base.row(first + l), self.point.row(first + l)];
            let entry = |[z, w]: [Pair; 2]| times(share, minus(minus(w, z), times(overlap, z)));
            pair_map(operands, entry, out);
        }
    }
}

struct SumLog<'a> {
    space: ComplexProjective,
    width: usize,
    points: Rows<'a>,
    weights: Option<&'a [f64]>,
    base: Rows<'a>,
}

impl SumKernel for SumLog<'_> {
    /// Adds factor * phase * f: the sum is made horizontal at the end.
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, sum: &mut [f64]) -> [Block; 2] {
        let width = self.width;
        let aligned = Aligned::new(width, self.base, self.points, first, rows);
        let weights = weights_of(self.weights, first, rows);
        let dim = self.space.dim() as f64;
        let mut terms = [[0.0; BLOCK]; 2];
        let [squared_dist, curvature] = &mut terms;
        let mut shares = [[0.0; BLOCK]; 2];
        for l in 0..padded(rows) {
            let [factor, angle] = aligned.factor(l);
            let phase = aligned.phase(l);
            let cos = aligned.cos[l];
            let double = factor * (cos - aligned.squared_sin[l] / cos);
            let double = if double > COTANGENT_FLOOR { double } else { COTANGENT_FLOOR };
            let mean = (1.0 + double + (dim - 2.0) * (factor * cos)) / dim;
            squared_dist[l] = weights[l] * (angle * angle);
            curvature[l] = weights[l] * mean;
            let share = weights[l] * factor;
            (shares[0][l], shares[1][l]) = (share * phase[0], share * phase[1]);
        }
        for l in 0..rows {
            let share = [shares[0][l], shares[1][l]];
            let operands = [self.base.row(first + l), self.points.row(first + l)];
            pair_add(operands, |[z, w]| times(share, minus(w, z)), sum);
        }
        terms
    }
}

/// Transport to the turned end p w is the complex reflection that negates z + p w; conj(p) turns the
/// result back.
struct Transport<'a> {
    tangent: Rows<'a>,
    base: Rows<'a>,
    end: Rows<'a>,
    width: usize,
}

impl Kernel for Transport<'_> {
    /// <z + p w, v> = conj(p) <f, v>, as v is horizontal at z, and f is accurate.
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let aligned = Aligned::new(self.width, self.base, self.end, first, rows);
        for (l, out) in out.chunks_exact_mut(self.width).enumerate().take(rows) {
            let operands =
                [self.base.row(first + l), self.end.row(first + l), self.tangent.row(first + l)];
            let [re, im] = pair_sums(self.width, operands, |[z, w, v]| hermitian(minus(w, z), v));
            let [px, py] = aligned.phase(l);
            let back = [px, -py];
            let scale = 1.0 / (1.0 + aligned.cos[l]);
            let share = times(back, [scale * re, scale * im]);
            let base_share = times(back, share);
            let entry = |[z, w, v]: [Pair; 3]| {
                minus(minus(times(back, v), times(base_share, z)), times(share, w))
            };
            pair_map(operands, entry, out);
        }
    }
}

/// v - <z, v> z.
struct ToTangent<'a> {
    vector: Rows<'a>,
    base: Rows<'a>,
    width: usize,
}

impl Kernel for ToTangent<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(self.width).enumerate().take(rows) {
            let operands = [self.base.row(first + l), self.vector.row(first + l)];
            let [re, im] = pair_sums(self.width, operands, |[z, v]| hermitian(z, v));
            pair_map(operands, |[z, v]| minus(v, times([re, im], z)), out);
        }
    }
}

impl Manifold for ComplexProjective {
    fn point_size(&self) -> usize {
        2 * self.m + 2
    }

    fn dim(&self) -> usize {
        2 * self.m
    }

    fn space(&self) -> Space {
        Radial::ComplexProjective { m: self.m }.into()
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        (norm(point) - 1.0).abs() <= tolerance
    }

    fn project(&self, point: &mut [f64]) -> bool {
        scale_to(point, 1.0)
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run_any(ToTangent { vector, base, width }, width, width, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Exp { tangent, base, radius: 1.0 }, width, width, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        Self::log_of(self.point_size(), point, base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        Self::dist_of(self.point_size(), a, b, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        Self::transport_of(self.point_size(), tangent, base, end, out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Dot { a, b }, self.point_size(), 1, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run_any(Coords { tangent, base, width }, width, width - 2, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run_any(FromCoords { coords, base, width }, width, width, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::hermitian(self.point_size()))
    }

    fn is_quotient(&self) -> bool {
        true
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.point_size()];
        origin[0] = 1.0;
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                for (i, out) in out.chunks_exact_mut(center.len()).enumerate() {
                    centre_row(point.row(i), center, out);
                }
            },
        );
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(center.len()).enumerate() {
            uncentre_row(point.row(i), center, out);
        }
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = polar(point.row(i))[1];
                }
            },
        );
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        let dim = self.dim();
        vectorize(
            #[inline(always)]
            || {
                for (i, out) in out.chunks_exact_mut(dim).enumerate() {
                    let z = point.row(i);
                    let [length, angle] = polar(z);
                    chart_row(&z[2..], length, angle, out);
                    let (_, [re, im]) = pivot(z);
                    out.as_chunks_mut::<2>().0.iter_mut().for_each(|x| *x = times(*x, [re, -im]));
                }
            },
        );
    }

    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        exp_circular(coords, 1.0, 1, out, self.point_size());
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        self.sum_log_of(self, points, count, weights, base, sum)
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        transvection::log_along_complex(self, points, times, velocity, base, out);
    }

    fn transport_along(
        &self,
        tangent: Rows,
        velocity: &[f64],
        base: &[f64],
        _end: &[f64],
        out: &mut [f64],
    ) {
        carry(tangent, velocity, base, out);
    }
}

/// v + <e, v> ((cos t - 1) e - sin t z) for the velocity t e, with the Hermitian product: the complex line
/// of the velocity turns with the geodesic, its complement stays.
pub(super) fn carry(tangent: Rows, velocity: &[f64], base: &[f64], out: &mut [f64]) {
    let (length, width) = (norm(velocity), base.len());
    let scale = if length > f64::MIN_POSITIVE { 1.0 / length } else { 0.0 };
    let (sin, cos) = sin_cos(length);
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        let vector = tangent.row(i);
        let along = pair_sums(width, [velocity, vector], |[e, v]| hermitian(e, v));
        let share = along.map(|part| scale * part);
        let entry = |[v, e, z]: [Pair; 3]| {
            let arrival = minus(e.map(|e| (cos - 1.0) * scale * e), z.map(|z| sin * z));
            plus(v, times(share, arrival))
        };
        pair_map([vector, velocity, base], entry, out);
    }
}
