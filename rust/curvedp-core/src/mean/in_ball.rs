//! The mean of points in a public ball, to a certified accuracy, by a globally convergent iteration.
//!
//! Each phase halves the gradient norm: by one trial step of a quasi-Newton iteration, which nearly always
//! succeeds, or else by safe steps from where the phase began, which provably do.

use super::certificate::Plan;
use super::quasi_newton::Memory;
use super::{Sample, scaled};
use crate::ball::Ball;
use crate::error::Error;
use crate::parallel::Interrupt;

/// The minimiser of F over the ball, within `plan.tolerance` of the true one.
pub fn in_ball(
    sample: &Sample,
    ball: &Ball,
    plan: &Plan,
    interrupt: Interrupt,
) -> Result<Vec<f64>, Error> {
    let mut p = ball.center.to_vec();
    let mut here = sample.evaluate(&p, interrupt)?;
    let mut memory = Memory::default();
    let mut evaluations = 1;
    while here.gradient_norm > plan.gradient_target && evaluations < plan.max_evaluations {
        let reference = 0.5 * here.gradient_norm;
        let step = memory.step(&here.descent, here.curvature);
        let trial = sample.exp(&p, &step);
        let there = sample.evaluate(&trial, interrupt)?;
        evaluations += 1;
        if there.gradient_norm <= reference && ball.contains(&trial) {
            let descents = (here.descent.as_slice(), there.descent.as_slice());
            memory.update(sample.manifold, (&p, &trial), &step, descents);
            (p, here) = (trial, there);
            continue;
        }
        memory.clear();
        while here.gradient_norm > reference && evaluations < plan.max_evaluations {
            p = sample.exp(&p, &scaled(&here.descent, plan.safe_step));
            if !ball.contains(&p) {
                ball.pull_in(&mut p);
            }
            here = sample.evaluate(&p, interrupt)?;
            evaluations += 1;
        }
    }
    Ok(p)
}
