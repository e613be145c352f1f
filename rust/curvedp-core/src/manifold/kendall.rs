//! Kendall's space of planar shapes: k landmarks in the plane up to translation, scale and rotation,
//! CP^(k-2) with the Fubini-Study metric of curvatures 1 to 4.
//!
//! A point is represented by a centred unit vector z of C^k, a tangent vector by a horizontal one:
//! centred and complex-orthogonal to z. With f = w - z, the horizontal part h = f - <z, f> z of w - z
//! turns with w, and the angle of the shapes has sine |h| and cosine |<z, w>|. Both are fully accurate
//! where f is short; of representatives that are turned against each other the angle has an absolute
//! error of a few rounding units.

mod coords;

use std::f64::consts::FRAC_PI_2;

use coords::{Coords, FromCoords};

use super::arc::COTANGENT_FLOOR;
use super::blocks::{
    Kernel, SumKernel, Terms, add_coords, norm, run, run_sum, scale_to, weights_of,
};
use super::curvature::Curvature;
use super::euclidean::Dot;
use super::lanes::{BLOCK, Block, Width, padded};
use super::moments::sum_log_moments;
use super::pairs::{Pair, hermitian, minus, pair_add, pair_map, pair_sums, plus, times};
use super::sphere::Exp;
use super::{LogSums, Manifold, transvection};
use crate::elementary::{atan2_nonneg, sin_cos};
use crate::graph::Embedding;
use crate::moments::{LogMoments, Range};
use crate::rows::Rows;

/// Shapes of `k` landmarks in the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KendallPlanar {
    k: usize,
}

impl KendallPlanar {
    /// # Panics
    /// If `k` is less than 3.
    pub fn new(k: usize) -> Self {
        assert!(k >= 3, "a planar shape needs at least 3 landmarks");
        Self { k }
    }

    /// Of triangles, CP^1: the sphere of radius 1/2.
    fn curvature(&self) -> Curvature {
        if self.k == 3 { Curvature::Constant(4.0) } else { Curvature::Complex }
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
            let [re, im, square] = pair_sums(width, operands, |[z, w]| {
                let f = minus(w, z);
                let [re, im] = hermitian(z, f);
                [re, im, [f[0] * f[0], f[1] * f[1]]]
            });
            (block.overlap[0][l], block.overlap[1][l], f2[l]) = (re, im, square);
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
    shapes: KendallPlanar,
    points: Rows<'a>,
    weights: Option<&'a [f64]>,
    base: Rows<'a>,
}

impl SumKernel for SumLog<'_> {
    /// Adds factor * phase * f: the sum is made horizontal at the end.
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, sum: &mut [f64]) -> Terms {
        let width = self.shapes.point_size();
        let aligned = Aligned::new(width, self.base, self.points, first, rows);
        let weights = weights_of(self.weights, first, rows);
        let dim = self.shapes.dim() as f64;
        let mut terms = Terms { squared_dist: [0.0; BLOCK], curvature: [0.0; BLOCK] };
        let mut shares = [[0.0; BLOCK]; 2];
        for l in 0..padded(rows) {
            let [factor, angle] = aligned.factor(l);
            let phase = aligned.phase(l);
            let cos = aligned.cos[l];
            let double = factor * (cos - aligned.squared_sin[l] / cos);
            let double = if double > COTANGENT_FLOOR { double } else { COTANGENT_FLOOR };
            let curvature = (1.0 + double + (dim - 2.0) * (factor * cos)) / dim;
            terms.squared_dist[l] = weights[l] * (angle * angle);
            terms.curvature[l] = weights[l] * curvature;
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

/// v - mean(v) - <z, v> z.
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
            let mean = mean(operands[1]);
            let [re, im] = pair_sums(self.width, operands, |[z, v]| hermitian(z, minus(v, mean)));
            pair_map(operands, |[z, v]| minus(minus(v, mean), times([re, im], z)), out);
        }
    }
}

/// The centre of the landmarks.
#[inline(always)]
fn mean(row: &[f64]) -> Pair {
    let sums = pair_sums(row.len(), [row], |[[x, y]]| [[x, 0.0], [0.0, y]]);
    sums.map(|sum| sum / (row.len() / 2) as f64)
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

impl Manifold for KendallPlanar {
    fn point_size(&self) -> usize {
        2 * self.k
    }

    fn dim(&self) -> usize {
        2 * self.k - 4
    }

    fn curvature_bounds(&self) -> (f64, f64) {
        (if self.k == 3 { 4.0 } else { 1.0 }, 4.0)
    }

    fn injectivity_radius(&self) -> f64 {
        FRAC_PI_2
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        let off_centre = norm(&mean(point));
        (norm(point) - 1.0).abs() <= tolerance && off_centre <= tolerance
    }

    /// Centres and scales; false if the landmarks coincide up to rounding.
    fn project(&self, point: &mut [f64]) -> bool {
        if !scale_to(point, 1.0) {
            return false;
        }
        for _ in 0..2 {
            let mean = mean(point);
            point.chunks_exact_mut(2).for_each(|x| [x[0], x[1]] = minus([x[0], x[1]], mean));
        }
        norm(point) > 8.0 * f64::EPSILON && scale_to(point, 1.0)
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(ToTangent { vector, base, width }, width, width, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Exp { tangent, base, radius: 1.0 }, width, width, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Log { point, base, width }, width, width, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Dist { a, b, width }, width, 1, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Transport { tangent, base, end, width }, width, width, out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Dot { a, b }, self.point_size(), 1, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Coords { shapes: *self, tangent, base }, self.point_size(), self.dim(), out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(FromCoords { shapes: *self, coords, base }, width, width, out);
    }

    /// The rotation of `point` closest to `reference`.
    fn align(&self, point: &mut [f64], reference: &[f64]) {
        let rows = [&*point, reference];
        let [x, y] = pair_sums(reference.len(), rows, |[z, c]| hermitian(z, c));
        let size = x.hypot(y);
        if size > 0.0 {
            let phase = [x / size, y / size];
            point.chunks_exact_mut(2).for_each(|z| [z[0], z[1]] = times([z[0], z[1]], phase));
        }
    }

    fn embedding(&self) -> Embedding {
        Embedding::Hermitian
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(*self)
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
        let kernel = SumLog { shapes: *self, points, weights, base };
        let mut ambient = vec![0.0; self.point_size()];
        let others = run_sum(kernel, count, &mut ambient);
        add_coords(self, &ambient, base, sum);
        others
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

    fn curvature_function(&self, u: &[f64], f: &dyn Fn(f64) -> f64, out: &mut [f64]) {
        self.curvature().function(u, f, out);
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

    fn sum_log_moments(
        &self,
        points: Rows,
        count: usize,
        base: &[f64],
        range: &Range,
        sums: &mut LogMoments,
    ) {
        sum_log_moments(self, self.curvature(), (points, count), base, range, sums);
    }
}

/// v + <e, v> ((cos t - 1) e - sin t z) for the velocity t e, with the Hermitian product: the complex line
/// of the velocity turns with the geodesic, its complement stays.
fn carry(tangent: Rows, velocity: &[f64], base: &[f64], out: &mut [f64]) {
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
