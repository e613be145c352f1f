//! Kendall's space of planar shapes: k landmarks in the plane up to translation, scale and rotation,
//! CP^(k-2) with the Fubini-Study metric of curvatures 1 to 4.
//!
//! A point is represented by a centred unit vector z of C^k, a tangent vector by a horizontal one:
//! centred and complex-orthogonal to z. The Helmert contrasts of z, in C^(k-1), represent it in
//! [`ComplexProjective`], whose formulas hold for z as well.

mod coords;

use std::f64::consts::FRAC_1_SQRT_2;

use coords::{Centring, Coords, FromCoords, contrasts, helmert_scales, undo_contrasts};

use super::euclidean::Dot;
use super::projective::{ComplexProjective, carry, uncentre_row};
use super::sphere::Exp;
use super::{Embedding, LogSums, Manifold, transvection};
use crate::manifold::checked::Checked;
use crate::messages::{Columns, Start};
use crate::roots::Space;
use crate::rows::Rows;
use crate::simd::blocks::Width;
use crate::simd::kernel::{Kernel, run, run_any};
use crate::simd::pairs::{Pair, hermitian, minus, pair_map, pair_sums, times};
use crate::simd::vectorize;
use crate::vector::{norm, scale_to};

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

    fn projective(&self) -> ComplexProjective {
        ComplexProjective::new(self.k - 2)
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

impl Manifold for KendallPlanar {
    fn point_size(&self) -> usize {
        2 * self.k
    }

    fn dim(&self) -> usize {
        2 * self.k - 4
    }

    fn space(&self) -> Space {
        self.projective().space()
    }

    fn start(&self) -> Start {
        Start::Projector { order: self.k, rank: 1, columns: Columns::Landmarks }
    }

    fn belongs(&self, point: &[f64], tolerance: f64) -> bool {
        let off_centre = norm(&mean(point));
        (norm(point) - 1.0).abs() <= tolerance && off_centre <= tolerance
    }

    /// Landmarks of any place and size have a shape.
    fn snap(&self, records: &mut [f64], valid: &mut [bool]) {
        for (row, valid) in records.chunks_exact_mut(self.point_size()).zip(valid) {
            *valid = self.project(row);
        }
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
        run_any(ToTangent { vector, base, width }, width, width, out);
    }

    fn exp(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run(Exp { tangent, base, radius: 1.0 }, width, width, out);
    }

    fn log(&self, point: Rows, base: Rows, out: &mut [f64]) {
        ComplexProjective::log_of(self.point_size(), point, base, out);
    }

    fn dist(&self, a: Rows, b: Rows, out: &mut [f64]) {
        ComplexProjective::dist_of(self.point_size(), a, b, out);
    }

    fn parallel_transport(&self, tangent: Rows, base: Rows, end: Rows, out: &mut [f64]) {
        ComplexProjective::transport_of(self.point_size(), tangent, base, end, out);
    }

    fn inner(&self, a: Rows, b: Rows, _: Rows, out: &mut [f64]) {
        run(Dot { a, b }, self.point_size(), 1, out);
    }

    fn coords(&self, tangent: Rows, base: Rows, out: &mut [f64]) {
        run_any(Coords { shapes: *self, tangent, base }, self.point_size(), self.dim(), out);
    }

    fn from_coords(&self, coords: Rows, base: Rows, out: &mut [f64]) {
        let width = self.point_size();
        run_any(FromCoords { shapes: *self, coords, base }, width, width, out);
    }

    fn embedding(&self) -> Option<Embedding<'_>> {
        Some(Embedding::hermitian(self.point_size()))
    }

    fn is_quotient(&self) -> bool {
        true
    }

    fn centred(&self) -> Box<dyn Manifold> {
        Box::new(Checked(self.projective()))
    }

    /// The shape all of whose contrasts but the first are 0: two landmarks apart, the others halfway.
    fn origin(&self) -> Vec<f64> {
        let mut origin = vec![0.0; self.point_size()];
        (origin[0], origin[2]) = (FRAC_1_SQRT_2, -FRAC_1_SQRT_2);
        origin
    }

    fn centre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let map = Centring::new(center);
        vectorize(
            #[inline(always)]
            || {
                for (i, out) in out.chunks_exact_mut(center.len() - 2).enumerate() {
                    map.apply(point.row(i), out);
                }
            },
        );
    }

    fn uncentre(&self, point: Rows, center: &[f64], out: &mut [f64]) {
        let size = self.point_size();
        let mut around = vec![0.0; size - 2];
        contrasts(center, &helmert_scales(self.k), &mut around);
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            uncentre_row(point.row(i), &around, &mut out[2..]);
            undo_contrasts(out);
        }
    }

    fn sum_log(
        &self,
        points: Rows,
        count: usize,
        weights: Option<&[f64]>,
        base: &[f64],
        sum: &mut [f64],
    ) -> LogSums {
        self.projective().sum_log_of(self, points, count, weights, base, sum)
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
