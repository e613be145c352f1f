//! Walks on spheres and on complex projective spaces: unit vectors, real ones or complex ones up to a phase.
//! The origin is the first axis.

use super::walk::{Walk, each, length, multiply, ratio};
use crate::elementary::{atan2_nonneg, sin_cos, sinc};
use crate::linalg::lanes::Lane;
use std::f64::consts::PI;

/// The sphere of radius 1.
#[derive(Clone, Copy)]
pub(super) struct Sphere {
    /// Dimension.
    pub dim: usize,
}

impl Walk for Sphere {
    fn dim(self) -> usize {
        self.dim
    }

    fn size(self) -> usize {
        self.dim + 1
    }

    fn normals(self) -> usize {
        self.dim + 1
    }

    fn work(self) -> usize {
        0
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], _: &mut [Lane<L>]) {
        let angle = length(u);
        state[0] = each(&angle, |t| sin_cos(t).1);
        multiply(&each(&angle, sinc), u, &mut state[1..]);
    }

    /// exp_x of the tangent part of z.
    #[inline(always)]
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        _: &mut [Lane<L>],
    ) {
        let along = inner(from, z);
        for (to, (x, z)) in to.iter_mut().zip(from.iter().zip(z)) {
            for l in 0..L {
                to[l] = z[l] - along[l] * x[l];
            }
        }
        follow(from, to);
    }

    #[inline(always)]
    fn dist<const L: usize>(self, state: &[Lane<L>], _: &mut [Lane<L>]) -> Lane<L> {
        let rest = length(&state[1..]);
        let mut angle = [0.0; L];
        for l in 0..L {
            let first = state[0][l];
            let acute = atan2_nonneg(rest[l], first.abs());
            angle[l] = if first < 0.0 { PI - acute } else { acute };
        }
        angle
    }

    #[inline(always)]
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let stretch = ratio(&self.dist(state, work), &length(&state[1..]));
        multiply(&stretch, &state[1..], u);
    }
}

/// Lines in C^(m+1), curvature between 1 and 4: complex unit vectors, real parts before imaginary ones
/// entry by entry. Steps are orthogonal to the phase.
#[derive(Clone, Copy)]
pub(super) struct Projective {
    /// Complex dimension.
    pub m: usize,
}

impl Walk for Projective {
    fn dim(self) -> usize {
        2 * self.m
    }

    fn size(self) -> usize {
        2 * self.m + 2
    }

    fn normals(self) -> usize {
        2 * self.m + 2
    }

    fn work(self) -> usize {
        0
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], _: &mut [Lane<L>]) {
        let angle = length(u);
        state[0] = each(&angle, |t| sin_cos(t).1);
        state[1] = [0.0; L];
        multiply(&each(&angle, sinc), u, &mut state[2..]);
    }

    /// exp_x of the part of z that is orthogonal to x over the complex numbers.
    #[inline(always)]
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        _: &mut [Lane<L>],
    ) {
        let real = inner(from, z);
        let mut imaginary = [0.0; L];
        for j in (0..from.len()).step_by(2) {
            for l in 0..L {
                imaginary[l] += from[j][l] * z[j + 1][l] - from[j + 1][l] * z[j][l];
            }
        }
        for j in (0..from.len()).step_by(2) {
            for l in 0..L {
                let (x, y) = (from[j][l], from[j + 1][l]);
                to[j][l] = z[j][l] - (real[l] * x - imaginary[l] * y);
                to[j + 1][l] = z[j + 1][l] - (real[l] * y + imaginary[l] * x);
            }
        }
        follow(from, to);
    }

    #[inline(always)]
    fn dist<const L: usize>(self, state: &[Lane<L>], _: &mut [Lane<L>]) -> Lane<L> {
        let (first, rest) = (length(&state[..2]), length(&state[2..]));
        let mut angle = [0.0; L];
        for l in 0..L {
            angle[l] = atan2_nonneg(rest[l], first[l]);
        }
        angle
    }

    /// With the phase turned so that the first entry is positive.
    #[inline(always)]
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], work: &mut [Lane<L>]) {
        let size = length(&state[..2]);
        let stretch = ratio(&self.dist(state, work), &length(&state[2..]));
        let (mut cos, mut sin) = ([0.0; L], [0.0; L]);
        for l in 0..L {
            let turned = size[l] > 0.0;
            cos[l] = stretch[l] * if turned { state[0][l] / size[l] } else { 1.0 };
            sin[l] = stretch[l] * if turned { state[1][l] / size[l] } else { 0.0 };
        }
        for j in (0..u.len()).step_by(2) {
            for l in 0..L {
                let (x, y) = (state[j + 2][l], state[j + 3][l]);
                u[j][l] = cos[l] * x + sin[l] * y;
                u[j + 1][l] = cos[l] * y - sin[l] * x;
            }
        }
    }
}

#[inline(always)]
fn inner<const L: usize>(x: &[Lane<L>], y: &[Lane<L>]) -> Lane<L> {
    let mut sum = [0.0; L];
    for (x, y) in x.iter().zip(y) {
        for l in 0..L {
            sum[l] += x[l] * y[l];
        }
    }
    sum
}

/// v <- exp_x(v), brought to length 1 again.
#[inline(always)]
fn follow<const L: usize>(x: &[Lane<L>], v: &mut [Lane<L>]) {
    let angle = length(v);
    let (mut sin, mut cos) = ([0.0; L], [0.0; L]);
    for l in 0..L {
        (sin[l], cos[l]) = sin_cos(angle[l]);
    }
    let share = ratio(&sin, &angle);
    for (v, x) in v.iter_mut().zip(x) {
        for l in 0..L {
            v[l] = cos[l] * x[l] + share[l] * v[l];
        }
    }
    let size = length(v);
    for v in v.iter_mut() {
        for l in 0..L {
            v[l] /= size[l];
        }
    }
}
