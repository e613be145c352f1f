//! Orthonormal coordinates of horizontal vectors.

use super::KendallPlanar;
use crate::rows::Rows;
use crate::simd::blocks::Width;
use crate::simd::kernel::Kernel;
use crate::simd::pairs::{Pair, hermitian, minus, pair, pair_sums, plus, times};

/// Contrast `j` of landmarks with the sum `before` of the landmarks before `j`, scaled to be a row of
/// the orthogonal Helmert matrix.
#[inline(always)]
fn contrast(before: Pair, landmark: Pair, j: usize) -> Pair {
    let j = j as f64;
    let scale = 1.0 / (j * (j + 1.0)).sqrt();
    [scale * (before[0] - j * landmark[0]), scale * (before[1] - j * landmark[1])]
}

/// The first Helmert contrast of z, its modulus plus 1, and its phase (1 if it is 0).
#[inline(always)]
fn pivot(z: &[f64]) -> (f64, Pair) {
    let first = contrast(pair(z, 0), pair(z, 1), 1);
    let modulus = first[0].hypot(first[1]);
    let phase = if modulus > 0.0 { first.map(|part| part / modulus) } else { [1.0, 0.0] };
    (1.0 + modulus, phase)
}

/// Helmert contrasts remove the translation; then the complex Householder reflection that takes the
/// contrasts of z to a multiple of the first axis takes horizontal vectors to the other axes.
pub(super) struct Coords<'a> {
    pub shapes: KendallPlanar,
    pub tangent: Rows<'a>,
    pub base: Rows<'a>,
}

impl Kernel for Coords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        let k = self.shapes.k;
        for (l, out) in out.chunks_exact_mut(2 * k - 4).enumerate().take(rows) {
            let (z, v) = (self.base.row(first + l), self.tangent.row(first + l));
            let (weight, [re, im]) = pivot(z);
            let head = contrast(pair(v, 0), pair(v, 1), 1);
            let share = times([re / weight, -im / weight], head);
            let mut before = [pair(z, 0), pair(v, 0)];
            for j in 2..k {
                before = [plus(before[0], pair(z, j - 1)), plus(before[1], pair(v, j - 1))];
                let zeta = contrast(before[0], pair(z, j), j);
                let eta = contrast(before[1], pair(v, j), j);
                [out[2 * j - 4], out[2 * j - 3]] = minus(eta, times(share, zeta));
            }
        }
    }
}

pub(super) struct FromCoords<'a> {
    pub shapes: KendallPlanar,
    pub coords: Rows<'a>,
    pub base: Rows<'a>,
}

impl Kernel for FromCoords<'_> {
    #[inline(always)]
    fn block<W: Width>(&self, _: W, first: usize, rows: usize, out: &mut [f64]) {
        for (l, out) in out.chunks_exact_mut(2 * self.shapes.k).enumerate().take(rows) {
            let (z, coords) = (self.base.row(first + l), self.coords.row(first + l));
            reflect_coords(z, coords, out);
            undo_contrasts(out);
        }
    }
}

/// Writes contrast j of the tangent vector with the given coordinates to entry j of `out`.
#[inline(always)]
fn reflect_coords(z: &[f64], coords: &[f64], out: &mut [f64]) {
    let k = z.len() / 2;
    let (weight, phase) = pivot(z);
    let mut before = pair(z, 0);
    let mut dot = [0.0; 2];
    for j in 2..k {
        before = plus(before, pair(z, j - 1));
        let zeta = contrast(before, pair(z, j), j);
        let [re, im] = hermitian(zeta, pair(coords, j - 2));
        dot = plus(dot, [re[0] + re[1], im[0] + im[1]]);
        [out[2 * j], out[2 * j + 1]] = zeta;
    }
    let share = dot.map(|part| part / weight);
    for j in 2..k {
        [out[2 * j], out[2 * j + 1]] = minus(pair(coords, j - 2), times(share, pair(out, j)));
    }
    [out[2], out[3]] = times(dot, phase).map(|part| -part);
}

/// 1/sqrt(j (j + 1)) for j = 1, 2, ...
pub(super) fn helmert_scales(k: usize) -> Vec<f64> {
    (1..k).map(|j| 1.0 / ((j * (j + 1)) as f64).sqrt()).collect()
}

/// The Helmert contrasts 1, 2, ... of landmarks.
#[inline(always)]
pub(super) fn contrasts(z: &[f64], scales: &[f64], out: &mut [f64]) {
    let mut before = pair(z, 0);
    let out = out.as_chunks_mut::<2>().0;
    for (j, (out, scale)) in out.iter_mut().zip(scales).enumerate() {
        let (landmark, count) = (pair(z, j + 1), (j + 1) as f64);
        *out =
            [scale * (before[0] - count * landmark[0]), scale * (before[1] - count * landmark[1])];
        before = plus(before, landmark);
    }
}

/// The map of landmarks z to the contrasts of z turned towards the centre, reflected as in [`Coords`], and the
/// first of them made real: the isometry onto the complex projective space that takes the centre to its
/// origin.
pub(super) struct Centring<'a> {
    center: &'a [f64],
    scales: Vec<f64>,
    /// The centre's first contrast, its phase and its modulus plus 1.
    first: Pair,
    phase: Pair,
    weight: f64,
}

impl<'a> Centring<'a> {
    pub(super) fn new(center: &'a [f64]) -> Self {
        let (weight, phase) = pivot(center);
        let first = contrast(pair(center, 0), pair(center, 1), 1);
        Self { center, scales: helmert_scales(center.len() / 2), first, phase, weight }
    }

    #[inline(always)]
    pub(super) fn apply(&self, z: &[f64], out: &mut [f64]) {
        let [re, im] = pair_sums(z.len(), [self.center, z], |[c, z]| hermitian(c, z));
        let cos = (re * re + im * im).sqrt();
        let turn = if cos > 0.0 { [re / cos, -im / cos] } else { [1.0, 0.0] };
        let landmark = |j: usize| times(turn, pair(z, j));
        let own = contrast(landmark(0), landmark(1), 1);
        let [x, y] = self.phase;
        let [re, im] = times([x, -y], minus(own, self.first));
        // 1 + <w, z - c>/weight, w the normal of the reflection: what of the centre is taken off
        let share = [1.0 + (cos - 1.0 + re) / self.weight, im / self.weight];
        let rest = |j: usize| minus(landmark(j), times(share, pair(self.center, j)));
        let mut before = plus(rest(0), rest(1));
        for (j, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate().skip(1) {
            let (scale, count, next) = (self.scales[j], (j + 1) as f64, rest(j + 1));
            *out = [scale * (before[0] - count * next[0]), scale * (before[1] - count * next[1])];
            before = plus(before, next);
        }
        [out[0], out[1]] = [cos, 0.0];
    }
}

/// Replaces contrasts (entry 0 is unused) by the centred landmarks that have them.
#[inline(always)]
pub(super) fn undo_contrasts(out: &mut [f64]) {
    let mut after = [0.0; 2];
    for j in (1..out.len() / 2).rev() {
        let scale = 1.0 / ((j * (j + 1)) as f64).sqrt();
        let [re, im] = pair(out, j).map(|part| scale * part);
        let count = j as f64;
        [out[2 * j], out[2 * j + 1]] = [after[0] - count * re, after[1] - count * im];
        after = plus(after, [re, im]);
    }
    [out[0], out[1]] = after;
}
