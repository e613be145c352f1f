//! Euclidean space: points and tangent vectors are vectors of R^dim.

use super::{Embedding, LogSums, Manifold, UNIT_ROUNDOFF};
use crate::manifold::checked::Checked;
use crate::roots::Space;
use crate::rows::Rows;
use crate::simd::blocks::{BLOCK, Block, Width};
use crate::simd::kernel::{Kernel, SumKernel, run, run_sum, weights_of};
use crate::vector::norm;

/// R^dim with its usual metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Euclidean {
    dim: usize,
}

impl Euclidean {
    /// # Panics
    /// If `dim` is 0.
    pub fn new(dim: usize) -> Self {
        assert!(dim > 0, "the dimension must be positive");
        Self { dim }
    }
}

/// Euclidean inner products of rows.
pub(super) struct Dot<'a> {
    pub a: Rows<'a>,
    pub b: Rows<'a>,
}

impl Kernel for Dot<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [dot] = width.sums([self.a, self.b], first, rows, |[a, b]| [a * b]);
        out.copy_from_slice(&dot[..rows]);
    }
}

struct Dist<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
}

impl Kernel for Dist<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [d2] = width.sums([self.a, self.b], first, rows, |[a, b]| [(a - b) * (a - b)]);
        out.copy_from_slice(&d2.map(f64::sqrt)[..rows]);
    }
}

/// a + sign b.
struct Add<'a> {
    a: Rows<'a>,
    b: Rows<'a>,
    sign: f64,
}

impl Kernel for Add<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let entry = |[a, b]: [f64; 2], []: [f64; 0]| a + self.sign * b;
        width.combine([self.a, self.b], first, rows, [], entry, out);
    }
}

struct Length<'a>(Rows<'a>);

impl Kernel for Length<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [square] = width.sums([self.0], first, rows, |[x]| [x * x]);
        out.copy_from_slice(&square.map(f64::sqrt)[..rows]);
    }
}

struct SumLog<'a> {
    points: Rows<'a>,
    weights: Option<&'a [f64]>,
    base: Rows<'a>,
}

impl SumKernel for SumLog<'_> {
    const WIDEST: bool = false; // two additions for each number read

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, sum: &mut [f64]) -> [Block; 2] {
        let operands = [self.base, self.points];
        let [d2] = width.sums(operands, first, rows, |[x, y]| [(y - x) * (y - x)]);
        let weights = weights_of(self.weights, first, rows);
        width.accumulate(operands, first, rows, [&weights], |[x, y], [w]| w * (y - x), sum);
        let mut squared_dist = [0.0; BLOCK];
        for l in 0..BLOCK {
            squared_dist[l] = weights[l] * d2[l];
        }
        [squared_dist, weights]
    }
}

impl Manifold for Euclidean {
    fn point_size(&self) -> usize {
        self.dim
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn space(&self) -> Space {
        Space::flat(self.dim)
    }

    fn belongs(&self, point: &[f64], _: f64) -> bool {
        point.iter().all(|x| x.is_finite())
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.belongs(point, 0.0)
    }

    fn to_tangent(&self, vector: Rows, _: Rows, out: &mut [f64]) {
        vector.copy_to(out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run(Add { a: base, b: tangent, sign: 1.0 }, self.dim, self.dim, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        run(Add { a: point, b: base, sign: -1.0 }, self.dim, self.dim, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        run(Dist { a, b }, self.dim, 1, out);
    }

    fn parallel_transport(&self, tangent: Rows, _: Rows, _: Rows, out: &mut [f64]) {
        tangent.copy_to(out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Dot { a, b }, self.dim, 1, out);
    }

    fn coords(&self, tangent: Rows, _: Rows, out: &mut [f64]) {
        tangent.copy_to(out);
    }

    fn from_coords(&self, coords: Rows, _: Rows, out: &mut [f64]) {
        coords.copy_to(out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::entries(self.point_size()))
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(*self))
    }

    fn origin(&self) -> Vec<f64> {
        vec![0.0; self.dim]
    }

    /// One addition; of noise longer than the radius it loses far less than a step.
    fn chart_error(&self, radius: f64) -> f64 {
        2.0 * UNIT_ROUNDOFF * radius
    }

    fn dist_origin(&self, point: Rows, out: &mut [f64]) {
        run(Length(point), self.dim, 1, out);
        for (i, dist) in out.iter_mut().enumerate() {
            if !(1e-125..1e125).contains(dist) {
                *dist = norm(point.row(i)); // squares may have overflowed or lost digits
            }
        }
    }

    fn within_origin(&self, point: Rows, limit: f64, out: &mut [bool]) {
        let mut dist = vec![0.0; out.len()];
        run(Length(point), self.dim, 1, &mut dist);
        out.iter_mut().zip(dist).for_each(|(within, dist)| *within = dist <= limit);
    }

    fn log_origin(&self, point: Rows, out: &mut [f64]) {
        point.copy_to(out);
    }

    fn exp_origin(&self, coords: Rows, out: &mut [f64]) {
        coords.copy_to(out);
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.log(point, Rows::shared(center), out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.exp(point, Rows::shared(center), out);
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let kernel = SumLog { points, weights, base: Rows::shared(base) };
        let mut total = vec![0.0; self.dim];
        let others = run_sum(kernel, count, &mut total);
        sum.iter_mut().zip(&total).for_each(|(sum, x)| *sum += x);
        LogSums::new(others)
    }
}
