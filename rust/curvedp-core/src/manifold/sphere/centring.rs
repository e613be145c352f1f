//! The isometry that takes a centre to the origin, and back.

use crate::rows::Rows;
use crate::simd::blocks::{BLOCK, Width, first_entries, padded};
use crate::simd::kernel::Kernel;

/// The reflection that takes the centre to an end of the first axis (as in [`Coords`](super::Coords)), then the first axis
/// turned so that this is its positive end. Computed from the difference to the centre, which is accurate
/// for points near it.
pub(super) struct Centre<'a> {
    pub point: Rows<'a>,
    pub center: Rows<'a>,
    pub radius: f64,
}

impl Kernel for Centre<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.point, self.center];
        let [along, mut head] = width.sums(operands, first, rows, |[x, c]| [c * (x - c), c * x]);
        let heads = first_entries(self.point, first, rows);
        let c0 = self.center.data()[0];
        let end = self.radius.copysign(c0);
        let weight = 1.0 / (self.radius * (self.radius + c0.abs()));
        let mut share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            share[l] = weight * (along[l] + end * (heads[l] - c0));
            head[l] /= self.radius;
        }
        width.combine(operands, first, rows, [&share], |[x, c], [s]| (x - c) - s * c, out);
        for (out, head) in out.chunks_exact_mut(out.len() / rows).zip(&head) {
            out[0] = *head;
        }
    }
}

/// The inverse of [`Centre`].
pub(super) struct Uncentre<'a> {
    pub point: Rows<'a>,
    pub center: Rows<'a>,
    pub radius: f64,
}

impl Kernel for Uncentre<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.point, self.center];
        let [mut along] = width.sums(operands, first, rows, |[y, c]| [y * c]);
        let heads = first_entries(self.point, first, rows);
        let c0 = self.center.data()[0];
        let inverse = 1.0 / self.radius;
        let weight = 1.0 / (self.radius + c0.abs());
        let mut share = [0.0; BLOCK];
        for l in 0..padded(rows) {
            along[l] -= heads[l] * c0; // <y, c> without the first axis
            share[l] = inverse * (heads[l] - weight * along[l]);
        }
        width.combine(operands, first, rows, [&share], |[y, c], [s]| y + s * c, out);
        for (l, out) in out.chunks_exact_mut(out.len() / rows).enumerate() {
            out[0] = inverse * (c0 * heads[l] - 1f64.copysign(c0) * along[l]);
        }
    }
}
