//! Conjugate gradients with multigrid as preconditioner.

use std::ops::Range;

use super::multigrid::Multigrid;
use super::refine::{CAP, Correction, Corrector, Goal, Trial};
use super::sums::{BLOCK, blocks, sum2, tree};
use crate::error::Error;
use crate::parallel::{Interrupt, pass};
use crate::simd::vectorize;

/// A step of conjugate gradients along p, with q = A p.
struct Step<'a> {
    alpha: f64,
    p: &'a [f64],
    q: &'a [f64],
    mass: &'a [f64],
}

impl Step<'_> {
    /// x += alpha p, r -= alpha q over a range that x and r are the pieces of.
    #[inline(always)]
    fn take(&self, range: Range<usize>, x: &mut [f64], r: &mut [f64]) {
        x.iter_mut().zip(&self.p[range.clone()]).for_each(|(x, p)| *x += self.alpha * p);
        r.iter_mut().zip(&self.q[range]).for_each(|(r, q)| *r -= self.alpha * q);
    }
}

impl Corrector for Multigrid {
    fn correct(
        &self,
        r: &[f64],
        first: f64,
        goal: Goal,
        interrupt: Interrupt,
    ) -> Result<Correction, Error> {
        let operator = &self.operator;
        let mut r = operator.order.gather(r);
        let zeros = || vec![0.0; r.len()];
        let (mut x, mut z, mut q) = (zeros(), zeros(), zeros());
        let mut rz = self.precondition(&r, &mut z);
        let mut p = z.clone();
        let trial = Trial::new(first, goal);
        let (mut iterations, mut hopeful) = (0, true);
        while iterations < CAP {
            let pq = operator.apply(&p, &mut q);
            if !(pq > 0.0 && rz > 0.0) {
                break;
            }
            iterations += 1;
            let step = Step { alpha: rz / pq, p: &p, q: &q, mass: &operator.mass };
            let left = advance(&step, [&mut x, &mut r]).sqrt();
            if !(left > 0.5 * goal.target && left.is_finite()) {
                break;
            }
            hopeful = trial.goes_on(iterations, left);
            if !hopeful {
                break;
            }
            let next = self.precondition(&r, &mut z);
            let beta = next / rz;
            rz = next;
            blocks(&mut p, |range, p| {
                p.iter_mut().zip(&z[range]).for_each(|(p, z)| *p = z + beta * *p);
                0.0
            });
            if interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(Correction { values: operator.order.scatter(&x), iterations, hopeful })
    }
}

/// x += alpha p, r -= alpha q; returns the sum of r_i^2 / m_i.
fn advance(step: &Step, [x, r]: [&mut [f64]; 2]) -> f64 {
    let pieces = x.chunks_mut(BLOCK).zip(r.chunks_mut(BLOCK)).enumerate().collect();
    tree(pass(pieces, |(block, (x, r)): (usize, (&mut [f64], &mut [f64]))| {
        let range = block * BLOCK..block * BLOCK + x.len();
        vectorize(
            #[inline(always)]
            || {
                step.take(range.clone(), x, r);
                sum2(r, &step.mass[range.clone()], |r, m| r * r / m)
            },
        )
    }))
}
