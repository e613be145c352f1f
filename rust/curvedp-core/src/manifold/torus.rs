//! The flat torus: angles in radians, rho the length of their differences, each taken in [-pi, pi). Euclidean
//! space covers it (docs/proofs/coverings.md), so every formula is Euclidean once differences are taken.

use std::f64::consts::{PI, TAU};

use super::{Embedding, Euclidean, LogSums, Manifold, UNIT_ROUNDOFF, exp_along};
use crate::manifold::checked::Checked;
use crate::messages::Start;
use crate::roots::Space;
use crate::rows::Rows;
use crate::vector::norm;

/// 2 pi less the double next to it.
const REST: f64 = 2.449_293_598_294_706_4e-16;

/// The product of `dim` circles of length 2 pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    cover: Euclidean,
}

impl Torus {
    /// # Panics
    /// If `dim` is 0.
    pub fn new(dim: usize) -> Self {
        Self { cover: Euclidean::new(dim) }
    }

    /// log_base of points, in a new array.
    fn differences(&self, points: Rows, base: Rows, count: usize) -> Vec<f64> {
        let mut differences = vec![0.0; count * self.dim()];
        self.log(points, base, &mut differences);
        differences
    }
}

/// The angle in [-pi, pi), which stands for x up to a unit in its last place; NaN where x is not finite. The
/// remainder is exact, and that TAU is not 2 pi moves it by less than 8e-17 |x|.
fn wrap(x: f64) -> f64 {
    if (-PI..PI).contains(&x) {
        return x;
    }
    let rest = x % TAU;
    if rest >= PI {
        rest - TAU
    } else if rest < -PI {
        rest + TAU
    } else {
        rest
    }
}

/// y - x in [-pi, pi), up to one rounding, for angles in [-pi, pi).
fn between(x: f64, y: f64) -> f64 {
    let difference = y - x;
    // what the subtraction lost (Knuth)
    let back = difference - y;
    let lost = (y - (difference - back)) - (x + back);
    if difference >= PI {
        (difference - TAU) + (lost - REST)
    } else if difference < -PI {
        (difference + TAU) + (lost + REST)
    } else {
        difference
    }
}

impl Manifold for Torus {
    fn point_size(&self) -> usize {
        self.cover.dim()
    }

    fn dim(&self) -> usize {
        self.cover.dim()
    }

    /// That which covers it.
    fn space(&self) -> Space {
        self.cover.space()
    }

    fn injectivity_radius(&self) -> f64 {
        PI
    }

    fn start(&self) -> Start {
        Start::Angles { count: self.dim() }
    }

    /// Angles one by one, decided by the shortest pair of cosine and sine.
    fn start_point(&self, sum: &[f64]) -> Option<(Vec<f64>, f64)> {
        let pairs = sum.chunks_exact(2);
        let shortest = pairs.clone().map(norm).fold(f64::INFINITY, f64::min);
        let mut point: Vec<f64> = pairs.map(|pair| pair[1].atan2(pair[0])).collect();
        self.project(&mut point).then_some((point, shortest))
    }

    /// Angles of any size stand for directions.
    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        self.cover.belongs(point, tolerance)
    }

    fn project(&self, point: &mut [f64]) -> bool {
        point.iter_mut().for_each(|x| *x = wrap(*x));
        self.belongs(point, 0.0)
    }

    fn to_tangent(&self, vector: Rows, base: Rows, out: &mut [f64]) {
        self.cover.to_tangent(vector, base, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.cover.exp(tangent, base, out);
        out.iter_mut().for_each(|x| *x = wrap(*x));
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        for (i, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            let angles = point.row(i).iter().zip(base.row(i));
            out.iter_mut().zip(angles).for_each(|(u, (y, x))| *u = between(wrap(*x), wrap(*y)));
        }
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        let differences = self.differences(b, a, out.len());
        self.cover.dist_origin(Rows::new(&differences, self.dim()), out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        self.cover.parallel_transport(tangent, base, end, out);
    }

    fn inner(&self, a: Rows, b: Rows, base: Rows, out: &mut [f64]) {
        self.cover.inner(a, b, base, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        self.cover.coords(tangent, base, out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        self.cover.from_coords(coords, base, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::circles(self.dim()))
    }

    fn is_quotient(&self) -> bool {
        true
    }

    /// The covering space, in which B(c, r), r < pi/2, has an isometric copy.
    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(self.cover))
    }

    fn origin(&self) -> Vec<f64> {
        self.cover.origin()
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.log(point, Rows::shared(center), out);
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        self.exp(point, Rows::shared(center), out);
    }

    /// One subtraction, at any distance.
    fn log_error(&self, radius: f64) -> f64 {
        UNIT_ROUNDOFF * 2.0 * radius
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        let differences = self.differences(points, Rows::shared(base), count);
        let rows = Rows::new(&differences, self.dim());
        self.cover.sum_log(rows, count, weights, &self.origin(), sum)
    }

    fn log_along(
        &self,
        points: Rows,
        times: &[f64],
        velocity: &[f64],
        base: &[f64],
        out: &mut [f64],
    ) {
        let mut along = vec![0.0; out.len()];
        exp_along(self, times, velocity, base, &mut along);
        self.log(points, Rows::new(&along, self.dim()), out);
    }
}
