//! Walks on flat and hyperbolic space.

use super::walk::{Walk, each, length, multiply, ratio};
use crate::elementary::{asinh_nonneg, cosh, sinhc};
use crate::linalg::lanes::Lane;

/// Euclidean space.
#[derive(Clone, Copy)]
pub(super) struct Flat {
    /// Dimension.
    pub dim: usize,
}

impl Walk for Flat {
    fn dim(self) -> usize {
        self.dim
    }

    fn size(self) -> usize {
        self.dim
    }

    fn normals(self) -> usize {
        self.dim
    }

    fn work(self) -> usize {
        0
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], _: &mut [Lane<L>]) {
        state.copy_from_slice(u);
    }

    #[inline(always)]
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        _: &mut [Lane<L>],
    ) {
        for j in 0..self.dim {
            for l in 0..L {
                to[j][l] = from[j][l] + z[j][l];
            }
        }
    }

    #[inline(always)]
    fn dist<const L: usize>(self, state: &[Lane<L>], _: &mut [Lane<L>]) -> Lane<L> {
        length(state)
    }

    #[inline(always)]
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], _: &mut [Lane<L>]) {
        u.copy_from_slice(state);
    }
}

/// The hyperboloid x_0 = sqrt(1 + |x|^2), of which a state holds x; origin x = 0.
#[derive(Clone, Copy)]
pub(super) struct Hyperbolic {
    /// Dimension.
    pub dim: usize,
}

impl Walk for Hyperbolic {
    fn dim(self) -> usize {
        self.dim
    }

    fn size(self) -> usize {
        self.dim
    }

    fn normals(self) -> usize {
        self.dim
    }

    fn work(self) -> usize {
        0
    }

    #[inline(always)]
    fn enter<const L: usize>(self, u: &[Lane<L>], state: &mut [Lane<L>], _: &mut [Lane<L>]) {
        multiply(&each(&length(u), sinhc), u, state);
    }

    /// cosh|z| x + (sinh|z|/|z|) (z + x <x, z>/(1 + x_0)): the boost that takes the origin to x, applied to
    /// exp_origin(z).
    #[inline(always)]
    fn step<const L: usize>(
        self,
        from: &[Lane<L>],
        z: &[Lane<L>],
        to: &mut [Lane<L>],
        _: &mut [Lane<L>],
    ) {
        let (mut along, mut square, mut steps) = ([0.0; L], [0.0; L], [0.0; L]);
        for j in 0..self.dim {
            let (x, z) = (&from[j], &z[j]);
            for l in 0..L {
                along[l] += x[l] * z[l];
                square[l] += x[l] * x[l];
                steps[l] += z[l] * z[l];
            }
        }
        let (mut grow, mut shift) = ([0.0; L], [0.0; L]);
        for l in 0..L {
            let size = steps[l].sqrt();
            shift[l] = sinhc(size);
            grow[l] = cosh(size) + shift[l] * along[l] / (1.0 + (1.0 + square[l]).sqrt());
        }
        for j in 0..self.dim {
            for l in 0..L {
                to[j][l] = grow[l] * from[j][l] + shift[l] * z[j][l];
            }
        }
    }

    #[inline(always)]
    fn dist<const L: usize>(self, state: &[Lane<L>], _: &mut [Lane<L>]) -> Lane<L> {
        each(&length(state), asinh_nonneg)
    }

    #[inline(always)]
    fn leave<const L: usize>(self, state: &[Lane<L>], u: &mut [Lane<L>], _: &mut [Lane<L>]) {
        let sinh = length(state);
        multiply(&ratio(&each(&sinh, asinh_nonneg), &sinh), state, u);
    }
}
