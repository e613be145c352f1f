//! Corrections, one after the other, until the certificate of the sum is reached.

use super::equation::{Equation, Residual};
use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;

/// Iterations at most.
pub(super) const CAP: usize = 50_000;

/// The correction that an approximate inverse computes from a residual.
pub(super) struct Correction {
    pub values: Vec<f64>,
    pub iterations: usize,
    /// True if it is worth going on with this inverse.
    pub hopeful: bool,
}

/// An approximate inverse of S + upsilon M.
pub(super) trait Corrector {
    /// A correction for the residual r, over nodes, to one of |M^-1 r|_M <= `target`.
    fn correct(&self, r: &[f64], target: f64, interrupt: Interrupt) -> Result<Correction, Error>;
}

/// A solution in the making.
pub(super) struct Iterate<'a> {
    pub equation: &'a Equation,
    pub h: &'a [f64],
    pub x: Vec<f64>,
    pub residual: Residual,
    pub iterations: usize,
    r: Vec<f64>,
}

impl<'a> Iterate<'a> {
    /// sigma = 0
    pub fn zero(equation: &'a Equation, h: &'a [f64]) -> Self {
        let mut r = vec![0.0; h.len()];
        let residual = equation.residual_of_zero(h, &mut r);
        Self { equation, h, x: vec![0.0; h.len()], residual, iterations: 0, r }
    }

    /// Corrects until |M^-1 r|_M <= `target`, as the residual of x itself shows, or correcting no longer
    /// helps. Returns true if it is worth going on this way.
    pub fn refine(
        &mut self,
        corrector: &dyn Corrector,
        target: f64,
        interrupt: Interrupt,
    ) -> Result<bool, Error> {
        let mut r = vec![0.0; self.h.len()];
        while self.residual.norm > target && self.iterations < CAP {
            let norm = self.residual.norm;
            let correction = corrector.correct(&self.r, target, interrupt)?;
            self.iterations += correction.iterations;
            let mut x = correction.values;
            x.iter_mut().zip(&self.x).for_each(|(e, x)| *e += x);
            let residual = self.equation.residual(self.h, &x, &mut r);
            if residual.norm < norm {
                (self.x, self.residual) = (x, residual);
                std::mem::swap(&mut self.r, &mut r);
            }
            if !correction.hopeful {
                return Ok(false);
            }
            if residual.norm.is_nan() || residual.norm > 0.5 * norm {
                break;
            }
        }
        Ok(true)
    }
}
