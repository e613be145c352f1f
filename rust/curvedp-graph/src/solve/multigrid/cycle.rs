//! Smoothing and transfer on one level, in single precision.

use super::System;
use crate::graph::Csr;
use crate::solve::sliced::{Sliced, WIDTH};
use crate::solve::sums::{lane, slices, sum2};
use curvedp_core::simd::matrices::{packed, packed_len};

/// The operator of a level that has a coarser one.
pub(super) struct Fine {
    weights: Sliced<f32>,
    shift: Vec<f32>,
    inverse_diagonal: Vec<f32>,
    top: f64,
}

/// A level that has a coarser one.
pub(super) struct Level {
    fine: Fine,
    prolongation: Sliced<f32>,
    restriction: Sliced<f32>,
    coarse: usize,
    smoother: Smoother,
}

/// The Chebyshev polynomial of degree 2 on the upper part of the spectrum of D^-1 A:
/// x <- x + first D^-1 r, then x <- x + momentum (last step) + second D^-1 r.
#[derive(Clone, Copy)]
struct Smoother {
    first: f32,
    second: f32,
    momentum: f32,
}

/// Part of the spectrum, from the top, that smoothing has to damp.
const SMOOTHED: f64 = 8.0;

impl Smoother {
    /// For a spectrum up to `top`.
    fn new(top: f64) -> Self {
        let (middle, half) = (0.5 * (top + top / SMOOTHED), 0.5 * (top - top / SMOOTHED));
        let sigma = middle / half;
        let rho = 1.0 / (2.0 * sigma - 1.0 / sigma);
        Self {
            first: (1.0 / middle) as f32,
            second: (2.0 * rho / half) as f32,
            momentum: (rho / sigma) as f32,
        }
    }
}

fn sliced(matrix: &Csr) -> Sliced<f32> {
    Sliced::new(matrix.size(), |i| matrix.row(i), |j| j, |_, _, value| value)
}

impl Fine {
    pub fn new(system: &System) -> Self {
        let diagonal = |i: usize| system.degree(i) + system.shift[i];
        let rows = (0..system.size()).map(|i| {
            let off: f64 = system.weights.row(i).1.iter().map(|w| w.abs()).sum();
            1.0 + off / diagonal(i)
        });
        let top = rows.fold(0.0, f64::max);
        Self {
            weights: sliced(&system.weights),
            shift: system.shift.iter().map(|&x| x as f32).collect(),
            inverse_diagonal: (0..system.size()).map(|i| (1.0 / diagonal(i)) as f32).collect(),
            top,
        }
    }

    /// Gershgorin's bound of the spectrum of D^-1 A. An estimate in its place could fall short where a few
    /// nodes are tied to each other alone, and the preconditioner would not be positive definite.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// Eight entries of A x.
    #[inline(always)]
    fn image(&self, slice: usize, x: &[f32]) -> [f32; WIDTH] {
        let mut image = self.weights.differences(slice, x);
        let (shift, here) = (lane(&self.shift, slice), lane(x, slice));
        for s in 0..WIDTH {
            image[s] += shift[s] * here[s];
        }
        image
    }

    /// Eight entries of b - A x.
    #[inline(always)]
    fn residual(&self, slice: usize, b: &[f32], x: &[f32]) -> [f32; WIDTH] {
        let (image, b) = (self.image(slice, x), lane(b, slice));
        std::array::from_fn(|s| b[s] - image[s])
    }

    /// Eight entries of D^-1 (b - A x).
    #[inline(always)]
    fn scaled_residual(&self, slice: usize, b: &[f32], x: &[f32]) -> [f32; WIDTH] {
        let (r, inverse) = (self.residual(slice, b, x), lane(&self.inverse_diagonal, slice));
        std::array::from_fn(|s| inverse[s] * r[s])
    }
}

impl Level {
    pub fn new(fine: Fine, prolongation: &Csr, restriction: &Csr) -> Self {
        Self {
            smoother: Smoother::new(fine.top),
            fine,
            prolongation: sliced(prolongation),
            restriction: sliced(restriction),
            coarse: restriction.size(),
        }
    }

    /// Smoothing that starts from x = 0.
    pub fn smooth_from_zero(&self, b: &[f32]) -> Vec<f32> {
        let Smoother { first, second, momentum } = self.smoother;
        let (mut x, mut next) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        slices(&mut x, |slice| {
            let (inverse, b) = (lane(&self.fine.inverse_diagonal, slice), lane(b, slice));
            std::array::from_fn(|s| first * (inverse[s] * b[s]))
        });
        slices(&mut next, |slice| {
            let (r, x) = (self.fine.scaled_residual(slice, b, &x), lane(&x, slice));
            std::array::from_fn(|s| x[s] + (momentum * x[s] + second * r[s]))
        });
        next
    }

