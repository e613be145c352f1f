//! Hyperbolic space where points are their logarithms at the origin: the row y stands for exp_o(y), exactly. It serves
//! balls in which space parts would lose the digits of logarithms.
//!
//! Tangent vectors at exp_o(y) are coordinates, carried there from the origin along the radius. With R = 1,
//! b = |x|, a = |y|, w = x/b - y/a, h = |w|^2/4 = sin(angle/2)^2, the law of haversines gives
//!
//! ```text
//! sinh(d/2)^2 = sinh((b - a)/2)^2 + h sinh a sinh b,      a sum of nonnegative terms,
//! log = (d/sinh d) [(sinh(b - a) - 2h sinh b cosh a) y/a + sinh b (w + 2h y/a)],
//! ```
//!
//! and exp_y(v) is the logarithm of v at -y, as the transvection that takes y to the origin takes the origin to -y.

use crate::cascade::{ADDITIONS, PIECE};
use crate::manifold::chart::{points_are_logarithms, tangents_are_coordinates};
use crate::manifold::{CLIP_LENGTH, LogSums, Manifold, Precise, UNIT_ROUNDOFF};
use crate::roots::{Radial, Space};
use crate::rows::Rows;
use crate::simd::elementary::{asinh_nonneg, cosh, sinh, sinhc};
use crate::simd::lanes::{Lane, Lanes};
use crate::simd::precise::{Sum, two_sum};
use crate::simd::vectorize_widest;
use crate::vector::norm;

/// Hyperbolic space of dimension `dim` and sectional curvature `curvature` < 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperbolicChart {
    dim: usize,
    curvature: f64,
    radius: f64,
}

impl HyperbolicChart {
    /// As [`super::Hyperboloid::new`].
    pub fn new(dim: usize, curvature: f64) -> Self {
        Self { dim, curvature, radius: (-1.0 / curvature).sqrt() }
    }

    /// Logarithms of points at base points, row by row.
    fn logs(&self, point: Rows, base: Rows, out: &mut [f64]) {
        let mut log = ChartLog::<LANES>::new(*self);
        for (block, rows) in out.chunks_mut(LANES * self.dim).enumerate() {
            let count = rows.len() / self.dim;
            log.compute(&point, &base, block * LANES, count);
            for (l, row) in rows.chunks_exact_mut(self.dim).enumerate() {
                row.iter_mut().zip(log.log.iter()).for_each(|(out, lane)| *out = lane[l]);
            }
        }
    }
}

/// Rows at a time.
const LANES: usize = 16;
const _: () = assert!(LANES + PIECE.div_ceil(LANES) <= ADDITIONS);

/// Vectors as a length and a direction, in double-double.
struct Polar<const L: usize> {
    high: Lanes<L>,
    low: Lanes<L>,
    length: Lane<L>,
    rest: Lane<L>,
}

impl<const L: usize> Polar<L> {
    fn new(dim: usize) -> Self {
        Self { high: Lanes::new(dim), low: Lanes::new(dim), length: [0.0; L], rest: [0.0; L] }
    }

    /// Reads rows `start..start + count`; the others become 0.
    fn load(&mut self, rows: &Rows, start: usize, count: usize) {
        let count = if rows.is_shared() { L } else { count };
        for l in 0..L {
            let row = if l < count { Some(rows.row(start + l)) } else { None };
            for (k, lane) in self.high.iter_mut().enumerate() {
                lane[l] = row.map_or(0.0, |row| row[k]);
            }
        }
    }

    /// Divides the vectors by their lengths; 0 stays.
    #[inline(always)]
    fn normalize(&mut self) {
        let mut square = Sum::ZERO;
        for x in self.high.iter() {
            square.add_product(x, &[0.0; L], x);
        }
        for l in 0..L {
            let (high, low) = two_sum(square.high[l], square.low[l]);
            let root = high.sqrt();
            let positive = if root > 0.0 { root } else { 1.0 };
            self.length[l] = root;
            self.rest[l] = ((-root).mul_add(root, high) + low) / (2.0 * positive);
        }
        for (high, low) in self.high.iter_mut().zip(self.low.iter_mut()) {
            for l in 0..L {
                let length = if self.length[l] > 0.0 { self.length[l] } else { 1.0 };
                let unit = high[l] / length;
                low[l] = ((-unit).mul_add(length, high[l]) - unit * self.rest[l]) / length;
                high[l] = unit;
            }
        }
    }
}

