//! The mean of points in a public ball, to a certified accuracy, by a globally convergent iteration.
//!
//! Each phase halves the gradient norm: by one trial step of length 1/(mean curvature), which nearly
//! always succeeds, or else by safe steps from where the phase began, which provably do.

use super::certificate::Plan;
use super::{Evaluation, Sample};
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
    let mut evaluations = 1;
    while here.gradient_norm > plan.gradient_target && evaluations < plan.max_evaluations {
        let reference = 0.5 * here.gradient_norm;
        let (trial, there) = trial(sample, &p, &here, interrupt)?;
        evaluations += 1;
        if there.gradient_norm <= reference && ball.contains(&trial) {
            (p, here) = (trial, there);
            continue;
        }
        while here.gradient_norm > reference && evaluations < plan.max_evaluations {
            let mut next = sample.step(&p, &here.descent, plan.safe_step);
            if !ball.contains(&next) {
                ball.pull_in(&mut next);
            }
            p = next;
            here = sample.evaluate(&p, interrupt)?;
            evaluations += 1;
        }
    }
    Ok(p)
}

fn trial(
    sample: &Sample,
    p: &[f64],
    here: &Evaluation,
    interrupt: Interrupt,
) -> Result<(Vec<f64>, Evaluation), Error> {
    let trial = sample.step(p, &here.descent, 1.0 / here.curvature);
    let there = sample.evaluate(&trial, interrupt)?;
    Ok((trial, there))
}
