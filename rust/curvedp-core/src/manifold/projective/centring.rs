//! The isometry that takes a centre to the origin, the complex line of (1, 0, ..., 0), and the distance
//! from there.

use super::coords::pivot;
use crate::simd::elementary::atan2_nonneg;
use crate::simd::entries::row_sums;
use crate::simd::pairs::{hermitian, minus, pair_map, pair_sums, plus, times};

/// The length of all entries but the first, and the angle of the point from the origin.
#[inline(always)]
pub(super) fn polar(z: &[f64]) -> [f64; 2] {
    let [square] = row_sums(z.len() - 2, [&z[2..]], |[x]| [x * x]);
    let length = square.sqrt();
    [length, atan2_nonneg(length, (z[0] * z[0] + z[1] * z[1]).sqrt())]
}

/// The reflection that takes the centre to a multiple of the first axis (as in [`Coords`](super::coords::Coords)) of the point turned
/// towards the centre, the first entry then turned to be real. Computed from the difference to the centre,
/// which is accurate for points near it.
#[inline(always)]
pub(in crate::manifold) fn centre_row(z: &[f64], center: &[f64], out: &mut [f64]) {
    let width = center.len();
    let [re, im] = pair_sums(width, [center, z], |[c, z]| hermitian(c, z));
    let cos = (re * re + im * im).sqrt();
    let turn = if cos > 0.0 { [re / cos, -im / cos] } else { [1.0, 0.0] };
    pair_map([z, center], |[z, c]| minus(times(turn, z), c), out);
    let (weight, [x, y]) = pivot(center);
    let along = pair_sums(width, [center, out], |[c, d]| hermitian(c, d));
    let share = plus(along, times([x, -y], [out[0], out[1]])).map(|part| part / weight);
    for (out, c) in out.as_chunks_mut::<2>().0.iter_mut().zip(center.as_chunks::<2>().0) {
        *out = minus(*out, times(share, *c));
    }
    [out[0], out[1]] = [cos, 0.0];
}

/// The inverse of [`centre_row`].
pub(in crate::manifold) fn uncentre_row(y: &[f64], center: &[f64], out: &mut [f64]) {
    let (weight, phase) = pivot(center);
    let along = pair_sums(y.len() - 2, [&center[2..], &y[2..]], |[c, y]| hermitian(c, y));
    let head = [y[0], y[1]];
    let share = minus(head, along.map(|part| part / weight));
    pair_map([&y[2..], &center[2..]], |[y, c]| plus(y, times(share, c)), &mut out[2..]);
    let first = minus(times(head, [center[0], center[1]]), times(phase, along));
    [out[0], out[1]] = first;
}