/// Logarithms of a block of points.
struct ChartLog<const L: usize> {
    space: HyperbolicChart,
    point: Polar<L>,
    base: Polar<L>,
    ready: bool,
    log: Lanes<L>,
    dist: Lane<L>,
    /// t coth t at t = dist/R.
    cotangent: Lane<L>,
}

impl<const L: usize> ChartLog<L> {
    fn new(space: HyperbolicChart) -> Self {
        let dim = space.dim;
        Self {
            space,
            point: Polar::new(dim),
            base: Polar::new(dim),
            ready: false,
            log: Lanes::new(dim),
            dist: [0.0; L],
            cotangent: [0.0; L],
        }
    }

    fn compute(&mut self, point: &Rows, base: &Rows, start: usize, count: usize) {
        self.point.load(point, start, count);
        let fresh = !self.ready;
        if fresh {
            self.base.load(base, start, count);
            self.ready = base.is_shared();
        }
        self.combine(fresh);
    }

    #[inline(never)]
    fn combine(&mut self, fresh: bool) {
        vectorize_widest(
            #[inline(always)]
            || {
                self.point.normalize();
                if fresh {
                    self.base.normalize();
                }
                let (point, base) = (&self.point, &self.base);
                let dim = self.space.dim;
                let (x, x_low) = (&point.high[..dim], &point.low[..dim]);
                let (y, y_low) = (&base.high[..dim], &base.low[..dim]);
                let log = &mut self.log[..dim];
                let mut square = [0.0; L];
                for k in 0..dim {
                    for l in 0..L {
                        let w = (x[k][l] - y[k][l]) + (x_low[k][l] - y_low[k][l]);
                        square[l] += w * w;
                        log[k][l] = w;
                    }
                }
                let radius = self.space.radius;
                let (mut along, mut across) = ([0.0; L], [0.0; L]);
                for l in 0..L {
                    let (b, a) = (point.length[l] / radius, base.length[l] / radius);
                    let gap = b - a;
                    let h = 0.25 * square[l];
                    let (sinh_a, sinh_b) = (sinh(a), sinh(b));
                    let half = sinh(0.5 * gap);
                    let chord = half * half + h * sinh_a * sinh_b;
                    let root = chord.sqrt();
                    let angle = 2.0 * asinh_nonneg(root);
                    let sinh_d = 2.0 * root * (1.0 + chord).sqrt();
                    let factor = if sinh_d > 0.0 { angle / sinh_d } else { 1.0 };
                    let twice = 2.0 * h * sinh_b;
                    along[l] = radius * factor * ((sinh(gap) - twice * cosh(a)) + twice);
                    across[l] = radius * factor * sinh_b;
                    self.dist[l] = radius * angle;
                    self.cotangent[l] = factor * (1.0 + 2.0 * chord);
                }
                for k in 0..dim {
                    for l in 0..L {
                        log[k][l] = along[l] * y[k][l] + across[l] * log[k][l];
                    }
                }
            },
        );
    }
}

impl Precise for HyperbolicChart {
    fn own_size(&self) -> usize {
        self.dim + 1
    }

    fn from_points(&self, points: Rows, out: &mut [f64]) {
        super::Hyperboloid::new(self.dim, self.curvature).log_origin(points, out);
    }

    fn to_points(&self, points: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dim + 1).enumerate() {
            let row = points.row(i);
            let factor = sinhc(norm(row) / self.radius);
            out[1..].iter_mut().zip(row).for_each(|(out, y)| *out = factor * y);
            out[0] = self.radius.hypot(norm(&out[1..]));
        }
    }
}

