//! Polar coordinates about the origin (R, 0, ..., 0) of a sphere, a hyperboloid or the complex projective
//! space: the first entry of a point, or the first two, and the length of the others.
//!
//! No large numbers are subtracted, so the distance from the origin has a small relative error for entries
//! of every size.

use crate::rows::Rows;
use crate::simd::blocks::{BLOCK, Block, Width, first_entries, padded};
use crate::simd::elementary::sin_cos;
use crate::simd::entries::{row_map, row_sums};
use crate::simd::kernel::{Kernel, run};

/// The distance from the origin of a point with that length of its other entries and that first entry.
pub(super) trait PolarDist: Copy {
    fn dist(self, tail: f64, head: f64) -> f64;
}

/// Lengths of all entries but the first.
#[inline(always)]
fn tails<W: Width>(width: W, point: Rows, mask: Rows, first: usize, rows: usize) -> Block {
    let [mut tail] = width.sums([point, mask], first, rows, |[x, m]| [(m * x) * (m * x)]);
    for l in 0..padded(rows) {
        tail[l] = tail[l].sqrt();
    }
    tail
}

/// 0, 1, ..., 1.
fn mask(width: usize) -> Vec<f64> {
    (0..width).map(|j| if j == 0 { 0.0 } else { 1.0 }).collect()
}

/// Distances from the origin of points with `width` entries.
pub(super) fn dist_polar(point: Rows, width: usize, dist: impl PolarDist, out: &mut [f64]) {
    run(DistPolar { point, mask: Rows::shared(&mask(width)), dist }, width, 1, out);
}

struct DistPolar<'a, D> {
    point: Rows<'a>,
    mask: Rows<'a>,
    dist: D,
}

impl<D: PolarDist> Kernel for DistPolar<'_, D> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let tail = tails(width, self.point, self.mask, first, rows);
        let head = first_entries(self.point, first, rows);
        let mut dist = [0.0; BLOCK];
        for l in 0..padded(rows) {
            dist[l] = self.dist.dist(tail[l], head[l]);
        }
        out.copy_from_slice(&dist[..rows]);
    }
}

/// Writes true for points, of `width` entries each, whose first entry is positive and whose other entries are
/// together at most `slope` times as long as it.
pub(super) fn within_cone(point: Rows, width: usize, slope: f64, out: &mut [bool]) {
    let mut excess = vec![0.0; out.len()];
    run(Excess { point, mask: Rows::shared(&mask(width)), slope }, width, 1, &mut excess);
    out.iter_mut().zip(&excess).for_each(|(within, excess)| *within = *excess <= 0.0);
}

struct Excess<'a> {
    point: Rows<'a>,
    mask: Rows<'a>,
    slope: f64,
}

impl Kernel for Excess<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let tail = tails(width, self.point, self.mask, first, rows);
        let head = first_entries(self.point, first, rows);
        let mut excess = [0.0; BLOCK];
        for l in 0..padded(rows) {
            excess[l] = tail[l] - self.slope * head[l];
        }
        out.copy_from_slice(&excess[..rows]);
    }
}

/// Coordinates log at the origin of points with `width` entries; along the first axis where a point at a
/// positive distance has no direction.
pub(super) fn log_polar(point: Rows, width: usize, dist: impl PolarDist, out: &mut [f64]) {
    run(LogPolar { point, mask: Rows::shared(&mask(width)), dist }, width, width - 1, out);
}

struct LogPolar<'a, D> {
    point: Rows<'a>,
    mask: Rows<'a>,
    dist: D,
}

impl<D: PolarDist> Kernel for LogPolar<'_, D> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let tail = tails(width, self.point, self.mask, first, rows);
        let head = first_entries(self.point, first, rows);
        let (mut factor, mut axis) = ([0.0; BLOCK], [0.0; BLOCK]);
        for l in 0..padded(rows) {
            let dist = self.dist.dist(tail[l], head[l]);
            let directed = tail[l] > 0.0;
            factor[l] = if directed { dist / tail[l] } else { 1.0 };
            axis[l] = if directed { 0.0 } else { dist };
        }
        let dim = out.len() / rows;
        for (l, out) in out.chunks_exact_mut(dim).enumerate() {
            let tail = &self.point.row(first + l)[1..];
            row_map([tail], |[x]| factor[l] * x, out);
            out[0] += axis[l];
        }
    }
}

/// Points R cos t, R sin t u/|u|, t = |u|/R, of the sphere; `skip` entries between them are 0.
pub(super) fn exp_circular(coords: Rows, radius: f64, skip: usize, out: &mut [f64], width: usize) {
    run(ExpCircular { coords, radius, skip }, width, width, out);
}

struct ExpCircular<'a> {
    coords: Rows<'a>,
    radius: f64,
    skip: usize,
}

impl Kernel for ExpCircular<'_> {
    const WIDEST: bool = true;

    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let width = out.len() / rows;
        let start = 1 + self.skip;
        let mut square = [0.0; BLOCK];
        for l in 0..rows {
            [square[l]] = row_sums(width - start, [self.coords.row(first + l)], |[u]| [u * u]);
        }
        let (mut head, mut factor) = ([0.0; BLOCK], [0.0; BLOCK]);
        for l in 0..padded(rows) {
            let angle = square[l].sqrt() / self.radius;
            let (sin, cos) = sin_cos(angle);
            head[l] = self.radius * cos;
            factor[l] = if angle > 0.0 { sin / angle } else { 1.0 };
        }
        for (l, out) in out.chunks_exact_mut(width).enumerate() {
            out[..start].fill(0.0);
            out[0] = head[l];
            row_map([self.coords.row(first + l)], |[u]| factor[l] * u, &mut out[start..]);
        }
    }
}

/// The coordinates of one point at distance `dist` from the origin, whose entries other than the first are
/// `tail`, together `length` long; as [`log_polar`].
#[inline(always)]
pub(super) fn chart_row(tail: &[f64], length: f64, dist: f64, out: &mut [f64]) {
    if length > 0.0 {
        out.iter_mut().zip(tail).for_each(|(out, x)| *out = x / length * dist);
    } else {
        out.fill(0.0);
        out[0] = dist;
    }
}
