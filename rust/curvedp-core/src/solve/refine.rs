//! Corrections, one after the other, until the certificate of the sum is reached.

use super::equation::{Equation, Residual};
use crate::error::Error;
use crate::parallel::Interrupt;

/// Iterations at most.
pub(super) const CAP: usize = 50_000;

/// Iterations after which their total number is estimated, and how many times what patience allows it may
/// be: what lies in few directions is gone soon, and estimates are too high rather than too low.
const TRIALS: [(usize, f64); 3] = [(10, 4.0), (25, 2.5), (60, 1.5)];

/// When to stop.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// Bound of |M^-1 r|_M to reach.
    pub target: f64,
    /// If more iterations than this are in sight, gives up after a few.
    pub patience: usize,
}

/// What an approximate inverse makes of a residual.
pub(super) struct Correction {
    pub values: Vec<f64>,
    pub iterations: usize,
    /// Whether patience was kept.
    pub hopeful: bool,
}

/// An approximate inverse of S + upsilon M.
pub(super) trait Corrector {
    /// A correction for the residual r, of norm `first`, both over nodes.
    fn correct(
        &self,
        r: &[f64],
        first: f64,
        goal: Goal,
        interrupt: Interrupt,
    ) -> Result<Correction, Error>;
}

/// Looks after an iteration whether its end is in sight.
pub(super) struct Trial {
    first: f64,
    goal: Goal,
}

impl Trial {
    pub fn new(first: f64, goal: Goal) -> Self {
        Self { first, goal }
    }

    /// Whether patience allows to go on when so many iterations have left a residual of norm `left`.
    pub fn goes_on(&self, iterations: usize, left: f64) -> bool {
        let Some(&(_, margin)) = TRIALS.iter().find(|trial| trial.0 == iterations) else {
            return true;
        };
        let gained = (left / self.first).ln();
        let needed = (0.5 * self.goal.target / self.first).ln() / gained * iterations as f64;
        let patience = margin * self.goal.patience as f64;
        self.goal.patience >= CAP || (gained < 0.0 && needed <= patience)
    }
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

    /// Corrects until the goal is reached, as the residual of x itself shows, or correcting no longer
    /// helps. Returns whether patience was kept.
    pub fn refine(
        &mut self,
        corrector: &dyn Corrector,
        goal: Goal,
        interrupt: Interrupt,
    ) -> Result<bool, Error> {
        let mut r = vec![0.0; self.h.len()];
        while self.residual.norm > goal.target && self.iterations < CAP {
            let norm = self.residual.norm;
            let correction = corrector.correct(&self.r, norm, goal, interrupt)?;
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
