//! Orthonormal coordinates of horizontal vectors.

use crate::rows::Rows;
use crate::simd::blocks::Width;
use crate::simd::kernel::Kernel;
use crate::simd::pairs::{Pair, hermitian, minus, pair_map, pair_sums, times};

/// The first entry of z, its modulus plus 1, and its phase (1 if it is 0).
#[inline(always)]
pub(super) fn pivot(z: &[f64]) -> (f64, Pair) {
    let modulus = (z[0] * z[0] + z[1] * z[1]).sqrt();
    let phase = if modulus > 0.0 { [z[0] / modulus, z[1] / modulus] } else { [1.0, 0.0] };
    (1.0 + modulus, phase)
}

/// The complex Householder reflection that takes z to a multiple of the first axis takes horizontal vectors
/// to the other axes.
pub(super) struct Coords<'a> {
    pub tangent: Rows<'a>,
    pub base: Rows<'a>,
    pub width: usize,
}

impl Kernel for Coords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(self.width - 2).enumerate().take(rows) {
            let (z, v) = (self.base.row(first + l), self.tangent.row(first + l));
            let (weight, [re, im]) = pivot(z);
            let share = times([re / weight, -im / weight], [v[0], v[1]]);
            pair_map([&z[2..], &v[2..]], |[z, v]| minus(v, times(share, z)), out);
        }
    }
}

pub(super) struct FromCoords<'a> {
    pub coords: Rows<'a>,
    pub base: Rows<'a>,
    pub width: usize,
}

impl Kernel for FromCoords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(self.width).enumerate().take(rows) {
            let (z, coords) = (&self.base.row(first + l), self.coords.row(first + l));
            let (weight, phase) = pivot(z);
            let operands = [&z[2..], coords];
            let dot = pair_sums(self.width - 2, operands, |[z, c]| hermitian(z, c));
            let share = dot.map(|part| part / weight);
            pair_map(operands, |[z, c]| minus(c, times(share, z)), &mut out[2..]);
            [out[0], out[1]] = times(dot, phase).map(|part| -part);
        }
    }
}