impl Manifold for HyperbolicChart {
    fn point_size(&self) -> usize {
        self.dim
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn space(&self) -> Space {
        Radial::Hyperbolic { dim: self.dim, curvature: self.curvature }.into()
    }

    fn clip_limit(&self) -> f64 {
        CLIP_LENGTH * self.radius
    }

    points_are_logarithms!();
    tangents_are_coordinates!();

    fn project(&self, point: &mut [f64]) -> bool {
        self.belongs(point, 0.0)
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let opposite: Vec<f64> = base.data().iter().map(|x| -x).collect();
        let opposite =
            if base.is_shared() { Rows::shared(&opposite) } else { Rows::new(&opposite, self.dim) };
        self.logs(tangent, opposite, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        self.logs(point, base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let mut log = ChartLog::<LANES>::new(*self);
        for (block, out) in out.chunks_mut(LANES).enumerate() {
            log.compute(&b, &a, block * LANES, out.len());
            out.copy_from_slice(&log.dist[..out.len()]);
        }
    }

    /// The rotation that takes the direction of the geodesic at its base to that at its end, and nothing across them.
    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        let dim = self.dim;
        let count = out.len() / dim;
        let (mut ahead, mut behind) = (vec![0.0; count * dim], vec![0.0; count * dim]);
        self.logs(end, base, &mut ahead);
        self.logs(base, end, &mut behind);
        for (i, out) in out.chunks_exact_mut(dim).enumerate() {
            out.copy_from_slice(tangent.row(i));
            let (ahead, behind) = (&ahead[i * dim..][..dim], &behind[i * dim..][..dim]);
            let lengths = norm(ahead) * norm(behind);
            if lengths.is_nan() || lengths <= 0.0 {
                continue;
            }
            let (of_ahead, of_behind) = (1.0 / norm(ahead), -1.0 / norm(behind));
            let (mut cos, mut first, mut second) = (0.0, 0.0, 0.0);
            for k in 0..dim {
                let (a, b) = (of_ahead * ahead[k], of_behind * behind[k]);
                cos += a * b;
                first += a * out[k];
                second += b * out[k];
            }
            let share = (first + second) / (1.0 + cos);
            for k in 0..dim {
                let (a, b) = (of_ahead * ahead[k], of_behind * behind[k]);
                out[k] += 2.0 * first * b - share * (a + b);
            }
        }
    }

    /// That of logarithms, and of steps: there the chart stretches the rounding of coordinates by sinh r/r, and the
    /// Hessian has eigenvalues of up to 2r coth 2r.
    fn log_error(&self, radius: f64) -> f64 {
        let (dim, angle) = (self.dim as f64, radius / self.radius);
        let log = (4.0 * dim + 80.0 + 16.0 * angle) * UNIT_ROUNDOFF * 2.0 * radius
            + 8.0 * UNIT_ROUNDOFF * UNIT_ROUNDOFF * self.radius * angle.exp();
        let step = (4.0 * dim + 90.0) * UNIT_ROUNDOFF * self.radius * angle.sinh();
        log + (1.0 + 2.0 * angle) * step
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
        let mut log = ChartLog::<LANES>::new(*self);
        let mut total = Lanes::<LANES>::new(self.dim);
        let (mut squared_dist, mut curvature) = ([0.0; LANES], [0.0; LANES]);
        let along = 1.0 / self.dim as f64;
        for start in (0..count).step_by(LANES) {
            let here = LANES.min(count - start);
            log.compute(&points, &base, start, here);
            let mut weight = [0.0; LANES];
            for l in 0..here {
                weight[l] = weights.map_or(1.0, |weights| weights[start + l]);
                squared_dist[l] += weight[l] * (log.dist[l] * log.dist[l]);
                curvature[l] += weight[l] * (along + (1.0 - along) * log.cotangent[l]);
            }
            for (total, log) in total.iter_mut().zip(log.log.iter()) {
                for l in 0..LANES {
                    total[l] += weight[l] * log[l];
                }
            }
        }
        for (sum, total) in sum.iter_mut().zip(total.iter()) {
            *sum += total.iter().sum::<f64>();
        }
        LogSums::new([squared_dist.iter().sum(), curvature.iter().sum()])
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let mut seen = vec![0.0; out.len()];
        self.logs(points, Rows::shared(base), &mut seen);
        let places: Vec<f64> =
            times.iter().flat_map(|t| velocity.iter().map(move |v| t * v)).collect();
        self.logs(Rows::new(&seen, self.dim), Rows::new(&places, self.dim), out);
    }
}
