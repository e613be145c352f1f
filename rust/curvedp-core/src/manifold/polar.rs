//! Polar coordinates about the origin (R, 0, ..., 0) of a sphere or hyperboloid: the first entry of a point
//! and the length of the others.
//!
//! No large numbers are subtracted, so the distance from the origin has a small relative error for entries
//! of every size.

use super::blocks::{Kernel, run};
use super::lanes::{BLOCK, Width, first_entries, padded};
use crate::rows::Rows;

/// Distances `dist(length of the other entries, first entry)` of points with `width` entries.
pub(super) fn dist_polar(
    point: Rows,
    width: usize,
    dist: impl Fn(f64, f64) -> f64,
    out: &mut [f64],
) {
    let mut mask = vec![1.0; width];
    mask[0] = 0.0;
    run(DistPolar { point, mask: Rows::shared(&mask), dist }, width, 1, out);
}

struct DistPolar<'a, F> {
    point: Rows<'a>,
    mask: Rows<'a>,
    dist: F,
}

impl<F: Fn(f64, f64) -> f64> Kernel for DistPolar<'_, F> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let [square] =
            width.sums([self.point, self.mask], first, rows, |[x, m]| [(m * x) * (m * x)]);
        let heads = first_entries(self.point, first, rows);
        let mut dist = [0.0; BLOCK];
        for l in 0..padded(rows) {
            dist[l] = (self.dist)(square[l].sqrt(), heads[l]);
        }
        out.copy_from_slice(&dist[..rows]);
    }
}

/// The coordinates of a point at distance `dist` from the origin, whose entries other than the first are
/// `tail`, together `length` long; along the first axis where they have no direction.
#[inline(always)]
pub(super) fn chart_row(tail: &[f64], length: f64, dist: f64, out: &mut [f64]) {
    if length > 0.0 {
        out.iter_mut().zip(tail).for_each(|(out, x)| *out = x / length * dist);
    } else {
        out.fill(0.0);
        out[0] = dist;
    }
}
