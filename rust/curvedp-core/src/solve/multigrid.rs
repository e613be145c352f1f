//! Smoothed aggregation (Vanek, Mandel and Brezina 1996) as a preconditioner: a V-cycle with Chebyshev
//! smoothing, stored and run in single precision. The certificate never depends on it.

mod coarsen;
mod cycle;

use coarsen::{Coarsening, coarsen};
use cycle::{Coarsest, Fine, Level};

use super::Method;
use super::operator::Operator;
use super::pcg::Preconditioner;
use super::sums::blocks;
use crate::graph::Csr;

/// Systems of at most this size are solved directly.
const COARSEST: usize = 300;

/// The hierarchy.
pub(super) struct Multigrid {
    levels: Vec<Level>,
    coarsest: Coarsest,
    complexity: f64,
}

/// sum_j w_ij (x_i - x_j) + shift_i x_i on one level; weights may have either sign on coarse ones.
pub(super) struct System {
    pub weights: Csr,
    pub shift: Vec<f64>,
}

impl System {
    fn size(&self) -> usize {
        self.shift.len()
    }

    fn degree(&self, i: usize) -> f64 {
        self.weights.row(i).1.iter().sum()
    }
}

impl Multigrid {
    pub fn new(operator: &Operator) -> Self {
        // a common factor keeps single precision away from its limits
        let diagonal: f64 = (0..operator.size()).map(|i| operator.diagonal(i)).sum();
        let unit = operator.size() as f64 / diagonal;
        let mut weights = operator.weights.clone();
        weights.values.iter_mut().for_each(|w| *w *= unit);
        let shift = operator.mass.iter().map(|m| m * operator.upsilon * unit).collect();
        let mut system = System { weights, shift };
        let finest = system.weights.columns.len().max(1) as f64;
        let (mut levels, mut entries) = (Vec::new(), 0.0);
        loop {
            entries += system.weights.columns.len() as f64;
            let size = system.size();
            if size <= COARSEST {
                break;
            }
            let fine = Fine::new(&system);
            let Some(Coarsening { prolongation, restriction, coarse }) =
                coarsen(&system, fine.top())
            else {
                break;
            };
            levels.push(Level::new(fine, &prolongation, &restriction));
            system = coarse;
        }
        Self { levels, coarsest: Coarsest::new(&system), complexity: entries / finest }
    }

    /// Entries of all levels over those of the finest; infinite if coarsening stalled.
    pub fn complexity(&self) -> f64 {
        if self.coarsest.is_direct() { self.complexity } else { f64::INFINITY }
    }
}

impl Preconditioner for Multigrid {
    fn method(&self) -> Method {
        Method::Multigrid
    }

    fn apply(&self, r: &[f64], z: &mut [f64]) {
        let largest = r.iter().fold(0.0, |acc: f64, x| acc.max(x.abs()));
        let unit = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let mut scaled = vec![0.0_f32; r.len()];
        blocks(&mut scaled, |range, scaled| {
            scaled.iter_mut().zip(&r[range]).for_each(|(x, r)| *x = (r / unit) as f32);
            0.0
        });
        let correction = self.cycle(0, &scaled);
        blocks(z, |range, z| {
            z.iter_mut().zip(&correction[range]).for_each(|(z, x)| *z = f64::from(*x) * unit);
            0.0
        });
    }
}

impl Multigrid {
    /// One V-cycle from 0 for the right-hand side b of a level.
    fn cycle(&self, depth: usize, b: &[f32]) -> Vec<f32> {
        let Some(level) = self.levels.get(depth) else {
            return self.coarsest.solve(b);
        };
        let x = level.smooth_from_zero(b);
        let coarse = self.cycle(depth + 1, &level.restrict(b, &x));
        level.smooth(b, &level.correct(&x, &coarse))
    }
}
