//! The mean of points in a public ball, to a certified accuracy, by a globally convergent iteration.
//!
//! Each phase halves the gradient norm: by one trial step of a quasi-Newton iteration, which nearly always
//! succeeds, or else by safe steps from where the phase began, which provably do.
//!
//! [`Descent`] is the iteration itself: it says at which point it wants the gradient, and is told it. So
//! the points may stand in memory ([`in_ball`]) or be read anew, in pieces and by several processes.

use super::certificate::Plan;
use super::quasi_newton::Memory;
use super::{Evaluation, PieceSums, Sample, add_pairwise, exp_point, scaled};
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
    let mut descent = Descent::new(ball, plan);
    while let Some(point) = descent.wanted() {
        let evaluation = sample.evaluate(point, interrupt)?;
        descent.advance(ball, evaluation);
    }
    Ok(descent.into_point())
}

/// The iteration of [`in_ball`], one gradient at a time.
pub struct Descent {
    plan: Plan,
    memory: Memory,
    evaluations: usize,
    /// The best point so far, or the one of a safe step.
    point: Vec<f64>,
    /// The state there, once it is known.
    here: Option<Evaluation>,
    stage: Stage,
}

enum Stage {
    /// The gradient at `point` is wanted; the phase ends at a gradient norm of `reference`.
    Safe {
        reference: f64,
    },
    /// The gradient at a trial point is wanted.
    Trial {
        point: Vec<f64>,
        step: Vec<f64>,
        reference: f64,
    },
    Done,
}

impl Descent {
    /// The iteration from the ball's centre.
    pub fn new(ball: &Ball, plan: &Plan) -> Self {
        Self {
            plan: *plan,
            memory: Memory::default(),
            evaluations: 0,
            point: ball.center.to_vec(),
            here: None,
            stage: Stage::Safe { reference: f64::INFINITY },
        }
    }

    /// The point at which the gradient is wanted; none once the mean is found.
    pub fn wanted(&self) -> Option<&[f64]> {
        match &self.stage {
            Stage::Safe { .. } => Some(&self.point),
            Stage::Trial { point, .. } => Some(point),
            Stage::Done => None,
        }
    }

    /// The last point.
    pub fn into_point(self) -> Vec<f64> {
        self.point
    }

    /// The last point.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Takes the sums over all pieces of `count` points, in order, at the wanted point.
    pub fn advance_by_pieces(&mut self, ball: &Ball, pieces: Vec<PieceSums>, count: usize) {
        let (sum, sums) = add_pairwise(pieces);
        self.advance(ball, Evaluation::new(sum, sums, count as f64));
    }

    pub(super) fn advance(&mut self, ball: &Ball, there: Evaluation) {
        self.evaluations += 1;
        let (here, reference) = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Done => return,
            Stage::Safe { reference } => (there, reference),
            Stage::Trial { point, step, reference } => {
                let Some(here) = self.here.take() else { return };
                if there.gradient_norm <= reference && ball.contains(&point) {
                    let descents = (here.descent.as_slice(), there.descent.as_slice());
                    self.memory.update(ball.manifold, (&self.point, &point), &step, descents);
                    self.point = point;
                    return self.begin_phase(ball, there);
                }
                self.memory.clear();
                (here, reference)
            }
        };
        if here.gradient_norm > reference && self.evaluations < self.plan.max_evaluations {
            let step = scaled(&here.descent, self.plan.safe_step);
            self.point = exp_point(ball.manifold, &self.point, &step);
            if !ball.contains(&self.point) {
                ball.pull_in(&mut self.point);
            }
            self.stage = Stage::Safe { reference };
        } else {
            self.begin_phase(ball, here);
        }
    }

    fn begin_phase(&mut self, ball: &Ball, here: Evaluation) {
        let left = self.evaluations < self.plan.max_evaluations;
        if here.gradient_norm > self.plan.gradient_target && left {
            let reference = 0.5 * here.gradient_norm;
            let step = self.memory.step(&here.descent, here.curvature);
            let point = exp_point(ball.manifold, &self.point, &step);
            self.here = Some(here);
            self.stage = Stage::Trial { point, step, reference };
        }
    }
}
