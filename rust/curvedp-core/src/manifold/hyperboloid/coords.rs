//! Orthonormal coordinates of tangent vectors of hyperbolic space.

use super::Hyperboloid;
use crate::rows::Rows;
use crate::simd::blocks::Width;
use crate::simd::entries::{row_map, row_sums};
use crate::simd::kernel::Kernel;

/// Space part of the image under the boost that takes the base point to (R, 0).
pub(super) struct Coords<'a> {
    pub space: Hyperboloid,
    pub tangent: Rows<'a>,
    pub base: Rows<'a>,
}

impl Kernel for Coords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(self.space.dim).enumerate().take(rows) {
            let (x, v) = (self.base.row(first + l), self.tangent.row(first + l));
            let share = v[0] / (self.space.radius + x[0]);
            row_map([&x[1..], &v[1..]], |[x, v]| v - share * x, out);
        }
    }
}

pub(super) struct FromCoords<'a> {
    pub space: Hyperboloid,
    pub coords: Rows<'a>,
    pub base: Rows<'a>,
}

impl Kernel for FromCoords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let Hyperboloid { dim, radius, .. } = self.space;
        for (l, out) in out.chunks_exact_mut(dim + 1).enumerate().take(rows) {
            let (x, c) = (self.base.row(first + l), self.coords.row(first + l));
            let [along] = row_sums(dim, [&x[1..], c], |[x, c]| [x * c]);
            out[0] = along / radius;
            let share = out[0] / (radius + x[0]);
            row_map([&x[1..], c], |[x, c]| c + share * x, &mut out[1..]);
        }
    }
}
