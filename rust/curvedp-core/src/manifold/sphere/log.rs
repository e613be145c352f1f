//! Logarithms on the sphere, one by one and summed.

use std::f64::consts::PI;

use super::Sphere;
use crate::manifold::arc::{COTANGENT_FLOOR, arc_over_sine};
use crate::manifold::blocks::{Kernel, SumKernel, Terms, weights_of};
use crate::manifold::lanes::{BLOCK, Block, Width, padded};
use crate::rows::Rows;

/// Terms of the squares of y - x and y + x and of their product.
#[inline(always)]
pub(super) fn chord_terms([x, y]: [f64; 2]) -> [f64; 3] {
    let (d, s) = (y - x, y + x);
    [d * d, s * s, d * s]
}

/// Whether the chord is shorter than the cochord, and sin^2 of half the angle it or the cochord
/// spans. `skew` = |y|^2 - |x|^2 removes what rounding of the norms adds to the short one.
#[inline(always)]
pub(super) fn shorter(d2: f64, s2: f64, skew: f64, radius: f64) -> (bool, f64) {
    let quarter = 0.25 / (radius * radius);
    let near = d2 <= s2;
    let excess = quarter * skew;
    let u = quarter * (if near { d2 } else { s2 }) - excess * excess;
    (near, if u > 0.0 { u } else { 0.0 })
}

/// Logarithms of a block of points: factor * ((y - sign x) + shift x).
struct LogBlock {
    /// t / sin t at t = dist / radius; 0 where the point is antipodal to its base point.
    factor: Block,
    sign: Block,
    shift: Block,
    squared_angle: Block,
    /// t cot t, floored.
    cotangent: Block,
    antipodal: bool,
}

impl LogBlock {
    #[inline(always)]
    fn new<W: Width>(
        width: W,
        operands: [Rows; 2],
        radius: f64,
        first: usize,
        rows: usize,
    ) -> Self {
        let [d2, s2, skew] = width.sums(operands, first, rows, chord_terms);
        let mut block = Self {
            factor: [0.0; BLOCK],
            sign: [1.0; BLOCK],
            shift: [0.0; BLOCK],
            squared_angle: [0.0; BLOCK],
            cotangent: [0.0; BLOCK],
            antipodal: false,
        };
        let mut far = 0_u64;
        let half = 0.5 / (radius * radius);
        let mut u = [0.0; BLOCK];
        for l in 0..padded(rows) {
            let (near, square) = shorter(d2[l], s2[l], skew[l], radius);
            let arc = arc_over_sine(square);
            u[l] = square;
            block.factor[l] = arc;
            block.shift[l] = half * (d2[l] - skew[l]);
            block.squared_angle[l] = 4.0 * square * (1.0 - square) * (arc * arc);
            block.cotangent[l] = arc * (1.0 - 2.0 * square);
            far += u64::from(!near);
        }
        if far > 0 {
            block.turn_far(&d2, &s2, &skew, &u, half, rows);
        }
        block
    }

    /// Replaces the entries of points more than a right angle away.
    #[inline(always)]
    fn turn_far(
        &mut self,
        d2: &Block,
        s2: &Block,
        skew: &Block,
        u: &Block,
        half: f64,
        rows: usize,
    ) {
        let mut antipodal = 0_u64;
        for l in 0..padded(rows) {
            let near = d2[l] <= s2[l];
            let sine = 2.0 * (u[l] * (1.0 - u[l])).sqrt();
            let regular = sine > 0.0;
            let factor = if regular { PI / sine - self.factor[l] } else { 0.0 };
            let angle = if regular { factor * sine } else { PI };
            let cotangent = factor * (2.0 * u[l] - 1.0);
            let floored = if cotangent > COTANGENT_FLOOR { cotangent } else { COTANGENT_FLOOR };
            let cotangent = if regular { floored } else { COTANGENT_FLOOR };
            self.factor[l] = if near { self.factor[l] } else { factor };
            self.sign[l] = if near { 1.0 } else { -1.0 };
            self.shift[l] = if near { self.shift[l] } else { half * (skew[l] - s2[l]) };
            self.squared_angle[l] = if near { self.squared_angle[l] } else { angle * angle };
            self.cotangent[l] = if near { self.cotangent[l] } else { cotangent };
            antipodal += u64::from(!near & !regular);
        }
        self.antipodal = antipodal > 0;
    }
}

pub(super) struct Log<'a> {
    pub sphere: Sphere,
    pub point: Rows<'a>,
    pub base: Rows<'a>,
}

impl Log<'_> {
    /// Overwrites the logarithms of antipodal points.
    fn write_antipodal(&self, log: &LogBlock, first: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(self.sphere.dim + 1).enumerate() {
            if log.factor[l] == 0.0 {
                let direction = self.sphere.antipodal_direction(self.base.row(first + l));
                let length = PI * self.sphere.radius;
                out.iter_mut().zip(&direction).for_each(|(out, e)| *out = length * e);
            }
        }
    }
}

impl Kernel for Log<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, out: &mut [f64]) {
        let operands = [self.base, self.point];
        let log = LogBlock::new(width, operands, self.sphere.radius, first, rows);
        let shares = [&log.factor, &log.sign, &log.shift];
        let entry = |[x, y]: [f64; 2], [k, sign, shift]: [f64; 3]| k * ((y - sign * x) + shift * x);
        width.combine(operands, first, rows, shares, entry, out);
        if log.antipodal {
            self.write_antipodal(&log, first, out);
        }
    }
}

pub(super) struct SumLog<'a> {
    pub sphere: Sphere,
    pub points: Rows<'a>,
    pub weights: Option<&'a [f64]>,
    /// One point for all rows.
    pub base: Rows<'a>,
}

impl SumKernel for SumLog<'_> {
    /// The radial parts of the logarithms are left out: the sum is made tangent at the end.
    #[inline(always)]
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, sum: &mut [f64]) -> Terms {
        let operands = [self.base, self.points];
        let log = LogBlock::new(width, operands, self.sphere.radius, first, rows);
        let weights = weights_of(self.weights, first, rows);
        let Sphere { dim, radius } = self.sphere;
        let along = 1.0 / dim as f64;
        let across = 1.0 - along;
        let mut share = [0.0; BLOCK];
        let mut antipodal_share = [0.0; BLOCK];
        let mut terms = Terms { squared_dist: [0.0; BLOCK], curvature: [0.0; BLOCK] };
        for l in 0..BLOCK {
            share[l] = weights[l] * log.factor[l];
            let antipodal = if log.factor[l] == 0.0 { PI * radius } else { 0.0 };
            antipodal_share[l] = weights[l] * antipodal;
            terms.squared_dist[l] = weights[l] * (radius * radius * log.squared_angle[l]);
            terms.curvature[l] = weights[l] * (along + across * log.cotangent[l]);
        }
        let entry = |[x, y]: [f64; 2], [k, sign]: [f64; 2]| k * (y - sign * x);
        width.accumulate(operands, first, rows, [&share, &log.sign], entry, sum);
        if log.antipodal {
            let direction = self.sphere.antipodal_direction(self.base.row(0));
            let direction = [Rows::shared(&direction)];
            width.accumulate(direction, first, rows, [&antipodal_share], |[e], [k]| k * e, sum);
        }
        terms
    }
}
