//! Logarithms on the sphere, one by one and summed.

use std::f64::consts::PI;
use std::ops::Range;

use super::Sphere;
use crate::manifold::LogSums;
use crate::rows::Rows;
use crate::simd::arc::{COTANGENT_FLOOR, arc_over_sine};
use crate::simd::blocks::{BLOCK, Block, Three, Width, columns, padded};
use crate::simd::kernel::{Kernel, SumKernel, weights_of};
use crate::simd::lanes::{LANES, tree_sum};
use crate::simd::vectorize_widest;

/// Terms of the squares of y - x and y + x and of their product.
#[inline(always)]
pub(super) fn chord_terms([x, y]: [f64; 2]) -> [f64; 3] {
    let (d, s) = (y - x, y + x);
    [d * d, s * s, d * s]
}

/// True if the chord is no longer than the cochord, and sin^2 of half the angle that the shorter one
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
    const WIDEST: bool = true;

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
    fn block<W: Width>(&self, width: W, first: usize, rows: usize, sum: &mut [f64]) -> [Block; 2] {
        let operands = [self.base, self.points];
        let log = LogBlock::new(width, operands, self.sphere.radius, first, rows);
        let weights = weights_of(self.weights, first, rows);
        let Sphere { dim, radius } = self.sphere;
        let along = 1.0 / dim as f64;
        let across = 1.0 - along;
        let mut share = [0.0; BLOCK];
        let mut antipodal_share = [0.0; BLOCK];
        let mut terms = [[0.0; BLOCK]; 2];
        let [squared_dist, curvature] = &mut terms;
        for l in 0..BLOCK {
            share[l] = weights[l] * log.factor[l];
            let antipodal = if log.factor[l] == 0.0 { PI * radius } else { 0.0 };
            antipodal_share[l] = weights[l] * antipodal;
            squared_dist[l] = weights[l] * (radius * radius * log.squared_angle[l]);
            curvature[l] = weights[l] * (along + across * log.cotangent[l]);
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

/// Terms of a row in the sums of [`SumLog`] on S^2: three entries of the vector, then the other two.
const TERMS: usize = 5;

/// The sums of [`SumLog`] over many ranges of points of S^2, each at a base point of its
/// own: rows of different ranges fill blocks together. Results are the same to the bit as one by one.
/// Returns false, and the results are of no use, if a point is antipodal to its base point.
pub(super) fn sum_short_ranges(
    sphere: Sphere,
    points: Rows,
    ranges: &[Range<usize>],
    bases: Rows,
    out: &mut [f64],
    others: &mut [LogSums],
) -> bool {
    let total: usize = ranges.iter().map(Range::len).sum();
    // a block and lanes may reach beyond the last row
    let room = total.next_multiple_of(BLOCK) + LANES;
    let mut terms = vec![0.0; TERMS * room];
    let mut filled = FilledBlock { points: [[0.0; 3]; BLOCK], bases: [[0.0; 3]; BLOCK] };
    vectorize_widest(
        #[inline(always)]
        || {
            let (points, bases) = (points.data().as_chunks::<3>().0, bases.data().as_chunks().0);
            let (mut rows, mut done) = (0, 0);
            for (range, base) in ranges.iter().zip(bases) {
                let mut start = range.start;
                while start < range.end {
                    let count = (BLOCK - rows).min(range.end - start);
                    filled.points[rows..rows + count]
                        .copy_from_slice(&points[start..start + count]);
                    filled.bases[rows..rows + count].fill(*base);
                    (rows, start) = (rows + count, start + count);
                    if rows == BLOCK {
                        if !filled.terms(sphere, room, &mut terms[done..]) {
                            return false;
                        }
                        (rows, done) = (0, done + BLOCK);
                    }
                }
            }
            if rows > 0 && !filled.terms(sphere, room, &mut terms[done..]) {
                return false;
            }
            let mut start = 0;
            for (range, (out, others)) in
                ranges.iter().zip(out.as_chunks_mut::<3>().0.iter_mut().zip(others))
            {
                let sum = |k: usize| lane_sum(&terms[k * room + start..], range.len());
                *out = [sum(0), sum(1), sum(2)];
                *others = LogSums { squared_dist: sum(3), curvature: sum(4) };
                start += range.len();
            }
            true
        },
    )
}

/// Points of a block and the base point of each.
struct FilledBlock {
    points: [[f64; 3]; BLOCK],
    bases: [[f64; 3]; BLOCK],
}

impl FilledBlock {
    /// Writes the terms of all rows, those of term k from `k room` on; false if a point is antipodal.
    #[inline(always)]
    fn terms(&self, sphere: Sphere, room: usize, out: &mut [f64]) -> bool {
        let operands = [&self.bases, &self.points].map(|rows| Rows::new(rows.as_flattened(), 3));
        let log = LogBlock::new(Three, operands, sphere.radius, 0, BLOCK);
        let [x, y] = operands.map(|rows| columns::<BLOCK>(rows, 0, BLOCK));
        let along = 1.0 / sphere.dim as f64;
        let mut terms = [[0.0; BLOCK]; TERMS];
        for j in 0..3 {
            for l in 0..BLOCK {
                terms[j][l] = log.factor[l] * (y[j][l] - log.sign[l] * x[j][l]);
            }
        }
        for l in 0..BLOCK {
            terms[3][l] = sphere.radius * sphere.radius * log.squared_angle[l];
            terms[4][l] = along + (1.0 - along) * log.cotangent[l];
        }
        for (k, terms) in terms.iter().enumerate() {
            out[k * room..][..BLOCK].copy_from_slice(terms);
        }
        !log.antipodal
    }
}

/// Sum of the first `rows` numbers, lane by lane.
#[inline(always)]
fn lane_sum(terms: &[f64], rows: usize) -> f64 {
    let mut lanes = [0.0; LANES];
    for (c, chunk) in terms.as_chunks::<LANES>().0.iter().take(rows.div_ceil(LANES)).enumerate() {
        for i in 0..LANES {
            lanes[i] += if c * LANES + i < rows { chunk[i] } else { 0.0 };
        }
    }
    tree_sum(&lanes) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifold::Manifold;

    fn point(angle: f64, turn: f64) -> [f64; 3] {
        [angle.sin() * turn.cos(), angle.sin() * turn.sin(), angle.cos()]
    }

    #[test]
    fn ranges_that_share_blocks_have_the_sums_that_each_has_alone() {
        let sphere = Sphere::new(2, 1.0);
        let lengths = [1, 20, 31, 5, 0, 17, 8, 24, 3, 30];
        for antipodal in [false, true] {
            let bases: Vec<[f64; 3]> =
                (0..lengths.len()).map(|g| point(0.3 * g as f64, g as f64)).collect();
            let (mut points, mut ranges) = (Vec::new(), Vec::new());
            for length in lengths {
                ranges.push(points.len()..points.len() + length);
                // more than a right angle from some base points
                points.extend((0..length).map(|i| point(0.1 * i as f64, (i * i) as f64)));
            }
            if antipodal {
                points[ranges[3].start] = bases[3].map(|x| -x);
            }
            let (points, bases) = (points.as_flattened(), Rows::new(bases.as_flattened(), 3));
            let points = Rows::new(points, 3);
            let mut sums = vec![0.0; 2 * lengths.len()];
            let mut others = vec![LogSums::default(); lengths.len()];
            let mut ambient = vec![0.0; 3 * lengths.len()];
            let short = sum_short_ranges(sphere, points, &ranges, bases, &mut ambient, &mut others);
            assert_eq!(short, !antipodal);
            sphere.sum_log_each(points, &ranges, bases, &mut sums, &mut others);
            for (g, range) in ranges.into_iter().enumerate() {
                let (count, mut own) = (range.len(), [0.0; 2]);
                let alone =
                    sphere.sum_log(points.range(range), count, None, bases.row(g), &mut own);
                assert_eq!(own.map(f64::to_bits), [0, 1].map(|j| sums[2 * g + j].to_bits()));
                assert_eq!(alone.squared_dist.to_bits(), others[g].squared_dist.to_bits());
                assert_eq!(alone.curvature.to_bits(), others[g].curvature.to_bits());
            }
        }
    }
}