    pub fn smooth(&self, b: &[f32], x: &[f32]) -> Vec<f32> {
        let Smoother { first, second, momentum } = self.smoother;
        let (mut middle, mut next) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        slices(&mut middle, |slice| {
            let (r, x) = (self.fine.scaled_residual(slice, b, x), lane(x, slice));
            std::array::from_fn(|s| x[s] + first * r[s])
        });
        slices(&mut next, |slice| {
            let r = self.fine.scaled_residual(slice, b, &middle);
            let (here, before) = (lane(&middle, slice), lane(x, slice));
            std::array::from_fn(|s| here[s] + (momentum * (here[s] - before[s]) + second * r[s]))
        });
        next
    }

    /// P^T (b - A x)
    pub fn restrict(&self, b: &[f32], x: &[f32]) -> Vec<f32> {
        let mut residual = vec![0.0; b.len()];
        slices(&mut residual, |slice| self.fine.residual(slice, b, x));
        let mut coarse = vec![0.0; self.coarse];
        slices(&mut coarse, |slice| self.restriction.products(slice, &residual));
        coarse
    }

    /// x + P coarse
    pub fn correct(&self, x: &[f32], coarse: &[f32]) -> Vec<f32> {
        let mut corrected = vec![0.0; x.len()];
        slices(&mut corrected, |slice| {
            let (step, x) = (self.prolongation.products(slice, coarse), lane(x, slice));
            std::array::from_fn(|s| x[s] + step[s])
        });
        corrected
    }
}

/// The level without a coarser one: a dense factor, or its diagonal if it is too large for that.
pub(super) struct Coarsest {
    /// Columns of a lower triangle G with G G^T = A, each from the diagonal down, if there is one.
    factor: Option<Vec<f64>>,
    inverse_diagonal: Vec<f64>,
}

impl Coarsest {
    pub fn new(system: &System) -> Self {
        let size = system.size();
        let diagonal = |i: usize| system.degree(i) + system.shift[i];
        let inverse_diagonal = (0..size).map(|i| 1.0 / diagonal(i)).collect();
        if size > super::COARSEST {
            return Self { factor: None, inverse_diagonal };
        }
        let mut matrix = vec![0.0; packed_len(size)];
        for i in 0..size {
            matrix[packed(size, i, i)] = diagonal(i);
            let (columns, weights) = system.weights.row(i);
            for (j, w) in columns.iter().map(|&j| j as usize).zip(weights) {
                if j > i {
                    matrix[packed(size, i, j)] = -w;
                }
            }
        }
        Self { factor: cholesky(size, matrix), inverse_diagonal }
    }

    pub fn is_direct(&self) -> bool {
        self.factor.is_some()
    }

    pub fn solve(&self, b: &[f32]) -> Vec<f32> {
        let Some(factor) = &self.factor else {
            let scaled = b.iter().zip(&self.inverse_diagonal);
            return scaled.map(|(&b, d)| (f64::from(b) * d) as f32).collect();
        };
        let size = b.len();
        let column = |j: usize| &factor[packed(size, j, j)..][..size - j];
        let mut x: Vec<f64> = b.iter().map(|&b| f64::from(b)).collect();
        for j in 0..size {
            let column = column(j);
            x[j] /= column[0];
            let (known, rest) = x.split_at_mut(j + 1);
            rest.iter_mut().zip(&column[1..]).for_each(|(x, g)| *x -= g * known[j]);
        }
        for j in (0..size).rev() {
            let column = column(j);
            let sum = sum2(&x[j + 1..], &column[1..], |x, g| x * g);
            x[j] = (x[j] - sum) / column[0];
        }
        x.into_iter().map(|x| x as f32).collect()
    }
}

/// The columns of the Cholesky factor, in place of those of the lower triangle of a matrix; None if a pivot is
/// not positive.
fn cholesky(size: usize, mut matrix: Vec<f64>) -> Option<Vec<f64>> {
    for k in 0..size {
        let (done, mut rest) = matrix.split_at_mut(packed(size, k, k) + size - k);
        let column = &mut done[packed(size, k, k)..];
        if column[0] <= f64::MIN_POSITIVE || column[0].is_nan() {
            return None;
        }
        let root = column[0].sqrt();
        column.iter_mut().for_each(|x| *x /= root);
        for j in 1..size - k {
            let (here, after) = rest.split_at_mut(size - k - j);
            here.iter_mut().zip(&column[j..]).for_each(|(x, g)| *x -= column[j] * g);
            rest = after;
        }
    }
    Some(matrix)
}
